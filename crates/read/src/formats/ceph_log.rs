//! Ceph's logs: slow operations of an OSD's store, blocked requests.
//!
//! ## Reads
//! `log_latency slow operation observed for kv_commit, latency = 5.8s` of an OSD's log, `slow
//! request 30.1 seconds old` of the same or of the cluster's (blocked at the OSDs whose replies it
//! waits for, where it says `waiting for subops from`), and the health messages `3 slow ops, oldest
//! one blocked for 65 sec, daemons [osd.12,osd.22] have slow ops`, an OSD's own `get_health_metrics
//! reporting 3 slow ops, oldest is osd_op(...)`, before Nautilus `24 ops are blocked > 32.768 sec
//! on osd.15`. Each operation of the store becomes an event of `osd.N`; blocked requests become
//! facts (maximum number and duration), as do the number of errors found by a scrub
//! (`OSD_SCRUB_ERRORS 1 scrub errors` of `ceph health detail`), and the number of OSDs whose store
//! reported slow operations or reads that stalled (`osd.2  observed slow operation indications in
//! BlueStore`, `2 OSD(s) experiencing stalled read in db device of BlueFS`). A `stalled read
//! 0x29f~100000 (buffered) since ..., timeout is 5s` of an OSD's log counts as a request over that
//! limit (`io.slow`, `io.slowest.least`). An OSD from which a peer gets no answer (`osd.3 139675
//! heartbeat_check: no reply from 10.0.0.8:6804 osd.2`) is a fact `kernel.log.remote` of it.
//!
//! ## How to capture
//! `/var/log/ceph/ceph-osd.N.log`, `/var/log/ceph/ceph.log`, `journalctl -u ceph-osd@N`, `kubectl
//! logs`.
//!
//! ## Versions
//! Luminous to Squid. Up to Mimic the time is `lat = 5.8` or `latency = 5.8`, without `s`;
//! `log_latency_fn` adds details. Since Nautilus it is slow operations instead of slow requests.
//!
//! ## Caveats
//! Only operations slower than a limit are logged (5 s for the store, 30 s for a request): the mean
//! of logged operations is not a mean of all, which the fact `trace.threshold` records. A commit
//! waits for the write-ahead log, its flush, and other I/O queued on that device: the log shows
//! that the store waited, not for what.
//!
//! ## Not in this output
//! The number of fast operations; the device of an OSD (see `ceph device ls`); whether a blocked
//! request waits for its own disk, another OSD or the network.

use std::collections::{BTreeMap, BTreeSet};

use iowhy_model::{Message, MessageKind};

use crate::counters::slow_log::SlowLog;
use crate::drive::health::leading;
use crate::drive::osds::{osds, slow_stores};
use crate::program::*;

pub(super) const FORMAT: Format = Format::by_line::<CephLog>(
    "Ceph's logs: slow operations of an OSD's store, blocked requests",
    Level::C,
    &[
        " blocked > ", " blocked requests > ", " scrub errors", "heartbeat_check: no reply",
        "slow ", " stalled read ",
    ],
    begins,
)
.resumed();

/// The leading time is the line's own, so nothing precedes it.
fn begins(line: &str) -> bool {
    line.starts_with(|c: char| c.is_ascii_alphanumeric()) && Entry::of(line).is_some()
}

/// From when on BlueStore logs an operation (`bluestore_log_op_age`).
const LOGGED_US: u64 = 5_000_000;
/// The longest time that is taken for one: a day.
const LONGEST_S: f64 = 86_400.0;

/// A line that reports a wait.
#[derive(Clone, Debug, PartialEq)]
enum Entry<'a> {
    /// An operation of the store of an OSD, if that is named, and how long it took, ns.
    Store { osd: Option<u64>, what: &'a str, ns: u64 },
    /// Requests of these OSDs are blocked: how many, and the oldest for how long if it is reported,
    /// s.
    Blocked { osds: Vec<u64>, count: u64, oldest_s: Option<u64> },
    /// The store of this OSD noted slow operations within the last day (`BLUESTORE_SLOW_OP_ALERT`).
    Noted { osd: u64 },
    /// A peer of an OSD that does not answer on its network.
    NoReply { osd: u64 },
    /// A read of this OSD's device that took at least so long, s.
    Stalled { osd: Option<u64>, least_s: u64 },
    /// Number of stores (`3 OSD(s) experiencing slow operations in BlueStore`).
    SlowStores(u64),
    /// Number of errors found by a scrub: copies that differ or cannot be read.
    Scrubbed(u64),
}

