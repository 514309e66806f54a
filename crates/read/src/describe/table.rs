//! Tables of averages: a heading names the columns, a row is a disk.
//!
//! All handle damage in the same way. A value belongs to the column above it. A row that is wider
//! or narrower than its heading is ambiguous, so it is left out and counted; only a name may
//! contain blanks, and never a word that reads as a value. A row without a heading belongs to no
//! device. A mean of 0 with requests was rounded away and is unknown.

use std::rc::Rc;

use iowhy_model::{Interval, Layer, Nanos, Op, Rates, Sink, Time};

use super::MadeOnce;
use super::pattern::Pattern;
use super::why::Why;
use crate::text::wall_time::Moments;
use crate::{Detect, Reader, Step, WallTime, decimal};

/// A table of averages.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Words of its heading, except that of the subject.
    pub heading: &'static [&'static str],
    /// What precedes the heading's names: `#`.
    pub sign: &'static str,
    /// The position of a row's subject.
    pub subject: Subject,
    /// What the columns mean; one that is not named here shows nothing that is kept.
    pub columns: &'static [Column],
    /// The position of a row's time.
    pub time: RowTime,
    /// Patterns of lines above a heading; in a hole `length` the time that a report covers.
    pub banners: &'static [&'static str],
    /// Whether the first report is the mean since boot.
    pub since_boot: bool,
    /// Separators of values, apart from blanks.
    pub blanks: &'static str,
    /// Cells without a value.
    pub empty: &'static [&'static str],
    /// Patterns of lines in the table that show nothing.
    pub own: &'static [&'static str],
    /// Whether a listing that begins after prose is this one going on.
    pub may_resume: bool,
    /// Whether a row counts, by its name and those above it in the report.
    pub keep: Option<fn(&str, &[String]) -> bool>,
    /// What the columns alone do not show.
    pub finish: Option<fn(&mut Interval, &Cells)>,
}

impl Table {
    /// A table of nothing.
    pub const NEW: Table = Table {
        heading: &[],
        sign: "",
        subject: Subject::First(&[]),
        columns: &[],
        time: RowTime::None,
        banners: &[],
        since_boot: false,
        blanks: "",
        empty: &["-"],
        own: &[],
        may_resume: false,
        keep: None,
        finish: None,
    };
}

impl Table {
    /// Its columns, and what they mean.
    pub(crate) fn description(&self) -> String {
        let width = self.columns.iter().map(|column| column.name.len()).max().unwrap_or(0);
        let of = |column: &Column| {
            format!("{:<width$}  {}\n", column.name, column.slot.words(column.unit))
        };
        self.columns.iter().map(of).collect()
    }
}

/// Units of a time, and what they are in ns.
pub(super) const TIMES: [(&str, f64); 4] = [("ns", 1.0), ("us", 1e3), ("ms", MS), ("s", 1e9)];
/// Units of a size, and what they are in bytes.
pub(super) const SIZES: [(&str, f64); 7] = [
    ("B", 1.0),
    ("KB", 1e3),
    ("KiB", KIB),
    ("MB", 1e6),
    ("MiB", MIB),
    ("GB", 1e9),
    ("GiB", 1_073_741_824.0),
];

impl Slot {
    /// The quantity of a number, in the words of a file of formats.
    pub(super) fn words(self, unit: f64) -> String {
        let whose = |op: Option<Op>| op.map_or("io", Op::name);
        let name = |units: &[(&'static str, f64)]| {
            units.iter().find(|(_, known)| *known == unit).map_or("?", |(name, _)| *name)
        };
        let (time, size) = (name(&TIMES), name(&SIZES));
        match self {
            Slot::Ios(Some(Op::Flush)) => "flushes/s".to_string(),
            Slot::Ios(op) => format!("{}s/s", whose(op)),
            Slot::Merges(op) => format!("{} merges/s", op.name()),
            Slot::Bytes(op) => format!("{} {size}/s", whose(op)),
            Slot::BytesBeside => format!("{size}/s of the requests to the left"),
            Slot::Wait(op) => format!("{} {time}", whose(op)),
            Slot::QueueWait => format!("queue {time}"),
            Slot::DeviceWait => format!("device {time}"),
            Slot::Queued => "queued".to_string(),
            Slot::InFlight => "in flight".to_string(),
            Slot::Busy => "busy %".to_string(),
        }
    }
}

/// The position of a row's subject.
#[derive(Clone, Copy, Debug)]
pub enum Subject {
    /// In front of the values, under one of these names.
    First(&'static [&'static str]),
    /// After the values, under one of these names.
    Last(&'static [&'static str]),
    /// Nowhere: each row is about this.
    Whole(&'static str),
}

