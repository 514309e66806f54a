//! biosnoop: one line per completed block I/O, from bcc, libbpf-tools or bpftrace.
//!
//! ## Reads
//! The screen of `biosnoop`, with any of its columns: `TIME(s) COMM PID DISK T SECTOR BYTES`, then
//! `P` (-P), `QUE(ms)` (-Q) and `LAT(ms)`. Each line becomes an event: it completed at TIME, was
//! issued LAT earlier, and was queued QUE before that. The line of `iowhy snoop` that the I/O below
//! it failed is read, too, as is its last column FILE. Lines cut out (`[...]`) are accepted. Rows
//! without their heading (`fgrep sdb`) are read if their columns are unambiguous, with a note.
//!
//! ## How to capture
//! `biosnoop-bpfcc` and `biosnoop` (packages bpfcc-tools, libbpf-tools), and `biosnoop.bt` of
//! bpftrace. The best capture for iowhy is `biosnoop -Q`, because only it separates queue time from
//! device time.
//!
//! ## Versions
//! bcc before 2019 prints TIME with nine decimals, later six. libbpf-tools prints latencies with
//! three decimals, the request's flags in full (`WS`, `FF`), and with -t a time of day under
//! `TIMESTAMP`. bpftrace prints whole milliseconds under `TIME(ms) COMM PID LAT(ms)`, later with
//! `DISK`, and now with the device's numbers under `DISK ID`.
//!
//! ## Caveats
//! TIME is when the I/O completed, counted from the first completion. LAT leaves QUE out. A process
//! name may contain spaces, so columns are matched from both ends. BYTES of seven digits runs into
//! a following number of seven characters (`13107201234.56`); it is split again. bcc prints `R` for
//! everything except plain writes: a read of 0 bytes is therefore kept as `other`, and a write of 0
//! bytes as a flush. A discard with bytes still looks like a read. SECTOR -1 or
//! 18446744073709551615, PID 0 with COMM `?`, and QUE -1 all mean that the tool did not see it; QUE
//! 0.00 on every line may mean that the disk has no scheduler. Times of day that decrease by hours
//! passed midnight.
//!
//! ## Not in this output
//! Without -Q, time in the scheduler's queue: iostat's await includes it, LAT does not. The process
//! is the one on the CPU when the I/O was queued, for buffered writes the flusher. bpftrace gives
//! no operation (kept as `other`), sector or size, and latencies to 1 ms. The number of events
//! dropped by the tool, unless its messages on stderr were also captured.

use iowhy_model::{DeviceId, Flags, Inference, Name, Sampling, is_kernel_name};

use crate::BlockSize;
use crate::listing::another_run;
use crate::program::*;
use crate::text::recent::RecentNames;
use crate::text::words::Words;

mod usual;

pub(super) const FORMAT: Format = Format::program::<Biosnoop>(
    "one line per block I/O from bcc, libbpf-tools or bpftrace",
    Level::C,
    &["LAT(ms)", "^row"],
    sniff,
);

/// Width of the BYTES column (`%-7s`), which no blank follows in bcc's biosnoop.
const BYTES_WIDTH: usize = 7;
/// A request is whole sectors of 512 bytes (`SECTOR_SHIFT`, include/linux/blk_types.h).
const SECTOR_BYTES: u64 = 512;
/// How `iowhy snoop` prints an I/O's error in the line below it.
const FAILED: &str = "# the I/O below failed: errno ";
/// Its mark that the rows are complete.
const UNFILTERED: &str = "# unfiltered: every I/O is listed";
/// Its lines below the heading: the devices' other names, the time of the first I/O.
const HEAD: [&str; 2] = ["# devices: ", "# from "];
/// The heading of the file after the latency.
const FILE_HEADING: &str = "LAT(ms)  FILE";
/// A clock that falls by more than this went past midnight.
const HALF_A_DAY_NS: i64 = 43_200_000_000_000;
const DAY_NS: i64 = 2 * HALF_A_DAY_NS;
/// A minute with its leap second, which strftime prints as 60.
const LONGEST_MINUTE_NS: i64 = 61_000_000_000;

fn sniff(head: &[&str]) -> Detect {
    let begins = |line: &&str| Columns::of(line).is_some() || Columns::of_row(line).is_some();
    head.first().is_some_and(begins).into()
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Clock {
    Seconds,
    Milliseconds,
    TimeOfDay,
}

/// Which columns the heading names.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Columns {
    clock: Clock,
    /// bpftrace's short form: device before the process, no T, SECTOR, BYTES.
    short: bool,
    disk: bool,
    numbers: bool,
    pattern: bool,
    queue: bool,
    /// After the latency, as `iowhy snoop --files` prints it.
    file: bool,
}

