//! A series arranged in columns of the canvas: rates and waits per row, gaps kept.

use std::collections::HashMap;

use iowhy_model::{DeviceId, Edges, Filter, Histogram, Listing, Series};
use jiff::tz::TimeZone;

use crate::Style;
use crate::clock::Clock;
use crate::colour_scale::Scale;
use crate::paint::{Grid, Mark, TimeAxis, latency_label};
use crate::scale;
use crate::words::{duration, short};

/// What a map colours.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Measure {
    /// How many.
    Frequency,
    /// How much time.
    Intensity,
}

impl Measure {
    /// The heading of its map.
    pub(crate) fn heading(self) -> &'static str {
        match self {
            Measure::Frequency => "Frequency: I/Os per second",
            Measure::Intensity => "Intensity: time waited per second",
        }
    }

    /// The unit after the legend.
    pub(crate) fn unit(self) -> &'static str {
        match self {
            Measure::Frequency => "per s",
            Measure::Intensity => "per s",
        }
    }
}

/// The description of the axes, after the heading of the first map.
pub(crate) const AXES: &str = "  y: latency, x: time, colour: rate";

/// One column of canvas.
#[derive(Clone, Default)]
struct Column {
    seconds: f64,
    counts: Vec<f64>,
    waits: Vec<f64>,
    /// All that was counted, by rows, for the percentiles of it all.
    counted: Option<Histogram>,
}

/// A clock that began this many widths of the map before it is far off.
const FAR_OFF_WIDTHS: f64 = 20.0;

/// A series laid out.
pub(crate) struct Picture {
    /// All requests in it.
    pub ios: u64,
    /// Time of its left edge, s.
    pub start: f64,
    /// Time it covers, s.
    pub seconds: f64,
    /// Columns of cells.
    pub columns: usize,
    /// Whether each column's sum of latencies is known exactly.
    pub exact: bool,
    /// Whether medians and percentiles are drawn over the cells.
    marked: bool,
    edges: Edges,
    cells: Vec<Column>,
}

/// I/Os that an interval should have, so that neighbouring cells differ by more than chance:
/// a cell of ten is a third off. Fewer than [`SINGLE`] of a device are each seen as what they are.
const EACH: usize = 100;
const SINGLE: usize = 1000;
/// An interval is never wider than this many cells.
const WIDEST: usize = 4;

/// Into how many intervals single I/Os are counted, for a map of this many columns.
pub(crate) fn bins(listing: &Listing, filter: &Filter, columns: usize) -> usize {
    let mut ios: HashMap<DeviceId, usize> = HashMap::new();
    for event in listing.events.iter().filter(|event| filter.event(event)) {
        *ios.entry(event.device).or_default() += 1;
    }
    match ios.into_values().max() {
        Some(most) if most >= SINGLE => (1..=WIDEST)
            .map(|cells| columns.div_ceil(cells))
            .find(|bins| most / bins >= EACH)
            .unwrap_or(columns.div_ceil(WIDEST)),
        _ => columns,
    }
}

impl Picture {
    /// Lays a series out over `columns` columns and at most `rows` rows, with medians and
    /// percentiles if `marked`; `None` if nothing was counted or no time passed.
    pub(crate) fn of(
        series: &Series,
        columns: usize,
        rows: usize,
        marked: bool,
    ) -> Option<Picture> {
        let timed = || series.columns.iter().filter(|(_, length, _)| length.ns() > 0);
        let histograms: Vec<&Histogram> = timed().map(|(_, _, histogram)| histogram).collect();
        let edges = scale::rows(&histograms, rows, 8)?;
        let start = timed().map(|(at, _, _)| at.seconds()).fold(f64::INFINITY, f64::min);
        let end = timed()
            .map(|(at, length, _)| at.seconds() + length.seconds())
            .fold(f64::NEG_INFINITY, f64::max);
        let seconds = end - start;
        if !seconds.is_finite() || seconds <= 0.0 {
            return None;
        }
        let mut cells = vec![Column::default(); columns];
        for (at, length, histogram) in timed() {
            let place = |time: f64| {
                (((time - start) / seconds * columns as f64).round() as usize).min(columns)
            };
            let first = place(at.seconds()).min(columns - 1);
            let last = place(at.seconds() + length.seconds()).max(first + 1).min(columns);
            let part = 1.0 / (last - first) as f64;
            for cell in &mut cells[first..last] {
                cell.add(histogram, &edges, length.seconds() * part, part);
            }
        }
        let ios = iowhy_model::numbers::total(histograms.iter().map(|known| known.count()));
        let exact = histograms.iter().all(|known| known.count() == 0 || known.sum_ns.is_some());
        Some(Picture { ios, start, seconds, columns, exact, marked, edges, cells })
    }

