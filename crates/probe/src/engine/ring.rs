//! The engine on io_uring: registered file and buffers, one thread, one system call per round.

use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

use io_uring::types::{Fixed, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode};
use iowhy_model::{Op, Random};

use super::next::Next;
use super::schedule::Schedule;
use super::{AlignedBuffer, Clock, EngineResult, Gather, Io, SoFar, TICK, Watcher, no_cpu_ns};
use crate::error::Error;
use crate::job::{Durable, Job};
use crate::target::Target;

/// Longest time spent looking at the completion queue before going to sleep, and only when several
/// are in flight and completions come that fast: somewhat less than one sleep and wake-up. With it
/// the engine uses less CPU per I/O than fio, which sleeps at once (docs/results/probe.md).
const SPIN_NS: u64 = 18_000;
/// How near an I/O is due when sleeping for it is no longer worth while: the kernel's timers are
/// at least this late.
const NEAR_NS: u64 = 20_000;
/// How long to wait for missing completions after the end: the block layer's own time-out is 30 s
/// (`block/blk-settings.c`, 30 * HZ), and it retries.
const PATIENCE: Duration = Duration::from_secs(60);
/// `RWF_DSYNC` of `include/uapi/linux/fs.h`.
const RWF_DSYNC: i32 = 2;

/// Runs the schedule.
pub(super) fn run(
    target: &Target,
    job: &Job,
    schedule: &mut Schedule,
    clock: Clock,
    watcher: &mut Watcher<'_>,
) -> Result<EngineResult, Error> {
    if job.durable == Durable::Fdatasync {
        // io_uring hands every fsync to a worker thread; what is asked for is the caller's wait.
        let cause = io::Error::from(io::ErrorKind::Unsupported);
        return Err(Error::Engine { what: "fdatasync by io_uring", cause });
    }
    let mut rounds = Rounds::new(target, job)
        .map_err(|cause| Error::Engine { what: "io_uring is not available", cause })?;
    // Sleeps end when they should, not up to 50 us later (prctl(2), PR_SET_TIMERSLACK).
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    let waited_ns = no_cpu_ns();
    rounds
        .run(schedule, clock, watcher)
        .map_err(|cause| Error::Engine { what: "io_uring failed", cause })?;
    let _ = rustix::thread::set_current_timer_slack(None);
    Ok(EngineResult {
        vanished: rounds.in_flight as u64,
        gather: std::mem::take(&mut rounds.gather),
        no_cpu_ns: no_cpu_ns().zip(waited_ns).map(|(now, then)| now.saturating_sub(then)),
        way: "io_uring",
    })
}

/// The ring and what is in it.
struct Rounds {
    // In an Option so that it can be leaked together with the buffers the kernel still writes to.
    ring: Option<IoUring>,
    buffers: Vec<AlignedBuffer>,
    /// What each buffer is used for.
    slots: Vec<Slot>,
    /// Free buffers by their length, the shortest first.
    free: Vec<(u32, Vec<u16>)>,
    in_flight: usize,
    depth: usize,
    open: bool,
    flags: i32,
    /// Mean time between completions of late, ns.
    gap_ns: u64,
    gather: Gather,
}

/// What a buffer is used for.
#[derive(Clone, Copy)]
struct Slot {
    io: Io,
    /// The I/O's number in a plan.
    number: u32,
    /// When its last I/O was seen to be done.
    free_since_ns: u64,
    /// Which length it has: its place in the list of free ones.
    class: usize,
}

/// An I/O that never was.
const NONE: Io = Io {
    intended_ns: 0,
    issued_ns: 0,
    completed_ns: 0,
    offset: 0,
    op: Op::Read,
    bytes: 0,
    depth: 0,
    error: 0,
};

