//! Streams of requests: sender, operation, offset and time.

use iowhy_model::{Flags, Op};

use super::Chance;

/// Where the next request begins.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Place {
    /// After the last one.
    Onwards,
    /// Anywhere on the disk.
    Anywhere,
    /// After the last one, and somewhere else after this many.
    Runs(usize),
    /// Anywhere, twice: read, then written back (a member of a RAID with parity).
    ReadThenWrite,
}

/// When the next request comes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Pace {
    /// This many in flight; after an answer a pause of that mean, ns, before the next.
    Closed(usize, f64),
    /// One in flight, and after each answer a pause between these, ns.
    Pauses(f64, f64),
    /// At random times, this many per second, whatever the disk does.
    Poisson(f64),
    /// This many per second, evenly spaced: a program that limits itself.
    Even(f64),
    /// A burst of that many at this interval, ns, its requests that many ns apart.
    Batches(f64, usize, f64),
}

/// A sender.
#[derive(Clone, Debug)]
pub struct Stream {
    /// Read, write or discard.
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
    /// Flags of each request, except that a process waits for it.
    pub flags: Flags,
    /// After this many requests comes an empty flush; 0 for never.
    pub flush_every: usize,
    /// By how many bytes a place is shifted, as by a partition that begins there, and how many are.
    pub shift: (u64, f64),
    /// Only the first bytes of the disk are accessed.
    pub within: Option<u64>,
    /// The control group it is charged to.
    pub cgroup: Option<&'static str>,
    /// Whether its system calls are traced too, and the mean time that each spends above the
    /// block layer, ns.
    pub calls: Option<f64>,
}

/// A request and what became of it; times in ns.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Done {
    /// The request's properties.
    pub op: Op,
    /// Its flags.
    pub flags: Flags,
    /// First byte.
    pub offset: u64,
    /// Length.
    pub bytes: u32,
    /// When its bio came to the block layer.
    pub arrived: u64,
    /// When it came to the host's queue.
    pub queued: u64,
    /// When it was given to the disk.
    pub issued: u64,
    /// When it was answered.
    pub completed: u64,
    /// The sender.
    pub comm: &'static str,
    /// Its process.
    pub pid: u32,
    /// The group it is charged to.
    pub cgroup: Option<&'static str>,
    /// Whether a process waits for it.
    pub sync: bool,
    /// Whether it failed with EIO.
    pub failed: bool,
    /// Part of the latency that a fault caused.
    pub delayed: u64,
    /// Part of the latency that was waiting for others, in the host or the disk, or for a limit.
    pub waited: u64,
}

impl Done {
    /// Its flags, with the one of a write that a process waits for.
    pub fn rwbs(&self) -> Flags {
        let waits = self.sync && self.op == Op::Write;
        if waits { self.flags.with(Flags::SYNC) } else { self.flags }
    }
}

/// A system call and what it took; times in ns.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Call {
    /// The call.
    pub op: Op,
    /// How much.
    pub bytes: u32,
    /// When it was made.
    pub start: u64,
    /// When it returned.
    pub end: u64,
    /// The caller.
    pub comm: &'static str,
    /// Its process.
    pub pid: u32,
}

/// A stream under way.
pub(super) struct Flow<'a> {
    pub(super) stream: &'a Stream,
    /// When each request that may be in flight can be sent; for others only the first counts.
    ready: Vec<u64>,
    /// When each of them was wanted, if a limit holds it back.
    wished: Vec<Option<u64>>,
    pub(super) end: u64,
    next: u64,
    /// How much was read before it is written.
    read: u32,
    run: usize,
    batch: usize,
    pub(super) pid: u32,
}

