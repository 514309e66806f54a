//! asm_metrics of Oracle ASM: reads, writes and their mean times per disk, group or instance.
//!
//! ## Reads
//! The snapshots of `asm_metrics.pl`: rows of up to five names (ASM instance, database instance,
//! disk group, failure group, disk) and eight values. Each row of the finest level shown becomes an
//! interval of the application; its device is the names joined by slashes: `DATA/DATA_0003`.
//!
//! ## How to capture
//! `asm_metrics.pl -show=dg,dsk -interval=5` of bdrouvot/asm_metrics, which polls
//! `gv$asm_disk_iostat`.
//!
//! ## Versions
//! The layout is that of 2013 and later: a time before every row, headings of three lines.
//!
//! ## Caveats
//! Names are identified by their column. A row of a coarser level is the sum of those below it:
//! only the finest level is kept, so that nothing counts twice. With `-display=avg` the rows are
//! means since the script began: they are used only if no snapshot was shown. `ms/Read` is the mean
//! over all instances that read; for few requests it is not meaningful. A row with `-ip` names the
//! storage cell in place of the failure group.
//!
//! ## Not in this output
//! The distribution behind a mean, queue and device time separately, I/O that bypasses ASM.

use crate::program::*;
use crate::text::wall_time::Moments;

pub(super) const FORMAT: Format = Format::by_line::<AsmMetrics>(
    "asm_metrics.pl: Oracle ASM I/O rates and mean times",
    Level::A,
    &["Collecting ", "INST"],
    |line| collecting(line).is_some() || heading(line).is_some(),
);

/// Values of a row: reads, kB, ms per read, bytes per read, and the same of writes.
const VALUES: usize = 8;
/// kB of the script are 1024 bytes.
const KIB: f64 = 1024.0;

/// `Collecting 5 sec....`: the interval.
fn collecting(line: &str) -> Option<u64> {
    let rest = line.trim().strip_prefix("Collecting ")?;
    integer(rest.strip_suffix("sec....")?.trim()).filter(|seconds| *seconds > 0)
}

/// `13:48:54   INST     DBINST        DG ...`: the position of each name.
fn heading(line: &str) -> Option<Vec<usize>> {
    if !line.contains("INST") {
        return None;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let named = words.get(1).copied() == Some("INST") && words.contains(&"Reads/s");
    if !named || words.len() < 2 + VALUES {
        return None;
    }
    let names = words.get(1..words.len() - VALUES)?;
    let mut from = 0;
    names
        .iter()
        .map(|name| {
            let place = from + line.get(from..)?.find(name)?;
            from = place + name.len();
            Some(place)
        })
        .collect()
}

/// One row: what names it, by column, and its values.
#[derive(Clone, PartialEq, Debug)]
struct MetricRow {
    names: Vec<Option<String>>,
    values: [f64; VALUES],
}

impl MetricRow {
    /// How fine its level is: the last column that has a name.
    fn level(&self) -> Option<usize> {
        self.names.iter().rposition(Option::is_some)
    }

    fn device(&self) -> String {
        let names: Vec<&str> = self.names.iter().flatten().map(String::as_str).collect();
        names.join("/")
    }
}

/// The row of a line whose names are at `columns`; the time in front has been read.
fn row(line: &str, columns: &[usize]) -> Option<MetricRow> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let split = words.len().checked_sub(VALUES).filter(|split| *split > 1)?;
    let mut values = [0.0; VALUES];
    for (place, word) in values.iter_mut().zip(words.get(split..)?) {
        *place = decimal(word).filter(|value| *value >= 0.0)?;
    }
    let mut names = vec![None; columns.len()];
    let mut from = words.first()?.len();
    for name in words.get(1..split)? {
        let place = from + line.get(from..)?.find(name)?;
        from = place + name.len();
        // A name wider than its column pushes the rest: the next free one after it is its own.
        let near = columns.iter().enumerate().min_by_key(|(_, column)| column.abs_diff(place));
        *names.get_mut(near?.0)? = Some((*name).to_string());
    }
    Some(MetricRow { names, values })
}

#[derive(Default)]
struct AsmMetrics {
    seconds: Option<u64>,
    columns: Vec<usize>,
    rows: Vec<MetricRow>,
    /// The rows that follow are means since the script began.
    averages: bool,
    kept_averages: Vec<MetricRow>,
    moments: Moments,
    emitted: bool,
}

impl Reader for AsmMetrics {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let text = line.trim();
        if let Some(seconds) = collecting(line) {
            self.flush(sink);
            self.seconds = Some(seconds);
            return Step::Consumed;
        }
        if text.is_empty() || text.bytes().all(|byte| byte == b'.') {
            return Step::Consumed;
        }
        if text.starts_with("....") {
            self.flush(sink);
            self.averages = text.contains("AVERAGE");
            return Step::Consumed;
        }
        if let Some(columns) = heading(line) {
            self.columns = columns;
            return Step::Consumed;
        }
        let Some(moment) =
            text.split(' ').next().filter(|word| word.contains(':')).and_then(WallTime::read)
        else {
            // A row, and a time that is none.
            return match row(line, &self.columns) {
                Some(_) => Step::skipped("the row does not begin with a time"),
                None => Step::NotMine,
            };
        };
        if !self.moments.is_at(moment) {
            self.flush(sink);
            self.moments.at(moment);
        }
        let digits = text.bytes().skip(8).any(|byte| byte.is_ascii_digit());
        match row(line, &self.columns) {
            Some(row) if self.averages => self.kept_averages.push(row),
            Some(row) => self.rows.push(row),
            None if digits => {
                return Step::skipped("the row does not have eight values");
            }
            // The other two lines of a heading.
            None => {}
        }
        Step::Consumed
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.flush(sink);
        if !self.emitted {
            self.rows = std::mem::take(&mut self.kept_averages);
            self.seconds = None;
            self.flush(sink);
        }
    }
}

impl AsmMetrics {
    fn flush(&mut self, sink: &mut dyn Sink) {
        let rows = std::mem::take(&mut self.rows);
        let finest = rows.iter().filter_map(MetricRow::level).max();
        let length = self.seconds.map(|seconds| seconds as f64);
        let end = self.moments.since_first();
        for row in rows.iter().filter(|row| row.level() == finest) {
            let mut interval = Interval::new(sink.device(&row.device()), Layer::Application);
            interval.length = length.map(Nanos::from_seconds);
            interval.start = end.zip(length).map(|(end, length)| Time::from_seconds(end - length));
            let [reads, read_kb, read_ms, _, writes, write_kb, write_ms, _] = row.values;
            let rates = |ios: f64, kb: f64, ms: f64| Rates {
                ios_per_s: ios,
                merges_per_s: None,
                bytes_per_s: Some(kb * KIB),
                await_ns: (ios > 0.0 || ms > 0.0).then_some(ms * 1e6),
            };
            interval.rates.push((Op::Read, rates(reads, read_kb, read_ms)));
            interval.rates.push((Op::Write, rates(writes, write_kb, write_ms)));
            sink.interval(interval);
            self.emitted = true;
        }
    }
}