impl Rounds {
    fn new(target: &Target, job: &Job) -> io::Result<Rounds> {
        // 1024 buffers may be registered at the usual locked-memory limit of 8 MiB.
        let depth = job.load.depth().min(1024) as usize;
        // Completions are handed over when this thread asks for them (since 6.1): else each one
        // interrupts it, which costs the one who completes a signal to another CPU per I/O. The
        // flag shows without a system call that one is due
        // (io_uring_setup(2)).
        let entries = depth.next_power_of_two() as u32;
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_taskrun_flag()
            .build(entries)
            .or_else(|_| IoUring::new(entries))?;
        if !ring.params().is_feature_ext_arg() {
            return Err(io::Error::from(io::ErrorKind::Unsupported));
        }
        let mut random = Random::seeded(job.seed);
        let lengths = match &job.plan {
            Some(plan) => plan.buffers().into_iter().collect(),
            None => vec![(job.bytes, depth)],
        };
        let (mut slots, mut free, mut buffers) = (Vec::new(), Vec::new(), Vec::new());
        for (class, (length, count)) in lengths.into_iter().enumerate() {
            let first = slots.len();
            let slot = Slot { io: NONE, number: 0, free_since_ns: 0, class };
            slots.resize(first + count, slot);
            buffers.extend((0..count).map(|_| AlignedBuffer::new(length as usize, &mut random)));
            let numbers = (first..slots.len()).rev().filter_map(|slot| u16::try_from(slot).ok());
            free.push((length, numbers.collect()));
        }
        let areas: Vec<libc::iovec> = buffers
            .iter_mut()
            .map(|buffer| {
                let bytes = buffer.bytes();
                libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() }
            })
            .collect();
        ring.submitter().register_files(&[target.file.as_raw_fd()])?;
        // SAFETY: the areas are the whole of `buffers`, which live as long as the ring: both are
        // dropped together, and leaked together if an I/O is still under way.
        unsafe { ring.submitter().register_buffers(&areas)? };
        Ok(Rounds {
            ring: Some(ring),
            buffers,
            slots,
            free,
            in_flight: 0,
            depth,
            open: job.load.has_a_schedule(),
            flags: if job.durable == Durable::RwfDsync { RWF_DSYNC } else { 0 },
            gap_ns: u64::MAX / 16,
            gather: Gather::of(job),
        })
    }

    fn run(
        &mut self,
        schedule: &mut Schedule,
        clock: Clock,
        watcher: &mut Watcher<'_>,
    ) -> io::Result<()> {
        let mut ticked_ns = clock.now_ns();
        let mut ended_ns = None;
        loop {
            self.reap(schedule, clock);
            let mut now_ns = clock.now_ns();
            if now_ns - ticked_ns >= TICK.as_nanos() as u64 {
                (watcher.tick)(SoFar::of(&self.gather.latency));
                // The next I/O is not charged with what the watcher took.
                now_ns = clock.now_ns();
                ticked_ns = now_ns;
            }
            let mut until_ns = now_ns + TICK.as_nanos() as u64;
            let over = watcher.stopped() || self.gather.failed.is_some();
            match if over { Next::Done } else { self.fill(schedule, now_ns, clock)? } {
                Next::Done => {
                    let ended_ns = *ended_ns.get_or_insert(now_ns);
                    if self.in_flight == 0 || now_ns - ended_ns > PATIENCE.as_nanos() as u64 {
                        return Ok(());
                    }
                }
                Next::At(due_ns) => until_ns = until_ns.min(due_ns),
                Next::Start { .. } => {}
            }
            self.wait(until_ns, now_ns, clock)?;
        }
    }

    /// Takes all completions there are. They share one reading of the clock: all were there.
    fn reap(&mut self, schedule: &mut Schedule, clock: Clock) {
        let Some(ring) = &mut self.ring else { return };
        let mut completions = ring.completion();
        if completions.is_empty() {
            return;
        }
        let now_ns = clock.now_ns();
        let mut seen = 0;
        for completion in &mut completions {
            let slot = completion.user_data() as u16;
            let Some(used) = self.slots.get_mut(slot as usize) else { continue };
            let io = &mut used.io;
            io.completed_ns = now_ns;
            io.error = match completion.result() {
                moved if moved == io.bytes as i32 => 0,
                moved if moved < 0 => moved.unsigned_abs() as u16,
                // Shorter than asked for: the device ends before the job does.
                _ => libc::EIO as u16,
            };
            // Late is what the engine could have helped: due, and a place in flight was free.
            let late_ns = io.issued_ns.saturating_sub(io.intended_ns.max(used.free_since_ns));
            self.gather.take(*io, self.open.then_some(late_ns));
            schedule.completed(used.number, now_ns);
            used.free_since_ns = now_ns;
            if let Some((_, free)) = self.free.get_mut(used.class) {
                free.push(slot);
            }
            self.in_flight -= 1;
            seen += 1;
            if seen == 1 {
                let gap_ns = now_ns.saturating_sub(io.issued_ns) / (self.in_flight as u64 + 1);
                self.gap_ns = (self.gap_ns * 7 + gap_ns.min(1 << 40)) / 8;
            }
        }
    }

    /// Starts what is due while fewer than the maximum are in flight; shows what comes after.
    fn fill(&mut self, schedule: &mut Schedule, mut now_ns: u64, clock: Clock) -> io::Result<Next> {
        let Some(ring) = &mut self.ring else { return Ok(Next::Done) };
        let (submitter, mut submissions, _) = ring.split();
        while self.in_flight < self.depth {
            let wanted = schedule.bytes_next();
            let fits =
                |(length, free): &&mut (u32, Vec<u16>)| *length >= wanted && !free.is_empty();
            let Some((_, free)) = self.free.iter_mut().find(fits) else { break };
            let next = schedule.next(now_ns);
            let Next::Start { intended_ns, offset, op, bytes, number } = next else {
                return Ok(next);
            };
            let Some(slot) = free.pop() else { break };
            let place = slot as usize;
            let (Some(used), Some(buffer)) =
                (self.slots.get_mut(place), self.buffers.get_mut(place))
            else {
                return Ok(Next::Done);
            };
            self.in_flight += 1;
            let depth = self.in_flight as u32;
            used.number = number;
            used.io = Io { intended_ns, issued_ns: now_ns, offset, op, bytes, depth, ..NONE };
            let memory = buffer.bytes().as_mut_ptr();
            let entry = if op == Op::Write {
                opcode::WriteFixed::new(Fixed(0), memory, bytes, slot)
                    .offset(offset)
                    .rw_flags(self.flags)
                    .build()
            } else {
                opcode::ReadFixed::new(Fixed(0), memory, bytes, slot).offset(offset).build()
            };
            // SAFETY: the entry points into a registered buffer that is used by no other entry
            // until its completion was seen, and lives until then (see `drop`).
            unsafe { submissions.push(&entry.user_data(u64::from(slot))) }
                .map_err(|_| io::Error::other("the submission queue is full"))?;
            // Each by itself: of more than two at once the kernel contains the first back until the
            // last is there (`IO_PLUG_THRESHOLD` in `io_uring/io_uring.c`), of two the first waits
            // for the second, and the device idles meanwhile (docs/results/probe.md).
            submissions.sync();
            accept(submitter.submit())?;
            submissions.sync();
            now_ns = clock.now_ns();
        }
        Ok(Next::Start { intended_ns: now_ns, offset: 0, op: Op::Read, bytes: 0, number: 0 })
    }

    /// Submits what was filled in and waits for a completion, or until `until_ns`.
    fn wait(&mut self, until_ns: u64, now_ns: u64, clock: Clock) -> io::Result<()> {
        let Some(ring) = &mut self.ring else { return Ok(()) };
        let left_ns = until_ns.saturating_sub(now_ns);
        let near = left_ns <= NEAR_NS;
        if self.in_flight == 0 {
            if !near {
                std::thread::sleep(Duration::from_nanos(left_ns - NEAR_NS));
            }
            return Ok(());
        }
        if near || (self.in_flight > 1 && self.gap_ns < SPIN_NS) {
            accept(ring.submit())?;
            let end_ns = if near { until_ns } else { now_ns + SPIN_NS };
            while clock.now_ns() < end_ns {
                if !ring.completion().is_empty() {
                    return Ok(());
                }
                if ring.submission().taskrun() {
                    accept(ring.submit())?;
                }
                std::hint::spin_loop();
            }
            if near {
                return Ok(());
            }
        }
        let left_ns = until_ns.saturating_sub(NEAR_NS).saturating_sub(now_ns);
        let time =
            Timespec::new().sec(left_ns / 1_000_000_000).nsec((left_ns % 1_000_000_000) as u32);
        accept(ring.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&time)))
    }
}

/// A wait ended by a timer, a signal or a full completion queue is not an error.
fn accept(result: io::Result<usize>) -> io::Result<()> {
    match result.map_err(|error| (error.raw_os_error(), error)) {
        Ok(_) | Err((Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN), _)) => Ok(()),
        Err((_, error)) => Err(error),
    }
}

impl Drop for Rounds {
    fn drop(&mut self) {
        if self.in_flight > 0 {
            // The kernel may still write to the buffers: both stay until the process ends.
            std::mem::forget(self.ring.take());
            std::mem::forget(std::mem::take(&mut self.buffers));
        }
    }
}
