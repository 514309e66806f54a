//! Disks as arithmetic: arrival times in, completion times out.
//!
//! A [`Disk`] is a mechanism (platter, flash, network volume), its faults and a seed. It has no
//! clock and does no I/O: the same requests at the same times always give the same completion
//! times, in a unit test as behind a real block device (`rig disk`). Times are nanoseconds of
//! whatever clock the caller uses.
//!
//! **Must never know:** a clock, a file, a thread, a detector.

mod fault;
mod freeze;
mod network;
mod parameters;
mod rotational;
mod shingled;
mod spec;
mod ssd;
mod units;

pub use fault::Fault;
pub use freeze::Freeze;
pub use network::Network;
pub use parameters::Model;
pub use rotational::Rotational;
pub use shingled::Shingled;
pub use spec::{DiskArgs, Spec};
pub use ssd::Ssd;
pub use units::{duration, size};

use fault::FaultsAtWork;

use iowhy_model::{Op, Random};

/// A request as it reaches the disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// The request's properties.
    pub op: Op,
    /// First byte.
    pub offset: u64,
    /// Length in bytes; 0 for a flush.
    pub bytes: u32,
    /// When it arrived, ns; never before the one given last.
    pub arrival: u64,
}

/// Why a part of the latency was spent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Cause {
    /// Command overhead, or a network's round trip.
    Command,
    /// Other requests before it.
    Queue,
    /// Moving the arm.
    Seek,
    /// Waiting for the sector to come round.
    Rotation,
    /// Moving the bytes, or reading and programming flash.
    Transfer,
    /// Fault: the sector was read again, one revolution each time.
    Retry,
    /// Fault: everything takes longer than it should.
    Slow,
    /// Fault: it is hot.
    Heat,
    /// Fault: the disk did nothing for a while.
    Stall,
    /// Fault: the drive tried to rescue a sector it cannot read.
    Recovery,
    /// Fault: the firmware answers on ticks of a timer.
    Timer,
    /// Fault: it was asleep.
    Wake,
    /// Flash or shingles: a block or band was being cleaned.
    Cleaning,
    /// The volume's limit.
    Cap,
}

impl Cause {
    /// All causes, in the order a request meets them.
    pub const ALL: [Cause; 14] = [
        Cause::Command,
        Cause::Queue,
        Cause::Seek,
        Cause::Rotation,
        Cause::Transfer,
        Cause::Retry,
        Cause::Slow,
        Cause::Heat,
        Cause::Stall,
        Cause::Recovery,
        Cause::Timer,
        Cause::Wake,
        Cause::Cleaning,
        Cause::Cap,
    ];

    /// The word in the truth log.
    pub fn name(self) -> &'static str {
        match self {
            Cause::Command => "command",
            Cause::Queue => "queue",
            Cause::Seek => "seek",
            Cause::Rotation => "rotation",
            Cause::Transfer => "transfer",
            Cause::Retry => "retry",
            Cause::Slow => "slow",
            Cause::Heat => "heat",
            Cause::Stall => "stall",
            Cause::Recovery => "recovery",
            Cause::Timer => "timer",
            Cause::Wake => "wake",
            Cause::Cleaning => "cleaning",
            Cause::Cap => "cap",
        }
    }
}

/// The result of a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Service {
    /// When it completes, ns.
    pub due: u64,
    /// Whether it fails with EIO.
    pub failed: bool,
    /// Where the time between arrival and `due` went; the parts add up to it exactly.
    pub why: Vec<(Cause, u64)>,
}

impl Service {
    /// Completed at once.
    fn at(arrival: u64) -> Service {
        Service { due: arrival, failed: false, why: Vec::new() }
    }

    /// The next part of the latency.
    fn spend(&mut self, cause: Cause, ns: u64) {
        if ns > 0 {
            self.due = self.due.saturating_add(ns);
            match self.why.iter_mut().find(|(known, _)| *known == cause) {
                Some((_, spent)) => *spent = spent.saturating_add(ns),
                None => self.why.push((cause, ns)),
            }
        }
    }

    /// Waits for a point in time; nothing if it is past.
    fn wait_until(&mut self, cause: Cause, time: u64) {
        self.spend(cause, time.saturating_sub(self.due));
    }

    /// Time spent for one cause, ns.
    pub fn spent(&self, cause: Cause) -> u64 {
        self.why.iter().find(|(known, _)| *known == cause).map_or(0, |(_, ns)| *ns)
    }
}

/// The part of a disk that healthy and faulty ones share.
#[derive(Clone, Debug)]
pub enum Mechanism {
    /// Turning platters and an arm.
    Rotational(Rotational),
    /// Turning platters whose tracks overlap.
    Shingled(Shingled),
    /// Flash dies of a controller.
    Ssd(Ssd),
    /// A volume across a network, with limits.
    Network(Network),
}

