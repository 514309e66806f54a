//! I/Os by submitting stack: number and latencies.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs;

use iowhy_model::Order as _;
use iowhy_model::{DeviceId, Event, Name, Nanos, Op};

use crate::user_frames::UserFrames;

/// Kernel and user stack by their numbers; negative where there is none.
pub(crate) type StackIds = (i32, i32);

/// Maximum number of distinct stacks; I/Os of further ones are counted together.
const KEPT: usize = 10_000;
/// The kernel's symbol table.
const KERNEL: &str = "/proc/kallsyms";
/// Frames of the tracer and the tracepoint, above those of the task.
const OWN: [&str; 3] = ["bpf_", "__bpf_", "__traceiter_"];

/// I/Os of one stack.
#[derive(Clone, Debug)]
pub struct StackCount {
    /// The kernel's frames, innermost first, as `function+0x12`.
    pub kernel: Vec<String>,
    /// The program's frames, innermost first, as `function (file)`, or as `file+0x1234` with the
    /// offset in the file where that has no name.
    pub user: Vec<String>,
    /// The process.
    pub pid: Option<u32>,
    /// Its name.
    pub comm: Option<Name>,
    /// The device.
    pub device: DeviceId,
    /// The operation.
    pub op: Op,
    /// I/Os that completed.
    pub count: u64,
    /// Their latencies added up, Q2C where it is known.
    pub total: Nanos,
    /// The longest of them.
    pub longest: Nanos,
}

/// Counts by stack.
#[derive(Debug)]
pub(crate) struct Stacks {
    symbols: KernelSymbols,
    user: UserFrames,
    counts: HashMap<(StackIds, Option<u32>, DeviceId, Op), StackCount>,
    /// I/Os whose stack could not be kept.
    missed: u64,
}

/// Functions of the kernel by their addresses, in order; none where it hides them (kptr_restrict).
#[derive(Debug)]
pub(crate) struct KernelSymbols(Vec<(u64, String)>);

impl Stacks {
    /// Empty. The kernel's symbols are read now, because the privilege for them is dropped later.
    pub(crate) fn new() -> Stacks {
        let symbols = KernelSymbols::read();
        let user = UserFrames::default();
        Stacks { symbols, user, counts: HashMap::new(), missed: 0 }
    }

    /// Counts an I/O; `frames` gives the addresses of a stack by its number.
    pub(crate) fn count(&mut self, ids: StackIds, event: &Event, frames: impl Fn(u32) -> Vec<u64>) {
        let took = event.longest().map_or(Nanos(0), |(_, took)| took);
        if ids.0 < 0 && ids.1 < 0 {
            self.missed += 1;
            return;
        }
        let full = self.counts.len() >= KEPT;
        let entry = match self.counts.entry((ids, event.pid, event.device, event.op)) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(_) if full => {
                self.missed += 1;
                return;
            }
            Entry::Vacant(entry) => {
                let of = |id: i32| u32::try_from(id).map(&frames).unwrap_or_default();
                let user = &mut self.user;
                entry.insert(StackCount {
                    kernel: self.symbols.frames(&of(ids.0)),
                    user: of(ids.1).into_iter().map(|at| user.frame(event.pid, at)).collect(),
                    pid: event.pid,
                    comm: event.comm,
                    device: event.device,
                    op: event.op,
                    count: 0,
                    total: Nanos(0),
                    longest: Nanos(0),
                })
            }
        };
        entry.count += 1;
        entry.total = Nanos(entry.total.ns().saturating_add(took.ns()));
        entry.longest = entry.longest.max(took);
    }

    /// Counts since the last call, the longest summed latency first, and the number of I/Os without
    /// a stack.
    pub(crate) fn take(&mut self) -> (Vec<StackCount>, u64) {
        let mut counts: Vec<StackCount> = self.counts.drain().map(|(_, count)| count).collect();
        counts.order_by_key(|count| (std::cmp::Reverse(count.total), count.pid));
        (counts, std::mem::take(&mut self.missed))
    }
}

