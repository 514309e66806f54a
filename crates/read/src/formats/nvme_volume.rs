//! What a cloud volume counts itself (`nvme amzn stats`): latencies in buckets, time above its
//! limits.
//!
//! ## Reads
//! Operations, bytes and time of reads and writes, the two latency histograms, the queue, and
//! `Performance Exceeded`, the time in which demand exceeded the volume or the instance;
//! these become the facts `volume.exceeded.iops`, `volume.exceeded.throughput`,
//! `instance.exceeded.iops` and `.throughput`. The fact `counters.since` marks counters that are
//! not current.
//!
//! ## How to capture
//! `nvme amzn stats /dev/nvme1n1`, `nvme amzn stats -i 5 /dev/nvme1n1`, `ebsnvme stats` of the
//! provider.
//!
//! ## Versions
//! nvme-cli 2.12 and later; volumes and instance stores of Nitro instances.
//!
//! ## Caveats
//! All counters start when the volume is attached: a single output covers the time since then, not
//! the present. With `-i` the first output does so, too, and is ignored; the others cover one
//! interval. Times are microseconds. With details the histograms are repeated for each size; these
//! are ignored. The queue is of the moment.
//!
//! ## Not in this output
//! The volume, unless the command is included; the time in the host's queue.

use crate::counters::stated::by_op;
use crate::describe::report::*;
use crate::drive::health::drive_named;

pub(super) const FORMAT: Format =
    Format::labels("nvme amzn stats: a volume's own latencies and limits", Level::B, &LABELS);

// The parts of a print.
const READS: &str = "read latencies";
const WRITES: &str = "write latencies";
/// Latencies of one size only.
const SIZED: &str = "sized";
const VOLUME: &str = "volume";
const INSTANCE: &str = "instance";

static LABELS: Labels = Labels {
    unnamed: "volume",
    command: Some(Command {
        program: "nvme",
        subject: |line| drive_named(line).filter(|name| name.starts_with("nvme")),
        opens: Opens::Nothing,
    }),
    near: 3,
    lines: &[
        announces("^Polling {*}stats every {n:u} sec", |found, report, _| {
            report.keep("every", found.positive("n")?)
        })
        .like(&["Polling NVMe stats every 5 sec(s); press Ctrl+C to stop"]),
        announces("^Total Ops:$", |_, report, sink| {
            emit(report, sink);
            report.add("prints", 1.0);
            report.enter("ops")
        })
        .like(&["Total Ops:"]),
        says("^Total Bytes:$", |_, report, _| report.enter("bytes")).like(&["Total Bytes:"]),
        says("^Total Time (us):$", |_, report, _| report.enter("us")).like(&["Total Time (us):"]),
        follows("^{Read|Write}: {n:u}$", value).like(&["Read: 90000", "Write: 12"]),
        says("^{Read|Write}: ", |_, _, _| None).like(&["Read: 9x"]),
        says("Instance{*}Performance Exceeded (us):$", |_, report, _| report.enter(INSTANCE))
            .like(&["EC2 Instance EBS Performance Exceeded (us):"]),
        says("Performance Exceeded (us):$", |_, report, _| report.enter(VOLUME))
            .like(&["EBS Volume Performance Exceeded (us):"]),
        says("^{IOPS|Throughput}: {us:us}$", |found, report, _| {
            let what = if found.line().starts_with('I') { "iops" } else { "throughput" };
            [VOLUME, INSTANCE].contains(&report.part).then_some(())?;
            report.keep(format!("{} {what}", report.part), found.time("us")?.ns() as f64)
        })
        .like(&["IOPS: 4000000", "Throughput: 0"]),
        says("^Queue Length (point in time): {n:u}$", |found, report, _| {
            report.keep("queue", found.number("n")?)
        })
        .like(&["Queue Length (point in time): 3"]),
        says("^Read IO Latency Histogram$", |_, report, sink| histogram(READS, report, sink))
            .like(&["Read IO Latency Histogram"]),
        says("^Write IO Latency Histogram$", |_, report, sink| histogram(WRITES, report, sink))
            .like(&["Write IO Latency Histogram"]),
        says("^IO Size Range:$", |_, report, sink| histogram(SIZED, report, sink))
            .like(&["IO Size Range:"]),
        says("^[{low:u} - {high:u}{ }] => {n:u}", |found, report, _| {
            let us = |name| Some(found.count(name)?.saturating_mul(1_000));
            let row = (us("low")?, us("high")?, found.count("n")?);
            if report.part != SIZED { report.bucket(row.0, row.1, row.2) } else { Some(()) }
        })
        .like(&["[64       - 128     ] => 1203"]),
        // A heading that is not known ends the part above it.
        perhaps("^{:text} (us):$", |_, report, _| {
            report.enter("");
            None
        })
        .like(&["EC2 Instance EBS 6erformance Exceeded (us):"]),
    ],
    own: &["^=====", "^Lower ", "^(io_size_low"],
    cut: &["] =>"],
    end: Some(emit),
    ..Labels::NEW
};

