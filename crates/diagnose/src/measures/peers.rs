//! One disk compared with others under the same load: the two-view z-score.
//!
//! A plain z-score fails in a small group: with N values none can exceed sqrt(N - 1), because
//! the outlier widens the spread it is measured in. Here each disk is compared with the *others*,
//! in two views (median, and mean without the worst request), in units of a spread that never
//! includes the suspect.

use super::spread;
use iowhy_model::Histogram;

/// What is known of one disk.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Peer {
    /// Requests.
    pub n: u64,
    /// Median latency, ns, if single latencies or a histogram are known.
    pub median_ns: Option<f64>,
    /// Mean latency without the worst request, ns.
    pub trimmed_mean_ns: f64,
    /// Standard deviation of a request's latency over the mean, without the worst request.
    pub cv: f64,
    /// Requests per second, or any measure of load comparable between the disks; the number of
    /// requests unless set.
    pub rate: f64,
}

impl Peer {
    /// From single latencies, ns; `None` with fewer than three.
    pub fn from_latencies(latencies_ns: &[f64]) -> Option<Peer> {
        let sorted = spread::sorted(latencies_ns);
        let (_, kept) = sorted.split_last()?;
        Some(Peer {
            n: sorted.len() as u64,
            median_ns: spread::median(&sorted),
            trimmed_mean_ns: spread::mean(kept).filter(|mean| *mean > 0.0)?,
            cv: spread::cv(kept)?,
            rate: sorted.len() as f64,
        })
    }

    /// From a row of a table: requests, mean, smallest and largest latency, ns. The spread is
    /// estimated from the largest: of n exponential latencies it is ln n + 0.577 means (Gumbel,
    /// 1958). `None` if the row contradicts itself.
    pub fn from_summary(n: u64, mean_ns: f64, min_ns: f64, max_ns: f64) -> Option<Peer> {
        if n < 3 || mean_ns <= 0.0 || max_ns < mean_ns || min_ns > mean_ns {
            return None;
        }
        let trimmed_mean_ns = (mean_ns * n as f64 - max_ns) / (n - 1) as f64;
        let expected = (n as f64).ln() + 0.577;
        (trimmed_mean_ns > 0.0).then_some(Peer {
            n,
            median_ns: None,
            trimmed_mean_ns,
            cv: max_ns / mean_ns / expected,
            rate: n as f64,
        })
    }

    /// From a histogram. Values are taken at the middle of their buckets, but the mean and the
    /// largest are exact if the histogram has them.
    pub fn from_histogram(histogram: &Histogram) -> Option<Peer> {
        let n = histogram.count();
        if n < 3 {
            return None;
        }
        let (mean_ns, _) = histogram.mean_ns()?;
        let top = histogram.filled().last()?;
        let max_ns = histogram.max_ns.map_or_else(|| middle(top.0, top.1), |max| max as f64);
        let trimmed_mean_ns = (mean_ns * n as f64 - max_ns) / (n - 1) as f64;
        let squares: f64 = histogram
            .filled()
            .map(|(low, high, count)| (middle(low, high) - mean_ns).powi(2) * count as f64)
            .sum();
        let one_bucket = histogram.filled().count() == 1;
        (trimmed_mean_ns > 0.0).then_some(Peer {
            n,
            median_ns: if one_bucket { None } else { median_of(histogram) },
            trimmed_mean_ns,
            cv: (squares / n as f64).sqrt() / mean_ns,
            rate: n as f64,
        })
    }
}

fn middle(low: u64, high: u64) -> f64 {
    if high == u64::MAX { low as f64 } else { (low as f64 + high as f64) / 2.0 }
}

/// The median, interpolated within its bucket: peers share their buckets, and without that two
/// disks in one bucket would be identical.
fn median_of(histogram: &Histogram) -> Option<f64> {
    let half = histogram.count() as f64 / 2.0;
    let mut seen = 0.0;
    for (low, high, count) in histogram.filled() {
        let count = count as f64;
        if seen + count >= half {
            let width = if high == u64::MAX { 0.0 } else { high as f64 - low as f64 };
            return Some(low as f64 + width * (half - seen) / count);
        }
        seen += count;
    }
    None
}

/// The quantity in which a disk is an outlier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum View {
    /// The median.
    Median,
    /// The mean without the worst request.
    TrimmedMean,
}

