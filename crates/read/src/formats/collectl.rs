//! collectl's disk details (`collectl -sD`): requests, bytes, waits, queue and busy share per disk.
//!
//! ## Reads
//! The tables of `collectl -sD`, with or without a preceding time, and the plottable lines of
//! `collectl -sD -P`, whose heading lists each value of each disk.
//!
//! ## How to capture
//! `collectl -sD -i10`, `collectl -sD -oT -p FILE`, `collectl -sD -P`.
//!
//! ## Versions
//! 4.x has separate waits for reads and writes; 3.x has one `Wait` for both. Columns are found by
//! the heading, in whatever order.
//!
//! ## Caveats
//! All values are whole numbers: a wait below 1 ms is printed as 0, which is treated as unknown.
//! Rates are per second, unless `-on` was given, which the output does not show. Waits are
//! milliseconds, sizes kilobytes of 1024 bytes. Without `-oT` no row has a time. `SvcTim` is busy
//! time divided by requests, not a latency. `QLen` is the mean in flight while the disk was busy
//! (formatit.ph of collectl 4.3: weighted time by busy time), so that aqu-sz is `QLen` times
//! `Util`; both are whole numbers, and it is read only if there is no wait. Loop devices are not
//! shown by collectl.
//!
//! ## Not in this output
//! The distribution behind a mean; queue and device time separately.

use iowhy_model::{Interval, Layer, Level, Nanos, Op, Rates, Sink, Time};

use crate::{Body, Format, Reader, Sniff, Step, WallTime, decimal};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "collectl",
    summary: "collectl -sD, disk details as tables or plottable lines",
    manual: iowhy_model::manual!("collectl.rs"),
    level: Level::A,
    body: Body::Custom {
        needles: &["SvcTim", "[DSK:", "waiting for ", "# DISK STATISTICS", "<---"],
        sniff,
        reader: || Box::new(Collectl::default()),
    },
};

/// collectl's KB are powers of 1024 (it halves sectors).
const KIB: f64 = 1024.0;
const NS_PER_MS: f64 = 1e6;
/// Lines ahead of the first table: a greeting, a blank, a title.
const LEAD: usize = 5;

fn sniff(lines: &[&str]) -> Sniff {
    for line in lines {
        if heading(line).is_some() || plot_heading(line).is_some() {
            return Sniff::Yes;
        }
        let ahead = line.trim().is_empty()
            || line.starts_with("waiting for ") && line.contains("sample")
            || line.starts_with("# DISK STATISTICS")
            || line.starts_with('#') && line.contains("<---");
        if !ahead {
            return Sniff::No;
        }
    }
    let blank = lines.first().is_none_or(|line| line.trim().is_empty());
    if lines.len() < LEAD && !blank { Sniff::More } else { Sniff::No }
}

/// The columns of a table; reads come before writes.
fn heading(line: &str) -> Option<Vec<String>> {
    let words: Vec<&str> = line.strip_prefix('#')?.split_whitespace().collect();
    let named = words.iter().position(|word| *word == "Name")?;
    let known = words.ends_with(&["QLen", "Wait", "SvcTim", "Util"]) && named < 3;
    known.then(|| words.iter().map(|word| (*word).to_string()).collect())
}

/// `#Date Time [DSK:sda]Name [DSK:sda]Reads ...`: the disk and column of each value.
fn plot_heading(line: &str) -> Option<Vec<(String, String)>> {
    let words = line.strip_prefix("#Date Time ")?.split_whitespace();
    let columns: Vec<(String, String)> = words
        .map(|word| match word.strip_prefix("[DSK:").and_then(|word| word.split_once(']')) {
            Some((disk, column)) => (disk.to_string(), column.to_string()),
            None => (String::new(), word.to_string()),
        })
        .collect();
    columns.iter().any(|(disk, _)| !disk.is_empty()).then_some(columns)
}

#[derive(Default)]
struct Collectl {
    table: Vec<String>,
    plot: Vec<(String, String)>,
    /// The end of the interval before, and of the one being read; seconds between the first and
    /// `before`.
    before: Option<WallTime>,
    now: Option<WallTime>,
    elapsed: f64,
}

impl Reader for Collectl {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if let Some(columns) = plot_heading(line) {
            (self.plot, self.table) = (columns, Vec::new());
            return Step::Took;
        }
        if let Some(columns) = heading(line) {
            (self.table, self.plot) = (columns, Vec::new());
            return Step::Took;
        }
        if line.starts_with('#') || line.trim().is_empty() {
            return Step::Took;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        match self.plot.is_empty() {
            true => self.row(&words, sink),
            false => self.plot_row(&words, sink),
        }
    }
}

