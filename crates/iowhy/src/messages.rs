//! What is said on stderr: errors with their hints, warnings, progress. stdout is data only.

use std::io::{IsTerminal, Write};

use crate::clean;
use crate::command::Status;

/// Prints an error and everything that caused it on one line, then its hint if it has one.
pub fn error(error: &anyhow::Error) {
    let hint = error.chain().find_map(|cause| {
        cause
            .downcast_ref::<Hinted>()
            .map(|hinted| hinted.hint.clone())
            .or_else(|| cause.downcast_ref::<iowhy_read::Error>().map(|e| e.hint().to_string()))
            .or_else(|| cause.downcast_ref::<iowhy_live::Error>().map(|e| e.hint().to_string()))
            .or_else(|| cause.downcast_ref::<iowhy_probe::Error>().map(|e| e.hint().to_string()))
    });
    say(&format!("{error:#}"), hint.as_deref());
}

/// Prints what was asked for (`--help`, `--version`), or what is wrong with the command line. Names of
/// files stand in it, which a shell may have put there.
pub fn of_the_command_line(told: &clap::Error) -> Status {
    let text = told.render();
    if told.use_stderr() {
        // Nothing can be done if stderr is gone.
        let _ = write!(std::io::stderr().lock(), "{}", clean::text(&text.to_string()));
        return Status::Failed;
    }
    let mut out = clean::stdout();
    let text =
        if std::io::stdout().is_terminal() { text.ansi().to_string() } else { text.to_string() };
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Status::Done,
        Err(cause) if cause.kind() == std::io::ErrorKind::BrokenPipe => Status::Done,
        Err(cause) => {
            say(&format!("cannot write to standard output: {cause}"), None);
            Status::Failed
        }
    }
}

/// Prints a warning that the user can act on.
pub fn warn(text: &str, hint: Option<&str>) {
    say(text, hint);
}

fn say(text: &str, hint: Option<&str>) {
    let mut out = std::io::stderr().lock();
    // Nothing can be done if stderr is gone.
    let _ = writeln!(out, "iowhy: {}", clean::text(text));
    if let Some(hint) = hint {
        let _ = writeln!(out, "\nhint: {}", clean::text(hint));
    }
}

/// Whether the reader of our output went away: success, as for any filter.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe)
}

/// An error of the rim that knows what to do about it.
#[derive(Debug)]
pub struct Hinted {
    text: String,
    hint: String,
}

impl Hinted {
    /// An error with its hint.
    pub fn error(text: impl Into<String>, hint: impl Into<String>) -> anyhow::Error {
        anyhow::Error::new(Hinted { text: text.into(), hint: hint.into() })
    }
}

impl std::fmt::Display for Hinted {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.text)
    }
}

impl std::error::Error for Hinted {}

/// One line on a terminal's stderr that is overwritten while something is under way.
pub struct Progress {
    shown: bool,
}

impl Progress {
    /// Shows itself only if stderr is a terminal and `wanted`.
    pub fn new(wanted: bool) -> Progress {
        Progress { shown: wanted && std::io::stderr().is_terminal() }
    }

    /// Overwrites the line.
    pub fn update(&self, text: &str) {
        if self.shown {
            let _ = write!(std::io::stderr(), "\r\x1b[K{}", clean::text(text));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.update("");
    }
}
