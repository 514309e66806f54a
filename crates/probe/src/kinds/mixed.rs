//! Read/write interference: latencies of reads and writes, alone and mixed.
//!
//! ## Measures
//! First reads alone, then reads and writes together: 70 % reads (or `--reads`) of 4 KiB (or
//! `--size`, several times), at random offsets (or `--order`), four in flight (or `--depth`),
//! 2000 I/Os (or `--count`) and at most 30 s (or `--for`). The order is random, and the number of
//! writes is exact. With `--rate` I/Os are due at that rate, however fast the device completes them
//! (`--arrivals`), and latency counts from the time an I/O was due. With `--durable fdatasync`,
//! `dsync` or `rwf-dsync` each write waits until it is durable; by default, a write waits only for
//! its request.
//!
//! ## Writes
//! To a new unnamed file in the given directory, filled with data first (64 MiB, or `--span`),
//! which disappears at the end; or to an empty block device whose serial number is given with
//! `--serial`. The reads use the same area.
//!
//! ## Needs
//! A directory, or an empty device and root. It refuses a device that is 5 % busy or more unless
//! `--share` is given.
//!
//! ## Read it like this
//! Compare the reads of the mix with the reads alone. On flash a read waits for a write or erase on
//! its chip: a p99 many times the median, only in the mix. On a spinning disk both share one arm,
//! and writes that wait for a flush delay all other I/O. A device that drains its write cache
//! stalls reads for as long as a flush takes.

use std::time::Duration;

use iowhy_model::{Op, Unit};

use crate::error::Error;
use crate::job::{Durable, Job, Load, Order};
use crate::kind::{Ask, Kind};
use crate::outcome::{Cell, FIGURES, Outcome, Table, figures_of, time};
use crate::session::Session;
use crate::{Latencies, Purpose, Run, human};

/// Entry in the list of kinds.
pub(super) const KIND: Kind = Kind {
    name: "mixed",
    summary: "Read/write interference: latencies of reads and writes, alone and mixed",
    manual: iowhy_model::manual!("mixed.rs"),
    loads: true,
    purpose,
    run,
};

const SIZE: u32 = 4096;
/// The share of reads that load generators and makers' sheets take for a database's.
const READS: f64 = 0.7;
/// Enough for a p99 of the rarer half (`Quantile::events_needed`).
const COUNT: u64 = 2000;
const TIME: Duration = Duration::from_secs(30);
const DEPTH: u32 = 4;
/// In flight at most if I/Os are due by a rate.
const OPEN: u32 = 256;
/// A read that takes this many times longer during writes is reported.
const SUFFERS: f64 = 1.5;

fn sizes(ask: &Ask) -> Vec<u32> {
    if ask.sizes.is_empty() { vec![SIZE] } else { ask.sizes.clone() }
}

fn purpose(ask: &Ask) -> Purpose {
    let bytes = sizes(ask).into_iter().map(|size| u64::from(size) * job(ask, size, 0, 0).writes());
    ask.writes(bytes.sum(), ask.durable == Some(Durable::Dsync))
}

fn job(ask: &Ask, bytes: u32, from: u64, span: u64) -> Job {
    let depth = ask.depth.unwrap_or(if ask.per_s.is_some() { OPEN } else { DEPTH });
    let arrivals = ask.arrivals;
    Job {
        op: Op::Write,
        reads: Some(ask.reads.unwrap_or(READS)),
        load: ask.per_s.map_or(Load::Closed { depth }, |per_s| Load::Open {
            per_s,
            arrivals,
            depth,
        }),
        order: ask.order.unwrap_or(Order::Random),
        from,
        durable: ask.durable.unwrap_or(Durable::Plain),
        count: Some(ask.count.unwrap_or(COUNT)),
        time: Some(ask.time.unwrap_or(TIME)),
        seed: ask.seed,
        way: ask.way,
        ..Job::reads(bytes, depth, span)
    }
}

fn run(ask: &Ask, session: &mut Session<'_>) -> Result<Outcome, Error> {
    let (from, span) = session.target.region();
    let mut columns = vec![("size", Unit::Bytes), ("load", Unit::Count), ("op", Unit::Count)];
    columns.extend(FIGURES);
    columns.push(("unserved", Unit::Count));
    let mut table = Table::new("mixed", &columns);
    let mut answer = Vec::new();
    for bytes in sizes(ask) {
        if session.over() {
            break;
        }
        let mixed = job(ask, bytes, from, span);
        let alone = Job { op: Op::Read, reads: None, durable: Durable::Plain, ..mixed.clone() };
        let size = human(u64::from(bytes));
        let mut add = |load: &str, op: Op, latencies: &Latencies, run: &Run| {
            // Which of them the reads and writes were that never started is not known.
            let unserved = run.unserved.0;
            let mut row = vec![u64::from(bytes).into(), Cell::from(load), Cell::from(op.name())];
            row.extend(figures_of(latencies, run.seconds(), unserved));
            row.push(unserved.into());
            table.rows.push(row);
        };
        let before = session.measure(&alone, &format!("reads of {size} alone"))?;
        add("alone", Op::Read, &before.latency, &before);
        if session.over() {
            break;
        }
        let run = session.measure(&mixed, &format!("reads and writes of {size}"))?;
        let Some([reads, writes]) = run.of_both.as_deref() else { continue };
        add("mixed", Op::Read, reads, &run);
        add("mixed", Op::Write, writes, &run);
        answer.extend(compare(&before.latency, reads, &size));
        if run.unserved.0 > 0 {
            let (count, longest_ns) = run.unserved;
            answer.push(format!(
                "{size}: the device could not keep up with the rate; {count} I/Os that were due \
                 had not started, the first of them {} late",
                time(longest_ns as f64 / 1e6)
            ));
        }
    }
    Ok(Outcome { answer, tables: vec![table], ..Outcome::default() })
}

/// The effect of the writes on the reads, at the median and at the p99.
fn compare(alone: &Latencies, mixed: &Latencies, size: &str) -> Vec<String> {
    let of = |name: &str, q: f64| {
        let (a, b) = (alone.quantile_ns(q, 0)? as f64, mixed.quantile_ns(q, 0)? as f64);
        let (times, a, b) = (b / a.max(1.0), time(a / 1e6), time(b / 1e6));
        Some(if times >= SUFFERS {
            format!(
                "with concurrent writes a read of {size} takes {b} instead of {a} ({name}): \
                 {times:.1} times as long"
            )
        } else {
            format!(
                "with concurrent writes a read of {size} takes {b}, alone {a} ({name}): writes \
                 hardly slow it down"
            )
        })
    };
    [of("median", 0.5), of("p99", 0.99)].into_iter().flatten().collect()
}
