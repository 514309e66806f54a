//! kbench: what fio measured of a Kubernetes volume, in a summary of three tables.
//!
//! ## Reads
//! `IOPS (Read/Write)`, `Bandwidth in KiB/sec (Read/Write)` and `Latency in ns (Read/Write)`, each
//! with a line `Random:` and one `Sequential:`. The latencies are of individual requests; rates are
//! from separate runs with many in flight.
//!
//! ## How to capture
//! The log of the pod that kbench starts, and reports of Longhorn that quote it.
//!
//! ## Versions
//! Summaries of one device. Those that compare two have three columns and are not read.
//!
//! ## Caveats
//! IOPS, bandwidth and latency are of three different loads: the rates do not belong to the
//! latencies. With `Quick Mode` runs are short. A volume of Longhorn is accessed over the network.
//!
//! ## Not in this output
//! The latency distribution, the queue depth of the runs for IOPS.

use iowhy_model::typed::{BytesPerSecond, PageCache};

use crate::describe::report::*;
use crate::describe::table::KIB;

pub(super) const FORMAT: Format =
    Format::labels("IOPS, bandwidth and latency of a Kubernetes volume", Level::A, &LABELS);

// What the two lines below a heading are.
const IOPS: &str = "many at once";
const BANDWIDTH: &str = "bandwidth";
const LATENCY: &str = "one at a time";

static LABELS: Labels = Labels {
    may_resume: true,
    lines: &[
        begins("^FIO Benchmark Summary$", |_, _, _| Some(())).like(&["FIO Benchmark Summary"]),
        begins("^IOPS (Read/Write)$", |_, report, _| report.enter(IOPS))
            .like(&["IOPS (Read/Write)"]),
        begins("^Bandwidth in KiB/sec (Read/Write)$", |_, report, _| report.enter(BANDWIDTH))
            .like(&["Bandwidth in KiB/sec (Read/Write)"]),
        begins("^Latency in ns (Read/Write)$", |_, report, _| report.enter(LATENCY))
            .like(&["Latency in ns (Read/Write)"]),
        says("^{order:word}:{ }{read:#}{ }/{ }{write:#}$", |found, report, sink| {
            let order = match found.text("order")? {
                "Random" => "random",
                "Sequential" => "sequential",
                _ => return None,
            };
            let values =
                [(Op::Read, found.positive("read")?), (Op::Write, found.positive("write")?)];
            values.into_iter().try_for_each(|(op, value)| emit(report, order, op, value, sink))
        })
        .like(&["Random:            9836 / 8920", "Sequential:       1,178,934 / 107,599"]),
    ],
    ignored: &["For", "Size", "Quick Mode", "SIZE", "QUICK MODE", "CPU Idleness Profiling"],
    own: &["^====="],
    cut: &["Random:", "Sequential:"],
    ..Labels::NEW
};

fn emit(report: &mut Report, order: &str, op: Op, value: f64, sink: &mut dyn Sink) -> Option<()> {
    report.name(&format!("{order} {}, {}", op.name(), report.part));
    let device = report.device(sink);
    sink.add_fact(device, typed::RUN_CACHED, PageCache::No);
    match report.part {
        IOPS => {
            let rates = Rates { ios_per_s: value, ..Rates::default() };
            report.average(Some(op), rates, None, sink)?;
        }
        LATENCY => {
            let rates = Rates { await_ns: Some(value), ..one_by_one(1e9 / value) };
            report.average(Some(op), rates, None, sink)?;
            sink.add_fact(device, typed::RUN_AT_ONCE, 1u64);
        }
        // Of how many requests is not reported.
        _ => {
            let rate = BytesPerSecond((value * KIB).round());
            sink.add_fact(device, typed::RUN_THROUGHPUT, rate);
        }
    }
    Some(())
}