impl<'a> Entry<'a> {
    fn of(line: &'a str) -> Option<Entry<'a>> {
        if line.contains(" blocked > ") {
            return blocked(line);
        }
        if let Some((osd, rest)) = line.split_once(" has blocked requests > ") {
            let osd = integer(osd.trim().strip_prefix("osd.")?)?;
            let oldest_s = decimal(rest.strip_suffix(" sec")?)? as u64;
            return Some(Entry::Blocked { osds: vec![osd], count: 1, oldest_s: Some(oldest_s) });
        }
        if let Some((before, _)) = line.split_once(" scrub errors") {
            let (lead, count) = before.rsplit_once(' ').unwrap_or(("", before));
            let lead = lead.trim();
            let of_ceph = lead.is_empty()
                || lead.starts_with("HEALTH_")
                || lead == "OSD_SCRUB_ERRORS"
                || lead.contains("[ERR]");
            return integer(count).filter(|_| of_ceph).map(Entry::Scrubbed);
        }
        if let Some((before, rest)) = line.split_once(" heartbeat_check: no reply from ") {
            // Its address stands before its name.
            let osd = leading(rest.split_once(" osd.")?.1)?;
            return (!osds(before).is_empty()).then_some(Entry::NoReply { osd });
        }
        if let Some((before, rest)) = line.split_once(" stalled read ")
            && let Some((_, limit)) = rest.split_once("s, timeout is ")
        {
            let least_s = leading(limit).filter(|s| *s > 0 && (*s as f64) < LONGEST_S)?;
            return Some(Entry::Stalled { osd: of_path(before), least_s });
        }
        if let Some(entry) = alert(line) {
            return Some(entry);
        }
        if !line.contains("slow ") {
            return None;
        }
        if let Some((before, rest)) = line.split_once(" slow operation observed for ") {
            let (what, rest) = rest.split_once(',')?;
            let rest = rest.split_once("lat")?.1.split_once('=')?.1.trim_start();
            let end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.'));
            let seconds = decimal(rest.get(..end.unwrap_or(rest.len()))?)?;
            let known = before.contains("log_latency") && (0.0..LONGEST_S).contains(&seconds);
            let osd = of_path(before);
            return known.then(|| Entry::Store {
                osd: osd.or_else(|| osds(before).first().copied()),
                what: what.trim(),
                ns: (seconds * 1e9) as u64,
            });
        }
        if let Some((before, rest)) = line.split_once(" get_health_metrics reporting ") {
            let (count, rest) = rest.split_once(" slow ops, oldest is ")?;
            let osds: Vec<u64> = osds(before).into_iter().take(1).collect();
            let known = !osds.is_empty() && rest.contains('(');
            let count = integer(count).filter(|_| known)?;
            return Some(Entry::Blocked { osds, count, oldest_s: None });
        }
        if let Some((before, rest)) = line.split_once(" slow ops, oldest one blocked for ") {
            let count = integer(before.rsplit(' ').next()?)?;
            let (seconds, rest) = rest.split_once(" sec")?;
            return Some(Entry::Blocked {
                osds: osds(rest),
                count,
                oldest_s: Some(integer(seconds.trim())?),
            });
        }
        let (before, rest) = line.split_once("slow request ")?;
        let (seconds, rest) = rest.split_once(" seconds old, received at ")?;
        let oldest_s = decimal(seconds).filter(|s| (0.0..LONGEST_S).contains(s))? as u64;
        let asked = rest.contains("osd_op") || rest.contains("osd_repop");
        let waits_for = awaited(rest);
        let osds = if waits_for.is_empty() {
            osds(before).into_iter().take(1).collect()
        } else {
            waits_for
        };
        asked.then_some(Entry::Blocked { osds, count: 1, oldest_s: Some(oldest_s) })
    }
}

/// The OSD of a path or unit: `/var/lib/ceph/osd/ceph-12/block`.
fn of_path(text: &str) -> Option<u64> {
    text.split_once("/ceph-").and_then(|(_, rest)| leading(rest))
}

/// Of a warning that stays for a day (`BLUESTORE_SLOW_OP_ALERT`, `DB_DEVICE_STALLED_READ_ALERT`):
/// the number of stores, or one of them.
fn alert(line: &str) -> Option<Entry<'_>> {
    for what in [" slow operation indications in ", " stalled read indications in "] {
        if let Some((osd, _)) = line.split_once(what) {
            let osd = osd.trim().strip_suffix(" observed")?.trim_end().strip_prefix("osd.")?;
            return Some(Entry::Noted { osd: integer(osd)? });
        }
    }
    let (lead, count) = slow_stores(line)?;
    let of_ceph = lead.is_empty()
        || lead.starts_with("HEALTH_WARN")
        || ["_ALERT:", " Health check failed:", " Health check update:"]
            .iter()
            .any(|end| lead.ends_with(end));
    of_ceph.then_some(Entry::SlowStores(count))
}

/// The OSDs whose replies a request waits for: `waiting for subops from 23,41`, `currently waiting
/// for subops from [1]` (src/osd/PrimaryLogPG.cc). The process that logs it is delayed as well.
fn awaited(rest: &str) -> Vec<u64> {
    let Some((_, osds)) = rest.split_once("waiting for subops from ") else { return Vec::new() };
    osds.trim_start_matches('[').split(',').map_while(|osd| leading(osd.trim())).collect()
}