/// The position of a row's time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowTime {
    /// Nowhere.
    None,
    /// In front of the row, in one word or in several.
    Front,
    /// In a column.
    Column(&'static str),
}

/// What a column means.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    name: &'static str,
    slot: Slot,
    /// What its unit is in requests, bytes or nanoseconds.
    unit: f64,
}

/// What a number is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Slot {
    /// Requests per second, of all operations if none is named.
    Ios(Option<Op>),
    /// Requests per second that were merged into others.
    Merges(Op),
    /// Bytes per second, of all operations if none is named.
    Bytes(Option<Op>),
    /// Bytes per second of the operation whose requests are in the column to the left.
    BytesBeside,
    /// Mean latency, of all operations if none is named.
    Wait(Option<Op>),
    /// Mean time in the host's queue.
    QueueWait,
    /// Mean time on the device.
    DeviceWait,
    /// Mean number of requests in the queue or in service.
    Queued,
    /// Requests in flight at the end of the interval.
    InFlight,
    /// Share of the time with something in flight, in per cent.
    Busy,
}

/// A column.
pub(crate) const fn column(name: &'static str, slot: Slot, unit: f64) -> Column {
    Column { name, slot, unit }
}

/// Requests per second of an operation.
pub(crate) const fn ios(name: &'static str, op: Op) -> Column {
    column(name, Slot::Ios(Some(op)), 1.0)
}

/// Bytes per second of an operation, in this unit.
pub(crate) const fn bytes(name: &'static str, op: Op, unit: f64) -> Column {
    column(name, Slot::Bytes(Some(op)), unit)
}

/// Share of the time with something in flight, in per cent.
pub(crate) const fn busy(name: &'static str) -> Column {
    column(name, Slot::Busy, 1.0)
}

/// Mean latency of an operation, in ms.
pub(crate) const fn wait_ms(name: &'static str, op: Op) -> Column {
    column(name, Slot::Wait(Some(op)), MS)
}

// Nanoseconds of a millisecond, bytes of a KiB and of a MiB.
pub(crate) const MS: f64 = 1e6;
pub(crate) const KIB: f64 = 1024.0;
pub(crate) const MIB: f64 = 1_048_576.0;

/// The values of a row, by the names of their columns.
pub struct Cells<'r> {
    names: &'r [String],
    values: &'r [Option<f64>],
}

impl Cells<'_> {
    /// The number under the first column of a name.
    pub fn get(&self, name: &str) -> Option<f64> {
        let place = self.names.iter().position(|known| known == name)?;
        *self.values.get(place)?
    }
}

/// A table with compiled patterns.
#[derive(Debug)]
pub(crate) struct ReadyTable {
    table: Table,
    banners: Vec<Pattern>,
    own: Vec<Pattern>,
}

/// A heading that was read: the names of the values' columns, and whether a time precedes them.
#[derive(Clone, Debug, Default, PartialEq)]
struct Names {
    of_values: Vec<String>,
    is_stamped: bool,
}

impl Names {
    /// How many columns the heading has, that of the subject and that of the time among them.
    fn columns(&self, subject: Subject) -> usize {
        let is_named = !matches!(subject, Subject::Whole(_));
        self.of_values.len() + usize::from(is_named) + usize::from(self.is_stamped)
    }
}

impl ReadyTable {
    /// The table, ready.
    ///
    /// # Errors
    /// Which pattern is none, and why.
    pub(crate) fn of(table: &Table) -> Result<ReadyTable, String> {
        let of = |text: &&str| Pattern::of(text).map_err(|wrong| format!("`{text}`: {wrong}"));
        Ok(ReadyTable {
            table: *table,
            banners: table.banners.iter().map(of).collect::<Result<_, _>>()?,
            own: table.own.iter().map(of).collect::<Result<_, _>>()?,
        })
    }

