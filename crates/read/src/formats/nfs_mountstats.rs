//! mountstats: calls of an NFS mount by operation, their wait in the client and their round trip.
//!
//! ## Reads
//! Of each mount the operations and their means: `backlog wait` (in the client, before sending) and
//! `RTT` (from sending to the reply). READ, WRITE and COMMIT (a flush) are kept apart, all other
//! operations are one. The device is the export.
//!
//! ## How to capture
//! `mountstats --rpc /mnt` (nfs-utils), twice: before and after the slow copy.
//!
//! ## Versions
//! nfs-utils 1.1 to 2.8. Python's `mountstats` of older ones prints `retrans` beside `ops`.
//!
//! ## Caveats
//! Counts and means run since the file system was mounted, and the output does not say for how
//! long: there are no rates.
//!
//! ## Not in this output
//! What the server's disks did. Single latencies. Repetitions and timeouts are not read.

use iowhy_model::Medium;

use crate::describe::report::*;

pub(super) const FORMAT: Format = Format::labels(
    "calls of NFS mounts by operation (`mountstats` of nfs-utils)",
    Level::A,
    &LABELS,
);

static LABELS: Labels = Labels {
    unnamed: "nfs",
    near: 3,
    may_resume: true,
    lines: &[
        begins("^Stats for {export:word} mounted on {:text}:$", |found, report, sink| {
            emit(report, sink);
            report.name(found.text("export")?)
        })
        .opens_record()
        .like(&["Stats for server:/export mounted on /mnt:"]),
        announces("^RPC statistics:$", |_, _, _| Some(())).like(&["RPC statistics:"]),
        follows("^{:u} RPC requests sent, {:u} RPC replies received{*}", |_, _, _| Some(()))
            .like(&["699 RPC requests sent, 699 RPC replies received (0 XIDs not found)"]),
        says("^{op:word}:$", |found, report, _| {
            // Of version 4.2.
            let name = found.text("op").map(|op| if op == "READ_PLUS" { "READ" } else { op })?;
            let (of, _) = KEPT.iter().find(|(known, _)| *known == name).unwrap_or(&KEPT[3]);
            report.enter(of)
        })
        .when(|found| {
            let name = found.line().trim().trim_end_matches(':');
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_')
        })
        .like(&["GETATTR:"]),
        says("^{calls:u} ops ({:word}{*}", |found, report, _| {
            report.keep(CALLS, found.number("calls")?)
        })
        .like(&["338 ops (48%)", "100000 ops (5%)         9 retrans (0%)  0 major timeouts"]),
        says("^avg bytes sent per op: {*}", |_, _, _| Some(()))
            .like(&["avg bytes sent per op: 216  avg bytes received per op: 507131"]),
        says(
            "^backlog wait: {queue:ms} RTT: {trip:ms} total execute time: {:ms} (milliseconds)$",
            means,
        )
        .like(&["backlog wait: 0.005917  RTT: 548.736686  total execute time: 548.775148 \
                 (milliseconds)"]),
    ],
    own: &[
        "^average backlog queue length:", "^NFS {mount|server|byte|security}",
        "^NFSv4 capability flags:", "^applications {read|wrote}", "^client {read|wrote}",
    ],
    end: Some(emit),
    ..Labels::NEW
};

/// What is kept of an operation: its calls, and the sums of their times in ns.
const KEPT: [(&str, [&str; 3]); 4] = [
    ("READ", ["reads", "queue of reads", "trips of reads"]),
    ("WRITE", ["writes", "queue of writes", "trips of writes"]),
    ("COMMIT", ["flushes", "queue of flushes", "trips of flushes"]),
    ("other", ["others", "queue of others", "trips of others"]),
];
/// Its calls, of the row before its times.
const CALLS: &str = "calls";

fn means(found: &Found, report: &mut Report, _: &mut dyn Sink) -> Option<()> {
    let (_, [calls, queue, trip]) = KEPT.iter().find(|(of, _)| *of == report.part)?;
    let n = report.take(CALLS)?;
    report.add(calls, n);
    report.add(queue, n * found.time("queue")?.ns() as f64);
    report.add(trip, n * found.time("trip")?.ns() as f64)
}

fn emit(report: &mut Report, sink: &mut dyn Sink) {
    for (name, [calls, queue, trip]) in KEPT {
        let kept = report.take(calls).zip(report.take(queue)).zip(report.take(trip));
        let Some(((n, queue), trip)) = kept.filter(|((n, _), _)| *n > 0.0) else { continue };
        let of = name.to_ascii_lowercase();
        let device = report.device(sink);
        sink.set_medium(device, Medium::Network);
        report.fact(typed::RPC_OP_CALLS.member(&of), n as u64);
        report.fact(typed::RPC_OP_QUEUE.member(&of), Nanos((queue / n) as i64));
        report.fact(typed::RPC_OP_TRIP.member(&of), Nanos((trip / n) as i64));
    }
}
