//! Waits as a table, as folded stacks, or as one JSON object.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use iowhy_live::{EndedBy, WaitCount, WaitEnd, add_ends};
use iowhy_model::Order as _;
use iowhy_model::{Loss, Nanos, Op, numbers, waits};
use iowhy_show::Style;
use serde_json::{Value, json};

use super::sleeps::sleep_of;
use crate::calls;
use crate::frames::{kernel_function, known_frames};
use crate::sanitised;

/// Rows shown by default.
const ROWS: usize = 10;
/// Maximum number of ends printed per row by default.
const ENDS: usize = 3;
/// The wait for a CPU after the wake-up is printed from this share on.
const LATE: f64 = 0.05;

/// The waits of all processes of one name in one stack.
struct WaitGroup {
    pids: BTreeSet<u32>,
    /// Their sums; the stack has function names without offsets, which differ between calls.
    waits: WaitCount,
}

/// By name and stack, the longest sum first.
fn grouped(counts: &[WaitCount]) -> Vec<WaitGroup> {
    let mut groups: BTreeMap<_, WaitGroup> = BTreeMap::new();
    for count in counts {
        let function = |frame: &String| plain(kernel_function(frame));
        let (comm, stack) = (plain(&count.comm), count.stack.iter().map(function).collect());
        let user = known_frames(&count.user).iter().map(|frame| plain(frame)).collect();
        let waits = WaitCount { comm, stack, user, ..count.clone() };
        let stacks = (waits.stack.clone(), waits.user.clone());
        let key = (waits.comm.clone(), stacks, waits.uninterruptible, waits.for_io);
        match groups.get_mut(&key) {
            Some(group) => {
                group.pids.insert(count.pid);
                group.waits.add(count);
            }
            None => {
                let pids = BTreeSet::from([count.pid]);
                groups.insert(key, WaitGroup { pids, waits });
            }
        }
    }
    let mut groups: Vec<WaitGroup> = groups.into_values().collect();
    groups.order_by_key(|group| std::cmp::Reverse(group.waits.total));
    groups
}

fn plus(one: Nanos, other: Nanos) -> Nanos {
    Nanos(one.ns().saturating_add(other.ns()))
}

/// A name without line breaks.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// All waits together, and those for I/O.
fn sums(counts: &[WaitCount]) -> (Nanos, Nanos) {
    let sum = |io: bool| {
        let counted = counts.iter().filter(|count| !io || count.for_io);
        counted.map(|count| count.total).fold(Nanos(0), plus)
    };
    (sum(false), sum(true))
}

/// What ended all waits, the longest sum first.
fn all_ends(counts: &[WaitCount]) -> Vec<WaitEnd> {
    let mut all = Vec::new();
    counts.iter().for_each(|count| add_ends(&mut all, &count.ends));
    all
}

/// The operation, of several requests.
fn requests(op: Op) -> &'static str {
    match op {
        Op::Read => "reads",
        Op::Write => "writes",
        Op::Discard => "discards",
        Op::Flush => "flushes",
        Op::Other => "other requests",
    }
}

/// What ended waits: `reads of sda, D2C 4 ms of 4.1 ms`.
fn ended_by(end: &WaitEnd) -> String {
    let mean = |sum: Nanos, of: u64| numbers::duration(sum.ns() as f64 / of.max(1) as f64);
    match &end.by {
        EndedBy::Request { device, op } => {
            let what = format!("by {} of {}", requests(*op), plain(device));
            match end.with_d2c {
                0 => what,
                known => format!(
                    "{what}, D2C {} of {}",
                    mean(end.d2c, known),
                    mean(end.total, end.count)
                ),
            }
        }
        EndedBy::Task(name) => format!("by {}", plain(name)),
        EndedBy::Interrupt => "by an interrupt".to_string(),
        EndedBy::Nothing => "not ended".to_string(),
        EndedBy::Unknown => "by a wake-up that was not seen".to_string(),
    }
}

/// What ended the waits of a row; `None` if it is unknown or not worth printing.
fn ends(ends: &[WaitEnd], most: usize) -> Option<String> {
    let is_known = |end: &WaitEnd| !matches!(end.by, EndedBy::Unknown | EndedBy::Nothing);
    if !ends.iter().any(is_known) {
        return None;
    }
    let sum = |ends: &[WaitEnd]| ends.iter().map(|end| end.total).fold(Nanos(0), plus).ns() as f64;
    let all = sum(ends).max(1.0);
    let share = |part: f64| numbers::share(part / all);
    let (shown, rest) = ends.split_at(ends.len().min(most));
    let one = |end: &WaitEnd| format!("{} {}", share(end.total.ns() as f64), ended_by(end));
    let mut parts: Vec<String> = shown.iter().map(one).collect();
    if !rest.is_empty() {
        parts.push(format!("{} by {} others", share(sum(rest)), rest.len()));
    }
    let late = ends.iter().map(|end| end.late).fold(Nanos(0), plus).ns() as f64;
    if late / all >= LATE {
        parts.push(format!("{} of it for a CPU after the wake-up", numbers::duration(late)));
    }
    Some(format!("ended {}", parts.join("; ")))
}

