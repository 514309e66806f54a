//! Counts per cell of time, device, operation, stage and bucket: of single I/Os as they come, of
//! histograms by their filled buckets, of averages in the bucket of their mean: await, which is Q2C
//! as the kernel counts it.

use std::collections::HashMap;
use std::io;

use iowhy_model::Order as _;
use iowhy_model::{
    DeviceId, Distribution, Edges, Event, Histogram, Interval, Nanos, Op, Rates, Recording,
    Sampling, Stage,
};

use super::files::{self, Files, SECOND_NS};
use super::schema::Table;
use crate::parquet::Column;

/// Cells of a run at most: some 60 MB.
const RUN: usize = 1 << 19;
/// The latest cells of a run that is full may still be counted in, s.
const UNFINISHED_S: i64 = 10;

/// The key of a cell, in the order of the rows except for the device's name.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    device: DeviceId,
    op: Option<Op>,
    stage: Stage,
    time_s: i64,
    bucket: u16,
}

#[derive(Clone, Copy)]
struct Cell {
    span_s: u32,
    count: u64,
    sum_ns: i64,
    bytes: Option<u64>,
    origin: Origin,
}

/// The basis of the numbers of a cell, the most certain first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Origin {
    Traced,
    Sampled,
    Reported,
    Estimated,
    Average,
}

impl Origin {
    fn of(sampling: Sampling) -> Origin {
        match sampling {
            Sampling::Traced | Sampling::Thinned => Origin::Traced,
            Sampling::Sampled => Origin::Sampled,
            Sampling::Reported => Origin::Reported,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Origin::Traced => Sampling::Traced.word(),
            Origin::Sampled => Sampling::Sampled.word(),
            Origin::Reported => Sampling::Reported.word(),
            Origin::Estimated => "estimated",
            Origin::Average => "average",
        }
    }
}

/// Cells that are being counted.
pub(super) struct Cells {
    span_s: i64,
    edges: Edges,
    cells: HashMap<Key, Cell>,
    latest_s: i64,
    /// So many may be kept before a run is written.
    most: usize,
    /// I/Os that were counted in, by stage.
    of_stage: [u64; Stage::ALL.len()],
}

impl Cells {
    /// None yet.
    pub(super) fn new(minutes: bool) -> Cells {
        Cells {
            span_s: if minutes { 60 } else { 1 },
            edges: Edges::standard(),
            cells: HashMap::new(),
            latest_s: i64::MIN,
            most: RUN,
            of_stage: [0; Stage::ALL.len()],
        }
    }

    /// Whether a run is due.
    pub(super) fn are_full(&self) -> bool {
        self.cells.len() >= self.most
    }

    /// Counts an I/O that completed then.
    pub(super) fn event(&mut self, event: &Event, at_ns: i64, sampling: Sampling) {
        for stage in Stage::ALL {
            let Some(latency) = event.latency(stage) else { continue };
            let key = Key {
                device: event.device,
                op: Some(event.op),
                stage,
                time_s: self.begin(at_ns),
                bucket: self.edges.index(latency.ns() as u64) as u16,
            };
            let one = Cell {
                span_s: self.span_s as u32,
                count: 1,
                sum_ns: latency.ns(),
                bytes: event.bytes.map(u64::from),
                origin: Origin::of(sampling),
            };
            self.add(key, one);
        }
    }

    /// Counts the contents of a histogram that began then.
    pub(super) fn histogram(&mut self, known: &Distribution, at_ns: i64, sampling: Sampling) {
        let length_s = known
            .length
            .map_or(0, |length| length.ns().saturating_add(SECOND_NS / 2).div_euclid(SECOND_NS));
        let span_s = length_s.clamp(self.span_s, i64::from(i32::MAX)) as u32;
        let (parts, exact) = parts(&known.histogram, &self.edges);
        let origin = if exact { Origin::of(sampling) } else { Origin::Estimated };
        let time_s = self.begin(at_ns);
        for (bucket, count, sum_ns) in parts {
            let (device, op, stage) = (known.device, known.op, known.stage);
            let key = Key { device, op, stage, time_s, bucket };
            let bytes = known.bytes.and_then(|bytes| u64::from(bytes).checked_mul(count));
            self.add(key, Cell { span_s, count, sum_ns, bytes, origin });
        }
    }

