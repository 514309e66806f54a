//! Cost of fsync and flush: the same write with and without a flush.
//!
//! ## Measures
//! Sequential 4 KiB writes (or `--size`), one at a time, alternating between three variants: plain,
//! followed by `fdatasync`, and with `RWF_DSYNC`. Twenty rounds of ten writes per variant
//! (`--count` writes per variant instead of 200), so that a change on the machine affects all three
//! alike.
//!
//! ## Writes
//! To a new unnamed file in the given directory, filled with data first, which disappears at the
//! end; or to an empty block device whose serial number is given with `--serial`.
//!
//! ## Needs
//! A directory, or an empty device and root.
//!
//! ## Read it like this
//! The difference of the medians is the cost of a flush. On a spinning disk it is several
//! milliseconds; on flash with power-loss protection almost nothing, because the drive can complete
//! from its protected cache. If the kernel treats the cache as write-through it sends no flush at
//! all, and the difference is the file system's own work. Group commit shares the cost among many
//! writers.

use iowhy_model::{Op, Unit};

use crate::error::Error;
use crate::job::{Durable, EngineChoice, Job, Load, Order};
use crate::kind::{Ask, Kind};
use crate::outcome::{Cell, Outcome, Table, time};
use crate::session::Session;
use crate::{Latencies, Purpose};

/// Entry in the list of kinds.
pub(super) const KIND: Kind = Kind {
    name: "flush-cost",
    summary: "Cost of fsync and flush: the same write with and without a flush",
    manual: iowhy_model::manual!("flush_cost.rs"),
    loads: false,
    purpose,
    run,
};

const SIZE: u32 = 4096;
/// Writes per way, and per turn.
const COUNT: u64 = 200;
const TURN: u64 = 10;
const WAYS: [Durable; 3] = [Durable::Plain, Durable::Fdatasync, Durable::RwfDsync];

fn purpose(ask: &Ask) -> Purpose {
    let writes = ask.count.unwrap_or(COUNT).next_multiple_of(TURN) * WAYS.len() as u64;
    ask.writes(writes * u64::from(ask.size(SIZE)), false)
}

fn run(ask: &Ask, session: &mut Session<'_>) -> Result<Outcome, Error> {
    let bytes = ask.size(SIZE);
    let (from, span) = session.target.region();
    let mut tallies = [Latencies::default(), Latencies::default(), Latencies::default()];
    let turn_bytes = TURN * u64::from(bytes);
    let rounds = ask.count.unwrap_or(COUNT).div_ceil(TURN);
    for round in 0..rounds {
        for (place, durable) in WAYS.into_iter().enumerate() {
            if session.over() {
                break;
            }
            // Each turn goes on where the one before ended.
            let turn = round * WAYS.len() as u64 + place as u64;
            let begin = (turn * turn_bytes) % span.saturating_sub(turn_bytes).max(1);
            let begin = begin / u64::from(bytes) * u64::from(bytes);
            let job = Job {
                op: Op::Write,
                load: Load::Closed { depth: 1 },
                order: Order::Sequential,
                from: from + begin,
                durable,
                count: Some(TURN),
                seed: ask.seed + turn,
                way: EngineChoice::Calls,
                ..Job::reads(bytes, 1, span - begin)
            };
            let what = format!("round {} of {rounds}, {}", round + 1, durable.name());
            let run = session.measure(&job, &what)?;
            if let Some(latencies) = tallies.get_mut(place) {
                latencies.add(&run.latency);
            }
        }
    }
    let mut table = Table::new(
        "flush_cost",
        &[
            ("write", Unit::Count),
            ("n", Unit::Count),
            ("min", Unit::Ms),
            ("mean", Unit::Ms),
            ("p50", Unit::Ms),
            ("max", Unit::Ms),
        ],
    );
    for (durable, latencies) in WAYS.into_iter().zip(&tallies) {
        let ms = |ns: Option<u64>| Cell::from(ns.map(|ns| ns as f64 / 1e6));
        table.rows.push(vec![
            durable.name().into(),
            latencies.n.into(),
            ms(latencies.min_ns),
            Cell::from(latencies.mean_ns().map(|ns| ns / 1e6)),
            ms(latencies.quantile_ns(0.5, 0)),
            ms(latencies.max_ns),
        ]);
    }
    let [plain, flushed, forced] = &tallies;
    let median = |latencies: &Latencies| latencies.quantile_ns(0.5, 0).map(|ns| ns as f64 / 1e6);
    let mut answer = Vec::new();
    if let (Some(plain), Some(flushed)) = (median(plain), median(flushed)) {
        answer.push(format!(
            "a flush costs {}: median {} with `fdatasync`, {} without",
            time((flushed - plain).max(0.0)),
            time(flushed),
            time(plain)
        ));
    }
    if let (Some(plain), Some(forced)) = (median(plain), median(forced)) {
        answer.push(format!("`RWF_DSYNC` costs {}", time((forced - plain).max(0.0))));
    }
    if let Some(cache) = session.target.setting("queue/write_cache") {
        answer.push(format!("the kernel treats the device's cache as \"{cache}\""));
    }
    Ok(Outcome { answer, tables: vec![table], ..Outcome::default() })
}
