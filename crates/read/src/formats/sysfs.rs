//! Printed files of /sys: queue settings of disks, counters of SAS phys.
//!
//! ## Reads
//! A path and its value on one line, as `grep` prints them; a path in arrows above its value, as
//! `head` does; and `cat` with one path above the value. Of a disk these are the facts that iowhy
//! reads itself: `queue.scheduler`, `queue.rotational`, `queue.nr_requests`, `queue.write_cache`
//! and the rest of its queue, `device.queue_depth`, `device.timeout`, `device.model`,
//! `device.state`. Of a phy `phy.invalid_dword_count`, `phy.running_disparity_error_count`,
//! `phy.loss_of_dword_sync_count` and `phy.phy_reset_problem_count`; of a port of Fibre Channel
//! (`host3`) `phy.invalid_crc_count`, `phy.invalid_tx_word_count`, `phy.link_failure_count`,
//! `phy.loss_of_signal_count` and `phy.loss_of_sync_count`.
//!
//! ## How to capture
//! `grep . /sys/block/*/queue/scheduler`, `head /sys/block/sd*/queue/*`, `cat
//! /sys/block/sda/queue/scheduler`, `grep . /sys/class/sas_phy/*/*_count`, `grep .
//! /sys/class/fc_host/host*/statistics/*`.
//!
//! ## Versions
//! Linux 2.6.33 to 6.x.
//!
//! ## Caveats
//! Of several schedulers the one in brackets is active. `rotational` of a virtual disk is set by
//! the hypervisor. Counters of a phy count from the start of its controller: only an increase is
//! meaningful. A phy is not a disk: `phy-0:3` is port 3 of host 0.
//!
//! ## Not in this output
//! The drive's own health data.

use iowhy_model::{FactKey, key};

use crate::drive::health::PHY_COUNTERS;
use crate::program::*;

pub(super) const FORMAT: Format = Format::by_line::<Sysfs>(
    "files of /sys printed by grep, head or cat: queues of disks, counters of SAS phys",
    Level::E,
    &["/sys/"],
    begins,
)
.resumed();

/// Files below a disk's folder and their facts (Documentation/ABI/stable/sysfs-block).
const FILES: &[(&str, FactKey)] = &[
    ("queue/scheduler", key::QUEUE_SCHEDULER),
    ("queue/rotational", key::QUEUE_ROTATIONAL),
    ("queue/nr_requests", key::QUEUE_NR_REQUESTS),
    ("queue/write_cache", key::QUEUE_WRITE_CACHE),
    ("queue/fua", key::QUEUE_FUA),
    ("queue/read_ahead_kb", key::QUEUE_READ_AHEAD),
    ("queue/max_sectors_kb", key::QUEUE_MAX_SECTORS),
    ("queue/logical_block_size", key::QUEUE_LOGICAL_BLOCK_SIZE),
    ("queue/physical_block_size", key::QUEUE_PHYSICAL_BLOCK_SIZE),
    ("queue/wbt_lat_usec", key::QUEUE_WBT_LATENCY),
    ("queue/discard_max_bytes", key::QUEUE_DISCARD_MAX_BYTES),
    ("queue/iostats", key::QUEUE_IOSTATS),
    ("queue/zoned", key::QUEUE_ZONED),
    ("device/queue_depth", key::DEVICE_QUEUE_DEPTH),
    ("device/timeout", key::DEVICE_TIMEOUT),
    ("device/state", key::DEVICE_STATE),
    ("device/model", key::DEVICE_MODEL),
    ("device/rev", key::DEVICE_FIRMWARE),
    ("device/firmware_rev", key::DEVICE_FIRMWARE),
    ("dev", key::DEVICE_NUMBER),
    ("ro", key::DEVICE_READ_ONLY),
    ("alignment_offset", key::DEVICE_ALIGNMENT_OFFSET),
    ("md/degraded", key::ARRAY_DEGRADED),
    ("md/sync_action", key::ARRAY_ACTION),
];
/// Counters of a port of Fibre Channel that corrupt frames or a lost link increase
/// (include/scsi/scsi_transport_fc.h).
const FC_COUNTERS: [&str; 5] = [
    "invalid_crc_count", "invalid_tx_word_count", "link_failure_count", "loss_of_signal_count",
    "loss_of_sync_count",
];
/// Other files of the same folders, which hold no fact that is read.
const OTHERS: [&str; 3] = ["/queue/", "/sas_phy/", "/md/"];

