//! Pools of ZFS: `zpool status`, the mails and lines of zed, and `zpool events -v`.
//!
//! ## Reads
//! State and work of each pool, state and error counts of each member. Facts of the pool are
//! `array.state`, `device.slaves`, `array.action` (`idle`, `scrub`, `resilver`), `array.percent`,
//! `array.speed` (bytes per second) and `array.remaining`; of a member `member.state` where it is
//! not online, and `member.errors.read`, `member.errors.write`, `member.errors.checksum`,
//! `member.errors.slow` (`-s`), `member.reason` (`too many slow I/Os`). A mail about a lost member
//! (`state: FAULTED`) is read like its row. Events count as
//! `member.events.io`, `.checksum`, `.delay`,
//! `.deadman` and so on, by class.
//!
//! ## How to capture
//! `zpool status`, also `-v`, `-s`, `-P`, `-L`; the mail that zed sends; `zpool events -v`.
//!
//! ## Versions
//! OpenZFS 0.6 to 2.3, illumos, FreeBSD.
//!
//! ## Caveats
//! Error counts are since the pool was imported or cleared. Read errors without write or checksum
//! errors point to the disk; all three together, or errors of several members, may be caused by a
//! cable or an adapter. A member that is OFFLINE was taken offline by an administrator. Checksum
//! errors alone are data that came back changed, for any reason. Members are named as at the
//! creation of the pool: by id, path or GUID; an id printed with a path becomes `device.alias`.
//!
//! ## Not in this output
//! Latencies (`zpool iostat` shows them).

use std::collections::{BTreeMap, BTreeSet};

use iowhy_model::typed::{ArrayAction, BytesPerSecond, Share};

use crate::program::*;
use crate::text::numbers::{in_thousands, span_s};

pub(super) const FORMAT: Format = Format::program::<ZpoolStatus>(
    "pools of ZFS: zpool status, zpool events -v, mails of zed",
    Level::E,
    &["CKSUM", "fs.zfs.", "eid: ", "pool: ", "scan: "],
    sniff,
)
.resumed();

/// States a member or pool can be in (zpoolconcepts(7)).
const STATES: &[&str] = &[
    "ONLINE", "DEGRADED", "FAULTED", "OFFLINE", "REMOVED", "UNAVAIL", "SUSPENDED", "AVAIL", "INUSE",
];
/// Why zed degrades a member that answers late (zed's agents, vdev_slow_io).
const TOO_SLOW: &str = "too many slow I/Os";
/// Rows that group members (zpoolconcepts(7)).
const GROUPS: &[&str] = &["mirror", "raidz", "draid", "replacing", "spare", "indirect", "root"];
/// Headings inside the table.
const CLASSES: &[&str] = &["logs", "cache", "spares", "special", "dedup"];
/// Labels of the listing, in front of a colon.
const LABELS: &[&str] = &[
    "pool", "state", "status", "action", "see", "scan", "scrub", "config", "errors", "remove",
    "checkpoint", "comment", "dedup", "expand",
];
/// How a line of its work begins, and the pool of such a line where nothing names it.
const WORK: [&str; 2] = ["scrub in progress since ", "resilver in progress since "];
const UNNAMED: &str = "pool";
/// Keys of an event, in zed's mails with a colon.
const KEYS: &[&str] = &[
    "eid", "class", "state", "host", "time", "vpath", "vphys", "vguid", "devid", "pool",
    "subclass", "priority", "size", "error", "impact", "cksum_expected", "cksum_actual",
];

fn sniff(lines: &[&str]) -> Detect {
    let Some(first) = lines.first() else { return Detect::No };
    let text = first.trim();
    if is_header(text) || is_event(text) {
        return Detect::Yes;
    }
    let numbered = text.strip_prefix("eid: ").is_some_and(|id| integer(id.trim()).is_some());
    let pool = text.strip_prefix("pool: ").is_some_and(|name| !name.trim().contains(' '));
    let next = |label: &str| match lines.get(1) {
        None => Detect::NeedLine,
        Some(second) => Detect::from(second.trim().starts_with(label)),
    };
    // A copy that begins below the name of the pool.
    if let Some(scan) = text.strip_prefix("scan: ") {
        return Detect::from(WORK.iter().any(|work| scan.starts_with(work)));
    }
    match (pool, numbered) {
        (true, _) => next("state:"),
        (_, true) => next("class:"),
        _ => Detect::No,
    }
}