    /// The same of a table of the program, made once.
    pub(crate) fn known(table: &'static Table) -> &'static ReadyTable {
        static KNOWN: MadeOnce<ReadyTable> = MadeOnce::new();
        let none = |_| ReadyTable { table: *table, banners: Vec::new(), own: Vec::new() };
        KNOWN.of(table, |table| ReadyTable::of(table).unwrap_or_else(none))
    }

    /// Whether a listing begins at the first of these lines.
    pub(crate) fn sniff(&self, lines: &[&str]) -> Detect {
        match lines {
            [first, ..] if self.names(first).is_some() => Detect::Yes,
            [first] if self.is_banner(first) => Detect::NeedLine,
            [first, second, ..] if self.is_banner(first) => self.names(second).is_some().into(),
            _ => Detect::No,
        }
    }

    /// Texts, one of which each line that begins a listing contains; `None` if a banner has none.
    pub(crate) fn needles(&self) -> Option<Vec<&str>> {
        let longest = self.table.heading.iter().max_by_key(|name| name.len()).copied()?;
        let mut needles = vec![longest];
        needles.extend(self.banners.iter().flat_map(Pattern::needles));
        needles.iter().all(|needle| !needle.is_empty()).then_some(needles)
    }

    fn is_banner(&self, line: &str) -> bool {
        self.banners.iter().any(|banner| banner.read(line).is_some())
    }

    /// The names of a line's columns, if it is the heading.
    fn names(&self, line: &str) -> Option<Names> {
        let Table { heading, sign, subject, .. } = self.table;
        if !heading.iter().all(|name| line.contains(name)) {
            return None;
        }
        let line = line.trim().strip_prefix(sign)?;
        let mut words = self.words(line);
        if !heading.iter().all(|name| words.contains(name)) {
            return None;
        }
        let mut is_stamped = false;
        match subject {
            Subject::First(names) => {
                let place = words.iter().position(|word| names.contains(word))?;
                is_stamped = place == 1 && self.table.time == RowTime::Front;
                if place > usize::from(is_stamped) {
                    return None;
                }
                words.drain(..=place);
            }
            Subject::Last(names) => {
                names.contains(words.last()?).then(|| words.pop())?;
            }
            Subject::Whole(_) => {}
        }
        Some(Names { of_values: words.iter().map(ToString::to_string).collect(), is_stamped })
    }

    fn words<'l>(&self, line: &'l str) -> Vec<&'l str> {
        let parts = |c: char| c.is_whitespace() || self.table.blanks.contains(c);
        line.split(parts).filter(|word| !word.is_empty()).collect()
    }

    /// Whether a word can be a cell. Markdown puts a backslash before a dash.
    fn is_value(&self, word: &str) -> bool {
        let bare = word.strip_prefix('\\').unwrap_or(word);
        self.table.empty.contains(&bare) || self.value(word).is_some()
    }

    /// The value of a cell; negative ones are invalid.
    fn value(&self, word: &str) -> Option<f64> {
        decimal(word.trim_end_matches('%')).filter(|value| *value >= 0.0)
    }
}

/// Minimum values for a line to be a damaged row: a sentence contains one or two numbers.
const MEANT: usize = 3;

/// Reads a table by its description.
pub(crate) struct TableReader {
    ready: &'static ReadyTable,
    heading: Option<Rc<Names>>,
    /// Headings so far, and the names of the report's rows.
    reports: u64,
    above: Vec<String>,
    /// The span that the banner says the report covers, and that of those before it, s.
    covered: Option<f64>,
    elapsed: f64,
    moments: Moments,
    first: Option<WallTime>,
}

impl TableReader {
    pub(crate) fn of(ready: &'static ReadyTable) -> TableReader {
        TableReader {
            ready,
            heading: None,
            reports: 0,
            above: Vec::new(),
            covered: None,
            elapsed: 0.0,
            moments: Moments::default(),
            first: None,
        }
    }

    fn banner(&mut self, line: &str) -> bool {
        let found = self.ready.banners.iter().find_map(|banner| banner.read(line));
        if let Some(length) = found.as_ref().and_then(|found| found.time("length")) {
            self.elapsed += self.covered.unwrap_or(0.0);
            self.covered = Some(length.seconds()).filter(|seconds| *seconds > 0.0);
        }
        found.is_some()
    }

    /// A row has a time.
    fn at(&mut self, moment: WallTime, sink: &mut dyn Sink) {
        if self.moments.at(moment) {
            WallTime::begin(&mut self.first, moment, sink);
            self.above.clear();
        }
    }

    /// When the report began, s, and how long it is.
    fn span(&self) -> Option<(f64, f64)> {
        if let Some(covered) = self.covered {
            return Some((self.elapsed, covered));
        }
        self.moments.span()
    }

    /// The position of the time among the values.
    fn time_column(&self, names: &Names) -> Option<usize> {
        let RowTime::Column(name) = self.ready.table.time else { return None };
        names.of_values.iter().position(|known| known == name)
    }