    /// Counts the I/Os of an interval that began then: reads and writes where each has a mean, else
    /// both together.
    pub(super) fn average(&mut self, one: &Interval, at_ns: i64, length: Nanos) {
        let seconds = length.ns() as f64 / SECOND_NS as f64;
        let time_s = self.begin(at_ns);
        let length_s = length.ns().saturating_add(SECOND_NS / 2).div_euclid(SECOND_NS);
        let span_s = length_s.clamp(self.span_s, i64::from(i32::MAX)) as u32;
        for (op, rates, mean_ns) in means(one) {
            let count = (rates.ios_per_s * seconds).round() as u64;
            if count == 0 {
                continue;
            }
            let (device, stage, bucket) =
                (one.device, Stage::Total, self.edges.index(mean_ns as u64) as u16);
            let key = Key { device, op, stage, time_s, bucket };
            let sum_ns = (mean_ns * count as f64).min(i64::MAX as f64) as i64;
            let bytes = rates.bytes_per_s.map(|bytes| (bytes * seconds).round() as u64);
            self.add(key, Cell { span_s, count, sum_ns, bytes, origin: Origin::Average });
        }
    }

    /// I/Os of the stage that counted most of them.
    pub(super) fn ios(&self) -> u64 {
        self.of_stage.iter().copied().max().unwrap_or(0)
    }

    /// The beginning of the cell that contains a moment, s.
    fn begin(&self, at_ns: i64) -> i64 {
        let second = files::second_of(at_ns);
        second.div_euclid(self.span_s) * self.span_s
    }

    fn add(&mut self, key: Key, one: Cell) {
        self.latest_s = self.latest_s.max(key.time_s);
        let stages = Stage::ALL.iter().zip(&mut self.of_stage);
        stages
            .filter(|(stage, _)| **stage == key.stage)
            .for_each(|(_, n)| *n = n.saturating_add(one.count));
        let known = self.cells.entry(key).or_insert(Cell { count: 0, sum_ns: 0, ..one });
        known.bytes = if known.count == 0 {
            one.bytes
        } else {
            known.bytes.zip(one.bytes).map(|(a, b)| a.saturating_add(b))
        };
        known.count = known.count.saturating_add(one.count);
        known.sum_ns = known.sum_ns.saturating_add(one.sum_ns);
        known.span_s = known.span_s.max(one.span_s);
        known.origin = known.origin.max(one.origin);
    }

    /// Writes a run: all, or but for the latest cells, which may still be counted in.
    pub(super) fn flush(
        &mut self,
        all: bool,
        known: &Recording,
        files: &mut Files,
    ) -> io::Result<()> {
        let limit_s = self.latest_s.saturating_sub(UNFINISHED_S.max(self.span_s));
        let mut run: Vec<(Key, Cell)> = Vec::with_capacity(self.cells.len());
        self.cells.retain(|key, one| {
            let kept = !all && key.time_s >= limit_s;
            if !kept {
                run.push((*key, *one));
            }
            kept
        });
        // Many cells at once need more room; then memory follows their number, not the length.
        self.most = RUN.max(self.cells.len().saturating_mul(2));
        let ranks = files::ranks(known);
        let rank = |id: DeviceId| ranks.get(id.index()).copied().unwrap_or(u32::MAX);
        let day = |key: &Key| files::day_of(key.time_s.saturating_mul(SECOND_NS));
        run.order_by_key(|(key, _)| {
            let (op, stage) = (key.op.map(Op::name), key.stage.name());
            (day(key), rank(key.device), op, stage, key.time_s, key.bucket)
        });
        for rows in run.chunk_by(|(a, _), (b, _)| day(a) == day(b)) {
            let Some((first, _)) = rows.first() else { continue };
            files.write(Table::Cells, day(first), rows, |columns, (key, one)| {
                fill(columns, key, one, &known.device_of(key.device).name);
            })?;
        }
        Ok(())
    }
}

