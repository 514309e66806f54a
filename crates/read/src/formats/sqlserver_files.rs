//! I/O of the files of SQL Server: `sys.dm_io_virtual_file_stats`.
//!
//! ## Reads
//! A table with a row for each file, in any order of columns: `num_of_reads`, `io_stall_read_ms`,
//! `num_of_writes`, `io_stall_write_ms`, or the mean (`avg_read_stall_ms`) beside the number. Each
//! becomes that number of reads and writes with that mean, under the name of the file.
//!
//! ## How to capture
//! `SELECT DB_NAME(database_id), file_id, num_of_reads, io_stall_read_ms, num_of_writes,
//! io_stall_write_ms FROM sys.dm_io_virtual_file_stats(NULL, NULL)`, twice: the difference is the
//! present.
//!
//! ## Versions
//! SQL Server 2005 to 2022. Columns are found by their names.
//!
//! ## Caveats
//! Counters since the server started. A stall is the time until the I/O is complete, with the queue
//! of the host. Writes of a log (`.ldf`) are durable, so they are flushes; backups and checks read
//! in large requests and raise the means.
//!
//! ## Not in this output
//! Individual latencies, the disk of a file, when the slow ones were. A table of means without
//! their numbers is not read.

use crate::counters::database_waits::io_waits;
use crate::describe::report::*;

pub(super) const FORMAT: Format =
    Format::labels("SQL Server: I/O and stalls of each file", Level::B, &LABELS);

/// Columns of text.
const TEXTS: [&str; 12] = [
    "databasename", "dbname", "db", "database", "name", "filename", "logicalname", "physicalname",
    "typedesc", "filetype", "drive", "type",
];
/// Names of several words, which a heading separates like columns.
const PAIRS: [(&str, &str); 5] = [
    ("Database Name", "DatabaseName"),
    ("File Size (MB)", "FileSizeMB"),
    ("Physical Name", "PhysicalName"),
    ("File Name", "FileName"),
    ("Logical Name", "LogicalName"),
];
/// An operation: names of the columns of its number, of its time, and of its mean, ms.
const COUNTED: [(Op, [&str; 2], &str, &str); 2] = [
    (Op::Read, ["numofreads", "numreads"], "iostallreadms", "avgreadstallms"),
    (Op::Write, ["numofwrites", "numwrites"], "iostallwritems", "avgwritestallms"),
];

static LABELS: Labels = Labels {
    may_resume: true,
    lines: &[
        begins("num_of_", |found, report, _| {
            report.heading = Heading::plain(found.line(), &PAIRS);
            Some(())
        })
        .when(|found| {
            let heading = Heading::plain(found.line(), &PAIRS);
            let has = |name: &str| heading.names().any(|known| known == name);
            let counts = COUNTED.iter().any(|(_, count, sum, mean)| {
                count.iter().any(|name| has(name)) && (has(sum) || has(mean))
            });
            counts && heading.names().any(|name| TEXTS.contains(&name) || name == "fileid")
        })
        .like(&["Database Name  file_id io_stall_read_ms  num_of_reads avg_read_stall_ms"]),
        perhaps("^{:word} {:text}$", row)
            .like(&["orders         2       1843221           40127        45.9"]),
    ],
    own: &["^---{*}-", "^({:u} {row|rows|row(s)} affected)"],
    ..Labels::NEW
};

/// A row: names may contain blanks, so values are the words that are numbers.
fn row(found: &Found, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let line = found.line().replace('|', " ");
    let (numbers, texts): (Vec<&str>, Vec<&str>) =
        line.split_whitespace().partition(|word| decimal(word).is_some());
    let names: Vec<&str> = report.heading.names().filter(|name| !TEXTS.contains(name)).collect();
    if numbers.len() < 2 || names.is_empty() {
        return None;
    }
    if numbers.len() != names.len() {
        return report.fails("the row does not match the heading");
    }
    let value = |name: &str| decimal(numbers[names.iter().position(|known| *known == name)?]);
    let read = COUNTED.iter().flat_map(|(_, count, sum, mean)| [count[0], count[1], sum, mean]);
    if read.filter_map(value).any(|number| number < 0.0) {
        return report.fails("a number or a time of the row is negative");
    }
    let (name, is_log) = file(&texts, value("fileid"));
    let mut found = None;
    for (op, count, sum, mean) in COUNTED {
        let Some(count) = count.iter().find_map(|name| value(name)) else { continue };
        let Some(ms) = value(sum).or_else(|| Some(value(mean)? * count)) else { continue };
        found = Some(());
        if count > 0.0 && ms > 0.0 {
            let op = if is_log && op == Op::Write { Op::Flush } else { op };
            io_waits(sink.device(&name), op, count as u64, ms * 1e6 / count, sink);
        }
    }
    found
}

/// The name of a row's file, and whether it is a log: the first one of a database is its file 2.
fn file(texts: &[&str], id: Option<f64>) -> (String, bool) {
    let file = texts.join(" ");
    let path = file.find(":\\").map_or(&*file, |at| &file[at..]);
    let end = [".mdf", ".ndf", ".ldf"].iter().find_map(|end| path.to_lowercase().find(end));
    let path = end.and_then(|at| path.get(..at + 4)).unwrap_or(&file);
    let name = path.rsplit('\\').next().unwrap_or(path);
    let id = id.filter(|_| end.is_none());
    let is_log = name.to_lowercase().ends_with(".ldf") || texts.contains(&"LOG") || id == Some(2.0);
    (id.map_or(name.to_string(), |id| format!("{name} file {id}")), is_log)
}
