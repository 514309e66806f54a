//! biolatency: block I/O latency histograms from bcc or libbpf-tools.
//!
//! ## Reads
//! The screen of `biolatency` with any of -T -m -D -F -Q -e: `disk = 'sdb'` or `flags = Sync-Write`
//! lines, `usecs : count distribution` headings and rows `LO -> HI : N |***|`. Each histogram
//! becomes a distribution of its disk and flags. So do the Python dictionaries of -j. The text may
//! be re-flowed, down to several histograms on one line.
//!
//! ## How to capture
//! `biolatency-bpfcc` and `biolatency` (packages bpfcc-tools, libbpf-tools). Capture with
//! `biolatency -D -T 1 60`, one histogram per disk and second.
//!
//! ## Versions
//! bcc of 2015 wrote `Bucket disk = 'xvdb'`, under Python 3 for a while `disk = b'sdb'`;
//! libbpf-tools writes the name without quotes and allows -D and -F together. bcc's -e adds the
//! total.
//!
//! ## Caveats
//! A row `256 -> 511` counts latencies from 256 up to, not including, 512 us; `0 -> 1` counts
//! everything below 2. With -m, values were rounded down to whole milliseconds first. Counts are of
//! one interval, not since the start. The time of -T is the end of its interval, so the start of
//! the first one is not known. The average of -e is rounded, so its total is used, unless it is in
//! milliseconds (each I/O rounded down) or sums up several histograms. Other bcc tools print the
//! same tables: rows headed by anything but a disk or flags are skipped. The same applies after a
//! banner or command of another tool; if neither banner, command, disk nor flags show that it is
//! block I/O, it is not used to judge a disk. The date of -j is ignored.
//!
//! ## Not in this output
//! Whether -Q was given: iowhy assumes latencies from issue to completion. The disk without -D, the
//! operation without -F, the time without -T. The duration, if there are neither times nor the
//! command with its interval.

mod dictionary;

use crate::histogram::buckets::{COUNT_LIMIT, in_device};
use crate::histogram::subject::Subject;
use crate::histogram_of;
use crate::program::*;

pub(super) const FORMAT: Format = Format::program::<Biolatency>(
    "block I/O latency histograms from bcc or libbpf-tools",
    Level::B,
    &["{'ts': '", "Tracing ", "distribution", "=", "^C", "^number"],
    sniff,
);

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const DAY_S: i64 = 86_400;
const NS_PER_S: i64 = 1_000_000_000;
/// The longest time limit a request can be given: that of NVMe, in a 32-bit number of ms.
const LONGEST_NS: u64 = 4_294_967_295 * MS;

/// A listing begins with a table's heading, or with a banner, time or key that leads to one.
fn sniff(head: &[&str]) -> Detect {
    if head.first().is_some_and(|line| dictionary::is_one(line)) {
        return Detect::Yes;
    }
    for (place, line) in head.iter().enumerate() {
        let mut rest = *line;
        while let Some(item) = Item::take(&mut rest) {
            if matches!(item, Item::Heading(_)) {
                return Detect::Yes;
            }
            // File operations (`fs-dist`) are of another layer.
            let files = matches!(item, Item::Key("operation", _) | Item::Banner(_))
                && (line.contains("operation = ") || line.contains(" operation latency"));
            if files || matches!(item, Item::Row(..) | Item::Total { .. }) {
                return Detect::No;
            }
        }
        let empty = rest.trim().is_empty();
        if !empty || (place == 0 && line.trim().is_empty()) {
            return Detect::No;
        }
    }
    Detect::NeedLine
}

/// An item of such a screen; several may be on a line.
#[derive(Clone, PartialEq, Debug)]
enum Item<'a> {
    /// What is being traced.
    Banner(&'a str),
    /// `disk = 'sdb'`.
    Key(&'a str, &'a str),
    /// `12:00:01`, in seconds.
    Clock(i64),
    /// `usecs : count distribution`: nanoseconds per unit.
    Heading(u64),
    /// `256 -> 511 : 2 |***|`.
    Row(u64, u64, u64),
    /// `avg = 663 usecs, total: 16575 usecs, count: 25`.
    Total { sum: u64, unit: u64, count: u64 },
    /// `^C`, echoed by the terminal.
    Interrupt,
}