impl Columns {
    fn of(line: &str) -> Option<Columns> {
        let line = line.trim();
        if !line.starts_with("TIME") || !line.ends_with("LAT(ms)") && !line.ends_with(FILE_HEADING)
        {
            return None;
        }
        let has = |name: &str| line.split_ascii_whitespace().any(|word| word == name);
        let clock = match line.split_ascii_whitespace().next()? {
            "TIME(s)" => Clock::Seconds,
            "TIME(ms)" => Clock::Milliseconds,
            "TIMESTAMP" | "TIME" => Clock::TimeOfDay,
            _ => return None,
        };
        let short = !has("SECTOR");
        let numbers = has("ID");
        let whole = has("COMM") && has("PID") && (short || has("BYTES"));
        whole.then_some(Columns {
            clock,
            short,
            disk: has("DISK") && !numbers,
            numbers,
            pattern: has("P"),
            queue: has("QUE(ms)"),
            file: line.ends_with(FILE_HEADING),
        })
    }

    /// The columns of a row without a heading, inferred from possible values: a time to the
    /// microsecond, a process, a disk, an operation, whole sectors, a latency.
    fn of_row(line: &str) -> Option<Columns> {
        let fractions = |text: &str| text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let last = line.split_ascii_whitespace().rev().nth(1)?;
        let columns = Columns { queue: fractions(last) > 1, ..Columns::default() };
        let row = columns.row(line)?;
        let timed = matches!(fractions(row.time), 6 | 9) && fixed(row.time, 9).is_some();
        let latency = matches!(fractions(row.latency), 2 | 3) && fixed(row.latency, 6).is_some();
        let bytes = integer(row.bytes)?;
        let queue = row.queue.is_none_or(|text| fixed(text, 6).is_some());
        let known = timed && latency && queue && bytes.is_multiple_of(SECTOR_BYTES) && bytes > 0;
        let sound = is_kernel_name(row.disk)
            && matches!(row.kind.as_bytes().first(), Some(b'R' | b'W' | b'D'))
            && row.kind.len() < 5
            && integer(row.sector).is_some()
            && integer(row.pid).is_some();
        (known && sound && !row.comm.is_empty()).then_some(columns)
    }
}

impl Default for Columns {
    /// What bcc's biosnoop prints without options.
    fn default() -> Self {
        let clock = Clock::Seconds;
        Columns {
            clock,
            short: false,
            disk: true,
            numbers: false,
            pattern: false,
            queue: false,
            file: false,
        }
    }
}

#[derive(Default)]
struct Biosnoop {
    columns: Columns,
    begun: bool,
    /// A heading named the columns.
    headed: bool,
    /// The step of its latencies was reported.
    stepped: bool,
    disk: RecentNames<DeviceId>,
    comm: RecentNames<Name>,
    /// The result of the next I/O, if a line gave it.
    failed: Option<u16>,
    /// Nanoseconds to add to a time of day for each midnight passed, and the time before.
    midnight: i64,
    before: i64,
    run: Run,
}

/// The clock of one run of the tool: it begins at zero.
#[derive(Default)]
struct Run {
    rows: u64,
    latest: i64,
    /// How many were earlier than one before.
    earlier: u64,
    /// It fell before, so that the lines are in some other order.
    shuffled: bool,
}

/// A clock that falls by at least this, to less than half, belongs to another run; rows of one run
/// are out of order by the delay of per-CPU buffers.
const FALL_NS: i64 = 1_000_000_000;
/// Rows in order before a fall shows it.
const IN_ORDER: u64 = 16;

impl Run {
    fn would_end_before(&self, event: &Event) -> bool {
        let now = event.completed.map_or(i64::MAX, Time::ns);
        now < self.latest - FALL_NS && now < self.latest / 2 && !self.shuffled
    }

    fn continues(&mut self, event: &Event) {
        let now = event.completed.map_or(0, Time::ns);
        self.rows += 1;
        self.earlier += u64::from(now < self.latest);
        self.latest = self.latest.max(now);
    }

    /// Buffers of single processors make a few rows change places, not every third.
    fn is_in_no_order(&self) -> bool {
        self.rows > 0 && self.earlier * 3 >= self.rows
    }

