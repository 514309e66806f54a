//! This machine becomes a recording, for so long.

use std::collections::HashSet;
use std::time::Duration;

use iowhy_live::{BlockDevice, BlockTrace, Ftrace, StackCount};
use iowhy_model::{Fact, Filter, Recording, Sink};

use crate::arguments::{Repeat, Selection};
use crate::collectors::LiveCollectors;
use crate::confinement::{self, Later};
use crate::crosscheck::CrossCheck;
use crate::device_lookup::known_devices;
use crate::inputs;
use crate::messages::{self, Progress};
pub use crate::plan::Plan;
use crate::stop::Stop;
use crate::ticker::Ticker;
use crate::watch_time::RunningCommand;

/// The longest sleep: a request to stop and a dead pipe are seen that soon.
const NAP: Duration = Duration::from_millis(200);

/// Collectors at work and what they gave so far.
pub struct Watch {
    recording: Recording,
    collectors: LiveCollectors,
    /// The devices that were asked for.
    wanted: Vec<String>,
    command: Option<RunningCommand>,
    ticker: Ticker,
    cpu_before: Duration,
    progress: Progress,
    seen: u64,
}

impl Watch {
    /// Begins the collectors, and gives up what rights they needed for that.
    ///
    /// # Errors
    /// As [`LiveCollectors::begin`].
    pub fn start(plan: &Plan) -> anyhow::Result<Watch> {
        let mut recording = Recording::new();
        // Before anything is watched: what was seen is shown to whoever stops it at once.
        let stop = Stop::new()?;
        let collectors = LiveCollectors::begin(plan, &mut recording)?;
        let command = plan.command.start()?;
        // From here on only what is open is needed. What a command writes it opens before.
        if plan.stacks {
            iowhy_live::give_up_rights_but_looking()?;
        } else {
            iowhy_live::give_up_rights()?;
        }
        // Landlock keeps a process from looking into the maps of others.
        let later = if plan.stacks { &Later::Look } else { &plan.later };
        let event_text = collectors.of::<Ftrace>().is_some();
        confinement::watching(later, plan.root.as_deref(), event_text)?;
        Ok(Watch {
            recording,
            collectors,
            wanted: plan.devices.clone(),
            command,
            ticker: Ticker::start(stop, Duration::MAX),
            cpu_before: cpu_time(),
            progress: Progress::new(plan.progress),
            seen: 0,
        })
    }

    /// Whether requests are traced, not only counters sampled.
    pub fn traces(&self) -> bool {
        self.collectors.traces()
    }

    /// What is left to be filtered here: all of it where the kernel's event text is read, only
    /// devices and operations where the kernel has counted already.
    pub fn filter_of_counted(&mut self, selection: &Selection) -> Filter {
        match self.collectors.of::<Ftrace>() {
            Some(_) => selection.filter(&mut self.recording),
            None => selection.filter_of_counted(&mut self.recording),
        }
    }

    /// Whether the kernel's own waits are too high for batched requests.
    pub fn plug_clock(&self) -> bool {
        self.collectors.of().is_some_and(BlockTrace::plug_clock)
    }

    /// What each stack sent since the last time, and how many I/Os had none.
    pub fn take_stacks(&mut self) -> (Vec<StackCount>, u64) {
        self.collectors.of_mut().map(BlockTrace::take_stacks).unwrap_or_default()
    }

    /// Whether the user asked to stop, or the command that was watched has ended.
    pub fn stopped(&self) -> bool {
        self.ticker.stopped() || self.command.as_ref().is_some_and(RunningCommand::has_ended)
    }

    /// How long this has been watching.
    pub fn elapsed(&self) -> Duration {
        self.ticker.elapsed()
    }

    /// Clears the line of progress, for what is drawn on the same terminal.
    pub fn quiet(&self) {
        self.progress.update("");
    }

    /// What was recorded so far.
    pub fn recording(&mut self) -> &mut Recording {
        &mut self.recording
    }

    /// Watches until `until` after the start, or until it is [stopped](Self::stopped); then all is
    /// poured.
    ///
    /// # Errors
    /// If a source broke.
    pub fn run_until(&mut self, until: Duration) -> anyhow::Result<()> {
        loop {
            let elapsed = self.elapsed();
            if elapsed >= until || self.stopped() {
                return self.collectors.poll_up_to(Duration::MAX, &mut self.recording);
            }
            std::thread::sleep(self.collectors.idle().min(until - elapsed).min(NAP));
            self.poll()?;
            self.show_progress(until);
        }
    }

    /// Pours what is due, for who has a loop of his own.
    ///
    /// # Errors
    /// As [`run_until`](Self::run_until).
    pub fn poll(&mut self) -> anyhow::Result<()> {
        inputs::still_silent()?;
        self.collectors.poll(&mut self.recording)
    }

