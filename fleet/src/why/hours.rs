//! Cells become hours: the mean latency and the load of each disk and operation.
//!
//! A disk of which there are only averages (`iowhy export --averages`) is judged by await, the time
//! in the host's queue included, and compared with such disks only.

use std::collections::{BTreeMap, BTreeSet};

use datafusion::arrow::array::Array;

use crate::answers;
use crate::columns::{text, texts, whole};
use crate::engine::Fleet;
use crate::tables::Table;

/// Minimum I/Os of an hour for a mean.
const FEWEST: i64 = 30;
/// Hosts asked at a time, which bounds the memory.
const HOSTS: usize = 48;
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
}

/// An hour of one operation, as it is counted.
struct HourCount {
    op: usize,
    /// Since 1970.
    hour: i64,
    ios: i64,
    ns: i64,
    bytes: i64,
    /// The begin of its first cell and the end of its last, µs since 1970.
    seen: (i64, i64),
}

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
    rows: &[HourCount],
    watched: &WatchedHours,
    first: i64,
    hours: usize,
) -> [Vec<Option<Hour>>; 3] {
    let mut of = [vec![None; hours], vec![None; hours], vec![None; hours]];
    // The load of an hour is that of both operations.
    let mut loads: BTreeMap<i64, i64> = BTreeMap::new();
    for row in rows {
        *loads.entry(row.hour).or_default() += row.ios;
    }
    for row in rows.iter().filter(|row| row.ios >= FEWEST && row.ns > 0) {
        let all = loads.get(&row.hour).copied().unwrap_or(row.ios);
        let place = usize::try_from(row.hour - first).ok();
        let Some(hour) = place.and_then(|place| of[row.op].get_mut(place)) else { continue };
        *hour = Some(Hour {
            latency: (row.ns as f64 / row.ios as f64).ln(),
            load: (all as f64 / seconds(watched, row.hour)).ln(),
            ios: row.ios,
            bytes: row.bytes as f64 / row.ios as f64,
        });
    }
    of
}

/// Which cells are compared.
const COMPARED: &str = "(stage = 'D2C' AND op IN ('read', 'write')
    OR origin = 'average' AND stage = 'Q2C' AND (op IS NULL OR op IN ('read', 'write')))";

