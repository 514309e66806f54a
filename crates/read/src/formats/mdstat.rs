//! Linux software RAID: `/proc/mdstat` and `mdadm --detail`.
//!
//! ## Reads
//! Each array's members, the number of missing ones, and its background work: resync, recovery,
//! check, repair, reshape, with progress and rate. Facts of the array are `device.slaves`,
//! `array.state` as printed, `array.degraded` (missing members), `array.action` (`idle`, `resync`,
//! `recover`, `check`, `repair`, `reshape`, or followed by ` delayed`), `array.percent`,
//! `array.speed` (bytes per second) and `array.remaining`; of a member `member.state` (`faulty`,
//! `spare`, `rebuilding`, `write-mostly`, `removed`).
//!
//! ## How to capture
//! `cat /proc/mdstat`, `mdadm --detail /dev/md0`.
//!
//! ## Versions
//! Linux 2.6 to 6.x, mdadm 2.6 to 4.3. `mdadm --detail` gives no speed.
//!
//! ## Caveats
//! `[3/2] [U_U]`: of three members two work. A recovery, a check or a resync competes with other
//! I/O on the members, and the kernel maintains at least `sync_speed_min`. An array that is
//! `inactive` lists members without a level. Members are printed with their partition.
//!
//! ## Not in this output
//! Why a member failed: see the kernel's log.

use iowhy_model::typed::{ArrayAction, BytesPerSecond, Share};

use crate::drive::health::leading;
use crate::program::*;

pub const FORMAT: Format = Format::program::<Mdstat>(
    "Linux software RAID: /proc/mdstat, mdadm --detail",
    Level::E,
    &["Personalities :", " : ", "/dev/md"],
    sniff,
)
.resumed();

/// Labels of `mdadm --detail` without a fact that is read.
const LABELS: &[&str] = &[
    "Version", "Creation Time", "Raid Level", "Array Size", "Used Dev Size", "Device Size",
    "Total Devices", "Preferred Minor", "Persistence", "Update Time", "Active Devices",
    "Working Devices", "Failed Devices", "Spare Devices", "Layout", "Chunk Size", "Rounding",
    "Name", "UUID", "Events", "Intent Bitmap", "Consistency Policy", "Container", "Member",
    "Member Arrays", "Number   Major   Minor", "Write Journal", "Delta Devices", "New Layout",
    "New Chunksize", "New Level", "Flags", "Internal Bitmap",
];

/// Labels with one.
const STATED: [&str; 3] = ["State", "Raid Devices", "Active Devices"];

/// Lines from the state to the count of active devices in a piece of `mdadm --detail`.
const NEAR: usize = 2;
/// States of an array (mdadm's Detail.c).
const STATES: [&str; 13] = [
    "clean", "active", "active-idle", "write-pending", "degraded", "recovering", "resyncing",
    "reshaping", "checking", "read-only", "Not Started", "broken", "FAILED",
];
/// Its name for an array without one.
const UNNAMED: &str = "md";

fn sniff(lines: &[&str]) -> Detect {
    match lines {
        [first, ..] if first.trim_start().starts_with("Personalities :") => Detect::Yes,
        [first, ..] if array(first).is_some() => Detect::Yes,
        [first] if detail(first).is_some() => Detect::NeedLine,
        [first, second, ..] if detail(first).is_some() => {
            let text = second.trim();
            let label = text.split_once(':').map(|(label, _)| label.trim());
            Detect::from(
                label.is_some_and(|label| LABELS.contains(&label) || STATED.contains(&label)),
            )
        }
        [first, rest @ ..] if excerpt(first) => match rest.last() {
            Some(last) if last.trim().starts_with("Active Devices :") => Detect::Yes,
            _ if rest.len() < NEAR => Detect::NeedLine,
            _ => Detect::No,
        },
        _ => Detect::No,
    }
}

/// `State : clean, degraded, recovering`, with which a piece of `mdadm --detail` begins where the
/// lines above were left out.
fn excerpt(line: &str) -> bool {
    let words = line.trim().strip_prefix("State : ");
    words.is_some_and(|words| words.split(',').all(|word| STATES.contains(&word.trim())))
}

/// `/dev/md0:` above the details of an array.
fn detail(line: &str) -> Option<&str> {
    let name = line.trim().strip_prefix("/dev/")?.strip_suffix(':')?;
    name.starts_with("md").then_some(name)
}

/// An array's line: its name, state and members.
struct Array<'a> {
    name: &'a str,
    state: &'a str,
    /// Names and marks, `(F)` and so on.
    members: Vec<(&'a str, &'a str)>,
}

