//! Threads of a database that wait for a lock inside it, while it has no I/O outstanding.
//!
//! Such a wait looks like slow storage from outside: statements hang, and hardly anything is read
//! or written. The server counts its own pending requests in the same report; at none, no disk can
//! be what the threads wait for.

use iowhy_model::{Finding, Verdict, key};

use crate::analysis::{Analysis, Host};
use crate::evidence::builder::{lines, new_finding};
use crate::evidence::confidence::SHAPE_ALONE;
use crate::phrase;

/// A wait for a lock that holds for microseconds, s: InnoDB reports it from 241 s on, and its
/// monitor any (a choice).
const LONG_S: f64 = 10.0;
/// Weight of such a wait with no request pending.
const NOTHING_PENDING: f64 = 0.85;

/// A finding of each input with such waits.
pub(crate) fn waits(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let hosts = analysis.hosts().into_iter();
    hosts.filter_map(|host| of_host(analysis, verdict, host)).collect()
}

fn of_host(analysis: &Analysis, verdict: Verdict, host: Host) -> Option<Finding> {
    let about = analysis.machine(host);
    let (waited, place, reading) = about.busiest_process(key::DATABASE_LATCH_WAIT)?;
    (waited >= LONG_S && analysis.host(reading.listing) == host).then_some(())?;
    let pending = [key::READ_PENDING, key::WRITE_PENDING, key::FLUSH_PENDING];
    let pending: Vec<_> =
        pending.into_iter().filter_map(|kind| about.machine_number(kind)).collect();
    let count: f64 = pending.iter().map(|(count, _)| count).sum();
    if count > 0.0 {
        return None;
    }
    let mut finding = new_finding(verdict, None, vec![reading.listing]);
    let of_io = if pending.is_empty() { "" } else { ", and it has no read or write outstanding" };
    finding.sentence = format!(
        "a thread of the database waited {} for a lock inside the server ({place}){of_io}: it \
         waits for other threads of the server, not for a disk",
        phrase::ms(waited * 1e3)
    );
    let wait = analysis.stated(&reading).seconds("longest wait for a lock", waited);
    finding.evidence = vec![wait.above(LONG_S)];
    if let Some((_, of_count)) = pending.first() {
        finding.evidence.push(analysis.stated(of_count).count("requests pending", count));
    }
    finding.assume(NOTHING_PENDING, "a lock inside the server, and no I/O outstanding");
    let unknown = "the holder of the lock may itself wait for a disk: this input does not count \
         requests";
    finding.doubt_if(pending.is_empty(), unknown, SHAPE_ALONE);
    finding.explained_share = 1.0;
    finding.refuted_by = lines(&["the holder of the lock waits for a disk: `iowhy waits`"]);
    finding.next_step = lines(&[
        "find the thread that holds it (`has reserved it` in the report) and its statement: SHOW \
         PROCESSLIST",
        "large transactions, and queries of the lock tables while they run, are common causes",
    ]);
    Some(finding)
}
