//! Running collectors: started as a plan requires, and each polled at its own interval into any
//! sink by the loop of a watch. A new collector that runs beside the I/O needs no line elsewhere.

use std::any::Any;
use std::time::{Duration, Instant};

use iowhy_live::{BlockDevice, BlockTrace, Collector, DiskStats, Ftrace, TraceMode, TraceOptions};
use iowhy_model::{Fact, Note, Sink, typed};

use crate::device_lookup::{NamingFacts, known_devices};
use crate::messages::{self, HintedError};
use crate::plan::Plan;
use crate::when;

/// How often the ring of the tracer is emptied: 8 MiB of 80-byte records in 20 ms are five million
/// events per second, half of it reserved for late wake-ups.
const DRAIN: Duration = Duration::from_millis(20);
/// How often the context of the I/O is read, and how often each collector does its work between
/// polls.
const SECOND: Duration = Duration::from_secs(1);

/// A collector and when it is polled.
struct PacedCollector {
    collector: Box<dyn Collector>,
    /// The polling interval; `Duration::MAX` to poll only at the end of an interval.
    pace: Duration,
    polled: Instant,
}

impl PacedCollector {
    fn new(collector: Box<dyn Collector>, pace: Duration) -> PacedCollector {
        PacedCollector { collector, pace, polled: Instant::now() }
    }

    fn poll(&mut self, sink: &mut dyn Sink) -> anyhow::Result<()> {
        self.collector.poll(sink)?;
        // Kept on the grid, so that a late wake-up does not shift all that follow.
        self.polled = match self.polled.checked_add(self.pace) {
            Some(next) if next.elapsed() < self.pace => next,
            _ => Instant::now(),
        };
        Ok(())
    }
}

/// Running collectors.
pub(crate) struct LiveCollectors {
    /// The requested devices at the start.
    watched: Vec<BlockDevice>,
    /// In the order in which they are polled: counters first, because reading them is fast and
    /// their interval should not include our own work.
    paced: Vec<PacedCollector>,
    tended: Instant,
    traces: bool,
}

impl LiveCollectors {
    /// Begins the collectors of a plan. Without the privilege to trace, only counters are sampled,
    /// and stderr says what is unknown then.
    ///
    /// # Errors
    /// If a named device does not exist, or if nothing at all can be watched.
    pub(crate) fn begin(plan: &Plan, sink: &mut dyn Sink) -> anyhow::Result<LiveCollectors> {
        let known = if plan.root.is_none() { known_devices()? } else { Vec::new() };
        let numbers = numbers(&known, plan)?;
        for device in &known {
            let id = sink.device(&device.name);
            if let Some(medium) = device.medium {
                sink.set_medium(id, medium);
            }
        }
        let tracer = match plan.trace {
            Some(mode) => tracer(mode, numbers, plan, sink)?,
            None => None,
        };
        let traces = tracer.is_some();
        if plan.trace.is_some() {
            explain_stacks(&known, plan, sink);
        }
        let mut paced = Vec::new();
        if let Some(pace) = plan.sample {
            let mut stats = DiskStats::new(plan.root.clone());
            stats.begin(sink)?;
            paced.push(PacedCollector::new(Box::new(stats), pace));
        }
        paced.extend(tracer);
        if plan.root.is_none() && !paced.is_empty() {
            state_host(sink);
            NamingFacts::of(&known).add_facts(&plan.devices, sink);
        }
        if let Some(pace) = plan.host_facts {
            for mut collector in iowhy_live::beside(plan.all_year) {
                collector.begin(sink)?;
                paced.push(PacedCollector::new(collector, pace));
            }
        }
        let mut watched = known;
        watched.retain(|one| plan.devices.is_empty() || plan.devices.contains(&one.name));
        Ok(LiveCollectors { watched, paced, tended: Instant::now(), traces })
    }

    /// Begins one that is in no plan: `Duration::MAX` if it is polled only at the end of an
    /// interval.
    ///
    /// # Errors
    /// If it cannot watch.
    pub(crate) fn add(
        &mut self,
        mut collector: impl Collector,
        pace: Duration,
        sink: &mut dyn Sink,
    ) -> anyhow::Result<()> {
        collector.begin(sink)?;
        self.paced.push(PacedCollector::new(Box::new(collector), pace));
        Ok(())
    }

