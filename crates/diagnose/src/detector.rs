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
    /// Its requirements.
    pub needs: Needs,
    /// Verdicts that it explains away for the same disk.
    pub explains: &'static [Verdict],
    /// Its kind.
    pub rule: Rule,
}

/// The kinds of detectors.
#[derive(Clone, Copy)]
pub enum Rule {
    /// It reports findings from the analysis, or none.
    Detect(fn(&Analysis) -> Vec<Finding>),
    /// It concludes about the disks that no finding blames, after all others are ranked: a disk is
    /// cleared only if nothing accuses it.
    Conclude(fn(&Analysis, &RankedFindings) -> Vec<Finding>),
}

/// The findings so far, best first, and the list of detectors they came from.
#[derive(Clone, Copy)]
pub struct RankedFindings<'r> {
    /// The findings.
    pub findings: &'r [Finding],
    /// The detectors.
    pub detectors: &'r [Detector],
    /// Only disks with more confidence than a class allows: the others withdraw the verdict on all.
    pub surely: bool,
}

impl RankedFindings<'_> {
    /// The detector of a verdict.
    pub fn detector(&self, verdict: Verdict) -> Option<&Detector> {
        self.detectors.iter().find(|detector| detector.verdict == verdict)
    }
}

/// Requirements of a detector.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Needs {
    /// The poorest input from which it may suspect.
    pub level: Level,
    /// The lowest level of detail at which it may be certain.
    pub sure_from: Level,
    /// Seconds of capture at that level that decide on an ordinary load.
    pub seconds: u32,
    /// What must be in it, in words.
    pub what: &'static str,
}
