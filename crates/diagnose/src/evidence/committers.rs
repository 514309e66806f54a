//! Threads that commit a file system and wait for I/O most of their time.
//!
//! `iotop` and `pidstat` name the task that waits longest. If that is the thread which writes a
//! journal or a transaction, programs wait for it: each fsync for the journal, each change for a
//! transaction. The time of a commit and its disk are not in this input.

use iowhy_model::{Finding, Verdict, key};

use crate::analysis::{Analysis, Host};
use crate::evidence::builder::{lines, new_finding};
use crate::evidence::confidence::SHAPE_ALONE;
use crate::evidence::reported_problem::UNKNOWN_SHARE;
use crate::facts::kernel_threads::{self, Committer};
use crate::phrase;

/// Share of its time that such a thread waits from which on it is in commits all along (a choice:
/// one commit in 5 s that takes 1 s is 20 %).
const ALL_ALONG: f64 = 0.6;
/// Its weight: a slow disk makes few commits long, too.
const WAITS: f64 = 0.67;
/// Bytes per second from which on a process is named beside it (a choice).
const WRITES: f64 = 1e4;

/// Journals that are committed all along: `load.flush`.
pub(crate) fn of_journals(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    findings(analysis, verdict, Committer::Journal)
}

/// Transactions that are written all along: `layer.above`.
pub(crate) fn of_transactions(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    findings(analysis, verdict, Committer::Transaction)
}

fn findings(analysis: &Analysis, verdict: Verdict, of: Committer) -> Vec<Finding> {
    let hosts = analysis.hosts();
    hosts.into_iter().filter_map(|host| of_host(analysis, verdict, host, of)).collect()
}

fn of_host(analysis: &Analysis, verdict: Verdict, host: Host, of: Committer) -> Option<Finding> {
    let about = analysis.machine(host);
    let (share, who, reading) = about.waiting_task()?;
    let is_it = kernel_threads::committer(who) == Some(of);
    (is_it && share >= ALL_ALONG && analysis.host(reading.listing) == host).then_some(())?;
    let mut finding = new_finding(verdict, None, vec![reading.listing]);
    let writes = about.processes(key::PROCESS_WRITES);
    let programs = writes
        .filter(|(per_s, name, _)| *per_s >= WRITES && kernel_threads::committer(name).is_none());
    let most = programs.max_by(|a, b| a.0.total_cmp(&b.0));
    let mut writers = about.processes(key::PROCESS_WRITES);
    let nobody_writes = !writers.any(|(per_s, ..)| per_s >= WRITES);
    let by = most.as_ref().map_or(String::new(), |(per_s, name, _)| {
        format!("; {name} writes most, {}", phrase::rate(*per_s))
    });
    let does = match of {
        Committer::Journal => {
            "it commits the journal for each fsync of a program, and the programs wait for it"
        }
        Committer::Transaction => {
            "it writes the changes of the file system, and programs that change files wait until \
             it has finished"
        }
    };
    finding.sentence =
        format!("{who} waits for I/O {} of its time: {does}{by}", phrase::percent(share));
    let what = "share of time that the committing thread waited for I/O";
    finding.evidence = vec![analysis.stated(&reading).share(what, share).above(ALL_ALONG)];
    if let Some((per_s, name, reading)) = most {
        let what = format!("written by {name}");
        finding.evidence.push(analysis.stated(&reading).bytes_per_s(&what, per_s));
    }
    finding.assume(WAITS, "the thread that commits the file system waits most");
    let stuck = "nobody writes in this input: one commit that a disk does not finish has the same \
                 effect";
    finding.doubt_if(nobody_writes, stuck, SHAPE_ALONE);
    (finding.explained_share, finding.share_is_assumed) = (UNKNOWN_SHARE, true);
    finding.refuted_by = lines(&[
        "a single write to the same disk is slow while nothing else uses it: then it is the disk",
        "`iostat -x 1`: hardly any writes per second while it waits",
    ]);
    finding.next_step = match of {
        Committer::Journal => lines(&[
            "`iowhy syscalls --for 30s`: which program calls fsync, how often, and how long does \
             it take?",
            "`iostat -x 1`: `w/s`, `f/s` and `w_await` of its disk",
        ]),
        Committer::Transaction => lines(&[
            "`iostat -x 1`: reads or writes, how many, and how long do they take on its disk?",
            "many snapshots, quotas, deduplication or a nearly full pool make each commit larger",
        ]),
    };
    Some(finding)
}
