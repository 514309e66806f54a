//! Redis' log: syncs of the append-only file that took too long.
//!
//! ## Reads
//! `Asynchronous AOF fsync is taking too long (disk is busy?)`, as facts: their number, and a lower
//! bound of the longest. Other lines of the server are ignored; a log with only snapshots and
//! rewrites has none.
//!
//! ## How to capture
//! `redis-server.log`, the server's stdout; Valkey and KeyDB log the same.
//!
//! ## Versions
//! Redis 2.4 to 8.
//!
//! ## Caveats
//! The server writes the line when it has delayed a write for two seconds because of a running sync
//! (`flushAppendOnlyFile` of aof.c), so the sync took at least two seconds. It often coincides with
//! a rewrite of the file or a snapshot, which writes much at once: then check the load before the
//! disk.
//!
//! ## Not in this output
//! The exact duration of the sync, the number of fast ones, the disk.

use iowhy_model::{Level, Nanos, typed};

use crate::Format;
use crate::describe::log::{Effect, Log, says};

pub(super) const FORMAT: Format = Format::log("slow syncs of the append-only file", Level::E, &LOG);

/// The server waits this long before it reports it (`flushAppendOnlyFile` of aof.c).
const WAITED: Nanos = Nanos::whole_ms(2_000);
const SLOW: &[Effect] =
    &[Effect::Count(typed::FLUSH_SLOW), Effect::AtLeast(typed::FLUSH_SLOWEST_AT_LEAST, WAITED)];
/// A log of snapshots and rewrites without a log event has none.
const NONE: &[Effect] = &[Effect::Zero(typed::FLUSH_SLOW)];

static LOG: Log = Log {
    who: "redis",
    sentences: &[
        says("Asynchronous AOF fsync is taking too long (disk is busy?)", SLOW).like(&[
            "2314:M 01 Mar 2020 05:50:23.118 * Asynchronous AOF fsync is taking too long (disk is \
             busy?). Writing the AOF buffer without waiting for fsync to complete, this may slow \
             down Redis.",
        ]),
        says("^{:u}:{M|S|C|X} {*}{AOF|append only file|Background saving|DB saved on disk}", NONE)
            .like(&["2314:M 01 Mar 2020 05:50:23.118 * Background saving started by pid 2400"]),
        says("^[{:u}] {*}{AOF|append only file|Background saving|DB saved on disk}", NONE)
            .like(&["[2314] 01 Mar 05:50:23 * DB saved on disk"]),
    ],
    own: &["^[{:u}] ", "^{:u}:{M|S|C|X} "],
    ..Log::NEW
};
