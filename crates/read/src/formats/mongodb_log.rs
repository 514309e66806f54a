//! MongoDB's log: long checkpoints and flushes, queries that read from the disk.
//!
//! ## Reads
//! `Checkpoint has been running for 27 seconds and wrote`, `Checkpoint ran for`, `flushing mmaps took 18467ms`,
//! and `Slow query` with the time that it read from the disk (`timeReadingMicros`), in the JSON lines of 4.4 and
//! later and in the older text. They become facts: how many, and the longest. `serverStatus was very slow` becomes an operation of the
//! server, as long as its last step says.
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
//! time is no latency. `timeReadingMicros` is the sum over all reads of a query. A slow `serverStatus` waits for a processor, a lock
//! or the storage engine; only one that takes longer than a second is logged.
//!
//! ## Cannot know
//! How many reads a query did, which disk, what else used it. Whether whole lines are missing: they bear no
//! numbers.

use iowhy_model::{Level, Nanos, Op, Sink, typed};

use crate::counters::slow_log::SlowLog;
use crate::facts::AddFact;
use crate::{Format, Reader, Sniff, Step, WallTime, decimal, integer};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "mongodb-log",
    summary: "MongoDB's log: long checkpoints and flushes, reads of queries",
    manual: iowhy_model::manual!("mongodb_log.rs"),
    level: Level::E,
    sniff: |lines| Sniff::from(lines.first().is_some_and(|line| Entry::of(line).is_some())),
    reader: || Box::new(MongodbLog::default()),
};

/// What is said of a server that needs long to count its own state.
const STATUS: &str = "serverStatus was very slow";
/// From when on it is said, us (db/ftdc of MongoDB).
const STATUS_US: u64 = 1_000_000;

/// When a line was written: the first word of the older text, `$date` of the JSON.
fn moment(line: &str) -> Option<WallTime> {
    let json = line.split_once("\"$date\":\"").and_then(|(_, rest)| rest.split('"').next());
    let text = json.or_else(|| line.split_whitespace().find(|word| word.contains('T')))?;
    WallTime::read(text.split_once('+').map_or(text, |(time, _)| time))
}

/// A line that tells of I/O.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Entry {
    /// Seconds of a checkpoint so far.
    Checkpoint(f64),
    /// Milliseconds of a flush.
    Flush(f64),
    /// Microseconds that a query read from the disk.
    Read(u64),
    /// Milliseconds that the server needed to count its own state.
    Status(u64),
}

impl Entry {
    fn of(line: &str) -> Option<Entry> {
        let after = |text: &str| line.split_once(text).map(|(_, rest)| rest);
        let words = ["Checkpoint ", "flushing mmaps took ", "timeReadingMicros", STATUS];
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
        if let Some(rest) = after(STATUS) {
            return last_step(rest).map(Entry::Status);
        }
        let query = line.contains("\"Slow query\"") || line.contains(" storage:{ data:");
        let rest = after("timeReadingMicros").filter(|_| query)?;
        let digits = rest.trim_start_matches(['"', ':', ' ']);
        let end = digits.find(|c: char| !c.is_ascii_digit())?;
        integer(digits.get(..end)?).map(Entry::Read)
    }
}

/// Time at the end of the last step that is named, ms: `{ after basic: 12, after asserts: 12, ..., at end: 8560 }`, in JSON with
/// quotation marks and without blanks.
fn last_step(text: &str) -> Option<u64> {
    let steps = text.match_indices([',', '}']).filter_map(|(end, _)| {
        let (label, value) = text.get(..end)?.rsplit_once(':')?;
        let label = label.trim_end_matches(['"', '\\']);
        let step = label.rsplit([',', '{', '"']).next()?.trim();
        let named = step.starts_with("after ") || step == "at end";
        integer(value.trim()).filter(|_| named)
    });
    steps.max()
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
    slow: SlowLog,
    statuses: u64,
}

impl MongodbLog {
    /// A checkpoint is over.
    fn complete(&mut self) {
        self.total_s += std::mem::take(&mut self.running_s);
    }
}

impl Reader for MongodbLog {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
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
            Some(Entry::Status(ms)) => {
                self.statuses += 1;
                let ns = ms.saturating_mul(1_000_000);
                self.slow.take(("mongodb", Op::Other, "serverStatus"), ns, moment(line), sink);
            }
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
            sink.add_fact(None, typed::CHECKPOINT_COUNT, self.checkpoints);
            let total = Nanos::from_ms((self.total_s * 1e3).round());
            sink.add_fact(None, typed::CHECKPOINT_TOTAL, total);
        }
        if self.flushes > 0 {
            sink.add_fact(None, typed::FLUSH_SLOW, self.flushes);
            sink.add_fact(None, typed::FLUSH_SLOWEST, Nanos::from_ms(self.slowest_ms));
        }
        if self.statuses > 0 {
            self.slow.state_threshold(STATUS_US, sink);
        }
        if self.longest_us > 0 {
            let longest = Nanos::from_us(self.longest_us as f64);
            sink.add_fact(None, typed::QUERY_READ_WAIT, longest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::recorded as read;

    #[test]
    fn a_slow_status_took_as_long_as_its_last_step() {
        let old = "2018-04-23T14:17:08.626+0000 I COMMAND  [ftdc] serverStatus was very slow: { after basic: 12, after asserts: 22, \
                   after wiredTiger: 8560, at end: 8561 }";
        assert_eq!(Entry::of(old), Some(Entry::Status(8561)));
        let json = "{\"t\":{\"$date\":\"2021-08-10T20:24:16.160+00:00\"},\"s\":\"I\",  \"c\":\"COMMAND\",  \"id\":20499, \
                    \"msg\":\"serverStatus was very slow\",\"attr\":{\"timeStats\":{\"after basic\":1,\"after asserts\":3,\"at end\":1030}}}";
        assert_eq!(Entry::of(json), Some(Entry::Status(1030)));
        // Cut off, as people paste it; and a sentence about it.
        assert_eq!(Entry::of(&old[..120]), Some(Entry::Status(22)));
        assert_eq!(Entry::of("serverStatus was very slow again, after basic: checks"), None);
        let later = old.replace("08.626", "10.126");
        assert_eq!(moment(&later).unwrap().since(moment(old).unwrap()), Some(1.5));
        assert_eq!(read(&format!("{old}\n{later}\n")).listings[0].events.len(), 2);
    }

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
