//! Sleep of tasks, with the kernel stack in which they wait and what ended it, with eBPF.
//!
//! ## Watches
//! Every task that leaves its CPU in state D (uninterruptible or killable, but not the idle state I
//! of kernel workers), or of some programs in state S, if asked, until it runs again: number, sum
//! and longest, in the kernel, per process, kernel stack, and whether the scheduler accounts the
//! wait as one for I/O (`in_iowait`). The time ends when the task runs again, so it includes the
//! wait for a CPU after the wake-up. A wait that has not ended is counted up to the end of the
//! watch, one that began earlier is counted from the start of the watch.
//!
//! What ends a wait is a wake-up. If it is called within the completion of a block request (on the
//! same CPU, in the same context, before that request is free again), that request ended the wait:
//! its device, its operation and its device time (D2C) are counted with the wait. Else the wake-up
//! came from a running task, whose program is counted, or from an interrupt.
//!
//! ## Needs
//! Linux 5.8 or later with BTF, and root or `CAP_BPF` with `CAP_PERFMON`. Names of kernel functions
//! need `CAP_SYSLOG`, or `kernel.kptr_restrict` 0. Tasks that are already waiting when the watch
//! begins are seen since Linux 5.9, and not from inside a PID namespace.
//!
//! ## Costs
//! About 60 nanoseconds for every context switch on the machine, and one microsecond more for one
//! into state D, whose stack is walked; 0.1 microseconds for every wake-up, 0.5 for every block
//! request, and one more for a wake-up of such a task by a program (Linux 6.18, by
//! `kernel.bpf_stats_enabled`). 8 MiB, and 0.5 MiB for each CPU. State S and the functions of
//! programs cost the same per sleep and stack, and nothing unless asked for.
//!
//! ## Not in this output
//! How long a task had waited before the watch began. Waiting for a CPU, and CPU time. I/O that
//! ends a wait through another task: a worker of the file system, the journal's thread or the
//! thread of an array passes on the completion of the request, and that task is named. Of several
//! requests that a task waits for together, only the last one, which wakes it.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use aya::maps::{HashMap, MapData, PerCpuArray, PerCpuHashMap, StackTraceMap};
use aya::programs::{BtfTracePoint, Iter};
use aya::{Btf, Ebpf};
use iowhy_model::Order as _;
use iowhy_model::{Level, Nanos, Op, Sampling, Sink, Source, Time};

use crate::bpf::{absent, bare_loader, broke, refused};
use crate::btf::KernelTypes;
use crate::call_latencies::{CallerGlobals, Callers, missed, name_in};
use crate::object_names::{Packed, names_of, packed};
use crate::rights::Rights;
use crate::stacks::KernelSymbols;
use crate::user_frames::UserFrames;
use crate::{Collector, Error, clock, devices};

/// Its name in the list of collectors.
pub(super) const NAME: &str = "waits";

/// The compiled `bpf/waits.bpf.c`.
static OBJECT: Packed = packed!("waits");
names_of!($ WAITS);

