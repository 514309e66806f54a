//! Every block request, from its start to its completion, with eBPF.
//!
//! ## Watches
//! The requests of block devices, at three moments: start (`block_io_start`), issue to the driver
//! (`block_rq_issue`) and completion (`block_rq_complete`). Q2D is the time from start to issue,
//! D2C from issue to completion, Q2C both. On request also the arrival of the bio
//! (`block_bio_queue`): B2Q, from there to the start, is spent waiting for a free tag, for a frozen
//! queue, for write-back throttling or for the io.cost and io.latency controllers. For bio-based
//! devices (dm, md, zram, NVMe multipath), it follows the bios from arrival to completion
//! (`block_bio_complete`). The output is either one event per request, with sector, size, flags,
//! process, optionally control group, queue depth at issue and error, or histograms per device,
//! operation and stage, counted in the kernel. With a latency limit it is both: events above the
//! limit, and the histograms of all requests in a separate listing. The flight recorder uses both
//! without a limit: histograms are then computed from the events, plus kernel histograms of the
//! requests whose event did not fit into the ring buffer, so that none is missing at any rate.
//!
//! With `snoop --files` it reports the file whose pages an I/O reads or writes. For page-cache I/O
//! it is taken from the pages; for direct I/O from the iomap tracepoint (`iomap_dio_rw_begin`,
//! since 6.6), which covers ext4, XFS and btrfs. The path is read by the BPF program when a file is
//! first seen and every five seconds after, so no permission to inspect other processes is needed,
//! and it also covers write-back by flusher threads. With `snoop --stacks` it records the call
//! stack of the submitting task, before 6.5 of the issuing task.
//!
//! The tracer reads the clock itself. The times that the kernel stores in a request, used by other
//! tools and /proc/diskstats, come since Linux 6.9 from a clock that is read once per batch. `hist`
//! and `watch` take them with `--clock kernel`: one probe at the completion, at a quarter of the
//! cost, without process, queue depth and B2Q; without issue (only Q2C) unless wbt, kyber, io.cost
//! or io.latency makes the kernel keep its time.
//!
//! ## Needs
//! Linux 5.8 or later with BTF (`/sys/kernel/btf/vmlinux`), and root or `CAP_BPF` with
//! `CAP_PERFMON`. No compiler, no headers, no debug symbols, no tracefs. Before Linux 6.5 there is
//! no `block_io_start`: the start is then the time the request was allocated, and process and pid
//! are those of the issuer, which may be a kernel worker.
//!
//! ## Costs
//! CPU per request: 0.2 microseconds if the same CPU submits and completes it, for histograms or
//! every event; if another CPU completes it, 0.3 for histograms, 0.4 for every event. Memory in the
//! kernel: the ring (8 MiB), 0.7 to 12 MB for requests in flight, and for histograms 55 kB per
//! device and CPU. For events, the process name is copied at the start of each request, about
//! 25 ns, because a process may exit before its name can be looked up. Files and stacks cost more,
//! and are recorded only on request.
//!
//! ## Not in this output
//! Some kernels exclude some processes from tracing; a completion is missed if its interrupt
//! arrives while such a process runs. It is counted as lost once the request structure is reused.
//!
//! The time split of bio-based devices (dm, md, zram, brd): only arrival and completion of a bio
//! are known. How long a cgroup limit (`io.max`) delayed a bio before it arrived. Which process
//! dirtied a page that a flusher writes. The file of direct I/O before 6.6 or on a file system
//! without iomap, and of I/O on a block device opened directly.
//!
//! A request whose start was missed, or whose event found the ring buffer full, is counted as lost;
//! requests in flight when tracing started are reported as a fact (`trace.*.before_watch`). The sum
//! of events, lost requests and these is exactly the count in /proc/diskstats, per operation (an
//! empty flush counts as a write there, and the flush that the kernel sends for it as a flush).

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use iowhy_model::{
    Distribution, Fact, Level, Nanos, Note, Op, Sampling, Sink, Source, Time, typed,
};

