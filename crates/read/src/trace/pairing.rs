//! What happened to one request at several tracepoints becomes one event.
//!
//! Q, G, I, D and C of a request share its device and first sector; merges, splits and partial
//! completions change them on the way. Only what is in flight is kept, so the length of a trace
//! does not matter.

use std::num::NonZeroU32;

use iowhy_model::{DeviceId, Event, Flags, Layer, Name, Op, Sink, Time};

use queues::Queues;

use crate::facts::note;

mod queues;

/// Most requests kept waiting for their completion (about 30 MB); far beyond what
/// devices hold in flight, so more means that completions are missing.
const KEPT: usize = 1 << 17;

/// What happened, in blktrace's letters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Action {
    /// Q: a bio was queued.
    Queue,
    /// G: it was given a request.
    Get,
    /// Its accounting began (block_io_start; blktrace has no letter for it).
    Start,
    /// I: the request entered the scheduler.
    Insert,
    /// D: the request went to the driver.
    Issue,
    /// C: it, or its first part, completed.
    Complete,
    /// R: the driver gave it back.
    Requeue,
    /// M: a bio (or a request) joined another one at its end.
    BackMerge,
    /// F: a bio joined a request at its beginning.
    FrontMerge,
    /// X: it was split, and continues in a second part from this sector.
    Split(u64),
}

/// One tracepoint hit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    pub(crate) at: Time,
    pub(crate) device: DeviceId,
    pub(crate) sector: u64,
    pub(crate) bytes: u32,
    pub(crate) op: Op,
    pub(crate) flags: Flags,
    pub(crate) pid: Option<u32>,
    pub(crate) comm: Option<Name>,
    pub(crate) error: Option<u16>,
}

/// Requests in flight.
#[derive(Default)]
pub(crate) struct Pairing {
    waiting: Queues,
    issued: Queues,
    /// Requests at each device's driver, by the device's index.
    depths: Vec<u32>,
    /// A completion was seen.
    completed: bool,
}

/// A request on its way.
#[derive(Clone)]
struct Request {
    /// The furthest step it was seen at.
    stage: Action,
    queued: Option<Time>,
    issued: Option<Time>,
    sector: u64,
    bytes: u32,
    /// Bytes of it that completed already.
    done: u32,
    depth: Option<u32>,
    op: Op,
    flags: Flags,
    pid: Option<u32>,
    comm: Option<Name>,
    /// Others with the same device and sector, after it.
    concurrent: Vec<Request>,
}

type Key = (DeviceId, u64);

impl Pairing {
    /// Takes the next point, in the order of time.
    pub(crate) fn take(&mut self, action: Action, point: &Point, sink: &mut dyn Sink) {
        // A flush has no sector; a write at sector 0 must not be taken for one.
        let key = (point.device, if point.op == Op::Flush { u64::MAX } else { point.sector });
        match action {
            Action::Queue | Action::Get | Action::Start | Action::Insert => {
                self.wait(action, key, point);
            }
            Action::Issue => self.issue(key, point),
            Action::Complete => self.complete(key, point, sink),
            Action::Requeue => self.requeue(key),
            Action::BackMerge => drop(self.waiting.take_last(key)),
            Action::FrontMerge => self.merge_in_front(key, point),
            Action::Split(at) => self.split(key, point, at),
        }
        if self.waiting.len + self.issued.len > KEPT {
            self.forget_oldest(sink);
        }
        let refused = self.waiting.refused + self.issued.refused;
        if refused > 0 {
            (self.waiting.refused, self.issued.refused) = (0, 0);
            sink.lost("times of requests beyond 255 in flight at one sector", refused);
        }
    }

    /// The trace ends: what is still in flight is reported.
    pub(crate) fn finish(&mut self, sink: &mut dyn Sink) {
        let begun = self.issued.len + self.waiting.len;
        if begun > 0 && !self.completed {
            let reason = format!(
                "requests were queued or issued ({begun} at the end), but it has no completions: \
                 also trace `block_rq_complete` (blktrace: `-a complete`)"
            );
            sink.note(note(reason));
        } else if self.issued.len > 0 {
            let count = self.issued.len;
            sink.note(note(format!(
                "{count} requests were in flight at the driver when the trace ended"
            )));
        }
        *self = Pairing::default();
    }

    fn wait(&mut self, action: Action, key: Key, point: &Point) {
        match self.waiting.find(key, |request| request.stage < action) {
            Some(request) => request.stage = action,
            None => drop(self.waiting.push(key, Request::waiting(action, point))),
        }
    }

    fn issue(&mut self, key: Key, point: &Point) {
        let mut request = self
            .waiting
            .take_first(key)
            .unwrap_or_else(|| Request { queued: None, ..Request::waiting(Action::Issue, point) });
        request.depth = Some(self.depth(point.device).saturating_add(1));
        request.stage = Action::Issue;
        request.issued = Some(point.at);
        // Merges have changed its length since it was queued; its flags are the request's now.
        (request.sector, request.bytes) = (point.sector, point.bytes);
        (request.op, request.flags) = (point.op, point.flags);
        self.hand_over(key, request);
    }

    /// The driver has it, unless there is no room to remember it.
    fn hand_over(&mut self, key: Key, request: Request) {
        if self.issued.push(key, request) {
            let depth = self.depth(key.0);
            *depth = depth.saturating_add(1);
        }
    }

