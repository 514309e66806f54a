//! A volume across a network: two limits (operations, bytes), a round trip, and credits.
//!
//! Each limit is a bucket of tokens, kept as the time at which the next request may pass (the
//! "virtual scheduling" form of ITU-T I.371's cell rate algorithm): integers only, no drift.

use iowhy_model::Op;

use super::fault::FaultsAtWork;
use super::{Cause, Random, Request, Service};

/// The parameters of a volume.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Volume {
    /// Operations per second (gp3 without extras: 3000).
    pub iops: u64,
    /// Bytes per second (gp3 without extras: 125 MiB/s).
    pub bytes_per_s: u64,
    /// Operations that may be ahead of the rate: the credits of a burst volume.
    pub credits: u64,
    /// Operations per second while there are credits.
    pub burst_iops: u64,
    /// The round trip with the service at its end, ns.
    pub base: u64,
    /// Uniform extra time of the round trip, ns.
    pub jitter: u64,
}

impl Default for Volume {
    fn default() -> Self {
        Volume {
            iops: 3000,
            bytes_per_s: 125 << 20,
            credits: 0,
            burst_iops: 3000,
            base: 700_000,
            jitter: 200_000,
        }
    }
}

/// A volume and how far its limits are used.
#[derive(Clone, Debug)]
pub struct Network {
    volume: Volume,
    /// When the operation bucket is back at its level.
    operations: u64,
    /// When the next operation may pass at burst speed.
    burst: u64,
    /// When the byte bucket is back at its level.
    bytes: u64,
}

impl Network {
    /// A volume whose buckets are full.
    pub fn new(volume: Volume) -> Network {
        Network { volume, operations: 0, burst: 0, bytes: 0 }
    }

    pub(super) fn serve(
        &mut self,
        request: &Request,
        fault: FaultsAtWork<'_>,
        random: &mut Random,
    ) -> Service {
        let volume = self.volume;
        let mut served = Service::at(request.arrival);
        if matches!(request.op, Op::Read | Op::Write) {
            let now = request.arrival;
            let each = 1_000_000_000 / volume.iops.max(1);
            let ahead = volume.credits.saturating_mul(each);
            let passed = pass(&mut self.operations, now, each, ahead);
            let quick = 1_000_000_000 / volume.burst_iops.max(volume.iops).max(1);
            let spaced = pass(&mut self.burst, now, quick, 0);
            let long = u128::from(request.bytes) * 1_000_000_000;
            let long = (long / u128::from(volume.bytes_per_s.max(1))) as u64;
            let moved = pass(&mut self.bytes, now, long, 0);
            served.wait_until(Cause::Cap, passed.max(spaced).max(moved));
        }
        let jitter = (volume.jitter as f64 * random.unit()) as u64;
        served.spend(Cause::Command, volume.base + jitter);
        let begun = served.due - volume.base - jitter;
        fault.prolong(&mut served, begun);
        fault.rescue(request, random, &mut served);
        served
    }
}

/// When something that costs `each` ns of a limit may pass, if the limit may be overdrawn by
/// `ahead` ns.
fn pass(level: &mut u64, now: u64, each: u64, ahead: u64) -> u64 {
    let begun = (*level).max(now);
    *level = begun + each;
    begun.saturating_sub(ahead).max(now)
}

#[cfg(test)]
mod tests {
    use super::super::{Disk, Mechanism};
    use super::*;

    /// A closed loop of `depth` readers; arrival and answer of each request.
    fn run(volume: Volume, bytes: u32, depth: usize, count: usize) -> Vec<(u64, Service)> {
        let mut disk = Disk::new(Mechanism::Network(Network::new(volume)), &[], 5, 0);
        let mut ready = vec![0u64; depth];
        let mut done = Vec::new();
        for k in 0..count {
            ready.sort_unstable();
            let request =
                Request { op: Op::Read, offset: k as u64 * 4096, bytes, arrival: ready[0] };
            let served = disk.serve(&request);
            ready[0] = served.due;
            done.push((request.arrival, served));
        }
        done
    }

    #[test]
    fn five_hundred_operations_a_second_at_depth_sixteen_take_32_ms() {
        // Little: 16 / 500 per second.
        let volume = Volume { iops: 500, burst_iops: 500, jitter: 0, ..Volume::default() };
        let done = run(volume, 4096, 16, 2000);
        for (at, served) in done.iter().skip(200) {
            let ms = (served.due - at) as f64 / 1e6;
            assert!((ms - 32.0).abs() < 0.01, "{ms}");
        }
    }

    #[test]
    fn bytes_are_a_limit_of_their_own() {
        let done = run(Volume::default(), 1 << 20, 8, 500);
        let seconds = done[499].1.due as f64 / 1e9;
        assert!((500.0 / seconds - 125.0).abs() < 1.5, "{}", 500.0 / seconds);
    }

    #[test]
    fn credits_carry_a_burst_until_they_end() {
        let volume = Volume {
            iops: 100,
            credits: 1000,
            burst_iops: 3000,
            base: 100_000,
            jitter: 0,
            ..Volume::default()
        };
        let done = run(volume, 4096, 4, 2000);
        let rate = |from: usize, to: usize| {
            (to - from) as f64 * 1e9 / (done[to].1.due - done[from].1.due) as f64
        };
        assert!((rate(100, 900) - 3000.0).abs() < 30.0, "{}", rate(100, 900));
        assert!((rate(1200, 1900) - 100.0).abs() < 1.0, "{}", rate(1200, 1900));
    }
}
