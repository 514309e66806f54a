//! This machine becomes a recording: which collectors run, for how long, how often they pour.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use iowhy_live::{
    BlockDevice, BlockTrace, Collector, DiskStats, Ftrace, StackCount, TraceMode, TraceOptions,
};
use iowhy_model::{Fact, Filter, Note, Recording, Sink};

use crate::arguments::Selection;
use crate::confined::{self, Later};
use crate::inputs;
use crate::messages::{self, Hinted, Progress};
pub use crate::plan::Plan;
use crate::stop::Stop;

/// How often the ring of the tracer is emptied: 8 MiB of 80-byte records in 20 ms are five million
/// events per second, half of it left for a wake-up that comes late.
const DRAIN: Duration = Duration::from_millis(20);
/// How often the tracer looks for devices that appeared meanwhile.
const TEND: Duration = Duration::from_secs(1);

/// Collectors at work and what they gave so far.
pub struct Watch {
    recording: Recording,
    /// The devices at the start, and those of them that were asked for.
    known: Vec<BlockDevice>,
    wanted: Vec<String>,
    tracer: Option<BlockTrace>,
    /// Event text instead, where eBPF was refused.
    text: Option<Ftrace>,
    sampler: Option<DiskStats>,
    /// What stands around the I/O.
    beside: Vec<Box<dyn Collector>>,
    /// The tracer's ring has to be emptied; histograms wait in the kernel.
    drains: bool,
    sample: Duration,
    sampled: Instant,
    tended: Instant,
    begun: Instant,
    cpu_before: Duration,
    stop: Stop,
    progress: Progress,
    seen: u64,
}

impl Watch {
    /// Starts the collectors. Without the right to trace, sampling goes on alone, and what it
    /// cannot know is said on stderr.
    ///
    /// # Errors
    /// If a named device does not exist, or if nothing at all can be watched.
    pub fn start(plan: &Plan) -> anyhow::Result<Watch> {
        let mut recording = Recording::new();
        let known = if plan.root.is_none() { known_devices()? } else { Vec::new() };
        let numbers = numbers(&known, plan)?;
        for device in &known {
            let id = recording.device(&device.name);
            if let Some(medium) = device.medium {
                recording.set_medium(id, medium);
            }
        }
        let (mut tracer, mut text) = (None, None);
        let numbers_of_text = numbers.clone();
        if let Some(mode) = plan.trace {
            let options = TraceOptions {
                devices: numbers,
                ops: plan.ops.clone(),
                filter: plan.filter.clone(),
                before: plan.before,
                cgroups: plan.cgroups,
                files: plan.files,
                stacks: plan.stacks,
                count_cost: plan.overhead,
                ..TraceOptions::new(mode)
            };
            let mut trace = BlockTrace::new(options);
            let begun = if plan.event_text { None } else { Some(trace.begin(&mut recording)) };
            match begun {
                Some(Ok(())) => tracer = Some(trace),
                refused => {
                    let refused = refused.and_then(Result::err);
                    text = event_text(&numbers_of_text, refused, plan, &mut recording)?;
                }
            }
        }
        if plan.trace.is_some() {
            explain_stacks(&known, plan, &mut recording);
        }
        if let (Some(words), Some(_)) = (&plan.filtered, &tracer) {
            let reason = format!("only I/Os {words}: the rest stayed in the kernel, uncounted");
            recording.note(Note { line: 0, text: String::new(), reason });
        }
        let mut sampler = None;
        if plan.sample.is_some() {
            let mut stats = DiskStats::new(plan.root.clone());
            stats.begin(&mut recording)?;
            sampler = Some(stats);
        }
        let mut beside = if plan.host_facts { iowhy_live::beside() } else { Vec::new() };
        for collector in &mut beside {
            collector.begin(&mut recording)?;
        }
        // From here on only what is open is needed. What a command writes it opens before.
        if plan.stacks {
            iowhy_live::give_up_rights_but_looking()?;
        } else {
            iowhy_live::give_up_rights()?;
        }
        // Landlock keeps a process from looking into the maps of others.
        let later = if plan.stacks { &Later::More } else { &plan.later };
        confined::watching(later, plan.root.as_deref())?;
        Ok(Watch {
            recording,
            known,
            wanted: plan.devices.clone(),
            drains: text.is_some() || tracer.is_some() && plan.trace == Some(TraceMode::Events),
            tracer,
            text,
            sampler,
            beside,
            sample: plan.sample.unwrap_or(Duration::MAX),
            sampled: Instant::now(),
            tended: Instant::now(),
            begun: Instant::now(),
            cpu_before: cpu_time(),
            stop: Stop::new()?,
            progress: Progress::new(plan.progress),
            seen: 0,
        })
    }

