//! The embedded engine: DataFusion over the tables of one or more folders.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{
    ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl,
};
use datafusion::prelude::{SessionConfig, SessionContext};

use crate::tables::{Table, is_partitioned, rows, schema};

/// The folders of a fleet, as tables.
pub struct Fleet {
    context: SessionContext,
    /// Where they are.
    pub folders: Vec<PathBuf>,
    /// Rows of each table, by the footers of its files.
    rows: Vec<(Table, u64)>,
}

impl Fleet {
    /// Makes the tables known. Of the files only the footers are read.
    ///
    /// # Errors
    /// If a folder holds no cells, or a file is none or of another version.
    pub fn open(folders: &[PathBuf]) -> anyhow::Result<Fleet> {
        let mut config = SessionConfig::new().with_collect_statistics(false);
        config.options_mut().execution.parquet.pushdown_filters = true;
        let context = SessionContext::new_with_config(config);
        for folder in folders {
            anyhow::ensure!(
                folder.join(Table::Cells.name()).is_dir(),
                "`{}` holds no folder `cells`\nhint: `iowhy export --parquet DIR` writes one, \
                 `iowhy-fleet make DIR` generates one",
                folder.display()
            );
        }
        for table in Table::ALL {
            let urls = folders
                .iter()
                .map(|folder| folder.join(table.name()))
                .filter(|folder| folder.is_dir())
                .map(|folder| url(&folder))
                .collect::<anyhow::Result<Vec<_>>>()?;
            if urls.is_empty() {
                let empty = datafusion::datasource::MemTable::try_new(
                    with_partitions(table),
                    vec![vec![]],
                )?;
                context.register_table(table.name(), Arc::new(empty))?;
                continue;
            }
            let mut options = ListingOptions::new(Arc::new(ParquetFormat::default()))
                .with_file_extension(".parquet");
            if is_partitioned(table) {
                let partitions =
                    ["host", "date"].map(|name| (name.to_string(), DataType::Utf8)).to_vec();
                options = options.with_table_partition_cols(partitions);
            }
            let config = ListingTableConfig::new_with_multi_paths(urls)
                .with_listing_options(options)
                .with_schema(without_zones(table));
            context.register_table(table.name(), Arc::new(ListingTable::try_new(config)?))?;
        }
        let rows = Table::ALL.into_iter().map(|table| Ok((table, rows(table, folders)?)));
        let rows = rows.collect::<anyhow::Result<_>>()?;
        Ok(Fleet { context, folders: folders.to_vec(), rows })
    }

    /// The rows of a table, by the footers of its files.
    pub fn rows(&self, table: Table) -> u64 {
        self.rows.iter().find(|(known, _)| *known == table).map_or(0, |(_, rows)| *rows)
    }

    /// Runs one statement. Where it gives no row, there is still a batch with its columns.
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

/// A folder as the engine names it: a path with a slash at its end.
fn url(folder: &Path) -> anyhow::Result<ListingTableUrl> {
    let folder = std::path::absolute(folder)?;
    Ok(ListingTableUrl::parse(format!("{}/", folder.display()))?)
}

/// A table's columns, with times that have no zone: they are UTC all the same, and the engine cuts these to hours by a
/// division, those with a zone by a calendar.
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
