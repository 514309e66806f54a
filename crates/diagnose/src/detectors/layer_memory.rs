//! Memory is short: the machine swaps and rereads evicted pages.
//!
//! ## Accuses
//! The machine's memory, not the disk that serves the swapping.
//!
//! ## Why it matters
//! The disk is busy with I/O that more memory would avoid. A faster disk helps little.
//!
//! ## Needs
//! Memory statistics of the kernel: `/proc/pressure/memory`, `si` and `so` of `vmstat`, `kswapd` in
//! `top`, the kernel's log with call traces of hung tasks, or stacks (`/proc/PID/stack`).
//!
//! ## Rule
//! Tasks wait for memory more than a tenth of the time, or more than 1 MB/s is swapped out on
//! average, or `kswapd` uses more than half of a CPU, or the kernel's log shows tasks that hung
//! during memory reclaim (one alone stays a suspicion), or processes that were ended because memory
//! ran out, or stacks of more than two tasks that free memory themselves. Or less than 8 % of
//! memory is available while 10 % of the swap is in use and the CPUs idle for I/O half of the time
//! (`top`, `free`). If disks were measured they must have lost time, and none of them be slow by
//! itself. With I/O pressure, it explains no more of the waits than the ratio of memory pressure to
//! I/O pressure.
//!
//! ## Wrong if
//! A single program was swapped in once, as after a pause.
//!
//! ## Next step
//! Find the processes that use the memory; add memory, or run less at once.

use iowhy_model::{Bound, FactKey, Finding, Level, Unit, Verdict, key};

use crate::analysis::Analysis;
use crate::detector::{Detector, Needs, Rule};
use crate::evidence::builder::{cited, lines, new_finding};
use crate::evidence::reported_problem;
use crate::evidence::shortage::{self, Symptom};
use crate::facts::reading::FactReading;
use crate::phrase;

/// Entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    verdict: Verdict::LayerMemory,
    summary: "Memory is short: the machine swaps or rereads evicted pages",
    manual: iowhy_model::manual!("layer_memory.rs"),
    needs: Needs {
        level: Level::A,
        sure_from: Level::E,
        seconds: 60,
        what: "memory pressure and swap traffic during the I/O",
    },
    explains: &[Verdict::LayerAbove],
    rule: Rule::Detect(detect),
};

/// Share of the time in which tasks wait for memory, and swap traffic in bytes per second
/// (choices).
const PRESSURE: f64 = 0.1;
const SWAPPED: f64 = 1e6;
/// CPU share of kswapd: it sleeps if memory is free (mm/vmscan.c, kswapd_try_to_sleep).
const RECLAIM: f64 = 0.5;
/// Tasks that hung while memory was freed: what they wait for is a disk in the end, so one alone is
/// a suspicion (a choice).
const HUNG: f64 = 0.75;
/// Processes that the kernel ended: one shows that memory ran out, not how long it was short (a
/// choice).
const ENDED: f64 = 0.6;
/// Tasks that free memory at one moment: one alone may be passing through (a choice).
const RECLAIM_AT_ONCE: f64 = 2.0;

fn detect(analysis: &Analysis) -> Vec<Finding> {
    let symptoms = [
        Symptom {
            key: key::PRESSURE_AVG10.of("memory.some"),
            quantity: "time in which tasks waited for memory",
            above: PRESSURE,
            unit: Unit::Share,
        },
        Symptom {
            key: key::VMSTAT_MEAN.of("so"),
            quantity: "swapped out (so)",
            above: SWAPPED,
            unit: Unit::BytesPerSecond,
        },
        Symptom {
            key: key::TASKS_KSWAPD,
            quantity: "CPU share of memory reclaim (kswapd)",
            above: RECLAIM,
            unit: Unit::Share,
        },
        Symptom {
            key: key::TASKS_HUNG_IN_RECLAIM,
            quantity: "tasks that hung during memory reclaim",
            above: HUNG,
            unit: Unit::Count,
        },
        Symptom {
            key: key::TASKS_OUT_OF_MEMORY,
            quantity: "processes ended because memory ran out (OOM killer)",
            above: ENDED,
            unit: Unit::Count,
        },
        Symptom {
            key: key::TASKS_WAIT_IN.of("try_to_free_pages"),
            quantity: "tasks that free memory themselves",
            above: RECLAIM_AT_ONCE,
            unit: Unit::Count,
        },
    ];
    let mut findings = shortage::findings(analysis, DETECTOR.verdict, &symptoms);
    for finding in &mut findings {
        let Some(first) = finding.evidence.first() else { continue };
        finding.sentence = format!(
            "memory is short ({}: {}): the machine swaps or rereads evicted pages, and programs \
             wait for that",
            first.quantity,
            first.amount.words()
        );
    }
    let inputs = analysis.inputs().into_iter();
    findings.extend(inputs.filter_map(|input| thrashing(analysis, input)));
    for finding in &mut findings {
        finding.explained_share = finding.explained_share.min(share_of_io_waits(analysis, finding));
        finding.refuted_by = lines(&["`vmstat 1 10`: `si` and `so` stay at 0"]);
        finding.next_step = lines(&[
            "`vmstat 1 10` and `ps -eo pid,rss,comm --sort -rss | head`: which processes use the \
             memory?",
            "add memory, run less at once, or reduce the program's cache",
        ]);
    }
    findings
}

