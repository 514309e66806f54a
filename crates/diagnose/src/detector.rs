//! What a detector is.

use iowhy_model::{Finding, Level, Verdict};

use crate::analysis::Analysis;

/// A detector of the list in `detectors.rs`: reports one accusation.
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
    /// Verdicts that it explains away for the same disk.
    pub explains: &'static [Verdict],
    /// How it comes to its findings.
    pub rule: Rule,
}

/// How a detector comes to its findings.
#[derive(Clone, Copy)]
pub enum Rule {
    /// It looks at the analysis and reports what it finds; nothing if there is nothing.
    Detect(fn(&Analysis) -> Vec<Finding>),
    /// It speaks of the disks that no finding blames, once all others are ranked: who clears a disk
    /// must know that nothing stands against it.
    Conclude(fn(&Analysis, &RankedFindings) -> Vec<Finding>),
}

/// The findings so far, best first, and the list of detectors they came from.
#[derive(Clone, Copy)]
pub struct RankedFindings<'r> {
    /// What was found.
    pub findings: &'r [Finding],
    /// Who looked.
    pub detectors: &'r [Detector],
    /// Only disks of which one is surer than a class allows: the others took the word of all back.
    pub surely: bool,
}

impl RankedFindings<'_> {
    /// The detector of a verdict.
    pub fn detector(&self, verdict: Verdict) -> Option<&Detector> {
        self.detectors.iter().find(|detector| detector.verdict == verdict)
    }
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
