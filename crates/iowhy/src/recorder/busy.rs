//! Decides each second, from the last one, which devices are sampled.
//!
//! Up to a rate, every I/O is reported individually. Above it the busiest devices report only I/Os
//! that are slow compared with the last seconds, and a sample of the others, chosen by the kernel.
//! All others are counted in the kernel's histograms, so every I/O is counted at any rate.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use iowhy_live::ThinRule;
use iowhy_model::Order as _;
use iowhy_model::{Distribution, Histogram, Op, Stage};

use super::intake::Second;

/// A device's operation.
type Kind = (String, Op);

/// Seconds of history that define what is slow.
const LEARNED_S: usize = 10;
/// I/Os above this quantile of them are all reported: one in a hundred.
const SLOW: f64 = 0.99;
/// Share of the rate for devices that are not sampled, and for the samples of all others together.
const WHOLE: f64 = 0.5;
const SAMPLES: f64 = 1.0 / 6.0;
/// Sampling ends below this share of the rate, to avoid switching every second.
const CALM: f64 = 0.7;

/// Decides what is sampled.
pub(crate) struct Busy {
    /// I/Os a second that are reported individually.
    up_to: f64,
    lately: BTreeMap<Kind, VecDeque<Histogram>>,
    thinned: BTreeSet<Kind>,
}

impl Busy {
    /// Reports up to this many I/Os a second individually.
    pub(crate) fn new(up_to: f64) -> Busy {
        Busy { up_to, lately: BTreeMap::new(), thinned: BTreeSet::new() }
    }

    /// What changes for the next second.
    pub(crate) fn second(&mut self, second: &Second) -> Vec<(Kind, Option<ThinRule>)> {
        let mut rates = self.learn(second);
        let all: f64 = rates.iter().map(|(_, rate)| rate).sum();
        let limit = if self.thinned.is_empty() { self.up_to } else { CALM * self.up_to };
        let mut busy = Vec::new();
        if all > limit {
            rates.order_by(|(_, a), (_, b)| a.total_cmp(b));
            let mut reported = 0.0;
            for (kind, rate) in rates {
                reported += rate;
                if reported > WHOLE * self.up_to {
                    busy.push((kind, rate));
                }
            }
        }
        let sample = SAMPLES * self.up_to / busy.len().max(1) as f64;
        let before = std::mem::take(&mut self.thinned);
        let mut changes = Vec::new();
        for (kind, rate) in busy {
            let Some(slow_ns) = self.slow_ns(&kind) else { continue };
            let one_in = (rate / sample).ceil().clamp(1.0, f64::from(u8::MAX)) as u8;
            changes.push((kind.clone(), Some(ThinRule { slow_ns, one_in })));
            self.thinned.insert(kind);
        }
        let calm = before.into_iter().filter(|kind| !self.thinned.contains(kind));
        changes.extend(calm.map(|kind| (kind, None)).collect::<Vec<_>>());
        changes
    }

    /// Counts I/Os a second of each kind, and adds their latencies to the history.
    fn learn(&mut self, second: &Second) -> Vec<(Kind, f64)> {
        let mut rates = Vec::new();
        let mut seen = BTreeSet::new();
        for (device, one) in second.histograms.iter().filter(|(_, one)| one.stage == Stage::Total) {
            // Flushes are slow by nature, and rare.
            let Some(op) = one.op.filter(|op| !matches!(op, Op::Flush | Op::Other)) else {
                continue;
            };
            let kind = (device.clone(), op);
            rates.push((kind.clone(), rate(one)));
            let lately = self.lately.entry(kind.clone()).or_default();
            lately.push_back(one.histogram.clone());
            if lately.len() > LEARNED_S {
                lately.pop_front();
            }
            seen.insert(kind);
        }
        self.lately.retain(|kind, _| seen.contains(kind));
        rates
    }

    fn slow_ns(&self, kind: &Kind) -> Option<u64> {
        let mut seconds = self.lately.get(kind)?.iter();
        let mut all = seconds.next()?.clone();
        for one in seconds {
            all.merge(one);
        }
        all.quantile(SLOW).map(|quantile| quantile.high_ns)
    }
}

fn rate(one: &Distribution) -> f64 {
    let seconds = one.length.map_or(1.0, |length| length.seconds());
    one.histogram.count() as f64 / seconds.max(0.1)
}

#[cfg(test)]
mod tests {
    use iowhy_model::{DeviceId, Edges, Layer, Nanos};

    use super::*;

    fn second(devices: &[(&str, u64)]) -> Second {
        let of = |(name, count): &(&str, u64)| {
            let mut histogram = Histogram::empty(Edges::standard());
            (0..*count).for_each(|k| histogram.record(100_000 + 1_000 * (k % 1000)));
            let mut one = Distribution::new(DeviceId::at(0), Layer::Block, Stage::Total, histogram);
            (one.op, one.length) = (Some(Op::Read), Some(Nanos(1_000_000_000)));
            (name.to_string(), one)
        };
        Second { histograms: devices.iter().map(of).collect(), ..Second::default() }
    }

    #[test]
    fn the_busiest_are_thinned_and_the_others_are_not() {
        let mut busy = Busy::new(3000.0);
        assert_eq!(busy.second(&second(&[("sda", 2000), ("sdb", 900)])), []);
        let changes = busy.second(&second(&[("sda", 6000), ("sdb", 900)]));
        let [((device, Op::Read), Some(thinning))] = changes.as_slice() else {
            panic!("{changes:?}");
        };
        // Of 6000, 500 are to be reported.
        assert_eq!((device.as_str(), thinning.one_in), ("sda", 12));
        // Latencies are even from 0.1 to 1.1 ms: one in a hundred is above 1.09.
        assert!((1_050_000..1_200_000).contains(&thinning.slow_ns), "{}", thinning.slow_ns);
    }

    #[test]
    fn thinning_ends_once_there_is_clearly_less() {
        let mut busy = Busy::new(1000.0);
        assert_eq!(busy.second(&second(&[("sda", 1500)])).len(), 1);
        let ongoing = busy.second(&second(&[("sda", 900)]));
        assert!(matches!(ongoing.as_slice(), [(_, Some(_))]), "{ongoing:?}");
        assert_eq!(busy.second(&second(&[("sda", 600)])), [(("sda".to_string(), Op::Read), None)]);
        assert_eq!(busy.second(&second(&[("sda", 900)])), []);
        // A device that became idle.
        assert_eq!(busy.second(&second(&[("sda", 1500)])).len(), 1);
        assert_eq!(busy.second(&second(&[])), [(("sda".to_string(), Op::Read), None)]);
    }
}