/// `md0 : active raid6 sde1[6] sdf1[7](S) sdc1[3](F)`.
fn array(line: &str) -> Option<Array<'_>> {
    let (name, rest) = line.trim().split_once(" : ")?;
    let sound = name.starts_with("md") && !name.contains(' ');
    let state = rest.split_whitespace().next().filter(|state| {
        matches!(*state, "active" | "inactive" | "broken" | "clear" | "readonly" | "clean")
    })?;
    let members: Vec<(&str, &str)> = rest.split_whitespace().filter_map(member).collect();
    (sound && !members.is_empty()).then_some(Array { name, state, members })
}

/// `sdc1[3](F)`: the name and the marks.
fn member(word: &str) -> Option<(&str, &str)> {
    let (name, rest) = word.split_once('[')?;
    let (number, marks) = rest.split_once(']')?;
    (!name.is_empty() && integer(number).is_some()).then_some((name, marks))
}

#[derive(Default)]
struct Mdstat {
    /// The array being read.
    array: String,
    /// Its work was stated.
    busy: bool,
    /// It is in `mdadm --detail`.
    detailed: bool,
    raid_devices: Option<u64>,
    active: Option<u64>,
    members: Vec<String>,
    place: String,
}

impl Reader for Mdstat {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let text = line.trim();
        if let Some(known) = array(line) {
            self.close(sink);
            self.place = sink.here();
            self.array = known.name.to_string();
            let state_of = if line.contains("(read-only)") { "read-only" } else { known.state };
            sink.add_fact_at(known.name, typed::ARRAY_STATE, state_of, &self.place);
            self.members = known.members.iter().map(|(name, _)| name.to_string()).collect();
            for (member, marks) in known.members {
                for (mark, word) in [
                    ("(F)", "faulty"),
                    ("(S)", "spare"),
                    ("(W)", "write-mostly"),
                    ("(R)", "replacement"),
                ] {
                    if marks.contains(mark) {
                        sink.add_fact_at(member, typed::MEMBER_STATE, word, &self.place);
                    }
                }
            }
            return Step::Consumed;
        }
        if let Some(name) = detail(line) {
            if !self.array.is_empty() {
                return Step::End;
            }
            self.place = sink.here();
            (self.array, self.detailed) = (name.to_string(), true);
            return Step::Consumed;
        }
        self.place = sink.here();
        if self.array.is_empty() && excerpt(line) {
            (self.array, self.detailed) = (UNNAMED.to_string(), true);
        }
        let took = text.is_empty()
            || text.starts_with("Personalities :")
            || text.starts_with("unused devices:")
            || text.starts_with("read_ahead ")
            || text.starts_with("bitmap:")
            || text.starts_with("Number") && text.contains("RaidDevice")
            || !self.array.is_empty() && (self.status(text, sink) || self.detail_row(text, sink));
        if took { Step::Consumed } else { Step::NotMine }
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.close(sink);
    }
}

impl Mdstat {
    /// The array is over: what was known only at its end.
    fn close(&mut self, sink: &mut dyn Sink) {
        let array = std::mem::take(&mut self.array);
        let (busy, detailed) = (std::mem::take(&mut self.busy), std::mem::take(&mut self.detailed));
        let members = std::mem::take(&mut self.members);
        let missing = self.raid_devices.take().zip(self.active.take());
        if array.is_empty() {
            return;
        }
        let array = sink.device(&array);
        if !members.is_empty() {
            sink.add_fact_at(array, typed::DEVICE_SLAVES, members, &self.place);
        }
        if let Some((all, active)) = missing.filter(|_| detailed) {
            let missing = all.saturating_sub(active);
            sink.add_fact_at(array, typed::ARRAY_DEGRADED, missing, &self.place);
        }
        if !busy {
            sink.add_fact_at(array, typed::ARRAY_ACTION, ArrayAction::Idle, &self.place);
        }
    }

