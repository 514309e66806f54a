//! A scenario in virtual time: its loads against its disks, as a tracer would have recorded it.

use std::collections::BTreeMap;
use std::fmt::Write;

use iowhy_model::Random;

use super::WrittenScenario;
use crate::disk::{Disk, Fault, Model, Request, Service};
use crate::simulate::Load;

/// Size of every disk.
const BYTES: u64 = 16 << 30;
/// Least time the system takes from a completion to the next request, ns.
const TURNAROUND: u64 = 20_000;
/// From the arrival of a request in the block layer to its issue to the driver, ns.
const PLUG: u64 = 3_000;

/// A sender: a place in a load.
struct Sender {
    load: usize,
    /// When it sends next, ns.
    at: u64,
    random: Random,
}

impl WrittenScenario {
    /// The capture that `iowhy snoop --json` would have written of it.
    ///
    /// # Errors
    /// If a model, fault or load of it is not known.
    pub fn capture(&self, seed: u64) -> Result<String, String> {
        let model = Model::parse(&self.model)?;
        let mut seen = Vec::new();
        for place in 0..=self.beside.0 {
            let faulty = place == 0 || self.beside.1;
            let faults = if faulty { self.faults.as_slice() } else { &[] };
            let faults: Result<Vec<Fault>, String> =
                faults.iter().map(|fault| Fault::parse(fault)).collect();
            let seed = seed.wrapping_add(u64::from(place));
            let mut disk = Disk::new(model.mechanism(BYTES), &faults?, seed, 0);
            let name = model.device(u8::try_from(place).unwrap_or(u8::MAX));
            let done = play(&mut disk, self, seed)?;
            seen.extend(done.into_iter().map(|(request, served)| (name.clone(), request, served)));
        }
        let begun = self.before * 1_000_000_000;
        let end = begun + self.seconds * 1_000_000_000;
        seen.retain(|(_, request, served)| request.arrival >= begun && served.due <= end);
        seen.sort_by_key(|(_, _, served)| served.due);
        Ok(lines(&seen, begun, end))
    }
}

/// Plays the loads of a scenario against one disk; requests in order of arrival.
fn play(
    disk: &mut Disk,
    scenario: &WrittenScenario,
    seed: u64,
) -> Result<Vec<(Request, Service)>, String> {
    let loads: Result<Vec<Load>, String> =
        scenario.loads.iter().map(|load| Load::parse(load)).collect();
    let loads = loads?;
    let mut senders = Vec::new();
    for (load, asked) in loads.iter().enumerate() {
        for one in 0..asked.senders() {
            let mut random =
                Random::seeded(seed.wrapping_add(1000 * (load as u64 + 1) + one as u64));
            let at = asked.first(&mut random);
            senders.push(Sender { load, at, random });
        }
    }
    let end = (scenario.before + scenario.seconds) * 1_000_000_000;
    let mut next = vec![0u64; loads.len()];
    let mut done = Vec::new();
    while let Some(sender) = senders.iter_mut().min_by_key(|sender| sender.at) {
        let (Some(load), Some(next)) = (loads.get(sender.load), next.get_mut(sender.load)) else {
            break;
        };
        if sender.at > end {
            break;
        }
        let bytes = load.bytes;
        let room = (BYTES - u64::from(bytes)) / 4096 + 1;
        let offset = if load.random { sender.random.bits() % room * 4096 } else { *next };
        *next = (offset + u64::from(bytes)) % (BYTES - u64::from(bytes));
        let request = Request { op: load.op, offset, bytes, arrival: sender.at };
        let served = disk.serve(&request);
        sender.at =
            load.after(sender.at, served.due, &mut sender.random).max(served.due + TURNAROUND);
        done.push((request, served));
    }
    Ok(done)
}

/// Lines of `iowhy.event/1` after one of `iowhy.source/1` (docs/JSON.md).
fn lines(seen: &[(String, Request, Service)], begun: u64, end: u64) -> String {
    let mut out = format!(
        "{{\"schema\":\"iowhy.source/1\",\"format\":\"block-trace\",\"input\":\"simulated\",\"lines\":null,\
         \"level\":\"D\",\"level_words\":\"request \
         trace\",\"sampling\":\"traced\",\"sees_queue\":true,\
         \"resolution_ns\":1,\"watched_ns\":{},\"host\":null,\"records\":{},\"folded\":0,\"skipped\":0,\
         \"lost\":0,\"losses\":[],\"notes\":[]}}\n",
        end - begun,
        seen.len()
    );
    // Of each disk when requests arrived and when they were answered, both sorted.
    let mut flying: BTreeMap<&str, (Vec<u64>, Vec<u64>)> = BTreeMap::new();
    for (name, request, served) in seen {
        let (arrived, answered) = flying.entry(name).or_default();
        arrived.push(request.arrival);
        answered.push(served.due);
    }
    for (arrived, answered) in flying.values_mut() {
        arrived.sort_unstable();
        answered.sort_unstable();
    }
    for (name, request, served) in seen {
        let by = |times: &[u64]| times.partition_point(|time| *time <= request.arrival);
        let depth = flying
            .get(name.as_str())
            .map_or(0, |(arrived, answered)| by(arrived).saturating_sub(by(answered)));
        let queued = request.arrival - begun;
        let _ = writeln!(
            out,
            "{{\"schema\":\"iowhy.event/1\",\"device\":\"{name}\",\"op\":\"{}\",\"flags\":\"{}\",\
             \"queued_ns\":{queued},\"issued_ns\":{},\"completed_ns\":{},\"sector\":{},\"bytes\":{},\
             \"pid\":4242,\"comm\":\"load\",\"depth\":{depth},\"error\":{},\"layer\":\"block\"}}",
            request.op.name(),
            request.op.letter(),
            queued + PLUG.min(served.due - request.arrival),
            served.due - begun,
            request.offset / 512,
            request.bytes,
            if served.failed { "5" } else { "null" },
        );
    }
    out
}
