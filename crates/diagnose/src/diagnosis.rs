//! From a recording to findings: analysis, detectors, ranking, in this order and never back.

use iowhy_model::{Finding, Recording};

use crate::analysis::{Analysis, averages, bounds};
use crate::detector::Rule;
use crate::detectors::DETECTORS;
use crate::options::Options;
use crate::ranking;

/// Judges a recording: findings, best first. Firm findings first; then mentions, including the
/// runner-up; then findings explained by others.
pub fn judge(recording: &Recording, options: &Options) -> Vec<Finding> {
    let part = bounds::bounded(recording);
    let analysis = Analysis::of(&part, options);
    let poorer = || {
        let averages = averages::of(&part, &analysis.requests);
        averages.map_or_else(Vec::new, |averages| {
            let analysis = Analysis::of(&averages, options);
            ranking::rank(&analysis, DETECTORS, detected(&analysis), Vec::new)
        })
    };
    ranking::rank(&analysis, DETECTORS, detected(&analysis), poorer)
}

/// What the detectors find, unranked.
fn detected(analysis: &Analysis) -> Vec<Finding> {
    let found = DETECTORS.iter().flat_map(|detector| match detector.rule {
        Rule::Detect(detect) => detect(analysis),
        Rule::Conclude(_) => Vec::new(),
    });
    found.collect()
}
