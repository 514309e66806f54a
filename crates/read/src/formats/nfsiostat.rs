//! nfsiostat: reads and writes of NFS mounts, and server latency.
//!
//! ## Reads
//! Each mount's `read:` and `write:` rows, by their headings: operations and bytes per second, and
//! the mean time to execute (`avg exe`), which includes the queue of the RPC client, the network
//! and the server. The device is the export, `server:/path`.
//!
//! ## How to capture
//! `nfsiostat 5 3` (nfs-utils), `nfsiostat 5 /mnt`; `pcp nfsiostat`.
//!
//! ## Versions
//! nfs-utils 1.2 to 2.8, PCP 6. Newer ones have the columns `avg queue (ms)` and `errors`. Older
//! ones print each value on a separate line.
//!
//! ## Caveats
//! The first report of a mount is since it was mounted. `avg RTT` is the network and the server
//! alone. A program's call may take longer than any of these: it waits for many operations, or for
//! none (the page cache). kB are 1024 bytes. Values printed over several lines are assigned by
//! their order.
//!
//! ## Not in this output
//! What the server's disks did. Single latencies. The interval, which is only on the command line.

use iowhy_model::{Interval, Layer, Level, Note, Op, Sink};

use crate::counters::stated::rates;
use crate::text::words::is_for_people;
use crate::{Body, Format, Reader, Sniff, Step, decimal};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "nfsiostat",
    summary: "nfsiostat: rates of NFS mounts, and server latency",
    manual: iowhy_model::manual!("nfsiostat.rs"),
    level: Level::A,
    body: Body::Custom {
        needles: &["ops/s", " mounted on "],
        sniff,
        reader: || Box::new(Nfsiostat::default()),
    },
};

const NS_PER_MS: f64 = 1e6;
const KB: f64 = 1024.0;
/// Titles of the columns, as the tool orders them.
const TITLES: [&str; 8] = [
    "ops/s",
    "kB/s",
    "kB/op",
    "retrans",
    "avg RTT (ms)",
    "avg exe (ms)",
    "avg queue (ms)",
    "errors",
];
/// Their places.
const OPS: usize = 0;
const KB_PER_S: usize = 1;
const EXECUTION: usize = 5;
/// Columns without which a row says nothing of latency.
const FEWEST: usize = EXECUTION + 1;
/// Lines from a mount's name to its first row, blanks included.
const LEAD: usize = 12;

fn sniff(lines: &[&str]) -> Sniff {
    let Some(first) = lines.first().filter(|line| is_for_people(line)) else { return Sniff::No };
    if heading(first).is_some_and(|(_, columns)| columns >= FEWEST) {
        return Sniff::Yes;
    }
    if mount(first).is_none() {
        return Sniff::No;
    }
    match lines.iter().any(|line| is_totals(line)) {
        true => Sniff::Yes,
        false if lines.len() < LEAD => Sniff::More,
        false => Sniff::No,
    }
}

/// `server:/export mounted on /mnt:`, the export.
fn mount(line: &str) -> Option<&str> {
    let (export, place) = line.trim().trim_end_matches(':').split_once(" mounted on ")?;
    let one_word = |text: &str| !text.is_empty() && !text.contains(char::is_whitespace);
    (one_word(export) && one_word(place.trim())).then_some(export)
}

/// `ops/s  rpc bklog` above the rows.
fn is_totals(line: &str) -> bool {
    let mut words = line.split_whitespace();
    matches!(words.next(), Some("ops/s" | "op/s")) && words.next() == Some("rpc")
}

/// The columns of a heading, if these are its titles in order: how many it has.
fn columns(text: &str) -> Option<usize> {
    let mut rest = text.trim();
    let mut count = 0;
    while !rest.is_empty() {
        rest = rest.strip_prefix(TITLES.get(count)?)?.trim_start();
        count += 1;
    }
    (count > KB_PER_S).then_some(count)
}

/// `read:  ops/s  kB/s ...`: the operation, and how many columns.
fn heading(line: &str) -> Option<(Op, usize)> {
    let (op, rest) = title(line)?;
    Some((op, columns(rest)?))
}

