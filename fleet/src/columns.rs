//! Columns of a result, as Rust sees them.

use anyhow::Context;
use datafusion::arrow::array::{Array, AsArray, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type};

/// A column of whole numbers.
///
/// # Errors
/// If it is no column of numbers.
pub fn whole(batch: &RecordBatch, column: usize) -> anyhow::Result<Int64Array> {
    let array = batch.columns().get(column).context("a column is missing")?;
    let array = cast(array, &DataType::Int64)?;
    Ok(array.as_primitive_opt::<Int64Type>().context("no column of whole numbers")?.clone())
}

/// A column as texts.
///
/// # Errors
/// If it cannot be written as text.
pub fn texts(batch: &RecordBatch, column: usize) -> anyhow::Result<StringArray> {
    let array = batch.columns().get(column).context("a column is missing")?;
    let array = cast(array, &DataType::Utf8)?;
    Ok(array.as_string_opt::<i32>().context("no column of texts")?.clone())
}

/// The text of a cell; empty where there is none.
pub fn text(array: &StringArray, row: usize) -> &str {
    if array.is_null(row) { "" } else { array.value(row) }
}
