//! Disks of one host adapter that stop answering together, and links of one host that are lost
//! together: a shared cause is more likely than separate ones; and adapters in trouble, or whose
//! links went down, before their disks.

use std::collections::{BTreeMap, BTreeSet};

use iowhy_model::Order as _;
use iowhy_model::{CommandKind, DeviceId, MessageKind, Op, PathEvent};

use crate::analysis::{Analysis, Host};
use crate::facts::disk_names;
use crate::facts::kernel_log::LogLine;
use crate::phrase;

/// Disks, ports or links that failed together: what they hang behind is at fault.
#[derive(Default)]
pub(crate) struct Together<'s, 'a> {
    /// The number of their adapter in SCSI addresses; `None` for links of a host without one.
    pub adapter: Option<u32>,
    /// The adapter, if the log names it.
    pub controller: Option<DeviceId>,
    /// The disks or ports, as the log names them; at least two.
    pub devices: Vec<DeviceId>,
    /// How long it took from the first to the last, s; 0 in a log without times.
    pub seconds: f64,
    /// The minutes of an hour in which all of it happened, s; `None` if it happened at once.
    pub window_s: Option<f64>,
    /// What the log reports of them.
    pub lines: Vec<&'s LogLine<'a>>,
}

impl Together<'_, '_> {
    /// Whether it is about a line.
    pub(crate) fn covers(&self, line: &LogLine) -> bool {
        self.lines.iter().any(|known| std::ptr::eq(known.reading.fact, line.reading.fact))
    }

    /// The devices in words.
    pub(crate) fn names(&self, analysis: &Analysis) -> String {
        let name = |device: &DeviceId| phrase::disk(&analysis.recording.device_of(*device).name);
        phrase::list(
            &self.devices.iter().map(|device| name(device).to_string()).collect::<Vec<_>>(),
        )
    }
}

/// Links lost together are of one host, and of one adapter or its ports.
type Parent<'a> = (Host<'a>, Option<u32>);

/// All links of a host, or disks of one adapter, that were lost within this time of each other.
/// Ports that are merely slow or empty, as at a start and after a sleep, are not lost: a frame was
/// corrupted on each, or a disk went offline.
pub(crate) fn lost_together<'s, 'a>(
    analysis: &'s Analysis<'a>,
    within_s: f64,
) -> Vec<Together<'s, 'a>> {
    let mut all: BTreeMap<Parent, Vec<&LogLine>> = BTreeMap::new();
    for line in analysis.facts.log() {
        let Some(device) = line.reading.fact.device else { continue };
        let corrupt = line.kind == MessageKind::Link && line.event == Some(PathEvent::Corruption);
        let is_port = disk_names::is_ata_port(&analysis.recording.device_of(device).name);
        let parent = match line.kind {
            _ if corrupt && is_port => None,
            MessageKind::Phy if is_port => None,
            MessageKind::Offline if line.message.adapter.is_some() => line.message.adapter,
            _ => continue,
        };
        all.entry((analysis.host(line.reading.listing), parent)).or_default().push(line);
    }
    let found = all.into_iter().flat_map(|((_, adapter), mut lines)| {
        lines.order_by(|a, b| {
            let time = |line: &LogLine| line.message.at_s.unwrap_or(f64::NEG_INFINITY);
            time(a).total_cmp(&time(b))
        });
        // Each follows the one before within the time.
        let apart = |a: &&LogLine, b: &&LogLine| {
            let (first, second) = (a.message.at_s, b.message.at_s);
            first.zip(second).is_none_or(|(first, second)| second - first <= within_s)
        };
        let bursts: Vec<Vec<&LogLine>> =
            lines.chunk_by(|a, b| apart(a, b)).map(<[&LogLine]>::to_vec).collect();
        bursts.into_iter().filter_map(move |lines| of_burst(analysis, adapter, lines))
    });
    found.collect()
}

/// The disk that a line is about, as the recording names it: one that the log calls by its address
/// and by its name is one.
fn device_of(analysis: &Analysis, line: &LogLine) -> Option<DeviceId> {
    let named = line.disk.as_deref().and_then(|disk| analysis.recording.find_device(disk));
    named.or(line.reading.fact.device)
}

