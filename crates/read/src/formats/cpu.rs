//! top, mpstat and sar -u: CPU time of the machine.
//!
//! ## Reads
//! top's lines `%Cpu(s):  5.9 us,  5.9 sy, ... 0.0 wa, ... 0.0 st`, or the mean of its lines
//! `%Cpu0  : ...`, with load average, available memory, swap in use and the number of tasks in
//! uninterruptible sleep (`D`) and their names, the share of a CPU that `kswapd` takes, and the tasks that take
//! half a CPU or more (`process.cpu`); the tables of `mpstat` and `sar -u`, their rows `all`. Mean
//! and maximum of each share become facts: `cpu.iowait.mean`, `cpu.steal.max`. iostat's own
//! `avg-cpu` lines are read with its disks.
//!
//! ## How to capture
//! `top -b -d 5 -n 3`, `mpstat 1 10`, `sar -u 1 10`.
//!
//! ## Versions
//! top of procps 3 and later (`5.9%us` and `5.9 us`), decimal commas included; sysstat of any age.
//!
//! ## Caveats
//! iowait is idle time with outstanding I/O: not load, and not proof of a slow disk; a busy CPU
//! hides it, and one waiting task on one of sixteen CPUs shows as 6 %. steal is time that the
//! hypervisor gave to others. top's first screen is since boot and is ignored if others follow.
//! Rows of individual CPUs are ignored in tables with a row for all.
//!
//! ## Not in this output
//! The disk, and the duration of waits.

use std::collections::BTreeMap;

use iowhy_model::typed::{Bytes, OfProcess, Share};

use crate::counters::processor::{Processor, Shares, are_shares, shares};
use crate::counters::stated::Column;
use crate::program::*;

pub const FORMAT: Format = Format::program::<Cpu>(
    "top, mpstat, sar -u: iowait, steal, load, blocked tasks",
    Level::E,
    &["CPU", "Cpu", "load average: "],
    sniff,
);

/// Percent of a processor from which on a task is named, how many are, and how many are remembered.
const MUCH: f64 = 50.0;
const NAMED: usize = 8;
const KEPT: usize = 10_000;

/// Lines of top above its processors: the title and the tasks.
const BANNER_LINES: usize = 4;

fn sniff(lines: &[&str]) -> Detect {
    let Some(first) = lines.first() else { return Detect::No };
    let is_top = |line: &str| top_shares(line).is_some() || one_of_top(line).is_some();
    if table(first).is_some() || is_top(first) {
        return Detect::Yes;
    }
    // Its table of tasks alone.
    if tasks(first).is_some() {
        return match lines.get(1) {
            None => Detect::NeedLine,
            Some(row) => Detect::from(
                row.split_whitespace().next().is_some_and(|pid| integer(pid).is_some()),
            ),
        };
    }
    if load(first).is_none() {
        return Detect::No;
    }
    match lines.iter().any(|line| is_top(line)) {
        true => Detect::Yes,
        false if lines.len() < BANNER_LINES => Detect::NeedLine,
        false => Detect::No,
    }
}

/// `top - 11:24:50 up 2 min,  2 users,  load average: 0.23, 0.22, 0.09`: the first load.
fn load(line: &str) -> Option<f64> {
    let (_, rest) = line.trim().strip_prefix("top - ")?.split_once("load average: ")?;
    decimal(rest.split_whitespace().next()?.trim_end_matches(','))
}

/// `%Cpu(s):  5.9 us,  5.9 sy, ...` or `Cpu(s):  1.2%us,  0.4%sy, ...`.
fn top_shares(line: &str) -> Option<Shares> {
    let line = line.trim();
    shares_of_top(line.strip_prefix('%').unwrap_or(line).strip_prefix("Cpu(s):")?)
}

/// `%Cpu0  :  5.9 us,  5.9 sy, ...`: one processor of a screen that lists each.
fn one_of_top(line: &str) -> Option<Shares> {
    let line = line.trim();
    let rest = line.strip_prefix('%').unwrap_or(line).strip_prefix("Cpu")?;
    let (number, rest) = rest.split_once(':')?;
    integer(number.trim())?;
    shares_of_top(rest)
}

fn shares_of_top(rest: &str) -> Option<Shares> {
    let text = rest.replace('%', " ");
    // `5,9 us,` with a decimal comma: the comma after the name parts the shares.
    let words: Vec<&str> = text.split_whitespace().map(|word| word.trim_end_matches(',')).collect();
    let pairs = words.chunks_exact(2).map(|pair| (pair[1], pair[0]));
    let names: Vec<&str> = pairs.clone().map(|(name, _)| name).collect();
    are_shares(&names).then(|| shares(pairs))
}

