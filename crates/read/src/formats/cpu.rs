//! top, mpstat and sar -u: CPU time of the machine.
//!
//! ## Reads
//! top's lines `%Cpu(s):  5.9 us,  5.9 sy, ... 0.0 wa, ... 0.0 st`, or the mean of its lines
//! `%Cpu0  : ...`, with load average, available memory, swap in use and the number of tasks in
//! uninterruptible sleep (`D`) and their names, the share of a CPU that `kswapd` takes, and the
//! tasks that take half a CPU or more (`process.cpu`); the tables of `mpstat` and `sar -u`, their
//! rows `all`. Mean and maximum of each share become facts: `cpu.iowait.mean`, `cpu.steal.max`.
//! iostat's own `avg-cpu` lines are read with its disks.
//!
//! ## How to capture
//! `top -b -d 5 -n 3`, `mpstat 1 10`, `sar -u 1 10`.
//!
//! ## Versions
//! top of procps 3 and later (`5.9%us` and `5.9 us`), decimal commas included, in English and
//! German (`%CPU(s)`, `MiB Spch`); sysstat of any age.
//!
//! ## Caveats
//! iowait is idle time with outstanding I/O: not load, and not proof of a slow disk; a busy CPU
//! hides it, and one waiting task on one of sixteen CPUs shows as 6 %. steal is time that the
//! hypervisor gave to others. top's first screen is since boot and is ignored if others follow.
//! Rows of individual CPUs are ignored in tables with a row for all.
//!
//! ## Not in this output
//! The disk, and the duration of waits.

use iowhy_model::Order as _;
use iowhy_model::typed::{Bytes, OfProcess, Share};

use crate::counters::processor::{Processor, Shares, are_shares, shares};
use crate::describe::report::*;

pub(super) const FORMAT: Format =
    Format::labels("top, mpstat, sar -u: iowait, steal, load, blocked tasks", Level::E, &LABELS);

/// Percent of a processor from which on a task is named, and how many are.
const MUCH: f64 = 50.0;
const NAMED: usize = 8;

/// The rows that follow are of a table of processors; only its heading was read so far.
const TABLE: &str = "table";
const HEADING: &str = "heading";

// What is kept: top's screens; memory of a screen, KiB: all, and what programs may have; the least
// share of it; the largest share of swap in use, and that there is no swap.
const SCREENS: &str = "screens";
const TOTAL: &str = "total";
const AVAILABLE: &str = "available";
const LEAST: &str = "least available";
const SWAPPED: &str = "swapped";
const NO_SWAP: &str = "no swap";
/// The largest share of a processor that a thread which reclaims memory took, and of each task that
/// took much of one.
const RECLAIM: &str = "reclaim";
const BUSY: &str = "busy ";
/// Tables of tasks so far. Tasks in uninterruptible sleep in this one, and by table and name; how
/// many are in the one with most, and which that is.
const TABLES: &str = "tables";
const BLOCKED: &str = "blocked";
const BLOCKED_IN: &str = "blocked in ";
const MOST_BLOCKED: &str = "most blocked";
const MOST_TABLE: &str = "table with most blocked";
/// The processors of this screen, where each has a line: sums of their shares, and how many.
const EACH: &str = "each ";
/// Facts of some of them.
const TOTALS: [Total; 4] = [
    (LEAST, |share| typed::MEMORY_AVAILABLE.with(Share(share))),
    (SWAPPED, |share| typed::SWAP_USED_SHARE.with(Share(share))),
    (NO_SWAP, |_| typed::SWAP_NONE.with(true)),
    (RECLAIM, |percent| typed::TASKS_KSWAPD.with(Share::from_percent(percent))),
];
/// Rows: the load, and swap in use, KiB.
const LOAD: &str = "load";
const SWAP: &str = "swap";

