//! The CPUs are saturated: programs wait for a CPU, and completions are handled late.
//!
//! ## Accuses
//! The machine, or the host of the virtual machine. Not a disk.
//!
//! ## Why it matters
//! CPU starvation lengthens every wait that a program measures, and iowait disappears from the
//! statistics. Replacing a disk then does not help.
//!
//! ## Needs
//! CPU statistics of the kernel: `/proc/pressure/cpu`, `vmstat`, `top` or `mpstat`.
//!
//! ## Rule
//! Tasks wait for a CPU more than half of the time, or the host takes more than 15 % of it (steal).
//! If disks were measured they must have lost time, and none of them be slow by itself; if each of
//! them responds like a healthy one (a mean below three healthy service times) it is a note.
//! Suspected: cached reads, which use no disk, run below 100 MB/s (`hdparm -T`). Or every thread of
//! a test (fio) is on a CPU for 90 % of its time or more, and its engine does not poll. Or a thread
//! of the kernel that serves the disks (write-back, parity, encryption, completions) takes 90 % of
//! a CPU or more: it can use one, so the disks get no more than it gets done.
//!
//! ## Wrong if
//! The tasks that wait for a CPU are not the ones with the problem.
//!
//! ## Next step
//! Find the processes that use the CPUs; reduce noisy neighbours on the host.

use iowhy_model::{Finding, Level, Verdict};

use crate::analysis::Analysis;
use crate::detector::{Detector, Needs, Rule};
use crate::evidence::builder::lines;
use crate::evidence::busy_runs;
use crate::evidence::busy_threads;
use crate::evidence::shortage;
use crate::evidence::throughput;
use crate::phrase;

/// Entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    verdict: Verdict::LayerCpu,
    summary: "The CPUs are saturated: programs and completions wait for a CPU",
    manual: iowhy_model::manual!("layer_cpu.rs"),
    needs: Needs {
        level: Level::A,
        sure_from: Level::E,
        seconds: 60,
        what: "CPU pressure and steal time during the I/O",
    },
    explains: &[Verdict::LayerAbove],
    rule: Rule::Detect(detect),
};

fn detect(analysis: &Analysis) -> Vec<Finding> {
    let mut findings = shortage::findings(analysis, DETECTOR.verdict, &shortage::of_processors());
    for finding in &mut findings {
        let Some(first) = finding.evidence.first() else { continue };
        finding.sentence = format!(
            "the CPUs are saturated ({}: {}): programs wait for a CPU, and completions are handled \
             late",
            first.quantity,
            phrase::percent(first.amount.value)
        );
        finding.refuted_by = lines(&[
            "the same load is just as slow while the CPUs are idle",
            "a trace of the device shows the same waits between issue and completion, far longer \
             than a time slice",
        ]);
        finding.next_step = lines(&[
            "`top -b -n 1 | head -20`: which processes use the CPUs?",
            "for steal time: fewer noisy neighbours on the host, or dedicated CPUs",
        ]);
    }
    findings.extend(throughput::slow_hosts(analysis, DETECTOR.verdict));
    findings.extend(busy_runs::findings(analysis, DETECTOR.verdict));
    findings.extend(busy_threads::findings(analysis, DETECTOR.verdict));
    findings
}
