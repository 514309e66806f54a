//! Uninterruptible sleep of tasks, with the kernel stack in which they wait, with eBPF.
//!
//! ## Watches
//! Every task that leaves its CPU in state D (uninterruptible or killable, but not the idle state I
//! of kernel workers), until it runs again: number, sum and longest, in the kernel, per process,
//! kernel stack, and whether the scheduler accounts the wait as one for I/O (`in_iowait`). The time
//! ends when the task has a CPU again, so it contains what it waits for one after it was woken. A
//! wait that has not ended is counted up to the end of the watch, one that had begun before is
//! counted from the start of the watch.
//!
//! ## Needs
//! Linux 5.8 or later with BTF, and root or `CAP_BPF` with `CAP_PERFMON`. Names of kernel functions
//! need `CAP_SYSLOG`, or `kernel.kptr_restrict` 0. Tasks that wait already when the watch begins
//! are seen since Linux 5.9, and not from inside a PID namespace.
//!
//! ## Costs
//! About 60 nanoseconds for every context switch on the machine, and one microsecond more for one
//! into state D, whose stack is walked (Linux 6.18, by `kernel.bpf_stats_enabled`). 8 MiB, and 0.2
//! MiB for each CPU.
//!
//! ## Not in this output
//! How long a task had waited before the watch began. Interruptible sleep (state S), waiting for a
//! CPU, and CPU time. Which device a wait was for, and whether a completed block I/O ended it: the
//! wake-up is not traced.

use std::collections::BTreeMap;
use std::io::Read;

use aya::maps::{HashMap, MapData, PerCpuArray, PerCpuHashMap, StackTraceMap};
use aya::programs::{BtfTracePoint, Iter};
use aya::{Btf, Ebpf, EbpfLoader, include_bytes_aligned};
use iowhy_model::{Level, Nanos, Sampling, Sink, Source, Time};

use crate::bpf::{absent, broke, refused};
use crate::btf::KernelTypes;
use crate::call_latencies::{CallerGlobals, Callers, missed, name_in};
use crate::rights::Rights;
use crate::stacks::KernelSymbols;
use crate::{Collector, Error, clock};

/// Its name in the list of collectors.
pub const NAME: &str = "waits";

/// The compiled `bpf/waits.bpf.c`.
static OBJECT: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/waits.bpf.o"));

/// The tracepoint and its program.
const TRACEPOINT: &str = "sched_switch";
const PROGRAM: &str = "change_task";
/// What a program is shown to see all tasks, and that program.
const TASKS: &str = "task";
const LOOK: &str = "look_at_task";
/// Frames of `struct stack`.
const FRAMES: usize = 64;
/// Numbers of stacks of tasks that waited before, plus the thread; as in the programs.
const EARLIER: u32 = 1 << 30;
/// Words of `struct wait`: process, stack, whether for I/O, name.
const WAIT_WORDS: usize = 7;
/// Words of `struct begun`: the time, a wait, and what fills its last 8 bytes.
const BEGUN_WORDS: usize = 2 + WAIT_WORDS + 1;

/// What the tasks of one process and name waited for in one stack of the kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WaitCount {
    /// The process; 0 where it has no number in the namespace of whoever watches.
    pub pid: u32,
    /// Its name, that of its first thread.
    pub comm: String,
    /// The kernel's frames, innermost first, as `function+0x12`; none if they could not be kept.
    pub stack: Vec<String>,
    /// Whether the scheduler accounts it as a wait for I/O.
    pub for_io: bool,
    /// How many waits, with those that had not ended.
    pub count: u64,
    /// Those that had not ended.
    pub unfinished: u64,
    /// Those that had begun before the watch.
    pub earlier: u64,
    /// Their lengths added up.
    pub total: Nanos,
    /// The longest.
    pub longest: Nanos,
}

/// The watcher of waits.
pub struct Waits {
    whom: Callers,
    running: Option<AttachedState>,
    counts: Vec<WaitCount>,
    hides_names: bool,
}

/// `struct wait`.
type Wait = [u32; WAIT_WORDS];

struct AttachedState {
    // Dropped first: nothing is counted into tables that are going.
    programs: Option<Ebpf>,
    waiting: HashMap<MapData, u32, [u32; BEGUN_WORDS]>,
    waits: PerCpuHashMap<MapData, Wait, [u64; 3]>,
    traces: StackTraceMap<MapData>,
    earlier: HashMap<MapData, u32, [u64; FRAMES]>,
    missed: PerCpuArray<MapData, u64>,
    symbols: KernelSymbols,
    listing: usize,
    began: Time,
}

