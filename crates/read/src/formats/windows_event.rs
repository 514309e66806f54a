//! Windows' system log: messages of its disk drivers.
//!
//! ## Reads
//! The texts of events of `disk`, `storport` and its miniports (`stornvme`, `storahci`, `vioscsi`),
//! `iaStor`, `Ntfs`, anywhere in a line: from the Event Viewer, `Get-WinEvent`, `wevtutil`, mails
//! of monitoring. A message becomes a fact `kernel.log.KIND` of the disk or port that it names,
//! like those of Linux (format `kernel-log`): `timeout` (event 129, a reset because a request did
//! not complete; 9), `retried` (153), `medium` (7, a bad block), `controller` (11), `io-error` (51,
//! and 140 of Ntfs), `offline` (157, removed). In other languages than English the event
//! number is used, if it precedes the text (`Ereignis-ID: 153`).
//!
//! ## How to capture
//! Event Viewer, Windows Logs, System; `Get-WinEvent -LogName System | Where Id -in
//! 7,9,11,51,129,153,157 | Format-List`.
//!
//! ## Versions
//! Windows 7 to 11, Server 2008 to 2025.
//!
//! ## Caveats
//! Event 129 is written when a request has been in flight for the time limit of the driver (usually
//! 60 s, `TimeoutValue`), and its port is reset: suspect the disk, the path, or in a guest the
//! storage of the host. 153: one request was tried again, and may have succeeded. `Disk 1` is
//! Windows' number of a disk, `Harddisk1\DR1` the same, `RaidPort0` a port with all its disks.
//!
//! ## Not in this output
//! Any duration; the disk at a port. Missing events: pasted logs are usually a selection.

use std::borrow::Cow;

use iowhy_model::{Message, MessageKind};

use crate::drive::log_events::{Kinds, LogEvents, kind_of};
use crate::program::*;

pub(super) const FORMAT: Format = Format::program::<WindowsEvent>(
    "Windows' system log: resets, retries, bad blocks of disks",
    Level::E,
    &[
        "\\Device\\", "Disk ", "transaction log", "Log Name", "LogName", "Source", "ProviderName",
        "Date", "TimeCreated", "ID", "Id", "Task Category", "Level", "Keywords", "User",
        "Computer",
    ],
    sniff,
)
.resumed();

/// Words that make a text a log event of a kind.
const KINDS: &Kinds = &[
    (MessageKind::Timeout, &["Reset to device, \\Device\\", ", was issued"]),
    (MessageKind::Retried, &["The IO operation at logical block address ", " was retried"]),
    (MessageKind::Timeout, &["\\Device\\", " did not respond within the timeout period"]),
    (MessageKind::Medium, &["The device, \\Device\\", " has a bad block"]),
    (MessageKind::Controller, &["The driver detected a controller error on \\Device\\"]),
    (
        MessageKind::IoError,
        &["An error was detected on device \\Device\\", " during a paging operation"],
    ),
    (MessageKind::IoError, &["failed to flush data to the transaction log"]),
    (MessageKind::Offline, &["Disk ", " has been surprise removed"]),
];
/// What the Event Viewer and PowerShell print before the text of an event.
const FIELDS: [&str; 14] = [
    "Log Name", "LogName", "Source", "ProviderName", "Date", "TimeCreated", "Event ID", "Id",
    "Task Category", "Level", "LevelDisplayName", "Keywords", "User", "Computer",
];
/// Lines of an event before its text.
const BANNER_LINES: usize = 14;

/// Of what kind the events of disk drivers are, by number.
const BY_NUMBER: [(u32, MessageKind); 7] = [
    (7, MessageKind::Medium),
    (9, MessageKind::Timeout),
    (11, MessageKind::Controller),
    (51, MessageKind::IoError),
    (129, MessageKind::Timeout),
    (153, MessageKind::Retried),
    (157, MessageKind::Offline),
];

fn sniff(lines: &[&str]) -> Detect {
    let Some(first) = lines.first() else { return Detect::No };
    if kind_of_line(first).is_some() {
        return Detect::Yes;
    }
    if field(first).is_none() {
        return sniff_number(lines);
    }
    match lines.iter().any(|line| kind_of_line(line).is_some()) {
        true => Detect::Yes,
        false if lines.len() < BANNER_LINES && lines.iter().all(|line| is_of_an_event(line)) => {
            Detect::NeedLine
        }
        false => Detect::No,
    }
}

