//! The kernel's complaints as lines with a clock, a sector and, where it can be told, a disk.

use std::collections::BTreeMap;

use iowhy_model::Recording;

use crate::evidence::Told;
use crate::names;

/// A complaint of the kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct LogLine<'a> {
    /// What it is about: `medium`, `link`, `phy`, `timeout`, `controller`, `offline`, `io-error`,
    /// `hung-task`, `firmware`.
    pub kind: &'a str,
    /// The disk, if the message or its neighbours tell.
    pub disk: Option<String>,
    /// Seconds on the log's own clock: since boot, or since a day of its own. Only differences
    /// within one log mean anything.
    pub at_s: Option<f64>,
    /// The message without its time.
    pub message: &'a str,
    /// The sector it names.
    pub sector: Option<u64>,
    /// The fact it was read from.
    pub told: Told<'a>,
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
    by_disk: &BTreeMap<String, Vec<Told<'a>>>,
) -> Vec<LogLine<'a>> {
    let mut lines: Vec<(Option<String>, LogLine<'a>)> = Vec::new();
    for (listing, known) in recording.listings.iter().enumerate() {
        for fact in &known.facts {
            let Some(kind) = fact.key.strip_prefix("kernel.log.") else { continue };
            let Some((stamp, message)) =
                fact.value.strip_prefix('[').and_then(|v| v.split_once("] "))
            else {
                continue;
            };
            let told = Told { fact, listing };
            let name = fact.device.map(|id| names::disk(&recording.device_of(id).name));
            let known_disk = |disk: &&String| {
                let known = by_disk.get(*disk);
                known.is_some_and(|all| all.iter().any(|other| std::ptr::eq(other.fact, fact)))
            };
            let disk = disks.iter().find(known_disk).cloned();
            let (at_s, sector) = (seconds(stamp), sector(message));
            lines.push((name, LogLine { kind, disk, at_s, message, sector, told }));
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
    by_disk: &BTreeMap<String, Vec<Told>>,
) -> Option<String> {
    let port = name.as_deref().filter(|_| line.disk.is_none())?;
    let states = |told: &Told| told.fact.key == "device.port" && told.text() == port;
    if let Some((disk, _)) = by_disk.iter().find(|(_, told)| told.iter().any(states)) {
        return Some(disk.clone());
    }
    // Any message of this port near any message of a disk, and of no second one.
    let mut found: Option<&str> = None;
    let of_port = all.iter().filter(|(other, known)| {
        other.as_deref() == Some(port) && known.told.listing == line.told.listing
    });
    for (_, mine) in of_port {
        let near = |other: &LogLine| match (mine.at_s, other.at_s) {
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

/// Seconds of a printed time: `86411.201337` since boot, else day and time of day.
pub fn seconds(stamp: &str) -> Option<f64> {
    if let Ok(since_boot) = stamp.trim().parse::<f64>() {
        return Some(since_boot).filter(|s| s.is_finite());
    }
    let words: Vec<&str> = stamp.split([' ', 'T', ',']).filter(|word| !word.is_empty()).collect();
    let time = words.iter().find_map(|word| time_of_day(word))?;
    let mut days = 0.0;
    for pair in words.windows(2) {
        if let (Some(month), Ok(day)) = (month(pair[0]), pair[1].parse::<f64>()) {
            days = month * 31.0 + day;
        }
    }
    for word in &words {
        let mut parts = word.split('-').map(str::parse::<f64>);
        if let (Some(Ok(_)), Some(Ok(month)), Some(Ok(day)), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        {
            days = month * 31.0 + day;
        }
    }
    Some(days * 86_400.0 + time)
}

/// `02:14:07`, with a fraction or a zone behind it.
fn time_of_day(word: &str) -> Option<f64> {
    let mut parts = word.splitn(3, ':');
    let (hours, minutes, rest) = (parts.next()?, parts.next()?, parts.next()?);
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    let seconds: f64 = rest.get(..end)?.parse().ok()?;
    Some(hours.parse::<f64>().ok()? * 3600.0 + minutes.parse::<f64>().ok()? * 60.0 + seconds)
}

fn month(word: &str) -> Option<f64> {
    let names =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    names.iter().position(|name| word == *name).map(|place| place as f64 + 1.0)
}

/// `..., sector 8654860 op 0x0:(READ)`.
fn sector(message: &str) -> Option<u64> {
    let (_, rest) = message.split_once("sector ")?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest.get(..end)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_of_a_log_give_differences() {
        assert_eq!(seconds("86411.201337"), Some(86411.201337));
        let apart = |a, b| seconds(b).unwrap() - seconds(a).unwrap();
        assert_eq!(apart("Nov  3 02:14:07", "Nov  3 02:14:37"), 30.0);
        assert_eq!(apart("Sat Nov 21 23:59:59 2026", "Sun Nov 22 00:00:01 2026"), 2.0);
        assert_eq!(apart("2026-11-21T08:36:47+0000", "2026-11-21T08:36:49+0000"), 2.0);
        assert_eq!(seconds("yesterday"), None);
    }

    #[test]
    fn a_sector_is_found() {
        let message = "blk_update_request: critical medium error, dev sdb, sector 8654860 op 0x0";
        assert_eq!(sector(message), Some(8_654_860));
        assert_eq!(sector("ata3.00: error: { UNC }"), None);
    }
}
