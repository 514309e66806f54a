//! Turns a recording into findings.
//!
//! [`judge`] does it in one direction: a recording becomes an analysis, built once; every
//! [`Detector`] of [`DETECTORS`] reports findings on it; one ranking decides which are firm and in
//! what order. The modules, each using only earlier ones: `measures`, `baseline`, `facts`,
//! `analysis`, `evidence`, `detectors`, `ranking`.
//!
//! ```
//! use iowhy_model::{Event, Layer, Level, Op, Recording, Sink, Source, Time};
//!
//! // A disk at 7200 rpm whose every third read takes one to three revolutions more.
//! let mut recording = Recording::new();
//! let sdb = recording.device("sdb");
//! recording.begin(Source::new("example", "-", Level::C));
//! let mut now = 0;
//! for number in 0..300_u64 {
//!     let revolutions = if number % 3 == 0 { 1 + number / 3 % 3 } else { 0 };
//!     let latency = 2_000_000 + 8_333_333 * revolutions as i64;
//!     let mut read = Event::new(sdb, Op::Read, Layer::Block);
//!     read.issued = Some(Time::from_ns(now));
//!     read.completed = Some(Time::from_ns(now + latency));
//!     read.sector = Some(2048 + 256 * number);
//!     read.bytes = Some(131_072);
//!     recording.event(read);
//!     now += latency + 100_000;
//! }
//! let findings = iowhy_diagnose::judge(&recording, &iowhy_diagnose::Options::default());
//! assert_eq!(findings[0].verdict.name(), "device.retry");
//! ```
//!
//! **Must never know:** read, live, show; a clock, a file, a format's name beyond what a
//! [`Source`](iowhy_model::Source) contains.

#![forbid(unsafe_code)]

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

pub use analysis::bounds::JudgedShare;
pub use baseline::history::{Baseline, BaselineEntry, HealthyOrigin};
pub use compare::compare;
pub use detector::{Detector, Needs, Rule};
pub use detectors::{DETECTORS, find};
pub use diagnosis::judge;
pub use options::{Calibration, Options, StatedMedium};
pub use ranking::in_field;
