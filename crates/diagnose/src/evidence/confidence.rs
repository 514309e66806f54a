//! How sure a finding is: a prior, moved by each clause of a rule (docs/METHOD.md, 11 Confidence).

/// Prior of a device's fault when someone complains (docs/METHOD.md, 11 Confidence).
pub const PRIOR: f64 = 0.20;
/// What a shape of latencies alone is worth at most, where log, SMART or a failed request have to
/// confirm it: a suspicion, never an accusation.
pub const SHAPE_ALONE: f64 = 0.55;
/// Share of the time lost below which nobody complains (docs/METHOD.md, 10 Rules).
pub const COMPLAINED_OF: f64 = 0.05;

/// Adds a log-likelihood ratio per clause to a prior.
pub fn believe(prior: f64, clauses: &[f64]) -> f64 {
    let logit = (prior / (1.0 - prior)).ln() + clauses.iter().sum::<f64>();
    1.0 / (1.0 + (-logit).exp())
}

/// What a clause `value > threshold` adds, in nats: three per doubling, never more than three
/// (docs/METHOD.md, 11 Confidence).
pub fn above(value: f64, threshold: f64) -> f64 {
    if value <= 0.0 || threshold <= 0.0 {
        return -3.0;
    }
    (3.0 * (value / threshold).log2()).clamp(-3.0, 3.0)
}

/// What a clause `value < threshold` adds.
pub fn below(value: f64, threshold: f64) -> f64 {
    if value <= 0.0 { 3.0 } else { -above(value, threshold) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clauses_move_a_prior_as_the_note_says() {
        assert!((above(2.0, 1.0) - 3.0).abs() < 1e-12);
        assert!((above(0.5, 1.0) + 3.0).abs() < 1e-12);
        assert!((below(0.5, 1.0) - 3.0).abs() < 1e-12);
        assert!((believe(0.5, &[0.0]) - 0.5).abs() < 1e-12);
        // logit(0.12) + 3 = 1.0076; sigmoid = 0.7325.
        assert!((believe(0.12, &[3.0]) - 0.7325).abs() < 1e-3);
    }
}