use crate::attach::KernelShape;
use crate::bpf::{Programs, Settings, bytes_of_a_row};
use crate::btf::KernelTypes;
use crate::cost::{self, Cost};
use crate::kernel_filter::{KernelFilter, TraceFilter};
use crate::records::RecordReader;
use crate::request_counts::{RequestCountReader, RequestCounts, Seen};
use crate::rights::Rights;
use crate::stacks::{StackCount, Stacks};
use crate::still_in_flight::{AtWork, StillInFlight, at_work};
use crate::stretch_histograms::{
    FIRST_EPOCH, StretchEnd, StretchHistograms, WATCH_OFF, wait_for_running_probes,
};
use crate::thinning::ThinRule;
use crate::watch_list::WatchList;
use crate::{Collector, Error, clock};

/// Its name in the list of collectors.
pub(super) const NAME: &str = "block-trace";

/// The note on devices whose events are sampled.
const THINNED: &str = "on busy devices, only slow I/Os and a sample of the others, each with its \
                       weight, are reported individually; all others are counted in histograms";

/// The note on the kernel's times, if it reads its clock once for a batch.
const KERNEL_TIMES: &str = "times are those that the kernel keeps in each request (`--clock \
                            kernel`): since Linux 6.9 it reads its clock once for a batch, so \
                            queue time (Q2D) of a batch is 0 and counted as device time (D2C)";

/// The sysfs folder of the running system.
const SYS: &str = "/sys";
/// Histograms are emitted at most this often by default: each time waits for an RCU grace period.
const HISTOGRAM_PAUSE: Nanos = Nanos(100_000_000);
/// How often the programs are given the time and request counts are read, but not more often than
/// histograms: that is a system call for each device and operation, which sums over all CPUs.
const TALLY_PAUSE: Nanos = Nanos(100_000_000);
/// How often new devices are searched for.
const DEVICE_PAUSE: Nanos = Nanos(1_000_000_000);
/// log2 of the least and greatest number of sets for requests in flight (704 bytes each).
const SET_BITS: (u32, u32) = (10, 14);

/// What the kernel sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TraceMode {
    /// One record per request.
    Events,
    /// Counts per device, operation and stage, kept in the kernel.
    Histograms,
}

/// Which side reads the clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TraceClock {
    /// The tracer, at the start, the issue and the completion of each request.
    #[default]
    Exact,
    /// The kernel, for its own statistics: one probe at the completion reads both times from the
    /// request. Process, depth and B2Q are unknown.
    Kernel,
    /// The kernel, and the tracer in the turns of [`BlockTrace::take_turn`]. The depth is unknown
    /// here, too.
    ByTurns,
}

/// What to trace, and how.
#[derive(Clone, PartialEq, Debug)]
pub struct TraceOptions {
    /// Which side reads the clock. With the kernel's clock `before`, `files` and `stacks` have no
    /// effect, and a filter by process is refused.
    pub clock: TraceClock,
    /// Single events or histograms.
    pub mode: TraceMode,
    /// Only these devices, as (major, minor) of the whole disk; all if empty.
    pub devices: Vec<(u32, u32)>,
    /// Only these operations; all if empty.
    pub ops: Vec<Op>,
    /// The filter. With a latency limit the histograms of all requests are in a separate listing.
    pub filter: TraceFilter,
    /// Also the time before the request, from the arrival of its bio (B2Q).
    pub before: bool,
    /// Also the control group that each bio is charged to.
    pub cgroups: bool,
    /// Events only: also the file whose pages they read or write, if it can be known.
    pub files: bool,
    /// Events only: also the CPU of their completion and their hardware queue.
    pub places: bool,
    /// Events only: also count them by the stack of the submitting task.
    pub stacks: bool,
    /// Have the kernel count the time spent in the programs (needs CAP_SYS_ADMIN).
    pub count_cost: bool,
    /// Events only: also the histograms of all requests, including those whose event did not fit
    /// into the ring.
    pub count_all: bool,
    /// With `count_all`: events of busy devices may be sampled ([`BlockTrace::thin`]).
    pub may_thin: bool,
    /// Events only: size of the ring buffer; rounded up to a power of two.
    pub ring_bytes: u32,
    /// Histograms are emitted at most this often.
    pub histogram_pause: Nanos,
    /// Maximum kernel memory of histograms, bytes. If there are too many devices and CPUs, only the
    /// devices with most I/O so far have histograms, at least one; the others have events only.
    pub histogram_bytes: usize,
}

