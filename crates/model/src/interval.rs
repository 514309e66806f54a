//! Averages over an interval, as iostat and similar tools print them.

use crate::{DeviceId, Layer, Nanos, Op, Time};

/// The average behaviour of one device over one interval.
///
/// Rates, because iostat prints rates and its span may be unknown. A field is `None` when the
/// source has no such column; it is 0 if the source printed 0.
#[derive(Clone, PartialEq, Debug)]
pub struct Interval {
    /// The device, or the job of a load generator.
    pub device: DeviceId,
    /// Where it was measured.
    pub layer: Layer,
    /// When the interval began.
    pub start: Option<Time>,
    /// How long it was.
    pub length: Option<Nanos>,
    /// True if the counters run from the boot of the machine: not a sample of the present.
    pub since_boot: bool,
    /// Per operation, in the order of [`Op::ALL`]; empty operations may be left out.
    pub rates: Vec<(Op, Rates)>,
    /// All operations together, where only that is given (tps of the basic and short reports).
    pub mixed: Option<Rates>,
    /// Mean latency over reads and writes together, ns, where only that is given (old `await`).
    pub await_ns: Option<f64>,
    /// Mean number of requests queued or in service (aqu-sz, avgqu-sz, Solaris wait + actv).
    pub queue_len: Option<f64>,
    /// Of these, on the device (Solaris actv).
    pub active_len: Option<f64>,
    /// Mean time on the device, ns (Solaris asvc_t).
    pub device_ns: Option<f64>,
    /// Mean time waiting for the device, ns (Solaris wsvc_t).
    pub wait_ns: Option<f64>,
    /// Share of the time with something in flight, 0 to 1 (%util / 100).
    pub busy: Option<f64>,
    /// The source's own `svctm`, ns: busy time divided by I/Os, no service time.
    pub svctm_ns: Option<f64>,
    /// Requests in flight at the end of the interval.
    pub in_flight: Option<u64>,
}

/// Rates of one operation.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Rates {
    /// Completed requests per second.
    pub ios_per_s: f64,
    /// Merges into waiting requests per second.
    pub merges_per_s: Option<f64>,
    /// Bytes per second.
    pub bytes_per_s: Option<f64>,
    /// Mean latency (r_await and similar), ns; `None` if nothing completed.
    pub await_ns: Option<f64>,
}

impl Interval {
    /// Why its values are impossible, if they are: a counter went backwards or the text was
    /// damaged.
    pub fn fault(&self) -> Option<&'static str> {
        let wrong = |value: &f64| *value < 0.0;
        let rates = || self.rates.iter().map(|(_, rates)| rates).chain(&self.mixed);
        let mut counts = rates().flat_map(|rates| {
            [Some(rates.ios_per_s), rates.merges_per_s, rates.bytes_per_s].into_iter().flatten()
        });
        if counts.any(|value| wrong(&value)) {
            return Some("a negative rate");
        }
        let waits = [self.await_ns, self.device_ns, self.wait_ns, self.svctm_ns];
        let mut waits = waits.into_iter().chain(rates().map(|rates| rates.await_ns)).flatten();
        if waits.any(|value| wrong(&value)) {
            return Some("a negative latency");
        }
        let mut shares = [self.queue_len, self.active_len, self.busy].into_iter().flatten();
        shares.any(|value| wrong(&value)).then_some("a negative queue length or busy share")
    }
}

