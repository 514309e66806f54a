//! The tracer in the kernel: loading it, its tables, and the ring buffer of its records.

use std::os::fd::{AsFd, AsRawFd, RawFd};

use aya::maps::{Array, HashMap, Map, MapData, PerCpuArray, RingBuf, StackTraceMap};
use aya::programs::BtfTracePoint;
use aya::programs::tp_btf::BtfTracePointLinkId;
use aya::{Btf, Ebpf, EbpfLoader};

use crate::Error;
use crate::attach::KernelShape;
use crate::batch::PerCpuTable;
use crate::clock;
use crate::kernel_filter::{KernelFilter, PidNamespace};
use crate::object_names::{Packed, names_of, packed};
use crate::slots::{self, OpenSlot, SET_WORDS, word};
use crate::thinning::ThinRule;

/// The compiled `bpf/block_trace.bpf.c`.
static OBJECT: Packed = packed!("block_trace");
names_of!($ BLOCK_TRACE);

/// Operations, numbered by the programs as in `Op::ALL`.
pub(crate) const OPS: u32 = 5;
/// Stages: Q2D, D2C, Q2C.
pub(crate) const STAGES: u32 = 3;
/// Stages with the time before the request: B2Q is the fourth.
pub(crate) const STAGES_WITH_BEFORE: u32 = 4;
/// Kinds of request counts.
pub(crate) const REQUEST_COUNTS: usize = 14;
/// Sum, min, max and epoch of a histogram, then its buckets.
pub(crate) const HISTOGRAM_WORDS: usize = 4 + 8 + 27 * 8 + 1;
/// A tracepoint and the program for it.
type Attachment = (&'static str, &'static str);

/// The only program of the kernel clock, and its variant with turns of the exact tracer.
const SINGLE_PROBE: Attachment = ("block_rq_complete", program!("complete_alone"));
const ALTERNATING: Attachment = ("block_rq_complete", program!("complete_by_turns"));
/// Maximum in-flight counters per device: with more CPUs, some share one.
const CELLS: u32 = 16;

/// Settings of the programs, fixed when they are loaded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    /// Use the times that the kernel keeps in each request, with one program.
    pub kernel_times: bool,
    /// In addition: at times the exact tracer instead ([`Programs::take_turn`]).
    pub by_turns: bool,
    /// Send records.
    pub events: bool,
    /// Count into histograms.
    pub histograms: bool,
    /// Of these, only requests whose record did not fit.
    pub unsent_only: bool,
    /// Whether records of busy devices may be sampled ([`Programs::set_thinning`]).
    pub thinned: bool,
    /// Send records only above this latency.
    pub over_ns: u64,
    /// A bit per operation.
    pub ops_wanted: u32,
    /// Also trace devices that are not in the table.
    pub every_device: bool,
    /// Bytes of the ring, a power of two.
    pub ring_bytes: u32,
    /// log2 of the number of slot sets.
    pub set_bits: u32,
    /// log2 of the size of the device table.
    pub place_bits: u32,
    /// Devices with histograms and counts.
    pub rows: u32,
    /// How many of them, from the first, have histograms.
    pub histogram_rows: u32,
    /// Also attach to bios: some device has no requests.
    pub bios: bool,
    /// Record when bios arrive (which attaches to them).
    pub before: bool,
    /// Record the charged cgroup.
    pub cgroups: bool,
    /// Record the file of the pages.
    pub files: bool,
    /// Record the stack of the submitting task.
    pub stacks: bool,
    /// Record the CPU of the completion, and the hardware queue.
    pub places: bool,
    /// The filter.
    pub filter: KernelFilter,
}

/// Kernel memory of one device's histograms for this many stages, on all possible CPUs, bytes:
/// `counted` of `bpf/tables.h`, two banks.
pub(crate) fn bytes_of_a_row(stages: u32) -> usize {
    let cpus = aya::util::nr_cpus().unwrap_or(1).max(1);
    (2 * OPS * stages) as usize * HISTOGRAM_WORDS * size_of::<u64>() * cpus
}

impl Settings {
    /// Stages with separate histograms.
    pub(crate) fn stages(&self) -> u32 {
        if self.before { STAGES_WITH_BEFORE } else { STAGES }
    }

