//! ZooKeeper's log: syncs of the transaction log that took too long.
//!
//! ## Reads
//! `fsync-ing the write ahead log in SyncThread:2 took 3932ms which will adversely effect operation
//! latency`; each becomes a flush of the server. Other lines of the log are ignored.
//!
//! ## How to capture
//! `zookeeper.log`, `kubectl logs` of its pods.
//!
//! ## Versions
//! Lines of 2021, with the size of the file; lines without it and with `affect` for `effect` are
//! read alike.
//!
//! ## Caveats
//! Only syncs slower than `fsync.warningthresholdms` are logged (1 s by default): the mean of
//! logged syncs is not a mean of all, which the fact `trace.threshold` records. A pause of the
//! garbage collector looks the same: the time is the program's.
//!
//! ## Not in this output
//! The number of fast syncs, the disk, other I/O on it.

use iowhy_model::{Level, Nanos, Op};

use crate::Format;
use crate::describe::log::{Effect, Log, says};

pub(super) const FORMAT: Format =
    Format::log("ZooKeeper's log: slow syncs of the transaction log", Level::C, &LOG);

const SYNC: &[Effect] = &[Effect::Event(Op::Flush, "fsync")];

static LOG: Log = Log {
    who: "zookeeper",
    sentences: &[says(
        "fsync-ing the write ahead log in {:text} took {took:ms}ms which will adversely ",
        SYNC,
    )
    .like(&[
        "2026-03-31 07:37:45,243 [myid:2] - WARN  [SyncThread:2:FileTxnLog@337] - fsync-ing \
             the write ahead log in SyncThread:2 took 3932ms which will adversely effect operation \
             latency. See the ZooKeeper guide",
    ])],
    cut: &["fsync-ing the write ahead log in "],
    // `fsync.warningthresholdms`, unless another was set.
    over: Some(Nanos::whole_ms(1_000)),
    ..Log::NEW
};
