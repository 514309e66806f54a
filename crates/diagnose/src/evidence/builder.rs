//! Findings and evidence, put together piece by piece.

use iowhy_model::{
    Basis, Bound, Clause, DeviceId, Evidence, Finding, How, Origin, Quantity, Sampling, Subject,
    Unit, Verdict,
};

use crate::analysis::Analysis;
use crate::baseline::healthy_time::HealthyServiceTime;
use crate::evidence::candidates::FaultCandidate;
use crate::evidence::confidence;
use crate::facts::kernel_log::LogLine;
use crate::facts::reading::FactReading;

/// An empty finding: no confidence, nothing explained.
pub(crate) fn new_finding(
    verdict: Verdict,
    device: Option<DeviceId>,
    listings: Vec<usize>,
) -> Finding {
    Finding::new(verdict, Subject { device, listings, group: None, devices: Vec::new() })
}

/// Numbers of one source that rest on the same requests or rows: each becomes evidence.
#[derive(Clone)]
pub struct Numbers(Evidence);

impl Analysis<'_> {
    /// Numbers that a listing printed.
    pub fn printed(&self, listing: usize, n: u64) -> Numbers {
        let how = match self.source(listing).sampling {
            Sampling::Traced | Sampling::Thinned => How::Traced,
            Sampling::Sampled => How::Sampled,
            Sampling::Reported => How::Reported,
        };
        Numbers::new(how, n, Basis::Measured, self.source(listing).origin())
    }

    /// Numbers computed from what a listing gave.
    pub fn computed(&self, listing: usize, n: u64) -> Numbers {
        Numbers::new(How::Computed, n, Basis::Measured, self.source(listing).origin())
    }

    /// Numbers that rest on a fit, a model or histogram buckets.
    pub fn estimated(&self, listing: usize, n: u64) -> Numbers {
        Numbers::new(How::Estimated, n, Basis::Measured, self.source(listing).origin())
    }

    /// The number of a fact.
    pub fn stated(&self, reading: &FactReading) -> Numbers {
        let format = self.source(reading.listing).format.clone();
        let origin = Origin { format, ..Origin::of(reading.read_from()) };
        Numbers::new(How::Reported, 1, Basis::Stated(reading.fact.key.clone()), origin)
    }
}

impl Numbers {
    fn new(how: How, n: u64, basis: Basis, origin: Origin) -> Numbers {
        Numbers(Evidence {
            quantity: String::new(),
            amount: Quantity { value: 0.0, unit: Unit::Count },
            bound: None,
            weighs: None,
            n,
            how,
            basis,
            disk: None,
            origin,
        })
    }

    /// The same, of other requests or rows.
    pub fn over(&self, n: u64) -> Numbers {
        Numbers(Evidence { n, ..self.0.clone() })
    }

    /// One of them.
    pub fn of(&self, quantity: &str, value: f64, unit: Unit) -> Evidence {
        let (quantity, amount) = (quantity.to_string(), Quantity { value, unit });
        Evidence { quantity, amount, ..self.0.clone() }
    }

    /// The service time of a healthy device.
    pub fn healthy(&self, s0: &HealthyServiceTime) -> Evidence {
        let what = format!("healthy service time (assumed class: {})", s0.assumption);
        self.ms(&what, s0.median_ms())
    }

    /// Baselines of the nine that agree.
    pub fn votes(&self, votes: usize) -> Evidence {
        self.over(9).count("baseline variants that agree, of 9", votes as f64)
    }

    /// A latency, ms.
    pub fn ms(&self, quantity: &str, value: f64) -> Evidence {
        self.of(quantity, value, Unit::Ms)
    }

    /// A time, s.
    pub fn seconds(&self, quantity: &str, value: f64) -> Evidence {
        self.of(quantity, value, Unit::Seconds)
    }

    /// A share.
    pub fn share(&self, quantity: &str, value: f64) -> Evidence {
        self.of(quantity, value, Unit::Share)
    }

    /// A ratio.
    pub fn ratio(&self, quantity: &str, value: f64) -> Evidence {
        self.of(quantity, value, Unit::Ratio)
    }

    /// A count.
    pub fn count(&self, quantity: &str, value: f64) -> Evidence {
        self.of(quantity, value, Unit::Count)
    }

    /// Requests in flight.
    pub fn requests(&self, quantity: &str, value: f64) -> Evidence {
        self.of(quantity, value, Unit::Requests)
    }

    /// Bytes.
    pub fn bytes(&self, quantity: &str, value: f64) -> Evidence {
        self.of(quantity, value, Unit::Bytes)
    }

