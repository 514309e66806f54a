//! The result of a probe: sentences, tables with units, text in the form of another tool.

use iowhy_model::{Unit, numbers};

use crate::engine::Run;
use crate::latencies::Latencies;
use crate::revolutions::Revolutions;

/// The result of a probe.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// What the numbers mean, best first.
    pub answer: Vec<String>,
    /// The numbers.
    pub tables: Vec<Table>,
    /// The numbers as a known tool would print them.
    pub text: Option<String>,
    /// The spindle speed, if latencies are whole revolutions of it.
    pub rpm: Option<f64>,
    /// Writes one after another that each waited for whole revolutions.
    pub missed: Option<Revolutions>,
    /// A picture for the terminal.
    pub picture: Option<String>,
    /// Numbers too many to print: single I/Os, as data only.
    pub series: Vec<Table>,
}

/// Rows of numbers under named columns.
#[derive(Clone, Debug)]
pub struct Table {
    /// What it shows, as a key.
    pub name: &'static str,
    /// Names and units of the columns.
    pub columns: Vec<(&'static str, Unit)>,
    /// The rows.
    pub rows: Vec<Vec<Cell>>,
}

/// One field of a table.
#[derive(Clone, PartialEq, Debug)]
pub enum Cell {
    /// A number, in the unit of its column.
    Number(f64),
    /// A word.
    Word(String),
    /// Not known.
    Unknown,
}

impl From<f64> for Cell {
    fn from(value: f64) -> Cell {
        if value.is_finite() { Cell::Number(value) } else { Cell::Unknown }
    }
}

impl From<Option<f64>> for Cell {
    fn from(value: Option<f64>) -> Cell {
        value.map_or(Cell::Unknown, Cell::from)
    }
}

impl From<u64> for Cell {
    fn from(value: u64) -> Cell {
        Cell::Number(value as f64)
    }
}

impl From<&str> for Cell {
    fn from(word: &str) -> Cell {
        Cell::Word(word.to_string())
    }
}

impl Table {
    /// An empty table.
    pub fn new(name: &'static str, columns: &[(&'static str, Unit)]) -> Table {
        Table { name, columns: columns.to_vec(), rows: Vec::new() }
    }
}

/// The columns that every run fills.
pub(crate) const FIGURES: [(&str, Unit); 7] = [
    ("n", Unit::Count),
    ("rate", Unit::PerSecond),
    ("min", Unit::Ms),
    ("mean", Unit::Ms),
    ("p50", Unit::Ms),
    ("p99", Unit::Ms),
    ("max", Unit::Ms),
];

/// A run under [`FIGURES`].
pub(crate) fn figures(run: &Run) -> Vec<Cell> {
    figures_of(&run.latency, run.seconds(), run.unserved.0)
}

/// Some latencies of a run of this many seconds, besides those that were never served.
pub(crate) fn figures_of(latencies: &Latencies, seconds: f64, unserved: u64) -> Vec<Cell> {
    let ms = |ns: Option<u64>| Cell::from(ns.map(|ns| ns as f64 / 1e6));
    vec![
        latencies.n.into(),
        Cell::from((seconds > 0.0 && latencies.n > 0).then(|| latencies.n as f64 / seconds)),
        ms(latencies.min_ns),
        Cell::from(latencies.mean_ns().map(|ns| ns / 1e6)),
        ms(latencies.quantile_ns(0.5, unserved)),
        ms(latencies.quantile_ns(0.99, unserved)),
        ms(latencies.max_ns),
    ]
}

/// A length of time in the unit that suits it, with three digits.
pub fn time(ms: f64) -> String {
    numbers::duration(ms * 1e6)
}

pub use iowhy_model::numbers::three as digits;