impl TraceOptions {
    /// All devices and operations; a ring of 8 MiB, which holds 100,000 events; histograms of 1
    /// GiB, enough for 100 devices on 190 CPUs.
    pub fn new(mode: TraceMode) -> Self {
        TraceOptions {
            clock: TraceClock::Exact,
            mode,
            devices: Vec::new(),
            ops: Vec::new(),
            filter: TraceFilter::default(),
            before: false,
            cgroups: false,
            files: false,
            places: false,
            stacks: false,
            count_cost: false,
            count_all: false,
            may_thin: false,
            ring_bytes: 8 << 20,
            histogram_pause: HISTOGRAM_PAUSE,
            histogram_bytes: 1 << 30,
        }
    }

    /// Whether histograms are computed from the events that were sent.
    fn counts_events(&self) -> bool {
        self.mode == TraceMode::Events && self.count_all && self.filter.over.is_none()
    }

    fn settings(&self, watched: &WatchList, shape: &KernelShape) -> Settings {
        let events = self.mode == TraceMode::Events;
        let exact = self.clock != TraceClock::Kernel;
        let ops = if self.ops.is_empty() { &Op::ALL[..] } else { &self.ops };
        let bit = |op: &Op| Op::ALL.iter().position(|known| known == op).map_or(0, |at| 1 << at);
        let mut settings = Settings {
            kernel_times: self.clock != TraceClock::Exact,
            by_turns: self.clock == TraceClock::ByTurns,
            events,
            histograms: !events || self.filter.over.is_some() || self.count_all,
            unsent_only: self.counts_events(),
            thinned: self.counts_events() && self.may_thin,
            over_ns: self.filter.over.map_or(0, |over| over.ns().max(0) as u64),
            ops_wanted: ops.iter().map(bit).sum(),
            every_device: watched.every,
            // At least a page, at most 1 GiB, the largest power of two that the kernel accepts in a
            // u32.
            ring_bytes: self.ring_bytes.clamp(4096, 1 << 30).next_power_of_two(),
            set_bits: watched.requests(Path::new(SYS)).next_power_of_two().ilog2(),
            place_bits: watched.place_bits,
            rows: watched.rows,
            histogram_rows: watched.rows,
            bios: watched.devices.iter().any(|device| device.without_requests),
            before: self.before && exact,
            cgroups: self.cgroups || self.filter.cgroup.is_some(),
            files: self.files && events && exact,
            stacks: self.stacks && events && exact,
            places: self.places && events,
            filter: KernelFilter::new(&self.filter, shape.command_flags),
        };
        let fit = self.histogram_bytes / bytes_of_a_row(settings.stages());
        settings.histogram_rows = watched.rows.min(u32::try_from(fit).unwrap_or(u32::MAX).max(1));
        settings
    }
}

/// The block tracer.
#[derive(Debug)]
pub struct BlockTrace {
    options: TraceOptions,
    running: Option<AttachedState>,
    counts: Vec<(String, Op, RequestCounts)>,
    cost: Option<Cost>,
    plug_clock: bool,
    stacks: Option<Stacks>,
}

/// State of an attached tracer.
#[derive(Debug)]
struct AttachedState {
    programs: Programs,
    /// While this is open, the kernel counts the time spent in BPF programs.
    counting: Option<OwnedFd>,
    watched: WatchList,
    reader: RecordReader,
    counts: RequestCountReader,
    events: Option<usize>,
    counted: Option<(usize, StretchHistograms)>,
    histogram_pause: Nanos,
    counts_events: bool,
    thinned: ThinListing,
    /// Requests without an event when histograms were last emitted.
    unsent: u64,
    began: Time,
    looked: Time,
    tallied: Time,
    reported: Time,
}

/// The listing of events of sampled devices.
#[derive(Debug)]
struct ThinListing {
    /// Its source.
    source: Source,
    /// The listing, once it has begun.
    listing: Option<usize>,
    /// When the watch began.
    began: Time,
    /// Row and operation that are sampled now, and those sampled in the current interval.
    now: BTreeSet<(usize, usize)>,
    lately: BTreeSet<(usize, usize)>,
}

impl ThinListing {
    fn new(shape: &KernelShape, began: Time) -> ThinListing {
        let mut source = source(Level::B, shape);
        source.sampling = Sampling::Thinned;
        let (now, lately) = (BTreeSet::new(), BTreeSet::new());
        ThinListing { source, listing: None, began, now, lately }
    }

