//! dstat: bytes, requests and waits of each disk, and CPU time.
//!
//! ## Reads
//! The heading of two lines and the rows below: groups `--dsk/sda--` (bytes read and written),
//! `--io/sda-` (requests), and of the plug-ins `--disk-wait` (`rawa wawa`, mean waits),
//! `--disk-util` and `--disk-svctm`; `total-cpu-usage` becomes the facts `cpu.*`. Of a disk whose
//! requests are not listed the bytes are facts (`disk.read.mean`), and its waits are read;
//! `disks.stuck` counts rows in which CPUs waited for I/O (10 %) and nothing was moved. The
//! lines and dots that dool draws its table with are read as dstat's bars and colons. The file of
//! `--output` has the same groups and columns, separated by commas.
//!
//! ## How to capture
//! `dstat -tdrD sda,sdb --disk-wait`, `dool`, `pcp dstat`, `dstat --output FILE`.
//!
//! ## Versions
//! dstat 0.6 and later, dool 1.0 to 1.3. Groups are found by their position below the upper line;
//! in dool, several disks of one group share columns without separators.
//!
//! ## Caveats
//! The first row is since boot and is ignored. `total` is the sum over all disks. `k`, `M` are
//! powers of 1024. `svct` is busy time divided by requests, not a latency. `wai` is idle time with
//! I/O outstanding. A row that dstat missed is marked; values above 9999 are truncated by the
//! terminal. Above `util` dool shortens names to four letters: a name that occurs in no other group
//! is ignored.
//!
//! ## Not in this output
//! The latency distribution, which process sent the requests; the interval, unless each row has a
//! time.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::counters::processor::{Processor, are_shares, iowait, shares};
use crate::counters::stated::{Column, state_disk, state_disks};
use crate::program::*;
use crate::text::wall_time::Moments;

pub(super) const FORMAT: Format = Format::program::<Dstat>(
    "dstat, dool: bytes, requests, waits of disks; CPUs",
    Level::A,
    &[
        "dsk/", "io/", "total-cpu-usage", "total-usage", "total cpu usage", "total usage",
        "----system----", "\u{2504}",
    ],
    sniff,
);

fn sniff(lines: &[&str]) -> Detect {
    match lines {
        [first] if is_titles_of_csv(first) => return Detect::NeedLine,
        [first, second, ..] if is_titles_of_csv(first) => {
            return (!groups_of_csv(first, second).is_empty()).into();
        }
        _ => {}
    }
    if !lines.first().is_some_and(|line| is_titles(&plain(line))) {
        return Detect::No;
    }
    let lines: Vec<Cow<'_, str>> = lines.iter().map(|line| plain(line)).collect();
    let lines: Vec<&str> = lines.iter().map(|line| &**line).collect();
    match &lines[..] {
        [first] if is_titles(first) => Detect::NeedLine,
        // A narrow terminal breaks both lines of the heading.
        [first, second, rest @ ..] if is_titles(first) && is_dashed(second) => match rest {
            [] | [_] => Detect::NeedLine,
            [third, fourth, ..] => {
                (!groups(&format!("{first}{second}"), &format!("{third} {fourth}")).is_empty())
                    .into()
            }
        },
        [first, second, ..] => (is_titles(first) && !groups(first, second).is_empty()).into(),
        _ => Detect::No,
    }
}

/// A line in dstat's characters: `┄┄dsk/vda┄┄┬┄┄┄io/vda┄┄` and `30M  31M┊ 12M  1M│` of dool.
fn plain(line: &str) -> Cow<'_, str> {
    if line.is_ascii() || !line.contains(['┄', '│', '┊']) {
        return Cow::Borrowed(line);
    }
    let ascii = |c| match c {
        '┄' => '-',
        '┬' | '│' => '|',
        '┊' => ':',
        c => c,
    };
    Cow::Owned(line.chars().map(ascii).collect())
}

/// `----system---- --dsk/sda-----dsk/sda1-- ...`: words of dashes and names of groups. Where bars
/// stand between them, a name may have no room for dashes.
fn is_titles(line: &str) -> bool {
    let known = ["dsk/", "io/", "total-cpu-usage", "total-usage"];
    // Times and busy shares alone: `----system---- sda--sdb--`.
    if line.starts_with("----system---- ") && is_dashed(line) {
        return true;
    }
    (is_dashed(line) || line.starts_with('-') && line.contains("-|-"))
        && known.iter().any(|name| line.contains(name))
}

/// Words of dashes and names, as in a heading that continued beyond the edge of the terminal.
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
    /// Something else, of this many columns.
    Other,
}