    /// What to attach, and what to attach in addition during turns of the exact tracer.
    fn attachments(&self, shape: &KernelShape) -> (Vec<Attachment>, Vec<Attachment>) {
        let bios = shape.bio_tracepoints.iter().filter(|_| self.bios || self.before);
        let files = shape.file_tracepoints.iter().filter(|_| self.files);
        // Those for files first: they must see a file before its first request.
        let exact = files.chain(&shape.tracepoints).chain(bios).copied();
        if !self.kernel_times {
            return (exact.collect(), Vec::new());
        }
        let alone = if self.by_turns { ALTERNATING } else { SINGLE_PROBE };
        let bios = shape.bio_tracepoints.iter().filter(|_| self.bios);
        let always: Vec<_> = bios.chain(&[alone]).copied().collect();
        let is_new = |one: &Attachment| one.0 != alone.0 && !always.contains(one);
        let besides = exact.filter(|one| self.by_turns && is_new(one)).collect();
        (always, besides)
    }
}

/// The loaded and attached programs; dropping it detaches and unloads them.
pub(crate) struct Programs {
    // Dropped first, so that nothing writes into maps that are being freed.
    ebpf: Option<Ebpf>,
    always: Vec<Attachment>,
    /// For the turns of the exact tracer.
    besides: Vec<Attachment>,
    /// The links of its running turn, and when the turn began, ns.
    turn: Vec<(&'static str, BtfTracePointLinkId)>,
    exact_since: u64,
    devices: Array<MapData, [u64; 2]>,
    tallied: PerCpuArray<MapData, [u64; REQUEST_COUNTS]>,
    /// The same, for batch reads.
    all_tallied: Option<PerCpuTable>,
    counted: PerCpuArray<MapData, [u64; HISTOGRAM_WORDS]>,
    epochs: Array<MapData, [u64; 3]>,
    epoch: u64,
    thinnings: Array<MapData, [u64; 2]>,
    slots: Array<MapData, [u64; SET_WORDS]>,
    records: RingBuf<MapData>,
    traces: StackTraceMap<MapData>,
    names: Option<HashMap<MapData, u32, [u64; 4]>>,
}

/// Disks without a number in /sys: each number with the kernel's name.
#[derive(Debug)]
pub(crate) struct HiddenNames(HashMap<MapData, u32, [u64; 4]>);

impl HiddenNames {
    /// The name of a disk.
    pub(crate) fn of(&self, number: u32) -> Option<String> {
        let letters = self.0.get(&number, 0).ok()?;
        let bytes: Vec<u8> = letters.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        let name = String::from_utf8_lossy(&bytes[..end]).into_owned();
        (!name.is_empty()).then_some(name)
    }

    /// The numbers of all disks seen.
    pub(crate) fn numbers(&self) -> Vec<u32> {
        self.0.keys().flatten().collect()
    }
}

impl std::fmt::Debug for Programs {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Programs {{ attached: {} }}", self.ebpf.is_some())
    }
}

impl Programs {
    /// The names of disks that were seen but are not in the device table; each is returned once.
    pub(crate) fn take_names(&mut self) -> Option<HiddenNames> {
        self.names.take().map(HiddenNames)
    }

