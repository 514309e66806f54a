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

use crate::describe::report::*;
use crate::drive::health::leading;

pub(super) const FORMAT: Format =
    Format::labels("Linux software RAID: /proc/mdstat, mdadm --detail", Level::E, &LABELS);

/// Labels of `mdadm --detail` without a fact that is read.
const KNOWN: &[&str] = &[
    "Version", "Creation Time", "Raid Level", "Array Size", "Used Dev Size", "Device Size",
    "Total Devices", "Preferred Minor", "Persistence", "Update Time", "Active Devices",
    "Working Devices", "Failed Devices", "Spare Devices", "Layout", "Chunk Size", "Rounding",
    "Name", "UUID", "Events", "Intent Bitmap", "Consistency Policy", "Container", "Member",
    "Member Arrays", "Write Journal", "Delta Devices", "New Layout", "New Chunksize", "New Level",
    "Flags", "Internal Bitmap",
];
/// States of an array (mdadm's Detail.c).
const STATES: [&str; 13] = [
    "clean", "active", "active-idle", "write-pending", "degraded", "recovering", "resyncing",
    "reshaping", "checking", "read-only", "Not Started", "broken", "FAILED",
];
/// Its name for an array without one.
const UNNAMED: &str = "md";

/// `mdadm --detail` is read.
const DETAIL: &str = "detail";
// What is kept of an array: its name, that its work was stated, and numbers of its devices.
const ARRAY: &str = "array";
const BUSY: &str = "busy";
const ALL: &str = "all devices";
const ACTIVE: &str = "active devices";

static LABELS: Labels = Labels {
    may_resume: true,
    near: 2,
    lines: &[
        begins("^Personalities :", |_, _, _| Some(())).like(&["Personalities : [raid1] [raid6]"]),
        begins("^md{number:word} : {state:word} {members:text}", |found, report, sink| {
            let (array, _) = found.line().split_once(' ')?;
            let state = found.text("state")?;
            let is_read_only = found.line().contains("(read-only)");
            report.keep_text(ARRAY, array);
            sink.add_fact_here(
                array,
                typed::ARRAY_STATE,
                if is_read_only { "read-only" } else { state },
            );
            add_members(found, report, sink);
            Some(())
        })
        .when(|found| {
            let states = ["active", "inactive", "broken", "clear", "readonly", "clean"];
            found.text("state").is_some_and(|state| states.contains(&state))
                && members(found).next().is_some()
        })
        .opens_record()
        .like(&["md2 : active raid6 sde1[6] sdf1[7](S) sdb1[0] sdg1[3] sdd1[2] sdc1[1](F)"]),
        announces("^/dev/{array:word}:$", |found, report, _| {
            report.keep_text(ARRAY, found.text("array")?);
            report.enter(DETAIL)
        })
        .when(|found| found.text("array").is_some_and(|array| array.starts_with("md")))
        .opens_report()
        .like(&["/dev/md0:"]),
        // With this begins a piece of `mdadm --detail` where the lines above were left out.
        announces("^State : {states:text}", |found, report, sink| {
            if report.kept_text(ARRAY).is_none() {
                report.keep_text(ARRAY, UNNAMED);
                report.enter(DETAIL);
            }
            detailed(found, report, sink)
        })
        .when(|found| {
            let mut states = found.text("states").unwrap_or_default().split(',').map(str::trim);
            states.all(|state| STATES.contains(&state))
        })
        .like(&["State : active, degraded, recovering"]),
        follows("^{Version|Creation Time|Raid Level|Array Size|Container} : ", detailed)
            .like(&["Version : 1.2", "Raid Level : container"]),
        follows("^{Raid|Active} Devices : {n:#}", |found, report, _| {
            (report.part == DETAIL).then_some(())?;
            let what = if found.line().starts_with('R') { ALL } else { ACTIVE };
            report.keep(what, found.number("n")?)
        })
        .like(&["Active Devices : 2"]),
        perhaps("^{label:text} :", detailed).like(&["Rebuild Status : 15% complete"]),
        // Lines of /proc/mdstat below an array: `[3/2] [U_U]`.
        perhaps(" blocks", |found, report, sink| {
            report.kept_text(ARRAY)?;
            let (_, rest) = found.line().split_once(" blocks")?;
            add_degraded(rest, report, sink);
            Some(())
        })
        .like(&["5860543744 blocks super 1.2 level 6, 512k chunk, algorithm 2 [6/4] [U_UU__]"]),
        // What a mail broke off: more members, `[3/2] [U_U]`, and the end of a progress.
        perhaps("^{members:text}", |found, report, sink| {
            report.kept_text(ARRAY)?;
            let all = found.line().split_whitespace().count();
            (report.part != DETAIL && members(found).count() == all).then_some(())?;
            add_members(found, report, sink);
            Some(())
        })
        .like(&["sdag1[30] sdaf1[29] sdac1[26](S)"]),
        perhaps("^[{all:#}/{working:#}] [", |found, report, sink| {
            add_degraded(found.line(), report, sink)
        })
        .like(&["[4/3] [UUU_]"]),
        perhaps("^{finish|speed}=", |found, report, sink| {
            report.kept(BUSY)?;
            add_pace(found.line(), report, sink)
        })
        .like(&["finish=3026.3min speed=37987K/sec", "speed=0K/sec"]),
        perhaps("^{action:word}{ }={waits:text}", |found, report, sink| {
            let action = action_of(found.text("action")?)?;
            let waits = found.text("waits")?.trim().to_ascii_lowercase();
            let value = format!("{} {waits}", action.name());
            let array = report.kept_text(ARRAY)?;
            sink.add_text_at(array, typed::ARRAY_ACTION, &value, report.place());
            report.keep(BUSY, 1.0)
        })
        .like(&["resync=DELAYED"]),
        perhaps("^[{*}] {action:word} = {percent:word}", progress).like(&[
            "[===>.................]  recovery = 19.6% (288381540/1465135936) finish=1420.1min \
             speed=13810K/sec",
        ]),
        perhaps("^{n:word} {major:word} {minor:word} {place:word} {state:text}", device)
            .like(&["2       8       49        -      faulty   /dev/sdd1"]),
    ],
    own: &["^unused devices:", "^read_ahead ", "^bitmap:", "^Number{*}RaidDevice"],
    end: Some(close),
    ..Labels::NEW
};