    /// Ends the watch: the collectors give what they still hold and let go of the kernel.
    ///
    /// # Errors
    /// If a source broke.
    pub fn end(self) -> anyhow::Result<Recording> {
        Ok(self.end_with_stacks()?.0)
    }

    /// As [`Watch::end`], with what each stack sent since the last time.
    ///
    /// # Errors
    /// If a source broke.
    pub fn end_with_stacks(mut self) -> anyhow::Result<(Recording, (Vec<StackCount>, u64))> {
        self.collectors.end(&mut self.recording)?;
        if let Some(cost) = self.collectors.of().and_then(BlockTrace::cost) {
            let words = cost.words(cpu_time() - self.cpu_before, self.elapsed());
            messages::warn(&words, None);
        }
        self.progress.update("");
        name_vanished(self.collectors.known(), &self.wanted)?;
        let stacks = self.take_stacks();
        Ok((self.recording, stacks))
    }

    fn show_progress(&mut self, until: Duration) {
        let seen = self.recording.records();
        if seen == self.seen && self.elapsed().subsec_millis() > 250 {
            return;
        }
        self.seen = seen;
        let how = if self.traces() { "tracing" } else { "sampling" };
        let text = if until == Duration::MAX {
            format!("{how}: {seen} records so far; Ctrl-C ends")
        } else {
            let left = until.saturating_sub(self.elapsed()).as_secs() + 1;
            format!("{how}: {seen} records, {left} s left; Ctrl-C ends early")
        };
        self.progress.update(&text);
    }
}

/// A watch in stretches of one length, each with what came in it.
pub struct Stretches {
    watch: Option<Watch>,
    length: Duration,
    /// How many are left.
    left: u64,
    until: Duration,
    crosscheck: CrossCheck,
}

impl Stretches {
    /// As many as were asked for: one without an interval, without a count until the user stops it.
    pub fn of(watch: Watch, repeat: Repeat, length: Duration) -> Stretches {
        let left = repeat.count.unwrap_or(if repeat.interval.is_some() { u64::MAX } else { 1 });
        let crosscheck = CrossCheck::default();
        Stretches { watch: Some(watch), length, left, until: Duration::ZERO, crosscheck }
    }

    /// Watches the next one; `None` after the last one. So often something is done with what came
    /// meanwhile.
    ///
    /// # Errors
    /// If a source broke.
    pub fn next_with(
        &mut self,
        step: Duration,
        mut with: impl FnMut(&mut Recording),
    ) -> anyhow::Result<Option<Recording>> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
        let Some(mut watch) = self.watch.take() else { return Ok(None) };
        let end = self.until.saturating_add(self.length);
        loop {
            self.until = self.until.saturating_add(step).min(end);
            watch.run_until(self.until)?;
            with(watch.recording());
            if self.until >= end || watch.stopped() {
                break;
            }
        }
        (self.until, self.left) = (end, left);
        watch.quiet();
        // The end tells what never completed: it belongs to the last stretch.
        let plug_clock = watch.plug_clock();
        let mut recording = if self.left == 0 || watch.stopped() {
            watch.end()?
        } else {
            self.watch.insert(watch).recording().take()
        };
        self.crosscheck.state(&mut recording, plug_clock);
        Ok(Some(recording))
    }

    /// Whether the last one is over.
    pub fn are_over(&self) -> bool {
        self.watch.is_none()
    }
}

/// Says which devices went away while they were watched: they are gone, or their medium is.
fn name_vanished(before: &[BlockDevice], wanted: &[String]) -> anyhow::Result<()> {
    vanished(before, wanted)?.iter().for_each(|name| messages::warn(&went_away(name), None));
    Ok(())
}

/// What is said of a device that is gone.
pub fn went_away(name: &str) -> String {
    format!("`{name}` disappeared while being watched; its earlier I/O is kept")
}

/// The devices that are gone by now, or whose medium is.
///
/// # Errors
/// If /sys cannot be read.
pub fn vanished(before: &[BlockDevice], wanted: &[String]) -> anyhow::Result<Vec<String>> {
    let now = known_devices()?;
    let there: HashSet<&str> =
        now.iter().filter(|one| one.bytes.unwrap_or(0) > 0).map(|one| one.name.as_str()).collect();
    let had = before.iter().filter(|one| one.bytes.unwrap_or(0) > 0).map(|one| &one.name);
    let asked_for = had.filter(|name| wanted.is_empty() || wanted.contains(name));
    Ok(asked_for.filter(|name| !there.contains(name.as_str())).cloned().collect())
}

/// Adds what sysfs says of the devices that did something to the open listing.
pub fn state_facts(recording: &mut Recording) -> anyhow::Result<()> {
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