    /// Bytes per second.
    pub fn bytes_per_s(&self, quantity: &str, value: f64) -> Evidence {
        self.of(quantity, value, Unit::BytesPerSecond)
    }

    /// Completions or events per second.
    pub fn per_s(&self, quantity: &str, value: f64) -> Evidence {
        self.of(quantity, value, Unit::PerSecond)
    }
}

/// The same evidence, about this disk of several.
pub(crate) fn of_disk(evidence: Evidence, disk: &str) -> Evidence {
    Evidence { disk: Some(disk.to_string()), ..evidence }
}

/// Sentences as owned text.
pub(crate) fn lines(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_string()).collect()
}

/// The next steps where no I/O was timed, or none that was is slow.
pub(crate) fn look_elsewhere() -> Vec<String> {
    lines(&[
        "`iowhy why --for 60s` while it is slow: adds the latency of each I/O",
        "look above the block layer: CPU, locks, memory, network",
    ])
}

/// What an accusation rests on: evidence, the listings it was read in, and its weight.
pub(crate) struct EvidenceBuilder<'s> {
    analysis: &'s Analysis<'s>,
    /// The evidence, in the order it was found.
    pub evidence: Vec<Evidence>,
    /// Its subject.
    pub listings: Vec<usize>,
    /// The clauses of the rule.
    pub clauses: Vec<Clause>,
    /// Words for the sentence, strongest first.
    pub words: Vec<String>,
}

impl<'s> EvidenceBuilder<'s> {
    /// Without any evidence.
    pub(crate) fn of(analysis: &'s Analysis) -> EvidenceBuilder<'s> {
        let (evidence, listings) = (Vec::new(), Vec::new());
        EvidenceBuilder { analysis, evidence, listings, clauses: Vec::new(), words: Vec::new() }
    }

    /// About a disk: the listing that measured it comes first.
    pub(crate) fn about(candidate: &FaultCandidate<'s, '_>) -> EvidenceBuilder<'s> {
        let listings = candidate.listing.into_iter().collect();
        EvidenceBuilder { listings, ..EvidenceBuilder::of(candidate.analysis) }
    }

    /// A fact.
    pub(crate) fn fact(
        &mut self,
        reading: &FactReading,
        quantity: &str,
        (value, unit): (f64, Unit),
        bound: Option<Bound>,
    ) {
        let stated = self.analysis.stated(reading).of(quantity, value, unit);
        self.evidence.push(Evidence { bound, ..stated });
        self.rests_on(reading.listing);
    }

    /// A number computed from a listing.
    pub(crate) fn number(
        &mut self,
        listing: usize,
        quantity: &str,
        (value, unit, n): (f64, Unit, usize),
        bound: Option<Bound>,
    ) {
        let computed = self.analysis.computed(listing, n as u64).of(quantity, value, unit);
        self.evidence.push(Evidence { bound, ..computed });
        self.rests_on(listing);
    }

    /// A number of requests that ended with an error.
    pub(crate) fn failed(
        &mut self,
        listing: usize,
        quantity: &str,
        number: (f64, Unit, usize),
        bound: Option<Bound>,
    ) {
        self.number(listing, quantity, number, bound);
        if let Some(cited) = self.evidence.last_mut() {
            cited.basis = Basis::RequestStatus;
        }
    }

    /// Log lines of one kind, counted where they were read, and the first of them.
    pub(crate) fn log_lines(&mut self, what: &str, lines: &[&LogLine], bound: Option<Bound>) {
        let Some(first) = lines.first() else { return };
        let messages = LogLine::messages(lines);
        self.fact(&first.reading, what, (messages as f64, Unit::Count), bound);
        if let Some(cited) = self.evidence.last_mut() {
            cited.n = messages;
        }
    }

    /// Adds the clauses to a prior, in the ledger of a finding.
    pub(crate) fn believe(&self, finding: &mut Finding, prior: f64) {
        confidence::believe(finding, prior, self.clauses.iter().cloned());
    }

    /// A finding that rests on what was gathered so far; it explains what was stated.
    pub(crate) fn finding(&mut self, verdict: Verdict, device: Option<DeviceId>) -> Finding {
        let mut finding = new_finding(verdict, device, self.listings.clone());
        finding.evidence = std::mem::take(&mut self.evidence);
        finding.explained_share = 1.0;
        finding
    }

    fn rests_on(&mut self, listing: usize) {
        if !self.listings.contains(&listing) {
            self.listings.push(listing);
        }
    }
}
