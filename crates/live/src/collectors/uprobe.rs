//! Calls of any function in a program or library, from entry to return, with eBPF.
//!
//! ## Watches
//! One function, by its name or its offset in the file: every call from entry to return, recursive
//! calls included, counted in the kernel per process with exact sum, minimum and maximum. Or, if a
//! program passes a completed wait to a function (as Oracle does), one argument is the latency and
//! another the event number: one histogram per event.
//!
//! ## Needs
//! Linux 5.8 or later with BTF and uprobes, and root or `CAP_BPF` with `CAP_PERFMON`. A stripped
//! program has no names: give the offset. Calls of a function that the compiler inlined are not
//! seen.
//!
//! ## Costs
//! One or two traps into the kernel per call: 1 to 5 microseconds, more in a virtual machine. Do
//! not watch a function that is called a million times a second.
//!
//! ## Not in this output
//! Calls in progress when the watch starts or ends are not counted, nor are those left by `longjmp`
//! or an exception. A tail call counts as the return of the function called first. Argument values
//! are used as they are: their meaning depends on the program.

use std::num::NonZeroU32;
use std::path::PathBuf;

use aya::programs::UProbe;
use aya::programs::uprobe::{UProbeAttachLocation, UProbeScope};
use aya::{Btf, Ebpf};
use iowhy_model::{Distribution, Layer, Level, Nanos, Sampling, Sink, Source, Stage, Time};

use crate::bpf::{absent, refused};
use crate::call_latencies::{CallLatencies, CallLatency, Callers};
use crate::object_names::{Packed, names_of, packed};
use crate::rights::Rights;
use crate::{Collector, Error, clock, symbols};

/// Its name in the list of collectors.
pub(super) const NAME: &str = "uprobe";

/// The compiled `bpf/uprobe.bpf.c`.
static OBJECT: Packed = packed!("uprobe");
names_of!($ UPROBE);

/// What to watch.
#[derive(Clone, PartialEq, Debug)]
pub struct UprobeOptions {
    /// The program or library.
    pub file: PathBuf,
    /// A function's name, or `+0x1234`.
    pub function: String,
    /// Which argument, from 1, is a latency, and its unit in nanoseconds; without it the time from
    /// entry to return is measured.
    pub latency: Option<(u32, u64)>,
    /// Which argument, from 1, is the number of an event.
    pub event: Option<u32>,
    /// Only this event.
    pub only_event: Option<u32>,
    /// Whose calls to watch.
    pub whom: Callers,
}

/// Counts of one process and event.
#[derive(Clone, PartialEq, Debug)]
pub struct EventCount {
    /// The process.
    pub pid: u32,
    /// The name of the first thread seen.
    pub comm: String,
    /// The event's number, if requested.
    pub event: Option<u32>,
    /// How long it took.
    pub histogram: iowhy_model::Histogram,
}

/// The watcher of a function.
pub struct Uprobe {
    options: UprobeOptions,
    running: Option<AttachedState>,
    before: Vec<CallLatency>,
    counts: Vec<EventCount>,
}

struct AttachedState {
    // Dropped first, so that nothing is counted into tables that are being freed.
    programs: Option<Ebpf>,
    spans: CallLatencies,
    listing: usize,
    began: Time,
    since: Time,
}

impl Uprobe {
    /// A watcher that has not begun yet.
    pub fn new(options: UprobeOptions) -> Uprobe {
        Uprobe { options, running: None, before: Vec::new(), counts: Vec::new() }
    }

    /// Everything counted up to the last poll.
    pub fn counts(&self) -> &[EventCount] {
        &self.counts
    }

    fn emit(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        let Some(running) = &mut self.running else { return Ok(()) };
        let (now, mut spans) = (clock::now(), running.spans.read()?);
        let only = self.options.only_event;
        spans.retain(|span| only.is_none_or(|only| span.kind == only));
        sink.resume(running.listing);
        for span in &spans {
            let same = |known: &&CallLatency| (known.pid, known.kind) == (span.pid, span.kind);
            let known = self.before.iter().find(same);
            let Some(histogram) = span.since(known) else { continue };
            let event = self.options.event.map(|_| format!(" event {}", span.kind));
            let label = format!("{}[{}]{}", span.comm, span.pid, event.unwrap_or_default());
            let (device, label) = (sink.device(&self.options.function), sink.name(&label));
            let mut one = Distribution::new(device, Layer::Syscall, Stage::Total, histogram);
            (one.start, one.length) = (Some(running.since), Some(now - running.since));
            one.label = Some(label);
            sink.distribution(one);
        }
        sink.source().watched = Some(now - running.began);
        running.since = now;
        let event = self.options.event;
        self.counts = spans.iter().cloned().map(|span| counted(span, event.is_some())).collect();
        self.before = spans;
        Ok(())
    }
}

impl Collector for Uprobe {
    fn name(&self) -> &'static str {
        NAME
    }

    fn begin(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        Rights::read()?.suffice()?;
        let options = &self.options;
        let place = symbols::place_of(&options.file, &options.function)?;
        let btf = Btf::from_sys_fs().map_err(refused)?;
        let latency = options.latency.map_or(0, |(argument, _)| argument);
        let constants = [
            (global!("latency_argument"), latency),
            (global!("event_argument"), options.event.unwrap_or(0)),
        ];
        let unit = options.latency.map_or(1, |(_, unit)| unit);
        let (mut programs, spans) = CallLatencies::load(
            &OBJECT.unpacked(),
            &btf,
            &options.whom,
            &constants,
            &[],
            Some(&unit),
        )?;
        let scope = match options.whom.pid.and_then(NonZeroU32::new) {
            Some(pid) => UProbeScope::OneProcess(pid),
            None => UProbeScope::AllProcesses,
        };
        let names = [program!("leave_function"), program!("enter_function")];
        let used = if options.latency.is_some() { &names[1..] } else { &names[..] };
        for name in used {
            let program = programs.program_mut(name).ok_or_else(|| absent(name))?;
            let program: &mut UProbe = program.try_into().map_err(refused)?;
            program.load().map_err(refused)?;
            let at = UProbeAttachLocation::AbsoluteOffset(place);
            program.attach(at, &options.file, scope).map_err(refused)?;
        }
        let mut source = Source::new(NAME, "live", Level::B);
        source.sampling = Sampling::Traced;
        source.resolution = Some(Nanos(options.latency.map_or(1, |(_, unit)| unit as i64)));
        let (listing, began) = (sink.begin(source), clock::now());
        let programs = Some(programs);
        self.running = Some(AttachedState { programs, spans, listing, began, since: began });
        Ok(())
    }

    fn poll(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        self.emit(sink)
    }

    fn end(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        if let Some(running) = &mut self.running {
            running.programs = None;
        }
        self.emit(sink)?;
        let Some(running) = self.running.take() else { return Ok(()) };
        let [no_group, no_start] = running.spans.missed()?;
        sink.lost("calls not counted: too many events", no_group);
        sink.lost("calls not counted: too many in progress at once", no_start);
        sink.end();
        Ok(())
    }
}

fn counted(span: CallLatency, events: bool) -> EventCount {
    let event = events.then_some(span.kind);
    EventCount { pid: span.pid, comm: span.comm, event, histogram: span.histogram }
}