/// A file: its device, and its fact, if it is one that is read.
fn file(path: &str) -> Option<(&str, Option<FactKey>)> {
    let path = path.trim().strip_prefix("/sys/")?;
    if path.contains(['*', ' ', '{']) {
        return None;
    }
    if let Some((_, rest)) = path.split_once("sas_phy/") {
        let (phy, name) = rest.split_once('/')?;
        let known = PHY_COUNTERS.iter().find(|known| **known == name);
        return Some((phy, known.map(|name| key::PHY.of(name))));
    }
    if let Some((_, rest)) = path.split_once("fc_host/") {
        let (host, name) = rest.split_once('/')?;
        let counter = name.strip_prefix("statistics/")?;
        let known = FC_COUNTERS.iter().find(|known| **known == counter);
        return Some((host, known.map(|name| key::PHY.of(name))));
    }
    let (_, rest) = path.split_once("block/")?;
    let (disk, name) = rest.split_once('/')?;
    let known = FILES.iter().find(|(file, _)| *file == name);
    let other = || OTHERS.iter().any(|folder| path.contains(folder));
    (known.is_some() || other()).then(|| (disk, known.map(|(_, key)| key.clone())))
}

/// `==> /sys/block/sda/queue/rotational <==`.
fn headed(line: &str) -> Option<&str> {
    line.trim().strip_prefix("==> ")?.strip_suffix(" <==")
}

/// `$ cat /sys/block/sda/queue/scheduler`: one path, and nothing after it.
fn shown(line: &str) -> Option<&str> {
    if !line.contains("cat") {
        return None;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let [before @ .., "cat", path] = words.as_slice() else { return None };
    (before.len() < 4).then_some(*path)
}

/// `/sys/block/sda/queue/scheduler:[none] mq-deadline`.
fn glued(line: &str) -> Option<(&str, &str)> {
    let text = line.trim();
    let mut from = 0;
    while let Some(colon) = text.get(from..)?.find(':') {
        let (path, value) = text.split_at_checked(from + colon)?;
        // A phy's name and a PCI path have colons too.
        if file(path).is_some() {
            return Some((path, value.get(1..)?.trim()));
        }
        from += colon + 1;
    }
    None
}

fn begins(line: &str) -> bool {
    let path = headed(line).or_else(|| shown(line));
    let ours = path.is_some_and(|path| file(path).is_some_and(|(_, key)| key.is_some()));
    ours || glued(line).is_some()
}

#[derive(Default)]
struct Sysfs {
    /// The path whose value is on the next line.
    path: Option<String>,
}

impl Reader for Sysfs {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let place = sink.here();
        let text = line.trim();
        if let Some(path) = headed(line).or_else(|| shown(line)).filter(|path| file(path).is_some())
        {
            self.path = Some(path.to_string());
            return Step::Consumed;
        }
        if let Some((path, value)) = glued(line) {
            stated(path, value, &place, sink);
            return Step::Consumed;
        }
        if text.is_empty() {
            return Step::Consumed;
        }
        match self.path.take() {
            Some(path) => {
                stated(&path, text, &place, sink);
                Step::Consumed
            }
            None => Step::NotMine,
        }
    }
}

fn stated(path: &str, value: &str, place: &str, sink: &mut dyn Sink) {
    let Some((device, Some(key))) = file(path) else { return };
    let bracket = value.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    let value = match bracket.filter(|_| key == key::QUEUE_SCHEDULER) {
        Some((chosen, _)) => chosen,
        None => value,
    };
    let counter = key.member_of(key::PHY).is_some();
    // Those of Fibre Channel are hexadecimal, and all ones where the adapter has none.
    let hex = value.strip_prefix("0x").and_then(|hex| u64::from_str_radix(hex, 16).ok());
    if hex == Some(u64::MAX) {
        return;
    }
    let known = hex.filter(|_| counter).map_or(value.to_string(), |count| count.to_string());
    if !known.is_empty() && (!counter || integer(&known).is_some()) {
        sink.add_text_at(device.replace('!', "/").as_str(), key, &known, place);
    }
}
