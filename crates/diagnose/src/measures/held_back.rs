//! Where requests wait before the driver has them, and what the device did meanwhile.

use super::spans::{Depth, Spans};

/// A wait below this share of the mean does not count: it is execution time.
const NEGLIGIBLE_SHARE: f64 = 0.1;

/// The stages of one request, ns: arrival of its bio, its start, its issue, its completion.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Stages {
    /// When its bio arrived, if that was seen.
    pub arrived_ns: Option<i64>,
    /// When it was started.
    pub queued_ns: i64,
    /// When the driver got it.
    pub issued_ns: i64,
    /// When it completed.
    pub completed_ns: i64,
}

/// Where the time of some requests went.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct HeldBack {
    /// Requests.
    pub n: usize,
    /// Of these, with a bio whose arrival was seen.
    pub arrivals: usize,
    /// Mean wait for a request (B2Q), over those, ns.
    pub before_ns: f64,
    /// Mean wait in the host's queue (Q2D), ns.
    pub queue_ns: f64,
    /// Mean time on the device (D2C), ns.
    pub device_ns: f64,
    /// Share of B2C that is B2Q, over those whose arrival was seen.
    pub before_share: f64,
    /// Share of Q2C that is Q2D.
    pub queue_share: f64,
    /// Most requests on the device at once.
    pub deepest: u32,
    /// Most requests started and not completed at once.
    pub outstanding: u32,
    /// Of the requests that waited before their start, the share that got it when as many as ever
    /// were started, themselves included: the moment one more became free.
    pub last_free: f64,
    /// Share of the time in which one waited in the queue while fewer than [`HeldBack::room`] were
    /// on the device.
    pub room_share: f64,
    /// The number on the device below which it had room.
    pub room: u32,
}

/// The time of some requests; `room` is the number on the device below which it could take more.
/// `None` without requests.
pub fn held_back(stages: &[Stages], room: u32) -> Option<HeldBack> {
    let n = stages.len();
    if n == 0 {
        return None;
    }
    let length = |from: i64, to: i64| to.saturating_sub(from).max(0) as f64;
    let (mut queue, mut device, mut before, mut whole, mut arrivals) = (0.0, 0.0, 0.0, 0.0, 0);
    for one in stages {
        queue += length(one.queued_ns, one.issued_ns);
        device += length(one.issued_ns, one.completed_ns);
        if let Some(arrived) = one.arrived_ns {
            before += length(arrived, one.queued_ns);
            whole += length(arrived, one.completed_ns);
            arrivals += 1;
        }
    }
    let waiting = Spans::of(stages.iter().map(|one| (one.queued_ns, one.issued_ns)));
    let depth = Depth::of(stages.iter().map(|one| (one.issued_ns, one.completed_ns)));
    let started = Depth::of(stages.iter().map(|one| (one.queued_ns, one.completed_ns)));
    let mean_before = if arrivals > 0 { before / arrivals as f64 } else { 0.0 };
    let most = started.most();
    let waits = |one: &&Stages| {
        let waited = one.arrived_ns.map_or(0.0, |arrived| length(arrived, one.queued_ns));
        waited > NEGLIGIBLE_SHARE * mean_before
    };
    let (held, last) = stages.iter().filter(waits).fold((0.0, 0.0), |(held, last), one| {
        (held + 1.0, last + f64::from(u8::from(started.at(one.queued_ns) >= most)))
    });
    let with_room = depth.time_below(&waiting, room);
    let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    Some(HeldBack {
        n,
        arrivals,
        before_ns: share(before, arrivals as f64),
        queue_ns: queue / n as f64,
        device_ns: device / n as f64,
        before_share: share(before, whole),
        queue_share: share(queue, queue + device),
        deepest: depth.most(),
        outstanding: most,
        last_free: share(last, held),
        room_share: share(with_room, waiting.total_ns()),
        room,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_numbers() {
        let one = |arrived, queued_ns, issued_ns, completed_ns| Stages {
            arrived_ns: arrived,
            queued_ns,
            issued_ns,
            completed_ns,
        };
        // The second waits for 60 while nothing is on the device for 50 of them.
        let stages = [one(Some(0), 10, 10, 20), one(None, 10, 70, 80)];
        let found = held_back(&stages, 1).unwrap();
        assert_eq!((found.n, found.arrivals, found.before_ns), (2, 1, 10.0));
        assert_eq!((found.queue_ns, found.device_ns), (30.0, 10.0));
        assert_eq!((found.before_share, found.queue_share), (0.5, 0.75));
        assert_eq!((found.deepest, found.outstanding), (1, 2));
        assert!((found.room_share - 50.0 / 60.0).abs() < 1e-12, "{found:?}");
        assert_eq!(held_back(&stages, 2).unwrap().room_share, 1.0);
        assert_eq!(held_back(&[], 1), None);
        // Two places: the third and fourth get theirs when one is free again.
        let stages = [
            one(Some(0), 0, 0, 50),
            one(Some(0), 0, 0, 60),
            one(Some(1), 50, 50, 90),
            one(Some(2), 60, 60, 99),
        ];
        let found = held_back(&stages, 1).unwrap();
        assert_eq!((found.outstanding, found.last_free), (2, 1.0));
    }
}
