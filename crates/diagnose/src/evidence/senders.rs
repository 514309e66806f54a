//! Programs that move most of what a device does, by their own rates (`iotop`, `pidstat -d`), where
//! no single I/O shows who sent it.

use std::collections::BTreeMap;

use iowhy_model::Order as _;
use iowhy_model::{Finding, Verdict, key};

use crate::analysis::Analysis;
use crate::facts::kernel_threads;
use crate::facts::reading::FactReading;
use crate::phrase;

/// Loads whose sender is asked for.
const LOADS: [Verdict; 4] =
    [Verdict::LoadBurst, Verdict::LoadLargeIo, Verdict::LoadRwMix, Verdict::LoadSaturated];
/// Share of what all programs move that is one's, and of what the device moves, from which on it is
/// named (choices: both screens show seconds of their own).
const MOST_OF_IT: f64 = 0.6;
const OF_DEVICE: f64 = 0.3;

/// Rates of a program, bytes per second, and what states them.
#[derive(Default)]
struct Rates<'a> {
    reads: Option<(f64, FactReading<'a>)>,
    writes: Option<(f64, FactReading<'a>)>,
}

impl Rates<'_> {
    fn sum(&self) -> f64 {
        [&self.reads, &self.writes].into_iter().flatten().map(|(per_s, _)| per_s).sum()
    }
}

/// Names the program that sends a load, if its rates show it.
pub(crate) fn name(analysis: &Analysis, findings: &mut [Finding]) {
    for finding in findings.iter_mut().filter(|finding| finding.requesters.is_empty()) {
        if LOADS.contains(&finding.verdict) {
            add(analysis, finding);
        }
    }
}

fn add(analysis: &Analysis, finding: &mut Finding) -> Option<()> {
    let (device, place) = (finding.subject.device?, *finding.subject.listings.first()?);
    let host = analysis.host(place);
    let rows = analysis.intervals.iter().filter(|row| {
        row.device == device && analysis.host(row.listing) == host && !row.interval.since_boot
    });
    let rates: Vec<f64> = rows.map(|row| row.interval.bytes_per_s()).collect();
    let moved = rates.iter().sum::<f64>() / rates.len().max(1) as f64;
    let about = analysis.machine(host);
    let mut programs: BTreeMap<&str, Rates> = BTreeMap::new();
    for (per_s, who, reading) in about.processes(key::PROCESS_READS) {
        programs.entry(who).or_default().reads = Some((per_s, reading));
    }
    for (per_s, who, reading) in about.processes(key::PROCESS_WRITES) {
        programs.entry(who).or_default().writes = Some((per_s, reading));
    }
    let all: f64 = programs.values().map(Rates::sum).sum();
    let mut programs: Vec<(&str, Rates)> =
        programs.into_iter().filter(|(who, _)| kernel_threads::is_program(who)).collect();
    programs.order_by(|a, b| b.1.sum().total_cmp(&a.1.sum()));
    let (who, rates) = programs.into_iter().next()?;
    let sum = rates.sum();
    (sum > 0.0 && sum >= MOST_OF_IT * all && sum >= OF_DEVICE * moved).then_some(())?;
    let name = kernel_threads::without_arguments(who);
    let mut words = Vec::new();
    for (verb, what, rate) in
        [("reads", "read by", rates.reads), ("writes", "written by", rates.writes)]
    {
        let Some((per_s, reading)) = rate.filter(|(per_s, _)| *per_s >= OF_DEVICE * sum) else {
            continue;
        };
        words.push(format!("{verb} {}", phrase::rate(per_s)));
        let stated = analysis.stated(&reading);
        finding.evidence.push(stated.bytes_per_s(&format!("{what} {name}"), per_s));
    }
    finding.sentence.push_str(&format!("; {name} {}", phrase::list(&words)));
    let asked = phrase::who_sends(phrase::disk(&analysis.disk(device)));
    finding.next_step.retain(|step| *step != asked);
    finding.next_step.insert(0, format!("ask what {name} is for, and when it ends"));
    Some(())
}
