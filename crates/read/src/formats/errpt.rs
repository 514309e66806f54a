//! errpt of AIX: errors of disks, paths, adapters and volume groups.
//!
//! ## Reads
//! The list `IDENTIFIER TIMESTAMP T C RESOURCE_NAME DESCRIPTION` and its rows, also without the
//! heading, and the entries of `errpt -a`. An error of a known description becomes a fact
//! `kernel.log.KIND` of the disk or adapter that it names, like those of Linux (format
//! `kernel-log`): `io-error` (`DISK OPERATION ERROR`, `I/O ERROR DETECTED BY LVM`, a status area
//! that could not be written, a stale partition), `medium` (blocks relocated), `hardware` (`DISK
//! FAILURE`), `offline` (a physical volume is missing, the quorum of a volume group is lost),
//! `path` (a path failed, an array switched its controller), `link` (of a Fibre Channel, SAS or
//! SCSI adapter), `controller` (such an adapter, or a component of the storage subsystem),
//! `reserved` (`REQUESTED OPERATION CANNOT BE PERFORMED`). `kernel.log.lines` counts the rows.
//!
//! Of an entry the sense data decide: the status of the device (0x18 is a reservation conflict,
//! 0x02 sense data of its own, whose key 3 is a medium error) or of the adapter (transport fault,
//! timeout, no response). Without them the label does: `DISK_ERR1` and `DISK_ERR4` of any bus are
//! the medium, `DISK_ERR2` and `DISK_ERR3` a disk that does not respond, `DISK_ERR10` a
//! reservation.
//!
//! ## How to capture
//! `errpt`, `errpt -d H`, `errpt -N hdisk3`; `errpt -a` has more.
//!
//! ## Versions
//! AIX 4 to 7, VIOS.
//!
//! ## Caveats
//! `T` is P (permanent), T (temporary), U (unknown) or I (information); C is H (hardware), S
//! (software), O or U. The newest row comes first, and a time has no seconds. `DISK OPERATION
//! ERROR` is the description of several errors, from a bad block to a disk that does not respond:
//! only `errpt -a` has their labels (`SC_DISK_ERR2`) and sense data. `LVDD` is the driver of
//! logical volumes: its errors name no disk in the list. Sense data of adapters are not decoded.
//!
//! ## Not in this output
//! Durations; which disk an error of the driver of logical volumes is about.

mod entry;

use iowhy_model::{Message, MessageKind};

use self::entry::Entry;

use crate::drive::log_events::LogEvents;
use crate::program::*;

pub(super) const FORMAT: Format = Format::program::<Errpt>(
    "errpt of AIX: errors of disks, paths, adapters",
    Level::E,
    &[
        "IDENTIFIER", "LABEL:", CLASSES[0], CLASSES[1], CLASSES[2], CLASSES[3], CLASSES[4],
        CLASSES[5],
    ],
    |lines| {
        let Some((first, rest)) = lines.split_first() else { return Detect::No };
        if entry::label(first).is_some() {
            let next = rest.iter().find(|line| !line.trim().is_empty());
            return next.map_or(Detect::NeedLine, |line| entry::is_second(line).into());
        }
        let is_error = || CLASSES.iter().any(|classes| first.contains(classes));
        let is_row = || is_error() && row(first).is_some_and(|row| kind(&row).is_some());
        (is_heading(first) || is_row()).into()
    },
)
.resumed();

/// Type and class of errors, as a row has them.
const CLASSES: [&str; 6] = [" P H ", " P S ", " T H ", " T S ", " U H ", " U S "];

/// Drivers of the way to disks: parents of `hdisk`, as AIX names its devices.
const ADAPTERS: [&str; 9] =
    ["fcs", "fscsi", "hdisk", "iscsi", "sas", "scsi", "sisscsia", "ssa", "vscsi"];

/// Descriptions as the templates of AIX have them, without the letters' case, and whether any
/// resource may have it: links and adapters of networks have the same words.
const KINDS: [(MessageKind, &str, bool); 19] = [
    (MessageKind::IoError, "DISK OPERATION ERROR", true),
    (MessageKind::IoError, "SSA DISK OPERATION ERROR", true),
    (MessageKind::IoError, "ARRAY OPERATION ERROR", true),
    (MessageKind::IoError, "I/O ERROR DETECTED BY LVM", true),
    (MessageKind::IoError, "FAILED TO WRITE VOLUME GROUP STATUS AREA", true),
    (MessageKind::IoError, "PHYSICAL PARTITION MARKED STALE", true),
    (MessageKind::Medium, "HARDWARE DISK BLOCK RELOCATION ACHIEVED", true),
    (MessageKind::Medium, "SOFTWARE DISK BLOCK RELOCATION ACHIEVED", true),
    (MessageKind::Hardware, "DISK FAILURE", true),
    (MessageKind::Offline, "PHYSICAL VOLUME DECLARED MISSING", true),
    (MessageKind::Offline, "QUORUM LOST, VOLUME GROUP CLOSING", true),
    (MessageKind::Path, "PATH HAS FAILED", true),
    (MessageKind::Path, "ARRAY ACTIVE CONTROLLER SWITCH", true),
    (MessageKind::Path, "ARRAY CONTROLLER SWITCH FAILURE", true),
    (MessageKind::Link, "LINK ERROR", false),
    (MessageKind::Link, "SCSI BUS ERROR", false),
    (MessageKind::Controller, "ADAPTER ERROR", false),
    (MessageKind::Controller, "SUBSYSTEM COMPONENT FAILURE", false),
    (MessageKind::Reserved, "REQUESTED OPERATION CANNOT BE PERFORMED", false),
];

