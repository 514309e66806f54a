//! CockroachDB's log: writes and syncs that its storage engine waited for.
//!
//! ## Reads
//! `disk slowness detected: syncdata on file 029902.log has been ongoing for 21.4s` of the engine (Pebble), `disk
//! slowness detected: unable to sync log files within 10s` and `disk stall detected: unable to write to STORE within
//! 10s`. Syncs become flushes, writes writes, the rest (create, rename, remove) operations of the application.
//!
//! ## Where it comes from
//! `cockroach.log`, `cockroach-pebble.log`, the server's stderr.
//!
//! ## Versions
//! CockroachDB 19 to 25.
//!
//! ## Traps
//! Only what goes on for 5 s or longer is logged (10 s for the server's own log), as long as it goes on, again and
//! again: lines about one operation on one file are one operation, and the last of them says the least that it took.
//! What waits may be a disk, a quota of a volume, or a machine without a processor to spare.
//!
//! ## Cannot know
//! How many syncs were quick; how long the slow ones took in the end; the disk behind them. Whether whole lines are
//! missing: they bear no numbers.

use iowhy_model::{Level, Op, Sink};

use crate::counters::slow_log::SlowLog;
use crate::{Format, Reader, Sniff, Step, WallTime, decimal};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "cockroach-log",
    summary: "CockroachDB's log: disk slowness detected, disk stalls",
    manual: iowhy_model::manual!("cockroach_log.rs"),
    level: Level::C,
    sniff: |lines| Sniff::from(lines.first().is_some_and(|line| Entry::of(line).is_some())),
    reader: || Box::new(CockroachLog::default()),
};

/// From when on the engine logs an operation (`diskHealthCheckInterval`).
const LOGGED_US: u64 = 5_000_000;
/// The longest time that is taken for one: a day.
const LONGEST_S: f64 = 86_400.0;
/// Operations that are followed at a time.
const MOST: usize = 64;

/// What an operation is called in an answer, whatever of it was slow.
const LOG_FILES: &str = "sync of the log files";

/// A line that tells of an operation that goes on.
#[derive(Clone, Debug, PartialEq)]
struct Entry<'a> {
    /// `syncdata`, `write`.
    what: &'a str,
    /// The file or store; empty if none is named.
    file: &'a str,
    ns: u64,
}

impl<'a> Entry<'a> {
    fn of(line: &'a str) -> Option<Entry<'a>> {
        let (before, rest) = ["disk slowness detected: ", "disk stall detected: "]
            .into_iter()
            .find_map(|what| line.contains(what).then(|| line.split_once(what)).flatten())?;
        if !(before.is_empty() || before == "WARNING: " || stamp(before).is_some()) {
            return None;
        }
        let (told, took) = match rest.split_once(" has been ongoing for ") {
            Some(known) => known,
            None => rest.strip_prefix("unable to ")?.split_once(" within ")?,
        };
        let end = took.find(|c: char| !(c.is_ascii_digit() || c == '.'));
        let (number, unit) = took.split_at(end?);
        let seconds = decimal(number).filter(|s| *s > 0.0 && *s < LONGEST_S);
        let ns = (seconds.filter(|_| unit.starts_with('s'))? * 1e9) as u64;
        if told == "sync log files" {
            return Some(Entry { what: LOG_FILES, file: "", ns });
        }
        let (what, file) =
            [" on file ", " to file ", " to "].into_iter().find_map(|at| told.split_once(at))?;
        let file = file.split_once(" (").map_or(file, |(file, _)| file);
        Some(Entry { what, file, ns })
    }

    fn op(&self) -> Op {
        match self.what {
            what if what.starts_with("sync") => Op::Flush,
            "write" | "preallocate" => Op::Write,
            _ => Op::Other,
        }
    }
}

/// When a line was written: `I240502 23:55:46.268103 338424495 storage/pebble.go:1525`, the letter being the
/// severity.
fn stamp(text: &str) -> Option<WallTime> {
    let mut words = text.split(' ');
    let day = words.next()?.strip_prefix(['I', 'W', 'E', 'F'])?;
    let (year, month, day) = (day.get(..2)?, day.get(2..4)?, day.get(4..)?);
    WallTime::read(&format!("20{year}-{month}-{day} {}", words.next()?))
}

/// An operation, as its last line has it.
struct Operation {
    what: String,
    file: String,
    op: Op,
    ns: u64,
    at: Option<WallTime>,
}

#[derive(Default)]
struct CockroachLog {
    slow: SlowLog,
    ongoing: Vec<Operation>,
}

impl CockroachLog {
    fn give(&mut self, place: usize, sink: &mut dyn Sink) {
        let Operation { what, op, ns, at, .. } = self.ongoing.remove(place);
        self.slow.take(("cockroach", op, &what), ns, at, sink);
    }
}

impl Reader for CockroachLog {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let Some(entry) = Entry::of(line) else { return Step::Passed };
        self.slow.saw(stamp(line));
        let is_same = |known: &Operation| known.what == entry.what && known.file == entry.file;
        if let Some(place) = self.ongoing.iter().position(is_same) {
            let known = &mut self.ongoing[place];
            if entry.ns > known.ns {
                (known.ns, known.at) = (entry.ns, stamp(line));
                return Step::Took;
            }
            // It took less than was said before: another one.
            self.give(place, sink);
        } else if self.ongoing.len() == MOST {
            self.give(0, sink);
        }
        self.ongoing.push(Operation {
            what: entry.what.to_string(),
            file: entry.file.to_string(),
            op: entry.op(),
            ns: entry.ns,
            at: stamp(line),
        });
        Step::Took
    }

    fn resumes(&self) -> bool {
        true
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        while !self.ongoing.is_empty() {
            self.give(0, sink);
        }
        self.slow.state_flushes(sink);
        self.slow.state_threshold(LOGGED_US, sink);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_slow_is_told_in_three_ways() {
        let entry =
            |what, file, seconds: f64| Some(Entry { what, file, ns: (seconds * 1e9) as u64 });
        for (line, known) in [
            (
                "F240502 23:55:46.268103 338424495 storage/pebble.go:1525 ⋮ [n2,s2,pebble] 549369  file write \
                 stall detected: disk slowness detected: write on file 24856607.sst (4096 bytes) has been \
                 ongoing for 83.5s",
                entry("write", "24856607.sst", 83.5),
            ),
            (
                "disk slowness detected: write to file /data/000123.sst has been ongoing for 6.0s",
                entry("write", "/data/000123.sst", 6.0),
            ),
            (
                "WARNING: disk slowness detected: unable to sync log files within 10s",
                entry(LOG_FILES, "", 10.0),
            ),
            (
                "disk stall detected: unable to write to /mnt/data1/cockroach within 10s",
                entry("write", "/mnt/data1/cockroach", 10.0),
            ),
            (
                "1. **Stalls**: `WARNING: disk slowness detected: unable to sync log files within 10s`",
                None,
            ),
            ("disk slowness detected: write to file {path} has been ongoing for {duration}s", None),
        ] {
            assert_eq!(Entry::of(line), known, "{line}");
        }
        assert!(stamp("W240502 23:55:46.268103 41 ").is_some());
        assert_eq!(stamp("Well, 12"), None);
    }
}
