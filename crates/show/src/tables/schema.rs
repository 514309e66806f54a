//! The columns of each table, described once: the writer and the page for users both walk this
//! list.

use crate::parquet::{Column, Kind};

/// The version of the tables, in each file's metadata as [`VERSION_KEY`].
pub const VERSION: &str = "2";
/// What a file's metadata call the version, and the table.
pub const VERSION_KEY: &str = "iowhy.schema";
/// See [`VERSION_KEY`].
pub const TABLE_KEY: &str = "iowhy.table";

/// A table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Table {
    /// Counts per interval, device, operation, stage and bucket of latency.
    Cells,
    /// Single I/Os.
    Events,
    /// What is stated: facts, findings, labels.
    Facts,
    /// What a bucket's index means.
    Buckets,
}

impl Table {
    /// All of them.
    pub const ALL: [Table; 4] = [Table::Cells, Table::Events, Table::Facts, Table::Buckets];

    /// Its folder, and [`TABLE_KEY`] of its files' metadata.
    pub fn name(self) -> &'static str {
        match self {
            Table::Cells => "cells",
            Table::Events => "events",
            Table::Facts => "facts",
            Table::Buckets => "buckets",
        }
    }

    /// Its columns.
    pub fn columns(self) -> impl Iterator<Item = &'static TableColumn> {
        SCHEMA.iter().filter(move |column| column.table == self)
    }

    /// The same, empty.
    pub(super) fn empty(self) -> Vec<Column> {
        self.columns().map(|column| Column::new(column.name, column.kind)).collect()
    }
}

/// A column.
#[derive(Debug)]
pub struct TableColumn {
    /// The table.
    pub table: Table,
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// The unit of its numbers; empty for texts and plain numbers.
    pub unit: &'static str,
    /// What it says.
    pub meaning: &'static str,
}

impl TableColumn {
    /// Its type, as Parquet calls it.
    pub fn type_name(&self) -> &'static str {
        match self.kind {
            Kind::I32 | Kind::U32 => "INT32",
            Kind::I64 | Kind::U64 => "INT64",
            Kind::Micros => "TIMESTAMP (µs, UTC)",
            Kind::Real => "DOUBLE",
            Kind::Text => "UTF8",
        }
    }
}

const fn column(
    table: Table,
    name: &'static str,
    kind: Kind,
    unit: &'static str,
    meaning: &'static str,
) -> TableColumn {
    TableColumn { table, name, kind, unit, meaning }
}

/// All columns, in the order of the files.
pub const SCHEMA: &[TableColumn] = {
    use Kind::{I32, I64, Micros, Real, Text};
    use Table::{Buckets, Cells, Events, Facts};
    &[
        column(Cells, "time", Micros, "", "start of the cell, to the second"),
        column(Cells, "span", I32, "s", "length of the cell"),
        column(Cells, "device", Text, "", "name of the device; null if the input has none"),
        column(
            Cells,
            "op",
            Text,
            "",
            "`read`, `write`, `discard`, `flush`, `other`; null if mixed",
        ),
        column(Cells, "stage", Text, "", "`B2Q`, `Q2D`, `D2C` or `Q2C`"),
        column(Cells, "bucket", I32, "", "index of the latency in the table `buckets`"),
        column(Cells, "count", I64, "I/Os", "I/Os of this latency"),
        column(Cells, "sum", I64, "ns", "sum of their latencies"),
        column(Cells, "bytes", I64, "B", "bytes of these I/Os; null if unknown for any of them"),
        column(
            Cells,
            "origin",
            Text,
            "",
            "how they were counted: `traced`, `sampled` or `reported` (by another tool); \
             `estimated`: sum or bucket derived from the middle of a bucket; `average`: the mean \
             of an interval (`--averages`)",
        ),
        column(Events, "time", Micros, "", "completion"),
        column(Events, "second", Micros, "", "the same, to the second"),
        column(Events, "device", Text, "", "name of the device; null if the input has none"),
        column(Events, "op", Text, "", "`read`, `write`, `discard`, `flush`, `other`"),
        column(Events, "flags", Text, "", "the kernel's rwbs letters"),
        column(Events, "sector", I64, "512 B", "first sector"),
        column(Events, "bytes", I64, "B", "size"),
        column(Events, "b2q", I64, "ns", "time before the request was made"),
        column(Events, "q2d", I64, "ns", "time in the queue"),
        column(Events, "d2c", I64, "ns", "time on the device"),
        column(Events, "q2c", I64, "ns", "both together (await)"),
        column(
            Events,
            "bucket",
            I32,
            "",
            "index of `d2c` in the table `buckets`; null if `d2c` is not known",
        ),
        column(
            Events,
            "in_flight",
            I32,
            "requests",
            "requests in flight at issue, this one included",
        ),
        column(Events, "error", I32, "errno", "error; null if it succeeded"),
        column(Events, "process", Text, "", "name of the process that started it"),
        column(Events, "pid", I32, "", "its number"),
        column(Events, "cgroup", Text, "", "control group that it is charged to"),
        column(Events, "file", Text, "", "file whose pages it reads or writes"),
        column(
            Events,
            "weight",
            Real,
            "I/Os",
            "number of I/Os that the row represents; 1 unless sampled",
        ),
        column(
            Facts,
            "time",
            Micros,
            "",
            "time of the fact; null: the whole time of the input, with a row for each date",
        ),
        column(Facts, "device", Text, "", "name of the device; null for the host"),
        column(Facts, "kind", Text, "", "`fact`, `finding` or `label`"),
        column(
            Facts,
            "key",
            Text,
            "",
            "name of the fact, verdict of the finding, or key of the `--label`",
        ),
        column(Facts, "value", Text, "", "as printed; for a finding its sentence"),
        column(
            Facts,
            "number",
            Real,
            "in `unit`",
            "the same as a number; for a finding its confidence, 0 to 1",
        ),
        column(
            Facts,
            "unit",
            Text,
            "",
            "unit of `number`: `s`, `B`, `B/s` ...; null if it has none",
        ),
        column(Buckets, "bucket", I32, "", "index"),
        column(Buckets, "low_ns", I64, "ns", "lower edge, inclusive"),
        column(
            Buckets,
            "high_ns",
            I64,
            "ns",
            "upper edge, exclusive; the largest INT64 if the bucket is open",
        ),
    ]
};
