//! PostgreSQL's log: checkpoints with write and sync times, and slow commits.
//!
//! ## Reads
//! Lines `checkpoint complete: wrote 19 buffers (0.1%); ... write=49.081 s, sync=8.710 s,
//! total=59.311 s; sync files=92, longest=2.248 s, average=0.095 s; ...`: the syncs of each
//! checkpoint become that number of flushes with their mean and maximum. `checkpoint starting: wal`
//! and `time`, `checkpoints are occurring too frequently`, and commits logged by
//! `log_min_duration_statement` become facts.
//!
//! ## How to capture
//! The server's log with `log_checkpoints = on` (the default since 15).
//!
//! ## Versions
//! PostgreSQL 9.1 and later; restartpoints of a standby alike.
//!
//! ## Caveats
//! `write` is spread over the time to the next checkpoint on purpose
//! (checkpoint_completion_target): it is not a latency. `sync` is: each file is flushed in turn. A
//! checkpoint that starts for `wal` was forced by the volume of changes (max_wal_size), one for
//! `time` is routine. The longest sync of a checkpoint is that of one file.
//!
//! ## Not in this output
//! The device, other writes on it, the waits of transactions meanwhile.

use iowhy_model::{Distribution, Histogram, Layer, Level, Op, Sink, Stage, typed};

use crate::Format;
use crate::describe::log::{Effect, Log, says};
use crate::describe::pattern::Found;

pub(super) const FORMAT: Format =
    Format::log("PostgreSQL's log: checkpoints and their syncs, slow commits", Level::B, &LOG);

const COMPLETE: &[Effect] = &[
    Effect::Count(typed::CHECKPOINT_COUNT),
    Effect::Total(typed::CHECKPOINT_SYNC, "sync"),
    Effect::Total(typed::CHECKPOINT_TOTAL, "total"),
    Effect::Total(typed::CHECKPOINT_WRITE, "write"),
    Effect::Call(syncs),
];
/// The volume of the write-ahead log triggered it.
const FORCED: &[Effect] =
    &[Effect::Count(typed::CHECKPOINT_FORCED), Effect::Count(typed::CHECKPOINT_STARTS)];
const STARTING: &[Effect] =
    &[Effect::Zero(typed::CHECKPOINT_FORCED), Effect::Count(typed::CHECKPOINT_STARTS)];
const TOO_FREQUENT: &[Effect] = &[Effect::Least(typed::CHECKPOINT_INTERVAL)];
const COMMIT: &[Effect] =
    &[Effect::Count(typed::COMMIT_SLOW), Effect::Longest(typed::COMMIT_SLOWEST)];

static LOG: Log = Log {
    who: "PostgreSQL",
    sentences: &[
        says(
            "{checkpoint|restartpoint} complete: {*} write={write:s} s, sync={sync:s} s, \
             total={total:s} s; sync files={files:u}, longest={longest:s} s, average={average:s} s",
            COMPLETE,
        )
        .like(&[
            "2026-07-18 12:03:59.421 UTC [27] LOG:  checkpoint complete: wrote 8 buffers (0.0%); 0 \
             WAL file(s) added, 16 removed, 23 recycled; write=18.309 s, sync=11.456 s, \
             total=31.006 s; sync files=80, longest=6.791 s, average=0.144 s; distance=633113 kB",
        ]),
        says("{checkpoint|restartpoint} starting:{*} {wal|xlog}", FORCED)
            .like(&["2026-07-18 12:03:59.422 UTC [27] LOG:  checkpoint starting: wal"]),
        says("{checkpoint|restartpoint} starting:", STARTING)
            .like(&["2026-07-18 12:04:00.422 UTC [27] LOG:  checkpoint starting: time"]),
        says("checkpoints are occurring too frequently ({took:s} second", TOO_FREQUENT)
            .like(&["LOG:  checkpoints are occurring too frequently (9 seconds apart)"]),
        says("duration: {took:ms} ms{*}: {COMMIT|commit|END|end}{|;}$", COMMIT)
            .like(&["2026-07-18 12:04:01.001 UTC [31] LOG:  duration: 1523.123 ms  statement: \
                     COMMIT;"]),
    ],
    cut: &["checkpoint complete: "],
    ..Log::NEW
};

/// The flushes of a checkpoint; the shortest is not printed.
fn syncs(found: &Found, sink: &mut dyn Sink) -> Option<()> {
    let (files, longest) = (found.count("files")?, found.time("longest")?);
    if files == 0 || longest.0 <= 0 {
        return Some(());
    }
    // The mean is printed in whole milliseconds, the sum, too: it has more digits.
    let mean_ns = match found.time("average")?.0 {
        0 => found.time("sync")?.0.max(longest.0) as f64 / files as f64,
        mean => mean as f64,
    };
    let histogram = Histogram::from_summary(files, mean_ns, 0, longest.0.unsigned_abs());
    let device = sink.device("PostgreSQL");
    let mut flushes = Distribution::new(device, Layer::Syscall, Stage::Total, histogram);
    flushes.op = Some(Op::Flush);
    flushes.label = Some(sink.name("fsync of a checkpoint"));
    sink.distribution(flushes);
    Some(())
}
