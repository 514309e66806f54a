//! pgbench: transactions per second of PostgreSQL, their latency, and that of the commit.
//!
//! ## Reads
//! The summary (`latency average = 23.474 ms`, `tps = 425.99 ...`), the lines of `-P` (`progress:
//! 5.0 s, 421.2 tps, lat 23.620 ms stddev 8.4`), and of `-r` the statement `END;` or `COMMIT;`,
//! whose time becomes the fact `commit.time`.
//!
//! ## How to capture
//! `pgbench -c 10 -T 60 -P 5 -r`.
//!
//! ## Versions
//! PostgreSQL 9.4 and later (`latency average: 23.474 ms`, since 10 with `=`).
//!
//! ## Caveats
//! A transaction is several statements, caches, locks and one commit: its latency is the
//! application's, not a disk's. `-N` and `-S` run other transactions than the default. The commit
//! waits for the write-ahead log to be flushed, alone or in a group.
//!
//! ## Not in this output
//! Single latencies (`-l` writes those to files), the share of disk and flush.

use crate::counters::stated::rates;
use crate::describe::report::*;

pub(super) const FORMAT: Format =
    Format::labels("transactions per second and their latency", Level::A, &LABELS);

static LABELS: Labels = Labels {
    unnamed: "pgbench",
    lines: &[
        begins("^progress: {s:n} s, {tps:n} tps, lat {took:ms} ms", progress)
            .like(&["progress: 5.0 s, 421.2 tps, lat 23.620 ms stddev 8.400"]),
        begins("^latency average{ }{=|:}{took:ms} ms$", |found, report, _| {
            report.keep("ns", found.time("took")?.ns() as f64)
        })
        .like(&["latency average = 23.474 ms", "latency average: 23.474 ms"]),
        // The second of two counts without the time of connecting.
        begins("^tps = {tps:n} ({*}connection", |found, report, _| {
            report.keep("rate", found.number("tps")?)
        })
        .shaped("tps")
        .like(&["tps = 425.994523 (without initial connection time)"]),
        begins("^transaction type: ", |_, _, _| Some(()))
            .like(&["transaction type: <builtin: TPC-B (sort of)>"]),
        // The mean time of the statement that commits, in ms.
        says("^{took:ms} {END|end|COMMIT|commit};$", commit).like(&["18.345  COMMIT;"]),
        says("^{took:ms} {:word} {END|end|COMMIT|commit};$", commit)
            .like(&["18.345           0  END;"]),
    ],
    // Lines of the summary that show nothing of time, and the other statements.
    own: &[
        "^{:n} ", "^transaction type", "^scaling factor", "^query mode", "^{|maximum }number of ",
        "^duration", "^latency stddev", "^initial connection", "^statement latencies",
        "^SQL script",
    ],
    end: Some(|report, sink| {
        let (rate, mean) = (report.kept("rate"), report.kept("ns"));
        // Progress lines reported it before, part by part.
        if report.kept("before").is_none() && (rate.is_some() || mean.is_some()) {
            let alone = Rates { await_ns: mean, ..Rates::default() };
            report.average(None, rates(rate, None, mean).unwrap_or(alone), None, sink);
        }
    }),
    ..Labels::NEW
};

fn progress(found: &Found, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let (seconds, before) = (found.number("s")?, report.kept("before").unwrap_or(0.0));
    let mut interval = Interval::new(report.device(sink), Layer::Application);
    interval.mixed = rates(found.number("tps"), None, found.time("took").map(|ns| ns.ns() as f64));
    if seconds > before {
        interval.start = Some(Time::from_seconds(before));
        interval.length = Some(Nanos::from_seconds(seconds - before));
    }
    sink.interval(interval);
    report.keep("before", seconds)
}

fn commit(found: &Found, _: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    sink.add_fact("pgbench", typed::COMMIT_TIME, found.time("took")?);
    Some(())
}