impl KernelSymbols {
    /// Those of this machine; this needs a privilege that is dropped later.
    pub(crate) fn read() -> KernelSymbols {
        KernelSymbols::parse(&fs::read_to_string(KERNEL).unwrap_or_default())
    }

    /// These, in the order of their addresses.
    #[cfg(test)]
    pub(crate) fn of(functions: &[(u64, &str)]) -> KernelSymbols {
        KernelSymbols(functions.iter().map(|(at, name)| (*at, name.to_string())).collect())
    }

    fn parse(text: &str) -> KernelSymbols {
        let line = |line: &str| {
            let mut words = line.split_whitespace();
            let address = u64::from_str_radix(words.next()?, 16).ok().filter(|at| *at > 0)?;
            let kind = words.next()?;
            let name = words.next()?;
            matches!(kind, "t" | "T" | "w" | "W").then(|| (address, name.to_string()))
        };
        let mut found: Vec<_> = text.lines().filter_map(line).collect();
        found.sort_by_key(|(address, _)| *address);
        KernelSymbols(found)
    }

    /// Whether the kernel hides all of them.
    pub(crate) fn are_hidden(&self) -> bool {
        self.0.is_empty()
    }

    /// A stack as `function+0x12`, innermost first, without the frames of the tracer itself.
    pub(crate) fn frames(&self, addresses: &[u64]) -> Vec<String> {
        let named: Vec<String> = addresses.iter().map(|at| self.frame(*at)).collect();
        let own = |frame: &String| OWN.iter().any(|begins| frame.starts_with(begins));
        let first = named.iter().rposition(own).map_or(0, |last| last + 1);
        named.get(first..).unwrap_or_default().to_vec()
    }

    fn frame(&self, at: u64) -> String {
        let behind = self.0.partition_point(|(address, _)| *address <= at);
        match behind.checked_sub(1).and_then(|place| self.0.get(place)) {
            Some((address, name)) => format!("{name}+{:#x}", at - address),
            None => format!("{at:#x}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use iowhy_model::{Layer, Time};

    use super::*;

    #[test]
    fn frames_have_names_and_those_of_the_tracer_are_left_out() {
        let text = "ffffffff81000100 T submit\nffffffff81000200 t next\nffffffff81000300 D \
                    no_code\n\
                    ffffffff82000000 T __traceiter_block_io_start\n0000000000000000 T hidden\n";
        let symbols = KernelSymbols::parse(text);
        let frames = [0xffff_ffff_8200_0010, 0xffff_ffff_8100_0104, 0xffff_ffff_8100_0290];
        assert_eq!(symbols.frames(&frames), ["submit+0x4", "next+0x90"]);
        assert_eq!(KernelSymbols::parse("").frames(&[0x10]), ["0x10"]);
    }

    #[test]
    fn times_are_added_by_stack_and_taken_once() {
        let mut stacks = Stacks {
            symbols: KernelSymbols::parse(""),
            user: UserFrames::default(),
            counts: HashMap::new(),
            missed: 0,
        };
        let mut event = Event::new(DeviceId::at(0), Op::Read, Layer::Block);
        event.queued = Some(Time::from_ns(0));
        for (ids, ns) in [((1, -1), 10), ((2, -1), 50), ((1, -1), 20), ((-1, -17), 5)] {
            event.completed = Some(Time::from_ns(ns));
            stacks.count(ids, &event, |id| vec![u64::from(id)]);
        }
        let (counts, missed) = stacks.take();
        let seen: Vec<_> =
            counts.iter().map(|c| (c.kernel[0].as_str(), c.count, c.total)).collect();
        assert_eq!(seen, [("0x2", 1, Nanos(50)), ("0x1", 2, Nanos(30))]);
        assert_eq!((counts[1].longest, missed), (Nanos(20), 1));
        assert!(stacks.take().0.is_empty());
    }
}
