//! pg_test_fsync: durable writes of 8 kB per second on a file system, by method.
//!
//! ## Reads
//! Rows `fdatasync   329.207 ops/sec    3038 usecs/op` of the first section (one 8 kB write), with
//! or without the lines around them. The section with two writes, those of other sizes, and the row
//! `write` of the last, which measures the page cache on purpose, are ignored.
//!
//! ## How to capture
//! `pg_test_fsync -f FILE` in the folder of the database, with the server stopped.
//!
//! ## Versions
//! PostgreSQL 9.1 (without `usecs/op`) and later; `test_fsync` of older ones is not read.
//!
//! ## Caveats
//! One process writes the same block and waits: the rate is the inverse of the latency. It is that
//! of file system, flush and device together: writes too fast for a platter (more than 120 per
//! second at 7,200 rpm) end in a cache, protected or not. A method that the platform does not
//! support is `n/a`.
//!
//! ## Not in this output
//! Single latencies, the device below, other I/O on it. Whether the cache has power-loss
//! protection.

use crate::describe::report::*;

pub(super) const FORMAT: Format =
    Format::labels("durable writes per second, by method", Level::A, &LABELS);

/// The part whose rows are not of one write of 8 kB.
const OTHER: &str = "other";
/// The method that waits for no disk.
const CACHED: &str = "write";

static LABELS: Labels = Labels {
    lines: &[
        begins("^Compare file sync methods using {how:text}:$", |found, report, _| {
            report.enter(if found.text("how")?.contains("one ") { "" } else { OTHER })
        })
        .like(&["Compare file sync methods using one 8kB write:"]),
        // Methods of the first section (src/bin/pg_test_fsync/pg_test_fsync.c).
        begins(
            "^{open_datasync|fdatasync|fsync|fsync_writethrough|open_sync|write} {n:n} ops/sec",
            |found, report, sink| {
                let per_s = per_s(found)?;
                let method = found.line().split_whitespace().next()?;
                if report.part == OTHER || method == CACHED {
                    return Some(());
                }
                report.name(method);
                report.average(Some(Op::Flush), one_by_one(per_s), None, sink);
                let time = Nanos::from_us((1e6 / per_s).round());
                sink.add_fact(method, typed::FLUSH_TIME, time);
                Some(())
            },
        )
        .like(&["fdatasync                         329.207 ops/sec    3038 usecs/op"]),
        says(" {n:n} ops/sec", |found, _, _| per_s(found).map(|_| ()))
            .like(&["1 * 16kB open_sync write          114.253 ops/sec    8752 usecs/op"]),
        says("^{Compare |Test if fsync|Non-Sync'ed |Non-sync'ed }", |_, report, _| {
            report.enter(OTHER)
        })
        .like(&[
            "Compare open_sync with different write sizes:",
            "Test if fsync on non-write file descriptor is honored:",
            "Non-Sync'ed 8kB writes:",
        ]),
    ],
    own: &["^(", "n/a$"],
    cut: &[" ops/sec"],
    ..Labels::NEW
};

/// The rate of a row, if the time agrees with it: whole microseconds are printed.
fn per_s(found: &Found) -> Option<f64> {
    let per_s = found.positive("n")?;
    let (_, rest) = found.line().split_once(" ops/sec")?;
    let each: Vec<&str> = rest.split_whitespace().collect();
    let agrees = match each[..] {
        [] => true,
        // Both are rounded: one to whole microseconds, the other to a thousandth.
        [us, "usecs/op"] => {
            let us = integer(us)? as f64;
            (us - 1e6 / per_s).abs() <= 1.0 + us * 0.0005 / per_s
        }
        _ => false,
    };
    agrees.then_some(per_s)
}
