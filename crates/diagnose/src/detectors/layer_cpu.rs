//! CPU time is short: programs wait for a CPU, and completions are handled late.
//!
//! ## Accuses
//! The machine, or the host that the virtual machine shares. No disk.
//!
//! ## Why it matters
//! A starved processor lengthens every wait that a program measures, and iowait vanishes from the picture. Who
//! then replaces a disk buys nothing.
//!
//! ## Needs
//! What the kernel says of processors: `/proc/pressure/cpu`, `vmstat`, `top` or `mpstat`.
//!
//! ## Rule
//! Tasks wait for a processor in more than half of the time, or the host takes more than 15 % of it
//! (steal). Where disks were measured they must have lost time, and none of them be slow by itself; where each
//! of them responds like a healthy one (a mean below three healthy service times) it is a note.
//! Suspected: cached reads, which touch no disk, run below 100 MB/s (`hdparm -T`).
//!
//! ## Wrong if
//! What waits for the processor is not what is complained of.
//!
//! ## Next step
//! Who uses the processors; fewer neighbours on the host.

use iowhy_model::{Finding, Level, Verdict};

use crate::analysis::Analysis;
use crate::detector::{Detector, Needs, Rule};
use crate::evidence::builder::lines;
use crate::evidence::shortage;
use crate::evidence::throughput;
use crate::phrase;

/// Entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    verdict: Verdict::LayerCpu,
    summary: "CPU time is short: programs and completions wait for a CPU",
    manual: iowhy_model::manual!("layer_cpu.rs"),
    needs: Needs {
        level: Level::A,
        sure_from: Level::E,
        seconds: 60,
        what: "pressure and steal of the processors beside the I/O",
    },
    explains: &[Verdict::LayerAbove],
    rule: Rule::Detect(detect),
};

fn detect(analysis: &Analysis) -> Vec<Finding> {
    let mut findings = shortage::findings(analysis, DETECTOR.verdict, &shortage::of_processors());
    for finding in &mut findings {
        let Some(first) = finding.evidence.first() else { continue };
        finding.sentence = format!(
            "CPU time is short ({}: {}): programs wait for a CPU, and completions are handled late",
            first.quantity,
            phrase::percent(first.amount.value)
        );
        finding.refuted_by = lines(&[
            "the same load is as slow while the processors idle",
            "a trace of the device shows the same waits between issue and completion, far above a time slice",
        ]);
        finding.next_step = lines(&[
            "`top -b -n 1 | head -20`: who uses the processors?",
            "steal: fewer neighbours on the host, or processors that are not shared",
        ]);
    }
    findings.extend(throughput::slow_hosts(analysis, DETECTOR.verdict));
    findings
}