/// `sdc1[3](F)`: names of members, each with its marks.
fn members<'t>(found: &Found<'_, 't>) -> impl Iterator<Item = (&'t str, &'t str)> {
    let words = found.text("members").unwrap_or_default().split_whitespace();
    words.filter_map(|word| {
        let (name, rest) = word.split_once('[')?;
        let (number, marks) = rest.split_once(']')?;
        (!name.is_empty() && integer(number).is_some()).then_some((name, marks))
    })
}

fn add_members(found: &Found, report: &mut Report, sink: &mut dyn Sink) {
    for (member, marks) in members(found) {
        report.quote(member);
        let states =
            [("(F)", "faulty"), ("(S)", "spare"), ("(W)", "write-mostly"), ("(R)", "replacement")];
        for (_, state) in states.into_iter().filter(|(mark, _)| marks.contains(mark)) {
            sink.add_fact_here(member, typed::MEMBER_STATE, state);
        }
    }
}

/// A label of `mdadm --detail`.
fn detailed(found: &Found, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let array = report.kept_text(ARRAY).filter(|_| report.part == DETAIL)?;
    let (label, value) = found.line().split_once(" :")?;
    let (label, value) = (label.trim(), value.trim());
    if label == "State" {
        sink.add_fact_here(array, typed::ARRAY_STATE, value);
    } else if let Some(work) = label.strip_suffix(" Status")
        && let Some(action) = action_of(&work.to_ascii_lowercase())
    {
        sink.add_fact_here(array, typed::ARRAY_ACTION, action);
        if let Some(percent) = leading(value) {
            let done = Share::from_percent(percent as f64);
            sink.add_fact_here(array, typed::ARRAY_PERCENT, done);
        }
        report.keep(BUSY, 1.0);
    } else {
        return KNOWN.contains(&label).then_some(());
    }
    Some(())
}

