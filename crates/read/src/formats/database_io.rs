//! What a database counts of its file I/O, as its client prints it: MySQL, MariaDB, PostgreSQL.
//!
//! ## Reads
//! Tables and records (`\G`, `\x`) with counts and total times of reads, writes and other calls:
//! `sys.io_global_by_wait_by_latency`, `io_global_by_file_by_latency` and
//! `user_summary_by_file_io_type`, with text (`203.82 ms`) or as `x$` (picoseconds); the summaries
//! of `performance_schema` (`COUNT_READ`, `SUM_TIMER_READ`); `pg_stat_io` (`reads`, `read_time`).
//! Each row becomes that number of operations with that mean; its name is the device. Of
//! `pg_stat_bgwriter` the checkpoints, how many were forced, and the time of their syncs become
//! facts.
//!
//! ## How to capture
//! `mysql -t -e 'SELECT * FROM sys.io_global_by_file_by_latency LIMIT 20'`,
//! `psql -c 'SELECT * FROM pg_stat_io'`.
//!
//! ## Versions
//! MySQL 5.6 to 8.4, MariaDB 10.6 and later; PostgreSQL 9.2 to 18 (`pg_stat_io` from 16).
//!
//! ## Caveats
//! Counts are since the server started, or since they were reset. Reads may come from the page
//! cache. Calls that neither read nor write (`misc`) are syncs for a log, else also opens, closes
//! and `stat`. PostgreSQL times only with `track_io_timing`.
//!
//! ## Not in this output
//! The disk of a file, other I/O on it, when the slow operations were.

use std::collections::BTreeMap;

use crate::counters::database_waits::io_waits;
use crate::program::*;

pub(super) const FORMAT: Format = Format::program::<DatabaseIo>(
    "what MySQL and PostgreSQL count of their file I/O",
    Level::B,
    &[
        "latency", "LATENCY", "sum_timer", "SUM_TIMER", "_time", "_TIME", "checkpoints_",
        "CHECKPOINTS_", "event_name", "EVENT_NAME", "file", "FILE",
    ],
    |lines| {
        let [first, rest @ ..] = lines else { return Detect::No };
        let named = |line: &str, names: &[&str]| {
            pair(line).is_some_and(|(name, _)| names.contains(&common(name).as_str()))
        };
        match rest {
            _ if Heading::of(first).is_some() => Detect::Yes,
            _ if !named(first, &["event_name", "file", "checkpoints_timed"]) => Detect::No,
            [] => Detect::NeedLine,
            [next, ..] => named(next, &["total", "checkpoints_req"]).into(),
        }
    },
)
.resumed();

/// What is counted: the columns of the number and of its time, and the unit of the time, ns.
const COUNTED: [(&str, &str, f64, Option<Op>); 8] = [
    ("count_read", "read_latency", PICO, Some(Op::Read)),
    ("count_read", "sum_timer_read", PICO, Some(Op::Read)),
    ("count_write", "write_latency", PICO, Some(Op::Write)),
    ("count_write", "sum_timer_write", PICO, Some(Op::Write)),
    ("reads", "read_time", MILLI, Some(Op::Read)),
    ("writes", "write_time", MILLI, Some(Op::Write)),
    ("fsyncs", "fsync_time", MILLI, Some(Op::Flush)),
    // All calls of a row that does not part them, and the calls that move nothing.
    ("total", "total_latency", PICO, None),
];
/// More names of the same.
const ALSO: [(&str, &str); 4] = [
    ("count_star", "total"),
    ("sum_timer_wait", "total_latency"),
    ("latency", "total_latency"),
    ("file_name", "file"),
];
const PICO: f64 = 1e-3;
const MILLI: f64 = 1e6;
/// The columns that name a row, the best first.
const NAMES: [&str; 3] = ["file", "event_name", "backend_type"];
/// Logs, whose calls that move nothing are syncs.
const LOGS: [&str; 4] = ["innodb_log_file", "/binlog", "relaylog", "ib_logfile"];

/// The columns of a table, by their common names.
struct Heading {
    names: Vec<String>,
}

impl Heading {
    fn of(line: &str) -> Option<Heading> {
        let cells = cells(line)?;
        cells.iter().all(|cell| is_column(cell)).then_some(())?;
        let names: Vec<String> = cells.iter().map(|cell| common(cell)).collect();
        let has = |name: &str| names.iter().any(|known| known == name);
        let is_timed = COUNTED.iter().any(|(count, time, ..)| has(count) && has(time));
        let is_named = NAMES.iter().any(|name| has(name));
        (is_timed && is_named || has("checkpoints_timed") && has("checkpoints_req"))
            .then_some(Heading { names })
    }
}

/// The cells of a row: `| a | b |` of MySQL, ` a | b ` of psql.
fn cells(line: &str) -> Option<Vec<&str>> {
    let line = line.trim();
    let framed = line.strip_prefix('|').map(|line| line.strip_suffix('|').unwrap_or(line));
    let line = framed.unwrap_or(line);
    let cells: Vec<&str> = line.split('|').map(str::trim).collect();
    (cells.len() > 1).then_some(cells)
}

/// A column in a record: `count_read: 627`, `checkpoints_timed | 960`.
fn pair(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once([':', '|'])?;
    let (name, value) = (name.trim(), value.trim().trim_end_matches('|').trim_end());
    (is_column(name) && !value.contains('|')).then_some((name, value))
}

/// Whether it is the name of a column: in small letters, or in large ones.
fn is_column(name: &str) -> bool {
    let of_letters = |is_letter: fn(&char) -> bool| {
        !name.is_empty() && name.chars().all(|c| is_letter(&c) || c.is_ascii_digit() || c == '_')
    };
    of_letters(char::is_ascii_lowercase) || of_letters(char::is_ascii_uppercase)
}

