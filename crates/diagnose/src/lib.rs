//! Turns a recording into findings: audit, regimes, groups, baseline, measures, detectors,
//! replay, weigh.
//!
//! **Must never know:** read, live, show; a clock, a file, a format's name beyond what a
//! [`Source`](iowhy_model::Source) says.

mod detector;
pub mod measures;
pub mod regimes;
pub mod replay;

pub use detector::Detector;

use iowhy_model::{Finding, Recording};

/// What the user asked of the judge.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// The spindle speed, if the user states it, in revolutions per minute.
    pub rpm: Option<f64>,
    /// The healthy service time of every device, if the user states it, in ms.
    pub healthy_ms: Option<f64>,
}

/// Judges a recording: findings, best first.
pub fn judge(recording: &Recording, options: &Options) -> Vec<Finding> {
    let _ = (recording, options);
    Vec::new()
}
