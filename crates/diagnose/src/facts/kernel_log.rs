//! The kernel's complaints as lines with a clock, a sector and, where it can be told, a disk.

use std::collections::BTreeMap;

use iowhy_model::{Message, MessageKind, Recording, key};

use crate::facts::disk_names;
use crate::facts::reading::FactReading;

/// A complaint of the kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct LogLine<'a> {
    /// What it is about.
    pub kind: MessageKind,
    /// The disk, if the message or its neighbours tell.
    pub disk: Option<String>,
    /// What it says, when, and the sector it names.
    pub message: &'a Message,
    /// The fact it was read from.
    pub reading: FactReading<'a>,
}

/// A port and a disk that complain within this many seconds are one: libata's error handling and
/// the SCSI layer's verdict follow each other within one command's timeout, not longer than
/// retries of a read take (`drivers/ata/libata-eh.c` waits 5 s before a second try of a reset).
const TOGETHER_S: f64 = 5.0;

/// All complaints of a recording. A message about a port is given to a disk if the system states
/// the disk's port (`device.port`), or if exactly one disk complains within seconds of it.
pub fn lines<'a>(
    recording: &'a Recording,
    disks: &[String],
    by_disk: &BTreeMap<String, Vec<FactReading<'a>>>,
) -> Vec<LogLine<'a>> {
    let mut lines: Vec<(Option<String>, LogLine<'a>)> = Vec::new();
    for (listing, known) in recording.listings.iter().enumerate() {
        for fact in &known.facts {
            let kind = fact.key.member_of(key::KERNEL_LOG).and_then(MessageKind::named);
            let Some(kind) = kind else { continue };
            let Some(message) = fact.value.message() else { continue };
            let reading = FactReading { fact, listing };
            let name = fact.device.map(|id| disk_names::disk(&recording.device_of(id).name));
            let known_disk = |disk: &&String| {
                let known = by_disk.get(*disk);
                known.is_some_and(|all| all.iter().any(|other| std::ptr::eq(other.fact, fact)))
            };
            let disk = disks.iter().find(known_disk).cloned();
            lines.push((name, LogLine { kind, disk, message, reading }));
        }
    }
    let ports: Vec<Option<String>> =
        lines.iter().map(|line| by_port(line, &lines, by_disk)).collect();
    let found = lines.into_iter().zip(ports);
    found
        .map(|((_, mut line), port)| {
            line.disk = line.disk.or(port);
            line
        })
        .collect()
}

/// The disk behind a port that complained.
fn by_port(
    (name, line): &(Option<String>, LogLine),
    all: &[(Option<String>, LogLine)],
    by_disk: &BTreeMap<String, Vec<FactReading>>,
) -> Option<String> {
    let port = name.as_deref().filter(|_| line.disk.is_none())?;
    let states =
        |reading: &FactReading| reading.fact.key == key::DEVICE_PORT && reading.text() == port;
    if let Some((disk, _)) = by_disk.iter().find(|(_, reading)| reading.iter().any(states)) {
        return Some(disk.clone());
    }
    // Any message of this port near any message of a disk, and of no second one.
    let mut found: Option<&str> = None;
    let of_port = all.iter().filter(|(other, known)| {
        other.as_deref() == Some(port) && known.reading.listing == line.reading.listing
    });
    for (_, mine) in of_port {
        let near = |other: &LogLine| match (mine.message.at_s, other.message.at_s) {
            (Some(a), Some(b)) => (a - b).abs() <= TOGETHER_S,
            _ => false,
        };
        for (_, other) in all.iter().filter(|(_, other)| near(other)) {
            let Some(disk) = other.disk.as_deref() else { continue };
            if found.is_some_and(|known| known != disk) {
                return None;
            }
            found = Some(disk);
        }
    }
    found.map(str::to_string)
}
