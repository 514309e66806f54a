//! Block devices listed by `lsblk`: model, medium, queue, and how they are stacked.
//!
//! ## Reads
//! The tree and the list, with any columns (`-t`, `-D`, `-S`, `-O`, `-o NAME,ROTA,MODEL`), in pairs
//! (`-P`) and in JSON (`-J`). Columns become the facts that /sys gives: ROTA `queue.rotational`,
//! SCHED `queue.scheduler`, RQ-SIZE `queue.nr_requests`, RA `queue.read_ahead_kb`, DISC-MAX
//! `queue.discard_max_bytes`, LOG-SEC and PHY-SEC `queue.logical_block_size` and
//! `queue.physical_block_size`, ZONED `queue.zoned`, MODEL `device.model`, REV `device.firmware`,
//! STATE `device.state`, RO `device.read_only`, ALIGNMENT `device.alignment_offset`, MAJ:MIN
//! `device.number`, SIZE `device.bytes`, TRAN `device.transport`. Of the tree, volumes, crypt and
//! RAID devices and paths list their underlying devices (`device.slaves`). Another name of the same
//! device is `device.alias`.
//!
//! ## How to capture
//! `lsblk`, `lsblk -t`, `lsblk -D`, `lsblk -o NAME,ROTA,MODEL,SCHED`, `lsblk -J -O`, `lsblk -P`.
//!
//! ## Versions
//! util-linux 2.19 to 2.41. JSON has strings up to 2.32 and numbers and booleans since; newer pairs
//! write MAJ_MIN for MAJ:MIN.
//!
//! ## Caveats
//! ROTA of a virtual disk is set by the hypervisor, 1 by default, and that of a disk behind a RAID
//! controller by the controller. Sizes are rounded unless `-b` was given. A device-mapper device is
//! identified by its mapper name; iostat calls it dm-N, where N is its minor number. Cells may be
//! empty: they are found by the position of their column, so a listing whose blanks were squeezed
//! is read only if a row has as many words as the header. Partitions have no facts of their own.
//!
//! ## Not in this output
//! The drive's own health data.

use std::collections::{BTreeMap, BTreeSet};

use iowhy_model::{FactKey, key};
use serde_json::Value;

use crate::drive::health::is_name;
use crate::program::*;
use crate::text::document::{Document, Piece, plain, sniff_document};

pub(super) const FORMAT: Format = Format::program::<Lsblk>(
    "block devices: lsblk as a tree, list, pairs or JSON",
    Level::E,
    &["NAME", "PATH", "^document"],
    sniff,
);

/// What a column's text is turned into.
#[derive(Clone, Copy, PartialEq)]
enum Cell {
    Text,
    /// 0 or 1; `false` or `true` in JSON.
    Flag,
    /// A plain number.
    Number,
    /// A size with a unit letter, or bytes.
    Size,
}

/// Columns and their facts; a column without one is known, but nothing is stated.
const COLUMNS: &[(&str, FactKey, Cell)] = &[
    ("ROTA", key::QUEUE_ROTATIONAL, Cell::Flag),
    ("SCHED", key::QUEUE_SCHEDULER, Cell::Text),
    ("RQ-SIZE", key::QUEUE_NR_REQUESTS, Cell::Number),
    ("RA", key::QUEUE_READ_AHEAD, Cell::Number),
    ("DISC-MAX", key::QUEUE_DISCARD_MAX_BYTES, Cell::Size),
    ("LOG-SEC", key::QUEUE_LOGICAL_BLOCK_SIZE, Cell::Number),
    ("PHY-SEC", key::QUEUE_PHYSICAL_BLOCK_SIZE, Cell::Number),
    ("ZONED", key::QUEUE_ZONED, Cell::Text),
    ("MODEL", key::DEVICE_MODEL, Cell::Text),
    ("REV", key::DEVICE_FIRMWARE, Cell::Text),
    ("STATE", key::DEVICE_STATE, Cell::Text),
    ("RO", key::DEVICE_READ_ONLY, Cell::Flag),
    ("ALIGNMENT", key::DEVICE_ALIGNMENT_OFFSET, Cell::Number),
    ("MAJ:MIN", key::DEVICE_NUMBER, Cell::Text),
    ("SIZE", key::DEVICE_BYTES, Cell::Size),
    ("TRAN", key::DEVICE_TRANSPORT, Cell::Text),
];
/// All other columns (lsblk(8)).
const OTHERS: &[&str] = &[
    "NAME", "KNAME", "PATH", "TYPE", "RM", "MOUNTPOINT", "MOUNTPOINTS", "FSTYPE", "FSVER",
    "FSAVAIL", "FSSIZE", "FSUSED", "FSUSE%", "FSROOTS", "LABEL", "UUID", "PTTYPE", "PTUUID",
    "PARTFLAGS", "PARTLABEL", "PARTN", "PARTTYPE", "PARTTYPENAME", "PARTUUID", "PKNAME", "SERIAL",
    "OWNER", "GROUP", "MODE", "MIN-IO", "OPT-IO", "DISC-ALN", "DISC-GRAN", "DISC-ZERO", "WSAME",
    "WWN", "RAND", "HCTL", "VENDOR", "SUBSYSTEMS", "HOTPLUG", "DAX", "MAJ", "MIN", "START",
    "ZONE-SZ", "ZONE-WGRAN", "ZONE-APP", "ZONE-NR", "ZONE-OMAX", "ZONE-AMAX", "DISK-SEQ",
    "ID-LINK", "MQ", "STATS", "ID",
];
/// Types that are made of others.
const STACKED: &[&str] =
    &["lvm", "crypt", "mpath", "dm", "linear", "stripe", "thin", "multipath", "md", "container"];

