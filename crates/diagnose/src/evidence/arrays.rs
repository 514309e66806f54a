//! Members of an array or pool that count errors together: a shared component is suspected before
//! any of them.

use iowhy_model::{DeviceId, Finding, Verdict, key};

use crate::analysis::{Analysis, Host};
use crate::evidence::builder::{lines, new_finding};
use crate::evidence::candidates::FaultCandidate;
use crate::evidence::confidence::SHAPE_ALONE;
use crate::evidence::reported_problem::UNKNOWN_SHARE;
use crate::facts::About;
use crate::facts::disk_models;
use crate::facts::disk_names;
use crate::facts::reading::FactReading;
use crate::phrase;

/// The minimum rebuild rate that Linux maintains, bytes per second, under other I/O of its members,
/// if they can do both (`speed_limit_min`, 1,000 KiB/s by default; drivers/md/md.c).
pub(crate) const FLOOR_BYTES_PER_S: f64 = 1000.0 * 1024.0;

/// The rate is averaged over half a minute of bursts and pauses: a rebuild at the minimum is
/// reported as up to this many times faster (`sync_speed` of drivers/md/md.c; the number is a
/// choice).
pub(crate) const NEAR_FLOOR: f64 = 1.5;

/// The state of an array: missing members and background work.
pub(crate) struct ArrayState<'a> {
    /// Number of missing members; at least one if only its state shows it.
    pub missing: Option<(f64, FactReading<'a>)>,
    /// Its background work, in its own words.
    pub action: Option<String>,
    /// Share of that which is done, 0 to 1.
    pub done: Option<f64>,
    /// Its position, if two reports show it at the same block, each with its own speed.
    pub stands_at: Option<(f64, FactReading<'a>)>,
    /// Its rate if it is at or below the minimum of Linux: throttled to it, or the members are even
    /// slower.
    pub at_floor: Option<(f64, FactReading<'a>)>,
}

/// The state of an array, from facts.
pub(crate) fn state_of<'a>(about: About<'_, 'a>) -> ArrayState<'a> {
    let is_md = disk_names::kind(about.disk) == "md";
    let counted = about.number(key::ARRAY_DEGRADED).filter(|(missing, _)| *missing > 0.0);
    let reported = about
        .last(key::ARRAY_STATE)
        .filter(|reading| disk_models::is_degraded(reading.text()))
        .filter(|_| !all_are_used(about));
    let action =
        about.last(key::ARRAY_ACTION).and_then(|reading| disk_models::rebuilding(reading.text()));
    let speed = about.number(key::ARRAY_SPEED);
    let speed = speed.filter(|(speed, _)| *speed < NEAR_FLOOR * FLOOR_BYTES_PER_S);
    ArrayState {
        missing: counted.or(reported.map(|reading| (1.0, reading))),
        done: about.number(key::ARRAY_PERCENT).map(|(share, _)| share),
        stands_at: stands_at(about).filter(|_| is_md),
        at_floor: speed.filter(|_| action.is_some() && is_md),
        action,
    }
}

/// Whether a pool uses each of its members: one with many errors alone makes it `DEGRADED` too
/// (zpoolconcepts(7)).
fn all_are_used(about: About) -> bool {
    let Some(members) = about.last(key::DEVICE_SLAVES) else { return false };
    let members = members.fact.value.words().unwrap_or_default();
    let states: Vec<&str> = members
        .iter()
        .filter_map(|member| about.of(member).last(key::MEMBER_STATE))
        .map(|state| state.text())
        .collect();
    // Of a member that is online no state is kept.
    !states.is_empty() && states.iter().all(|state| *state == "degraded")
}

/// Two reports of the same block: a position in Linux is exact to a block, so active work changes
/// it. The same text pasted twice has one speed.
fn stands_at<'a>(about: About<'_, 'a>) -> Option<(f64, FactReading<'a>)> {
    let last_two = |key| {
        let mut all = about.all(key).rev().filter_map(|reading| Some((reading.number()?, reading)));
        Some((all.next()?, all.next()?))
    };
    let (now, before) = last_two(key::ARRAY_PERCENT)?;
    let (speed, other) = last_two(key::ARRAY_SPEED)?;
    let is_exact = (now.0 * 1000.0).fract() > 1e-6;
    (is_exact && now.0 == before.0 && speed.0 != other.0).then_some(now)
}

/// Weight of work that has stopped: a disk that does not respond stops it as well.
const WORK_STOPPED: f64 = 0.70;

/// Background work that has stopped: the layer that does it waits, not its members.
pub(crate) fn standing_still(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let stands = |about: About| {
        let name = about.disk;
        let state = state_of(about);
        let (share, reading) = state.stands_at?;
        let action = state.action?;
        let mut finding = new_finding(verdict, reading.fact.device, vec![reading.listing]);
        finding.sentence = format!(
            "the background work of {name} ({action}) has stopped: two reports show it at the \
             same block, and their rates are averages that decay; no member is reported as failed"
        );
        finding.evidence =
            vec![analysis.stated(&reading).share("share done, in both reports", share)];
        finding.assume(WORK_STOPPED, "the same block in two reports");
        let fails = any_fails(analysis, analysis.host(reading.listing));
        finding.doubt_if(fails, "a member counts errors: the work may wait for it", SHAPE_ALONE);
        (finding.explained_share, finding.share_is_assumed) = (UNKNOWN_SHARE, true);
        finding.refuted_by = lines(&["a third report shows it at another block"]);
        finding.next_step = vec![
            format!("the kernel's log since it began, and `cat /proc/$(pgrep {name}_)/stack`"),
            format!(
                "`grep . /sys/block/{name}/md/sync_* /sys/block/{name}/md/dev-*/bad_blocks`: is it \
                 frozen, and does a member list bad blocks?"
            ),
            "a reshape may wait for `mdadm --grow --continue`, which a unit of systemd starts"
                .into(),
        ];
        Some(finding)
    };
    analysis.facts.each().filter_map(stands).collect()
}

/// A longer time, s, is left of no background work (ten years, a choice): where a scrub has read
/// more than there was, btrfs subtracts below zero.
const LONGEST_S: f64 = 315_360_000.0;
/// Weight of such a report.
const IMPOSSIBLE: f64 = 0.85;

/// The reported remaining time of background work, if it is impossible.
pub(crate) fn absurd_time_left<'a>(about: About<'_, 'a>) -> Option<(f64, FactReading<'a>)> {
    about.number(key::ARRAY_REMAINING).filter(|(left, _)| *left > LONGEST_S)
}

