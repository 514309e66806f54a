//! What drifted in a store: of each device and operation, D2C day by day.
//!
//! A drift is one that the order of the days does not give by chance (Mann, 1945; Kendall, 1975),
//! of at least the width of a bucket. Its size is the median slope between all pairs of days
//! (Theil, 1950; Sen, 1968), so that a single bad day is none. Calibrations in the store's folder,
//! reads one at a time on a day of their own, are a line apart: no load hides a drift of them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Write};
use std::path::Path;

use iowhy_diagnose::measures::rank_test::upper_tail;
use iowhy_model::{
    DeviceId, Distribution, Edges, Event, Fact, Histogram, Interval, Layer, Op, Recording, Sink,
    Stage, Tally,
};
use iowhy_show::Style;
use iowhy_show::trend::{TrendDay, TrendRow, table};
use iowhy_store::{CALIBRATIONS, SECOND_NS, Span, Store};
use serde_json::{Value, json};

const DAY_S: i64 = 86_400;
/// I/Os of a day for a median that differs by less than a bucket from the true one.
const FEWEST: u64 = 1000;
/// The same of a calibration, whose I/Os are all of one kind and wait for no other (a choice).
const FEWEST_ALONE: u64 = 100;
/// Days with fewer I/Os than [`FEWEST`] do not count; with fewer days than these no order of them
/// is rarer than 5 % (five: 2 of 120 orders).
const DAYS: usize = 5;
const RARE: f64 = 0.05;
/// Up to so many days all their orders are counted.
const COUNTED: usize = 40;
/// The width of a bucket: an eighth.
const LEAST: f64 = 0.125;

/// One device and operation.
pub(super) struct Trend {
    device: String,
    op: Op,
    /// Whether these are reads of a calibration.
    alone: bool,
    /// Day since 1970, D2C of its I/Os, in order.
    days: Vec<(i64, Histogram)>,
}

/// What the days show.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Drift {
    /// Days that count, if there are too few.
    TooFew(usize),
    /// No more than by chance, or less than a bucket.
    Steady,
    /// By this factor from the first day to the last, and how probable such an order is by chance.
    By(f64, f64),
}

/// Adds up a store's histograms by day.
///
/// # Errors
/// If its folder cannot be read.
pub(super) fn trends(store: &Store, span: Span, devices: &[String]) -> io::Result<Vec<Trend>> {
    let mut all: BTreeMap<(String, Op), BTreeMap<i64, Histogram>> = BTreeMap::new();
    for name in store.segments()? {
        let from_ns = name.began_s.saturating_mul(SECOND_NS);
        if from_ns < span.from_ns || from_ns > span.to_ns {
            continue;
        }
        let mut sink = Hour { known: Tally::default(), sums: BTreeMap::new() };
        store.emit_segment(name, &mut sink)?;
        let day = name.began_s.div_euclid(DAY_S);
        for ((id, op), sum) in sink.sums {
            let device = sink.known.known().device_of(id).name.clone();
            if !devices.is_empty() && !devices.contains(&device) {
                continue;
            }
            let of_day = all.entry((device, op)).or_default().entry(day);
            of_day.or_insert_with(|| Histogram::empty(Edges::standard())).merge(&sum);
        }
    }
    let trend = |((device, op), days): (_, BTreeMap<_, _>)| Trend {
        device,
        op,
        alone: false,
        days: days.into_iter().collect(),
    };
    Ok(all.into_iter().map(trend).collect())
}