/// The function that shows what a task waits for, and its meaning if known.
fn waits_for(waits: &WaitCount) -> Option<(&str, Option<Cow<'static, str>>)> {
    let slept = (!waits.uninterruptible).then(|| sleep_of(&waits.stack)).flatten();
    let slept = slept.map(|(function, what)| (function, Some(Cow::Borrowed(what))));
    slept.or_else(|| waits::of_stack(&waits.stack))
}

/// The same as text.
fn shown(waits: &WaitCount) -> String {
    let unknown = if waits.for_io { "I/O" } else { "not in iowhy's table" };
    match waits_for(waits) {
        Some((function, Some(what))) => format!("{function}: {what}"),
        Some((function, None)) => format!("{function}: {unknown}"),
        None if waits.stack.is_empty() => "no stack".to_string(),
        None => unknown.to_string(),
    }
}

/// Draws everything.
pub(super) fn table(
    counts: &[WaitCount],
    losses: &[Loss],
    seconds: f64,
    style: &Style,
) -> anyhow::Result<()> {
    let mut out = Vec::new();
    write(&grouped(counts), style.verbose, &mut out)?;
    let (all, io) = sums(counts);
    let length = numbers::duration(seconds * 1e9);
    let lost: u64 = numbers::total(losses.iter().map(|loss| loss.count));
    writeln!(
        out,
        "\nwaited {} in all, {} of it for I/O, in {length}; {lost} lost",
        numbers::duration(all.ns() as f64),
        numbers::duration(io.ns() as f64),
    )?;
    if let Some(line) = sums_of_ends(&all_ends(counts)) {
        writeln!(out, "{line}")?;
    }
    for loss in losses {
        writeln!(out, "lost     {} {}", loss.count, loss.what)?;
    }
    Ok(iowhy_show::fitted(&String::from_utf8_lossy(&out), style, &mut sanitised::stdout())?)
}

/// The shares of the waiting time by kind of end; `None` if nothing waited.
fn sums_of_ends(ends: &[WaitEnd]) -> Option<String> {
    let sum = |is: fn(&EndedBy) -> bool| {
        let of = ends.iter().filter(|end| is(&end.by)).map(|end| end.total);
        of.fold(Nanos(0), plus)
    };
    let kinds = [
        ("by block I/O", sum(|by| matches!(by, EndedBy::Request { .. }))),
        ("by other tasks", sum(|by| matches!(by, EndedBy::Task(_)))),
        ("by other interrupts", sum(|by| matches!(by, EndedBy::Interrupt))),
        ("by wake-ups that were not seen", sum(|by| matches!(by, EndedBy::Unknown))),
    ];
    let not_ended = sum(|by| matches!(by, EndedBy::Nothing));
    let time = |sum: Nanos| numbers::duration(sum.ns() as f64);
    let mut parts: Vec<String> =
        kinds.iter().map(|(what, sum)| format!("{} {what}", time(*sum))).collect();
    if not_ended > Nanos(0) {
        parts.push(format!("{} not ended", time(not_ended)));
    }
    (!ends.is_empty()).then(|| format!("ended    {}", parts.join(", ")))
}

fn write(groups: &[WaitGroup], verbose: bool, out: &mut dyn Write) -> std::io::Result<()> {
    if groups.is_empty() {
        return writeln!(out, "No task slept in a watched state while iowhy watched.");
    }
    writeln!(out, "Sleep of tasks, by program, state and kernel stack (traced)\n")?;
    writeln!(
        out,
        "{:>10} {:>9} {:>8} {:>8}  {:<3}  state program",
        "waited", "waits", "mean", "longest", "I/O"
    )?;
    let rows = if verbose { groups.len() } else { ROWS };
    for WaitGroup { pids, waits } in groups.iter().take(rows) {
        let total = waits.total.ns() as f64;
        let whose = match pids.first() {
            Some(pid) if pids.len() == 1 => format!("[{pid}]"),
            _ => format!(", {}", numbers::several(pids.len() as u64, "PID")),
        };
        writeln!(
            out,
            "{:>10} {:>9} {:>8} {:>8}  {:<3}  {:<5} {}{whose}",
            numbers::duration(total),
            waits.count,
            numbers::duration(total / waits.count.max(1) as f64),
            numbers::duration(waits.longest.ns() as f64),
            if waits.for_io { "yes" } else { "no" },
            state(waits),
            waits.comm,
        )?;
        let edge = |number: u64, what: &str| match number {
            0 => String::new(),
            number => format!("; {number} {what}"),
        };
        let begun = edge(waits.earlier, "had begun before");
        let over = edge(waits.unfinished, "had not ended");
        writeln!(out, "{:10} {}{begun}{over}", "", shown(waits))?;
        if let Some(line) = ends(&waits.ends, if verbose { usize::MAX } else { ENDS }) {
            writeln!(out, "{:10} {line}", "")?;
        }
        for function in waits.stack.iter().chain(&waits.user).filter(|_| verbose) {
            writeln!(out, "{:14} {function}", "")?;
        }
    }
    if let Some(rest) = groups.get(rows..).filter(|rest| !rest.is_empty()) {
        let total = rest.iter().map(|group| group.waits.total).fold(Nanos(0), plus);
        let total = numbers::duration(total.ns() as f64);
        writeln!(out, "{total:>10} in {} more rows with --verbose", rest.len())?;
    }
    Ok(())
}

