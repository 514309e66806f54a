//! What happened to one request at several tracepoints becomes one event.
//!
//! Q, G, I, D and C of a request share its device and first sector; merges, splits and partial
//! completions change them on the way. Only what is in flight is kept, so the length of a trace
//! does not matter.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hasher};

use iowhy_model::{DeviceId, Event, Flags, Layer, Name, Note, Op, Sink, Time};

/// Most requests kept waiting for their completion (about 30 MB); far beyond what
/// devices hold in flight, so more means that completions are missing.
const KEPT: usize = 1 << 17;
/// Most requests kept for one sector: programs that read or flush the same place at once.
const TWINS: usize = 255;

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
    /// X: it was split, and goes on in a second part from this sector.
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
    /// Others with the same device and sector, behind it.
    twins: Vec<Request>,
}

type Key = (DeviceId, u64);

impl Pairing {
    /// Takes the next point, in the order of time.
    pub(crate) fn take(&mut self, action: Action, point: &Point, sink: &mut dyn Sink) {
        // A flush has no place of its own; a write at sector 0 must not be taken for one.
        let key = (point.device, if point.op == Op::Flush { u64::MAX } else { point.sector });
        match action {
            Action::Queue | Action::Get | Action::Start | Action::Insert => {
                self.wait(action, key, point)
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
    }

    /// The trace ends: what is still in flight is said.
    pub(crate) fn finish(&mut self, sink: &mut dyn Sink) {
        if self.issued.len > 0 {
            let count = self.issued.len;
            let reason = format!("{count} requests were at the driver when the trace ended");
            sink.note(Note { line: 0, text: String::new(), reason });
        }
        *self = Pairing::default();
    }

    fn wait(&mut self, action: Action, key: Key, point: &Point) {
        match self.waiting.find(key, |request| request.stage < action) {
            Some(request) => request.stage = action,
            None => self.waiting.push(key, Request::waiting(action, point)),
        }
    }

    fn issue(&mut self, key: Key, point: &Point) {
        let mut request = self
            .waiting
            .take_first(key)
            .unwrap_or_else(|| Request { queued: None, ..Request::waiting(Action::Issue, point) });
        let depth = self.depth(point.device);
        *depth = depth.saturating_add(1);
        request.depth = Some(*depth);
        request.stage = Action::Issue;
        request.issued = Some(point.at);
        // Merges have changed its length since it was queued; its flags are the request's now.
        (request.sector, request.bytes) = (point.sector, point.bytes);
        (request.op, request.flags) = (point.op, point.flags);
        self.issued.push(key, request);
    }

    fn complete(&mut self, key: Key, point: &Point, sink: &mut dyn Sink) {
        let issued = self.issued.take_first(key);
        if issued.is_some() {
            let depth = self.depth(point.device);
            *depth = depth.saturating_sub(1);
        }
        let Some(mut request) = issued.or_else(|| self.waiting.take_first(key)) else {
            // Begun before the trace, or the tail of a flush, which completes once for the
            // device and once more for whoever asked; only what moved data counts.
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
            let depth = self.depth(point.device);
            *depth = depth.saturating_add(1);
            self.issued.push((point.device, sector), request);
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

    /// The bio leads the request behind it from now on; the earlier of both waits counts.
    fn merge_in_front(&mut self, key: Key, point: &Point) {
        let Some(bio) = self.waiting.take_last(key) else { return };
        let behind = (point.device, point.sector.saturating_add(u64::from(point.bytes / 512)));
        let Some(mut request) = self.waiting.take_first(behind) else {
            return self.waiting.push(key, bio);
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
        let mut rest = Request { twins: Vec::new(), ..front.clone() };
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
            queues.len = queues.first.values().map(|request| 1 + request.twins.len()).sum();
            sink.lost(
                "requests whose completion is not in the trace",
                (before - queues.len) as u64,
            );
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
            twins: Vec::new(),
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
        event.depth = self.depth;
        event.error = end.error;
        event.flags = self.flags;
        event
    }
}

/// Requests by device and sector, first come first served.
#[derive(Default)]
struct Queues {
    first: HashMap<Key, Request, BuildHasherDefault<Folding>>,
    len: usize,
}

impl Queues {
    fn push(&mut self, key: Key, request: Request) {
        match self.first.entry(key) {
            Entry::Vacant(place) => drop(place.insert(request)),
            Entry::Occupied(place) if place.get().twins.len() < TWINS => {
                place.into_mut().twins.push(request);
            }
            Entry::Occupied(_) => return,
        }
        self.len += 1;
    }

    fn take_first(&mut self, key: Key) -> Option<Request> {
        let Entry::Occupied(mut place) = self.first.entry(key) else { return None };
        self.len -= 1;
        if place.get().twins.is_empty() {
            return Some(place.remove());
        }
        let mut twins = std::mem::take(&mut place.get_mut().twins);
        let mut next = twins.remove(0);
        next.twins = twins;
        Some(place.insert(next))
    }

    fn take_last(&mut self, key: Key) -> Option<Request> {
        let last = self.first.get_mut(&key)?.twins.pop();
        match last {
            Some(last) => {
                self.len -= 1;
                Some(last)
            }
            None => self.take_first(key),
        }
    }

    /// The first one at that place that passes.
    fn find(&mut self, key: Key, passes: impl Fn(&Request) -> bool) -> Option<&mut Request> {
        let first = self.first.get_mut(&key)?;
        if passes(first) {
            return Some(first);
        }
        first.twins.iter_mut().find(|request| passes(request))
    }
}

/// Hashes a device and a sector by one wide multiplication; its odd constant is the golden
/// ratio's (Knuth, The Art of Computer Programming, volume 3, 6.4).
#[derive(Default)]
struct Folding(u64);

impl Hasher for Folding {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        let wide = u128::from(self.0 ^ number ^ 0x243f_6a88_85a3_08d3) * 0x9e37_79b9_7f4a_7c15;
        self.0 = wide as u64 ^ (wide >> 64) as u64;
    }
}
