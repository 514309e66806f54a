//! The rows of the table, from intervals, or from events if there are none.

use std::collections::{HashMap, HashSet};

use iowhy_model::{
    DeviceId, DeviceTotals, Distribution, Edges, Field, Histogram, INTERVAL_FIELDS, Interval,
    Layer, Listing, Op, RATE_FIELDS, Rates, Recording, Report, Sampling, Stage, distributions,
};

use crate::Style;
use crate::clock::Clock;
use crate::sources::file_name;
use crate::words::duration;

/// The columns in the order they are drawn, each with its rank: the canvas's width is given to
/// the lowest ranks first, percentiles and stages before what every other tool shows.
pub(super) const COLUMNS: [(&str, u8); 32] = [
    ("p50", 1),
    ("p99", 2),
    ("Q2D", 3),
    ("D2C", 4),
    ("tps", 9),
    ("kB/s", 10),
    ("areq-sz", 17),
    ("r/s", 5),
    ("rkB/s", 15),
    ("rrqm/s", 28),
    ("r_await", 7),
    ("rareq-sz", 17),
    ("w/s", 6),
    ("wkB/s", 16),
    ("wrqm/s", 29),
    ("w_await", 8),
    ("wareq-sz", 18),
    ("d/s", 24),
    ("dkB/s", 30),
    ("d_await", 25),
    ("dareq-sz", 31),
    ("f/s", 21),
    ("f_await", 22),
    ("await", 9),
    ("wsvc_t", 19),
    ("asvc_t", 20),
    ("actv", 26),
    ("aqu-sz", 13),
    ("p95", 23),
    ("max", 19),
    ("B2Q", 9),
    ("%util", 14),
];

/// Means of fewer requests are drawn grey (docs/METHOD.md, 14 Counters: the error of a mean
/// of 30 is a fifth of the spread).
const FEW: f64 = 30.0;

/// An interval, or a listing: rows under one title.
pub(super) struct Stretch {
    /// Where and when.
    pub title: String,
    /// A row per device.
    pub rows: Vec<Row>,
}

/// A device in an interval.
pub(super) struct Row {
    device: String,
    /// Whether it did nothing.
    pub idle: bool,
    /// Whether its means rest on few requests.
    pub few: bool,
    /// Whether the counters run from boot.
    pub since_boot: bool,
    cells: Vec<Option<f64>>,
}

impl Row {
    /// The device's name, marked if its row is not a sample of the present.
    pub(super) fn name(&self) -> String {
        format!("{}{}", self.device, if self.since_boot { "*" } else { "" })
    }

    /// The device's name alone.
    pub(super) fn device(&self) -> &str {
        &self.device
    }

    /// The value of a column, by its place in [`COLUMNS`].
    pub(super) fn cell(&self, column: usize) -> Option<f64> {
        self.cells.get(column).copied().flatten()
    }

    /// A row with a value in each column.
    #[cfg(test)]
    pub(super) fn full(device: &str) -> Row {
        let cells = vec![Some(12.5); COLUMNS.len()];
        Row { device: device.to_string(), idle: false, few: false, since_boot: false, cells }
    }

    /// What a record reports of the fields that have a column here.
    fn fill<R>(&mut self, fields: &[Field<R>], record: &R, letter: &str) {
        for field in fields {
            if let Some((column, _)) = field.column {
                self.set(&format!("{letter}{column}"), field.in_column(record));
            }
        }
    }

    fn set(&mut self, column: &str, value: Option<f64>) {
        if let Some(place) = COLUMNS.iter().position(|(name, _)| *name == column)
            && let Some(cell) = self.cells.get_mut(place)
        {
            *cell = value.filter(|value| value.is_finite());
        }
    }
}

/// All intervals of a report, in the order they were read.
pub(super) fn stretches(report: &Report, style: &Style) -> Vec<Stretch> {
    let recording = &report.recording;
    // Folded once: a trace has millions of events, and every row asks.
    let fold = |listing| distributions(listing, &style.filter, &Edges::standard());
    let folded: Vec<Vec<Distribution>> = recording.listings.iter().map(fold).collect();
    let mut all = Vec::new();
    for listing in &recording.listings {
        if !listing.intervals.is_empty() {
            all.extend(of_intervals(recording, listing, &folded, style));
        }
    }
    let sampled: HashSet<DeviceId> = recording
        .listings
        .iter()
        .filter(|listing| live(listing))
        .flat_map(|listing| listing.intervals.iter().map(|interval| interval.device))
        .collect();
    for (listing, folded) in recording.listings.iter().zip(&folded) {
        // Another tool's histograms have no rates: they are the histogram view's.
        if listing.events.is_empty() && listing.counted.is_empty() && !live(listing) {
            continue;
        }
        // The traced I/Os of a sampled device are already in that device's row.
        let mut rows = of_events(recording, listing, folded, style);
        if live(listing) {
            rows.retain(|(device, _)| !sampled.contains(device));
        }
        if listing.intervals.is_empty() && !rows.is_empty() {
            let rows = rows.into_iter().map(|(_, row)| row).collect();
            all.push(Stretch { title: title(listing), rows });
        }
    }
    all
}