/// `NAME  STATE  READ WRITE CKSUM`, perhaps with SLOW.
fn is_header(text: &str) -> bool {
    if !text.starts_with("NAME") {
        return false;
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    matches!(words.as_slice(), ["NAME", "STATE", "READ", "WRITE", "CKSUM", ..])
}

/// Letters before the first that is no blank.
fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// `May 31 2025 13:16:36.123456789 ereport.fs.zfs.io`.
fn is_event(text: &str) -> bool {
    text.rsplit_once(' ').is_some_and(|(stamp, class)| {
        stamp.contains(':')
            && (class.starts_with("ereport.fs.zfs.") || class.starts_with("sysevent.fs.zfs."))
    })
}

#[derive(Default)]
struct ZpoolStatus {
    pool: String,
    /// Its work was stated.
    scan: bool,
    /// The label whose text continues.
    label: &'static str,
    /// How far the heading of the table is indented.
    indent: Option<usize>,
    members: Vec<String>,
    /// Of the event being read: its class, its state, its member, its pool.
    class: String,
    event_state: String,
    path: String,
    event_pool: String,
    /// Members that events report as lost, by pool, and the pools of which all members are listed.
    lost: BTreeMap<String, Vec<String>>,
    listed: BTreeSet<String>,
    /// Events of a member by class.
    events: BTreeMap<(String, String), u64>,
    /// A mail or an event is being read.
    event: bool,
}

impl Reader for ZpoolStatus {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let text = line.trim();
        if text.is_empty() {
            return Step::Consumed;
        }
        if is_event(text) || text.starts_with("eid: ") {
            self.close_event(sink);
            self.event = true;
            self.class = text.rsplit(' ').next().unwrap_or_default().to_string();
            return Step::Consumed;
        }
        if self.event && self.event_line(text, sink) {
            return Step::Consumed;
        }
        if is_header(text) || self.label == "config" && CLASSES.contains(&text) {
            self.label = "config";
            self.indent = is_header(text).then(|| indent_of(line)).or(self.indent);
            return Step::Consumed;
        }
        if let Some(step) = self.row(line, sink) {
            return step;
        }
        if let Some((label, value)) = text.split_once(':')
            && let Some(label) = LABELS.iter().find(|known| **known == label.trim())
        {
            self.labelled(label, value.trim(), sink);
            return Step::Consumed;
        }
        match self.label {
            "scan" | "scrub" => {
                let known = self.progress(text, sink);
                if known { Step::Consumed } else { Step::NotMine }
            }
            // Sentences that continue, and names of damaged files.
            "status" | "action" if line.starts_with(['\t', ' ']) => Step::Consumed,
            "errors" if text.starts_with('/') || text.contains(":<0x") || text.contains(":/") => {
                Step::Consumed
            }
            _ => Step::NotMine,
        }
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.close_event(sink);
        self.close_pool(sink);
        for (pool, members) in std::mem::take(&mut self.lost) {
            if !pool.is_empty() && !self.listed.contains(&pool) {
                sink.add_fact_here(&pool, typed::DEVICE_SLAVES, members);
            }
        }
        for ((member, class), count) in std::mem::take(&mut self.events) {
            sink.add_fact_here(&member, typed::MEMBER_EVENTS.member(class), count);
        }
    }
}

impl ZpoolStatus {
    fn labelled(&mut self, label: &'static str, value: &str, sink: &mut dyn Sink) {
        self.label = label;
        match label {
            "pool" => {
                self.close_pool(sink);
                self.pool = value.to_string();
            }
            "state" if !self.pool.is_empty() => {
                sink.add_fact_here(&self.pool, typed::ARRAY_STATE, value.to_ascii_lowercase());
            }
            "scan" | "scrub" => self.scan(value, sink),
            _ => {}
        }
    }