    /// The zero of the time axis: the clock's own, or the left edge if the clock began so long
    /// before that its numbers would hide the map's.
    pub(crate) fn origin(&self) -> f64 {
        if self.start.abs() > FAR_OFF_WIDTHS * self.seconds { self.start } else { 0.0 }
    }

    /// The times along it: those of the day if the listing knows them.
    pub(crate) fn axis(&self, listing: &Listing, zone: &TimeZone) -> TimeAxis {
        let start_ns = (self.start * 1e9) as i64;
        let clock = Clock::of(listing);
        TimeAxis {
            start: match clock {
                Some(clock) => clock.second(start_ns, zone),
                None => self.start - self.origin(),
            },
            seconds: self.seconds,
            clock: clock.map(|clock| (clock, start_ns, zone.clone())),
        }
    }

    /// Whether some column carries that percentile and it is drawn.
    pub(crate) fn is_marked(&self, mark: Mark) -> bool {
        let carried = |cell: &Column| match mark {
            Mark::Median => cell.row(0.5).is_some(),
            Mark::Tail => cell.row(0.99).is_some(),
        };
        self.marked && self.cells.iter().any(carried)
    }

    /// Mean latency of all that is drawn, each I/O weighing the same, and of the latest column, ns.
    pub(crate) fn means_ns(&self) -> Option<(f64, Option<f64>)> {
        let mean = |cells: &[&Column]| {
            let sum = |of: fn(&Column) -> &Vec<f64>| cells.iter().flat_map(|c| of(c)).sum::<f64>();
            let count = sum(|cell| &cell.counts);
            (count > 0.0).then(|| sum(|cell| &cell.waits) / count)
        };
        let all = mean(&self.cells.iter().collect::<Vec<_>>())?;
        let latest = self.cells.iter().rfind(|cell| cell.seconds > 0.0);
        Some((all, latest.and_then(|cell| mean(&[cell]))))
    }

    /// The edges of the rows, the lowest first.
    pub(crate) fn edges(&self) -> &Edges {
        &self.edges
    }

    /// Lines of text the cells take.
    pub(crate) fn lines(&self, style: &Style) -> usize {
        self.edges.buckets().div_ceil(Grid::rows_per_line(style))
    }

    /// Three or more adjacent empty lines are combined into one: how
    /// many begin with this one.
    pub(crate) fn empty_from(&self, line: usize, style: &Style) -> usize {
        let empty = |line: &usize| {
            let mut buckets = self.buckets_of(*line, style);
            !buckets.any(|bucket| {
                self.cells.iter().any(|cell| cell.counts.get(bucket).is_some_and(|n| *n > 0.0))
            })
        };
        let run = (line..self.lines(style)).take_while(empty).count();
        if run > 2 { run } else { 0 }
    }

    /// The latency at the lower edge of a line.
    pub(crate) fn label(&self, line: usize, style: &Style) -> String {
        let lowest = self.buckets_of(line, style).min().unwrap_or(0);
        latency_label(self.edges.low(lowest))
    }

    /// The cells as positions on their scale.
    pub(crate) fn grid(&self, measure: Measure, style: &Style) -> (Grid, Scale) {
        let all = self.cells.iter().flat_map(|cell| cell.values(measure));
        let scale = Scale::of(all, style);
        let rows = self.edges.buckets();
        let mut grid = Grid::new(rows, self.columns);
        for (column, cell) in self.cells.iter().enumerate().filter(|(_, cell)| cell.seconds > 0.0) {
            for (bucket, value) in cell.values(measure).enumerate() {
                grid.set(rows - 1 - bucket, column, scale.place(value));
            }
            if self.marked && measure == Measure::Frequency {
                let marks = [(cell.row(0.99), Mark::Tail), (cell.row(0.5), Mark::Median)];
                for (bucket, mark) in marks {
                    if let Some(bucket) = bucket {
                        grid.mark(rows - 1 - bucket.min(rows - 1), column, mark);
                    }
                }
            }
        }
        (grid, scale)
    }