impl<'a> Flow<'a> {
    pub(super) fn new(stream: &'a Stream, span: u64, bytes: u64, chance: &mut Chance) -> Flow<'a> {
        let at = |share: f64| (share * span as f64) as u64;
        let begun = at(stream.during.0) + chance.even(1e5, 3e6) as u64;
        let ready: Vec<u64> = match stream.pace {
            Pace::Closed(depth, _) => (0..depth.max(1) as u64).map(|k| begun + k * 3_000).collect(),
            _ => vec![begun],
        };
        Flow {
            stream,
            wished: vec![None; ready.len()],
            ready,
            end: at(stream.during.1),
            next: chance.bits() % (bytes / 2) / 4096 * 4096,
            read: 0,
            run: 0,
            batch: 0,
            pid: 1000 + (chance.bits() % 30_000) as u32,
        }
    }

    /// When it sends next.
    pub(super) fn due(&self) -> u64 {
        self.ready.iter().copied().min().unwrap_or(u64::MAX)
    }

    /// The intended time of a request sent at this time.
    pub(super) fn wished(&self, due: u64) -> u64 {
        let slot = self.ready.iter().position(|ready| *ready == due);
        slot.and_then(|slot| self.wished.get(slot).copied().flatten()).unwrap_or(due)
    }

    /// A limit delays the request.
    pub(super) fn hold(&mut self, due: u64, until: u64) {
        let Some(slot) = self.ready.iter().position(|ready| *ready == due) else { return };
        self.wished[slot].get_or_insert(due);
        self.ready[slot] = until;
    }

    /// Whether it was held back already.
    pub(super) fn is_held(&self, due: u64) -> bool {
        self.wished(due) != due
    }

    /// The next request.
    pub(super) fn ask(&mut self, room: u64, chance: &mut Chance) -> (Op, u64, u32) {
        let stream = self.stream;
        let room = stream.within.unwrap_or(room).max(1 << 25);
        let bytes = chance.pick(&stream.bytes).max(512);
        let anywhere = chance.bits() % (room - (1 << 24)) / 4096 * 4096;
        self.run += 1;
        if stream.flush_every > 0 && self.run.is_multiple_of(stream.flush_every + 1) {
            return (Op::Flush, 0, 0);
        }
        let jumps = match stream.place {
            Place::Onwards => self.next + u64::from(bytes) > room,
            Place::Anywhere => true,
            Place::Runs(length) => self.run.is_multiple_of(length.max(1)),
            // RAID writes back just what it read (drivers/md/raid5.c, read-modify-write of a
            // stripe).
            Place::ReadThenWrite if self.run.is_multiple_of(2) => {
                return (Op::Write, self.next, self.read);
            }
            Place::ReadThenWrite => {
                (self.next, self.read) = (anywhere, bytes);
                return (Op::Read, anywhere, bytes);
            }
        };
        let offset = if jumps { anywhere } else { self.next };
        self.next = offset + u64::from(bytes);
        let (shift, share) = stream.shift;
        let shifted = shift > 0 && chance.chance(share);
        (stream.op, if shifted { offset + shift } else { offset }, bytes)
    }

    /// What was wanted at `wished` and sent at `due` has completed.
    pub(super) fn advance(&mut self, due: u64, completed: u64, chance: &mut Chance) {
        let Some(slot) = self.ready.iter().position(|ready| *ready == due) else { return };
        let sent = self.wished[slot].take().unwrap_or(due);
        self.batch += 1;
        self.ready[slot] = match self.stream.pace {
            Pace::Closed(_, think) => completed + chance.wait(think) as u64 + 1,
            Pace::Pauses(least, most) => completed + chance.scale(least, most) as u64,
            Pace::Poisson(rate) => sent + chance.wait(1e9 / rate) as u64 + 1,
            Pace::Even(rate) => sent + (1e9 / rate) as u64 + 1,
            Pace::Batches(every, count, gap) if self.batch.is_multiple_of(count.max(1)) => {
                sent + (every - gap * (count as f64 - 1.0)).max(gap) as u64
            }
            Pace::Batches(_, _, gap) => sent + chance.wait(gap) as u64 + 1,
        };
    }
}
