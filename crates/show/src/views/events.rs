//! One line per I/O, in the columns of biosnoop.
//!
//! ## Shows
//! Each request as it completed: time, submitting process, device, operation with its flags,
//! sector, size, time in the queue and time on the device. Latencies above the threshold of
//! `--over` (by default 500 ms) are red, those above 100 ms yellow. On a narrow terminal, or with
//! `--width`, columns are hidden, SECTOR first, then PID, BYTES, QUE and COMM; a line names them.
//! Output to a file has all columns and can be read again: `iowhy` reads it as `biosnoop`,
//! including queue time and losses.
//!
//! ## Units
//! TIME in seconds on the clock of the trace (TIMESTAMP, on request, and for a capture with the
//! time of day: local time unless `--utc` is given; the line below the heading has the date and the
//! offset from UTC), SECTOR in units of 512 bytes, BYTES in bytes, QUE (queue to issue, Q2D) and
//! LAT (issue to completion, D2C) in milliseconds. The QUE column is omitted if the source has no
//! queue times. P, on request, is `S` for an I/O that starts where the previous one on its device
//! ended, `R` for any other, `-` for the first. FILE, if files were traced, is the file that the
//! I/O reads or writes. A line above an I/O names its error. `-` means that the value is unknown
//! for this request; if the issue was not seen, LAT is the whole time from queue to completion and
//! QUE is `-`. An unknown process is `?` with PID 0, as in bcc.
//!
//! ## Read it like this
//! Latencies that climb from line to line (10, 20, 30 ms) with even steps in TIME are a queue that
//! drains: the workload. High latencies in even steps with nothing between them are caused by the
//! disk. TIME minus LAT is the issue time: if it directly follows the previous completion, the
//! device had one request at a time.

use std::collections::{BTreeSet, HashMap};
use std::io::{self, Write};

use iowhy_model::{
    DeviceId, Event, Level, Listing, NameTable, Nanos, Recording, Report, Sampling, Stage, Time,
};

use crate::clock::{self, Clock};
use crate::paint::{Line, TextStyle, Tone, clean};
use crate::{Colour, Style, View, device_label};

/// Entry in the list of views.
pub const VIEW: View = View {
    name: "events",
    summary: "one line per I/O, in the columns of biosnoop",
    manual: iowhy_model::manual!("events.rs"),
    write,
};

/// The mark of complete rows.
const UNFILTERED: &str = "# unfiltered: every I/O is listed";
/// Before the other names of devices, and before the time of the first I/O: the reader knows both.
const NAMES: &str = "# devices: ";
const FROM: &str = "# from ";
/// Slow enough to be red without a threshold of the user's: the default of the outlier script of
/// LucaCanali/Linux_tracing_scripts.
const OUTLIER: Nanos = Nanos(500_000_000);
/// Slow enough to be yellow: no healthy single request of any medium takes a tenth of a second.
const SLOW: Nanos = Nanos(100_000_000);

fn write(report: &Report, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let recording = &report.recording;
    let mut headed = false;
    let mut ends = style.pattern.clone();
    let traces = recording.listings.iter().filter(|one| one.source.level >= Level::D).count();
    for listing in &recording.listings {
        let any = listing.events.iter().any(|event| style.filter.event(event));
        let live = listing.source.level >= Level::D && traces == 1;
        let columns = Columns {
            queue: sees_queue(listing),
            file: style.files || listing.events.iter().any(|event| event.file.is_some()),
            clock: of_day(listing, style),
            hidden: &[],
        };
        let columns = columns.fitted(style);
        if style.heading && (any || live) {
            // Prose between two listings separates them when they are read again.
            if headed || style.part.is_some_and(|part| part > 0) {
                writeln!(out, "\n# {}, {}", clean(&listing.source.place()), listing.source.format)?;
            }
            headed = true;
            head(columns, style, out)?;
            if live && style.filter.is_open() && listing.source.sampling == Sampling::Traced {
                writeln!(out, "{UNFILTERED}")?;
            }
            if let Some(legend) = legend(recording, listing, style) {
                writeln!(out, "{NAMES}{}", clean(&legend))?;
            }
            let first = listing.events.iter().find_map(|event| event.completed);
            if let (Some(clock), Some(first)) = (columns.clock, first) {
                writeln!(out, "{FROM}{}", clock.words(first.ns(), &style.zone))?;
            }
        }
        let mut unfinished = 0;
        for event in listing.events.iter().filter(|event| style.filter.event(event)) {
            let pattern = ends.as_mut().map_or("", |ends| pattern(event, ends));
            if latency(event).is_none() {
                unfinished += 1;
                continue;
            }
            if let Some(errno) = event.error {
                writeln!(out, "# the I/O below failed: errno {errno}, {}", error_words(errno))?;
            }
            row(recording, event, pattern, columns, style, out)?;
        }
        if unfinished > 0 {
            writeln!(out, "# {unfinished} more without a completion time or a latency")?;
        }
        if listing.folded > 0 {
            writeln!(out, "# {} more were kept only as histograms", listing.folded)?;
        }
        losses(listing, style, out)?;
    }
    Ok(())
}

