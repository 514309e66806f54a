//! Healthy service times that are known better than by class: from the device's own history, from a
//! calibration, from its peers, or from its own best interval.
//!
//! A baseline is a text of one line per measurement, so that a person can read and edit it:
//!
//! ```text
//! # iowhy baseline 1
//! # device op bytes pattern median_ms sigma n from
//! sdb read 131072 sequential 1.92 0.10 400 monday.txt
//! ```

use std::fmt::Write;

use iowhy_model::Op;

use crate::baseline::healthy_time::{HealthyServiceTime, Request};
use crate::measures::spread;

/// First line of a stored baseline.
const HEADING: &str = "# iowhy baseline 1";
/// Measurements kept of one kind: a month of days.
const KEPT: usize = 30;
/// Sizes that differ by less than this are one kind.
const SAME_SIZE: f64 = 1.5;
/// Minimum spread of a device's own baseline, however constant it was: temperature, firmware and
/// position on the platter change it (inner tracks are half as fast, but only for large reads).
pub(crate) const LEAST_SIGMA: f64 = 0.15;

/// The source of the healthy service time, unless the user states it.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum HealthyOrigin {
    /// The class table, narrowed by observations of the device.
    #[default]
    Class,
    /// The device's own best interval in the capture.
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
    /// Whether they were sequential, if known.
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
    /// # Errors If it is invalid; names the wrong line.
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
            lines.push(known.ok_or_else(|| format!("line {} is not a measurement", place + 1))?);
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

    /// Adds measurements; the last ones of each kind are kept.
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

    /// The healthy service time of a kind of request on a disk, if measured.
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
            several => format!("{} measurements of this device", several.len()),
        };
        // The spread of single requests is not that of their median: a third of it is kept, because
        // requests of the next capture differ slightly.
        Some(HealthyServiceTime::known(
            median_ms,
            (within / 3.0).hypot(between).max(LEAST_SIGMA),
            &from,
        ))
    }
}

impl BaselineEntry {
    /// The name that means every disk.
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

    /// Whether it is of the same kind of request, on any disk.
    pub(crate) fn resembles(&self, other: &BaselineEntry) -> bool {
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
        assert_eq!(Baseline::parse(&torn), Err("line 2 is not a measurement".to_string()));
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