/// `24 ops are blocked > 32.768 sec on osd.15`, or `150 requests are blocked > 32 sec; 11 osds have
/// slow requests` after the state of the cluster.
fn blocked(line: &str) -> Option<Entry<'_>> {
    let (before, rest) = line.split_once(" blocked > ")?;
    let (seconds, rest) = rest.split_once(" sec")?;
    let (before, what) = before.trim_end_matches(" are").rsplit_once(' ')?;
    let before = before.trim_end_matches(" slow");
    let (lead, count) = before.rsplit_once(' ').unwrap_or(("", before));
    let of_ceph = lead.is_empty()
        || ["HEALTH_", "REQUEST_SLOW"].iter().any(|word| lead.starts_with(word))
        || lead.contains("[WRN]");
    (of_ceph && matches!(what, "ops" | "requests")).then_some(())?;
    let oldest_s = decimal(seconds).filter(|s| (0.0..LONGEST_S).contains(s))? as u64;
    Some(Entry::Blocked { osds: osds(rest), count: integer(count)?, oldest_s: Some(oldest_s) })
}

/// When a line was written: `2022-09-29T12:00:24.898+0000`, or date and time apart.
fn moment(line: &str) -> Option<WallTime> {
    let words: Vec<&str> = line.split_whitespace().take(2).collect();
    WallTime::read(words.first()?).or_else(|| WallTime::read(&words.join(" ")))
}

/// What is blocked at an OSD.
#[derive(Clone, Copy, Default)]
struct BlockedOps {
    most: u64,
    oldest_s: Option<u64>,
}

#[derive(Default)]
struct CephLog {
    slow: SlowLog,
    blocked: BTreeMap<Option<u64>, BlockedOps>,
    scrubbed: u64,
    slow_stores: u64,
    noted: BTreeSet<u64>,
    /// Reads that stalled at an OSD's device, and their limit, s.
    stalled: BTreeMap<Option<u64>, (u64, u64)>,
    /// OSDs that did not answer a peer.
    silent: BTreeSet<u64>,
}

impl Reader for CephLog {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let Some(entry) = Entry::of(line) else {
            let is_meant = line.contains("slow operation observed for ");
            return Step::skipped_if(is_meant, "the line has no duration");
        };
        match entry {
            Entry::Store { osd, what, ns } => {
                let name = osd.map_or("an OSD".to_string(), |osd| format!("osd.{osd}"));
                let reads = ["read", "get", "list"].iter().any(|word| what.contains(word));
                let op = if reads { Op::Read } else { Op::Flush };
                self.slow.take((&name, op, what), ns, moment(line), sink);
            }
            Entry::Blocked { osds, count, oldest_s } => {
                let unnamed = osds.is_empty().then_some(None);
                for osd in osds.into_iter().map(Some).chain(unnamed) {
                    let known = self.blocked.entry(osd).or_default();
                    known.most = known.most.max(count);
                    known.oldest_s = known.oldest_s.max(oldest_s);
                }
            }
            Entry::Scrubbed(errors) => self.scrubbed = self.scrubbed.max(errors),
            Entry::Noted { osd } => {
                self.noted.insert(osd);
            }
            Entry::NoReply { osd } if self.silent.insert(osd) => {
                let message = Message::new("", line.trim());
                let remote = typed::KERNEL_LOG.of(MessageKind::Remote.name());
                sink.add_fact_here(&format!("osd.{osd}"), remote, message);
            }
            Entry::NoReply { .. } => {}
            Entry::Stalled { osd, least_s } => {
                let (count, limit_s) = self.stalled.entry(osd).or_default();
                (*count, *limit_s) = (*count + 1, least_s.max(*limit_s));
            }
            Entry::SlowStores(count) => self.slow_stores = self.slow_stores.max(count),
        }
        Step::Consumed
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.slow.state_flushes(sink);
        if self.scrubbed > 0 {
            sink.add_fact(None, typed::CEPH_SCRUB_ERRORS, self.scrubbed);
        }
        let slow_stores = self.slow_stores.max(self.noted.len() as u64);
        if slow_stores > 0 {
            sink.add_fact(None, typed::CEPH_SLOW_STORES, slow_stores);
        }
        for (osd, (count, least_s)) in std::mem::take(&mut self.stalled) {
            let device = osd.map(|osd| sink.device(&format!("osd.{osd}")));
            sink.add_fact(device, typed::IO_SLOW, count);
            sink.add_fact(device, typed::IO_SLOWEST_LEAST, Nanos::from_seconds(least_s as f64));
        }
        for (osd, blocked) in std::mem::take(&mut self.blocked) {
            let device = osd.map(|osd| sink.device(&format!("osd.{osd}")));
            sink.add_fact(device, typed::CEPH_BLOCKED, blocked.most);
            if let Some(seconds) = blocked.oldest_s {
                let longest = Nanos::from_seconds(seconds as f64);
                sink.add_fact(device, typed::CEPH_BLOCKED_TIME, longest);
            }
        }
        self.slow.state_threshold(LOGGED_US, sink);
    }
}
