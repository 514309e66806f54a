//! rados bench: objects that a Ceph cluster wrote or read each second.
//!
//! ## Reads
//! The rows `sec Cur ops started finished avg MB/s cur MB/s last lat(s) avg lat(s)`; the last row
//! of each run becomes averages as measured by the program: operations and their mean latency.
//! Seconds in which operations were in flight and none finished are counted. The lines at the end
//! (`Average Latency(s):`, `Max latency(s):`, `Total writes made:`) become a distribution with its
//! mean and maximum. `Maintaining 16 concurrent writes` shows how many are in flight, as does the
//! command (`-t 16`, `--concurrent-ios=16`).
//!
//! ## How to capture
//! `rados bench -p POOL 60 write`, `... seq`, `... rand`.
//!
//! ## Versions
//! Ceph Firefly to Squid; up to Infernalis `last lat   avg lat` and `Average Latency:` without
//! `(s)`.
//!
//! ## Caveats
//! An operation is an object of 4 MB by default, on several disks of several machines: its latency
//! is not that of a disk. 16 are in flight unless `-t` is given. Rows without an operation print
//! `-` for the last latency.
//!
//! ## Not in this output
//! The OSD or disk of an operation, single latencies.

use crate::counters::stated::rates;
use crate::describe::report::*;

pub(super) const FORMAT: Format =
    Format::labels("objects written or read by a Ceph cluster per second", Level::A, &LABELS);

static LABELS: Labels = Labels {
    unnamed: "rados bench",
    near: 6,
    may_resume: true,
    lines: &[
        // It is printed again every twenty seconds.
        begins("^sec Cur ops {*}avg lat", |_, _, _| Some(()))
            .like(&["sec Cur ops   started  finished  avg MB/s  cur MB/s  last lat   avg lat"]),
        announces("rados {*}bench {*}{ write| seq| rand}", |found, report, sink| {
            emit(report, sink);
            if let Some(at_once) = asked(found.line()) {
                report.keep("asked", at_once);
            }
            report.enter(if found.line().contains(" write") { "write" } else { "read" })
        })
        .like(&["$ rados bench -p rbd 10 write --no-cleanup", "rados -p data bench 60 rand"]),
        announces("^Maintaining {n:u} concurrent ", |found, report, sink| {
            let at_once = found.count("n")?;
            sink.add_fact(&*report, typed::RUN_AT_ONCE, at_once);
            Some(())
        })
        .like(&["Maintaining 16 concurrent writes of 4194304 bytes to objects of size 4194304"]),
        begins("^Total time run:", |_, _, _| Some(())).like(&["Total time run:         10.5"]),
        follows("^Total writes made:{n:u}$", |found, report, _| {
            report.enter("write");
            report.keep("count", found.number("n")?)
        })
        .like(&["Total writes made:      240"]),
        follows("^Total reads made:{n:u}$", |found, report, _| {
            report.enter("read");
            report.keep("count", found.number("n")?)
        })
        .like(&["Total reads made:       1020"]),
        says("^{s:u} {flight:u} {started:u} {finished:u} {:n} {:word} {:word} {mean:n}$", row)
            .like(&["3      16        31        15   19.9939        32     2.93448     2.07765"]),
    ],
    labels: &[
        label(&["Average Latency", "Average Latency(s)", "Average latency(s)"], |value, report| {
            report.keep("mean", latency(value)?)
        }),
        label(&["Max latency", "Max latency(s)"], |text, run| run.keep("max", latency(text)?)),
        label(&["Min latency", "Min latency(s)"], |text, run| run.keep("min", latency(text)?)),
        label(&["Max IOPS", "Min IOPS"], |value, report| match decimal(value) {
            Some(..0.0) => report.fails("a negative rate: not set by the program"),
            _ => Some(()),
        }),
    ],
    cut: &["Total writes made:", "Total reads made:"],
    own: &["^{Bandwidth|Stddev|Average IOPS|Max |Min }{*}:", " size{ }:"],
    end: Some(|report, sink| {
        emit(report, sink);
        report.state_kept(
            None,
            &[("silent", |seconds| typed::RUN_SILENT.with(Nanos::from_seconds(seconds)))],
            sink,
        );
    }),
    ..Labels::NEW
};

