//! Cells become hours: the mean latency and the load of each disk and operation.
//!
//! A disk of which there are only averages (`iowhy export --averages`) is judged by await, the time
//! in the host's queue included, and compared with such disks only.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, RecordBatch};

use crate::files::{self, TableFile, Texts};
use crate::place::Place;
use crate::tables::Table;

/// Minimum I/Os of an hour for a mean.
const FEWEST: i64 = 30;
const HOUR_US: i64 = 3_600_000_000;

/// One hour of one operation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Hour {
    /// Logarithm of the mean latency in ns.
    pub latency: f64,
    /// Logarithm of I/Os of all operations per second of the hour, or of what of it the host was
    /// watched.
    pub load: f64,
    /// I/Os.
    pub ios: i64,
    /// Bytes of one, on average; 0 if unknown.
    pub bytes: f64,
}

/// The load of a disk; where only an average of both is known (sar), the last.
pub const OPS: [&str; 3] = ["read", "write", "I/O"];

/// A disk with its hours.
#[derive(Clone, Debug, Default)]
pub struct Disk {
    /// Its host.
    pub host: String,
    /// The kernel's name there.
    pub device: String,
    /// What it is; empty if nothing shows it.
    pub model: String,
    /// With what firmware; empty if nothing shows it.
    pub firmware: String,
    /// Labels of the host, such as its rack.
    pub labels: BTreeMap<String, String>,
    /// By operation, as in [`OPS`], and hour since the fleet's first.
    pub hours: [Vec<Option<Hour>>; 3],
    /// Whether only averages are known.
    pub is_averaged: bool,
}

/// All disks.
#[derive(Clone, Debug, Default)]
pub struct Disks {
    /// In the order of hosts and names.
    pub disks: Vec<Disk>,
    /// When the first hour begins, s since 1970.
    pub first_s: i64,
    /// How many hours there are.
    pub hours: usize,
}

impl Disks {
    /// The day of an hour, since 1970, UTC.
    pub fn day(&self, hour: usize) -> i64 {
        (self.first_s + i64::try_from(hour).unwrap_or(0) * 3600).div_euclid(86_400)
    }

    /// The places of the disks of each model.
    pub fn by_model(&self) -> BTreeMap<&str, Vec<usize>> {
        let mut models: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (place, disk) in self.disks.iter().enumerate() {
            models.entry(&disk.model).or_default().push(place);
        }
        models
    }
}

/// An operation, by its place in [`OPS`], and an hour since 1970.
type OpHour = (usize, i64);

/// An hour of one operation, as it is counted.
#[derive(Clone, Copy)]
struct HourCount {
    ios: i64,
    ns: i64,
    bytes: i64,
    /// Start of its first cell and the end of its last, µs since 1970.
    seen: (i64, i64),
}

impl HourCount {
    fn add(&mut self, other: HourCount) {
        self.ios = self.ios.saturating_add(other.ios);
        self.ns = self.ns.saturating_add(other.ns);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.seen = (self.seen.0.min(other.seen.0), self.seen.1.max(other.seen.1));
    }
}

/// The hours of a disk.
type Counted = BTreeMap<OpHour, HourCount>;

/// Of a host, the start of the first cell in each hour and the end of the last, µs since 1970.
type WatchedHours = BTreeMap<i64, (i64, i64)>;

/// The seconds of an hour in which a host was watched: all of it, but for the hours in which that
/// began or ended. Seconds without an I/O have no cell, minutes and hours that the recorder sampled
/// them to do: what is counted per cell would depend on how fine they are.
fn seconds(watched: &WatchedHours, hour: i64) -> f64 {
    let (begin, end) = (hour * HOUR_US, (hour + 1) * HOUR_US);
    let (first, last) = watched.get(&hour).copied().unwrap_or((begin, end));
    let from = if watched.contains_key(&(hour - 1)) { begin } else { first.max(begin) };
    let to = if watched.contains_key(&(hour + 1)) { end } else { last.min(end) };
    ((to - from) as f64 / 1e6).max(1.0)
}

