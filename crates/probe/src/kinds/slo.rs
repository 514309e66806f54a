//! The highest rate that meets a latency goal, confirmed by a second run.
//!
//! ## Measures
//! Random 4 KiB reads (or `--size`) with random arrivals (`--arrivals constant`: at equal
//! intervals), however fast the device completes them. Latency counts from the time a read was due,
//! so queueing in the engine is included. A short closed loop finds the maximum rate, bisection
//! finds the highest rate whose p99 (or `--percentile`) is within `--goal` (10 ms), each attempt
//! 2 s (or `--for`) and long enough for that percentile. That rate must then meet the goal in a run
//! three times as long with other random arrivals; if it does not, lower rates are tried, in
//! growing steps.
//!
//! ## Writes
//! Nothing.
//!
//! ## Needs
//! A block device (root) or a large file. It refuses a device that is 5 % busy or more unless
//! `--share` is given.
//!
//! ## Read it like this
//! Only a confirmed rate is a result; `service` is the latency from submission, as most benchmarks
//! print it. If p99 is missing, some reads that were due had not even started at the end of the
//! attempt.

use std::time::Duration;

use iowhy_model::{Quantile, Unit};

use crate::error::Error;
use crate::job::{Job, Load, Order};
use crate::kind::{Ask, Kind};
use crate::outcome::{Cell, Outcome, Table, digits, time};
use crate::session::Session;
use crate::{Purpose, Run};

/// Entry in the list of kinds.
pub(super) const KIND: Kind = Kind {
    name: "slo",
    summary: "The highest rate that meets a latency goal, confirmed by a second run",
    manual: iowhy_model::manual!("slo.rs"),
    loads: true,
    purpose: |_| Purpose::Read,
    run,
};

const SIZE: u32 = 4096;
/// The goal if none was named: what etcd requires of a disk for its log (etcd FAQ).
const GOAL: Duration = Duration::from_millis(10);
const TRY: Duration = Duration::from_secs(2);
/// In flight at most: enough to fill any one device, few enough for its queue.
const DEPTH: u32 = 256;
/// Halvings: the rate is then known to 2 % of the ceiling.
const HALVINGS: u32 = 6;
/// What a rate that was not confirmed is lowered to, each time by one such step more than before,
/// and how often: to a fifth at last.
const LOWER: f64 = 0.9;
const CONFIRMATIONS: i32 = 6;
/// How much longer a confirmation is than a try.
const LONGER: u32 = 3;

fn run(ask: &Ask, session: &mut Session<'_>) -> Result<Outcome, Error> {
    let goal_ns = ask.goal.unwrap_or(GOAL).as_nanos() as u64;
    let mut table = Table::new(
        "slo",
        &[
            ("step", Unit::Count),
            ("asked", Unit::PerSecond),
            ("done", Unit::PerSecond),
            ("n", Unit::Count),
            ("unserved", Unit::Count),
            ("p50", Unit::Ms),
            ("goal's", Unit::Ms),
            ("max", Unit::Ms),
            ("service", Unit::Ms),
            ("holds", Unit::Count),
        ],
    );
    let ceiling = ceiling(ask, session)?;
    let Some(ceiling) = ceiling else {
        return Ok(Outcome { answer: vec!["nothing was measured".into()], ..Outcome::default() });
    };
    let mut attempt = |session: &mut Session<'_>, step: &str, per_s: f64, longer: u32| {
        let seed = ask.seed + table.rows.len() as u64;
        let run = open(ask, session, per_s, longer, seed, step)?;
        let holds = holds(&run, ask.quantile, goal_ns) && !session.over();
        table.rows.push(row(step, per_s, &run, ask.quantile, holds));
        Ok::<bool, Error>(holds)
    };
    let (mut low, mut high) = (0.0, ceiling);
    for _ in 0..HALVINGS {
        if session.over() {
            break;
        }
        let middle = (low + high) / 2.0;
        match attempt(session, "try", middle, 1)? {
            true => low = middle,
            false => high = middle,
        }
    }
    let mut confirmed = None;
    for step in 1..=CONFIRMATIONS {
        if session.over() || low <= 0.0 {
            break;
        }
        if attempt(session, "confirm", low, LONGER)? {
            confirmed = Some(low);
            break;
        }
        low *= LOWER.powi(step);
    }
    let percent = (ask.quantile * 1e5).round() / 1e3;
    let goal = format!("p{percent} within {}", time(goal_ns as f64 / 1e6));
    let answer = match confirmed {
        Some(rate) => format!(
            "{} per second meet {goal}, confirmed by a separate run; the closed-loop maximum is {} \
             per second",
            digits(rate),
            digits(ceiling)
        ),
        None => format!("no rate was confirmed to meet {goal}"),
    };
    Ok(Outcome { answer: vec![answer], tables: vec![table], ..Outcome::default() })
}

/// The device's maximum rate per second.
fn ceiling(ask: &Ask, session: &mut Session<'_>) -> Result<Option<f64>, Error> {
    let (from, span) = session.target.region();
    let depth = ask.depth.unwrap_or(DEPTH).min(32);
    let job = Job {
        order: ask.order.unwrap_or(Order::Random),
        from,
        time: Some(ask.time.unwrap_or(TRY)),
        seed: ask.seed,
        way: ask.way,
        ..Job::reads(ask.size(SIZE), depth, span)
    };
    Ok(session.measure(&job, "finding the maximum rate")?.per_s())
}

fn open(
    ask: &Ask,
    session: &mut Session<'_>,
    per_s: f64,
    longer: u32,
    seed: u64,
    step: &str,
) -> Result<Run, Error> {
    let (from, span) = session.target.region();
    // Half more than the percentile needs, for arrivals are random.
    let needed = Quantile::events_needed(ask.quantile) as f64 * 1.5 / per_s;
    let length = ask.time.unwrap_or(TRY).max(Duration::from_secs_f64(needed.min(600.0)));
    let depth = ask.depth.unwrap_or(DEPTH);
    let job = Job {
        load: Load::Open { per_s, arrivals: ask.arrivals, depth },
        order: ask.order.unwrap_or(Order::Random),
        from,
        time: Some(length * longer),
        seed,
        way: ask.way,
        ..Job::reads(ask.size(SIZE), depth, span)
    };
    session.measure(&job, &format!("{step}: {} per second", digits(per_s)))
}

/// Whether the quantile is known and within the goal.
fn holds(run: &Run, quantile: f64, goal_ns: u64) -> bool {
    run.latency.quantile_ns(quantile, run.unserved.0).is_some_and(|ns| ns <= goal_ns)
}

fn row(step: &str, per_s: f64, run: &Run, quantile: f64, holds: bool) -> Vec<Cell> {
    let ms = |ns: Option<u64>| Cell::from(ns.map(|ns| ns as f64 / 1e6));
    vec![
        step.into(),
        per_s.into(),
        run.per_s().into(),
        run.latency.n.into(),
        run.unserved.0.into(),
        ms(run.latency.quantile_ns(0.5, run.unserved.0)),
        ms(run.latency.quantile_ns(quantile, run.unserved.0)),
        ms(run.latency.max_ns),
        ms(run.service.quantile_ns(quantile, 0)),
        if holds { "yes" } else { "no" }.into(),
    ]
}