    /// Loads the programs into the kernel; they do nothing before an epoch is set.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub(crate) fn load(shape: &KernelShape, settings: &Settings) -> Result<Programs, Error> {
        let mut loader = bare_loader();
        let btf = Btf::from_sys_fs().map_err(refused)?;
        let number = |yes: bool| u32::from(yes);
        let filter = &settings.filter;
        let cpus = aya::util::nr_cpus().map_or(u32::MAX, |cpus| cpus as u32);
        let cells = cpus.clamp(1, CELLS).next_power_of_two();
        let globals: [(&str, u32); 37] = [
            (global!("by_turns"), number(settings.by_turns)),
            (global!("events"), number(settings.events)),
            (global!("histograms"), number(settings.histograms)),
            (global!("unsent_only"), number(settings.unsent_only)),
            (global!("thinned"), number(settings.thinned)),
            (global!("ops_wanted"), settings.ops_wanted),
            (global!("every_device"), number(settings.every_device)),
            (global!("rq_argument"), number(shape.queue_comes_first)),
            (global!("start_in_rq"), number(shape.start_in_request)),
            (global!("has_rq_disk"), number(shape.has_rq_disk)),
            (global!("never_nested"), number(shape.never_nested)),
            (global!("task_known"), number(shape.task_is_known)),
            (global!("plug_clock"), number(shape.plug_clock)),
            (global!("io_stat_flag"), shape.request_flags.0),
            (global!("flush_seq_flag"), shape.request_flags.1),
            (
                global!("asks_flush"),
                if settings.events { shape.command_flags.of_flushes() } else { 0 },
            ),
            (global!("set_shift"), 64 - settings.set_bits),
            (global!("place_shift"), 32 - settings.place_bits),
            (global!("cells"), cells),
            (global!("own_cells"), number(shape.never_nested && cpus <= cells)),
            (global!("rows"), settings.rows),
            (global!("histogram_rows"), settings.histogram_rows),
            (global!("stages"), settings.stages()),
            (global!("before"), number(settings.before)),
            (global!("arrival_shift"), 64 - ARRIVAL_BITS),
            (global!("bio_argument"), number(shape.queue_before_bio)),
            (global!("has_bi_disk"), number(shape.has_bi_disk)),
            (global!("cgroups"), number(settings.cgroups && shape.has_payer)),
            (global!("files"), number(settings.files)),
            (global!("stacks"), number(settings.stacks)),
            (global!("places"), number(settings.places)),
            (global!("filtering"), number(filter.by_request())),
            (global!("bytes_low"), filter.bytes.0),
            (global!("bytes_high"), filter.bytes.1),
            (global!("flags_set"), filter.set),
            (global!("flags_clear"), filter.clear),
            (global!("by_who"), number(filter.by_who())),
        ];
        // Without histograms their table has one entry, without records the ring one page.
        let histograms = 2 * settings.histogram_rows * OPS * settings.stages();
        let histograms = if settings.histograms { histograms } else { 1 };
        let arrivals = if settings.before { 1 << ARRIVAL_BITS } else { 1 };
        let origins = settings.files || settings.stacks;
        let only_if = |wanted: bool, places: u32| if wanted { places } else { 1 };
        // The single program keeps no state; bios have no times of their own.
        let remembers = !settings.kernel_times || settings.by_turns || settings.bios;
        let ring_bytes = if settings.events { settings.ring_bytes } else { PAGE };
        let pids = PidNamespace::own();
        loader
            .btf(Some(&btf))
            .map_max_entries(map!("devices"), 1 << settings.place_bits)
            .map_max_entries(map!("tallied"), (settings.rows + 1) * OPS)
            .map_max_entries(map!("counted"), histograms)
            .map_max_entries(map!("thinnings"), only_if(settings.thinned, settings.rows * OPS))
            .map_max_entries(map!("slots"), only_if(remembers, 1 << settings.set_bits))
            .map_max_entries(
                map!("crossed"),
                only_if(settings.events && remembers, cells << settings.place_bits),
            )
            .map_max_entries(map!("records"), ring_bytes)
            .map_max_entries(map!("arrivals"), arrivals)
            .map_max_entries(map!("origins"), only_if(origins, 1 << settings.set_bits))
            .map_max_entries(map!("told"), only_if(settings.files, FILES))
            .map_max_entries(map!("direct"), only_if(settings.files, FILES))
            .map_max_entries(map!("traces"), only_if(settings.stacks, STACKS))
            .override_global(global!("pid_wanted"), &filter.pid, true)
            .override_global(global!("pids_dev"), &pids.dev, true)
            .override_global(global!("pids_ino"), &pids.ino, true)
            .override_global(global!("comm_wanted"), &filter.comm, true)
            .override_global(global!("cgroup_wanted"), &filter.cgroup, true)
            .override_global(global!("over_ns"), &settings.over_ns, true)
            .override_global(global!("sector_first"), &filter.sectors.0, true)
            .override_global(global!("sector_last"), &filter.sectors.1, true);
        for (name, value) in &globals {
            loader.override_global(name, value, true);
        }
        let mut ebpf = loader.load(&OBJECT.unpacked()).map_err(refused)?;
        let (always, besides) = settings.attachments(shape);
        for (tracepoint, program) in always.iter().chain(&besides) {
            let program = ebpf.program_mut(program).ok_or_else(|| absent(program))?;
            let program: &mut BtfTracePoint = program.try_into().map_err(refused)?;
            program.load(tracepoint, &btf).map_err(|error| refused_program(tracepoint, error))?;
        }
        let all_tallied = ebpf.map(map!("tallied")).and_then(|map| match map {
            Map::PerCpuArray(map) => PerCpuTable::new(map, REQUEST_COUNTS),
            _ => None,
        });
        let mut take = |name: &str| ebpf.take_map(name).ok_or_else(|| absent(name));
        Ok(Programs {
            devices: Array::try_from(take(map!("devices"))?).map_err(refused)?,
            tallied: PerCpuArray::try_from(take(map!("tallied"))?).map_err(refused)?,
            all_tallied,
            counted: PerCpuArray::try_from(take(map!("counted"))?).map_err(refused)?,
            epochs: Array::try_from(take(map!("epochs"))?).map_err(refused)?,
            epoch: 0,
            thinnings: Array::try_from(take(map!("thinnings"))?).map_err(refused)?,
            slots: Array::try_from(take(map!("slots"))?).map_err(refused)?,
            records: RingBuf::try_from(take(map!("records"))?).map_err(refused)?,
            traces: StackTraceMap::try_from(take(map!("traces"))?).map_err(refused)?,
            names: Some(HashMap::try_from(take(map!("names"))?).map_err(refused)?),
            always,
            besides,
            turn: Vec::new(),
            exact_since: 0,
            ebpf: Some(ebpf),
        })
    }

    /// Attaches the programs.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub(crate) fn attach(&mut self) -> Result<(), Error> {
        let Some(ebpf) = &mut self.ebpf else { return Ok(()) };
        for (_, name) in &self.always {
            program(ebpf, name)?.attach().map_err(refused)?;
        }
        Ok(())
    }

    /// Attaches the exact tracer and starts its turn, or ends the turn and detaches it. No
    /// completion is missed or counted twice.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub(crate) fn take_turn(&mut self, exact: bool) -> Result<(), Error> {
        if exact == (self.exact_since > 0) || !self.takes_turns() {
            return Ok(());
        }
        if exact {
            if let Err(error) = self.attach_besides() {
                self.detach_besides()?;
                return Err(error);
            }
            self.exact_since = clock::now().ns().unsigned_abs();
            return self.write_clock();
        }
        self.exact_since = 0;
        self.write_clock()?;
        self.detach_besides()
    }

    fn attach_besides(&mut self) -> Result<(), Error> {
        let Some(ebpf) = &mut self.ebpf else { return Ok(()) };
        for (_, name) in &self.besides {
            self.turn.push((name, program(ebpf, name)?.attach().map_err(refused)?));
        }
        Ok(())
    }

    fn detach_besides(&mut self) -> Result<(), Error> {
        let Some(ebpf) = &mut self.ebpf else { return Ok(()) };
        for (name, link) in self.turn.drain(..) {
            program(ebpf, name)?.detach(link).map_err(refused)?;
        }
        Ok(())
    }

    /// Whether the exact tracer has its turns.
    pub(crate) fn takes_turns(&self) -> bool {
        !self.besides.is_empty()
    }

    /// Detaches and unloads the programs; their tables can still be read.
    pub(crate) fn detach(&mut self) {
        self.ebpf = None;
    }

    /// Writes an entry of the device table.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub(crate) fn set_device(
        &mut self,
        place: u32,
        number: u32,
        row: u32,
        without_requests: bool,
    ) -> Result<(), Error> {
        // The last number belongs to the programs: whether requests were seen to keep their start
        // time.
        let entry = [word(number, row), word(without_requests.into(), 0)];
        self.devices.set(place, entry, 0).map_err(broke)
    }

    /// Nanoseconds spent in the programs and their number of runs, if the kernel counts them
    /// (`kernel.bpf_stats_enabled`).
    pub(crate) fn time_spent(&self) -> (u64, u64) {
        let Some(ebpf) = &self.ebpf else { return (0, 0) };
        let known = ebpf.programs().filter_map(|(_, program)| program.info().ok());
        known.fold((0, 0), |(ns, runs), program| {
            (ns + program.run_time().as_nanos() as u64, runs + program.run_count())
        })
    }

    /// The descriptors of the programs.
    pub(crate) fn descriptors(&self) -> Vec<RawFd> {
        let programs = self.ebpf.iter().flat_map(Ebpf::programs);
        programs.filter_map(|(_, it)| Some(it.fd().ok()?.as_fd().as_raw_fd())).collect()
    }

    /// The request counts of devices and operations, over all CPUs: rows from `first` on, with all
    /// operations of each, as many per system call as [`BATCH_BYTES`] hold.
    ///
    /// # Errors
    /// If the table cannot be read.
    pub(crate) fn counts(
        &self,
        first: u32,
        rows: u32,
    ) -> Result<Vec<[u64; REQUEST_COUNTS]>, Error> {
        let (mut keys, end) = (first * OPS, (first + rows) * OPS);
        let mut found = Vec::with_capacity((rows * OPS) as usize);
        if let Some(table) = &self.all_tallied {
            let most = (BATCH_BYTES / size_of::<u64>() / table.words()).max(1) as u32;
            let mut values = vec![0; most.min(rows * OPS) as usize * table.words()];
            while keys < end {
                let count = most.min(end - keys);
                values.truncate(count as usize * table.words());
                if table.read(keys, &mut values).is_none() {
                    break;
                }
                found.extend(values.chunks_exact(table.words()).map(|entry| {
                    let (cpus, _) = entry.as_chunks();
                    sum(cpus)
                }));
                keys += count;
            }
        }
        for key in keys..end {
            found.push(sum(&self.tallied.get(&key, 0).map_err(broke)?));
        }
        Ok(found)
    }

    /// The histogram at `key`, one per CPU.
    ///
    /// # Errors
    /// If the table cannot be read.
    pub(crate) fn histograms(&self, key: u32) -> Result<Vec<[u64; HISTOGRAM_WORDS]>, Error> {
        Ok(self.counted.get(&key, 0).map_err(broke)?.to_vec())
    }

    /// Starts a new interval; in interval 0, the initial one, the programs do nothing.
    ///
    /// # Errors
    /// If the table cannot be written.
    pub(crate) fn set_epoch(&mut self, epoch: u64) -> Result<(), Error> {
        self.epoch = epoch;
        self.write_clock()
    }

    /// Writes the current time for the programs, which use it for unknown start times.
    ///
    /// # Errors
    /// If the table cannot be written.
    pub(crate) fn write_clock(&mut self) -> Result<(), Error> {
        let now = clock::now().ns().unsigned_abs();
        self.epochs.set(0, [self.epoch, now, self.exact_since], 0).map_err(broke)
    }

    /// From now on sends only slow requests and a sample of the others for this device and
    /// operation; all of them if `thinning` is `None`.
    ///
    /// # Errors
    /// If the table cannot be written.
    pub(crate) fn set_thinning(
        &mut self,
        row: u32,
        op: u32,
        thinning: Option<ThinRule>,
    ) -> Result<(), Error> {
        let words = thinning.map_or([0, 0], ThinRule::words);
        self.thinnings.set(row * OPS + op, words, 0).map_err(broke)
    }

    /// Passes on the records in the ring, with the table of stacks by number.
    pub(crate) fn drain(&mut self, mut take: impl FnMut(&[u8], &dyn Fn(u32) -> Vec<u64>)) {
        let traces = &self.traces;
        let frames = |id: u32| match traces.get(&id, 0) {
            Ok(stack) => stack.frames().iter().map(|frame| frame.ip).collect(),
            Err(_) => Vec::new(),
        };
        while let Some(record) = self.records.next() {
            take(&record, &frames);
        }
    }

    /// The slots whose last request was not seen to complete.
    ///
    /// # Errors
    /// If the table cannot be read.
    pub(crate) fn in_flight(&self) -> Result<Vec<OpenSlot>, Error> {
        let mut found = Vec::new();
        for set in self.slots.iter() {
            found.extend(slots::unended(&set.map_err(broke)?));
        }
        Ok(found)
    }
}