impl Group {
    fn is_of_a_disk(&self) -> bool {
        matches!(self, Group::Bytes(_) | Group::Requests(_) | Group::Waits(_) | Group::Busy(_))
    }
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
        let above = String::from_utf8_lossy(above);
        let words: Vec<&str> = part.split_whitespace().collect();
        for (name, words) in apart(&above, &words) {
            found.push((group(name, words), words.len()));
        }
        start = end + 1;
    }
    ours(found)
}

/// `"system","total cpu usage",,,,,"dsk/vda",,"io/vda",` of the file of `--output`.
fn is_titles_of_csv(line: &str) -> bool {
    let known = ["\"dsk/", "\"io/", "\"total cpu usage\"", "\"total usage\""];
    // Each of these has columns below it that have no name of their own.
    let has_unnamed = line.contains(",,") || line.trim_end().ends_with(',');
    line.starts_with('"') && has_unnamed && known.iter().any(|name| line.contains(name))
}

/// The same of the file of `--output`, where each group has its name above its first column.
fn groups_of_csv(titles: &str, columns: &str) -> Vec<(Group, usize)> {
    let cell = |text: &'_ str| text.trim().trim_matches('"').to_string();
    let titles: Vec<String> = titles.split(',').map(cell).collect();
    // dool shows the group again: `"dsk/vda:read"`.
    let columns: Vec<String> = columns.split(',').map(cell).collect();
    let columns: Vec<&str> =
        columns.iter().map(|name| name.rsplit(':').next().unwrap_or(name)).collect();
    if titles.len() != columns.len() || columns.iter().any(|name| decimal(name).is_some()) {
        return Vec::new();
    }
    let begins = |at: &usize| *at == 0 || titles.get(*at).is_some_and(|title| !title.is_empty());
    let starts: Vec<usize> = (0..columns.len()).filter(begins).collect();
    let ends = starts.iter().skip(1).copied().chain([columns.len()]);
    let found = starts.iter().zip(ends).filter_map(|(start, end)| {
        let words = columns.get(*start..end)?;
        Some((group(titles.get(*start)?, words), words.len()))
    });
    ours(found.collect())
}

/// The groups of a heading; none if it has none of ours.
fn ours(mut found: Vec<(Group, usize)>) -> Vec<(Group, usize)> {
    // Among whole names of disks, one that is not among them was shortened.
    let whole = |group: &Group| match group {
        Group::Bytes(disk) | Group::Requests(disk) | Group::Waits(disk) => {
            (disk != "total").then(|| disk.clone())
        }
        _ => None,
    };
    let disks: Vec<String> = found.iter().filter_map(|(group, _)| whole(group)).collect();
    for (group, _) in &mut found {
        let is_shortened = matches!(group, Group::Busy(disk) if !disks.contains(disk));
        if is_shortened && !disks.is_empty() {
            *group = Group::Other;
        }
    }
    let ours = found.iter().any(|(group, _)| !matches!(group, Group::Other | Group::When));
    if ours { found } else { Vec::new() }
}

/// The names above a part of a heading, each with its columns: several where each has the same
/// columns.
fn apart<'t, 'w>(above: &'t str, words: &'w [&'w str]) -> Vec<(&'t str, &'w [&'w str])> {
    let name = |text: &'t str| text.trim_matches(|c: char| c == '-' || c.is_whitespace());
    let mut names: Vec<&str> = above.split_whitespace().map(name).collect();
    // `sda--sdb--sdc-` above one column each.
    if names.len() == 1 && words.iter().all(|word| *word == "util") {
        names = above.split('-').map(str::trim).filter(|name| !name.is_empty()).collect();
    }
    let each = words.len() / names.len().max(1);
    let chunks: Vec<&[&str]> = words.chunks(each.max(1)).collect();
    match names.len() > 1
        && chunks.len() == names.len()
        && chunks.windows(2).all(|two| two[0] == two[1])
    {
        true => names.into_iter().zip(chunks).collect(),
        false => vec![(name(above), words)],
    }
}

/// What columns below a name are of.
fn group(name: &str, words: &[&str]) -> Group {
    match words[..] {
        ["read", "writ"] => match name.split_once('/') {
            Some(("dsk", disk)) => Group::Bytes(disk.to_string()),
            Some(("io", disk)) => Group::Requests(disk.to_string()),
            _ => Group::Other,
        },
        ["rawa", "wawa"] | ["rawait", "wawait"] => Group::Waits(name.to_string()),
        ["util"] => Group::Busy(name.to_string()),
        ["time" | "date/time"] => Group::When,
        _ if are_shares(words) => Group::Processor(words.iter().map(ToString::to_string).collect()),
        _ => Group::Other,
    }
}

