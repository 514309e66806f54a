//! bpftrace: power-of-two and linear histograms of a map, such as those of `biolatency.bt`.
//!
//! ## Reads
//! `@usecs:` or `@usecs[sdb]:` and the rows below it: `[256, 512) 2 |@@|`, `[1] 3 |@|`,
//! `[2M, ...) 1 |@|`. Each map becomes a distribution.
//!
//! ## Where it comes from
//! `biolatency.bt` of bpftrace, and any script whose histogram has a unit of time in its name.
//! Capture with `bpftrace biolatency.bt`, and name your own maps `@usecs[...]` or `@nsecs[...]`.
//!
//! ## Versions
//! Early versions began with a row `[0, 1]` with both ends in it; later ones with `[0]`, `[1]`.
//!
//! ## Traps
//! K, M, G, T are powers of 1024, in time as in bytes: `[1K, 2K)` of `@usecs` is 1024 to 2048 us.
//! The unit is the map's name: `usecs`, `us`, `nsecs`, `ns`, `msecs`, `ms`, alone or as an ending
//! such as `@lat_us`. bpftrace counts bytes and stack depths with the same tables, so a map
//! without a unit is skipped and says so. A key that is a disk's name, or its number as the
//! kernel keeps it (8388624 is 8:16, `sdb`), names the device; one that is a request's flags
//! (`WS`) gives the operation; the whole key is kept as the label if neither. Rows below 0 are
//! clocks that jumped and are counted as lost.
//!
//! ## Cannot know
//! When and for how long it counted. Whether the script cleared the map between two prints: iowhy
//! takes it that it did, as the scripts that come with bpftrace do. Whether latency was taken
//! from the issue or from the queue: the former is assumed, as in `biolatency.bt`.

use iowhy_model::{Distribution, Flags, Layer, Level, Nanos, Op, Sink, Stage};

use crate::buckets::COUNT_LIMIT;
use crate::powers::note;
use crate::{Format, Reader, Sniff, Step, device_name, histogram_of, integer};

/// The format's entry in the list.
pub const FORMAT: Format = Format {
    name: "bpftrace",
    summary: "latency histograms of a bpftrace map",
    manual: include_str!("bpftrace.rs"),
    level: Level::B,
    sniff,
    reader: || Box::new(Bpftrace::default()),
};

/// Names of maps, whole or after `_`, and the nanoseconds of their unit.
const UNITS: [(&str, u64); 9] = [
    ("ms", 1_000_000),
    ("msec", 1_000_000),
    ("msecs", 1_000_000),
    ("ns", 1),
    ("nsec", 1),
    ("nsecs", 1),
    ("us", 1_000),
    ("usec", 1_000),
    ("usecs", 1_000),
];
/// Beginnings of the names the kernel's block drivers give.
const DRIVERS: [&str; 14] = [
    "dm-", "drbd", "hd", "loop", "md", "mmcblk", "nbd", "nvme", "rbd", "sd", "sr", "vd", "xvd",
    "zd",
];
/// Minor bits of a device number inside the kernel (`MINORBITS`, include/linux/kdev_t.h).
const MINOR_BITS: u32 = 20;
const NO_UNIT: &str = "the map's name has no unit of time, such as `@usecs`";

fn sniff(head: &[&str]) -> Sniff {
    let Some(first) = head.first().filter(|line| Map::of(line).is_some()) else {
        return Sniff::No;
    };
    match head.get(1) {
        None if !first.is_empty() => Sniff::More,
        second => second.is_some_and(|line| row(line).is_some()).into(),
    }
}

/// The heading of a map.
#[derive(Clone, PartialEq, Debug)]
struct Map {
    unit: Option<u64>,
    key: Option<String>,
}

impl Map {
    fn of(line: &str) -> Option<Map> {
        let text = line.trim().strip_prefix('@')?.strip_suffix(':')?;
        let (name, key) = match text.strip_suffix(']') {
            Some(text) => text.split_once('[').map(|(name, key)| (name, Some(key.to_string())))?,
            None => (text, None),
        };
        if !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            return None;
        }
        let ending = name.rsplit('_').next()?;
        let unit = UNITS.iter().find(|(word, _)| *word == ending).map(|(_, ns)| *ns);
        Some(Map { unit, key })
    }
}

/// A row of a map: from, to and count; `None` as an end is open.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Row {
    low: Option<u64>,
    high: Option<u64>,
    count: u64,
}

fn row(line: &str) -> Option<Row> {
    let text = line.trim();
    let inside = text.strip_prefix(['[', '('])?;
    let end = inside.find([']', ')'])?;
    let (bounds, after) = inside.split_at(end);
    let count = after.get(1..)?.split_once('|')?.0.trim();
    let count = integer(count).filter(|count| *count <= COUNT_LIMIT)?;
    let Some((low, high)) = bounds.split_once(',') else {
        let only = scaled(bounds)?;
        return Some(Row { low: Some(only), high: only.checked_add(1), count });
    };
    let low = match low.trim() {
        "..." => None,
        low if low.starts_with('-') => None,
        low => Some(scaled(low)?),
    };
    let high = match high.trim() {
        "..." => None,
        high if high.starts_with('-') => Some(0),
        high => scaled(high)?.checked_add(u64::from(after.starts_with(']'))),
    };
    Some(Row { low, high, count })
}