/// Reads the calibrations in a store's folder, as `iowhy probe calibrate --keep` writes them.
///
/// # Errors
/// If one cannot be read.
pub(super) fn calibrations(store: &Path, span: Span, devices: &[String]) -> io::Result<Vec<Trend>> {
    let entries = match std::fs::read_dir(store.join(CALIBRATIONS)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut all: BTreeMap<String, BTreeMap<i64, Histogram>> = BTreeMap::new();
    for entry in entries {
        let entry = entry?;
        let file = entry.file_name().to_string_lossy().into_owned();
        let Some((device, day)) = of_file(&file) else { continue };
        let from_ns = day.saturating_mul(DAY_S).saturating_mul(SECOND_NS);
        let is_meant = devices.is_empty() || devices.iter().any(|asked| asked == device);
        if !is_meant
            || from_ns.saturating_add(DAY_S * SECOND_NS) < span.from_ns
            || from_ns > span.to_ns
        {
            continue;
        }
        let mut recording = Recording::new();
        let mut kept = BufReader::new(File::open(entry.path())?);
        iowhy_read::scan(&file, &mut kept, None, &mut recording).map_err(io::Error::other)?;
        let of_day = all.entry(device.to_string()).or_default().entry(day);
        let sum = of_day.or_insert_with(|| Histogram::empty(Edges::standard()));
        let events = recording.listings.iter().flat_map(|listing| &listing.events);
        let reads = events.filter(|event| event.op == Op::Read);
        for latency in reads.filter_map(|event| event.latency(Stage::Device)) {
            sum.record(u64::try_from(latency.ns()).unwrap_or(0));
        }
    }
    let trend = |(device, days): (_, BTreeMap<_, _>)| Trend {
        device,
        op: Op::Read,
        alone: true,
        days: days.into_iter().collect(),
    };
    Ok(all.into_iter().map(trend).collect())
}

/// The device and the day of a file's name: `sdb-2026-11-29.iowhy`.
fn of_file(name: &str) -> Option<(&str, i64)> {
    let stem = name.strip_suffix(".iowhy")?;
    let (device, date) = stem.split_at_checked(stem.len().checked_sub(10)?)?;
    let date: jiff::civil::Date = date.parse().ok()?;
    let began = date.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_second();
    let device = device.strip_suffix('-').filter(|device| !device.is_empty())?;
    Some((device, began.div_euclid(DAY_S)))
}

/// The histograms of a segment, added up.
struct Hour {
    known: Tally,
    sums: BTreeMap<(DeviceId, Op), Histogram>,
}

impl Sink for Hour {
    iowhy_model::forward!(known: device set_medium name unread end begin resume source);

    fn distribution(&mut self, one: Distribution) {
        let Some(op) = one.op.filter(|op| [Op::Read, Op::Write].contains(op)) else { return };
        if one.layer != Layer::Block || one.stage != Stage::Device {
            return;
        }
        let edges = Edges::standard();
        let known = self.sums.entry((one.device, op));
        let known = known.or_insert_with(|| Histogram::empty(edges.clone()));
        if !known.merge(&one.histogram) {
            known.merge(&one.histogram.rebin(&edges));
        }
    }

    fn event(&mut self, _: Event) {}

    fn interval(&mut self, _: Interval) {}

    fn fact(&mut self, _: Fact) {}
}

impl Trend {
    /// I/Os of a day that counts.
    fn fewest(&self) -> u64 {
        if self.alone { FEWEST_ALONE } else { FEWEST }
    }

    /// The days that count: since the first of them, the logarithm of the median.
    fn medians(&self) -> Vec<(f64, f64)> {
        let first = self.days.first().map_or(0, |(day, _)| *day);
        let counted = self.days.iter().filter(|(_, sum)| sum.count() >= self.fewest());
        counted.filter_map(|(day, sum)| Some(((day - first) as f64, median(sum)?.ln()))).collect()
    }

    fn drift(&self) -> Drift {
        let days = self.medians();
        if days.len() < DAYS {
            return Drift::TooFew(days.len());
        }
        let pairs = || (0..days.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
        let order: i64 = pairs()
            .map(|(a, b)| match days[b].1.total_cmp(&days[a].1) {
                std::cmp::Ordering::Less => -1,
                std::cmp::Ordering::Equal => 0,
                std::cmp::Ordering::Greater => 1,
            })
            .sum();
        let p = by_chance(days.len(), order.unsigned_abs());
        let mut slopes: Vec<f64> =
            pairs().map(|(a, b)| (days[b].1 - days[a].1) / (days[b].0 - days[a].0)).collect();
        slopes.sort_by(f64::total_cmp);
        let middle = slopes.len() / 2;
        let slope = match slopes.len() % 2 {
            0 => (slopes[middle - 1] + slopes[middle]) / 2.0,
            _ => slopes[middle],
        };
        let total = slope * (days[days.len() - 1].0 - days[0].0);
        match p < RARE && total.abs() >= LEAST.ln_1p() {
            true => Drift::By(total.exp(), p),
            false => Drift::Steady,
        }
    }

    /// The first day that counts, and the last.
    fn ends(&self) -> Option<[TrendDay; 2]> {
        let of = |(_, sum): &(i64, Histogram)| {
            let (ios, p99_ns) = (sum.count(), quantile(sum, 0.99));
            Some(TrendDay { ios, p50_ns: median(sum)?, p99_ns })
        };
        let counted = || self.days.iter().filter(|(_, sum)| sum.count() >= self.fewest());
        Some([counted().next().and_then(of)?, counted().next_back().and_then(of)?])
    }

    /// As `--json` has it.
    fn json(&self) -> Value {
        let (word, factor, p) = match self.drift() {
            Drift::TooFew(_) => ("too-few-days", None, None),
            Drift::Steady => ("steady", None, None),
            Drift::By(factor, p) => {
                (if factor > 1.0 { "slower" } else { "faster" }, Some(factor), Some(p))
            }
        };
        let day = |(day, sum): &(i64, Histogram)| {
            json!({"day": date(*day), "ios": sum.count(), "p50_ns": median(sum),
                   "p99_ns": quantile(sum, 0.99)})
        };
        json!({"device": self.device, "op": self.op.name(), "alone": self.alone, "drift": word,
               "times": factor, "chance": p, "days": self.days.iter().map(day).collect::<Vec<_>>()})
    }
}

/// The median, in the middle of its bucket.
fn median(of: &Histogram) -> Option<f64> {
    quantile(of, 0.5)
}

fn quantile(of: &Histogram, q: f64) -> Option<f64> {
    of.quantile(q).map(|found| (found.low_ns as f64 + found.high_ns as f64) / 2.0)
}

/// How probable it is that so many more of `n` days in random order rise than fall, or fall than
/// rise: of all orders, those with that many pairs the wrong way round.
fn by_chance(n: usize, order: u64) -> f64 {
    if n > COUNTED {
        return normal(n, order);
    }
    // Shares of orders by how many pairs are the wrong way round, one more day each time.
    let mut shares = vec![1.0];
    for day in 1..n {
        let mut next = vec![0.0; shares.len() + day];
        for (wrong, share) in shares.iter().enumerate() {
            for more in 0..=day {
                next[wrong + more] += share / (day + 1) as f64;
            }
        }
        shares = next;
    }
    let pairs = (n * n.saturating_sub(1) / 2) as u64;
    let tail = (pairs - order.min(pairs)) / 2;
    let of_tail: f64 = shares.iter().take(tail as usize + 1).sum();
    (2.0 * of_tail).min(1.0)
}

/// The same for many days, by the normal distribution (Kendall, 1975).
fn normal(n: usize, order: u64) -> f64 {
    let n = n as f64;
    let variance = n * (n - 1.0) * (2.0 * n + 5.0) / 18.0;
    // Orders differ by two, so that half of that belongs to each.
    let z = (order as f64 - 1.0).max(0.0) / variance.sqrt();
    (2.0 * upper_tail(z)).min(1.0)
}

fn date(day: i64) -> String {
    jiff::Timestamp::from_second(day.saturating_mul(DAY_S))
        .map_or_else(|_| String::new(), |at| at.strftime("%Y-%m-%d").to_string())
}

/// All of them, for programs.
pub(super) fn whole(trends: &[Trend]) -> Value {
    json!({"schema": "iowhy.trend/1", "trends": trends.iter().map(Trend::json).collect::<Vec<_>>()})
}

/// A line of each.
///
/// # Errors
/// If it cannot be written.
pub(super) fn write(trends: &[Trend], style: &Style, out: &mut dyn Write) -> io::Result<()> {
    if trends.is_empty() {
        return writeln!(out, "No I/O with a time on the device (D2C) in this store.");
    }
    let row = |trend: &Trend| {
        let (drift, is_worse) = match trend.drift() {
            Drift::TooFew(days) => (format!("needs {DAYS} days, has {days}"), false),
            Drift::Steady => ("steady".to_string(), false),
            Drift::By(factor, p) if factor > 1.0 => {
                (format!("{factor:.2}x slower, {}", shown(p)), true)
            }
            Drift::By(factor, p) => (format!("{:.2}x faster, {}", 1.0 / factor, shown(p)), false),
        };
        let op = if trend.alone { "read, alone" } else { trend.op.name() };
        let device = trend.device.clone();
        TrendRow { device, op, days: trend.days.len(), ends: trend.ends(), drift, is_worse }
    };
    table(&trends.iter().map(row).collect::<Vec<_>>(), style, out)
}

/// A probability; below a thousandth no digits are shown of it.
fn shown(p: f64) -> String {
    if p < 0.001 { "p < 0.001".to_string() } else { format!("p = {p:.3}") }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn trend(medians_us: &[u64]) -> Trend {
        let day = |(day, us): (usize, &u64)| {
            let mut sum = Histogram::empty(Edges::standard());
            (0..FEWEST).for_each(|_| sum.record(us * 1000));
            (20_000 + day as i64, sum)
        };
        let days = medians_us.iter().enumerate().map(day).collect();
        Trend { device: "sda".to_string(), op: Op::Read, alone: false, days }
    }

    #[test]
    fn a_calibration_is_named_by_its_device_and_day() {
        assert_eq!(of_file("sdb-1970-01-11.iowhy"), Some(("sdb", 10)));
        assert_eq!(of_file("dm-3-1970-01-11.iowhy"), Some(("dm-3", 10)));
        for other in ["sdb.iowhy", "-1970-01-11.iowhy", "sdb-1970-13-11.iowhy", "sdb-1970-01-11"] {
            assert_eq!(of_file(other), None, "{other}");
        }
    }

    #[test]
    fn orders_of_days_have_their_chance() {
        // Of 120 orders of five days one rises throughout and one falls; four more each have one
        // pair the wrong way round.
        assert!((by_chance(5, 10) - 2.0 / 120.0).abs() < 1e-12);
        assert!((by_chance(5, 8) - 10.0 / 120.0).abs() < 1e-12);
        assert!((by_chance(5, 0) - 1.0).abs() < 1e-12);
        assert!(by_chance(4, 6) > RARE);
        // More days are not counted out; where the two ways meet they differ by far less than the
        // level at which a drift is called one.
        for (order, is_rare) in [(0, false), (100, false), (200, true), (400, true)] {
            let (exact, normal) = (by_chance(COUNTED, order), normal(COUNTED, order));
            assert!((exact - normal).abs() < RARE / 20.0, "{order}: {exact} {normal}");
            assert!((exact < RARE) == is_rare, "{order}: {exact}");
        }
        assert!(by_chance(3650, 3_000_000) < 1e-9 && by_chance(3650, 1000) > 0.5);
        assert_eq!([0.0004, 0.0167].map(shown), ["p < 0.001", "p = 0.017"]);
    }

    #[test]
    fn a_disk_that_becomes_slower_each_day_drifts_and_a_bad_day_does_not() {
        let Drift::By(factor, p) = trend(&[200, 240, 280, 330, 400, 460]).drift() else {
            unreachable!("a drift")
        };
        assert!((2.0..2.7).contains(&factor) && p < 0.01, "{factor} {p}");
        assert_eq!(trend(&[200, 205, 900, 200, 204, 203]).drift(), Drift::Steady);
        assert_eq!(trend(&[200, 200, 200, 200, 200]).drift(), Drift::Steady);
        assert_eq!(trend(&[200, 400, 800, 1600]).drift(), Drift::TooFew(4));
        assert!(
            matches!(trend(&[460, 400, 330, 280, 240]).drift(), Drift::By(factor, _) if factor < 0.6)
        );
    }
}
