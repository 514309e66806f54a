//! The files of a table, read without an SQL engine: what judges needs sums only, one pass over
//! each file.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use anyhow::Context;
use arrow_array::types::Int32Type;
use arrow_array::{Array, DictionaryArray, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::file::reader::ChunkReader;

use crate::place::Place;
use crate::tables::{Table, VERSION, VERSION_KEY, schema};

/// Rows that are decoded at a time.
const ROWS: usize = 1 << 15;

/// One file of a table.
pub struct TableFile {
    /// The host whose rows they are.
    pub host: String,
    source: Source,
}

enum Source {
    Path(PathBuf),
    #[cfg(feature = "sql")]
    Object(Arc<crate::place::Bucket>, object_store::ObjectMeta),
}

/// The files of a table at some places, sorted.
///
/// # Errors
/// If a place cannot be read.
pub fn of(places: &[Place], table: Table) -> anyhow::Result<Vec<TableFile>> {
    let mut found = Vec::new();
    for place in places {
        #[cfg(feature = "sql")]
        if let Some(bucket) = place.objects()? {
            let bucket = Arc::new(bucket);
            let listed = bucket.list(place, table).with_context(|| place.unreachable())?;
            found.extend(listed.into_iter().filter_map(|object| {
                let host = host(object.location.as_ref().split('/'))?;
                Some(TableFile { host, source: Source::Object(Arc::clone(&bucket), object) })
            }));
            continue;
        }
        let folder = place.folder()?.join(table.name());
        let mut paths = Vec::new();
        if folder.is_dir() {
            below(&folder, &mut paths).with_context(|| place.unreachable())?;
        }
        paths.sort();
        found.extend(paths.into_iter().filter_map(|path| {
            let of_table = path.strip_prefix(&folder).unwrap_or(&path);
            let host = host(of_table.iter().filter_map(|part| part.to_str()))?;
            Some(TableFile { host, source: Source::Path(path) })
        }));
    }
    Ok(found)
}

/// The host of a file by the folders that it lies in.
fn host<'a>(mut parts: impl Iterator<Item = &'a str>) -> Option<String> {
    parts.find_map(|part| part.strip_prefix("host=")).map(plain)
}

/// A part of a path in which `%` and two digits are a byte.
fn plain(part: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), part.as_bytes());
    while let [first, after @ ..] = rest {
        let two = after.get(..2).filter(|_| *first == b'%');
        let coded = two.and_then(|two| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok());
        bytes.push(coded.unwrap_or(*first));
        rest = if coded.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn below(folder: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        match path.is_dir() {
            true => below(&path, found)?,
            false if path.extension().is_some_and(|ends| ends == "parquet") => found.push(path),
            false => {}
        }
    }
    Ok(())
}

/// Reads these columns of all files on all processors; what `of` makes of the batches of each, in
/// the order of the files.
///
/// # Errors
/// If a file cannot be read, is of another version, or has not the rows that its footer counts.
pub fn each<T: Send + Default>(
    files: &[TableFile],
    table: Table,
    columns: &[&str],
    of: impl Fn(&TableFile, &RecordBatch, &mut T) -> anyhow::Result<()> + Sync,
    mut take: impl FnMut(&TableFile, T) + Send,
) -> anyhow::Result<()> {
    let next = AtomicUsize::new(0);
    // Results wait for those before them, so that the same files are summed up in the same order.
    let done = Mutex::new((0, std::collections::BTreeMap::new(), &mut take));
    let work = || -> anyhow::Result<()> {
        loop {
            let place = next.fetch_add(1, Relaxed);
            let Some(file) = files.get(place) else { return Ok(()) };
            let mut result = T::default();
            let read = file.read(table, columns, |batch| of(file, batch, &mut result));
            read.inspect_err(|_| next.store(files.len(), Relaxed))?;
            let mut done = done.lock().map_err(|_| anyhow::anyhow!("a thread panicked"))?;
            let (first, waiting, take) = &mut *done;
            waiting.insert(place, result);
            while let Some(result) = waiting.remove(first) {
                take(&files[*first], result);
                *first += 1;
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let ended = |thread: std::thread::ScopedJoinHandle<'_, anyhow::Result<()>>| {
            thread.join().unwrap_or_else(|_| Err(anyhow::anyhow!("a thread panicked")))
        };
        threads.into_iter().try_for_each(ended)
    })
}

