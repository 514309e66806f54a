//! Oracle's wait event histograms: what SQL*Plus prints of `v$event_histogram`, and AWR reports.
//!
//! ## Reads
//! Result tables that have the columns `WAIT_TIME_MILLI` or `WAIT_TIME_MICRO` and `WAIT_COUNT`,
//! with or without `EVENT`, `INST_ID`, `SNAP_ID`; the section `Wait Event Histogram` of an AWR
//! report in text form. Each event has its own histograms; its name is used as the device and the
//! label.
//!
//! ## How to capture
//! `select event, wait_time_milli, wait_count from v$event_histogram`, also of `gv$...`,
//! `v$event_histogram_micro` (12c) and `dba_hist_event_histogram`; `awrrpt.sql`.
//!
//! ## Versions
//! 10g and later for milliseconds, 12c for microseconds. 19c writes fractions of a millisecond and
//! one bucket of 1.8E+16 for the rest (sqldb360 issue 68): both are understood.
//!
//! ## Caveats
//! A bucket B counts waits of B/2 up to, not including, B; the first one all below it. The views
//! count since the start of the instance: from a repeated query the difference is used, and a
//! single result is read unchanged, with a note. Decreasing counts mean a restart; that interval is
//! ignored. Instances of a cluster are added up. An AWR report gives percentages of a rounded
//! total: counts are computed from them, `.0` counts as none, and its `<=1s` means below 1024 ms.
//! Columns are found by the line of dashes below the heading, so a table whose blanks were lost
//! cannot be read.
//!
//! ## Not in this output
//! The time: such tables have none. Sums, extremes, and the disk.

use std::collections::BTreeSet;

use crate::histogram::buckets::{COUNT_LIMIT, histogram_of, latencies};
use crate::histogram::latency_record::{DataSource, LatencyRecord, Unit};
use crate::program::*;
use crate::text::numbers::in_thousands;

pub(super) const FORMAT: Format = Format::program::<OracleHistogram>(
    "Oracle wait event histograms: SQL*Plus results, AWR text reports",
    Level::B,
    &["WAIT_COUNT", "Waits"],
    sniff,
);

/// Width of a tab in blanks (SQL*Plus with `set tab on`).
const TAB: usize = 8;

fn sniff(lines: &[&str]) -> Detect {
    let named = lines.first().is_some_and(|line| is_heading(line));
    match (named, lines.get(1)) {
        (true, None) => Detect::NeedLine,
        (true, Some(dashes)) => Detect::from(spans(dashes).is_some()),
        _ => Detect::No,
    }
}

