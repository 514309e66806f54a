//! The confidence of a finding: a prior, moved by each clause of a rule (docs/METHOD.md, 11
//! Confidence).

use std::borrow::Cow;

use iowhy_model::{Bound, Clause, Evidence, Finding};

/// Priors given a reported problem (docs/METHOD.md, 11 Confidence): of a device's fault, of the
/// workload or its configuration, of a cap or throttle, of a path, a peer or a layer.
pub(crate) const PRIOR: f64 = 0.20;
pub(crate) const PRIOR_OF_LOAD: f64 = 0.55;
pub(crate) const PRIOR_OF_CAP: f64 = 0.12;
pub(crate) const PRIOR_OF_PATH: f64 = 0.08;
/// Maximum confidence of a latency pattern alone, if log, SMART or a failed request have to confirm
/// it: a suspicion, never an accusation.
pub(crate) const SHAPE_ALONE: f64 = 0.55;
/// Maximum confidence that disk or path failed where nothing shows which: 17 of 19 first answers
/// with such a doubt named the right side (docs/decisions/0130). The second is of doubts that few
/// captures had.
pub(crate) const ONE_OF_TWO: f64 = 0.75;
pub(crate) const ONE_OF_TWO_OF_FEW: f64 = 0.65;
/// Share of the time lost below which it is not noticeable (docs/METHOD.md, 10 Rules).
pub(crate) const NOTICEABLE: f64 = 0.05;

/// Starts a finding from a prior and adds the log-likelihood ratio of each clause: first of the
/// evidence, then of clauses without a number.
pub(crate) fn believe(
    finding: &mut Finding,
    prior: f64,
    clauses: impl IntoIterator<Item = Clause>,
) {
    finding.assume(prior, "prior of this verdict");
    weigh_evidence(finding);
    finding.weigh(clauses);
}

/// Adds the weight of evidence that is a clause of the rule.
pub(crate) fn weigh_evidence(finding: &mut Finding) {
    let clauses: Vec<Clause> = finding.evidence.iter().filter_map(clause).collect();
    finding.weigh(clauses);
}

/// The clause that a piece of evidence is.
fn clause(evidence: &Evidence) -> Option<Clause> {
    let (least, most) = evidence.weighs?;
    let (what, value) = (evidence.quantity.clone(), evidence.amount.value);
    let clause = match evidence.bound? {
        Bound::Above(bound) => above(what, value, bound),
        Bound::Below(bound) => below(what, value, bound),
        Bound::Between(..) => return None,
    };
    Some(clause.at_least(least).at_most(most))
}

/// The clause `value > threshold`: three nats per doubling, never more than three
/// (docs/METHOD.md, 11 Confidence).
pub(crate) fn above(what: impl Into<Cow<'static, str>>, value: f64, threshold: f64) -> Clause {
    let compared = Some((value, Bound::Above(threshold)));
    Clause { what: what.into(), compared, nats: beyond(value, threshold) }
}

/// The clause `value < threshold`.
pub(crate) fn below(what: impl Into<Cow<'static, str>>, value: f64, threshold: f64) -> Clause {
    let nats = if value <= 0.0 { 3.0 } else { -beyond(value, threshold) };
    Clause { what: what.into(), compared: Some((value, Bound::Below(threshold))), nats }
}

/// Weight of a value beyond a threshold, in nats.
pub(crate) fn beyond(value: f64, threshold: f64) -> f64 {
    if value <= 0.0 || threshold <= 0.0 {
        return -Evidence::MOST_NATS;
    }
    let most = Evidence::MOST_NATS;
    (most * (value / threshold).log2()).clamp(-most, most)
}

#[cfg(test)]
mod tests {
    use iowhy_model::{Subject, Verdict};

    use super::*;

    #[test]
    fn clauses_move_a_prior_as_the_note_says() {
        let nats = |clause: Clause| clause.nats;
        assert!((nats(above("", 2.0, 1.0)) - 3.0).abs() < 1e-12);
        assert!((nats(above("", 0.5, 1.0)) + 3.0).abs() < 1e-12);
        assert!((nats(below("", 0.5, 1.0)) - 3.0).abs() < 1e-12);
        let believed = |prior, nats| {
            let subject = Subject { device: None, listings: vec![], group: None, devices: vec![] };
            let mut finding = Finding::new(Verdict::DeviceSlow, subject);
            believe(&mut finding, prior, [Clause::fixed("a clause", nats)]);
            finding.confidence()
        };
        assert!((believed(0.5, 0.0) - 0.5).abs() < 1e-12);
        // logit(0.12) + 3 = 1.0076; sigmoid = 0.7325.
        assert!((believed(0.12, 3.0) - 0.7325).abs() < 1e-3);
    }
}
