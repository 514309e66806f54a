//! Past its budget a listing keeps some events and counts the others in histograms.

use std::cmp::Reverse;
use std::ops::Range;

use super::Listing;
use crate::order::Order as _;
use crate::{ByDevice, DeviceId, DeviceTotals, Distribution, Edges, Event, Histogram};

/// Events that the end of a long listing needs to be a separate interval: as many as are
/// replayed (docs/METHOD.md, 1 Replay).
const STRETCH_LEAST: usize = 20_000;
/// Slowest events kept besides, once a listing is past its budget.
const SLOWEST_KEPT: usize = 10_000;
/// Past its budget a listing reserves one in this many events for devices with few of them.
const SPARED_SHARE: usize = 4;

/// Which devices keep all of their events.
#[derive(Default)]
struct Spared(Vec<bool>);

impl Spared {
    fn has(&self, device: DeviceId) -> bool {
        self.0.get(device.index()).copied().unwrap_or(false)
    }
}

impl Listing {
    /// Moves the events into histograms, per device and operation, and keeps the slowest. Returns
    /// how many were dropped because they have no latency to count.
    pub(super) fn fold_events(&mut self) -> u64 {
        // `None` sorts below any latency: events without one are dropped first.
        let slowest = |event: &Event| Reverse(event.longest().map(|(_, latency)| latency));
        let kept = SLOWEST_KEPT.min(self.events.len());
        if kept < self.events.len() {
            self.events.select_nth_unstable_by_key(kept, slowest);
        }
        self.fold(kept..self.events.len(), &Spared::default())
    }

    /// Moves the half of the events with less time waited into histograms. Each half is one
    /// interval, and so is the remainder. A device with few I/Os keeps all of them: beside a busy
    /// one it would have none left.
    pub(super) fn fold_a_half(&mut self) -> u64 {
        let spared = self.spared();
        let busy = self.events.iter().filter(|event| !spared.has(event.device));
        let middle = self.place_of(&spared, busy.count() / 2);
        let (first, second) = self.events.split_at(middle);
        let folds_first = waited_ns(second, &spared) > waited_ns(first, &spared);
        let folds = if folds_first { 0..middle } else { middle..self.events.len() };
        let unmeasured = self.fold(folds, &spared);
        self.stretch = Some(self.events.len());
        unmeasured
    }

    /// Folds the events since the last half was chosen, or that half, whichever waited less.
    pub(super) fn fold_the_rest(&mut self) -> u64 {
        let spared = self.spared();
        let chosen = self.stretch.unwrap_or(0).min(self.events.len());
        let (kept, rest) = self.events.split_at(chosen);
        let slower = waited_ns(rest, &spared) > waited_ns(kept, &spared);
        let busy = rest.iter().filter(|event| !spared.has(event.device));
        let folds_kept = slower && busy.count() >= STRETCH_LEAST;
        let folds = if folds_kept { 0..chosen } else { chosen..self.events.len() };
        let unmeasured = self.fold(folds, &spared);
        self.stretch = Some(self.events.len());
        unmeasured
    }

    /// The devices with the fewest events, which together have at most a quarter of them.
    fn spared(&self) -> Spared {
        let mut counts: Vec<usize> = Vec::new();
        for event in &self.events {
            let place = event.device.index();
            counts.resize(counts.len().max(place + 1), 0);
            if let Some(count) = counts.get_mut(place) {
                *count += 1;
            }
        }
        let mut spared = Spared(vec![false; counts.len()]);
        let mut counts: Vec<_> = counts.into_iter().zip(&mut spared.0).collect();
        counts.order_by_key(|(count, _)| *count);
        let mut sum = 0;
        for (count, spared) in counts {
            sum += count;
            *spared = sum <= self.events.len() / SPARED_SHARE;
        }
        spared
    }

    /// The index after this many events of devices that are not spared.
    fn place_of(&self, spared: &Spared, count: usize) -> usize {
        let mut busy = self.events.iter().enumerate();
        let mut busy = busy.by_ref().filter(|(_, event)| !spared.has(event.device));
        busy.nth(count).map_or(self.events.len(), |(place, _)| place)
    }

    /// Moves some events into histograms, except those of spared devices. Returns how many have no
    /// latency to count.
    fn fold(&mut self, which: Range<usize>, spared: &Spared) -> u64 {
        let edges = Edges::standard();
        let mut unmeasured = 0;
        let mut devices = DeviceTotals::places(&self.counted);
        let mut places = ByDevice::default();
        for (place, known) in self.rest.iter().enumerate() {
            if let Some(op) = known.op {
                places.get_or(known.device, (op, known.layer, known.stage), || place);
            }
        }
        // Drained in place, to avoid a second copy while they are counted.
        let folds = |event: &mut Event| !spared.has(event.device);
        for event in self.events.extract_if(which, folds) {
            DeviceTotals::count(&mut self.counted, &mut devices, &event);
            let Some((stage, latency)) = event.longest() else {
                unmeasured += 1;
                continue;
            };
            self.folded += 1;
            let place = places.get_or(event.device, (event.op, event.layer, stage), || {
                let empty = Histogram::empty(edges.clone());
                let mut new = Distribution::new(event.device, event.layer, stage, empty);
                new.op = Some(event.op);
                self.rest.push(new);
                self.rest.len() - 1
            });
            self.rest[place].histogram.record(latency.ns() as u64);
        }
        unmeasured
    }
}

/// Mean time that events waited, without those of spared devices, ns.
fn waited_ns(events: &[Event], spared: &Spared) -> f64 {
    let (mut waited, mut count) = (0.0, 0usize);
    for event in events.iter().filter(|event| !spared.has(event.device)) {
        waited += event.longest().map_or(0.0, |(_, wait)| wait.ns() as f64);
        count += 1;
    }
    waited / count.max(1) as f64
}
