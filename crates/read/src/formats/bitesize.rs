//! bcc's bitesize: how large the requests of each process are. Sizes, never latencies.
//!
//! ## Reads
//! `Process Name = 'dd'` and the table `Kbytes : count distribution` below it. For each process the
//! size most of its requests have becomes the fact `process.request-size`.
//!
//! ## Where it comes from
//! `bitesize` of bcc and libbpf-tools.
//!
//! ## Versions
//! bcc since 2015, libbpf-tools.
//!
//! ## Traps
//! The tables look like those of biolatency and hold kilobytes: no verdict about a disk follows from
//! them. A row `LO -> HI` holds sizes from LO up to and including HI, whole KiB; a request of 4 KiB
//! stands in `4 -> 7`. A kworker writes for others.
//!
//! ## Cannot know
//! Latencies, rates, which disk. Whether whole lines are missing: they bear no numbers.

use iowhy_model::{Level, Sink, typed};

use crate::facts::AddFact;
use crate::histogram::buckets::COUNT_LIMIT;
use crate::{Format, Reader, Sniff, Step, integer};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "bitesize",
    summary: "bitesize: request sizes by process (bcc), no latencies",
    manual: iowhy_model::manual!("bitesize.rs"),
    level: Level::E,
    sniff,
    reader: || Box::new(Bitesize::default()),
};

fn sniff(lines: &[&str]) -> Sniff {
    match lines {
        [first, ..] if is_heading(first) => Sniff::Yes,
        [first] if process(first).is_some() => Sniff::More,
        [first, second, ..] if process(first).is_some() => is_heading(second).into(),
        _ => Sniff::No,
    }
}

/// `Process Name = 'kworker/u128:1'`, with Python's `b` or without quotes.
fn process(line: &str) -> Option<&str> {
    let name = line.trim().strip_prefix("Process Name = ")?;
    let name = name.strip_prefix('b').filter(|name| name.starts_with('\'')).unwrap_or(name);
    Some(name.trim_matches('\''))
}

fn is_heading(line: &str) -> bool {
    line.trim_start().starts_with("Kbytes")
        && line.split_whitespace().eq(["Kbytes", ":", "count", "distribution"])
}

#[derive(Default)]
struct Bitesize {
    process: String,
    rows: Vec<(u64, u64, u64)>,
}

impl Reader for Bitesize {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if let Some(process) = process(line) {
            self.flush(sink);
            self.process = process.to_string();
        } else if is_heading(line) || matches!(line.trim(), "" | "^C") {
            return Step::Took;
        } else if let Some(row) = row(line) {
            self.rows.push(row);
        } else if line.contains("->") && line.contains('|') {
            return Step::Skipped("the row is incomplete".to_string());
        } else {
            return Step::Passed;
        }
        Step::Took
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.flush(sink);
    }
}

impl Bitesize {
    fn flush(&mut self, sink: &mut dyn Sink) {
        let rows = std::mem::take(&mut self.rows);
        let total = rows.iter().fold(0u64, |total, row| total.saturating_add(row.2));
        let Some((low, high, count)) = rows.into_iter().max_by_key(|row| row.2) else { return };
        if total > 0 {
            let who = &self.process;
            let value = format!("{low} to {high} KiB ({count} of {total} requests) {who}");
            sink.add_fact(None, typed::PROCESS_REQUEST_SIZE, value);
        }
    }
}

/// `1024 -> 2047 : 488 |****|`.
fn row(line: &str) -> Option<(u64, u64, u64)> {
    let (low, rest) = line.split_once("->")?;
    let (high, rest) = rest.split_once(':')?;
    let count = integer(rest.split_whitespace().next()?).filter(|count| *count <= COUNT_LIMIT)?;
    rest.contains('|').then_some((integer(low.trim())?, integer(high.trim())?, count))
}

#[cfg(test)]
mod tests {
    use crate::scan::recorded as read;

    #[test]
    fn sizes_become_facts_and_no_histogram() {
        let recording = read(
            "Process Name = 'dd'\n     Kbytes              : count     distribution\n         \
             0 -> 1          : 3        |    |\n      1024 -> 2047       : 488      |****|\n",
        );
        let listing = &recording.listings[0];
        assert!(listing.distributions.is_empty());
        assert_eq!(
            listing.facts[0].value.text(),
            Some("1024 to 2047 KiB (488 of 491 requests) dd")
        );
    }
}
