//! The confidence of a finding, and the ledger of every step that led to it (docs/METHOD.md, 11
//! Confidence).

use std::borrow::Cow;

use crate::Bound;

/// A clause of a rule: what it compared, and what that adds to the log odds.
#[derive(Clone, PartialEq, Debug)]
pub struct Clause {
    /// What was compared, a noun phrase: `share of the time lost`.
    pub what: Cow<'static, str>,
    /// The value and the bound it was compared with, if the clause compares numbers.
    pub compared: Option<(f64, Bound)>,
    /// What it adds to the log odds, in nats.
    pub nats: f64,
}

impl Clause {
    /// A clause with a fixed weight, however far the value lies beyond a bound.
    pub fn fixed(what: impl Into<Cow<'static, str>>, nats: f64) -> Clause {
        Clause { what: what.into(), compared: None, nats }
    }

    /// The same clause, adding at most this many nats.
    pub fn at_most(self, nats: f64) -> Clause {
        Clause { nats: self.nats.min(nats), ..self }
    }

    /// The same clause, adding at least this many nats.
    pub fn at_least(self, nats: f64) -> Clause {
        Clause { nats: self.nats.max(nats), ..self }
    }
}

/// One step of a ledger.
#[derive(Clone, PartialEq, Debug)]
pub enum Step {
    /// Where a belief starts: a probability, 0 to 1.
    Prior(f64),
    /// A clause of the rule, added to the log odds.
    Clause(Clause),
    /// Another cause looks the same: the probability is at most this.
    Doubt(f64),
    /// The input supports no more: the probability is at most this.
    Limit(f64),
    /// The probability is at least this.
    Floor(f64),
    /// The probability times this.
    Factor(f64),
    /// The share of verdicts with this confidence that were right, from a calibration curve.
    Curve(f64),
}

impl Step {
    /// The name of the step in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Step::Prior(_) => "prior",
            Step::Clause(_) => "clause",
            Step::Doubt(_) => "doubt",
            Step::Limit(_) => "limit",
            Step::Floor(_) => "floor",
            Step::Factor(_) => "factor",
            Step::Curve(_) => "calibration",
        }
    }

    /// The value and the bound of a clause that compares numbers.
    pub fn compared(&self) -> Option<(f64, Bound)> {
        match self {
            Step::Clause(clause) => clause.compared,
            _ => None,
        }
    }

    /// Its number: nats of a clause, else a probability or a factor.
    pub fn weight(&self) -> f64 {
        match self {
            Step::Clause(clause) => clause.nats,
            Step::Prior(number)
            | Step::Doubt(number)
            | Step::Limit(number)
            | Step::Floor(number)
            | Step::Factor(number)
            | Step::Curve(number) => *number,
        }
    }
}

/// A step with its reason.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// What it did.
    pub step: Step,
    /// Why, one clause of a sentence.
    pub why: Cow<'static, str>,
}

/// Probability that a finding is right, as the sum of its entries.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Belief {
    entries: Vec<Entry>,
}

impl Belief {
    /// The steps, in the order in which they were taken.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The probability that all steps lead to, 0 to 1; 0 without a step.
    pub fn value(&self) -> f64 {
        self.after(self.entries.len())
    }

    /// The probability after this many steps.
    pub fn after(&self, steps: usize) -> f64 {
        let mut value = 0.0;
        // Consecutive clauses are added up before they move the log odds.
        let mut odds: Option<(f64, f64)> = None;
        for entry in self.entries.iter().take(steps) {
            let Step::Clause(clause) = &entry.step else {
                odds = None;
                value = match &entry.step {
                    Step::Doubt(most) | Step::Limit(most) => f64::min(value, *most),
                    Step::Floor(least) => f64::max(value, *least),
                    Step::Factor(times) => value * times,
                    Step::Prior(known) | Step::Curve(known) => *known,
                    Step::Clause(_) => value,
                };
                continue;
            };
            let (start, sum) = odds.unwrap_or(((value / (1.0 - value)).ln(), 0.0));
            odds = Some((start, sum + clause.nats));
            value = 1.0 / (1.0 + (-(start + (sum + clause.nats))).exp());
        }
        value
    }

    /// The reasons of its doubts.
    pub fn doubts(&self) -> impl Iterator<Item = &str> {
        let doubts = self.entries.iter().filter(|entry| matches!(entry.step, Step::Doubt(_)));
        doubts.map(|entry| entry.why.as_ref())
    }

    /// The upper limit set by its doubts: 1 if there are none.
    pub fn doubted_to(&self) -> f64 {
        let allowed = self.entries.iter().map(|entry| match entry.step {
            Step::Doubt(most) => most,
            _ => 1.0,
        });
        allowed.fold(1.0, f64::min)
    }

    /// Adds a step.
    pub(crate) fn push(&mut self, step: Step, why: impl Into<Cow<'static, str>>) {
        self.entries.push(Entry { step, why: why.into() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger(steps: &[Step]) -> f64 {
        let mut belief = Belief::default();
        steps.iter().for_each(|step| belief.push(step.clone(), "a reason"));
        belief.value()
    }

    #[test]
    fn the_sum_of_the_entries_is_the_number() {
        let clause = |nats| Step::Clause(Clause::fixed("a clause", nats));
        assert_eq!(ledger(&[]), 0.0);
        assert_eq!(ledger(&[Step::Prior(0.7)]), 0.7);
        // logit(0.2) + 3 + 1 = 2.6137; sigmoid = 0.9317.
        let sure = ledger(&[Step::Prior(0.2), clause(3.0), clause(1.0)]);
        assert!((sure - 0.9317).abs() < 1e-4, "{sure}");
        let doubted = [Step::Prior(0.2), clause(3.0), Step::Doubt(0.55), Step::Factor(0.5)];
        assert_eq!(ledger(&doubted), 0.275);
        let raised = [Step::Prior(0.2), Step::Floor(0.3), Step::Limit(0.9), Step::Curve(0.4)];
        assert_eq!(ledger(&raised), 0.4);
    }
}
