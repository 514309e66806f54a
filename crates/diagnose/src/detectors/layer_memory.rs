//! Memory is short: the machine swaps, and reads again what it had to drop.
//!
//! ## Accuses
//! The machine's memory, not the disk that carries the swapping.
//!
//! ## Why it matters
//! The disk is busy with what would not be asked for if there were more memory. A quicker disk helps
//! little.
//!
//! ## Needs
//! What the kernel says of memory: `/proc/pressure/memory`, `si` and `so` of `vmstat`, `kswapd` in `top`, or the kernel's
//! log with the call traces of tasks that hung.
//!
//! ## Rule
//! Tasks wait for memory in more than a tenth of the time, or more than 1 MB/s is swapped out on
//! average, or `kswapd` takes more than half of a processor, or the kernel's log shows tasks that hung while memory was
//! freed for them (one alone stays a suspicion). Where disks were measured they must have lost time, and none of them
//! be slow by itself. Beside pressure on I/O it explains no more of the waits than its own pressure is of that.
//!
//! ## Wrong if
//! A single program was swapped in once, as after a pause.
//!
//! ## Next step
//! Who uses the memory; more of it, or less work at once.

use iowhy_model::{Finding, Level, Unit, Verdict, key};

use crate::analysis::Analysis;
use crate::detector::{Detector, Needs, Rule};
use crate::evidence::builder::lines;
use crate::evidence::shortage::{self, Symptom};

/// Entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    verdict: Verdict::LayerMemory,
    summary: "Memory is short: the machine swaps or reads again what it dropped",
    manual: iowhy_model::manual!("layer_memory.rs"),
    needs: Needs {
        level: Level::A,
        sure_from: Level::E,
        seconds: 60,
        what: "pressure on memory and swap traffic beside the I/O",
    },
    explains: &[Verdict::LayerAbove],
    rule: Rule::Detect(detect),
};

/// Share of the time in which somebody waits for memory, and swap traffic in bytes per second (choices).
const PRESSURE: f64 = 0.1;
const SWAPPED: f64 = 1e6;
/// Share of a processor that kswapd takes: it sleeps where memory is free (mm/vmscan.c, kswapd_try_to_sleep).
const RECLAIM: f64 = 0.5;
/// Tasks that hung while memory was freed: what they wait for is a disk in the end, so one alone is a suspicion (a choice).
const HUNG: f64 = 0.75;

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
            quantity: "share of a processor that reclaims memory (kswapd)",
            above: RECLAIM,
            unit: Unit::Share,
        },
        Symptom {
            key: key::TASKS_HUNG_IN_RECLAIM,
            quantity: "tasks that hung while the kernel freed memory for them",
            above: HUNG,
            unit: Unit::Count,
        },
    ];
    let mut findings = shortage::findings(analysis, DETECTOR.verdict, &symptoms);
    for finding in &mut findings {
        let Some(first) = finding.evidence.first() else { continue };
        finding.sentence = format!(
            "memory is short ({}: {}): the machine swaps or rereads what it evicted, and programs wait \
             for that",
            first.quantity,
            first.amount.words()
        );
        finding.explained_share = finding.explained_share.min(share_of_io_waits(analysis, finding));
        finding.refuted_by = lines(&["`vmstat 1 10`: `si` and `so` stay at 0"]);
        finding.next_step = lines(&[
            "`vmstat 1 10` and `ps -eo pid,rss,comm --sort -rss | head`: who uses the memory?",
            "more memory, less work at once, or a smaller cache of the program",
        ]);
    }
    findings
}

/// At most what share of the waits for I/O are waits for memory: who waits for a page to come back counts as both.
fn share_of_io_waits(analysis: &Analysis, finding: &Finding) -> f64 {
    let Some(place) = finding.subject.listings.first() else { return 1.0 };
    let about = analysis.about(*place, "");
    let pressure = |of| about.machine_number(key::PRESSURE_AVG10.of(of)).map(|(share, _)| share);
    match (pressure("memory.some"), pressure("io.some")) {
        (Some(memory), Some(io)) if io > memory => memory / io,
        _ => 1.0,
    }
}
