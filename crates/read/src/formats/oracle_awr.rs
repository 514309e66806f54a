//! Oracle AWR, Statspack, `v$system_event`: waits of a database for its I/O, as counts and means.
//!
//! ## Reads
//! Rows of `Top Timed Events`, foreground and background wait events: an I/O event, its waits, the
//! time and the mean, `log file sync 59,558 3,275 55 54.53 Commit`, even if columns run together.
//! Each becomes that number of waits with that mean. The same applies to `SELECT event,
//! total_waits, time_waited_micro, average_wait FROM v$system_event`, whose mean is in hundredths
//! of a second. The rows of `Top Timed Events`, with those that are no I/O (`DB CPU`, `latch:`,
//! `enq:`), also give the share of each class of waits (`database.wait_share.*`).
//!
//! ## How to capture
//! `awrrpt.sql`, Statspack's `spreport.sql`, as text or pasted from the HTML page.
//!
//! ## Versions
//! Oracle 9i to 23: `Avg wait (ms)`, or a mean with its unit (`512.1us`). A row is taken only if
//! waits, time and mean agree, so no heading is needed.
//!
//! ## Caveats
//! A wait is measured in a database process: it includes file system, queue, remote storage and
//! disk, and for `log file sync` also the log writer and the CPUs. `log file parallel write` is the
//! log writer's own I/O. A `parallel` read or write is many requests at once. Means of a snapshot
//! of an hour hide its worst minute. Times are whole seconds, means often whole milliseconds.
//!
//! ## Not in this output
//! Individual latencies (the histograms of the same report have more), the file or device, the
//! duration of the snapshot if it is not included.

use crate::counters::database_waits::{Awaited, DatabaseWaits, io_waits, of_oracle};
use crate::program::*;
use crate::text::repair::has_odd;
use crate::text::words::is_for_people;

pub(super) const FORMAT: Format = Format::by_line::<OracleAwr>(
    "Oracle AWR, Statspack: I/O wait events, counts and mean waits",
    Level::B,
    &[
        "db file ", "log file ", "control file ", "direct path ", "cell ",
        "Disk file operations I/O", "read by other session", "Data file init write",
        "free buffer waits", "flashback log file write", " Ela Time", "Timed", "Foreground",
    ],
    |line| {
        let begins = has_no_mean(line) || is_top(line) || row(line, false).is_some();
        is_for_people(line) && (begins || is_damaged(line))
    },
)
.resumed();

/// Waits for I/O, and what they do (Oracle Database Reference, appendix C).
const EVENTS: [(&str, Op); 25] = [
    ("db file sequential read", Op::Read),
    ("db file scattered read", Op::Read),
    ("db file parallel read", Op::Read),
    ("db file single write", Op::Write),
    ("db file parallel write", Op::Write),
    ("db file async I/O submit", Op::Write),
    ("log file sync", Op::Flush),
    ("log file parallel write", Op::Flush),
    ("log file sequential read", Op::Read),
    ("log file single write", Op::Write),
    ("control file sequential read", Op::Read),
    ("control file parallel write", Op::Write),
    ("direct path read temp", Op::Read),
    ("direct path write temp", Op::Write),
    ("direct path read", Op::Read),
    ("direct path write", Op::Write),
    ("direct path sync", Op::Flush),
    ("Data file init write", Op::Write),
    ("flashback log file write", Op::Write),
    // The buffer cache is full of changes: the database writer has to write some first.
    ("free buffer waits", Op::Other),
    ("cell single block physical read", Op::Read),
    ("cell multiblock physical read", Op::Read),
    ("cell smart table scan", Op::Read),
    ("Disk file operations I/O", Op::Other),
    ("read by other session", Op::Read),
];
/// The unit of `AVERAGE_WAIT` in `v$system_event`, ms.
const CENTISECOND: f64 = 10.0;
/// Letters of a name in the reports of background waits.
const CUT: usize = 26;
/// Waits from which on a row's three numbers agree by no chance.
const FEWEST: u64 = 10;

/// Whether it is the heading of Statspack's events without their means: `Event  Waits  Time (s) Ela
/// Time`.
fn has_no_mean(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    words == ["Event", "Waits", "Time", "(s)", "Ela", "Time"]
}

/// Whether the events follow in which most time passed: `Top 5 Timed Foreground Events`.
fn is_top(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().take(6).collect();
    matches!(
        words[..],
        ["Top", _, "Timed", "Events", ..]
            | ["Top", _, "Timed", "Foreground" | "Background", "Events", ..]
            | ["Top", _, "Foreground", "Events", "by", ..]
            | ["Top", "Timed", "Events", ..]
    ) && !words.contains(&"Background")
}

/// A row of these: its event, its time in s and its waits.
fn top_row(line: &str) -> Option<(Awaited, &str, f64, u64)> {
    let (awaited, event) = of_oracle(line);
    let rest = line.trim().strip_prefix(event).filter(|_| !event.is_empty())?;
    let number = |word: &str| {
        let (digits, times) = match word.strip_suffix('K') {
            Some(digits) => (digits, 1e3),
            None => (word.strip_suffix('M').unwrap_or(word), 1e6),
        };
        let times = if digits == word { 1.0 } else { times };
        decimal(&digits.replace(',', "")).map(|number| number * times)
    };
    let words: Vec<&str> = rest.split_whitespace().collect();
    let numbers: Vec<f64> = words.iter().map_while(|word| number(word)).collect();
    // Time on a CPU is not a number of waits.
    let (waits, seconds) = match numbers[..] {
        [seconds, _] => (0.0, seconds),
        [waits, seconds, ..] => (waits, seconds),
        _ => return None,
    };
    (seconds >= 0.0 && waits >= 0.0).then_some(())?;
    Some((awaited.unwrap_or(Awaited::Other), event, seconds, waits as u64))
}