/// The I/Os of an average that can be one, of those with a latency.
pub(super) fn ios_of(one: &Interval) -> u64 {
    let seconds = one.length.map_or(1.0, |length| length.ns() as f64 / SECOND_NS as f64);
    let of_each = means(one).into_iter().map(|(_, rates, _)| rates.ios_per_s * seconds);
    of_each.sum::<f64>().round() as u64
}

/// What has a mean latency, ns: each operation, or all of them together.
fn means(one: &Interval) -> Vec<(Option<Op>, Rates, f64)> {
    let has = |rates: &Rates| rates.ios_per_s > 0.0 && rates.await_ns.is_some_and(|ns| ns > 0.0);
    let of_each: Vec<_> = one
        .rates
        .iter()
        .filter(|(_, rates)| has(rates))
        .filter_map(|(op, rates)| Some((Some(*op), *rates, rates.await_ns?)))
        .collect();
    if !of_each.is_empty() {
        return of_each;
    }
    let known = one.mean_await_ns().filter(|ns| ns.is_finite() && *ns > 0.0);
    let bytes_per_s = one.mean_bytes().map(|mean| mean * one.ios_per_s());
    let all = Rates { ios_per_s: one.ios_per_s(), bytes_per_s, ..Rates::default() };
    known.into_iter().filter(|_| all.ios_per_s > 0.0).map(|mean| (None, all, mean)).collect()
}

fn fill(columns: &mut [Column], key: &Key, one: &Cell, device_name: &str) {
    let [time, span, device, op, stage, bucket, count, sum, bytes, origin] = columns else {
        return;
    };
    let whole = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    time.number(Some(key.time_s.saturating_mul(1_000_000)));
    span.number(Some(one.span_s.into()));
    device.text(Some(device_name).filter(|name| !name.is_empty()));
    op.text(key.op.map(Op::name));
    stage.text(Some(key.stage.name()));
    bucket.number(Some(key.bucket.into()));
    count.number(Some(whole(one.count)));
    sum.number(Some(one.sum_ns));
    bytes.number(one.bytes.map(whole));
    origin.text(Some(one.origin.word()));
}

