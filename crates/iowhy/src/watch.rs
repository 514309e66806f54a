//! The loop of every command that watches this machine, and of the recorder: it sleeps until a
//! collector is due, polls it into a sink, and returns the records interval by interval, until its
//! time is over, its command has ended, or the user stops it.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use iowhy_live::{BlockDevice, BlockTrace, Ftrace, StackCount};
use iowhy_model::{Fact, Filter, Recording, Sink};

use crate::arguments::{Repeat, Selection};
use crate::collectors::LiveCollectors;
use crate::confinement::{self, Later};
use crate::crosscheck::CrossCheck;
use crate::device_lookup::known_devices;
use crate::inputs;
use crate::messages::{self, Progress};
pub(crate) use crate::plan::Plan;
use crate::stop::Stop;
use crate::watch_time::RunningCommand;

/// The longest sleep, which bounds the delay of a stop request or a closed pipe.
const NAP: Duration = Duration::from_millis(200);

/// Running collectors and their sink.
pub(crate) struct Watch<S = Recording> {
    /// Their records so far.
    pub sink: S,
    /// The collectors.
    pub collectors: LiveCollectors,
    stop: Stop,
    command: Option<RunningCommand>,
    begun: Instant,
    /// Its time limit.
    length: Duration,
    /// The end of the current interval, since the start.
    until: Duration,
    cpu_before: Duration,
    progress: Progress,
    /// The text of the line of progress.
    reported: String,
}

impl<S: Sink> Watch<S> {
    /// Continues with started collectors, from now on and as long as the plan says. The stop flag
    /// was created before anything was watched.
    pub(crate) fn of(sink: S, mut collectors: LiveCollectors, stop: Stop, plan: &Plan) -> Watch<S> {
        collectors.align();
        Watch {
            sink,
            collectors,
            stop,
            command: None,
            begun: Instant::now(),
            length: plan.length.unwrap_or(Duration::MAX),
            until: Duration::ZERO,
            cpu_before: cpu_time(),
            progress: Progress::new(plan.progress),
            reported: String::new(),
        }
    }

    /// Starts the command of the plan, if there is one, then drops privileges. Outputs were opened
    /// before.
    ///
    /// # Errors If the command cannot be started, or the kernel supports confinement and refuses
    /// it.
    pub(crate) fn set_out(&mut self, plan: &Plan) -> anyhow::Result<()> {
        self.command = plan.command.start()?;
        if plan.stacks {
            iowhy_live::give_up_rights_but_looking()?;
        } else {
            iowhy_live::give_up_rights()?;
        }
        // Landlock prevents reading the maps of other processes.
        let later = if plan.stacks { &Later::Look } else { &plan.later };
        let event_text = self.collectors.of::<Ftrace>().is_some();
        confinement::watching(later, plan.root.as_deref(), event_text)
    }

    /// Whether it is over: time limit, command or user.
    pub(crate) fn is_over(&self) -> bool {
        self.elapsed() >= self.length || self.stopped()
    }

    /// Whether the user asked to stop, or the command that was watched has ended.
    pub(crate) fn stopped(&self) -> bool {
        self.stop.asked() || self.command.as_ref().is_some_and(RunningCommand::has_ended)
    }

    /// The end of the current interval, since the start.
    pub(crate) fn until(&self) -> Duration {
        self.until
    }

