//! latency-outliers: a warning per slow I/O and a table per device, from a SystemTap script.
//!
//! ## Reads
//! `latency warning, >500000 microsec: device=sdy, sector=166891231, latency=714984`, and the
//! table `Disk name Num I/Os Min latency Avg latency Max latency`. A row becomes a distribution
//! of one bucket with count, mean, minimum and maximum. A warning becomes a fact
//! `outlier.latency_us` of its device, since it has no time; the threshold becomes
//! `outlier.threshold_us`.
//!
//! ## Where it comes from
//! `blockio_latency_outliers_per_device.stp INTERVAL [THRESHOLD_US]` of
//! LucaCanali/Linux_tracing_scripts, on kernels up to 3.10.
//!
//! ## Versions
//! As of 2015; unchanged since.
//!
//! ## Traps
//! Everything is in microseconds. The default threshold is 500 000 us = 500 ms, though it has
//! been described as 500 us. A warning is printed when the latency is above the threshold, not
//! equal to it. The I/Os of the warnings are in the table too, so they are not counted again.
//! The average is rounded down. The table is reset after each print, and not sorted.
//!
//! ## Cannot know
//! Read or write, size and time of each I/O. Time in the queue: latency runs from issue to
//! completion. I/Os beyond the 100 000 in flight and 1 000 devices the script keeps. Whether whole
//! lines are missing: they bear no numbers.

use iowhy_model::{Distribution, Histogram, Layer, Level, Nanos, Sink, Stage, typed};

use crate::facts::AddFact;
use crate::histogram::buckets::COUNT_LIMIT;
use crate::{Format, Reader, Sniff, Step, integer};

/// The format's entry in the list.
pub const FORMAT: Format = Format {
    name: "latency-outliers",
    summary: "slow I/Os and per-device latency from a SystemTap script",
    manual: iowhy_model::manual!("latency_outliers.rs"),
    level: Level::B,
    sniff,
    reader: || Box::new(Outliers::default()),
};

/// The script counts in microseconds.
const STEP: Nanos = Nanos(1_000);
const US: u64 = 1_000;

fn sniff(head: &[&str]) -> Sniff {
    head.first().is_some_and(|line| !matches!(Part::of(line), None | Some(Part::Aside))).into()
}

/// What a line of the script is.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Part<'a> {
    Banner,
    Threshold(u64),
    Warning {
        device: &'a str,
        sector: u64,
        latency_us: u64,
    },
    /// The line above a table, with its measurement time in seconds.
    Heading(u64),
    Columns,
    /// The line that ends a table, and others that say nothing new.
    Aside,
}

impl<'a> Part<'a> {
    fn of(line: &'a str) -> Option<Part<'a>> {
        let text = line.trim();
        match text {
            "Measuring block I/O latency and statistics" => return Some(Part::Banner),
            "Latency measured in microseconds" | "-----" => return Some(Part::Aside),
            _ => {}
        }
        let prefix = "A warning will be printed for I/Os with latency higher than ";
        if let Some(rest) = text.strip_prefix(prefix) {
            return Some(Part::Threshold(integer(rest.strip_suffix(" microseconds")?)?));
        }
        if let Some(rest) = text.strip_prefix("latency warning, >") {
            let (_, fields) = rest.split_once(": device=")?;
            let (device, fields) = fields.split_once(", sector=")?;
            let (sector, latency) = fields.split_once(", latency=")?;
            let (sector, latency_us) = (integer(sector)?, integer(latency)?);
            return Some(Part::Warning { device, sector, latency_us });
        }
        let prefix = "I/O latency basic statistics per device, measurement time: ";
        if let Some(rest) = text.strip_prefix(prefix) {
            return Some(Part::Heading(integer(rest.strip_suffix(" seconds")?)?));
        }
        let columns =
            ["Disk", "name", "Num", "I/Os", "Min", "latency", "Avg", "latency", "Max", "latency"];
        if text.starts_with("Disk name") && text.split_ascii_whitespace().eq(columns) {
            return Some(Part::Columns);
        }
        text.starts_with("Statistics will be printed every ").then_some(Part::Aside)
    }
}

#[derive(Default)]
struct Outliers {
    /// Measurement time of the table, seconds.
    seconds: Option<u64>,
    in_table: bool,
    /// Lines offered so far.
    lines: u64,
}

impl Reader for Outliers {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        self.lines += 1;
        sink.source().sees_queue = false;
        sink.source().resolution = Some(STEP);
        match Part::of(line) {
            Some(Part::Banner | Part::Aside) => self.in_table &= line.trim() != "-----",
            Some(Part::Threshold(us)) => {
                let place = self.place(sink);
                sink.add_fact_at(None, typed::OUTLIER_THRESHOLD, micros(us), &place);
            }
            Some(Part::Warning { device, sector, latency_us }) => {
                let (device, place) = (sink.device(device), self.place(sink));
                sink.add_fact_at(device, typed::OUTLIER_LATENCY, micros(latency_us), &place);
                sink.add_fact_at(device, typed::OUTLIER_SECTOR, sector, &place);
            }
            Some(Part::Heading(seconds)) => self.seconds = Some(seconds),
            Some(Part::Columns) => self.in_table = true,
            None if line.trim_start().starts_with("latency warning, >") => {
                return Step::Skipped("the warning is incomplete".to_string());
            }
            None if self.in_table => return self.row(line, sink),
            None => return Step::Passed,
        }
        Step::Took
    }
}

