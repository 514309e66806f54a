//! The same I/Os again: a capture replayed on a device or file, at the times it recorded.
//!
//! ## Measures
//! `iowhy probe replay CAPTURE TARGET` starts every read of the capture when it was started there,
//! whatever the target does (open loop), or with `--speed 2` in half the time. With `--closed` each
//! process waits for its own I/Os: the next starts as long after the completion that preceded it as
//! in the capture. The capture is anything iowhy reads that has individual I/Os (biosnoop,
//! blkparse, blktrace, a saved recording); of several devices, `--device` names one. Offsets are
//! taken modulo the size of the target and aligned to its logical block, lengths rounded up to it.
//! At most 256 are in flight (or `--depth`; with `--closed` as many as in the capture), and `--for`
//! and `--count` end it early. `-o FILE` saves the I/Os, which `iowhy compare CAPTURE FILE`
//! compares with the captured ones.
//!
//! ## Writes
//! Nothing, unless `--overwrite` is given: then the writes of the capture are replayed, too, with
//! random data, to a new unnamed file in the given directory (64 MiB, or `--span`), or to an empty
//! block device whose serial number is given with `--serial`. Flushes and discards are never
//! replayed.
//!
//! ## Needs
//! A block device (root) or a large file; with `--overwrite` a directory, or an empty device and
//! root. It refuses a device that is 5 % busy or more unless `--share` is given.
//!
//! ## Read it like this
//! `latency` has the latencies from issue to completion, captured and replayed. `timing` shows how
//! late I/Os were issued: if many are, the target or the CPUs could not keep up, and the load was
//! not that of the capture. `left_out` counts what was not replayed and why, `mapped` what was
//! moved or rounded to fit. A capture of the block layer has no reads that the page cache served; a
//! target whose own cache is warm is faster than the captured disk.

use std::sync::Arc;
use std::time::Duration;

use iowhy_model::{Op, Unit, numbers};

use crate::error::Error;
use crate::job::Job;
use crate::kind::{Ask, Kind};
use crate::outcome::{Cell, FIGURES, Outcome, Table, figures_of, time};
use crate::plan::{Captured, Plan, Planned, Replay};
use crate::session::Session;
use crate::{Latencies, Purpose, Run};

/// Entry in the list of kinds.
pub(super) const KIND: Kind = Kind {
    name: "replay",
    summary: "The same I/Os again: a capture replayed on a device or file, at the same times",
    manual: iowhy_model::manual!("replay.rs"),
    loads: true,
    purpose,
    run,
};

/// An I/O issued later than this after it was due counts as late.
const LATE_NS: u64 = 1_000_000;

fn purpose(ask: &Ask) -> Purpose {
    match ask.replay.as_ref().map_or(0, Replay::bytes_written) {
        0 => Purpose::Read,
        bytes => ask.writes(bytes, false),
    }
}

fn run(ask: &Ask, session: &mut Session<'_>) -> Result<Outcome, Error> {
    let hint = "`iowhy probe replay CAPTURE TARGET`; `iowhy explain replay` lists what it replays";
    let nothing = |what: &str| Error::asked(what, hint);
    let replay = ask.replay.as_ref().ok_or_else(|| nothing("no capture to replay"))?;
    let region = session.target.region();
    let plan = Arc::new(Plan::of(replay, region, session.target.block, ask.depth));
    let Some(last) = plan.ios.last() else {
        return Err(match (plan.writes_left_out, plan.too_large) {
            (0, 0) => nothing("the capture has no read or write with an offset and a time"),
            (writes, 0) => Error::asked(
                format!("nothing to replay: all {writes} I/Os of the capture are writes"),
                "`--overwrite` replays writes, to a directory or an empty device",
            ),
            _ => nothing("nothing to replay: the I/Os are larger than the target"),
        });
    };
    let length = Duration::from_nanos(last.due_ns).min(ask.time.unwrap_or(Duration::MAX));
    if !replay.closed {
        session.expect(length);
    }
    let mut job =
        Job { way: ask.way, time: ask.time, seed: ask.seed, ..Job::planned(plan, region) };
    if let Some((count, plan)) = ask.count.zip(job.plan.as_mut()) {
        job.count = Some(count.min(plan.ios.len() as u64));
        Arc::make_mut(plan).ios.truncate(count as usize);
    }
    let Some(plan) = job.plan.clone() else { return Err(nothing("nothing to replay")) };
    let run = session.measure(&job, "replay")?;
    let done = run.ios.iter().filter(|io| io.error == 0).count() as u64;
    let failed = run.ios.len() as u64 - done;
    let begun = done + failed + run.vanished + run.unserved.0;
    let ended = (plan.captured.len() as u64).saturating_sub(begun);
    let mut left_out = vec![("writes, without `--overwrite`".to_string(), plan.writes_left_out)];
    left_out.extend(replay.left_out.iter().cloned());
    left_out.push(("larger than the target or than 64 MiB".to_string(), plan.too_large));
    left_out
        .push(("due, but the maximum number of I/Os was in flight".to_string(), run.unserved.0));
    left_out.push(("failed".to_string(), failed));
    left_out.push(("never completed".to_string(), run.vanished));
    left_out.push(("not due before the end".to_string(), ended));
    left_out.retain(|(_, n)| *n > 0);
    let mapped = [
        ("beyond the end of the target, moved inside", plan.moved),
        ("offset or length rounded to the logical block", plan.rounded),
    ];
    let lateness = lateness(&run);
    let all: u64 = done + left_out.iter().map(|(_, n)| n).sum::<u64>();
    let mut answer = vec![format!(
        "replayed {done} of {all} I/Os{}",
        if replay.speed == 1.0 { String::new() } else { format!(" at speed {}", replay.speed) }
    )];
    answer.extend(timing_words(&lateness));
    answer.extend(compared(replay, &plan, &run));
    if !left_out.is_empty() {
        let words: Vec<String> =
            left_out.iter().map(|(reason, n)| format!("{n} ({reason})")).collect();
        answer.push(format!("not replayed: {}", words.join(", ")));
    }
    let tables = vec![
        latencies(replay, &plan, &run),
        timing(&lateness),
        counts("left_out", left_out.iter().map(|(reason, n)| (reason.as_str(), *n))),
        counts("mapped", mapped.into_iter().filter(|(_, n)| *n > 0)),
    ];
    let tables = tables.into_iter().filter(|table| !table.rows.is_empty()).collect();
    Ok(Outcome { answer, tables, ..Outcome::default() })
}

