//! sar's tables of disks (`sar -d`, `sar -b`), of paging (`sar -B`) and of memory (`sar -r`, `-S`,
//! `-W`): requests, bytes, queue, await and busy share per interval.
//!
//! ## Reads
//! The table of `sar -b` (`tps rtps wtps ... bread/s bwrtn/s`): requests and blocks of 512 bytes of
//! all disks together, as device `total`, and the facts `disks.read.*`, `disks.written.*`; with a
//! table of the disks it repeats them and is not used. The table of `sar -B` becomes facts: major
//! page faults and pages scanned and freed per second (`paging.*.mean`). The tables of `sar -r`,
//! `-S` and `-W` become facts: the least available memory, the largest share of swap in use without
//! what is in memory as well (`kbswpcad`), and the means of swap traffic. The tables of `sar -d`,
//! live or from a daily file, with the device before the values or, with `-p`, after them; with
//! `--human` units; header by header, so the columns may be in any order. Other tables in the same
//! output (`sar -A`) are ignored. `sadf -d -- -d` too: the same columns between semicolons, each
//! row with its interval and its time; with `-h` all disks in one row.
//!
//! ## How to capture
//! `sar -d 10`, `sar -b 10`, `sar -B 10`, `sar -dp -f sa21`, `sadf -d sa21 -- -dp` of the sysstat
//! package.
//!
//! ## Versions
//! `rd_sec/s wr_sec/s avgrq-sz avgqu-sz await svctm %util` to 11.5.6, `rkB/s wkB/s areq-sz aqu-sz
//! await svctm %util` from 11.5.7, `dkB/s` and no `svctm` from 12.1.2. Before 6.0 `tps rd_sec/s
//! wr_sec/s` alone. `sadf -j` is read as `iostat-json`, `sadf -p` and `-x` as `sadf`; sadf's other
//! outputs (`-g`, `-r`, `-dh` of more than the disks) are not.
//!
//! ## Caveats
//! A row is the mean over the interval that ends at its time; the first header's time is where it
//! began, on the banner's date. The word for `Average:` and the half of the day may be in any
//! language. Times run past midnight. Without `-p` devices are numbers: `dev8-16` is named `sdb`,
//! and `dev253-0`, of no fixed meaning, `253:0`. A restart of the machine begins a new interval.
//! Rows `Average:` repeat the others and are used only if there are no others. `await` contains the
//! time in the host's queue. `%util` is not a measure of saturation. Old `avgrq-sz` counts sectors.
//!
//! ## Not in this output
//! Reads and writes separately: bytes are printed by direction, but requests and waits only
//! together, so all are kept together. The distribution behind a mean.

use iowhy_model::typed::PerSecond;

use crate::counters::disk_columns::{RowBuilder, is_column, is_value};
use crate::counters::processor::{Processor, are_shares, shares};
use crate::counters::sar_columns::{SadfClock, named, own};
use crate::counters::sar_memory::SarMemory;
use crate::counters::stated::{Column, rates, state_disks};
use crate::program::*;
use crate::text::wall_time::Moments;

pub(super) const FORMAT: Format = Format::program::<Sar>(
    "sar -d, -b and -B of sysstat, live or from a daily file, old and new columns",
    Level::A,
    &[
        "DEV", "rtps", "pgpgin/s", "pswpin/s", "kbmemfree", "kbswpfree",
        "# hostname;interval;timestamp;", "Linux",
    ],
    sniff,
);

/// Lines between the banner and the first table: one that is blank, and one restart.
const BANNER_LINES: usize = 4;

fn sniff(lines: &[&str]) -> Detect {
    for (place, line) in lines.iter().enumerate() {
        if Header::of(line).is_some()
            || machine_table(line).is_some()
            || sadf_heading(line).is_some_and(|known| !known.is_empty())
        {
            return Detect::Yes;
        }
        if banner(line).is_none() && (place == 0 || !line.trim().is_empty()) {
            return Detect::No;
        }
    }
    if lines.len() < BANNER_LINES { Detect::NeedLine } else { Detect::No }
}

