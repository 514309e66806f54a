//! Arguments that several commands share, and how they are written: `10s`, `4k..128k`.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;
use std::time::Duration;

use clap::parser::ValueSource;
use clap::{ArgAction, ArgMatches, Args};
use iowhy_live::TraceClock;
use iowhy_model::{Filter, Stage};
use iowhy_read::{Format, Formats};
use iowhy_show::Style;

use crate::messages::HintedError;
pub(crate) use crate::selection::Selection;
use crate::store_input::StoreInput;
pub(crate) use crate::when::duration;
use crate::{command, complete, terminal, when};

/// `iowhy` and `iowhy FILE` are `iowhy why` and `iowhy why FILE`.
pub(crate) fn with_default_command(mut line: Vec<OsString>) -> Vec<OsString> {
    let first = line.get(1).map(|word| word.to_string_lossy().into_owned());
    let named = first.is_some_and(|word| {
        matches!(word.as_str(), "-h" | "--help" | "-V" | "--version" | "help")
            || command::find(&word).is_some()
    });
    if !named {
        line.insert(1.min(line.len()), "why".into());
    }
    line
}

/// How to show it.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Output")]
pub(crate) struct Output {
    /// One JSON object (or one per line) instead of text; `docs/JSON.md` has the schemas
    #[arg(long)]
    pub json: bool,
    /// More detail: the full reasoning behind a verdict; twice (`-vv`), how each confidence was
    /// computed
    #[arg(short, long, action = ArgAction::Count)]
    pub verbose: u8,
    /// Width in columns, instead of the terminal's
    #[arg(long, value_name = "N")]
    pub width: Option<usize>,
    /// Which part of the latency, for the commands that draw one: see [`Part`].
    #[arg(skip)]
    pub stage: Option<Stage>,
}

/// The same as numbers between commas, for the commands whose text is rows.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Output")]
pub(crate) struct Commas {
    /// Comma-separated values instead of text
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
}

/// Which part of the latency is drawn.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Output")]
pub(crate) struct Part {
    /// Which part of the latency: queue (Q2D), device (D2C), total (Q2C) or, with `--before`,
    /// before (B2Q)
    #[arg(long, value_name = "STAGE", value_parser = stage)]
    pub stage: Option<Stage>,
}

impl Output {
    /// The requested style, for the current terminal.
    pub(crate) fn style(&self, filter: Filter) -> Style {
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
pub(crate) struct TraceArgs {
    /// Also show the time before the request (B2Q): waiting for a free tag, write-back throttling
    /// or io.cost
    #[arg(long)]
    pub before: bool,
    /// Print the tracing overhead at the end: ns per I/O in BPF, CPU
    #[arg(long)]
    pub overhead: bool,
    /// Read the kernel's event text (ftrace) instead of using eBPF; the default where eBPF is
    /// refused
    #[arg(long)]
    pub ftrace: bool,
}

/// How captures are read.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ReadAs {
    /// Read a capture bundled with iowhy; without a name, list them
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "")]
    pub example: Option<String>,
    /// Parse every line as this format instead of detecting the format
    #[arg(long, value_name = "NAME", add = complete::formats())]
    pub format: Option<String>,
    /// Also read the logs and tables described in this file (see `iowhy explain own-formats`)
    #[arg(long, value_name = "FILE", value_parser = OwnFormats::read)]
    pub formats: Option<OwnFormats>,
}

/// The user's own formats, read with the arguments: later no file may be opened.
#[derive(Clone, Copy)]
pub(crate) struct OwnFormats(&'static [Format]);

impl OwnFormats {
    /// Maximum bytes of a file of formats.
    const LONGEST: u64 = 1 << 20;

    fn read(file: &str) -> Result<OwnFormats, String> {
        let opened = File::open(file).map_err(|cause| cause.to_string())?;
        let mut text = String::new();
        let read = opened.take(Self::LONGEST + 1).read_to_string(&mut text);
        if read.map_err(|cause| cause.to_string())? as u64 > Self::LONGEST {
            return Err("it is larger than 1 MiB".to_string());
        }
        iowhy_read::formats_of(&text).map(OwnFormats).map_err(|wrong| wrong.to_string())
    }
}

impl fmt::Debug for OwnFormats {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_list().entries(self.0.iter().map(|format| format.name)).finish()
    }
}