/// Shares of available memory, of used swap, and of iowait, on a machine that repeatedly rereads
/// its own pages (choices: a page cache of a few per cent contains no program's working set).
const LITTLE: f64 = 0.08;
const SWAPPED_OUT: f64 = 0.1;
const WAITS: f64 = 0.5;
/// What that is worth, and where swap is full.
const THRASHES: f64 = 0.72;
const SWAP_IS_FULL: f64 = 0.85;
const FULL: f64 = 0.9;

/// Next to no memory is left, part of what programs hold is swapped out, and tasks wait for I/O.
fn thrashing(analysis: &Analysis, input: &str) -> Option<Finding> {
    let about = analysis.facts.about(Some(input), "");
    let number = |key: FactKey| about.machine_number(key);
    let own = |reading: &FactReading| analysis.input(reading.listing) == input;
    let little = number(key::MEMORY_AVAILABLE)
        .filter(|(share, reading)| *share <= LITTLE && own(reading))?;
    let swapped = number(key::SWAP_USED_SHARE).filter(|(share, _)| *share >= SWAPPED_OUT)?;
    let waits = [key::CPU_MEAN.of("iowait"), key::VMSTAT_MEAN.of("wa")];
    let waits = waits.into_iter().flat_map(|key| about.readings_of_machine(key));
    let waits = waits.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(share, _)| *share >= WAITS)?;
    let mut finding = new_finding(DETECTOR.verdict, None, vec![little.1.listing]);
    finding.sentence = format!(
        "memory is short: {} of it is left for the page cache, {} of the swap is in use, and tasks \
         wait for I/O {} of the time: evicted pages are read again and again",
        phrase::percent(little.0),
        phrase::percent(swapped.0),
        phrase::percent(waits.0)
    );
    let line = |(share, reading): &(f64, FactReading), what: &str, bound: Bound| {
        cited(analysis.recording, reading, what, (*share, Unit::Share)).held(bound)
    };
    finding.evidence = vec![
        line(&little, "available memory, share of all", Bound::Below(LITTLE)),
        line(&swapped, "swap in use, share of all", Bound::Above(SWAPPED_OUT)),
        line(&waits, "idle CPU time with outstanding I/O (iowait)", Bound::Above(WAITS)),
    ];
    let worth = if swapped.0 >= FULL { SWAP_IS_FULL } else { THRASHES };
    finding.assume(worth, "no memory left, part of it swapped out, tasks wait for I/O");
    (finding.explained_share, finding.share_is_assumed) = (reported_problem::UNKNOWN_SHARE, true);
    Some(finding)
}

/// Maximum share of I/O waits that are memory waits: a wait for a page counts as both.
fn share_of_io_waits(analysis: &Analysis, finding: &Finding) -> f64 {
    let Some(place) = finding.subject.listings.first() else { return 1.0 };
    let about = analysis.about(*place, "");
    let pressure = |of| about.machine_number(key::PRESSURE_AVG10.of(of)).map(|(share, _)| share);
    match (pressure("memory.some"), pressure("io.some")) {
        (Some(memory), Some(io)) if io > memory => memory / io,
        _ => 1.0,
    }
}
