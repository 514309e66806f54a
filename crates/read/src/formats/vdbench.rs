//! vdbench: rates, mean latencies and queue of each interval of a run on block devices.
//!
//! ## Reads
//! The heading of two lines (`interval i/o MB/sec bytes read resp read write ...` above
//! `rate 1024**2 i/o pct time resp resp ...`) and the rows below. Each run
//! (`Starting RD=run1; ...`, or another heading after its `avg_2-30`) is a separate listing. Where
//! the rows of the intervals are missing, the row of averages is read.
//!
//! ## How to capture
//! The standard output of `vdbench -f FILE`, `summary.html`, `totals.html`.
//!
//! ## Versions
//! 5.03 to 5.04.07; columns are found by both lines of the heading. The table of file systems
//! (`fwd`) has another heading and is not read.
//!
//! ## Caveats
//! `avg_2-30` leaves the first interval out, and repeats the others. Latencies are milliseconds,
//! `MB/sec` 1048576 bytes. The latencies of reads and of writes are 0.000 where there were none. A
//! run at a fixed rate (`I/O rate: 100`) is rate-limited: its queue shows how much was in flight,
//! not the maximum.
//!
//! ## Not in this output
//! The device: the run's name represents all of its storage definitions. The latency distribution;
//! device time separate from time in the host. Missing lines, except as a gap in the numbers of the
//! intervals.

use crate::counters::stated::{by_op, rates};
use crate::describe::report::*;
use crate::listing::another_run;

pub(super) const FORMAT: Format =
    Format::labels("rates, latencies and queue of a run", Level::A, &LABELS);

const MIB: f64 = 1_048_576.0;
const NS_PER_MS: f64 = 1e6;
/// Rows of this run, and that it is over.
const ROWS: &str = "rows";
const OVER: &str = "over";

static LABELS: Labels = Labels {
    unnamed: "run",
    near: 1,
    lines: &[
        // The leading time is the line's own, so nothing precedes it.
        begins("^{time:word} Starting RD={name:text};{*}I/O rate", run)
            .when(|found| found.text("time").is_some_and(|time| WallTime::read(time).is_some()))
            .like(&["16:24:31.001 Starting RD=rd1; I/O rate: 100; elapsed=5; For loops: None"]),
        says("Starting RD={name:text};{*}I/O rate", run)
            .like(&["Starting RD=rd1; I/O rate: Uncontrolled MAX; elapsed=60"]),
        announces("interval i/o {*}MB/sec", |found, report, _| report.quote_alone(found.line()))
            .like(&[
                "interval        i/o   MB/sec   bytes   read     resp     read    write     resp",
            ]),
        // Each column is called by both of its words: `i/o rate`, `read resp`.
        follows("^rate ", |found, report, sink| {
            let upper = report.quoted().first()?.split_whitespace();
            let upper: Vec<&str> = upper.skip_while(|word| *word != "interval").skip(1).collect();
            let lower: Vec<&str> = found.line().split_whitespace().collect();
            if upper.len() != lower.len() {
                return report.fails("the two lines of the heading do not match");
            }
            let names = upper.iter().zip(&lower).map(|(upper, lower)| format!("{upper} {lower}"));
            let heading = names.collect();
            begin(report, sink);
            report.heading = heading;
            Some(())
        })
        .like(&[
            "rate  1024**2     i/o    pct     time     resp     resp      max   stddev  depth",
        ]),
        // With the time or without it.
        perhaps("^{row:text}$", row)
            .like(&["16:24:32.018  1  84.0  0.08  1024  53.57  2.1  2.0  2.2  9.1  1.0  0.2"]),
    ],
    may_resume: true,
    ..Labels::NEW
};

fn run(found: &Found, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    begin(report, sink);
    report.name(found.text("name")?.trim())
}

/// Another run begins if one is over.
fn begin(report: &mut Report, sink: &mut dyn Sink) {
    if report.take(OVER).is_some() {
        another_run(sink);
        report.forget(ROWS);
        report.moments = Default::default();
        report.drive = Default::default();
    }
}

fn row(found: &Found, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let words: Vec<&str> = found.line().split_whitespace().collect();
    let width = Some(report.heading.width()).filter(|width| *width > 0)?;
    let head = words.len().checked_sub(width).filter(|head| (1..=2).contains(head));
    let Some((head, values)) = head.and_then(|head| words.split_at_checked(head)) else {
        let is_meant = words.len() > 3 && words.iter().take(2).any(|word| integer(word).is_some());
        return report.fails_if(is_meant, "the values do not match the heading");
    };
    let which = *head.last()?;
    let averages = which.starts_with("avg_");
    (averages || integer(which).is_some()).then_some(())?;
    let ios = report.heading.number("i/o rate", values).filter(|ios| *ios >= 0.0);
    let ios = report.need(ios, "a value that is not a number")?;
    if averages {
        report.keep(OVER, 1.0);
        // They are read where there is no row of an interval.
        if report.kept(ROWS).is_some() || ios == 0.0 {
            return Some(());
        }
    }
    let mut interval = interval(ios, values, report, sink);
    if let Some(now) = head.first().filter(|_| head.len() == 2 && !averages)
        && let Some(now) = WallTime::read(now)
    {
        report.moments.begin(now, sink);
        report.moments.date(&mut interval);
    }
    sink.interval(interval);
    report.keep(ROWS, 1.0)
}

/// The averages of a row, by its columns.
fn interval(ios: f64, values: &[&str], report: &Report, sink: &mut dyn Sink) -> Interval {
    let of = |name: &str| report.heading.number(name, values).filter(|value| *value >= 0.0);
    let size = of("bytes i/o").filter(|bytes| *bytes > 0.0);
    let part = |ios: f64, wait_ms: Option<f64>| {
        [Some(ios), size.map(|size| size * ios), wait_ms.map(|ms| ms * NS_PER_MS)]
    };
    let mut interval = Interval::new(report.device(sink), Layer::Application);
    interval.queue_len = of("queue depth");
    match of("read pct").zip(of("read resp").zip(of("write resp"))) {
        Some((percent, (read, write))) => {
            let reads = ios * percent.min(100.0) / 100.0;
            let parts =
                [(Op::Read, part(reads, Some(read))), (Op::Write, part(ios - reads, Some(write)))];
            interval.rates = by_op(parts);
            interval.rates.retain(|(_, rates)| rates.ios_per_s > 0.0);
        }
        None => {
            let [ios, bytes, wait] = part(ios, of("resp time"));
            interval.mixed = rates(ios, bytes.or(of("MB/sec 1024**2").map(|mib| mib * MIB)), wait);
        }
    }
    interval
}
