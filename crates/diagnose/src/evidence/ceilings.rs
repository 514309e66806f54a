//! Throughput of all disks together that stays at a ceiling while tasks wait.
//!
//! A load below the capacity of the disks varies with the programs. One that never rises above its
//! mean, interval after interval, with blocked tasks and idle CPUs, is limited: of a disk,
//! of its bus or network, or a configured one. Which one is not in this input.

use iowhy_model::{Observation, Verdict, key};

use crate::analysis::{Analysis, Host};
use crate::phrase;

/// Intervals from which on it is not chance, the maximum over the mean that is a ceiling, and bytes
/// per second below which requests, not bytes, are limited (choices).
const INTERVALS: f64 = 8.0;
const CEILING: f64 = 1.1;
const FLOWS: f64 = 1e6;
/// Blocked tasks and iowait that show that something waits.
const BLOCKED: f64 = 1.0;
const WAITED: f64 = 0.2;

/// The throughput ceiling of all disks of an input.
pub fn seen(analysis: &Analysis, host: Host, any: &str) -> Option<Observation> {
    let about = analysis.facts.about(Some(host), any);
    let mean = |column: &'static str| about.machine_number(key::VMSTAT_MEAN.of(column));
    let number = |column: &'static str| mean(column).map_or(0.0, |(value, _)| value);
    let (intervals, _) = about.machine_number(key::VMSTAT_INTERVALS)?;
    let waited = number("b") >= BLOCKED && number("wa") >= WAITED;
    (intervals >= INTERVALS && waited).then_some(())?;
    let columns = [("bo", "written to"), ("bi", "read from")];
    let (column, words) = columns.into_iter().max_by(|a, b| number(a.0).total_cmp(&number(b.0)))?;
    let (value, reading) = mean(column).filter(|(value, _)| *value >= FLOWS)?;
    let (max, _) = about.machine_number(key::VMSTAT_MAX.of(column))?;
    (max <= CEILING * value).then_some(())?;
    let above = phrase::percent(max / value - 1.0);
    let what = format!("bytes {words} all disks per second, at most {above} above their mean");
    let evidence = analysis.stated(&reading).bytes_per_s(&what, value);
    let would_mean = format!(
        "a plateau: {} tasks wait on average, and throughput never rises. A disk, its bus or a limit \
         is saturated: `iostat -x 1` names the disk, and its class shows whether that is low",
        phrase::digits(number("b"))
    );
    Some(Observation::of(evidence, would_mean).may_be(Verdict::LoadSaturated))
}