fn of_burst<'s, 'a>(
    analysis: &Analysis,
    adapter: Option<u32>,
    lines: Vec<&'s LogLine<'a>>,
) -> Option<Together<'s, 'a>> {
    let lost: BTreeSet<DeviceId> = lines
        .iter()
        .filter(|line| line.kind != MessageKind::Phy)
        .filter_map(|line| device_of(analysis, line))
        .collect();
    let of_lost =
        |line: &&LogLine| device_of(analysis, line).is_some_and(|device| lost.contains(&device));
    let lines: Vec<&LogLine> = lines.into_iter().filter(of_lost).collect();
    // When each was lost first.
    let mut first: BTreeMap<DeviceId, f64> = BTreeMap::new();
    for line in &lines {
        if let (Some(device), Some(at_s)) = (device_of(analysis, line), line.message.at_s) {
            let known = first.entry(device).or_insert(at_s);
            *known = known.min(at_s);
        }
    }
    let begin = first.values().copied().fold(f64::MAX, f64::min);
    let end = first.values().copied().fold(f64::MIN, f64::max);
    let devices: Vec<DeviceId> = lost.into_iter().collect();
    let seconds = (end - begin).max(0.0);
    (devices.len() > 1).then(|| Together {
        adapter,
        devices,
        seconds,
        lines,
        ..Together::default()
    })
}

/// The time, s, within which commands that got no answer are of what their drives share (a choice:
/// two disks may share a fault by chance).
const SHARED_S: f64 = 60.0;

/// All adapters with at least this many disks that did not answer within that time, without medium
/// errors.
pub(crate) fn not_answering<'s, 'a>(
    analysis: &'s Analysis<'a>,
    disks: usize,
) -> Vec<Together<'s, 'a>> {
    let mut by_adapter: BTreeMap<(usize, u32), Vec<&LogLine>> = BTreeMap::new();
    for line in analysis.facts.log() {
        let adapter = line.message.adapter.filter(|_| line.kind == MessageKind::Timeout);
        if let Some(adapter) = adapter {
            by_adapter.entry((line.reading.listing, adapter)).or_default().push(line);
        }
    }
    let found = by_adapter.into_iter().filter_map(|((listing, number), lines)| {
        let devices: BTreeSet<DeviceId> =
            lines.iter().filter_map(|line| line.reading.fact.device).collect();
        let times = || lines.iter().filter_map(|line| line.message.at_s);
        let (first, last) = (times().fold(f64::MAX, f64::min), times().fold(f64::MIN, f64::max));
        let together = devices.len() >= disks && last >= first && last - first <= SHARED_S;
        // A port or controller, not a disk, with errors in the same time.
        let controller = analysis.facts.unnamed().find(|line| {
            let near = line
                .message
                .at_s
                .is_some_and(|at| (first - SHARED_S..=last + SHARED_S).contains(&at));
            line.reading.listing == listing && line.message.adapter.is_none() && near
        });
        let controller = controller.and_then(|line| line.reading.fact.device);
        let (adapter, devices, seconds) =
            (Some(number), devices.into_iter().collect(), last - first);
        let found = Together { adapter, controller, devices, seconds, lines, window_s: None };
        together.then_some(found)
    });
    found.collect()
}

/// A disk goes offline within this time, s, after the link of its adapter: remote ports are given
/// 30 to 60 s to come back (`dev_loss_tmo` of drivers/scsi/scsi_transport_fc.c; the rest is a
/// choice).
const GIVEN_UP_S: f64 = 300.0;

/// What the log says of adapters before a disk went offline: links of its adapter that went down,
/// and trouble that the adapter reported of itself.
pub(crate) fn before_offline<'s, 'a>(
    analysis: &'s Analysis<'a>,
    offline: &[&LogLine],
) -> Vec<&'s LogLine<'a>> {
    let mut lines = lost_links(analysis, offline);
    lines.extend(in_trouble(analysis, offline));
    lines
}

