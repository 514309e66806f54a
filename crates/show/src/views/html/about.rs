//! The first line of the page: host, time range, kernel, what was watched, and by which program.

use std::io::{self, Write};

use iowhy_model::{FactKey, NameTable, Recording, Report, key};

use super::escape::text;
use crate::clock::Reach;
use crate::words::{duration, several};
use crate::{Style, device_label};

/// Devices that are named; the rest is counted.
const NAMED: usize = 8;

/// Writes it.
pub(super) fn first_line(report: &Report, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let recording = &report.recording;
    let mut parts = Vec::new();
    let hosts = stated(recording, key::HOST_NAME);
    let kernels: Vec<String> = stated(recording, key::HOST_KERNEL)
        .iter()
        .map(|kernel| format!("Linux {kernel}"))
        .collect();
    if hosts.is_empty() {
        // A heading of iostat or sar says both.
        let sources = recording.listings.iter().map(|listing| listing.source.host.as_deref());
        parts.extend(distinct(sources.flatten()));
    } else {
        parts.push(hosts.join(", "));
        parts.extend((!kernels.is_empty()).then(|| kernels.join(", ")));
    }
    let reach = Reach::of(recording);
    let when = reach.and_then(|reach| reach.words(&style.zone));
    let length = reach.map(|reach| reach.length_ns()).filter(|length| *length > 0);
    let length = length.map(|length| duration(length as f64));
    match (when, length) {
        (Some(when), Some(length)) => parts.push(format!("{when} ({length})")),
        (Some(when), None) => parts.push(when),
        (None, Some(length)) => parts.push(format!("{length}, time of day unknown")),
        (None, None) => {}
    }
    let zones = stated(recording, key::HOST_ZONE);
    parts.extend((!zones.is_empty()).then(|| format!("time zone {}", zones.join(", "))));
    let devices: Vec<&str> = watched(recording);
    if !devices.is_empty() {
        let more = devices.len().saturating_sub(NAMED);
        let table = NameTable::of(recording);
        let named = devices.iter().take(NAMED).map(|device| device_label::label(&table, device));
        let named = named.collect::<Vec<_>>().join(", ");
        let more = if more > 0 {
            format!(" and {}", several(more as u64, "more device"))
        } else {
            String::new()
        };
        parts.push(format!("{named}{more}"));
    }
    let formats = distinct(recording.listings.iter().map(|listing| listing.source.format.as_str()));
    parts.extend((!formats.is_empty()).then(|| format!("by {}", formats.join(", "))));
    let version = env!("CARGO_PKG_VERSION");
    let recorders: Vec<String> =
        stated(recording, key::HOST_IOWHY).into_iter().filter(|by| by != version).collect();
    let recorded = match recorders.as_slice() {
        [] => String::new(),
        some => format!(" (recorded by {})", some.join(", ")),
    };
    parts.push(format!("iowhy {version}{recorded}"));
    let parts: Vec<String> = parts.iter().map(|part| text(part)).collect();
    writeln!(out, "<p class=\"about\">{}</p>", parts.join(" · "))
}

/// What the listings state under a key, each once.
fn stated(recording: &Recording, key: FactKey) -> Vec<String> {
    let facts = recording.listings.iter().flat_map(|listing| &listing.facts);
    let values = facts.filter(|fact| fact.key == key).filter_map(|fact| fact.value.text());
    distinct(values)
}

fn distinct<'a>(all: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut known: Vec<String> = Vec::new();
    for one in all.filter(|one| !one.is_empty()) {
        if !known.iter().any(|known| known == one) {
            known.push(one.to_string());
        }
    }
    known
}

/// The devices of which anything was measured, in the order in which they were met.
fn watched(recording: &Recording) -> Vec<&str> {
    let mut seen = vec![false; recording.devices().len()];
    for listing in &recording.listings {
        let cells = listing.cells.iter().flat_map(|cells| &cells.distributions);
        let counted = listing.distributions.iter().chain(cells).map(|one| one.device);
        let averaged =
            listing.intervals.iter().filter(|one| one.ios_per_s() > 0.0).map(|one| one.device);
        let single = listing.events.iter().map(|one| one.device);
        for device in counted.chain(averaged).chain(single) {
            if let Some(seen) = seen.get_mut(device.index()) {
                *seen = true;
            }
        }
    }
    let devices = recording.devices().iter().zip(seen).filter(|(_, seen)| *seen);
    devices.map(|(device, _)| device.name.as_str()).filter(|name| !name.is_empty()).collect()
}
