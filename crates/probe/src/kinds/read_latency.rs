//! Read latency by size and offset, and of a second pass over the same offsets.
//!
//! ## Measures
//! Reads one at a time: 4 KiB, 64 KiB and 1 MiB (or `--size`; `--up-to 1m`: all sizes from the
//! logical block up), sequential and random over the whole target, 500 of each (or `--count`), for
//! at most 5 s each (or `--for`). Then the same offsets again: if the second pass is faster, it was
//! served from a cache. With `--rate` reads are due at that rate, however fast the device completes
//! them, and latency counts from the time a read was due; `service` counts from its submission.
//!
//! ## Writes
//! Nothing.
//!
//! ## Needs
//! A block device (root) or a large file that can be read.
//!
//! ## Read it like this
//! A healthy spinning disk needs 4 to 13 ms for a small random read, mostly seek and rotational
//! latency; flash needs 0.05 to 0.3 ms. A maximum that is one, two or three revolutions above the
//! rest is a read that was retried. Reads bypass the page cache (`O_DIRECT`) unless `--buffered` is
//! given; a cache in or below the device still shows as a faster second pass.

use std::time::Duration;

use iowhy_model::Unit;

use crate::error::Error;
use crate::job::{Job, Load, Order};
use crate::kind::{Ask, Kind};
use crate::outcome::{Cell, FIGURES, Outcome, Table, figures, time};
use crate::session::Session;
use crate::{Purpose, Run, human};

/// Entry in the list of kinds.
pub(super) const KIND: Kind = Kind {
    name: "read-latency",
    summary: "Read latency by size and offset, and of a second pass over the same offsets",
    manual: iowhy_model::manual!("read_latency.rs"),
    loads: false,
    purpose: |_| Purpose::Read,
    run,
};

/// A page, a usual read-ahead step, and a large request.
const SIZES: [u32; 3] = [4096, 65_536, 1 << 20];
/// Reads of each, and the longest they may take: enough for a p99.
const COUNT: u64 = 500;
const TIME: Duration = Duration::from_secs(5);
/// In flight at most if reads are due by a rate.
const OPEN: u32 = 256;
/// A second pass was answered by a cache if its median is below this share of the first one's,
/// and below the fastest read of the first pass: a busy machine alone can halve a median.
const CACHED: f64 = 0.5;

fn run(ask: &Ask, session: &mut Session<'_>) -> Result<Outcome, Error> {
    let sizes = ask.sizes(session.target.block, &SIZES);
    let orders = ask.order.map_or(vec![Order::Sequential, Order::Random], |order| vec![order]);
    let mut columns = vec![("size", Unit::Bytes), ("order", Unit::Count), ("pass", Unit::Count)];
    columns.extend(FIGURES);
    columns.extend([("service", Unit::Ms), ("unserved", Unit::Count)]);
    let mut table = Table::new("read_latency", &columns);
    let mut answer = Vec::new();
    let (from, span) = session.target.region();
    for bytes in sizes.iter().copied().filter(|bytes| u64::from(*bytes) <= span) {
        for order in &orders {
            let mut first_ns = None;
            for pass in 1..=2u64 {
                if session.over() {
                    break;
                }
                let depth = ask.depth.unwrap_or(if ask.per_s.is_some() { OPEN } else { 1 });
                let arrivals = ask.arrivals;
                let load = ask.per_s.map_or(Load::Closed { depth }, |per_s| Load::Open {
                    per_s,
                    arrivals,
                    depth,
                });
                let job = Job {
                    load,
                    order: *order,
                    from,
                    // At a given rate the time ends it: a count would end before it falls behind.
                    count: ask.count.or(ask.per_s.is_none().then_some(COUNT)),
                    time: Some(ask.time.unwrap_or(TIME)),
                    seed: ask.seed,
                    way: ask.way,
                    ..Job::reads(bytes, depth, span)
                };
                let what = format!("{} reads of {}", order.name(), human(u64::from(bytes)));
                let run = session.measure(&job, &what)?;
                let mut row = vec![u64::from(bytes).into(), Cell::from(order.name()), pass.into()];
                row.extend(figures(&run));
                row.push(Cell::from(run.service.mean_ns().map(|ns| ns / 1e6)));
                row.push(run.unserved.0.into());
                if let Some(sentence) = behind(&run, &what) {
                    answer.push(sentence);
                }
                table.rows.push(row);
                let median_ns = run.latency.quantile_ns(0.5, 0);
                if pass == 1 {
                    first_ns = median_ns.zip(run.latency.min_ns);
                } else if let (Some((first, quickest)), Some(again)) = (first_ns, median_ns)
                    && (again as f64) < first as f64 * CACHED
                    && again < quickest
                {
                    answer.push(format!(
                        "the second pass of {what} was served from a cache: median {} instead of \
                         {}",
                        time(again as f64 / 1e6),
                        time(first as f64 / 1e6)
                    ));
                }
            }
        }
    }
    if !answer.iter().any(|sentence| sentence.starts_with("a cache")) && !session.over() {
        answer.push("no second pass was served from a cache".to_string());
    }
    Ok(Outcome { answer, tables: vec![table], ..Outcome::default() })
}

/// Reports that the device did not keep up with the requested rate.
fn behind(run: &Run, what: &str) -> Option<String> {
    let (count, longest_ns) = run.unserved;
    (count > 0).then(|| {
        format!(
            "{what}: the device could not keep up with the rate; at the end {count} reads that \
             were due had not started, the first of them {} late",
            time(longest_ns as f64 / 1e6)
        )
    })
}
