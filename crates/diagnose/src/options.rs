//! What the user may state or ask for.

use iowhy_model::Medium;

use crate::baseline::history::HealthyOrigin;
use crate::facts::disk_names;

/// The user's options for the judge.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// The spindle speed, if the user reports it, in revolutions per minute.
    pub rpm: Option<f64>,
    /// Media of devices stated by the user; a later one overrides an earlier one.
    pub media: Vec<StatedMedium>,
    /// The healthy service time of every device, if the user reports it, in ms.
    pub healthy_ms: Option<f64>,
    /// Its source otherwise.
    pub healthy_origin: HealthyOrigin,
    /// How far confidences are calibrated.
    pub calibration: Calibration,
}

/// The medium of a disk as stated by the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatedMedium {
    /// The disk; all of them where none is named.
    pub disk: Option<String>,
    /// Its medium.
    pub medium: Medium,
}

impl Options {
    /// The medium of this disk as stated by the user; by its name before all of them together.
    pub fn medium_of(&self, disk: &str) -> Option<Medium> {
        // A partition is counted as its disk.
        let of = |name: Option<&str>| {
            let is =
                |known: &Option<String>| known.as_deref().map(disk_names::disk).as_deref() == name;
            self.media.iter().rev().find(|stated| is(&stated.disk))
        };
        of(Some(disk)).or_else(|| of(None)).map(|stated| stated.medium)
    }
}

/// How far confidences are calibrated: completely, except for fitting and measuring the tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Calibration {
    /// They keep their weights.
    No,
    /// Each finding for itself.
    Each,
    /// And the first finding once more, as the first: the value of a confidence in the lab.
    First,
    /// And capped by the level of detail of the input in the field, which the laboratory does not
    /// show (docs/METHOD.md, 11 Confidence).
    #[default]
    Field,
}