/// A number with a power-of-1024 letter, `2K`.
fn scaled(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.trim_end_matches(['K', 'M', 'G', 'T', 'P', 'E']);
    let shift = match text.get(digits.len()..)? {
        "" => 0,
        letter => 10 * (1 + "KMGTPE".find(letter)? as u32),
    };
    integer(digits)?.checked_mul(1 << shift)
}

#[derive(Default)]
struct Bpftrace {
    map: Option<Map>,
    rows: Vec<Row>,
}

impl Reader for Bpftrace {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if let Some(map) = Map::of(line) {
            self.finish(sink);
            let unit = map.unit;
            self.map = Some(map);
            return unit.map_or(Step::Skipped(NO_UNIT.to_string()), |_| Step::Took);
        }
        let Some(row) = row(line).filter(|_| self.map.is_some()) else { return Step::Passed };
        if self.map.as_ref().is_some_and(|map| map.unit.is_none()) {
            return Step::Skipped(NO_UNIT.to_string());
        }
        self.rows.push(row);
        Step::Took
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        let rows = std::mem::take(&mut self.rows);
        let Some(Map { unit: Some(unit), key }) = self.map.take() else { return };
        let below = rows.iter().filter(|row| row.low.is_none()).map(|row| row.count);
        let below = below.fold(0, u64::saturating_add).min(COUNT_LIMIT);
        sink.lost("latencies below zero", below);
        let edges = rows.iter().filter_map(|row| {
            let high = row.high.map_or(u64::MAX, |high| high.saturating_mul(unit));
            Some((row.low?.saturating_mul(unit), high, row.count))
        });
        let Some(histogram) = histogram_of(edges.collect()) else {
            if !rows.is_empty() && below == 0 {
                sink.skip(note("the rows of a map overlap"));
            }
            return;
        };
        let (device, op, label) = named(key.as_deref().unwrap_or(""));
        let source = sink.source();
        source.sees_queue = false;
        source.resolution = source.resolution.max(Some(Nanos(unit as i64)));
        let device = sink.device(&device);
        let mut distribution = Distribution::new(device, Layer::Block, Stage::Device, histogram);
        distribution.op = op;
        distribution.label = label.map(|label| sink.name(&label));
        sink.distribution(distribution);
    }
}

/// What a map's key says: the device, the operation, and the rest as a label.
fn named(key: &str) -> (String, Option<Op>, Option<String>) {
    let (mut device, mut op, mut rest) = (None, None, Vec::new());
    for part in key.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let named = device_of(part).filter(|_| device.is_none());
        let flags = Flags::from_rwbs(part).filter(|_| op.is_none());
        match (named, flags) {
            (Some(name), _) => device = Some(name),
            (None, Some((this, _))) => op = Some(this),
            (None, None) => rest.push(part),
        }
    }
    let label = (!rest.is_empty()).then(|| rest.join(","));
    (device.unwrap_or_default(), op, label)
}

/// The device a key means, if it is a name a driver gives or a number in the kernel's form.
fn device_of(key: &str) -> Option<String> {
    if let Some(number) = integer(key).and_then(|number| u32::try_from(number).ok()) {
        let (major, minor) = (number >> MINOR_BITS, number & ((1 << MINOR_BITS) - 1));
        return (major > 0).then(|| device_name(major, minor));
    }
    let rest = DRIVERS.iter().find_map(|driver| key.strip_prefix(driver))?;
    let plain = rest.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    (plain && !rest.is_empty() && rest.len() <= 8).then(|| key.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_their_suffixes() {
        let row_of = |text| row(text).map(|row| (row.low, row.high, row.count));
        assert_eq!(row_of("[256, 512)    2 |@@|"), Some((Some(256), Some(512), 2)));
        assert_eq!(row_of("[512, 1K)  10 |@ |"), Some((Some(512), Some(1024), 10)));
        assert_eq!(row_of("[0, 1]  4 | |"), Some((Some(0), Some(2), 4)));
        assert_eq!(row_of("[1]  4 | |"), Some((Some(1), Some(2), 4)));
        assert_eq!(row_of("[2M, ...)  4 | |"), Some((Some(2 << 20), None, 4)));
        assert_eq!(row_of("(..., 0)  4 | |"), Some((None, Some(0), 4)));
        assert_eq!(row_of("[16E, 32E) 1 ||"), None);
        assert_eq!(row_of("[256, 512)"), None);
        assert_eq!(row_of("[...]"), None);
    }

    #[test]
    fn a_key_names_the_device_and_the_operation() {
        assert_eq!(named("sdb"), ("sdb".into(), None, None));
        assert_eq!(named("8388624, WS"), ("sdb".into(), Some(Op::Write), None));
        assert_eq!(named("systemd"), (String::new(), None, Some("systemd".into())));
        assert_eq!(named("4179"), (String::new(), None, Some("4179".into())));
        assert_eq!(Map::of("@lat_us[dm-0]:").unwrap().unit, Some(1000));
        assert_eq!(Map::of("@[dd]:").unwrap().unit, None);
        assert_eq!(Map::of("@total: 12"), None);
    }
}