/// Reports of background work that can not be.
pub(crate) fn absurd(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let of = |about: About| {
        let (left, reading) = absurd_time_left(about)?;
        let action = state_of(about).action?;
        let mut finding = new_finding(verdict, reading.fact.device, vec![reading.listing]);
        finding.sentence = format!(
            "the report on {} is impossible: it leaves more than ten years for its {action}; the \
             program underflows when more is done than was planned, so the work is nearly \
             complete, and no disk is slow because of it",
            phrase::disk(about.disk)
        );
        let left = analysis.stated(&reading).seconds("time remaining", left);
        finding.evidence = vec![left.above(LONGEST_S)];
        finding.assume(IMPOSSIBLE, "no background work takes ten years");
        finding.explained_share = 1.0;
        finding.refuted_by = lines(&["the reported rate times that time equals the remaining \
             work"]);
        finding.next_step = lines(&["the same report again in a few minutes: has it finished?"]);
        Some(finding)
    };
    analysis.facts.each().filter_map(of).collect()
}

/// Members from which on, and the share of an array's members from which on, errors are not faults
/// of single disks (choices: two disks of a shelf do fail together, half of it does not).
const MIN_MEMBERS: usize = 4;
const SHARE: f64 = 0.5;

/// An array of which this many members count errors.
pub(crate) struct FailingMembers<'a> {
    /// The array.
    pub device: DeviceId,
    /// Its name.
    pub name: String,
    /// Members that count errors.
    pub failing: Vec<String>,
    /// All members.
    pub members: usize,
    /// Whether they returned changed data, and no request to them failed.
    pub only_changed: bool,
    /// What reports the members.
    pub reading: FactReading<'a>,
}

/// All such arrays.
pub(crate) fn failing_together<'a>(analysis: &Analysis<'a>) -> Vec<FailingMembers<'a>> {
    let of = |about: About<'_, 'a>| {
        let reading = about.last(key::DEVICE_SLAVES)?;
        let members = reading.fact.value.words()?;
        let of = |disk: &String| errors(analysis.facts.about(about.host, disk));
        let failing = members.iter().filter(|disk| of(disk).iter().any(|errors| *errors > 0.0));
        let failing: Vec<String> = failing.cloned().collect();
        let only_changed = failing.iter().all(|disk| of(disk)[..2] == [0.0, 0.0]);
        let device = reading.fact.device?;
        let together =
            failing.len() >= MIN_MEMBERS && failing.len() as f64 >= SHARE * members.len() as f64;
        let (name, members) = (about.disk.to_string(), members.len());
        together.then_some(FailingMembers { device, name, failing, members, only_changed, reading })
    };
    analysis.facts.each().filter_map(of).collect()
}

/// Members, of one array or several, that fail in a way that no single disk does.
pub(crate) struct SharedFault<'a> {
    /// The input that reports it.
    pub host: Host<'a>,
    /// Their names, and how many members there are.
    pub names: Vec<String>,
    pub members: usize,
    /// What they do, as evidence, in words, and what reports it.
    pub what: &'static str,
    pub sentence: String,
    pub reading: FactReading<'a>,
}