impl ReadAs {
    /// Nothing is read.
    ///
    /// # Errors
    /// If an option for reading was given.
    fn without_captures(&self) -> anyhow::Result<()> {
        let option = match (&self.format, &self.formats, &self.example) {
            (None, None, None) => return Ok(()),
            (Some(_), ..) => "--format",
            (None, Some(_), _) => "--formats",
            (None, None, Some(_)) => "--example",
        };
        Err(HintedError::error(
            format!("`{option}` applies to captures, and none is given"),
            format!("name a capture, or omit `{option}` to watch this machine"),
        ))
    }

    /// The formats that are tried.
    ///
    /// # Errors If there is no format with the given name.
    pub(crate) fn known(&self) -> anyhow::Result<Formats> {
        let own = self.formats.map_or(&[][..], |formats| formats.0);
        let known = Formats { own, only: None };
        let Some(name) = &self.format else { return Ok(known) };
        let only = known.find(name).ok_or_else(|| {
            HintedError::error(
                format!("unknown format `{name}`"),
                "`iowhy explain formats` lists them",
            )
        })?;
        Ok(Formats { only: Some(only), ..known })
    }
}

/// Captures to read instead of this machine.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Files {
    /// Captured output of other tools, or documents that contain it; `-` is standard input
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub read_as: ReadAs,
    #[command(flatten)]
    pub past: StoreInput,
    /// From a recorder's store, read only histograms and averages
    #[arg(skip)]
    pub cells: bool,
}

/// Words after a command that can read captures or watch repeatedly.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Words {
    /// Captures to read (`-` is standard input), or the seconds between reports and their number
    #[arg(value_name = "FILE... | INTERVAL [COUNT]")]
    words: Vec<String>,
    #[command(flatten)]
    read_as: ReadAs,
    #[command(flatten)]
    past: StoreInput,
}

/// The two readings of [`Words`].
#[derive(Clone, Debug)]
pub(crate) enum Task {
    /// Read these captures.
    Read(Files),
    /// Watch this machine.
    Watch(Repeat),
}

/// How often and how many times.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Repeat {
    /// Time between reports; without it, one report.
    pub interval: Option<Duration>,
    /// How many reports; without it, until Ctrl-C.
    pub count: Option<u64>,
}

impl Repeat {
    /// The number of reports: one without an interval.
    pub(crate) fn reports(self) -> u64 {
        self.count.unwrap_or(if self.interval.is_some() { u64::MAX } else { 1 })
    }

    /// The same, over this time: one report without an interval, else as many as fit.
    ///
    /// # Errors
    /// If the number of reports is given, too.
    pub(crate) fn within(self, length: Option<Duration>) -> anyhow::Result<Repeat> {
        let Some(length) = length else { return Ok(self) };
        if self.count.is_some() {
            return Err(HintedError::error(
                "`--for` and a number of reports both say how long to watch",
                "omit one of them: `1 10` or `1 --for 10s`",
            ));
        }
        let interval = self.interval.unwrap_or(length);
        let fit = (length.as_secs_f64() / interval.as_secs_f64()).round();
        Ok(Repeat { interval: Some(interval.min(length)), count: Some((fit as u64).max(1)) })
    }

    /// The total time of all reports, if their number is given.
    pub(crate) fn length(self) -> Option<Duration> {
        let count = u32::try_from(self.count?).unwrap_or(u32::MAX);
        Some(self.interval?.saturating_mul(count))
    }
}

impl Words {
    /// Reads them: numbers are an interval and a count, anything else (or a pipe) a capture.
    ///
    /// # Errors If an interval or count is invalid, or if an option has no effect here.
    pub(crate) fn task(&self, matches: &ArgMatches) -> anyhow::Result<Task> {
        let task = self.read()?;
        match &task {
            Task::Read(_) => only_live(matches)?,
            Task::Watch(_) => self.read_as.without_captures()?,
        }
        Ok(task)
    }