    /// Continues its listing, or begins it.
    fn resume(&mut self, sink: &mut dyn Sink) {
        match self.listing {
            Some(listing) => sink.resume(listing),
            None => {
                self.listing = Some(sink.begin(self.source.clone()));
                clock::add_clock(sink, self.began);
                sink.note(Note { line: 0, text: NAME.to_string(), reason: THINNED.to_string() });
            }
        }
    }

    /// Emits what the kernel counted for them in a completed interval.
    fn emit(&mut self, unsent: Vec<Distribution>, watched: &WatchList, sink: &mut dyn Sink) {
        let lately = std::mem::replace(&mut self.lately, self.now.clone());
        let is_of = |sink: &mut dyn Sink, one: &Distribution| {
            lately.iter().any(|(row, op)| {
                let device = watched.devices.get(*row).map(|device| sink.device(&device.name));
                device == Some(one.device) && one.op == Op::ALL.get(*op).copied()
            })
        };
        for one in unsent {
            if is_of(sink, &one) {
                self.resume(sink);
                sink.distribution(one);
            }
        }
    }
}

impl BlockTrace {
    /// A tracer that has not begun yet.
    pub fn new(options: TraceOptions) -> Self {
        BlockTrace {
            options,
            running: None,
            counts: Vec::new(),
            cost: None,
            plug_clock: false,
            stacks: None,
        }
    }

    /// I/Os by stack since the last call, the longest summed latency first, and the number of I/Os
    /// without a stack; `None` unless stacks are recorded.
    pub fn take_stacks(&mut self) -> (Vec<StackCount>, u64) {
        self.stacks.as_mut().map(Stacks::take).unwrap_or_default()
    }

    /// Whether this kernel reads its clock once for a batch of requests, so that its own await is
    /// too high.
    pub fn plug_clock(&self) -> bool {
        self.plug_clock
    }

    /// The cost of the programs at the end, if it was measured.
    pub fn cost(&self) -> Option<Cost> {
        self.cost
    }

    /// Time in the programs since they were loaded, if the kernel counted it
    /// (`kernel.bpf_stats_enabled`).
    pub fn time_spent(&self) -> Duration {
        let spent = self.running.as_ref().map_or(0, |running| running.programs.time_spent().0);
        Duration::from_nanos(spent)
    }

    /// From now on reports only slow requests and a sample of the others for this device and
    /// operation, or all again. Histograms always count all requests.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn thin(&mut self, device: &str, op: Op, how: Option<ThinRule>) -> Result<(), Error> {
        let Some(running) = &mut self.running else { return Ok(()) };
        let row = running.watched.devices.iter().position(|known| known.name == device);
        let (Some(row), Some(op)) = (row, Op::ALL.iter().position(|known| *known == op)) else {
            return Ok(());
        };
        if !self.options.may_thin {
            return Ok(());
        }
        running.programs.set_thinning(row as u32, op as u32, how)?;
        let of = (row, op);
        if how.is_some() {
            running.thinned.lately.insert(of);
            running.thinned.now.insert(of);
        } else {
            running.thinned.now.remove(&of);
        }
        Ok(())
    }

    /// With [`TraceClock::ByTurns`]: starts or ends a turn, in which the tracer reads the clock
    /// itself.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn take_turn(&mut self, exact: bool) -> Result<(), Error> {
        self.running.as_mut().map_or(Ok(()), |running| running.programs.take_turn(exact))
    }

    /// Counts of all requests up to the last poll, by device and operation.
    pub fn request_counts(&self) -> &[(String, Op, RequestCounts)] {
        &self.counts
    }
}

