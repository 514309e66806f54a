//! Arguments that several commands share, and how they are written: `10s`, `4k..128k`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{ArgAction, ArgMatches, Args};
use iowhy_model::{Filter, Nanos, Stage};
use iowhy_show::Style;

use crate::messages::HintedError;
pub use crate::selection::Selection;
use crate::store_input::StoreInput;
use crate::{commands, complete, terminal};

/// `iowhy` and `iowhy FILE` are `iowhy why` and `iowhy why FILE`.
pub fn with_default_command(mut line: Vec<OsString>) -> Vec<OsString> {
    let first = line.get(1).map(|word| word.to_string_lossy().into_owned());
    let named = first.is_some_and(|word| {
        matches!(word.as_str(), "-h" | "--help" | "-V" | "--version" | "help")
            || commands::find(&word).is_some()
    });
    if !named {
        line.insert(1.min(line.len()), "why".into());
    }
    line
}

/// How to show it.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Output")]
pub struct Output {
    /// One JSON object (or one per line) instead of text; `docs/JSON.md` has the schemas
    #[arg(long)]
    pub json: bool,
    /// Everything, not only what matters most: of a verdict, the whole reasoning; twice (`-vv`), how
    /// each confidence was reached
    #[arg(short, long, action = ArgAction::Count)]
    pub verbose: u8,
    /// Columns to draw on, instead of the terminal's
    #[arg(long, value_name = "N")]
    pub width: Option<usize>,
    /// Which part of the latency, for the commands that draw one: see [`Part`].
    #[arg(skip)]
    pub stage: Option<Stage>,
}

/// The same as numbers between commas, for the commands whose text is rows.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Output")]
pub struct Commas {
    /// Comma-separated values instead of text
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
}

/// Which part of the latency is drawn.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Output")]
pub struct Part {
    /// Which part of the latency: queue (Q2D), device (D2C), total (Q2C) or, with `--before`, before
    /// (B2Q)
    #[arg(long, value_name = "STAGE", value_parser = stage)]
    pub stage: Option<Stage>,
}

impl Output {
    /// The style asked for, on the terminal there is.
    pub fn style(&self, filter: Filter) -> Style {
        let style = terminal::style();
        Style {
            width: self.width.unwrap_or(style.width).clamp(20, *terminal::WIDTHS.end()),
            fitted: style.fitted || self.width.is_some(),
            verbose: self.verbose > 0,
            ledger: self.verbose > 1,
            stage: self.stage,
            filter,
            ..style
        }
    }
}

/// How this machine is traced.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Tracing")]
pub struct TraceArgs {
    /// Also the time before the request (B2Q): waiting for a free tag, for write-back throttling,
    /// for io.cost
    #[arg(long)]
    pub before: bool,
    /// Say at the end what the tracing cost: ns per I/O in BPF, CPU
    #[arg(long)]
    pub overhead: bool,
    /// Read the kernel's event text instead of using eBPF, as is done where eBPF is refused
    #[arg(long)]
    pub ftrace: bool,
}

/// Captures to read instead of this machine.
#[derive(Args, Clone, Debug, Default)]
pub struct Files {
    /// Captured output of other tools, or documents that quote it; `-` is standard input
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Read every line as this format instead of recognising it
    #[arg(long, value_name = "NAME", add = complete::formats())]
    pub format: Option<String>,
    #[command(flatten)]
    pub past: StoreInput,
    /// Of a recorder's store, only histograms and averages
    #[arg(skip)]
    pub cells: bool,
}

/// What follows a command that can read captures or watch again and again.
#[derive(Args, Clone, Debug, Default)]
pub struct Words {
    /// Captures to read (`-` is standard input), or the seconds between reports and their number
    #[arg(value_name = "FILE... | INTERVAL [COUNT]")]
    words: Vec<String>,
    /// Read every line as this format instead of recognising it
    #[arg(long, value_name = "NAME", add = complete::formats())]
    format: Option<String>,
    #[command(flatten)]
    past: StoreInput,
}

/// The two readings of [`Words`].
#[derive(Clone, Debug)]
pub enum Task {
    /// Read these captures.
    Read(Files),
    /// Watch this machine.
    Watch(Repeat),
}

/// How often and how many times.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Repeat {
    /// Time between reports; without it, one report.
    pub interval: Option<Nanos>,
    /// How many reports; without it, until Ctrl-C.
    pub count: Option<u64>,
}

impl Words {
    /// Reads them: numbers are an interval and a count, anything else (or a pipe) a capture.
    ///
    /// # Errors
    /// If an interval or count is none, or if an option was given that does nothing for this task.
    pub fn task(&self, matches: &ArgMatches) -> anyhow::Result<Task> {
        let task = self.read()?;
        match &task {
            Task::Read(_) => only_live(matches)?,
            Task::Watch(_) if self.format.is_some() => {
                return Err(HintedError::error(
                    "`--format` is for captures, and none is given",
                    "name the capture, or leave `--format` out to watch this machine",
                ));
            }
            Task::Watch(_) => {}
        }
        Ok(task)
    }

