//! Waits as a table, as folded stacks, or as one JSON object.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use iowhy_live::WaitCount;
use iowhy_model::{Loss, Nanos, numbers, waits};
use serde_json::json;

use crate::calls;
use crate::sanitised;

/// Rows shown unless everything is asked for.
const ROWS: usize = 10;

/// The waits of all processes of one name in one stack.
struct WaitGroup {
    pids: BTreeSet<u32>,
    /// Their sums; of its stack functions only, without the place in them, which differs from call
    /// to call.
    waits: WaitCount,
}

/// By name and stack, the longest sum first.
fn grouped(counts: &[WaitCount]) -> Vec<WaitGroup> {
    let mut groups: BTreeMap<(String, Vec<String>, bool), WaitGroup> = BTreeMap::new();
    for count in counts {
        let function = |frame: &String| plain(frame.split("+0x").next().unwrap_or_default());
        let (comm, stack) = (plain(&count.comm), count.stack.iter().map(function).collect());
        let waits = WaitCount { comm, stack, ..count.clone() };
        let key = (waits.comm.clone(), waits.stack.clone(), waits.for_io);
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
    groups.sort_by_key(|group| std::cmp::Reverse(group.waits.total));
    groups
}

fn plus(one: Nanos, other: Nanos) -> Nanos {
    Nanos(one.ns().saturating_add(other.ns()))
}

/// A name on one line.
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

/// The function that shows what a stack waits for, and what it is.
fn shown(stack: &[String], for_io: bool) -> String {
    let unknown = if for_io { "I/O" } else { "not in iowhy's table" };
    match waits::of_stack(stack) {
        Some((function, Some(what))) => format!("{function}: {what}"),
        Some((function, None)) => format!("{function}: {unknown}"),
        None if stack.is_empty() => "no stack".to_string(),
        None => unknown.to_string(),
    }
}

/// Draws everything.
pub fn table(
    counts: &[WaitCount],
    losses: &[Loss],
    seconds: f64,
    verbose: bool,
) -> anyhow::Result<()> {
    let mut out = sanitised::stdout();
    write(&grouped(counts), verbose, &mut out)?;
    let (all, io) = sums(counts);
    let length = numbers::duration(seconds * 1e9);
    let lost: u64 = numbers::total(losses.iter().map(|loss| loss.count));
    writeln!(
        out,
        "\nwaited {} in all, {} of it for I/O, in {length}; {lost} lost",
        numbers::duration(all.ns() as f64),
        numbers::duration(io.ns() as f64),
    )?;
    for loss in losses {
        writeln!(out, "lost     {} {}", loss.count, loss.what)?;
    }
    Ok(())
}

fn write(groups: &[WaitGroup], verbose: bool, out: &mut dyn Write) -> std::io::Result<()> {
    if groups.is_empty() {
        return writeln!(out, "No task waited in uninterruptible sleep while iowhy watched.");
    }
    writeln!(out, "Waits in uninterruptible sleep, by program and kernel stack (traced)\n")?;
    writeln!(
        out,
        "{:>10} {:>9} {:>8} {:>8}  {:<3}  program",
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
            "{:>10} {:>9} {:>8} {:>8}  {:<3}  {}{whose}",
            numbers::duration(total),
            waits.count,
            numbers::duration(total / waits.count.max(1) as f64),
            numbers::duration(waits.longest.ns() as f64),
            if waits.for_io { "yes" } else { "no" },
            waits.comm,
        )?;
        let edge = |number: u64, what: &str| match number {
            0 => String::new(),
            number => format!("; {number} {what}"),
        };
        let begun = edge(waits.earlier, "had begun before");
        let over = edge(waits.unfinished, "had not ended");
        writeln!(out, "{:10} {}{begun}{over}", "", shown(&waits.stack, waits.for_io))?;
        for function in waits.stack.iter().filter(|_| verbose) {
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
pub fn folded(counts: &[WaitCount]) -> anyhow::Result<()> {
    fold(&grouped(counts), &mut sanitised::buffered())?;
    Ok(())
}

fn fold(groups: &[WaitGroup], out: &mut dyn Write) -> std::io::Result<()> {
    let mut lines: BTreeMap<String, Nanos> = BTreeMap::new();
    for group in groups {
        let mut line = group.waits.comm.replace([';', ' '], "_");
        for function in group.waits.stack.iter().rev() {
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

/// Writes it all as an object of schema iowhy.waits/1.
pub fn json(counts: &[WaitCount], losses: &[Loss], seconds: f64) -> anyhow::Result<()> {
    let one = |count: &WaitCount| {
        let (function, what) = waits::of_stack(&count.stack).unzip();
        json!({
            "pid": count.pid,
            "comm": count.comm,
            "for_io": count.for_io,
            "function": function,
            "waits_for": what.flatten(),
            "stack": count.stack,
            "count": count.count,
            "unfinished": count.unfinished,
            "earlier": count.earlier,
            "sum_ns": count.total.ns(),
            "max_ns": count.longest.ns(),
        })
    };
    let (all, io) = sums(counts);
    let object = json!({
        "schema": "iowhy.waits/1",
        "seconds": seconds,
        "sum_ns": all.ns(),
        "io_sum_ns": io.ns(),
        "waits": counts.iter().map(one).collect::<Vec<_>>(),
        "losses": calls::lost(losses),
    });
    writeln!(sanitised::stdout(), "{object}")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(pid: u32, comm: &str, stack: &[&str], for_io: bool, total: i64) -> WaitCount {
        WaitCount {
            pid,
            comm: comm.to_string(),
            stack: stack.iter().map(|frame| frame.to_string()).collect(),
            for_io,
            count: 2,
            unfinished: u64::from(!for_io),
            earlier: 0,
            total: Nanos(total),
            longest: Nanos(total / 2),
        }
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
                "4 ms         4     1 ms   1.5 ms  yes  db;?[2J x, 2 PIDs",
                "folio_wait_bit_common: a page that is read or locked",
                "2 ms         2     1 ms     1 ms  no   cp[7]",
                "open: a lock; 1 had not ended",
                "1 µs         2   500 ns   500 ns  no   cp[8]",
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
