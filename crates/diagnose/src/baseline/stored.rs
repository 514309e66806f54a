//! Healthy service times that are known better than by class: from the device's own history, from
//! a calibration, from its peers, or from its own best stretch.
//!
//! A baseline is a text of one line per measurement, so that a person can read and mend it:
//!
//! ```text
//! # iowhy baseline 1
//! # device op bytes pattern median_ms sigma n from
//! sdb read 131072 sequential 1.92 0.10 400 monday.txt
//! ```

use std::fmt::Write;

use iowhy_model::{Finding, Op, Recording, Verdict};

use crate::analysis::groups;
use crate::baseline::healthy_time::{HealthyServiceTime, Request};
use crate::facts::disk_names;
use crate::measures::regimes;
use crate::measures::{service, spread};

/// First line of a stored baseline.
const HEADING: &str = "# iowhy baseline 1";
/// Requests of a kind from which on their median is worth keeping: it is then known to a fifth.
const FEWEST: usize = 20;
/// Measurements kept of one kind: a month of days.
const KEPT: usize = 30;
/// Sizes that differ by less than this are one kind.
const SAME_SIZE: f64 = 1.5;
/// A device of one's own is known no better than this, however even it was: temperature, firmware
/// and place on the platter move it (inner tracks are half as quick, but large reads only).
const LEAST_SIGMA: f64 = 0.15;
/// Peers needed (docs/METHOD.md, 7 Peers: fewer than four disks are no group).
const PEERS: usize = 3;

/// Where the healthy service time comes from, unless the user states it.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum HealthyOrigin {
    /// The class table, sharpened by what the device shows.
    #[default]
    Class,
    /// The device's own best stretch in the capture.
    Own,
    /// The median of its peers in the capture.
    Peers,
    /// A baseline that was stored: by a history or a calibration.
    Stored(Baseline),
}

/// Measured healthy service times.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Baseline {
    lines: Vec<BaselineEntry>,
}

/// One measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct BaselineEntry {
    /// The disk's name, or [`BaselineEntry::ANY`].
    pub device: String,
    /// The operation.
    pub op: Op,
    /// The size of its requests.
    pub bytes: u32,
    /// Whether they went on where earlier ones ended, if known.
    pub sequential: Option<bool>,
    /// Median service time, ms.
    pub median_ms: f64,
    /// Spread of its logarithm.
    pub sigma: f64,
    /// Requests it rests on.
    pub n: u64,
    /// Where it was measured.
    pub from: String,
}

impl Baseline {
    /// A baseline of given measurements.
    pub fn new(lines: Vec<BaselineEntry>) -> Baseline {
        Baseline { lines }
    }

