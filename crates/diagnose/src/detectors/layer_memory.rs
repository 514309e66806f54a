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
//! ran out, or stacks of more than two tasks that free memory themselves. If disks were measured
//! they must have lost time, and none of them be slow by itself. With I/O pressure, it explains no
//! more of the waits than the ratio of memory pressure to I/O pressure.
//!
//! ## Wrong if
//! A single program was swapped in once, as after a pause.
//!
//! ## Next step
//! Find the processes that use the memory; add memory, or run less at once.

use iowhy_model::{Finding, Level, Unit, Verdict, key};

use crate::analysis::Analysis;
use crate::detector::{Detector, Needs, Rule};
use crate::evidence::builder::lines;
use crate::evidence::shortage::{self, Symptom};

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

/// Share of the time in which somebody waits for memory, and swap traffic in bytes per second
/// (choices).
const PRESSURE: f64 = 0.1;
const SWAPPED: f64 = 1e6;
/// Share of a processor that kswapd takes: it sleeps where memory is free (mm/vmscan.c,
/// kswapd_try_to_sleep).
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

/// At most what share of the waits for I/O are waits for memory: who waits for a page to come back
/// counts as both.
fn share_of_io_waits(analysis: &Analysis, finding: &Finding) -> f64 {
    let Some(place) = finding.subject.listings.first() else { return 1.0 };
    let about = analysis.about(*place, "");
    let pressure = |of| about.machine_number(key::PRESSURE_AVG10.of(of)).map(|(share, _)| share);
    match (pressure("memory.some"), pressure("io.some")) {
        (Some(memory), Some(io)) if io > memory => memory / io,
        _ => 1.0,
    }
}
