//! PostgreSQL's log: checkpoints, how long they wrote and synced, and slow commits.
//!
//! ## Reads
//! Lines `checkpoint complete: wrote 19 buffers (0.1%); ... write=49.081 s, sync=8.710 s, total=59.311 s;
//! sync files=92, longest=2.248 s, average=0.095 s; ...`: the syncs of each checkpoint become so many
//! flushes with their mean and maximum. `checkpoint starting: wal` and `time`, `checkpoints are
//! occurring too frequently`, and commits that `log_min_duration_statement` caught become facts.
//!
//! ## Where it comes from
//! The server's log with `log_checkpoints = on` (the default since 15).
//!
//! ## Versions
//! PostgreSQL 9.1 and later; restartpoints of a standby alike.
//!
//! ## Traps
//! `write` is spread over the time to the next checkpoint on purpose (checkpoint_completion_target):
//! it is no latency. `sync` is: each file is flushed in turn. A checkpoint that starts for `wal` was
//! forced by the volume of changes (max_wal_size), one for `time` is routine. The longest sync of a
//! checkpoint is one file's.
//!
//! ## Cannot know
//! Which device, what else wrote there, how long transactions waited meanwhile. Whether whole lines
//! are missing: they bear no numbers.

use iowhy_model::{Distribution, Histogram, Layer, Level, Nanos, Op, Sink, Stage, typed};

use crate::facts::AddFact;
use crate::{Format, Reader, Step, decimal};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "postgres-log",
    summary: "PostgreSQL's log: checkpoints and their syncs, slow commits",
    manual: iowhy_model::manual!("postgres_log.rs"),
    level: Level::B,
    sniff: |lines| lines.first().is_some_and(|line| Entry::of(line).is_some()).into(),
    reader: || Box::new(PostgresLog::default()),
};

/// What the flushes of checkpoints are called in reports.
const NAME: &str = "PostgreSQL";

/// A line of the log that tells of I/O.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Entry {
    /// Whether it was forced by the volume of the write-ahead log.
    Starting(bool),
    Complete(Checkpoint),
    /// Seconds between checkpoints, too few by the server's own judgement.
    TooFrequent(f64),
    /// Milliseconds of a commit.
    Commit(f64),
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Checkpoint {
    sync_s: f64,
    total_s: f64,
    files: u64,
    longest_s: f64,
    average_s: f64,
}

impl Entry {
    fn of(line: &str) -> Option<Entry> {
        if !line.contains(' ')
            || !["checkpoint", "restartpoint", "duration: "].iter().any(|word| line.contains(word))
        {
            return None;
        }
        let point = ["checkpoint", "restartpoint"].iter().find_map(|kind| {
            let rest = line.get(line.find(kind)? + kind.len()..)?;
            Some(rest).filter(|rest| rest.starts_with([' ', 's']))
        });
        if let Some(rest) = point {
            if let Some(why) = rest.strip_prefix(" starting:") {
                return Some(Entry::Starting(
                    why.split_whitespace().any(|word| matches!(word, "wal" | "xlog")),
                ));
            }
            if rest.starts_with(" complete: ") {
                return Checkpoint::of(rest).map(Entry::Complete);
            }
            let (_, seconds) = rest.split_once("occurring too frequently (")?;
            let seconds = decimal(seconds.split_whitespace().next()?)?;
            return Some(Entry::TooFrequent(seconds));
        }
        let (_, rest) = line.split_once("duration: ")?;
        let (ms, statement) = rest.split_once(" ms")?;
        let commit = statement.trim_end_matches(';').to_ascii_lowercase();
        let commit = commit.ends_with(": commit") || commit.ends_with(": end");
        commit.then(|| decimal(ms).map(Entry::Commit))?
    }
}

impl Checkpoint {
    fn of(text: &str) -> Option<Checkpoint> {
        let value = |key: &str| {
            let (_, rest) = text.split_once(key)?;
            decimal(rest.split([' ', ',', ';']).next()?).filter(|value| *value >= 0.0)
        };
        Some(Checkpoint {
            sync_s: value(", sync=")?,
            total_s: value(" total=")?,
            files: value("sync files=")? as u64,
            longest_s: value("longest=")?,
            average_s: value("average=")?,
        })
    }
}

