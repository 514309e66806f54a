//! Small reads of a program, one at a time, and the device class with that latency.
//!
//! A single read waits for no other, so its latency is that of the disk, the file system and, if it
//! was fast, the page cache. If the class is unknown, the class for which that is healthy is
//! reported, and how slow it would be for the others (docs/METHOD.md, 3 Healthy service times).

use iowhy_model::{DeviceId, Interval, Layer, Medium, Op, Stage};

use crate::analysis::Analysis;
use crate::baseline::healthy_time::{HealthyServiceTime, Request};
use crate::evidence::medium_readings::Readings;
use crate::phrase;

/// Maximum bytes of a read whose transfer time is negligible.
const SMALL: f64 = 16_384.0;
/// Requests in flight up to which a read is alone.
const ALONE: f64 = 1.05;
/// Below this many ms memory may have served it (a choice: no flash on a bus does).
const BY_MEMORY_MS: f64 = 0.06;
/// Times a healthy device of a class, least and most, that is still of it (docs/METHOD.md, 1
/// Replay; a choice for the least).
const OF_IT: std::ops::RangeInclusive<f64> = 0.4..=2.5;
/// Classes that a disk may be of, the fastest first.
const CLASSES: [Medium; 4] = [Medium::Nvme, Medium::Flash, Medium::Card, Medium::Rotational];
/// Minimum reads for a mean.
const FEWEST: u64 = 20;

/// A mean over small reads that were alone.
struct Alone {
    device: DeviceId,
    bytes: f64,
    ms: f64,
}

fn alone(analysis: &Analysis, input: &str) -> Option<Alone> {
    let here = |place: usize| analysis.input(place) == input;
    let is_small = |bytes: f64| (512.0..=SMALL).contains(&bytes);
    let listings = analysis.recording.listings.iter().enumerate();
    let rows = listings.filter(|(place, _)| here(*place)).flat_map(|(place, listing)| {
        let present = |row: &&Interval| row.layer == Layer::Application && !row.since_boot;
        listing.intervals.iter().filter(present).map(move |row| (place, row))
    });
    let of_rows = rows.filter_map(|(place, row)| {
        let [(Op::Read, rates)] = row.rates.as_slice() else { return None };
        let bytes = rates.mean_bytes().unwrap_or(4096.0);
        let stated = analysis.at_once(place, row.device);
        let known_ms = rates.await_ns.map(|ns| ns / 1e6);
        let in_flight = stated.or(known_ms.map(|ms| ms * rates.ios_per_s / 1e3))?;
        let ms = known_ms.unwrap_or(1e3 / rates.ios_per_s);
        let is_alone = in_flight <= ALONE && rates.ios_per_s > 0.0 && is_small(bytes);
        is_alone.then_some(Alone { device: row.device, bytes, ms })
    });
    let counted = analysis.histograms.iter().filter(|sample| {
        let known = &sample.known;
        here(sample.listing)
            && known.layer == Layer::Application
            && known.stage == Stage::Total
            && matches!(known.op, Some(Op::Read) | None)
            && known.histogram.count() >= FEWEST
            && analysis.at_once(sample.listing, known.device).is_some_and(|n| n <= ALONE)
    });
    let of_counts = counted.filter_map(|sample| {
        let bytes = sample.known.bytes.map_or(4096.0, f64::from);
        let ms = sample.known.histogram.mean_ns()?.0 / 1e6;
        is_small(bytes).then_some(Alone { device: sample.known.device, bytes, ms })
    });
    of_rows.chain(of_counts).find(|one| one.ms >= BY_MEMORY_MS)
}

/// A read that was alone and took as long as a healthy disk of some class does, with the bound of
/// the slowest such class, if its own class is not known.
pub fn is_of_a_class(analysis: &Analysis, input: &str) -> Option<(DeviceId, f64, f64)> {
    let one = alone(analysis, input).filter(|one| analysis.medium(one.device).is_none())?;
    let request = Request { op: Op::Read, bytes: one.bytes, sequential: Some(false) };
    let s0 = CLASSES.map(|medium| {
        HealthyServiceTime::of(&[(medium, 1.0)], request, None).median_ms().max(1e-9)
    });
    let most = s0.into_iter().rfind(|s0| OF_IT.contains(&(one.ms / s0)))?;
    Some((one.device, one.ms, OF_IT.end() * most))
}

/// `6.7 ms per read of 4 KiB, one at a time, is what a spinning disk takes if it is healthy; if it
/// is a memory card or eMMC instead, it is 14 times slower than its class`.
pub fn reported(analysis: &Analysis, input: &str) -> Option<String> {
    let one = alone(analysis, input).filter(|one| analysis.medium(one.device).is_none())?;
    let request = Request { op: Op::Read, bytes: one.bytes, sequential: Some(false) };
    let times = |medium: Medium| {
        one.ms / HealthyServiceTime::of(&[(medium, 1.0)], request, None).median_ms().max(1e-9)
    };
    let healthy: Vec<Medium> =
        CLASSES.into_iter().filter(|medium| OF_IT.contains(&times(*medium))).collect();
    let slow = CLASSES.into_iter().rfind(|medium| times(*medium) > *OF_IT.end());
    let is = match (healthy.as_slice(), slow) {
        ([], None) => return None,
        ([], Some(_)) => "is longer than any healthy disk takes".to_string(),
        ([first, ..], slow) => {
            let names: Vec<&str> = healthy.iter().map(|medium| phrase::medium(*medium)).collect();
            let other = slow.map(|slow| Readings { healthy: *first, slow, times: times(slow) });
            format!(
                "is what {} takes if it is healthy{}",
                names.join(" or "),
                other.map_or(String::new(), Readings::words)
            )
        }
    };
    Some(format!(
        "{} per read of {}, one at a time, {is}",
        phrase::ms(one.ms),
        phrase::bytes(one.bytes)
    ))
}