/// The other names of the devices that were asked for, and of those that did an I/O.
fn legend(recording: &Recording, listing: &Listing, style: &Style) -> Option<String> {
    let table = NameTable::of(recording);
    if table.is_empty() {
        return None;
    }
    let events = listing.events.iter().filter(|event| style.filter.event(event));
    let seen: BTreeSet<DeviceId> = events.map(|event| event.device).collect();
    let asked = style.filter.devices.iter().copied().chain(seen);
    let names = asked.filter_map(|id| recording.devices().get(id.index()));
    device_label::legend(&table, names.map(|device| device.name.as_str()))
}

/// The columns that not every listing has.
#[derive(Clone, Copy)]
struct Columns {
    queue: bool,
    file: bool,
    /// The clock, where the time of day is reported.
    clock: Option<Clock>,
    /// What is left out.
    hidden: &'static [(&'static str, usize)],
}

/// Columns that may be left out, the least important first, with their width and the blank after
/// them.
const DROPPED: [(&str, usize); 5] =
    [("SECTOR", 11), ("PID", 8), ("BYTES", 8), ("QUE(ms)", 8), ("COMM", 16)];

impl Columns {
    /// Without those that the canvas has no room for.
    fn fitted(self, style: &Style) -> Columns {
        let width = |(name, width): &(&str, usize)| {
            if *name == "QUE(ms)" && !self.queue { 0 } else { *width }
        };
        // Time, device, operation and latency are always shown.
        let time = if self.clock.is_some() { 16 } else { 11 };
        let pattern = if style.pattern.is_some() { 2 } else { 0 };
        let mut whole = time + 8 + 3 + 7 + pattern + DROPPED.iter().map(width).sum::<usize>();
        let mut hidden = 0;
        while style.fitted
            && whole > style.width
            && let Some(next) = DROPPED.get(hidden)
        {
            whole -= width(next);
            hidden += 1;
        }
        Columns { hidden: DROPPED.get(..hidden).unwrap_or_default(), ..self }
    }

    fn shows(&self, name: &str) -> bool {
        self.hidden.iter().all(|(hidden, _)| *hidden != name)
    }

    /// A line up to the latency: the cells of the columns that are shown.
    fn line(&self, cells: [&str; 7], pattern: &str, queue: &str) -> String {
        let [time, comm, pid, disk, op, sector, bytes] = cells;
        let mut text = format!("{time:<10} ");
        for (name, cell, width) in [
            ("COMM", comm, 15),
            ("PID", pid, 7),
            ("DISK", disk, 7),
            ("T", op, 2),
            ("SECTOR", sector, 10),
            ("BYTES", bytes, 7),
        ] {
            if self.shows(name) {
                text += &format!("{cell:<width$} ");
            }
        }
        text += pattern;
        if self.queue && self.shows("QUE(ms)") {
            text += &format!("{queue:>7} ");
        }
        text
    }
}

/// The time of day is printed if requested, and always for a capture that has it.
fn of_day(listing: &Listing, style: &Style) -> Option<Clock> {
    let zero = style.time_of_day.or_else(|| clock::zero(listing).filter(|_| style.clock_of_day));
    zero.map(|zero| Clock { zero, utc: true })
}

fn sees_queue(listing: &Listing) -> bool {
    let source = &listing.source;
    let traced = source.level >= Level::D;
    source.sees_queue && (traced || listing.events.iter().any(|event| event.queued.is_some()))
}

/// Issue to completion, or all of it if the issue was not seen.
fn latency(event: &Event) -> Option<Nanos> {
    event.latency(Stage::Device).or_else(|| event.latency(Stage::Total))
}

/// The letter of an I/O, with the blank after it.
fn pattern(event: &Event, ends: &mut HashMap<DeviceId, u64>) -> &'static str {
    let (Some(sector), Some(bytes)) = (event.sector, event.bytes) else { return "- " };
    match ends.insert(event.device, sector.saturating_add(u64::from(bytes) / 512)) {
        None => "- ",
        Some(end) if end == sector => "S ",
        Some(_) => "R ",
    }
}