static LABELS: Labels = Labels {
    near: 3,
    lines: &[
        // A blank line ends a table that has rows.
        says("^$", |_, report, _| report.enter(if report.part == HEADING { TABLE } else { "" }))
            .like(&[""]),
        begins("CPU", |found, report, _| {
            report.heading = table(found.line())?;
            report.enter(HEADING)
        })
        .when(|found| table(found.line()).is_some())
        .like(&["03:15:06 PM  CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  \
                 %guest   %idle"]),
        perhaps("^{row:text}$", row).like(&[
            "03:15:07 PM  all    1.01    0.00    1.01   20.20    0.00    0.00    0.00    \
                     0.00   77.78",
        ]),
        announces("^top - {*}load average: {load:n},", |found, report, _| {
            report.row(LOAD, found.number("load")?);
            close_screen(report);
            report.heading = Heading::default();
            report.keep(BLOCKED, 0.0)
        })
        .like(&["top - 11:24:50 up 2 min,  2 users,  load average: 0.23, 0.22, 0.09"]),
        begins("^{|%}{Cpu|CPU}(s):{shares:text}", |found, report, _| {
            screen(shares_of_top(found.text("shares")?)?, report)
        })
        .when(has_shares)
        .like(&[
            "%Cpu(s):  5.9 us,  5.9 sy,  0.0 ni, 88.2 id,  0.0 wa,  0.0 hi,  0.0 si,  0.0 st",
            "Cpu(s):  1.2%us,  0.4%sy,  0.0%ni, 98.3%id,  0.1%wa,  0.0%hi,  0.0%si,  0.0%st",
            "%CPU(s):  0,2 us,  0,5 sy,  0,0 ni, 99,4 id,  0,0 wa,  0,0 hi,  0,0 si,  0,0 st",
        ]),
        // One processor of a screen that lists each.
        begins("^{|%}Cpu{n:u}{ }:{shares:text}", |found, report, _| {
            for (place, share) in shares_of_top(found.text("shares")?)?.into_iter().enumerate() {
                if let Some(share) = share.filter(|share| (0.0..=100.0).contains(share)) {
                    report.add(format!("{EACH}{place}"), share);
                    report.add(format!("{EACH}{place} count"), 1.0);
                }
            }
            Some(())
        })
        .when(has_shares)
        .like(&["%Cpu0  :  5.9 us,  5.9 sy,  0.0 ni, 88.2 id,  0.0 wa,  0.0 hi,  0.0 si,  0.0 st"]),
        perhaps("Swap", |found, report, _| {
            swap(&sizes(found.line(), "Swap:").or_else(|| sizes(found.line(), "Swap "))?, report)
        })
        .like(&["Swap:   738948k total,   738948k used,        0k free,     3460k cached"]),
        // Free memory, buffers and page cache are what programs may have; some versions print the
        // cache in the swap's line.
        perhaps("Mem", |found, report, _| memory(found, &["Mem:", "Mem "], report))
            .like(&["MiB Mem :   3770.8 total,    181.9 free,   3264.2 used,    324.7 buff/cache"]),
        perhaps("Spch:", |found, report, _| memory(found, &["Spch:"], report))
            .like(&["MiB Spch:    467,0 total,    302,3 free,     89,3 used,     88,1 buff/cache"]),
        // The table of tasks.
        announces("^PID {*}%CPU {*}TIME+", |found, report, _| {
            report.heading = Heading::of(found.line(), &["S", "%CPU", "TIME+"])?;
            report.add(TABLES, 1.0);
            report.keep(BLOCKED, 0.0)
        })
        .when(|found| Heading::of(found.line(), &["S", "%CPU", "TIME+"]).is_some())
        .like(&["PID USER      PR  NI    VIRT    RES    SHR S %CPU %MEM     TIME+ COMMAND"]),
        follows("^{pid:u} {user:text}", task)
            .like(&["7 root      20   0       0      0      0 D  0.3  0.0   0:01.20 \
                     [kworker/0:1]"]),
    ],
    own: &["^Tasks:", "^Threads:"],
    end: Some(state),
    ..Labels::NEW
};