    /// Whether the event is the first of another run.
    fn ends_before(&mut self, event: &Event) -> bool {
        let falls = self.would_end_before(event);
        let ends = falls && self.rows >= IN_ORDER;
        self.shuffled |= falls && !ends;
        if ends {
            *self = Run::default();
        }
        self.continues(event);
        ends
    }
}

/// The columns of one line, as text.
struct IoLine<'a> {
    time: &'a str,
    comm: &'a str,
    pid: &'a str,
    disk: &'a str,
    kind: &'a str,
    sector: &'a str,
    bytes: &'a str,
    queue: Option<&'a str>,
    latency: &'a str,
}

impl Reader for Biosnoop {
    fn claims_row(&self, line: &str) -> bool {
        self.begun && Columns::of_row(line).is_some()
    }

    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let line = line.trim_start();
        if !matches!(line.as_bytes(), [b'0'..=b'9' | b'-', ..]) {
            return self.other(line, sink);
        }
        if !self.begun {
            self.begun = true;
            if !self.headed {
                self.infer(line, sink);
            }
            sink.source().sees_queue = self.columns.queue;
        }
        match self.event(line, sink) {
            Ok(mut event) => {
                event.error = self.failed.take();
                if self.run.ends_before(&event) {
                    another_run(sink);
                }
                sink.event(event);
                Step::Consumed
            }
            Err(reason) => {
                sink.source().impossible += u64::from(is_impossible(line));
                Step::Malformed(reason.to_string())
            }
        }
    }

    fn block(&mut self, block: &[u8], sink: &mut dyn Sink) -> BlockSize {
        let mut taken = BlockSize::default();
        // Values that are set once per listing come from the first line.
        if !self.stepped || !self.columns.are_usual() || self.failed.is_some() {
            return taken;
        }
        for end in memchr::memchr_iter(b'\n', block) {
            let line = block.get(taken.bytes..end).unwrap_or_default();
            let Some(event) = self.usual(line) else { break };
            if self.run.would_end_before(&event) {
                break;
            }
            self.run.continues(&event);
            sink.event(event);
            taken = BlockSize { lines: taken.lines + 1, bytes: end + 1 };
        }
        taken
    }
}

impl Biosnoop {
    /// Rows without their heading.
    fn infer(&mut self, line: &str, sink: &mut dyn Sink) {
        self.columns = Columns::of_row(line).unwrap_or_default();
        sink.source().infer(Inference::Columns);
        let queue = if self.columns.queue { " QUE(ms)" } else { "" };
        sink.note(note(format!(
            "the heading is missing: the columns, inferred from their number and values, are \
             TIME(s) COMM PID DISK T SECTOR BYTES{queue} LAT(ms)"
        )));
    }

    /// A line that is not an event: the heading, a notice of the tool, or prose.
    fn other(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if let Some(columns) = Columns::of(line) {
            // If rows are unordered, a heading does not show where a run begins.
            let same = columns == self.columns && self.run.is_in_no_order();
            if self.begun && !same {
                return Step::End;
            }
            // A second one shows that there were several runs, but not which row belongs to which.
            if self.headed && same {
                sink.source().infer(Inference::Order);
                sink.note(note("rows of several runs are mixed: their times do not match"));
            }
            self.columns = columns;
            self.headed = true;
            sink.source().sees_queue = columns.queue;
            return Step::Consumed;
        }
        if line == UNFILTERED {
            (sink.source().sampling, sink.source().level) = (Sampling::Traced, Level::D);
            return Step::Consumed;
        }
        if HEAD.iter().any(|begin| line.starts_with(begin)) {
            return Step::Consumed;
        }
        if let Some(reported) = line.strip_prefix(FAILED) {
            let digits = reported.split(|c: char| !c.is_ascii_digit()).next();
            self.failed = digits.and_then(|digits| digits.parse().ok());
            return Step::Consumed;
        }
        let words: Vec<&str> = line.split_ascii_whitespace().take(4).collect();
        match words[..] {
            ["MAJOR", "MINOR"] => Step::Consumed,
            ["lost", count, "events", ..] | ["Possibly", "lost", count, ..] => {
                sink.lost("events dropped by the tool", integer(count).unwrap_or(1));
                Step::Consumed
            }
            _ if self.begun && self.columns.is_row_but_for_time(line) => {
                Step::skipped("TIME is not a time")
            }
            _ => Step::NotMine,
        }
    }