impl Interval {
    /// Merges the interval that follows into this one; false if they do not belong together.
    /// Intervals without a length have these weights.
    pub fn join(&mut self, next: &Interval, own: u32, others: u32) -> bool {
        let kinds = |one: &Interval| {
            let known = (one.start.is_some(), one.length.is_some(), one.mixed.is_some());
            (one.device, one.layer, one.since_boot, known)
        };
        let ops = |one: &Interval| one.rates.iter().map(|(op, _)| *op).collect::<Vec<Op>>();
        if kinds(self) != kinds(next) || self.since_boot || ops(self) != ops(next) {
            return false;
        }
        let (long, next_long) = match (self.length, next.length) {
            (Some(long), Some(next)) => (long.ns().max(0) as f64, next.ns().max(0) as f64),
            _ => (f64::from(own), f64::from(others)),
        };
        let Some(of_time) = Shares::by(long, next_long) else { return false };
        let (ios, next_ios) = (self.ios_per_s() * long, next.ios_per_s() * next_long);
        let of_ios = Shares::by(ios, next_ios).unwrap_or(of_time);
        for ((_, rates), (_, next)) in self.rates.iter_mut().zip(&next.rates) {
            *rates = rates.joined(next, &of_time);
        }
        if let (Some(mixed), Some(next)) = (&mut self.mixed, &next.mixed) {
            *mixed = mixed.joined(next, &of_time);
        }
        for (wait, next) in [
            (&mut self.await_ns, next.await_ns),
            (&mut self.device_ns, next.device_ns),
            (&mut self.wait_ns, next.wait_ns),
            (&mut self.svctm_ns, next.svctm_ns),
        ] {
            *wait = of_ios.either(*wait, next);
        }
        for (share, next) in [
            (&mut self.queue_len, next.queue_len),
            (&mut self.active_len, next.active_len),
            (&mut self.busy, next.busy),
        ] {
            *share = of_time.both(*share, next);
        }
        self.in_flight = next.in_flight;
        self.length =
            self.length.zip(next.length).map(|(a, b)| Nanos(a.ns().saturating_add(b.ns())));
        true
    }
}

/// Weights of two averages; their sum is 1.
#[derive(Clone, Copy)]
struct Shares {
    own: f64,
    next: f64,
}

impl Shares {
    /// Weights by two amounts; `None` if both are 0.
    fn by(own: f64, next: f64) -> Option<Shares> {
        let all = own + next;
        (all > 0.0).then(|| Shares { own: own / all, next: next / all })
    }

    fn mean(&self, own: f64, next: f64) -> f64 {
        own * self.own + next * self.next
    }

    /// The mean of two known values.
    fn both(&self, own: Option<f64>, next: Option<f64>) -> Option<f64> {
        own.zip(next).map(|(own, next)| self.mean(own, next))
    }

    /// The mean of two values if both are known, else the known one.
    fn either(&self, own: Option<f64>, next: Option<f64>) -> Option<f64> {
        self.both(own, next).or(own).or(next)
    }
}

impl Rates {
    fn joined(&self, next: &Rates, of_time: &Shares) -> Rates {
        let (ios, next_ios) = (self.ios_per_s * of_time.own, next.ios_per_s * of_time.next);
        let of_ios = Shares::by(ios, next_ios).unwrap_or(*of_time);
        Rates {
            ios_per_s: ios + next_ios,
            merges_per_s: of_time.both(self.merges_per_s, next.merges_per_s),
            bytes_per_s: of_time.both(self.bytes_per_s, next.bytes_per_s),
            await_ns: of_ios.either(self.await_ns, next.await_ns),
        }
    }

    /// Mean request size in bytes (areq-sz), if anything completed.
    pub fn mean_bytes(&self) -> Option<f64> {
        (self.ios_per_s > 0.0).then_some(self.bytes_per_s? / self.ios_per_s)
    }
}

impl Interval {
    /// An interval without values.
    pub fn new(device: DeviceId, layer: Layer) -> Self {
        Interval {
            device,
            layer,
            start: None,
            length: None,
            since_boot: false,
            rates: Vec::new(),
            mixed: None,
            await_ns: None,
            queue_len: None,
            active_len: None,
            device_ns: None,
            wait_ns: None,
            busy: None,
            svctm_ns: None,
            in_flight: None,
        }
    }

    /// The rates of one operation, if the source gave them.
    pub fn of(&self, op: Op) -> Option<&Rates> {
        self.rates.iter().find(|(this, _)| *this == op).map(|(_, rates)| rates)
    }

    /// Completed requests per second over reads, writes and discards. Flushes are not added: the
    /// kernel counts their carriers as writes already.
    pub fn ios_per_s(&self) -> f64 {
        if let Some(mixed) = &self.mixed {
            return mixed.ios_per_s;
        }
        self.rates.iter().filter(|(op, _)| *op != Op::Flush).map(|(_, rates)| rates.ios_per_s).sum()
    }

