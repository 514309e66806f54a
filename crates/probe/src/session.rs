//! One probe under way: its target, its clock, and where its I/Os are emitted.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use iowhy_model::{
    DeviceId, Distribution, Event, Fact, Flags, Layer, Level, Nanos, Op, Sampling, Sink, Source,
    Stage, Time,
};

use crate::engine::{self, Clock, Io, Run, SoFar, Watcher};
use crate::error::Error;
use crate::job::{Durable, Job};
use crate::limits::{Limit, limits};
use crate::logbook::Logbook;
use crate::outcome::{Outcome, time};
use crate::own_facts::{self, Own};
use crate::rate_limit::{LimitedRun, limited};
use crate::target::Target;

/// A probe under way.
pub struct Session<'a> {
    /// What is measured.
    pub target: Target,
    sink: &'a mut dyn Sink,
    /// The user asked to stop.
    stop: &'a AtomicBool,
    /// The engine is to stop, for that reason or another.
    halt: AtomicBool,
    progress: &'a mut dyn FnMut(&str),
    clock: Clock,
    device: DeviceId,
    limits: Vec<Limit>,
    logbook: Option<Logbook>,
    expected: Option<Duration>,
    own: Own,
    ended: Option<String>,
}

/// How often the sensors are read: it costs the drive a command (`drivers/nvme/host/hwmon.c`).
const SENSED: Duration = Duration::from_secs(5);

impl<'a> Session<'a> {
    /// Begins a listing of the probe `kind` in the sink.
    pub fn begin(
        kind: &str,
        target: Target,
        sink: &'a mut dyn Sink,
        stop: &'a AtomicBool,
        progress: &'a mut dyn FnMut(&str),
    ) -> Session<'a> {
        let mut source = Source::new("probe", kind, Level::C);
        source.sampling = Sampling::Traced;
        sink.begin(source);
        let device = sink.device(&target.name());
        let limits = limits(&target);
        for limit in &limits {
            let (value, file) = (limit.per_s.to_string(), limit.file.display().to_string());
            sink.fact(Fact::read(Some(device), limit.kind.key(), &value, file));
        }
        let heading = format!("{kind} on {}", target.name());
        Session {
            target,
            sink,
            stop,
            halt: AtomicBool::new(false),
            progress,
            clock: Clock::start(),
            device,
            limits,
            logbook: Logbook::begin(&heading),
            expected: None,
            own: Own { no_cpu_ns: Some(0), ..Own::default() },
            ended: None,
        }
    }

    /// How long the whole probe is expected to take.
    pub fn expect(&mut self, time: Duration) {
        self.expected = Some(time);
    }

    /// Whether the probe is over before its time: the user, an error or the heat ended it.
    pub fn over(&self) -> bool {
        self.ended.is_some() || self.stop.load(Ordering::Relaxed)
    }

    /// Runs a job, emits its I/Os, and shows under `what` that it is under way.
    ///
    /// # Errors
    /// If the engine cannot run the job. An I/O that fails ends the probe, but is not an error
    /// here.
    pub fn measure(&mut self, job: &Job, what: &str) -> Result<Run, Error> {
        let run = self.attempt(job, what)?;
        if let Some(io) = run.failed {
            let cause = std::io::Error::from_raw_os_error(i32::from(io.error));
            let (op, offset) = (io.op.name(), io.offset);
            self.ended =
                Some(format!("the {op} of {} bytes at {offset} failed: {cause}", io.bytes));
        }
        Ok(run)
    }

    /// The same, but an I/O that fails does not end the probe.
    pub fn attempt(&mut self, job: &Job, what: &str) -> Result<Run, Error> {
        let (clock, expected) = (self.clock, self.expected);
        let begun_ns = clock.now_ns();
        let (progress, logbook) = (&mut *self.progress, &mut self.logbook);
        let (target, stop, halt) = (&self.target, self.stop, &self.halt);
        let mut hot = too_hot(target);
        let mut sensed_ns = begun_ns;
        halt.store(hot.is_some() || stop.load(Ordering::Relaxed), Ordering::Relaxed);
        let mut tick = |so_far: SoFar| {
            let now_ns = clock.now_ns();
            if now_ns - sensed_ns >= SENSED.as_nanos() as u64 {
                hot = hot.take().or_else(|| too_hot(target));
                sensed_ns = now_ns;
            }
            if hot.is_some() || stop.load(Ordering::Relaxed) {
                halt.store(true, Ordering::Relaxed);
            }
            let spent = Duration::from_nanos(now_ns - begun_ns);
            let left = match expected {
                Some(expected) => Some(expected.saturating_sub(Duration::from_nanos(now_ns))),
                None => left(job, so_far.n, spent),
            };
            let line = format!("{what}: {}", words(&so_far));
            if let Some(book) = logbook {
                book.under_way(&format!("{line}, when it was killed"));
            }
            let left = left.map(|left| format!(", {} s left", left.as_secs() + 1));
            progress(&format!("{line}{}; Ctrl-C ends early", left.unwrap_or_default()));
        };
        let mut watcher = Watcher { stop: halt, tick: &mut tick };
        let run = engine::run(target, job, clock, &mut watcher)?;
        if hot.is_some() {
            self.ended = hot;
        }
        if let Some(book) = &mut self.logbook {
            book.done(&format!("{what}: {}", words(&run.so_far())));
        }
        self.emit(job, &run);
        let longer =
            |held: &LimitedRun| self.own.held.as_ref().is_none_or(|known| held.n > known.n);
        if let Some(held) = limited(job, &run, &self.limits).filter(longer) {
            self.own.held = Some(held);
        }
        self.own.n += run.latency.n;
        self.own.cpu_ns += run.cpu_ns;
        self.own.ran_ns += run.span_ns.1.saturating_sub(run.span_ns.0);
        self.own.latency_ns += run.latency.sum_ns;
        self.own.no_cpu_ns = self.own.no_cpu_ns.zip(run.no_cpu_ns).map(|(sum, more)| sum + more);
        self.own.late.add(&run.late);
        self.own.way = run.way;
        Ok(run)
    }

    /// Does one I/O of a job that is not counted, so that the first that is begins where the one
    /// before it ended.
    ///
    /// # Errors
    /// If the engine cannot run the job. An I/O that fails will fail again, and be reported then.
    pub fn warm_up(&mut self, job: &Job) -> Result<(), Error> {
        let job = Job { count: Some(1), ..job.clone() };
        let mut watcher = Watcher { stop: self.stop, tick: &mut |_| {} };
        engine::run(&self.target, &job, self.clock, &mut watcher).map(|_| ())
    }

    /// Waits without I/O, unless the user ends it.
    pub fn rest(&mut self, time: Duration, what: &str) {
        let until_ns = self.clock.now_ns() + time.as_nanos() as u64;
        while !self.over() {
            let left_ns = until_ns.saturating_sub(self.clock.now_ns());
            if left_ns == 0 {
                return;
            }
            let left = self.expected.map(|expected| {
                let left = expected.saturating_sub(Duration::from_nanos(self.clock.now_ns()));
                format!(", {} s left", left.as_secs() + 1)
            });
            (self.progress)(&format!("{what}{}; Ctrl-C ends early", left.unwrap_or_default()));
            std::thread::sleep(Duration::from_nanos(left_ns.min(100_000_000)));
        }
    }

    /// Ends the listing with what the probe found out of itself; shows what the engine cost, and
    /// why the probe ended early if it did.
    pub fn end(self, outcome: &Outcome) -> (Own, Option<String>) {
        for (key, value, read_from) in own_facts::of(&self.own, outcome) {
            self.sink.fact(Fact::new(Some(self.device), key, value, read_from));
        }
        self.sink.source().watched = Some(Nanos(self.clock.now_ns() as i64));
        self.sink.end();
        let asked =
            self.stop.load(Ordering::Relaxed).then(|| "interrupted by the user".to_string());
        (self.own, self.ended.or(asked))
    }

    fn emit(&mut self, job: &Job, run: &Run) {
        let one = self.target.is_one_request(job);
        let layer = if one { Layer::Block } else { Layer::Application };
        for io in run.ios.iter().filter(|io| io.error == 0) {
            self.sink.event(event(io, job, self.device, layer));
        }
        if !one && run.latency.n > 0 {
            // What the program waited, as other testers print it: the judge takes it as that.
            let histogram = run.latency.histogram();
            let mut known = Distribution::new(self.device, layer, Stage::Total, histogram);
            let alike = job.reads.is_none() && job.plan.is_none();
            known.op = (alike || !job.may_write()).then_some(job.op);
            known.bytes = job.plan.is_none().then_some(job.bytes);
            self.sink.distribution(known);
        }
        self.sink.lost("I/Os counted but not kept", run.not_kept);
        self.sink.lost("I/Os that were due and never started", run.unserved.0);
        self.sink.lost("I/Os that never completed", run.vanished);
    }
}