/// The columns of a table: `03:15:06 PM  CPU    %usr   %nice ...`.
fn table(line: &str) -> Option<Vec<String>> {
    if !line.contains("CPU") {
        return None;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let place = words.iter().position(|word| *word == "CPU")?;
    let (stamp, rest) = words.split_at_checked(place)?;
    let stamped = WallTime::read(&stamp.join(" ")).is_some()
        || stamp.len() == 1 && stamp.iter().all(|word| word.ends_with(':'));
    let columns = rest.get(1..)?;
    (stamped && are_shares(columns)).then(|| columns.iter().map(ToString::to_string).collect())
}

#[derive(Default)]
struct Cpu {
    columns: Vec<String>,
    processor: Processor,
    /// top's screens so far, and the shares of the first.
    screens: u64,
    first: Option<Shares>,
    /// The processors of this screen, where each has a line.
    each: Processor,
    load: Column,
    /// Swap in use, KiB, and the most of all swap, as a share.
    swap: Column,
    swapped: f64,
    has_no_swap: bool,
    /// Memory of this screen, KiB: all, and what programs may have; and the least share of it.
    total: Option<f64>,
    available: Option<f64>,
    least_available: Option<f64>,
    /// Columns of a task's state and its share of a processor in the rows below, and tasks in
    /// uninterruptible sleep.
    state_at: Option<usize>,
    share_at: Option<usize>,
    /// Where the command of a task begins.
    command_at: Option<usize>,
    /// The largest share of a processor that a thread which reclaims memory took.
    reclaim: Option<f64>,
    /// The largest share, in percent, of each task that took much of one.
    busy: BTreeMap<String, f64>,
    blocked: u64,
    most_blocked: u64,
    /// These tasks by name: of this screen, and of the one with most.
    names: BTreeMap<String, u64>,
    most_names: BTreeMap<String, u64>,
}

impl Reader for Cpu {
    fn line(&mut self, line: &str, _sink: &mut dyn Sink) -> Step {
        let text = line.trim();
        if text.is_empty() {
            self.columns.clear();
            return Step::Consumed;
        }
        if let Some(columns) = table(line) {
            self.columns = columns;
        } else if !self.columns.is_empty() {
            return self.row(text);
        } else if let Some(load) = load(text) {
            self.load.take(load);
            self.close_screen();
            (self.state_at, self.blocked) = (None, 0);
        } else if let Some(shares) = top_shares(text) {
            self.screen(shares);
        } else if let Some(shares) = one_of_top(text) {
            self.each.take(&shares);
        } else if let Some(sizes) = sizes(text, "Swap:").or_else(|| sizes(text, "Swap ")) {
            self.swap(&sizes);
        } else if let Some(sizes) = sizes(text, "Mem:").or_else(|| sizes(text, "Mem ")) {
            self.memory(&sizes);
        } else if let Some(place) = tasks(text) {
            (self.state_at, self.blocked) = (Some(place), 0);
            self.names.clear();
            let at = |name: &str| text.split_whitespace().position(|word| word == name);
            (self.share_at, self.command_at) = (at("%CPU"), at("COMMAND"));
        } else if text.starts_with("Tasks:") || text.starts_with("Threads:") {
            return Step::Consumed;
        } else {
            return self.task(text);
        }
        Step::Consumed
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.close_screen();
        if let (1, Some(first)) = (self.screens, &self.first) {
            self.processor.take(first);
        }
        self.processor.state(sink);
        let load = ["mean", "max"].map(|of| typed::TASKS_LOAD.of(of));
        self.load.state(None, load, |tasks| tasks, sink);
        let swap = ["mean", "max"].map(|of| typed::SWAP_IN_USE.of(of));
        self.swap.state(None, swap, |kib| Bytes::from_kib(kib.round() as u64), sink);
        if let Some(share) = self.least_available {
            sink.add_fact(None, typed::MEMORY_AVAILABLE, Share(share));
        }
        if self.swapped > 0.0 {
            sink.add_fact(None, typed::SWAP_USED_SHARE, Share(self.swapped));
        }
        if self.has_no_swap {
            sink.add_fact(None, typed::SWAP_NONE, true);
        }
        if let Some(share) = self.reclaim {
            sink.add_fact(None, typed::TASKS_KSWAPD, Share::from_percent(share));
        }
        let mut busy: Vec<(String, f64)> = std::mem::take(&mut self.busy).into_iter().collect();
        busy.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        for (who, share) in busy.into_iter().take(NAMED) {
            let value = Share::from_percent(share);
            sink.add_fact(None, typed::PROCESS_CPU, OfProcess { value, who });
        }
        if self.most_blocked > 0 {
            sink.add_fact(None, typed::TASKS_BLOCKED, self.most_blocked);
        }
        for (name, tasks) in std::mem::take(&mut self.most_names) {
            sink.add_fact(None, typed::TASKS_BLOCKED_BY.member(name), tasks);
        }
    }
}

impl Cpu {
    /// A screen that lists each processor is over: their mean is that of the machine.
    fn close_screen(&mut self) {
        if let Some(shares) = std::mem::take(&mut self.each).mean() {
            self.screen(shares);
        }
    }

    /// Free memory, buffers and page cache are what programs may have; some versions print the
    /// cache in the swap's line.
    fn memory(&mut self, sizes: &Sizes) {
        self.total = sizes.get("total");
        let parts = ["free", "buffers", "buff/cache"].map(|what| sizes.get(what));
        self.available = Some(parts.iter().flatten().sum());
    }

    fn swap(&mut self, sizes: &Sizes) {
        let Some(used) = sizes.get("used") else { return };
        self.swap.take(used);
        self.has_no_swap = sizes.get("total") == Some(0.0);
        let of_all = sizes.get("total").filter(|total| *total > 0.0).map(|total| used / total);
        self.swapped = self.swapped.max(of_all.unwrap_or(0.0));
        let cached = sizes.get("cached").unwrap_or(0.0);
        let available = sizes.get("avail").or(self.available.map(|kib| kib + cached));
        let share = available.zip(self.total).filter(|(_, total)| *total > 0.0);
        if let Some((available, total)) = share {
            let share = (available / total).min(1.0);
            self.least_available =
                Some(self.least_available.map_or(share, |least| least.min(share)));
        }
    }

    fn screen(&mut self, shares: Shares) {
        self.screens += 1;
        match self.screens {
            1 => self.first = Some(shares),
            _ => self.processor.take(&shares),
        }
    }

    fn row(&mut self, line: &str) -> Step {
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(first) = words.len().checked_sub(self.columns.len() + 1) else {
            return Step::skipped_if(
                line.contains(':') && words.len() > 3,
                "the values do not match the heading",
            );
        };
        let (stamp, rest) = words.split_at_checked(first).unwrap_or_default();
        let (Some(which), values) = (rest.first(), rest.get(1..).unwrap_or_default()) else {
            return Step::NotMine;
        };
        if stamp.is_empty() || !values.iter().all(|word| decimal(word).is_some()) {
            return Step::NotMine;
        }
        // `Average:` repeats what was printed before.
        if *which == "all" && WallTime::read(&stamp.join(" ")).is_some() {
            let pairs = self.columns.iter().map(String::as_str).zip(values.iter().copied());
            self.processor.take(&shares(pairs));
        }
        Step::Consumed
    }

    /// A row of top's tasks.
    fn task(&mut self, line: &str) -> Step {
        let Some(place) = self.state_at else { return Step::NotMine };
        let words: Vec<&str> = line.split_whitespace().collect();
        let state = words.get(place).filter(|word| word.len() == 1);
        if words.first().is_none_or(|pid| integer(pid).is_none()) || state.is_none() {
            return Step::NotMine;
        }
        let is_blocked = state == Some(&"D");
        self.blocked += u64::from(is_blocked);
        let share = self.share_at.and_then(|place| words.get(place)).and_then(|word| decimal(word));
        let name = words.last().map_or("", |name| name.trim_start_matches('['));
        let command = self.command_at.and_then(|place| words.get(place..)).unwrap_or_default();
        if let Some(share) = share.filter(|share| *share >= MUCH && !command.is_empty()) {
            let pid = words.first().copied().unwrap_or_default();
            let who = format!("{} ({pid})", command.join(" "));
            if self.busy.len() < KEPT || self.busy.contains_key(&who) {
                let most = self.busy.entry(who).or_default();
                *most = most.max(share);
            }
        }
        if let Some(share) = share.filter(|_| name.starts_with("kswapd")) {
            self.reclaim = Some(self.reclaim.map_or(share, |most| most.max(share)));
        }
        if let Some(name) = command.first().filter(|_| is_blocked && self.names.len() < KEPT) {
            *self.names.entry(name.to_string()).or_default() += 1;
        }
        if self.blocked > self.most_blocked {
            self.most_blocked = self.blocked;
            self.most_names.clone_from(&self.names);
        }
        Step::Consumed
    }
}

/// `  PID USER      PR  NI    VIRT    RES    SHR S %CPU %MEM     TIME+ COMMAND`.
fn tasks(line: &str) -> Option<usize> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let top = words.first() == Some(&"PID") && words.contains(&"%CPU") && words.contains(&"TIME+");
    words.iter().position(|word| *word == "S").filter(|_| top)
}

/// The sizes of a line of memory or swap: `MiB Mem :   3770.8 total,    181.9 free, ...`, `Swap:
/// 738948k total,   738948k used,        0k free,     3460k cached`.
fn sizes<'l>(line: &'l str, name: &str) -> Option<Sizes<'l>> {
    let (head, rest) = line.split_once(name)?;
    let scale = match head.trim() {
        "" | "KiB" => 1.0,
        "MiB" => 1024.0,
        "GiB" => 1024.0 * 1024.0,
        _ => return None,
    };
    let rest = rest.trim_start().trim_start_matches(':');
    rest.contains("total").then_some(Sizes { rest, scale })
}

/// The sizes of such a line, KiB.
struct Sizes<'l> {
    rest: &'l str,
    scale: f64,
}

impl Sizes<'_> {
    fn get(&self, what: &str) -> Option<f64> {
        let words: Vec<&str> = self.rest.split_whitespace().collect();
        let place = words.iter().position(|word| word.trim_end_matches([',', '.']) == what)?;
        let size = words.get(place.checked_sub(1)?)?.trim_end_matches(['k', '+']);
        decimal(size).map(|size| size * self.scale)
    }
}