/// Reads them.
///
/// # Errors
/// If a file cannot be read, there is no hour of I/O, or what was read and the footers of the files
/// disagree.
pub async fn read(fleet: &Fleet) -> anyhow::Result<Disks> {
    let expected = answers::expected(fleet, Table::Cells, Some(COMPARED)).await?;
    let (mut counted, mut keys) = (0, BTreeSet::new());
    let mut rows: BTreeMap<(String, String), Vec<HourCount>> = BTreeMap::new();
    let mut averages: BTreeMap<(String, String), Vec<HourCount>> = BTreeMap::new();
    let hosts = hosts(fleet).await?;
    for part in hosts.chunks(HOSTS) {
        let names: Vec<String> =
            part.iter().map(|host| format!("'{}'", host.replace('\'', "''"))).collect();
        let sql = format!(
            "SELECT host, device, op, CAST(date_trunc('hour', time) AS BIGINT), sum(count), sum(sum), sum(bytes),
               min(CAST(time AS BIGINT)), max(CAST(time AS BIGINT) + CAST(span AS BIGINT) * 1000000), count(*),
               CASE WHEN stage = 'Q2C' THEN 1 ELSE 0 END
             FROM cells WHERE {COMPARED} AND host IN ({})
             GROUP BY host, device, op, date_trunc('hour', time), stage",
            names.join(", ")
        );
        for batch in fleet.query(&sql).await? {
            let (host, device, ops) = (texts(&batch, 0)?, texts(&batch, 1)?, texts(&batch, 2)?);
            let numbers =
                (3..11).map(|at| whole(&batch, at)).collect::<anyhow::Result<Vec<_>>>()?;
            for row in 0..batch.num_rows() {
                let number = |at: usize| match numbers[at].is_null(row) {
                    true => 0,
                    false => numbers[at].value(row),
                };
                let key = (text(&host, row).to_string(), text(&device, row).to_string());
                let op = OPS.iter().position(|op| *op == text(&ops, row)).unwrap_or(2);
                let is_average = number(7) == 1;
                let one = HourCount {
                    op,
                    hour: number(0).div_euclid(HOUR_US),
                    ios: number(1),
                    ns: number(2),
                    bytes: number(3),
                    seen: (number(4), number(5)),
                };
                counted += number(6);
                anyhow::ensure!(
                    keys.insert((key.clone(), op, one.hour, is_average)),
                    "an hour of {} {} came twice: no result\n\
                     hint: run it again; if that happens twice, the engine is broken",
                    key.0,
                    key.1
                );
                let of = if is_average { &mut averages } else { &mut rows };
                of.entry(key).or_default().push(one);
            }
        }
    }
    anyhow::ensure!(
        counted == expected,
        "{counted} rows of `cells` were read instead of {expected}: no result\n\
         hint: run it again; if that happens twice, a file is broken"
    );
    averages.retain(|disk, _| !rows.contains_key(disk));
    let are_mixed = !rows.is_empty() && !averages.is_empty();
    let averaged: BTreeSet<_> = averages.keys().cloned().collect();
    rows.append(&mut averages);
    let all = || rows.values().flatten().map(|row| row.hour);
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
        for row in rows {
            let seen = of_host.entry(row.hour).or_insert(row.seen);
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
    state(fleet, &mut disks).await?;
    for disk in disks.disks.iter_mut().filter(|disk| are_mixed && disk.is_averaged) {
        // Times with and without the queue are not compared.
        disk.model = format!("{} (await)", disk.model).trim_start().to_string();
    }
    Ok(disks)
}

/// The hosts that have cells, in order.
async fn hosts(fleet: &Fleet) -> anyhow::Result<Vec<String>> {
    let mut hosts = Vec::new();
    for batch in fleet.query("SELECT DISTINCT host FROM cells ORDER BY host").await? {
        let names = texts(&batch, 0)?;
        hosts.extend(names.iter().flatten().map(str::to_string));
    }
    Ok(hosts)
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

/// Facts about hosts and disks.
async fn state(fleet: &Fleet, disks: &mut Disks) -> anyhow::Result<()> {
    // Each row is looked at: what the footers count is there.
    answers::expected(fleet, Table::Facts, Some("kind IS NOT NULL")).await?;
    let sql = "SELECT DISTINCT host, device, kind, key, value, unit, CAST(number AS BIGINT) FROM facts
               WHERE kind = 'label' OR (kind = 'fact' AND key IN ('model', 'firmware', 'kernel', 'smart.hours'))";
    let (mut of_disk, mut of_host) = (
        BTreeMap::<(String, String), Vec<(String, String)>>::new(),
        BTreeMap::<String, Vec<(String, String)>>::new(),
    );
    for batch in fleet.query(sql).await? {
        let columns = (0..6).map(|at| texts(&batch, at)).collect::<anyhow::Result<Vec<_>>>()?;
        let numbers = whole(&batch, 6)?;
        for row in 0..batch.num_rows() {
            let of = |at: usize| text(&columns[at], row).to_string();
            let mut reported = (of(3), of(4));
            if reported.0 == "smart.hours" {
                let number = (!numbers.is_null(row)).then(|| numbers.value(row));
                let Some(hours) = number.and_then(|number| in_hours(number, &of(5))) else {
                    continue;
                };
                reported = (AGE.to_string(), hours.to_string());
            }
            match of(1).as_str() {
                "" => of_host.entry(of(0)).or_default().push(reported),
                device => of_disk.entry((of(0), device.to_string())).or_default().push(reported),
            }
        }
    }
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
    use super::{HOUR_US, HourCount, WatchedHours, escaped, hours_of, in_hours, years};

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
        let of = |hour: i64| HourCount {
            op: 0,
            hour,
            ios: 7200,
            ns: 7_200_000_000,
            bytes: 0,
            seen: match to_an_hour {
                true => (hour * HOUR_US, (hour + 1) * HOUR_US),
                false => (hour * HOUR_US + 9_000_000, hour * HOUR_US + 3_500_000_000),
            },
        };
        let rows: Vec<HourCount> = (9..12).map(of).collect();
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
