//! An array rebuild, check or scrub competes with the workload.
//!
//! ## Accuses
//! The background work of an array or pool, not a disk.
//!
//! ## Why it matters
//! A rebuild reads all members from end to end and uses the bandwidth that the workload leaves, or
//! more. It ends by itself, and its rate can be set.
//!
//! ## Needs
//! The status of the array: `/proc/mdstat`, `mdadm --detail`, `zpool status`, a RAID controller's
//! tool.
//!
//! ## Rule
//! An array reports that it recovers, resynchronises, checks, scrubs or reshapes. If disks were
//! measured they must have lost time. Linux software RAID maintains 1,000 KiB/s for a rebuild
//! (`speed_limit_min`): a slower one is not a cause, but waits for a slow member itself; nor is one
//! that is at the same block in two reports, or whose report is impossible. One whose own thread
//! hangs in the kernel's log is suspected only. Work at the rate that its own driver requests
//! (DRBD's `want`, 90 %) is limited by that. If this work is most of what the members read and
//! write, it is what keeps them busy. Without a report: two disks and more are read at 5 MB/s and
//! more, at one rate (to a fifth), while the md arrays of the same listing move a tenth at most.
//!
//! ## Wrong if
//! It was just as slow before that began. If a member counts errors, that member is the cause: the
//! work finds the fault, and waits for its retries. If several fail together, or the kernel's log
//! reports errors of a disk or its path, that comes first.
//!
//! ## Next step
//! Wait for its end, or limit its rate while the workload suffers; but never slow down the rebuild
//! of a degraded array.

use std::collections::BTreeMap;

use iowhy_model::Order as _;
use iowhy_model::{
    DeviceId, Evidence, Finding, Level, MessageKind, Op, PathEvent, Unit, Verdict, key,
};

use crate::analysis::samples::IntervalSample;
use crate::analysis::{Analysis, Host};
use crate::detector::{Detector, Needs, Rule};
use crate::evidence::arrays;
use crate::evidence::builder::{lines, new_finding};
use crate::evidence::confidence::SHAPE_ALONE;
use crate::evidence::reported_problem::{self, STATED, UNKNOWN_SHARE};
use crate::facts::About;
use crate::facts::disk_models;
use crate::facts::disk_names;
use crate::facts::kernel_log::LogLine;
use crate::facts::reading::FactReading;
use crate::phrase;

/// Entry in the list of detectors.
pub(super) const DETECTOR: Detector = Detector {
    verdict: Verdict::LoadRebuild,
    summary: "An array rebuild, check or scrub competes with the workload",
    manual: iowhy_model::manual!("load_rebuild.rs"),
    needs: Needs {
        level: Level::A,
        sure_from: Level::E,
        seconds: 60,
        what: "the state of the array and the I/O of its members",
    },
    explains: &[Verdict::LoadSaturated, Verdict::LoadWriteback],
    rule: Rule::Detect(detect),
};

/// Why background work is not the first thing to show where members fail.
const FAILING: &str = "members of arrays count errors: background work runs into such a fault, and \
                       retries make it slow";

const TOO_SLOW_TO_MATTER: &str = "at less than 1 MB/s it slows nothing down: it waits itself, for \
                                  a member that is slow or fails, or for other I/O";
const SHARED_FAULT: &str =
    "several members fail together: background work suffers from that fault too";
const LOGGED: &str = "the log of the same input reports errors of a disk or its path, for which \
                      background work waits as well";
/// What the kernel logs of a disk or its path that fails.
const FAULTS: [MessageKind; 6] = [
    MessageKind::Controller,
    MessageKind::Hardware,
    MessageKind::Link,
    MessageKind::Medium,
    MessageKind::Offline,
    MessageKind::Timeout,
];

/// Share done below which background work has only begun (a choice: minutes of hours).
const BEGUN: f64 = 0.02;
const BEGINS: &str = ". It has only begun: its rate and the time left mean little yet";

/// Share of what a member moves that is background work, from which on it is that work (a choice),
/// and what that is worth.
const ITS_OWN: f64 = 0.75;
const MEASURED: f64 = 0.80;