    fn event(&mut self, line: &str, sink: &mut dyn Sink) -> Result<Event, &'static str> {
        let (line, file) = self.columns.file(line);
        let row =
            if self.columns.short { self.columns.short_row(line) } else { self.columns.row(line) };
        let row = row.ok_or("the columns do not match the heading")?;
        let completed = self.time(row.time).ok_or("TIME is not a time")?;
        let latency = fixed(row.latency, 6).filter(|ns| *ns >= 0).ok_or("LAT is not a latency")?;
        let bytes = match row.bytes {
            "" | "-" => None,
            text => Some(integer(text).and_then(|n| u32::try_from(n).ok()).ok_or("bad BYTES")?),
        };
        let (op, flags) = match row.kind {
            "" => (Op::Other, Flags::default()),
            kind => operation(kind, bytes).ok_or("T is not an operation")?,
        };
        let device = if self.columns.numbers {
            let numbers = row.disk.split_once(' ');
            let numbers = numbers
                .and_then(|(major, minor)| major.parse().ok().zip(minor.trim().parse().ok()));
            let (major, minor) = numbers.ok_or("DISK ID is not a pair of numbers")?;
            self.disk.get(row.disk, |_| sink.device(&device_name(major, minor)))
        } else {
            self.disk.get(row.disk, |name| sink.device(known(name)))
        };
        if !std::mem::replace(&mut self.stepped, true) {
            sink.source().resolution = Some(step(row.latency));
        }
        let issued = completed - Nanos(latency);
        let queue = row.queue.and_then(|text| fixed(text, 6)).filter(|ns| *ns >= 0);
        let mut event = Event::new(device, op, Layer::Block);
        event.flags = flags;
        event.completed = Some(completed);
        event.issued = Some(issued);
        event.queued = queue.map(|ns| issued - Nanos(ns));
        event.sector = integer(row.sector).filter(|sector| *sector != u64::MAX);
        event.bytes = bytes;
        let seen = !matches!(row.comm, "" | "?");
        event.comm = seen.then(|| self.comm.get(row.comm, |text| sink.name(text)));
        let pid = integer(row.pid).and_then(|pid| u32::try_from(pid).ok());
        event.pid = pid.filter(|pid| seen || *pid != 0);
        event.file = file.map(|file| sink.name(file));
        Ok(event)
    }

    fn time(&mut self, text: &str) -> Option<Time> {
        let ns = match self.columns.clock {
            Clock::Seconds => fixed(text, 9)?,
            Clock::Milliseconds => fixed(text, 6)?,
            Clock::TimeOfDay => {
                let mut parts = text.splitn(3, ':');
                let hours = fixed(parts.next()?, 0).filter(|h| (0..24).contains(h))?;
                let minutes = fixed(parts.next()?, 0).filter(|m| (0..60).contains(m))?;
                let seconds =
                    fixed(parts.next()?, 9).filter(|s| (0..LONGEST_MINUTE_NS).contains(s))?;
                let ns = (hours * 60 + minutes) * 60_000_000_000 + seconds;
                if ns < self.before - HALF_A_DAY_NS {
                    self.midnight = self.midnight.checked_add(DAY_NS)?;
                }
                self.before = ns;
                ns.checked_add(self.midnight)?
            }
        };
        Some(Time::from_ns(ns))
    }
}

impl Columns {
    /// TIME in seconds, and a name for the disk, as bcc and libbpf-tools print unless told
    /// otherwise.
    fn are_usual(&self) -> bool {
        self.clock == Clock::Seconds && self.disk && !self.short && !self.pattern && !self.file
    }

