//! A generated fleet as files: one of each host and day.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use datafusion::arrow::array::{
    ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
    TimestampMicrosecondArray,
};
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::basic::{Compression, ZstdLevel};
use datafusion::parquet::file::metadata::KeyValue;
use datafusion::parquet::file::properties::WriterProperties;
use iowhy_model::Edges;

use super::Make;
use super::disks::{Course, Disk, Fleet, host_name};
use crate::tables::{TABLE_KEY, Table, VERSION, VERSION_KEY, schema};

const DAY_S: i64 = 86_400;
/// Threads that write hosts.
const THREADS: usize = 2;
/// The first day of all.
const EPOCH: jiff::civil::Date = jiff::civil::date(1970, 1, 1);
/// Hosts of a rack.
const RACK: u32 = 20;

/// Writes all tables; rows of cells.
pub fn write(make: &Make, fleet: &Fleet) -> anyhow::Result<u64> {
    buckets(make)?;
    let next = AtomicU32::new(0);
    let work = || -> anyhow::Result<u64> {
        let mut rows = 0;
        loop {
            let host = next.fetch_add(1, Relaxed);
            if host >= fleet.hosts {
                return Ok(rows);
            }
            rows += one_host(make, fleet, host)?;
        }
    };
    let results = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
        let ended = |thread: std::thread::ScopedJoinHandle<'_, anyhow::Result<u64>>| {
            thread.join().unwrap_or_else(|_| Err(anyhow::anyhow!("a thread broke")))
        };
        threads.into_iter().map(ended).collect::<anyhow::Result<Vec<u64>>>()
    });
    Ok(results?.into_iter().sum())
}

/// The columns of cells, as they fill.
#[derive(Default)]
struct Cells {
    time: Vec<i64>,
    device: Vec<String>,
    op: Vec<&'static str>,
    bucket: Vec<i32>,
    count: Vec<i64>,
    sum: Vec<i64>,
    bytes: Vec<i64>,
}

fn one_host(make: &Make, fleet: &Fleet, host: u32) -> anyhow::Result<u64> {
    let edges = Edges::standard();
    let disks = fleet.of_host(host);
    let hours = f64::from(make.days) * 24.0;
    let mut courses: Vec<Course> =
        disks.iter().map(|disk| Course::new(disk, hours, edges.as_slice())).collect();
    let mut rows = 0;
    for day in 0..make.days {
        let begin_s = (make.first_day + i64::from(day)) * DAY_S;
        let mut cells = Cells::default();
        for (disk, course) in disks.iter().zip(&mut courses) {
            // Sorted by operation first, as the exported files are.
            let mut reads = Cells::default();
            let mut writes = Cells::default();
            for at_s in (0..DAY_S).step_by(make.span as usize) {
                let hour = f64::from(day) * 24.0 + at_s as f64 / 3600.0;
                let both = course.cell(hour, f64::from(make.span));
                for ((cell, op), into) in
                    both.iter().zip(["read", "write"]).zip([&mut reads, &mut writes])
                {
                    for (bucket, count) in &cell.counts {
                        let middle = middle_ns(&edges, *bucket);
                        into.time.push((begin_s + at_s) * 1_000_000);
                        into.device.push(disk.device.clone());
                        into.op.push(op);
                        into.bucket.push(i32::try_from(*bucket)?);
                        into.count.push(*count);
                        into.sum.push(*count * middle);
                        into.bytes.push(*count * cell.bytes_each);
                    }
                }
            }
            for from in [reads, writes] {
                cells.time.extend(from.time);
                cells.device.extend(from.device);
                cells.op.extend(from.op);
                cells.bucket.extend(from.bucket);
                cells.count.extend(from.count);
                cells.sum.extend(from.sum);
                cells.bytes.extend(from.bytes);
            }
        }
        rows += cells.time.len() as u64;
        let folder = partition(&make.folder, Table::Cells, host, begin_s);
        let n = cells.time.len();
        let span = i32::try_from(make.span)?;
        let columns: Vec<ArrayRef> = vec![
            Arc::new(TimestampMicrosecondArray::from(cells.time).with_timezone("UTC")),
            Arc::new(Int32Array::from(vec![span; n])),
            Arc::new(StringArray::from(cells.device)),
            Arc::new(StringArray::from(cells.op)),
            Arc::new(StringArray::from(vec!["D2C"; n])),
            Arc::new(Int32Array::from(cells.bucket)),
            Arc::new(Int64Array::from(cells.count)),
            Arc::new(Int64Array::from(cells.sum)),
            Arc::new(Int64Array::from(cells.bytes)),
            Arc::new(StringArray::from(vec!["estimated"; n])),
        ];
        file(&folder, "made.parquet", Table::Cells, columns)?;
        let folder = partition(&make.folder, Table::Facts, host, begin_s);
        file(&folder, "made.parquet", Table::Facts, facts(host, disks))?;
    }
    Ok(rows)
}