/// Why the heat ends the probe, if it does.
fn too_hot(target: &Target) -> Option<String> {
    let (heat, limit) = target.heat()?;
    (heat >= limit)
        .then(|| format!("the device temperature is {heat:.0} C, its limit {limit:.0} C"))
}

/// How long a job still takes, by its pace so far and by its time.
fn left(job: &Job, done: u64, spent: Duration) -> Option<Duration> {
    let by_time = job.time.map(|time| time.saturating_sub(spent));
    let by_count = job
        .count
        .filter(|_| done > 0)
        .map(|count| spent.mul_f64(count.saturating_sub(done) as f64 / done as f64));
    by_time.into_iter().chain(by_count).min()
}

fn words(so_far: &SoFar) -> String {
    let (Some(min), Some(max), n) = (so_far.min_ns, so_far.max_ns, so_far.n) else {
        return format!("{} I/Os", so_far.n);
    };
    let mean = time(so_far.sum_ns as f64 / n as f64 / 1e6);
    let (min, max) = (time(min as f64 / 1e6), time(max as f64 / 1e6));
    format!("{n} I/Os, {mean} on average, {min} to {max}")
}

fn event(io: &Io, job: &Job, device: DeviceId, layer: Layer) -> Event {
    let at = |ns: u64| Some(Time::from_ns(ns as i64));
    let mut event = Event::new(device, io.op, layer);
    event.queued = at(io.intended_ns);
    event.issued = at(io.issued_ns);
    event.completed = at(io.completed_ns);
    event.sector = Some(io.offset / 512);
    event.bytes = Some(io.bytes);
    event.pid = Some(std::process::id());
    event.depth = NonZeroU32::new(io.depth);
    if io.op == Op::Write && job.durable != Durable::Plain {
        event.flags = Flags::SYNC;
    }
    event
}
