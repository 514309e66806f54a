//! Throughput against queue depth: is the device saturated at 100 % busy?
//!
//! ## Measures
//! Random 4 KiB reads (or `--size`, `--order`) with 1, 2, 4 ... in flight, 2 s each (or `--for`),
//! repeated up to three times until the rate of eight windows is known to 5 %. It ends at `--depth`
//! (256), or when two doublings in a row brought less than 5 %. Finds the knee, beyond which more
//! I/Os in flight only wait (highest rate over latency), fits the universal scalability law, and
//! checks each step against Little's law.
//!
//! ## Writes
//! Nothing.
//!
//! ## Needs
//! A block device (root) or a large file. It loads the device to its maximum, so it refuses one
//! that is 5 % busy or more unless `--share` is given.
//!
//! ## Read it like this
//! `%util` shows only that something was in flight. A device whose throughput still grows with more
//! in flight was not saturated at 100 %. A constant rate with little variation is a configured
//! limit, or a device with a fixed rate; a constant rate that fluctuates is a saturated device; a
//! falling rate is an overloaded one. `X R / N` is 1 when rate, latency and the number in flight
//! agree; below 1 the engine was CPU-starved and could not keep the device supplied. Reads of a
//! file that fits into a cache below `O_DIRECT` measure that cache.

use std::time::Duration;

use iowhy_model::Unit;

use crate::error::Error;
use crate::job::{Job, Order};
use crate::kind::{Ask, Kind};
use crate::limits::{Limit, limits};
use crate::outcome::{FIGURES, Outcome, Table, digits, figures, time};
use crate::scaling::{Shape, Step, Usl, knee, shape};
use crate::session::Session;
use crate::{Purpose, Run};

/// Entry in the list of kinds.
pub(super) const KIND: Kind = Kind {
    name: "ramp",
    summary: "Throughput against queue depth: is the device saturated at 100 % busy?",
    manual: iowhy_model::manual!("ramp.rs"),
    loads: true,
    purpose: |_| Purpose::Read,
    run,
};

const SIZE: u32 = 4096;
const MAX_DEPTH: u32 = 256;
const STEP: Duration = Duration::from_secs(2);
/// Windows per step, and the 97.5 % point of Student's t for that many.
const WINDOWS: usize = 8;
const STUDENT: f64 = 2.365;
/// Half the confidence interval of a rate that counts as known, and tries to get there.
const KNOWN: f64 = 0.05;
const TRIES: u32 = 3;
/// A doubling that brings less is one of no gain; after two of them the ramp ends.
const GAIN: f64 = 0.05;

fn run(ask: &Ask, session: &mut Session<'_>) -> Result<Outcome, Error> {
    let mut columns = vec![("depth", Unit::Requests)];
    columns.extend(FIGURES);
    columns.extend([("X R / N", Unit::Ratio), ("varies", Unit::Share)]);
    let mut table = Table::new("ramp", &columns);
    let mut steps: Vec<Step> = Vec::new();
    let (deepest, length) = (ask.depth.unwrap_or(MAX_DEPTH), ask.time.unwrap_or(STEP));
    let mut depth = 1;
    let mut without_gain = 0;
    while depth <= deepest && without_gain < 2 && !session.over() {
        let Some((step, run)) = measure(ask, session, depth, length)? else { break };
        let mut row = vec![u64::from(depth).into()];
        row.extend(figures(&run));
        row.extend([step.little().into(), step.cv.into()]);
        table.rows.push(row);
        let gain = steps.last().map_or(1.0, |before| step.per_s / before.per_s - 1.0);
        without_gain = if gain < GAIN { without_gain + 1 } else { 0 };
        steps.push(step);
        depth *= 2;
    }
    Ok(Outcome {
        answer: answer(&steps, &limits(&session.target)),
        tables: vec![table],
        ..Outcome::default()
    })
}

