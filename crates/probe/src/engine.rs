//! The engine: one job on one target, every I/O timed from the moment it was due.
//!
//! io_uring from one thread where the kernel allows it, else plain system calls from one thread
//! per I/O in flight. Both feed the same tallies.

mod buffers;
mod calls;
mod course;
mod gather;
mod next;
mod ring;
mod schedule;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

pub(crate) use buffers::AlignedBuffer;
pub(crate) use gather::Gather;
pub use gather::{Io, SoFar};
use schedule::Schedule;

use crate::error::Error;
use crate::job::{EngineChoice, Job};
use crate::latencies::Latencies;
use crate::target::{KernelCounts, Target};
use iowhy_model::Order as _;

/// Time since the session began, in ns, on the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

impl Clock {
    /// A clock that shows 0 now.
    pub fn start() -> Clock {
        Clock(Instant::now())
    }

    /// What it shows.
    #[inline]
    pub fn now_ns(self) -> u64 {
        self.0.elapsed().as_nanos() as u64
    }
}

/// An observer of the engine: may stop it, and gets its progress.
pub struct Watcher<'a> {
    /// Becomes true when the user asked to stop.
    pub stop: &'a AtomicBool,
    /// Is called a few times per second with what was done so far.
    pub tick: &'a mut dyn FnMut(SoFar),
}

/// How often a watcher is called, and the longest the engine sleeps.
const TICK: Duration = Duration::from_millis(200);

impl Watcher<'_> {
    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// What a run gave.
pub struct Run {
    /// Latencies from the moment each I/O was due.
    pub latency: Latencies,
    /// Latencies from submission.
    pub service: Latencies,
    /// How late the engine itself was with submitting, though it could have.
    pub late: Latencies,
    /// Latencies of reads and of writes, of a job that does both.
    pub of_both: Option<Box<[Latencies; 2]>>,
    /// The I/Os, by completion.
    pub ios: Vec<Io>,
    /// I/Os counted but not kept.
    pub not_kept: u64,
    /// I/Os that were due but never started because the maximum number was in flight, and the
    /// longest time one of them had waited, ns.
    pub unserved: (u64, u64),
    /// I/Os that never came back.
    pub vanished: u64,
    /// The I/O that failed and so ended the run.
    pub failed: Option<Io>,
    /// Whether the user ended it.
    pub stopped: bool,
    /// When it began, and when its last I/O completed, ns on the session's clock.
    pub span_ns: (u64, u64),
    /// CPU time the whole process used meanwhile, ns.
    pub cpu_ns: u64,
    /// Time the engine's threads were ready to run without a CPU, ns; `None` if the kernel does not
    /// report it.
    pub no_cpu_ns: Option<u64>,
    /// What the kernel counted on the device meanwhile, if it has one; others' I/Os included.
    pub counted: Option<KernelCounts>,
    /// `io_uring` or `calls`.
    pub way: &'static str,
}

impl Run {
    /// Most I/Os that were in flight at once.
    pub fn depth_reached(&self) -> u32 {
        self.ios.iter().map(|io| io.depth).max().unwrap_or(1)
    }

    /// A summary.
    pub fn so_far(&self) -> SoFar {
        SoFar::of(&self.latency)
    }

    /// Seconds from its beginning to its last completion.
    pub fn seconds(&self) -> f64 {
        (self.span_ns.1.saturating_sub(self.span_ns.0)) as f64 / 1e9
    }

    /// Completions per second; `None` if it was too short to have any.
    pub fn per_s(&self) -> Option<f64> {
        (self.seconds() > 0.0 && self.latency.n > 0).then(|| self.latency.n as f64 / self.seconds())
    }
}

/// Runs a job on a target until its count, its time, an error or the watcher ends it.
///
/// # Errors
/// If the engine cannot be set up, or if the job does not fit the target. An I/O that fails is no
/// error: it ends the run, and earlier measurements stay valid.
pub fn run(
    target: &Target,
    job: &Job,
    clock: Clock,
    watcher: &mut Watcher<'_>,
) -> Result<Run, Error> {
    target.fits(job)?;
    let begun_ns = clock.now_ns();
    let (cpu_ns, before) = (cpu_ns(), target.counted());
    let mut schedule = Schedule::of(job, begun_ns);
    let mut ended = match job.way {
        EngineChoice::Calls => calls::run(target, job, &mut schedule, clock, watcher)?,
        EngineChoice::Ring => ring::run(target, job, &mut schedule, clock, watcher)?,
        // Set up before the first I/O: a schedule that was not begun can go to the other one.
        EngineChoice::Best => match ring::run(target, job, &mut schedule, clock, watcher) {
            Err(_) => calls::run(target, job, &mut schedule, clock, watcher)?,
            ended => ended?,
        },
    };
    let ended_ns = clock.now_ns();
    ended.gather.ios.order_by_key(|io| io.completed_ns);
    let last_ns = ended.gather.ios.last().map_or(ended_ns, |io| io.completed_ns);
    let gather = ended.gather;
    let unserved = if gather.failed.is_none() { schedule.unserved(ended_ns) } else { (0, 0) };
    Ok(Run {
        latency: gather.latency,
        service: gather.service,
        late: gather.late,
        of_both: gather.of_both,
        ios: gather.ios,
        unserved,
        vanished: ended.vanished,
        failed: gather.failed,
        stopped: watcher.stopped(),
        span_ns: (begun_ns, if gather.not_kept > 0 { ended_ns } else { last_ns }),
        not_kept: gather.not_kept,
        cpu_ns: self::cpu_ns().saturating_sub(cpu_ns),
        no_cpu_ns: ended.no_cpu_ns,
        counted: before.zip(target.counted()).map(|(before, after)| KernelCounts {
            ios: after.ios.saturating_sub(before.ios),
            ms: after.ms.saturating_sub(before.ms),
        }),
        way: ended.way,
    })
}

/// The end of one of the two engines.
struct EngineResult {
    gather: Gather,
    vanished: u64,
    no_cpu_ns: Option<u64>,
    way: &'static str,
}

/// CPU time of this process.
fn cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    (time.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_nsec as u64)
}

/// Time the calling thread waited for a CPU since it began (second number of
/// /proc/PID/schedstat, Documentation/scheduler/sched-stats.rst).
fn no_cpu_ns() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().nth(1)?.parse().ok()
}