/// A row of the list.
struct Row<'l> {
    /// `2021-12-09 16:05`.
    stamp: String,
    class: &'l str,
    resource: &'l str,
    description: String,
}

fn is_heading(line: &str) -> bool {
    let names = ["IDENTIFIER", "TIMESTAMP", "T", "C", "RESOURCE_NAME", "DESCRIPTION"];
    line.split_whitespace().eq(names)
}

/// The row of a line: `B6267342   1209160521 P H hdisk3         DISK OPERATION ERROR`.
fn row(line: &str) -> Option<Row<'_>> {
    let mut words = line.split_whitespace();
    let (identifier, time) = (words.next()?, words.next()?);
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'A'..=b'F').contains(&byte);
    let is_known = identifier.len() == 8 && identifier.bytes().all(is_hex);
    let (class, by) = (words.next()?, words.next()?);
    let is_classed = ["I", "P", "T", "U"].contains(&class) && ["H", "O", "S", "U"].contains(&by);
    let (resource, first) = (words.next()?, words.next()?);
    let description = words.fold(first.to_string(), |text, word| text + " " + word);
    let stamp = stamp(time).filter(|_| is_known && is_classed)?;
    Some(Row { stamp, class, resource, description })
}

/// A time without separators: month, day, hour, minute, year, two digits each.
fn stamp(time: &str) -> Option<String> {
    integer(time).filter(|_| time.len() == 10)?;
    let part = |place: usize| time.get(2 * place..2 * place + 2);
    let is_in = |place: usize, range: std::ops::RangeInclusive<u64>| {
        part(place).and_then(integer).is_some_and(|number| range.contains(&number))
    };
    let is_time = is_in(0, 1..=12) && is_in(1, 1..=31) && is_in(2, 0..=23) && is_in(3, 0..=59);
    let (month, day, hour, minute, year) = (part(0)?, part(1)?, part(2)?, part(3)?, part(4)?);
    // Two digits above 90 are of the last century: AIX 4 is of 1994.
    let century = if is_in(4, 90..=99) { "19" } else { "20" };
    is_time.then(|| format!("{century}{year}-{month}-{day} {hour}:{minute}"))
}

/// The kind of an error, unless it is information.
fn kind(row: &Row) -> Option<MessageKind> {
    kind_of(&row.description, row.resource).filter(|_| row.class != "I")
}

/// The kind of what a description says of a resource.
fn kind_of(description: &str, resource: &str) -> Option<MessageKind> {
    let description = description.to_ascii_uppercase();
    let is_of_disks = || ADAPTERS.iter().any(|driver| numbered(resource, driver));
    let known = KINDS.iter().find(|(_, words, _)| *words == description);
    let known = known.filter(|(.., anywhere)| *anywhere || is_of_disks());
    known.map(|(kind, ..)| *kind)
}

/// `hdisk3`: a driver's name and a number.
fn numbered(resource: &str, driver: &str) -> bool {
    resource.strip_prefix(driver).and_then(integer).is_some()
}

#[derive(Default)]
struct Errpt {
    log_events: LogEvents,
    /// The entry being read.
    entry: Option<Entry>,
}

impl Errpt {
    /// Counts a row or an entry. The newest is the first.
    fn count(&mut self, stamp: &str) {
        let newest = std::mem::take(&mut self.log_events.end);
        self.log_events.line(if newest.is_empty() { stamp } else { &newest });
    }

    fn add(
        &mut self,
        kind: MessageKind,
        resource: &str,
        text: (&str, &str),
        place: String,
        sink: &mut dyn Sink,
    ) {
        let (stamp, text) = text;
        let is_device = resource.ends_with(|c: char| c.is_ascii_digit());
        let name = if is_device { resource } else { "" };
        self.log_events.add(kind, name, Message::new(stamp, text), place, sink);
    }

    /// Adds what the entry that was read reports.
    fn end(&mut self, sink: &mut dyn Sink) {
        let Some(entry) = self.entry.take() else { return };
        self.count(&entry.stamp);
        if let Some((kind, text)) = entry.log_event() {
            self.add(kind, &entry.resource, (&entry.stamp, &text), entry.place, sink);
        }
    }
}

impl Reader for Errpt {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if let Some(label) = entry::label(line) {
            self.end(sink);
            self.entry = Some(Entry::new(label, sink.here()));
            return Step::Consumed;
        }
        if is_heading(line) {
            self.end(sink);
            return Step::Consumed;
        }
        if self.entry.is_some() && entry::is_end(line) {
            self.end(sink);
            return Step::Consumed;
        }
        let Some(row) = row(line) else {
            if self.entry.as_mut().is_some_and(|entry| entry.line(line)) {
                return Step::Consumed;
            }
            let is_meant = CLASSES.iter().any(|classes| line.contains(classes));
            let has_resource = ADAPTERS.iter().chain(&["LVDD"]).any(|name| line.contains(name));
            return Step::skipped_if(is_meant && has_resource, "the row has no readable time");
        };
        self.end(sink);
        self.count(&row.stamp);
        if let Some(kind) = kind(&row) {
            let text = format!("{}: {}", row.resource, row.description);
            self.add(kind, row.resource, (&row.stamp, &text), sink.here(), sink);
        }
        Step::Consumed
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.end(sink);
        self.log_events.close(sink);
    }
}
