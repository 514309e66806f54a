//! Parquet, without a library: typed columns, one row group after another, in flat memory.
//!
//! Only what is needed of <https://parquet.apache.org/docs/file-format/>: flat optional columns,
//! one page each per row group, texts by dictionary, whole numbers as differences, and the bounds
//! of each column, so that a reader skips row groups. Pages are compressed with zstd on request;
//! the encodings leave little for it. Reasons: `docs/decisions/0009-parquet-without-its-crate.md`.

mod encoding;
mod rows;
mod sink;
mod thrift;

use std::io::{self, Write};

use rows::Pages;
pub use sink::ParquetSink;
use thrift::Struct;

pub use rows::Kind;
pub(crate) use rows::{Codec, Column};

/// How a file begins and ends.
const MAGIC: &[u8; 4] = b"PAR1";

/// A file that is being written.
pub(crate) struct ParquetFile<W: Write> {
    out: W,
    codec: Codec,
    /// Bytes written.
    at: u64,
    rows: u64,
    groups: Vec<Struct>,
}

impl<W: Write> ParquetFile<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// If the output fails.
    pub(crate) fn new(mut out: W, codec: Codec) -> io::Result<ParquetFile<W>> {
        out.write_all(MAGIC)?;
        Ok(ParquetFile { out, codec, at: MAGIC.len() as u64, rows: 0, groups: Vec::new() })
    }

    /// Writes the rows that the columns hold, and empties them.
    ///
    /// # Errors
    /// If the output fails.
    pub(crate) fn row_group(&mut self, columns: &mut [Column]) -> io::Result<()> {
        let rows = columns.first().map_or(0, Column::rows);
        if rows == 0 {
            return Ok(());
        }
        let begin = self.at;
        let mut chunks = Vec::new();
        for column in &mut *columns {
            let pages = column.take_pages(self.codec);
            let length = pages.bytes.len() as u64;
            self.out.write_all(&pages.bytes)?;
            chunks.push(chunk(column, pages, self.at, rows));
            self.at += length;
        }
        let mut group = Struct::default();
        group.list_of_structs(1, chunks);
        group.i64(2, (self.at - begin) as i64);
        group.i64(3, rows as i64);
        self.groups.push(group);
        self.rows += rows as u64;
        Ok(())
    }

    /// Ends the file with its metadata.
    ///
    /// # Errors
    /// If the output fails.
    pub(crate) fn finish(
        mut self,
        columns: &[Column],
        reported: &[(&str, String)],
    ) -> io::Result<W> {
        let mut root = Struct::default();
        root.text(4, "iowhy");
        root.i32(5, columns.len() as i32);
        let mut schema = vec![root];
        schema.extend(columns.iter().map(schema_element));
        let reported = reported.iter().map(|(key, value)| {
            let mut pair = Struct::default();
            pair.text(1, key);
            pair.text(2, value);
            pair
        });
        let mut footer = Struct::default();
        footer.i32(1, 1);
        footer.list_of_structs(2, schema);
        footer.i64(3, self.rows as i64);
        footer.list_of_structs(4, self.groups);
        footer.list_of_structs(5, reported.collect());
        footer.text(6, "iowhy");
        footer.list_of_structs(7, columns.iter().map(|_| order()).collect());
        let footer = footer.into_bytes();
        self.out.write_all(&footer)?;
        self.out.write_all(&(footer.len() as u32).to_le_bytes())?;
        self.out.write_all(MAGIC)?;
        self.out.flush()?;
        Ok(self.out)
    }
}

/// `SchemaElement` of parquet.thrift: type, optional, name, what its numbers are.
fn schema_element(column: &Column) -> Struct {
    let mut element = Struct::default();
    element.i32(1, column.kind.physical());
    element.i32(3, 1);
    element.text(4, column.name);
    if let Some(converted) = column.kind.converted() {
        element.i32(6, converted);
    }
    if let Some(logical) = column.kind.logical() {
        element.structure(10, logical);
    }
    element
}

/// `ColumnOrder` of parquet.thrift: bounds are in the order of the column's type. Without it,
/// readers do not trust them.
fn order() -> Struct {
    let mut order = Struct::default();
    order.structure(1, Struct::default());
    order
}

/// `ColumnChunk` with its `ColumnMetaData`.
fn chunk(column: &Column, pages: Pages, at: u64, rows: usize) -> Struct {
    let mut of = Struct::default();
    of.i32(1, column.kind.physical());
    let encodings: &[i32] = match column.kind {
        Kind::Text => &[encoding::PLAIN, encoding::RLE, encoding::RLE_DICTIONARY],
        Kind::Real => &[encoding::RLE, encoding::PLAIN],
        _ => &[encoding::RLE, encoding::DELTA_BINARY_PACKED],
    };
    of.list_of_i32(2, encodings);
    of.list_of_texts(3, &[column.name]);
    of.i32(4, pages.codec as i32);
    of.i64(5, rows as i64);
    of.i64(6, pages.plain as i64);
    of.i64(7, pages.bytes.len() as i64);
    of.i64(9, (at + pages.dictionary as u64) as i64);
    if pages.dictionary > 0 {
        of.i64(11, at as i64);
    }
    of.structure(12, pages.statistics);
    let mut chunk = Struct::default();
    chunk.i64(2, at as i64);
    chunk.structure(3, of);
    chunk
}