impl Waits {
    /// A watcher of these that has not begun yet.
    pub fn new(whom: Callers) -> Waits {
        Waits { whom, running: None, counts: Vec::new(), hides_names: false }
    }

    /// Everything counted up to the end of the watch, the longest sum first.
    pub fn counts(&self) -> &[WaitCount] {
        &self.counts
    }

    /// Whether the kernel hides the names of its functions.
    pub fn hides_names(&self) -> bool {
        self.hides_names
    }
}

impl Collector for Waits {
    fn name(&self) -> &'static str {
        NAME
    }

    fn begin(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        Rights::read()?.suffice()?;
        let types = KernelTypes::read()?;
        let btf = Btf::from_sys_fs().map_err(refused)?;
        let arguments = types.tracepoint_arguments(TRACEPOINT);
        let state_argument = u32::from(arguments.is_some_and(|number| number > 3));
        let (globals, mut loader) = (CallerGlobals::of(&self.whom), EbpfLoader::new());
        loader.btf(Some(&btf)).override_global("state_argument", &state_argument, true);
        globals.set(&mut loader);
        let mut programs = loader.load(OBJECT).map_err(refused)?;
        let mut take = |name: &str| programs.take_map(name).ok_or_else(|| absent(name));
        let waiting = HashMap::try_from(take("waiting")?).map_err(refused)?;
        let waits = PerCpuHashMap::try_from(take("waits")?).map_err(refused)?;
        let traces = StackTraceMap::try_from(take("traces")?).map_err(refused)?;
        let earlier = HashMap::try_from(take("earlier")?).map_err(refused)?;
        let missed = PerCpuArray::try_from(take("missed")?).map_err(refused)?;
        let symbols = KernelSymbols::read();
        self.hides_names = symbols.are_hidden();
        let program = programs.program_mut(PROGRAM).ok_or_else(|| absent(PROGRAM))?;
        let program: &mut BtfTracePoint = program.try_into().map_err(refused)?;
        program.load(TRACEPOINT, &btf).map_err(refused)?;
        program.attach().map_err(refused)?;
        let began = clock::now();
        if globals.see_all_processes() {
            // Older kernels cannot show a program the stacks of others.
            let _ = look_at_tasks(&mut programs, &btf);
        }
        let mut source = Source::new(NAME, "live", Level::B);
        source.sampling = Sampling::Traced;
        source.resolution = Some(Nanos(1));
        let listing = sink.begin(source);
        let programs = Some(programs);
        self.running = Some(AttachedState {
            programs,
            waiting,
            waits,
            traces,
            earlier,
            missed,
            symbols,
            listing,
            began,
        });
        Ok(())
    }

    /// Nothing leaves the kernel before the end.
    fn poll(&mut self, _: &mut dyn Sink) -> Result<(), Error> {
        Ok(())
    }

    fn end(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        let Some(mut running) = self.running.take() else { return Ok(()) };
        running.programs = None;
        let now = clock::now();
        sink.resume(running.listing);
        sink.source().watched = Some(now - running.began);
        self.counts = running.read(now)?;
        let [no_sum, no_start] = missed(&running.missed)?;
        sink.lost("waits not counted: too many processes and stacks", no_sum);
        sink.lost("waits not counted: too many tasks waited at once", no_start);
        let without = |count: &&WaitCount| count.stack.is_empty();
        let no_stack = self.counts.iter().filter(without).map(|count| count.count).sum();
        sink.lost("waits counted without a stack: too many different ones", no_stack);
        sink.end();
        Ok(())
    }
}

/// Has the program look at every task once.
fn look_at_tasks(programs: &mut Ebpf, btf: &Btf) -> Result<(), Error> {
    let program = programs.program_mut(LOOK).ok_or_else(|| absent(LOOK))?;
    let program: &mut Iter = program.try_into().map_err(refused)?;
    program.load(TASKS, btf).map_err(refused)?;
    let link = program.attach().map_err(refused)?;
    let link = program.take_link(link).map_err(refused)?;
    let mut shown = link.into_file().map_err(refused)?;
    // Nothing is printed; reading is what shows them.
    let read = shown.read_to_end(&mut Vec::new());
    read.map(|_| ()).map_err(|cause| Error::File { path: "bpf_iter".to_string(), cause })
}

