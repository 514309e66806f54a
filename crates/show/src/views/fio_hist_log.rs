//! fio's histogram log: latencies per second and direction, in fio's own bins.
//!
//! ## Shows
//! A line per time interval and direction: its end, 0 for reads, 1 for writes or 2 for discards, a
//! block size, and the counts of 1856 bins, as written by `fio --write_hist_log` of version 3
//! without `log_hist_coarseness`. Requests are counted per second.
//!
//! ## Units
//! The end in milliseconds from the beginning of the input, latencies in nanoseconds, block size in
//! bytes: that of all requests of a line, 0 if they differ.
//!
//! ## Read it like this
//! Bins are exact to one part in 64; counts from wider source buckets are at their lower edges.
//! Flushes and latencies of unknown direction cannot be written to this log.

use std::collections::BTreeMap;
use std::io::{self, Write};

use iowhy_model::{Listing, Op, Report};

use crate::{Style, View};

/// Entry in the list of views.
pub const VIEW: View = View {
    name: "fio-hist-log",
    summary: "fio's histogram log, in its own bins",
    manual: iowhy_model::manual!("fio_hist_log.rs"),
    write,
};

/// Bins: 29 groups of 64 (`FIO_IO_U_PLAT_GROUP_NR` and `FIO_IO_U_PLAT_VAL` in fio's stat.h).
const BINS: usize = 29 * 64;
/// Bits that distinguish the bins of a group (`FIO_IO_U_PLAT_BITS`).
const BITS: u32 = 6;
/// Stretch into which requests are counted, ms.
const STRETCH_MS: i64 = 1000;

/// One line.
#[derive(Default)]
struct Counts {
    bytes: Option<u32>,
    bins: BTreeMap<usize, u64>,
}

fn write(report: &Report, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    for listing in &report.recording.listings {
        for ((end_ms, direction), counts) in lines(listing, style) {
            write!(out, "{end_ms}, {direction}, {}", counts.bytes.unwrap_or(0))?;
            for bin in 0..BINS {
                write!(out, ", {}", counts.bins.get(&bin).copied().unwrap_or(0))?;
            }
            writeln!(out)?;
        }
    }
    Ok(())
}

fn lines(listing: &Listing, style: &Style) -> BTreeMap<(i64, u8), Counts> {
    let filter = &style.filter;
    let starts = listing.distributions.iter().filter_map(|known| known.start);
    let times = starts.chain(listing.events.iter().filter_map(|event| event.completed));
    let zero = times.map(|time| time.ns()).min().unwrap_or(0);
    let zero = if style.part.is_some() { 0 } else { zero };
    let ms = |ns: i64| ns.saturating_sub(zero) / 1_000_000;
    let mut lines: BTreeMap<(i64, u8), Counts> = BTreeMap::new();
    for known in &listing.distributions {
        let wanted = filter.distribution(known) == Some(true);
        let ours = style.stage.is_none_or(|stage| stage == known.stage);
        let (Some(start), Some(length)) = (known.start, known.length) else { continue };
        let Some(direction) = known.op.and_then(direction).filter(|_| wanted && ours) else {
            continue;
        };
        let line = lines.entry((ms((start + length).ns()), direction)).or_default();
        line.sized(known.bytes.unwrap_or(0));
        for (low, _, n) in known.histogram.filled() {
            *line.bins.entry(bin(low)).or_default() += n;
        }
    }
    for event in listing.events.iter().filter(|event| filter.event(event)) {
        let latency = match style.stage {
            Some(stage) => event.latency(stage),
            None => event.longest().map(|(_, latency)| latency),
        };
        let Some(((latency, at), direction)) =
            latency.zip(event.completed).zip(direction(event.op))
        else {
            continue;
        };
        let end = (ms(at.ns()) / STRETCH_MS + 1) * STRETCH_MS;
        let line = lines.entry((end, direction)).or_default();
        line.sized(event.bytes.unwrap_or(0));
        *line.bins.entry(bin(latency.ns().unsigned_abs())).or_default() += 1;
    }
    lines
}

impl Counts {
    /// Takes note of a size; two that differ are none.
    fn sized(&mut self, bytes: u32) {
        self.bytes = Some(self.bytes.map_or(bytes, |known| if known == bytes { bytes } else { 0 }));
    }
}

fn direction(op: Op) -> Option<u8> {
    match op {
        Op::Read => Some(0),
        Op::Write => Some(1),
        Op::Discard => Some(2),
        Op::Flush | Op::Other => None,
    }
}

/// The bin of a latency: single nanoseconds up to 128, then 64 to each power of two
/// (`plat_val_to_idx`, fio's stat.c, gives the same numbers).
fn bin(ns: u64) -> usize {
    let shift = ns.checked_ilog2().unwrap_or(0).saturating_sub(BITS);
    let place = (u64::from(shift) << BITS) + (ns >> shift);
    usize::try_from(place).unwrap_or(BINS).min(BINS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_fios() {
        // fio's documentation of the histogram log, and its table of bins: 0-127 one by one, then
        // pairs, then fours.
        for (ns, expected) in
            [(0, 0), (63, 63), (64, 64), (127, 127), (128, 128), (129, 128), (130, 129), (256, 192)]
        {
            assert_eq!(bin(ns), expected, "{ns}");
        }
        assert_eq!(bin(u64::MAX), BINS - 1);
    }
}
