//! Limits what is reported beside a verdict. The judge sees all I/Os of a device: in a part of
//! them, waits for the others would look like slowness of the device.

use std::collections::{BTreeMap, BTreeSet};

use iowhy_model::{
    DeviceId, Event, Fact, FactKey, Filter, Note, Recording, Stage, is_kernel_name, key, numbers,
};

use crate::selection::Selection;

/// Leaves out devices that are not selected. Other conditions of the filter are only noted at each
/// listing; returns how many I/Os they concern, if there are any.
pub(crate) fn narrow(
    recording: &mut Recording,
    filter: &Filter,
    selection: &Selection,
) -> Option<usize> {
    let devices = Filter { devices: filter.devices.clone(), ..Filter::default() };
    let part = *filter != devices;
    let mut asked_for = 0;
    let asked: Vec<String> =
        devices.devices.iter().map(|id| recording.device_of(*id).name.clone()).collect();
    about(recording, &asked);
    keep(recording, |id| devices.device(id));
    for listing in &mut recording.listings {
        if !part || listing.events.is_empty() {
            continue;
        }
        let of: Vec<&Event> = listing.events.iter().filter(|event| filter.event(event)).collect();
        asked_for += of.len();
        let reason = format!(
            "{} of {} I/Os{} match the filter ({}){}; the verdict is based on all I/Os of the \
             devices",
            of.len(),
            listing.events.len(),
            if listing.folded > 0 { " kept individually" } else { "" },
            words(filter, selection),
            latencies(&of)
        );
        listing.source.notes.push(Note { line: 0, text: String::new(), reason });
    }
    part.then_some(asked_for)
}

/// Leaves out the I/O of devices that are not selected.
fn keep(recording: &mut Recording, wanted: impl Fn(DeviceId) -> bool) {
    for listing in &mut recording.listings {
        listing.events.retain(|event| wanted(event.device));
        listing.intervals.retain(|interval| wanted(interval.device));
        listing.distributions.retain(|known| wanted(known.device));
        listing.rest.retain(|known| wanted(known.device));
    }
}

/// Leaves out facts about disks that are not selected, such as their kernel messages. Layers below
/// and above a selected device, and names that are not disks (a port, a pool), stay.
pub(crate) fn about(recording: &mut Recording, asked: &[String]) {
    if asked.is_empty() {
        return;
    }
    let scope = Scope::of(recording, asked);
    // The disk of a port.
    let mut ports: BTreeMap<String, bool> = BTreeMap::new();
    for (name, fact) in stated(recording, &key::DEVICE_PORT) {
        *ports.entry(fact.value.to_string()).or_default() |= scope.is_near(&name);
    }
    let names: Vec<bool> = recording
        .devices()
        .iter()
        .map(|device| {
            let name = &device.name;
            ports.get(name).copied().unwrap_or_else(|| scope.holds(name))
        })
        .collect();
    let stays =
        |fact: &Fact| fact.device.is_none_or(|id| names.get(id.index()).copied().unwrap_or(true));
    recording.listings.iter_mut().for_each(|listing| listing.facts.retain(stays));
}

/// The selected devices with all layers below and above them.
pub(crate) struct Scope(Option<BTreeSet<String>>);

impl Scope {
    /// For a recording; everything if nothing was selected.
    pub(crate) fn of(recording: &Recording, asked: &[String]) -> Scope {
        Scope((!asked.is_empty()).then(|| near(recording, asked)))
    }

    fn is_near(&self, name: &str) -> bool {
        self.0.as_ref().is_none_or(|near| near.iter().any(|known| is_one(known, name)))
    }

    /// Leaves out I/O of devices outside of it.
    pub(crate) fn keep(&self, recording: &mut Recording) {
        let held: Vec<bool> =
            recording.devices().iter().map(|device| self.holds(&device.name)).collect();
        keep(recording, |id| held.get(id.index()).copied().unwrap_or(true));
    }

    /// Whether a name is within it; one that is not a disk's (a port, a pool) always is.
    pub(crate) fn holds(&self, name: &str) -> bool {
        self.is_near(name) || !is_kernel_name(name)
    }
}

