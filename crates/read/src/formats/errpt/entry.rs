//! An entry of `errpt -a`: labels and values, and the device's own answer.

use iowhy_model::MessageKind;

use super::{ADAPTERS, kind_of, numbered};
use crate::{WallTime, integer};

/// What precedes the value on a line.
const FIELDS: [&str; 14] = [
    "Class", "Date/Time", "IDENTIFIER", "Location", "Machine Id", "Node Id", "Resource Class",
    "Resource Name", "Resource Type", "Sequence Number", "Type", "VPD", "WPAR", "LABEL",
];
/// Headings of the text below; the first is that of the description.
const HEADINGS: [&str; 11] = [
    DESCRIPTION, "Probable Causes", "User Causes", "Install Causes", "Failure Causes",
    "Recommended Actions", "Detail Data", "Duplicates", "Number of duplicates",
    "Time of first duplicate", "Time of last duplicate",
];
const DESCRIPTION: &str = "Description";
/// The heading of the numbers that the device answered with, in words of 16 bits.
const SENSE: &str = "SENSE DATA";
/// Of these so many are read: up to the additional sense.
const WORDS: usize = 24;
/// Where the status is, after a command of 16 and of 12 bytes.
const STATUS_AT: [usize; 2] = [12, 8];
/// The longest command of the second.
const SHORT_COMMAND: u64 = 12;
/// Labels of adapters, without their numbers (`FCS_ERR6`).
const OF_ADAPTERS: [&str; 6] =
    ["FCP_ERR", "FCS_ERR", "FSCSI_ERR", "SAS_ERR", "SCSI_ERR", "VSCSI_ERR"];

/// What is read of an entry.
#[derive(Default)]
pub(super) struct Entry {
    label: String,
    /// The line of the label.
    pub(super) place: String,
    pub(super) stamp: String,
    class: String,
    pub(super) resource: String,
    description: String,
    words: Vec<u64>,
    /// The heading of the lines being read.
    heading: String,
}

/// The label that an entry begins with: `LABEL:          SC_DISK_ERR4`.
pub(super) fn label(line: &str) -> Option<&str> {
    let label = line.trim().strip_prefix("LABEL:")?.trim();
    let is_letter = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
    (label.len() > 3 && label.bytes().all(is_letter)).then_some(label)
}

/// Whether a line is the second of an entry.
pub(super) fn is_second(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("IDENTIFIER:") || line.starts_with("Date/Time:")
}

/// The line between two entries.
pub(super) fn is_end(line: &str) -> bool {
    let line = line.trim();
    line.len() > 20 && line.bytes().all(|byte| byte == b'-')
}

impl Entry {
    pub(super) fn new(label: &str, place: String) -> Entry {
        Entry { label: label.to_string(), place, ..Entry::default() }
    }

    /// Reads a line, if it is of the entry.
    pub(super) fn line(&mut self, line: &str) -> bool {
        let text = line.trim();
        let field = text.split_once(':').filter(|(name, _)| FIELDS.contains(name));
        if let Some((name, value)) = field {
            let value = value.trim();
            match name {
                "Date/Time" => {
                    let stamp = WallTime::read(value).and_then(WallTime::stamp);
                    self.stamp = stamp.unwrap_or_else(|| value.to_string());
                }
                "Type" => self.class = value.to_string(),
                "Resource Name" => self.resource = value.to_string(),
                _ => {}
            }
            return true;
        }
        if HEADINGS.contains(&text) {
            self.heading = text.to_string();
            return true;
        }
        if self.heading == DESCRIPTION && self.description.is_empty() && !text.is_empty() {
            self.description = text.to_string();
            return true;
        }
        if text == SENSE {
            self.heading = text.to_string();
        } else if self.heading == SENSE && self.words.len() < WORDS {
            let word = |word| Some(word).filter(|word: &&str| word.len() == 4);
            let number = |word: &str| u64::from_str_radix(word, 16).ok();
            let words = text.split(' ').map_while(word).map_while(number);
            self.words.extend(words.take(WORDS));
        }
        // Causes, actions and numbers are in capitals or indented.
        line.starts_with([' ', '\t'])
            || text.contains("....")
            || !text.bytes().any(|byte| byte.is_ascii_lowercase())
    }

    /// What the entry reports, if that is trouble of a disk or of the way to it, in words.
    pub(super) fn log_event(&self) -> Option<(MessageKind, String)> {
        if self.class == "INFO" || self.class.is_empty() {
            return None;
        }
        let answer = self.answer();
        let kind = match &answer {
            Some((kind, _)) => *kind,
            None => self.by_label().or_else(|| self.by_description()),
        };
        let words = answer.map(|(_, words)| format!(", {words}")).unwrap_or_default();
        let Entry { label, resource, description, .. } = self;
        Some((kind?, format!("{resource}: {label} {description}{words}")))
    }