/// The number of operations that a command asks for at once.
fn asked(command: &str) -> Option<f64> {
    let mut words = command.split([' ', '=']);
    words.find(|word| ["-t", "--concurrent-ios"].contains(word))?;
    words.next().and_then(decimal).filter(|n| *n >= 1.0)
}

fn latency(value: &str) -> Option<f64> {
    decimal(value).filter(|seconds| *seconds >= 0.0)
}

/// A second: objects in flight, finished so far, and their mean latency so far.
fn row(found: &Found, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let [second, flight, finished] = ["s", "flight", "finished"].map(|what| found.number(what));
    let (second, flight, finished) = (second?, flight?, finished?);
    (found.number("started")? == finished + flight).then_some(())?;
    if report.kept("second").is_some_and(|last| second < last) {
        emit(report, sink);
    }
    let stood = report.kept("finished") == Some(finished)
        && report.kept("flight").is_some_and(|before| before > 0.0)
        && flight > 0.0;
    report.tally("silent", stood);
    if let Some((last, before)) = report.kept("second").zip(report.kept("finished")) {
        let rate = (finished - before) / (second - last).max(1.0);
        report.add("samples", 1.0);
        report.add("sum of rates", rate);
        report.add("sum of squares", rate * rate);
    }
    report.keep("second", second);
    report.keep("flight", flight);
    report.keep("finished", finished);
    report.keep("mean so far", found.number("mean")?)
}

/// How much the seconds of a run differ: standard deviation over mean, as fio prints it.
fn rates_of_seconds(op: Option<Op>, report: &mut Report, sink: &mut dyn Sink) {
    let samples = ["samples", "sum of rates", "sum of squares"].map(|what| report.take(what));
    let [Some(n), Some(sum), Some(squares)] = samples else { return };
    let mean = sum / n;
    if n > 1.0 && mean > 0.0 {
        let op = op.map_or("mixed", Op::name);
        let deviation = (squares / n - mean * mean).max(0.0).sqrt() / mean;
        sink.add_fact(&*report, typed::RUN_RATE_DEVIATION.of(op), deviation);
        sink.add_fact(&*report, typed::RUN_RATE_SAMPLES.of(op), n as u64);
    }
}

fn emit(report: &mut Report, sink: &mut dyn Sink) {
    let op = [Op::Write, Op::Read].into_iter().find(|op| op.name() == report.part);
    report.enter("");
    rates_of_seconds(op, report, sink);
    let [count, mean, max, min, asked] =
        ["count", "mean", "max", "min", "asked"].map(|what| report.take(what));
    let [second, finished, so_far, _] =
        ["second", "finished", "mean so far", "flight"].map(|what| report.take(what));
    if let Some(((count, mean), max)) = count.zip(mean).zip(max) {
        let ns = |seconds: f64| (seconds * 1e9) as u64;
        let (min, max) = (min.unwrap_or(0.0), max.max(mean));
        let histogram = Histogram::from_summary(count as u64, mean * 1e9, ns(min), ns(max));
        if let Some(at_once) = asked {
            sink.add_fact(&*report, typed::RUN_AT_ONCE, at_once as u64);
        }
        latencies(report.device(sink), op, "", histogram, sink);
    } else if let Some((seconds, finished)) =
        second.zip(finished).filter(|(s, n)| *s > 0.0 && *n > 0.0)
        // The size of an object is not a size of a request to a disk.
        && let Some(known) = rates(Some(finished / seconds), None, so_far.map(|mean| mean * 1e9))
    {
        report.average(op, known, Some(seconds), sink);
    }
}