    /// Lines of /proc/mdstat below an array.
    fn status(&mut self, text: &str, sink: &mut dyn Sink) -> bool {
        let array = self.array.as_str();
        if let Some((_, rest)) = text.split_once(" blocks") {
            // `[3/2] [U_U]`
            let counts = rest.match_indices('[').find_map(|(at, _)| {
                let (inside, _) = rest.get(at + 1..)?.split_once(']')?;
                let (all, working) = inside.split_once('/')?;
                Some((integer(all)?, integer(working)?))
            });
            if let Some((all, working)) = counts {
                sink.add_fact_here(array, typed::ARRAY_DEGRADED, all.saturating_sub(working));
            }
            return true;
        }
        if let Some((action, rest)) = text.split_once('=').filter(|_| !text.starts_with('[')) {
            // `resync=DELAYED`
            if let Some(action) = action_of(action.trim()) {
                let waits = rest.trim().to_ascii_lowercase();
                let value = format!("{} {waits}", action.name());
                self.busy = true;
                let place = sink.here();
                sink.add_text_at(array, typed::ARRAY_ACTION, &value, &place);
                return true;
            }
        }
        // Pages of the web make one blank of several.
        let Some((bar, rest)) = text.split_once("] ") else { return false };
        if !bar.starts_with('[') {
            return false;
        }
        let words: Vec<&str> = rest.split_whitespace().collect();
        let [action, "=", percent, ..] = words.as_slice() else { return false };
        let Some(action) = action_of(action) else { return false };
        self.busy = true;
        sink.add_fact_here(array, typed::ARRAY_ACTION, action);
        // `(2303100/3906887168)` is exact, the percentage next to it is rounded.
        let place_of = |word: &&str| {
            let (at, all) = word.strip_prefix('(')?.strip_suffix(')')?.split_once('/')?;
            Some(integer(at)? as f64 / integer(all).filter(|all| *all > 0)? as f64)
        };
        let done = words.iter().find_map(place_of).map(Share);
        let rounded = || Some(Share::from_percent(decimal(percent.trim_end_matches('%'))?));
        if let Some(done) = done.or_else(rounded) {
            sink.add_fact_here(array, typed::ARRAY_PERCENT, done);
        }
        for word in &words {
            if let Some(minutes) = word.strip_prefix("finish=")
                && let Some(minutes) = decimal(minutes.trim_end_matches("min"))
            {
                let left = Nanos::from_seconds((minutes * 60.0).round());
                sink.add_fact_here(array, typed::ARRAY_REMAINING, left);
            }
            if let Some(speed) = word.strip_prefix("speed=")
                && let Some(kib) = integer(speed.trim_end_matches("K/sec"))
            {
                sink.add_fact_here(array, typed::ARRAY_SPEED, BytesPerSecond::from_kib(kib as f64));
            }
        }
        true
    }

    /// Lines of `mdadm --detail`.
    fn detail_row(&mut self, text: &str, sink: &mut dyn Sink) -> bool {
        if !self.detailed {
            return false;
        }
        let array = self.array.as_str();
        if let Some((label, value)) = text.split_once(" : ").or_else(|| text.split_once(" :")) {
            let (label, value) = (label.trim(), value.trim());
            match label {
                "State" => {
                    sink.add_fact_here(array, typed::ARRAY_STATE, value);
                }
                "Raid Devices" => self.raid_devices = leading(value),
                "Active Devices" => self.active = leading(value),
                _ => {
                    let action = label
                        .strip_suffix(" Status")
                        .and_then(|word| action_of(&word.to_ascii_lowercase()));
                    let Some(action) = action else { return LABELS.contains(&label) };
                    self.busy = true;
                    sink.add_fact_here(array, typed::ARRAY_ACTION, action);
                    if let Some(percent) = leading(value) {
                        let done = Share::from_percent(percent as f64);
                        sink.add_fact_here(array, typed::ARRAY_PERCENT, done);
                    }
                }
            }
            return true;
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        let numbered = |word: &&str| integer(word).is_some() || *word == "-";
        let [number, major, minor, place, words @ ..] = words.as_slice() else { return false };
        if ![number, major, minor, place].into_iter().all(numbered) {
            return false;
        }
        let Some((device, words)) =
            words.split_last().filter(|(last, _)| last.starts_with("/dev/"))
        else {
            return words.contains(&"removed");
        };
        self.members.push(device.trim_start_matches("/dev/").to_string());
        let state = words.join(" ");
        let member = match &words {
            _ if words.contains(&"faulty") => "faulty",
            _ if words.contains(&"rebuilding") => "rebuilding",
            ["spare", ..] => "spare",
            _ if state.starts_with("active sync") => return true,
            _ => state.as_str(),
        };
        if !member.is_empty() {
            sink.add_fact_here(*device, typed::MEMBER_STATE, member);
        }
        true
    }
}

/// The kernel's word in sync_action for what mdstat and mdadm print.
fn action_of(word: &str) -> Option<ArrayAction> {
    match word {
        "resync" => Some(ArrayAction::Resync),
        "recovery" | "rebuild" => Some(ArrayAction::Recover),
        "check" => Some(ArrayAction::Check),
        "repair" => Some(ArrayAction::Repair),
        "reshape" => Some(ArrayAction::Reshape),
        _ => None,
    }
}
