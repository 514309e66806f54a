//! What the user may state or ask for.

use crate::baseline::history::HealthyOrigin;

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

/// How far confidences are calibrated; all the way, but for fitting the tables and for measuring them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Calibration {
    /// They stay as they were weighed.
    No,
    /// Each finding for itself.
    Each,
    /// And what is said first once more, as the first: what a confidence is worth in the laboratory.
    First,
    /// And bounded by what an input can carry in the field, which the laboratory does not show
    /// (docs/METHOD.md, 11 Confidence).
    #[default]
    Field,
}