/// The hours of a disk, from the fleet's first one on.
fn hours_of(
    rows: &Counted,
    watched: &WatchedHours,
    first: i64,
    hours: usize,
) -> [Vec<Option<Hour>>; 3] {
    let mut of = [vec![None; hours], vec![None; hours], vec![None; hours]];
    // The load of an hour is that of both operations.
    let mut loads: BTreeMap<i64, i64> = BTreeMap::new();
    for ((_, hour), row) in rows {
        *loads.entry(*hour).or_default() += row.ios;
    }
    for ((op, at), row) in rows.iter().filter(|(_, row)| row.ios >= FEWEST && row.ns > 0) {
        let all = loads.get(at).copied().unwrap_or(row.ios);
        let place = usize::try_from(at - first).ok();
        let Some(hour) = place.and_then(|place| of[*op].get_mut(place)) else { continue };
        *hour = Some(Hour {
            latency: (row.ns as f64 / row.ios as f64).ln(),
            load: (all as f64 / seconds(watched, *at)).ln(),
            ios: row.ios,
            bytes: row.bytes as f64 / row.ios as f64,
        });
    }
    of
}

/// The columns of cells that hours are added up from.
const CELLS: [&str; 9] =
    ["time", "span", "device", "op", "stage", "count", "sum", "bytes", "origin"];

/// The hours in a file, by device and whether they are averages.
type OfFile = BTreeMap<(String, bool), Counted>;

/// What the cells of an hour have in common: the place of the device's name, whether they are
/// averages, operation and hour.
type CellKey = (Option<usize>, bool, OpHour);

/// Adds the cells of a batch to hours: reads and writes on the device; of averages, await.
fn add(batch: &RecordBatch, to: &mut OfFile) -> anyhow::Result<()> {
    let text = |name: &str| Texts::of(batch, name);
    let column = |name: &str| batch.column_by_name(name).context("a column is missing");
    let whole = |name: &str| {
        let of_it = column(name)?.as_primitive_opt::<Int64Type>();
        of_it.with_context(|| format!("column `{name}` does not contain whole numbers"))
    };
    let (devices, ops, stages, origins) =
        (text("device")?, text("op")?, text("stage")?, text("origin")?);
    let times = column("time")?.as_primitive_opt::<TimestampMicrosecondType>();
    let times = times.context("no times in a column `time`")?;
    let spans = column("span")?.as_primitive_opt::<Int32Type>();
    let spans = spans.context("no lengths in a column `span`")?;
    let (counts, sums, bytes) = (whole("count")?, whole("sum")?, whole("bytes")?);
    let op_of = ops.map(|text| OPS[..2].iter().position(|op| *op == text));
    let is_device = stages.map(|text| text == "D2C");
    let is_all = stages.map(|text| text == "Q2C");
    let is_average = origins.map(|text| text == "average");
    let is = |which: &[bool], key: Option<usize>| key.is_some_and(|key| which[key]);
    // Cells are sorted, so that those of an hour follow each other.
    let mut open: Option<(CellKey, HourCount)> = None;
    let mut close = |open: Option<(CellKey, HourCount)>| {
        let Some(((device, averaged, of), count)) = open else { return };
        let hours = to.entry((devices.text(device).to_string(), averaged)).or_default();
        hours.entry(of).and_modify(|hour| hour.add(count)).or_insert(count);
    };
    for row in 0..batch.num_rows() {
        let (op, stage) = (ops.key(row), stages.key(row));
        let averaged = is(&is_all, stage) && is(&is_average, origins.key(row));
        let op = match op {
            Some(key) => op_of[key],
            None if averaged => Some(OPS.len() - 1),
            None => None,
        };
        let Some(op) = op.filter(|_| averaged || is(&is_device, stage)) else { continue };
        let of = |column: &dyn Array, value: i64| if column.is_null(row) { 0 } else { value };
        let time = times.value(row);
        let end = time + i64::from(spans.value(row)) * 1_000_000;
        let one = HourCount {
            ios: of(counts, counts.value(row)),
            ns: of(sums, sums.value(row)),
            bytes: of(bytes, bytes.value(row)),
            seen: (time, end),
        };
        let key = (devices.key(row), averaged, (op, time.div_euclid(HOUR_US)));
        match &mut open {
            Some((known, count)) if *known == key => count.add(one),
            _ => close(open.replace((key, one))),
        }
    }
    close(open);
    Ok(())
}