/// The tracepoint and its program.
const TRACEPOINT: &str = "sched_switch";
const PROGRAM: &str = program!("change_task");
/// The programs that see what ends a wait; the one that attributes it comes last.
const ENDS: [(&str, &str); 3] = [
    ("block_rq_issue", program!("note_issue")),
    ("block_rq_complete", program!("note_completion")),
    ("sched_waking", program!("wake_task")),
];
/// The iterator over all tasks, and its program.
const TASKS: &str = "task";
const LOOK: &str = program!("look_at_task");
/// Frames of `struct stack`.
const FRAMES: usize = 64;
/// First stack number of tasks that waited before, to which the thread id is added; as in the
/// programs.
const EARLIER: u32 = 1 << 30;
/// Words of `struct wait`: process, two stacks, state, whether for I/O, name; what ended it,
/// device, operation, name.
const WAIT_WORDS: usize = 16;
/// Words of `struct begun`: two times, a latency, and a wait.
const BEGUN_WORDS: usize = 6 + WAIT_WORDS;
/// 64-bit words of `struct waited`.
const WAITED_WORDS: usize = 7;
/// TASK_INTERRUPTIBLE and TASK_UNINTERRUPTIBLE (include/linux/sched.h).
const INTERRUPTIBLE: u32 = 1;
const UNINTERRUPTIBLE: u32 = 2;
/// `enum ended_by`.
const BY_REQUEST: u32 = 1;
const BY_INTERRUPT: u32 = 2;
const BY_TASK: u32 = 3;
/// Where the kernel is entered for an interrupt while a program runs (arch/x86/entry/entry_64.S,
/// arch/x86/include/asm/idtentry.h).
const INTERRUPTED: [&str; 4] =
    ["asm_common_interrupt", "asm_sysvec_", "asm_spurious_interrupt", "common_interrupt_return"];
/// Least size of a task's stack in the kernel (THREAD_SIZE of x86-64 and arm64); it is never
/// smaller than a page.
const LEAST_STACK: u64 = 16 << 10;
/// RQF_FLUSH_SEQ before it was an enumerator (6.11).
const FLUSH_SEQ_BIT: u32 = 4;

/// Which waits are watched.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WaitOptions {
    /// Whose.
    pub whom: Callers,
    /// Uninterruptible sleep.
    pub uninterruptible: bool,
    /// Interruptible sleep.
    pub interruptible: bool,
    /// Whether the program's own functions are kept, too.
    pub user_stacks: bool,
}

impl WaitOptions {
    /// Uninterruptible sleep, by the kernel's functions.
    pub fn new(whom: Callers) -> WaitOptions {
        WaitOptions { whom, uninterruptible: true, interruptible: false, user_stacks: false }
    }
}

/// Waits of one process and name in one state and stack.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WaitCount {
    /// The process; 0 if it has no id in the watcher's PID namespace.
    pub pid: u32,
    /// Its name, that of its first thread.
    pub comm: String,
    /// The kernel's frames, innermost first, as `function+0x12`; empty if they could not be kept.
    pub stack: Vec<String>,
    /// The program's frames, innermost first, as `function (file)`, if they were asked for.
    pub user: Vec<String>,
    /// Whether it slept uninterruptibly (state D).
    pub uninterruptible: bool,
    /// Whether the scheduler accounts it as a wait for I/O.
    pub for_io: bool,
    /// Number of waits, including unfinished ones.
    pub count: u64,
    /// Waits that had not ended.
    pub unfinished: u64,
    /// Waits that had begun before the watch.
    pub earlier: u64,
    /// Their summed duration.
    pub total: Nanos,
    /// The longest.
    pub longest: Nanos,
    /// What ended them, the longest sum first; counts and sums add up to those of the waits.
    pub ends: Vec<WaitEnd>,
}

/// What ended a wait.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum EndedBy {
    /// The completion of a block request.
    Request {
        /// Of this device.
        device: String,
        /// Its operation.
        op: Op,
    },
    /// An interrupt that woke the task without completing a block request.
    Interrupt,
    /// A running task of this program.
    Task(String),
    /// It had not ended.
    Nothing,
    /// The wake-up was not seen.
    Unknown,
}

/// Waits with the same end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WaitEnd {
    /// What ended them.
    pub by: EndedBy,
    /// How many.
    pub count: u64,
    /// Their summed duration.
    pub total: Nanos,
    /// Of this, from the wake-up until the task ran.
    pub late: Nanos,
    /// How many have a device time of the ending request.
    pub with_d2c: u64,
    /// The sum of these device times.
    pub d2c: Nanos,
    /// The longest of these.
    pub longest_d2c: Nanos,
}

/// The watcher of waits.
pub struct Waits {
    options: WaitOptions,
    running: Option<AttachedState>,
    counts: Vec<WaitCount>,
    hides_names: bool,
    refused_ends: Option<String>,
}

