//! Past its budget a listing keeps some events and counts the others in histograms.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;

use super::Listing;
use crate::{Counted, DeviceId, Distribution, Edges, Event, Histogram, Op, Stage};

/// Events that the end of a long listing must have to be a stretch of its own: as many as are
/// replayed (docs/METHOD.md, 1 Replay).
const STRETCH_LEAST: usize = 20_000;
/// Slowest events kept besides, once a listing is past its budget.
const SLOWEST_KEPT: usize = 10_000;

impl Listing {
    /// Moves the events into histograms, per device and operation, and keeps the slowest. Returns
    /// how many were let go because they have no latency to count.
    pub(super) fn fold_events(&mut self) -> u64 {
        // `None` sorts below any latency: events without one leave first.
        let slowest = |event: &Event| Reverse(event.longest().map(|(_, latency)| latency));
        let kept = SLOWEST_KEPT.min(self.events.len());
        if kept < self.events.len() {
            self.events.select_nth_unstable_by_key(kept, slowest);
        }
        self.fold(kept..self.events.len())
    }

    /// Moves that half of the events into histograms in which less was waited. Each half is one
    /// stretch of time, and so is what stays.
    pub(super) fn fold_a_half(&mut self) -> u64 {
        self.stretch = true;
        let (first, second) = self.events.split_at(self.events.len() / 2);
        let middle = first.len();
        if waited_ns(second) > waited_ns(first) {
            self.fold(0..middle)
        } else {
            self.fold(middle..self.events.len())
        }
    }

    /// Folds what came since the last half was chosen, or that half: which of the two waits less.
    pub(super) fn fold_the_rest(&mut self, half: usize) -> u64 {
        let (kept, rest) = self.events.split_at(half.min(self.events.len()));
        let slower = waited_ns(rest) > waited_ns(kept);
        let folds = if slower && rest.len() >= STRETCH_LEAST {
            0..kept.len()
        } else {
            kept.len()..self.events.len()
        };
        self.fold(folds)
    }

    /// Moves some events into histograms. Returns how many have no latency to count.
    fn fold(&mut self, which: Range<usize>) -> u64 {
        let edges = Edges::standard();
        let mut unmeasured = 0;
        let mut devices = Counted::places(&self.counted);
        let unlabelled = self.distributions.iter().enumerate().filter(|(_, known)| {
            known.label.is_none() && known.op.is_some() && *known.histogram.edges() == edges
        });
        let mut places: HashMap<(DeviceId, Op, Stage), usize> = HashMap::new();
        for (place, known) in unlabelled {
            if let Some(op) = known.op {
                places.entry((known.device, op, known.stage)).or_insert(place);
            }
        }
        // Drained in place, so that no second copy is held while they are counted.
        for event in self.events.drain(which) {
            Counted::count(&mut self.counted, &mut devices, &event);
            let Some((stage, latency)) = event.longest() else {
                unmeasured += 1;
                continue;
            };
            self.folded += 1;
            let place = *places.entry((event.device, event.op, stage)).or_insert_with(|| {
                let empty = Histogram::empty(edges.clone());
                let mut new = Distribution::new(event.device, event.layer, stage, empty);
                new.op = Some(event.op);
                self.distributions.push(new);
                self.distributions.len() - 1
            });
            self.distributions[place].histogram.record(latency.ns() as u64);
        }
        unmeasured
    }
}

/// Mean time that events waited, ns.
fn waited_ns(events: &[Event]) -> f64 {
    let waits = events.iter().filter_map(|event| event.longest()).map(|(_, wait)| wait.ns() as f64);
    waits.sum::<f64>() / events.len().max(1) as f64
}