    /// What the label of a disk means, whatever its bus is: 1 is its medium, 2 and 3 that it does
    /// not respond, 4 a bad block, 10 that another host has reserved it.
    fn by_label(&self) -> Option<MessageKind> {
        let (bus, number) = self.label.split_once("DISK_ERR")?;
        let is_of_a_bus = bus.is_empty() || bus.ends_with('_');
        match number {
            "1" | "4" => Some(MessageKind::Medium),
            "2" | "3" => Some(MessageKind::Timeout),
            "10" => Some(MessageKind::Reserved),
            _ => None,
        }
        .filter(|_| is_of_a_bus)
    }

    fn by_description(&self) -> Option<MessageKind> {
        let of_adapter = || {
            let begins = |words: &&str| {
                self.label.strip_prefix(*words).is_some_and(|number| integer(number).is_some())
            };
            let is_adapter = ADAPTERS.iter().any(|driver| numbered(&self.resource, driver));
            is_adapter && OF_ADAPTERS.iter().any(begins)
        };
        kind_of(&self.description, &self.resource)
            .or_else(|| of_adapter().then_some(MessageKind::Controller))
    }

    /// What the sense data say, and the trouble that it is, if it is any (scsi_buf.h of AIX: the
    /// length of the command, the command, which status is valid, the device's and the adapter's
    /// status, and the sense data of the device).
    fn answer(&self) -> Option<(Option<MessageKind>, String)> {
        let at = |place: usize| self.words.get(place).copied();
        let is_short = at(0)? >> 8 <= SHORT_COMMAND;
        let known = STATUS_AT.iter().filter(|place| **place > 8 || is_short);
        known.copied().find_map(|place| {
            let (status, adapter) = (at(place)?, at(place + 1)? >> 8);
            match status >> 8 {
                1 => self.of_device(status & 0xff, place + 2),
                2 => of_adapter(adapter),
                _ => None,
            }
        })
    }

    /// By the status of the device (SAM-5), and its sense data (SPC-4).
    fn of_device(&self, status: u64, sense: usize) -> Option<(Option<MessageKind>, String)> {
        let (kind, words) = match status {
            0x02 => return self.of_sense(sense),
            0x08 => (MessageKind::IoError, "the device is busy"),
            0x18 => (MessageKind::Reserved, "reservation conflict"),
            0x28 => (MessageKind::IoError, "the queue of the device is full"),
            0x40 => (MessageKind::IoError, "the command was aborted"),
            _ => return None,
        };
        Some((Some(kind), format!("{words} (SCSI status 0x{status:02x})")))
    }

    fn of_sense(&self, place: usize) -> Option<(Option<MessageKind>, String)> {
        let (code, key) = (self.words.get(place)? >> 8 & 0x7f, self.words.get(place + 1)? >> 8);
        let is_fixed = matches!(code, 0x70 | 0x71);
        let kind = match key & 0xf {
            0x2 => Some(MessageKind::NotReady),
            0x3 => Some(MessageKind::Medium),
            0x4 => Some(MessageKind::Hardware),
            0x5 => Some(MessageKind::Refused),
            0x7 => Some(MessageKind::Denied),
            // Recovered, or something to know: nothing failed.
            0x1 | 0x6 => None,
            _ => Some(MessageKind::IoError),
        };
        let additional = self.words.get(place + 6).copied().unwrap_or(0);
        let [asc, ascq] = [additional >> 8, additional & 0xff];
        let words = format!("sense key 0x{:x}, additional sense {asc:02x}h/{ascq:02x}h", key & 0xf);
        is_fixed.then_some((kind, words))
    }
}

/// By the status of the adapter: one number each, of parallel SCSI one bit each.
fn of_adapter(status: u64) -> Option<(Option<MessageKind>, String)> {
    let (kind, words) = match status {
        0x01 => (MessageKind::Controller, "host bus error"),
        0x02 => (MessageKind::Link, "transport fault"),
        0x03 => (MessageKind::Timeout, "the command timed out"),
        0x04 | 0x08 => (MessageKind::Timeout, "no response from the device"),
        0x05 | 0x06 | 0x10 | 0x20 => (MessageKind::Controller, "the adapter failed"),
        0x80 => (MessageKind::Controller, "the bus was reset"),
        _ => return None,
    };
    Some((Some(kind), format!("{words} (adapter status 0x{status:02x})")))
}
