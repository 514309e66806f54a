//! The embedded engine: DataFusion over the tables of one or more folders.

use std::sync::Arc;

use anyhow::Context;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{
    ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl,
};
use datafusion::datasource::physical_plan::parquet::metadata::DFParquetMetadata;
use datafusion::prelude::{DataFrame, SessionConfig, SessionContext};
use futures::{StreamExt, TryStreamExt};

use crate::place::Place;
use crate::tables::{Table, VERSION, VERSION_KEY, schema};

/// A footer is at most so long, bytes, as a rule; if it is longer the rest is read, too.
const FOOTER: usize = 64 << 10;
/// Footers read at a time.
const AT_ONCE: usize = 32;

/// The folders of a fleet, as tables.
pub struct Fleet {
    context: SessionContext,
    /// Rows of each table, by the footers of its files.
    rows: Vec<(Table, u64)>,
}

impl Fleet {
    /// Registers the tables. Only the footers of the files are read.
    ///
    /// # Errors
    /// If a place contains no tables or cannot be reached, or a file is none or of another version.
    pub async fn open(places: &[Place]) -> anyhow::Result<Fleet> {
        let mut config = SessionConfig::new().with_collect_statistics(false);
        config.options_mut().execution.parquet.pushdown_filters = true;
        let context = SessionContext::new_with_config(config);
        let mut found: Vec<(Table, Vec<ListingTableUrl>, u64)> =
            Table::ALL.into_iter().map(|table| (table, Vec::new(), 0)).collect();
        for place in places {
            if let Some(store) = place.store()? {
                let url = place.table(Table::Cells)?.object_store();
                context.register_object_store(url.as_ref(), store);
            }
            let mut is_empty = true;
            for (table, urls, all) in &mut found {
                let url = place.table(*table)?;
                let rows = rows(&context, &url).await;
                let Some(rows) = rows.with_context(|| place.unreachable())? else { continue };
                is_empty = false;
                // Each place has the same.
                if *table == Table::Buckets && !urls.is_empty() {
                    continue;
                }
                urls.push(url);
                *all += rows;
            }
            anyhow::ensure!(
                !is_empty,
                "`{place}` contains no tables\nhint: `iowhy export --parquet DIR` writes them, \
                 `iowhy-fleet make DIR` generates some"
            );
        }
        let mut rows = Vec::new();
        for (table, urls, all) in found {
            rows.push((table, all));
            if urls.is_empty() {
                let empty = datafusion::datasource::MemTable::try_new(
                    with_partitions(table),
                    vec![vec![]],
                )?;
                context.register_table(table.name(), Arc::new(empty))?;
                continue;
            }
            let mut stores: Vec<Vec<ListingTableUrl>> = Vec::new();
            for url in urls {
                let store = url.object_store();
                match stores.iter_mut().find(|of| of[0].object_store() == store) {
                    Some(of) => of.push(url),
                    None => stores.push(vec![url]),
                }
            }
            // The engine looks for all files of a table in one store.
            let mut all: Option<DataFrame> = None;
            for urls in stores {
                let part = context.read_table(Arc::new(listed(table, urls)?))?;
                all = Some(match all {
                    Some(all) => all.union(part)?,
                    None => part,
                });
            }
            if let Some(all) = all {
                context.register_table(table.name(), all.into_view())?;
            }
        }
        Ok(Fleet { context, rows })
    }

    /// The rows of a table, by the footers of its files.
    pub fn rows(&self, table: Table) -> u64 {
        self.rows.iter().find(|(known, _)| *known == table).map_or(0, |(_, rows)| *rows)
    }

    /// Runs one statement. Without rows there is still a batch with its columns.
    ///
    /// # Errors
    /// If it is none, or a file cannot be read.
    pub async fn query(&self, sql: &str) -> anyhow::Result<Vec<RecordBatch>> {
        let frame = self.context.sql(sql).await.context("the query is refused")?;
        let columns = Arc::new(frame.schema().as_arrow().clone());
        let mut batches = frame.collect().await.context("the query failed")?;
        if batches.is_empty() {
            batches.push(RecordBatch::new_empty(columns));
        }
        Ok(batches)
    }
}

/// The files of a table in one store.
fn listed(table: Table, urls: Vec<ListingTableUrl>) -> anyhow::Result<ListingTable> {
    let mut options =
        ListingOptions::new(Arc::new(ParquetFormat::default())).with_file_extension(".parquet");
    if is_partitioned(table) {
        let partitions = ["host", "date"].map(|name| (name.to_string(), DataType::Utf8)).to_vec();
        options = options.with_table_partition_cols(partitions);
    }
    let config = ListingTableConfig::new_with_multi_paths(urls)
        .with_listing_options(options)
        .with_schema(without_zones(table));
    Ok(ListingTable::try_new(config)?)
}

/// A table's columns, with times that have no zone: they are UTC all the same, and the engine cuts
/// these to hours by a division, those with a zone by a calendar.
fn without_zones(table: Table) -> SchemaRef {
    let plain = |field: &Field| match field.data_type() {
        DataType::Timestamp(unit, Some(_)) => {
            field.clone().with_data_type(DataType::Timestamp(*unit, None))
        }
        _ => field.clone(),
    };
    Arc::new(Schema::new(
        schema(table).fields().iter().map(|field| plain(field)).collect::<Vec<_>>(),
    ))
}

fn with_partitions(table: Table) -> SchemaRef {
    let mut fields: Vec<Field> =
        without_zones(table).fields().iter().map(|field| field.as_ref().clone()).collect();
    if is_partitioned(table) {
        fields.extend(["host", "date"].map(|name| Field::new(name, DataType::Utf8, true)));
    }
    Arc::new(Schema::new(fields))
}

/// Whether a table's files lie in folders `host=.../date=...`.
fn is_partitioned(table: Table) -> bool {
    table != Table::Buckets
}

/// The rows of a table at a place, by the footer of every file; `None` if it has no file.
///
/// # Errors
/// If a file cannot be read, is none, or is of another version.
async fn rows(context: &SessionContext, url: &ListingTableUrl) -> anyhow::Result<Option<u64>> {
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
