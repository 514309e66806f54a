//! Captures from systems other than Linux: no step may name a command that does not exist there, or
//! that would examine the reader's own machine.

use std::collections::HashMap;

use iowhy_model::Finding;

use crate::analysis::{Analysis, Host};
use crate::facts::systems::System;
use crate::phrase;

/// The systems of the inputs that were not captured on Linux.
fn systems<'a>(analysis: &Analysis<'a>) -> HashMap<Host<'a>, System> {
    let devices = analysis.recording.devices();
    let named: Vec<Option<System>> =
        devices.iter().map(|device| System::of_device(&device.name)).collect();
    let mut systems = HashMap::new();
    for (place, listing) in analysis.recording.listings.iter().enumerate() {
        let mut about = listing.facts.iter().filter_map(|fact| fact.device);
        let system = System::of_format(&listing.source.format)
            .or_else(|| about.find_map(|device| *named.get(device.index())?));
        if let Some(system) = system {
            systems.entry(analysis.host(place)).or_insert(system);
        }
    }
    systems
}

/// Replaces the steps that name a command by the next listing of the system. What names none (a
/// cable, a firmware) stays.
pub(crate) fn fit(analysis: &Analysis, findings: &mut [Finding]) {
    let systems = systems(analysis);
    for finding in findings {
        let host = finding.subject.listings.first().map(|place| analysis.host(*place));
        let Some(system) = host.and_then(|host| systems.get(&host)) else { continue };
        finding.elsewhere = true;
        let names_none = |step: &String| !phrase::names_a_command(step);
        finding.next_step.retain(names_none);
        finding.next_step.insert(0, system.next_listing().to_string());
        if finding.refuted_by.iter().any(names_none) {
            finding.refuted_by.retain(names_none);
        }
    }
}