/// Whether the columns we need are named here.
fn is_heading(line: &str) -> bool {
    if !line.contains("WAIT_COUNT") && !line.contains("Waits") {
        return false;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let has = |name: &str| words.contains(&name);
    let query = (has("WAIT_TIME_MILLI") || has("WAIT_TIME_MICRO")) && has("WAIT_COUNT");
    let report = words.first() == Some(&"Event")
        && has("Waits")
        && words.iter().filter(|word| bound_ms(word).is_some()).count() > 2;
    query || report
}

/// The positions of the columns, by a line of dashes and blanks.
fn spans(line: &str) -> Option<Vec<(usize, usize)>> {
    let line = expanded(line);
    if line.trim().len() < 2 || !line.bytes().all(|byte| matches!(byte, b'-' | b' ')) {
        return None;
    }
    let (mut spans, mut start) = (Vec::new(), None);
    for (place, byte) in line.bytes().chain([b' ']).enumerate() {
        match (byte, start) {
            (b'-', None) => start = Some(place),
            (b' ', Some(from)) => {
                spans.push((from, place));
                start = None;
            }
            _ => {}
        }
    }
    Some(spans)
}

/// Tabs become blanks.
fn expanded(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    for letter in line.chars() {
        match letter {
            '\t' => (0..TAB - text.chars().count() % TAB).for_each(|_| text.push(' ')),
            letter => text.push(letter),
        }
    }
    text
}

/// The cells of a line, by the columns of the dashes.
fn cells(line: &str, spans: &[(usize, usize)]) -> Vec<String> {
    let letters: Vec<char> = expanded(line).chars().collect();
    let cell = |(from, to): &(usize, usize)| {
        let cell = letters.get(*from..letters.len().min(*to)).unwrap_or_default();
        cell.iter().collect::<String>().trim().to_string()
    };
    spans.iter().map(cell).collect()
}

/// A bound of an AWR report in ms: `<8ms`, `<=1s` (in truth 1024 ms), `>1s` (from there on).
fn bound_ms(word: &str) -> Option<u64> {
    let digits = word.trim_start_matches(['<', '>', '=']);
    if digits.len() == word.len() {
        return None;
    }
    match digits.strip_suffix("ms") {
        Some(ms) => integer(ms),
        None => (digits == "1s").then_some(1024),
    }
}

/// What the columns of the open table are.
#[derive(Clone, Debug)]
enum Table {
    Query {
        spans: Vec<(usize, usize)>,
        names: Vec<String>,
    },
    /// Bounds by column; `None` for event and total.
    Report {
        spans: Vec<(usize, usize)>,
        bounds: Vec<Option<(u64, u64)>>,
    },
}

impl Table {
    fn of(heading: &str, spans: Vec<(usize, usize)>) -> Table {
        let names = cells(heading, &spans);
        if names.first().map(String::as_str) != Some("Event") {
            return Table::Query { spans, names };
        }
        let mut low = 0;
        let bounds = names.iter().map(|name| {
            let bound = bound_ms(name)?;
            let open = name.starts_with('>');
            let from = std::mem::replace(&mut low, bound);
            Some(if open { (bound, u64::MAX) } else { (from, bound) })
        });
        let bounds = bounds.collect();
        Table::Report { spans, bounds }
    }
}

/// One event over the results so far.
#[derive(Default, Debug)]
struct EventCounts {
    name: String,
    snap: String,
    current: LatencyRecord,
    /// Instance and bucket of each row of the current result.
    seen: BTreeSet<(String, String)>,
    last: Option<LatencyRecord>,
    emitted: bool,
}

#[derive(Default)]
struct OracleHistogram {
    heading: Option<String>,
    table: Option<Table>,
    unit: Unit,
    events: Vec<EventCounts>,
    estimated: bool,
}

impl Reader for OracleHistogram {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if is_heading(line) {
            let micro = line.contains("WAIT_TIME_MICRO");
            self.unit = if micro { Unit::Micro } else { Unit::Milli };
            self.heading = Some(line.to_string());
            return Step::Consumed;
        }
        if let Some(heading) = self.heading.take() {
            let Some(spans) = spans(line) else {
                return Step::skipped("no line of dashes below the heading");
            };
            self.table = Some(Table::of(&heading, spans));
            return Step::Consumed;
        }
        let text = line.trim();
        if text.is_empty() || text.ends_with("rows selected.") || text.starts_with("SQL> /") {
            return Step::Consumed;
        }
        match &self.table {
            Some(Table::Query { spans, names }) => {
                let row: Vec<(String, String)> =
                    names.iter().cloned().zip(cells(line, spans)).collect();
                self.row(&row, sink)
            }
            Some(Table::Report { spans, bounds }) => {
                let (row, bounds) = (cells(line, spans), bounds.clone());
                self.percentages(&row, &bounds, sink)
            }
            None => Step::NotMine,
        }
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        for mut event in std::mem::take(&mut self.events) {
            self.close(&mut event, sink);
            if let (false, Some(record)) = (event.emitted, &event.last) {
                sink.note(note("a single result: its counts are since the start of the instance"));
                let histogram = DataSource::Oracle.histogram(&record.counts, self.unit);
                emit(&event.name, histogram, sink);
            }
        }
        if self.estimated {
            sink.note(note("counts are computed from printed percentages"));
        }
    }
}

