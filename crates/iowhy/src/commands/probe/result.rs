//! The result of a probe as text and as JSON.

use std::io::Write;

use iowhy_probe::{Cell, Kind, Outcome, Own, Table, time};
use serde_json::{Value, json};

/// The numbers, what they mean, and what the engine cost.
pub(super) fn write_text(
    kind: &Kind,
    outcome: &Outcome,
    own: &Own,
    ended: Option<&str>,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    writeln!(out, "probe {}", kind.name)?;
    for table in &outcome.tables {
        writeln!(out)?;
        write_table(table, out)?;
    }
    for text in outcome.text.iter().chain(&outcome.picture) {
        write!(out, "\n{text}")?;
    }
    writeln!(out)?;
    for sentence in &outcome.answer {
        writeln!(out, "{sentence}")?;
    }
    if let Some(why) = ended {
        writeln!(out, "Ended early: {why}. The measurements up to then are valid.")?;
    }
    if let Some(caution) = own.caution() {
        writeln!(out, "{caution}")?;
    }
    writeln!(out, "{}", cost(own))
}

/// The cost of the engine, so that its own delay is not attributed to the device.
fn cost(own: &Own) -> String {
    let each = own.cpu_ns as f64 / own.n.max(1) as f64;
    let mut text = format!("engine: {}, {} of CPU per I/O", own.way, time(each / 1e6));
    if let Some(ns) = own.no_cpu_ns {
        text.push_str(&format!(", {} waiting for a CPU", time(ns as f64 / 1e6)));
    }
    if let (Some(mean), Some(max)) = (own.late.mean_ns(), own.late.max_ns)
        && max > 0
    {
        let (mean, max) = (time(mean / 1e6), time(max as f64 / 1e6));
        text.push_str(&format!(", submitted {mean} late on average, at most {max}"));
    }
    text
}

fn write_table(table: &Table, out: &mut dyn Write) -> std::io::Result<()> {
    let mut lines: Vec<Vec<String>> = vec![
        table.columns.iter().map(|(name, _)| (*name).to_string()).collect(),
        table
            .columns
            .iter()
            .map(|(_, unit)| match unit.symbol() {
                "count" => String::new(),
                symbol => symbol.to_string(),
            })
            .collect(),
    ];
    lines.extend(table.rows.iter().map(|row| row.iter().map(text_of).collect()));
    let width = |column: usize| {
        lines.iter().filter_map(|line| line.get(column)).map(String::len).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..table.columns.len()).map(width).collect();
    for line in &lines {
        let fields = line.iter().zip(&widths).map(|(text, width)| format!("{text:>width$}"));
        writeln!(out, "{}", fields.collect::<Vec<_>>().join("  ").trim_end())?;
    }
    Ok(())
}

fn text_of(cell: &Cell) -> String {
    match cell {
        Cell::Word(word) => word.clone(),
        Cell::Unknown => "-".to_string(),
        Cell::Number(value) if value.fract() == 0.0 && value.abs() < 1e15 => format!("{value:.0}"),
        Cell::Number(value) if value.abs() < 1.0 => format!("{value:.4}"),
        Cell::Number(value) if value.abs() < 100.0 => format!("{value:.3}"),
        Cell::Number(value) => format!("{value:.1}"),
    }
}

/// The same as an object, the report beside it; `docs/JSON.md` has the schema.
pub(super) fn object(
    kind: &Kind,
    outcome: &Outcome,
    own: &Own,
    ended: Option<&str>,
    report: Value,
) -> Value {
    let tables = outcome.tables.iter().chain(&outcome.series).map(|table| {
        let columns = table.columns.iter();
        let columns = columns.map(|(name, unit)| json!({ "name": name, "unit": unit.symbol() }));
        let rows = table.rows.iter().map(|row| row.iter().map(value_of).collect::<Vec<_>>());
        let (columns, rows) = (columns.collect::<Vec<_>>(), rows.collect::<Vec<_>>());
        json!({ "name": table.name, "columns": columns, "rows": rows })
    });
    json!({
        "schema": "iowhy.probe/1",
        "kind": kind.name,
        "answer": outcome.answer,
        "tables": tables.collect::<Vec<_>>(),
        "text": outcome.text,
        "ended_early": ended,
        "engine": {
            "way": own.way,
            "ios": own.n,
            "cpu_ns": own.cpu_ns,
            "without_cpu_ns": own.no_cpu_ns,
            "late_mean_ns": own.late.mean_ns(),
            "late_max_ns": own.late.max_ns,
            "caution": own.caution(),
        },
        "report": report,
    })
}

fn value_of(cell: &Cell) -> Value {
    match cell {
        Cell::Number(value) => json!(value),
        Cell::Word(word) => json!(word),
        Cell::Unknown => Value::Null,
    }
}