/// Memory of a screen; its name is translated.
fn memory(found: &Found, names: &[&str], report: &mut Report) -> Option<()> {
    let sizes = names.iter().find_map(|name| sizes(found.line(), name))?;
    let parts = ["free", "buffers", "buff/cache"].map(|what| sizes.get(what));
    report.keep(AVAILABLE, parts.iter().flatten().sum());
    report.forget(TOTAL);
    sizes.get("total").map_or(Some(()), |total| report.keep(TOTAL, total))
}

fn has_shares(found: &Found) -> bool {
    found.text("shares").and_then(shares_of_top).is_some()
}

fn shares_of_top(text: &str) -> Option<Shares> {
    let text = text.replace('%', " ");
    // `5,9 us,` with a decimal comma: the comma after the name parts the shares.
    let words: Vec<&str> = text.split_whitespace().map(|word| word.trim_end_matches(',')).collect();
    let pairs = words.chunks_exact(2).map(|pair| (pair[1], pair[0]));
    let names: Vec<&str> = pairs.clone().map(|(name, _)| name).collect();
    are_shares(&names).then(|| shares(pairs))
}

/// The columns of a table: `03:15:06 PM  CPU    %usr   %nice ...`.
fn table(line: &str) -> Option<Heading> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let place = words.iter().position(|word| *word == "CPU")?;
    let (stamp, columns) = (words.get(..place)?, words.get(place + 1..)?);
    let stamped = WallTime::read(&stamp.join(" ")).is_some()
        || stamp.len() == 1 && stamp.iter().all(|word| word.ends_with(':'));
    (stamped && are_shares(columns)).then(|| Heading::from_words(columns))
}

/// A row of such a table.
fn row(found: &Found, report: &mut Report, _: &mut dyn Sink) -> Option<()> {
    matches!(report.part, TABLE | HEADING).then_some(())?;
    let words: Vec<&str> = found.line().split_whitespace().collect();
    let Some(first) = words.len().checked_sub(report.heading.width() + 1) else {
        let is_meant = found.line().contains(':') && words.len() > 3;
        return report.fails_if(is_meant, "the values do not match the heading");
    };
    let (stamp, rest) = words.split_at_checked(first).filter(|(stamp, _)| !stamp.is_empty())?;
    let (which, values) = rest.split_first()?;
    values.iter().all(|word| decimal(word).is_some()).then_some(())?;
    report.enter(TABLE);
    // `Average:` repeats what was printed before.
    if *which == "all" && WallTime::read(&stamp.join(" ")).is_some() {
        let shares = shares(report.heading.pairs(values));
        report.processor.take(&shares);
    }
    Some(())
}

/// The shares of a screen: the first counts only if there is no other.
fn screen(shares: Shares, report: &mut Report) -> Option<()> {
    report.add(SCREENS, 1.0);
    if report.kept(SCREENS) == Some(2.0) {
        report.processor = Processor::default();
    }
    report.processor.take(&shares);
    Some(())
}

/// A screen that lists each processor is over: their mean is that of the machine.
fn close_screen(report: &mut Report) {
    let mut mean = |place: usize| {
        let count = report.take(&format!("{EACH}{place} count"))?;
        Some(report.take(&format!("{EACH}{place}"))? / count)
    };
    let mut shares = Shares::default();
    for (place, share) in shares.iter_mut().enumerate() {
        *share = mean(place);
    }
    if shares.iter().any(Option::is_some) {
        screen(shares, report);
    }
}