impl OracleHistogram {
    fn row(&mut self, row: &[(String, String)], sink: &mut dyn Sink) -> Step {
        let cell = |names: &[&str]| {
            let found = row.iter().find(|(name, _)| names.contains(&name.as_str()));
            found.map_or("", |(_, cell)| cell.as_str())
        };
        let bucket = cell(&["WAIT_TIME_MILLI", "WAIT_TIME_MICRO"]);
        let count = cell(&["WAIT_COUNT"]);
        if decimal(bucket).is_none() && decimal(count).is_none() {
            return Step::NotMine;
        }
        let name = cell(&["EVENT", "EVENT_NAME"]);
        let (snap, instance) = (cell(&["SNAP_ID"]), cell(&["INST_ID", "INSTANCE_NUMBER"]));
        let key = (instance.to_string(), bucket.to_string());
        let place = self.events.iter().position(|event| event.name == name).unwrap_or_else(|| {
            self.events.push(EventCounts { name: name.to_string(), ..EventCounts::default() });
            self.events.len() - 1
        });
        let Some(mut event) = self.events.get_mut(place).map(std::mem::take) else {
            return Step::NotMine;
        };
        if event.seen.contains(&key) || event.snap != snap {
            self.close(&mut event, sink);
        }
        event.snap = snap.to_string();
        let item = event.current.item(&format!("{bucket}, {count}"), &mut self.unit);
        event.seen.insert(key);
        if let Some(kept) = self.events.get_mut(place) {
            *kept = event;
        }
        Step::from(item)
    }

    /// A result is complete: what was added since the last one is given out.
    fn close(&mut self, event: &mut EventCounts, sink: &mut dyn Sink) {
        let mut record = std::mem::take(&mut event.current);
        event.seen.clear();
        if record.counts.is_empty() {
            return;
        }
        if let Some(last) = event.last.take() {
            event.emitted = true;
            if record.falls_below(&last) {
                sink.note(note("counts decreased: the instance was restarted"));
            } else {
                let added = record.added_since(&last);
                let histogram = DataSource::Oracle.histogram(&added, self.unit);
                emit(&event.name, histogram, sink);
            }
        }
        event.last = Some(record);
    }

    fn percentages(
        &mut self,
        row: &[String],
        bounds: &[Option<(u64, u64)>],
        sink: &mut dyn Sink,
    ) -> Step {
        let (Some(name), Some(total)) = (row.first(), row.get(1).and_then(|cell| thousands(cell)))
        else {
            self.table = None;
            return Step::NotMine;
        };
        let rows = row.iter().zip(bounds).filter_map(|(cell, bounds)| {
            let (low, high) = (*bounds)?;
            let percent = if cell.is_empty() { 0.0 } else { decimal(cell)? };
            let count = (percent.clamp(0.0, 100.0) / 100.0 * total).round() as u64;
            Some((low.saturating_mul(1_000_000), high.saturating_mul(1_000_000), count))
        });
        let histogram = histogram_of(rows.collect());
        if histogram.is_none() {
            return Step::skipped("the row is not a row of percentages");
        }
        self.estimated = true;
        emit(name, histogram, sink);
        Step::Consumed
    }
}

/// A count, with its unit or without.
fn thousands(cell: &str) -> Option<f64> {
    in_thousands(cell).filter(|n| (0.0..COUNT_LIMIT as f64).contains(n))
}

fn emit(name: &str, histogram: Option<Histogram>, sink: &mut dyn Sink) {
    let Some(histogram) = histogram else { return };
    let op = match name {
        "log file sync" => Some(Op::Write),
        name if name.contains("write") => Some(Op::Write),
        name if name.contains("read") && !name.contains("thread") => Some(Op::Read),
        _ => None,
    };
    latencies(sink.device(name), op, name, histogram, sink);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_where_the_dashes_say() {
        let found = spans("------ ---  -----").unwrap();
        assert_eq!(found, [(0, 6), (7, 10), (12, 17)]);
        assert_eq!(
            cells("db fil\t\t  12.3", &[(0, 6), (10, 17), (16, 30)]),
            ["db fil", "", "12.3"]
        );
        assert!(spans("-- a --").is_none() && spans("").is_none());
        assert_eq!(bound_ms("<=1s"), Some(1024));
        assert_eq!(bound_ms("<1/8s"), None);
        assert_eq!(bound_ms("32ms"), None);
        assert_eq!(thousands("1.2M"), Some(1_200_000.0));
    }
}