/// How late each I/O was issued, for any reason, and how many by more than [`LATE_NS`].
fn lateness(run: &Run) -> (Latencies, u64) {
    let mut late = Latencies::default();
    let mut beyond = 0;
    for io in run.ios.iter().filter(|io| io.error == 0) {
        let ns = io.issued_ns.saturating_sub(io.intended_ns);
        beyond += u64::from(ns > LATE_NS);
        late.record(ns);
    }
    (late, beyond)
}

fn timing_words((late, beyond): &(Latencies, u64)) -> Option<String> {
    let ms = |ns: u64| time(ns as f64 / 1e6);
    let p99 = late.quantile_ns(0.99, 0).map(|ns| format!(", {} at p99", ms(ns)));
    Some(format!(
        "issued {} late at the median{}, at most {}; {beyond} by more than {}",
        ms(late.quantile_ns(0.5, 0)?),
        p99.unwrap_or_default(),
        ms(late.max_ns?),
        ms(LATE_NS)
    ))
}

fn timing((late, beyond): &(Latencies, u64)) -> Table {
    let columns = [
        ("issued", Unit::Count),
        ("late_p50", Unit::Ms),
        ("late_p99", Unit::Ms),
        ("late_max", Unit::Ms),
        ("over_1ms", Unit::Count),
    ];
    let ms = |ns: Option<u64>| Cell::from(ns.map(|ns| ns as f64 / 1e6));
    let mut table = Table::new("timing", &columns);
    table.rows.push(vec![
        late.n.into(),
        ms(late.quantile_ns(0.5, 0)),
        ms(late.quantile_ns(0.99, 0)),
        ms(late.max_ns),
        (*beyond).into(),
    ]);
    table
}

/// Latencies from issue to completion of one operation: as captured, and as replayed.
fn sides(replay: &Replay, plan: &Plan, run: &Run, op: Op) -> [(Latencies, f64); 2] {
    let mut sides = [Latencies::default(), Latencies::default()];
    let both = plan.ios.iter().zip(&plan.captured).filter(|(planned, _)| planned.op == op);
    let captured = |(_, place): (&Planned, &u32)| replay.ios.get(*place as usize);
    let captured: Vec<&Captured> = both.filter_map(captured).collect();
    captured.iter().filter_map(|io| io.latency_ns()).for_each(|ns| sides[0].record(ns));
    let done = run.ios.iter().filter(|io| io.error == 0 && io.op == op);
    done.for_each(|io| sides[1].record(io.service_ns()));
    let starts = captured.first().zip(captured.last());
    let seconds = starts.map_or(0.0, |(first, last)| (last.started - first.started).seconds());
    // The same of the replay: without what the engine took to be ready.
    let issued = || run.ios.iter().filter(|io| io.op == op).map(|io| io.issued_ns);
    let span_ns = issued().max().zip(issued().min()).map_or(0, |(last, first)| last - first);
    let [captured, replayed] = sides;
    [(captured, seconds), (replayed, span_ns as f64 / 1e9)]
}

fn latencies(replay: &Replay, plan: &Plan, run: &Run) -> Table {
    let mut columns = vec![("ios", Unit::Count), ("op", Unit::Count)];
    columns.extend(FIGURES);
    let mut table = Table::new("latency", &columns);
    for op in [Op::Read, Op::Write] {
        let sides = sides(replay, plan, run, op);
        for ((latencies, seconds), side) in sides.iter().zip(["captured", "replayed"]) {
            if latencies.n > 0 {
                let mut row = vec![Cell::from(side), Cell::from(op.name())];
                row.extend(figures_of(latencies, *seconds, 0));
                table.rows.push(row);
            }
        }
    }
    table
}

/// The change in a sentence for each operation.
fn compared(replay: &Replay, plan: &Plan, run: &Run) -> Vec<String> {
    let of = |op: Op| {
        let [(captured, _), (replayed, _)] = sides(replay, plan, run, op);
        let median = |of: &Latencies| Some(of.quantile_ns(0.5, 0)? as f64);
        let (before, now) = (median(&captured)?, median(&replayed)?);
        Some(format!(
            "{}s take {} here, {} in the capture (median, issue to completion): {} times as long",
            op.name(),
            time(now / 1e6),
            time(before / 1e6),
            numbers::three(now / before.max(1.0))
        ))
    };
    [Op::Read, Op::Write].into_iter().filter_map(of).collect()
}

fn counts<'a>(name: &'static str, rows: impl Iterator<Item = (&'a str, u64)>) -> Table {
    let mut table = Table::new(name, &[("why", Unit::Count), ("ios", Unit::Count)]);
    table.rows = rows.map(|(why, n)| vec![Cell::from(why), n.into()]).collect();
    table
}
