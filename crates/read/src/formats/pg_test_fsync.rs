//! pg_test_fsync: how many durable writes of 8 kB a second a file system does, by method.
//!
//! ## Reads
//! Rows `fdatasync   329.207 ops/sec    3038 usecs/op` of the first section (one 8 kB write), with or
//! without the lines around them. The section with two writes, those of other sizes, and the row `write` of the last, which
//! is of the page cache by intention, are read over.
//!
//! ## Where it comes from
//! `pg_test_fsync -f FILE` beside the database's files, with the server stopped.
//!
//! ## Versions
//! PostgreSQL 9.1 (without `usecs/op`) and later; `test_fsync` of older ones is not read.
//!
//! ## Traps
//! One process writes the same block and waits: the rate is the reverse of the latency. It is that of
//! file system, flush and device together: a write that is too fast for a platter (more than 120
//! a second at 7,200 rpm) ends in a cache, safe or not. A method that the platform
//! does not have says `n/a`.
//!
//! ## Cannot know
//! Single latencies, the device below, what else used it. Whether the cache survives a power cut.
//! Whether whole lines are missing: they bear no numbers.

use iowhy_model::{Interval, Layer, Level, Nanos, Op, Sink, typed};

use crate::counters::stated::rates;
use crate::facts::AddFact;
use crate::{Format, Reader, Sniff, Step, decimal, integer};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "pg-test-fsync",
    summary: "pg_test_fsync: durable writes per second, by method",
    manual: iowhy_model::manual!("pg_test_fsync.rs"),
    level: Level::A,
    sniff,
    reader: || Box::new(PgTestFsync::default()),
};

/// Methods of the first section (src/bin/pg_test_fsync/pg_test_fsync.c).
const METHODS: [&str; 6] =
    ["open_datasync", "fdatasync", "fsync", "fsync_writethrough", "open_sync", "write"];
/// The one of them that waits for no disk.
const CACHED: &str = "write";

fn sniff(lines: &[&str]) -> Sniff {
    let first = lines.first().copied().unwrap_or_default();
    (row(first).is_some_and(|(name, _)| METHODS.contains(&name)) || is_heading(first)).into()
}

fn is_heading(line: &str) -> bool {
    let line = line.trim();
    line.starts_with("Compare file sync methods using ") && line.ends_with(':')
}

/// `fdatasync   329.207 ops/sec    3038 usecs/op`: the method and its operations per second.
fn row(line: &str) -> Option<(&str, f64)> {
    let (head, rest) = line.trim().split_once(" ops/sec")?;
    let (name, per_s) = head.trim().rsplit_once(char::is_whitespace)?;
    let per_s = decimal(per_s).filter(|per_s| *per_s > 0.0)?;
    let each: Vec<&str> = rest.split_whitespace().collect();
    let agrees = match each[..] {
        [] => true,
        // Whole microseconds are printed.
        [us, "usecs/op"] => (integer(us)? as f64 - 1e6 / per_s).abs() <= 1.0,
        _ => false,
    };
    agrees.then(|| (name.trim(), per_s))
}

#[derive(Default)]
struct PgTestFsync {
    /// The rows that follow are not of one write of 8 kB.
    passes_over: bool,
}

impl Reader for PgTestFsync {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let text = line.trim();
        if is_heading(line) {
            self.passes_over = !text.contains("using one ");
        } else if let Some((name, per_s)) = row(line) {
            if METHODS.contains(&name) && name != CACHED && !self.passes_over {
                pour(name, per_s, sink);
            }
        } else if text.starts_with("Compare ")
            || text.starts_with("Test if fsync")
            || text.to_ascii_lowercase().starts_with("non-sync'ed ")
        {
            self.passes_over = true;
        } else if text.contains(" ops/sec") {
            return Step::Skipped("rate and time of the row disagree".to_string());
        } else if !(text.is_empty() || text.starts_with('(') || text.ends_with("n/a")) {
            return Step::Passed;
        }
        Step::Took
    }
}

fn pour(name: &str, per_s: f64, sink: &mut dyn Sink) {
    let device = sink.device(name);
    let mut interval = Interval::new(device, Layer::Application);
    let known = rates(Some(per_s), None, Some(1e9 / per_s));
    interval.rates.extend(known.map(|rates| (Op::Flush, rates)));
    sink.interval(interval);
    sink.add_fact(device, typed::FLUSH_TIME, Nanos::from_us((1e6 / per_s).round()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::recorded as read;

    #[test]
    fn rows_without_their_headings_are_known() {
        let recording = read(
            "        fdatasync                         329.207 ops/sec    3038 usecs/op\n        \
             fsync                             328.739 ops/sec    9042 usecs/op\n        \
             fsync_writethrough                            n/a\n\
             Compare file sync methods using two 8kB writes:\n        \
             fdatasync                         100.000 ops/sec   10000 usecs/op\n\
             Non-Sync'ed 8kB writes:\n        \
             write                           76100.311 ops/sec      13 usecs/op\n",
        );
        let listing = &recording.listings[0];
        let [sync] = &listing.intervals[..] else { panic!("{:?}", listing.intervals) };
        assert!((sync.of(Op::Flush).unwrap().await_ns.unwrap() - 3.0376e6).abs() < 1e3);
        assert_eq!(listing.source.skipped, 1);
        assert_eq!(row("the disk does 300 ops/sec in this test"), None);
    }
}
