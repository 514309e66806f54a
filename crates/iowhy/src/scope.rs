//! Whose latency is told beside a verdict. The judge sees all that a device did: of a part of its
//! requests the waits for the others would look like its own slowness.

use iowhy_model::{Event, Filter, Note, Recording, Stage, numbers};

use crate::arguments::Selection;

/// Leaves out the devices that were not asked for. What else the filter asks is told at each listing,
/// and takes nothing away; how many I/Os that concerns, if it asks anything else.
pub fn narrow(recording: &mut Recording, filter: &Filter, selection: &Selection) -> Option<usize> {
    let devices = Filter { devices: filter.devices.clone(), ..Filter::default() };
    let part = *filter != devices;
    let mut asked_for = 0;
    for listing in &mut recording.listings {
        listing.events.retain(|event| devices.device(event.device));
        listing.intervals.retain(|interval| devices.device(interval.device));
        listing.distributions.retain(|known| devices.device(known.device));
        listing.rest.retain(|known| devices.device(known.device));
        if !part || listing.events.is_empty() {
            continue;
        }
        let of: Vec<&Event> = listing.events.iter().filter(|event| filter.event(event)).collect();
        asked_for += of.len();
        let reason = format!(
            "{} of {} I/Os{} are those asked for ({}){}; the devices were judged by all of them",
            of.len(),
            listing.events.len(),
            if listing.folded > 0 { " kept one by one" } else { "" },
            words(filter, selection),
            latencies(&of)
        );
        listing.source.notes.push(Note { line: 0, text: String::new(), reason });
    }
    part.then_some(asked_for)
}

fn words(filter: &Filter, selection: &Selection) -> String {
    let ops: Vec<&str> = filter.ops.iter().map(|op| op.name()).collect();
    let ops = (!ops.is_empty()).then(|| ops.join(" or "));
    let all: Vec<String> = ops.into_iter().chain(selection.words()).collect();
    all.join(", ")
}

/// Their mean and greatest latency, ms, from issue to completion.
fn latencies(of: &[&Event]) -> String {
    let ms: Vec<f64> = of
        .iter()
        .filter_map(|event| event.latency(Stage::Device))
        .map(|known| known.ms())
        .collect();
    if ms.is_empty() {
        return String::new();
    }
    let mean = ms.iter().sum::<f64>() / ms.len() as f64;
    let most = ms.iter().copied().fold(0.0, f64::max);
    format!(
        ", D2C {} on average and {} at most",
        numbers::duration(mean * 1e6),
        numbers::duration(most * 1e6)
    )
}
