//! Disks of one host adapter that stop answering together, and links of one host that are lost
//! together: what they share is at fault before each of them is; and links of adapters that went down
//! before their disks did.

use std::collections::{BTreeMap, BTreeSet};

use iowhy_model::{DeviceId, MessageKind, PathComplaint};

use crate::analysis::Analysis;
use crate::facts::disk_names;
use crate::facts::kernel_log::LogLine;

/// An adapter several of whose disks got no command answered.
pub struct NotAnswering<'s, 'a> {
    /// Its number in SCSI addresses.
    pub number: u32,
    /// The adapter, if the log names it.
    pub controller: Option<DeviceId>,
    /// The disks, as the log names them; never empty.
    pub devices: Vec<DeviceId>,
    /// How many they are.
    pub disks: usize,
    /// How long it took from the first to the last, s.
    pub seconds: f64,
    /// What the log says of them.
    pub lines: Vec<&'s LogLine<'a>>,
}

/// Links, or disks of one adapter, that were lost together.
pub struct LostTogether<'s, 'a> {
    /// The number of the adapter in SCSI addresses; `None` for ports that are links of their own.
    pub adapter: Option<u32>,
    /// The ports or disks, as the log names them; at least two.
    pub devices: Vec<DeviceId>,
    /// How long it took from the first to the last, s; 0 in a log without times.
    pub seconds: f64,
    /// What the log says of them.
    pub lines: Vec<&'s LogLine<'a>>,
}

impl LostTogether<'_, '_> {
    /// Whether it is about a line.
    pub fn covers(&self, line: &LogLine) -> bool {
        self.lines.iter().any(|known| std::ptr::eq(known.reading.fact, line.reading.fact))
    }
}

/// What was lost together with others shares an input, and an adapter or the ports.
type Parent<'a> = (&'a str, Option<u32>);

/// All links of a host, or disks of one adapter, that were lost within so many seconds of each
/// other. Ports that are merely slow or empty, as at a start and after a sleep, are not lost: a
/// frame was corrupted on each, or a disk went offline.
pub fn lost_together<'s, 'a>(
    analysis: &'s Analysis<'a>,
    within_s: f64,
) -> Vec<LostTogether<'s, 'a>> {
    let mut all: BTreeMap<Parent, Vec<&LogLine>> = BTreeMap::new();
    for line in analysis.facts.log() {
        let Some(device) = line.reading.fact.device else { continue };
        let corrupt = line.kind == MessageKind::Link
            && line.message.complaint == Some(PathComplaint::Corruption);
        let is_port = disk_names::is_ata_port(&analysis.recording.device_of(device).name);
        let parent = match line.kind {
            _ if corrupt && is_port => None,
            MessageKind::Phy if is_port => None,
            MessageKind::Offline if line.message.adapter.is_some() => line.message.adapter,
            _ => continue,
        };
        all.entry((analysis.input(line.reading.listing), parent)).or_default().push(line);
    }
    let found = all.into_iter().flat_map(|((_, adapter), mut lines)| {
        lines.sort_by(|a, b| {
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
) -> Option<LostTogether<'s, 'a>> {
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
    (devices.len() > 1).then_some(LostTogether { adapter, devices, seconds, lines })
}

/// All adapters of which at least so many disks did not answer within so many seconds, beside no
/// error of a medium.
pub fn not_answering<'s, 'a>(
    analysis: &'s Analysis<'a>,
    disks: usize,
    within_s: f64,
) -> Vec<NotAnswering<'s, 'a>> {
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
        let together = devices.len() >= disks && last >= first && last - first <= within_s;
        // A port or controller, and no disk, that complains in the same time.
        let controller = analysis.facts.nameless().find(|line| {
            let near = line
                .message
                .at_s
                .is_some_and(|at| (first - within_s..=last + within_s).contains(&at));
            line.reading.listing == listing && line.message.adapter.is_none() && near
        });
        let controller = controller.and_then(|line| line.reading.fact.device);
        let devices: Vec<DeviceId> = devices.into_iter().collect();
        let (disks, seconds) = (devices.len(), last - first);
        together.then_some(NotAnswering { number, controller, devices, disks, seconds, lines })
    });
    found.collect()
}

/// A disk goes offline within this time, s, after the link of its adapter: remote ports are given 30 to 60 s to come
/// back (`dev_loss_tmo` of drivers/scsi/scsi_transport_fc.c; the rest is a choice).
const GIVEN_UP_S: f64 = 300.0;

/// What the log says of a link that went down on the adapter of a disk that went offline behind it.
pub fn lost_links<'s, 'a>(
    analysis: &'s Analysis<'a>,
    offline: &[&LogLine],
) -> Vec<&'s LogLine<'a>> {
    let is_before = |down: &LogLine| {
        offline.iter().any(|line| {
            let apart_s = line.message.at_s.zip(down.message.at_s).map(|(at, down)| at - down);
            line.kind == MessageKind::Offline
                && line.reading.listing == down.reading.listing
                && line.message.adapter == down.message.adapter
                && apart_s.is_none_or(|apart_s| (0.0..GIVEN_UP_S).contains(&apart_s))
        })
    };
    let downs = analysis.facts.log().filter(|line| {
        line.message.complaint == Some(PathComplaint::LinkDown) && line.message.adapter.is_some()
    });
    downs.filter(|line| is_before(line)).collect()
}
