//! Service time of one I/O at a time: the baseline for all other latencies.
//!
//! ## Measures
//! One read at a time on an idle device: random and sequential reads of 4, 16, 64 and 256 KiB (or
//! `--size`), 300 of each (or `--count`), for at most 5 s (or `--for`). The median of each is the
//! healthy service time (S0) of such a read.
//!
//! ## Writes
//! Nothing.
//!
//! ## Needs
//! A block device (root) or a large file, on a device known to be healthy. It refuses a device that
//! is 5 % busy or more unless `--share` is given: a latency with queueing is not a baseline.
//!
//! ## Read it like this
//! Run it on the suspect disk and on a healthy control disk, and compare. A faulty device yields a
//! faulty baseline. The fastest read shows the effect of a cache; the median is the result, and the
//! p90 shows the spread.

use std::time::Duration;

use iowhy_model::Unit;

use crate::error::Error;
use crate::job::{Job, Order};
use crate::kind::{Ask, Kind};
use crate::outcome::{Cell, Outcome, Table, time};
use crate::session::Session;
use crate::{Purpose, human};

/// Entry in the list of kinds.
pub(super) const KIND: Kind = Kind {
    name: "calibrate",
    summary: "Service time of one I/O at a time: the baseline of a device",
    manual: iowhy_model::manual!("calibrate.rs"),
    loads: true,
    purpose: |_| Purpose::Read,
    run,
};

const SIZES: [u32; 4] = [4096, 16_384, 65_536, 262_144];
/// Enough for a p99, were one to be printed (`Quantile::events_needed`).
const COUNT: u64 = 300;
const TIME: Duration = Duration::from_secs(5);

fn run(ask: &Ask, session: &mut Session<'_>) -> Result<Outcome, Error> {
    let sizes = if ask.sizes.is_empty() { SIZES.to_vec() } else { ask.sizes.clone() };
    let mut table = Table::new(
        "calibrate",
        &[
            ("size", Unit::Bytes),
            ("order", Unit::Count),
            ("n", Unit::Count),
            ("min", Unit::Ms),
            ("S0", Unit::Ms),
            ("p90", Unit::Ms),
            ("max", Unit::Ms),
        ],
    );
    let mut answer = Vec::new();
    let (from, span) = session.target.region();
    for order in [Order::Random, Order::Sequential] {
        for bytes in sizes.iter().copied().filter(|bytes| u64::from(*bytes) <= span) {
            if session.over() {
                break;
            }
            let job = Job {
                order,
                from,
                count: Some(ask.count.unwrap_or(COUNT)),
                time: Some(ask.time.unwrap_or(TIME)),
                seed: ask.seed + u64::from(bytes),
                way: ask.way,
                ..Job::reads(bytes, 1, span)
            };
            let what = format!("{} reads of {}", order.name(), human(u64::from(bytes)));
            let run = session.measure(&job, &what)?;
            let ms = |ns: Option<u64>| Cell::from(ns.map(|ns| ns as f64 / 1e6));
            let median_ns = run.latency.quantile_ns(0.5, 0);
            table.rows.push(vec![
                u64::from(bytes).into(),
                order.name().into(),
                run.latency.n.into(),
                ms(run.latency.min_ns),
                ms(median_ns),
                ms(run.latency.quantile_ns(0.9, 0)),
                ms(run.latency.max_ns),
            ]);
            if let Some(ns) = median_ns.filter(|_| answer.is_empty()) {
                answer.push(format!("S0 of {what} is {}", time(ns as f64 / 1e6)));
            }
        }
    }
    Ok(Outcome { answer, tables: vec![table], ..Outcome::default() })
}
