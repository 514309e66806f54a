//! The I/Os of a capture, planned for a target: where each goes, how long it is, when it is due.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

use iowhy_model::{Op, Time};

/// One I/O of a capture.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Captured {
    /// When it was started: the earliest moment that the capture has of it.
    pub started: Time,
    /// When it was issued to the driver, if the capture has that.
    pub issued: Option<Time>,
    /// When it completed, if the capture has that.
    pub completed: Option<Time>,
    /// Its first byte on the captured device.
    pub offset: u64,
    /// Its length in bytes.
    pub bytes: u32,
    /// Read or write.
    pub op: Op,
    /// The process that started it, by its ID; 0 if the capture has none.
    pub process: u32,
}

impl Captured {
    /// From issue to completion, else from start to completion, ns.
    pub fn latency_ns(&self) -> Option<u64> {
        let from = self.issued.unwrap_or(self.started);
        u64::try_from((self.completed? - from).ns()).ok()
    }
}

/// The plan of a replay.
#[derive(Clone, Debug)]
pub struct Replay {
    /// Reads and writes, by the time they were started.
    pub ios: Arc<Vec<Captured>>,
    /// What of the capture is not a read or write with a place and a time: how many, and why.
    pub left_out: Vec<(String, u64)>,
    /// The speed factor.
    pub speed: f64,
    /// Whether each process waits for its own I/Os, instead of all starting when they did.
    pub closed: bool,
    /// Whether writes are replayed, too.
    pub overwrite: bool,
}

impl Replay {
    /// Bytes its writes would write at most, each rounded up to the largest logical block.
    pub fn bytes_written(&self) -> u64 {
        let writes = self.ios.iter().filter(|io| self.overwrite && io.op == Op::Write);
        writes.map(|io| u64::from(io.bytes).next_multiple_of(4096)).sum()
    }
}

/// One I/O that is to be done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Planned {
    /// When: ns from the beginning, or from the completion of the one that it follows.
    pub due_ns: u64,
    /// Its first byte on the target.
    pub offset: u64,
    /// Its length in bytes.
    pub bytes: u32,
    /// The number of the one whose completion it waits for, or [`NOBODY`].
    pub after: u32,
    /// Read or write.
    pub op: Op,
}

/// The number of no I/O.
pub(crate) const NOBODY: u32 = u32::MAX;
/// The most bytes of one I/O: far beyond what a device takes at once.
const MOST_BYTES: u64 = 64 << 20;
/// The most in flight if it is not given.
const DEPTH: u32 = 256;
/// Memory for the buffers of I/Os of one length: as many are in flight at most, but always some.
const BUFFERS: u64 = 64 << 20;
const BUFFERS_AT_LEAST: u64 = 4;

/// All that is to be done.
#[derive(Clone, Default, Debug)]
pub struct Plan {
    /// The I/Os, by the time they were started in the capture.
    pub ios: Vec<Planned>,
    /// For each, where it is in the capture.
    pub captured: Vec<u32>,
    /// Predecessors, in order.
    followers: Vec<(u32, u32)>,
    /// The most in flight.
    pub depth: u32,
    /// Bytes of the largest.
    pub largest: u32,
    /// Writes left out, as they may not be replayed.
    pub writes_left_out: u64,
    /// I/Os left out, as they are larger than the target or than 64 MiB.
    pub too_large: u64,
    /// I/Os that lay beyond the end of the target and were moved inside.
    pub moved: u64,
    /// I/Os whose place or length was no multiple of the target's logical block.
    pub rounded: u64,
}

