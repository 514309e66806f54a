//! Faults of realistic size: on a part of the requests, a part of the time, or some areas of the
//! disk, by a factor of two or more. In each of them the fault takes at least as long as everything
//! else.

use iowhy_model::Medium;

use super::parts::{ClassService, Scenario, Side, asks, beside, lookups};
use super::queue::{Asker, Device, Io, Pace};
use crate::scenarios::Chance;

/// What is wrong with a device.
#[derive(Clone, Copy)]
struct Fault {
    /// This many times slower ...
    factor: f64,
    /// ... in this share of the requests ...
    share: f64,
    /// ... of one kind only, if it is only writes or only reads ...
    writes: Option<bool>,
    /// ... and only within spans of this length of each such time, ms.
    spans: Option<(f64, f64)>,
    /// Or a request completes only after this many more ms, this often.
    again: (f64, f64),
}

const NONE: Fault = Fault { factor: 1.0, share: 1.0, writes: None, spans: None, again: (0.0, 0.0) };

impl Fault {
    /// One request's time with it, ms, and without.
    fn service(
        &self,
        made: ClassService,
        chance: &mut Chance,
        asker: &Asker,
        begin: f64,
    ) -> (f64, f64) {
        let own = made.service(chance, asker);
        let meant = self.writes.is_none_or(|writes| writes == asker.writes)
            && self.spans.is_none_or(|(every, length)| begin % every > every - length);
        let mut ms = own;
        if meant && chance.chance(self.share) {
            ms *= self.factor;
        }
        if meant && chance.chance(self.again.1) {
            ms += self.again.0 * chance.even(0.9, 1.1);
        }
        (ms, own)
    }
}

/// Any fault, and its name.
fn fault(chance: &mut Chance, made: ClassService) -> (&'static str, Fault) {
    let turns = made.medium == Medium::Rotational;
    let all = if turns { chance.scale(2.5, 20.0) } else { chance.scale(4.0, 150.0) };
    match chance.whole(0, 4) {
        0 => ("slow", Fault { factor: all, ..NONE }),
        1 => {
            let every = chance.scale(2000.0, 8000.0);
            let spans = Some((every, every * chance.even(0.2, 0.6)));
            ("slow at times", Fault { factor: 2.0 * all, spans, ..NONE })
        }
        2 => {
            let share = chance.even(0.05, 0.4);
            ("slow places", Fault { factor: 3.0 * all, share, ..NONE })
        }
        3 => ("slow one way", Fault { factor: all, writes: Some(chance.chance(0.6)), ..NONE }),
        _ => {
            let turn = made.revolution.max(8.333);
            let after = if turns { turn * f64::from(chance.whole(3, 25) as u32) } else { 100.0 };
            ("rare retries", Fault { again: (after, chance.scale(0.01, 0.2)), ..NONE })
        }
    }
}

/// A program that reads and writes independently.
fn both(chance: &mut Chance, made: ClassService, share: f64) -> Vec<Asker> {
    let per_s = 1e3 / made.mean() * share;
    let bytes = chance.pick(&[4096, 8192, 16384]);
    let read = asks("mysqld", false, bytes, false, Pace::Open(per_s * 0.6));
    let write = asks("mysqld", true, bytes, false, Pace::Open(per_s * 0.4));
    vec![read, write]
}

/// Requests after which a scenario ends in any case, and the fewest that are one.
const MOST: usize = 24_000;
const FEWEST: usize = 100;
/// A fault counts as noticed if it takes this share of all the time waited; a healthy device makes
/// requests wait this many service times at most, and a load that is to blame at least.
const FELT: f64 = 0.5;
const HARDLY: f64 = 2.0;
const WAITS: f64 = 4.0;

/// One try at a scenario: `None` if its truth cannot be seen in it.
pub fn attempt(side: Side, chance: &mut Chance) -> Option<Scenario> {
    let mut made = ClassService::any(chance);
    let seconds = chance.even(5.0, 30.0);
    let mut wrong = NONE;
    // How much of the device the load uses.
    let share = chance.even(0.05, 0.3);
    let mut askers = if chance.chance(0.5) {
        both(chance, made, share)
    } else {
        vec![lookups(chance, made, share)]
    };
    let name = match side {
        Side::Healthy => {
            beside(chance, made, &mut askers);
            "well"
        }
        Side::Load => {
            made.servers = made.servers.min(4);
            let many = made.servers * chance.whole(5, 32);
            askers[0].pace = Pace::Closed(many, 0.0);
            "many at once"
        }
        Side::Device => {
            let (name, fault) = fault(chance, made);
            wrong = fault;
            // A sender that waits for completions sends less to a slow device: the load is not the
            // queue's cause.
            let think = made.mean() * chance.scale(0.2, 5.0);
            for asker in &mut askers {
                asker.pace = Pace::Closed(chance.whole(1, 2), think);
            }
            name
        }
    };
    let service = move |chance: &mut Chance, asker: &Asker, begin: f64| {
        wrong.service(made, chance, asker, begin).0
    };
    let device = Device { servers: made.servers, service: &service, freezes: Vec::new() };
    let ios = device.run(&askers, MOST, seconds, chance);
    let waited = ios.iter().map(Io::latency).sum::<f64>();
    let own = ios.iter().map(|io| made.mean() + f64::from(io.bytes) / 400_000.0).sum::<f64>();
    let plain = match side {
        Side::Healthy => waited < HARDLY * own,
        Side::Load => waited > WAITS * own,
        Side::Device => waited - own > FELT * waited,
    };
    let long = ios.last().is_some_and(|io| io.completed > 3e3);
    let listed = ios.len();
    (plain && long && ios.len() >= FEWEST).then_some(Scenario {
        name,
        side,
        disk: made.disk,
        medium: made.medium,
        ios,
        listed,
    })
}
