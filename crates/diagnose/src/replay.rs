//! The counterfactual: the same arrivals through a healthy device. What latency stays is the
//! workload's, what goes is the disk's.

use crate::measures::service::Visit;

/// The outcome of one replay.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Replay {
    /// Requests replayed.
    pub n: usize,
    /// Mean latency as it was, ns.
    pub mean_ns: f64,
    /// Mean latency on the healthy device, ns.
    pub healthy_mean_ns: f64,
    /// 99th percentile on the healthy device, if the sample carries one.
    pub healthy_p99_ns: Option<f64>,
    /// The healthy service time assumed, ns.
    pub s0_ns: f64,
    /// How many requests the device was taken to serve at once.
    pub servers: usize,
    /// Whether the load was taken as closed: each request waits for an earlier completion.
    pub closed: bool,
    /// Share of the latency above `s0` that goes away: the device's.
    pub device_share: f64,
    /// Share that stays: the workload's.
    pub workload_share: f64,
}

/// What a replay says.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Side {
    /// Latency below three healthy service times.
    Healthy,
    /// Most of the excess stays on a healthy device.
    Workload,
    /// Most of the excess goes away.
    Device,
}

impl Replay {
    /// Whom it blames.
    pub fn side(&self) -> Side {
        if self.mean_ns < 3.0 * self.s0_ns {
            Side::Healthy
        } else if self.workload_share > 0.5 {
            Side::Workload
        } else {
            Side::Device
        }
    }
}

/// Replays visits (sorted by completion) through a device whose healthy service time is `s0_ns`.
/// `None` if there are no visits or `s0_ns` is not positive.
pub fn replay(visits: &[Visit], s0_ns: f64) -> Option<Replay> {
    let _ = (visits, s0_ns);
    None
}

/// The same replay at nine quantiles of what S0 may be.
#[derive(Clone, PartialEq, Debug)]
pub struct Vote {
    /// Votes for healthy.
    pub healthy: u32,
    /// Votes for the workload.
    pub workload: u32,
    /// Votes for the device.
    pub device: u32,
    /// The replays, S0 rising; the middle one is at `s0_ns` itself.
    pub replays: Vec<Replay>,
}

impl Vote {
    /// The side with most votes and the confidence (votes + 0.5) / 10.5.
    pub fn winner(&self) -> (Side, f64) {
        let votes = [
            (self.healthy, Side::Healthy),
            (self.workload, Side::Workload),
            (self.device, Side::Device),
        ];
        let (most, side) = votes.into_iter().max().unwrap_or((0, Side::Healthy));
        (side, (f64::from(most) + 0.5) / 10.5)
    }

    /// The replay at the middle S0.
    pub fn middle(&self) -> Option<&Replay> {
        self.replays.get(self.replays.len() / 2)
    }
}

/// Replays at nine quantiles of a lognormal prior of S0 with median `s0_ns`.
pub fn vote(visits: &[Visit], s0_ns: f64, sigma_ln: f64) -> Option<Vote> {
    let _ = (visits, s0_ns, sigma_ln);
    None
}

/// Averages as iostat gives them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Averages {
    /// Completions per second.
    pub per_s: f64,
    /// Mean latency, ns.
    pub await_ns: f64,
    /// Share of the time with something in flight, 0 to 1.
    pub busy: Option<f64>,
    /// Whether the device serves several requests at once; then the busy share proves nothing.
    pub parallel: bool,
}

/// The verdict of averages.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FromAverages {
    /// Whom they blame.
    pub side: Side,
    /// Effective service time, busy share over throughput, ns: a lower bound of the service time
    /// if the device works in parallel.
    pub effective_ns: Option<f64>,
    /// It over `s0`.
    pub slowdown: Option<f64>,
    /// Mean latency over `s0`.
    pub await_ratio: f64,
}

/// Judges averages by the utilisation law: effective service time above 2 `s0` is the device's;
/// else a mean latency above 3 `s0` is the workload's.
pub fn from_averages(averages: &Averages, s0_ns: f64) -> Option<FromAverages> {
    let _ = (averages, s0_ns);
    None
}