impl AttachedState {
    /// All that ended, and all that had not at this time.
    fn read(&self, now: Time) -> Result<Vec<WaitCount>, Error> {
        let mut sums: BTreeMap<Wait, WaitSum> = BTreeMap::new();
        for entry in self.waits.iter() {
            let (of, cpus) = entry.map_err(broke)?;
            let sum = sums.entry(of).or_default();
            for [count, total, longest] in cpus.iter() {
                sum.add(*count, *total, *longest);
            }
        }
        for entry in self.waiting.iter() {
            let (_, begun) = entry.map_err(broke)?;
            let Some((since, of)) = split(begun) else { continue };
            let took = u64::try_from(now.ns()).unwrap_or(0).saturating_sub(since);
            let sum = sums.entry(of).or_default();
            sum.add(1, took, took);
            sum.unfinished += 1;
        }
        // A stack that was there before and one of later may be the same.
        let mut counts: BTreeMap<(u32, String, Vec<String>, bool), WaitCount> = BTreeMap::new();
        for count in sums.into_iter().filter_map(|(of, sum)| self.named(of, sum)) {
            let key = (count.pid, count.comm.clone(), count.stack.clone(), count.for_io);
            match counts.get_mut(&key) {
                Some(known) => known.add(&count),
                None => drop(counts.insert(key, count)),
            }
        }
        let mut counts: Vec<WaitCount> = counts.into_values().collect();
        counts.sort_by_key(|count| std::cmp::Reverse(count.total));
        Ok(counts)
    }

    fn named(&self, [pid, stack, for_io, name @ ..]: Wait, sum: WaitSum) -> Option<WaitCount> {
        let is_earlier = stack.cast_signed() >= EARLIER.cast_signed();
        let addresses: Vec<u64> = if stack.cast_signed() < 0 {
            Vec::new()
        } else if is_earlier {
            let frames = self.earlier.get(&(stack - EARLIER), 0).ok();
            frames.into_iter().flatten().take_while(|address| *address > 0).collect()
        } else {
            let trace = self.traces.get(&stack, 0).ok();
            trace.map_or(Vec::new(), |trace| trace.frames().iter().map(|one| one.ip).collect())
        };
        let nanos = |ns: u64| Nanos(i64::try_from(ns).unwrap_or(i64::MAX));
        (sum.count > 0).then(|| WaitCount {
            pid,
            comm: name_in(&name.map(u32::to_ne_bytes).concat()),
            stack: self.symbols.frames(&addresses),
            for_io: for_io > 0,
            count: sum.count,
            unfinished: sum.unfinished,
            earlier: if is_earlier { sum.count } else { 0 },
            total: nanos(sum.total),
            longest: nanos(sum.longest),
        })
    }
}

impl WaitCount {
    /// Adds others to these, of the same process and stack or of another.
    pub fn add(&mut self, other: &WaitCount) {
        self.count += other.count;
        self.unfinished += other.unfinished;
        self.earlier += other.earlier;
        self.total = Nanos(self.total.ns().saturating_add(other.total.ns()));
        self.longest = self.longest.max(other.longest);
    }
}

#[derive(Clone, Copy, Default)]
struct WaitSum {
    count: u64,
    unfinished: u64,
    total: u64,
    longest: u64,
}

impl WaitSum {
    fn add(&mut self, count: u64, total: u64, longest: u64) {
        self.count += count;
        self.total = self.total.saturating_add(total);
        self.longest = self.longest.max(longest);
    }
}

/// `struct begun`: when it began, and what wait it is.
fn split([low, high, rest @ ..]: [u32; BEGUN_WORDS]) -> Option<(u64, Wait)> {
    let [low, high] = [low, high].map(u32::to_ne_bytes);
    let (time, wait) = ([low, high].concat(), rest.first_chunk()?);
    Some((u64::from_ne_bytes(time.try_into().ok()?), *wait))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_that_goes_on_is_read_as_it_was_kept() {
        let mut begun = [0u32; BEGUN_WORDS];
        let time = 0x1_2345_6789u64.to_ne_bytes();
        begun[0] = u32::from_ne_bytes([time[0], time[1], time[2], time[3]]);
        begun[1] = u32::from_ne_bytes([time[4], time[5], time[6], time[7]]);
        begun[2..5].copy_from_slice(&[42, 7, 1]);
        let (since, [pid, stack, for_io, ..]) = split(begun).expect("a wait");
        assert_eq!((since, pid, stack, for_io), (0x1_2345_6789, 42, 7, 1));
    }
}
