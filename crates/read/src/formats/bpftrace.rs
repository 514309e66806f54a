//! bpftrace: power-of-two and linear histograms of a map, such as those of `biolatency.bt`.
//!
//! ## Reads
//! `@usecs:` or `@usecs[sdb]:` and the rows below it: `[256, 512) 2 |@@|`, `[1] 3 |@|`,
//! `[2M, ...) 1 |@|`. Each map becomes a distribution.
//!
//! ## How to capture
//! `biolatency.bt` of bpftrace, and any script whose histogram has a unit of time in its name.
//! Capture with `bpftrace biolatency.bt`, and name your own maps `@usecs[...]` or `@nsecs[...]`.
//!
//! ## Versions
//! Early versions began with a row `[0, 1]` with both ends in it; later ones with `[0]`, `[1]`.
//!
//! ## Caveats
//! K, M, G, T are powers of 1024, in time as in bytes: `[1K, 2K)` of `@usecs` is 1024 to 2048 us.
//! The unit is the map's name: `usecs`, `us`, `nsecs`, `ns`, `msecs`, `ms`, alone or as an ending
//! such as `@lat_us`. bpftrace counts bytes and stack depths with the same tables, so a map without
//! a unit is skipped, with a note. A key that is a disk's name, or its number as the kernel keeps
//! it (8388624 is 8:16, `sdb`), names the device; one that is a request's flags (`WS`) gives the
//! operation; the whole key is kept as the label if neither. Rows below 0 are clocks that jumped
//! and are counted as lost.
//!
//! ## Not in this output
//! The subject of a map whose key is neither disk nor flags, without a banner for block I/O: it is
//! not used to judge a disk. The time and duration of counting. Whether the script cleared the map
//! between two prints: iowhy assumes that it did, like the scripts in the bpftrace package. Whether
//! latency starts at the issue or in the queue: issue is assumed, as in `biolatency.bt`.

use crate::histogram::bpftrace_maps::{MapRow, NO_UNIT, emit, unit_of};
use crate::histogram::buckets::COUNT_LIMIT;
use crate::histogram::subject::Subject;
use crate::program::*;

pub(super) const FORMAT: Format =
    Format::program::<Bpftrace>("latency histograms of a bpftrace map", Level::B, &["@"], sniff);

fn sniff(head: &[&str]) -> Detect {
    let Some(first) = head.first().filter(|line| Map::of(line).is_some()) else {
        return Detect::No;
    };
    match head.get(1) {
        None if !first.is_empty() => Detect::NeedLine,
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
        let unit = unit_of(name);
        Some(Map { unit, key })
    }
}

fn row(line: &str) -> Option<MapRow> {
    let text = line.trim();
    let inside = text.strip_prefix(['[', '('])?;
    let end = inside.find([']', ')'])?;
    let (bounds, after) = inside.split_at(end);
    let count = after.get(1..)?.split_once('|')?.0.trim();
    let count = integer(count).filter(|count| *count <= COUNT_LIMIT)?;
    let Some((low, high)) = bounds.split_once(',') else {
        let only = scaled(bounds)?;
        return Some(MapRow { low: Some(only), high: only.checked_add(1), count });
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
    Some(MapRow { low, high, count })
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
    rows: Vec<MapRow>,
    /// What the lines above say of the maps.
    subject: Subject,
}

impl Reader for Bpftrace {
    fn line_above(&mut self, line: &str) {
        self.subject.note_above(line);
    }

    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if let Some(map) = Map::of(line) {
            self.finish(sink);
            let unit = map.unit;
            self.map = Some(map);
            return unit.map_or(Step::Malformed(NO_UNIT.to_string()), |_| Step::Consumed);
        }
        let Some(row) = row(line).filter(|_| self.map.is_some()) else { return Step::NotMine };
        if self.map.as_ref().is_some_and(|map| map.unit.is_none()) {
            return Step::Malformed(NO_UNIT.to_string());
        }
        if let Some(reason) = self.subject.refusal() {
            return Step::Malformed(reason);
        }
        self.rows.push(row);
        Step::Consumed
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        let rows = std::mem::take(&mut self.rows);
        let Some(Map { unit: Some(unit), key }) = self.map.take() else { return };
        let keys: Vec<&str> = key.as_deref().unwrap_or("").split(',').collect();
        emit(&keys, unit, &rows, None, self.subject, sink);
    }
}
