//! dstat: bytes, requests and waits of each disk, and what the processors did.
//!
//! ## Reads
//! The heading of two lines and the rows below: groups `--dsk/sda--` (bytes read and written), `--io/sda-`
//! (requests), and of the plug-ins `--disk-wait` (`rawa wawa`, mean waits), `--disk-util` and
//! `--disk-svctm`; `total-cpu-usage` becomes the facts `cpu.*`. A disk whose requests are not listed has no
//! rates: its waits alone are read.
//!
//! ## Where it comes from
//! `dstat -tdrD sda,sdb --disk-wait`, `dool`, `pcp dstat`.
//!
//! ## Versions
//! dstat 0.6 and later, dool. Groups are found by their place below the upper line.
//!
//! ## Traps
//! The first row counts since boot and is left out. `total` is the sum over all disks. `k`, `M` are
//! powers of 1024. `svct` is busy time divided by requests and no latency. `wai` is idle time with
//! I/O outstanding. A row that dstat missed is marked; values above 9999 are cut by the terminal.
//!
//! ## Cannot know
//! How latencies are distributed, which process asked; the interval, unless a time stands in each
//! row. Whether whole lines are missing: they bear no numbers.

use std::collections::BTreeMap;

use iowhy_model::{Interval, Layer, Level, Nanos, Op, Rates, Sink, Time};

use crate::counters::processor::{Processor, are_shares, shares};
use crate::counters::stated::Column;
use crate::{Format, Reader, Sniff, Step, WallTime, bytes, decimal};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "dstat",
    summary: "dstat, dool: bytes, requests, waits of disks; processors",
    manual: include_str!("dstat.rs"),
    level: Level::A,
    sniff,
    reader: || Box::new(Dstat::default()),
};

fn sniff(lines: &[&str]) -> Sniff {
    match lines {
        [first] if is_titles(first) => Sniff::More,
        // A narrow terminal breaks both lines of the heading.
        [first, second, rest @ ..] if is_titles(first) && is_dashed(second) => match rest {
            [] | [_] => Sniff::More,
            [third, fourth, ..] => {
                (!groups(&format!("{first}{second}"), &format!("{third} {fourth}")).is_empty())
                    .into()
            }
        },
        [first, second, ..] => (is_titles(first) && !groups(first, second).is_empty()).into(),
        _ => Sniff::No,
    }
}

/// `----system---- --dsk/sda-----dsk/sda1-- ...`: words of dashes and names of groups.
fn is_titles(line: &str) -> bool {
    let known = ["dsk/", "io/", "total-cpu-usage", "total-usage"];
    is_dashed(line) && known.iter().any(|name| line.contains(name))
}

/// Words of dashes and names, as a heading has that went on behind the edge of the terminal.
fn is_dashed(line: &str) -> bool {
    let mut words = line.split_whitespace().peekable();
    words.peek().is_some() && words.all(|word| word.contains('-'))
}

/// What a group of columns is of.
#[derive(Clone, Debug, PartialEq)]
enum Group {
    /// Bytes of a disk.
    Bytes(String),
    /// Requests of a disk.
    Requests(String),
    /// Mean waits of a disk, ms.
    Waits(String),
    /// Busy share of a disk.
    Busy(String),
    /// These columns of the processors.
    Processor(Vec<String>),
    /// The time of the row.
    When,
    /// Something else, of so many columns.
    Other,
}

/// The groups of a heading, with the number of values of each, in order; empty if it is none.
fn groups(titles: &str, columns: &str) -> Vec<(Group, usize)> {
    let (titles, mut found, mut start) = (titles.as_bytes(), Vec::new(), 0);
    if !columns.contains('|') && !columns.contains("read  writ") {
        return Vec::new();
    }
    for part in columns.split(['|', ':']) {
        let end = start + part.len();
        let above = titles.get(start..end.min(titles.len())).unwrap_or_default();
        let name = String::from_utf8_lossy(above);
        let name = name.trim_matches(|c: char| c == '-' || c.is_whitespace());
        let words: Vec<&str> = part.split_whitespace().collect();
        let group = match words[..] {
            ["read", "writ"] => match name.split_once('/') {
                Some(("dsk", disk)) => Group::Bytes(disk.to_string()),
                Some(("io", disk)) => Group::Requests(disk.to_string()),
                _ => Group::Other,
            },
            ["rawa", "wawa"] => Group::Waits(name.to_string()),
            ["util"] => Group::Busy(name.to_string()),
            ["time" | "date/time"] => Group::When,
            _ if are_shares(&words) => {
                Group::Processor(words.iter().map(ToString::to_string).collect())
            }
            _ => Group::Other,
        };
        found.push((group, words.len()));
        start = end + 1;
    }
    let ours = found.iter().any(|(group, _)| !matches!(group, Group::Other | Group::When));
    if ours { found } else { Vec::new() }
}