/// The members of an array that were measured in an input, and their mean throughput, bytes per
/// second.
fn members(analysis: &Analysis, host: Host, about: About) -> Vec<(DeviceId, f64)> {
    let Some(reading) = about.last(key::DEVICE_SLAVES) else { return Vec::new() };
    let named = reading.fact.value.words().unwrap_or_default();
    let mut moved: BTreeMap<DeviceId, (f64, usize)> = BTreeMap::new();
    for row in analysis.intervals.iter().filter(|row| analysis.host(row.listing) == host) {
        let (bytes_per_s, rows) = moved.entry(row.device).or_default();
        *bytes_per_s += row.interval.bytes_per_s();
        *rows += 1;
    }
    moved.retain(|device, _| {
        let disk = analysis.disk(*device);
        named.iter().any(|name| disk_names::is_on(&disk_names::disk(name), &disk))
    });
    moved.into_iter().map(|(device, (sum, rows))| (device, sum / rows as f64)).collect()
}

/// How much of what the members move is the work of their array, whose rate is that of each member
/// (drivers/md/md.c, `status_resync`): if most is, it is not the load that fills them.
fn of_members(
    analysis: &Analysis,
    about: About,
    members: &[(DeviceId, f64)],
) -> Option<(f64, Evidence)> {
    let (speed, reading) = about.number(key::ARRAY_SPEED)?;
    let mean = members.iter().map(|(_, per_s)| per_s).sum::<f64>() / members.len().max(1) as f64;
    let share = speed / mean;
    let what = "its share of what its members read and write";
    let is_its_own = members.len() > 1 && (ITS_OWN..=1.0 / ITS_OWN).contains(&share);
    let share = share.min(1.0);
    is_its_own.then(|| (share, analysis.stated(&reading).share(what, share).above(ITS_OWN)))
}

/// Share of the rate requested by its driver from which on work runs at its limit
/// (a choice: the reported rate is a mean of seconds).
const AT_LIMIT: f64 = 0.9;

/// The pace of work whose driver states the rate that it asks for (DRBD: `want`): its evidence, in
/// words, and what to do about it.
fn pace(analysis: &Analysis, about: About) -> Option<(Evidence, String, &'static str)> {
    let (asked, reading) =
        about.number(key::ARRAY_SPEED_ASKED).filter(|(asked, _)| *asked > 0.0)?;
    let (speed, _) = about.number(key::ARRAY_SPEED)?;
    let evidence = analysis.stated(&reading).bytes_per_s("rate requested by DRBD", asked);
    let told = match speed >= AT_LIMIT * asked {
        true => format!(
            ". It runs at {}, the rate that DRBD itself requests ({}): its own limit is the \
             bottleneck, not a disk or the network",
            phrase::rate(speed),
            phrase::rate(asked)
        ),
        false => format!(
            ". It runs at {} although DRBD requests {}: the network, the peer's disk or the local \
             disk is the bottleneck",
            phrase::rate(speed),
            phrase::rate(asked)
        ),
    };
    let step = match speed >= AT_LIMIT * asked {
        true => {
            "to finish sooner: raise `c-max-rate` (and `c-min-rate`, to which it falls while \
             programs do I/O), or `resync-rate` with `c-plan-ahead 0` (`drbdadm disk-options`); to \
             disturb programs less: lower it"
        }
        false => {
            "`iostat -x 1` on both nodes, and the throughput of the link between them (`iperf3`): \
             which one is full?"
        }
    };
    Some((evidence, told, step))
}

/// Why hung work is not a load.
const HANGS: &str = "the kernel's log reports the thread of this work as hung: it is waiting \
    itself";

/// Whether the kernel reports that the thread of an array's work hangs: `INFO: task
/// md0_reshape:2927 blocked for more than 120 seconds` (drivers/md/md.c, md_do_sync).
fn hangs(analysis: &Analysis, array: &str) -> bool {
    let mut hung = analysis.facts.log().filter(|line| line.kind == MessageKind::HungTask);
    hung.any(|line| line.message.hung_array() == Some(array))
}

/// Bytes per second that each member of unreported background work reads at least, the factor by
/// which members differ, and the share of it that their arrays move at most (choices); and its
/// weight: something may also read the disks themselves, at the same rate.
const READ_BELOW: f64 = 5e6;
const AS_FAST: f64 = 1.2;
const READ_ABOVE: f64 = 0.1;
const BELOW_ARRAYS: f64 = 0.87;