impl<'a> Item<'a> {
    /// Takes the next item off the front of a line; leaves the line as it is if there is none.
    fn take(rest: &mut &'a str) -> Option<Item<'a>> {
        let text = rest.trim_start();
        let (item, after) = Self::banner(text)
            .or_else(|| Self::total(text))
            .or_else(|| Self::row(text))
            .or_else(|| Self::heading(text))
            .or_else(|| Self::key(text))
            .or_else(|| Self::lone(text))?;
        *rest = after;
        Some(item)
    }

    fn banner(text: &'a str) -> Option<(Item<'a>, &'a str)> {
        let rest = text.strip_prefix("Tracing ")?;
        let end = rest.find("to end.").map(|at| at + "to end.".len())?;
        let (reported, after) = rest.split_at(end);
        Some((Item::Banner(reported), after))
    }

    fn total(text: &'a str) -> Option<(Item<'a>, &'a str)> {
        let (words, rest) = words(text.strip_prefix("avg = ")?)?;
        let [_, _, "total:", sum, unit, "count:", count] = words else { return None };
        let unit = unit_of(unit.trim_end_matches(','))?;
        Some((Item::Total { sum: integer(sum)?, unit, count: integer(count)? }, rest))
    }

    fn row(text: &'a str) -> Option<(Item<'a>, &'a str)> {
        if !text.contains('>') {
            return None;
        }
        let ([low, "->", high, ":", count], rest) = words(text)? else { return None };
        let count = integer(count).filter(|count| *count <= COUNT_LIMIT)?;
        let bar = rest.trim_start().strip_prefix('|')?.trim_start_matches(['*', '+', ' ']);
        let item = Item::Row(integer(low)?, integer(high)?, count);
        Some((item, bar.strip_prefix('|').unwrap_or(bar)))
    }

    fn heading(text: &'a str) -> Option<(Item<'a>, &'a str)> {
        if !text.starts_with(['u', 'm']) {
            return None;
        }
        let ([unit, ":", "count", "distribution"], rest) = words(text)? else { return None };
        Some((Item::Heading(unit_of(unit)?), rest))
    }

    fn key(text: &'a str) -> Option<(Item<'a>, &'a str)> {
        let text = text.strip_prefix("Bucket ").unwrap_or(text);
        if let Some(value) = text.strip_prefix("All Addresses = ") {
            // tcprtt's table of all it saw.
            return Some((Item::Key("Addresses", value.trim()), ""));
        }
        if !text.contains('=') {
            return None;
        }
        let ([key, "="], rest) = words(text)? else { return None };
        let rest = rest.trim_start();
        if !key.bytes().all(|b| b.is_ascii_alphabetic() || b == b'_') {
            return None;
        }
        let quoted = rest.strip_prefix("b'").or_else(|| rest.strip_prefix('\''));
        let (value, after) = match quoted {
            Some(quoted) => quoted.split_once('\'')?,
            None => word(rest)?,
        };
        Some((Item::Key(key, value), after))
    }

    fn lone(text: &'a str) -> Option<(Item<'a>, &'a str)> {
        if !text.starts_with(|c: char| c.is_ascii_digit() || c == '^') {
            return None;
        }
        let (text, after) = word(text)?;
        if text == "^C" {
            return Some((Item::Interrupt, after));
        }
        let mut parts = text.splitn(3, ':');
        let mut part = |below: u64| {
            let part = parts.next().filter(|part| part.len() == 2)?;
            integer(part).filter(|value| *value < below)
        };
        let (hours, minutes, seconds) = (part(24)?, part(60)?, part(61)?);
        Some((Item::Clock((hours * 3600 + minutes * 60 + seconds) as i64), after))
    }
}

/// The histogram being read.
struct Table {
    /// Nanoseconds per unit.
    unit: u64,
    rows: Vec<(u64, u64, u64)>,
    sum_ns: Option<f64>,
}

#[derive(Default)]
struct Biolatency {
    disk: Option<String>,
    flags: Option<String>,
    /// The subject of the tables, if not block I/O.
    foreign: Option<String>,
    /// The context of the tables from the text around them.
    subject: Subject,
    /// The end of the current interval and its length, in seconds.
    clock: Option<i64>,
    length: Option<i64>,
    /// The interval that the command above was given, in seconds.
    asked: Option<i64>,
    /// The stamp of the last dictionary.
    stamp: Option<String>,
    table: Option<Table>,
    /// Tables since the last time or total.
    tables: u64,
}

impl Reader for Biolatency {
    fn line_above(&mut self, line: &str) {
        self.subject.note_above(line);
        self.asked = interval_of_command(line).or(self.asked);
    }

    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if dictionary::is_one(line) {
            return Step::from(self.dictionary(line, sink));
        }
        let mut rest = line;
        let mut items = 0;
        while let Some(item) = Item::take(&mut rest) {
            items += 1;
            if let Err(reason) = self.item(item, sink) {
                return Step::Malformed(reason);
            }
        }
        match (items, rest.trim()) {
            (0, row) if self.table.is_some() && row.contains("->") => {
                Step::skipped("the row is incomplete")
            }
            (0, _) => Step::NotMine,
            (_, "") => Step::Consumed,
            (_, _) => Step::skipped("the end of the line is unreadable"),
        }
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        if let Err(reason) = self.flush(sink) {
            sink.skip(note(&reason));
        }
    }
}

