//! mmdiag --waiters of IBM Storage Scale (GPFS): what its threads wait for, and how long.
//!
//! ## Reads
//! `Waiting 0.0409 sec since 10:24:00, monitored, thread 23170 NSDThread: for I/O completion`:
//! waiters for a disk of the node (`gpfs.waiters.disk`), for another node (`gpfs.waiters.rpc`) and
//! others, each with the longest (`gpfs.longest.*`).
//!
//! ## How to capture
//! `mmdiag --waiters`, several times; `mmlsnode -N waiters -L`.
//!
//! ## Versions
//! GPFS 3.5 to Storage Scale 5; before 4.2 a line is
//! `0x7F1C waiting 2.21 seconds, NSDThread: for I/O completion on disk d5`.
//!
//! ## Caveats
//! One moment: ordinary I/O in flight is in the list too. A waiter of seconds names what does not
//! respond. A wait for an RPC may be for the disk of the other node.
//!
//! ## Not in this output
//! Completed I/O (`mmdiag --iohist` has single latencies).

use crate::describe::report::*;

pub(super) const FORMAT: Format =
    Format::labels("mmdiag --waiters of GPFS: what threads wait for", Level::E, &LABELS);

/// What a waiter waits for, and under which names that is kept: how many, and the longest, s.
const KINDS: [(&str, &str, &str); 3] = [
    ("disk", "for a disk", "longest for a disk"),
    ("rpc", "for a node", "longest for a node"),
    ("other", "for other things", "longest for other things"),
];

static LABELS: Labels = Labels {
    near: 1,
    lines: &[
        announces("^=== mmdiag: waiters ===", |_, _, _| Some(()))
            .like(&["=== mmdiag: waiters ==="]),
        begins("^Waiting {took:s} sec since {:word} {*}thread {:u} {:word} ", waiter).like(&[
            "Waiting 0.0409 sec since 10:24:00, monitored, thread 23170 NSDThread: for I/O \
             completion",
        ]),
        begins("^0x{:word} {:text} waiting {took:s} seconds, {:word} ", waiter).like(&[
            "0x7FF0C0001A80 (  30641) waiting 2.211 seconds, NSDThread: for I/O completion on disk \
             d5",
        ]),
    ],
    end: Some(|report, sink| {
        for (kind, count, longest) in KINDS {
            let Some((n, seconds)) = report.kept(count).zip(report.kept(longest)) else { continue };
            sink.add_fact(None, typed::GPFS_WAITERS.of(kind), n as u64);
            sink.add_fact(None, typed::GPFS_LONGEST.of(kind), Nanos::from_seconds(seconds));
        }
    }),
    ..Labels::NEW
};

fn waiter(found: &Found, report: &mut Report, _: &mut dyn Sink) -> Option<()> {
    let line = found.line();
    let of = |words: &str| line.contains(words);
    let place = if of("I/O completion") {
        0
    } else if of("RPC wait") || of("on node ") {
        1
    } else {
        2
    };
    let (_, count, longest) = KINDS.get(place)?;
    report.add(count, 1.0);
    report.most(longest, found.time("took")?.seconds())
}
