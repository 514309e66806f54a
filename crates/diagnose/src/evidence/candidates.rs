//! Every disk of the input, measured or only mentioned, with the evidence for a fault on it.

use std::collections::HashMap;

use iowhy_model::{DeviceId, Event, Layer};

use crate::analysis::device_trace::DeviceTrace;
use crate::analysis::{Analysis, Host};
use crate::facts::About;
use crate::facts::disk_names;

/// A disk that may have a fault.
pub(crate) struct FaultCandidate<'s, 'a> {
    /// The input that measured it; `None` if it is only mentioned.
    pub host: Option<Host<'s>>,
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
    /// The input.
    pub analysis: &'s Analysis<'a>,
}

impl<'s, 'a> FaultCandidate<'s, 'a> {
    /// A disk without measurements.
    fn new(analysis: &'s Analysis<'a>, disk: String, device: DeviceId) -> FaultCandidate<'s, 'a> {
        let (host, listing, trace) = (None, None, None);
        FaultCandidate { host, disk, device, listing, trace, failed: Vec::new(), analysis }
    }

    /// Facts about it.
    pub(crate) fn about(&'s self) -> About<'s, 'a> {
        self.analysis.facts.about(self.host, &self.disk)
    }
}

/// All disks, by input.
pub(crate) fn candidates<'s, 'a>(analysis: &'s Analysis<'a>) -> Vec<FaultCandidate<'s, 'a>> {
    let mut found: Vec<FaultCandidate> = Vec::new();
    let traces = analysis.traces.iter().map(|t| (t.listing, t.device, t.disk.clone(), Some(t)));
    let rows =
        analysis.intervals.iter().map(|row| (row.listing, row.device, row.disk.clone(), None));
    let histograms =
        analysis.histograms.iter().map(|s| (s.listing, s.known.device, s.disk.clone(), None));
    for (listing, device, disk, trace) in traces.chain(rows).chain(histograms) {
        let host = Some(analysis.host(listing));
        match found.iter_mut().find(|known| known.host == host && known.disk == disk) {
            Some(known) => {
                let seen = |trace: Option<&DeviceTrace>| trace.map_or(0, |trace| trace.spans.len());
                if seen(trace) > seen(known.trace) {
                    (known.trace, known.listing) = (trace, Some(listing));
                }
            }
            None => {
                let one = FaultCandidate::new(analysis, disk, device);
                found.push(FaultCandidate { host, listing: Some(listing), trace, ..one });
            }
        }
    }
    // Once over all I/Os, not once per disk: failures are rare.
    for (place, listing) in analysis.listings() {
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
    let mut named: HashMap<String, &str> = HashMap::new();
    for device in analysis.recording.devices() {
        named.entry(disk_names::disk(&device.name)).or_insert(&device.name);
    }
    for About { host, disk, .. } in analysis.facts.each() {
        let device = named.get(disk).and_then(|name| analysis.recording.find_device(name));
        let is_it = |known: &FaultCandidate| {
            let may_be = known.host.zip(host).is_none_or(|(known, host)| known.may_be(host));
            known.disk == disk && may_be
        };
        if let Some(device) = device.filter(|_| !found.iter().any(is_it)) {
            let one = FaultCandidate::new(analysis, disk.to_string(), device);
            found.push(FaultCandidate { host, ..one });
        }
    }
    found
}