/// Two disks and more that are read at one rate while the arrays of the same listing read and write
/// next to nothing: a check or resync reads members below their array (drivers/md/md.c,
/// md_do_sync), and no program is seen that does.
fn below_arrays(analysis: &Analysis) -> Vec<Finding> {
    let found = (0..analysis.recording.listings.len()).filter_map(|place| {
        let rows: Vec<&IntervalSample> =
            analysis.rows_in(place).into_iter().filter_map(|rows| rows.last().copied()).collect();
        let is_array = |row: &&IntervalSample| disk_names::kind(&row.disk) == "md";
        let read = |row: &IntervalSample| {
            row.interval.of(Op::Read).and_then(|rates| rates.bytes_per_s).unwrap_or(0.0)
        };
        let mut members: Vec<(&IntervalSample, f64)> = rows
            .iter()
            .copied()
            .filter(|row| !is_array(row))
            .map(|row| (row, read(row)))
            .filter(|(row, per_s)| *per_s >= READ_BELOW && !disk_names::is_stacked(&row.disk))
            .collect();
        members.order_by(|a, b| a.1.total_cmp(&b.1));
        let (least, most) = (members.first()?.1, members.last()?.1);
        let arrays = || rows.iter().copied().filter(is_array);
        let moved: f64 = arrays().map(|row| row.interval.bytes_per_s()).sum();
        let is_below = members.len() > 1
            && arrays().next().is_some()
            && most <= AS_FAST * least
            && moved <= READ_ABOVE * least;
        is_below.then_some(())?;
        let mut finding = new_finding(DETECTOR.verdict, None, vec![place]);
        finding.subject.devices = members.iter().map(|(row, _)| row.device).collect();
        let names: Vec<String> = members.iter().map(|(row, _)| row.disk.clone()).collect();
        finding.sentence = format!(
            "{} are read at {} each while the md arrays read and write {}: a check, resync or \
             rebuild reads members below their array, and no program",
            phrase::list(&names),
            phrase::rate(least),
            phrase::rate(moved)
        );
        let n = members.len() as u64;
        let (computed, printed) = (analysis.computed(place, n), analysis.printed(place, n));
        finding.evidence = vec![
            printed.bytes_per_s("read from each member, at least", least).above(READ_BELOW),
            computed.ratio("ratio of the most to the least", most / least).below(AS_FAST),
            printed.bytes_per_s("read and written by the arrays", moved).below(READ_ABOVE * least),
        ];
        finding.assume(BELOW_ARRAYS, "members read alike, and nothing through their arrays");
        (finding.explained_share, finding.share_is_assumed) = (1.0, true);
        finding.refuted_by = lines(&[
            "`cat /proc/mdstat` shows no check, resync or recovery: then something reads the disks \
             themselves",
        ]);
        finding.next_step = lines(&[
            "`cat /proc/mdstat`: which array, and when does it end?",
            "limit its rate meanwhile (`/proc/sys/dev/raid/speed_limit_max`), or move the monthly \
             check (`mdcheck`, `raid-check`) to a quiet hour",
        ]);
        Some(finding)
    });
    found.collect()
}

fn detect(analysis: &Analysis) -> Vec<Finding> {
    let mut found: Vec<Finding> = reported(analysis);
    // What an array reports needs no inference.
    if found.is_empty() {
        found = below_arrays(analysis);
    }
    found
}