    /// A line without its file, and that file. Two blanks precede it, and as many a short latency:
    /// the first of them after which a row is whole.
    fn file<'a>(&self, line: &'a str) -> (&'a str, Option<&'a str>) {
        if !self.file {
            return (line, None);
        }
        let whole = |row: &str| {
            self.row(row).is_some_and(|row| {
                row.latency.contains('.')
                    && fixed(row.latency, 6).is_some()
                    && operation(row.kind, Some(512)).is_some()
            })
        };
        let mut blanks = line.match_indices("  ").map(|(place, _)| line.split_at(place));
        let found = blanks.find(|(row, file)| whole(row) && !file.trim().is_empty());
        let (row, file) = found.unwrap_or((line, ""));
        (row, Some(file.trim()).filter(|file| !matches!(*file, "" | "-")))
    }

    /// Whether the columns after TIME are those of a row.
    fn is_row_but_for_time(&self, line: &str) -> bool {
        let row = if self.short { self.short_row(line) } else { self.row(line) };
        row.is_some_and(|row| {
            fixed(row.latency, 6).is_some_and(|_| row.latency.contains('.') || self.short)
                && integer(row.pid).is_some()
                && (self.short || integer(row.bytes).is_some())
        })
    }

    /// TIME COMM PID DISK T SECTOR BYTES [P] [QUE] LAT, from both ends towards COMM.
    fn row<'a>(&self, line: &'a str) -> Option<IoLine<'a>> {
        let words = Words::of(line)?;
        let mut next = words.count();
        let mut right = || {
            next = next.checked_sub(1)?;
            words.get(next)
        };
        let time = words.get(0)?;
        let mut latency = right()?;
        let mut queue = if self.queue { Some(right()?) } else { None };
        let mut pattern = if self.pattern { Some(right()?) } else { None };
        let mut bytes = right()?;
        let mut sector = right()?;
        let kind = if sector.starts_with(|c: char| c.is_ascii_alphabetic()) {
            // BYTES ran into the column after it, so everything is one place to the right.
            let kind = sector;
            sector = bytes;
            let glued = pattern.as_mut().or(queue.as_mut()).unwrap_or(&mut latency);
            (bytes, *glued) = unglue(glued)?;
            kind
        } else {
            right()?
        };
        let mut disk = right()?;
        let pid = if disk.bytes().all(|b| b.is_ascii_digit()) {
            // Old versions leave DISK empty where the kernel had no name.
            std::mem::take(&mut disk)
        } else {
            right()?
        };
        let comm = match next.checked_sub(1)? {
            0 => "",
            last => words.between(1, last)?,
        };
        Some(IoLine { time, comm, pid, disk, kind, sector, bytes, queue, latency })
    }

    /// TIME [DISK | MAJOR MINOR] COMM PID LAT.
    fn short_row<'a>(&self, line: &'a str) -> Option<IoLine<'a>> {
        let words = Words::of(line)?;
        let (pid, latency) = (words.count().checked_sub(2)?, words.count().checked_sub(1)?);
        let (disk, comm) = match (self.disk, self.numbers) {
            (_, true) => (words.between(1, 2)?, 3),
            (true, _) => (words.get(1)?, 2),
            _ => ("", 1),
        };
        let last = pid.checked_sub(1)?;
        let comm = if comm > last { "" } else { words.between(comm, last)? };
        let (time, pid, latency) = (words.get(0)?, words.get(pid)?, words.get(latency)?);
        let (kind, sector, bytes, queue) = ("", "", "", None);
        Some(IoLine { time, comm, pid, disk, kind, sector, bytes, queue, latency })
    }
}

/// Whether the last column contains more digits than any latency has, with BYTES before it or
/// without: the tool read a kernel structure at the wrong offset.
fn is_impossible(line: &str) -> bool {
    const MOST_DIGITS: usize = 15;
    let last = line.split_ascii_whitespace().next_back().unwrap_or_default();
    let whole = last.split('.').next().unwrap_or_default();
    whole.len() > MOST_DIGITS && whole.bytes().all(|b| b.is_ascii_digit())
}

/// Splits BYTES from what ran into it. A length is whole sectors, so if seven digits are not,
/// eight were printed.
fn unglue(text: &str) -> Option<(&str, &str)> {
    [BYTES_WIDTH, BYTES_WIDTH + 1].into_iter().find_map(|width| {
        let (bytes, after) = text.split_at_checked(width)?;
        let whole = integer(bytes)?.is_multiple_of(SECTOR_BYTES);
        (whole && !after.is_empty()).then_some((bytes, after))
    })
}

/// The operation after T; what moves no data can be neither read nor write.
fn operation(kind: &str, bytes: Option<u32>) -> Option<(Op, Flags)> {
    let (op, flags) = Flags::from_rwbs(kind)?;
    Some(match (op, bytes) {
        (Op::Read, Some(0)) => (Op::Other, flags),
        (Op::Write, Some(0)) => (Op::Flush, flags),
        _ => (op, flags),
    })
}

/// The name of a device, empty if the tool did not know it.
fn known(disk: &str) -> &str {
    if matches!(disk, "<unknown>" | "Unknown" | "?") { "" } else { disk }
}

/// The step of a printed latency in milliseconds: `77.96` is exact to 10 us.
fn step(latency: &str) -> Nanos {
    let decimals = latency.split_once(['.', ',']).map_or(0, |(_, decimals)| decimals.len().min(6));
    Nanos(10i64.pow(6 - decimals as u32))
}