/// `struct wait`.
type Wait = [u32; WAIT_WORDS];

struct AttachedState {
    // Dropped first, so that nothing is counted into tables that are being freed.
    programs: Option<Ebpf>,
    waiting: HashMap<MapData, u32, [u32; BEGUN_WORDS]>,
    waits: PerCpuHashMap<MapData, Wait, [u64; WAITED_WORDS]>,
    devices: BTreeMap<u32, String>,
    traces: StackTraceMap<MapData>,
    earlier: HashMap<MapData, u32, [u64; FRAMES]>,
    missed: PerCpuArray<MapData, u64>,
    symbols: KernelSymbols,
    user: UserFrames,
    listing: usize,
    began: Time,
}

impl Waits {
    /// A watcher that has not begun yet.
    pub fn new(options: WaitOptions) -> Waits {
        Waits { options, running: None, counts: Vec::new(), hides_names: false, refused_ends: None }
    }

    /// Everything counted up to the end of the watch, the longest sum first.
    pub fn counts(&self) -> &[WaitCount] {
        &self.counts
    }

    /// Whether the kernel hides the names of its functions.
    pub fn hides_names(&self) -> bool {
        self.hides_names
    }

    /// Why the kernel refused the programs that see what ends a wait, if it did.
    pub fn refused_ends(&self) -> Option<&str> {
        self.refused_ends.as_deref()
    }
}

impl Collector for Waits {
    fn name(&self) -> &'static str {
        NAME
    }

    fn begin(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        Rights::read()?.suffice()?;
        let types = KernelTypes::read()?;
        let (globals, mut loader) = (CallerGlobals::of(&self.options.whom), bare_loader());
        let btf = Btf::from_sys_fs().map_err(refused)?;
        let arguments = types.tracepoint_arguments(TRACEPOINT);
        let state_argument = u32::from(arguments.is_some_and(|number| number > 3));
        let arguments = types.tracepoint_arguments("block_rq_issue");
        let rq_argument = u32::from(arguments == Some(2));
        let has_rq_disk = u32::from(types.has_member("request", "rq_disk"));
        let flush_seq = 1u32 << types.constant("__RQF_FLUSH_SEQ").unwrap_or(FLUSH_SEQ_BIT);
        let stack_bytes = LEAST_STACK.max(rustix::param::page_size() as u64);
        let state = |watched: bool, bit: u32| if watched { bit } else { 0 };
        let watched_states = state(self.options.uninterruptible, UNINTERRUPTIBLE)
            | state(self.options.interruptible, INTERRUPTIBLE);
        let with_user_stacks = u32::from(self.options.user_stacks);
        loader
            .btf(Some(&btf))
            .override_global(global!("watched_states"), &watched_states, true)
            .override_global(global!("with_user_stacks"), &with_user_stacks, true)
            .override_global(global!("state_argument"), &state_argument, true)
            .override_global(global!("rq_argument"), &rq_argument, true)
            .override_global(global!("has_rq_disk"), &has_rq_disk, true)
            .override_global(global!("flush_seq_flag"), &flush_seq, true)
            .override_global(global!("stack_bytes"), &stack_bytes, true);
        globals.set(&mut loader);
        let mut programs = loader.load(&OBJECT.unpacked()).map_err(refused)?;
        let mut take = |name: &str| programs.take_map(name).ok_or_else(|| absent(name));
        let waiting = HashMap::try_from(take(map!("waiting"))?).map_err(refused)?;
        let waits = PerCpuHashMap::try_from(take(map!("waits"))?).map_err(refused)?;
        let traces = StackTraceMap::try_from(take(map!("traces"))?).map_err(refused)?;
        let earlier = HashMap::try_from(take(map!("earlier"))?).map_err(refused)?;
        let missed = PerCpuArray::try_from(take(map!("missed"))?).map_err(refused)?;
        let symbols = KernelSymbols::read();
        self.hides_names = symbols.are_hidden();
        // Attached first, so that no wait begins whose end could be missed. All or none are
        // attached: a wake-up without its request would be attributed to something else.
        let ends = ENDS.iter().map(|(at, name)| load(&mut programs, at, name, &btf));
        let loaded = ends.collect::<Result<Vec<()>, Error>>();
        match loaded {
            Ok(_) => ENDS.iter().try_for_each(|(_, name)| attach(&mut programs, name))?,
            Err(error) => self.refused_ends = Some(error.to_string()),
        }
        load(&mut programs, TRACEPOINT, PROGRAM, &btf)?;
        attach(&mut programs, PROGRAM)?;
        let began = clock::now();
        if globals.see_all_processes() {
            // Older kernels do not allow a program to read the stacks of other tasks.
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
            devices: device_names(),
            traces,
            earlier,
            missed,
            symbols,
            user: UserFrames::default(),
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
        // Detaching the programs takes a while: unfinished waits are counted up to here.
        let now = clock::now();
        running.programs = None;
        // Adds new ones, and keeps those that are gone.
        running.devices.extend(device_names());
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

fn load(programs: &mut Ebpf, tracepoint: &str, name: &str, btf: &Btf) -> Result<(), Error> {
    tracepoint_program(programs, name)?.load(tracepoint, btf).map_err(refused)
}

fn attach(programs: &mut Ebpf, name: &str) -> Result<(), Error> {
    tracepoint_program(programs, name)?.attach().map(drop).map_err(refused)
}

fn tracepoint_program<'a>(
    programs: &'a mut Ebpf,
    name: &str,
) -> Result<&'a mut BtfTracePoint, Error> {
    programs.program_mut(name).ok_or_else(|| absent(name))?.try_into().map_err(refused)
}