fn sniff(lines: &[&str]) -> Detect {
    let Some(first) = lines.first() else { return Detect::No };
    if let Some(titles) = header(first) {
        // `PATH ID` is a heading of others, too; a path is in `/dev`.
        return match lines.get(1) {
            _ if titles[0] != "PATH" => Detect::Yes,
            None => Detect::NeedLine,
            Some(row) => row.trim_start_matches(is_branch).starts_with('/').into(),
        };
    }
    if pairs(first).is_some() {
        return Detect::Yes;
    }
    sniff_document(lines, &["\"blockdevices\""])
}

/// The titles of a header, if all of them are lsblk's.
fn header(line: &str) -> Option<Vec<&str>> {
    let first = line.split_whitespace().next()?;
    let titles: Vec<&str> = match first {
        "NAME" | "KNAME" | "PATH" => line.split_whitespace().collect(),
        _ => return None,
    };
    let known = |title: &&str| is_column(title);
    let sound = titles.len() > 1 && titles.iter().all(known);
    sound.then_some(titles)
}

fn is_column(title: &str) -> bool {
    OTHERS.contains(&title) || COLUMNS.iter().any(|(known, ..)| *known == title)
}

/// `NAME="sda" MAJ:MIN="8:0" ROTA="1"`.
fn pairs(line: &str) -> Option<Vec<(String, String)>> {
    let mut rest = line.trim();
    let mut found = Vec::new();
    while !rest.is_empty() {
        let (title, after) = rest.split_once("=\"")?;
        let (value, after) = after.split_once('"')?;
        let title = match title {
            "MAJ_MIN" => "MAJ:MIN".to_string(),
            "FSUSE_PCT" => "FSUSE%".to_string(),
            _ => title.replace('_', "-"),
        };
        if !is_column(&title) {
            return None;
        }
        found.push((title, value.to_string()));
        rest = after.trim_start();
    }
    let named = found.iter().any(|(title, _)| matches!(title.as_str(), "NAME" | "KNAME" | "PATH"));
    (named && found.len() > 1).then_some(found)
}

/// One row: its cells by title.
type Row = BTreeMap<String, String>;

#[derive(Default)]
struct Lsblk {
    document: Option<Document>,
    /// Titles and their positions: first character, and the one after the last.
    titles: Vec<(String, usize, usize)>,
    /// The name's depth in the tree, and the name: from the root to the row before.
    above: Vec<(usize, String)>,
    /// What each stacked device is made of; a tree shows it once below each.
    below: BTreeMap<String, (Vec<String>, String)>,
    /// Devices whose row was read.
    reported: BTreeSet<String>,
    place: String,
}