const OPS: [(Op, [&str; 3]); 2] = [
    (Op::Read, ["read ops", "read bytes", "read us"]),
    (Op::Write, ["write ops", "write bytes", "write us"]),
];

/// Time in which demand exceeded a limit, ns.
const EXCEEDED: [Total; 4] = [
    ("volume iops", |ns| typed::VOLUME_EXCEEDED.of("iops").with(Nanos(ns as i64))),
    ("volume throughput", |ns| typed::VOLUME_EXCEEDED.of("throughput").with(Nanos(ns as i64))),
    ("instance iops", |ns| typed::INSTANCE_EXCEEDED.of("iops").with(Nanos(ns as i64))),
    ("instance throughput", |ns| typed::INSTANCE_EXCEEDED.of("throughput").with(Nanos(ns as i64))),
];

fn value(found: &Found, report: &mut Report, _: &mut dyn Sink) -> Option<()> {
    let (_, names) = if found.line().starts_with('R') { OPS[0] } else { OPS[1] };
    let place = ["ops", "bytes", "us"].iter().position(|part| *part == report.part)?;
    report.keep(names[place], found.number("n")?)
}

/// The first of several prints counts since the volume was attached, and is left out.
fn is_left_out(report: &Report) -> bool {
    report.kept("prints") == Some(1.0) && report.kept("every").is_some()
}

/// Mean time of an operation, ns.
fn wait(report: &Report, [ops, _, us]: [&str; 3]) -> Option<f64> {
    let ops = report.kept(ops).filter(|ops| *ops > 0.0)?;
    Some(report.kept(us)? * 1e3 / ops)
}

/// Gives out the histogram above; that of `part` begins, unless latencies of one size do.
fn histogram(part: &'static str, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let (op, names) = if report.part == READS { OPS[0] } else { OPS[1] };
    if let Some(mut histogram) = report.histogram().filter(|_| !is_left_out(report)) {
        histogram.sum_ns = wait(report, names).map(|mean| mean * histogram.count() as f64);
        let device = report.device(sink);
        let mut one = Distribution::new(device, Layer::Block, Stage::Device, histogram);
        (one.op, one.length) = (Some(op), report.kept("every").map(Nanos::from_seconds));
        sink.distribution(one);
    }
    if report.part == SIZED { Some(()) } else { report.enter(part) }
}

/// Gives out a print.
fn emit(report: &mut Report, sink: &mut dyn Sink) {
    histogram("", report, sink);
    report.enter("");
    if report.kept("prints").is_some() && !is_left_out(report) {
        print(report, sink);
    }
    let of_ops = OPS.iter().flat_map(|(_, names)| *names);
    let names = of_ops.chain(EXCEEDED.iter().map(|(name, _)| *name)).chain(["queue"]);
    names.for_each(|name| report.forget(name));
}

fn print(report: &Report, sink: &mut dyn Sink) {
    let (device, every) = (report.device(sink), report.kept("every"));
    if report.kept("prints") == Some(1.0) {
        sink.note(note("counted since the volume was attached, not current"));
        sink.add_fact(device, typed::COUNTERS_SINCE, "attached");
    }
    report.state_kept(Some(device), &EXCEEDED, sink);
    let per_s = |what| Some(report.kept(what)? / every?);
    let mut interval = Interval::new(device, Layer::Block);
    interval.length = every.map(Nanos::from_seconds);
    interval.in_flight = report.kept("queue").map(|count| count as u64);
    interval.rates = by_op(OPS.map(|(op, names)| {
        let [ops, bytes, _] = names;
        (op, [per_s(ops), per_s(bytes), wait(report, names)])
    }));
    if !interval.rates.is_empty() {
        sink.interval(interval);
    }
}
