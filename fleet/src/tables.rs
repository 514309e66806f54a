//! The tables that `iowhy export --parquet` writes and this program reads: `docs/FLEET.md` describes the columns.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::parquet::file::reader::{FileReader, SerializedFileReader};
use iowhy_show::tables::Kind;
pub use iowhy_show::tables::{TABLE_KEY, Table, VERSION, VERSION_KEY};

/// Whether a table's files lie in folders `host=.../date=...`.
pub fn is_partitioned(table: Table) -> bool {
    table != Table::Buckets
}

/// The columns of a table's files, as the writer describes them.
pub fn schema(table: Table) -> SchemaRef {
    let kind = |kind: Kind| match kind {
        Kind::I64 => DataType::Int64,
        Kind::U64 => DataType::UInt64,
        Kind::U32 => DataType::UInt32,
        Kind::I32 => DataType::Int32,
        Kind::Micros => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        Kind::Real => DataType::Float64,
        Kind::Text => DataType::Utf8,
    };
    let fields = table.columns().map(|column| Field::new(column.name, kind(column.kind), true));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// The rows of a table below these folders, by the footer of every file.
///
/// # Errors
/// If a file cannot be read, is none, or is of another version.
pub fn rows(table: Table, folders: &[PathBuf]) -> anyhow::Result<u64> {
    let mut all = 0;
    for folder in folders {
        for path in files(&folder.join(table.name()))? {
            let told = |what: String| anyhow::anyhow!("`{}`: {what}", path.display());
            let file = std::fs::File::open(&path).map_err(|cause| told(cause.to_string()))?;
            let reader =
                SerializedFileReader::new(file).map_err(|cause| told(cause.to_string()))?;
            let about = reader.metadata().file_metadata();
            let version = about
                .key_value_metadata()
                .and_then(|pairs| pairs.iter().find(|pair| pair.key == VERSION_KEY)?.value.clone());
            if version.as_deref() != Some(VERSION) {
                let found = version.unwrap_or_else(|| "none".to_string());
                return Err(told(format!(
                    "columns of version {found}, and this program reads {VERSION}: export it anew"
                )));
            }
            all += u64::try_from(about.num_rows()).unwrap_or(0);
        }
    }
    Ok(all)
}

/// All Parquet files below a folder, in order; none if it is not there.
fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let (mut found, mut open) = (Vec::new(), vec![folder.to_path_buf()]);
    while let Some(next) = open.pop() {
        let entries = match std::fs::read_dir(&next) {
            Ok(entries) => entries,
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => continue,
            Err(cause) => anyhow::bail!("`{}`: {cause}", next.display()),
        };
        for entry in entries {
            let entry = entry.map_err(|cause| anyhow::anyhow!("`{}`: {cause}", next.display()))?;
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "parquet") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}