impl Reader for Lsblk {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        // Below a heading a bracket begins a prompt: `[root@host ~]#`.
        let listed = !self.titles.is_empty() || !self.reported.is_empty();
        if self.document.is_none() && !listed && line.trim_start().starts_with(['{', '[']) {
            self.document = Some(Document::default());
        }
        if let Some(document) = &mut self.document {
            self.place = sink.source().place();
            let (pieces, step) = document.step(line);
            for piece in pieces {
                if let Piece::Whole(value) | Piece::Element(value) = piece {
                    self.json(&value, &[], sink);
                }
            }
            return step;
        }
        if !self.titles.is_empty() && header(line).is_some() {
            return Step::End;
        }
        self.place = sink.here();
        if header(line).is_some() {
            self.titles = spans(line);
            return Step::Consumed;
        }
        if line.trim().is_empty() {
            return Step::Consumed;
        }
        if let Some(cells) = pairs(line) {
            let row: Row = cells.into_iter().collect();
            let below = row.get("PKNAME").cloned();
            self.row(&row, &below.into_iter().collect::<Vec<_>>(), sink);
            return Step::Consumed;
        }
        match self.listed(line) {
            Some((depth, row)) => {
                let name = row.get("KNAME").or_else(|| row.get("NAME")).cloned();
                self.above.retain(|(known, _)| *known < depth);
                let parent = self.above.last().map(|(_, name)| name.clone());
                let parent = parent.or_else(|| row.get("PKNAME").cloned());
                let kernel = self.row(&row, &parent.into_iter().collect::<Vec<_>>(), sink);
                self.above.push((depth, kernel.or(name).unwrap_or_default()));
                Step::Consumed
            }
            None => Step::NotMine,
        }
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        if let Some(document) = &mut self.document
            && !document.is_over()
        {
            if let Some(value) = document.repaired() {
                self.json(&value, &[], sink);
            }
            sink.skip(note("the document is truncated; the complete part was read"));
        }
        for (name, (below, place)) in std::mem::take(&mut self.below) {
            let below = below.into_iter().collect::<Vec<_>>();
            sink.add_fact_at(&name, typed::DEVICE_SLAVES, below, &place);
        }
    }
}

/// The positions of a header's titles, in characters.
fn spans(line: &str) -> Vec<(String, usize, usize)> {
    let mut found: Vec<(String, usize, usize)> = Vec::new();
    let mut gap = true;
    for (place, letter) in line.chars().enumerate() {
        match (letter.is_whitespace(), found.last_mut()) {
            (true, _) => {
                gap = true;
                continue;
            }
            (false, Some((title, _, end))) if !gap => {
                title.push(letter);
                *end = place + 1;
            }
            _ => found.push((letter.to_string(), place, place + 1)),
        }
        gap = false;
    }
    found
}

/// The branches of a tree in front of a name.
fn is_branch(letter: char) -> bool {
    matches!(letter, '├' | '─' | '└' | '│' | '|' | '`' | '-' | '┌' | ' ' | '·' | '\u{a0}')
}

impl Lsblk {
    /// The cells of a row of a list or tree, and the depth of its name.
    fn listed(&self, line: &str) -> Option<(usize, Row)> {
        let (first, ..) = self.titles.first()?;
        let letters: Vec<char> = line.chars().collect();
        let depth = letters.iter().take_while(|letter| is_branch(**letter)).count();
        let text: String = letters.iter().skip(depth).collect();
        let words: Vec<&str> = text.split_whitespace().collect();
        let name = words.first()?;
        if !is_name(name.trim_start_matches("/dev/")) {
            return None;
        }
        let mut row = Row::new();
        let squeezed = self.titles.windows(2).all(|pair| pair[0].2 + 1 == pair[1].1);
        if words.len() == self.titles.len() {
            for ((title, ..), word) in self.titles.iter().zip(&words) {
                row.insert(title.clone(), word.to_string());
            }
        } else if squeezed && self.titles.len() > 2 {
            return None;
        } else {
            row.insert(first.clone(), name.to_string());
            self.cells(&letters, depth + name.chars().count(), &mut row);
        }
        plausible(&row).then_some((depth, row))
    }

    /// Sorts the words after the name under the titles.
    fn cells(&self, letters: &[char], from: usize, row: &mut Row) {
        let mut place = from;
        while place < letters.len() {
            if letters.get(place).is_none_or(|letter| letter.is_whitespace()) {
                place += 1;
                continue;
            }
            let length =
                letters.iter().skip(place).take_while(|letter| !letter.is_whitespace()).count();
            let end = place + length;
            let word: String = letters.iter().skip(place).take(length).collect();
            let overlap = |(_, from, to): &&(String, usize, usize)| {
                (*to).min(end).saturating_sub((*from).max(place))
            };
            let rest = self.titles.get(1..).unwrap_or_default();
            let most = rest.iter().max_by_key(overlap).filter(|title| overlap(title) > 0);
            let ends = || rest.iter().find(|(.., to)| *to == end);
            let begins = || rest.iter().rfind(|(_, from, _)| *from <= place);
            if let Some((title, ..)) = most.or_else(ends).or_else(begins) {
                let cell = row.entry(title.clone()).or_default();
                if !cell.is_empty() {
                    cell.push(' ');
                }
                cell.push_str(&word);
            }
            place = end;
        }
    }