impl Plan {
    /// Plans a replay for `span` bytes from byte `from` on, on a target of this logical block:
    /// places modulo the span, aligned to the block; lengths rounded up to it.
    pub fn of(replay: &Replay, (from, span): (u64, u64), block: u32, depth: Option<u32>) -> Plan {
        let block = u64::from(block.max(1));
        let span = span - span % block;
        let mut plan = Plan { depth: depth.unwrap_or(DEPTH), ..Plan::default() };
        let speed = if replay.speed > 0.0 { replay.speed } else { 1.0 };
        let scaled = |ns: i64| (ns.max(0) as f64 / speed) as u64;
        let wanted = |io: &Captured| io.op != Op::Write || replay.overwrite;
        let zero = replay.ios.iter().find(|io| wanted(io)).map(|io| io.started);
        let mut processes: BTreeMap<u32, Process> = BTreeMap::new();
        for (place, io) in replay.ios.iter().enumerate() {
            if !wanted(io) {
                plan.writes_left_out += 1;
                continue;
            }
            let bytes = u64::from(io.bytes).next_multiple_of(block);
            if bytes == 0 || bytes > span.min(MOST_BYTES) {
                plan.too_large += 1;
                continue;
            }
            let inside = io.offset % span;
            let offset = (inside - inside % block).min(span - bytes);
            plan.moved += u64::from(io.offset.saturating_add(bytes) > span);
            plan.rounded +=
                u64::from(!io.offset.is_multiple_of(block) || bytes != u64::from(io.bytes));
            let number = plan.ios.len() as u32;
            let after = match replay.closed {
                true => processes.entry(io.process).or_default().start(io, number),
                false => None,
            };
            let since = after.map(|(_, completed)| completed).or(zero).unwrap_or(io.started);
            plan.followers.extend(after.map(|(after, _)| (after, number)));
            plan.largest = plan.largest.max(bytes as u32);
            plan.captured.push(place as u32);
            plan.ios.push(Planned {
                due_ns: scaled((io.started - since).ns()),
                offset: from + offset,
                bytes: bytes as u32,
                after: after.map_or(NOBODY, |(after, _)| after),
                op: io.op,
            });
        }
        plan.followers.sort_unstable();
        if replay.closed && depth.is_none() {
            let together: usize = processes.values().map(|process| process.most).sum();
            plan.depth = (together as u32).clamp(1, DEPTH);
        }
        plan
    }

    /// Whether it writes.
    pub fn writes(&self) -> bool {
        self.ios.iter().any(|io| io.op == Op::Write)
    }

    /// Who waits for the completion of the I/O of this number.
    pub fn followers(&self, number: u32) -> impl Iterator<Item = (u32, &Planned)> {
        let from = self.followers.partition_point(|(after, _)| *after < number);
        let rest = self.followers.get(from..).unwrap_or_default();
        rest.iter()
            .take_while(move |(after, _)| *after == number)
            .filter_map(|(_, next)| Some((*next, self.ios.get(*next as usize)?)))
    }

    /// Lengths of the buffers it needs, powers of two, and how many of each.
    pub fn buffers(&self) -> BTreeMap<u32, usize> {
        let mut lengths: BTreeMap<u32, u64> = BTreeMap::new();
        for io in &self.ios {
            *lengths.entry(io.bytes.next_power_of_two().max(4096)).or_default() += 1;
        }
        let most = |length: u32| (BUFFERS / u64::from(length)).max(BUFFERS_AT_LEAST);
        let depth = u64::from(self.depth.max(1));
        lengths
            .into_iter()
            .map(|(length, n)| (length, n.min(depth).min(most(length)) as usize))
            .collect()
    }
}

/// The I/Os of one process in a closed loop.
#[derive(Default)]
struct Process {
    /// Those under way: when each completes, and its number.
    pending: BinaryHeap<Reverse<(Time, u32)>>,
    /// The last that completed.
    last: Option<(u32, Time)>,
    /// The most under way at once.
    most: usize,
}

