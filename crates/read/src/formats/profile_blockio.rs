//! Inspektor Gadget's profile_blockio: block I/O latency histograms.
//!
//! ## Reads
//! The screen of `profile_blockio`: the line `latency`, the heading `µs : count distribution` (or
//! `ms`) and rows `LO -> HI : N |***|`; and that of `kubectl gadget profile block-io` of earlier
//! versions, which has the heading alone.
//!
//! ## How to capture
//! `kubectl gadget run profile_blockio --node NODE`, `ig run profile_blockio`, `kubectl gadget
//! profile block-io`.
//!
//! ## Versions
//! `kubectl gadget profile block-io` (to 0.30) prints rows `2 -> 3`, and a row counts the latencies
//! of its label. Gadgets that are images (`run profile_blockio`) print rows `2 -> 4`; see below.
//!
//! ## Caveats
//! A row `LO -> HI` of `run profile_blockio` (bounds that are powers of two) has latencies from HI
//! up to, not including, twice HI: the program counts by the highest bit of the latency (`log2l` in
//! its program.bpf.c), and the printer puts each of these under the bound of its smallest value
//! (addValHistFunc in otel-metrics.go). Its first row has everything below 2. The screen is printed
//! again each second and counts since the gadget began: of consecutive tables with increasing
//! counts the last is used. `profile_tcprtt` prints the same table of the network: if no command or
//! heading above it names block I/O, no disk is judged by it.
//!
//! ## Not in this output
//! The disk, the operation, the time. Time in the kernel's queue is not included.

use crate::histogram::buckets::{COUNT_LIMIT, in_device};
use crate::histogram::subject::Subject;
use crate::histogram_of;
use crate::program::*;

pub(super) const FORMAT: Format = Format::program::<ProfileBlockio>(
    "Inspektor Gadget's profile_blockio: block I/O latency histograms",
    Level::B,
    &["distribution", "latency"],
    sniff,
);

const NS_PER_US: u64 = 1_000;
const NS_PER_MS: u64 = 1_000_000;
/// The name of the metric, above its heading.
const METRIC: &str = "latency";

fn sniff(lines: &[&str]) -> Detect {
    Detect::announced(lines, 1, |line| unit(line).is_some(), |line| line.trim() == METRIC)
}

/// The unit of a heading `µs : count distribution`, ns; after a `^C` that the terminal echoed.
fn unit(line: &str) -> Option<u64> {
    let line = line.trim_start();
    let line = line.strip_prefix("^C").unwrap_or(line);
    let mut words = line.split_whitespace();
    // The micro sign and the Greek letter.
    let unit = match words.next()? {
        "\u{b5}s" | "\u{3bc}s" => NS_PER_US,
        "ms" => NS_PER_MS,
        _ => return None,
    };
    let rest = [words.next(), words.next(), words.next(), words.next()];
    (rest == [Some(":"), Some("count"), Some("distribution"), None]).then_some(unit)
}

/// `16 -> 32 : 39060 |****  |`: its bounds and its count.
fn row(line: &str) -> Option<(u64, u64, u64)> {
    let (range, rest) = line.split_once(" : ")?;
    let (low, high) = range.split_once("->")?;
    let (count, bar) = rest.split_once('|')?;
    let is_bar = bar.trim_end().strip_suffix('|')?.bytes().all(|b| matches!(b, b'*' | b' ' | b'+'));
    let count = integer(count.trim()).filter(|count| is_bar && *count <= COUNT_LIMIT)?;
    Some((integer(low.trim())?, integer(high.trim())?, count))
}

/// A table: nanoseconds per unit, and its rows as printed.
#[derive(Clone, Default)]
struct Table {
    unit: u64,
    rows: Vec<(u64, u64, u64)>,
}

impl Table {
    /// Whether it counts on from one that was printed before.
    fn continues(&self, before: &Table) -> bool {
        self.unit == before.unit
            && before.rows.iter().all(|(low, high, count)| {
                let same = self.rows.iter().find(|row| (row.0, row.1) == (*low, *high));
                same.is_some_and(|row| row.2 >= *count)
            })
    }

    /// What each row holds, ns.
    fn buckets(&self) -> Vec<(u64, u64, u64)> {
        // Bounds that are shared by two rows are those of an image.
        let of_image = self.rows.windows(2).any(|two| two[0].1 == two[1].0);
        let bounds = |low: u64, high: u64| match (of_image, low) {
            (true, 0) => (0, 2),
            (true, _) => (high, high.saturating_mul(2)),
            (false, _) => (low, high.saturating_add(1)),
        };
        let rows = self.rows.iter().map(|(low, high, count)| {
            let (low, high) = bounds(*low, *high);
            (low.saturating_mul(self.unit), high.saturating_mul(self.unit), *count)
        });
        rows.collect()
    }
}

#[derive(Default)]
struct ProfileBlockio {
    /// What the words around the tables say of them.
    subject: Subject,
    /// The table that is read, and the one before it that is not given out yet.
    table: Option<Table>,
    before: Option<Table>,
}

impl Reader for ProfileBlockio {
    fn line_above(&mut self, line: &str) {
        match line {
            _ if line.contains("profile_blockio") || line.contains("profile block-io") => {
                self.subject = Subject::Disks;
            }
            _ if line.contains("profile_tcprtt") || line.contains("profile tcprtt") => {
                self.subject = Subject::Other("network round trips");
            }
            _ => self.subject.note_above(line),
        }
    }

    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if line.trim().is_empty() || line.trim() == METRIC {
            return Step::Consumed;
        }
        if let Some(unit) = unit(line) {
            let resolved = self.resolve(sink);
            self.table = Some(Table { unit, rows: Vec::new() });
            return Step::from(resolved);
        }
        let Some(table) = &mut self.table else { return Step::NotMine };
        match row(line) {
            Some(row) => {
                if let Some(reason) = self.subject.refusal() {
                    return Step::Malformed(reason);
                }
                table.rows.push(row);
                Step::Consumed
            }
            None if line.contains("->") && line.contains(':') => {
                Step::skipped("the row is incomplete")
            }
            None => Step::NotMine,
        }
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        for reported in [self.resolve(sink), self.flush(sink)] {
            if let Err(reason) = reported {
                sink.skip(note(&reason));
            }
        }
    }
}

impl ProfileBlockio {
    /// The table that was read is over: it takes the place of the one before if it counts on from
    /// that.
    fn resolve(&mut self, sink: &mut dyn Sink) -> Result<(), String> {
        let Some(table) = self.table.take().filter(|table| !table.rows.is_empty()) else {
            return Ok(());
        };
        let flushed = match &self.before {
            Some(before) if !table.continues(before) => self.flush(sink),
            _ => Ok(()),
        };
        self.before = Some(table);
        flushed
    }

    fn flush(&mut self, sink: &mut dyn Sink) -> Result<(), String> {
        let Some(table) = self.before.take() else { return Ok(()) };
        self.subject.state(sink);
        let histogram =
            histogram_of(table.buckets()).ok_or("the rows of the table above overlap")?;
        let one = in_device("", histogram, table.unit, sink);
        sink.distribution(one);
        Ok(())
    }
}