impl Biolatency {
    /// A histogram on a line, as -j prints it.
    fn dictionary(&mut self, line: &str, sink: &mut dyn Sink) -> Result<(), String> {
        let read = dictionary::read(line).ok_or("the dictionary is incomplete")?;
        let unit = unit_of(&read.unit).ok_or("neither usecs nor msecs")?;
        // No other tool prints its histograms so.
        self.subject = Subject::Disks;
        // Those of one interval have the same timestamp.
        if self.stamp.as_ref() != Some(&read.stamp) {
            let time = read.stamp.split(' ').nth(1).and_then(Item::lone);
            if let Some((clock @ Item::Clock(_), _)) = time {
                self.item(clock, sink)?;
            }
            self.stamp = Some(read.stamp);
        }
        self.flush(sink)?;
        (self.disk, self.flags) = (None, None);
        if let Some((key, value)) = &read.key {
            // The library's default word.
            let key = if key == "Bucket ptr" { "disk" } else { key };
            self.item(Item::Key(key, value), sink)?;
        }
        self.item(Item::Heading(unit), sink)?;
        for (low, high, count) in read.rows {
            if count > COUNT_LIMIT {
                return Err("the count is not a number".to_string());
            }
            self.item(Item::Row(low, high, count), sink)?;
        }
        self.flush(sink)
    }

    fn item(&mut self, item: Item, sink: &mut dyn Sink) -> Result<(), String> {
        match item {
            // The interval that it ends is shorter than was asked for.
            Item::Interrupt => self.asked = None,
            Item::Banner(reported) => {
                self.flush(sink)?;
                *self = Biolatency { asked: self.asked, ..Biolatency::default() };
                if reported.starts_with("block device I/O") {
                    self.subject = Subject::Disks;
                } else {
                    let named = Subject::of(reported).refusal();
                    self.foreign =
                        Some(named.unwrap_or_else(|| "the tool traces no block I/O".to_string()));
                }
            }
            Item::Clock(now) => {
                self.flush(sink)?;
                self.tables = 0;
                self.length = self.clock.map(|before| (now - before).rem_euclid(DAY_S));
                self.clock = Some(self.clock.zip(self.length).map_or(now, |(at, s)| at + s));
            }
            Item::Key(key, value) => {
                self.flush(sink)?;
                match key {
                    "disk" => {
                        let known = !matches!(value, "<unknown>" | "Unknown" | "?");
                        (self.disk, self.flags) = (known.then(|| value.to_string()), None);
                        (self.foreign, self.subject) = (None, Subject::Disks);
                    }
                    "flags" => {
                        self.flags = Some(value.to_string());
                        (self.foreign, self.subject) = (None, Subject::Disks);
                    }
                    _ => self.foreign = Some(format!("the table is of one `{key}`, not of a disk")),
                }
            }
            Item::Heading(unit) => {
                self.flush(sink)?;
                self.tables += 1;
                self.table = Some(Table { unit, rows: Vec::new(), sum_ns: None });
            }
            Item::Row(low, high, count) => {
                if let Some(reason) = self.foreign.clone().or_else(|| self.subject.refusal()) {
                    return Err(reason);
                }
                let Some(table) = &mut self.table else {
                    return Err("a row without a heading".to_string());
                };
                if low.saturating_mul(table.unit) > LONGEST_NS {
                    sink.source().impossible += u64::from(count > 0);
                    let reason =
                        "longer than any driver timeout: the latencies of this row are impossible";
                    return if count > 0 { Err(reason.to_string()) } else { Ok(()) };
                }
                let end = high.saturating_add(1).saturating_mul(table.unit);
                table.rows.push((low.saturating_mul(table.unit), end, count));
            }
            Item::Total { sum, unit, count } => self.total(sum, unit, count),
        }
        Ok(())
    }