    /// Bytes per second over all operations that move data.
    pub fn bytes_per_s(&self) -> f64 {
        if let Some(mixed) = &self.mixed {
            return mixed.bytes_per_s.unwrap_or(0.0);
        }
        self.rates.iter().filter_map(|(_, rates)| rates.bytes_per_s).sum()
    }

    /// Mean request size in bytes over all operations, if anything completed.
    pub fn mean_bytes(&self) -> Option<f64> {
        if let Some(mixed) = &self.mixed {
            return mixed.mean_bytes();
        }
        let ios = self.ios_per_s();
        let known = self.rates.iter().any(|(_, rates)| rates.bytes_per_s.is_some());
        (ios > 0.0 && known).then(|| self.bytes_per_s() / ios)
    }

    /// Mean latency over all operations, ns: the source's own `await`, else the mean of the
    /// per-operation ones weighted by their rates, else Solaris' wait and device times.
    pub fn mean_await_ns(&self) -> Option<f64> {
        if self.await_ns.is_some() {
            return self.await_ns;
        }
        let waits: Vec<(f64, f64)> = self
            .rates
            .iter()
            .filter(|(op, _)| *op != Op::Flush)
            .filter_map(|(_, rates)| Some((rates.ios_per_s, rates.await_ns?)))
            .collect();
        let ios: f64 = waits.iter().map(|(ios, _)| ios).sum();
        if ios > 0.0 {
            return Some(waits.iter().map(|(ios, wait)| ios * wait).sum::<f64>() / ios);
        }
        Some(self.wait_ns.unwrap_or(0.0) + self.device_ns?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_stretches_become_their_averages() {
        let row = |seconds: i64, ios: f64, wait: Option<f64>, busy: f64| {
            let mut row = Interval::new(DeviceId(0), Layer::Block);
            row.length = Some(Nanos(seconds * 1_000_000_000));
            row.busy = Some(busy);
            let rates = Rates {
                ios_per_s: ios,
                bytes_per_s: Some(ios * 4096.0),
                await_ns: wait,
                ..Rates::default()
            };
            row.rates.push((Op::Read, rates));
            row
        };
        let mut one = row(1, 100.0, Some(2e6), 0.4);
        // 100 I/Os of 2 ms, then 600 of 9 ms in three seconds.
        assert!(one.join(&row(3, 200.0, Some(9e6), 0.8), 1, 1));
        let is = |value: Option<f64>, expected: f64| (value.unwrap() / expected - 1.0).abs() < 1e-9;
        let reads = *one.of(Op::Read).unwrap();
        assert!(reads.ios_per_s == 175.0 && is(reads.await_ns, 8e6), "{reads:?}");
        assert!(is(one.busy, 0.7) && one.length == Some(Nanos(4_000_000_000)), "{one:?}");
        assert!(is(reads.mean_bytes(), 4096.0), "{reads:?}");
        // An interval without I/O has no await and does not change the mean.
        assert!(one.join(&row(4, 0.0, None, 0.0), 1, 1));
        let reads = one.of(Op::Read).unwrap();
        assert!(reads.ios_per_s == 87.5 && is(reads.await_ns, 8e6), "{reads:?}");
        // An interval of another device is not a neighbour.
        let mut other = row(1, 1.0, None, 0.0);
        other.device = DeviceId(1);
        assert!(!one.join(&other, 1, 1));
    }

    #[test]
    fn the_mean_wait_is_weighted_by_rate() {
        // docs/METHOD.md, 14 Counters: 320 reads at 0.16 ms, 1511 writes at 0.29 ms, 7 discards at
        // 0.85 ms.
        let mut interval = Interval::new(DeviceId(0), Layer::Block);
        for (op, ios, ms) in
            [(Op::Read, 320.0, 0.16), (Op::Write, 1511.0, 0.29), (Op::Discard, 7.0, 0.85)]
        {
            let rates = Rates { ios_per_s: ios, await_ns: Some(ms * 1e6), ..Rates::default() };
            interval.rates.push((op, rates));
        }
        let waited_s = interval.mean_await_ns().unwrap() * interval.ios_per_s() / 1e9;
        assert!((waited_s - 0.495).abs() < 0.001, "{waited_s}");
        assert_eq!(interval.mean_bytes(), None);
    }
}
