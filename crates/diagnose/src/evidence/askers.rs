//! Programs that cause most of the disks' traffic, and wait for it.
//!
//! `iotop` lists which tasks read and write, how much, and how long they wait. That is the load,
//! without a single latency: whether the disk could do more is not in it. If the rate is one that a
//! healthy disk reaches only in long transfers, the load saturates it; below that a slow disk, or
//! many small requests, would look the same.

use iowhy_model::Order as _;
use iowhy_model::{Finding, Verdict, key};

use crate::analysis::{Analysis, Host};
use crate::evidence::builder::{lines, new_finding};
use crate::evidence::confidence::SHAPE_ALONE;
use crate::evidence::reported_problem::UNKNOWN_SHARE;
use crate::facts::kernel_threads;
use crate::phrase;

/// Share of its time that a program waits from which on it requests more than it gets, and share of
/// all traffic that the named ones account for (choices).
const WAITS: f64 = 0.8;
const MOST: f64 = 0.3;
/// Bytes per second that no disk of any class moves in small requests at random offsets unless it
/// is fast (a choice: 100 requests of 300 KiB).
const IN_BULK: f64 = 3e7;
/// Its weight; programs that are named, and of one name.
const ASKED: f64 = 0.68;
const NAMED: usize = 2;

/// How many times more programs write than the disks do where the rest is in memory, and the least
/// bytes per second that count (choices).
const AHEAD: f64 = 10.0;
const MUCH: f64 = 1e8;
/// Weight of two rates of one screen.
const TWO_RATES: f64 = 0.85;

/// Programs that write far more than the disks do in the same seconds.
pub(crate) fn into_memory(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let hosts = analysis.hosts().into_iter();
    hosts.filter_map(|host| ahead_of_disks(analysis, verdict, host)).collect()
}

fn ahead_of_disks(analysis: &Analysis, verdict: Verdict, host: Host) -> Option<Finding> {
    let about = analysis.machine(host);
    let mut writers: Vec<_> = about.processes(key::PROCESS_WRITES).collect();
    writers.retain(|(_, who, _)| kernel_threads::is_program(who));
    writers.order_by(|a, b| b.0.total_cmp(&a.0));
    let sum: f64 = writers.iter().map(|(per_s, ..)| per_s).sum();
    let (written, of_disks) = about.machine_number(key::DISKS_WRITTEN.of("mean"))?;
    let (_, who, by_program) = writers.first()?;
    (sum >= MUCH && sum >= AHEAD * written).then_some(())?;
    let mut finding = new_finding(verdict, None, vec![by_program.listing]);
    finding.sentence = format!(
        "{} writes {} into the page cache, and the disks write {}: the rest is in memory and is \
         written later, so the program's rate is not that of a disk",
        kernel_threads::without_arguments(who),
        phrase::rate(sum),
        phrase::rate(written)
    );
    let by_all = analysis.stated(by_program).bytes_per_s("written by programs", sum);
    let what = "written to disks in the same time";
    let disks = analysis.stated(&of_disks).bytes_per_s(what, written);
    finding.evidence = vec![by_all.above(MUCH), disks.below(sum / AHEAD)];
    finding.assume(TWO_RATES, "two rates of the same seconds, far apart");
    finding.explained_share = 1.0;
    finding.refuted_by = lines(&[
        "the program writes to a file system in memory, or to a server: `findmnt -T FILE`",
    ]);
    finding.next_step = lines(&[
        "`grep -E 'Dirty|Writeback' /proc/meminfo`: how much is still to be written?",
        "`iostat -x 1` until that is written: the disk's rate then is its own",
    ]);
    Some(finding)
}

/// A finding of each input in which nothing was timed.
pub(crate) fn findings(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let hosts = analysis.hosts().into_iter();
    hosts.filter_map(|host| of_host(analysis, verdict, host)).collect()
}

fn of_host(analysis: &Analysis, verdict: Verdict, host: Host) -> Option<Finding> {
    let timed = analysis.listings_of(host).any(|(_, listing)| {
        !listing.intervals.is_empty()
            || !listing.events.is_empty()
            || !listing.distributions.is_empty()
    });
    let about = analysis.machine(host);
    let (share, waits, of_wait) = about.waiting_task()?;
    let waited = share >= WAITS
        && kernel_threads::is_program(waits)
        && analysis.host(of_wait.listing) == host;
    (waited && !timed).then_some(())?;
    let kinds = [
        (key::PROCESS_READS, key::DISKS_READ.of("mean"), "read"),
        (key::PROCESS_WRITES, key::DISKS_WRITTEN.of("mean"), "write"),
    ];
    let sums = kinds.into_iter().filter_map(|(by_process, all, verb)| {
        let mut programs: Vec<_> = about
            .processes(by_process)
            .filter(|(_, who, _)| kernel_threads::is_program(who))
            .collect();
        programs.order_by(|a, b| b.0.total_cmp(&a.0));
        let sum: f64 = programs.iter().map(|(per_s, ..)| per_s).sum();
        let whole = about.machine_number(all).map_or(sum, |(per_s, _)| per_s);
        // Few writes for which a program waits may be flushes, which are judged elsewhere.
        let is_load = verb == "read" || whole >= IN_BULK;
        let asked = is_load && sum > 0.0 && sum >= MOST * whole;
        asked.then_some((whole.max(sum), programs, verb))
    });
    let (moved, programs, verb) = sums.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let is_asked_by_it = programs.iter().any(|(_, who, _)| *who == waits);
    let (_, _, reading) = programs.first().filter(|_| is_asked_by_it)?;
    let names: Vec<String> = programs
        .iter()
        .take(NAMED)
        .map(|(_, who, _)| kernel_threads::without_arguments(who))
        .collect();
    let more = programs.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let mut finding = new_finding(verdict, None, vec![reading.listing]);
    finding.sentence = format!(
        "{}{more} {verb} much or all of the {} that the disks move, and wait for I/O up to {} of \
         their time: they cause the load; how long a request takes is not in this input",
        phrase::list(&names),
        phrase::rate(moved),
        phrase::percent(share)
    );
    let what = format!("time that {waits} waited for I/O");
    let moved_by = analysis.stated(reading).bytes_per_s("moved by all of them together", moved);
    finding.evidence =
        vec![analysis.stated(&of_wait).share(&what, share).above(WAITS), moved_by.above(IN_BULK)];
    if moved < IN_BULK {
        finding.evidence[1].bound = None;
    }
    finding.assume(ASKED, "programs request more than they get, and cause the load");
    let little = "so little may be many small requests, or a slow disk";
    finding.doubt_if(moved < IN_BULK, little, SHAPE_ALONE);
    (finding.explained_share, finding.share_is_assumed) = (UNKNOWN_SHARE, true);
    finding.refuted_by = lines(&["the same disk is as slow while these programs are stopped"]);
    finding.next_step = lines(&[
        "`iostat -x 1`: which disk, how many requests, and how long does each take?",
        "run these programs later, one after the other, or with `ionice -c 3`",
    ]);
    Some(finding)
}