    /// The requested devices, or all, as they were at the start.
    pub(crate) fn watched(&self) -> impl Iterator<Item = &BlockDevice> {
        self.watched.iter()
    }

    /// Whether requests are traced, not only counters sampled.
    pub(crate) fn traces(&self) -> bool {
        self.traces
    }

    /// The running collector of this type, for results that only it has.
    pub(crate) fn of<T: Collector>(&self) -> Option<&T> {
        self.paced.iter().find_map(|one| {
            let any: &dyn Any = one.collector.as_ref();
            any.downcast_ref()
        })
    }

    /// The same, mutable.
    pub(crate) fn of_mut<T: Collector>(&mut self) -> Option<&mut T> {
        self.paced.iter_mut().find_map(|one| {
            let any: &mut dyn Any = one.collector.as_mut();
            any.downcast_mut()
        })
    }

    /// Restarts all polling intervals now, so that intervals and polls begin together.
    pub(crate) fn align(&mut self) {
        self.paced.iter_mut().for_each(|one| one.polled = Instant::now());
    }

    /// How long until a collector is due.
    pub(crate) fn idle(&self) -> Duration {
        let left = |one: &PacedCollector| one.pace.saturating_sub(one.polled.elapsed());
        self.paced.iter().map(left).min().unwrap_or(Duration::MAX)
    }

    /// Polls those that are due.
    ///
    /// # Errors
    /// If a source broke.
    pub(crate) fn poll(&mut self, sink: &mut dyn Sink) -> anyhow::Result<()> {
        for one in &mut self.paced {
            if one.polled.elapsed() >= one.pace {
                one.poll(sink)?;
            }
        }
        self.tend()
    }

    /// Polls, due or not, at the end of an interval of this length: collectors with at most this
    /// polling interval, and those polled only at the end.
    ///
    /// # Errors
    /// If a source broke.
    pub(crate) fn poll_stretch(
        &mut self,
        length: Duration,
        sink: &mut dyn Sink,
    ) -> anyhow::Result<()> {
        let belongs = |one: &&mut PacedCollector| one.pace <= length || one.pace == Duration::MAX;
        for one in self.paced.iter_mut().filter(belongs) {
            one.collector.poll(sink)?;
            one.polled = Instant::now();
        }
        self.tend()
    }

    /// Changes the polling interval of the tracing collector.
    pub(crate) fn trace_at(&mut self, pace: Duration) {
        let is_tracer = |one: &&mut PacedCollector| {
            let any: &dyn Any = one.collector.as_ref();
            any.is::<BlockTrace>()
        };
        if let Some(one) = self.paced.iter_mut().find(is_tracer) {
            one.pace = pace;
        }
    }

    /// Lets each collector emit the current state.
    ///
    /// # Errors
    /// If a source broke.
    pub(crate) fn snapshot(&mut self, sink: &mut dyn Sink) -> anyhow::Result<()> {
        self.paced.iter_mut().try_for_each(|one| one.collector.snapshot(sink)).map_err(Into::into)
    }

    /// Ends all: each emits the rest and detaches. Their results remain available.
    ///
    /// # Errors
    /// If a source broke.
    pub(crate) fn end(&mut self, sink: &mut dyn Sink) -> anyhow::Result<()> {
        self.paced.iter_mut().try_for_each(|one| one.collector.end(sink)).map_err(Into::into)
    }

    fn tend(&mut self) -> anyhow::Result<()> {
        if self.tended.elapsed() < SECOND {
            return Ok(());
        }
        self.tended = Instant::now();
        self.paced.iter_mut().try_for_each(|one| one.collector.tend()).map_err(Into::into)
    }
}

