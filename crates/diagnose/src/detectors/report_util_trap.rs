//! "100 % busy" is not saturation: the device can serve more.
//!
//! ## Accuses
//! The metric, not the device. %util is the share of time with a request in flight. A device that
//! serves many requests at once is 100 % busy with one of them.
//!
//! ## Why it matters
//! It is the most expensive misreading of iostat: larger disks and volumes are bought for a
//! bottleneck that does not exist.
//!
//! ## Needs
//! Averages at two loads.
//!
//! ## Rule
//! The busy share is above 90 % at two loads, and throughput still grew with the number in flight:
//! elasticity d ln X / d ln N above 0.5 (near 1 is unsaturated, below 0.2 saturated). svctm then
//! falls as load grows, which a service time never does. Rows with waits of more than ten service
//! times of the slowest class are left out: another problem affects them. The reported share is not
//! of latency: it is the part of the throughput beyond the supposed saturation.
//!
//! ## Wrong if
//! The device is serial: a single spinning disk without its own queue.
//!
//! ## Next step
//! Send two to four times the work in parallel and watch whether throughput grows.

use std::collections::HashMap;

use iowhy_model::{Clause, Finding, Level, Unit, Verdict};

use crate::analysis::samples::IntervalSample;
use crate::analysis::{Analysis, Host};
use crate::detector::{Detector, Needs, Rule};
use crate::evidence::builder::{lines, new_finding};
use crate::evidence::confidence;
use crate::measures::elasticity::{self, Load};
use crate::phrase;

/// Entry in the list of detectors.
pub(super) const DETECTOR: Detector = Detector {
    verdict: Verdict::ReportUtilTrap,
    summary: "100 % busy is not saturation: the device can serve more",
    manual: iowhy_model::manual!("report_util_trap.rs"),
    needs: Needs {
        level: Level::A,
        sure_from: Level::A,
        seconds: 60,
        what: "two loads with different queue depths on the same device",
    },
    explains: &[],
    rule: Rule::Detect(detect),
};

/// Busy share that people read as full.
const FULL: f64 = 0.9;
/// Elasticity above which a device is not saturated, half-way between 0.2 and 0.7 (docs/METHOD.md,
/// 9 Elasticity and averages).
const GROWS: f64 = 0.5;
/// Throughput must have grown by this factor, beyond any noise of a minute's average.
const GREW: f64 = 1.15;

/// And the number in flight by this one, or there were no two loads.
const DEEPER: f64 = 1.25;
/// Times the healthy service time of the slowest class from which on a row is slow, whatever its
/// busy share means (as in `device.slow`: ten service times are a tail).
const SLOW_RATIO: f64 = 10.0;

fn detect(analysis: &Analysis) -> Vec<Finding> {
    let mut disks: Vec<Vec<&IntervalSample>> = Vec::new();
    let mut places: HashMap<(&str, Host), usize> = HashMap::new();
    for row in analysis.intervals.iter().filter(|row| is_full(row)) {
        let key = (row.disk.as_str(), analysis.host(row.listing));
        let place = *places.entry(key).or_insert(disks.len());
        match disks.get_mut(place) {
            Some(rows) => rows.push(row),
            None => disks.push(vec![row]),
        }
    }
    disks.iter().filter_map(|rows| finding(analysis, rows)).collect()
}

fn is_full(row: &IntervalSample) -> bool {
    row.interval.busy.is_some_and(|busy| busy > FULL)
        && row.interval.queue_len.is_some_and(|queue| queue > 1.0)
        && row.per_s() > 0.0
        && row.agrees
        // With waits this long the problem is more than a misleading number.
        && row.await_ms().is_none_or(|ms| ms <= SLOW_RATIO * row.s0.slowest_ms())
}

fn finding(analysis: &Analysis, rows: &[&IntervalSample]) -> Option<Finding> {
    let low = rows.iter().min_by(|a, b| a.per_s().total_cmp(&b.per_s()))?;
    let high = rows.iter().max_by(|a, b| a.per_s().total_cmp(&b.per_s()))?;
    let loads = [load(low)?, load(high)?];
    // The slope over all rows: two extremes of a noisy minute prove nothing.
    let all: Vec<Load> = rows.iter().filter_map(|row| load(row)).collect();
    let eps = elasticity::elasticity(&all)?;
    let growth = high.per_s() / low.per_s();
    let deeper = loads[1].in_flight / loads[0].in_flight;
    if eps <= GROWS || growth < GREW || deeper < DEEPER {
        return None;
    }
    let disk = phrase::disk(&low.disk);
    let mut listings = vec![low.listing];
    if high.listing != low.listing {
        listings.push(high.listing);
    }
    let mut finding = new_finding(DETECTOR.verdict, Some(low.device), listings);
    finding.sentence = format!(
        "{disk} was not saturated at {} util and {}: with {} instead of {} requests in \
         flight it did {}",
        phrase::percent(low.interval.busy.unwrap_or(1.0)),
        phrase::iops(low.per_s()),
        phrase::digits(loads[1].in_flight),
        phrase::digits(loads[0].in_flight),
        phrase::iops(high.per_s())
    );
    for (name, row) in [("first", low), ("second", high)] {
        let values = [
            ("completions", Some(row.per_s()), Unit::PerSecond),
            ("requests in flight (aqu-sz)", row.interval.queue_len, Unit::Requests),
            ("busy share (%util)", row.interval.busy, Unit::Share),
            ("svctm as printed", row.interval.svctm_ns.map(|ns| ns / 1e6), Unit::Ms),
        ];
        for (what, value, unit) in values {
            let what = format!("{what}, {name} load");
            finding
                .evidence
                .extend(value.map(|value| analysis.printed(row.listing, 1).of(&what, value, unit)));
        }
    }
    let computed = analysis.computed(high.listing, all.len() as u64);
    finding.evidence.push(
        computed.ratio("elasticity of throughput, d ln X / d ln N", eps).above(GROWS).weighs(),
    );
    finding.evidence.push(computed.over(2).ratio("throughput grew by", growth));
    let falls = low.interval.svctm_ns.zip(high.interval.svctm_ns).is_some_and(|(a, b)| b < a);
    let clauses = [
        confidence::above("growth of throughput", growth, GREW),
        Clause::fixed("svctm falls meanwhile", if falls { 1.5 } else { 0.0 }),
    ];
    confidence::believe(&mut finding, 0.5, clauses);
    // The hidden capacity: the share of the proven throughput that was idle at "100 %".
    finding.explained_share = 1.0 - 1.0 / growth;
    finding.refuted_by = lines(&[
        "more requests in flight bring no more throughput at the first load",
        "the two loads differ in size, operation or location of their requests",
    ]);
    finding.next_step = lines(&[
        &format!(
            "send more in parallel and watch throughput, not %util: `fio --iodepth=128 --numjobs=8 \
             --direct=1 --rw=randread --readonly --name=try --filename=/dev/{}`",
            low.disk
        ),
        "judge by latency at the required rate, or by the growth of throughput",
    ]);
    Some(finding)
}

fn load(row: &IntervalSample) -> Option<Load> {
    Some(Load { per_s: row.per_s(), in_flight: row.interval.queue_len? })
}