    /// Whether requests are traced, not only counters sampled.
    pub fn traces(&self) -> bool {
        self.tracer.is_some() || self.text.is_some()
    }

    /// What is left to be filtered here: all of it where the kernel's event text is read, only
    /// devices and operations where the kernel has counted already.
    pub fn filter_of_counted(&mut self, selection: &Selection) -> Filter {
        match self.text {
            Some(_) => selection.filter(&mut self.recording),
            None => selection.filter_of_counted(&mut self.recording),
        }
    }

    /// Whether the kernel's own waits are too high for batched requests.
    pub fn plug_clock(&self) -> bool {
        self.tracer.as_ref().is_some_and(BlockTrace::plug_clock)
    }

    /// What each stack sent since the last time, and how many I/Os had none.
    pub fn take_stacks(&mut self) -> (Vec<StackCount>, u64) {
        self.tracer.as_mut().map(BlockTrace::take_stacks).unwrap_or_default()
    }

    /// Whether the user asked to stop.
    pub fn stopped(&self) -> bool {
        self.stop.asked()
    }

    /// How long this has been watching.
    pub fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Clears the line of progress, for what is drawn on the same terminal.
    pub fn quiet(&self) {
        self.progress.update("");
    }

    /// What was recorded so far.
    pub fn recording(&mut self) -> &mut Recording {
        &mut self.recording
    }

    /// Watches until `until` after the start, or until the user asks to stop.
    pub fn run_until(&mut self, until: Duration) -> anyhow::Result<()> {
        loop {
            let elapsed = self.begun.elapsed();
            if elapsed >= until || self.stopped() {
                return self.pour(true);
            }
            let next_sample = self.sample.saturating_sub(self.sampled.elapsed());
            let mut nap = next_sample.min(until - elapsed);
            if self.drains {
                nap = nap.min(DRAIN);
            }
            std::thread::sleep(nap.min(Duration::from_millis(200)));
            inputs::still_silent()?;
            self.pour(false)?;
            self.tend()?;
            self.show_progress(until);
        }
    }

    /// Pours what is due, for who has a loop of his own.
    ///
    /// # Errors
    /// As [`run_until`](Self::run_until).
    pub fn poll(&mut self) -> anyhow::Result<()> {
        inputs::still_silent()?;
        self.pour(false)?;
        self.tend()
    }

    /// Lets the tracer look for devices that appeared meanwhile, and takes temperatures.
    fn tend(&mut self) -> anyhow::Result<()> {
        if self.tended.elapsed() < TEND {
            return Ok(());
        }
        self.tended = Instant::now();
        for collector in &mut self.beside {
            collector.poll(&mut self.recording)?;
        }
        if let Some(tracer) = &mut self.tracer {
            tracer.tend()?;
        }
        Ok(())
    }

    /// Ends the watch: the collectors give what they still hold and let go of the kernel.
    pub fn end(self) -> anyhow::Result<Recording> {
        Ok(self.end_with_stacks()?.0)
    }

    /// As [`Watch::end`], with what each stack sent since the last time.
    pub fn end_with_stacks(mut self) -> anyhow::Result<(Recording, (Vec<StackCount>, u64))> {
        if let Some(tracer) = &mut self.tracer {
            tracer.end(&mut self.recording)?;
            if let Some(cost) = tracer.cost() {
                messages::warn(
                    &cost.words(cpu_time() - self.cpu_before, self.begun.elapsed()),
                    None,
                );
            }
        }
        if let Some(text) = &mut self.text {
            text.end(&mut self.recording)?;
        }
        if let Some(sampler) = &mut self.sampler {
            sampler.end(&mut self.recording)?;
        }
        for collector in &mut self.beside {
            collector.end(&mut self.recording)?;
        }
        self.progress.update("");
        name_vanished(&self.known, &self.wanted)?;
        let stacks = self.take_stacks();
        Ok((self.recording, stacks))
    }