/// One step, repeated until its rate is known or the tries are used up.
fn measure(
    ask: &Ask,
    session: &mut Session<'_>,
    depth: u32,
    length: Duration,
) -> Result<Option<(Step, Run)>, Error> {
    let mut last = None;
    for attempt in 0..TRIES {
        let (from, span) = session.target.region();
        let job = Job {
            order: ask.order.unwrap_or(Order::Random),
            from,
            time: Some(length),
            count: ask.count,
            seed: ask.seed + u64::from(depth) * 10 + u64::from(attempt),
            way: ask.way,
            ..Job::reads(ask.size(SIZE), depth, span)
        };
        let run = session.measure(&job, &format!("{depth} in flight"))?;
        let (cv, per_window) = variation(&run);
        let (Some(per_s), Some(mean_ns)) = (run.per_s(), run.latency.mean_ns()) else { break };
        let step = Step { depth: f64::from(depth), per_s, mean_s: mean_ns / 1e9, cv, per_window };
        last = Some((step, run));
        if session.over() || STUDENT * cv / (WINDOWS as f64).sqrt() < KNOWN {
            break;
        }
    }
    Ok(last)
}

/// Variation of the rate over the windows of a run, and completions per window.
fn variation(run: &Run) -> (f64, f64) {
    let length_ns = (run.span_ns.1.saturating_sub(run.span_ns.0) / WINDOWS as u64).max(1);
    let mut counts = [0.0; WINDOWS];
    for io in &run.ios {
        let window = io.completed_ns.saturating_sub(run.span_ns.0) / length_ns;
        if let Some(count) = counts.get_mut((window as usize).min(WINDOWS - 1)) {
            *count += 1.0;
        }
    }
    let mean = counts.iter().sum::<f64>() / WINDOWS as f64;
    let square = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>();
    ((square / (WINDOWS - 1) as f64).sqrt() / mean.max(1e-9), mean)
}

fn answer(steps: &[Step], limits: &[Limit]) -> Vec<String> {
    let (Some(first), Some(most)) =
        (steps.first(), steps.iter().max_by(|a, b| a.per_s.total_cmp(&b.per_s)))
    else {
        return vec!["nothing was measured".to_string()];
    };
    let mut answer = Vec::new();
    let share = first.per_s / most.per_s;
    answer.push(if share < 0.9 {
        format!(
            "100 % busy is not saturation: one I/O at a time keeps it busy at {} per second, and \
             it reaches {} per second with {} in flight; a `%util` of 100 may be {} % of its \
             capacity",
            digits(first.per_s),
            digits(most.per_s),
            most.depth,
            digits(share * 100.0)
        )
    } else {
        format!(
            "100 % busy is saturation: more than one in flight does not exceed {} per second",
            digits(most.per_s)
        )
    });
    let held = match shape(steps) {
        Some(Shape::Rising) => "the rate still grows at the last step: not saturated",
        Some(Shape::Cap) => {
            "the rate is constant with little variation: a limit, or a device with a fixed rate"
        }
        Some(Shape::Saturated) => {
            "the rate is constant on average but varies: the device is saturated"
        }
        Some(Shape::Thrash) => "the rate falls with more in flight: the device is overloaded",
        None => "too few steps to tell what limits the rate",
    };
    answer.push(held.to_string());
    answer.extend(limits.iter().map(|limit| format!("a control group limits it: {limit}")));
    let ended = shape(steps).is_some_and(|shape| shape != Shape::Rising);
    if let Some(knee) = knee(steps).filter(|_| ended) {
        answer.push(format!(
            "the knee is at {} in flight: {} per second at {} each; beyond it, I/Os mostly wait in \
             the queue",
            knee.depth,
            digits(knee.per_s),
            time(knee.mean_s * 1e3)
        ));
    }
    if let Some(law) = Usl::fit(steps) {
        answer.push(format!(
            "universal scalability law, estimated: {} per second alone, contention {:.4}, \
             coherency {:.6}",
            digits(law.rate),
            law.wait,
            law.talk
        ));
    }
    if let Some((law, peak)) = Usl::fit(steps).and_then(|law| Some((law, law.peak()?))) {
        let most = digits(law.at(peak));
        answer.push(format!("by that law its maximum is {most} per second, at {peak} in flight"));
    }
    let off = steps.iter().filter(|step| step.little() < 0.95).count();
    if off > 0 {
        let plural = if off == 1 { "" } else { "s" };
        answer.push(format!(
            "in {off} step{plural} rate times latency is more than 5 % below the number in flight: \
             the engine was CPU-starved there, and the device may be faster"
        ));
    }
    answer
}
