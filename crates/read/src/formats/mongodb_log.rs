//! MongoDB's log: long checkpoints and flushes, queries that read from the disk.
//!
//! ## Reads
//! `Checkpoint has been running for 27 seconds and wrote`, `Checkpoint ran for`, `flushing mmaps took 18467ms`,
//! and `Slow query` with the time that it read from the disk (`timeReadingMicros`), in the JSON lines of 4.4 and
//! later and in the older text. They become facts: how many, and the longest.
//!
//! ## Where it comes from
//! `/var/log/mongodb/mongod.log`, `kubectl logs`.
//!
//! ## Versions
//! 2.6 to 8. The times of queries are logged since 4.2.
//!
//! ## Traps
//! Only queries slower than a limit (100 ms) are logged. A checkpoint that runs is reported several times, so
//! checkpoints are counted by their start. A checkpoint is many writes and is slow by intent where there is much to write: its
//! time is no latency. `timeReadingMicros` is the sum over all reads of a query.
//!
//! ## Cannot know
//! How many reads a query did, which disk, what else used it. Whether whole lines are missing: they bear no
//! numbers.

use iowhy_model::{Level, Sink};

use crate::counters::stated::state;
use crate::{Format, Reader, Sniff, Step, decimal, integer};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "mongodb-log",
    summary: "MongoDB's log: long checkpoints and flushes, reads of queries",
    manual: iowhy_model::manual!("mongodb_log.rs"),
    level: Level::E,
    sniff: |lines| Sniff::from(lines.first().is_some_and(|line| Entry::of(line).is_some())),
    reader: || Box::new(MongodbLog::default()),
};

/// A line that tells of I/O.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Entry {
    /// Seconds of a checkpoint so far.
    Checkpoint(f64),
    /// Milliseconds of a flush.
    Flush(f64),
    /// Microseconds that a query read from the disk.
    Read(u64),
}

impl Entry {
    fn of(line: &str) -> Option<Entry> {
        let after = |text: &str| line.split_once(text).map(|(_, rest)| rest);
        let words = ["Checkpoint ", "flushing mmaps took ", "timeReadingMicros"];
        if !words.iter().any(|word| line.contains(word)) {
            return None;
        }
        let known = ["Checkpoint has been running for ", "Checkpoint ran for "];
        if let Some(rest) = known.iter().find_map(|text| after(text)) {
            let (seconds, rest) = rest.split_once(" seconds")?;
            return decimal(seconds).filter(|_| rest.contains("wrote")).map(Entry::Checkpoint);
        }
        if let Some(rest) = after("flushing mmaps took ") {
            return decimal(rest.split_once("ms")?.0).map(Entry::Flush);
        }
        let query = line.contains("\"Slow query\"") || line.contains(" storage:{ data:");
        let rest = after("timeReadingMicros").filter(|_| query)?;
        let digits = rest.trim_start_matches(['"', ':', ' ']);
        let end = digits.find(|c: char| !c.is_ascii_digit())?;
        integer(digits.get(..end)?).map(Entry::Read)
    }
}

#[derive(Default)]
struct MongodbLog {
    checkpoints: u64,
    /// Seconds of all, and of the one that runs.
    total_s: f64,
    running_s: f64,
    flushes: u64,
    slowest_ms: f64,
    longest_us: u64,
}

impl MongodbLog {
    /// A checkpoint is over.
    fn complete(&mut self) {
        self.total_s += std::mem::take(&mut self.running_s);
    }
}

impl Reader for MongodbLog {
    fn line(&mut self, line: &str, _sink: &mut dyn Sink) -> Step {
        match Entry::of(line) {
            Some(Entry::Checkpoint(seconds)) => {
                if seconds < self.running_s || self.running_s == 0.0 {
                    self.complete();
                    self.checkpoints += 1;
                }
                self.running_s = seconds;
            }
            Some(Entry::Flush(ms)) => {
                self.flushes += 1;
                self.slowest_ms = self.slowest_ms.max(ms);
            }
            Some(Entry::Read(us)) => self.longest_us = self.longest_us.max(us),
            None if line.contains("flushing mmaps took") => {
                return Step::Skipped("the line does not say how long it took".to_string());
            }
            None if line.trim().is_empty() => {}
            None => return Step::Passed,
        }
        Step::Took
    }

    fn resumes(&self) -> bool {
        true
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.complete();
        if self.checkpoints > 0 {
            state(None, "checkpoint.count", self.checkpoints.to_string(), sink);
            state(None, "checkpoint.total", format!("{:.3} s", self.total_s), sink);
        }
        if self.flushes > 0 {
            state(None, "flush.slow", self.flushes.to_string(), sink);
            state(None, "flush.slowest", format!("{} us", self.slowest_ms * 1e3), sink);
        }
        if self.longest_us > 0 {
            state(None, "query.read-wait", format!("{} us", self.longest_us), sink);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::scan::recorded as read;

    #[test]
    fn a_checkpoint_told_twice_is_one() {
        let recording = read(
            "{\"t\":{\"$date\":\"2026-11-22T10:00:00.000+00:00\"},\"s\":\"I\",\"c\":\"STORAGE\",\"id\":22430,\"ctx\":\"Checkpointer\",\"msg\":\"WiredTiger message\",\"attr\":{\"message\":\"WT_SESSION.checkpoint: [WT_VERB_CHECKPOINT_PROGRESS] Checkpoint has been running for 20 seconds and wrote: 5000 pages (156 MB)\"}}\n\
             {\"t\":{\"$date\":\"2026-11-22T10:00:20.000+00:00\"},\"s\":\"I\",\"c\":\"STORAGE\",\"id\":22430,\"ctx\":\"Checkpointer\",\"msg\":\"WiredTiger message\",\"attr\":{\"message\":\"WT_SESSION.checkpoint: [WT_VERB_CHECKPOINT_PROGRESS] Checkpoint ran for 37 seconds and wrote: 9000 pages (280 MB)\"}}\n\
             {\"t\":{\"$date\":\"2026-11-22T10:00:21.000+00:00\"},\"s\":\"I\",\"c\":\"COMMAND\",\"id\":51803,\"ctx\":\"conn7\",\"msg\":\"Slow query\",\"attr\":{\"durationMillis\":900,\"storage\":{\"data\":{\"bytesRead\":73400320,\"timeReadingMicros\":845123}}}}\n\
             2015-03-02T03:01:15.100+0100 I STORAGE  [DataFileSync] flushing mmaps took 18467ms  for 45 files\n",
        );
        let listing = &recording.listings[0];
        let facts: Vec<String> =
            listing.facts.iter().map(|fact| format!("{} {}", fact.key, fact.value)).collect();
        assert_eq!(
            facts,
            [
                "checkpoint.count 1",
                "checkpoint.total 37 s",
                "flush.slow 1",
                "flush.slowest 18.467 s",
                "query.read-wait 0.845123 s"
            ]
        );
    }
}
