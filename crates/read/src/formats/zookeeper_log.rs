//! ZooKeeper's log: syncs of the transaction log that took too long.
//!
//! ## Reads
//! `fsync-ing the write ahead log in SyncThread:2 took 3932ms which will adversely effect operation latency`; each becomes a
//! flush of the server. Other lines of the log are passed over.
//!
//! ## Where it comes from
//! `zookeeper.log`, `kubectl logs` of its pods.
//!
//! ## Versions
//! Seen of 2021, with the size of the file; lines without it and with `affect` for `effect` are read alike.
//!
//! ## Traps
//! Only what took longer than `fsync.warningthresholdms` is logged (1 s unless it was set): the mean of what is logged is
//! no mean, and the fact `trace.threshold` says so. A pause of the garbage collector looks the same: the time is the program's.
//!
//! ## Cannot know
//! How many syncs were quick, the disk behind them, what else used it. Whether whole lines are missing: they bear no
//! numbers.

use iowhy_model::{Level, Op, Sink};

use crate::counters::slow_log::{SlowLog, moment};
use crate::{Format, Reader, Sniff, Step, integer};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "zookeeper-log",
    summary: "ZooKeeper's log: syncs of the transaction log that took too long",
    manual: iowhy_model::manual!("zookeeper_log.rs"),
    level: Level::C,
    sniff: |lines| {
        // The time in front is the line's own: without it the line begins with a word.
        let whole = |line: &str| line.starts_with(|c: char| c.is_ascii_digit() || c == '-');
        Sniff::from(lines.first().is_some_and(|line| whole(line) && slow_sync(line).is_some()))
    },
    reader: || Box::new(ZookeeperLog::default()),
};

/// What the line says, before the thread and behind it.
const SYNC: &str = "fsync-ing the write ahead log in ";
/// From when on a sync is logged unless another bound was set, us.
const LOGGED_US: u64 = 1_000_000;

/// How long a sync took that the line tells of, ms.
fn slow_sync(line: &str) -> Option<u64> {
    let (_, rest) = line.split_once(SYNC)?;
    let (_thread, rest) = rest.split_once(" took ")?;
    let (ms, rest) = rest.split_once("ms ")?;
    rest.starts_with("which will adversely ").then(|| integer(ms))?
}

#[derive(Default)]
struct ZookeeperLog {
    slow: SlowLog,
}

impl Reader for ZookeeperLog {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        match slow_sync(line) {
            Some(ms) => {
                let ns = ms.saturating_mul(1_000_000);
                self.slow.take(("zookeeper", Op::Flush, "fsync"), ns, moment(line), sink);
                Step::Took
            }
            None if line.contains(SYNC) => {
                Step::Skipped("the line does not say how long it took".to_string())
            }
            None => Step::Passed,
        }
    }

    fn resumes(&self) -> bool {
        true
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.slow.state_flushes(sink);
        self.slow.state_threshold(LOGGED_US, sink);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_took_long_and_when() {
        let line = "2026-03-31 07:37:45,243 [myid:2] - WARN  [SyncThread:2:FileTxnLog@337] - fsync-ing the write ahead log in \
                    SyncThread:2 took 3932ms which will adversely effect operation latency. See the ZooKeeper guide";
        assert_eq!(slow_sync(line), Some(3932));
        let later = line.replace("45,243", "47,743");
        assert_eq!(moment(&later).unwrap().since(moment(line).unwrap()), Some(2.5));
        assert_eq!(slow_sync("fsync-ing the write ahead log in a hurry took 5ms "), None);
        assert_eq!(slow_sync("took 3932ms which will adversely effect"), None);
    }
}
