//! By which bus a disk is attached, as far as a log shows: by the host adapter of its SCSI address,
//! or by a device on USB that disappeared when its only disk had stopped responding.

use std::collections::{BTreeMap, BTreeSet};

use iowhy_model::Message;

use super::names::{self, Names};

/// Host adapters, disks and plugs remembered.
const REMEMBERED: usize = 1024;
/// The kernel tries a device on USB again and again, and notices so late that it went, s: each try
/// ends after 30 s (drivers/scsi/sd.h, SD_TIMEOUT; how many is a choice). Where the plug goes
/// first, what waits on the disk fails at once.
const NOTICED_S: f64 = 300.0;
const AT_ONCE_S: f64 = 5.0;

/// What hosts show that they are when they are found (drivers/usb/storage,
/// drivers/scsi/iscsi_tcp.c).
const HOSTS: [(&str, &str); 4] = [
    ("SBP-2 IEEE-1394", FIREWIRE),
    ("usb-storage ", USB),
    ("uas", USB),
    ("iSCSI Initiator over TCP/IP", "iscsi"),
];
const USB: &str = "usb";
const FIREWIRE: &str = "ieee1394";
/// How the drivers of FireWire report that a node left its bus (drivers/ieee1394/nodemgr.c,
/// drivers/firewire/sbp2.c).
const NODE_LEFT: [&str; 3] =
    ["ieee1394: Node suspended", "ieee1394: Node removed", "firewire_sbp2: released "];

/// Buses by host adapter, disks that stopped answering, and plugs that went.
#[derive(Default)]
pub(super) struct Buses {
    hosts: BTreeMap<u32, &'static str>,
    /// Addresses of disks that stopped answering, and when.
    failed: BTreeMap<String, Option<f64>>,
    /// When a device on USB or FireWire disappeared, and what was reported.
    gone: Option<(Message, String, &'static str)>,
    /// Disks of which the bus was stated.
    stated: BTreeSet<String>,
}

impl Buses {
    /// Learns from a message: which bus a host adapter is of, and that a device on USB went.
    pub(super) fn learn(&mut self, message: &Message, place: &str) {
        let text = message.text.as_str();
        if let Some((host, reported)) = of_host(text) {
            let bus = HOSTS.iter().find(|(words, _)| reported.starts_with(words));
            if let Some((_, bus)) = bus.filter(|_| self.hosts.len() < REMEMBERED) {
                self.hosts.insert(host, bus);
            }
        }
        if let Some(host) = of_fibre(text).filter(|_| self.hosts.len() < REMEMBERED) {
            self.hosts.insert(host, "fc");
        }
        let went = text.strip_prefix("usb ").and_then(|rest| rest.split_once(": "));
        if went.is_some_and(|(_, reported)| reported.starts_with("USB disconnect"))
            && self.gone.is_none()
        {
            self.gone = Some((message.clone(), place.to_string(), USB));
        }
        if NODE_LEFT.iter().any(|words| text.starts_with(words)) && self.gone.is_none() {
            self.gone = Some((message.clone(), place.to_string(), FIREWIRE));
        }
    }

    /// Whether the bus of a disk was not stated yet; it is now.
    pub(super) fn is_new(&mut self, disk: &str) -> bool {
        self.stated.len() < REMEMBERED && self.stated.insert(disk.to_string())
    }

    /// Remembers the address of a disk that stopped answering.
    pub(super) fn failed(&mut self, message: &Message) {
        let Some(address) = names::address(&message.text) else { return };
        if self.failed.len() < REMEMBERED || self.failed.contains_key(address) {
            let known = self.failed.entry(address.to_string()).or_default();
            *known = message.at_s.or(*known);
        }
    }

    /// Disks that stopped answering and the bus of each, as far as it is known and was not stated
    /// yet.
    pub(super) fn of_disks(&mut self, names: &Names) -> Vec<(String, &'static str)> {
        let host = |address: &str| address.split(':').next()?.parse::<u32>().ok();
        let known = self
            .failed
            .keys()
            .filter_map(|address| Some((names.at(address), *self.hosts.get(&host(address)?)?)));
        let mut known: Vec<(String, &'static str)> = known.collect();
        known.retain(|(disk, _)| self.stated.insert(disk.clone()));
        known
    }

    /// The only disk that stopped answering, if no bus is known of it and a device on USB left in
    /// the same minutes, with that message.
    pub(super) fn went_with_its_plug(
        &mut self,
        names: &Names,
    ) -> Option<(String, Message, String, &'static str)> {
        let (message, place, bus) = self.gone.take()?;
        let mut failed = self.failed.iter();
        let (Some((address, at_s)), None) = (failed.next(), failed.next()) else { return None };
        let disk = Some(names.at(address)).filter(|disk| !self.stated.contains(disk))?;
        let late_s = at_s.zip(message.at_s).map(|(failed, went)| went - failed);
        let soon = late_s.is_none_or(|late_s| (-AT_ONCE_S..NOTICED_S).contains(&late_s));
        soon.then_some((disk, message, place, bus))
    }
}

/// 10 of `qla2xxx [0000:81:00.1]-500b:10: LOOP DOWN detected`: the host adapter that speaks
/// (drivers/scsi/qla2xxx/qla_dbg.c).
fn of_fibre(message: &str) -> Option<u32> {
    let (_, rest) = message.strip_prefix("qla2xxx [")?.split_once("]-")?;
    rest.split(':').nth(1)?.parse().ok()
}

/// `scsi host4: iSCSI Initiator over TCP/IP`, before 2012 `scsi4 : iSCSI Initiator over TCP/IP`.
fn of_host(message: &str) -> Option<(u32, &str)> {
    let rest = message.strip_prefix("scsi host").or_else(|| message.strip_prefix("scsi"))?;
    let (host, reported) = rest.split_once(": ")?;
    Some((host.trim_end().parse().ok()?, reported))
}