/// A row of facts.
struct Fact<'a> {
    device: Option<&'a str>,
    kind: &'a str,
    key: &'a str,
    value: String,
    bytes: Option<f64>,
}

/// What is known of a host and its disks, as an export states it each day.
fn facts(host: u32, disks: &[Disk]) -> Vec<ArrayRef> {
    let kernel = if host.is_multiple_of(3) { "6.12.9" } else { "6.12.17" };
    let of_host = |kind, key, value| Fact { device: None, kind, key, value, bytes: None };
    let mut rows = vec![
        of_host("fact", "kernel", kernel.to_string()),
        of_host("label", "rack", format!("r{:03}", host / RACK)),
    ];
    for disk in disks {
        let device = Some(disk.device.as_str());
        let said =
            [("model", disk.model.name), ("firmware", disk.firmware), ("class", disk.model.class)];
        rows.extend(said.map(|(key, value)| Fact {
            device,
            kind: "fact",
            key,
            value: value.to_string(),
            bytes: None,
        }));
        let (value, bytes) = (disk.model.size.to_string(), Some(disk.model.size as f64));
        rows.push(Fact { device, kind: "fact", key: "size", value, bytes });
    }
    rows.sort_by(|a, b| (a.device, a.kind, a.key).cmp(&(b.device, b.kind, b.key)));
    let none = vec![None::<i64>; rows.len()];
    vec![
        Arc::new(TimestampMicrosecondArray::from(none).with_timezone("UTC")),
        Arc::new(rows.iter().map(|row| row.device).collect::<StringArray>()),
        Arc::new(rows.iter().map(|row| Some(row.kind)).collect::<StringArray>()),
        Arc::new(rows.iter().map(|row| Some(row.key)).collect::<StringArray>()),
        Arc::new(rows.iter().map(|row| Some(row.value.as_str())).collect::<StringArray>()),
        Arc::new(rows.iter().map(|row| row.bytes).collect::<Float64Array>()),
        Arc::new(rows.iter().map(|row| row.bytes.map(|_| "B")).collect::<StringArray>()),
    ]
}

fn buckets(make: &Make) -> anyhow::Result<()> {
    let edges = Edges::standard();
    let all = 0..edges.buckets();
    let high = |bucket: usize| i64::try_from(edges.high(bucket)).unwrap_or(i64::MAX);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(all.clone().map(|bucket| i32::try_from(bucket).ok()).collect::<Int32Array>()),
        Arc::new(
            all.clone().map(|bucket| i64::try_from(edges.low(bucket)).ok()).collect::<Int64Array>(),
        ),
        Arc::new(all.map(|bucket| Some(high(bucket))).collect::<Int64Array>()),
    ];
    let folder = make.folder.join(Table::Buckets.name());
    file(&folder, "buckets.parquet", Table::Buckets, columns)
}

/// What an I/O of a bucket took, on average, where nobody counted.
fn middle_ns(edges: &Edges, bucket: usize) -> i64 {
    let (low, high) = (edges.low(bucket), edges.high(bucket));
    let middle = if high == u64::MAX { low } else { low + (high - low) / 2 };
    i64::try_from(middle).unwrap_or(i64::MAX)
}

fn partition(folder: &Path, table: Table, host: u32, begin_s: i64) -> std::path::PathBuf {
    let days = begin_s.div_euclid(DAY_S);
    folder
        .join(table.name())
        .join(format!("host={}", host_name(host)))
        .join(format!("date={}", EPOCH + jiff::Span::new().days(days)))
}

fn file(folder: &Path, name: &str, table: Table, columns: Vec<ArrayRef>) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder)?;
    let batch = RecordBatch::try_new(schema(table), columns)?;
    let said = [(VERSION_KEY, VERSION), (TABLE_KEY, table.name())];
    let said = said.map(|(key, value)| KeyValue::new(key.to_string(), value.to_string()));
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
        .set_key_value_metadata(Some(said.to_vec()))
        .build();
    let out = File::create(folder.join(name))?;
    let mut writer = ArrowWriter::try_new(out, schema(table), Some(properties))?;
    writer.write(&batch)?;
    writer.close()?;
    Ok(())
}
