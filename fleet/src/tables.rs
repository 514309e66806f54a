//! The tables that `iowhy export --parquet` writes and this program reads: `docs/FLEET.md`
//! describes the columns.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use iowhy_show::tables::Kind;
pub use iowhy_show::tables::{TABLE_KEY, Table, VERSION, VERSION_KEY};

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
