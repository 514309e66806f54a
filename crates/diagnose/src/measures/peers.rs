//! One disk against the others that do the same work: the two-view z-score.

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
    /// Coefficient of variation of a request's latency, if known.
    pub cv: Option<f64>,
    /// Requests per second, or any measure of load comparable between the disks.
    pub rate: f64,
}

impl Peer {
    /// From single latencies, ns.
    pub fn from_latencies(latencies_ns: &[f64]) -> Option<Peer> {
        let _ = latencies_ns;
        None
    }

    /// From a row of a table: requests, mean, smallest and largest latency, ns.
    pub fn from_summary(n: u64, mean_ns: f64, min_ns: f64, max_ns: f64) -> Option<Peer> {
        let _ = (n, mean_ns, min_ns, max_ns);
        None
    }

    /// From a histogram.
    pub fn from_histogram(histogram: &Histogram) -> Option<Peer> {
        let _ = histogram;
        None
    }
}

/// The quantity in which a disk stands out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum View {
    /// The median.
    Median,
    /// The mean without the worst request.
    TrimmedMean,
}

/// How one disk stands among its peers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Standing {
    /// The view in which it stands out most.
    pub view: View,
    /// Its value over the median of the others' values.
    pub ratio: f64,
    /// Two-view z-score.
    pub z: f64,
    /// What z must exceed, given the number of disks and this disk's load.
    pub threshold: f64,
    /// Whether z and ratio are over their bounds.
    pub flagged: bool,
}

/// Holds each disk against all others; one standing per disk, in their order. Empty with fewer
/// than three disks.
pub fn compare(peers: &[Peer]) -> Vec<Standing> {
    let _ = peers;
    Vec::new()
}
