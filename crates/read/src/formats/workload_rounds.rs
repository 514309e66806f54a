//! Load generators of databases that print each second's operations and percentiles.
//!
//! ## Reads
//! The heading
//! `_elapsed___errors__ops/sec(inst)___ops/sec(cum)__p50(ms)__p95(ms)__p99(ms)_pMax(ms)`, or
//! `_elapsed____ops/sec___mb/sec__p50(ms)...`, and a row for each second. The longest operation
//! becomes the fact `run.longest`, the seconds without completions during the run `run.silent`.
//!
//! ## How to capture
//! `cockroach workload run`, `kv`, `pebble bench`.
//!
//! ## Versions
//! Columns are found by the heading.
//!
//! ## Caveats
//! An operation is one of the database, not of a disk: it includes locks, network, memory, and
//! often the flush of a log. Percentiles are of one second each and cannot be added. A second
//! without completed operations has zeros, which are not latencies.
//!
//! ## Not in this output
//! The disk of the database; other I/O on it; reads and writes separately, unless there is a
//! column. Missing lines, except as a gap in the seconds.

use crate::describe::report::*;

pub(super) const FORMAT: Format = Format::labels(
    "load generators of databases: operations and percentiles per second",
    Level::E,
    &LABELS,
);

static LABELS: Labels = Labels {
    lines: &[
        // It is repeated after some rows.
        begins("^_elapsed_{*}_ops/sec{|(inst)}_{*}_pMax(ms)", |found, report, _| {
            report.quote_alone(found.line())
        })
        .like(&["_elapsed____ops/sec___mb/sec__p50(ms)__p95(ms)__p99(ms)_pMax(ms)"]),
        // The kind of operation may follow the numbers.
        says("^{at:n}s {*}", row)
            .like(&["1s     2041.3      0.7      0.3      2.5      2.8      3.3"]),
    ],
    end: Some(|report, sink| {
        if let Some(ms) = report.kept("longest").filter(|ms| *ms > 0.0) {
            sink.add_fact(None, typed::RUN_LONGEST, Nanos::from_ms(ms));
        }
        if let Some(seconds) = report.kept("silent").filter(|seconds| *seconds > 0.0) {
            sink.add_fact(None, typed::RUN_SILENT, Nanos::from_seconds(seconds));
        }
    }),
    ..Labels::NEW
};

fn row(found: &Found, report: &mut Report, _: &mut dyn Sink) -> Option<()> {
    // Underscores replace the blanks between the names of the columns.
    let names: Vec<&str> =
        report.quoted().last()?.split('_').filter(|name| !name.is_empty()).collect();
    let words: Vec<&str> = found.line().split_whitespace().collect();
    let of = |wanted: &[&str]| {
        let place = names.iter().position(|name| wanted.contains(name))?;
        words.get(place).and_then(|word| decimal(word))
    };
    let (rate, longest) = of(&["ops/sec", "ops/sec(inst)"]).zip(of(&["pMax(ms)"]))?;
    let at = found.number("at")?;
    let seconds = report.kept("before").map_or(0.0, |before| (at - before).max(0.0));
    report.keep("before", at);
    report.most("longest", longest);
    // Seconds without an operation that ended; those at the end of the run may be its end.
    if rate > 0.0 {
        let ending = report.take("ending").unwrap_or(0.0);
        report.add("silent", ending)
    } else if report.kept("silent").is_some() {
        report.add("ending", seconds)
    } else {
        Some(())
    }
}