/// The work on an array.
fn progress(found: &Found, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let array = report.kept_text(ARRAY)?;
    sink.add_fact_here(array, typed::ARRAY_ACTION, action_of(found.text("action")?)?);
    let words = || found.line().split_whitespace();
    // `(2303100/3906887168)` is exact, the percentage next to it is rounded.
    let exact = words().find_map(|word| {
        let (at, all) = word.strip_prefix('(')?.strip_suffix(')')?.split_once('/')?;
        Some(Share(integer(at)? as f64 / integer(all).filter(|all| *all > 0)? as f64))
    });
    let rounded = || decimal(found.text("percent")?.trim_end_matches('%')).map(Share::from_percent);
    if let Some(done) = exact.or_else(rounded) {
        sink.add_fact_here(array, typed::ARRAY_PERCENT, done);
    }
    add_pace(found.line(), report, sink);
    report.keep(BUSY, 1.0)
}

/// The end of a line of progress: `finish=1420.1min speed=13810K/sec`.
fn add_pace(line: &str, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let array = report.kept_text(ARRAY)?;
    let after = |name| line.split_whitespace().find_map(|word| word.strip_prefix(name));
    let minutes = after("finish=").and_then(|text| decimal(text.trim_end_matches("min")));
    if let Some(minutes) = minutes {
        let left = Nanos::from_seconds((minutes * 60.0).round());
        sink.add_fact_here(array, typed::ARRAY_REMAINING, left);
    }
    let kib = after("speed=").and_then(|text| integer(text.trim_end_matches("K/sec")));
    if let Some(kib) = kib {
        sink.add_fact_here(array, typed::ARRAY_SPEED, BytesPerSecond::from_kib(kib as f64));
    }
    Some(())
}

/// How many devices are missing by `[3/2] [U_U]`.
fn add_degraded(line: &str, report: &Report, sink: &mut dyn Sink) -> Option<()> {
    let array = report.kept_text(ARRAY)?;
    let (all, working) = line.match_indices('[').find_map(|(at, _)| {
        let (inside, _) = line.get(at + 1..)?.split_once(']')?;
        let (all, working) = inside.split_once('/')?;
        Some((integer(all)?, integer(working)?))
    })?;
    sink.add_fact_here(array, typed::ARRAY_DEGRADED, all.saturating_sub(working));
    Some(())
}

/// A row of the devices of `mdadm --detail`.
fn device(found: &Found, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    (report.part == DETAIL).then_some(())?;
    let is_numbered =
        |name: &&str| found.text(name).is_some_and(|word| integer(word).is_some() || word == "-");
    ["n", "major", "minor", "place"].iter().all(is_numbered).then_some(())?;
    let words: Vec<&str> = found.text("state")?.split_whitespace().collect();
    let Some((path, words)) = words.split_last().filter(|(last, _)| last.starts_with("/dev/"))
    else {
        return words.contains(&"removed").then_some(());
    };
    report.quote(path.trim_start_matches("/dev/"));
    let state = words.join(" ");
    let member = match words {
        _ if words.contains(&"faulty") => "faulty",
        _ if words.contains(&"rebuilding") => "rebuilding",
        ["spare", ..] => "spare",
        _ if state.starts_with("active sync") => return Some(()),
        _ => state.as_str(),
    };
    if !member.is_empty() {
        sink.add_fact_here(*path, typed::MEMBER_STATE, member);
    }
    Some(())
}

/// What is known of an array only at its end.
fn close(report: &mut Report, sink: &mut dyn Sink) {
    let Some(array) = report.kept_text(ARRAY) else { return };
    let (array, place) = (sink.device(array), report.place());
    if !report.quoted().is_empty() {
        sink.add_fact_at(array, typed::DEVICE_SLAVES, report.quoted().to_vec(), place);
    }
    if let Some((all, active)) = report.kept(ALL).zip(report.kept(ACTIVE)) {
        let missing = (all as u64).saturating_sub(active as u64);
        sink.add_fact_at(array, typed::ARRAY_DEGRADED, missing, place);
    }
    if report.kept(BUSY).is_none() {
        sink.add_fact_at(array, typed::ARRAY_ACTION, ArrayAction::Idle, place);
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