/// `read:` or `write:`, and what follows on the line.
fn title(line: &str) -> Option<(Op, &str)> {
    let (name, rest) = line.trim().split_once(':')?;
    let op = match name {
        "read" => Op::Read,
        "write" => Op::Write,
        _ => return None,
    };
    Some((op, rest))
}

#[derive(Default)]
struct Nfsiostat {
    export: String,
    /// Exports that were reported before: their first report counts since the mount.
    reported: Vec<String>,
    since_mount: bool,
    told: bool,
    /// The operation whose row comes, where its heading stood; its columns and what was read of them.
    row: Option<(Op, usize)>,
    values: Vec<f64>,
    interval: Option<Interval>,
}

impl Reader for Nfsiostat {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let text = line.trim();
        if let Some(export) = mount(text) {
            self.pour(sink);
            self.since_mount = !self.reported.iter().any(|known| known == export);
            if self.since_mount {
                self.reported.push(export.to_string());
            }
            (self.export, self.row) = (export.to_string(), None);
            return Step::Took;
        }
        if let Some((op, rest)) = title(text) {
            // Old versions have the titles on the next line.
            let Some(count) = (if rest.trim().is_empty() { Some(0) } else { columns(rest) }) else {
                return Step::Passed;
            };
            (self.row, self.values) = (Some((op, count)), Vec::new());
            return Step::Took;
        }
        if let (Some((op, 0)), Some(count)) = (self.row, columns(text)) {
            self.row = Some((op, count));
            return Step::Took;
        }
        if text.is_empty() || is_totals(text) || text.starts_with("Timestamp") {
            return Step::Took;
        }
        match self.row {
            Some((op, count)) if count > 0 => self.row(op, count, text, sink),
            // The values below `ops/s  rpc bklog`.
            _ if text.split_whitespace().all(|word| decimal(word).is_some()) => Step::Took,
            _ => Step::Passed,
        }
    }

    fn resumes(&self) -> bool {
        true
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.pour(sink);
    }
}

impl Nfsiostat {
    /// Values of a row, all or some of them. `0 (0.0%)` is one.
    fn row(&mut self, op: Op, count: usize, text: &str, sink: &mut dyn Sink) -> Step {
        for word in text.split_whitespace().filter(|word| !word.starts_with('(')) {
            let Some(value) = decimal(word).filter(|value| *value >= 0.0) else {
                self.row = None;
                return match self.values.is_empty() && decimal(word).is_none() {
                    true => Step::Passed,
                    false => Step::Skipped("a value of the row is not a number".to_string()),
                };
            };
            self.values.push(value);
        }
        if self.values.len() < count {
            return Step::Took;
        }
        let values = std::mem::take(&mut self.values);
        self.row = None;
        if values.len() > count {
            return Step::Skipped("the values do not match the heading".to_string());
        }
        let at = |place: usize| values.get(place).copied();
        let wait = at(EXECUTION).map(|ms| ms * NS_PER_MS);
        let known = rates(at(OPS), at(KB_PER_S).map(|kb| kb * KB), wait);
        let device = sink.device(if self.export.is_empty() { "nfs" } else { &self.export });
        let since_mount = self.since_mount;
        let interval = self.interval.get_or_insert_with(|| {
            let mut interval = Interval::new(device, Layer::Application);
            interval.since_boot = since_mount;
            interval
        });
        interval.rates.extend(known.map(|rates| (op, rates)));
        Step::Took
    }

    fn pour(&mut self, sink: &mut dyn Sink) {
        let Some(interval) = self.interval.take() else { return };
        if interval.since_boot && !std::mem::replace(&mut self.told, true) {
            let reason = "the first report of a mount counts since it was mounted".to_string();
            sink.note(Note { line: 0, text: String::new(), reason });
        }
        sink.interval(interval);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_names_no_mount() {
        assert_eq!(mount("the disk is mounted on /mnt"), None);
    }
}
