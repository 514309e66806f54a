//! Turns a recording into findings: audit, regimes, groups, baseline, measures, detectors,
//! replay, weigh.
//!
//! [`judge`] sorts a recording into an analysis, shows the analysis to every [`Detector`] of
//! [`DETECTORS`], and weighs what they accuse: what the input can carry, who explains whom, who
//! comes first.
//!
//! **Must never know:** read, live, show; a clock, a file, a format's name beyond what a
//! [`Source`](iowhy_model::Source) says.

mod analysis;
mod baseline;
mod compare;
mod detector;
mod detectors;
mod evidence;
mod facts;
pub mod measures;
mod phrase;
mod ranking;

pub use compare::compare;
pub use detector::{Detector, Needs};
pub use detectors::{DETECTORS, find};
pub use ranking::calibration::Calibration;

pub use baseline::stored::{Baseline, BaselineEntry, HealthyOrigin};

use analysis::Analysis;
use iowhy_model::{Finding, Recording};

/// What the user asked of the judge.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// The spindle speed, if the user states it, in revolutions per minute.
    pub rpm: Option<f64>,
    /// The healthy service time of every device, if the user states it, in ms.
    pub healthy_ms: Option<f64>,
    /// Where it comes from otherwise.
    pub healthy_origin: HealthyOrigin,
    /// How far confidences are calibrated.
    pub calibration: Calibration,
}

/// Judges a recording: findings, best first. What stands leads; then what is only mentioned, the
/// runner-up among it; then what another verdict explains.
pub fn judge(recording: &Recording, options: &Options) -> Vec<Finding> {
    let mut analysis = Analysis::of(recording, options);
    let (closing, accusing): (Vec<&Detector>, Vec<&Detector>) =
        DETECTORS.iter().partition(|detector| detector.last);
    let accused = accusing.iter().flat_map(|detector| (detector.detect)(&analysis)).collect();
    analysis.so_far = ranking::weigh(&analysis, accused);
    for detector in closing {
        // One after the other: who confesses ignorance must know who was cleared.
        let closed = ranking::weigh(&analysis, (detector.detect)(&analysis));
        let said: Vec<Finding> =
            closed.into_iter().filter(|known| ranking::is_worth_saying(&analysis, known)).collect();
        analysis.so_far.extend(said);
    }
    let mut findings = std::mem::take(&mut analysis.so_far);
    ranking::order(&analysis, &mut findings);
    ranking::impact::state(&analysis, &mut findings);
    ranking::weigh_first(&analysis, &mut findings);
    ranking::bound(&analysis, &mut findings);
    findings
}