    /// Pours what has to be poured by now, or `all`.
    fn pour(&mut self, all: bool) -> anyhow::Result<()> {
        // Counters first: reading them is quick, and their interval should not hold our own work.
        if let Some(sampler) = &mut self.sampler
            && (all || self.sampled.elapsed() >= self.sample)
        {
            sampler.poll(&mut self.recording)?;
            // Kept on the grid, so that a late wake-up does not shift all that follow.
            self.sampled = match self.sampled.checked_add(self.sample) {
                Some(next) if next.elapsed() < self.sample && !all => next,
                _ => Instant::now(),
            };
        }
        if let Some(tracer) = &mut self.tracer
            && (all || self.drains)
        {
            tracer.poll(&mut self.recording)?;
        }
        if let Some(text) = &mut self.text {
            text.poll(&mut self.recording)?;
        }
        Ok(())
    }

    fn show_progress(&mut self, until: Duration) {
        let seen = self.recording.records();
        if seen == self.seen && self.begun.elapsed().subsec_millis() > 250 {
            return;
        }
        self.seen = seen;
        let how = if self.traces() { "tracing" } else { "sampling" };
        let text = if until == Duration::MAX {
            format!("{how}: {seen} records so far; Ctrl-C ends")
        } else {
            let left = until.saturating_sub(self.begun.elapsed()).as_secs() + 1;
            format!("{how}: {seen} records, {left} s left; Ctrl-C ends early")
        };
        self.progress.update(&text);
    }
}

/// The block devices of this machine.
fn known_devices() -> anyhow::Result<Vec<BlockDevice>> {
    Ok(iowhy_live::devices(std::path::Path::new("/sys"))?)
}

/// The kernel's numbers of the devices asked for.
fn numbers(known: &[BlockDevice], plan: &Plan) -> anyhow::Result<Vec<(u32, u32)>> {
    if plan.root.is_some() {
        return Ok(Vec::new());
    }
    let number = |name: &String| match known.iter().find(|device| device.name == *name) {
        Some(device) => Ok((device.major, device.minor)),
        None => {
            let names: Vec<&str> = known.iter().map(|device| device.name.as_str()).collect();
            Err(Hinted::error(
                format!("there is no block device `{name}`"),
                format!("this machine has {}", names.join(", ")),
            ))
        }
    };
    plan.devices.iter().map(number).collect()
}

/// Says which devices went away while they were watched: they are gone, or their medium is.
fn name_vanished(before: &[BlockDevice], wanted: &[String]) -> anyhow::Result<()> {
    vanished(before, wanted)?.iter().for_each(|name| messages::warn(&went_away(name), None));
    Ok(())
}

/// What is said of a device that is gone.
pub fn went_away(name: &str) -> String {
    format!("`{name}` went away while it was watched; what it did before is kept")
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

/// Says which disks lie below the devices that are watched.
fn explain_stacks(known: &[BlockDevice], plan: &Plan, recording: &mut Recording) {
    let watched = |one: &&BlockDevice| plan.devices.is_empty() || plan.devices.contains(&one.name);
    // Whoever watches a disk alone wants to know what it is part of; of all, what they are made of.
    let told = |one: &&BlockDevice| !plan.devices.is_empty() || !one.slaves.is_empty();
    for reason in known.iter().filter(watched).filter(told).filter_map(BlockDevice::stack_words) {
        recording.note(Note { line: 0, text: String::new(), reason });
    }
}

/// CPU time of this process so far.
fn cpu_time() -> Duration {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(used.tv_sec as u64, used.tv_nsec as u32)
}

/// The kernel's event text instead of eBPF; `None` if that is refused, too, and counters are left.
fn event_text(
    devices: &[(u32, u32)],
    refused: Option<iowhy_live::Error>,
    plan: &Plan,
    recording: &mut Recording,
) -> anyhow::Result<Option<Ftrace>> {
    let mut text = Ftrace::new(devices.to_vec());
    match (text.begin(recording), refused) {
        (Ok(()), None) => Ok(Some(text)),
        (Ok(()), Some(error)) => {
            let costs = "reading the kernel's event text (ftrace) instead: it costs some \
                         microseconds per I/O, and depth, payer and time before the request stay \
                         unknown";
            messages::warn(&format!("{error}; {costs}"), Some(error.hint()));
            Ok(Some(text))
        }
        (Err(_), Some(error)) if plan.sample.is_some() && !plan.only_latencies => {
            fall_back(&error);
            Ok(None)
        }
        (Err(error), None) | (Err(_), Some(error)) => Err(error.into()),
    }
}

fn fall_back(error: &iowhy_live::Error) {
    messages::warn(
        &format!(
            "{error}; sampling /proc/diskstats instead: single I/Os, their queue and device \
             time, percentiles, retries and stalls stay unknown"
        ),
        Some(error.hint()),
    );
}
