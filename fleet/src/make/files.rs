//! A generated fleet as files: one of each host and day.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use arrow_array::types::Int8Type;
use arrow_array::{
    ArrayRef, DictionaryArray, Int32Array, Int64Array, RecordBatch, StringArray,
    TimestampMicrosecondArray,
};
use arrow_schema::{DataType, Field, Schema};
use iowhy_model::Edges;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

use super::bell::Bell;
use super::course::{Counts, Course};
use super::disks::{Fleet, host_name};
use super::{Make, facts};
use crate::tables::{TABLE_KEY, Table, VERSION, VERSION_KEY, schema};

const DAY_S: u32 = 86_400;
/// The first day of all.
const EPOCH: jiff::civil::Date = jiff::civil::date(1970, 1, 1);
const OPS: [&str; 2] = ["read", "write"];

/// Writes all tables; rows of cells.
pub fn write(make: &Make, fleet: &Fleet) -> anyhow::Result<u64> {
    let shape = Shape::new();
    file(&make.folder.join(Table::Buckets.name()), "buckets.parquet", Table::Buckets, buckets())?;
    let next = AtomicU32::new(0);
    let work = || -> anyhow::Result<u64> {
        let mut rows = 0;
        loop {
            let host = next.fetch_add(1, Relaxed);
            if host >= fleet.hosts {
                return Ok(rows);
            }
            rows += one_host(make, fleet, &shape, host)?;
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let results = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let ended = |thread: std::thread::ScopedJoinHandle<'_, anyhow::Result<u64>>| {
            thread.join().unwrap_or_else(|_| Err(anyhow::anyhow!("a thread panicked")))
        };
        threads.into_iter().map(ended).collect::<anyhow::Result<Vec<u64>>>()
    });
    Ok(results?.into_iter().sum())
}

/// What all disks have in common.
struct Shape {
    /// Logarithms of the lower edges of the buckets, ns.
    edges: Vec<f64>,
    /// Assumed average latency of an I/O of a bucket, ns.
    middles: Vec<i64>,
    bell: Bell,
}

impl Shape {
    fn new() -> Shape {
        let edges = Edges::standard();
        let middle = |bucket: usize| {
            let (low, high) = (edges.low(bucket), edges.high(bucket));
            let middle = if high == u64::MAX { low } else { low + (high - low) / 2 };
            i64::try_from(middle).unwrap_or(i64::MAX)
        };
        Shape {
            edges: edges.as_slice().iter().map(|edge| (*edge as f64).max(1.0).ln()).collect(),
            middles: (0..edges.buckets()).map(middle).collect(),
            bell: Bell::new(),
        }
    }
}

/// The columns of cells that differ from row to row, as they fill.
#[derive(Default)]
struct Rows {
    time: Vec<i64>,
    bucket: Vec<i32>,
    count: Vec<i64>,
}

/// The columns of a file of cells, as they fill.
#[derive(Default)]
struct Cells {
    rows: Rows,
    /// Places of the device among those of the host, and of the operation.
    device: Vec<i8>,
    op: Vec<i8>,
    sum: Vec<i64>,
    bytes: Vec<i64>,
}

impl Cells {
    /// Adds the rows of a device and operation, and empties them.
    fn take(&mut self, rows: &mut Rows, device: i8, op: i8, bytes: i64, middles: &[i64]) {
        let n = self.rows.time.len() + rows.time.len();
        self.device.resize(n, device);
        self.op.resize(n, op);
        self.bytes.extend(rows.count.iter().map(|count| count * bytes));
        let each = rows.bucket.iter().map(|bucket| middles[*bucket as usize]);
        self.sum.extend(rows.count.iter().zip(each).map(|(count, middle)| count * middle));
        self.rows.time.append(&mut rows.time);
        self.rows.bucket.append(&mut rows.bucket);
        self.rows.count.append(&mut rows.count);
    }

    fn columns(self, span_s: u32, devices: Vec<&str>) -> anyhow::Result<Vec<ArrayRef>> {
        let n = self.rows.time.len();
        let texts = |places: Vec<i8>, of: Vec<&str>| -> anyhow::Result<ArrayRef> {
            let texts = Arc::new(StringArray::from(of));
            Ok(Arc::new(DictionaryArray::<Int8Type>::try_new(places.into(), texts)?))
        };
        Ok(vec![
            Arc::new(TimestampMicrosecondArray::from(self.rows.time).with_timezone("UTC")),
            Arc::new(Int32Array::from(vec![i32::try_from(span_s)?; n])),
            texts(self.device, devices)?,
            texts(self.op, OPS.to_vec())?,
            texts(vec![0; n], vec!["D2C"])?,
            Arc::new(Int32Array::from(self.rows.bucket)),
            Arc::new(Int64Array::from(self.rows.count)),
            Arc::new(Int64Array::from(self.sum)),
            Arc::new(Int64Array::from(self.bytes)),
            texts(vec![0; n], vec!["estimated"])?,
        ])
    }
}

