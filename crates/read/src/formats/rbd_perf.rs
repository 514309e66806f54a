//! rbd perf: rates and latency of each Ceph image.
//!
//! ## Reads
//! Each row of an image becomes an interval as measured by the client: reads and writes per second,
//! bytes per second, mean latency of each. The medium is stated as `network`.
//!
//! ## How to capture
//! `rbd perf image iostat [POOL]`, `rbd perf image iotop` (its screen, copied).
//!
//! ## Versions
//! Ceph Nautilus to Tentacle.
//!
//! ## Caveats
//! An image is served by many disks of many machines, and a write is done when all of its copies
//! are. `0.00 ns` is printed where nothing was done.
//!
//! ## Not in this output
//! The length of a row's interval (5 s by default), which OSD was slow, single latencies.

use iowhy_model::Medium;

use crate::counters::stated::by_op;
use crate::describe::report::*;
use crate::text::numbers::unit_ns;

pub(super) const FORMAT: Format = Format::labels(
    "rbd perf image iostat, iotop: rates and latencies of Ceph's images",
    Level::A,
    &LABELS,
);

const COLUMNS: [&str; 6] = ["WR", "RD", "WR_BYTES", "RD_BYTES", "WR_LAT", "RD_LAT"];

static LABELS: Labels = Labels {
    lines: &[
        // `rbd perf image iostat` prints the image first, `iotop` last.
        begins("WR_LAT", |found, report, _| {
            report.heading = columns(found.line())?;
            Some(())
        })
        .when(|found| columns(found.line()).is_some())
        .like(&["NAME              WR       RD    WR_BYTES    RD_BYTES      WR_LAT      RD_LAT"]),
        perhaps("^{row:text}$", row).like(&[
            "rbd/vm-1       998/s      0/s   3.9 MiB/s       0 B/s    34.96 ms     0.00 ns",
        ]),
    ],
    may_resume: true,
    ..Labels::NEW
};

/// The columns besides the name.
fn columns(line: &str) -> Option<Heading> {
    let names: Vec<&str> = line.split_whitespace().filter(|word| *word != "NAME").collect();
    let are_ours = names.iter().all(|name| COLUMNS.contains(name));
    are_ours.then(|| Heading::from_words(&names))
}

/// `998/s`, `3.9 MiB/s`, `34.96 ms`: numbers in the columns' own units, and how many words they
/// took.
fn value(words: &[&str]) -> Option<(f64, usize)> {
    let first = words.first()?;
    if let Some(number) = first.strip_suffix("/s").and_then(decimal) {
        return Some((number, 1));
    }
    let factor = match *words.get(1)? {
        "B/s" => 1.0,
        "KiB/s" => 1024.0,
        "MiB/s" => 1024.0 * 1024.0,
        "GiB/s" => 1024.0 * 1024.0 * 1024.0,
        unit => unit_ns(unit)?,
    };
    Some((decimal(first)? * factor, 2))
}

fn row(found: &Found, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let words: Vec<&str> = found.line().split_whitespace().collect();
    // `pool/image`, first or last; rates end in `/s`.
    let name = *words.iter().find(|word| word.contains('/') && !word.ends_with("/s"))?;
    let words: Vec<&str> = words.into_iter().filter(|word| *word != name).collect();
    let (mut cells, mut place) = (Vec::new(), 0);
    while let Some((number, taken)) = words.get(place..).and_then(value) {
        cells.push(number);
        place += taken;
    }
    if place < words.len() || cells.len() != report.heading.width() {
        return None;
    }
    let of = |name: &str| cells.get(report.heading.place(name, 0)?).copied();
    let device = sink.device(name);
    sink.add_fact(device, typed::DEVICE_MEDIUM, Medium::Network);
    let mut interval = Interval::new(device, Layer::Application);
    interval.rates = by_op([
        (Op::Read, ["RD", "RD_BYTES", "RD_LAT"].map(of)),
        (Op::Write, ["WR", "WR_BYTES", "WR_LAT"].map(of)),
    ]);
    sink.interval(interval);
    Some(())
}