/// Names of the block devices by their numbers, as the programs write them.
fn device_names() -> BTreeMap<u32, String> {
    let known = devices::devices(Path::new("/sys")).unwrap_or_default().into_iter();
    known.map(|device| ((device.major << 20 | device.minor) + 1, device.name)).collect()
}

/// Has the program look at every task once.
fn look_at_tasks(programs: &mut Ebpf, btf: &Btf) -> Result<(), Error> {
    let program = programs.program_mut(LOOK).ok_or_else(|| absent(LOOK))?;
    let program: &mut Iter = program.try_into().map_err(refused)?;
    program.load(TASKS, btf).map_err(refused)?;
    let link = program.attach().map_err(refused)?;
    let link = program.take_link(link).map_err(refused)?;
    let mut shown = link.into_file().map_err(refused)?;
    // Nothing is printed; reading runs the program.
    let read = shown.read_to_end(&mut Vec::new());
    read.map(|_| ()).map_err(|cause| Error::File { path: "bpf_iter".to_string(), cause })
}

impl AttachedState {
    /// All finished waits, and those unfinished at this time.
    fn read(&mut self, now: Time) -> Result<Vec<WaitCount>, Error> {
        let mut sums: BTreeMap<Wait, WaitSum> = BTreeMap::new();
        for entry in self.waits.iter() {
            let (of, cpus) = entry.map_err(broke)?;
            let sum = sums.entry(of).or_default();
            cpus.iter().for_each(|waited| sum.add(waited));
        }
        for entry in self.waiting.iter() {
            let (_, begun) = entry.map_err(broke)?;
            let Some((since, of)) = split(begun) else { continue };
            let took = u64::try_from(now.ns()).unwrap_or(0).saturating_sub(since);
            let sum = sums.entry(of).or_default();
            sum.add_unfinished(took);
        }
        // A stack from before the watch and a later one may be the same.
        let mut counts: BTreeMap<_, WaitCount> = BTreeMap::new();
        for count in sums.into_iter().filter_map(|(of, sum)| self.named(of, sum)) {
            let stacks = (count.stack.clone(), count.user.clone());
            let key = (count.pid, count.comm.clone(), stacks, count.uninterruptible, count.for_io);
            match counts.get_mut(&key) {
                Some(known) => known.add(&count),
                None => drop(counts.insert(key, count)),
            }
        }
        let mut counts: Vec<WaitCount> = counts.into_values().collect();
        counts.order_by_key(|count| std::cmp::Reverse(count.total));
        Ok(counts)
    }