/// Writes all in the folded form: `program;outermost;...;innermost microseconds`.
pub(super) fn folded(counts: &[WaitCount]) -> anyhow::Result<()> {
    fold(&grouped(counts), &mut sanitised::buffered())?;
    Ok(())
}

fn fold(groups: &[WaitGroup], out: &mut dyn Write) -> std::io::Result<()> {
    let mut lines: BTreeMap<String, Nanos> = BTreeMap::new();
    for group in groups {
        let mut line = group.waits.comm.replace([';', ' '], "_");
        for function in group.waits.stack.iter().chain(&group.waits.user).rev() {
            line.push(';');
            line.push_str(&function.replace([';', ' '], "_"));
        }
        let sum = lines.entry(line).or_insert(Nanos(0));
        *sum = plus(*sum, group.waits.total);
    }
    for (line, total) in lines {
        writeln!(out, "{line} {}", (total.ns() + 500) / 1000)?;
    }
    out.flush()
}

/// The columns of `--csv`.
const COLUMNS: [&str; 13] = [
    "pid",
    "comm",
    "for_io",
    "function",
    "waits_for",
    "count",
    "unfinished",
    "earlier",
    "sum_ns",
    "max_ns",
    "stack",
    "user_stack",
    "state",
];

/// Writes a row per process and stack.
pub(super) fn csv(counts: &[WaitCount]) -> anyhow::Result<()> {
    let rows: Vec<Value> = counts.iter().map(row).collect();
    Ok(iowhy_show::csv::rows(&COLUMNS, &rows, &mut sanitised::stdout())?)
}

/// The state of a task, as ps(1) shows it.
const fn state(waits: &WaitCount) -> &'static str {
    if waits.uninterruptible { "D" } else { "S" }
}

/// The waits of a process in a stack, as an object.
fn row(count: &WaitCount) -> Value {
    let (function, what) = waits_for(count).unzip();
    json!({
        "pid": count.pid,
        "comm": count.comm,
        "for_io": count.for_io,
        "function": function,
        "waits_for": what.flatten(),
        "stack": count.stack,
        "user_stack": known_frames(&count.user),
        "state": state(count),
        "count": count.count,
        "unfinished": count.unfinished,
        "earlier": count.earlier,
        "sum_ns": count.total.ns(),
        "max_ns": count.longest.ns(),
        "ended": count.ends.iter().map(end).collect::<Vec<_>>(),
    })
}

/// Writes it all as an object of schema iowhy.waits/1.
pub(super) fn json(counts: &[WaitCount], losses: &[Loss], seconds: f64) -> anyhow::Result<()> {
    let (all, io) = sums(counts);
    let object = json!({
        "schema": "iowhy.waits/1",
        "seconds": seconds,
        "sum_ns": all.ns(),
        "io_sum_ns": io.ns(),
        "ended": all_ends(counts).iter().map(end).collect::<Vec<_>>(),
        "waits": counts.iter().map(row).collect::<Vec<_>>(),
        "losses": calls::lost(losses),
    });
    writeln!(sanitised::stdout(), "{object}")?;
    Ok(())
}