    /// Reads a stored baseline.
    ///
    /// # Errors
    /// If it is none; says which line is wrong.
    pub fn parse(text: &str) -> Result<Baseline, String> {
        if text.lines().next().map(str::trim) != Some(HEADING) {
            return Err(format!("it does not begin with `{HEADING}`"));
        }
        let mut lines = Vec::new();
        for (place, line) in text.lines().enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let known = BaselineEntry::parse(line);
            lines.push(known.ok_or_else(|| format!("line {} is no measurement", place + 1))?);
        }
        Ok(Baseline { lines })
    }

    /// The baseline as it is stored.
    pub fn text(&self) -> String {
        let mut text = format!("{HEADING}\n# device op bytes pattern median_ms sigma n from\n");
        for known in &self.lines {
            let pattern = match known.sequential {
                Some(true) => "sequential",
                Some(false) => "random",
                None => "any",
            };
            let BaselineEntry { device, op, bytes, median_ms, sigma, n, from, .. } = known;
            let op = op.name();
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{device} {op} {bytes} {pattern} {median_ms:.6} {sigma:.3} {n} {from}"
            );
        }
        text
    }

    /// How many measurements there are.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// What a recording teaches of the disks that nothing accuses, and the disks it teaches nothing
    /// of because something does. A sick disk must not become its own yardstick.
    pub fn learned(
        recording: &Recording,
        findings: &[Finding],
        from: &str,
    ) -> (Baseline, Vec<String>) {
        let accused = |disk: &str| {
            findings.iter().any(|finding| {
                let about = finding.subject.device;
                let same =
                    about.is_none_or(|id| disk_names::disk(&recording.device_of(id).name) == disk);
                let acquits = matches!(finding.verdict, Verdict::Healthy | Verdict::Insufficient);
                finding.stands() && !acquits && same
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
        (Baseline { lines }, refused)
    }

    /// Adds what was learned; of each kind the last ones are kept.
    pub fn add(&mut self, learned: Baseline) {
        self.lines.extend(learned.lines);
        let mut kept: Vec<BaselineEntry> = Vec::new();
        for known in self.lines.drain(..).rev() {
            if kept.iter().filter(|other| other.same_kind(&known)).count() < KEPT {
                kept.push(known);
            }
        }
        kept.reverse();
        self.lines = kept;
    }

    /// The best stretch of each device.
    pub(crate) fn own(recording: &Recording) -> Baseline {
        Baseline { lines: best_stretches(recording) }
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
            (n >= PEERS).then(|| BaselineEntry {
                median_ms,
                sigma,
                n: n as u64,
                from,
                ..known.clone()
            })
        });
        Baseline { lines: lines.collect() }
    }

    /// The healthy service time of a kind of request on a disk, if it was ever measured.
    pub(crate) fn of(&self, disk: &str, request: Request) -> Option<HealthyServiceTime> {
        let near: Vec<&BaselineEntry> = self
            .lines
            .iter()
            .filter(|known| known.device == disk || known.device == BaselineEntry::ANY)
            .filter(|known| known.op == request.op)
            .filter(|known| ratio(f64::from(known.bytes), request.bytes) < SAME_SIZE)
            .filter(|known| match (known.sequential, request.sequential) {
                (Some(a), Some(b)) => a == b,
                _ => true,
            })
            .collect();
        let medians: Vec<f64> = near.iter().map(|known| known.median_ms).collect();
        let median_ms = spread::median(&medians).filter(|ms| *ms > 0.0)?;
        let within = near.iter().map(|known| known.sigma).fold(LEAST_SIGMA, f64::max);
        let logs: Vec<f64> = medians.iter().map(|ms| ms.max(1e-9).ln()).collect();
        let between = spread::mad(&logs).unwrap_or(0.0) * 1.483;
        let from = match near.as_slice() {
            [only] => only.from.clone(),
            several => format!("{} measurements of it", several.len()),
        };
        // The spread of single requests is not that of their median: a third of it is kept, for
        // the next capture's requests are not quite the same.
        Some(HealthyServiceTime::known(
            median_ms,
            (within / 3.0).hypot(between).max(LEAST_SIGMA),
            &from,
        ))
    }
}

impl BaselineEntry {
    /// The name that stands for every disk.
    pub const ANY: &str = "*";

    fn parse(line: &str) -> Option<BaselineEntry> {
        let mut words = line.splitn(8, ' ');
        let mut next = || words.next().filter(|word| !word.is_empty());
        let known = BaselineEntry {
            device: next()?.to_string(),
            op: Op::from_name(next()?)?,
            bytes: next()?.parse().ok()?,
            sequential: match next()? {
                "sequential" => Some(true),
                "random" => Some(false),
                "any" => None,
                _ => return None,
            },
            median_ms: next()?.parse().ok()?,
            sigma: next()?.parse().ok()?,
            n: next()?.parse().ok()?,
            from: next()?.to_string(),
        };
        let sound = known.median_ms.is_finite() && known.median_ms > 0.0 && known.sigma >= 0.0;
        (sound && known.sigma.is_finite()).then_some(known)
    }