/// The sum over all CPUs.
fn sum(cpus: &[[u64; REQUEST_COUNTS]]) -> [u64; REQUEST_COUNTS] {
    let mut sum = [0; REQUEST_COUNTS];
    for cpu in cpus {
        sum.iter_mut().zip(cpu).for_each(|(sum, more)| *sum += more);
    }
    sum
}

/// Bytes of request counts that one call reads: of 115 devices on 32 processors.
const BATCH_BYTES: usize = 2 << 20;
/// log2 of the entries for arrivals, 16 bytes each: far more than bios that wait for a request.
const ARRIVAL_BITS: u32 = 14;
/// Files whose paths were sent, and tasks in direct I/O: the kernel evicts the least recently used.
const FILES: u32 = 16_384;
/// Different stacks, 400 bytes each; on a hash collision a stack is counted as missed.
const STACKS: u32 = 16_384;
/// A memory page: the minimum size of a ring.
const PAGE: u32 = 4096;

/// A loader without the kernel's types. aya's parses them at once: tens of megabytes, which are
/// dropped here, before the caller parses its own.
pub(crate) fn bare_loader<'a>() -> EbpfLoader<'a> {
    let mut loader = EbpfLoader::new();
    loader.btf(None);
    loader
}

fn program<'p>(ebpf: &'p mut Ebpf, name: &str) -> Result<&'p mut BtfTracePoint, Error> {
    ebpf.program_mut(name).ok_or_else(|| absent(name))?.try_into().map_err(refused)
}