/// What ended waits, as an object.
fn end(end: &WaitEnd) -> Value {
    let (by, comm, of) = match &end.by {
        EndedBy::Request { device, op } => ("request", None, Some((device.as_str(), op.name()))),
        EndedBy::Task(comm) => ("task", Some(comm.as_str()), None),
        EndedBy::Interrupt => ("interrupt", None, None),
        EndedBy::Nothing => ("nothing", None, None),
        EndedBy::Unknown => ("unknown", None, None),
    };
    json!({
        "by": by,
        "comm": comm,
        "device": of.map(|(device, _)| device),
        "operation": of.map(|(_, operation)| operation),
        "count": end.count,
        "sum_ns": end.total.ns(),
        "late_ns": end.late.ns(),
        "d2c_count": end.with_d2c,
        "d2c_sum_ns": end.d2c.ns(),
        "d2c_max_ns": end.longest_d2c.ns(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(pid: u32, comm: &str, stack: &[&str], for_io: bool, total: i64) -> WaitCount {
        WaitCount {
            pid,
            comm: comm.to_string(),
            stack: stack.iter().map(|frame| frame.to_string()).collect(),
            user: Vec::new(),
            uninterruptible: true,
            for_io,
            count: 2,
            unfinished: u64::from(!for_io),
            earlier: 0,
            total: Nanos(total),
            longest: Nanos(total / 2),
            ends: Vec::new(),
        }
    }

    fn end(by: EndedBy, count: u64, total: i64) -> WaitEnd {
        let none = Nanos(0);
        WaitEnd {
            by,
            count,
            total: Nanos(total),
            late: none,
            with_d2c: 0,
            d2c: none,
            longest_d2c: none,
        }
    }

    #[test]
    fn a_row_says_what_ended_its_waits() {
        let of = |device: &str, op| EndedBy::Request { device: device.to_string(), op };
        let reads = WaitEnd {
            with_d2c: 4,
            d2c: Nanos(28_000_000),
            ..end(of("sda", Op::Read), 4, 30_000_000)
        };
        let others = vec![
            end(of("dm-0", Op::Flush), 1, 5_000_000),
            end(EndedBy::Task("jbd2".to_string()), 1, 3_000_000),
            end(EndedBy::Interrupt, 1, 1_000_000),
            WaitEnd { late: Nanos(2_500_000), ..end(EndedBy::Nothing, 1, 1_000_000) },
        ];
        let all: Vec<WaitEnd> = std::iter::once(reads).chain(others).collect();
        assert_eq!(
            ends(&all, ENDS).as_deref(),
            Some(
                "ended 75 % by reads of sda, D2C 7 ms of 7.5 ms; 12 % by flushes of dm-0; \
                 7.5 % by jbd2; 5 % by 2 others; 2.5 ms of it for a CPU after the wake-up"
            )
        );
        assert_eq!(
            sums_of_ends(&all).as_deref(),
            Some(
                "ended    35 ms by block I/O, 3 ms by other tasks, 1 ms by other interrupts, \
                 0 ns by wake-ups that were not seen, 1 ms not ended"
            )
        );
        assert_eq!(ends(&[end(EndedBy::Unknown, 3, 5)], ENDS), None);
        assert_eq!((ends(&[], ENDS), sums_of_ends(&[])), (None, None));
    }

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn rows_are_by_program_and_function_and_fold_to_the_same_sum() {
        let page = |place: &str| format!("folio_wait_bit_common+{place}");
        let (one, other) = (page("0x12"), page("0x99"));
        let counts = [
            count(1, "db;\u{1b}[2J x", &["io_schedule+0x1", &one, "vfs_read+0x5"], true, 3_000_000),
            count(
                2,
                "db;\u{1b}[2J x",
                &["io_schedule+0x1", &other, "vfs_read+0x5"],
                true,
                1_000_000,
            ),
            count(7, "cp", &["schedule+0x1", "down_write+0x1", "open+0x3"], false, 2_000_000),
            count(8, "cp", &[], false, 1_000),
        ];
        let groups = grouped(&counts);
        let shown = text(|out| write(&groups, false, out).unwrap());
        println!("{shown}");
        let lines: Vec<&str> = shown.lines().skip(3).map(str::trim).collect();
        assert_eq!(
            lines,
            [
                "4 ms         4     1 ms   1.5 ms  yes  D     db;?[2J x, 2 PIDs",
                "folio_wait_bit_common: a page that is read or locked",
                "2 ms         2     1 ms     1 ms  no   D     cp[7]",
                "open: a lock; 1 had not ended",
                "1 µs         2   500 ns   500 ns  no   D     cp[8]",
                "no stack; 1 had not ended",
            ]
        );
        let lines = text(|out| fold(&groups, out).unwrap());
        assert_eq!(
            lines,
            "cp 1\ncp;open;down_write;schedule 2000\n\
             db_?[2J_x;vfs_read;folio_wait_bit_common;io_schedule 4000\n"
        );
        assert_eq!(sums(&counts), (Nanos(6_001_000), Nanos(4_000_000)));
        assert!(
            text(|out| write(&groups, true, out).unwrap()).contains("\n               vfs_read\n")
        );
    }
}