/// Reads them.
///
/// # Errors
/// If a file cannot be read, there is no hour of I/O, or what was read and the footers of the files
/// disagree.
pub fn read(places: &[Place]) -> anyhow::Result<Disks> {
    let (cells, facts) = (files::of(places, Table::Cells)?, files::of(places, Table::Facts)?);
    anyhow::ensure!(
        !cells.is_empty() || !facts.is_empty(),
        "`{}` contains no tables\nhint: `iowhy export --parquet DIR` writes them, \
         `iowhy-fleet make DIR` generates some",
        places.iter().map(Place::to_string).collect::<Vec<_>>().join("`, `")
    );
    let mut rows: BTreeMap<(String, String), Counted> = BTreeMap::new();
    let mut averages: BTreeMap<(String, String), Counted> = BTreeMap::new();
    let of_batch = |_: &TableFile, batch: &RecordBatch, of: &mut OfFile| add(batch, of);
    files::each(&cells, Table::Cells, &CELLS, of_batch, |file, of_file: OfFile| {
        for ((device, averaged), counted) in of_file {
            let all = if averaged { &mut averages } else { &mut rows };
            let hours = all.entry((file.host.clone(), device)).or_default();
            for (of, count) in counted {
                hours.entry(of).and_modify(|hour| hour.add(count)).or_insert(count);
            }
        }
    })?;
    averages.retain(|disk, _| !rows.contains_key(disk));
    let are_mixed = !rows.is_empty() && !averages.is_empty();
    let averaged: BTreeSet<_> = averages.keys().cloned().collect();
    rows.append(&mut averages);
    let all = || rows.values().flat_map(BTreeMap::keys).map(|(_, hour)| *hour);
    let (Some(first), Some(last)) = (all().min(), all().max()) else {
        anyhow::bail!(
            "there is no I/O with a time on the device (stage D2C) in these folders\n\
             hint: for averages (iostat, sar, node_exporter) use `iowhy-fleet ingest`"
        );
    };
    let hours = usize::try_from(last - first)? + 1;
    let mut watched: BTreeMap<&str, WatchedHours> = BTreeMap::new();
    for ((host, _), rows) in &rows {
        let of_host = watched.entry(host).or_default();
        for ((_, hour), row) in rows {
            let seen = of_host.entry(*hour).or_insert(row.seen);
            *seen = (seen.0.min(row.seen.0), seen.1.max(row.seen.1));
        }
    }
    let mut disks = Vec::new();
    for ((host, device), of_disk) in &rows {
        let hours = hours_of(of_disk, &watched[host.as_str()], first, hours);
        let is_averaged = averaged.contains(&(host.clone(), device.clone()));
        let (host, device) = (host.clone(), device.clone());
        disks.push(Disk { host, device, hours, is_averaged, ..Disk::default() });
    }
    let mut disks = Disks { disks, first_s: first * 3600, hours };
    add_disk_facts(&facts, &mut disks)?;
    for disk in disks.disks.iter_mut().filter(|disk| are_mixed && disk.is_averaged) {
        // Times with and without the queue are not compared.
        disk.model = format!("{} (await)", disk.model).trim_start().to_string();
    }
    Ok(disks)
}

/// A name as a part of a path: `%` and two digits for all that is not plain.
pub fn escaped(name: &str) -> String {
    name.bytes().fold(String::new(), |text, byte| match byte {
        b'-' | b'_' | b'.' => text + &char::from(byte).to_string(),
        byte if byte.is_ascii_alphanumeric() => text + &char::from(byte).to_string(),
        byte => text + &format!("%{byte:02X}"),
    })
}

/// The name of what groups disks by how long they have been on.
const AGE: &str = "age";

/// A power-on time in hours; `None` if its unit is not a time.
fn in_hours(number: i64, unit: &str) -> Option<i64> {
    match unit {
        "h" => Some(number),
        "s" => Some(number / 3600),
        _ => None,
    }
}

/// How old a disk is, in whole years of power-on time.
fn years(hours: i64) -> String {
    match hours / 8766 {
        0 => "below 1 year".to_string(),
        1 => "of 1 year".to_string(),
        years => format!("of {years} years"),
    }
}

/// What facts report of a disk, or of a host if the device is empty.
type Reported = BTreeMap<String, Vec<(String, String)>>;