fn micros(us: u64) -> Nanos {
    Nanos(i64::try_from(us.saturating_mul(1000)).unwrap_or(i64::MAX))
}

impl Outliers {
    fn place(&self, sink: &mut dyn Sink) -> String {
        let source = sink.source();
        let line = source.lines.map_or(0, |(first, _)| first) + self.lines - 1;
        format!("{}:{line}", source.input)
    }

    fn row(&self, line: &str, sink: &mut dyn Sink) -> Step {
        let mut words = line.split_ascii_whitespace();
        let (Some(disk), Some(first)) = (words.next(), words.next()) else { return Step::Passed };
        if integer(first).is_none() {
            return Step::Passed;
        }
        let numbers: Option<Vec<u64>> = std::iter::once(first).chain(words).map(integer).collect();
        let Some([count, min, mean, max]) = numbers.as_deref() else {
            return Step::Skipped("a row has a name and four numbers".to_string());
        };
        let limit = COUNT_LIMIT;
        if *count == 0 || *count > limit || *max > limit || min > mean || mean > max {
            return Step::Skipped("minimum, average and maximum are not in order".to_string());
        }
        let histogram = Histogram::from_summary(*count, (mean * US) as f64, min * US, max * US);
        let device = sink.device(disk);
        let mut distribution = Distribution::new(device, Layer::Block, Stage::Device, histogram);
        let seconds = self.seconds.and_then(|s| i64::try_from(s).ok()?.checked_mul(1_000_000_000));
        distribution.length = seconds.map(Nanos);
        sink.distribution(distribution);
        Step::Took
    }
}

#[cfg(test)]
mod tests {
    use iowhy_model::FactValue;

    use super::*;
    use iowhy_model::Recording;

    #[test]
    fn warnings_are_facts_and_rows_are_distributions() {
        let text = "Measuring block I/O latency and statistics\n\
             A warning will be printed for I/Os with latency higher than 500000 microseconds\n\
             latency warning, >500000 microsec: device=sdy, sector=166891231, latency=714984\n\
             latency warning, >500000 microsec: device=sdy, sec\n\
             I/O latency basic statistics per device, measurement time: 10 seconds\n\
             Latency measured in microseconds\n\
             Disk name          Num I/Os    Min latency    Avg latency    Max latency\n\n\
             sdy                     197            102          98298        1167977\n\
             sdz                     200            123           5995\n\
             sdx                     200            123           5995          1\n\
             -----\n";
        let mut recording = Recording::new();
        crate::scan("test", &mut text.as_bytes(), None, &mut recording).unwrap();
        let listing = &recording.listings[0];
        assert_eq!(listing.source.skipped, 3);
        let sdy = &listing.distributions[0];
        assert_eq!(sdy.histogram.mean_ns(), Some((98_298_000.0, true)));
        assert_eq!(sdy.histogram.max_ns, Some(1_167_977_000));
        assert_eq!(sdy.length, Some(Nanos(10_000_000_000)));
        let micros = |us: i64| FactValue::Duration(Nanos(us * 1000));
        assert_eq!(listing.facts[0].value, micros(500_000));
        assert_eq!(listing.facts[1].value, micros(714_984));
        assert_eq!(listing.facts[2].value, FactValue::Count(166_891_231));
        assert_eq!(listing.facts[1].read_from, "test:3");
        assert_eq!(listing.facts[1].device, Some(sdy.device));
    }
}