    fn complete(&mut self, key: Key, point: &Point, sink: &mut dyn Sink) {
        self.completed = true;
        let issued = self.issued.take_first(key);
        if issued.is_some() {
            let depth = self.depth(point.device);
            *depth = depth.saturating_sub(1);
        }
        let Some(mut request) = issued.or_else(|| self.waiting.take_first(key)) else {
            // Begun before the trace, or the tail of a flush, which completes once for the device
            // and once more for the sender; only what moved data counts.
            if point.bytes > 0 {
                let begun = Request { queued: None, ..Request::waiting(Action::Queue, point) };
                sink.event(begun.event(point));
            }
            return;
        };
        let left = request.bytes.saturating_sub(request.done);
        if point.bytes > 0 && point.bytes < left && request.issued.is_some() {
            request.done += point.bytes;
            let sector = point.sector.saturating_add(u64::from(point.bytes / 512));
            self.hand_over((point.device, sector), request);
            return;
        }
        sink.event(request.event(point));
    }

    fn requeue(&mut self, key: Key) {
        if let Some(mut request) = self.issued.take_first(key) {
            let depth = self.depth(key.0);
            *depth = depth.saturating_sub(1);
            request.stage = Action::Insert;
            request.issued = None;
            self.waiting.push(key, request);
        }
    }

    /// The bio leads the request after it from now on; the earlier of both waits counts.
    fn merge_in_front(&mut self, key: Key, point: &Point) {
        let Some(bio) = self.waiting.take_last(key) else { return };
        let behind = (point.device, point.sector.saturating_add(u64::from(point.bytes / 512)));
        let Some(mut request) = self.waiting.take_first(behind) else {
            self.waiting.push(key, bio);
            return;
        };
        request.queued = request.queued.min(bio.queued).or(bio.queued);
        request.sector = bio.sector;
        request.bytes = request.bytes.saturating_add(bio.bytes);
        self.waiting.push(key, request);
    }

    fn split(&mut self, key: Key, point: &Point, at: u64) {
        let Some(front) = self.waiting.find(key, |_| true) else { return };
        if at <= point.sector {
            return;
        }
        let mut rest = Request { concurrent: Vec::new(), ..front.clone() };
        front.bytes = u32::try_from((at - point.sector).saturating_mul(512)).unwrap_or(u32::MAX);
        rest.bytes = rest.bytes.saturating_sub(front.bytes);
        (rest.sector, rest.stage) = (at, Action::Queue);
        self.waiting.push((point.device, at), rest);
    }

    /// Requests at the device's driver.
    fn depth(&mut self, device: DeviceId) -> &mut u32 {
        let place = device.index();
        if self.depths.len() <= place {
            self.depths.resize(place + 1, 0);
        }
        &mut self.depths[place]
    }

    /// Lets go of the older half: their completions will not come.
    #[cold]
    fn forget_oldest(&mut self, sink: &mut dyn Sink) {
        let both = [&mut self.waiting, &mut self.issued];
        let mut begun: Vec<Option<Time>> =
            both.iter().flat_map(|queues| queues.first.values().map(Request::begun)).collect();
        let half = begun.len() / 2;
        if half == 0 {
            return;
        }
        let median = *begun.select_nth_unstable(half).1;
        for queues in both {
            let before = queues.len;
            queues.first.retain(|_, request| request.begun() > median);
            queues.len = queues.first.values().map(|request| 1 + request.concurrent.len()).sum();
            sink.lost("requests without a completion in the trace", (before - queues.len) as u64);
        }
        self.depths.clear();
    }
}

impl Request {
    fn waiting(stage: Action, point: &Point) -> Request {
        Request {
            stage,
            queued: Some(point.at),
            issued: None,
            sector: point.sector,
            bytes: point.bytes,
            done: 0,
            depth: None,
            op: point.op,
            flags: point.flags,
            pid: point.pid,
            comm: point.comm,
            concurrent: Vec::new(),
        }
    }

    fn begun(&self) -> Option<Time> {
        self.queued.or(self.issued)
    }

    fn event(&self, end: &Point) -> Event {
        let mut event = Event::new(end.device, self.op, Layer::Block);
        event.queued = self.queued;
        event.issued = self.issued;
        event.completed = Some(end.at);
        event.sector = (self.op != Op::Flush).then_some(self.sector);
        event.bytes = Some(self.bytes);
        event.pid = self.pid;
        event.comm = self.comm;
        event.depth = self.depth.and_then(NonZeroU32::new);
        event.error = end.error;
        event.flags = self.flags;
        event
    }
}

#[cfg(test)]
mod tests {
    use iowhy_model::{Level, Recording, Source};

    use super::queues::MAX_PER_SECTOR;
    use super::*;

    #[test]
    fn equal_requests_beyond_the_limit_are_reported_lost_and_leave_no_depth() {
        let mut recording = Recording::new();
        recording.begin(Source::new("blktrace", "-", Level::D));
        let device = recording.device("sda");
        let point = |ns| Point {
            at: Time::from_ns(ns),
            device,
            sector: 8,
            bytes: 4096,
            op: Op::Read,
            flags: Flags::default(),
            pid: None,
            comm: None,
            error: None,
        };
        let mut pairing = Pairing::default();
        let kept = MAX_PER_SECTOR as i64 + 1;
        for ns in 0..300 {
            pairing.take(Action::Issue, &point(ns), &mut recording);
        }
        for ns in 0..300 {
            pairing.take(Action::Complete, &point(1000 + ns), &mut recording);
        }
        assert_eq!(recording.listings[0].source.lost(), (300 - kept) as u64);
        let issued = recording.listings[0].events.iter().filter(|e| e.issued.is_some());
        assert_eq!(issued.count(), kept as usize);
        pairing.take(Action::Issue, &point(2000), &mut recording);
        pairing.take(Action::Complete, &point(2001), &mut recording);
        assert_eq!(recording.listings[0].events.last().and_then(|e| e.depth), NonZeroU32::new(1));
    }
}