    /// The time in front of a row, its name, and its values.
    fn cut<'l>(&self, names: &Names, words: &[&'l str]) -> Result<Row<'l>, Miss> {
        let width = names.of_values.len();
        let values = words.iter().filter(|word| self.ready.is_value(word)).count();
        let meant = values > MEANT.min(width / 2);
        let not_ours = Miss { why: None, name: None };
        let misfit = || {
            let columns = names.columns(self.ready.table.subject);
            let why = Why::RowDoesNotFit { words: words.len(), columns };
            Miss { why: meant.then_some(why), name: None }
        };
        let is_value = |word: &&str| self.ready.is_value(word);
        let (stamp, named, cells) = match self.ready.table.subject {
            Subject::Whole(_) if words.len() == width => (&[][..], &[][..], words),
            Subject::Whole(_) => return Err(misfit()),
            Subject::First(_) => {
                let from = words.len().checked_sub(width).filter(|from| *from > 0);
                let (front, cells) = words.split_at(from.ok_or_else(misfit)?);
                let name = if names.is_stamped { front.len() - 1 } else { 0 };
                let (stamp, named) = front.split_at(name);
                if names.is_stamped == stamp.is_empty() {
                    return Err(not_ours);
                }
                (stamp, named, cells)
            }
            Subject::Last(_) => {
                let (cells, named) = words.split_at_checked(width).ok_or_else(misfit)?;
                (&[][..], named, cells)
            }
        };
        // A name may hold blanks, but no value.
        let of_subject = matches!(self.ready.table.subject, Subject::First(_) | Subject::Last(_));
        if of_subject && (named.is_empty() || named.len() > 1 && named.iter().any(is_value)) {
            return Err(misfit());
        }
        let time = self.time_column(names);
        let is_sound = |(place, word)| Some(place) == time || is_value(word);
        if !cells.iter().enumerate().all(is_sound) {
            let why = meant.then_some(Why::NotANumber);
            return Err(Miss { why, name: Some(named.join(" ")).filter(|name| !name.is_empty()) });
        }
        Ok(Row { stamp: stamp.join(" "), name: named.join(" "), cells: cells.to_vec() })
    }

    fn row(&mut self, names: &Names, row: &Row, sink: &mut dyn Sink) {
        let table = &self.ready.table;
        let name = match table.subject {
            Subject::Whole(name) => name,
            Subject::First(_) | Subject::Last(_) => &row.name,
        };
        let values: Vec<Option<f64>> =
            row.cells.iter().map(|word| self.ready.value(word)).collect();
        let mut interval = Interval::new(sink.device(name), Layer::Block);
        interval.since_boot = table.since_boot && self.reports == 1;
        if let Some((start, length)) = self.span() {
            interval.start = Some(Time::from_seconds(start));
            interval.length = Some(Nanos::from_seconds(length));
        }
        let cells = Cells { names: &names.of_values, values: &values };
        fill(&mut interval, table.columns, &cells);
        if let Some(finish) = table.finish {
            finish(&mut interval, &cells);
        }
        sink.interval(interval);
    }
}

/// Why a damaged row is not usable, and its device.
struct Miss {
    why: Option<Why>,
    name: Option<String>,
}

/// A row that was cut.
struct Row<'l> {
    stamp: String,
    name: String,
    cells: Vec<&'l str>,
}

/// What is known of one operation.
#[derive(Clone, Copy, Default)]
struct Part {
    ios: Option<f64>,
    merges: Option<f64>,
    bytes: Option<f64>,
    wait: Option<f64>,
}

impl Part {
    fn rates(self) -> Option<Rates> {
        let ios_per_s = self.ios?;
        Some(Rates {
            ios_per_s,
            merges_per_s: self.merges,
            bytes_per_s: self.bytes,
            await_ns: self.wait.filter(|ns| ios_per_s > 0.0 && *ns > 0.0),
        })
    }
}

fn fill(interval: &mut Interval, columns: &[Column], cells: &Cells) {
    const ALL: usize = Op::ALL.len();
    let place = |op: Option<Op>| {
        op.and_then(|op| Op::ALL.iter().position(|known| *known == op)).unwrap_or(ALL)
    };
    let mut parts = [Part::default(); ALL + 1];
    let (mut beside, mut queue_wait, mut device_wait) = (None, None, None);
    for (name, value) in cells.names.iter().zip(cells.values) {
        for column in columns.iter().filter(|column| column.name == name) {
            let value = value.map(|value| value * column.unit);
            match column.slot {
                Slot::Ios(op) => {
                    beside = op;
                    parts[place(op)].ios = value;
                }
                Slot::Merges(op) => parts[place(Some(op))].merges = value,
                Slot::Bytes(op) => parts[place(op)].bytes = value,
                Slot::BytesBeside => parts[place(beside)].bytes = value,
                Slot::Wait(op) => parts[place(op)].wait = value,
                Slot::QueueWait => queue_wait = value,
                Slot::DeviceWait => device_wait = value,
                Slot::Queued => interval.queue_len = value,
                Slot::InFlight => interval.in_flight = value.map(|count| count as u64),
                Slot::Busy => interval.busy = value.map(|percent| percent / 100.0),
            }
        }
    }
    let all = parts[ALL];
    let known = Op::ALL.into_iter().zip(parts);
    interval.rates.extend(known.filter_map(|(op, part)| Some((op, part.rates()?))));
    if interval.rates.is_empty() {
        interval.mixed = all.rates();
    }
    let any = all.ios.unwrap_or_else(|| interval.ios_per_s()) > 0.0;
    let of_requests = |ns: Option<f64>| ns.filter(|ns| any && *ns > 0.0);
    interval.await_ns = of_requests(all.wait);
    interval.device_ns = of_requests(device_wait);
    interval.wait_ns = of_requests(queue_wait);
}