/// A disk: mechanism, faults, seed.
#[derive(Clone, Debug)]
pub struct Disk {
    mechanism: Mechanism,
    faults: Vec<Fault>,
    freezes: Vec<Freeze>,
    random: Random,
    start: u64,
    /// When the last of its requests is done.
    busy_until: u64,
    /// When it has woken from its last sleep.
    awake: u64,
}

impl Disk {
    /// A disk that begins to live at `start` (its stalls and its heat are counted from there).
    pub fn new(mechanism: Mechanism, faults: &[Fault], seed: u64, start: u64) -> Disk {
        let freezes = faults.iter().filter_map(|fault| fault.freeze(start)).collect();
        let (faults, random) = (faults.to_vec(), Random::seeded(seed));
        Disk { mechanism, faults, freezes, random, start, busy_until: start, awake: start }
    }

    /// Serves a request. Requests are given in the order of their arrival.
    pub fn serve(&mut self, request: &Request) -> Service {
        let fault = FaultsAtWork { of: &self.faults, start: self.start };
        let waking = fault.waking(request.arrival.saturating_sub(self.busy_until));
        if waking > 0 {
            self.awake = request.arrival + waking;
        }
        let awake = request.arrival.max(self.awake);
        // The mechanism lives in the disk's own time, which stops while it is frozen.
        let own = self.freezes.iter().fold(awake, |time, freeze| freeze.inside(time));
        let ready = Request { arrival: own, ..*request };
        let mut served = match &mut self.mechanism {
            Mechanism::Rotational(disk) => disk.serve(&ready, fault, &mut self.random),
            Mechanism::Shingled(disk) => disk.serve(&ready, fault, &mut self.random),
            Mechanism::Ssd(disk) => disk.serve(&ready, fault, &mut self.random),
            Mechanism::Network(disk) => disk.serve(&ready, fault, &mut self.random),
        };
        let due = self.freezes.iter().rev().fold(served.due, |time, freeze| freeze.outside(time));
        served.spend(Cause::Stall, (due - awake) - (served.due - own));
        served.spend(Cause::Wake, awake - request.arrival);
        served.due = due;
        fault.hold(&mut self.random, &mut served);
        self.busy_until = self.busy_until.max(served.due);
        served
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers to 4 KiB reads of an SSD that has these faults: 75 us each if it had none.
    fn latencies(faults: &[&str], arrivals: &[u64]) -> Vec<Service> {
        let faults: Vec<Fault> = faults.iter().map(|d| Fault::parse(d).unwrap()).collect();
        let model = Model::parse("ssd").unwrap();
        let mut disk = Disk::new(model.mechanism(1 << 30), &faults, 3, 0);
        let read = |arrival| Request { op: Op::Read, offset: 0, bytes: 4096, arrival };
        arrivals.iter().map(|arrival| disk.serve(&read(*arrival))).collect()
    }

    const MS: u64 = 1_000_000;

    #[test]
    fn only_the_first_request_after_a_pause_wakes_the_disk_and_others_wait_with_it() {
        let served = latencies(&["wake=5s/900ms"], &[1, 6_000 * MS, 6_300 * MS, 7_000 * MS]);
        assert_eq!(served[0].spent(Cause::Wake), 0);
        assert_eq!(served[1].due, 6_900 * MS + 75_000);
        assert_eq!(
            (served[2].spent(Cause::Wake), served[2].spent(Cause::Queue)),
            (600 * MS, 60_000)
        );
        assert_eq!(served[3].spent(Cause::Wake), 0);
    }

    #[test]
    fn heat_comes_at_its_time_and_goes() {
        let served = latencies(&["thermal=10s/4s/5"], &[MS, 5_999 * MS, 6_001 * MS, 10_001 * MS]);
        let heat: Vec<u64> = served.iter().map(|served| served.spent(Cause::Heat)).collect();
        assert_eq!(heat, [0, 0, 4 * 75_000, 0]);
    }

    #[test]
    fn a_timer_makes_steps_of_its_own_period_and_a_rescue_takes_the_whole_limit() {
        let arrivals: Vec<u64> = (0..4000).map(|k| k * 100 * MS).collect();
        let served = latencies(&["ticks=0.3/4ms"], &arrivals);
        let ticks = |n: u64| served.iter().filter(|s| s.spent(Cause::Timer) == n * 4 * MS).count();
        // A geometric row of 4000: 70 %, 21 %, 6.3 %; three sigmas of the first are 87.
        for (n, expected) in [(0, 2800), (1, 840), (2, 252)] {
            assert!(ticks(n).abs_diff(expected) < 90, "{n} ticks: {}", ticks(n));
        }
        let served = latencies(&["recovery=0.01/7s"], &arrivals);
        let rescued = served.iter().filter(|s| s.spent(Cause::Recovery) == 7_000 * MS).count();
        assert!((20..=60).contains(&rescued), "{rescued} of 4000 at one in a hundred");
        assert!(served.iter().all(|s| !s.failed));
    }
}
