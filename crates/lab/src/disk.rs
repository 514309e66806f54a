//! Disks that exist only as arithmetic: arrival times in, completion times out.
//!
//! A [`Disk`] is a mechanism (platter, flash, network volume), its diseases and a seed. It has no
//! clock and does no I/O: the same requests at the same times always give the same answers, in a
//! unit test as behind a real block device (`sickdisk`). Times are nanoseconds of whatever
//! clock the caller uses.
//!
//! **Must never know:** a clock, a file, a thread, a detector.

mod disease;
mod freeze;
mod network;
mod parameters;
mod random;
mod rotational;
mod ssd;

pub use disease::{Disease, duration};
pub use freeze::Freeze;
pub use network::Network;
pub use parameters::{Model, size};
pub use random::Random;
pub use rotational::Rotational;
pub use ssd::Ssd;

use iowhy_model::Op;

/// A request as it reaches the disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// What it asks for.
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
    /// Command overhead, or a network's way there and back.
    Command,
    /// Other requests before it.
    Queue,
    /// Moving the arm.
    Seek,
    /// Waiting for the sector to come round.
    Rotation,
    /// Moving the bytes, or reading and programming flash.
    Transfer,
    /// Disease: the sector was read again, one turn each time.
    Retry,
    /// Disease: everything takes longer than it should.
    Slow,
    /// Disease: the disk did nothing for a while.
    Stall,
    /// Disease: the drive tried to rescue a sector it cannot read.
    Recovery,
    /// Flash: a block was being cleaned.
    Cleaning,
    /// The volume's limit.
    Cap,
}

impl Cause {
    /// All causes, in the order a request meets them.
    pub const ALL: [Cause; 11] = [
        Cause::Command,
        Cause::Queue,
        Cause::Seek,
        Cause::Rotation,
        Cause::Transfer,
        Cause::Retry,
        Cause::Slow,
        Cause::Stall,
        Cause::Recovery,
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
            Cause::Stall => "stall",
            Cause::Recovery => "recovery",
            Cause::Cleaning => "cleaning",
            Cause::Cap => "cap",
        }
    }
}

/// What the disk made of a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Served {
    /// When it completes, ns.
    pub due: u64,
    /// Whether it fails with EIO.
    pub failed: bool,
    /// Where the time between arrival and `due` went; the parts add up to it exactly.
    pub why: Vec<(Cause, u64)>,
}

impl Served {
    /// Completed at once.
    fn at(arrival: u64) -> Served {
        Served { due: arrival, failed: false, why: Vec::new() }
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

    /// What was spent for one cause, ns.
    pub fn spent(&self, cause: Cause) -> u64 {
        self.why.iter().find(|(known, _)| *known == cause).map_or(0, |(_, ns)| *ns)
    }
}

/// The part of a disk that healthy and sick ones share.
#[derive(Clone, Debug)]
pub enum Mechanism {
    /// Turning platters and an arm.
    Rotational(Rotational),
    /// Flash dies behind a controller.
    Ssd(Ssd),
    /// A volume across a network, with limits.
    Network(Network),
}

/// A disk: mechanism, diseases, seed.
#[derive(Clone, Debug)]
pub struct Disk {
    mechanism: Mechanism,
    diseases: Vec<Disease>,
    freezes: Vec<Freeze>,
    random: Random,
}

impl Disk {
    /// A disk that begins to live at `start` (its stalls are counted from there).
    pub fn new(mechanism: Mechanism, diseases: &[Disease], seed: u64, start: u64) -> Disk {
        let freezes = diseases.iter().filter_map(|disease| disease.freeze(start)).collect();
        Disk { mechanism, diseases: diseases.to_vec(), freezes, random: Random::new(seed) }
    }

    /// Serves a request. Requests are given in the order of their arrival.
    pub fn serve(&mut self, request: &Request) -> Served {
        // The mechanism lives in the disk's own time, which stands still while it is frozen.
        let own = self.freezes.iter().fold(request.arrival, |time, freeze| freeze.inside(time));
        let awake = Request { arrival: own, ..*request };
        let mut served = match &mut self.mechanism {
            Mechanism::Rotational(disk) => disk.serve(&awake, &self.diseases, &mut self.random),
            Mechanism::Ssd(disk) => disk.serve(&awake, &self.diseases),
            Mechanism::Network(disk) => disk.serve(&awake, &self.diseases, &mut self.random),
        };
        let due = self.freezes.iter().rev().fold(served.due, |time, freeze| freeze.outside(time));
        served.spend(Cause::Stall, (due - request.arrival) - (served.due - awake.arrival));
        served.due = due;
        served
    }
}