impl TableFile {
    /// What a user calls it.
    fn name(&self) -> String {
        match &self.source {
            Source::Path(path) => path.display().to_string(),
            #[cfg(feature = "sql")]
            Source::Object(_, object) => object.location.to_string(),
        }
    }

    fn read(
        &self,
        table: Table,
        columns: &[&str],
        take: impl FnMut(&RecordBatch) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let rows = match &self.source {
            Source::Path(path) => {
                let file = std::fs::File::open(path).map_err(anyhow::Error::from);
                file.and_then(|file| batches(file, table, columns, take))
            }
            #[cfg(feature = "sql")]
            Source::Object(bucket, object) => bucket
                .bytes(&object.location)
                .and_then(|bytes| batches(bytes, table, columns, take)),
        };
        rows.with_context(|| format!("cannot read `{}`", self.name()))
    }
}

/// Reads columns of a file.
fn batches(
    file: impl ChunkReader + 'static,
    table: Table,
    columns: &[&str],
    mut take: impl FnMut(&RecordBatch) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let options = options.with_schema(Arc::new(with_dictionaries(table)));
    let reader = ParquetRecordBatchReaderBuilder::try_new_with_options(file, options);
    let reader = reader?;
    let footer = reader.metadata().file_metadata();
    let expected = footer.num_rows();
    let version = footer
        .key_value_metadata()
        .and_then(|pairs| pairs.iter().find(|pair| pair.key == VERSION_KEY)?.value.clone());
    anyhow::ensure!(
        version.as_deref() == Some(VERSION),
        "columns of version {}, and this program reads {VERSION}: export it again",
        version.as_deref().unwrap_or("none")
    );
    let mask = ProjectionMask::columns(reader.parquet_schema(), columns.iter().copied());
    let mut rows = 0;
    for batch in reader.with_projection(mask).with_batch_size(ROWS).build()? {
        let batch = batch?;
        rows += i64::try_from(batch.num_rows())?;
        take(&batch)?;
    }
    let name = table.name();
    anyhow::ensure!(
        rows == expected,
        "`{name}` has {expected} rows by this footer, and {rows} were read: no result\n\
         hint: run it again; if that happens twice, the file is broken: export it again"
    );
    Ok(())
}

/// The columns of a table, texts as they are stored: by a dictionary.
fn with_dictionaries(table: Table) -> Schema {
    let stored = |field: &Field| match field.data_type() {
        DataType::Utf8 => {
            let texts = DataType::Dictionary(DataType::Int32.into(), DataType::Utf8.into());
            field.clone().with_data_type(texts)
        }
        _ => field.clone(),
    };
    Schema::new(schema(table).fields().iter().map(|field| stored(field)).collect::<Vec<_>>())
}

/// A column of texts.
pub struct Texts<'a> {
    keys: &'a DictionaryArray<Int32Type>,
    values: &'a StringArray,
}

impl<'a> Texts<'a> {
    /// Of a batch.
    ///
    /// # Errors
    /// If there is no such column.
    pub fn of(batch: &'a RecordBatch, name: &str) -> anyhow::Result<Texts<'a>> {
        let column = batch.column_by_name(name).and_then(|column| column.as_any().downcast_ref());
        let keys: &DictionaryArray<Int32Type> =
            column.with_context(|| format!("no texts in a column `{name}`"))?;
        let values = keys.values().as_any().downcast_ref();
        Ok(Texts { keys, values: values.context("a dictionary without texts")? })
    }

    /// The place of a row's text in the dictionary of the batch; `None` where there is none.
    pub fn key(&self, row: usize) -> Option<usize> {
        self.keys.key(row)
    }

    /// The text at a place in the dictionary; empty where there is none.
    pub fn text(&self, key: Option<usize>) -> &'a str {
        key.filter(|key| !self.values.is_null(*key)).map_or("", |key| self.values.value(key))
    }

    /// A row's text.
    pub fn at(&self, row: usize) -> &'a str {
        self.text(self.key(row))
    }

    /// What each text of the dictionary stands for.
    pub fn map<T>(&self, of: impl Fn(&str) -> T) -> Vec<T> {
        (0..self.values.len()).map(|key| of(self.text(Some(key)))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_is_the_one_of_the_folder() {
        let of = |path: &str| host(path.split('/'));
        assert_eq!(of("host=web-17/date=2026-11-23/a.parquet").as_deref(), Some("web-17"));
        assert_eq!(of("host=rack%2F3%/date=x/a.parquet").as_deref(), Some("rack/3%"));
        assert_eq!(of("buckets.parquet"), None);
    }
}