fn live(listing: &Listing) -> bool {
    listing.source.sampling != Sampling::Reported
}

fn title(listing: &Listing) -> String {
    format!("{}  {}", file_name(&listing.source.place()), listing.source.format)
}

fn of_intervals(
    recording: &Recording,
    listing: &Listing,
    folded: &[Vec<Distribution>],
    style: &Style,
) -> Vec<Stretch> {
    let mut all: Vec<Stretch> = Vec::new();
    let mut seen: HashSet<DeviceId> = HashSet::new();
    let mut began = None;
    let mut times: HashMap<DeviceId, usize> = HashMap::new();
    for interval in &listing.intervals {
        *times.entry(interval.device).or_default() += 1;
    }
    for interval in listing.intervals.iter().filter(|known| style.filter.device(known.device)) {
        let next = seen.contains(&interval.device) || interval.start != began;
        if all.is_empty() || next {
            all.push(Stretch {
                title: heading(recording, listing, interval, style),
                rows: Vec::new(),
            });
            seen.clear();
            began = interval.start;
        }
        seen.insert(interval.device);
        let mut row = of_interval(recording, interval);
        if live(listing) && times.get(&interval.device) == Some(&1) {
            for (listing, folded) in recording.listings.iter().zip(folded) {
                if listing.source.sampling == Sampling::Traced {
                    add_latencies(&mut row, folded, interval.device);
                }
            }
        }
        if let Some(stretch) = all.last_mut() {
            stretch.rows.push(row);
        }
    }
    all
}

fn heading(recording: &Recording, listing: &Listing, interval: &Interval, style: &Style) -> String {
    let mut text = title(listing);
    if let Some(start) = interval.start {
        text += &match Clock::of_any(recording, listing) {
            Some(clock) => format!("  from {}", clock.words(start.ns(), &style.zone)),
            None => format!("  from {}", duration(start.ns() as f64)),
        };
    }
    if let Some(length) = interval.length {
        text += &format!("  over {}", duration(length.ns() as f64));
    }
    text
}

fn of_interval(recording: &Recording, interval: &Interval) -> Row {
    let name = recording.devices().get(interval.device.index()).map(|device| device.name.clone());
    let mut row = Row {
        device: name.unwrap_or_default(),
        idle: is_idle(interval),
        few: interval.length.is_some_and(|l| interval.ios_per_s() * l.seconds() < FEW),
        since_boot: interval.since_boot,
        cells: vec![None; COLUMNS.len()],
    };
    let letters = [(Op::Read, "r"), (Op::Write, "w"), (Op::Discard, "d"), (Op::Flush, "f")];
    for (op, letter) in letters {
        let Some(rates) = interval.of(op) else { continue };
        // iostat prints 0.00 where nothing completed; a wait of nothing is not a wait.
        let nothing = rates.ios_per_s == 0.0;
        let rates = Rates { await_ns: rates.await_ns.filter(|_| !nothing), ..*rates };
        row.fill(&RATE_FIELDS, &rates, letter);
        row.set(&format!("{letter}areq-sz"), rates.mean_bytes().map(|bytes| bytes / 1024.0));
    }
    if let Some(mixed) = &interval.mixed {
        row.set("tps", Some(mixed.ios_per_s));
        row.set("kB/s", mixed.bytes_per_s.map(|bytes| bytes / 1024.0));
        row.set("areq-sz", mixed.mean_bytes().map(|bytes| bytes / 1024.0));
    }
    row.fill(&INTERVAL_FIELDS, interval, "");
    row
}

fn is_idle(interval: &Interval) -> bool {
    interval.ios_per_s() == 0.0
        && interval.of(Op::Flush).is_none_or(|rates| rates.ios_per_s == 0.0)
        && interval.in_flight.unwrap_or(0) == 0
}

