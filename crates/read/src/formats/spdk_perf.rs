//! Tests of SPDK: rates, mean latencies and histograms of devices that the kernel does not see.
//!
//! ## Reads
//! The table `Device Information : IOPS MiB/s Average min max` (also with `runtime(s)`, `Fail/s`,
//! `TO/s` of bdevperf), a row for each device and core, and the rows `6.428 - 6.511:  1.0000%  (
//! 120)` of the latency histogram. Rows of one device on several cores are added up. A failed I/O
//! becomes a note.
//!
//! ## How to capture
//! `spdk_nvme_perf -L -L`, `bdevperf`, `perf` in `examples/nvme` of older releases.
//!
//! ## Versions
//! SPDK 18 to 25; `MB/s` and `MiB/s` both mean 1048576 bytes.
//!
//! ## Caveats
//! A polling program that bypasses the kernel: its latencies are those of the drive, its link and
//! the queue depth, and no other tool on the machine sees them. The row `Total` repeats the others.
//! Percentiles without a histogram have no counts and are ignored. The number in flight is only on
//! the command line.
//!
//! ## Not in this output
//! Reads and writes separately; the depth; sizes, unless the command is included.

use iowhy_model::Note;

use crate::describe::report::*;

pub(super) const FORMAT: Format =
    Format::labels("SPDK's perf and bdevperf: rates and latencies of devices", Level::A, &LABELS);

const MIB: f64 = 1_048_576.0;
const NS_PER_US: f64 = 1e3;
const SECONDS: &str = "seconds";

static LABELS: Labels = Labels {
    lines: &[
        begins("^Device Information{ }:{columns:text}$", |found, report, _| {
            report.heading = columns(found)?;
            Some(())
        })
        .when(|found| columns(found).is_some())
        .opens_again()
        .like(&["Device Information  : runtime(s)  IOPS  MiB/s  Fail/s  TO/s  Average  min  max"]),
        begins("^Latency histogram for {device:text}:$", |found, report, sink| {
            histogram(report, sink);
            report.quote_alone(&device_name(found.text("device")?))
        })
        .like(&["Latency histogram for PCIE (0000:5e:00.0) NSID 1 from core 0:"]),
        // Bounds in us, and the count.
        says("^{low:n} - {high:n}:{:n}%{ }({n:u})$", |found, report, _| {
            let ns = |name: &str| {
                let ns = found.number(name)? * NS_PER_US;
                (0.0..1e18).contains(&ns).then(|| ns.round() as u64)
            };
            if report.quoted().is_empty() {
                return report.fails("a bucket of no device");
            }
            report.bucket(ns("low")?, ns("high")?, found.count("n")?)
        })
        .like(&["5.120 -     5.163:    0.0001%  (       12)"]),
        says("^{=====|Latency(us)|Range in us|Summary latency data for }", |_, _, _| Some(()))
            .like(&[
                "Latency(us)",
                "Summary latency data for PCIE (0000:5e:00.0) NSID 1 from core 0:",
            ]),
        says("^{:n}%{ }:{:n}us$", |_, _, _| Some(())).like(&["50.00000% :   102.400us"]),
        perhaps("^{name:text}:{values:text}$", row).like(&[
            "PCIE (0000:5e:00.0) NSID 1 from core  0:  571171.00  2231.14  224.06  20.83  1210.20",
        ]),
    ],
    end: Some(|report, sink| {
        histogram(report, sink);
        let length = report.kept(SECONDS).map(Nanos::from_seconds);
        report.emit_works(Layer::Application, 1.0, |interval| interval.length = length, sink);
    }),
    ..Labels::NEW
};

fn columns(found: &Found) -> Option<Heading> {
    Heading::of(found.text("columns")?, &["IOPS", "Average"])
}

/// The name without the core; several blanks in it are one.
fn device_name(text: &str) -> String {
    let name = text.split(" from core").next().unwrap_or(text);
    name.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn row(found: &Found, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    // An address has colons of its own.
    let (name, values) = found.line().rsplit_once(':')?;
    let words: Vec<&str> = values.split_whitespace().collect();
    let sound = words.iter().filter(|word| decimal(word).is_some_and(|value| value >= 0.0)).count();
    let (name, heading) = (device_name(name), &report.heading);
    if heading.width() == 0 || words.iter().filter_map(|word| decimal(word)).count() < 3 {
        return None;
    }
    if name == "Total" {
        return Some(());
    }
    if words.len() != heading.width() || sound < words.len() {
        return report.fails("the values do not match the heading");
    }
    let of = |name: &str| heading.number(name, &words);
    let failed = of("Fail/s").unwrap_or(0.0) + of("TO/s").unwrap_or(0.0);
    if failed > 0.0 {
        let reason = format!("{failed} I/Os per second failed or timed out");
        sink.note(Note { line: 0, text: name.clone(), reason });
    }
    let ios = of("IOPS").unwrap_or(0.0);
    let bytes = of("MiB/s").or(of("MB/s")).map(|mib| mib * MIB);
    let waited_ns = ios * of("Average").unwrap_or(0.0) * NS_PER_US;
    if let Some(seconds) = of("runtime(s)").filter(|seconds| *seconds > 0.0) {
        report.most(SECONDS, seconds);
    }
    report.work(&name, None, Work { ios, bytes, waited_ns });
    Some(())
}

fn histogram(report: &mut Report, sink: &mut dyn Sink) {
    let Some(histogram) = report.histogram() else { return };
    let device = sink.device(&report.quoted().concat());
    sink.source().level = Level::B;
    latencies(device, None, "", histogram, sink);
}