fn reported(analysis: &Analysis) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    for (listing, known) in analysis.listings() {
        let host = analysis.host(listing);
        if !reported_problem::is_felt(analysis, |of, _| of == host) {
            continue;
        }
        for fact in known.facts.iter().filter(|fact| fact.key == key::ARRAY_ACTION) {
            let action = fact.value.text().unwrap_or_default();
            let Some(reported) = disk_models::rebuilding(action) else { continue };
            let name = fact.device.map(|id| analysis.recording.device_of(id).name.clone());
            let name = disk_names::disk(&name.unwrap_or_default());
            let is_it = |other: &Finding| {
                let place = other.subject.listings[0];
                other.subject.device == fact.device && analysis.host(place).may_be(host)
            };
            if found.iter().any(is_it) {
                continue;
            }
            let reading = FactReading { fact, listing };
            let about = analysis.facts.about(Some(host), &name);
            let state = arrays::state_of(about);
            let is_absurd = arrays::absurd_time_left(about).is_some();
            // Work that a later report does not show any more slows nothing down.
            if state.action.is_none()
                || state.at_floor.is_some()
                || state.stands_at.is_some()
                || is_absurd
            {
                continue;
            }
            let has_begun = state.done.is_some_and(|done| done < BEGUN);
            let mut finding = new_finding(DETECTOR.verdict, fact.device, vec![listing]);
            let what = format!("background work of the array: {reported}");
            finding.evidence = vec![analysis.stated(&reading).count(&what, 1.0).above(0.0)];
            let more = [
                (key::ARRAY_SPEED, "rebuild rate", Unit::BytesPerSecond),
                (key::ARRAY_REMAINING, "time remaining", Unit::Seconds),
            ];
            for (key, what, unit) in more.into_iter().take(if has_begun { 1 } else { 2 }) {
                if let Some((value, reading)) = about.number(key) {
                    finding.evidence.push(analysis.stated(&reading).of(what, value, unit));
                }
            }
            let array = if name.is_empty() { "an array" } else { &name };
            finding.sentence = format!(
                "{array} runs background work ({reported}): it reads or writes all of its members, \
                 in competition with the I/O of programs",
            );
            finding.assume(STATED, "reported by the array");
            let members = members(analysis, host, about);
            finding.subject.devices = members.iter().map(|(device, _)| *device).collect();
            if let Some((share, evidence)) = of_members(analysis, about, &members) {
                finding.evidence.push(evidence);
                finding.raise("the I/O of its members is this work", MEASURED);
                finding.explained_share = share;
            }
            let speed = about.number(key::ARRAY_SPEED).map(|(speed, _)| speed);
            let crawls = speed.is_some_and(|speed| speed < arrays::FLOOR_BYTES_PER_S);
            finding.doubt_if(crawls, TOO_SLOW_TO_MATTER, SHAPE_ALONE);
            let failing = arrays::any_fails(analysis, host);
            finding.doubt_if(failing, FAILING, SHAPE_ALONE);
            finding.doubt_if(hangs(analysis, array), HANGS, SHAPE_ALONE);
            let shared = arrays::shared_faults(analysis).iter().any(|of| of.host == host);
            finding.doubt_if(shared, SHARED_FAULT, SHAPE_ALONE);
            // An empty port and an error that the hardware corrected fail no request.
            let harmless = [Some(PathEvent::NoDevice), Some(PathEvent::Corrected)];
            let fails =
                |line: &LogLine| FAULTS.contains(&line.kind) && !harmless.contains(&line.event);
            let logged = analysis.facts.log_events(host).any(fails);
            finding.doubt_if(logged, LOGGED, SHAPE_ALONE);
            finding.share_is_assumed = finding.explained_share <= 0.0;
            finding.explained_share = finding.explained_share.max(UNKNOWN_SHARE);
            finding.refuted_by = lines(&["it was just as slow before that began"]);
            finding.next_step = lines(&[
                "`cat /proc/mdstat` or `zpool status`: when does it end?",
                "limit its rate meanwhile: `/proc/sys/dev/raid/speed_limit_max`, `zpool scrub -p \
                 POOL`",
            ]);
            if let Some((missing, reading)) = state.missing {
                let what = "missing members of the array";
                let evidence = analysis.stated(&reading).count(what, missing);
                finding.evidence.insert(0, evidence.above(0.0));
                let done = state
                    .done
                    .map_or(String::new(), |done| format!(", {} done", phrase::percent(done)));
                finding.sentence = format!(
                    "{array} is degraded: {} missing, and background work ({reported}{done}) reads \
                     or writes the others, in competition with the I/O of programs",
                    phrase::count(missing, "member(s)")
                );
                finding.next_step = lines(&[
                    "let it finish: until then, the array survives fewer failures, or none. Back \
                     up data that has no other copy",
                    "find the missing member and the reason: `mdadm --detail` or `zpool status`, \
                     the kernel's log, `smartctl -x` of each member",
                ]);
            }
            if has_begun {
                finding.sentence.push_str(BEGINS);
            }
            if let Some((evidence, told, step)) = pace(analysis, about) {
                finding.evidence.push(evidence);
                finding.sentence.push_str(&told);
                finding.next_step =
                    lines(&[step, "`cat /proc/drbd`: when does it end (`finish`)?"]);
            }
            found.push(finding);
        }
    }
    found
}