fn common(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    ALSO.iter().find(|(also, _)| *also == name).map_or(name, |(_, name)| name.to_string())
}

/// `30.20 s`, `108.07 us`, `4.67h`, `00:34:17.72`, a number of the unit of its column, in ns.
fn time_ns(text: &str, unit_ns: f64) -> Option<f64> {
    if let [hours, minutes, seconds] = text.split(':').collect::<Vec<_>>()[..] {
        let seconds = decimal(seconds)? + 60.0 * decimal(minutes)? + 3600.0 * decimal(hours)?;
        return Some(seconds * 1e9);
    }
    if let Some(value) = decimal(text) {
        return Some(value * unit_ns);
    }
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
    let (value, unit) = text.split_at_checked(end)?;
    let unit_ns = match unit.trim() {
        "ps" => 1e-3,
        "ns" => 1.0,
        "us" | "\u{b5}s" | "\u{3bc}s" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" | "min" => 60e9,
        "h" => 3_600e9,
        "d" => 86_400e9,
        _ => return None,
    };
    Some(decimal(value)? * unit_ns)
}

/// Whether a cell of a column that is read holds neither NULL nor a number of it.
fn is_invalid(name: &str, cell: &str) -> bool {
    let is_null = cell.is_empty() || cell.eq_ignore_ascii_case("null");
    let value = COUNTED.iter().find_map(|(count, time, unit_ns, _)| match name {
        _ if name == *count => Some(decimal(cell)),
        _ if name == *time => Some(time_ns(cell, *unit_ns)),
        _ => None,
    });
    !is_null && value.is_some_and(|value| value.is_none_or(|value| value < 0.0))
}

const INVALID: &str = "a count or a time of the row is not a number";

#[derive(Default)]
struct DatabaseIo {
    columns: Vec<String>,
    record: BTreeMap<String, String>,
}

impl DatabaseIo {
    /// States a row or a record.
    fn state(&self, of: &BTreeMap<String, String>, sink: &mut dyn Sink) -> bool {
        let number = |name: &str| of.get(name).and_then(|value| decimal(value));
        if let Some((timed, forced)) = number("checkpoints_timed").zip(number("checkpoints_req")) {
            sink.add_fact_here(None, typed::CHECKPOINT_COUNT, (timed + forced) as u64);
            sink.add_fact_here(None, typed::CHECKPOINT_FORCED, forced as u64);
            if let Some(ms) = number("checkpoint_sync_time") {
                sink.add_fact_here(None, typed::CHECKPOINT_SYNC, Nanos::from_ms(ms));
            }
            return true;
        }
        let Some(name) = NAMES.iter().find_map(|name| of.get(*name)) else { return false };
        if name.starts_with("wait/") && !name.starts_with("wait/io/file/") {
            return true;
        }
        let name = name.trim_start_matches("wait/io/file/");
        let device = sink.device(name);
        let mut found = false;
        let take = |op: Op, count: f64, ns: f64, sink: &mut dyn Sink| {
            if ns > 0.0 {
                io_waits(device, op, count as u64, ns / count, sink);
            }
        };
        let (mut rest, mut rest_ns, mut is_parted) = (0.0, 0.0, false);
        for (count, time, unit_ns, op) in COUNTED {
            let known = number(count).zip(of.get(time).and_then(|text| time_ns(text, unit_ns)));
            let Some((count, ns)) = known else { continue };
            match op {
                Some(op) => {
                    take(op, count, ns, sink);
                    (rest, rest_ns, is_parted) = (rest - count, rest_ns - ns, true);
                }
                None => (rest, rest_ns) = (rest + count, rest_ns + ns),
            }
            found = true;
        }
        let is_log = is_parted && LOGS.iter().any(|log| name.contains(log));
        if rest >= 1.0 && rest_ns > 0.0 {
            take(if is_log { Op::Flush } else { Op::Other }, rest, rest_ns, sink);
        }
        found
    }

    fn close_record(&mut self, sink: &mut dyn Sink) {
        let record = std::mem::take(&mut self.record);
        self.state(&record, sink);
    }
}

impl Reader for DatabaseIo {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if let Some(heading) = Heading::of(line) {
            self.close_record(sink);
            self.columns = heading.names;
            return Step::Consumed;
        }
        let bare = line.trim();
        let is_rule = !bare.is_empty() && bare.chars().all(|c| "+-=|".contains(c));
        let is_mark = bare.starts_with("***") || bare.starts_with("-[ RECORD");
        if is_rule || is_mark {
            self.close_record(sink);
            return Step::Consumed;
        }
        if self.columns.is_empty() {
            let Some((name, value)) = pair(line) else {
                self.close_record(sink);
                return Step::NotMine;
            };
            let name = common(name);
            if self.record.contains_key(&name) {
                self.close_record(sink);
            }
            let is_invalid = is_invalid(&name, value);
            self.record.insert(name, value.to_string());
            return if is_invalid { Step::skipped(INVALID) } else { Step::Consumed };
        }
        let Some(cells) = cells(line) else { return Step::NotMine };
        if cells.len() != self.columns.len() {
            return Step::skipped("the row does not match the heading");
        }
        if self.columns.iter().zip(&cells).any(|(name, cell)| is_invalid(name, cell)) {
            return Step::skipped(INVALID);
        }
        let names = self.columns.iter().cloned();
        let row = names.zip(cells.into_iter().map(str::to_string)).collect();
        Step::skipped_if(!self.state(&row, sink), "the row has no counts")
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.close_record(sink);
    }
}