/// `Linux 6.1.0 (host) 11/21/26 _x86_64_ (2 CPU)`: who, and on which day.
fn banner(line: &str) -> Option<([&str; 2], String)> {
    let mut words = line.split_whitespace();
    let (system, release, host) = (words.next()?, words.next()?, words.next()?);
    let host = host.strip_prefix('(')?.strip_suffix(')')?;
    let date = words.next().filter(|_| system == "Linux")?;
    Some(([host, date], format!("{host}, Linux {release}")))
}

/// The words a line begins with to show when: a time, perhaps with AM or PM, or `Average:`.
fn stamp<'a, 'b>(words: &'a [&'b str]) -> Option<(Stamp, &'a [&'b str])> {
    let first = words.first()?;
    // Those of an `iostat` that follows.
    if matches!(*first, "avg-cpu:" | "Device:") {
        return None;
    }
    // `Average:` in any language, `Moyenne :` and `Trung bình:` in two words.
    let letters = |word: &str| word.chars().all(|c| c.is_alphabetic() || matches!(c, '.' | '-'));
    let named = |word: &str| word.strip_suffix([':', '：']).is_some_and(letters);
    if named(first) {
        return Some((Stamp::Average, &words[1..]));
    }
    if letters(first) && words.get(1).is_some_and(|word| named(word)) {
        return Some((Stamp::Average, &words[2..]));
    }
    let (before, clock) = match half_of(first) {
        Some(half) => (Some(half), words.get(1)?),
        None => (None, first),
    };
    let half = before.or_else(|| half_of(words.get(1)?));
    let mut used = 1 + usize::from(half.is_some());
    // India's and other locales print the zone after it.
    used += usize::from(half.is_some() && words.get(used).is_some_and(|word| ZONES.contains(word)));
    let clock = clock.replace(['时', '時', '시', '分', '분'], ":").replace(['秒', '초'], "");
    let text = half.map_or_else(|| clock.clone(), |half| format!("{clock} {half}"));
    let moment = WallTime::read(&text).filter(|_| clock.contains(':'))?;
    Some((Stamp::At(moment), &words[used..]))
}

/// Zones that locales print after the time of day.
const ZONES: [&str; 12] =
    ["UTC", "GMT", "IST", "EST", "EDT", "CST", "CDT", "MST", "MDT", "PST", "PDT", "PKT"];