    /// Takes a device of the JSON document and those below it.
    fn json(&mut self, value: &Value, above: &[String], sink: &mut dyn Sink) {
        let list = value.get("blockdevices").or_else(|| value.get("children"));
        for device in list.and_then(Value::as_array).into_iter().flatten() {
            let Some(fields) = device.as_object() else { continue };
            let row: Row = fields
                .iter()
                .filter_map(|(title, value)| Some((title.to_ascii_uppercase(), plain(value)?)))
                .collect();
            let name = self.row(&row, above, sink);
            if device.get("children").is_some() {
                self.json(device, &name.into_iter().collect::<Vec<_>>(), sink);
            }
        }
    }

    /// States the facts of a row; answers the kernel's name of the device.
    fn row(&mut self, row: &Row, above: &[String], sink: &mut dyn Sink) -> Option<String> {
        let cell = |title: &str| row.get(title).map(|text| text.trim()).filter(|t| !t.is_empty());
        let listed = cell("NAME").or_else(|| cell("PATH")).or_else(|| cell("KNAME"))?;
        let listed = listed.strip_prefix("/dev/").unwrap_or(listed);
        let listed = listed.strip_prefix("mapper/").unwrap_or(listed);
        let kind = cell("TYPE");
        let part = match kind {
            Some(kind) => kind == "part",
            None => above.iter().any(|disk| is_part(listed, disk)),
        };
        if part {
            return Some(listed.to_string());
        }
        let mapped = kind.is_some_and(|kind| ["lvm", "crypt", "mpath", "dm"].contains(&kind));
        let minor =
            cell("MAJ:MIN").and_then(|number| number.split_once(':')).map(|(_, minor)| minor);
        let by_number = minor.filter(|_| mapped).map(|minor| format!("dm-{}", minor.trim()));
        let kernel = cell("KNAME").map(|name| name.trim_start_matches("/dev/").to_string());
        let name = kernel.or(by_number).unwrap_or_else(|| listed.to_string());
        let stacked = kind.is_some_and(|kind| STACKED.contains(&kind) || kind.starts_with("raid"));
        for parent in above.iter().filter(|_| stacked || kind.is_none()) {
            let (below, _) =
                self.below.entry(name.clone()).or_insert((Vec::new(), self.place.clone()));
            if !below.contains(parent) {
                below.push(parent.clone());
            }
        }
        if !self.reported.insert(name.clone()) {
            return Some(name);
        }
        let mut aliases: Vec<String> = Vec::new();
        if listed != name {
            aliases.push(listed.to_string());
        }
        if let Some(wwn) = cell("WWN").filter(|_| above.is_empty()) {
            aliases.push(wwn.to_string());
        }
        if let (Some(model), Some(serial)) = (cell("MODEL"), cell("SERIAL")) {
            let words: Vec<&str> = model.split_whitespace().chain([serial]).collect();
            aliases.push(words.join("_"));
        }
        if !aliases.is_empty() {
            sink.add_fact_at(&name, typed::DEVICE_ALIAS, aliases, &self.place);
        }
        for (title, key, kind) in COLUMNS {
            if let Some(value) = cell(title).and_then(|text| value(text, *kind)) {
                sink.add_text_at(&name, key.clone(), &value, &self.place);
            }
        }
        Some(name)
    }
}

/// Whether cells hold what their columns can.
fn plausible(row: &Row) -> bool {
    let sound = |title: &str, fits: fn(&str) -> bool| row.get(title).is_none_or(|cell| fits(cell));
    sound("MAJ:MIN", |cell| cell.contains(':'))
        && sound("ROTA", |cell| matches!(cell, "0" | "1"))
        && sound("SIZE", |cell| bytes(cell).is_some())
        && sound("RO", |cell| matches!(cell, "0" | "1"))
}

/// `sda1` of `sda`, `nvme0n1p2` of `nvme0n1`.
fn is_part(name: &str, disk: &str) -> bool {
    name.strip_prefix(disk).is_some_and(|rest| {
        let rest = rest.strip_prefix('p').unwrap_or(rest);
        !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit())
    })
}

fn value(text: &str, kind: Cell) -> Option<String> {
    match kind {
        Cell::Text => Some(text.to_string()),
        Cell::Number => integer(text).map(|value| value.to_string()),
        Cell::Size => bytes(text).map(|value| format!("{value:.0}")),
        Cell::Flag => match text {
            "1" | "true" => Some("1".to_string()),
            "0" | "false" => Some("0".to_string()),
            _ => None,
        },
    }
}