fn one_host(make: &Make, fleet: &Fleet, shape: &Shape, host: u32) -> anyhow::Result<u64> {
    let disks = fleet.of_host(host);
    let hours = f64::from(make.days) * 24.0;
    let thin = make.thin.unwrap_or(make.span);
    let mut courses: Vec<Course> =
        disks.iter().map(|disk| Course::new(disk, hours, &shape.edges, &shape.bell)).collect();
    let mut counts = [(); 2].map(|()| Counts::new(shape.middles.len()));
    let mut all = 0;
    for day in 0..make.days {
        let begin_s = (make.first_day + i64::from(day)) * i64::from(DAY_S);
        let mut cells = Cells::default();
        for (place, (disk, course)) in disks.iter().zip(&mut courses).enumerate() {
            // Sorted by operation first, as the exported files are.
            let mut rows = [Rows::default(), Rows::default()];
            for at_s in (0..DAY_S).step_by(make.span as usize) {
                let hour = f64::from(day) * 24.0 + f64::from(at_s) / 3600.0;
                course.cell(hour, f64::from(make.span), &mut counts);
                if !(at_s + make.span).is_multiple_of(thin) {
                    continue;
                }
                let time = (begin_s + i64::from(at_s / thin * thin)) * 1_000_000;
                for (counts, rows) in counts.iter_mut().zip(&mut rows) {
                    counts.drain(|bucket, count| {
                        rows.time.push(time);
                        rows.bucket.push(bucket as i32);
                        rows.count.push(count);
                    });
                }
            }
            for ((op, rows), bytes) in (0..).zip(&mut rows).zip(disk.bytes) {
                cells.take(rows, i8::try_from(place)?, op, bytes, &shape.middles);
            }
        }
        all += cells.rows.time.len() as u64;
        let devices = disks.iter().map(|disk| disk.device.as_str()).collect();
        let folder = partition(&make.folder, Table::Cells, host, begin_s);
        file(&folder, "made.parquet", Table::Cells, cells.columns(thin, devices)?)?;
        let folder = partition(&make.folder, Table::Facts, host, begin_s);
        file(&folder, "made.parquet", Table::Facts, facts::columns(host, disks))?;
    }
    Ok(all)
}

fn buckets() -> Vec<ArrayRef> {
    let edges = Edges::standard();
    let all = 0..edges.buckets();
    let high = |bucket: usize| i64::try_from(edges.high(bucket)).unwrap_or(i64::MAX);
    vec![
        Arc::new(all.clone().map(|bucket| i32::try_from(bucket).ok()).collect::<Int32Array>()),
        Arc::new(
            all.clone().map(|bucket| i64::try_from(edges.low(bucket)).ok()).collect::<Int64Array>(),
        ),
        Arc::new(all.map(|bucket| Some(high(bucket))).collect::<Int64Array>()),
    ]
}

fn partition(folder: &Path, table: Table, host: u32, begin_s: i64) -> PathBuf {
    let days = begin_s.div_euclid(i64::from(DAY_S));
    folder
        .join(table.name())
        .join(format!("host={}", host_name(host)))
        .join(format!("date={}", EPOCH + jiff::Span::new().days(days)))
}

/// Writes a file as an export does: texts in dictionaries, numbers as differences.
fn file(folder: &Path, name: &str, table: Table, columns: Vec<ArrayRef>) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder)?;
    let fields = schema(table);
    let fields = fields.fields().iter().zip(&columns).map(|(field, column)| {
        Field::new(field.name(), column.data_type().clone(), field.is_nullable())
    });
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields.collect::<Vec<_>>())), columns)?;
    let reported = [(VERSION_KEY, VERSION), (TABLE_KEY, table.name())];
    let reported = reported.map(|(key, value)| KeyValue::new(key.to_string(), value.to_string()));
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
        .set_key_value_metadata(Some(reported.to_vec()));
    for field in batch.schema().fields() {
        if matches!(field.data_type(), DataType::Int32 | DataType::Int64) {
            let column = field.name().as_str();
            properties = properties
                .set_column_dictionary_enabled(column.into(), false)
                .set_column_encoding(column.into(), Encoding::DELTA_BINARY_PACKED);
        }
    }
    // Without the schema of Arrow, which would have readers make dictionaries of the texts.
    let options = ArrowWriterOptions::new()
        .with_properties(properties.build())
        .with_skip_arrow_metadata(true);
    let out = File::create(folder.join(name))?;
    let mut writer = ArrowWriter::try_new_with_options(out, batch.schema(), options)?;
    writer.write(&batch)?;
    writer.close()?;
    Ok(())
}
