//! Sustained rate: full caches, used-up burst credit, thermal throttling.
//!
//! ## Measures
//! Random 4 KiB reads (or `--size`, `--order`) with 32 in flight (or `--depth`) for 60 s (or
//! `--for`), second by second. `--op write` writes instead, which fills the SLC cache of a flash
//! drive.
//!
//! ## Writes
//! Nothing; with `--op write`, to a new unnamed file in the given directory, or to an empty block
//! device whose serial number is given. It then ends when the announced number of bytes is written
//! (four times the file, or `--count`).
//!
//! ## Needs
//! A block device (root) or a large file; a directory for writing. It refuses a device that is 5 %
//! busy or more unless `--share` is given. It ends when the drive reports that it is too hot.
//!
//! ## Read it like this
//! A rate that falls once and stays low means a full cache or used-up credit; its size is the
//! second at which the rate fell times the rate before. A rate that falls and recovers repeatedly
//! means thermal throttling or garbage collection in the drive.

use std::time::Duration;

use iowhy_model::{Op, Unit, numbers};

use crate::Purpose;
use crate::error::Error;
use crate::job::{Job, Order};
use crate::kind::{Ask, Kind, SPAN};
use crate::outcome::{FIGURES, Outcome, Table, digits, figures};
use crate::session::Session;

/// Entry in the list of kinds.
pub(super) const KIND: Kind = Kind {
    name: "sustain",
    summary: "Sustained rate: full caches, used-up burst credit, thermal throttling",
    manual: iowhy_model::manual!("sustain.rs"),
    loads: true,
    purpose,
    run,
};

const SIZE: u32 = 4096;
const DEPTH: u32 = 32;
const LENGTH: Duration = Duration::from_secs(60);
const SECOND: Duration = Duration::from_secs(1);
/// Fewest seconds on each side of a fall, and what is left of the rate after one.
const SIDE: usize = 3;
const FALLEN: f64 = 0.8;

/// Writes in all, if nothing else was reported.
fn writes(ask: &Ask) -> u64 {
    let file = ask.span.unwrap_or(SPAN);
    ask.count.unwrap_or(4 * file / u64::from(ask.size(SIZE)))
}

fn purpose(ask: &Ask) -> Purpose {
    if ask.op == Op::Write {
        ask.writes(writes(ask) * u64::from(ask.size(SIZE)), false)
    } else {
        Purpose::Read
    }
}

fn run(ask: &Ask, session: &mut Session<'_>) -> Result<Outcome, Error> {
    let seconds = ask.time.unwrap_or(LENGTH).as_secs().max(1);
    session.expect(Duration::from_secs(seconds));
    let mut columns = vec![("second", Unit::Seconds)];
    columns.extend(FIGURES);
    let mut table = Table::new("sustain", &columns);
    let mut rates = Vec::new();
    let (from, span) = session.target.region();
    let mut left = if ask.op == Op::Write { Some(writes(ask)) } else { ask.count };
    for second in 1..=seconds {
        if session.over() || left == Some(0) {
            break;
        }
        let job = Job {
            op: ask.op,
            order: ask.order.unwrap_or(Order::Random),
            from,
            time: Some(SECOND),
            count: left,
            seed: ask.seed + second,
            way: ask.way,
            ..Job::reads(ask.size(SIZE), ask.depth.unwrap_or(DEPTH), span)
        };
        let run = session.measure(&job, &format!("second {second}"))?;
        left = left.map(|left| left.saturating_sub(run.latency.n));
        let mut row = vec![second.into()];
        row.extend(figures(&run));
        table.rows.push(row);
        // A last, short second shows nothing about the pace.
        rates.extend(run.per_s().filter(|_| run.seconds() > 0.5));
    }
    Ok(Outcome { answer: vec![verdict(&rates)], tables: vec![table], ..Outcome::default() })
}

fn verdict(rates: &[f64]) -> String {
    match fall(rates) {
        Some((second, before, after)) => format!(
            "the rate fell after {second} s from {} to {} and stayed there: after {} I/Os a cache \
             or credit was used up",
            numbers::iops(before),
            numbers::iops(after),
            digits(before * second as f64)
        ),
        None if rates.len() >= 2 * SIDE => {
            let mean = rates.iter().sum::<f64>() / rates.len() as f64;
            let square = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>();
            let cv = (square / rates.len() as f64).sqrt() / mean.max(1e-9);
            format!(
                "the rate was sustained for {} s: {}, plus or minus {}",
                rates.len(),
                numbers::iops(mean),
                numbers::share(cv)
            )
        }
        None => "too short to tell whether the rate is sustained".to_string(),
    }
}

/// The second after which every rate is below every one before it, and by a fifth on average.
fn fall(rates: &[f64]) -> Option<(usize, f64, f64)> {
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len().max(1) as f64;
    (SIDE..rates.len().saturating_sub(SIDE - 1)).find_map(|second| {
        let (before, after) = rates.split_at_checked(second)?;
        let least = before.iter().copied().fold(f64::INFINITY, f64::min);
        let most = after.iter().copied().fold(0.0, f64::max);
        let (high, low) = (mean(before), mean(after));
        (most < least && low < high * FALLEN).then_some((second, high, low))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fall_is_found_where_it_is_and_noise_is_none() {
        let mut rates = vec![3000.0, 3010.0, 2990.0, 3005.0, 3000.0];
        rates.extend([300.0, 302.0, 299.0, 301.0]);
        let (second, before, after) = fall(&rates).unwrap();
        assert_eq!(second, 5);
        assert!((before - 3001.0).abs() < 1.0 && (after - 300.5).abs() < 0.1);
        assert_eq!(fall(&[100.0, 60.0, 110.0, 70.0, 100.0, 65.0, 90.0]), None);
        assert_eq!(fall(&[]), None);
        assert!(verdict(&[100.0; 8]).contains("the rate was sustained"));
    }
}