/// An event in any language: `SOME ID: 153`, and after it a text that names a device.
fn sniff_number(lines: &[&str]) -> Detect {
    let [first, rest @ ..] = lines else { return Detect::No };
    if numbered(first).is_none() {
        return Detect::No;
    }
    match rest.iter().any(|line| line.contains("\\Device\\")) {
        true => Detect::Yes,
        false if lines.len() < BANNER_LINES && rest.iter().all(|line| line.contains(':')) => {
            Detect::NeedLine
        }
        false => Detect::No,
    }
}

/// The kind of the event whose number a line contains: `Ereignis-ID: 153`.
fn numbered(line: &str) -> Option<MessageKind> {
    let (name, number) = line.trim().split_once([':', '：'])?;
    let number: u32 = number.trim().parse().ok()?;
    let is_number = name.trim().ends_with("ID") || name.trim().ends_with("Id");
    BY_NUMBER.iter().find(|(known, _)| *known == number && is_number).map(|(_, kind)| *kind)
}

/// The kind of log event in a line. Every line of a document is tried.
fn kind_of_line(line: &str) -> Option<MessageKind> {
    let may_be =
        line.contains("\\Device\\") || line.contains("Disk ") || line.contains("transaction log");
    if may_be { kind_of(KINDS, line) } else { None }
}

/// `Event ID:      129`: the name of a field and its value.
fn field(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(':')?;
    let name = name.trim();
    FIELDS.contains(&name).then_some((name, value.trim()))
}

fn is_of_an_event(line: &str) -> bool {
    let text = line.trim();
    text.is_empty()
        || field(text).is_some()
        || text.starts_with("Description:")
        || text.starts_with("Message")
}

/// The device that a text is about: `Disk 1`, also for `Harddisk1\DR1`; `RaidPort0`,
/// `Ide\IdePort1`.
fn device(text: &str) -> Cow<'_, str> {
    if let Some(rest) = text.find("Disk ").and_then(|at| text.get(at..)) {
        let digits = rest.bytes().skip("Disk ".len()).take_while(u8::is_ascii_digit).count();
        if digits > 0 {
            return rest.get(.."Disk ".len() + digits).unwrap_or_default().into();
        }
    }
    // The disk's number is there in every language.
    let before =
        text.split_once("(PDO").and_then(|(before, _)| before.split_whitespace().next_back());
    if let Some(number) = before.filter(|word| integer(word).is_some()) {
        return format!("Disk {number}").into();
    }
    let Some((_, rest)) = text.split_once("\\Device\\") else { return "".into() };
    let end = rest.find([',', ' ', ')']).unwrap_or(rest.len());
    let name = rest.get(..end).unwrap_or_default().trim_end_matches('.');
    let number = name.strip_prefix("Harddisk").and_then(|rest| rest.split('\\').next());
    number.map_or(name.into(), |number| format!("Disk {number}").into())
}

#[derive(Default)]
struct WindowsEvent {
    /// Its kind, as far as its number shows it.
    numbered: Option<MessageKind>,
    log_events: LogEvents,
}

impl Reader for WindowsEvent {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let by_number = self.numbered.filter(|_| line.contains("\\Device\\"));
        if let Some(kind) = kind_of_line(line).or(by_number) {
            self.numbered = None;
            self.log_events.lines += 1;
            // In a table the date precedes the text.
            let words: Vec<&str> = line.split_whitespace().take(3).collect();
            let stamps =
                (1..=words.len()).rev().map(|n| words.get(..n).unwrap_or_default().join(" "));
            let stamp = stamps.into_iter().find(|stamp| WallTime::read(stamp).is_some());
            let text = Message::new(stamp.as_deref().unwrap_or(&self.log_events.end), line.trim());
            self.log_events.add(kind, &device(line), text, sink.here(), sink);
            return Step::Consumed;
        }
        // That of the event whose text comes next.
        if let Some(("Date" | "TimeCreated", date)) = field(line.trim()) {
            self.log_events.end = date.to_string();
        }
        self.numbered = numbered(line).or(self.numbered);
        let of_it =
            is_of_an_event(line) || self.numbered.is_some_and(|_| line.contains([':', '：']));
        if of_it { Step::Consumed } else { Step::NotMine }
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.log_events.close(sink);
    }
}
