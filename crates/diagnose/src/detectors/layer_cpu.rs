//! The processors are short: programs wait for them, and completions are seen late.
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
//! (steal). Where disks were measured they must have lost time, and none of them be slow by itself.
//!
//! ## Wrong if
//! What waits for the processor is not what is complained of.
//!
//! ## Next step
//! Who uses the processors; fewer neighbours on the host.

use iowhy_model::{Finding, Level, Unit, Verdict, key};

use crate::analysis::Analysis;
use crate::detector::{Detector, Needs, Rule};
use crate::evidence::builder::lines;
use crate::evidence::shortage::{self, Symptom};
use crate::phrase;

/// Entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    verdict: Verdict::LayerCpu,
    summary: "The processors are short: programs and completions wait for them",
    manual: include_str!("layer_cpu.rs"),
    needs: Needs {
        level: Level::A,
        sure_from: Level::E,
        seconds: 60,
        what: "pressure and steal of the processors beside the I/O",
    },
    explains: &[Verdict::LayerAbove],
    rule: Rule::Detect(detect),
};

/// Share of the time in which somebody waits for a processor, and that the host takes (choices: twice what
/// `vmstat` shows of a machine that is busy and well).
const PRESSURE: f64 = 0.5;
const STEAL: f64 = 0.15;

fn detect(analysis: &Analysis) -> Vec<Finding> {
    let steal = "processor time that the host took (steal)";
    let of = |key, quantity, above| Symptom { key, quantity, above, unit: Unit::Share };
    let symptoms = [
        of(
            key::PRESSURE_AVG10.of("cpu.some"),
            "time in which tasks waited for a processor",
            PRESSURE,
        ),
        of(key::VMSTAT_MEAN.of("st"), steal, STEAL),
        of(key::CPU_MEAN.of("steal"), steal, STEAL),
    ];
    let mut findings = shortage::findings(analysis, DETECTOR.verdict, &symptoms);
    for finding in &mut findings {
        let Some(first) = finding.evidence.first() else { continue };
        finding.sentence = format!(
            "the processors are short ({} of {}): programs wait for them, and completions are seen late",
            phrase::percent(first.value),
            first.quantity
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
    findings
}
