//! Histograms over all processes, and a table of those that waited longest.

use std::collections::BTreeMap;
use std::io::Write;

use iowhy_live::EventCount;
use iowhy_model::Order as _;
use iowhy_model::{Distribution, Histogram, Layer, Recording, Report, Sink, Source, Stage};
use iowhy_model::{Time, numbers};
use iowhy_show::{Style, views};

use crate::present::View;

/// Processes and events shown; the rest is only counted.
const SHOWN: usize = 10;

/// Writes what was counted of a function.
///
/// # Errors
/// If it cannot be written.
pub(super) fn write(
    function: &str,
    source: Source,
    counts: &[EventCount],
    style: &Style,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let mut merged: BTreeMap<Option<u32>, Histogram> = BTreeMap::new();
    for count in counts {
        let empty = || Histogram::empty(count.histogram.edges().clone());
        merged.entry(count.event).or_insert_with(empty).merge(&count.histogram);
    }
    let mut events: Vec<(Option<u32>, Histogram)> = merged.into_iter().collect();
    events.order_by(|(_, a), (_, b)| sum(b).total_cmp(&sum(a)));
    let (shown, all) = (if style.verbose { usize::MAX } else { SHOWN }, events.len());
    let length = source.watched;
    let mut recording = Recording::new();
    recording.begin(source);
    for (event, histogram) in events.into_iter().take(shown) {
        let device = recording.device(function);
        let mut one = Distribution::new(device, Layer::Syscall, Stage::Total, histogram);
        (one.start, one.length) = (length.map(|_| Time::from_ns(0)), length);
        one.label = event.map(|event| recording.name(&format!("event {event}")));
        recording.distribution(one);
    }
    recording.end();
    View(&views::histogram::VIEW).write(&Report { recording, findings: Vec::new() }, style, out)?;
    if all > shown {
        writeln!(
            out,
            "\nand {} with --verbose",
            numbers::several((all - shown) as u64, "more event")
        )?;
    }
    processes(counts, shown, out)
}

/// The time of one process in the function.
struct Process<'a> {
    pid: u32,
    comm: &'a str,
    calls: u64,
    sum: f64,
    max_ns: u64,
}

/// A row per process, the longest sum first.
fn processes(counts: &[EventCount], shown: usize, out: &mut dyn Write) -> std::io::Result<()> {
    let mut known: BTreeMap<u32, Process> = BTreeMap::new();
    for count in counts {
        let empty = Process { pid: count.pid, comm: &count.comm, calls: 0, sum: 0.0, max_ns: 0 };
        let process = known.entry(count.pid).or_insert(empty);
        process.calls += count.histogram.count();
        process.sum += sum(&count.histogram);
        process.max_ns = process.max_ns.max(count.histogram.max_ns.unwrap_or(0));
    }
    if known.len() < 2 {
        return Ok(());
    }
    let mut rows: Vec<Process> = known.into_values().collect();
    rows.order_by(|a, b| b.sum.total_cmp(&a.sum));
    writeln!(out, "\n{:>10} {:>10} {:>10} {:>10}  process", "sum", "calls", "mean", "max")?;
    for Process { pid, comm, calls, sum, max_ns } in rows.iter().take(shown) {
        writeln!(
            out,
            "{:>10} {:>10} {:>10} {:>10}  {comm}[{pid}]",
            numbers::duration(*sum),
            numbers::count(*calls),
            numbers::duration(sum / (*calls).max(1) as f64),
            numbers::duration(*max_ns as f64),
        )?;
    }
    match rows.len().saturating_sub(shown) {
        0 => Ok(()),
        1 => writeln!(out, "and 1 more process with --verbose"),
        more => writeln!(out, "and {more} more processes with --verbose"),
    }
}

fn sum(histogram: &Histogram) -> f64 {
    histogram.sum_ns.unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iowhy_model::{Edges, Level};

    #[test]
    fn processes_are_merged_and_the_longest_ten_are_named() {
        let counts: Vec<EventCount> = (1..=12)
            .map(|pid| {
                let mut histogram = Histogram::empty(Edges::standard());
                histogram.record(u64::from(pid) * 1_000_000);
                EventCount { pid, comm: "server".to_string(), event: None, histogram }
            })
            .collect();
        let mut out = Vec::new();
        let source = Source::new("uprobe", "live", Level::B);
        write("fsync", source, &counts, &Style::plain(), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("12 calls"), "{text}");
        assert_eq!(text.matches("server[").count(), 10, "{text}");
        let longest = text.find("server[12]").unwrap();
        assert!(longest < text.find("server[11]").unwrap(), "{text}");
        assert!(text.ends_with("and 2 more processes with --verbose\n"), "{text}");
    }
}
