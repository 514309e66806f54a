//! Messages on stderr: errors with their hints, warnings, progress. stdout is data only.

use std::io::{IsTerminal, Read, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::command::Status;
use crate::sanitised;

/// Prints an error with its causes on one line, then its hint if it has one.
pub(crate) fn error(error: &anyhow::Error) {
    let hint = error.chain().find_map(|cause| {
        cause
            .downcast_ref::<HintedError>()
            .map(|hinted| hinted.hint.clone())
            .or_else(|| cause.downcast_ref::<iowhy_read::Error>().map(|e| e.hint().to_string()))
            .or_else(|| cause.downcast_ref::<iowhy_live::Error>().map(|e| e.hint().to_string()))
            .or_else(|| cause.downcast_ref::<iowhy_probe::Error>().map(|e| e.hint().to_string()))
    });
    // Errors on files have their names; one without is about stdout.
    let full = error.downcast_ref::<std::io::Error>();
    let full = full.is_some_and(|cause| cause.kind() == std::io::ErrorKind::StorageFull);
    let place = if full { "cannot write to standard output: " } else { "" };
    say(&format!("{place}{error:#}"), hint.as_deref());
}

/// Prints the requested text (`--help`, `--version`), or the error in the command line. It may
/// contain file names that a shell expanded.
pub(crate) fn of_the_command_line(reported: &clap::Error) -> Status {
    let text = reported.render();
    if reported.use_stderr() {
        // Nothing can be done if stderr is gone.
        let _ = write!(std::io::stderr().lock(), "{}", sanitised::text(&text.to_string()));
        return Status::Failed;
    }
    let mut out = sanitised::stdout();
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
pub(crate) fn warn(text: &str, hint: Option<&str>) {
    say(text, hint);
}

fn say(text: &str, hint: Option<&str>) {
    let mut out = std::io::stderr().lock();
    if DRAWN.swap(false, Ordering::Relaxed) {
        let _ = write!(out, "\r\x1b[K");
    }
    // Nothing can be done if stderr is gone.
    let _ = writeln!(out, "iowhy: {}", sanitised::text(text));
    if let Some(hint) = hint {
        let _ = writeln!(out, "\nhint: {}", sanitised::text(hint));
    }
}

/// Whether the reader of our output ended: success, as for any filter.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe)
}

/// An error of the CLI with a hint.
#[derive(Debug)]
pub(crate) struct HintedError {
    text: String,
    hint: String,
}

impl HintedError {
    /// An error with its hint.
    pub(crate) fn error(text: impl Into<String>, hint: impl Into<String>) -> anyhow::Error {
        anyhow::Error::new(HintedError { text: text.into(), hint: hint.into() })
    }
}

impl std::fmt::Display for HintedError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.text)
    }
}

impl std::error::Error for HintedError {}

/// Whether the terminal shows a line of progress.
static DRAWN: AtomicBool = AtomicBool::new(false);
/// Shorter work shows no progress.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often a line of progress is redrawn.
const REDRAWN: Duration = Duration::from_millis(200);

/// One line on a terminal's stderr that is overwritten during longer work.
pub(crate) struct Progress {
    shown: bool,
}

impl Progress {
    /// Visible only if stderr is a terminal and `wanted`.
    pub(crate) fn new(wanted: bool) -> Progress {
        Progress { shown: wanted && std::io::stderr().is_terminal() }
    }

    /// Overwrites the line.
    pub(crate) fn update(&self, text: &str) {
        if self.shown {
            DRAWN.store(!text.is_empty(), Ordering::Relaxed);
            let _ = write!(std::io::stderr(), "\r\x1b[K{}", sanitised::text(text));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if DRAWN.load(Ordering::Relaxed) {
            self.update("");
        }
    }
}

/// An input that shows its progress on a terminal, once reading takes more than two seconds.
pub(crate) struct ProgressReader<R> {
    inner: R,
    name: String,
    read: u64,
    /// Its length, if it is known.
    of: Option<u64>,
    progress: Progress,
    drawn: Instant,
}

/// When the first input was opened.
static READING: OnceLock<Instant> = OnceLock::new();

impl<R> ProgressReader<R> {
    /// For an input with this name and size.
    pub(crate) fn new(inner: R, name: String, of: Option<u64>) -> ProgressReader<R> {
        READING.get_or_init(Instant::now);
        let (progress, drawn) = (Progress::new(true), Instant::now());
        ProgressReader { inner, name, read: 0, of: of.filter(|of| *of > 0), progress, drawn }
    }

    fn show_progress(&mut self) {
        let begun = READING.get().copied().unwrap_or(self.drawn);
        if !self.progress.shown || begun.elapsed() < PATIENCE || self.drawn.elapsed() < REDRAWN {
            return;
        }
        self.drawn = Instant::now();
        let (name, read) = (&self.name, iowhy_model::numbers::bytes(self.read as f64));
        let text = match self.of {
            Some(of) => {
                let part = iowhy_model::numbers::share((self.read as f64 / of as f64).min(1.0));
                format!("reading {name}: {read}, {part}")
            }
            None => format!("reading {name}: {read}"),
        };
        self.progress.update(&text);
    }
}

impl<R: Read> Read for ProgressReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.read += read as u64;
        self.show_progress();
        Ok(read)
    }
}

/// Shows on a terminal that work is in progress, once it takes more than two seconds; until it is
/// dropped.
pub(crate) struct ProgressMessage {
    done: Option<mpsc::Sender<()>>,
    ticker: Option<JoinHandle<()>>,
}

impl ProgressMessage {
    /// The work: `judging`.
    pub(crate) fn on(what: &'static str) -> ProgressMessage {
        if !std::io::stderr().is_terminal() {
            return ProgressMessage { done: None, ticker: None };
        }
        let (done, ended) = mpsc::channel::<()>();
        let ticker = std::thread::spawn(move || {
            let (begun, progress) = (Instant::now(), Progress::new(true));
            let mut wait = PATIENCE;
            while ended.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                progress.update(&format!("{what}: {} s", begun.elapsed().as_secs()));
                wait = Duration::from_secs(1);
            }
        });
        ProgressMessage { done: Some(done), ticker: Some(ticker) }
    }
}

impl Drop for ProgressMessage {
    fn drop(&mut self) {
        drop(self.done.take());
        if let Some(ticker) = self.ticker.take() {
            // Only for display; a failure loses nothing.
            let _ = ticker.join();
        }
    }
}
