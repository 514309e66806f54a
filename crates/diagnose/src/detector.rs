//! What a detector is.

use iowhy_model::{Finding, Level, Verdict};

use crate::analysis::Analysis;

/// A detector of the list in `detectors.rs`: states one accusation.
#[derive(Clone, Copy)]
pub struct Detector {
    /// The verdict it states, such as `device.retry`.
    pub verdict: Verdict,
    /// The accusation, in a line.
    pub summary: &'static str,
    /// The source text of its file, whose header is its manual.
    pub manual: &'static str,
    /// What it needs to see.
    pub needs: Needs,
    /// Whether it waits until the others have spoken.
    pub last: bool,
    /// Verdicts that it explains away for the same disk.
    pub explains: &'static [Verdict],
    /// Looks at the analysis and states what it accuses; nothing if there is nothing to accuse.
    pub detect: fn(&Analysis) -> Vec<Finding>,
}

/// What a detector needs before it can say anything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Needs {
    /// The poorest input from which it may suspect.
    pub level: Level,
    /// The poorest input from which it may be sure.
    pub sure_from: Level,
    /// Seconds of capture at that level that decide on an ordinary load.
    pub seconds: u32,
    /// What must be in it, in words.
    pub what: &'static str,
}