/// One disk compared with its peers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PeerRank {
    /// The view in which it is the largest outlier.
    pub view: View,
    /// Its value over the median of the others' values.
    pub ratio: f64,
    /// Two-view z-score.
    pub z: f64,
    /// What z must exceed, given the number of disks and this disk's load.
    pub threshold: f64,
    /// Requests of this disk over the median of the others'.
    pub load_ratio: f64,
    /// Whether z and ratio are over their bounds.
    pub flagged: bool,
}

/// A disk this much slower than its peers matters; less is the spread of a model series. This and
/// the next four: docs/METHOD.md, 7 Peers.
const RATIO: f64 = 1.3;
/// Natural spread between healthy disks of one model, as a share: the floor under any spread.
const NATURAL: f64 = 0.10;
/// Sigmas a disk must stand out by, before the number of disks is counted in.
const SIGMAS: f64 = 3.0;
/// Further sigmas per doubling of the number of disks: more disks, more chances.
const SIGMAS_PER_DOUBLING: f64 = 0.25;
/// A disk with this many times its peers' load is allowed to be slower ...
const BUSIER: f64 = 1.4;
/// ... by this factor on the threshold.
const BUSIER_FACTOR: f64 = 1.35;

impl PeerRank {
    /// Whether more requests explain as much: one server that is sent k times the requests has up
    /// to k times as many in flight, and each waits for those before it (Little's law).
    pub fn is_explained_by_load(&self) -> bool {
        self.load_ratio > BUSIER && self.ratio <= self.load_ratio
    }
}

/// Compares each disk with all others; one result per disk, in their order. Empty with fewer than
/// two disks; for two and three the spread is the natural one, and the caller knows more.
pub fn compare(peers: &[Peer]) -> Vec<PeerRank> {
    if peers.len() < 2 {
        return Vec::new();
    }
    (0..peers.len()).filter_map(|candidate| standing(peers, candidate)).collect()
}

fn standing(peers: &[Peer], candidate: usize) -> Option<PeerRank> {
    let own = peers.get(candidate)?;
    let others: Vec<&Peer> =
        peers.iter().enumerate().filter(|(i, _)| *i != candidate).map(|(_, peer)| peer).collect();
    let medians: Option<Vec<f64>> = others.iter().map(|peer| peer.median_ns).collect();
    let means: Vec<f64> = others.iter().map(|peer| peer.trimmed_mean_ns).collect();
    let by_median = own
        .median_ns
        .zip(medians)
        .and_then(|(value, others_ns)| view(value, &others_ns, own, &others));
    let by_mean = view(own.trimmed_mean_ns, &means, own, &others);
    let (view, (ratio, z)) = match (by_median, by_mean) {
        (Some(median), Some(mean)) if median.1 > mean.1 => (View::Median, median),
        (_, Some(mean)) => (View::TrimmedMean, mean),
        (Some(median), None) => (View::Median, median),
        (None, None) => return None,
    };
    let rates: Vec<f64> = others.iter().map(|peer| peer.rate).collect();
    let load_ratio = own.rate / spread::median(&rates).filter(|rate| *rate > 0.0)?;
    let plain = SIGMAS + SIGMAS_PER_DOUBLING * (peers.len() as f64).log2();
    let threshold = if load_ratio > BUSIER { plain * BUSIER_FACTOR } else { plain };
    let flagged = ratio > RATIO && z > threshold;
    Some(PeerRank { view, ratio, z, threshold, load_ratio, flagged })
}

/// Ratio and z of one value against the others' values.
fn view(value: f64, others_ns: &[f64], own: &Peer, others: &[&Peer]) -> Option<(f64, f64)> {
    let logs: Vec<f64> = others_ns.iter().filter(|v| **v > 0.0).map(|v| v.ln()).collect();
    let center = spread::median(&logs)?;
    // 1.483 times the MAD is a standard deviation; the rest corrects it in small groups.
    let small = 1.0 + 2.0 / (others.len() as f64).max(3.0);
    let between = 1.483 * spread::mad(&logs)? * small;
    let spreads: Vec<f64> = others.iter().map(|peer| peer.cv).collect();
    let within = spread::median(&spreads)?;
    let all = iowhy_model::numbers::total(others.iter().map(|peer| peer.n));
    // 1.57 = pi / 2: a median needs that many times the requests of a mean.
    let noise = within.powi(2) * (1.0 / own.n as f64 + 1.57 / all as f64);
    let unit = between.powi(2).max(NATURAL.powi(2) + noise).sqrt();
    let above = value.ln() - center;
    (above.is_finite() && unit > 0.0).then(|| (above.exp(), above / unit))
}

#[cfg(test)]
mod tests;
