//! InnoDB's own report: what its threads wait for at this moment, and how often it reads, writes and flushes.
//!
//! ## Reads
//! Of `FILE I/O`, `LOG` and `BUFFER POOL AND MEMORY` the requests that are pending (`Pending normal aio reads`, `Pending
//! flushes (fsync) log`, `1 pending log flushes`, `Pending writes: LRU 0, flush list 6`) and the rates
//! (`0.00 reads/s, 0 avg bytes/read, 12.50 writes/s, 6.25 fsyncs/s`). Of several reports in one listing the highest
//! number counts.
//!
//! ## Where it comes from
//! `SHOW ENGINE INNODB STATUS\G`, the standard monitor in the server's error log.
//!
//! ## Versions
//! MySQL 5.1 to 8.0, MariaDB 5.5 to 11: threads counted one by one (`[0, 0, 0, 0]`) and as a sum.
//!
//! ## Traps
//! What is pending is a moment's count, no mean: one pending flush is everyday on a busy server, and says something
//! where several reports show it. The rates are means since the report before, or of the last seconds.
//! Reads and writes are of files: the page cache and the file system lie between them and a device.
//!
//! ## Cannot know
//! How long anything took; which device the files lie on; what else used it. Whether whole lines are missing: they
//! bear no numbers.

use std::collections::BTreeMap;

use iowhy_model::typed::PerSecond;
use iowhy_model::{Level, Sink, typed};

use crate::facts::AddFact;
use crate::{Format, Reader, Sniff, Step, decimal};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "innodb-status",
    summary: "SHOW ENGINE INNODB STATUS: pending and done I/O",
    manual: iowhy_model::manual!("innodb_status.rs"),
    level: Level::E,
    sniff: |lines| {
        let first = lines.first().copied().unwrap_or_default();
        Sniff::from(is_title(first) || !numbers(first).is_empty())
    },
    reader: || Box::new(InnodbStatus::default()),
};

/// `2026-11-26 02:10:01 0x7f INNODB MONITOR OUTPUT`.
fn is_title(line: &str) -> bool {
    line.contains("INNODB MONITOR OUTPUT")
}

/// What a line counts; in this order it is stated.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Counted {
    FileFlushes,
    FileReads,
    FileWrites,
    FlushPending,
    ReadPending,
    WritePending,
}

impl Counted {
    fn add(self, value: f64, sink: &mut dyn Sink) {
        match self {
            Counted::FileFlushes => sink.add_fact(None, typed::FILE_FLUSHES, PerSecond(value)),
            Counted::FileReads => sink.add_fact(None, typed::FILE_READS, PerSecond(value)),
            Counted::FileWrites => sink.add_fact(None, typed::FILE_WRITES, PerSecond(value)),
            Counted::FlushPending => sink.add_fact(None, typed::FLUSH_PENDING, value as u64),
            Counted::ReadPending => sink.add_fact(None, typed::READ_PENDING, value as u64),
            Counted::WritePending => sink.add_fact(None, typed::WRITE_PENDING, value as u64),
        }
    }
}