    fn read(&self) -> anyhow::Result<Task> {
        let mut files = Files {
            files: self.words.iter().map(PathBuf::from).collect(),
            read_as: self.read_as.clone(),
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
            return Ok(if files.reads_captures()? {
                Task::Read(files)
            } else {
                Task::Watch(Repeat::default())
            });
        }
        let usage = "write an interval in seconds and a number of reports: `1 10`";
        let interval = seconds(&self.words[0]).map_err(|why| HintedError::error(why, usage))?;
        let count = match self.words.get(1..).unwrap_or_default() {
            [] => None,
            [count] => Some(count.parse().ok().filter(|count| *count > 0).ok_or_else(|| {
                HintedError::error(format!("`{count}` is not a number of reports"), usage)
            })?),
            _ => return Err(HintedError::error("too many arguments after the interval", usage)),
        };
        Ok(Task::Watch(Repeat { interval: Some(interval), count }))
    }
}

/// Options that have an effect only while this machine is watched: their ids, and as they are
/// typed.
const LIVE: [(&str, &str); 7] = [
    ("clock", "--clock"),
    ("overhead", "--overhead"),
    ("ftrace", "--ftrace"),
    ("sampled", "--sampled"),
    ("root", "--root"),
    ("cumulative", "--cumulative"),
    ("watch_for", "--for"),
];

/// Refuses them for captures, where they would have no effect.
///
/// # Errors
/// If one was given.
pub(crate) fn only_live(matches: &ArgMatches) -> anyhow::Result<()> {
    let typed = |id: &str| {
        matches!(matches.try_contains_id(id), Ok(true))
            && matches.value_source(id) == Some(ValueSource::CommandLine)
    };
    match LIVE.iter().find(|(id, _)| typed(id)) {
        None => Ok(()),
        Some((_, option)) => Err(HintedError::error(
            format!("`{option}` works only live, and a capture was given"),
            format!("omit `{option}`, or omit the capture to watch this machine"),
        )),
    }
}

/// How long to watch: a duration in which something can be seen.
pub(crate) fn watch_time(text: &str) -> Result<Duration, String> {
    seconds(text).map_err(|_| match duration(text) {
        Ok(_) => "the shortest duration is 10ms".to_string(),
        Err(why) => why,
    })
}

fn seconds(text: &str) -> Result<Duration, String> {
    let length = duration(text).map(when::length)?;
    if length < Duration::from_millis(10) {
        return Err("the shortest interval is 10ms".to_string());
    }
    Ok(length)
}

/// Who reads the clock: the value of `--clock`.
pub(crate) fn trace_clock(text: &str) -> Result<TraceClock, String> {
    match text {
        "exact" => Ok(TraceClock::Exact),
        "kernel" => Ok(TraceClock::Kernel),
        _ => Err("use exact or kernel".to_string()),
    }
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
    use iowhy_model::Nanos;

    use super::*;

    #[test]
    fn durations_are_read_with_their_units() {
        assert_eq!(duration("500ms"), Ok(Nanos(500_000_000)));
        assert_eq!(duration("0.5"), Ok(Nanos(500_000_000)));
        assert!(duration("5 parsecs").is_err());
        assert!(duration("-1s").is_err());
    }

    #[test]
    fn a_time_to_watch_is_a_number_of_reports() {
        let seconds = |many| Some(Duration::from_secs(many));
        let repeat = |interval, count| Repeat { interval, count };
        for (typed, of, is) in [
            (repeat(None, None), None, repeat(None, None)),
            (repeat(None, None), seconds(5), repeat(seconds(5), Some(1))),
            (repeat(seconds(1), None), seconds(5), repeat(seconds(1), Some(5))),
            (repeat(seconds(9), None), seconds(5), repeat(seconds(5), Some(1))),
        ] {
            assert_eq!(typed.within(of).unwrap(), is, "{typed:?} {of:?}");
        }
        assert!(repeat(seconds(1), Some(3)).within(seconds(5)).is_err());
    }

    #[test]
    fn why_is_the_default_command() {
        command::register(crate::commands::COMMANDS);
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
