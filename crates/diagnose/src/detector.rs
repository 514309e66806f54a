//! What a detector is, and the pieces it builds a finding from.

use iowhy_model::{
    Basis, Bound, DeviceId, Evidence, Finding, How, Level, Sampling, Source, Subject, Unit, Verdict,
};

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

/// An empty finding to be filled: sure of nothing, explaining nothing.
pub fn new_finding(verdict: Verdict, device: Option<DeviceId>, listings: Vec<usize>) -> Finding {
    Finding {
        verdict,
        subject: Subject { device, listings, group: None },
        sentence: String::new(),
        evidence: Vec::new(),
        confidence: 0.0,
        explained_share: 0.0,
        refuted_by: Vec::new(),
        next_step: Vec::new(),
        forecast: None,
        explained_by: None,
        impact: None,
    }
}

/// A number that was read off a source as it stands there.
pub fn read_off(quantity: &str, value: f64, unit: Unit, n: u64, source: &Source) -> Evidence {
    let how = match source.sampling {
        Sampling::Traced => How::Traced,
        Sampling::Sampled => How::Sampled,
        Sampling::Reported => How::Reported,
    };
    Evidence {
        quantity: quantity.to_string(),
        value,
        unit,
        bound: None,
        n,
        how,
        basis: Basis::Measured,
        disk: None,
        origin: source.origin(),
    }
}

/// A number computed from what a source gave.
pub fn computed(quantity: &str, value: f64, unit: Unit, n: u64, source: &Source) -> Evidence {
    Evidence { how: How::Computed, ..read_off(quantity, value, unit, n, source) }
}

/// A number that rests on a fit, a model or histogram buckets.
pub fn estimated(quantity: &str, value: f64, unit: Unit, n: u64, source: &Source) -> Evidence {
    Evidence { how: How::Estimated, ..read_off(quantity, value, unit, n, source) }
}

/// The same evidence, held against a bound.
pub fn held(evidence: Evidence, bound: Bound) -> Evidence {
    Evidence { bound: Some(bound), ..evidence }
}

/// The same evidence, about this disk of several.
pub fn of_disk(evidence: Evidence, disk: &str) -> Evidence {
    Evidence { disk: Some(disk.to_string()), ..evidence }
}

/// Sentences as owned text.
pub fn lines(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_string()).collect()
}