    /// `resilver in progress since Wed Nov 29 11:53:46 2023`, `scrub repaired 0B in ...`.
    fn scan(&mut self, value: &str, sink: &mut dyn Sink) {
        let words: Vec<&str> = value.split_whitespace().collect();
        let action = match words.as_slice() {
            ["scrub", "in", "progress", ..] => ArrayAction::Scrub,
            ["resilver", "in", "progress", ..] => ArrayAction::Resilver,
            ["scrub", "paused", ..] => ArrayAction::ScrubPaused,
            _ => ArrayAction::Idle,
        };
        self.scan = true;
        if self.pool.is_empty() && WORK.iter().any(|work| value.starts_with(work)) {
            self.pool = UNNAMED.to_string();
        }
        if !self.pool.is_empty() {
            sink.add_fact_here(&self.pool, typed::ARRAY_ACTION, action);
        }
        // Old versions say all on one line: `..., 12.31% done, 1h2m to go`.
        self.progress(value, sink);
    }

    /// `14.2T scanned out of 37.5T at 775M/s, 8h45m to go`, `2.24T resilvered, 37.87% done`.
    fn progress(&mut self, text: &str, sink: &mut dyn Sink) -> bool {
        let mut known = false;
        if self.pool.is_empty() {
            return known;
        }
        let pool = self.pool.as_str();
        for part in text.split(',').map(str::trim) {
            if let Some(percent) = part.strip_suffix("% done").and_then(decimal) {
                known = true;
                sink.add_fact_here(pool, typed::ARRAY_PERCENT, Share::from_percent(percent));
            }
            if let Some(left) = part.strip_suffix(" to go").and_then(span_s) {
                known = true;
                sink.add_fact_here(pool, typed::ARRAY_REMAINING, Nanos::from_seconds(left));
            }
            // Of scanned and issued, the second is what reads the disks; it comes later and counts.
            if let Some((_, speed)) = part.split_once(" at ")
                && let Some(speed) = speed.strip_suffix("/s").and_then(bytes)
            {
                known = true;
                sink.add_fact_here(pool, typed::ARRAY_SPEED, BytesPerSecond(speed.round()));
            }
        }
        known
            || ["scanned", "issued", "resilvered", "repaired", "to go"]
                .iter()
                .any(|w| text.contains(w))
    }

    /// A row of the table. Of one whose counts are no numbers the state is known all the same.
    fn row(&mut self, line: &str, sink: &mut dyn Sink) -> Option<Step> {
        let text = line.trim();
        let words: Vec<&str> = text.split_whitespace().collect();
        let [name, member_state, rest @ ..] = words.as_slice() else { return None };
        if !STATES.contains(member_state) || name.ends_with(':') {
            return None;
        }
        let counts: Option<Vec<u64>> = rest.iter().take(3).map(|word| count(word)).collect();
        let counts = counts.filter(|counts| counts.len() == 3);
        let without = matches!(*member_state, "AVAIL" | "INUSE");
        if counts.is_none() && !without && rest.is_empty() {
            return None;
        }
        let is_bad = counts.is_none() && !without;
        let step = match is_bad {
            true => Step::skipped("an error count is not a number"),
            false => Step::Consumed,
        };
        let group = GROUPS.iter().any(|group| {
            name.strip_prefix(group).is_some_and(|rest| rest.is_empty() || rest.contains('-'))
        });
        // The first row is the pool, also where the lines above the table were cut off, and with
        // them its work; members are indented further than the heading.
        let is_first = self.pool.is_empty() && self.members.is_empty();
        if is_first && self.indent == Some(indent_of(line)) && counts.is_some() {
            (self.pool, self.scan) = (name.to_string(), true);
        }
        if group || *name == self.pool {
            return Some(step);
        }
        // `1234567890  UNAVAIL  0 0 0  was /dev/sdb1`
        let was = words.iter().position(|word| *word == "was").and_then(|at| words.get(at + 1));
        let name = was.unwrap_or(name);
        let name = name.strip_prefix("/dev/").unwrap_or(name);
        self.members.push(name.to_string());
        if is_bad {
            let device = sink.device(name);
            sink.skipped_of(device);
        }
        if *member_state != "ONLINE" {
            sink.add_fact_here(name, typed::MEMBER_STATE, member_state.to_ascii_lowercase());
        }
        let kinds = ["read", "write", "checksum"];
        for (kind, count) in kinds.iter().zip(counts.into_iter().flatten()) {
            sink.add_fact_here(name, typed::MEMBER_ERRORS.of(kind), count);
        }
        if let Some(slow) = rest.get(3).and_then(|word| count(word)) {
            sink.add_fact_here(name, typed::MEMBER_ERRORS.of("slow"), slow);
        }
        if text.ends_with(TOO_SLOW) {
            sink.add_fact_here(name, typed::MEMBER_REASON, TOO_SLOW);
        }
        Some(step)
    }