#[derive(Default)]
struct PostgresLog {
    checkpoints: u64,
    sync_s: f64,
    total_s: f64,
    starts: u64,
    forced: u64,
    /// The shortest time between checkpoints that the server complained of.
    apart_s: Option<f64>,
    commits: u64,
    slowest_ms: f64,
}

impl Reader for PostgresLog {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        match Entry::of(line) {
            Some(Entry::Starting(forced)) => {
                self.starts += 1;
                self.forced += u64::from(forced);
            }
            Some(Entry::Complete(one)) => self.complete(one, sink),
            Some(Entry::TooFrequent(seconds)) => {
                let apart = self.apart_s.map_or(seconds, |known| known.min(seconds));
                self.apart_s = Some(apart);
            }
            Some(Entry::Commit(ms)) => {
                self.commits += 1;
                self.slowest_ms = self.slowest_ms.max(ms);
            }
            None if line.contains("checkpoint complete: ") => {
                return Step::Skipped("the times of the checkpoint are incomplete".to_string());
            }
            None => return Step::Passed,
        }
        Step::Took
    }

    fn resumes(&self) -> bool {
        true
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        let to_ms = |seconds: f64| Nanos::from_ms((seconds * 1e3).round());
        if self.checkpoints > 0 {
            sink.add_fact(None, typed::CHECKPOINT_COUNT, self.checkpoints);
            sink.add_fact(None, typed::CHECKPOINT_SYNC, to_ms(self.sync_s));
            sink.add_fact(None, typed::CHECKPOINT_TOTAL, to_ms(self.total_s));
        }
        if self.starts > 0 {
            sink.add_fact(None, typed::CHECKPOINT_FORCED, self.forced);
            sink.add_fact(None, typed::CHECKPOINT_STARTS, self.starts);
        }
        if let Some(seconds) = self.apart_s {
            sink.add_fact(None, typed::CHECKPOINT_APART, Nanos::from_seconds(seconds));
        }
        if self.commits > 0 {
            sink.add_fact(None, typed::COMMIT_SLOW, self.commits);
            sink.add_fact(None, typed::COMMIT_SLOWEST, Nanos::from_ms(self.slowest_ms));
        }
    }
}

impl PostgresLog {
    fn complete(&mut self, one: Checkpoint, sink: &mut dyn Sink) {
        self.checkpoints += 1;
        self.sync_s += one.sync_s;
        self.total_s += one.total_s;
        if one.files == 0 || one.longest_s <= 0.0 {
            return;
        }
        let max = (one.longest_s * 1e9) as u64;
        // The shortest is not printed.
        let histogram = Histogram::from_summary(one.files, one.average_s * 1e9, 0, max);
        let device = sink.device(NAME);
        let mut flushes = Distribution::new(device, Layer::Syscall, Stage::Total, histogram);
        flushes.op = Some(Op::Flush);
        flushes.label = Some(sink.name("fsync of a checkpoint"));
        sink.distribution(flushes);
    }
}

#[cfg(test)]
mod tests {
    use crate::scan::recorded as read;

    #[test]
    fn checkpoints_and_what_forced_them() {
        let recording = read(
            "2026-07-18 12:03:59.421 UTC [27] LOG:  checkpoint complete: wrote 8 buffers (0.0%); 0 WAL file(s) added, 16 removed, 23 recycled; write=18.309 s, sync=11.456 s, total=31.006 s; sync files=80, longest=6.791 s, average=0.144 s; distance=633113 kB\n\
             2026-07-18 12:03:59.422 UTC [27] LOG:  checkpoint starting: wal\n\
             2026-07-18 12:04:00.422 UTC [27] LOG:  checkpoint starting: time\n\
             2026-07-18 12:04:01.001 UTC [31] LOG:  duration: 1523.123 ms  statement: COMMIT;\n\
             2026-07-18 12:04:09.421 UTC [27] LOG:  checkpoint complete: wrote 8 buffers (0.0%); 0 WAL\n",
        );
        let listing = &recording.listings[0];
        let syncs = &listing.distributions[0].histogram;
        assert_eq!((syncs.count(), syncs.max_ns), (80, Some(6_791_000_000)));
        let facts: Vec<String> =
            listing.facts.iter().map(|fact| format!("{} {}", fact.key, fact.value)).collect();
        assert!(facts.contains(&"checkpoint.forced 1".to_string()), "{facts:?}");
        assert!(facts.contains(&"commit.slowest 1.523123 s".to_string()), "{facts:?}");
        assert_eq!(listing.source.skipped, 1);
    }
}
