//! The engine on plain system calls: pread or pwrite, one thread per I/O in flight.

use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use iowhy_model::{Op, Random};
use rustix::io::ReadWriteFlags;

use super::next::Next;
use super::schedule::Schedule;
use super::{AlignedBuffer, Clock, EngineResult, Gather, Io, SoFar, TICK, Watcher, no_cpu_ns};
use crate::error::Error;
use crate::job::{Durable, Job};
use crate::target::Target;

/// Most threads: more in flight need io_uring.
const THREADS: u32 = 256;
/// The time before an I/O is due below which sleeping is not worthwhile.
const NEAR_NS: u64 = 20_000;

/// What the threads share.
struct ThreadsState<'a> {
    target: &'a Target,
    job: &'a Job,
    clock: Clock,
    schedule: Mutex<&'a mut Schedule>,
    over: &'a AtomicBool,
    failed: AtomicBool,
    in_flight: AtomicU32,
    so_far: Mutex<SoFar>,
}

/// Runs the schedule.
pub(super) fn run(
    target: &Target,
    job: &Job,
    schedule: &mut Schedule,
    clock: Clock,
    watcher: &mut Watcher<'_>,
) -> Result<EngineResult, Error> {
    let shared = ThreadsState {
        target,
        job,
        clock,
        schedule: Mutex::new(schedule),
        over: watcher.stop,
        failed: false.into(),
        in_flight: AtomicU32::new(0),
        so_far: Mutex::default(),
    };
    let main = std::thread::current();
    let threads = job.load.depth().min(THREADS);
    let mut gather = Gather::of(job);
    let mut no_cpu = Some(0);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|number| {
                let (shared, main) = (&shared, main.clone());
                scope.spawn(move || {
                    let found = shared.work(number);
                    main.unpark();
                    found
                })
            })
            .collect();
        while workers.iter().any(|worker| !worker.is_finished()) {
            std::thread::park_timeout(TICK);
            (watcher.tick)(shared.so_far.lock().map_or_else(|_| SoFar::default(), |known| *known));
        }
        for (found, waited_ns) in workers.into_iter().filter_map(|worker| worker.join().ok()) {
            gather.add(found);
            no_cpu = no_cpu.zip(waited_ns).map(|(sum, more): (u64, u64)| sum + more);
        }
    });
    Ok(EngineResult { gather, vanished: 0, no_cpu_ns: no_cpu, way: "calls" })
}

/// An I/O that is due.
struct Due {
    intended_ns: u64,
    offset: u64,
    op: Op,
    bytes: u32,
    number: u32,
}

impl ThreadsState<'_> {
    /// One thread: I/O after I/O until there are no more.
    fn work(&self, number: u32) -> (Gather, Option<u64>) {
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        let mut random = Random::seeded(self.job.seed ^ u64::from(number) << 32);
        let planned = self.job.plan.is_some();
        let mut length = if planned { 0 } else { self.job.bytes };
        let mut buffer = AlignedBuffer::new(length as usize, &mut random);
        let mut gather = Gather::of(self.job);
        let waited_ns = no_cpu_ns();
        let open = self.job.load.has_a_schedule();
        let mut free_since_ns = self.clock.now_ns();
        while let Some(Due { intended_ns, offset, op, bytes, number }) = self.due() {
            if bytes > length {
                // In a plan, most threads never see the largest I/O.
                length = bytes.next_power_of_two();
                buffer = AlignedBuffer::new(length as usize, &mut random);
            }
            let part = buffer.bytes().get_mut(..bytes as usize).unwrap_or_default();
            let depth = self.in_flight.fetch_add(1, Ordering::Relaxed) + 1;
            let issued_ns = self.clock.now_ns();
            let result = self.once(op, part, offset);
            let completed_ns = self.clock.now_ns();
            self.in_flight.fetch_sub(1, Ordering::Relaxed);
            let error = match result {
                Ok(()) => 0,
                Err(error) => {
                    self.failed.store(true, Ordering::Relaxed);
                    error.raw_os_error().map_or(libc::EIO, |errno| errno.max(1)) as u16
                }
            };
            // In a closed loop an I/O is due when it is issued: there is no schedule.
            let due_ns = if open { intended_ns } else { issued_ns };
            let late_ns = issued_ns.saturating_sub(due_ns.max(free_since_ns));
            let io = Io {
                intended_ns: due_ns,
                issued_ns,
                completed_ns,
                offset,
                op,
                bytes,
                depth,
                error,
            };
            if let (Ok(mut known), 0) = (self.so_far.lock(), error) {
                known.add(io.latency_ns());
            }
            gather.take(io, open.then_some(late_ns));
            if planned && let Ok(mut schedule) = self.schedule.lock() {
                schedule.completed(number, completed_ns);
            }
            free_since_ns = completed_ns;
        }
        let waited_ns = no_cpu_ns().zip(waited_ns).map(|(now, then)| now.saturating_sub(then));
        (gather, waited_ns)
    }

    /// The next I/O, once it is due.
    fn due(&self) -> Option<Due> {
        loop {
            if self.over.load(Ordering::Relaxed) || self.failed.load(Ordering::Relaxed) {
                return None;
            }
            let now_ns = self.clock.now_ns();
            let next = self.schedule.lock().ok()?.next(now_ns);
            match next {
                Next::Done => return None,
                Next::Start { intended_ns, offset, op, bytes, number } => {
                    return Some(Due { intended_ns, offset, op, bytes, number });
                }
                Next::At(due_ns) if due_ns.saturating_sub(now_ns) > NEAR_NS => {
                    let nap = Duration::from_nanos(due_ns - now_ns - NEAR_NS);
                    std::thread::sleep(nap.min(TICK));
                }
                Next::At(_) => std::hint::spin_loop(),
            }
        }
    }

    fn once(&self, op: Op, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let file = &self.target.file;
        let moved = match (op, self.job.durable) {
            (Op::Write, Durable::RwfDsync) => {
                let flags = ReadWriteFlags::DSYNC;
                rustix::io::pwritev2(file, &[io::IoSlice::new(buffer)], offset, flags)?
            }
            (Op::Write, Durable::Fdatasync) => {
                let moved = file.write_at(buffer, offset)?;
                rustix::fs::fdatasync(file)?;
                moved
            }
            (Op::Write, _) => file.write_at(buffer, offset)?,
            _ => file.read_at(buffer, offset)?,
        };
        // Shorter than asked for: the target ends before the job does.
        if moved == buffer.len() { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::EIO)) }
    }
}