/// The filled buckets of a histogram over these edges, with the sum of each, and whether bucket and
/// sum are exact. Where the sum of all values is known, each bucket's values are placed at the same
/// share of its width, which is the one that gives that sum; else in the middle.
fn parts(of: &Histogram, edges: &Edges) -> (Vec<(u16, u64, i64)>, bool) {
    let filled: Vec<(f64, f64, u64)> = of
        .filled()
        .map(|(low, high, count)| {
            let high = match (high, of.max_ns) {
                (u64::MAX, Some(most)) => most.saturating_add(1).max(low),
                (u64::MAX, None) => low,
                (high, Some(most)) => high.min(most.saturating_add(1)).max(low),
                (high, None) => high,
            };
            let low = of.min_ns.map_or(low, |least| low.max(least.min(high)));
            (low as f64, high as f64, count)
        })
        .collect();
    let sum = |part: fn(&(f64, f64, u64)) -> f64| filled.iter().map(part).sum::<f64>();
    let (lows, widths) =
        (sum(|(low, _, n)| low * *n as f64), sum(|(low, high, n)| (high - low) * *n as f64));
    let share = of
        .sum_ns
        .filter(|sum| sum.is_finite() && *sum >= 0.0)
        .map(|sum| if widths > 0.0 { (sum - lows) / widths } else { 0.0 });
    // A sum that no such values have is none to go by.
    let share = share.filter(|share| (-1e-6..=1.000_001).contains(share));
    let place = share.unwrap_or(0.5).clamp(0.0, 1.0 - 1e-9);
    let same = of.edges() == edges || of.edges().merges_into(edges);
    let mut parts: Vec<(u16, u64, i64)> = filled
        .iter()
        .map(|(low, high, count)| {
            let value = low + place * (high - low);
            let sum = (value * *count as f64).round().min(i64::MAX as f64);
            (edges.index(value as u64) as u16, *count, sum as i64)
        })
        .collect();
    if let (Some(_), Some(whole), Some(last)) = (share, of.sum_ns, parts.last().copied()) {
        // What rounding left over.
        let others = parts.iter().rev().skip(1).fold(0i64, |sum, one| sum.saturating_add(one.2));
        let rest = (whole.round() as i64).saturating_sub(others);
        let slot = parts.len() - 1;
        if rest >= 0 && rest.abs_diff(last.2) <= parts.len() as u64 + (whole / 1e9) as u64 {
            parts[slot].2 = rest;
        }
    }
    (parts, same && share.is_some())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn rows_of_a_histogram_add_up_to_its_sum_and_stay_in_their_buckets() {
        let edges = Edges::standard();
        let mut exact = Histogram::empty(edges.clone());
        let values: Vec<u64> = (0..5000u64).map(|k| k * k * 37 % 90_000_000).collect();
        values.iter().for_each(|value| exact.record(*value));
        let (parts, is_exact) = parts(&exact, &edges);
        assert!(is_exact);
        assert_eq!(parts.iter().map(|(_, n, _)| n).sum::<u64>(), 5000);
        assert_eq!(
            parts.iter().map(|(_, _, sum)| sum).sum::<i64>(),
            values.iter().sum::<u64>() as i64
        );
        for (bucket, count, sum) in parts {
            let mean = sum as f64 / count as f64;
            let (low, high) = (edges.low(bucket.into()), edges.high(bucket.into()));
            assert!(mean >= low as f64 - 1.0 && mean <= high as f64 + 1.0, "{bucket}: {mean}");
        }
    }

    #[test]
    fn averages_are_the_mean_of_each_operation_or_of_all() {
        use iowhy_model::{DeviceId, Layer};
        let mut one = Interval::new(DeviceId::at(0), Layer::Block);
        let rates = |ios_per_s, await_ns| Rates {
            ios_per_s,
            await_ns,
            bytes_per_s: Some(ios_per_s * 4096.0),
            ..Rates::default()
        };
        one.rates = vec![(Op::Read, rates(100.0, Some(2e6))), (Op::Write, rates(0.0, None))];
        one.await_ns = Some(9e6);
        let mut cells = Cells::new(false);
        cells.average(&one, 7_000_000_000, Nanos(15 * SECOND_NS));
        assert_eq!((cells.ios(), cells.cells.len()), (1500, 1));
        let (key, cell) = cells.cells.iter().next().unwrap();
        assert_eq!((key.op, key.stage, key.time_s), (Some(Op::Read), Stage::Total, 7));
        assert_eq!((cell.span_s, cell.sum_ns, cell.bytes), (15, 3_000_000_000, Some(1500 * 4096)));
        assert_eq!(cell.origin.word(), "average");
        one.rates.clear();
        one.mixed = Some(rates(10.0, None));
        let known = means(&one);
        assert_eq!(known.len(), 1);
        assert_eq!((known[0].0, known[0].2), (None, 9e6));
        one.await_ns = None;
        assert!(means(&one).is_empty());
    }

    #[test]
    fn other_edges_and_sums_that_cannot_be_are_estimates() {
        let edges = Edges::standard();
        let coarse = Edges::log2_us(20);
        let mut counts = vec![0; coarse.buckets()];
        counts[4] = 10;
        let mut known = Histogram::from_counts(coarse, counts).unwrap();
        // 16 to 32 us: in the middle, 24 us.
        let middle = edges.index(24_000) as u16;
        assert_eq!(parts(&known, &edges), (vec![(middle, 10, 240_000)], false));
        known.sum_ns = Some(1.0);
        assert_eq!(parts(&known, &edges), (vec![(middle, 10, 240_000)], false));
        let summary = Histogram::from_summary(4, 2_000_000.0, 1_000_000, 9_000_000);
        let (rows, _) = parts(&summary, &edges);
        assert_eq!(rows, [(edges.index(2_000_000) as u16, 4, 8_000_000)]);
    }
}
