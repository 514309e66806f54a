//! Sessions of a database that wait inside it: for locks, latches or a CPU, and hardly for storage.
//!
//! A database counts what its sessions wait for, and the waits for I/O beside the others. If almost
//! all of it is for its own locks and its I/O is fast, or little, no disk is what they wait for.

use iowhy_model::Order as _;
use iowhy_model::{Finding, Layer, Verdict, key};

use crate::analysis::{Analysis, Host};
use crate::evidence::builder::{lines, new_finding};
use crate::evidence::fast_programs::NOTICEABLE_MS;
use crate::evidence::reported_problem::UNKNOWN_SHARE;
use crate::phrase;

/// Share of all waiting from which on it is the cause (a choice).
const PREVAILS: f64 = 0.8;
/// I/O below this mean, ms, is fast (a choice: a seek and half a revolution of a platter).
const FAST_MS: f64 = 10.0;
/// If it takes a small part of the waiting (a choice), it only must not be as slow as people
/// notice.
const SMALL: f64 = 0.05;
/// Waits of one kind whose mean is one, and all waits that decide (docs/METHOD.md, 10 Rules: ten
/// events); or their time, s, as in `latches`.
const FEWEST: f64 = 10.0;
const LONG_S: f64 = 10.0;
/// Weight of it: who holds a lock may itself wait for a disk.
const INSIDE: f64 = 0.8;

/// Classes of waits for storage.
const STORAGE: [&str; 3] = ["log", "read", "write"];

/// What the sessions of a database wait for: classes, and words.
struct Inside {
    classes: &'static [&'static str],
    what: &'static str,
    why: &'static str,
    refuted: [&'static str; 2],
    next: [&'static str; 2],
}

const LOCKS: Inside = Inside {
    classes: &["latch", "lock"],
    what: "locks and latches",
    why: "sessions wait for each other, not for a disk",
    refuted: [
        "the session that holds the lock waits for a disk: its own wait event",
        "the counters are older than the problem: read them twice, and compare the difference",
    ],
    next: [
        "which session blocks the others, and what does it do: `sys.dm_exec_requests`, \
         `v$session`, pg_blocking_pids(), db.currentOp()",
        "shorten its transaction; spread inserts that meet in one page or index block",
    ],
};

const CPUS: Inside = Inside {
    classes: &["cpu"],
    what: "a CPU, or spent on one",
    why: "sessions compute or wait for a CPU, not for a disk",
    refuted: [
        "the statement in question waits for I/O: its own wait events",
        "the counters are older than the problem: read them twice, and compare the difference",
    ],
    next: [
        "`top` or `vmstat 1` of the same minute: are CPUs idle? If not, they are too few",
        "the statements with the most CPU time and buffer gets; a missing index reads memory",
    ],
};

/// A finding of each input whose database waits for its own locks and latches.
pub(crate) fn for_locks(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let hosts = analysis.hosts().into_iter();
    hosts.filter_map(|host| of_host(analysis, verdict, host, &LOCKS)).collect()
}

/// A finding of each input whose database computes, or waits for a CPU.
pub(crate) fn for_cpus(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let hosts = analysis.hosts().into_iter();
    hosts.filter_map(|host| of_host(analysis, verdict, host, &CPUS)).collect()
}

fn of_host(analysis: &Analysis, verdict: Verdict, host: Host, inside: &Inside) -> Option<Finding> {
    let about = analysis.machine(host);
    let shares = |class: &'static str| about.processes(key::DATABASE_WAIT_SHARE.of(class));
    let mut own: Vec<_> = inside.classes.iter().copied().flat_map(shares).collect();
    own.order_by(|a, b| b.0.total_cmp(&a.0));
    let (.., reading) = *own.first()?;
    let place = reading.listing;
    own.retain(|(.., other)| other.listing == place);
    let share: f64 = own.iter().map(|(share, ..)| share).sum();
    let storage = STORAGE.into_iter().flat_map(shares);
    let of_storage: f64 =
        storage.filter(|(.., other)| other.listing == place).map(|(share, ..)| share).sum();
    let number = |what| {
        let mut all = about.readings_of_machine(what);
        all.find(|(_, of)| of.listing == place).map(|(number, _)| number)
    };
    let waits = number(key::DATABASE_WAITS).unwrap_or(0.0);
    let seconds = number(key::DATABASE_WAIT_TIME);
    let many = waits >= FEWEST || seconds.is_some_and(|seconds| seconds >= LONG_S);
    let slowest = slowest_ms(analysis, host);
    let bound_ms = if of_storage <= SMALL { NOTICEABLE_MS } else { FAST_MS };
    let fast = slowest.map_or(of_storage <= SMALL, |(_, ms)| ms <= bound_ms);
    if share < PREVAILS || !many || !fast || analysis.host(place) != host {
        return None;
    }
    let mut finding = new_finding(verdict, None, vec![place]);
    let events = own.iter().map(|(share, event, of)| {
        let class = of.fact.key.member_of(key::DATABASE_WAIT_SHARE).unwrap_or_default();
        format!("{class} {}, most in {event}", phrase::percent(*share))
    });
    let events = events.collect::<Vec<_>>().join("; ");
    let of_io = slowest.map_or(String::new(), |(event, ms)| {
        format!(", and its slowest I/O takes {} ({event})", phrase::ms(ms))
    });
    finding.sentence = format!(
        "{} of the database's waiting is for {} ({}): {}; storage is {} of it{of_io}",
        phrase::percent(share),
        inside.what,
        events,
        inside.why,
        phrase::percent(of_storage)
    );
    let stated = analysis.stated(&reading);
    finding.evidence = vec![
        stated.share(&format!("share of the waiting for {}", inside.what), share).above(PREVAILS),
        stated.share("share of the waiting for reads, writes and the log", of_storage),
    ];
    if let Some((event, ms)) = slowest {
        let what = format!("mean wait of the slowest kind of I/O ({event})");
        finding.evidence.push(stated.ms(&what, ms).below(bound_ms));
    }
    finding
        .assume(INSIDE, "almost all waiting is inside the database, and its I/O is fast or little");
    (finding.explained_share, finding.share_is_assumed) = (UNKNOWN_SHARE, true);
    finding.refuted_by = lines(&inside.refuted);
    finding.next_step = lines(&inside.next);
    Some(finding)
}

/// The kind of I/O with the highest mean that programs of the host measured.
fn slowest_ms<'a>(analysis: &Analysis<'a>, host: Host) -> Option<(&'a str, f64)> {
    let listings = analysis.listings_of(host);
    let all = listings.flat_map(|(_, listing)| listing.histograms());
    let above = all.filter(|one| one.layer != Layer::Block);
    let means = above.filter_map(|one| {
        let enough = one.histogram.count() as f64 >= FEWEST;
        let (mean_ns, _) = one.histogram.mean_ns().filter(|_| enough)?;
        Some((analysis.recording.device_of(one.device).name.as_str(), mean_ns / 1e6))
    });
    means.max_by(|a, b| a.1.total_cmp(&b.1))
}
