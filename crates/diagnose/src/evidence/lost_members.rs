//! Members that an array or a pool lost, or that alone fail in it: the drive or its path.

use iowhy_model::{Bound, Unit, key};

use crate::evidence::arrays::{self, MANY_FAILED};
use crate::evidence::builder::EvidenceBuilder;
use crate::evidence::cases::Case;
use crate::facts::disk_names;
use crate::phrase;

/// States in which a pool does not use a member, whatever the cause (zpoolconcepts(7)); OFFLINE is
/// set by an administrator.
const NOT_USED: [&str; 4] = ["faulted", "faulty", "unavail", "removed"];
/// States of a pool that is out of service (zpoolconcepts(7)).
const STOPPED: [&str; 3] = ["suspended", "unavail", "faulted"];
/// A member that its pool cannot open or no longer sees: by its path, its power, or a drive that
/// died; with the prior below an accusation.
const MEMBER_GONE: f64 = 1.6;
/// Weight of a member that was unreachable, or that fails alone, nats: 0.65 with the prior.
const SINGLE_MEMBER: f64 = 2.0;

/// An array member with failed requests of every kind, including flushes: it was unreachable for a
/// time.
pub(crate) fn unreachable(builder: &mut EvidenceBuilder, case: &Case, _: f64) -> f64 {
    let count = |kind: &'static str, least: f64| {
        case.about().number(key::MEMBER_ERRORS.of(kind)).filter(|(n, _)| *n >= least)
    };
    let all = count("read", MANY_FAILED).zip(count("write", MANY_FAILED)).zip(count("flush", 1.0));
    let Some((((reads, _), (writes, reading)), (flushes, _))) = all else { return 0.0 };
    let what = "failed writes counted by its array";
    builder.fact(&reading, what, (writes, Unit::Count), Some(Bound::Above(MANY_FAILED)));
    builder.words.push(format!(
        "{}, {} and {} failed in its array, so it was unreachable for a time",
        phrase::count(reads, "read(s)"),
        phrase::count(writes, "write(s)"),
        phrase::count(flushes, "flush(es)")
    ));
    SINGLE_MEMBER
}

/// The only member of its pool with many failed writes, or failed reads and checksums: the drive or
/// its path.
pub(crate) fn fails_alone(builder: &mut EvidenceBuilder, case: &Case, most: f64) -> f64 {
    let about = case.about();
    let count = |kind: &'static str| about.number(key::MEMBER_ERRORS.of(kind));
    let n = |kind| count(kind).map_or(0.0, |(n, _)| n);
    let (reads, writes, checksums) = (n("read"), n("write"), n("checksum"));
    // What the pool gave up is counted with that (`lost_by_its_pool`).
    let gone = about.last(key::MEMBER_STATE).is_some_and(|state| NOT_USED.contains(&state.text()));
    // Bad memory, or a controller, would spread wrong checksums over the members.
    let many = writes >= MANY_FAILED
        || checksums >= MANY_FAILED && (reads >= MANY_FAILED || has_clean_peers(case));
    // Where reads alone fail it is the surface (`device.media`).
    let mixed = writes + checksums > 0.0;
    let alone = || !arrays::fails_with_others(case.analysis, case.name);
    if most > 0.0 || gone || !many || !mixed || about.array().is_none() || !alone() {
        return 0.0;
    }
    let kinds = [
        ("read", "failed reads counted by its pool", "read(s)"),
        ("write", "failed writes counted by its pool", "write(s)"),
        ("checksum", "blocks with a wrong checksum, counted by its pool", "checksum(s)"),
    ];
    let mut words = Vec::new();
    for (kind, what, counted) in kinds {
        if let Some((n, reading)) = count(kind).filter(|(n, _)| *n > 0.0) {
            let above = (n >= MANY_FAILED).then_some(Bound::Above(MANY_FAILED));
            builder.fact(&reading, what, (n, Unit::Count), above);
            words.push(phrase::count(n, counted));
        }
    }
    builder.words.push(format!("{} failed on this member of its pool alone", phrase::list(&words)));
    SINGLE_MEMBER
}

