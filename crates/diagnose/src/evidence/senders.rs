//! Programs that move most of what a device does, by their own rates (`iotop`, `pidstat -d`), where
//! no single I/O shows who sent it.

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

/// Bytes per second of a process, its name, and what states them.
type Rate<'a> = (f64, &'a str, FactReading<'a>);

/// The last rate of a process.
fn last<'a>(rates: &[Rate<'a>], who: &str) -> Option<Rate<'a>> {
    rates.iter().rfind(|(_, name, _)| *name == who).copied()
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
    let reads: Vec<_> = about.processes(key::PROCESS_READS).collect();
    let writes: Vec<_> = about.processes(key::PROCESS_WRITES).collect();
    let all: f64 = reads.iter().chain(&writes).map(|(per_s, ..)| per_s).sum();
    let sum_of = |who: &str| {
        let both = [&reads, &writes].into_iter().filter_map(|rates| last(rates, who));
        both.map(|(per_s, ..)| per_s).sum::<f64>()
    };
    let names = reads.iter().chain(&writes).map(|(_, who, _)| *who);
    let names = names.filter(|who| kernel_threads::is_program(who));
    let who = names.max_by(|a, b| sum_of(a).total_cmp(&sum_of(b)))?;
    let sum = sum_of(who);
    (sum > 0.0 && sum >= MOST_OF_IT * all && sum >= OF_DEVICE * moved).then_some(())?;
    let name = kernel_threads::without_arguments(who);
    let mut words = Vec::new();
    for (verb, what, rate) in [("reads", "read by", &reads), ("writes", "written by", &writes)] {
        let rate = last(rate, who).filter(|(per_s, ..)| *per_s >= OF_DEVICE * sum);
        let Some((per_s, _, reading)) = rate else { continue };
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
