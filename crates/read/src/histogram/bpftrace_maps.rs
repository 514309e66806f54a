//! The meaning of bpftrace's maps: the unit in their name, the device and operation in their key.

use iowhy_model::{Flags, Nanos, Op, Sink, Time};

use crate::facts::note;
use crate::histogram::buckets::{COUNT_LIMIT, in_device};
use crate::histogram::subject::Subject;
use crate::text::numbers::fine_unit_ns;
use crate::{device_name, histogram_of, integer};

/// Why a map is left out.
pub(crate) const NO_UNIT: &str = "the name of the map has no time unit, such as `@usecs`";

/// Beginnings of the names the kernel's block drivers give.
const DRIVERS: [&str; 14] = [
    "dm-", "drbd", "hd", "loop", "md", "mmcblk", "nbd", "nvme", "rbd", "sd", "sr", "vd", "xvd",
    "zd",
];
/// Minor bits of a device number inside the kernel (`MINORBITS`, include/linux/kdev_t.h).
const MINOR_BITS: u32 = 20;

/// The nanoseconds of the unit that a map's name ends with.
pub(crate) fn unit_of(name: &str) -> Option<u64> {
    name.rsplit('_').next().and_then(fine_unit_ns)
}

/// A row of a map: from, to and count; `None` as an end is open.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct MapRow {
    pub(crate) low: Option<u64>,
    pub(crate) high: Option<u64>,
    pub(crate) count: u64,
}

/// The rows of one key as a distribution; `span` is when it began and how long it was.
pub(crate) fn emit(
    keys: &[&str],
    unit: u64,
    rows: &[MapRow],
    span: Option<(Time, Nanos)>,
    subject: Subject,
    sink: &mut dyn Sink,
) {
    let below = rows.iter().filter(|row| row.low.is_none()).map(|row| row.count);
    let below = below.fold(0, u64::saturating_add).min(COUNT_LIMIT);
    sink.lost("negative latencies", below);
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
    let (device, op, label) = named(keys);
    if device.is_empty() && op.is_none() {
        subject.state(sink);
    }
    let mut distribution = in_device(&device, histogram, unit, sink);
    distribution.op = op;
    distribution.label = label.map(|label| sink.name(&label));
    (distribution.start, distribution.length) = span.unzip();
    sink.distribution(distribution);
}

/// What a map's key says: the device, the operation, and the rest as a label.
fn named(keys: &[&str]) -> (String, Option<Op>, Option<String>) {
    let (mut device, mut op, mut rest) = (None, None, Vec::new());
    for part in keys.iter().map(|key| key.trim()).filter(|part| !part.is_empty()) {
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
    fn a_key_names_the_device_and_the_operation() {
        assert_eq!(named(&["sdb"]), ("sdb".into(), None, None));
        assert_eq!(named(&["8388624", " WS"]), ("sdb".into(), Some(Op::Write), None));
        assert_eq!(named(&["systemd"]), (String::new(), None, Some("systemd".into())));
        assert_eq!(named(&["4179"]), (String::new(), None, Some("4179".into())));
        assert_eq!(
            (unit_of("lat_us"), unit_of("usecs"), unit_of("total")),
            (Some(1000), Some(1000), None)
        );
    }
}
