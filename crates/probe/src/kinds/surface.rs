//! Reads the whole surface and reports where it is slow: weak zones, reads that were retried.
//!
//! ## Measures
//! Every block of the target is read in order, 1 MiB at a time (or `--size`), one read after
//! another, in up to 1000 extents of equal length; with `--for`, only the beginning of each extent,
//! so that the scan ends in time. Prints the 20 extents with the slowest reads and all unreadable
//! offsets. After 16 of those it stops.
//!
//! ## Writes
//! Nothing.
//!
//! ## Needs
//! A block device (root) or a large file. A disk of several TB takes hours without `--for`. Other
//! I/O slows it down and makes healthy areas look slow.
//!
//! ## Read it like this
//! Sequential reads get slower from the outer to the inner tracks, gradually and by at most half.
//! Single reads that take one, two or three revolutions longer (8.3 ms each at 7200 rpm) were
//! retried. An area that is slow in two scans with different `--seed` is weak; one that is slow
//! only once was delayed by other I/O. The data at an unreadable offset is lost.

use std::time::Duration;

use iowhy_model::Order as _;
use iowhy_model::Unit;

use crate::error::Error;
use crate::job::{Job, Order};
use crate::kind::{Ask, Kind};
use crate::outcome::{Cell, Outcome, Table, time};
use crate::session::Session;
use crate::{Purpose, human};

/// Entry in the list of kinds.
pub(super) const KIND: Kind = Kind {
    name: "surface",
    summary: "Reads the whole surface and reports where it is slow",
    manual: iowhy_model::manual!("surface.rs"),
    loads: false,
    purpose: |_| Purpose::Read,
    run,
};

const SIZE: u32 = 1 << 20;
const EXTENTS: u64 = 1000;
const SHOWN: usize = 20;
const UNREADABLE: usize = 16;

/// The result of one extent.
struct Extent {
    from: u64,
    reads: u64,
    mean_ns: f64,
    slowest_ns: u64,
    slowest_at: u64,
}

fn run(ask: &Ask, session: &mut Session<'_>) -> Result<Outcome, Error> {
    let (begin, span) = session.target.region();
    let size = u64::from(ask.size(SIZE)).min(span.max(1));
    let length = (span / EXTENTS).next_multiple_of(size).max(size);
    let extents = span / length + u64::from(!span.is_multiple_of(length));
    let budget = ask.time.map(|time| time / extents.max(1) as u32);
    if let Some(time) = ask.time {
        session.expect(time);
    }
    let mut found: Vec<Extent> = Vec::new();
    let mut unreadable = Vec::new();
    for number in 0..extents {
        let from = begin + number * length;
        let length = length.min(begin + span - from);
        let what = format!("extent {} of {extents}", number + 1);
        scan(ask, session, (from, length), budget, &what, &mut found, &mut unreadable)?;
        if session.over() || unreadable.len() >= UNREADABLE {
            break;
        }
    }
    Ok(outcome(found, &unreadable, extents))
}

/// Reads one extent, skipping unreadable offsets.
fn scan(
    ask: &Ask,
    session: &mut Session<'_>,
    (mut from, mut length): (u64, u64),
    budget: Option<Duration>,
    what: &str,
    found: &mut Vec<Extent>,
    unreadable: &mut Vec<String>,
) -> Result<(), Error> {
    let block = u64::from(session.target.block.max(1));
    while length >= block && unreadable.len() < UNREADABLE {
        // What is left after the last full read is read as well.
        let size = u64::from(ask.size(SIZE)).min(length / block * block);
        let job = Job {
            order: Order::Sequential,
            from,
            count: Some(length / size),
            time: budget,
            seed: ask.seed,
            way: ask.way,
            ..Job::reads(size as u32, 1, length)
        };
        let run = session.attempt(&job, what)?;
        let good = run.ios.iter().filter(|io| io.error == 0);
        if let Some(slowest) = good.max_by_key(|io| io.latency_ns()) {
            found.push(Extent {
                from,
                reads: run.latency.n,
                mean_ns: run.latency.mean_ns().unwrap_or(0.0),
                slowest_ns: slowest.latency_ns(),
                slowest_at: slowest.offset,
            });
        }
        let next = match run.failed {
            Some(bad) => {
                let cause = std::io::Error::from_raw_os_error(i32::from(bad.error));
                unreadable.push(format!("{} at byte {}: {cause}", human(size), bad.offset));
                bad.offset + size
            }
            // A budget that is used up leaves the rest of the extent alone.
            None if run.latency.n < length / size => return Ok(()),
            None => from + length / size * size,
        };
        length = (from + length).saturating_sub(next);
        from = next;
    }
    Ok(())
}

fn outcome(mut found: Vec<Extent>, unreadable: &[String], extents: u64) -> Outcome {
    let mut table = Table::new(
        "surface",
        &[
            ("extent from", Unit::Bytes),
            ("reads", Unit::Count),
            ("mean", Unit::Ms),
            ("slowest", Unit::Ms),
            ("slowest at", Unit::Bytes),
        ],
    );
    let reads: u64 = found.iter().map(|extent| extent.reads).sum();
    let mut answer = Vec::new();
    let mut means: Vec<f64> = found.iter().map(|extent| extent.mean_ns).collect();
    means.sort_by(f64::total_cmp);
    found.order_by_key(|extent| std::cmp::Reverse(extent.slowest_ns));
    if let (Some(middle), Some(worst)) = (means.get(means.len() / 2), found.first()) {
        answer.push(format!(
            "{} of {extents} extents, {reads} reads: the median of the extents' means is {}, the \
             slowest single read took {} at byte {}",
            found.len().min(extents as usize),
            time(middle / 1e6),
            time(worst.slowest_ns as f64 / 1e6),
            worst.slowest_at
        ));
    }
    for extent in found.iter().take(SHOWN) {
        table.rows.push(vec![
            extent.from.into(),
            extent.reads.into(),
            (extent.mean_ns / 1e6).into(),
            Cell::from(extent.slowest_ns as f64 / 1e6),
            extent.slowest_at.into(),
        ]);
    }
    if unreadable.is_empty() {
        answer.push("all reads succeeded".to_string());
    } else {
        answer.push(format!(
            "{} offsets were unreadable: {}",
            count(unreadable.len()),
            unreadable.join("; ")
        ));
    }
    Outcome { answer, tables: vec![table], ..Outcome::default() }
}

fn count(places: usize) -> String {
    if places >= UNREADABLE { format!("at least {places}") } else { places.to_string() }
}