    fn named(&mut self, of: Wait, sum: WaitSum) -> Option<WaitCount> {
        let [pid, stack, user, state, for_io, rest @ ..] = of;
        let (name, end) = rest.split_first_chunk::<4>()?;
        let is_earlier = stack.cast_signed() >= EARLIER.cast_signed();
        let addresses: Vec<u64> = if is_earlier {
            let frames = self.earlier.get(&(stack - EARLIER), 0).ok();
            frames.into_iter().flatten().take_while(|address| *address > 0).collect()
        } else {
            self.trace(stack)
        };
        let known = Some(pid).filter(|pid| *pid > 0);
        let frames = self.trace(user).into_iter();
        let user = frames.map(|at| self.user.frame(known, at)).collect();
        let ends = sum.ends(ended_by(end, &self.devices, &self.symbols));
        (sum.count > 0).then(|| WaitCount {
            pid,
            comm: name_of(name),
            stack: self.symbols.frames(&addresses),
            user,
            uninterruptible: state == UNINTERRUPTIBLE,
            for_io: for_io > 0,
            count: sum.count,
            unfinished: sum.unfinished,
            earlier: if is_earlier { sum.count } else { 0 },
            total: nanos(sum.total),
            longest: nanos(sum.longest),
            ends,
        })
    }

    /// The addresses of a stack; none if it could not be kept.
    fn trace(&self, stack: u32) -> Vec<u64> {
        let known = (stack.cast_signed() >= 0).then(|| self.traces.get(&stack, 0).ok()).flatten();
        known.map_or(Vec::new(), |trace| trace.frames().iter().map(|one| one.ip).collect())
    }
}

/// The last words of `struct wait`.
fn ended_by(words: &[u32], devices: &BTreeMap<u32, String>, symbols: &KernelSymbols) -> EndedBy {
    match words {
        [BY_REQUEST, number, op, ..] => {
            let (major, minor) = (number.wrapping_sub(1) >> 20, number.wrapping_sub(1) & 0xf_ffff);
            let device = devices.get(number).cloned();
            EndedBy::Request {
                device: device.unwrap_or_else(|| format!("{major}:{minor}")),
                op: Op::ALL.get(*op as usize).copied().unwrap_or(Op::Other),
            }
        }
        [BY_INTERRUPT, ..] => EndedBy::Interrupt,
        [BY_TASK, low, high, name @ ..] => {
            let entry = u64::from(*high) << 32 | u64::from(*low);
            let frames = symbols.frames(&[entry]);
            let first = frames.first().map_or("", String::as_str);
            match INTERRUPTED.iter().any(|begins| first.starts_with(begins)) {
                true => EndedBy::Interrupt,
                false => EndedBy::Task(name_of(name)),
            }
        }
        _ => EndedBy::Unknown,
    }
}

fn name_of(words: &[u32]) -> String {
    name_in(&words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>())
}

fn nanos(ns: u64) -> Nanos {
    Nanos(i64::try_from(ns).unwrap_or(i64::MAX))
}

fn plus(one: Nanos, other: Nanos) -> Nanos {
    Nanos(one.ns().saturating_add(other.ns()))
}

impl WaitCount {
    /// Merges waits into these, by process and stack.
    pub fn add(&mut self, other: &WaitCount) {
        self.count += other.count;
        self.unfinished += other.unfinished;
        self.earlier += other.earlier;
        self.total = plus(self.total, other.total);
        self.longest = self.longest.max(other.longest);
        add_ends(&mut self.ends, &other.ends);
    }
}

