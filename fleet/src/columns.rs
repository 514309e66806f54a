//! Columns of a result, as Rust sees them.

use anyhow::Context;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type};

/// A column of whole numbers.
///
/// # Errors
/// If it is not a column of numbers.
pub fn whole(batch: &RecordBatch, column: usize) -> anyhow::Result<Int64Array> {
    as_whole(batch.columns().get(column).context("a column is missing")?)
}

/// Values as whole numbers; null if a text is not a number.
///
/// # Errors
/// If it is not a column of numbers.
pub fn as_whole(column: &ArrayRef) -> anyhow::Result<Int64Array> {
    let array = cast(column, &DataType::Int64)?;
    Ok(array.as_primitive_opt::<Int64Type>().context("no column of whole numbers")?.clone())
}

/// Values as texts.
///
/// # Errors
/// If they cannot be written as text.
pub fn as_texts(column: &ArrayRef) -> anyhow::Result<StringArray> {
    let array = cast(column, &DataType::Utf8)?;
    Ok(array.as_string_opt::<i32>().context("no column of texts")?.clone())
}

/// The text of a cell; empty where there is none.
pub fn text(array: &StringArray, row: usize) -> &str {
    if array.is_null(row) { "" } else { array.value(row) }
}