/// Percent of idle time with I/O outstanding from which on something waits, and KiB per second up
/// to which nothing moves (choices, those of `vmstat`).
const WAITS: f64 = 10.0;
const NOTHING: f64 = 100.0;

/// Why a row is not read.
const MISMATCH: &str = "the values do not match the heading";

/// What a row reports of one disk.
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
    /// The file of `--output`.
    is_csv: bool,
    /// The heading continues beyond the edge of the terminal: the first part of its lower line,
    /// once seen.
    broken: Option<String>,
    groups: Vec<(Group, usize)>,
    rows: u64,
    processor: Processor,
    /// What all disks moved, KiB per second.
    read: Column,
    written: Column,
    /// Rows in which CPUs waited for I/O and nothing was moved.
    stuck: u64,
    /// The same of each disk whose requests are not listed.
    of_disks: BTreeMap<String, [Column; 2]>,
    moments: Moments,
    /// Whether the last row had a time.
    is_dated: bool,
}

impl Reader for Dstat {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let line = &*plain(line);
        let is_csv = is_titles_of_csv(line);
        if is_csv || is_titles(line) {
            (self.titles, self.broken, self.is_csv) = (line.to_string(), None, is_csv);
            self.groups.clear();
            return Step::Consumed;
        }
        if self.is_csv {
            return match self.groups.is_empty() {
                true => {
                    self.groups = groups_of_csv(&self.titles, line);
                    if self.groups.is_empty() { Step::NotMine } else { Step::Consumed }
                }
                false => self.row_of_csv(line, sink),
            };
        }
        if self.groups.is_empty() && is_dashed(line) {
            self.titles.push_str(line);
            self.broken = Some(String::new());
            return Step::Consumed;
        }
        let joined = match &mut self.broken {
            Some(upper) if self.groups.is_empty() && upper.is_empty() => {
                *upper = line.to_string();
                return Step::Consumed;
            }
            Some(upper) if self.groups.is_empty() => format!("{upper} {line}"),
            _ => line.to_string(),
        };
        let found = groups(&self.titles, &joined);
        if !found.is_empty() {
            self.groups = found;
            return Step::Consumed;
        }
        if line.trim().is_empty() {
            return Step::Consumed;
        }
        if self.groups.is_empty() || !line.contains(|c: char| c.is_ascii_digit()) {
            return Step::NotMine;
        }
        self.row(line, sink)
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.processor.state(sink);
        state_disks(&self.read, &self.written, sink);
        if self.stuck > 0 {
            sink.add_fact(None, typed::DISKS_STUCK, self.stuck);
        }
        self.of_disks.iter().for_each(|(disk, moved)| state_disk(disk, moved, sink));
    }
}

impl Dstat {
    fn row(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        // A time has colons of its own: split at bars first, then as often as there are groups.
        let whole = line;
        let line = whole.trim_end_matches(['>', ' ', '|']);
        let mut parts: Vec<&str> = Vec::new();
        for part in line.split('|') {
            match WallTime::read(&dated(part)) {
                Some(_) => parts.push(part),
                None => parts.extend(part.split(':')),
            }
        }
        // A group of blanks at the end was trimmed with the bar before it.
        let bars = whole.get(line.len()..).map_or(0, |end| end.matches('|').count());
        let lacking = self.groups.len().saturating_sub(parts.len());
        parts.extend(std::iter::repeat_n("", lacking.min(bars)));
        if parts.len() != self.groups.len() {
            if let Some(parts) = self.by_width(line) {
                return self.take(&parts, sink);
            }
            return Step::skipped_if(parts.len() > 2, MISMATCH);
        }
        let parts: Vec<Vec<&str>> =
            parts.iter().map(|part| part.split_whitespace().collect()).collect();
        self.take(&parts, sink)
    }