pub(crate) fn refused(error: impl std::error::Error) -> Error {
    Error::Kernel { what: format!("the kernel refused the tracer: {}", chain(&error)) }
}

fn refused_program(tracepoint: &str, error: impl std::error::Error) -> Error {
    let why = chain(&error);
    Error::Kernel {
        what: format!("the kernel refused the tracer program for `{tracepoint}`: {why}"),
    }
}

pub(crate) fn broke(error: impl std::error::Error) -> Error {
    Error::Kernel { what: format!("a table of the tracer cannot be read: {}", chain(&error)) }
}

pub(crate) fn absent(name: &str) -> Error {
    Error::Kernel { what: format!("the embedded program has no `{name}` (a bug in iowhy)") }
}

/// An error with its causes on one line; of the verifier's log only the end, where the reason is.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    in_short(&text)
}

/// Of the verifier's log: the first line and the last two before its statistics.
fn in_short(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && *line != "|");
    let lines: Vec<&str> = lines.collect();
    let statistics = |line: &&str| {
        ["verification time ", "stack depth ", "processed "].iter().any(|it| line.starts_with(it))
            || line.starts_with("insns processed ")
    };
    let end = lines.iter().position(statistics).unwrap_or(lines.len());
    match lines.get(..end).unwrap_or(&lines) {
        [first, .., before, reason] => format!("{first} ... {before} | {reason}"),
        _ => lines.join(" "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object_names::sizes;

    #[test]
    fn tables_have_the_layout_that_is_read() {
        let words = |map: &str, words: usize| {
            assert_eq!(
                sizes(&OBJECT.unpacked(), map),
                (size_of::<u32>(), words * size_of::<u64>()),
                "{map}"
            );
        };
        words(map!("devices"), 2);
        words(map!("tallied"), REQUEST_COUNTS);
        words(map!("counted"), HISTOGRAM_WORDS);
        words(map!("epochs"), 3);
        words(map!("thinnings"), 2);
        words(map!("slots"), SET_WORDS);
        words(map!("names"), 4);
    }

    #[test]
    fn a_refusal_is_told_by_its_reason_not_by_the_statistics_behind_it() {
        let reported = "Verifier output: 0: R1=ctx()\n\n1: (b7) r2 = 8\n562: (85) call unknown#7\n\
                    invalid func unknown#7\nverification time 2 usec\nstack depth 152 max 0\n\
                    insns processed 3935\nprocessed 3935 insns (limit 1000000)\n: Invalid argument";
        let short = "Verifier output: 0: R1=ctx() ... 562: (85) call unknown#7 | \
                     invalid func unknown#7";
        assert_eq!(in_short(reported), short);
        assert_eq!(in_short("no room"), "no room");
    }
}
