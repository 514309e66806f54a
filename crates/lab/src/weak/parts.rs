//! Building blocks of blame scenarios: devices, senders, and the truth.

use iowhy_model::Medium;

use super::queue::{Asker, Io, Pace};
use crate::scenarios::Chance;

/// What is to blame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// Nobody.
    Healthy,
    /// The load, a limit or a setting.
    Load,
    /// The device.
    Device,
}

/// A scenario: its requests, its disk, and the truth.
pub struct Scenario {
    /// What it is, in a word or two.
    pub name: &'static str,
    /// The truth.
    pub side: Side,
    /// The disk's name.
    pub disk: &'static str,
    /// What it is made of.
    pub medium: Medium,
    /// What happened.
    pub ios: Vec<Io>,
    /// How many of them a log lists.
    pub listed: usize,
}

/// Service time of a class of device for one request, ms, and how many it serves at once.
#[derive(Clone, Copy)]
pub struct ClassService {
    /// The name of such a disk.
    pub disk: &'static str,
    /// What it is made of.
    pub medium: Medium,
    /// Requests served at once.
    pub servers: usize,
    /// One revolution; 0 where nothing rotates.
    pub revolution: f64,
    fixed: f64,
    jitter: f64,
}

impl ClassService {
    /// A device of any class.
    pub fn any(chance: &mut Chance) -> ClassService {
        let revolution = chance.pick(&[8.333, 8.333, 11.11, 6.0, 4.0]);
        let flash = (chance.scale(0.07, 0.3), chance.even(0.2, 0.8));
        match chance.whole(0, 4) {
            0 | 1 => ClassService {
                disk: chance.pick(&["sda", "sdb", "sdf"]),
                medium: Medium::Rotational,
                servers: 1,
                revolution,
                fixed: chance.even(1.0, 3.0),
                jitter: chance.even(2.0, 6.0),
            },
            2 => ClassService {
                disk: chance.pick(&["sda", "sdc"]),
                medium: Medium::Flash,
                servers: 4,
                revolution: 0.0,
                fixed: flash.0,
                jitter: flash.0 * flash.1,
            },
            3 => ClassService {
                disk: "nvme0n1",
                medium: Medium::Nvme,
                servers: 16,
                revolution: 0.0,
                fixed: flash.0 * 0.8,
                jitter: flash.0 * flash.1,
            },
            _ => ClassService {
                disk: chance.pick(&["vda", "xvdb", "nvme1n1"]),
                medium: Medium::Network,
                servers: 64,
                revolution: 0.0,
                fixed: chance.scale(0.4, 1.2),
                jitter: chance.even(0.1, 0.8),
            },
        }
    }

    /// One request's service time, ms.
    pub fn service(self, chance: &mut Chance, asker: &Asker) -> f64 {
        let rate = match self.medium {
            Medium::Rotational => 170_000.0,
            Medium::Nvme => 2_000_000.0,
            _ => 400_000.0,
        };
        let moved = f64::from(asker.bytes) / rate;
        if asker.onwards && self.medium == Medium::Rotational {
            return 0.15 + moved + chance.even(0.0, 0.1);
        }
        let tail = if chance.chance(0.003) { chance.even(2.0, 6.0) } else { 1.0 };
        (self.fixed + chance.even(0.0, self.jitter) + chance.even(0.0, self.revolution)) * tail
            + moved
    }

    /// A request's mean time, ms.
    pub fn mean(self) -> f64 {
        self.fixed + (self.jitter + self.revolution) / 2.0
    }
}

/// A sender with its own process.
pub fn asks(comm: &'static str, writes: bool, bytes: u32, onwards: bool, pace: Pace) -> Asker {
    let pid = 300 + comm.len() as u32;
    Asker { comm, pid, writes, bytes, onwards, pace }
}

/// A program that looks things up, now and then or one after the other.
pub fn lookups(chance: &mut Chance, made: ClassService, load: f64) -> Asker {
    let bytes = chance.pick(&[4096, 8192, 16384]);
    let writes = made.revolution == 0.0 && chance.chance(0.3);
    let pace = if chance.chance(0.4) {
        Pace::Closed(1, made.mean() * chance.scale(0.05, 5.0))
    } else {
        Pace::Open(1e3 / made.mean() * load)
    };
    asks("postgres", writes, bytes, false, pace)
}

/// Others that do a little at the same time.
pub fn beside(chance: &mut Chance, made: ClassService, askers: &mut Vec<Asker>) {
    let per_s = |share: f64| Pace::Open(1e3 / made.mean() * share);
    if chance.chance(0.3) {
        let pace = per_s(0.06);
        askers.push(asks("kworker/u8:2", true, 16_384, false, pace));
    }
    if chance.chance(0.15) {
        // A scrub reads on and on, little at a time.
        askers.push(asks("md0_resync", false, 131_072, true, per_s(0.08)));
    }
}
