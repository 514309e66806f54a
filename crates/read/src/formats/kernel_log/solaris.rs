//! The SCSI drivers of Solaris and illumos: a line that names the disk, and lines that say what
//! happened (usr/src/uts/common/io/scsi/impl/scsi_subr.c, scsi_log).

use std::collections::BTreeMap;

use iowhy_model::{Message, MessageKind};

use super::PlacedMessage;
use crate::integer;

/// Drives and disks remembered.
const REMEMBERED: usize = 1024;
/// How the disk drivers report a packet that was not completed, up to the reason (scsi_rname).
const TRANSPORT: &str = "SCSI transport failed: reason '";
/// How the driver of an array reports the same before the disk driver does.
const BELOW: &str = "Transport error:";

/// What the last lines were about.
#[derive(Default)]
pub(super) struct Solaris {
    /// The disk that the last heading named.
    disk: String,
    /// A line that syslog broke within its reason.
    cut: Option<String>,
    /// What the driver below the disk's reported last: the reason, the disk and the time.
    below: Option<[String; 3]>,
    /// Disks by target and unit of an array: `3,3`.
    disks: BTreeMap<String, Vec<String>>,
    /// Drives that an array reports as failed, by the same.
    failed: Vec<(String, PlacedMessage)>,
}

/// A path of the device tree: `/pci@1f,4000/scsi@3/sd@1,0`.
pub(super) fn path(message: &str) -> Option<&str> {
    let rest = message.strip_prefix("WARNING: ").unwrap_or(message);
    let first = rest.strip_prefix('/')?.split(['/', ' ', ':']).next()?;
    let (name, address) = first.split_once('@')?;
    let is_name = name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-,_".contains(&b));
    (is_name && !name.is_empty() && !address.is_empty()).then_some(rest)
}

/// The path and the disk of `WARNING: /pci@1f,4000/scsi@3/sd@1,0 (sd1):`, and what follows.
pub(super) fn heading(message: &str) -> Option<(&str, &str, &str)> {
    let (path, rest) = path(message)?.split_once(" (")?;
    let (disk, rest) = rest.split_once("):")?;
    let is_disk = ["ssd", "sd", "dad", "st"]
        .iter()
        .any(|driver| disk.strip_prefix(driver).is_some_and(|number| integer(number).is_some()));
    (is_disk && !path.contains(' ')).then_some((path, disk, rest))
}

/// The place of a drive that the firmware of an array reports as failed: `3,3` of `soc1: message:
/// FW - disk drive (3, 3) failed`.
pub(super) fn failed_drive(message: &str) -> Option<String> {
    let (head, rest) = message.split_once(" FW - disk drive (")?;
    let (place, rest) = rest.split_once(')')?;
    let (target, unit) = place.split_once(',')?;
    let (target, unit) = (integer(target.trim())?, integer(unit.trim())?);
    let is_failed = head.ends_with("message:") && rest.trim_start().starts_with("failed");
    is_failed.then(|| format!("{target},{unit}"))
}

/// The kind of a packet's reason.
fn of_reason(reason: &str) -> MessageKind {
    match reason {
        "timeout" | "incomplete" => MessageKind::Timeout,
        "tran_err" => MessageKind::Link,
        "dev_gone" => MessageKind::Offline,
        "reset" | "aborted" | "unexpected_bus_free" => MessageKind::Controller,
        _ => MessageKind::Command,
    }
}

/// The kind of what a line below a heading says.
fn kind(text: &str) -> Option<MessageKind> {
    let reason = text.strip_prefix(TRANSPORT).and_then(|rest| rest.split_once('\''));
    let below = text.strip_prefix(BELOW).map(str::trim);
    if let Some(reason) = reason.map(|(reason, _)| reason).or(below) {
        return Some(of_reason(reason));
    }
    if text.starts_with("disk not responding to selection") {
        return Some(MessageKind::Timeout);
    }
    let (_, key) = text.split_once("Sense Key: ").filter(|(before, _)| before.len() < 4)?;
    match key {
        _ if key.starts_with("Media Error") => Some(MessageKind::Medium),
        _ if key.starts_with("Hardware Error") => Some(MessageKind::Hardware),
        _ => None,
    }
}

impl Solaris {
    /// Reads a message. Gives the log event that it is with the disk that it is of.
    pub(super) fn message(
        &mut self,
        stamp: &str,
        message: &str,
        place: &str,
    ) -> Option<(MessageKind, String, Message)> {
        let cut = self.cut.take();
        if let Some(drive) = failed_drive(message) {
            if self.failed.len() < REMEMBERED {
                let message = Message::new(stamp, message);
                self.failed.push((drive, PlacedMessage { message, place: place.to_string() }));
            }
            return None;
        }
        let mut text = message;
        if let Some((path, disk, rest)) = heading(message) {
            self.disk = disk.to_string();
            self.learn(path);
            // Line feed and tab, as syslog writes them.
            text = rest.trim_start_matches(['#', '0', '1', '2', ' ', '\t']);
        }
        if self.disk.is_empty() {
            return None;
        }
        let whole = cut.map(|cut| cut + text.trim_start());
        let text = whole.as_deref().unwrap_or(text).trim();
        if text.strip_prefix(TRANSPORT).is_some_and(|reason| !reason.contains('\'')) {
            self.cut = Some(text.to_string());
            return None;
        }
        let kind = kind(text)?;
        let reason = text.strip_prefix(BELOW).or_else(|| text.strip_prefix(TRANSPORT));
        let reason = reason.and_then(|reason| reason.trim().split('\'').next());
        let about = reason.map(|reason| [reason, &self.disk, stamp].map(str::to_string));
        if about.is_some() && self.below.take() == about {
            return None;
        }
        self.below = about.filter(|_| text.starts_with(BELOW));
        Some((kind, self.disk.clone(), Message::new(stamp, &format!("{}: {text}", self.disk))))
    }

    /// Remembers where in an array the disk is: `.../SUNW,pln@a0000000,78a516/ssd@3,3`.
    fn learn(&mut self, path: &str) {
        let mut parts = path.rsplit('/');
        let address = parts.next().and_then(|disk| disk.split_once('@'));
        let is_of_an_array = parts.next().is_some_and(|parent| parent.contains("pln@"));
        let Some((_, address)) = address.filter(|_| is_of_an_array) else { return };
        if self.disks.len() < REMEMBERED {
            let known = self.disks.entry(address.to_string()).or_default();
            if !known.contains(&self.disk) {
                known.push(self.disk.clone());
            }
        }
    }

    /// The drives that failed: by the name of the disk, if one disk is in that place, else by the
    /// place.
    pub(super) fn failed(&mut self) -> Vec<(String, PlacedMessage)> {
        let failed = std::mem::take(&mut self.failed).into_iter();
        let named =
            failed.map(|(place, message)| match self.disks.get(&place).map(Vec::as_slice) {
                Some([disk]) => (disk.clone(), message),
                _ => (format!("drive {place}"), message),
            });
        named.collect()
    }
}
