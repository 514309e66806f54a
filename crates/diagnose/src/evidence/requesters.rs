//! Who waited for a device: programs with their control groups and files, by their share of the
//! time.

use std::collections::HashMap;

use iowhy_model::{DeviceId, Finding, Name, Requester};

use crate::analysis::{Analysis, requests};

/// Maximum number named.
const MOST: usize = 5;

/// Process id, name and control group.
type Who = (Option<u32>, Option<Name>, Option<Name>);

/// Time waited, and for which file.
#[derive(Default)]
struct WaitByFile {
    ns: f64,
    files: HashMap<Name, f64>,
}

/// Share of the requests from which on one program is the one that sends them (a choice).
const MOST_OF_IT: f64 = 0.6;

/// The program that sent most of a device's requests, all its processes together, and its share of
/// them.
pub fn main_program(
    analysis: &Analysis,
    listing: usize,
    device: DeviceId,
) -> Option<(String, f64)> {
    let known = analysis.requests.iter().find(|of| (of.listing, of.device) == (listing, device))?;
    let mut counted: HashMap<Name, usize> = HashMap::new();
    for comm in known.events.iter().filter_map(|event| event.comm) {
        *counted.entry(comm).or_default() += 1;
    }
    let (name, n) = counted.into_iter().max_by_key(|(name, n)| (*n, std::cmp::Reverse(*name)))?;
    let share = n as f64 / known.events.len() as f64;
    (share >= MOST_OF_IT).then(|| (analysis.recording.text(name).to_string(), share))
}

/// Adds the waiting processes to the first finding and to all firm ones.
pub fn add_requesters(analysis: &Analysis, findings: &mut [Finding]) {
    for (rank, finding) in findings.iter_mut().enumerate() {
        if rank == 0 || finding.stands() {
            finding.requesters = of(analysis, finding);
        }
    }
}

fn of(analysis: &Analysis, finding: &Finding) -> Vec<Requester> {
    let (Some(device), Some(place)) = (finding.subject.device, finding.subject.listings.first())
    else {
        return Vec::new();
    };
    let (disk, host) = (analysis.disk(device), analysis.host(*place));
    let mut all: HashMap<Who, WaitByFile> = HashMap::new();
    let mut sum = 0.0;
    let about = analysis.requests.iter();
    for known in about.filter(|of| of.disk == disk && analysis.host(of.listing) == host) {
        for event in &known.events {
            let Some(stretch) = requests::stretch(event) else { continue };
            let ns = requests::length_ns(stretch);
            sum += ns;
            let waited = all.entry((event.pid, event.comm, event.cgroup)).or_default();
            waited.ns += ns;
            if let Some(file) = event.file {
                *waited.files.entry(file).or_default() += ns;
            }
        }
    }
    let mut all: Vec<(Who, WaitByFile)> =
        all.into_iter().filter(|((pid, comm, _), _)| pid.is_some() || comm.is_some()).collect();
    all.sort_by(|a, b| b.1.ns.total_cmp(&a.1.ns).then(a.0.0.cmp(&b.0.0)));
    let text = |name: Option<Name>| name.map(|name| analysis.recording.text(name).to_string());
    let requester = |((pid, comm, cgroup), waited): (Who, WaitByFile)| {
        let file = waited.files.into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
        let file = text(file.map(|(file, _)| file));
        let share = waited.ns / f64::max(sum, 1.0);
        Requester { program: text(comm), pid, cgroup: text(cgroup), file, share }
    };
    all.into_iter().take(MOST).map(requester).collect()
}
