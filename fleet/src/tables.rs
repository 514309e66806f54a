//! The tables that `iowhy export --parquet` writes and this program reads: `docs/FLEET.md`
//! describes the columns.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::datasource::listing::ListingTableUrl;
use datafusion::datasource::physical_plan::parquet::metadata::DFParquetMetadata;
use datafusion::prelude::SessionContext;
use futures::{StreamExt, TryStreamExt};
use iowhy_show::tables::Kind;
pub use iowhy_show::tables::{TABLE_KEY, Table, VERSION, VERSION_KEY};

/// A footer is at most so long, bytes, as a rule; if it is longer the rest is read, too.
const FOOTER: usize = 64 << 10;
/// Footers read at a time.
const AT_ONCE: usize = 32;

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

/// The rows of a table at a place, by the footer of every file; `None` if it has no file.
///
/// # Errors
/// If a file cannot be read, is none, or is of another version.
pub async fn rows(context: &SessionContext, url: &ListingTableUrl) -> anyhow::Result<Option<u64>> {
    let environment = context.runtime_env();
    let store = environment.object_store(url)?;
    let cache = environment.cache_manager.get_file_metadata_cache();
    let files = store.list(Some(url.prefix())).try_filter(|file| {
        std::future::ready(file.location.extension().is_some_and(|ends| ends == "parquet"))
    });
    let footers = files.map(|file| {
        let (store, cache) = (Arc::clone(&store), Arc::clone(&cache));
        async move {
            let file = file?;
            let reported = |what: String| {
                let from = url.object_store();
                anyhow::anyhow!("`{}{}`: {what}", from.as_str(), file.location)
            };
            let footer = DFParquetMetadata::new(store.as_ref(), &file)
                .with_metadata_size_hint(Some(FOOTER))
                .with_file_metadata_cache(Some(cache));
            let footer =
                footer.fetch_metadata().await.map_err(|cause| reported(cause.to_string()))?;
            let about = footer.file_metadata();
            let pairs = about.key_value_metadata();
            let version = pairs
                .and_then(|pairs| pairs.iter().find(|pair| pair.key == VERSION_KEY)?.value.clone());
            if version.as_deref() != Some(VERSION) {
                let found = version.unwrap_or_else(|| "none".to_string());
                return Err(reported(format!(
                    "columns of version {found}, and this program reads {VERSION}: export it again"
                )));
            }
            Ok(Some(u64::try_from(about.num_rows()).unwrap_or(0)))
        }
    });
    let add = |all: Option<u64>, one: Option<u64>| async move {
        Ok(Some(all.unwrap_or(0) + one.unwrap_or(0)))
    };
    footers.buffer_unordered(AT_ONCE).try_fold(None, add).await
}