impl Process {
    /// An I/O starts: the last before it that had completed by then, and when.
    fn start(&mut self, io: &Captured, number: u32) -> Option<(u32, Time)> {
        while let Some(Reverse((completed, before))) = self.pending.peek().copied()
            && completed <= io.started
        {
            self.pending.pop();
            self.last = Some((before, completed));
        }
        if let Some(completed) = io.completed {
            self.pending.push(Reverse((completed.max(io.started), number)));
        }
        self.most = self.most.max(self.pending.len()).max(1);
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn io(started_us: i64, took_us: i64, offset: u64, bytes: u32, process: u32) -> Captured {
        let at = |us: i64| Time::from_ns(us * 1000);
        Captured {
            started: at(started_us),
            issued: None,
            completed: Some(at(started_us + took_us)),
            offset,
            bytes,
            op: Op::Read,
            process,
        }
    }

    fn replay(ios: Vec<Captured>) -> Replay {
        let ios = Arc::new(ios);
        Replay { ios, left_out: Vec::new(), speed: 1.0, closed: false, overwrite: false }
    }

    #[test]
    fn places_are_modulo_the_target_and_on_its_blocks() {
        let wanted = replay(vec![
            io(5, 1, 8192, 4096, 1),
            io(6, 1, 1 << 20, 4096, 1),
            io(7, 1, (1 << 20) + 700, 100, 1),
            io(8, 1, (1 << 20) - 4096, 8192, 1),
            io(9, 1, 0, 2 << 20, 1),
        ]);
        let plan = Plan::of(&wanted, (0, (1 << 20) + 100), 512, None);
        let places: Vec<_> = plan.ios.iter().map(|io| (io.offset, io.bytes)).collect();
        assert_eq!(places, [(8192, 4096), (0, 4096), (512, 512), ((1 << 20) - 8192, 8192)]);
        assert_eq!((plan.moved, plan.rounded, plan.too_large), (3, 1, 1));
        let due: Vec<u64> = plan.ios.iter().map(|io| io.due_ns).collect();
        assert_eq!(due, [0, 1000, 2000, 3000]);
        assert_eq!((plan.largest, plan.captured), (8192, vec![0, 1, 2, 3]));
    }

    #[test]
    fn twice_the_speed_is_half_the_time_and_writes_need_leave() {
        let mut ios = vec![io(0, 1, 0, 512, 1), io(40, 1, 0, 512, 1), io(100, 1, 512, 512, 1)];
        ios[0].op = Op::Write;
        let mut wanted = Replay { speed: 2.0, ..replay(ios) };
        assert_eq!(wanted.bytes_written(), 0);
        let plan = Plan::of(&wanted, (0, 4096), 512, None);
        assert_eq!((plan.writes_left_out, plan.writes()), (1, false));
        // From the first that is replayed.
        let due: Vec<u64> = plan.ios.iter().map(|io| io.due_ns).collect();
        assert_eq!(due, [0, 30_000]);
        wanted.overwrite = true;
        let plan = Plan::of(&wanted, (0, 4096), 512, None);
        assert_eq!((plan.ios.len(), plan.writes(), wanted.bytes_written()), (3, true, 4096));
    }

    #[test]
    fn in_a_closed_loop_a_process_waits_for_its_own_ios() {
        let wanted = replay(vec![
            io(0, 10, 0, 512, 1),
            io(2, 100, 512, 512, 2),
            io(15, 10, 1024, 512, 1),
            io(17, 10, 1536, 512, 1),
            io(30, 10, 2048, 512, 1),
            io(110, 10, 2560, 512, 2),
        ]);
        let plan = Plan::of(&Replay { closed: true, ..wanted }, (0, 4096), 512, None);
        let waits: Vec<_> = plan.ios.iter().map(|io| (io.after, io.due_ns / 1000)).collect();
        let expected = [(NOBODY, 0), (NOBODY, 2), (0, 5), (0, 7), (3, 3), (1, 8)];
        assert_eq!(waits, expected);
        let next: Vec<u32> = plan.followers(0).map(|(number, _)| number).collect();
        assert_eq!((next, plan.depth), (vec![2, 3], 3));
        assert_eq!(plan.followers(5).count(), 0);
    }

    #[test]
    fn no_capture_and_no_target_makes_it_fail() {
        let odd = replay(vec![io(i64::MAX / 1000, 0, u64::MAX, u32::MAX, 0)]);
        for (span, block) in [(0, 512), (100, 512), (1 << 40, 0), (u64::MAX, 4096)] {
            let plan = Plan::of(&odd, (0, span), block, Some(0));
            assert_eq!(plan.ios.len() as u64 + plan.too_large, 1);
        }
        let buffers = Plan::of(&replay(vec![io(0, 1, 0, 5000, 0); 3]), (0, 1 << 20), 512, Some(2));
        assert_eq!(buffers.buffers(), BTreeMap::from([(8192, 2)]));
    }
}
