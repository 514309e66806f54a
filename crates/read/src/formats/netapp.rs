//! NetApp cluster-mode latency histograms: the rows of `stats show` for NFS reads or writes.
//!
//! ## Reads
//! Rows `volume:NAME:nfs_protocol_read_latency.<20us:COUNT`, up to the row `.>120s:COUNT` that ends
//! a histogram, and the line `beautifier: TEXT` that PyLatencyMap's script prints ahead of them:
//! the label.
//!
//! ## How to capture
//! `system node run -node N stats show -r -n 100 -i 1 volume:V:nfs_protocol_read_latency`, or
//! PyLatencyMap's `NetApp_histogram_Cmode.pl` before its connector.
//!
//! ## Versions
//! Data ONTAP 8.x and 9.x print the same 39 bounds from 20 us to 120 s. The form of a row is
//! inferred from the connector that parses it.
//!
//! ## Caveats
//! A bound is an upper one: `<40us` counts 20 to 40 us. Each histogram counts the operations of its
//! own interval, not a running sum. The buckets are not powers of two; PyLatencyMap moves them up
//! to the next one and loses all above 4.2 s. A missing row counts nothing. A histogram
//! without its last row is used, with a note.
//!
//! ## Not in this output
//! The time: no row has one. The layers between the filer and the application: network,
//! client queue, page cache. The sizes of the operations.

use crate::histogram::buckets::{COUNT_LIMIT, histogram_of};
use crate::program::*;
use crate::text::numbers::time_ns;

pub(super) const FORMAT: Format = Format::program::<Netapp>(
    "NetApp cluster-mode NFS latency histograms (stats show)",
    Level::B,
    &["beautifier: ", "_latency."],
    sniff,
);

/// The filer's upper bounds in us (NetApp_latency_connector.pl of PyLatencyMap); after the last
/// one all the rest.
const BOUNDS_US: [u64; 38] = [
    20, 40, 60, 80, 100, 200, 400, 600, 800, 1_000, 2_000, 4_000, 6_000, 8_000, 10_000, 12_000,
    14_000, 16_000, 18_000, 20_000, 40_000, 60_000, 80_000, 100_000, 200_000, 400_000, 600_000,
    800_000, 1_000_000, 2_000_000, 4_000_000, 6_000_000, 8_000_000, 10_000_000, 20_000_000,
    30_000_000, 60_000_000, 90_000_000,
];
/// The last bound, 120 s: below it one bucket, above it another.
const LAST_US: u64 = 120_000_000;

fn sniff(lines: &[&str]) -> Detect {
    match lines {
        [first] if first.starts_with("beautifier: ") => Detect::NeedLine,
        [first, .., second] if first.starts_with("beautifier: ") => {
            Detect::from(row(second).is_some())
        }
        _ => Detect::from(lines.first().is_some_and(|line| row(line).is_some())),
    }
}

/// One row.
#[derive(Clone, PartialEq, Debug)]
struct VolumeRow<'a> {
    volume: &'a str,
    counter: &'a str,
    /// Bounds in us; the upper one of the last row is open.
    bounds: (u64, u64),
    count: u64,
}

fn row(line: &str) -> Option<VolumeRow<'_>> {
    let mut parts = line.trim().split(':');
    let (object, volume, name, count) =
        (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let (counter, bound) = name.rsplit_once('.')?;
    let bounds = match (bound.strip_prefix('<'), bound.strip_prefix('>')) {
        (Some(bound), _) => below(microseconds(bound)?)?,
        (_, Some(bound)) => (microseconds(bound)?, u64::MAX),
        _ => return None,
    };
    let sound = object == "volume" && counter.ends_with("_latency") && parts.next().is_none();
    let count = integer(count.trim()).filter(|count| *count <= COUNT_LIMIT)?;
    sound.then_some(VolumeRow { volume, counter, bounds, count })
}

/// The bucket of an upper bound.
fn below(bound: u64) -> Option<(u64, u64)> {
    let all = || BOUNDS_US.into_iter().chain([LAST_US]);
    let place = all().position(|known| known == bound)?;
    let low = place.checked_sub(1).and_then(|place| all().nth(place)).unwrap_or(0);
    Some((low, bound))
}

fn microseconds(text: &str) -> Option<u64> {
    let us = time_ns(text)? / 1e3;
    ((0.0..1e15).contains(&us) && us.fract() == 0.0).then_some(us as u64)
}

#[derive(Default)]
struct Netapp {
    label: Option<String>,
    volume: String,
    counter: String,
    rows: Vec<(u64, u64, u64)>,
}

impl Reader for Netapp {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if let Some(label) = line.strip_prefix("beautifier: ") {
            self.label = Some(label.trim().to_string());
            return Step::Consumed;
        }
        let Some(row) = row(line) else {
            return match line.starts_with("volume:") && line.contains("_latency.") {
                true => Step::skipped("the row has no known bound or no count"),
                false if line.trim().is_empty() => Step::Consumed,
                false => Step::NotMine,
            };
        };
        if row.volume != self.volume || row.counter != self.counter {
            self.flush(false, sink);
            (self.volume, self.counter) = (row.volume.to_string(), row.counter.to_string());
        }
        let (low, high) = row.bounds;
        let ns = |us: u64| us.saturating_mul(1_000);
        let again = self.rows.iter().any(|(known, ..)| *known == ns(low));
        if again {
            self.flush(false, sink);
        }
        self.rows.push((ns(low), ns(high), row.count));
        if high == u64::MAX {
            self.flush(true, sink);
        }
        Step::Consumed
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.flush(false, sink);
    }
}

impl Netapp {
    fn flush(&mut self, whole: bool, sink: &mut dyn Sink) {
        let rows = std::mem::take(&mut self.rows);
        if rows.is_empty() {
            return;
        }
        if !whole {
            sink.note(note("the last row of a histogram is missing"));
        }
        let Some(histogram) = histogram_of(rows) else { return };
        // The filer measures its own work: the client's wait before is not in it.
        sink.source().sees_queue = false;
        let device = sink.device(&self.volume);
        let mut one = Distribution::new(device, Layer::Block, Stage::Device, histogram);
        one.op = match self.counter.as_str() {
            counter if counter.contains("read") => Some(Op::Read),
            counter if counter.contains("write") => Some(Op::Write),
            _ => None,
        };
        one.label = self.label.as_deref().map(|label| sink.name(label));
        sink.distribution(one);
    }
}
