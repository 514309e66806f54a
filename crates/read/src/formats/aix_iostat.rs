//! iostat of AIX: busy share, transfers, bytes and, with `-D`, latencies and queues of disks.
//!
//! ## Reads
//! The rows below `Disks: % tm_act Kbps tps Kb_read Kb_wrtn`: busy share, transfers and bytes per
//! second. Of `-D` the long rows below `Disks: xfers read write queue`, and the blocks `xfer:`,
//! `read:`, `write:` and `queue:` of each disk: reads and writes per second with their mean service
//! time, bytes per second, busy share, mean time in the wait queue, and mean length of the wait and
//! the service queue.
//!
//! ## How to capture
//! `iostat -RDTl 5 10`, `iostat -D 5 10`; without latencies `iostat 5 10`, `iostat -d 5 10`.
//!
//! ## Versions
//! AIX 5 to 7: the same columns; `-D` since AIX 5.3. Suffixes of `-D` are powers of 1000 of bytes
//! and `S` of seconds.
//!
//! ## Caveats
//! The first report is the mean since boot, unless the line above reports that the history of
//! disks is off; one that was cut out of a longer listing is discounted too. A disk of an array is
//! a LUN. `Kb_read` and `Kb_wrtn` are sums of the interval, whose length is not printed unless `-T`
//! adds the time: reads and writes are distinguished by `-D` only. `avgserv` is the time in the
//! driver's service queue and on the disk; the time in the wait queue is the same number for reads
//! and writes and is added to both. The smallest and largest times are not kept: without `-R` they
//! are of all intervals. A row of another number of columns, as of paths or adapters, is reported.
//!
//! ## Not in this output
//! The latency distribution. Without `-D` any latency or queue.

use crate::describe::table::{KIB, ReadyTable, Slot, Subject, Table, TableReader, column};
use crate::program::*;
use crate::text::numbers::in_thousands;
use crate::text::wall_time::Moments;

pub(super) const FORMAT: Format = Format::by_line::<AixIostat>(
    "iostat of AIX: busy share, transfers, bytes, latencies of disks",
    Level::A,
    &["Kb_read", "xfers", "xfer:"],
    |line| {
        let is_table = ReadyTable::known(&TABLE).sniff(&[line]) == Detect::Yes;
        is_table || is_long(line).is_some() || named(line).is_some()
    },
);

static TABLE: Table = Table {
    heading: &["tm_act", "Kb_read", "Kb_wrtn"],
    subject: Subject::First(&["Disks:"]),
    columns: &[
        column("tm_act", Slot::Busy, 1.0),
        column("Kbps", Slot::Bytes(None), KIB),
        column("tps", Slot::Ios(None), 1.0),
    ],
    since_boot: true,
    blanks: "%",
    // Between two reports is a line of terminals and processors.
    keep: Some(|name, _| decimal(name).is_none()),
    ..Table::NEW
};

/// The titles of the groups of columns of `-Dl`; with `-T` another one follows.
const GROUPS: [&str; 5] = ["Disks:", "xfers", "read", "write", "queue"];
/// The two lines of names below them, as often as they stand there.
const NAMES: [&str; 2] = [
    "%tm bps tps bread bwrtn rps avg min max time fail wps avg min max time fail avg min max avg \
     avg serv",
    "act serv serv serv outs serv serv serv outs time time time wqsz sqsz qfull",
];
/// The parts of a block of `-D`, and the names of their values.
const PARTS: [(&str, &str); 4] = [
    ("xfer:", "%tm_act bps tps bread bwrtn"),
    ("read:", "rps avgserv minserv maxserv timeouts fails"),
    ("write:", "wps avgserv minserv maxserv timeouts fails"),
    ("queue:", "avgtime mintime maxtime avgwqsz avgsqsz sqfull"),
];
/// Number of values of each part, and of all.
const WIDTHS: [usize; 4] = [5, 6, 6, 6];
const WIDTH: usize = 23;
/// Values that a line has at least which was meant for a row.
const MEANT: usize = 6;
/// What the line above says if the first report does not begin at the boot.
const NO_HISTORY: &str = "istory since boot not available";