/// Members that an array gave up between two of its reports, and members of several pools of which
/// each returned changed data and none failed a request.
pub(crate) fn shared_faults<'a>(analysis: &Analysis<'a>) -> Vec<SharedFault<'a>> {
    let mut found = Vec::new();
    for host in analysis.hosts() {
        let arrays: Vec<(&str, FactReading, Vec<String>)> = analysis
            .facts
            .disks()
            .filter_map(|name| {
                let reading = analysis.facts.about(Some(host), name).last(key::DEVICE_SLAVES)?;
                Some((name, reading, reading.fact.value.words()?.to_vec()))
            })
            .collect();
        for (name, reading, members) in &arrays {
            let of_it = analysis.facts.about(Some(host), name);
            let missing: Vec<f64> =
                of_it.all(key::ARRAY_DEGRADED).filter_map(|n| n.number()).collect();
            let rose = missing.first().zip(missing.last()).is_some_and(|(a, b)| b > a);
            let is_given_up =
                |disk: &&String| is_thrown_out(analysis.facts.about(Some(host), disk));
            let names: Vec<String> = members.iter().filter(is_given_up).cloned().collect();
            if rose && names.len() > 1 {
                let sentence = format!(
                    "{name} dropped {} of its {} members between two reports ({})",
                    names.len(),
                    members.len(),
                    phrase::list(&names)
                );
                let (what, members) = ("members dropped between two reports", members.len());
                let reading = *reading;
                found.push(SharedFault { host, names, members, what, sentence, reading });
            }
        }
        let of_member = |disk: &str| errors(analysis.facts.about(Some(host), disk));
        let pools = arrays
            .iter()
            .filter(|(.., members)| members.iter().any(|disk| of_member(disk)[2] > 0.0));
        let pools: Vec<_> = pools.collect();
        let all: Vec<&String> = pools.iter().flat_map(|(.., members)| members).collect();
        let changed = all.iter().filter(|disk| of_member(disk)[2] > 0.0);
        let names: Vec<String> = changed.map(|disk| disk.to_string()).collect();
        let is_alone = all.iter().all(|disk| of_member(disk)[0] + of_member(disk)[1] <= 0.0);
        if let [(_, reading, _), _, ..] = pools.as_slice()
            && is_alone
            && names.len() >= OF_POOLS
            && names.len() as f64 >= SHARE * all.len() as f64
        {
            let sentence = format!(
                "{} of {} members of {} pools returned corrupted data, and no request to them \
                 failed: it is corrupted on the way (enclosure, USB bridge, cable, power, or the \
                 machine's memory)",
                names.len(),
                all.len(),
                pools.len()
            );
            let (what, members) = ("members with wrong checksums alone", all.len());
            found.push(SharedFault { host, names, members, what, sentence, reading: *reading });
        }
    }
    found
}

/// Members of several pools from which on wrong checksums are not those of single disks (a choice).
const OF_POOLS: usize = 3;

/// Whether a disk is one of those that count errors together.
pub(crate) fn fails_with_others(analysis: &Analysis, disk: &str) -> bool {
    failing_together(analysis).iter().any(|array| array.failing.iter().any(|of| of == disk))
}

/// Errors of a member beyond any single event (a choice).
pub(crate) const MANY_FAILED: f64 = 10.0;

/// Whether a member of any array of an input fails: it counts many errors.
pub(crate) fn any_fails(analysis: &Analysis, host: Host) -> bool {
    let fails =
        |disk| errors(analysis.facts.about(Some(host), disk)).iter().any(|n| *n >= MANY_FAILED);
    analysis.facts.disks().any(fails)
}

/// Reads, writes and checksums of a member that failed.
fn errors(about: About) -> [f64; 3] {
    ["read", "write", "checksum"]
        .map(|kind| about.number(key::MEMBER_ERRORS.of(kind)).map_or(0.0, |(n, _)| n))
}

/// States of members that their array or controller failed.
pub(crate) const THROWN_OUT: [&str; 6] =
    ["faulty", "faulted", "failed", "offline", "bad", "unavail"];

/// Whether its array or controller failed a member.
fn is_thrown_out(about: About) -> bool {
    about.last(key::MEMBER_STATE).is_some_and(|state| THROWN_OUT.contains(&state.text()))
}

/// Other members of a disk's array that the array failed as well.
pub(crate) fn given_up_beside(analysis: &Analysis, candidate: &FaultCandidate) -> Vec<String> {
    let Some((_, members)) = candidate.about().array() else { return Vec::new() };
    let is_given_up = |disk: &&String| is_thrown_out(analysis.facts.about(candidate.host, disk));
    let members = members.fact.value.words().unwrap_or_default();
    let others = members.iter().filter(|disk| **disk != candidate.disk);
    others.filter(is_given_up).cloned().collect()
}

/// Partitions of one disk that their arrays failed.
pub(crate) struct LostParts<'a> {
    /// The disk.
    pub disk: String,
    /// Each partition and its array; two at least.
    pub parts: Vec<(String, &'a str)>,
}

/// Other partitions of the same disk that failed in other arrays.
pub(crate) fn lost_parts<'s>(analysis: &'s Analysis, part: &str) -> Option<LostParts<'s>> {
    let disk = disk_names::without_partition(part).to_string();
    let all = analysis
        .facts
        .each()
        .filter(|about| disk_names::is_partition(about.disk, &disk) && is_thrown_out(*about));
    let parts: Vec<(String, &str)> =
        all.filter_map(|about| Some((about.disk.to_string(), about.array()?.0))).collect();
    (parts.len() > 1 && disk_names::is_partition(part, &disk)).then_some(LostParts { disk, parts })
}
