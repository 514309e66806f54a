//! gluster volume profile: operations of each brick of a GlusterFS volume, and their latency.
//!
//! ## Reads
//! The rows `READ`, `WRITE` and `FSYNC` of each brick's table: calls and their mean time, as reads,
//! writes and flushes of `host:/brick`. `Duration` makes rates of the calls. If a brick has both,
//! the interval is used, not the counts since profiling started.
//!
//! ## How to capture
//! `gluster volume profile VOLUME start`, later `gluster volume profile VOLUME info`.
//!
//! ## Versions
//! GlusterFS 3.4 to 11; times in us, since 8 in ns.
//!
//! ## Caveats
//! The times are those of the brick's process: its file system, page cache and disk, its own locks
//! and threads, no network. A mean of writes is mostly of the page cache. `%-latency` is a share of
//! the brick's calls, not a utilisation. The longest call may be one in millions.
//!
//! ## Not in this output
//! The disk below a brick, single latencies, what clients wait for.

use crate::counters::stated::rates;
use crate::describe::report::*;
use crate::text::numbers::unit_ns;

pub(super) const FORMAT: Format = Format::labels(
    "gluster volume profile: calls of each brick, and their mean time",
    Level::A,
    &LABELS,
);

static LABELS: Labels = Labels {
    unnamed: "brick",
    near: 3,
    may_resume: true,
    lines: &[
        announces("^Brick: {brick:word}$", |found, report, _| report.name(found.text("brick")?))
            .when(|found| found.line().contains(":/"))
            .opens_record()
            .like(&["Brick: gfs1:/data/brick"]),
        begins("^%-latency   Avg-latency   Min-Latency   Max-Latency", |_, _, _| Some(())).like(&[
            "%-latency   Avg-latency   Min-Latency   Max-Latency   No. of calls         Fop",
        ]),
        // Counts since profiling began remain until an interval replaces them.
        begins("^Cumulative Stats:$", statistics).like(&["Cumulative Stats:"]),
        begins("^Interval {:u} Stats:$", statistics).like(&["Interval 3 Stats:"]),
        says("^Duration:{s:n} seconds$", |found, report, _| {
            report.keep("seconds", found.positive("s")?)
        })
        .like(&["Duration: 600 seconds"]),
        says("^{:n} {mean:n} {unit:word} {:n} {:word} {:n} {:word} {calls:u} {call:word}$", row)
            .like(&["45.12    1234.56 us      12.00 us   98765.00 us            123      FSYNC"]),
    ],
    own: &[
        "^Block Size:", "^No. of {Reads|Writes}:", "^Data {Read|Written}:", "^Duration:", "^---",
        "^%-latency",
    ],
    end: Some(emit),
    ..Labels::NEW
};

/// What is kept of an operation: how many calls, and their mean time in ns.
const KEPT: [(Op, &str, [&str; 2]); 3] = [
    (Op::Read, "READ", ["reads", "read ns"]),
    (Op::Write, "WRITE", ["writes", "write ns"]),
    (Op::Flush, "FSYNC", ["flushes", "flush ns"]),
];
/// The same of all calls that move no data: their number, and the sum of their times.
const OTHERS: [&str; 2] = ["others", "ns of others"];

fn statistics(_: &Found, report: &mut Report, _: &mut dyn Sink) -> Option<()> {
    let kept = KEPT.iter().flat_map(|(.., kept)| kept);
    kept.chain(&OTHERS).chain(&["seconds"]).for_each(|what| report.forget(what));
    Some(())
}

fn row(found: &Found, report: &mut Report, _: &mut dyn Sink) -> Option<()> {
    let unit = unit_ns(found.text("unit")?)?;
    let (calls, mean) = (found.number("calls")?, found.number("mean")? * unit);
    let call = found.text("call")?;
    match KEPT.iter().find(|(_, name, _)| *name == call) {
        Some((.., [count, ns])) => {
            report.keep(count, calls);
            report.keep(ns, mean)
        }
        None => {
            report.add(OTHERS[0], calls);
            report.add(OTHERS[1], calls * mean)
        }
    }
}

fn emit(report: &mut Report, sink: &mut dyn Sink) {
    let known = KEPT.map(|(op, _, [calls, ns])| (op, report.kept(calls).zip(report.kept(ns))));
    let calls: Vec<(Op, f64, f64)> =
        known.into_iter().filter_map(|(op, known)| known.map(|(n, ns)| (op, n, ns))).collect();
    let others = report.kept(OTHERS[0]).zip(report.kept(OTHERS[1]));
    if calls.is_empty() && others.is_none() {
        return;
    }
    let seconds = report.kept("seconds");
    let mut interval = Interval::new(report.device(sink), Layer::Application);
    interval.length = seconds.map(Nanos::from_seconds);
    if let Some(seconds) = seconds.filter(|_| !calls.is_empty()) {
        for (op, calls, mean) in calls {
            let known = rates(Some(calls / seconds), None, Some(mean));
            interval.rates.extend(known.map(|rates| (op, rates)));
        }
    } else {
        // How long it was is not known, or no data were moved: the mean over all calls is all that
        // can be reported.
        let sums = |sum: (f64, f64), (_, n, ns): &(Op, f64, f64)| (sum.0 + n, sum.1 + n * ns);
        let data = calls.iter().fold((0.0, 0.0), sums);
        let (count, time) = if calls.is_empty() { others.unwrap_or_default() } else { data };
        interval.await_ns = Some(time / count).filter(|ns| *ns > 0.0 && ns.is_finite());
    }
    sink.interval(interval);
}
