//! RocksDB's log: writes that it stalled or stopped because compaction could not keep up.
//!
//! ## Reads
//! `Stopping writes because we have 36 level-0 files`,
//! `Stalling writes because of estimated pending compaction bytes ...`, as facts: the number of
//! each. `Cumulative stall: 00:01:10.500 H:M:S, 11.7 percent` of its statistics, the share of the
//! time. Other lines of its log are ignored.
//!
//! ## How to capture
//! The file `LOG` in the database's folder; the log of a program that embeds it (TiKV, Ceph's
//! BlueStore, MyRocks, Kafka Streams).
//!
//! ## Versions
//! RocksDB 3 to 9 (`db/column_family.cc`, `db/internal_stats.cc`).
//!
//! ## Caveats
//! A stall shows that data arrived faster than it was compacted, limited by the disk, the threads
//! or a rate limit of compaction, or by write amplification. It is not a disk latency.
//!
//! ## Not in this output
//! The disk, the wait of a write, whether compaction waited for the disk or for a CPU.

use iowhy_model::{Level, typed};

use crate::Format;
use crate::describe::log::{Effect, Log, says};

pub(super) const FORMAT: Format =
    Format::log("RocksDB's log: writes stalled by compaction", Level::E, &LOG);

const SLOWED: &[Effect] = &[Effect::Count(typed::STALL_SLOWED)];
const STOPPED: &[Effect] = &[Effect::Count(typed::STALL_STOPPED)];
/// Since the database was opened.
const SHARE: &[Effect] = &[Effect::Last(typed::STALL_SHARE)];

static LOG: Log = Log {
    who: "rocksdb",
    sentences: &[
        says("Stalling {*}writes because ", SLOWED).like(&[
            "[db/column_family.cc:931] [a] Stalling writes because we have 20 level-0 files rate \
             16",
        ]),
        says("Stopping {*}writes because ", STOPPED).like(&[
            "2024/03/01-10:00:01.000001 7f1 [WARN] [db/column_family.cc:886] [default] Stopping \
             writes because we have 36 level-0 files",
        ]),
        says("Cumulative stall: {*} H:M:S, {share:%} percent$", SHARE)
            .like(&["Cumulative stall: 00:01:10.500 H:M:S, 11.7 percent"]),
    ],
    own: &["^{:u}/{:u}/{:u}-{:u}:{:u}:{:n} "],
    ..Log::NEW
};