    fn read(&self) -> anyhow::Result<Task> {
        let mut files = Files {
            files: self.words.iter().map(PathBuf::from).collect(),
            format: self.format.clone(),
            past: self.past.clone(),
            cells: false,
        };
        if self.past.asked() {
            files.add_store();
            return Ok(Task::Read(files));
        }
        let is_time = |word: &String| duration(word).is_ok() && !PathBuf::from(word).exists();
        let is_repeat = self.words.first().is_some_and(is_time);
        if !is_repeat {
            return Ok(if files.given()? {
                Task::Read(files)
            } else {
                Task::Watch(Repeat::default())
            });
        }
        let usage = "write an interval in seconds and how many reports: `1 10`";
        let interval = seconds(&self.words[0]).map_err(|why| HintedError::error(why, usage))?;
        let count = match self.words.get(1..).unwrap_or_default() {
            [] => None,
            [count] => Some(count.parse().ok().filter(|count| *count > 0).ok_or_else(|| {
                HintedError::error(format!("`{count}` is not a number of reports"), usage)
            })?),
            _ => return Err(HintedError::error("too many words after the interval", usage)),
        };
        Ok(Task::Watch(Repeat { interval: Some(interval), count }))
    }
}

/// Options that act while this machine is watched and nowhere else: their ids, and as they are typed.
const LIVE: [(&str, &str); 6] = [
    ("overhead", "--overhead"),
    ("ftrace", "--ftrace"),
    ("sampled", "--sampled"),
    ("root", "--root"),
    ("cumulative", "--cumulative"),
    ("watch_for", "--for"),
];

/// Refuses them for captures, where they would do nothing.
///
/// # Errors
/// If one was given.
pub fn only_live(matches: &ArgMatches) -> anyhow::Result<()> {
    let typed = |id: &str| {
        matches!(matches.try_contains_id(id), Ok(true))
            && matches.value_source(id) == Some(ValueSource::CommandLine)
    };
    match LIVE.iter().find(|(id, _)| typed(id)) {
        None => Ok(()),
        Some((_, option)) => Err(HintedError::error(
            format!("`{option}` works only live, and captures are read here"),
            format!("leave `{option}` out, or name no capture to watch this machine"),
        )),
    }
}

/// A duration such as `10s`, `500ms`, `80us`, `2m`; a bare number is in seconds.
pub fn duration(text: &str) -> Result<Nanos, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == 'µ');
    let scale = match &text[digits.len()..] {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" | "" => 1e9,
        "m" | "min" => 60e9,
        "h" => 3600e9,
        unit => return Err(format!("unknown unit `{unit}`; use ns, us, ms, s, m or h")),
    };
    match digits.parse::<f64>() {
        Ok(value) if value >= 0.0 && value * scale < 9e18 => {
            Ok(Nanos((value * scale).round() as i64))
        }
        _ => Err(format!("`{digits}` is not a length of time")),
    }
}

/// How long to watch: a duration in which something can be seen.
pub fn watch_time(text: &str) -> Result<Nanos, String> {
    seconds(text).map_err(|_| match duration(text) {
        Ok(_) => "the shortest time to watch is 10ms".to_string(),
        Err(why) => why,
    })
}

fn seconds(text: &str) -> Result<Nanos, String> {
    let length = duration(text)?;
    if length < Nanos(10_000_000) {
        return Err("the shortest interval is 10ms".to_string());
    }
    Ok(length)
}

fn stage(text: &str) -> Result<Stage, String> {
    match text.to_ascii_lowercase().as_str() {
        "queue" | "q2d" => Ok(Stage::Queue),
        "device" | "d2c" => Ok(Stage::Device),
        "total" | "q2c" => Ok(Stage::Total),
        "before" | "b2q" => Ok(Stage::Before),
        _ => Err("use before, queue, device or total".to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_with_their_units() {
        assert_eq!(duration("500ms"), Ok(Nanos(500_000_000)));
        assert_eq!(duration("0.5"), Ok(Nanos(500_000_000)));
        assert!(duration("5 parsecs").is_err());
        assert!(duration("-1s").is_err());
    }

    #[test]
    fn why_is_the_default_command() {
        let line = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        assert_eq!(with_default_command(line(&["iowhy"])), line(&["iowhy", "why"]));
        assert_eq!(
            with_default_command(line(&["iowhy", "a.txt"])),
            line(&["iowhy", "why", "a.txt"])
        );
        assert_eq!(with_default_command(line(&["iowhy", "stat"])), line(&["iowhy", "stat"]));
        assert_eq!(with_default_command(line(&["iowhy", "--help"])), line(&["iowhy", "--help"]));
    }
}