fn swap(sizes: &Sizes, report: &mut Report) -> Option<()> {
    let Some(used) = sizes.get("used") else { return Some(()) };
    report.row(SWAP, used);
    report.forget(NO_SWAP);
    match sizes.get("total") {
        Some(0.0) => report.keep(NO_SWAP, 1.0),
        Some(total) if total > 0.0 && used > 0.0 => report.most(SWAPPED, used / total),
        _ => None,
    };
    let cached = sizes.get("cached").unwrap_or(0.0);
    let available = sizes.get("avail").or(report.kept(AVAILABLE).map(|kib| kib + cached));
    let share = available.zip(report.kept(TOTAL)).filter(|(_, total)| *total > 0.0);
    if let Some((available, total)) = share {
        let share = (available / total).min(1.0);
        report.keep(LEAST, report.kept(LEAST).map_or(share, |least| least.min(share)));
    }
    Some(())
}

/// A row of top's tasks.
fn task(found: &Found, report: &mut Report, _: &mut dyn Sink) -> Option<()> {
    let words: Vec<&str> = found.line().split_whitespace().collect();
    let state = report.heading.word("S", &words).filter(|state| state.len() == 1)?;
    let command = report.heading.place("COMMAND", 0).and_then(|place| words.get(place..));
    let command = command.filter(|command| !command.is_empty());
    if state == "D" {
        let table = report.kept(TABLES).unwrap_or(0.0);
        report.add(BLOCKED, 1.0);
        if let Some([name, ..]) = command {
            report.add(format!("{BLOCKED_IN}{table} {name}"), 1.0);
        }
        let blocked = report.kept(BLOCKED)?;
        if report.kept(MOST_BLOCKED).is_none_or(|most| blocked > most) {
            report.keep(MOST_BLOCKED, blocked);
            report.keep(MOST_TABLE, table);
        }
    }
    let Some(share) = report.heading.number("%CPU", &words) else { return Some(()) };
    if let Some(command) = command.filter(|_| share >= MUCH) {
        report.most(format!("{BUSY}{} ({})", command.join(" "), found.count("pid")?), share);
    }
    if words.last().is_some_and(|name| name.trim_start_matches('[').starts_with("kswapd")) {
        report.most(RECLAIM, share);
    }
    Some(())
}

fn state(report: &mut Report, sink: &mut dyn Sink) {
    close_screen(report);
    std::mem::take(&mut report.processor).state(sink);
    let load = ["mean", "max"].map(|of| typed::TASKS_LOAD.of(of));
    report.column(LOAD).state(None, load, |tasks| tasks, sink);
    let swap = ["mean", "max"].map(|of| typed::SWAP_IN_USE.of(of));
    report.column(SWAP).state(None, swap, |kib| Bytes::from_kib(kib.round() as u64), sink);
    report.state_kept(None, &TOTALS, sink);
    let mut busy: Vec<(&str, f64)> = report.kept_under(BUSY).collect();
    busy.order_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
    for (who, share) in busy.into_iter().take(NAMED) {
        let (value, who) = (Share::from_percent(share), who.to_string());
        sink.add_fact(None, typed::PROCESS_CPU, OfProcess { value, who });
    }
    let Some((most, table)) = report.kept(MOST_BLOCKED).zip(report.kept(MOST_TABLE)) else {
        return;
    };
    sink.add_fact(None, typed::TASKS_BLOCKED, most as u64);
    for (name, tasks) in report.kept_under(&format!("{BLOCKED_IN}{table} ")) {
        sink.add_fact(None, typed::TASKS_BLOCKED_BY.member(name), tasks as u64);
    }
}

/// The sizes of a line of memory or swap, KiB: `MiB Mem :   3770.8 total,    181.9 free, ...`,
/// `Swap:   738948k total,   738948k used,        0k free,     3460k cached`.
struct Sizes<'l> {
    rest: &'l str,
    scale: f64,
}

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

impl Sizes<'_> {
    fn get(&self, what: &str) -> Option<f64> {
        let words: Vec<&str> = self.rest.split_whitespace().collect();
        let place = words.iter().position(|word| word.trim_end_matches([',', '.']) == what)?;
        let size = words.get(place.checked_sub(1)?)?.trim_end_matches(['k', '+']);
        decimal(size).map(|size| size * self.scale)
    }
}
