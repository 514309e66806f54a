//! Streams of requests, the queue of the host, and what became of each request.

use iowhy_model::Op;

use super::Chance;
use crate::disk::{Cause, Disk, Request};

/// Where the next request lies.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Place {
    /// Behind the last one.
    Onwards,
    /// Anywhere on the disk.
    Anywhere,
    /// Behind the last one, and after so many somewhere else.
    Runs(usize),
}

/// When the next request comes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Pace {
    /// So many in flight; after an answer a pause of that mean, ns, before the next.
    Closed(usize, f64),
    /// By chance, so many per second, whatever the disk does.
    Poisson(f64),
    /// Every so many ns that many at once, that many ns apart.
    Batches(f64, usize, f64),
}

/// Somebody who asks.
#[derive(Clone, Debug)]
pub struct Stream {
    /// Read or write.
    pub op: Op,
    /// Sizes, bytes, any of them with equal chance.
    pub bytes: Vec<u32>,
    /// Where.
    pub place: Place,
    /// When.
    pub pace: Pace,
    /// From and until when, as shares of the time watched.
    pub during: (f64, f64),
    /// The program's name.
    pub comm: &'static str,
}

/// A request and what became of it; times in ns.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Done {
    /// Read or write.
    pub op: Op,
    /// First byte.
    pub offset: u64,
    /// Length.
    pub bytes: u32,
    /// When it came to the host's queue.
    pub queued: u64,
    /// When it was given to the disk.
    pub issued: u64,
    /// When it was answered.
    pub completed: u64,
    /// Who asked.
    pub comm: &'static str,
    /// Its process.
    pub pid: u32,
    /// Whether somebody waits for it.
    pub sync: bool,
    /// Part of the latency that a disease caused.
    pub ill: u64,
    /// Part of the latency that was waiting for others, in the host or the disk, or for a limit.
    pub waited: u64,
}

/// The interrupt and what follows it: some microseconds, seldom a fraction of a millisecond
/// because the processor was elsewhere (biolatency of an idle loop device on the lab's machine:
/// most of it within 64 to 128 us of which a few are the interrupt, one in 700 above 500 us).
const INTERRUPT: (f64, f64) = (2_000.0, 6_000.0);
const ELSEWHERE: (f64, f64) = (0.002, 300_000.0);
/// From the queue to the driver if nothing is in the way.
const THROUGH_QUEUE: (f64, f64) = (800.0, 2_500.0);

/// What surrounds a disk.
pub(super) struct Bench {
    pub(super) bytes: u64,
    pub(super) tags: usize,
    pub(super) span: u64,
    pub(super) most: usize,
}

/// A stream under way.
struct Flow<'a> {
    stream: &'a Stream,
    /// When each request that may be in flight can be sent; for others only the first counts.
    ready: Vec<u64>,
    end: u64,
    next: u64,
    run: usize,
    batch: usize,
    pid: u32,
}

impl Bench {
    /// Lets the streams ask the disk; the requests in order of issue.
    pub(super) fn run(
        &self,
        disk: &mut Disk,
        streams: &[Stream],
        chance: &mut Chance,
    ) -> Vec<Done> {
        let mut flows: Vec<Flow> =
            streams.iter().map(|stream| Flow::new(stream, self, chance)).collect();
        let (mut done, mut flying, mut issued) = (Vec::new(), Vec::new(), 0);
        while done.len() < self.most {
            let first = flows.iter_mut().min_by_key(|flow| flow.due());
            let Some(flow) = first.filter(|flow| flow.due() < flow.end) else { break };
            let queued = flow.due();
            flying.retain(|completed| *completed > queued);
            let through = queued + chance.even(THROUGH_QUEUE.0, THROUGH_QUEUE.1) as u64;
            issued = free_tag(&mut flying, self.tags).max(through).max(issued);
            let (offset, bytes) = flow.place(self.bytes, chance);
            let op = flow.stream.op;
            let served = disk.serve(&Request { op, offset, bytes, arrival: issued });
            let mut late = INTERRUPT.0 + chance.wait(INTERRUPT.1);
            if chance.chance(ELSEWHERE.0) {
                late += chance.wait(ELSEWHERE.1);
            }
            let completed = served.due + late as u64;
            flying.push(completed);
            let ill = [Cause::Retry, Cause::Slow, Cause::Stall, Cause::Recovery];
            let waited = [Cause::Queue, Cause::Cap, Cause::Cleaning];
            done.push(Done {
                op,
                offset,
                bytes,
                queued,
                issued,
                completed,
                comm: flow.stream.comm,
                pid: flow.pid,
                sync: op == Op::Read || matches!(flow.stream.pace, Pace::Closed(..)),
                ill: ill.iter().map(|cause| served.spent(*cause)).sum(),
                waited: waited.iter().map(|cause| served.spent(*cause)).sum::<u64>() + issued
                    - queued,
            });
            flow.advance(queued, completed, chance);
        }
        done
    }
}

/// When the disk takes one more.
fn free_tag(flying: &mut [u64], tags: usize) -> u64 {
    if flying.len() < tags {
        return 0;
    }
    flying.sort_unstable();
    flying.get(flying.len() - tags).copied().unwrap_or(0)
}

impl<'a> Flow<'a> {
    fn new(stream: &'a Stream, bench: &Bench, chance: &mut Chance) -> Flow<'a> {
        let at = |share: f64| (share * bench.span as f64) as u64;
        let begun = at(stream.during.0) + chance.even(1e5, 3e6) as u64;
        let ready = match stream.pace {
            Pace::Closed(depth, _) => (0..depth.max(1) as u64).map(|k| begun + k * 3_000).collect(),
            Pace::Poisson(_) | Pace::Batches(..) => vec![begun],
        };
        Flow {
            stream,
            ready,
            end: at(stream.during.1),
            next: chance.bits() % (bench.bytes / 2) / 4096 * 4096,
            run: 0,
            batch: 0,
            pid: 1000 + (chance.bits() % 30_000) as u32,
        }
    }

    fn due(&self) -> u64 {
        self.ready.iter().copied().min().unwrap_or(u64::MAX)
    }

    fn place(&mut self, room: u64, chance: &mut Chance) -> (u64, u32) {
        let bytes = chance.pick(&self.stream.bytes).max(512);
        let anywhere = chance.bits() % (room - (1 << 24)) / 4096 * 4096;
        self.run += 1;
        let jumps = match self.stream.place {
            Place::Onwards => self.next + u64::from(bytes) > room,
            Place::Anywhere => true,
            Place::Runs(length) => self.run.is_multiple_of(length.max(1)),
        };
        let offset = if jumps { anywhere } else { self.next };
        self.next = offset + u64::from(bytes);
        (offset, bytes)
    }

    fn advance(&mut self, sent: u64, completed: u64, chance: &mut Chance) {
        let Some(slot) = self.ready.iter().position(|ready| *ready == sent) else { return };
        self.batch += 1;
        let next = match self.stream.pace {
            Pace::Closed(_, think) => completed + chance.wait(think) as u64 + 1,
            Pace::Poisson(rate) => sent + chance.wait(1e9 / rate) as u64 + 1,
            Pace::Batches(every, count, gap) if self.batch.is_multiple_of(count.max(1)) => {
                sent + (every - gap * (count as f64 - 1.0)).max(gap) as u64
            }
            Pace::Batches(_, _, gap) => sent + chance.wait(gap) as u64 + 1,
        };
        self.ready[slot] = next;
    }
}