impl Collector for BlockTrace {
    fn name(&self) -> &'static str {
        NAME
    }

    fn begin(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        Rights::read()?.suffice()?;
        let asked = &self.options.filter;
        if self.options.clock != TraceClock::Exact && (asked.pid.is_some() || asked.comm.is_some())
        {
            let what =
                "the times that the kernel keeps in a request do not show which process sent it";
            return Err(Error::Kernel { what: what.to_string() });
        }
        let shape = KernelShape::of(&KernelTypes::read()?)?;
        self.plug_clock = shape.plug_clock;
        let mut watched = WatchList::new(Path::new(SYS), &self.options.devices)?;
        let mut settings = self.options.settings(&watched, &shape);
        settings.set_bits = settings.set_bits.clamp(SET_BITS.0, SET_BITS.1);
        if settings.histogram_rows < watched.rows {
            watched.order_by_use();
        }
        let counting = if self.options.count_cost { Some(cost::counted()?) } else { None };
        let first = at_work(Path::new(SYS), &watched);
        let mut programs = Programs::load(&shape, &settings)?;
        watched.enter(&mut programs)?;
        let before = at_work(Path::new(SYS), &watched);
        programs.attach()?;
        programs.set_epoch(FIRST_EPOCH)?;
        let after = at_work(Path::new(SYS), &watched);
        let looks = first.iter().zip(&before).zip(&after);
        let mut in_flight: Vec<u64> =
            looks.map(|((a, b), c)| AtWork::over(&[*a, *b, *c])).collect();
        if settings.kernel_times {
            // The kernel's times include those of these requests.
            in_flight.clear();
        }
        self.stacks = settings.stacks.then(Stacks::new);
        let Settings { events, histograms, kernel_times, .. } = settings;
        let seen = Seen { events, histograms, kernel_times };
        let began = clock::now();
        // Nothing can fail after this, so no empty listing is opened.
        let counted = settings.histograms.then(|| {
            (
                sink.begin(source(Level::B, &shape)),
                StretchHistograms::new(settings.histogram_rows, settings.stages(), began),
            )
        });
        let events = settings.events.then(|| sink.begin(source(Level::D, &shape)));
        clock::add_clock(sink, began);
        if settings.kernel_times && shape.plug_clock {
            sink.note(Note { line: 0, text: String::new(), reason: KERNEL_TIMES.to_string() });
        }
        self.running = Some(AttachedState {
            counts: RequestCountReader::new(seen, settings.rows, &in_flight),
            reader: RecordReader::new(shape.command_flags)
                .with_files(settings.files)
                .with_places(self.options.places),
            programs,
            counting,
            watched,
            events,
            counted,
            histogram_pause: self.options.histogram_pause,
            counts_events: self.options.counts_events(),
            thinned: ThinListing::new(&shape, began),
            unsent: 0,
            began,
            looked: began,
            tallied: began,
            reported: began,
        });
        Ok(())
    }

    fn poll(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        let Some(running) = &mut self.running else { return Ok(()) };
        let tallied = running.tallied;
        running.emit(sink, self.stacks.as_mut(), None)?;
        if running.tallied != tallied {
            self.counts = running.counts.all(&running.watched);
        }
        Ok(())
    }

    fn tend(&mut self) -> Result<(), Error> {
        self.running.as_mut().map_or(Ok(()), AttachedState::look_for_devices)
    }

    fn end(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        let Some(mut running) = self.running.take() else { return Ok(()) };
        let at_the_end = StillInFlight::ask(Path::new(SYS), &running.watched, &running.programs)?;
        running.programs.set_epoch(WATCH_OFF)?;
        let over = clock::now();
        wait_for_running_probes();
        let spent = running.counting.take().map(|_| running.programs.time_spent());
        running.programs.detach();
        running.emit(sink, self.stacks.as_mut(), Some(over))?;
        self.counts = running.counts.all(&running.watched);
        self.cost = spent.map(|(ns, runs)| Cost::new(ns, runs, &self.counts));
        at_the_end.emit(&running.programs, &running.watched, sink)?;
        running.state_request_counts(sink);
        running.note_bios(sink);
        sink.end();
        Ok(())
    }
}

