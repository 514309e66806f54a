//! vmstat: memory, swap and CPUs as causes of slow I/O.
//!
//! ## Reads
//! The table of `vmstat INTERVAL`, with or without `-a`, `-w`, `-t`, `-S`. For the columns that
//! matter for disks (`r`, `b`, `si`, `so`, `bi`, `bo`, `us`, `sy`, `id`, `wa`, `st`) mean and
//! maximum over the intervals become facts: `vmstat.wa.mean`, `vmstat.so.max`; `vmstat.intervals`
//! is their number.
//!
//! ## How to capture
//! `vmstat 1 10` of procps on Linux.
//!
//! ## Versions
//! procps 2 and later; `st` came with 3.2.7, `gu` with 4.0.5. Columns are known by their heading.
//! The lists of `-d`, `-D`, `-m` and `-s` are not read. A time of day before each row (Oracle's
//! OSWatcher and ExaWatcher) is ignored.
//!
//! ## Caveats
//! The first row is since boot: it is ignored, unless it is the only one; then its facts are named
//! `vmstat.since-boot.wa`. `wa` is idle time with I/O outstanding: a busy CPU hides it. `b` counts
//! tasks in uninterruptible sleep, most of them waiting for I/O. `bi` and `bo` are KiB per second
//! whatever the unit of memory; `si` and `so` are memory per second in the unit of `-S`, KiB by
//! default. `so` above 0 on the same disk makes memory the cause. `st` above 5 % is the host's
//! business.
//!
//! ## Not in this output
//! Which device, which task, how many requests.

use iowhy_model::typed::{BytesPerSecond, Share};
use iowhy_model::{FactValue, Level, Sink, typed};

use crate::facts::AddFact;
use crate::{Body, Format, Reader, Sniff, Step, WallTime, decimal};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "vmstat",
    summary: "vmstat: run queue, swapping, blocks, CPU shares",
    manual: iowhy_model::manual!("vmstat.rs"),
    level: Level::E,
    body: Body::Custom {
        needles: &["procs", "swpd"],
        sniff,
        reader: || Box::new(Vmstat::default()),
    },
};

/// What a column counts.
#[derive(Clone, Copy)]
enum ColumnUnit {
    Tasks,
    KibPerSecond,
    Percent,
}

impl ColumnUnit {
    fn of(self, value: f64) -> FactValue {
        match self {
            ColumnUnit::Tasks => value.into(),
            ColumnUnit::KibPerSecond => BytesPerSecond::from_kib(value).into(),
            ColumnUnit::Percent => Share::from_percent(value).into(),
        }
    }
}

/// Columns that become facts, and their unit.
const COLUMNS: [(&str, ColumnUnit); 11] = [
    ("r", ColumnUnit::Tasks),
    ("b", ColumnUnit::Tasks),
    ("si", ColumnUnit::KibPerSecond),
    ("so", ColumnUnit::KibPerSecond),
    ("bi", ColumnUnit::KibPerSecond),
    ("bo", ColumnUnit::KibPerSecond),
    ("us", ColumnUnit::Percent),
    ("sy", ColumnUnit::Percent),
    ("id", ColumnUnit::Percent),
    ("wa", ColumnUnit::Percent),
    ("st", ColumnUnit::Percent),
];

/// The longest title that stands before the banner.
const LONGEST_TITLE: usize = 24;

fn sniff(lines: &[&str]) -> Sniff {
    match lines {
        [first, ..] if columns(first).is_some() => Sniff::Yes,
        [first] if is_banner(first) => Sniff::More,
        [first, second, ..] if is_banner(first) => Sniff::from(columns(second).is_some()),
        _ => Sniff::No,
    }
}

/// `procs -----------memory---------- ---swap-- -----io----`.
fn is_banner(line: &str) -> bool {
    let Some(place) = line.find("procs") else { return false };
    // Oracle's watchers put `--time--` in front.
    let before = line.get(..place).unwrap_or_default();
    let named = before.bytes().all(|b| b.is_ascii_lowercase() || matches!(b, b'-' | b' ' | b'\t'));
    named && before.len() <= LONGEST_TITLE && line.contains("swap-") && line.contains("io-")
}

/// ` r  b   swpd   free ...`: the columns.
fn columns(line: &str) -> Option<Vec<&str>> {
    if !line.trim_start().starts_with('r') {
        return None;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let known = words.starts_with(&["r", "b", "swpd"])
        && ["si", "so", "bi", "bo", "us", "id"].iter().all(|word| words.contains(word));
    known.then_some(words)
}

#[derive(Default)]
struct Vmstat {
    columns: Vec<String>,
    first: Vec<Option<f64>>,
    /// Sum and maximum of each column that becomes facts, over all rows but the first.
    sums: Vec<(f64, f64)>,
    rows: u64,
}

impl Reader for Vmstat {
    fn line(&mut self, line: &str, _sink: &mut dyn Sink) -> Step {
        if let Some(columns) = columns(line) {
            self.columns = columns.iter().map(ToString::to_string).collect();
            return Step::Took;
        }
        if is_banner(line) || line.trim().is_empty() {
            return Step::Took;
        }
        // A watcher puts the time of day in front of each row.
        let timed = |word: &&str| word.contains(':') && WallTime::read(word).is_some();
        let words: Vec<&str> = line.split_whitespace().skip_while(timed).collect();
        let numbers = words.iter().take_while(|word| decimal(word).is_some()).count();
        // The heading of `-t` ends with the zone, its rows with a date and a time.
        let ours = |name: &String| COLUMNS.iter().any(|(known, _)| known == name);
        let wanted = self.columns.iter().rposition(ours).map_or(3, |last| last + 1);
        if numbers < wanted {
            return match numbers > 2 {
                true => Step::Skipped("the row has fewer values than the heading".to_string()),
                false => Step::Passed,
            };
        }
        self.row(&words);
        Step::Took
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        let intervals = self.rows.saturating_sub(1);
        if intervals == 0 {
            for ((name, unit), value) in COLUMNS.iter().zip(&self.first) {
                let Some(value) = value else { continue };
                sink.add_fact(None, typed::VMSTAT_SINCE_BOOT.of(name), unit.of(*value));
            }
            return;
        }
        for (((name, unit), (sum, max)), known) in COLUMNS.iter().zip(&self.sums).zip(&self.first) {
            if known.is_none() {
                continue;
            }
            let mean = sum / intervals as f64;
            sink.add_fact(None, typed::VMSTAT_MEAN.of(name), unit.of(mean));
            sink.add_fact(None, typed::VMSTAT_MAX.of(name), unit.of(*max));
        }
        sink.add_fact(None, typed::VMSTAT_INTERVALS, intervals);
    }
}

impl Vmstat {
    fn row(&mut self, words: &[&str]) {
        let value = |name: &str| {
            let place = self.columns.iter().position(|column| column == name)?;
            words.get(place).and_then(|word| decimal(word))
        };
        let values: Vec<Option<f64>> = COLUMNS.iter().map(|(name, _)| value(name)).collect();
        self.rows += 1;
        if self.rows == 1 {
            self.first = values;
            self.sums = vec![(0.0, 0.0); COLUMNS.len()];
            return;
        }
        for ((sum, max), value) in self.sums.iter_mut().zip(values) {
            *sum += value.unwrap_or(0.0);
            *max = max.max(value.unwrap_or(0.0));
        }
    }
}