    fn resembles(&self, other: &BaselineEntry) -> bool {
        self.op == other.op
            && self.sequential == other.sequential
            && ratio(f64::from(self.bytes), f64::from(other.bytes)) < SAME_SIZE
    }

    fn same_kind(&self, other: &BaselineEntry) -> bool {
        self.device == other.device && self.bytes == other.bytes && self.resembles(other)
    }
}

fn ratio(a: f64, b: f64) -> f64 {
    if a <= 0.0 || b <= 0.0 { f64::INFINITY } else { (a / b).max(b / a) }
}

/// The services of each kind on each device, in order, of listings that were kept whole.
fn kinds(recording: &Recording) -> Vec<(BaselineEntry, Vec<f64>)> {
    let mut all = Vec::new();
    for listing in recording.listings.iter().filter(|listing| listing.is_in_sequence()) {
        for trace in groups::spans(listing) {
            let device = disk_names::disk(&recording.device_of(trace.device).name);
            let services = service::services(&trace.spans, 1);
            for group in trace.groups.into_iter().filter(|group| group.bytes > 0) {
                // What waited in a queue says nothing: the service is bounded by the latency.
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

/// The same from the stretch of each kind in which it was quickest.
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
            filled(known, best, format!("its own best {} requests here", best.len()))
        })
        .collect()
}

fn filled(known: BaselineEntry, ms: &[f64], from: String) -> Option<BaselineEntry> {
    let sorted = spread::sorted(ms);
    let at = |share: f64| sorted.get((share * sorted.len() as f64) as usize).copied();
    let (low, median_ms, high) = (at(0.25)?, at(0.5)?, at(0.75)?);
    // Quartiles of a normal logarithm lie 0.674 sigma from its middle.
    let sigma = ((high.max(1e-9) / low.max(1e-9)).ln() / 1.349).clamp(0.0, 3.0);
    (median_ms > 0.0).then_some(BaselineEntry {
        median_ms,
        sigma,
        n: ms.len() as u64,
        from,
        ..known
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(device: &str, bytes: u32, median_ms: f64) -> BaselineEntry {
        let (op, sequential) = (Op::Read, Some(false));
        let (sigma, n, from) = (0.2, 100, "monday.txt".to_string());
        BaselineEntry {
            device: device.to_string(),
            op,
            bytes,
            sequential,
            median_ms,
            sigma,
            n,
            from,
        }
    }

    #[test]
    fn a_stored_baseline_reads_back() {
        let baseline = Baseline::new(vec![known("sda", 4096, 8.5), known("nvme0n1", 8192, 0.1)]);
        assert_eq!(Baseline::parse(&baseline.text()), Ok(baseline));
        assert!(Baseline::parse("sda read 4096").is_err());
        let torn = format!("{HEADING}\nsda read 4096 random NaN 0.2 1 x\n");
        assert_eq!(Baseline::parse(&torn), Err("line 2 is no measurement".to_string()));
    }

    #[test]
    fn the_median_of_the_history_counts() {
        let days = [8.0, 8.4, 8.2, 30.0, 8.1].map(|ms| known("sda", 4096, ms));
        let baseline = Baseline::new(days.to_vec());
        let request = Request { op: Op::Read, bytes: 4096.0, sequential: Some(false) };
        let s0 = baseline.of("sda", request).unwrap();
        assert!((s0.median_ms() - 8.2).abs() < 0.01, "{s0:?}");
        assert!(s0.assumption.contains("5 measurements"), "{}", s0.assumption);
        assert_eq!(baseline.of("sdb", request), None);
        assert_eq!(baseline.of("sda", Request { bytes: 131_072.0, ..request }), None);
    }

    #[test]
    fn a_history_keeps_the_last_month() {
        let mut baseline = Baseline::default();
        for day in 0..40 {
            baseline.add(Baseline::new(vec![known("sda", 4096, f64::from(day) + 1.0)]));
        }
        assert_eq!(baseline.len(), KEPT);
        assert_eq!(baseline.lines[0].median_ms, 11.0);
    }
}
