//! CockroachDB's log: slow writes and syncs of its storage engine.
//!
//! ## Reads
//! `disk slowness detected: syncdata on file 029902.log has been ongoing for 21.4s` of the engine
//! (Pebble), `disk slowness detected: unable to sync log files within 10s` and `disk stall
//! detected: unable to write to STORE within 10s`. Syncs become flushes, writes writes, the rest
//! (create, rename, remove) operations of the application.
//!
//! ## How to capture
//! `cockroach.log`, `cockroach-pebble.log`, the server's stderr.
//!
//! ## Versions
//! CockroachDB 19 to 25.
//!
//! ## Caveats
//! Only operations of 5 s or longer are logged (10 s for the server's own log), repeatedly while
//! they last: lines about one operation on one file are one operation, and the last of them has its
//! minimum duration. The cause may be a disk, a quota of a volume, or CPU starvation.
//!
//! ## Not in this output
//! The number of fast syncs; the total duration of the slow ones; the disk.

use iowhy_model::{Level, Nanos, Op};

use crate::Format;
use crate::describe::log::{Effect, Log, Stamp, says};

pub(super) const FORMAT: Format =
    Format::log("CockroachDB's log: disk slowness detected, disk stalls", Level::C, &LOG);

/// The last line of an operation counts.
const ONGOING: &[Effect] = &[Effect::Growing];
const SYNC: &[Effect] = &[Effect::Event(Op::Flush, "sync of the log files")];

static LOG: Log = Log {
    who: "cockroach",
    time: &[Stamp::Glog],
    fronts: &["^", "^WARNING: ", "^{I|W|E|F}{:u} {*}"],
    sentences: &[
        says("disk slowness detected: unable to sync log files within {took:s}s", SYNC)
            .like(&["WARNING: disk slowness detected: unable to sync log files within 10s"]),
        says(
            "disk {slowness|stall} detected: {what:op} on file {file:word}{*} has been ongoing for \
             {took:s}s",
            ONGOING,
        )
        .like(&[
            "F240502 23:55:46.268103 338424495 storage/pebble.go:1525 ⋮ [n2,s2,pebble] 549369  \
             file write stall detected: disk slowness detected: write on file 24856607.sst (4096 \
             bytes) has been ongoing for 83.5s",
        ]),
        says(
            "disk {slowness|stall} detected: {what:op} to {file |}{file:word}{*} has been ongoing \
             for {took:s}s",
            ONGOING,
        )
        .like(&["disk slowness detected: write to file /data/000123.sst has been ongoing for \
                 6.0s"]),
        says(
            "disk {slowness|stall} detected: unable to {what:op} to {file:word}{*} within \
             {took:s}s",
            ONGOING,
        )
        .like(&["disk stall detected: unable to write to /mnt/data1/cockroach within 10s"]),
    ],
    // `diskHealthCheckInterval` of the engine.
    over: Some(Nanos::whole_ms(5_000)),
    ..Log::NEW
};
