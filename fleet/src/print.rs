//! A result as a table, as CSV or as JSON.

use std::io::{self, Write};

use anyhow::Context;
use datafusion::arrow::array::{Array, RecordBatch};
use datafusion::arrow::datatypes::DataType;
use serde_json::{Map, Value};

use crate::answers::ROWS;
use crate::columns::{text, texts, whole};

/// Rows and their headings, as texts.
pub struct Rows {
    /// Names of the columns.
    pub names: Vec<String>,
    /// Whether a column holds numbers.
    pub numbers: Vec<bool>,
    /// The values; empty where there is none.
    pub rows: Vec<Vec<String>>,
}

impl Rows {
    /// Of a result.
    ///
    /// # Errors
    /// If a column cannot be written as text.
    pub fn of(batches: &[RecordBatch]) -> anyhow::Result<Rows> {
        let Some(first) = batches.first() else {
            return Ok(Rows { names: Vec::new(), numbers: Vec::new(), rows: Vec::new() });
        };
        let schema = first.schema();
        let fields = schema.fields();
        let names = fields.iter().map(|field| field.name().clone()).collect();
        let numbers = fields.iter().map(|field| field.data_type().is_numeric()).collect();
        let mut rows = Vec::new();
        for batch in batches {
            let columns = (0..fields.len())
                .map(|at| column(batch, at))
                .collect::<anyhow::Result<Vec<Vec<String>>>>()?;
            for row in 0..batch.num_rows() {
                rows.push(columns.iter().map(|column| column[row].clone()).collect());
            }
        }
        Ok(Rows { names, numbers, rows })
    }

    /// The place of a column.
    ///
    /// # Errors
    /// If there is none of that name.
    pub fn place(&self, name: &str) -> anyhow::Result<usize> {
        let place = self.names.iter().position(|known| known == name);
        place.with_context(|| format!("no column `{name}` in the result"))
    }

    /// Without the column that only the check needs.
    pub fn shown(mut self) -> Rows {
        if let Ok(place) = self.place(ROWS) {
            self.names.remove(place);
            self.numbers.remove(place);
            self.rows.iter_mut().for_each(|row| drop(row.remove(place)));
        }
        self
    }

    /// Aligned columns.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn table(&self, limit: usize, out: &mut dyn Write) -> io::Result<()> {
        let shown = &self.rows[..self.rows.len().min(limit)];
        let width = |at: usize| {
            let values = shown.iter().map(|row| row[at].chars().count());
            values.chain([self.names[at].chars().count()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.names.len()).map(width).collect();
        let line = |values: &[String]| {
            let cells =
                values.iter().zip(&widths).zip(&self.numbers).map(|((value, width), number)| {
                    if *number { format!("{value:>width$}") } else { format!("{value:<width$}") }
                });
            cells.collect::<Vec<_>>().join("  ").trim_end().to_string()
        };
        writeln!(out, "{}", line(&self.names))?;
        for row in shown {
            writeln!(out, "{}", line(row))?;
        }
        if shown.len() < self.rows.len() {
            writeln!(out, "... {} rows more: --limit 0 shows all", self.rows.len() - shown.len())?;
        }
        Ok(())
    }

    /// Comma-separated values, all rows in the order of their bytes, so that two engines can be compared.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn csv(&self, out: &mut dyn Write) -> io::Result<()> {
        let line = |values: &[String]| {
            values.iter().map(|value| quoted(value)).collect::<Vec<_>>().join(",")
        };
        writeln!(out, "{}", line(&self.names))?;
        let mut lines: Vec<String> = self.rows.iter().map(|row| line(row)).collect();
        lines.sort();
        for line in lines {
            writeln!(out, "{line}")?;
        }
        Ok(())
    }

    /// An object a line.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn json(&self, limit: usize, out: &mut dyn Write) -> io::Result<()> {
        for row in self.rows.iter().take(limit) {
            let values = self.names.iter().zip(row).zip(&self.numbers);
            let object: Map<String, Value> = values
                .map(|((name, value), number)| {
                    let parsed = number.then(|| serde_json::from_str(value).ok()).flatten();
                    (name.clone(), parsed.unwrap_or_else(|| Value::String(value.clone())))
                })
                .collect();
            writeln!(out, "{}", Value::Object(object))?;
        }
        Ok(())
    }
}

/// Times as seconds in UTC; everything else as it is cast.
fn column(batch: &RecordBatch, at: usize) -> anyhow::Result<Vec<String>> {
    if let DataType::Timestamp(..) = batch.column(at).data_type() {
        let unit = datafusion::arrow::datatypes::TimeUnit::Microsecond;
        let cast =
            datafusion::arrow::compute::cast(batch.column(at), &DataType::Timestamp(unit, None))?;
        let plain = RecordBatch::try_from_iter([("time", cast)])?;
        let micros = whole(&plain, 0)?;
        let words = |row: usize| match micros.is_null(row) {
            true => String::new(),
            false => jiff::Timestamp::from_microsecond(micros.value(row))
                .map_or_else(|_| String::new(), |time| time.to_string()),
        };
        return Ok((0..batch.num_rows()).map(words).collect());
    }
    let values = texts(batch, at)?;
    Ok((0..batch.num_rows()).map(|row| text(&values, row).to_string()).collect())
}

/// Quoted where it must be; what a spreadsheet would run as a formula is kept from that.
fn quoted(value: &str) -> String {
    let formula = value.starts_with(['=', '+', '@'])
        || (value.starts_with('-') && value.parse::<f64>().is_err());
    let value = if formula { format!("'{value}") } else { value.to_string() };
    match value.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", value.replace('"', "\"\"")),
        false => value,
    }
}
