//! A result as a table, as CSV or as JSON.

use std::io::{self, Write};

use anyhow::Context;
use datafusion::arrow::array::{Array, ArrayRef, RecordBatch, StringArray, StringBuilder};
use datafusion::arrow::compute::{cast, concat_batches};
use datafusion::arrow::datatypes::{DataType, TimeUnit};
use serde_json::{Map, Value};

use crate::columns::{as_texts, as_whole, text};

/// The column that shows how many rows of a table a row of the result rests on.
pub const ROWS: &str = "rows_read";

/// The columns of a result, as an engine gives them.
pub struct Answer {
    /// Names of the columns.
    pub names: Vec<String>,
    /// Whether a column holds numbers.
    pub numbers: Vec<bool>,
    /// The columns, equally long.
    pub columns: Vec<ArrayRef>,
}

impl Answer {
    /// Of the embedded engine's batches.
    ///
    /// # Errors
    /// If they do not have the same columns.
    pub fn of(batches: &[RecordBatch]) -> anyhow::Result<Answer> {
        let Some(first) = batches.first() else {
            return Ok(Answer { names: Vec::new(), numbers: Vec::new(), columns: Vec::new() });
        };
        let schema = first.schema();
        let fields = schema.fields();
        Ok(Answer {
            names: fields.iter().map(|field| field.name().clone()).collect(),
            numbers: fields.iter().map(|field| field.data_type().is_numeric()).collect(),
            columns: concat_batches(&schema, batches)?.columns().to_vec(),
        })
    }

    /// The place of a column.
    ///
    /// # Errors
    /// If there is none of that name.
    pub fn place(&self, name: &str) -> anyhow::Result<usize> {
        let place = self.names.iter().position(|known| known == name);
        place.with_context(|| format!("no column `{name}` in the result"))
    }

    /// What is printed: all but the column that only the check needs.
    ///
    /// # Errors
    /// If a column cannot be written as text.
    pub fn rows(mut self) -> anyhow::Result<Rows> {
        if let Ok(place) = self.place(ROWS) {
            self.names.remove(place);
            self.numbers.remove(place);
            self.columns.remove(place);
        }
        let columns = self.columns.iter().map(words).collect::<anyhow::Result<_>>()?;
        Ok(Rows { names: self.names, numbers: self.numbers, columns })
    }
}

/// Rows and their headings, as texts.
pub struct Rows {
    names: Vec<String>,
    numbers: Vec<bool>,
    columns: Vec<StringArray>,
}

impl Rows {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.columns.first().map_or(0, Array::len)
    }

    /// The values of a row, column by column; empty where there is none.
    pub fn row(&self, row: usize) -> impl Iterator<Item = &str> {
        self.columns.iter().map(move |column| text(column, row))
    }

    /// Aligned columns.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn table(&self, limit: usize, out: &mut dyn Write) -> io::Result<()> {
        let shown = self.count().min(limit);
        let width = |(name, column): (&String, &StringArray)| {
            let values = (0..shown).map(|row| text(column, row).chars().count());
            values.chain([name.chars().count()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = self.names.iter().zip(&self.columns).map(width).collect();
        let line = |values: &mut dyn Iterator<Item = &str>| {
            let cells = values.zip(&widths).zip(&self.numbers).map(|((value, width), number)| {
                if *number { format!("{value:>width$}") } else { format!("{value:<width$}") }
            });
            cells.collect::<Vec<_>>().join("  ").trim_end().to_string()
        };
        writeln!(out, "{}", line(&mut self.names.iter().map(String::as_str)))?;
        for row in 0..shown {
            writeln!(out, "{}", line(&mut self.row(row)))?;
        }
        if shown < self.count() {
            writeln!(out, "... {} rows more: --limit 0 shows all", self.count() - shown)?;
        }
        Ok(())
    }

    /// Comma-separated values, all rows in the order of their bytes, so that two engines can be
    /// compared. Nothing means null, `""` an empty text.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn csv(&self, out: &mut dyn Write) -> io::Result<()> {
        let heading: Vec<String> = self.names.iter().map(|name| quoted(name)).collect();
        writeln!(out, "{}", heading.join(","))?;
        let value = |column: &StringArray, row| match column.is_null(row) {
            true => String::new(),
            false => quoted(text(column, row)),
        };
        let line = |row| {
            self.columns.iter().map(|column| value(column, row)).collect::<Vec<_>>().join(",")
        };
        let mut lines: Vec<String> = (0..self.count()).map(line).collect();
        lines.sort_unstable();
        for line in lines {
            writeln!(out, "{line}")?;
        }
        Ok(())
    }

    /// One object per line.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn json(&self, limit: usize, out: &mut dyn Write) -> io::Result<()> {
        for row in 0..self.count().min(limit) {
            let values = self.names.iter().zip(&self.columns).zip(&self.numbers);
            let object: Map<String, Value> = values
                .map(|((name, column), number)| {
                    let value = text(column, row);
                    let parsed = match column.is_null(row) {
                        true => Some(Value::Null),
                        false => number.then(|| serde_json::from_str(value).ok()).flatten(),
                    };
                    (name.clone(), parsed.unwrap_or_else(|| Value::String(value.to_string())))
                })
                .collect();
            writeln!(out, "{}", Value::Object(object))?;
        }
        Ok(())
    }
}

/// Times as seconds in UTC; everything else as it is cast.
fn words(column: &ArrayRef) -> anyhow::Result<StringArray> {
    let DataType::Timestamp(..) = column.data_type() else { return as_texts(column) };
    let micros = as_whole(&cast(column, &DataType::Timestamp(TimeUnit::Microsecond, None))?)?;
    let mut words = StringBuilder::new();
    // Rows that are sorted repeat the time before.
    let mut last: Option<(i64, String)> = None;
    for micro in &micros {
        let Some(micro) = micro else {
            words.append_null();
            continue;
        };
        if last.as_ref().is_none_or(|(known, _)| *known != micro) {
            let time = jiff::Timestamp::from_microsecond(micro);
            last = Some((micro, time.map_or_else(|_| String::new(), |time| time.to_string())));
        }
        words.append_option(last.as_ref().map(|(_, word)| word));
    }
    Ok(words.finish())
}

/// Quoted where it must be, as an empty text is to differ from null; what a spreadsheet would run
/// as a formula is kept from that.
fn quoted(value: &str) -> String {
    let formula = value.starts_with(['=', '+', '@'])
        || (value.starts_with('-') && value.parse::<f64>().is_err());
    let value = if formula { format!("'{value}") } else { value.to_string() };
    match value.is_empty() || value.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", value.replace('"', "\"\"")),
        false => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::Int64Array;
    use std::sync::Arc;

    #[test]
    fn null_is_not_the_empty_text() -> anyhow::Result<()> {
        let texts: ArrayRef = Arc::new(StringArray::from(vec![None, Some(""), Some("a,b")]));
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(3)]));
        let names = vec!["op".to_string(), "n".to_string()];
        let answer = Answer { names, numbers: vec![false, true], columns: vec![texts, numbers] };
        let rows = answer.rows()?;
        let (mut csv, mut json) = (Vec::new(), Vec::new());
        rows.csv(&mut csv)?;
        rows.json(9, &mut json)?;
        assert_eq!(String::from_utf8(csv)?, "op,n\n\"\",\n\"a,b\",3\n,1\n");
        let json = String::from_utf8(json)?;
        assert_eq!(json.lines().next(), Some(r#"{"op":null,"n":1}"#));
        assert_eq!(json.lines().nth(1), Some(r#"{"op":"","n":null}"#));
        Ok(())
    }
}