/// An error by its name and what the kernel reports of it in its log (block/blk-core.c,
/// blk_errors).
fn error_words(errno: u16) -> &'static str {
    match errno {
        5 => "EIO, I/O error",
        11 => "EAGAIN, it would have had to wait",
        12 => "ENOMEM, out of kernel memory",
        16 => "EBUSY, out of device resources",
        28 => "ENOSPC, no space left",
        52 => "EBADE, a reservation conflict",
        61 => "ENODATA, a medium error",
        67 => "ENOLINK, the transport failed",
        84 => "EILSEQ, a protection error",
        95 => "EOPNOTSUPP, not supported",
        110 => "ETIMEDOUT, the driver gave up waiting",
        121 => "EREMOTEIO, a critical error of the target",
        _ => "a driver error",
    }
}

fn head(columns: Columns, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let time = if columns.clock.is_some() { "TIMESTAMP      " } else { "TIME(s)" };
    let pattern = if style.pattern.is_some() { "P " } else { "" };
    let file = if columns.file { "  FILE" } else { "" };
    let heads = [time, "COMM", "PID", "DISK", "T", "SECTOR", "BYTES"];
    let text = columns.line(heads, pattern, "QUE(ms)") + "LAT(ms)" + file;
    Line::new().with(&text, TextStyle::strong(Tone::Plain)).write(usize::MAX, style.colour, out)?;
    let hidden: Vec<&str> = columns.hidden.iter().map(|(name, _)| *name).collect();
    let hidden: Vec<&str> =
        hidden.into_iter().filter(|name| columns.queue || *name != "QUE(ms)").collect();
    if hidden.is_empty() {
        return Ok(());
    }
    writeln!(out, "# hidden: {}; widen the terminal", hidden.join(", "))
}

fn row(
    recording: &Recording,
    event: &Event,
    pattern: &str,
    columns: Columns,
    style: &Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (Some(completed), Some(latency)) = (event.completed, latency(event)) else { return Ok(()) };
    let device = recording.devices().get(event.device.index());
    let device = device.map(|device| device.name.as_str()).filter(|name| !name.is_empty());
    let comm = event.comm.map(|name| recording.text(name)).filter(|name| !name.is_empty());
    let number = |value: Option<u64>| value.map_or("-".to_string(), |value| value.to_string());
    let cells = [
        &when(completed, columns.clock, style),
        // Line feeds in a name would make two lines of one.
        &clean(comm.unwrap_or("?")),
        &event.pid.unwrap_or(0).to_string(),
        &clean(device.unwrap_or("<unknown>")).replace(char::is_whitespace, "_"),
        &event.flags.rwbs(event.op),
        &number(event.sector),
        &number(event.bytes.map(u64::from)),
    ];
    let waited = event.latency(Stage::Queue);
    let waited = waited.map_or("-".to_string(), |waited| format!("{:.3}", waited.ms()));
    let text = columns.line(cells.map(AsRef::as_ref), pattern, &waited);
    let tone = match latency {
        l if l > style.filter.over.unwrap_or(OUTLIER) => Tone::Bad,
        l if l > SLOW => Tone::Warn,
        _ => Tone::Plain,
    };
    let file = match event.file.filter(|_| columns.file) {
        Some(file) => format!("  {}", clean(recording.text(file))),
        None if columns.file => "  -".to_string(),
        None => String::new(),
    };
    if tone == Tone::Plain || style.colour == Colour::None {
        return writeln!(out, "{text}{:>7.3}{file}", latency.ms());
    }
    let number = format!("{:>7.3}", latency.ms());
    let line = Line::new().with(&text, Tone::Plain).with(&number, tone);
    line.with(&file, Tone::Plain).write(usize::MAX, style.colour, out)
}

/// The time on the trace's clock, or the time of day.
fn when(completed: Time, clock: Option<Clock>, style: &Style) -> String {
    match clock {
        Some(clock) => clock.of_day(completed.ns(), 6, &style.zone),
        None => format!("{:.6}", completed.seconds()),
    }
}

/// What was lost, in the words of bcc's own log event, which is read again with the rest.
fn losses(listing: &Listing, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    for loss in &listing.source.losses {
        let text = format!("lost {} events ({})", loss.count, loss.what);
        Line::new().with(&text, TextStyle::strong(Tone::Bad)).write(
            usize::MAX,
            style.colour,
            out,
        )?;
    }
    let source = &listing.source;
    if source.skipped > 0 && !listing.events.is_empty() {
        let (format, skipped) = (&source.format, source.skipped);
        writeln!(out, "# {skipped} lines of {format} could not be used")?;
    }
    Ok(())
}