/// The selected devices and all layers below and above them.
fn near(recording: &Recording, asked: &[String]) -> BTreeSet<String> {
    let mut near: BTreeSet<String> = asked.iter().cloned().collect();
    for (below, above) in
        [(key::DEVICE_SLAVES, key::DEVICE_HOLDERS), (key::DEVICE_HOLDERS, key::DEVICE_SLAVES)]
    {
        let mut known: BTreeSet<String> = asked.iter().cloned().collect();
        loop {
            let words = |fact: &Fact| -> Vec<String> {
                fact.value.to_string().split([' ', ',']).map(str::to_string).collect()
            };
            let down = stated(recording, &below).filter(|(name, _)| known.contains(name));
            let down = down.flat_map(|(_, fact)| words(fact));
            let up = stated(recording, &above);
            let up = up.filter(|(_, fact)| words(fact).iter().any(|word| known.contains(word)));
            let more: Vec<String> = down.chain(up.map(|(name, _)| name)).collect();
            let before = known.len();
            known.extend(more.into_iter().filter(|name| !name.is_empty()));
            if known.len() == before {
                break;
            }
        }
        near.extend(known);
    }
    near
}

/// The facts of a key, each with the name of its device.
fn stated<'a>(
    recording: &'a Recording,
    key: &'a FactKey,
) -> impl Iterator<Item = (String, &'a Fact)> {
    let facts = recording.listings.iter().flat_map(|listing| &listing.facts);
    facts
        .filter(move |fact| fact.key == *key)
        .filter_map(|fact| fact.device.map(|id| (recording.device_of(id).name.clone(), fact)))
}

/// Whether two names refer to one disk: itself, a partition, the controller of a namespace.
fn is_one(one: &str, other: &str) -> bool {
    let part = |whole: &str, part: &str| {
        let rest = part.strip_prefix(whole)?;
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let ends_in_digit = whole.ends_with(|c: char| c.is_ascii_digit());
        let numbered = rest.strip_prefix(['p', 'n']).is_some_and(|rest| {
            rest.bytes().all(|b| b.is_ascii_digit() || b == b'p') && !rest.is_empty()
        });
        Some(numbered && ends_in_digit || digits(rest) && !ends_in_digit)
    };
    one == other || part(one, other) == Some(true) || part(other, one) == Some(true)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stated_of_other_disks_is_left_out() {
        let text = "[1.000000] blk_update_request: critical medium error, dev sda, sector 8 op \
                    0x0:(READ)\n\
                    [2.000000] blk_update_request: critical medium error, dev sdb, sector 8 op \
                    0x0:(READ)\n\
                    [3.000000] blk_update_request: critical medium error, dev nvme1n1, sector 8 op \
                    0x0:(READ)\n\
                    ";
        let of = |asked: &str| {
            let mut recording = Recording::new();
            iowhy_read::scan("log", &mut text.as_bytes(), None, &mut recording).unwrap();
            about(&mut recording, &[asked.to_string()]);
            let facts = recording.listings.iter().flat_map(|listing| &listing.facts);
            let ids: BTreeSet<_> = facts.filter_map(|fact| fact.device).collect();
            ids.into_iter().map(|id| recording.device_of(id).name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(of("sdb"), ["sdb"]);
        assert_eq!(of("sdb1"), ["sdb"]);
        assert_eq!(of("sdc"), [""; 0]);
        assert_eq!(of("nvme1n1"), ["nvme1n1"]);
    }

    #[test]
    fn names_of_one_disk() {
        for (one, other) in [("sda", "sda1"), ("nvme0", "nvme0n1"), ("nvme0n1", "nvme0n1p2")] {
            assert!(is_one(one, other) && is_one(other, one), "{one} {other}");
        }
        for (one, other) in
            [("sda", "sdaa"), ("nvme0n1", "nvme0n11"), ("sd", "sda"), ("md1", "md12")]
        {
            assert!(!is_one(one, other) && !is_one(other, one), "{one} {other}");
        }
    }
}
