//! The kernel's block counters, as `/proc/diskstats` and `/sys/block/D/stat` print them, and what
//! happened between two readings.
//!
//! Fields: Documentation/admin-guide/iostats.rst. Sectors are 512 bytes whatever the device says.
//! The millisecond fields are unsigned 32-bit numbers and wrap: the weighted time of a queue of
//! 128 does so every 9.3 hours.

mod change;

use iowhy_model::Op;

use crate::integer;
use crate::text::repair::is_odd;

pub(crate) use change::change;
pub use change::{Change, Delta, between};

/// Counters of one kind of request since the device appeared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Requests completed.
    pub ios: u64,
    /// Bios or requests merged into one already queued.
    pub merges: Option<u64>,
    /// Sectors of 512 bytes moved.
    pub sectors: Option<u64>,
    /// Milliseconds from allocation to completion, summed.
    pub ms: Option<u64>,
}

/// One reading of one device. `None` is what its kernel does not count.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counters {
    /// Major and minor number, if the line has them.
    pub number: Option<(u32, u32)>,
    /// The device's name.
    pub name: String,
    /// Reads.
    pub read: Counts,
    /// Writes, the carriers of flushes among them.
    pub write: Counts,
    /// Discards, since Linux 4.18.
    pub discard: Option<Counts>,
    /// Flushes, since Linux 5.5; never on partitions.
    pub flush: Option<Counts>,
    /// Requests in flight at the moment of reading.
    pub in_flight: Option<u64>,
    /// Milliseconds with something in flight.
    pub busy_ms: Option<u64>,
    /// Milliseconds summed over all requests; of completed ones only since Linux 5.7.
    pub weighted_ms: Option<u64>,
}

/// A line of `/proc/diskstats`. `None` if it is not one.
pub fn parse_line(line: &str) -> Option<Counters> {
    if !line.trim_start().starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let [major, minor, name, values @ ..] = words.as_slice() else { return None };
    // The head of a kstat of ZFS: `6 1 0x01 91 4368 8514024590 1936536633267777`.
    if name.starts_with("0x") {
        return None;
    }
    // Linux numbers: 12 bits of major, 20 bits of minor (include/linux/kdev_t.h).
    let major = integer(major).filter(|number| *number < 1 << 12)?;
    let minor = integer(minor).filter(|number| *number < 1 << 20)?;
    // A number in the place of the name is invalid.
    let mut counters = parse_values(name, values).filter(|_| !is_odd(name))?;
    counters.number = Some((major as u32, minor as u32));
    Some(counters)
}

/// The text of `/sys/block/D/stat` of the device `name`. `None` if it is something else.
pub fn parse_stat(name: &str, text: &str) -> Option<Counters> {
    let words: Vec<&str> = text.split_whitespace().collect();
    parse_values(name, &words)
}

impl Counters {
    /// The counters of a device by their places in its line of `/proc/diskstats`, from 0 after the
    /// name; `None` without a count of reads and of writes.
    pub(crate) fn of(name: &str, value: impl Fn(usize) -> Option<u64>) -> Option<Counters> {
        let group = |first: usize| {
            let (merges, sectors, ms) = (value(first + 1), value(first + 2), value(first + 3));
            Some(Counts { ios: value(first)?, merges, sectors, ms })
        };
        Some(Counters {
            number: None,
            name: name.to_string(),
            read: group(0)?,
            write: group(4)?,
            discard: group(11),
            flush: value(15).map(|ios| Counts { ios, ms: value(16), ..Counts::default() }),
            in_flight: value(8),
            busy_ms: value(9),
            weighted_ms: value(10),
        })
    }

    /// The operations counted, in the order of [`Op::ALL`].
    pub fn counts(&self) -> impl Iterator<Item = (Op, Counts)> {
        [
            (Op::Read, Some(self.read)),
            (Op::Write, Some(self.write)),
            (Op::Discard, self.discard),
            (Op::Flush, self.flush),
        ]
        .into_iter()
        .filter_map(|(op, counts)| Some((op, counts?)))
    }

    /// Whether the device ever did anything.
    pub fn is_used(&self) -> bool {
        self.counts().any(|(_, counts)| counts.ios > 0)
    }
}

fn parse_values(name: &str, words: &[&str]) -> Option<Counters> {
    if name.is_empty() || integer(name).is_some() {
        return None;
    }
    let value = |place: usize| words.get(place).and_then(|word| integer(word));
    match words.len() {
        // Partitions before Linux 2.6.25: requests and sectors.
        4 => {
            let is_whole = (0..4).all(|place| value(place).is_some());
            let known = |place| [0, 2, 4, 6].iter().position(|known| *known == place);
            Counters::of(name, |place| known(place).and_then(value)).filter(|_| is_whole)
        }
        11.. => {
            // Kernels have printed negative numbers for requests in flight; that is not a count.
            let is_whole = (0..11).all(|place| place == 8 || value(place).is_some());
            let groups =
                [11..15, 15..17].map(|mut group| group.all(|place| value(place).is_some()));
            let known = |place: usize| match place {
                8 => value(8).filter(|count| i32::try_from(*count).is_ok()),
                11..15 if !groups[0] => None,
                15.. if !groups[1] => None,
                _ => value(place),
            };
            Counters::of(name, known).filter(|_| is_whole)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_generation_of_lines() {
        let old = parse_line("   8    1 sda1 35 314 2 8").unwrap();
        assert_eq!((old.read.ios, old.read.sectors, old.read.ms), (35, Some(314), None));
        assert_eq!((old.write.ios, old.write.sectors, old.busy_ms), (2, Some(8), None));
        let plain = "8 0 sda 1 2 3 4 5 6 7 8 9 10 11";
        let discards = parse_line(&format!("{plain} 12 13 14 15")).unwrap();
        let flushes = parse_line(&format!("{plain} 12 13 14 15 16 17")).unwrap();
        let future = parse_line(&format!("{plain} 12 13 14 15 16 17 18")).unwrap();
        assert_eq!(parse_line(plain).unwrap().discard, None);
        assert_eq!(discards.discard.unwrap().ms, Some(15));
        assert_eq!(discards.flush, None);
        assert_eq!(flushes.flush.unwrap(), Counts { ios: 16, ms: Some(17), ..Counts::default() });
        assert_eq!(future, flushes);
        assert_eq!(parse_stat("sda", "1 2 3 4 5 6 7 8 9 10 11").unwrap().weighted_ms, Some(11));
    }

    #[test]
    fn what_is_no_line_of_counters() {
        for line in ["", "8 0 sda", "8 0 sda 1 2 x 4", "8 0 7 1 2 3 4", "9999 0 sda 1 2 3 4"] {
            assert_eq!(parse_line(line), None, "{line}");
        }
        // A count of requests in flight below zero is a known fault of some kernels.
        let line = "8 0 sda 1 2 3 4 5 6 7 8 4294967295 10 11";
        assert_eq!(parse_line(line).unwrap().in_flight, None);
    }
}
