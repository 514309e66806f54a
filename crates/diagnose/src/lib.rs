//! Turns a recording into findings.
//!
//! [`judge`] does it in one direction: a recording becomes an analysis, built once; every
//! [`Detector`] of [`DETECTORS`] looks at it and states findings; one ranking decides what stands and
//! what comes first. The rooms, each knowing only those before it: `measures`, `baseline`, `facts`,
//! `analysis`, `evidence`, `detectors`, `ranking`.
//!
//! **Must never know:** read, live, show; a clock, a file, a format's name beyond what a
//! [`Source`](iowhy_model::Source) says.

mod analysis;
mod baseline;
mod compare;
mod detector;
mod detectors;
mod diagnosis;
mod evidence;
mod facts;
pub mod measures;
mod options;
mod phrase;
mod ranking;

pub use baseline::stored::{Baseline, BaselineEntry, HealthyOrigin};
pub use compare::compare;
pub use detector::{Detector, Needs, Rule};
pub use detectors::{DETECTORS, find};
pub use diagnosis::judge;
pub use options::{Calibration, Options};