/// The facts of a batch that disks are compared by, each once.
fn reported(batch: &RecordBatch, to: &mut Reported) -> anyhow::Result<()> {
    let text = |name: &str| Texts::of(batch, name);
    let (devices, kinds, keys, values, units) =
        (text("device")?, text("kind")?, text("key")?, text("value")?, text("unit")?);
    let numbers = batch.column_by_name("number").and_then(|column| column.as_primitive_opt());
    let numbers: &arrow_array::PrimitiveArray<Float64Type> =
        numbers.context("no numbers in a column `number`")?;
    for row in 0..batch.num_rows() {
        let one = match (kinds.at(row), keys.at(row)) {
            ("label", key) | ("fact", key @ ("model" | "firmware" | "kernel")) => {
                (key.to_string(), values.at(row).to_string())
            }
            ("fact", "smart.hours") if !numbers.is_null(row) => {
                let hours = in_hours(numbers.value(row) as i64, units.at(row));
                let Some(hours) = hours else { continue };
                (AGE.to_string(), hours.to_string())
            }
            _ => continue,
        };
        let of = to.entry(devices.at(row).to_string()).or_default();
        if !of.contains(&one) {
            of.push(one);
        }
    }
    Ok(())
}

/// Facts about hosts and disks.
fn add_disk_facts(facts: &[TableFile], disks: &mut Disks) -> anyhow::Result<()> {
    let (mut of_disk, mut of_host) = (
        BTreeMap::<(String, String), Vec<(String, String)>>::new(),
        BTreeMap::<String, Vec<(String, String)>>::new(),
    );
    let columns = ["device", "kind", "key", "value", "number", "unit"];
    let of_batch = |_: &TableFile, batch: &RecordBatch, of: &mut Reported| reported(batch, of);
    files::each(facts, Table::Facts, &columns, of_batch, |file, of_file: Reported| {
        for (device, facts) in of_file {
            let host = file.host.clone();
            let known = match device.as_str() {
                "" => of_host.entry(host).or_default(),
                _ => of_disk.entry((host, device)).or_default(),
            };
            for fact in facts {
                if known.last() != Some(&fact) && !known.contains(&fact) {
                    known.push(fact);
                }
            }
        }
    })?;
    for disk in &mut disks.disks {
        let labels = of_host.get(&disk.host).into_iter().flatten();
        disk.labels = labels.cloned().collect();
        let key = (disk.host.clone(), disk.device.clone());
        let mut on: Option<i64> = None;
        for (key, value) in of_disk.get(&key).into_iter().flatten() {
            match key.as_str() {
                "model" => disk.model = value.clone(),
                "firmware" => disk.firmware = value.clone(),
                AGE => on = on.max(value.parse().ok()),
                _ => {}
            }
        }
        disk.labels.extend(on.map(|hours| (AGE.to_string(), years(hours))));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Counted, HOUR_US, HourCount, WatchedHours, escaped, hours_of, in_hours, years};

    /// Hours of 7,200 reads of a ms each, in the first and last of which the host was watched for
    /// half an hour; the disk has an I/O every ten seconds only, and cells of a second or of an
    /// hour.
    fn thinned(to_an_hour: bool) -> Vec<f64> {
        let watched: WatchedHours = [
            (9, (9 * HOUR_US + HOUR_US / 2, 10 * HOUR_US)),
            (10, (10 * HOUR_US, 11 * HOUR_US)),
            (11, (11 * HOUR_US, 11 * HOUR_US + HOUR_US / 2)),
        ]
        .into();
        let of = |hour: i64| {
            let seen = match to_an_hour {
                true => (hour * HOUR_US, (hour + 1) * HOUR_US),
                false => (hour * HOUR_US + 9_000_000, hour * HOUR_US + 3_500_000_000),
            };
            ((0, hour), HourCount { ios: 7200, ns: 7_200_000_000, bytes: 0, seen })
        };
        let rows: Counted = (9..12).map(of).collect();
        let hours = hours_of(&rows, &watched, 9, 3);
        hours[0].iter().flatten().map(|hour| hour.load.exp()).collect()
    }

    #[test]
    fn hours_thinned_from_seconds_are_loaded_alike() {
        let seconds = thinned(false);
        assert_eq!(seconds, thinned(true));
        for (load, expected) in seconds.into_iter().zip([4.0, 2.0, 4.0]) {
            assert!((load - expected).abs() < 1e-9, "{load}, not {expected}");
        }
    }

    #[test]
    fn ages_are_whole_years() {
        assert_eq!([8000, 9000, 30_000].map(years), ["below 1 year", "of 1 year", "of 3 years"]);
        assert_eq!(
            (in_hours(9, "h"), in_hours(7200, "s"), in_hours(9, "B")),
            (Some(9), Some(2), None)
        );
    }

    #[test]
    fn names_of_files_are_plain() {
        assert_eq!(escaped("../A B"), "..%2FA%20B");
        assert_eq!(escaped("web-17.a"), "web-17.a");
    }
}
