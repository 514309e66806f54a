//! diskspd's text result: rates and mean latencies per file and operation, and the percentiles.
//!
//! ## Reads
//! What `diskspd` prints: of `Input parameters` the requests in flight and the caching, the tables
//! `Read IO` and `Write IO` with a row per thread and file, and the table of percentiles, which
//! becomes one histogram per operation.
//!
//! ## How to capture
//! `diskspd -b8K -d60 -o4 -t2 -r -w25 -L FILE`.
//!
//! ## Versions
//! 2.0.15 to 2.2. Columns are found by the heading; `AvgLat` and the percentiles are printed only
//! with `-L`.
//!
//! ## Caveats
//! The table `Total IO` repeats the other two and is read where they are missing. Rows of several
//! threads on one file are added. Several time spans are one interval after the other. Counts of a
//! histogram are not printed: they are computed from percentiles and counts, with a note. `3-nines`
//! is 99.9 %. Latencies are milliseconds.
//!
//! ## Not in this output
//! The disk of the file and its own latency: times are measured in the program.

use iowhy_model::Inference;
use iowhy_model::typed::PageCache;

use crate::counters::work::{ALL, TimeSpans, Work};
use crate::histogram::buckets::COUNT_LIMIT;
use crate::program::*;

pub(super) const FORMAT: Format = Format::program::<DiskspdText>(
    "diskspd's text result: rates, mean latencies, percentiles",
    Level::B,
    &["Results for timespan ", "|", "Input parameters:"],
    sniff,
);

/// Percentiles are printed to a microsecond.
const STEP_NS: u64 = 1_000;
/// Lines between `Input parameters:` and the first time span.
const BANNER_LINES: usize = 4;

fn sniff(lines: &[&str]) -> Detect {
    let [first, rest @ ..] = lines else { return Detect::No };
    let first = bare(first);
    if first.trim().starts_with("Results for timespan ")
        || first.contains('|')
            && (columns(first).is_some() || is_percentiles(first) || is_percentile(first))
    {
        return Detect::Yes;
    }
    if first.trim() != "Input parameters:" {
        return Detect::No;
    }
    match rest.iter().find(|line| !line.trim().is_empty()) {
        Some(line) => Detect::from(line.trim_start().starts_with("timespan:")),
        None if rest.len() < BANNER_LINES => Detect::NeedLine,
        None => Detect::No,
    }
}

/// A line without the bars around it, which a page draws as a table of its own.
fn bare(line: &str) -> &str {
    let text = line.trim();
    let inside = text.strip_prefix('|').and_then(|text| text.strip_suffix('|'));
    inside.map_or(line, str::trim)
}

/// `  %-ile |  Read (ms) | Write (ms) | Total (ms)`.
fn is_percentiles(line: &str) -> bool {
    let names: Vec<&str> = line.split('|').map(str::trim).collect();
    matches!(names[..], ["%-ile", "Read (ms)", "Write (ms)", "Total (ms)"])
}

/// `3-nines |        N/A |      5.770 |      5.770`.
fn is_percentile(line: &str) -> bool {
    let cells: Vec<&str> = line.split('|').map(str::trim).collect();
    let [name, values @ ..] = &cells[..] else { return false };
    let value = |text: &&str| *text == "N/A" || decimal(text).is_some();
    let ranked = [name.strip_suffix("th"), name.strip_suffix("-nines")].into_iter().flatten();
    values.len() == 3
        && values.iter().all(value)
        && (matches!(*name, "min" | "max")
            || ranked.into_iter().any(|rank| integer(rank).is_some()))
}

/// `thread |       bytes     |     I/Os     | ...`.
fn columns(line: &str) -> Option<Vec<&str>> {
    let names: Vec<&str> = line.split('|').map(str::trim).collect();
    let known = names.first() == Some(&"thread") && names.contains(&"bytes");
    (known && names.contains(&"I/Os")).then_some(names)
}

#[derive(Default)]
struct DiskspdText {
    /// The table being read: reads, writes, or none that counts.
    table: Option<usize>,
    columns: Vec<String>,
    seconds: Option<f64>,
    spans: TimeSpans,
    /// Below the heading of the percentiles.
    nines: bool,
    path: Option<String>,
    outstanding: Option<u64>,
    /// A total whose heading is missing.
    headless: Option<Work>,
    /// What the test does, if it is one operation.
    tested: Option<usize>,
    /// Threads by their number and by their rows below `Total IO`, and what these add up to.
    threads: Option<u64>,
    rows: u64,
    all: Work,
    in_total: bool,
}