/// Merges the ends of other waits into these, the longest sum first.
pub fn add_ends(ends: &mut Vec<WaitEnd>, others: &[WaitEnd]) {
    for other in others {
        match ends.iter_mut().find(|end| end.by == other.by) {
            Some(end) => {
                end.count += other.count;
                end.total = plus(end.total, other.total);
                end.late = plus(end.late, other.late);
                end.with_d2c += other.with_d2c;
                end.d2c = plus(end.d2c, other.d2c);
                end.longest_d2c = end.longest_d2c.max(other.longest_d2c);
            }
            None => ends.push(other.clone()),
        }
    }
    ends.order_by(|a, b| b.total.cmp(&a.total).then_with(|| a.by.cmp(&b.by)));
}

/// `struct waited`, of all CPUs, and unfinished waits.
#[derive(Clone, Copy, Default)]
struct WaitSum {
    count: u64,
    unfinished: u64,
    unfinished_total: u64,
    total: u64,
    longest: u64,
    late: u64,
    d2c: u64,
    longest_d2c: u64,
    with_d2c: u64,
}

impl WaitSum {
    fn add(&mut self, waited: &[u64; WAITED_WORDS]) {
        let [count, total, longest, late, d2c, longest_d2c, with_d2c] = *waited;
        self.count += count;
        self.total = self.total.saturating_add(total);
        self.longest = self.longest.max(longest);
        self.late = self.late.saturating_add(late);
        self.d2c = self.d2c.saturating_add(d2c);
        self.longest_d2c = self.longest_d2c.max(longest_d2c);
        self.with_d2c += with_d2c;
    }

    fn add_unfinished(&mut self, took: u64) {
        self.add(&[1, took, took, 0, 0, 0, 0]);
        self.unfinished += 1;
        self.unfinished_total = self.unfinished_total.saturating_add(took);
    }

    /// The ends of finished waits, and the unfinished ones.
    fn ends(&self, by: EndedBy) -> Vec<WaitEnd> {
        let none = |by| WaitEnd {
            by,
            count: 0,
            total: Nanos(0),
            late: Nanos(0),
            with_d2c: 0,
            d2c: Nanos(0),
            longest_d2c: Nanos(0),
        };
        let ended = WaitEnd {
            count: self.count - self.unfinished,
            total: nanos(self.total - self.unfinished_total),
            late: nanos(self.late),
            with_d2c: self.with_d2c,
            d2c: nanos(self.d2c),
            longest_d2c: nanos(self.longest_d2c),
            ..none(by)
        };
        let going_on = WaitEnd {
            count: self.unfinished,
            total: nanos(self.unfinished_total),
            ..none(EndedBy::Nothing)
        };
        [ended, going_on].into_iter().filter(|end| end.count > 0).collect()
    }
}

