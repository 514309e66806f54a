//! What was captured on another system than Linux: no step may name a command that is not there, or
//! would look at the reader's own machine.

use iowhy_model::Finding;

use crate::analysis::Analysis;
use crate::facts::systems::System;
use crate::phrase;

/// The system that an input was captured on; `None` is Linux, or not known.
fn system(analysis: &Analysis, input: &str) -> Option<System> {
    let listings = analysis.recording.listings.iter().enumerate();
    let mut here = listings.filter(|(place, _)| analysis.input(*place) == input);
    here.find_map(|(_, listing)| {
        let mut named = listing.facts.iter().filter_map(|fact| fact.device);
        System::of_format(&listing.source.format).or_else(|| {
            named.find_map(|it| System::of_device(&analysis.recording.device_of(it).name))
        })
    })
}

/// Replaces the steps that name a command by the next listing of the system. What names none (a
/// cable, a firmware) stays.
pub fn fit(analysis: &Analysis, findings: &mut [Finding]) {
    for finding in findings {
        let input = finding.subject.listings.first().map(|place| analysis.input(*place));
        let Some(system) = input.and_then(|input| system(analysis, input)) else { continue };
        finding.elsewhere = true;
        let names_none = |step: &String| !phrase::names_a_command(step);
        finding.next_step.retain(names_none);
        finding.next_step.insert(0, system.next_listing().to_string());
        if finding.refuted_by.iter().any(names_none) {
            finding.refuted_by.retain(names_none);
        }
    }
}