/// The log line of an adapter link that went down before a disk of it went offline.
fn lost_links<'s, 'a>(analysis: &'s Analysis<'a>, offline: &[&LogLine]) -> Vec<&'s LogLine<'a>> {
    let downs = analysis
        .facts
        .log()
        .filter(|line| line.event == Some(PathEvent::LinkDown) && line.message.adapter.is_some());
    let is_before = |down: &LogLine| {
        let of_it = |line: &&LogLine| line.message.adapter == down.message.adapter;
        offline.iter().copied().filter(of_it).any(|line| gave_up(down, line))
    };
    downs.filter(|line| is_before(line)).collect()
}

/// What a host adapter reported of itself or of its links before a disk went offline, if the log is
/// of one adapter only: the disk is behind it.
fn in_trouble<'s, 'a>(analysis: &'s Analysis<'a>, offline: &[&LogLine]) -> Vec<&'s LogLine<'a>> {
    let of_an_adapter = analysis
        .facts
        .log()
        .filter(|line| line.kind == MessageKind::Controller && line.message.is_of_a_disk_adapter());
    let is_before = |trouble: &LogLine| offline.iter().any(|line| gave_up(trouble, line));
    let before: Vec<&LogLine> = of_an_adapter.filter(|line| is_before(line)).collect();
    let adapters: BTreeSet<Option<DeviceId>> =
        before.iter().map(|line| line.reading.fact.device).collect();
    if adapters.len() > 1 { Vec::new() } else { before }
}

/// Whether a disk went offline (`line`) soon after what its adapter reported, in the same log.
fn gave_up(reported: &LogLine, line: &LogLine) -> bool {
    let apart_s = line.message.at_s.zip(reported.message.at_s).map(|(at, was)| at - was);
    line.kind == MessageKind::Offline
        && line.reading.listing == reported.reading.listing
        && apart_s.is_none_or(|apart_s| (0.0..GIVEN_UP_S).contains(&apart_s))
}

const HOUR_S: f64 = 3600.0;
/// The part of an hour for recurring times, and the number that rules out chance: six of them fall
/// into the same sixth with a chance of one in a thousand (choices).
const WINDOW_S: f64 = 600.0;
const TIMES: usize = 6;
/// A drive that stopped alone more often than this share has its own fault.
const MAX_ALONE_SHARE: f64 = 0.5;

/// All drives on separate ports, ATA or IDE, that stopped responding within that time of each
/// other, each hardly ever without the others; and those that did so at the same minutes of
/// different hours.
pub(crate) fn stopped_together<'s, 'a>(analysis: &'s Analysis<'a>) -> Vec<Together<'s, 'a>> {
    let mut by_listing: BTreeMap<usize, Vec<&LogLine>> = BTreeMap::new();
    let mut out_of_step: BTreeMap<usize, Vec<&LogLine>> = BTreeMap::new();
    for line in analysis.facts.log() {
        let Some(device) = line.reading.fact.device else { continue };
        let of_dma = line.event == Some(PathEvent::Dma);
        let name = &analysis.recording.device_of(device).name;
        let is_drive = disk_names::is_ata_port(name) || disk_names::is_ide(name);
        let is_discard = line.message.command == Some(CommandKind::Io(Op::Discard));
        let unanswered = line.kind == MessageKind::Timeout || of_dma;
        let is_drive = is_drive && !is_discard;
        if is_drive && line.message.breaks_the_protocol() {
            out_of_step.entry(line.reading.listing).or_default().push(line);
        } else if is_drive && unanswered {
            by_listing.entry(line.reading.listing).or_default().push(line);
        }
    }
    let stopped = by_listing.into_values().filter_map(of_host);
    stopped.chain(out_of_step.into_values().filter_map(of_protocol)).collect()
}

