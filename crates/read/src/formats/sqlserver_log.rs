//! The error log of SQL Server: requests to a file that took longer than 15 s.
//!
//! ## Reads
//! `SQL Server has encountered 2 occurrence(s) of I/O requests taking longer than 15 seconds to complete on file
//! [D:\data\x.mdf] in database [x] (5).` The occurrences and the bound become facts of the drive of the file
//! (`io.slow`, `io.slowest.least`).
//!
//! ## Where it comes from
//! `ERRORLOG`, `sp_readerrorlog`, the event log of Windows.
//!
//! ## Versions
//! SQL Server 2005 to 2022, on Windows and on Linux.
//!
//! ## Traps
//! The message is printed at most once in five minutes for a file and counts what came since. A request waits in a filter
//! driver, an anti-virus program, a snapshot or a path that fails over as well as on a disk. Processors whose clocks
//! drift apart (power saving before SQL Server 2008) make waits of this length that never were.
//!
//! ## Cannot know
//! How long a request really took; how many were quick; which disk is below the drive letter. Whether whole lines are
//! missing: they bear no numbers.

use std::collections::BTreeMap;

use iowhy_model::{Level, Nanos, Sink, typed};

use crate::facts::AddFact;
use crate::{Format, Reader, Sniff, Step, integer};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "sqlserver-log",
    summary: "SQL Server's error log: I/O that took longer than 15 s",
    manual: iowhy_model::manual!("sqlserver_log.rs"),
    level: Level::E,
    sniff: |lines| Sniff::from(lines.first().is_some_and(|line| Entry::of(line).is_some())),
    reader: || Box::new(SqlserverLog::default()),
};

/// What one line says: how many requests to which file took longer than so long.
struct Entry<'a> {
    count: u64,
    seconds: u64,
    file: &'a str,
}

impl<'a> Entry<'a> {
    fn of(line: &'a str) -> Option<Entry<'a>> {
        let (_, rest) = line.split_once("SQL Server has encountered ")?;
        let (count, rest) =
            rest.split_once(" occurrence(s) of I/O requests taking longer than ")?;
        let (seconds, rest) = rest.split_once(" seconds to complete on file [")?;
        let (file, _) = rest.split_once(']')?;
        Some(Entry { count: integer(count)?, seconds: integer(seconds)?, file })
    }

    /// `D:` of `D:\data\x.mdf`, or the folder of a file on Linux.
    fn drive(&self) -> &'a str {
        match self.file.split_once(':') {
            Some((letter, _)) if letter.len() == 1 => self.file.get(..2).unwrap_or(self.file),
            _ => self.file.rsplit_once('/').map_or(self.file, |(folder, _)| folder),
        }
    }
}

#[derive(Default)]
struct SqlserverLog {
    /// Of each drive how many, and the longest bound.
    drives: BTreeMap<String, (u64, u64)>,
}

impl Reader for SqlserverLog {
    fn line(&mut self, line: &str, _sink: &mut dyn Sink) -> Step {
        match Entry::of(line) {
            Some(entry) => {
                let known = self.drives.entry(entry.drive().to_string()).or_default();
                known.0 = known.0.saturating_add(entry.count);
                known.1 = known.1.max(entry.seconds);
                Step::Took
            }
            None if line.contains("occurrence(s) of I/O requests taking longer") => {
                Step::Skipped("the line does not say how many, and of which file".to_string())
            }
            None if line.trim().is_empty() => Step::Took,
            None => Step::Passed,
        }
    }

    fn resumes(&self) -> bool {
        true
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        for (drive, (count, seconds)) in std::mem::take(&mut self.drives) {
            let device = sink.device(&drive);
            sink.add_fact(device, typed::IO_SLOW, count);
            let least = Nanos::from_seconds(seconds as f64);
            sink.add_fact(device, typed::IO_SLOWEST_LEAST, least);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::scan::recorded as read;

    #[test]
    fn occurrences_add_up_by_drive() {
        let line = |count: u64, file: &str| {
            format!(
                "2008-04-22 16:30:02.140 spid6s SQL Server has encountered {count} occurrence(s) of I/O requests taking \
                 longer than 15 seconds to complete on file [{file}] in database [x] (5).\n"
            )
        };
        let text = line(2, "D:\\data\\x.mdf")
            + &line(3, "D:\\log\\x.ldf")
            + &line(1, "/var/opt/mssql/data/y.mdf");
        let recording = read(&text);
        let listing = &recording.listings[0];
        let facts: Vec<String> =
            listing.facts.iter().map(|fact| format!("{} {}", fact.key, fact.value)).collect();
        assert_eq!(
            facts,
            ["io.slow 1", "io.slowest.least 15 s", "io.slow 5", "io.slowest.least 15 s"]
        );
        let names: Vec<&str> = recording.devices().iter().map(|device| &*device.name).collect();
        assert_eq!(names, ["/var/opt/mssql/data", "D:"]);
    }
}