/// The half of the day, in the languages that print one.
fn half_of(word: &str) -> Option<&'static str> {
    match word {
        "AM" | "上午" | "午前" | "오전" => Some("AM"),
        "PM" | "下午" | "午後" | "오후" => Some("PM"),
        _ => None,
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Stamp {
    At(WallTime),
    Average,
}

struct Header {
    stamp: Stamp,
    columns: Vec<String>,
    name_first: bool,
}

impl Header {
    fn of(line: &str) -> Option<Header> {
        if !line.contains("DEV") {
            return None;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let (stamp, rest) = stamp(&words)?;
        let (name_first, columns) = match rest {
            ["DEV", columns @ ..] => (true, columns),
            [columns @ .., "DEV"] => (false, columns),
            _ => return None,
        };
        let known = columns.first() == Some(&"tps") && columns.iter().all(|word| is_column(word));
        known.then(|| Header {
            stamp,
            columns: columns.iter().map(|w| own(w)).collect(),
            name_first,
        })
    }
}

/// `# hostname;interval;timestamp;DEV;tps;rkB/s;...` of `sadf -d`: its columns after the device;
/// none if it is a table of something else.
fn sadf_heading(line: &str) -> Option<Vec<String>> {
    let columns = line.trim_end().strip_prefix("# hostname;interval;timestamp;")?;
    let Some(columns) = columns.strip_prefix("DEV;") else { return Some(Vec::new()) };
    // With `-h` the columns are those of each disk of a row.
    let columns = columns.strip_suffix("[...]").unwrap_or(columns);
    let known = columns.split(';').all(is_column);
    Some(if known { columns.split(';').map(own).collect() } else { Vec::new() })
}

/// The tables of `sadf -d`.
#[derive(Default)]
struct Sadf {
    /// The columns of the table whose rows follow.
    columns: Vec<String>,
    /// All disks are in one row.
    together: bool,
    clock: SadfClock,
}

impl Sadf {
    /// A row: `host;600;2026-11-21 00:10:01 UTC;sda;10.00;...`, with `-h` one disk after the other.
    fn row(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let fields: Vec<&str> = line.trim_end().split(';').collect();
        let [_, seconds, time, disks @ ..] = &fields[..] else { return Step::NotMine };
        let Some(name) = disks.first() else { return Step::NotMine };
        if name.contains("RESTART") || name.starts_with("COM") || self.columns.is_empty() {
            return Step::Consumed;
        }
        let seconds = decimal(seconds).filter(|seconds| *seconds > 0.0);
        let moment = WallTime::read(time);
        if seconds.is_none() && moment.is_none() {
            return Step::NotMine;
        }
        let mut lost = 0;
        let width = if self.together { self.columns.len() + 1 } else { disks.len() };
        for disk in disks.chunks(width) {
            let [name, cells @ ..] = disk else { continue };
            let fits = cells.len() == self.columns.len() && cells.iter().all(|word| is_value(word));
            match seconds.zip(moment).filter(|_| fits && !is_value(name)) {
                Some((seconds, moment)) => self.disk(name, cells, (seconds, moment), sink),
                None => {
                    lost += 1;
                    if !is_value(name) {
                        let device = sink.device(&named(name));
                        sink.skipped_of(device);
                    }
                }
            }
        }
        if lost == 0 {
            return Step::Consumed;
        }
        // The line counts as one; of several disks each is a row of its own.
        sink.source().skipped += lost - 1;
        Step::skipped(MISMATCH)
    }

    fn disk(&mut self, name: &str, cells: &[&str], when: (f64, WallTime), sink: &mut dyn Sink) {
        let mut draft = RowBuilder::default();
        self.columns.iter().zip(cells).for_each(|(column, word)| draft.take(column, word));
        self.clock.emit((name, &draft), when, sink);
    }
}

/// A table whose rows are about the whole machine.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MachineTable {
    /// `sar -b`: all disks together.
    Totals,
    /// `sar -B`.
    Paging,
    /// `sar -r`, `-S` and `-W`.
    Memory,
}

/// `12:00:01 PM  tps  rtps  wtps ...`: a heading of a table of the machine.
fn machine_table(line: &str) -> Option<MachineTable> {
    const ANY: [&str; 5] = ["rtps", "pgpgin/s", "pswpin/s", "kbmemfree", "kbswpfree"];
    if !ANY.iter().any(|name| line.contains(name)) {
        return None;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    stamp(&words).and_then(|(_, rest)| machine_columns(rest))
}

/// Whose columns these are, after the time.
fn machine_columns(rest: &[&str]) -> Option<MachineTable> {
    const TOTALS: [&str; 7] = ["tps", "rtps", "wtps", "dtps", "bread/s", "bwrtn/s", "bdscd/s"];
    match rest {
        ["tps", "rtps", "wtps", ..] if rest.iter().all(|name| TOTALS.contains(name)) => {
            Some(MachineTable::Totals)
        }
        ["pgpgin/s", "pgpgout/s", "fault/s", "majflt/s", ..] => Some(MachineTable::Paging),
        _ if SarMemory::has(rest) => Some(MachineTable::Memory),
        _ => None,
    }
}

/// What is kept of `sar -B`, and the columns that add up to it.
const PAGING: [(&str, &[&str]); 5] = [
    ("in", &["pgpgin/s"]),
    ("majflt", &["majflt/s"]),
    ("scanned", &["pgscank/s", "pgscand/s"]),
    ("direct", &["pgscand/s"]),
    ("freed", &["pgsteal/s"]),
];

/// What the rows of `sar -B` state.
#[derive(Default)]
struct Paging {
    columns: Vec<String>,
    rows: [Column; PAGING.len()],
    average: [Column; PAGING.len()],
}

impl Paging {
    fn row(&mut self, stamp: Stamp, rest: &[&str]) -> Result<(), String> {
        let values = row_of(rest, &self.columns)?;
        let rows = if stamp == Stamp::Average { &mut self.average } else { &mut self.rows };
        for (row, (_, columns)) in rows.iter_mut().zip(PAGING) {
            let known = self.columns.iter().zip(&values);
            let known = known.filter(|(name, _)| columns.contains(&name.as_str()));
            known
                .map(|(_, value)| *value)
                .reduce(|a, b| a + b)
                .into_iter()
                .for_each(|v| row.take(v));
        }
        Ok(())
    }

    /// The averages of sar repeat the rows.
    fn state(&self, sink: &mut dyn Sink) {
        let has_rows = self.rows.iter().any(|row| row.mean().is_some());
        let rows = if has_rows { &self.rows } else { &self.average };
        for ((name, _), row) in PAGING.iter().zip(rows) {
            let keys = ["mean", "max"].map(|of| typed::PAGING.member(format!("{name}.{of}")));
            row.state(None, keys, PerSecond, sink);
        }
    }
}

/// The values of a row of a table with these columns.
fn row_of(rest: &[&str], columns: &[String]) -> Result<Vec<f64>, String> {
    let values: Vec<f64> =
        rest.iter().filter_map(|word| decimal(word).filter(|value| *value >= 0.0)).collect();
    match values.len() == columns.len() && values.len() == rest.len() {
        true => Ok(values),
        false => Err(MISMATCH.to_string()),
    }
}

/// Why a row is not read.
const MISMATCH: &str = "the values do not match the header";

/// Rows of all disks together that wait for the end of the listing, in which a table of each disk
/// may follow. A day of seconds has a tenth of them.
const ROWS_KEPT: usize = 1 << 20;
/// A block of `bread/s`, bytes (sar(1)).
const BLOCK: f64 = 512.0;

/// What the rows of `sar -b` state.
#[derive(Default)]
struct Totals {
    columns: Vec<String>,
    began: Option<WallTime>,
    moments: Moments,
    rows: Vec<TotalsRow>,
    average: Option<TotalsRow>,
}

/// A row: when it began and how long it lasted, s, and the values per second.
struct TotalsRow {
    when: Option<(f64, f64)>,
    /// Requests and bytes: read, written, discarded.
    parts: [(Option<f64>, Option<f64>); 3],
}

impl Totals {
    fn heading(&mut self, stamp: Stamp, columns: Vec<String>) {
        if let (Stamp::At(moment), None) = (stamp, self.began) {
            self.began = Some(moment);
            self.moments.at(moment);
        }
        self.columns = columns;
    }

    /// Takes a row, if these are as many values as the heading has.
    fn row(&mut self, stamp: Stamp, rest: &[&str]) -> Result<(), String> {
        let values: Vec<Option<f64>> = rest.iter().map(|word| decimal(word)).collect();
        if values.len() != self.columns.len() || values.iter().any(Option::is_none) {
            return Err(MISMATCH.to_string());
        }
        let of = |name: &str| {
            let place = self.columns.iter().position(|column| column == name)?;
            values.get(place).copied().flatten()
        };
        let bytes = |name: &str| of(name).map(|blocks| blocks * BLOCK);
        let parts = [
            (of("rtps"), bytes("bread/s")),
            (of("wtps"), bytes("bwrtn/s")),
            (of("dtps"), bytes("bdscd/s")),
        ];
        match stamp {
            Stamp::Average => self.average = Some(TotalsRow { when: None, parts }),
            Stamp::At(moment) => {
                self.moments.at(moment);
                if self.rows.len() < ROWS_KEPT {
                    self.rows.push(TotalsRow { when: self.moments.span(), parts });
                }
            }
        }
        Ok(())
    }

    /// Gives all rows out, as of one device.
    fn emit(&mut self, date: Option<&str>, sink: &mut dyn Sink) {
        let (mut read, mut written) = (Column::default(), Column::default());
        let mut rows = std::mem::take(&mut self.rows);
        if rows.is_empty() {
            rows.extend(self.average.take());
        }
        if let (Some(began), false) = (self.began, rows.is_empty()) {
            began.on(date).state(0.0, sink);
        }
        for row in rows {
            let mut interval = Interval::new(sink.device("total"), Layer::Block);
            if let Some((start, length)) = row.when {
                interval.start = Some(Time::from_seconds(start));
                interval.length = Some(Nanos::from_seconds(length));
            }
            for ((ios, bytes), op) in row.parts.into_iter().zip([Op::Read, Op::Write, Op::Discard])
            {
                interval.rates.extend(rates(ios, bytes, None).map(|rates| (op, rates)));
            }
            sink.interval(interval);
            let [(_, of_reads), (_, of_writes), _] = row.parts;
            of_reads.into_iter().for_each(|bytes| read.take(bytes / 1024.0));
            of_writes.into_iter().for_each(|bytes| written.take(bytes / 1024.0));
        }
        state_disks(&read, &written, sink);
    }
}

#[derive(Default)]
struct Sar {
    /// What `sadf -d` printed, if it did.
    sadf: Option<Sadf>,
    /// The table of the machine whose rows follow, and what these tables stated.
    of_machine: Option<MachineTable>,
    totals: Totals,
    paging: Paging,
    memory: SarMemory,
    /// The table whose rows follow.
    table: Option<Header>,
    /// A blank line follows its last row.
    apart: bool,
    /// The line above was a heading.
    is_below_heading: bool,
    /// The ends of the intervals; the first heading's time is where they begin.
    moments: Moments,
    averages: Vec<(String, RowBuilder)>,
    emitted: bool,
    /// The banner's.
    date: Option<String>,
    /// The columns of a table of processors whose rows follow, and their shares so far.
    shares: Vec<String>,
    processor: Processor,
}

/// `12:00:01 PM  CPU  %user ...`: the columns of a table of processors.
fn processor_columns(rest: &[&str]) -> Option<Vec<String>> {
    let columns = rest.strip_prefix(&["CPU"])?;
    are_shares(columns).then(|| columns.iter().map(ToString::to_string).collect())
}

impl Reader for Sar {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.is_empty() {
            if std::mem::take(&mut self.is_below_heading) {
                return Step::Consumed;
            }
            self.apart = true;
            self.shares.clear();
            self.of_machine = None;
            return Step::Consumed;
        }
        self.is_below_heading = false;
        if let Some(columns) = sadf_heading(line) {
            if self.moments.began() {
                return Step::End;
            }
            let sadf = self.sadf.get_or_insert_default();
            (sadf.columns, sadf.together) = (columns, line.trim_end().ends_with("[...]"));
            return Step::Consumed;
        }
        if let Some(sadf) = self.sadf.as_mut().filter(|_| line.contains(';')) {
            return sadf.row(line, sink);
        }
        if let Some(([name, date], host)) = banner(line) {
            if self.sadf.is_some()
                || self.moments.began()
                || self.totals.began.is_some()
                || !self.paging.columns.is_empty()
                || !self.memory.columns().is_empty()
            {
                return Step::End;
            }
            sink.source().is_of_printed_host(name, host);
            self.date = Some(date.to_string());
            return Step::Consumed;
        }
        if let Some(header) = Header::of(line) {
            if let (Stamp::At(moment), false) = (header.stamp, self.moments.began()) {
                moment.on(self.date.as_deref()).state(0.0, sink);
                self.moments.at(moment);
            }
            self.table = Some(header);
            (self.apart, self.of_machine, self.is_below_heading) = (false, None, true);
            return Step::Consumed;
        }
        let Some((stamp, rest)) = stamp(&words) else {
            // As many words as a row of the table, and an invalid time.
            let row = |header: &Header| words.len().abs_diff(header.columns.len() + 2) <= 1;
            let torn = self.table.as_ref().is_some_and(row) && words[0].contains(':');
            return Step::skipped_if(torn, "the line does not begin with a time");
        };
        if rest.contains(&"RESTART") {
            if let Stamp::At(moment) = stamp {
                self.moments.at(moment);
                if self.totals.began.is_some() {
                    self.totals.moments.at(moment);
                }
            }
            return Step::Consumed;
        }
        if let Some(columns) = processor_columns(rest) {
            (self.shares, self.of_machine, self.is_below_heading) = (columns, None, true);
            return Step::Consumed;
        }
        if let Some(table) = machine_columns(rest) {
            let columns = rest.iter().map(ToString::to_string).collect();
            match table {
                MachineTable::Totals => self.totals.heading(stamp, columns),
                MachineTable::Paging => self.paging.columns = columns,
                MachineTable::Memory => self.memory.heading(columns),
            }
            (self.table, self.of_machine, self.is_below_heading) = (None, Some(table), true);
            return Step::Consumed;
        }
        if let Some(table) = self.of_machine {
            // Another table may follow without a blank line: its heading is not a row.
            let values = rest.iter().filter(|word| is_value(word)).count();
            if values == 0 {
                self.of_machine = None;
                return Step::Consumed;
            }
            let read = match table {
                MachineTable::Totals => self.totals.row(stamp, rest),
                // A line of another tool begins with a time, too.
                MachineTable::Paging if values * 2 < self.paging.columns.len() => {
                    return Step::NotMine;
                }
                MachineTable::Memory if values * 2 < self.memory.columns().len() => {
                    return Step::NotMine;
                }
                MachineTable::Paging => self.paging.row(stamp, rest),
                MachineTable::Memory => row_of(rest, self.memory.columns())
                    .map(|values| self.memory.row(&values, stamp == Stamp::Average)),
            };
            return Step::from(read);
        }
        // A blank line ends a table, unless a page has one after each line.
        if std::mem::take(&mut self.apart)
            && self.table.as_ref().is_none_or(|header| rest.len() != header.columns.len() + 1)
        {
            self.table = None;
        }
        let Some(header) = &self.table else {
            let all = rest.split_first().filter(|(name, _)| **name == "all");
            if let (Some((_, cells)), Stamp::At(_)) = (all, stamp)
                && cells.len() == self.shares.len()
            {
                let pairs = self.shares.iter().map(String::as_str).zip(cells.iter().copied());
                self.processor.take(&shares(pairs));
            }
            return Step::Consumed;
        };
        let Some((name, draft)) = row(header, rest) else {
            let name = if header.name_first { rest.first() } else { rest.last() };
            if let Some(name) = name.filter(|name| !is_value(name)) {
                let device = sink.device(&named(name));
                sink.skipped_of(device);
            }
            return Step::skipped(MISMATCH);
        };
        match stamp {
            Stamp::Average => self.averages.push((name, draft)),
            Stamp::At(moment) => {
                self.moments.at(moment);
                self.emit(&name, &draft, sink);
            }
        }
        Step::Consumed
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.processor.state(sink);
        self.paging.state(sink);
        self.memory.state(sink);
        if self.emitted {
            return;
        }
        if self.averages.is_empty() {
            return self.totals.emit(self.date.as_deref(), sink);
        }
        self.moments = Moments::default();
        for (name, draft) in std::mem::take(&mut self.averages) {
            self.emit(&name, &draft, sink);
        }
    }
}

impl Sar {
    fn emit(&mut self, name: &str, draft: &RowBuilder, sink: &mut dyn Sink) {
        let mut interval = draft.interval(sink.device(name));
        self.moments.date(&mut interval);
        sink.interval(interval);
        self.emitted = true;
    }
}

/// A name and as many values as the header has columns.
fn row(header: &Header, words: &[&str]) -> Option<(String, RowBuilder)> {
    let (name, cells) = match header.name_first {
        true => words.split_first()?,
        false => words.split_last()?,
    };
    if cells.len() != header.columns.len() || !cells.iter().all(|word| is_value(word)) {
        return None;
    }
    let mut draft = RowBuilder::default();
    header.columns.iter().zip(cells).for_each(|(column, word)| draft.take(column, word));
    Some((named(name), draft))
}
