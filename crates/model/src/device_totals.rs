//! Averages of single I/Os that are no longer kept individually.

use crate::{ByDevice, DeviceId, Event, Interval, Layer, Nanos, Op, Rates, Time};

/// Sums over the I/Os of one device: enough for its rates and mean latencies.
#[derive(Clone, PartialEq, Debug)]
pub struct DeviceTotals {
    /// The device.
    pub device: DeviceId,
    first: Option<Time>,
    last: Option<Time>,
    ops: [Sums; Op::ALL.len()],
}

/// The same for one operation.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Sums {
    ios: u64,
    /// `None` once an I/O of unknown size was added.
    bytes: Option<u64>,
    /// I/Os with a latency, and its sum in ns: a float represents the nanoseconds of centuries.
    waits: u64,
    waited_ns: f64,
}

impl DeviceTotals {
    /// Empty sums for this device.
    pub fn new(device: DeviceId) -> DeviceTotals {
        let none = Sums { ios: 0, bytes: Some(0), waits: 0, waited_ns: 0.0 };
        DeviceTotals { device, first: None, last: None, ops: [none; Op::ALL.len()] }
    }

    /// The index of each device in a list.
    pub fn places(all: &[DeviceTotals]) -> ByDevice<()> {
        let mut places = ByDevice::default();
        for (place, one) in all.iter().enumerate() {
            places.get_or(one.device, (), || place);
        }
        places
    }

    /// Adds an I/O to the sums of its device; `places` has their index, a new device gets new sums.
    pub fn count(all: &mut Vec<DeviceTotals>, places: &mut ByDevice<()>, event: &Event) {
        let place = places.get_or(event.device, (), || {
            all.push(DeviceTotals::new(event.device));
            all.len() - 1
        });
        if let Some(one) = all.get_mut(place) {
            one.add(event);
        }
    }

    /// Adds an I/O.
    pub fn add(&mut self, event: &Event) {
        let began = event.queued.or(event.issued);
        self.first = [self.first, began].into_iter().flatten().min();
        self.last = self.last.max(event.completed);
        let Some(place) = Op::ALL.iter().position(|op| *op == event.op) else { return };
        let Some(sums) = self.ops.get_mut(place) else { return };
        sums.ios += 1;
        sums.bytes = sums.bytes.zip(event.bytes).map(|(sum, one)| sum + u64::from(one));
        if let Some((_, wait)) = event.longest() {
            sums.waits += 1;
            sums.waited_ns += wait.ns() as f64;
        }
    }

    /// I/Os added.
    pub fn ios(&self) -> u64 {
        crate::numbers::total(self.ops.iter().map(|sums| sums.ios))
    }

    /// From the first beginning to the last completion.
    pub fn stretch(&self) -> Option<(Time, Time)> {
        self.first.zip(self.last)
    }

    /// Their averages over the time watched, else over that from the first beginning to the last
    /// completion.
    pub fn interval(&self, watched: Option<Nanos>) -> Interval {
        let mut interval = Interval::new(self.device, Layer::Block);
        let span = watched.or_else(|| Some(self.last? - self.first?));
        let Some(span) = span.filter(|span| span.ns() > 0) else { return interval };
        interval.length = Some(span);
        let mut waited = 0.0;
        for (op, sums) in Op::ALL.iter().zip(&self.ops).filter(|(_, sums)| sums.ios > 0) {
            waited += sums.waited_ns;
            let rates = Rates {
                ios_per_s: sums.ios as f64 / span.seconds(),
                merges_per_s: None,
                bytes_per_s: sums.bytes.map(|bytes| bytes as f64 / span.seconds()),
                await_ns: (sums.waits > 0).then(|| sums.waited_ns / sums.waits as f64),
            };
            interval.rates.push((*op, rates));
        }
        // Little's law: time waited per time elapsed is the mean number in flight.
        interval.queue_len = Some(waited / span.ns() as f64);
        interval
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_reads_a_second_of_a_millisecond_each() {
        let (mut all, mut places) = (Vec::new(), ByDevice::default());
        for k in 0..20 {
            let mut event = Event::new(DeviceId::at(3), Op::Read, Layer::Block);
            event.issued = Some(Time::from_ns(k * 100_000_000));
            event.completed = Some(Time::from_ns(k * 100_000_000 + 1_000_000));
            event.bytes = Some(4096);
            DeviceTotals::count(&mut all, &mut places, &event);
        }
        let [one] = &all[..] else { panic!("{all:?}") };
        let interval = one.interval(Some(Nanos(2_000_000_000)));
        let reads = interval.of(Op::Read).expect("reads");
        assert_eq!((one.ios(), reads.ios_per_s, reads.bytes_per_s), (20, 10.0, Some(40_960.0)));
        assert_eq!((reads.await_ns, interval.queue_len), (Some(1e6), Some(0.01)));
        assert_eq!(one.interval(None).length, Some(Nanos(1_901_000_000)));
    }
}