    /// A line of an event: `vpath: /dev/sde1` or `vdev_path = "/dev/sde1"`.
    fn event_line(&mut self, text: &str, sink: &mut dyn Sink) -> bool {
        let (key, value) = match text.split_once(" = ") {
            Some((key, value)) => (key.trim(), value.trim().trim_matches('"')),
            None => match text.split_once(':') {
                Some((key, value)) if KEYS.contains(&key) => (key, value.trim()),
                _ => return false,
            },
        };
        match key {
            "class" => self.class = value.to_string(),
            "vpath" | "vdev_path" => self.path = value.to_string(),
            "state" | "vdev_state" => self.event_state = value.to_string(),
            // The line ends the mail: the pool's GUID.
            "devid" | "vdev_devid" if !self.path.is_empty() && !value.is_empty() => {
                let path = of_disk(&self.path).to_string();
                sink.add_fact_here(&path, typed::DEVICE_ALIAS, vec![of_disk(value).to_string()]);
            }
            // A listing of the same name begins with the same word; zed gives the pool's GUID.
            "pool" if text.contains('=') || value.contains("0x") || value.starts_with('\'') => {
                let name = value.split_whitespace().next().unwrap_or_default().trim_matches('\'');
                let name = if name.starts_with("0x") { UNNAMED } else { name };
                self.event_pool = name.to_string();
            }
            "pool" => {
                self.close_event(sink);
                return false;
            }
            _ => {}
        }
        true
    }

    fn close_event(&mut self, sink: &mut dyn Sink) {
        let (class, path) = (std::mem::take(&mut self.class), std::mem::take(&mut self.path));
        let event_state = std::mem::take(&mut self.event_state);
        let pool = std::mem::take(&mut self.event_pool);
        if !std::mem::take(&mut self.event) || path.is_empty() {
            return;
        }
        let member = of_disk(&path).trim_start_matches("/dev/").to_string();
        let known = STATES.iter().find(|known| **known == event_state.as_str());
        if let Some(known) = known.filter(|known| **known != "ONLINE") {
            sink.add_fact_here(&member, typed::MEMBER_STATE, known.to_ascii_lowercase());
            let lost = self.lost.entry(pool).or_default();
            if !lost.contains(&member) {
                lost.push(member.clone());
            }
        }
        if let Some((_, kind)) = class.rsplit_once("zfs.")
            && class.starts_with("ereport")
        {
            *self.events.entry((member, kind.to_string())).or_default() += 1;
        }
    }

    fn close_pool(&mut self, sink: &mut dyn Sink) {
        let (pool, members) = (std::mem::take(&mut self.pool), std::mem::take(&mut self.members));
        let scan = std::mem::take(&mut self.scan);
        if pool.is_empty() {
            return;
        }
        if !members.is_empty() {
            self.listed.insert(pool.clone());
            sink.add_fact_here(&pool, typed::DEVICE_SLAVES, members);
        }
        if !scan {
            sink.add_fact_here(&pool, typed::ARRAY_ACTION, ArrayAction::Idle);
        }
    }
}

/// `457`, `1.2K`.
fn count(text: &str) -> Option<u64> {
    if !text.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let in_thousands = || in_thousands(text).filter(|_| text.ends_with(['K', 'M', 'G']));
    integer(text).or_else(|| in_thousands().map(|count| count as u64))
}

/// The disk of a partition's path or id: `/dev/sde1`, `ata-X-part1`.
fn of_disk(path: &str) -> &str {
    let name = path.strip_prefix("/dev/").unwrap_or(path);
    // A link of udev: `disk/by-id/ata-X-part1`.
    let link = name.strip_prefix("disk/by-").and_then(|link| link.split_once('/'));
    let name = link.map_or(name, |(_, link)| link);
    if let Some((disk, part)) = name.rsplit_once("-part")
        && integer(part).is_some()
    {
        return disk;
    }
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit());
    match bare.strip_suffix('p') {
        Some(disk) if disk.ends_with(|c: char| c.is_ascii_digit()) => disk,
        _ if bare.starts_with("sd") || bare.starts_with("vd") || bare.starts_with("hd") => bare,
        _ => name,
    }
}