/// Percentiles over all operations and the mean of each stage; none where the histograms of the
/// operations have other edges and cannot be added.
fn add_latencies(row: &mut Row, folded: &[Distribution], device: DeviceId) {
    // They are in order of the device.
    let first = folded.partition_point(|known| known.device < device);
    let end = folded.partition_point(|known| known.device <= device);
    let its = folded.get(first..end).unwrap_or_default();
    let merged = |stage: Stage| {
        let mut some =
            its.iter().filter(|known| known.stage == stage && known.layer == Layer::Block);
        let mut all: Histogram = some.next()?.histogram.clone();
        let added = some.all(|known| all.merge(&known.histogram));
        (added && all.count() > 0).then_some(all)
    };
    let longest = merged(Stage::Total).or_else(|| merged(Stage::Device));
    if let Some(all) = longest {
        for (name, q) in [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)] {
            row.set(name, all.quantile(q).map(|quantile| quantile.high_ns as f64 / 1e6));
        }
        row.set("max", all.max_ns.map(|ns| ns as f64 / 1e6));
    }
    let stages = [("B2Q", Stage::Before), ("Q2D", Stage::Queue), ("D2C", Stage::Device)];
    for (name, stage) in stages {
        let mean = merged(stage).and_then(|all| all.mean_ns());
        row.set(name, mean.map(|(ns, _)| ns / 1e6));
    }
}

/// Rows computed from single I/Os and histograms, where the listing has no averages of its own.
fn of_events(
    recording: &Recording,
    listing: &Listing,
    folded: &[Distribution],
    style: &Style,
) -> Vec<(DeviceId, Row)> {
    let mut devices: Vec<DeviceId> = listing.events.iter().map(|event| event.device).collect();
    devices.extend(listing.counted.iter().map(|known| known.device));
    devices.extend(listing.histograms().map(|known| known.device));
    devices.sort_unstable();
    devices.dedup();
    let mut all = listing.counted.clone();
    let mut places = DeviceTotals::places(&all);
    for event in listing.events.iter().filter(|event| style.filter.event(event)) {
        DeviceTotals::count(&mut all, &mut places, event);
    }
    let of_device = |device| {
        let known = places.get(device, ()).and_then(|place| all.get(place));
        let none = DeviceTotals::new(device);
        let counted = known.unwrap_or(&none);
        let mut row = of_interval(recording, &counted.interval(listing.source.watched));
        add_latencies(&mut row, folded, device);
        row.idle = row.cells.iter().all(Option::is_none);
        row.few = counted.ios() > 0 && (counted.ios() as f64) < FEW;
        (device, row)
    };
    devices.into_iter().filter(|id| style.filter.device(*id)).map(of_device).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use iowhy_model::{Level, Sink, Source};

    use super::*;

    fn live() -> Recording {
        let mut recording = Recording::new();
        let mut source = Source::new("diskstats", "live", Level::A);
        source.sampling = Sampling::Sampled;
        recording.begin(source);
        recording
    }

    fn rows(recording: Recording) -> Vec<Stretch> {
        stretches(&Report { recording, findings: Vec::new() }, &Style::plain())
    }

    #[test]
    fn the_time_it_takes_grows_with_the_intervals_not_with_their_square() {
        let mut recording = live();
        for _ in 0..4000 {
            for number in 0..20 {
                let device = recording.device(&format!("sd{number}"));
                recording.interval(Interval::new(device, Layer::Block));
            }
        }
        recording.end();
        #[allow(clippy::disallowed_methods)]
        let begun = Instant::now();
        assert_eq!(rows(recording).len(), 4000);
        // 80,000 intervals: 0.3 s unoptimised; each against all others is 6.4 billion steps.
        assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());
    }

    #[test]
    fn histograms_that_cannot_be_added_give_no_percentile() {
        let percentile = |write_edges: Edges| {
            let mut recording = live();
            let sda = recording.device("sda");
            recording.interval(Interval::new(sda, Layer::Block));
            recording.end();
            let mut source = Source::new("block-trace", "live", Level::D);
            source.sampling = Sampling::Traced;
            recording.begin(source);
            for (op, edges) in [(Op::Read, Edges::standard()), (Op::Write, write_edges)] {
                let mut histogram = Histogram::empty(edges);
                (0..400).for_each(|_| histogram.record(1_000_000));
                let mut known = Distribution::new(sda, Layer::Block, Stage::Device, histogram);
                known.op = Some(op);
                recording.distribution(known);
            }
            recording.end();
            let place = COLUMNS.iter().position(|(name, _)| *name == "p99");
            rows(recording)[0].rows[0].cell(place.unwrap())
        };
        assert_eq!(percentile(Edges::standard()), Some(1.0));
        assert_eq!(percentile(Edges::log2_us(20)), None);
    }
}
