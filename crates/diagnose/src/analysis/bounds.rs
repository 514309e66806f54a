//! Limits what is judged: if an input has more devices and listings than any machine, those with
//! the most time waited.
//!
//! Detectors compare devices and listings with each other, so their work grows faster than the
//! number. What is left out is counted, and the caller reports it.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use iowhy_model::Order as _;
use iowhy_model::{DeviceId, FactKey, Level, Listing, Recording, key};

/// Maximum devices and listings judged: a choice, far above the disks of a large server and the
/// captures of a long day, and still judged within seconds.
pub(crate) const DEVICES: usize = 768;
pub(crate) const LISTINGS: usize = 1536;
/// Parts in four for those with most time waited, and for those with most log events; the rest are
/// spread over all others, because a device is compared with its peers.
const WORST: usize = 2;
const LOG_EVENTS: usize = 1;

/// How much was judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct JudgedShare {
    /// Devices with any records, and those judged.
    pub devices: (usize, usize),
    /// The same for listings.
    pub listings: (usize, usize),
}

impl JudgedShare {
    /// What a recording's verdict leaves out; `None` if nothing.
    pub fn of(recording: &Recording) -> Option<JudgedShare> {
        let (devices, listings) = (weights(recording).len(), recording.listings.len());
        let judged = JudgedShare {
            devices: (devices, devices.min(DEVICES)),
            listings: (listings, listings.min(LISTINGS)),
        };
        (devices > DEVICES || listings > LISTINGS).then_some(judged)
    }

    /// That in words.
    pub fn words(&self) -> String {
        let part = |(all, judged): (usize, usize), what: &str| {
            (judged < all).then(|| format!("{judged} of {all} {what}"))
        };
        let parts = [part(self.devices, "devices"), part(self.listings, "listings")];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        format!(
            "{} are judged: those with the most time waited or the most log errors, and a sample \
             of the others; `--device` selects devices",
            parts.join(" and ")
        )
    }
}

/// Time waited, ns, and log events.
#[derive(Clone, Copy, Default)]
struct Weight {
    waited: f64,
    log_events: f64,
}

/// The recording, or the judged part if it is too large. Listings keep their indexes.
pub(crate) fn bounded(recording: &Recording) -> Cow<'_, Recording> {
    let devices = weights(recording);
    if devices.len() <= DEVICES && recording.listings.len() <= LISTINGS {
        return Cow::Borrowed(recording);
    }
    let devices: HashSet<DeviceId> = chosen(devices, DEVICES).into_iter().collect();
    let listings = recording.listings.iter().enumerate();
    let listings = listings.map(|(place, listing)| (place, weight_of(listing))).collect();
    let listings: HashSet<usize> = chosen(listings, LISTINGS).into_iter().collect();
    Cow::Owned(
        recording.narrowed(|place| listings.contains(&place), |device| devices.contains(&device)),
    )
}

/// Those with the most time waited, and some of the others, in their own order.
fn chosen<T: Copy + Ord + std::hash::Hash>(mut all: Vec<(T, Weight)>, most: usize) -> Vec<T> {
    if all.len() <= most {
        return all.into_iter().map(|(one, _)| one).collect();
    }
    let mut taken: HashSet<T> = HashSet::new();
    all.order_by(|a, b| b.1.waited.total_cmp(&a.1.waited).then(a.0.cmp(&b.0)));
    taken.extend(all.iter().take(most * WORST / 4).map(|(one, _)| *one));
    all.order_by(|a, b| b.1.log_events.total_cmp(&a.1.log_events).then(a.0.cmp(&b.0)));
    let loud = all.iter().filter(|(_, weight)| weight.log_events > 0.0);
    taken.extend(loud.take(most * LOG_EVENTS / 4).map(|(one, _)| *one));
    all.order_by_key(|(one, _)| *one);
    let step = all.len().div_ceil(most - taken.len()).max(1);
    taken.extend(all.iter().step_by(step).map(|(one, _)| *one));
    let mut taken: Vec<T> = taken.into_iter().collect();
    taken.sort_unstable();
    taken.truncate(most);
    taken
}

/// Whether a fact reports a problem of its device.
fn is_log_event(key: &FactKey) -> bool {
    key.is_under("kernel.log") || key.is_under("smart") || *key == key::DEVICE_IO_ERRORS
}

/// The weight of each device with any records.
fn weights(recording: &Recording) -> Vec<(DeviceId, Weight)> {
    let mut all: HashMap<DeviceId, Weight> = HashMap::new();
    for listing in &recording.listings {
        measured(listing, |device, waited| all.entry(device).or_default().waited += waited);
        for fact in &listing.facts {
            let Some(device) = fact.device else { continue };
            all.entry(device).or_default().log_events +=
                f64::from(u8::from(is_log_event(&fact.key)));
        }
    }
    all.into_iter().collect()
}

/// The weight of a listing. One with facts only is about devices measured by others.
fn weight_of(listing: &Listing) -> Weight {
    let mut weight = Weight::default();
    measured(listing, |_, waited| weight.waited += waited);
    let facts = listing.facts.iter().filter(|fact| is_log_event(&fact.key)).count();
    weight.log_events = facts as f64 + f64::from(u8::from(listing.source.level == Level::E));
    weight
}

/// Passes on the time waited of each record of a listing; for a row that of a second.
fn measured(listing: &Listing, mut add_lost: impl FnMut(DeviceId, f64)) {
    for event in &listing.events {
        add_lost(event.device, event.longest().map_or(0.0, |(_, latency)| latency.ns() as f64));
    }
    for row in &listing.intervals {
        let waiting = row.queue_len.or(row.await_ns.map(|ns| ns * row.ios_per_s() / 1e9));
        let by_op = || {
            let rates = row.rates.iter().map(|(_, rates)| rates);
            rates.map(|r| r.ios_per_s * r.await_ns.unwrap_or(0.0) / 1e9).sum()
        };
        add_lost(row.device, waiting.unwrap_or_else(by_op) * 1e9);
    }
    for known in listing.histograms() {
        let mean = known.histogram.mean_ns().map_or(0.0, |(mean, _)| mean);
        add_lost(known.device, mean * known.histogram.count() as f64);
    }
}

#[cfg(test)]
mod tests {
    use iowhy_model::{Interval, Layer, Sink, Source};

    use super::*;

    fn many(devices: usize) -> Recording {
        let mut recording = Recording::new();
        recording.begin(Source::new("iostat", "-", Level::A));
        for k in 0..devices {
            let device = recording.device(&format!("sd{k}"));
            let mut interval = Interval::new(device, Layer::Block);
            interval.queue_len = Some(if k == devices - 7 { 50.0 } else { 0.1 });
            recording.interval(interval);
        }
        recording.end();
        recording
    }

    #[test]
    fn of_many_devices_the_worst_are_judged_and_the_rest_is_reported() {
        let few = many(DEVICES);
        assert!(matches!(bounded(&few), Cow::Borrowed(_)) && JudgedShare::of(&few).is_none());
        let many = many(5000);
        let part = bounded(&many);
        let kept = &part.listings[0].intervals;
        let worst = many.find_device("sd4993").unwrap();
        assert!(kept.len() <= DEVICES && kept.len() > DEVICES / 2, "{}", kept.len());
        assert!(kept.iter().any(|row| row.device == worst));
        let words = JudgedShare::of(&many).unwrap().words();
        assert!(words.starts_with("768 of 5000 devices are judged"), "{words}");
    }
}