/// What a row says of one disk.
#[derive(Clone, Copy, Default)]
struct Work {
    bytes: Option<[f64; 2]>,
    requests: Option<[f64; 2]>,
    waits_ms: Option<[f64; 2]>,
    busy: Option<f64>,
}

#[derive(Default)]
struct Dstat {
    titles: String,
    /// The heading goes on behind the edge of the terminal: the first part of its lower line, once seen.
    broken: Option<String>,
    groups: Vec<(Group, usize)>,
    rows: u64,
    processor: Processor,
    /// What all disks moved, KiB per second.
    read: Column,
    written: Column,
    first: Option<WallTime>,
    before: Option<WallTime>,
}

impl Reader for Dstat {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if is_titles(line) {
            (self.titles, self.broken) = (line.to_string(), None);
            self.groups.clear();
            return Step::Took;
        }
        if self.groups.is_empty() && is_dashed(line) {
            self.titles.push_str(line);
            self.broken = Some(String::new());
            return Step::Took;
        }
        let joined = match &mut self.broken {
            Some(upper) if self.groups.is_empty() && upper.is_empty() => {
                *upper = line.to_string();
                return Step::Took;
            }
            Some(upper) if self.groups.is_empty() => format!("{upper} {line}"),
            _ => line.to_string(),
        };
        let found = groups(&self.titles, &joined);
        if !found.is_empty() {
            self.groups = found;
            return Step::Took;
        }
        if line.trim().is_empty() {
            return Step::Took;
        }
        if self.groups.is_empty() || !line.contains(|c: char| c.is_ascii_digit()) {
            return Step::Passed;
        }
        self.row(line, sink)
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.processor.state(sink);
        self.read.state("disks.read", "KiB/s", sink);
        self.written.state("disks.written", "KiB/s", sink);
    }
}

impl Dstat {
    fn row(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        // A time has colons of its own: split at bars first, then as often as there are groups.
        let line = line.trim_end_matches(['>', ' ', '|']);
        let mut parts: Vec<&str> = Vec::new();
        for part in line.split('|') {
            match WallTime::read(&dated(part)) {
                Some(_) => parts.push(part),
                None => parts.extend(part.split(':')),
            }
        }
        if parts.len() != self.groups.len() {
            return match parts.len() > 2 {
                true => Step::Skipped("the values do not fit the heading".to_string()),
                false => Step::Passed,
            };
        }
        let (mut disks, mut now) = (BTreeMap::<String, Work>::new(), None);
        let mut share = None;
        for ((group, width), part) in self.groups.iter().zip(&parts) {
            let words: Vec<&str> = part.split_whitespace().collect();
            if words.len() != *width && !matches!(group, Group::When | Group::Other) {
                return Step::Skipped("the values do not fit the heading".to_string());
            }
            let pair =
                |read: fn(&str) -> Option<f64>| Some([read(words.first()?)?, read(words.get(1)?)?]);
            let mut of = |disk: &String| *disks.entry(disk.clone()).or_default();
            let (disk, work) = match group {
                Group::Bytes(disk) => (disk, Work { bytes: pair(bytes), ..of(disk) }),
                Group::Requests(disk) => (disk, Work { requests: pair(bytes), ..of(disk) }),
                Group::Waits(disk) => (disk, Work { waits_ms: pair(decimal), ..of(disk) }),
                Group::Busy(disk) => {
                    let busy = words.first().and_then(|word| decimal(word));
                    (disk, Work { busy, ..of(disk) })
                }
                Group::Processor(names) => {
                    let pairs = names.iter().map(String::as_str).zip(words.iter().copied());
                    share = Some(shares(pairs));
                    continue;
                }
                Group::When => {
                    now = WallTime::read(&dated(part));
                    continue;
                }
                Group::Other => continue,
            };
            disks.insert(disk.clone(), work);
        }
        self.rows += 1;
        if self.rows > 1 {
            share.iter().for_each(|share| self.processor.take(share));
            disks.iter().for_each(|(disk, work)| self.pour(disk, work, now, sink));
            let whole: Vec<[f64; 2]> = match disks.get("total") {
                Some(total) => total.bytes.into_iter().collect(),
                None => disks.values().filter_map(|work| work.bytes).collect(),
            };
            if !whole.is_empty() {
                self.read.take(whole.iter().map(|pair| pair[0]).sum::<f64>() / 1024.0);
                self.written.take(whole.iter().map(|pair| pair[1]).sum::<f64>() / 1024.0);
            }
        }
        if let Some(now) = now {
            WallTime::begin(&mut self.first, now, sink);
        }
        self.before = now;
        Step::Took
    }