/// Whether a line is the heading of long rows, and whether a time ends each of them.
fn is_long(line: &str) -> Option<bool> {
    let mut words = line.split_whitespace();
    let is_heading = GROUPS.iter().all(|name| words.next() == Some(name));
    match (is_heading, words.next(), words.next()) {
        (true, None, _) => Some(false),
        (true, Some("time"), None) => Some(true),
        _ => None,
    }
}

/// Which part of a block the words name.
fn part(words: &[&str]) -> Option<usize> {
    let (title, names) = words.split_first()?;
    let is_this =
        |(known, of): &(&str, &str)| known == title && of.split(' ').eq(names.iter().copied());
    PARTS.iter().position(is_this)
}

/// The disk whose block begins at a line.
fn named(line: &str) -> Option<&str> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (name, rest) = words.split_first()?;
    (part(rest) == Some(0)).then_some(*name)
}

/// A number with the letter of its unit behind it.
fn is_value(word: &str) -> bool {
    let digits = word.strip_suffix(|c: char| c.is_ascii_uppercase()).unwrap_or(word);
    decimal(digits).is_some_and(|value| value >= 0.0)
}

/// Milliseconds, or seconds with an `S`, in ns. What other letters mean is documented nowhere.
fn time_ns(word: &str) -> Option<f64> {
    let (digits, unit) = word.strip_suffix('S').map_or((word, 1e6), |digits| (digits, 1e9));
    decimal(digits).map(|value| value * unit)
}

/// How the rows of the listing look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Table,
    /// Long rows, and whether a time ends each.
    Long {
        is_timed: bool,
    },
    Blocks,
}

struct AixIostat {
    table: TableReader,
    form: Option<Form>,
    /// The disk of a block, its values by part, and the part that follows.
    block: Option<(String, [Vec<String>; 4])>,
    awaited: Option<usize>,
    /// The disks of the report, and how many reports there were.
    above: Vec<String>,
    reports: u64,
    moments: Moments,
}

impl Default for AixIostat {
    fn default() -> AixIostat {
        AixIostat {
            table: TableReader::of(ReadyTable::known(&TABLE)),
            form: None,
            block: None,
            awaited: None,
            above: Vec::new(),
            reports: 0,
            moments: Moments::default(),
        }
    }
}

impl Reader for AixIostat {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let form = match (is_long(line), named(line).is_some()) {
            (Some(is_timed), _) => Some(Form::Long { is_timed }),
            (None, true) => Some(Form::Blocks),
            _ if ReadyTable::known(&TABLE).sniff(&[line]) == Detect::Yes => Some(Form::Table),
            _ => None,
        };
        if self.form.is_some() && form.is_some() && form != self.form {
            return Step::End;
        }
        self.form = form.or(self.form);
        match self.form {
            Some(Form::Table) => self.table.line(line, sink),
            Some(Form::Long { .. }) if form.is_some() => Step::Consumed,
            Some(Form::Long { is_timed }) => self.long(line, is_timed, sink),
            Some(Form::Blocks) => self.of_block(line, sink),
            None => Step::NotMine,
        }
    }

    fn line_above(&mut self, line: &str) {
        if line.contains(NO_HISTORY) {
            self.reports = 1;
        }
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        if let Step::Malformed(reason) = self.end_block(sink) {
            let line = sink.source().lines.map_or(0, |(_, last)| last);
            sink.skip(Note { line, text: String::new(), reason });
        }
    }
}

impl AixIostat {
    fn long(&mut self, line: &str, is_timed: bool, sink: &mut dyn Sink) -> Step {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_ruler = words.iter().all(|word| word.bytes().all(|byte| byte == b'-'));
        let names = words.strip_suffix(&["time"]).unwrap_or(&words);
        if is_ruler || NAMES.iter().any(|known| known.split(' ').eq(names.iter().copied())) {
            return Step::Consumed;
        }
        let Some((name, rest)) = words.split_first() else { return Step::NotMine };
        let is_meant = rest.iter().filter(|word| is_value(word)).count() >= MEANT;
        let (cells, time) = if is_timed {
            let time = rest.last().and_then(|word| WallTime::read(word));
            (rest.split_last().map_or(rest, |(_, cells)| cells), time)
        } else {
            (rest, None)
        };
        if is_value(name) || cells.len() != WIDTH || is_timed != time.is_some() {
            return Step::skipped_if(is_meant, "the values do not match the heading");
        }
        if !cells.iter().all(|word| is_value(word)) {
            let device = sink.device(name);
            sink.skipped_of(device);
            return Step::skipped("a value is not a number, or is negative");
        }
        if let Some(moment) = time
            && self.moments.begin(moment, sink)
        {
            self.begin_report();
        }
        self.emit(name, cells, sink);
        Step::Consumed
    }

