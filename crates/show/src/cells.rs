//! The cells of heat maps as numbers: each interval of the source, over common rows.

use iowhy_model::{Edges, Histogram, Nanos, Report, Stage, Time, series};

use crate::Style;
use crate::map_choice::MapChoice;
use crate::picture::middle;
use crate::scale::{rows, wanted};

/// The maximum number of intervals into which single requests are counted.
const COLUMNS: usize = 300;
/// Most rows; the sources' own are kept below.
const ROWS: usize = 512;

/// The map of one device.
pub struct Map {
    /// Its name.
    pub device: String,
    /// What the latencies cover.
    pub stage: Stage,
    /// Index of its input.
    pub input: usize,
    /// Edges of the rows, the lowest first.
    pub edges: Edges,
    /// What was watched, in order.
    pub columns: Vec<Column>,
}

/// One interval.
pub struct Column {
    /// When it began.
    pub start: Time,
    /// How long it was.
    pub length: Nanos,
    /// Requests per row.
    pub ios: Vec<u64>,
    /// Time waited per row, ns.
    pub waited_ns: Vec<f64>,
    /// Whether the sum of these is exact.
    pub exact: bool,
    /// The counts as the source has them.
    pub histogram: Histogram,
}

/// The maps of a report that have cells, at most this many.
pub fn maps(report: &Report, style: &Style, most: usize) -> Vec<Map> {
    let mut maps = Vec::new();
    let (choice, edges) = (MapChoice::of(report, style, most), Edges::standard());
    let listings = report.recording.listings.iter().enumerate();
    for (input, listing) in listings.filter(|(input, _)| choice.has_input(*input)) {
        let all = series(listing, &style.filter, &edges, COLUMNS, style.stage);
        let all = all.flat_map(|of_device| wanted(of_device, style.stage));
        for one in all.filter(|one| choice.has(input, one.device)) {
            let timed = || one.columns.iter().filter(|(_, length, _)| length.ns() > 0);
            let histograms: Vec<&Histogram> = timed().map(|(.., known)| known).collect();
            let Some(edges) = rows(&histograms, ROWS, 8) else { continue };
            let device = report.recording.devices().get(one.device.index());
            let columns =
                timed().map(|(start, length, known)| column(*start, *length, known, &edges));
            maps.push(Map {
                device: device.map_or(String::new(), |device| device.name.clone()),
                stage: one.stage,
                input,
                columns: columns.collect(),
                edges,
            });
        }
    }
    maps
}

fn column(start: Time, length: Nanos, known: &Histogram, edges: &Edges) -> Column {
    let (mut ios, mut waited_ns) = (vec![0u64; edges.buckets()], vec![0.0; edges.buckets()]);
    let estimate: f64 = known.filled().map(|(low, high, n)| middle(low, high) * n as f64).sum();
    let sum = known.sum_ns.filter(|sum| sum.is_finite() && *sum >= 0.0);
    let fit = sum.filter(|_| estimate > 0.0).map_or(1.0, |sum| sum / estimate);
    for (low, high, n) in known.filled() {
        let row = edges.index(low);
        if let (Some(ios), Some(waited)) = (ios.get_mut(row), waited_ns.get_mut(row)) {
            *ios = ios.saturating_add(n);
            *waited += middle(low, high) * n as f64 * fit;
        }
    }
    Column { start, length, ios, waited_ns, exact: sum.is_some(), histogram: known.clone() }
}