    fn pour(&self, disk: &str, work: &Work, now: Option<WallTime>, sink: &mut dyn Sink) {
        let mut interval = Interval::new(sink.device(disk), Layer::Block);
        let length = now.zip(self.before).and_then(|(now, before)| now.since(before));
        let start = self.before.zip(self.first).and_then(|(before, first)| before.since(first));
        if let Some((length, start)) = length.filter(|length| *length > 0.0).zip(start) {
            interval.start = Some(Time::from_seconds(start));
            interval.length = Some(Nanos::from_seconds(length));
        }
        for (place, op) in [Op::Read, Op::Write].into_iter().enumerate() {
            let at = |pair: Option<[f64; 2]>| pair.map(|pair| pair[place]);
            let (bytes, wait) = (at(work.bytes), at(work.waits_ms));
            // Without `-r` there is not a number of requests; a mean wait needs one.
            let Some(ios) = at(work.requests) else { continue };
            let rates = Rates {
                ios_per_s: ios,
                merges_per_s: None,
                bytes_per_s: bytes,
                await_ns: wait.filter(|ms| *ms > 0.0).map(|ms| ms * 1e6),
            };
            interval.rates.push((op, rates));
        }
        if interval.rates.is_empty() {
            // A rate that nobody printed is not made up.
            let [read, written] = work.waits_ms.unwrap_or_default();
            interval.await_ns = Some(read.max(written) * 1e6).filter(|ns| *ns > 0.0);
            if interval.await_ns.is_none() && work.busy.is_none() {
                return;
            }
        }
        interval.busy = work.busy.map(|percent| percent / 100.0);
        sink.interval(interval);
    }
}

/// `14-10 18:44:24`, day and month: the time of day is enough, and `WallTime` reads that.
fn dated(part: &str) -> String {
    let words: Vec<&str> = part.split_whitespace().collect();
    match words[..] {
        [date, time] if date.len() == 5 && date.as_bytes().get(2) == Some(&b'-') => {
            time.to_string()
        }
        _ => part.trim().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use iowhy_model::FactKey;

    use super::*;
    use crate::scan::recorded as read;

    #[test]
    fn groups_are_found_by_their_place() {
        let recording = read(
            "----system---- --dsk/sda-----dsk/sda1-- --io/sda-----io/sda1- ---sda-------sda1--\n\
             \x20    time     | read  writ: read  writ| read  writ: read  writ|rawa wawa:rawa wawa\n\
             14-10 18:44:24|  38k 3442k:  38k 3442k| 1.0  86.0 : 1.0  86.0|0.54 4.64:0.53 4.90\n\
             14-10 18:44:26|   0  5744k:   0  5744k|   0   120 :   0   120|   0 3.34:   0 3.45\n\
             14-10 18:44:28|   0  3076k\n",
        );
        let listing = &recording.listings[0];
        assert_eq!(listing.intervals.len(), 2, "{:?}", listing.intervals);
        let writes = listing.intervals[0].of(Op::Write).unwrap();
        assert_eq!((writes.ios_per_s, writes.await_ns), (120.0, Some(3.34e6)));
        assert_eq!(writes.bytes_per_s, Some(5744.0 * 1024.0));
        assert_eq!(listing.intervals[0].length, Some(Nanos::from_seconds(2.0)));
    }

    #[test]
    fn a_heading_that_a_narrow_terminal_broke_is_put_together() {
        let recording = read(
            "----total-cpu-usage---- -dsk/total----dsk/sdb-----dsk/sdc-- -net/\n\
             total- ---paging--  ---system--\n\
             usr sys idl wai hiq siq| read  writ: read  writ: read  writ| recv\n\
             send|  in   out | int   csw\n\
             \x20 2   2  96   0   0   0|2877k  140k:1313k   70k:1565k   70k|  38k    0|   0     0 |1258  5186\n\
             \x20 0   1  98   0   0   0|3670k    0 :2371k    0 :1300k    0 |3672B    0|   0     0 |1178  4713\n",
        );
        let facts = &recording.listings[0].facts;
        let value = |name: &str| {
            let found = facts.iter().find(|fact| fact.key == FactKey::named(name));
            found.map(|fact| fact.value.to_string())
        };
        // The first row counts since boot.
        assert_eq!(value("disks.read.mean"), Some("3758080 B/s".to_string()), "{facts:?}");
    }
}
