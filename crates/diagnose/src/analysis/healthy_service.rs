//! Healthy service times learned from a recording: of its disks at their best, of their peers, and
//! of those that no finding blames.

use iowhy_model::{Finding, Recording, Verdict};

use crate::analysis::groups;
use crate::baseline::history::{Baseline, BaselineEntry, LEAST_SIGMA};
use crate::facts::disk_names;
use crate::measures::{regimes, service, spread};

/// Minimum requests of a kind for keeping their median: it is then known to a fifth.
const FEWEST: usize = 20;
/// Peers needed (docs/METHOD.md, 7 Peers: fewer than four disks are not a group).
const PEERS: usize = 3;

impl Baseline {
    /// Service times of the disks that nothing accuses, and the accused disks, which are not
    /// learned. A faulty disk must not become its own baseline.
    pub fn learned(
        recording: &Recording,
        findings: &[Finding],
        from: &str,
    ) -> (Baseline, Vec<String>) {
        let accused = |disk: &str| {
            findings.iter().any(|finding| {
                let about = finding.subject.device;
                let same = about.is_none_or(|id| disk_names::of(recording, id) == disk);
                let clears = matches!(finding.verdict, Verdict::Healthy | Verdict::Insufficient);
                finding.stands() && !clears && same
            })
        };
        let (mut lines, mut refused) = (Vec::new(), Vec::new());
        for known in measured(recording, from) {
            if !accused(&known.device) {
                lines.push(known);
            } else if !refused.contains(&known.device) {
                refused.push(known.device);
            }
        }
        (Baseline::new(lines), refused)
    }
}

/// The best interval of each device.
pub(crate) fn own(recording: &Recording) -> Baseline {
    Baseline::new(best_stretches(recording))
}

/// For each device and kind, the median of its peers.
pub(crate) fn peers(recording: &Recording) -> Baseline {
    let all = measured(recording, "peers");
    let lines = all.iter().filter_map(|known| {
        let of_peers: Vec<f64> = all
            .iter()
            .filter(|other| other.device != known.device && other.resembles(known))
            .filter(|other| disk_names::kind(&other.device) == disk_names::kind(&known.device))
            .map(|other| other.median_ms)
            .collect();
        let (median_ms, n) = (spread::median(&of_peers)?, of_peers.len());
        let wide = spread::mad(&of_peers)? * 1.483 / median_ms;
        let from = format!("its {n} peers in this capture");
        let sigma = wide.max(LEAST_SIGMA);
        (n >= PEERS).then(|| BaselineEntry { median_ms, sigma, n: n as u64, from, ..known.clone() })
    });
    Baseline::new(lines.collect())
}

/// The services of each kind on each device, in order, of listings that were kept whole.
fn kinds(recording: &Recording) -> Vec<(BaselineEntry, Vec<f64>)> {
    let mut all = Vec::new();
    for listing in recording.listings.iter().filter(|listing| listing.is_in_sequence()) {
        for trace in groups::spans(listing) {
            let device = disk_names::of(recording, trace.device);
            let services = service::services(&trace.spans, 1);
            for group in trace.groups.into_iter().filter(|group| group.bytes > 0) {
                // What waited in a queue shows nothing: the service is bounded by the latency.
                let ms: Vec<f64> = group
                    .members
                    .iter()
                    .filter_map(|place| services.get(*place))
                    .map(|ns| ns / 1e6)
                    .collect();
                let (op, bytes, sequential) = (group.op, group.bytes, group.sequential);
                let device = device.clone();
                let (n, from) = (ms.len() as u64, String::new());
                let (median_ms, sigma) = (0.0, 0.0);
                let known =
                    BaselineEntry { device, op, bytes, sequential, median_ms, sigma, n, from };
                all.push((known, ms));
            }
        }
    }
    all.retain(|(known, ms)| !known.device.is_empty() && ms.len() >= FEWEST);
    all
}

fn measured(recording: &Recording, from: &str) -> Vec<BaselineEntry> {
    let kinds = kinds(recording).into_iter();
    kinds.filter_map(|(known, ms)| filled(known, &ms, from.to_string())).collect()
}

/// The same from the fastest interval of each kind.
fn best_stretches(recording: &Recording) -> Vec<BaselineEntry> {
    let kinds = kinds(recording).into_iter();
    kinds
        .filter_map(|(known, ms)| {
            let positive: Vec<f64> = ms.iter().map(|ms| ms.max(1e-6)).collect();
            let best = regimes::cut(&positive)
                .into_iter()
                .filter_map(|range| positive.get(range))
                .filter(|stretch| stretch.len() >= FEWEST)
                .min_by(|a, b| {
                    let of = |values: &[f64]| spread::median(values).unwrap_or(f64::INFINITY);
                    of(a).total_cmp(&of(b))
                })?;
            filled(known, best, format!("its own fastest {} requests in this capture", best.len()))
        })
        .collect()
}

fn filled(known: BaselineEntry, ms: &[f64], from: String) -> Option<BaselineEntry> {
    let sorted = spread::sorted(ms);
    let at = |share: f64| sorted.get((share * sorted.len() as f64) as usize).copied();
    let (low, median_ms, high) = (at(0.25)?, at(0.5)?, at(0.75)?);
    // Quartiles of a normal logarithm are 0.674 sigma from its middle.
    let sigma = ((high.max(1e-9) / low.max(1e-9)).ln() / 1.349).clamp(0.0, 3.0);
    (median_ms > 0.0).then_some(BaselineEntry {
        median_ms,
        sigma,
        n: ms.len() as u64,
        from,
        ..known
    })
}