/// Other members that a pool has at least, for one with wrong checksums to stand out (a choice).
const PEERS: usize = 2;

/// Whether its pool has other members, and counts no error of any of them. A member that is brought
/// up to date had old data, with old checksums.
fn has_clean_peers(case: &Case) -> bool {
    let about = case.about();
    let Some((pool, members)) = about.array() else { return false };
    if arrays::state_of(about.of(pool)).action.is_some_and(|action| action == "resilver") {
        return false;
    }
    let members = members.fact.value.words().unwrap_or_default();
    let others: Vec<&String> = members
        .iter()
        .filter(|other| *other != case.name && disk_names::disk(other) != case.name)
        .collect();
    let counted = |other: &String, kind| {
        let errors = case.analysis.facts.about(about.host, other);
        errors.number(key::MEMBER_ERRORS.of(kind)).map(|(n, _)| n)
    };
    let is_clean = |other: &&String| {
        ["read", "write", "checksum"].into_iter().all(|kind| counted(other, kind) == Some(0.0))
    };
    others.len() >= PEERS && others.iter().all(is_clean)
}

/// A member that its pool cannot open, no longer sees or has failed, for any reason: the pool is
/// named first.
pub(crate) fn lost_by_its_pool(builder: &mut EvidenceBuilder, case: &Case, _: f64) -> f64 {
    let (about, analysis) = (case.about(), case.analysis);
    let state = about.last(key::MEMBER_STATE).filter(|state| NOT_USED.contains(&state.text()));
    let Some((state, (pool, _))) = state.zip(about.array()) else { return 0.0 };
    // If only reads failed, the surface is unreadable (`device.media`). Clearing the counters
    // meanwhile did not repair it.
    let count = |kind| {
        let all = about.all(key::MEMBER_ERRORS.of(kind)).filter_map(|reading| reading.number());
        all.fold(0.0, f64::max)
    };
    let (reads, writes) = (count("read"), count("write"));
    if reads > 0.0 && writes + count("checksum") <= 0.0 {
        return 0.0;
    }
    let above = |bound| Some(Bound::Above(bound));
    // One disk under the names of its partitions is reported once.
    if let Some(lost) = arrays::lost_parts(analysis, case.name) {
        if lost.parts.first().is_none_or(|(part, _)| part != case.name) {
            return 0.0;
        }
        let n = lost.parts.len() as f64;
        let what = format!("partitions of {} failed by their arrays", lost.disk);
        builder.fact(&state, &what, (n, Unit::Count), above(1.0));
        let pools: Vec<String> = lost.parts.iter().map(|(_, array)| array.to_string()).collect();
        builder.words.push(format!(
            "{} each failed a partition of {}: the drive or its path is faulty, not the individual \
             partitions",
            phrase::list(&pools),
            lost.disk
        ));
        return MEMBER_GONE;
    }
    let what = format!("member state: `{}`", state.text());
    builder.fact(&state, &what, (1.0, Unit::Count), above(0.0));
    let counted = match reads + writes > 0.0 {
        true => format!(
            " after {} and {} failed",
            phrase::count(reads, "read(s)"),
            phrase::count(writes, "write(s)")
        ),
        false => String::new(),
    };
    let (disk, is) = (phrase::disk(case.name), state.text().to_uppercase());
    let of_pool = analysis.facts.about(case.candidate.and_then(|known| known.host), pool);
    let stopped = of_pool.all(key::ARRAY_STATE).find(|state| STOPPED.contains(&state.text()));
    let words = match stopped {
        Some(stopped) => {
            let what = format!("state of the pool: `{}`", stopped.text());
            builder.fact(&stopped, &what, (1.0, Unit::Count), above(0.0));
            format!(
                "{pool} stopped ({}): {disk} is {is}{counted}, and no other member has its data; \
                 first copy everything that is readable, then check its path and its power before \
                 the disk itself",
                stopped.text().to_uppercase()
            )
        }
        None => format!(
            "{pool} runs without {disk}, which is {is}{counted}: check its path and its power \
             before the disk itself"
        ),
    };
    builder.words.push(words);
    MEMBER_GONE
}