    /// The groups of a row in which blanks alone part some of them: as many words as each has
    /// columns.
    fn by_width<'l>(&self, line: &'l str) -> Option<Vec<Vec<&'l str>>> {
        let mut groups = self.groups.iter();
        let mut found = Vec::new();
        for part in line.split('|') {
            if WallTime::read(&dated(part)).is_some() {
                groups.next()?;
                found.push(part.split_whitespace().collect());
                continue;
            }
            let words: Vec<&str> = part.split([' ', ':']).filter(|word| !word.is_empty()).collect();
            let mut rest = &words[..];
            while !rest.is_empty() {
                let (_, width) = groups.next()?;
                let (group, behind) = rest.split_at_checked(*width)?;
                found.push(group.to_vec());
                rest = behind;
            }
        }
        groups.next().is_none().then_some(found)
    }

    fn row_of_csv(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let mut cells = line.split(',').map(str::trim);
        if line.trim().is_empty() || !line.contains(|c: char| c.is_ascii_digit()) {
            return Step::NotMine;
        }
        let widths: usize = self.groups.iter().map(|(_, width)| width).sum();
        if line.split(',').count() != widths {
            return match line.starts_with('"') {
                true => Step::NotMine,
                false => Step::skipped(MISMATCH),
            };
        }
        let parts: Vec<Vec<&str>> =
            self.groups.iter().map(|(_, width)| cells.by_ref().take(*width).collect()).collect();
        self.take(&parts, sink)
    }

    /// Takes the values of a row, group by group.
    fn take(&mut self, parts: &[Vec<&str>], sink: &mut dyn Sink) -> Step {
        let (mut disks, mut now) = (BTreeMap::<String, Work>::new(), None);
        let mut share = None;
        // PCP prints blanks, or `N/A`, where it has no value yet: nothing of that group is stated.
        let is_blank = |words: &Vec<&str>| words.iter().all(|word| *word == "N/A");
        let of_time = |(group, _): &(Group, usize)| *group == Group::When;
        let mut stated = self.groups.iter().zip(parts).filter(|(group, _)| !of_time(group));
        if stated.all(|(_, words)| is_blank(words)) {
            return Step::Consumed;
        }
        for ((group, width), words) in self.groups.iter().zip(parts) {
            if is_blank(words) && *group != Group::When {
                // The first row is since boot and ignored.
                let is_said = self.rows > 0 && group.is_of_a_disk() && !words.is_empty();
                sink.lost("values that are not numbers", u64::from(is_said));
                continue;
            }
            if words.len() != *width && !matches!(group, Group::When | Group::Other) {
                return Step::skipped(MISMATCH);
            }
            let is_number = |word: &&str| bytes(word).is_some();
            if group.is_of_a_disk() && !words.iter().all(is_number) {
                return Step::skipped("a value is not a number");
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
                    now = WallTime::read(&dated(&words.join(" ")));
                    continue;
                }
                Group::Other => continue,
            };
            disks.insert(disk.clone(), work);
        }
        self.rows += 1;
        let was_dated = std::mem::replace(&mut self.is_dated, now.is_some());
        let is_dated = now.is_some_and(|now| self.moments.begin(now, sink)) && was_dated;
        if self.rows > 1 {
            share.iter().for_each(|share| self.processor.take(share));
            // The sum of all is not another disk.
            let is_one = |disk: &String| disk != "total" || disks.len() == 1;
            disks
                .iter()
                .filter(|(disk, _)| is_one(disk))
                .for_each(|(disk, work)| self.emit(disk, work, is_dated, sink));
            for (disk, work) in disks.iter().filter(|(disk, work)| {
                work.requests.is_none() && *disk != "total" && !disk.is_empty()
            }) {
                let moved = self.of_disks.entry(disk.clone()).or_default();
                let bytes = work.bytes.iter().flatten();
                moved.iter_mut().zip(bytes).for_each(|(column, bytes)| column.take(bytes / 1024.0));
            }
            let whole: Vec<[f64; 2]> = match disks.get("total") {
                Some(total) => total.bytes.into_iter().collect(),
                None => disks.values().filter_map(|work| work.bytes).collect(),
            };
            if !whole.is_empty() {
                self.read.take(whole.iter().map(|pair| pair[0]).sum::<f64>() / 1024.0);
                self.written.take(whole.iter().map(|pair| pair[1]).sum::<f64>() / 1024.0);
                let moved = whole.iter().flatten().sum::<f64>() / 1024.0;
                let waits = share.as_ref().and_then(iowait).is_some_and(|wait| wait >= WAITS);
                self.stuck += u64::from(waits && moved <= NOTHING);
            }
        }
        Step::Consumed
    }

    fn emit(&self, disk: &str, work: &Work, is_dated: bool, sink: &mut dyn Sink) {
        let mut interval = Interval::new(sink.device(disk), Layer::Block);
        if is_dated {
            self.moments.date(&mut interval);
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
            // A rate that was not printed is not made up.
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

/// `14-10 18:44:24`, day and month, `Nov-23 18:44:24` of dool: the time of day is enough, and
/// `WallTime` reads that.
fn dated(part: &str) -> String {
    let words: Vec<&str> = part.split_whitespace().collect();
    match words[..] {
        [date, time] if matches!((date.len(), date.find('-')), (5, Some(2)) | (6, Some(3))) => {
            time.to_string()
        }
        _ => part.trim().to_string(),
    }
}