impl Reader for TableReader {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let ready = self.ready;
        if self.banner(line) {
            return Step::Consumed;
        }
        if let Some(names) = ready.names(line) {
            self.heading = Some(Rc::new(names));
            self.reports += 1;
            self.above.clear();
            return Step::Consumed;
        }
        if line.trim().is_empty() || ready.own.iter().any(|own| own.read(line).is_some()) {
            return Step::Consumed;
        }
        let words = ready.words(line);
        let Some(names) = self.heading.clone() else { return Step::NotMine };
        let row = match self.cut(&names, &words) {
            Ok(row) => row,
            Err(Miss { why: Some(why), name }) => {
                if let Some(name) = name {
                    let device = sink.device(&name);
                    sink.skipped_of(device);
                }
                return Step::Malformed(why.to_string());
            }
            Err(Miss { why: None, .. }) => return Step::NotMine,
        };
        let in_column = self.time_column(&names);
        let stamp = in_column.and_then(|place| row.cells.get(place).copied()).unwrap_or(&row.stamp);
        if let Some(moment) = WallTime::read(stamp) {
            self.at(moment, sink);
        }
        if ready.table.keep.is_none_or(|keep| keep(&row.name, &self.above)) {
            self.row(&names, &row, sink);
            self.above.push(row.name);
        }
        Step::Consumed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::recorded;
    use crate::{Body, FORMATS};

    #[test]
    fn each_table_is_ready_and_has_a_needle() {
        for format in FORMATS {
            if let Body::Table(table) = format.body {
                let ready = ReadyTable::of(table).unwrap_or_else(|wrong| panic!("{wrong}"));
                assert!(ready.needles().is_some(), "{}", format.name);
            }
        }
    }

    const HEADING: &str = "DEVICE PATH CMDS/s READS/s WRITES/s MBREAD/s MBWRTN/s DAVG/cmd\n";

    fn read(rows: &str) -> (Vec<String>, u64) {
        let recording = recorded(&format!("{HEADING}{rows}"));
        let listing = &recording.listings[0];
        let names = listing
            .intervals
            .iter()
            .map(|one| recording.devices()[one.device.index()].name.clone());
        (names.collect(), listing.source.skipped)
    }

    #[test]
    fn a_row_that_does_not_fit_its_heading_is_left_out_and_names_no_device() {
        let row = "vmhba0 - 45.20 40.00 5.20 0.31 0.04 7.10\n";
        assert_eq!(read(row), (vec!["vmhba0".to_string()], 0));
        for (rows, skipped) in [
            // Two values more: they are no part of a name.
            ("vmhba0 - 45.20 40.00 5.20 0.31 0.04 7.10 0.02 7.12\n", 1),
            ("vmhba0 - 45.20 40.00 5.20 0.31 0.04\n", 1),
            ("vmhba0 - nan 40.00 5.20 0.31 0.04 7.10\n", 1),
            ("vmhba0 - -1 40.00 5.20 0.31 0.04 7.10\n", 1),
            // Words are prose.
            ("the array was well at that time of day\n", 0),
        ] {
            let (names, found) = read(&format!("{row}{rows}"));
            assert_eq!((names.len(), found), (1, skipped), "{rows}");
        }
    }

    #[test]
    fn a_name_may_hold_blanks_and_a_cell_may_hold_nothing() {
        let rows = "raid my disk - 45.20 40.00 5.20 0.31 0.04 7.10\n\
                    {NFS}isos \\- 0.00 0.00 0.00 0.00 0.00 -\n";
        assert_eq!(read(rows), (vec!["raid my disk".to_string(), "{NFS}isos".to_string()], 0));
    }
}