/// Adds the host's name to the listing of a running collector.
pub(crate) fn state_host(sink: &mut dyn Sink) {
    let system = rustix::system::uname();
    let (name, kernel) = (system.nodename().to_string_lossy(), system.release().to_string_lossy());
    for (key, value, read_from) in [
        (typed::HOST_NAME, name.into_owned(), "uname"),
        (typed::HOST_KERNEL, kernel.into_owned(), "uname"),
        (typed::HOST_ZONE, when::zone_of_machine(), "TZ"),
        (typed::HOST_IOWHY, env!("CARGO_PKG_VERSION").to_string(), "iowhy"),
    ] {
        sink.fact(Fact::of(None, key, value, read_from));
    }
}

/// The device numbers of the requested devices.
fn numbers(known: &[BlockDevice], plan: &Plan) -> anyhow::Result<Vec<(u32, u32)>> {
    if plan.root.is_some() {
        return Ok(Vec::new());
    }
    let number = |name: &String| match known.iter().find(|device| device.name == *name) {
        Some(device) => Ok((device.major, device.minor)),
        None => {
            let names: Vec<&str> = known.iter().map(|device| device.name.as_str()).collect();
            Err(HintedError::error(
                format!("no block device `{name}`"),
                format!("this machine has {}", names.join(", ")),
            ))
        }
    };
    plan.devices.iter().map(number).collect()
}

/// The tracing collector: eBPF programs, or the kernel's event text; `None` if both are refused,
/// which leaves the counters.
fn tracer(
    mode: TraceMode,
    devices: Vec<(u32, u32)>,
    plan: &Plan,
    sink: &mut dyn Sink,
) -> anyhow::Result<Option<PacedCollector>> {
    let refused = if plan.event_text {
        None
    } else {
        let mut trace = BlockTrace::new(TraceOptions {
            clock: plan.clock,
            devices: devices.clone(),
            ops: plan.ops.clone(),
            filter: plan.filter.clone(),
            before: plan.before,
            cgroups: plan.cgroups,
            files: plan.files,
            places: plan.places,
            stacks: plan.stacks,
            count_cost: plan.overhead,
            ..plan.tracer.clone().unwrap_or_else(|| TraceOptions::new(mode))
        });
        match trace.begin(sink) {
            Ok(()) => {
                if let Some(words) = &plan.filtered {
                    let reason = format!(
                        "only I/Os {words}: all others were filtered out in the kernel and not \
                         counted"
                    );
                    sink.note(Note { line: 0, text: String::new(), reason });
                }
                // Histograms wait in the kernel.
                let pace = if mode == TraceMode::Events { DRAIN } else { Duration::MAX };
                return Ok(Some(PacedCollector::new(Box::new(trace), pace)));
            }
            Err(error) if plan.programs_only => return Err(error.into()),
            Err(error) => Some(error),
        }
    };
    Ok(event_text(devices, refused, plan, sink)?
        .map(|text| PacedCollector::new(Box::new(text), DRAIN)))
}

/// The kernel's event text instead of eBPF; `None` if that is refused, too, which leaves the
/// counters.
fn event_text(
    devices: Vec<(u32, u32)>,
    refused: Option<iowhy_live::Error>,
    plan: &Plan,
    sink: &mut dyn Sink,
) -> anyhow::Result<Option<Ftrace>> {
    let mut text = Ftrace::new(devices);
    match (text.begin(sink), refused) {
        (Ok(()), None) => Ok(Some(text)),
        (Ok(()), Some(error)) => {
            let costs = "reading the kernel's event text (ftrace) instead: it costs several \
                         microseconds per I/O, and queue depth, charged cgroup and time before the \
                         request are not available";
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
            "{error}; sampling /proc/diskstats instead: individual I/Os, queue and device time, \
             percentiles, retries and stalls are not available"
        ),
        Some(error.hint()),
    );
}

/// Reports the disks below the watched devices.
fn explain_stacks(known: &[BlockDevice], plan: &Plan, sink: &mut dyn Sink) {
    let watched = |one: &&BlockDevice| plan.devices.is_empty() || plan.devices.contains(&one.name);
    // For a single disk the layers above it are of interest; for all devices the layers below.
    let reported = |one: &&BlockDevice| !plan.devices.is_empty() || !one.slaves.is_empty();
    for reason in known.iter().filter(watched).filter(reported).filter_map(BlockDevice::stack_words)
    {
        sink.note(Note { line: 0, text: String::new(), reason });
    }
}
