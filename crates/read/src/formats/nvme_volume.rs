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

use crate::counters::stated::rates;
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
            let is_rate = found.line().starts_with('I');
            let what = match (report.part, is_rate) {
                (INSTANCE, true) => "instance iops",
                (INSTANCE, false) => "instance throughput",
                (VOLUME, true) => "volume iops",
                (VOLUME, false) => "volume throughput",
                _ => return None,
            };
            report.keep(what, found.time("us")?.ns() as f64)
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
    let numbers = OPS.map(|(op, names)| {
        let wait = wait(report, names);
        (op, names.map(|name| report.take(name)), wait)
    });
    let queue = report.take("queue");
    let exceeded = [
        (typed::VOLUME_EXCEEDED, "iops", report.take("volume iops")),
        (typed::VOLUME_EXCEEDED, "throughput", report.take("volume throughput")),
        (typed::INSTANCE_EXCEEDED, "iops", report.take("instance iops")),
        (typed::INSTANCE_EXCEEDED, "throughput", report.take("instance throughput")),
    ];
    if report.kept("prints").is_none() || is_left_out(report) {
        return;
    }
    let device = report.device(sink);
    let every = report.kept("every");
    let mut interval = Interval::new(device, Layer::Block);
    interval.length = every.map(Nanos::from_seconds);
    interval.in_flight = queue.map(|count| count as u64);
    if report.kept("prints") == Some(1.0) {
        sink.note(note("counted since the volume was attached, not current"));
        sink.add_fact(device, typed::COUNTERS_SINCE, "attached");
    }
    for (family, what, ns) in exceeded {
        if let Some(ns) = ns {
            sink.add_fact(device, family.member(what), Nanos(ns as i64));
        }
    }
    for (op, [ops, bytes, _], wait) in numbers {
        let per_s = |count: Option<f64>| Some(count? / every?);
        interval.rates.extend(rates(per_s(ops), per_s(bytes), wait).map(|rates| (op, rates)));
    }
    if !interval.rates.is_empty() {
        sink.interval(interval);
    }
}