impl Reader for DiskspdText {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let line = bare(line);
        let text = line.trim();
        if text.starts_with("Results for timespan ") {
            self.emit(sink);
            return Step::Consumed;
        }
        if let Some(known) = columns(line) {
            self.columns = known.iter().map(ToString::to_string).collect();
            return Step::Consumed;
        }
        if let Some(rest) = text.strip_prefix("actual test time:") {
            self.seconds = decimal(rest.trim().trim_end_matches('s')).filter(|s| *s > 0.0);
            return match self.seconds {
                Some(_) => Step::Consumed,
                None => Step::skipped("the test time is unreadable"),
            };
        }
        match text {
            "Read IO" => (self.table, self.in_total) = (Some(0), false),
            "Write IO" => (self.table, self.in_total) = (Some(1), false),
            "Total IO" => (self.table, self.in_total) = (None, true),
            _ if text.starts_with("%-ile") => self.nines = true,
            _ if ["total:", "Total:"].iter().any(|begin| text.starts_with(begin)) => {
                return self.total(text.get("total:".len()..).unwrap_or_default());
            }
            _ if is_percentile(line) || self.nines && line.contains('|') => {
                return self.percentile(text);
            }
            _ if line.matches('|').count() > 3 => return self.row(line),
            _ => return self.parameter(text, sink),
        }
        Step::Consumed
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.emit(sink);
    }
}

impl DiskspdText {
    /// `total:       33961390080 |      8291355 |     539.73 |  138171.48 |    0.929`: bytes, I/Os,
    /// MiB/s, I/O per s. Where the test time was cut off it is their quotient.
    fn total(&mut self, text: &str) -> Step {
        let cells: Vec<&str> =
            text.trim_start_matches(['|', ' ']).split('|').map(str::trim).collect();
        let ios = cells.get(1).and_then(|cell| integer(cell));
        let rate = cells.get(3).and_then(|cell| decimal(cell)).filter(|rate| *rate > 0.0);
        if let Some((ios, rate)) = ios.zip(rate).filter(|_| self.seconds.is_none()) {
            self.seconds = Some(ios as f64 / rate);
            let mean = cells.get(4).and_then(|cell| decimal(cell)).map(|ms| ms * 1e6 * ios as f64);
            let bytes = cells.first().and_then(|cell| integer(cell)).unwrap_or(0);
            self.headless = Some(Work { ios: ios.min(COUNT_LIMIT), bytes, waited_ns: mean });
        }
        Step::Consumed
    }

    fn row(&mut self, line: &str) -> Step {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        // Usage of processors, sums, and the table of both operations together.
        let thread = cells.first().is_some_and(|cell| integer(cell).is_some());
        if !thread || self.columns.is_empty() || self.table.is_none() && !self.in_total {
            return Step::Consumed;
        }
        let of = |name: &str| {
            let place = self.columns.iter().position(|column| column == name)?;
            cells.get(place).copied()
        };
        let count = |name: &str| of(name).and_then(integer).filter(|count| *count <= COUNT_LIMIT);
        let file = of("file").filter(|file| !file.is_empty());
        let Some(((ios, bytes), file)) = count("I/Os").zip(count("bytes")).zip(file) else {
            return Step::skipped("the values do not match the heading");
        };
        // `testfile.dat (1024MiB)`.
        let name = match file.rsplit_once(" (") {
            Some((name, size)) if size.ends_with(')') => name,
            _ => file,
        };
        if ios == 0 {
            return Step::Consumed;
        }
        let mean = of("AvgLat").and_then(decimal).map(|ms| ms * 1e6 * ios as f64);
        let work = match self.table {
            Some(place) => &mut self.spans.targets.entry(name.to_string()).or_default()[place],
            None => {
                self.rows += 1;
                &mut self.all
            }
        };
        work.add(Work { ios, bytes, waited_ns: mean });
        Step::Consumed
    }