impl AttachedState {
    /// Emits everything since the last call: events, losses, and histograms if they are due or the
    /// watch ended at `over`.
    fn emit(
        &mut self,
        sink: &mut dyn Sink,
        mut stacks: Option<&mut Stacks>,
        over: Option<Time>,
    ) -> Result<(), Error> {
        if over.is_none() {
            self.look_for_devices()?;
        }
        let now = over.unwrap_or_else(clock::now);
        let since = self.counted.as_ref().map(|(_, counted)| counted.since());
        let is_due =
            since.is_some_and(|since| over.is_some() || now - since >= self.histogram_pause);
        if let Some(listing) = self.events {
            sink.resume(listing);
            let (reader, watched) = (&mut self.reader, &self.watched);
            let mut counted = self.counted.as_mut().filter(|_| self.counts_events);
            let until = is_due.then_some(now);
            let thinned = &mut self.thinned;
            let mut is_thinned = false;
            self.programs.drain(|record, frames| {
                if let Some(event) = reader.event(record, watched, sink) {
                    if let (Some(stacks), Some(ids)) = (&mut stacks, RecordReader::stacks(record)) {
                        stacks.count(ids, &event, frames);
                    }
                    if let Some((_, counted)) = &mut counted {
                        counted.add(&event, until);
                    }
                    if event.weight.is_some() != is_thinned {
                        is_thinned = !is_thinned;
                        if is_thinned { thinned.resume(sink) } else { sink.resume(listing) }
                    }
                    sink.event(event);
                }
            });
            sink.resume(listing);
            sink.source().watched = Some(now - self.began);
        }
        if over.is_none() && now - self.reported >= TALLY_PAUSE {
            self.reported = now;
            self.programs.write_clock()?;
        }
        let pause = TALLY_PAUSE.max(self.histogram_pause);
        if is_due || now - self.tallied >= pause || over.is_some() {
            self.tallied = now;
            // Losses go to the listing of events, if there is one: both listings are about the same
            // requests.
            if let Some(listing) =
                self.events.or(self.counted.as_ref().map(|(listing, _)| *listing))
            {
                sink.resume(listing);
            }
            self.counts.emit(&self.programs, &self.watched, sink)?;
        }
        if let Some((listing, counted)) = self.counted.as_mut().filter(|_| is_due) {
            sink.resume(*listing);
            let unsent = self.counts.unsent();
            let unread = !self.counts_events || unsent != self.unsent || over.is_some();
            self.unsent = unsent;
            let ending = StretchEnd { now, over: over.is_some(), unread };
            let unsent = counted.emit(&mut self.programs, &self.watched, sink, ending)?;
            sink.source().watched = Some(now - self.began);
            self.thinned.emit(unsent, &self.watched, sink);
            // The facts that follow belong to the events, if there are any.
            if let Some(listing) = self.events {
                sink.resume(listing);
            }
        }
        Ok(())
    }

    fn look_for_devices(&mut self) -> Result<(), Error> {
        let now = clock::now();
        if now - self.looked < DEVICE_PAUSE {
            return Ok(());
        }
        self.looked = now;
        self.watched.look_for_more(&mut self.programs)
    }

    /// Adds a note on devices for which only one time is known.
    fn note_bios(&self, sink: &mut dyn Sink) {
        let seen: Vec<String> = self.counts.all(&self.watched).into_iter().map(|t| t.0).collect();
        for device in self.watched.devices.iter().filter(|device| device.without_requests) {
            if seen.contains(&device.name) {
                sink.note(Note {
                    line: 0,
                    text: device.name.clone(),
                    reason: "a bio-based device without requests: only the time from the arrival \
                             of a bio to its completion (Q2C) is known"
                        .to_string(),
                });
            }
        }
    }

    /// Requeues, errors and what the kernel does not count, as facts.
    fn state_request_counts(&self, sink: &mut dyn Sink) {
        for (device, op, count) in self.counts.at_edge(&self.watched) {
            let device = Some(sink.device(&device));
            let key = typed::TRACE_BEFORE_WATCH.of(op.name());
            sink.fact(Fact::of(device, key, count, NAME));
        }
        for (device, op, counts) in self.counts.all(&self.watched) {
            let numbers = [
                (typed::TRACE_REQUEUES, counts.requeued),
                (typed::TRACE_ERRORS, counts.failed),
                (typed::TRACE_NOT_IN_DISKSTATS, counts.not_accounted),
                (typed::TRACE_BELOW_LIMIT, counts.too_fast),
                (typed::TRACE_FILTERED, counts.filtered),
            ];
            let device = Some(sink.device(&device));
            for (family, count) in numbers.into_iter().filter(|(_, count)| *count > 0) {
                sink.fact(Fact::of(device, family.of(op.name()), count, NAME));
            }
        }
    }
}

fn source(level: Level, shape: &KernelShape) -> Source {
    let mut source = Source::new(NAME, "live", level);
    source.sampling = Sampling::Traced;
    source.resolution = Some(Nanos(1));
    source.sees_queue = shape.sees_queue();
    source
}
