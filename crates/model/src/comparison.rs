//! Comparison of two sides: what differs, by how much, and whether by more than chance.

use crate::{Unit, Verdict};

/// Two captures, devices or intervals, compared.
#[derive(Clone, PartialEq, Debug)]
pub struct Comparison {
    /// What was compared.
    pub sides: [ComparedSide; 2],
    /// What was compared, differences first.
    pub differences: Vec<Difference>,
    /// How many of these were tested; `p` is corrected for that number.
    pub tests: usize,
    /// Which verdict explains the difference.
    pub explained: Explanation,
}

/// One side of a comparison.
#[derive(Clone, PartialEq, Debug)]
pub struct ComparedSide {
    /// As the user named it.
    pub name: String,
    /// I/Os, rows and histograms on this side.
    pub records: u64,
    /// Its verdicts, best first: name, device, confidence, share, sentence.
    pub verdicts: Vec<ComparedVerdict>,
}

/// A verdict on one side.
#[derive(Clone, PartialEq, Debug)]
pub struct ComparedVerdict {
    /// Its name.
    pub verdict: Verdict,
    /// The device, if it is about one.
    pub device: Option<String>,
    /// Probability that it is right, 0 to 1.
    pub confidence: f64,
    /// Share of the excess latency it explains, 0 to 1.
    pub explained_share: f64,
    /// The verdict in one sentence.
    pub sentence: String,
    /// Whether it is firm enough to be acted on.
    pub stands: bool,
}

/// One quantity of one group of requests, on both sides.
#[derive(Clone, PartialEq, Debug)]
pub struct Difference {
    /// The group: `8 KiB sequential reads`, `all`.
    pub group: String,
    /// What was compared: `latency, median`, `share of the requests`.
    pub quantity: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// Its value on either side; `None` where that side has none.
    pub values: [Option<f64>; 2],
    /// I/Os or rows it rests on.
    pub n: [u64; 2],
    /// The second over the first.
    pub ratio: Option<f64>,
    /// The 95 % interval of the ratio, by a seeded bootstrap of blocks.
    pub interval: Option<(f64, f64)>,
    /// Chance that one of the second side exceeds one of the first (0.5: no difference).
    pub superiority: Option<f64>,
    /// P-value, corrected for all tests (Holm 1979); `None` if no test is possible.
    pub p: Option<f64>,
    /// Whether it differs by more than chance.
    pub differs: bool,
}

/// Which verdict explains what differs.
#[derive(Clone, PartialEq, Debug)]
pub enum Explanation {
    /// A verdict found on one side only: which side, and which of its verdicts.
    One(usize, usize),
    /// Both sides get the same verdict: the difference is one of degree.
    Same(Verdict),
    /// Nothing differs by more than chance.
    Nothing,
    /// Something differs, and no verdict explains it.
    Unknown,
}