/// An event, its waits and its mean in ns. Of rows without a mean it is the time over the waits.
fn row(line: &str, is_timed: bool) -> Option<(&'static str, Op, u64, f64)> {
    let line = line.trim();
    let (name, op, rest) = event(line)?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let plain = |word: &str| decimal(&word.replace(',', ""));
    let waits = integer(&words.first()?.replace(',', "")).filter(|waits| *waits >= FEWEST)?;
    if let ([_, seconds, share], true) = (&words[..], is_timed) {
        let seconds = plain(seconds).filter(|seconds| *seconds > 0.0)?;
        decimal(share).filter(|share| (0.0..=100.0).contains(share))?;
        return Some((name, op, waits, seconds * 1e9 / waits as f64));
    }
    // The waits are followed by the time and the mean, perhaps not directly: `%Time -outs` is
    // between.
    let pairs = words.windows(2).skip(1).take(3);
    let mut found = pairs.filter_map(|pair| {
        let seconds = plain(pair[0]).filter(|seconds| *seconds > 0.0)?;
        let (mean_ms, step_ms) = mean(pair[1])?;
        let micro_ms = seconds / 1e3 / waits as f64;
        if words.len() == 3 && (micro_ms / CENTISECOND - mean_ms).abs() <= step_ms * 0.501 {
            return Some(micro_ms);
        }
        let computed_ms = seconds * 1e3 / waits as f64;
        let rounding = step_ms / 2.0 + 500.0 / waits as f64;
        ((computed_ms - mean_ms).abs() <= rounding * 1.01).then_some(computed_ms)
    });
    Some((name, op, waits, found.next()? * 1e6))
}

/// The event of a row and what follows it. Statspack and AWR cut a name at the width of its column:
/// `control file sequential re`.
fn event(line: &str) -> Option<(&'static str, Op, &str)> {
    EVENTS.iter().find_map(|(name, op)| {
        let whole = line.strip_prefix(name).filter(|rest| rest.starts_with(char::is_whitespace));
        let cut = || {
            let (head, rest) = line.split_at_checked(CUT)?;
            (name.len() > CUT && name.starts_with(head) && rest.starts_with(' ')).then_some(rest)
        };
        whole.or_else(cut).map(|rest| (*name, *op, rest))
    })
}

/// `55`, `8.20ms`, `512.1us`: milliseconds, and the step they are printed in.
fn mean(word: &str) -> Option<(f64, f64)> {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match word.get(digits.len()..)? {
        "" | "ms" => 1.0,
        "us" => 1e-3,
        "s" => 1e3,
        _ => return None,
    };
    let places = digits.split_once('.').map_or(0, |(_, places)| places.len());
    let value = decimal(&digits.replace(',', ""))?;
    Some((value * unit, unit * 0.1f64.powi(i32::try_from(places).ok()?)))
}

/// Whether a row has something else where its numbers are: waits, time and mean are not known.
fn is_damaged(line: &str) -> bool {
    let Some((.., rest)) = event(line.trim()) else { return false };
    let words = || rest.split_whitespace();
    let numbers = words().filter(|word| decimal(&word.replace(',', "")).is_some()).count();
    let odd = words().filter(|word| has_odd(word)).count();
    odd > 0 && numbers + odd > 2
}

#[derive(Default)]
struct OracleAwr {
    /// Whether the rows have no mean.
    is_timed: bool,
    /// Whether the events follow in which most time passed, and whether a row of them was read.
    top: Option<bool>,
    waits: DatabaseWaits,
}

impl OracleAwr {
    /// Adds a line to the waits if it is among these events; whether it is.
    fn top(&mut self, line: &str) -> bool {
        if is_top(line) {
            (self.top, self.waits) = (Some(false), DatabaseWaits::default());
            return true;
        }
        let Some(is_begun) = self.top else { return false };
        let row = top_row(line);
        if let Some((awaited, event, seconds, waits)) = row {
            self.waits.time(awaited, event, seconds, waits);
        }
        let ends = is_begun && row.is_none();
        self.top = (!ends).then_some(is_begun || row.is_some());
        row.is_some()
    }
}

impl Reader for OracleAwr {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if has_no_mean(line) {
            self.is_timed = true;
            return Step::Consumed;
        }
        let is_top = self.top(line);
        let Some((name, op, waits, mean_ns)) = row(line, self.is_timed) else {
            let named = EVENTS.iter().any(|(name, _)| line.trim().starts_with(name));
            let is_number = |word: &&str| decimal(&word.replace(',', "")).is_some();
            let numbers = line.split_whitespace().filter(is_number).count();
            // An event that is no I/O: `SQL*Net message from dblink  7,065,802  11,312  15.85`.
            if !named && self.is_timed && numbers > 1 {
                return Step::Consumed;
            }
            if is_top && !named {
                return Step::Consumed;
            }
            return Step::skipped_if(
                named && numbers > 2 || is_damaged(line),
                "waits, time and mean of the row disagree",
            );
        };
        let device = sink.device(name);
        io_waits(device, op, waits, mean_ns, sink);
        Step::Consumed
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        std::mem::take(&mut self.waits).state(sink);
    }
}
