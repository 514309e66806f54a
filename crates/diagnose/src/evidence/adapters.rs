//! Disks of one host adapter that stop answering together: what they share is at fault before each
//! of them is; and links of adapters that went down before their disks did.

use std::collections::{BTreeMap, BTreeSet};

use iowhy_model::{DeviceId, MessageKind, PathComplaint};

use crate::analysis::Analysis;
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