    fn of_block(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let Some(name) = named(line) {
            let before = self.end_block(sink);
            self.block = Some((name.to_string(), Default::default()));
            self.awaited = Some(0);
            return before;
        }
        if let Some(part) = part(&words) {
            self.awaited = Some(part);
            return Step::Consumed;
        }
        if words.iter().all(|word| word.bytes().all(|byte| byte == b'-')) {
            return Step::Consumed;
        }
        let is_row = words.iter().all(|word| is_value(word));
        let (Some((_, parts)), Some(part)) = (&mut self.block, self.awaited.take()) else {
            return Step::skipped_if(is_row, "values without a header");
        };
        if !is_row || words.len() != WIDTHS[part] || !parts[part].is_empty() {
            let is_meant = words.iter().any(|word| is_value(word));
            return Step::skipped_if(is_meant, "the values do not match the heading");
        }
        parts[part] = words.iter().map(ToString::to_string).collect();
        Step::Consumed
    }

    /// Emits the block that was read, if it is whole.
    fn end_block(&mut self, sink: &mut dyn Sink) -> Step {
        self.awaited = None;
        let Some((name, parts)) = self.block.take() else { return Step::Consumed };
        let cells: Vec<&str> = parts.iter().flatten().map(String::as_str).collect();
        if cells.len() == WIDTH {
            self.emit(&name, &cells, sink);
            return Step::Consumed;
        }
        let device = sink.device(&name);
        sink.skipped_of(device);
        Step::skipped("a part of the disk's block is missing or invalid")
    }

    fn begin_report(&mut self) {
        self.above.clear();
        self.reports += 1;
    }

    /// Emits the values of a disk in the order of the long rows.
    fn emit(&mut self, name: &str, cells: &[&str], sink: &mut dyn Sink) {
        let is_next = self.above.is_empty() || self.above.iter().any(|known| known == name);
        if is_next && !self.moments.began() {
            self.begin_report();
        }
        self.above.push(name.to_string());
        let mut interval = Interval::new(sink.device(name), Layer::Block);
        let number = |place: usize| cells.get(place).and_then(|word| in_thousands(word));
        let time = |place: usize| cells.get(place).and_then(|word| time_ns(word));
        let (reads, writes) = (number(5).unwrap_or(0.0), number(11).unwrap_or(0.0));
        let waited = time(17);
        for (op, ios_per_s, bytes, served) in
            [(Op::Read, reads, number(3), time(6)), (Op::Write, writes, number(4), time(12))]
        {
            let of_requests = |ns: f64| (ios_per_s > 0.0 && ns > 0.0).then_some(ns);
            let await_ns = served.and_then(of_requests).map(|ns| ns + waited.unwrap_or(0.0));
            let rates = Rates { ios_per_s, bytes_per_s: bytes, await_ns, ..Rates::default() };
            interval.rates.push((op, rates));
        }
        let any = reads + writes;
        let service = || Some((reads * time(6)? + writes * time(12)?) / any);
        if any > 0.0 {
            interval.device_ns = service().filter(|ns| *ns > 0.0);
            interval.wait_ns = waited.filter(|ns| *ns > 0.0);
        }
        interval.busy = number(0).map(|percent| (percent / 100.0).min(1.0));
        // A mean of 0 with requests was rounded away.
        interval.active_len = number(21).filter(|length| any == 0.0 || *length > 0.0);
        interval.queue_len =
            number(20).zip(interval.active_len).map(|(waiting, active)| waiting + active);
        interval.since_boot = self.reports == 1;
        self.moments.date(&mut interval);
        sink.interval(interval);
    }
}