    /// `3-nines |      1.608 |      8.378 |      7.432`.
    fn percentile(&mut self, text: &str) -> Step {
        let cells: Vec<&str> = text.split('|').map(str::trim).collect();
        let name = cells.first().copied().unwrap_or_default();
        let percent = match name {
            "min" => 0.0,
            "max" => 100.0,
            _ => match (name.strip_suffix("th"), name.strip_suffix("-nines")) {
                (Some(percent), _) => decimal(percent).unwrap_or(f64::NAN),
                (_, Some(nines)) => {
                    let nines = integer(nines).and_then(|nines| i32::try_from(nines).ok());
                    nines.map_or(f64::NAN, |nines| 100.0 - 10f64.powi(2 - nines))
                }
                _ => f64::NAN,
            },
        };
        if !(0.0..=100.0).contains(&percent) || cells.len() < 3 {
            return Step::skipped("an unreadable percentile");
        }
        for (place, known) in self.spans.latencies.iter_mut().enumerate() {
            let value = cells.get(place + 1).copied().unwrap_or_default();
            let ns = fixed(value, 6).and_then(|ns| u64::try_from(ns).ok());
            match ns {
                Some(ns) if name == "min" => known.min_ns = Some(ns),
                Some(ns) if name == "max" => known.max_ns = Some(ns),
                Some(ns) if percent < 100.0 => known.percentiles.push((percent, ns)),
                Some(_) => {}
                None if value == "N/A" => {}
                None => return Step::skipped("an unreadable percentile"),
            }
        }
        self.nines = name != "max";
        Step::Consumed
    }

    /// What was asked for.
    fn parameter(&mut self, text: &str, sink: &mut dyn Sink) -> Step {
        let number = |rest: &str| integer(rest.trim()).filter(|count| *count > 0);
        if let Some(path) = text.strip_prefix("path:") {
            self.path = Some(path.trim().trim_matches('\'').to_string());
        } else if let Some(rest) = [
            "number of outstanding I/O operations:",
            "number of outstanding I/O operations per thread:",
        ]
        .iter()
        .find_map(|start| text.strip_prefix(start))
        {
            self.outstanding = number(rest);
        } else if let Some(threads) = text.strip_prefix("threads per file:") {
            let most = number(threads).zip(self.outstanding.take());
            if let Some(((threads, each), path)) = most.zip(self.path.clone()) {
                let most = threads.saturating_mul(each);
                let device = sink.device(&path);
                sink.add_fact(device, typed::RUN_AT_ONCE, most);
            }
        } else if let Some(threads) = text.strip_prefix("thread count:") {
            self.threads = number(threads);
        } else if let Some(what) = text.strip_prefix("performing ") {
            self.tested = ["read test", "write test"].iter().position(|test| what == *test);
        } else if text.starts_with("software cache disabled") {
            let device = self.path.as_ref().map(|path| sink.device(path));
            sink.add_fact(device, typed::RUN_CACHED, PageCache::No);
        } else if let Some(host) = text.strip_prefix("computer name:") {
            sink.source().is_of_host(host.trim());
        } else if !text.is_empty() && !text.chars().all(|c| matches!(c, '-' | '*' | ' ')) {
            return Step::NotMine;
        }
        Step::Consumed
    }

    /// Gives out a time span.
    fn emit(&mut self, sink: &mut dyn Sink) {
        let files = &mut self.spans.targets;
        // For a total without the heading above it the percentiles show its operation.
        let of_one = match self.spans.latencies.each_ref().map(|of| of.percentiles.is_empty()) {
            [true, false] => Some(1),
            [false, true] => Some(0),
            _ => self.tested,
        };
        // The tables of single operations were cut off, or the rows of some threads.
        let (all, rows) = (std::mem::take(&mut self.all), std::mem::take(&mut self.rows));
        let missing = self.threads.take().map_or(0, |threads| threads.saturating_sub(rows));
        if files.is_empty() && all.ios > 0 && self.headless.is_none() {
            self.headless = Some(all);
            sink.lost("rows of threads", missing);
        }
        // For one that is alone nothing shows it.
        let mut mixed = None;
        if let Some(work) = self.headless.take().filter(|_| files.is_empty()) {
            match of_one {
                Some(place) => files.entry(ALL.to_string()).or_default()[place] = work,
                None => mixed = Some(work),
            }
            sink.source().infer(Inference::Columns);
        }
        // Their mean is that of the rows.
        let works: Vec<[Work; 2]> = self.spans.targets.values().copied().collect();
        for (place, known) in self.spans.latencies.iter_mut().enumerate() {
            let waited = works.iter().filter_map(|of| of[place].waited_ns).sum::<f64>();
            let ios = iowhy_model::numbers::total(works.iter().map(|of| of[place].ios));
            known.mean_ns = Some(waited / ios as f64).filter(|_| waited > 0.0);
        }
        (self.table, self.nines) = (None, false);
        match self.seconds.take() {
            Some(seconds) => self.spans.emit(seconds, mixed, STEP_NS, sink),
            None => {
                if !works.is_empty() {
                    sink.skip(note("the test time is missing, so there are no rates"));
                }
                self.spans.forget();
            }
        }
    }
}
