//! What drifted in a flight recorder's store: a device and operation a line.

use std::io::{self, Write};

use iowhy_model::numbers;

use crate::Style;
use crate::paint::{Align, Canvas, Cell, Columns, Tone};
use crate::words::{NONE, duration};

/// A day of a device and operation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TrendDay {
    /// Its I/Os.
    pub ios: u64,
    /// Their median D2C, ns.
    pub p50_ns: f64,
    /// Their p99, ns, if there are enough.
    pub p99_ns: Option<f64>,
}

/// A device and operation.
#[derive(Clone, PartialEq, Debug)]
pub struct TrendRow {
    /// The device.
    pub device: String,
    /// `read` or `write`.
    pub op: &'static str,
    /// Days with I/Os.
    pub days: usize,
    /// The first and the last day that counts, if there is one.
    pub ends: Option<[TrendDay; 2]>,
    /// What the days show, in words.
    pub drift: String,
    /// Whether that is for the worse.
    pub is_worse: bool,
}

/// The columns; the I/Os and p99 are left out where a terminal is too narrow.
const HEADS: [(&str, Align); 7] = [
    ("device", Align::Left),
    ("op", Align::Left),
    ("days", Align::Right),
    ("I/Os a day", Align::Left),
    ("p50", Align::Left),
    ("p99", Align::Left),
    ("drift of p50", Align::Left),
];
const DROPPED: [usize; 2] = [3, 5];

/// Writes them as a table. Where the canvas is not a terminal, all columns are written.
///
/// # Errors
/// If the writer fails.
pub fn table(rows: &[TrendRow], style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let mut columns = Columns::new(&HEADS).droppable(&DROPPED);
    for row in rows {
        let both = |of: &dyn Fn(&TrendDay) -> Option<String>| {
            let Some([first, last]) = row.ends.as_ref().map(|ends| ends.each_ref().map(of)) else {
                return NONE.to_string();
            };
            match (first, last) {
                (Some(first), Some(last)) if first != last => format!("{first} to {last}"),
                (Some(one), _) | (_, Some(one)) => one,
                (None, None) => NONE.to_string(),
            }
        };
        let texts = [
            row.device.clone(),
            row.op.to_string(),
            row.days.to_string(),
            both(&|day| Some(numbers::count(day.ios))),
            both(&|day| Some(duration(day.p50_ns))),
            both(&|day| day.p99_ns.map(duration)),
            row.drift.clone(),
        ];
        let cell = |(place, text): (usize, String)| -> Cell {
            let tone = if place == 6 && row.is_worse { Tone::Bad } else { Tone::Plain };
            (text, tone.into())
        };
        columns.row(texts.into_iter().enumerate().map(cell).collect());
    }
    let width = if style.fitted { style.width } else { columns.natural() };
    let style = Style { width, ..style.clone() };
    Canvas::new(&style, out).lines(&columns.lines(width))
}