/// What a line counts, and how many.
fn numbers(line: &str) -> Vec<(Counted, f64)> {
    let line = line.trim();
    let pending = [
        (
            "Pending normal aio reads:",
            &[(Counted::ReadPending, ""), (Counted::WritePending, "aio writes:")][..],
        ),
        (
            "Pending flushes (fsync) log:",
            &[(Counted::FlushPending, ""), (Counted::FlushPending, "buffer pool:")],
        ),
        (
            "Pending writes: LRU",
            &[(Counted::WritePending, ""), (Counted::WritePending, "flush list")],
        ),
    ];
    for (head, parts) in pending {
        let Some(rest) = line.strip_prefix(head) else { continue };
        let after = |name: &str| Some(rest.split_once(name)?.1).filter(|_| !name.is_empty());
        return parts
            .iter()
            .filter_map(|(key, name)| Some((*key, threads(after(name).unwrap_or(rest))?)))
            .collect();
    }
    let counted = |text: &str, what: &str| decimal(text.strip_suffix(what)?.trim());
    let parts: Vec<&str> = line.split(',').map(str::trim).collect();
    match parts[..] {
        [first, second] if second.ends_with(" pending chkp writes") => {
            let flushes = counted(first, " pending log flushes");
            let writes = counted(first, " pending log writes");
            let of = |key, value: Option<f64>| Some((key, value?));
            [of(Counted::FlushPending, flushes), of(Counted::WritePending, writes)]
                .into_iter()
                .flatten()
                .collect()
        }
        [reads, bytes, .., writes, flushes] if bytes.ends_with(" avg bytes/read") => {
            let rates = [
                (Counted::FileReads, counted(reads, " reads/s")),
                (Counted::FileWrites, counted(writes, " writes/s")),
                (Counted::FileFlushes, counted(flushes, " fsyncs/s")),
            ];
            rates.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
        }
        _ => Vec::new(),
    }
}

/// `[0, 2, 0, 1] , aio writes: ...` or `3, aio writes: ...`: the sum over the threads.
fn threads(text: &str) -> Option<f64> {
    let text = text.trim_start();
    match text.strip_prefix('[') {
        Some(list) => list.split_once(']')?.0.split(',').map(decimal_of).sum(),
        None => decimal_of(text.split([',', ';', ' ']).next()?),
    }
}

fn decimal_of(word: &str) -> Option<f64> {
    decimal(word.trim())
}

#[derive(Default)]
struct InnodbStatus {
    most: BTreeMap<Counted, f64>,
}

impl Reader for InnodbStatus {
    fn line(&mut self, line: &str, _sink: &mut dyn Sink) -> Step {
        let found = numbers(line);
        if found.is_empty() {
            return if line.trim().is_empty() || is_title(line) {
                Step::Took
            } else {
                Step::Passed
            };
        }
        // What one report counts at two places adds up: the log's flushes and those of the buffer pool.
        let mut sums = BTreeMap::<Counted, f64>::new();
        for (key, value) in found.into_iter().filter(|(_, value)| *value >= 0.0) {
            *sums.entry(key).or_default() += value;
        }
        for (key, value) in sums {
            let most = self.most.entry(key).or_default();
            *most = most.max(value);
        }
        Step::Took
    }

    fn resumes(&self) -> bool {
        true
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        for (what, value) in &self.most {
            what.add(*value, sink);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::scan::recorded as read;

    fn facts(text: &str) -> Vec<String> {
        let facts = &read(text).listings[0].facts;
        facts.iter().map(|fact| format!("{} {}", fact.key, fact.value)).collect()
    }

    #[test]
    fn reports_of_two_generations() {
        let new = facts(
            "2026-11-26 02:10:01 0x7f INNODB MONITOR OUTPUT\n\
             Pending normal aio reads: [0, 2, 0, 1] , aio writes: [0, 4, 0, 0] ,\n \
             ibuf aio reads:, log i/o's:, sync i/o's:\n\
             Pending flushes (fsync) log: 1; buffer pool: 2\n\
             1098 OS file reads, 512 OS file writes, 405 OS fsyncs\n\
             0.50 reads/s, 16384 avg bytes/read, 12.50 writes/s, 6.25 fsyncs/s\n\
             1 pending log flushes, 0 pending chkp writes\n\
             Pending writes: LRU 0, flush list 6, single page 0\n",
        );
        let owed = [
            "file.flushes 6.25 /s",
            "file.reads 0.5 /s",
            "file.writes 12.5 /s",
            "flush.pending 3",
            "read.pending 3",
            "write.pending 6",
        ];
        assert_eq!(new, owed);
        let old = facts(
            "Pending normal aio reads: 2, aio writes: 5,\n0 pending log writes, 0 pending chkp writes\n",
        );
        assert_eq!(old, ["read.pending 2", "write.pending 5"]);
    }
}
