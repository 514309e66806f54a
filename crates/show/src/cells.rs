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

/// I/Os that the cell of most I/Os of a drawn map should hold: fewer differ by chance.
const EACH: u64 = 5;
/// How many stretches are joined where cells hold fewer, and rows to a power of two, finest first.
const COARSER: [(usize, u64); 5] = [(1, 8), (2, 8), (2, 4), (3, 4), (5, 4)];

/// The map of one device.
pub(crate) struct Map {
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
pub(crate) struct Column {
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
pub(crate) fn maps(report: &Report, style: &Style, most: usize) -> Vec<Map> {
    all(report, style, most, &COARSER[..1])
}

/// The same to be looked at: few I/Os are counted into larger cells.
pub(crate) fn drawn_maps(report: &Report, style: &Style, most: usize) -> Vec<Map> {
    all(report, style, most, &COARSER)
}

fn all(report: &Report, style: &Style, most: usize, sizes: &[(usize, u64)]) -> Vec<Map> {
    let mut maps = Vec::new();
    let (choice, edges) = (MapChoice::of(report, style, most), Edges::standard());
    let listings = report.recording.listings.iter().enumerate();
    for (input, listing) in listings.filter(|(input, _)| choice.has_input(*input)) {
        let all = series(listing, &style.filter, &edges, COLUMNS, style.stage);
        let all = all.flat_map(|of_device| wanted(of_device, style.stage));
        for one in all.filter(|one| choice.has(input, one.device)) {
            let timed = one.columns.iter().filter(|(_, length, _)| length.ns() > 0);
            let timed: Vec<Stretch> = timed.cloned().collect();
            // Those of a source are as long as they are.
            let may_join = timed.len() <= COLUMNS && !listing.events.is_empty();
            let sizes = if may_join { sizes } else { sizes.get(..1).unwrap_or_default() };
            let mut best = None;
            for (joined, finest) in sizes {
                best = cells(&timed, *joined, *finest).or(best);
                if best.as_ref().is_some_and(|(_, columns)| are_full(columns)) {
                    break;
                }
            }
            let Some((edges, columns)) = best else { continue };
            let device = report.recording.devices().get(one.device.index());
            maps.push(Map {
                device: device.map_or(String::new(), |device| device.name.clone()),
                stage: one.stage,
                input,
                columns,
                edges,
            });
        }
    }
    maps
}

/// A stretch of time with what was counted in it.
type Stretch = (Time, Nanos, Histogram);

/// Cells of so many joined stretches and at most so many rows to a power of two; `None` if nothing
/// was counted.
fn cells(timed: &[Stretch], joined: usize, finest: u64) -> Option<(Edges, Vec<Column>)> {
    let histograms: Vec<&Histogram> = timed.iter().map(|(.., known)| known).collect();
    let edges = rows(&histograms, ROWS, finest)?;
    let one = |some: &[Stretch]| {
        let ((start, ..), (last, length, _)) = (some.first()?, some.last()?);
        let mut known = some.first()?.2.clone();
        some.iter().skip(1).for_each(|(.., other)| _ = known.merge(other));
        Some(column(*start, *last + *length - *start, &known, &edges))
    };
    let columns = timed.chunks(joined.max(1)).filter_map(one).collect();
    Some((edges, columns))
}

/// Whether half of all I/Os lie in cells of at least [`EACH`].
fn are_full(columns: &[Column]) -> bool {
    let all = columns.iter().flat_map(|column| &column.ios);
    let (full, total) = all.fold((0u64, 0u64), |(full, total), ios| {
        (full.saturating_add(if *ios >= EACH { *ios } else { 0 }), total.saturating_add(*ios))
    });
    full >= total / 2
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

#[cfg(test)]
mod tests {
    use iowhy_model::{Event, Layer, Level, Op, Recording, Sink, Source};

    use super::*;

    /// A device with an I/O of some latency of a millisecond every so many nanoseconds for 20 s.
    fn report(every: i64) -> Report {
        let mut recording = Recording::new();
        recording.begin(Source::new("block-trace", "live", Level::D));
        let device = recording.device("sda");
        for k in 0..20_000_000_000 / every {
            let mut event = Event::new(device, Op::Read, Layer::Block);
            event.queued = Some(Time::from_ns(k * every));
            let took = 500_000 + (k * 7919) % 1000 * 1000;
            event.completed = Some(Time::from_ns(k * every + took));
            recording.event(event);
        }
        recording.end();
        Report { recording, findings: Vec::new() }
    }

    #[test]
    fn few_ios_are_drawn_in_larger_cells() {
        let style = Style::plain();
        let sizes = |every: i64| {
            let map = drawn_maps(&report(every), &style, 1).swap_remove(0);
            let total: u64 = map.columns.iter().flat_map(|column| &column.ios).sum();
            assert_eq!(total as i64, 20_000_000_000 / every, "none is lost");
            let ends =
                map.columns.windows(2).all(|two| two[0].start + two[0].length == two[1].start);
            assert!(ends, "columns follow one another");
            (map.columns.len(), map.edges.buckets(), are_full(&map.columns))
        };
        let (many, few, fewest) = (sizes(200_000), sizes(6_666_667), sizes(100_000_000));
        assert_eq!((many.0, many.2), (300, true));
        assert!(few.0 < many.0 && few.2, "{few:?}, {many:?}");
        assert!(fewest.0 <= 60 && fewest.1 < many.1, "{fewest:?}, {many:?}");
        // Numbers for programs stay as fine as they are.
        assert_eq!(maps(&report(6_666_667), &style, 1)[0].columns.len(), 300);
    }
}