    /// The total follows the last table of an interval and is of all of them.
    fn total(&mut self, sum: u64, unit: u64, count: u64) {
        let alone = self.tables == 1 && unit == US;
        self.tables = 0;
        if let Some(table) = &mut self.table {
            let counted = table.rows.iter().fold(0u64, |sum, row| sum.saturating_add(row.2));
            table.sum_ns = (alone && counted == count).then_some(sum as f64 * unit as f64);
        }
    }

    /// Emits the table with the disk, flags and time printed above it.
    fn flush(&mut self, sink: &mut dyn Sink) -> Result<(), String> {
        let Some(table) = self.table.take().filter(|table| !table.rows.is_empty()) else {
            return Ok(());
        };
        self.subject.state(sink);
        let mut histogram =
            histogram_of(table.rows).ok_or("the rows of the table above overlap")?;
        histogram.sum_ns = table.sum_ns;
        let disk = self.disk.as_deref().unwrap_or_default();
        let mut of = in_device(disk, histogram, table.unit, sink);
        of.op = self.flags.as_deref().and_then(operation);
        of.label = self.flags.as_deref().map(|flags| sink.name(flags));
        let length = self.length.or(self.asked).filter(|s| *s > 0);
        of.length = length.map(|s| Nanos(s.saturating_mul(NS_PER_S)));
        let end = self.clock.map(|s| Time::from_ns(s.saturating_mul(NS_PER_S)));
        of.start = end.zip(of.length).map(|(end, length)| end - length);
        sink.distribution(of);
        Ok(())
    }
}

/// The interval of `biolatency [OPTIONS] [INTERVAL [COUNT]]`, in seconds.
fn interval_of_command(line: &str) -> Option<i64> {
    let mut words = line.split_whitespace();
    words.find(|word| {
        let name = word.rsplit('/').next().unwrap_or(word);
        matches!(name, "biolatency" | "biolatency-bpfcc" | "biolatency.py")
    })?;
    let mut takes_a_value = false;
    for word in words {
        match (takes_a_value, word) {
            (true, _) => takes_a_value = false,
            (_, "-d" | "--disk" | "-c" | "--cgroup") => takes_a_value = true,
            (_, option) if option.starts_with('-') => {}
            (_, interval) => {
                let asked = integer(interval).filter(|s| (1..=DAY_S as u64).contains(s))?;
                return Some(asked as i64);
            }
        }
    }
    None
}

fn unit_of(word: &str) -> Option<u64> {
    match word {
        "usecs" => Some(US),
        "msecs" => Some(MS),
        _ => None,
    }
}

/// The operation of a set of flags; it is last (`ReadAhead-Read`).
fn operation(flags: &str) -> Option<Op> {
    Some(match flags.rsplit('-').next()? {
        "Read" => Op::Read,
        "Write" => Op::Write,
        "Flush" => Op::Flush,
        "Discard" | "SecureErase" | "WriteZeros" | "WriteZeroes" => Op::Discard,
        "Unknown" => return None,
        _ => Op::Other,
    })
}

/// The first `N` words and what follows them.
fn words<const N: usize>(mut text: &str) -> Option<([&str; N], &str)> {
    let mut found = [""; N];
    for place in &mut found {
        (*place, text) = word(text)?;
    }
    Some((found, text))
}

/// The first word and what follows it.
fn word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}
