//! Every disk of the input, measured or only spoken of, with what a fault on it rests on.

use iowhy_model::{Basis, Bound, DeviceId, Event, Evidence, Layer, Unit};

use crate::analysis::Analysis;
use crate::analysis::device_trace::DeviceTrace;
use crate::detector::computed;
use crate::facts::disk_names;
use crate::facts::{self, About, FactReading};
use crate::ranking;

/// Prior of a device's fault when someone complains (docs/METHOD.md, 11 Confidence).
pub const PRIOR: f64 = 0.20;
/// What a shape of latencies alone is worth at most, where log, SMART or a failed request have to
/// confirm it: a suspicion, never an accusation.
pub const SHAPE_ALONE: f64 = 0.55;

/// A disk that may have a fault.
pub struct FaultCandidate<'s, 'a> {
    /// The input that measured it; `None` if it is only spoken of.
    pub input: Option<&'s str>,
    /// Its name.
    pub disk: String,
    /// The device.
    pub device: DeviceId,
    /// A listing that measured it.
    pub listing: Option<usize>,
    /// Its I/Os: those of the listing that has most.
    pub trace: Option<&'s DeviceTrace>,
    /// Its requests that failed, in the listing that measured it.
    pub failed: Vec<&'s Event>,
    analysis: &'s Analysis<'a>,
}

impl<'s, 'a> FaultCandidate<'s, 'a> {
    /// What is said of it beside latencies.
    pub fn about(&'s self) -> About<'s, 'a> {
        self.analysis.facts.about(self.input, &self.disk)
    }
}

/// All disks, by input.
pub fn candidates<'s, 'a>(analysis: &'s Analysis<'a>) -> Vec<FaultCandidate<'s, 'a>> {
    let mut found: Vec<FaultCandidate> = Vec::new();
    let traces = analysis.traces.iter().map(|t| (t.listing, t.device, t.disk.clone(), Some(t)));
    let rows =
        analysis.intervals.iter().map(|row| (row.listing, row.device, row.disk.clone(), None));
    let histograms =
        analysis.histograms.iter().map(|s| (s.listing, s.known.device, s.disk.clone(), None));
    for (listing, device, disk, trace) in traces.chain(rows).chain(histograms) {
        let input = Some(analysis.input(listing));
        match found.iter_mut().find(|known| known.input == input && known.disk == disk) {
            Some(known) => {
                let seen = |trace: Option<&DeviceTrace>| trace.map_or(0, |trace| trace.spans.len());
                if seen(trace) > seen(known.trace) {
                    (known.trace, known.listing) = (trace, Some(listing));
                }
            }
            None => {
                let listing = Some(listing);
                found.push(FaultCandidate {
                    input,
                    disk,
                    device,
                    listing,
                    trace,
                    failed: Vec::new(),
                    analysis,
                });
            }
        }
    }
    // Once over all I/Os, not once per disk: failures are rare.
    for (place, listing) in analysis.recording.listings.iter().enumerate() {
        for event in listing.events.iter().filter(|event| event.error.is_some()) {
            let its = |known: &&mut FaultCandidate| {
                known.listing == Some(place) && known.device == event.device
            };
            if event.layer == Layer::Block
                && let Some(known) = found.iter_mut().find(its)
            {
                known.failed.push(event);
            }
        }
    }
    let spoken_of: Vec<&str> = analysis.facts.disks().collect();
    for disk in spoken_of {
        let device =
            analysis.recording.devices().iter().find(|d| disk_names::disk(&d.name) == disk);
        let device = device.and_then(|device| analysis.recording.find_device(&device.name));
        if let Some(device) = device.filter(|_| !found.iter().any(|known| known.disk == disk)) {
            let disk = disk.to_string();
            let (input, listing, trace) = (None, None, None);
            found.push(FaultCandidate {
                input,
                disk,
                device,
                listing,
                trace,
                failed: Vec::new(),
                analysis,
            });
        }
    }
    found
}

/// What an accusation rests on: evidence, the listings it was read in, and its weight.
#[derive(Default)]
pub struct EvidenceBuilder {
    /// The evidence, in the order it was found.
    pub evidence: Vec<Evidence>,
    /// Where it was found.
    pub listings: Vec<usize>,
    /// What the clauses add, in nats.
    pub clauses: Vec<f64>,
    /// Words for the sentence, strongest first.
    pub words: Vec<String>,
}

impl EvidenceBuilder {
    /// A fact.
    pub fn fact(
        &mut self,
        analysis: &Analysis,
        reading: &FactReading,
        quantity: &str,
        (value, unit): (f64, Unit),
        bound: Option<Bound>,
    ) {
        let cited = facts::cited(analysis.recording, reading, quantity, value, unit);
        self.evidence.push(Evidence { bound, ..cited });
        self.rests_on(reading.listing);
    }

    /// A number computed from a listing.
    pub fn number(
        &mut self,
        analysis: &Analysis,
        listing: usize,
        quantity: &str,
        (value, unit, n): (f64, Unit, usize),
        bound: Option<Bound>,
    ) {
        let cited = computed(quantity, value, unit, n as u64, analysis.source(listing));
        self.evidence.push(Evidence { bound, ..cited });
        self.rests_on(listing);
    }

    /// A number of requests that ended with an error.
    pub fn failed(
        &mut self,
        analysis: &Analysis,
        listing: usize,
        quantity: &str,
        number: (f64, Unit, usize),
        bound: Option<Bound>,
    ) {
        self.number(analysis, listing, quantity, number, bound);
        if let Some(cited) = self.evidence.last_mut() {
            cited.basis = Basis::RequestStatus;
        }
    }

    /// Log lines of one kind, counted where they were read, and the first of them.
    pub fn log_lines(
        &mut self,
        analysis: &Analysis,
        what: &str,
        lines: &[&crate::facts::kernel_log::LogLine],
        bound: Option<Bound>,
    ) {
        let Some(first) = lines.first() else { return };
        let count = (lines.len() as f64, Unit::Count);
        self.fact(analysis, &first.reading, what, count, bound);
        if let Some(cited) = self.evidence.last_mut() {
            cited.n = lines.len() as u64;
        }
    }

    /// The probability they make of a prior.
    pub fn believe(&self, prior: f64) -> f64 {
        ranking::believe(prior, &self.clauses)
    }

    /// The candidate's listing first, then where the evidence stands.
    pub fn listings(&self, candidate: &FaultCandidate) -> Vec<usize> {
        let mut all: Vec<usize> = candidate.listing.into_iter().collect();
        all.extend(self.listings.iter().filter(|place| Some(**place) != candidate.listing));
        all
    }

    fn rests_on(&mut self, listing: usize) {
        if !self.listings.contains(&listing) {
            self.listings.push(listing);
        }
    }
}