impl Collectl {
    fn row(&mut self, words: &[&str], sink: &mut dyn Sink) -> Step {
        let named = self.table.iter().position(|word| word == "Name").unwrap_or(0);
        let numbers = words.get(named + 1..).unwrap_or_default();
        if numbers.is_empty() || !numbers.iter().all(|word| decimal(word).is_some()) {
            return Step::Passed;
        }
        if words.len() != self.table.len() {
            return Step::Skipped("the values do not match the heading".to_string());
        }
        // Each group of columns begins with `KBytes`; behind `RWSize` stands what both share.
        let (mut groups, mut draft) = (0, Draft::default());
        for (column, word) in self.table.iter().zip(words).skip(named + 1) {
            groups += u8::from(column == "KBytes");
            groups = if column == "RWSize" { 3 } else { groups };
            draft.take(groups, column, decimal(word));
        }
        let moment = words.get(..named).map(|time| time.join(" "));
        self.advance(moment.as_deref(), sink);
        self.pour(words.get(named).copied().unwrap_or_default(), &draft, sink);
        Step::Took
    }

    fn plot_row(&mut self, words: &[&str], sink: &mut dyn Sink) -> Step {
        let [date, time, values @ ..] = words else { return Step::Passed };
        if values.len() != self.plot.len() || decimal(date).is_none() {
            return Step::Skipped("the values do not match the heading".to_string());
        }
        // `20261121` is taken apart, so that the days are known.
        let dated = date.get(..4).zip(date.get(4..6)).zip(date.get(6..8));
        let dated = dated.map(|((year, month), day)| format!("{year}-{month}-{day} {time}"));
        self.advance(dated.as_deref(), sink);
        let mut drafts: Vec<(&str, Draft)> = Vec::new();
        for ((disk, column), word) in self.plot.iter().zip(values) {
            if disk.is_empty() || column == "Name" {
                continue;
            }
            let (group, column) = match column.as_str() {
                "Reads" => (1, "IOs"),
                "RMerge" => (1, "Merged"),
                "RKBytes" => (1, "KBytes"),
                "WaitR" => (1, "Wait"),
                "Writes" => (2, "IOs"),
                "WMerge" => (2, "Merged"),
                "WKBytes" => (2, "KBytes"),
                "WaitW" => (2, "Wait"),
                "QueLen" => (3, "QLen"),
                other => (3, other),
            };
            if drafts.last().is_none_or(|(last, _)| last != disk) {
                drafts.push((disk, Draft::default()));
            }
            if let Some((_, draft)) = drafts.last_mut() {
                draft.take(group, column, decimal(word));
            }
        }
        for (disk, draft) in &drafts {
            self.pour(disk, draft, sink);
        }
        Step::Took
    }

    /// A row of another time than the one before ends another interval.
    fn advance(&mut self, printed: Option<&str>, sink: &mut dyn Sink) {
        let Some(now) = printed.and_then(WallTime::read) else { return };
        if self.now == Some(now) {
            return;
        }
        if self.now.is_none() {
            now.state(0.0, sink);
        }
        let past = self.now.zip(self.before).and_then(|(end, before)| end.since(before));
        self.elapsed += past.unwrap_or(0.0);
        self.before = self.now;
        self.now = Some(now);
    }

    fn pour(&self, disk: &str, draft: &Draft, sink: &mut dyn Sink) {
        let mut interval = Interval::new(sink.device(disk), Layer::Block);
        let length = self.now.zip(self.before).and_then(|(now, before)| now.since(before));
        if let Some(length) = length.filter(|length| *length > 0.0) {
            interval.start = Some(Time::from_seconds(self.elapsed));
            interval.length = Some(Nanos::from_seconds(length));
        }
        for (op, part) in [(Op::Read, &draft.reads), (Op::Write, &draft.writes)] {
            if part.known {
                interval.rates.push((op, part.rates));
            }
        }
        interval.await_ns = draft.await_ns.filter(|wait| *wait > 0.0);
        if interval.await_ns.is_none() {
            interval.queue_len = draft.in_flight();
        }
        interval.busy = draft.busy;
        sink.interval(interval);
    }
}

/// One disk's row, as its columns come.
#[derive(Default)]
struct Draft {
    reads: Part,
    writes: Part,
    /// In flight while the disk was busy.
    in_flight_busy: Option<f64>,
    await_ns: Option<f64>,
    busy: Option<f64>,
}

#[derive(Default)]
struct Part {
    known: bool,
    rates: Rates,
}

impl Draft {
    /// In flight on average (aqu-sz), where whole numbers say it within a tenth.
    fn in_flight(&self) -> Option<f64> {
        let (length, busy) = self.in_flight_busy.zip(self.busy)?;
        (0.5 / length + 0.005 / busy <= 0.1).then_some(length * busy)
    }

    /// Takes a value of the reads (1), the writes (2) or both together (3).
    fn take(&mut self, group: u8, column: &str, value: Option<f64>) {
        let Some(value) = value else { return };
        let part = match group {
            1 => &mut self.reads,
            2 => &mut self.writes,
            _ => {
                match column {
                    "QLen" => self.in_flight_busy = Some(value),
                    "Wait" => self.await_ns = Some(value * NS_PER_MS),
                    "Util" => self.busy = Some(value / 100.0),
                    _ => {}
                }
                return;
            }
        };
        part.known = true;
        match column {
            "KBytes" => part.rates.bytes_per_s = Some(value * KIB),
            "Merged" => part.rates.merges_per_s = Some(value),
            "IOs" => part.rates.ios_per_s = value,
            "Wait" => part.rates.await_ns = Some(value * NS_PER_MS).filter(|wait| *wait > 0.0),
            _ => {}
        }
    }
}
