//! pmstat: Performance Co-Pilot's line of the whole machine.
//!
//! ## Reads
//! The rows below `1 min swpd free buff cache pi po bi bo in cs us sy id`: mean and maximum of the
//! CPU shares become the facts `cpu.*`; with `-x` iowait and steal among them.
//!
//! ## How to capture
//! `pmstat -t 5 -x`, `pmstat -a ARCHIVE`.
//!
//! ## Versions
//! PCP 3 to 7. Columns are found by the heading; `si so` are printed on machines that swap whole
//! processes.
//!
//! ## Caveats
//! There is no row since boot, unlike vmstat. Without `-x` iowait is part of idle. Large values are
//! shortened (`6952m`, `12K`), so that nothing but shares is taken. `bi` and `bo` count blocks of
//! unknown size.
//!
//! ## Not in this output
//! The disk, the task, the number of requests and their latency.

use iowhy_model::{Level, Sink};

use crate::counters::processor::{Processor, are_shares, shares};
use crate::{Body, Format, Reader, Sniff, Step, decimal};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "pmstat",
    summary: "pmstat of Performance Co-Pilot: CPUs of the machine",
    manual: iowhy_model::manual!("pmstat.rs"),
    level: Level::E,
    body: Body::Custom {
        needles: &["swpd"],
        sniff: |lines| Sniff::from(lines.first().is_some_and(|line| columns(line).is_some())),
        reader: || Box::new(Pmstat::default()),
    },
};

/// The columns behind the load, which is called `1 min`.
fn columns(line: &str) -> Option<Vec<&str>> {
    let rest = line.trim_start().strip_prefix("1 min")?;
    let columns: Vec<&str> = rest.split_whitespace().collect();
    let ours = columns.first() == Some(&"swpd")
        && ["buff", "cache", "bi", "bo"].iter().all(|name| columns.contains(name));
    (ours && are_shares(&columns)).then_some(columns)
}

#[derive(Default)]
struct Pmstat {
    columns: Vec<String>,
    processor: Processor,
}

impl Reader for Pmstat {
    fn line(&mut self, line: &str, _sink: &mut dyn Sink) -> Step {
        if let Some(columns) = columns(line) {
            self.columns = columns.iter().map(ToString::to_string).collect();
            return Step::Took;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        // With several hosts the name of one stands in front.
        let loads = words.len().saturating_sub(self.columns.len());
        let (before, row) = words.split_at(loads);
        let value = |word: &&str| {
            *word == "?" || word.starts_with(|c: char| c.is_ascii_digit()) && word.len() < 8
        };
        if words.is_empty() || words.starts_with(&["@"]) || words.starts_with(&["loadavg"]) {
            return Step::Took;
        }
        let load = before.last().is_some_and(|word| decimal(word).is_some() || *word == "?");
        if !load || before.len() > 2 || !row.iter().all(value) {
            let values = words.iter().filter(|word| value(word)).count();
            return match values * 2 > self.columns.len() {
                true => Step::Skipped("the row does not match the heading".to_string()),
                false => Step::Passed,
            };
        }
        let pairs = self.columns.iter().map(String::as_str).zip(row.iter().copied());
        self.processor.take(&shares(pairs));
        Step::Took
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.processor.state(sink);
    }
}
