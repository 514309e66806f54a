//! rbd perf: what Ceph serves of each image, and how quickly.
//!
//! ## Reads
//! Each row of an image becomes an interval as the program saw it: reads and writes per second, bytes per second, mean latency of
//! each. The medium is stated as `network`.
//!
//! ## Where it comes from
//! `rbd perf image iostat [POOL]`, `rbd perf image iotop` (its screen, copied).
//!
//! ## Versions
//! Ceph Nautilus to Tentacle.
//!
//! ## Traps
//! An image is served by many disks of many machines, and a write is done when all of its copies are. `0.00 ns` is printed where
//! nothing was done.
//!
//! ## Cannot know
//! How long a row's stretch was (5 s by default), which OSD was slow, single latencies. Whether rows are missing.

use iowhy_model::{Interval, Layer, Level, Medium, Op, Sink, typed};

use crate::counters::stated::rates;
use crate::facts::AddFact;
use crate::{Format, Reader, Sniff, Step, decimal};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "rbd-perf",
    summary: "rbd perf image iostat, iotop: rates and latencies of Ceph's images",
    manual: iowhy_model::manual!("rbd_perf.rs"),
    level: Level::A,
    sniff: |lines| Sniff::from(lines.first().is_some_and(|line| columns(line).is_some())),
    reader: || Box::new(RbdPerf::default()),
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

#[cfg(test)]
mod tests {
    use iowhy_model::Op;

    #[test]
    fn a_row_of_each_of_the_two_commands() {
        let iotop = "NAME              WR    RD    WR_BYTES   RD_BYTES     WR_LAT    RD_LAT\n\
                     rbd/win2k19-1  998/s   0/s   3.9 MiB/s      0 B/s   34.96 ms   0.00 ns\n";
        let iostat = "WR      RD    WR_BYTES    RD_BYTES     WR_LAT    RD_LAT  NAME\n\
                      21/s    11/s   1.5 MiB/s   44 KiB/s    3.10 ms   900.00 us  vms/disk-0\n";
        for (text, name, writes, bytes, wait) in [
            (iotop, "rbd/win2k19-1", 998.0, 3.9 * 1024.0 * 1024.0, 34.96e6),
            (iostat, "vms/disk-0", 21.0, 1.5 * 1024.0 * 1024.0, 3.10e6),
        ] {
            let recording = crate::scan::recorded(text);
            let row = &recording.listings[0].intervals[0];
            let (_, written) = row.rates.iter().find(|(op, _)| *op == Op::Write).unwrap();
            assert_eq!(recording.device_of(row.device).name, name);
            assert_eq!((written.ios_per_s, written.bytes_per_s), (writes, Some(bytes)));
            assert_eq!(written.await_ns, Some(wait));
        }
    }
}