/// Ports on which drives break the protocol of commands within an hour of each other, so many that
/// chance is ruled out (a choice): one drive may do so, several share what disturbs them.
fn of_protocol<'s, 'a>(lines: Vec<&'s LogLine<'a>>) -> Option<Together<'s, 'a>> {
    const PORTS: usize = 3;
    let times = || lines.iter().filter_map(|line| line.message.at_s);
    let first = times().fold(f64::INFINITY, f64::min);
    let devices: BTreeSet<DeviceId> =
        lines.iter().filter_map(|line| line.reading.fact.device).collect();
    let together = times().all(|at| at - first <= HOUR_S) && devices.len() >= PORTS;
    let devices = devices.into_iter().collect();
    together.then(|| Together { devices, lines, ..Together::default() })
}

fn of_host<'s, 'a>(mut lines: Vec<&'s LogLine<'a>>) -> Option<Together<'s, 'a>> {
    let is_timed = lines.iter().all(|line| line.message.at_s.is_some());
    if !is_timed && lines.iter().any(|line| line.message.at_s.is_some()) {
        return None;
    }
    let time = |line: &LogLine| line.message.at_s.unwrap_or_default();
    lines.order_by(|a, b| time(a).total_cmp(&time(b)));
    let bursts: Vec<Vec<&LogLine>> =
        lines.chunk_by(|a, b| time(b) - time(a) <= SHARED_S).map(<[&LogLine]>::to_vec).collect();
    let of = |burst: &[&LogLine]| -> BTreeSet<DeviceId> {
        burst.iter().filter_map(|line| line.reading.fact.device).collect()
    };
    let all = of(&lines);
    // How often each stopped, and how often without any other.
    let is_alone = |device: &DeviceId| {
        let its = bursts.iter().map(|burst| of(burst)).filter(|known| known.contains(device));
        let counts: Vec<usize> = its.map(|known| known.len()).collect();
        let alone = counts.iter().filter(|count| **count == 1).count();
        alone as f64 > MAX_ALONE_SHARE * counts.len() as f64
    };
    let together: Vec<DeviceId> = all.iter().copied().filter(|device| !is_alone(device)).collect();
    if together.len() > 1 && all.len() == together.len() {
        return Some(Together { devices: together, lines, ..Together::default() });
    }
    let window_s = minutes(&bursts.iter().map(|burst| time(burst[0])).collect::<Vec<_>>())?;
    let (devices, window_s) = (all.into_iter().collect::<Vec<_>>(), Some(window_s));
    (is_timed && devices.len() > 1).then(|| Together {
        devices,
        window_s,
        lines,
        ..Together::default()
    })
}

/// The part of an hour that all these times fall into, s, if it is short and they are of enough
/// different hours.
fn minutes(times: &[f64]) -> Option<f64> {
    let hours: BTreeSet<i64> = times.iter().map(|at| (at / HOUR_S).floor() as i64).collect();
    let mut within: Vec<f64> = times.iter().map(|at| at.rem_euclid(HOUR_S)).collect();
    within.sort_by(f64::total_cmp);
    let first = *within.first().filter(|_| hours.len() >= TIMES)?;
    // The longest gap on the circle is the free part.
    let around = within.last().map(|last| first + HOUR_S - last)?;
    let free = within.windows(2).map(|pair| pair[1] - pair[0]).fold(around, f64::max);
    (HOUR_S - free <= WINDOW_S).then_some(HOUR_S - free)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_one_part_of_an_hour() {
        let at = |minutes: &[f64]| -> Vec<f64> {
            minutes.iter().enumerate().map(|(hour, m)| hour as f64 * HOUR_S + m * 60.0).collect()
        };
        assert_eq!(minutes(&at(&[1.0, 6.0, 5.0, 0.0, 2.0, 3.0])), Some(360.0));
        // Around the full hour.
        assert_eq!(minutes(&at(&[58.0, 59.0, 1.0, 2.0, 58.5, 0.0])), Some(240.0));
        assert_eq!(minutes(&at(&[1.0, 6.0, 5.0, 0.0, 2.0, 31.0])), None);
        assert_eq!(minutes(&at(&[1.0, 2.0, 3.0])), None);
        // Six times of one hour are one.
        assert_eq!(minutes(&[0.0, 60.0, 120.0, 180.0, 240.0, 300.0]), None);
    }
}