    /// The value of a line in the latest column.
    pub(crate) fn latest(&self, line: usize, measure: Measure, style: &Style) -> String {
        let Some(cell) = self.cells.iter().rfind(|cell| cell.seconds > 0.0) else {
            return String::new();
        };
        let buckets: Vec<usize> = self.buckets_of(line, style).collect();
        let some = cell.values(measure).enumerate().filter(|(bucket, _)| buckets.contains(bucket));
        reported(some.map(|(_, value)| value).sum(), measure)
    }

    /// The sum of the latest column.
    pub(crate) fn latest_sum(&self, measure: Measure) -> String {
        let latest = self.cells.iter().rfind(|cell| cell.seconds > 0.0);
        latest.map_or(String::new(), |cell| reported(cell.values(measure).sum(), measure))
    }

    /// The buckets that one line of text shows.
    fn buckets_of(&self, line: usize, style: &Style) -> impl Iterator<Item = usize> + use<> {
        let per_line = Grid::rows_per_line(style);
        let rows = self.edges.buckets();
        (line * per_line..(line + 1) * per_line).filter_map(move |row| (rows - 1).checked_sub(row))
    }
}

impl Column {
    fn add(&mut self, histogram: &Histogram, edges: &Edges, seconds: f64, part: f64) {
        self.seconds += seconds;
        self.counts.resize(edges.buckets(), 0.0);
        self.waits.resize(edges.buckets(), 0.0);
        let estimate: f64 =
            histogram.filled().map(|(low, high, n)| middle(low, high) * n as f64).sum();
        // Fitted to the exact sum, if there is one.
        let fit = match histogram.sum_ns {
            Some(sum) if estimate > 0.0 && sum.is_finite() && sum >= 0.0 => sum / estimate,
            _ => 1.0,
        };
        for (low, high, n) in histogram.filled() {
            let row = edges.index(low);
            self.counts[row] += n as f64 * part;
            self.waits[row] += middle(low, high) * n as f64 * fit * part;
        }
        let by_rows = histogram.rebin(edges);
        match &mut self.counted {
            // The edges are the same, so it always can.
            Some(counted) => _ = counted.merge(&by_rows),
            None => self.counted = Some(by_rows),
        }
    }

    /// The row of a quantile of the column, if it has enough requests for that quantile.
    fn row(&self, q: f64) -> Option<usize> {
        let counted = self.counted.as_ref()?;
        Some(counted.edges().index(counted.quantile(q)?.high_ns))
    }

    /// Per second, in I/Os or in seconds.
    fn values(&self, measure: Measure) -> impl Iterator<Item = f64> {
        let (of, scale) = match measure {
            Measure::Frequency => (&self.counts, self.seconds),
            Measure::Intensity => (&self.waits, self.seconds * 1e9),
        };
        of.iter().map(move |value| value / scale)
    }
}

/// The middle of a bucket; an open one counts at its lower edge.
pub(crate) fn middle(low: u64, high: u64) -> f64 {
    if high == u64::MAX { low as f64 } else { (low as f64 + high as f64) / 2.0 }
}

fn reported(value: f64, measure: Measure) -> String {
    match (value, measure) {
        (value, _) if value.is_nan() || value <= 0.0 => String::new(),
        (value, Measure::Frequency) => short(value),
        (value, Measure::Intensity) => duration(value * 1e9).replace(' ', ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_all_that_a_column_holds() {
        let standard = Edges::standard();
        let of = |latency: u64, count: u64| {
            let mut known = Histogram::empty(standard.clone());
            (0..count).for_each(|_| known.record(latency));
            known
        };
        let mut column = Column::default();
        // A thousand fast ones, then five slow ones: the last must not represent the column.
        column.add(&of(100_000, 1000), &standard, 1.0, 1.0);
        column.add(&of(500_000_000, 5), &standard, 1.0, 1.0);
        let near = |q| column.row(q).map(|row| standard.low(row) < 200_000);
        assert_eq!((near(0.5), near(0.99)), (Some(true), Some(true)));
    }
}