    /// How long this has been watching.
    pub(crate) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// The loop: watches for an interval of this length, at most until the end of the watch.
    /// Between two polls `wait` waits, at most for the given time, and ends the interval by
    /// returning `true`. At the end it polls all collectors of an interval of this length.
    ///
    /// # Errors If a source broke, or an error of `wait`.
    pub(crate) fn run(
        &mut self,
        length: Duration,
        mut wait: impl FnMut(&mut Watch<S>, Duration) -> anyhow::Result<bool>,
    ) -> anyhow::Result<()> {
        // Intervals follow each other without a gap, except after a time without polls: the machine
        // was suspended, or this process did not run.
        let (next, now) = (self.until.saturating_add(length), self.elapsed());
        let next = if next > now { next } else { now.saturating_add(length) };
        self.until = next.min(self.length);
        let mut outcome = Ok(false);
        while !self.stopped() && self.elapsed() < self.until && matches!(outcome, Ok(false)) {
            let left = self.until.saturating_sub(self.elapsed());
            outcome = wait(self, self.collectors.idle().min(left).min(NAP));
            inputs::still_silent()?;
            if self.elapsed() < self.until {
                self.collectors.poll(&mut self.sink)?;
            }
        }
        self.until = self.until.min(self.elapsed());
        // Records from before a failure are not lost.
        self.collectors.poll_stretch(length, &mut self.sink)?;
        outcome.map(|_| ())
    }

    /// Waits, and shows progress and the remaining time on a terminal: until the end, or until the
    /// end of the interval if there is none.
    pub(crate) fn nap(&mut self, nap: Duration, doing: &str) {
        std::thread::sleep(nap);
        let end = if self.length < Duration::MAX { self.length } else { self.until };
        if end == Duration::MAX {
            return self.show(format!("{doing} so far; Ctrl-C ends"));
        }
        let left = end.saturating_sub(self.elapsed()).as_secs() + 1;
        self.show(format!("{doing}, {left} s left; Ctrl-C ends early"));
    }

    /// Shows progress on a terminal.
    pub(crate) fn show(&mut self, text: String) {
        if text != self.reported {
            self.progress.update(&text);
            self.reported = text;
        }
    }

    /// Clears the line of progress before drawing on the same terminal.
    pub(crate) fn quiet(&mut self) {
        self.show(String::new());
    }

    /// Ends the collectors: they emit the rest and detach. Their results remain available.
    ///
    /// # Errors
    /// If a source broke.
    pub(crate) fn finish(&mut self) -> anyhow::Result<()> {
        self.quiet();
        self.collectors.end(&mut self.sink)
    }
}

impl Watch {
    /// Begins the collectors, and drops the privileges needed for that.
    ///
    /// # Errors
    /// As [`LiveCollectors::begin`].
    pub(crate) fn start(plan: &Plan) -> anyhow::Result<Watch> {
        Watch::start_with(plan, |_, _| Ok(()))
    }

    /// The same with additional collectors.
    ///
    /// # Errors
    /// As [`LiveCollectors::begin`], and if `more` cannot begin.
    pub(crate) fn start_with(
        plan: &Plan,
        more: impl FnOnce(&mut LiveCollectors, &mut Recording) -> anyhow::Result<()>,
    ) -> anyhow::Result<Watch> {
        // Before anything is watched, so that an immediate stop still shows results.
        let (stop, mut recording) = (Stop::new()?, Recording::new());
        let mut collectors = LiveCollectors::begin(plan, &mut recording)?;
        more(&mut collectors, &mut recording)?;
        let mut watch = Watch::of(recording, collectors, stop, plan);
        watch.set_out(plan)?;
        Ok(watch)
    }

    /// The part of the filter that is applied here: all of it for the kernel's event text, only
    /// devices and operations if the kernel has counted already.
    pub(crate) fn filter_of_counted(&mut self, selection: &Selection) -> Filter {
        match self.collectors.of::<Ftrace>() {
            Some(_) => selection.filter(&mut self.sink),
            None => selection.filter_of_counted(&mut self.sink),
        }
    }

    /// Whether the kernel's own waits are too high for batched requests.
    pub(crate) fn plug_clock(&self) -> bool {
        self.collectors.of().is_some_and(BlockTrace::plug_clock)
    }

    /// I/Os by stack since the last call, and the number without a stack.
    pub(crate) fn take_stacks(&mut self) -> (Vec<StackCount>, u64) {
        self.collectors.of_mut().map(BlockTrace::take_stacks).unwrap_or_default()
    }