/// `struct begun`: when it began, and what wait it is.
fn split(begun: [u32; BEGUN_WORDS]) -> Option<(u64, Wait)> {
    let (times, wait) = begun.split_at_checked(BEGUN_WORDS - WAIT_WORDS)?;
    let [low, high, ..] = *times else { return None };
    let time = [low.to_ne_bytes(), high.to_ne_bytes()].concat();
    Some((u64::from_ne_bytes(time.try_into().ok()?), wait.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object_names::sizes;

    #[test]
    fn tables_have_the_layout_that_is_read() {
        let begun = size_of::<[u32; BEGUN_WORDS]>();
        assert_eq!(sizes(&OBJECT.unpacked(), map!("waiting")), (size_of::<u32>(), begun));
        let waited = size_of::<[u64; WAITED_WORDS]>();
        assert_eq!(sizes(&OBJECT.unpacked(), map!("waits")), (size_of::<Wait>(), waited));
        let frames = size_of::<[u64; FRAMES]>();
        assert_eq!(sizes(&OBJECT.unpacked(), map!("earlier")), (size_of::<u32>(), frames));
    }

    #[test]
    fn a_wait_that_goes_on_is_read_as_it_was_kept() {
        let mut begun = [0u32; BEGUN_WORDS];
        let time = 0x1_2345_6789u64.to_ne_bytes();
        begun[0] = u32::from_ne_bytes([time[0], time[1], time[2], time[3]]);
        begun[1] = u32::from_ne_bytes([time[4], time[5], time[6], time[7]]);
        begun[6..11].copy_from_slice(&[42, 7, 8, 2, 1]);
        let (since, wait) = split(begun).expect("a wait");
        assert_eq!((since, &wait[..5]), (0x1_2345_6789, &[42, 7, 8, 2, 1][..]));
    }

    #[test]
    fn what_ended_waits_is_read_and_added_up() {
        let known = BTreeMap::from([((7 << 20 | 97) + 1, "loop97".to_string())]);
        let symbols = KernelSymbols::of(&[(0x1000, "do_syscall_64"), (0x2000, "asm_sysvec_x")]);
        let ended_by = |words: &[u32]| super::ended_by(words, &known, &symbols);
        let mut words = [0u32; WAIT_WORDS - 9];
        words[..3].copy_from_slice(&[BY_REQUEST, (7 << 20 | 97) + 1, 3]);
        let flush = EndedBy::Request { device: "loop97".to_string(), op: Op::Flush };
        assert_eq!(ended_by(&words), flush);
        words[1] = (259 << 20 | 3) + 1;
        let gone = EndedBy::Request { device: "259:3".to_string(), op: Op::Flush };
        assert_eq!(ended_by(&words), gone);
        words = [0; WAIT_WORDS - 9];
        words[0] = BY_TASK;
        words[3] = u32::from_ne_bytes(*b"jbd2");
        assert_eq!(ended_by(&words), EndedBy::Task("jbd2".to_string()));
        // In a call, and in an interrupt that came while it ran.
        words[1..3].copy_from_slice(&[0x1010, 0]);
        assert_eq!(ended_by(&words), EndedBy::Task("jbd2".to_string()));
        words[1..3].copy_from_slice(&[0x2010, 0]);
        assert_eq!(ended_by(&words), EndedBy::Interrupt);
        assert_eq!(ended_by(&[BY_INTERRUPT, 0, 0, 0]), EndedBy::Interrupt);
        assert_eq!(ended_by(&[0; 7]), EndedBy::Unknown);
        assert_eq!(ended_by(&[]), EndedBy::Unknown);

        let mut sum = WaitSum::default();
        sum.add(&[2, 50, 30, 4, 20, 15, 2]);
        sum.add_unfinished(7);
        let mut ends = sum.ends(flush.clone());
        let shown = |ends: &[WaitEnd]| -> Vec<(EndedBy, u64, i64)> {
            ends.iter().map(|end| (end.by.clone(), end.count, end.total.ns())).collect()
        };
        let nothing = EndedBy::Nothing;
        assert_eq!(shown(&ends), [(flush.clone(), 2, 50), (nothing.clone(), 1, 7)]);
        let mut other = WaitSum::default();
        other.add(&[1, 100, 100, 1, 40, 40, 1]);
        add_ends(&mut ends, &other.ends(EndedBy::Interrupt));
        add_ends(&mut ends, &other.ends(flush.clone()));
        let all = [(flush, 3, 150), (EndedBy::Interrupt, 1, 100), (nothing, 1, 7)];
        assert_eq!(shown(&ends), all);
        let [by_flush, ..] = &ends[..] else { panic!("three") };
        assert_eq!(
            (by_flush.d2c, by_flush.longest_d2c, by_flush.with_d2c),
            (Nanos(60), Nanos(40), 3)
        );
        assert_eq!(by_flush.late, Nanos(5));
    }
}
