//! rbd perf: rates and latency of each Ceph image.
//!
//! ## Reads
//! Each row of an image becomes an interval as the program saw it: reads and writes per second, bytes per second, mean latency of
//! each. The medium is stated as `network`.
//!
//! ## How to capture
//! `rbd perf image iostat [POOL]`, `rbd perf image iotop` (its screen, copied).
//!
//! ## Versions
//! Ceph Nautilus to Tentacle.
//!
//! ## Caveats
//! An image is served by many disks of many machines, and a write is done when all of its copies are. `0.00 ns` is printed where
//! nothing was done.
//!
//! ## Not in this output
//! How long a row's stretch was (5 s by default), which OSD was slow, single latencies. Whether rows are missing.

use iowhy_model::{Interval, Layer, Level, Medium, Op, Sink, typed};

use crate::counters::stated::rates;
use crate::facts::AddFact;
use crate::{Body, Format, Reader, Sniff, Step, decimal};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "rbd-perf",
    summary: "rbd perf image iostat, iotop: rates and latencies of Ceph's images",
    manual: iowhy_model::manual!("rbd_perf.rs"),
    level: Level::A,
    body: Body::Custom {
        needles: &["WR_LAT"],
        sniff: |lines| Sniff::from(lines.first().is_some_and(|line| columns(line).is_some())),
        reader: || Box::new(RbdPerf::default()),
    },
};

/// What stands in a column.
#[derive(Clone, Copy, PartialEq)]
enum Cell {
    Ios(Op),
    Bytes(Op),
    Latency(Op),
}

/// The columns behind the name: `rbd perf image iostat` prints the image first, `iotop` last.
fn columns(line: &str) -> Option<Vec<Cell>> {
    if !line.contains("WR_LAT") {
        return None;
    }
    let cells = line.split_whitespace().filter(|word| *word != "NAME").map(|word| {
        Some(match word {
            "WR" => Cell::Ios(Op::Write),
            "RD" => Cell::Ios(Op::Read),
            "WR_BYTES" => Cell::Bytes(Op::Write),
            "RD_BYTES" => Cell::Bytes(Op::Read),
            "WR_LAT" => Cell::Latency(Op::Write),
            "RD_LAT" => Cell::Latency(Op::Read),
            _ => return None,
        })
    });
    cells.collect()
}

/// `998/s`, `3.9 MiB/s`, `34.96 ms`: numbers in the columns' own units, and how many words they took.
fn value(words: &[&str]) -> Option<(f64, usize)> {
    let first = words.first()?;
    if let Some(number) = first.strip_suffix("/s").and_then(decimal) {
        return Some((number, 1));
    }
    let factor = match *words.get(1)? {
        "B/s" | "ns" => 1.0,
        "KiB/s" => 1024.0,
        "MiB/s" => 1024.0 * 1024.0,
        "GiB/s" => 1024.0 * 1024.0 * 1024.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    Some((decimal(first)? * factor, 2))
}

#[derive(Default)]
struct RbdPerf {
    columns: Vec<Cell>,
}

impl Reader for RbdPerf {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if let Some(columns) = columns(line) {
            self.columns = columns;
            return Step::Took;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.is_empty() {
            return Step::Took;
        }
        // `pool/image`, first or last; rates end in `/s`.
        let is_name = |word: &&str| word.contains('/') && !word.ends_with("/s");
        let Some(name) = words.iter().copied().find(|word| is_name(word)) else {
            return Step::Passed;
        };
        let words: Vec<&str> = words.into_iter().filter(|word| *word != name).collect();
        let mut cells = Vec::new();
        let mut place = 0;
        while let Some((number, taken)) = words.get(place..).and_then(value) {
            cells.push(number);
            place += taken;
        }
        if place < words.len() || cells.len() != self.columns.len() {
            return Step::Passed;
        }
        let of = |cell: Cell| {
            let at = self.columns.iter().position(|known| *known == cell)?;
            cells.get(at).copied()
        };
        let device = sink.device(name);
        sink.add_fact(device, typed::DEVICE_MEDIUM, Medium::Network);
        let mut interval = Interval::new(device, Layer::Application);
        for op in [Op::Read, Op::Write] {
            let found = rates(of(Cell::Ios(op)), of(Cell::Bytes(op)), of(Cell::Latency(op)));
            interval.rates.extend(found.map(|rates| (op, rates)));
        }
        sink.interval(interval);
        Step::Took
    }

    fn resumes(&self) -> bool {
        true
    }
}