    /// Watches for an interval of this length.
    ///
    /// # Errors
    /// If a source broke.
    pub(crate) fn run_for(&mut self, length: Duration) -> anyhow::Result<()> {
        let how = if self.collectors.traces() { "tracing" } else { "sampling" };
        self.run(length, |watch, nap| {
            watch.nap(nap, &format!("{how}: {} records", watch.sink.records()));
            Ok(false)
        })
    }

    /// Ends the watch; reports its cost, if requested, and devices that went away.
    ///
    /// # Errors
    /// If a source broke.
    pub(crate) fn end(&mut self) -> anyhow::Result<Recording> {
        self.finish()?;
        if let Some(cost) = self.collectors.of().and_then(BlockTrace::cost) {
            let words = cost.words(cpu_time() - self.cpu_before, self.elapsed());
            messages::warn(&words, None);
        }
        for name in vanished(&self.collectors)? {
            messages::warn(&went_away(&name), None);
        }
        Ok(std::mem::take(&mut self.sink))
    }
}

/// A watch in intervals of equal length, each with its records.
pub(crate) struct Stretches {
    watch: Option<Watch>,
    length: Duration,
    /// How many are left.
    left: u64,
    crosscheck: CrossCheck,
}

impl Stretches {
    /// The requested number: one without an interval; without a count until the user stops it.
    pub(crate) fn of(watch: Watch, repeat: Repeat, length: Duration) -> Stretches {
        let crosscheck = CrossCheck::default();
        Stretches { watch: Some(watch), length, left: repeat.reports(), crosscheck }
    }

    /// Watches the next one; `None` after the last one. `with` is called every `step` with the
    /// records so far.
    ///
    /// # Errors
    /// If a source broke.
    pub(crate) fn next_with(
        &mut self,
        step: Duration,
        mut with: impl FnMut(&mut Recording),
    ) -> anyhow::Result<Option<Recording>> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
        let Some(mut watch) = self.watch.take() else { return Ok(None) };
        self.left = left;
        let end = watch.until.saturating_add(self.length);
        loop {
            watch.run_for(step.min(end.saturating_sub(watch.until)))?;
            with(&mut watch.sink);
            if watch.until >= end || watch.stopped() {
                break;
            }
        }
        watch.quiet();
        // Requests that never completed are known at the end, and belong to the last interval.
        let plug_clock = watch.plug_clock();
        let mut recording = if left == 0 || watch.stopped() {
            watch.end()?
        } else {
            self.watch.insert(watch).sink.take()
        };
        self.crosscheck.add_facts(&mut recording, plug_clock);
        Ok(Some(recording))
    }

    /// Whether the last one is over.
    pub(crate) fn are_over(&self) -> bool {
        self.watch.is_none()
    }
}

/// The note on a removed device.
pub(crate) fn went_away(name: &str) -> String {
    format!("`{name}` disappeared while being watched; its earlier I/O is kept")
}

/// The devices that were removed, or whose medium was.
///
/// # Errors
/// If /sys cannot be read.
pub(crate) fn vanished(collectors: &LiveCollectors) -> anyhow::Result<Vec<String>> {
    let there = |one: &&BlockDevice| one.bytes.unwrap_or(0) > 0;
    let now = known_devices()?;
    let now: HashSet<&str> = now.iter().filter(there).map(|one| one.name.as_str()).collect();
    let had = collectors.watched().filter(there).map(|one| one.name.clone());
    Ok(had.filter(|name| !now.contains(name.as_str())).collect())
}

/// Adds sysfs facts about active devices to the open listing.
pub(crate) fn state_facts(recording: &mut Recording) -> anyhow::Result<()> {
    for device in known_devices()? {
        let Some(id) = recording.find_device(&device.name) else { continue };
        for (key, value, read_from) in device.facts {
            recording.fact(Fact::read(Some(id), key, &value, read_from));
        }
    }
    Ok(())
}

/// CPU time of this process so far.
fn cpu_time() -> Duration {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(used.tv_sec as u64, used.tv_nsec as u32)
}
