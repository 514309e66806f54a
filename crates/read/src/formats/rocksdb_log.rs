//! RocksDB's log: writes that it stalled or stopped, since its compaction could not follow.
//!
//! ## Reads
//! `Stopping writes because we have 36 level-0 files`, `Stalling writes because of estimated pending compaction bytes ...`, as
//! facts: how often each. `Cumulative stall: 00:01:10.500 H:M:S, 11.7 percent` of its statistics, the share of the time. Other
//! lines of its log are passed over.
//!
//! ## Where it comes from
//! The file `LOG` in the database's folder; the log of a program that embeds it (TiKV, Ceph's BlueStore, MyRocks, Kafka
//! Streams).
//!
//! ## Versions
//! RocksDB 3 to 9 (`db/column_family.cc`, `db/internal_stats.cc`).
//!
//! ## Traps
//! A stall says that data came faster than they were merged: by the disk, by the threads or by the rate that compaction is
//! allowed, or by how often the data are written anew. It is no latency of a disk.
//!
//! ## Cannot know
//! The disk, how long a write waited, whether compaction waited for the disk or for a processor. Whether whole lines are
//! missing: they bear no numbers.

use iowhy_model::typed::Share;
use iowhy_model::{Level, Sink, typed};

use crate::facts::AddFact;
use crate::{Format, Reader, Sniff, Step, WallTime, decimal};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "rocksdb-log",
    summary: "RocksDB's log: writes that were stalled for compaction",
    manual: iowhy_model::manual!("rocksdb_log.rs"),
    level: Level::E,
    sniff: |lines| Sniff::from(lines.first().is_some_and(|line| Entry::of(line).is_some())),
    reader: || Box::new(RocksdbLog::default()),
};

/// A line that tells of stalls.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Entry {
    /// Writes are slowed down.
    Stalling,
    /// Writes are held until compaction has caught up.
    Stopping,
    /// The share of the time for which they were, since the database was opened.
    Share(f64),
}

impl Entry {
    fn of(line: &str) -> Option<Entry> {
        let because = |word: &str| line.contains(word) && line.contains("writes because ");
        if because("Stalling ") {
            return Some(Entry::Stalling);
        }
        if because("Stopping ") {
            return Some(Entry::Stopping);
        }
        let (_, rest) = line.split_once("Cumulative stall: ")?;
        let (_, percent) = rest.strip_suffix(" percent")?.split_once(" H:M:S, ")?;
        decimal(percent).filter(|percent| (0.0..=100.0).contains(percent)).map(Entry::Share)
    }
}

/// Whether the database wrote a line: `2021/01/26-00:09:07.949333 7f798f7fe700 [WARN] ...`.
fn is_of_database(line: &str) -> bool {
    let time = line.split(' ').next().and_then(|stamp| stamp.split_once('-'));
    time.is_some_and(|(date, clock)| {
        date.len() == 10 && date.contains('/') && WallTime::read(clock).is_some()
    })
}

#[derive(Default)]
struct RocksdbLog {
    stalls: u64,
    stops: u64,
    percent: Option<f64>,
}

impl Reader for RocksdbLog {
    fn line(&mut self, line: &str, _sink: &mut dyn Sink) -> Step {
        match Entry::of(line.trim_end()) {
            Some(Entry::Stalling) => self.stalls += 1,
            Some(Entry::Stopping) => self.stops += 1,
            Some(Entry::Share(percent)) => self.percent = Some(percent),
            None if line.trim().is_empty() || is_of_database(line) => {}
            None => return Step::Passed,
        }
        Step::Took
    }

    fn resumes(&self) -> bool {
        true
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        for (key, count) in [(typed::STALL_SLOWED, self.stalls), (typed::STALL_STOPPED, self.stops)]
        {
            if count > 0 {
                sink.add_fact(None, key, count);
            }
        }
        if let Some(percent) = self.percent {
            sink.add_fact(None, typed::STALL_SHARE, Share::from_percent(percent));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stalls_and_their_share() {
        for (line, entry) in [
            (
                "2024/03/01-10:00:01.000001 7f1 [WARN] [db/column_family.cc:886] [default] Stopping writes because we have 36 level-0 files",
                Some(Entry::Stopping),
            ),
            (
                "[db/column_family.cc:931] [a] Stalling writes because we have 20 level-0 files rate 16",
                Some(Entry::Stalling),
            ),
            ("Cumulative stall: 00:01:10.500 H:M:S, 11.7 percent", Some(Entry::Share(11.7))),
            ("Interval stall: 00:00:0.000 H:M:S, 0.0 percent", None),
            ("they stall writes because they can", None),
        ] {
            assert_eq!(Entry::of(line), entry, "{line}");
        }
        assert!(is_of_database("2021/01/26-00:09:07.949333 7f798f7fe700 [WARN] x"));
        assert!(!is_of_database("2021-01-26 00:09:07 web sshd[1]: x"));
    }
}
