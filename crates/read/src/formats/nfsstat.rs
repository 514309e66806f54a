//! nfsstat -c: how often the client of NFS servers had to send a call again.
//!
//! ## Reads
//! The calls and retransmissions below `Client rpc stats:` (`rpc.calls`, `rpc.repeated`), summed
//! over all mounts since the machine started, or since the last `nfsstat -z`.
//!
//! ## How to capture
//! `nfsstat -rc` twice, before and after the slow copy.
//!
//! ## Versions
//! nfs-utils 1.0 to 2.8.
//!
//! ## Caveats
//! Over TCP the connection repeats what is lost, and calls are sent again only after a minute: a
//! few of them weigh more than many over UDP. Counts per operation are not read.
//!
//! ## Not in this output
//! Which server, and how long calls took (`nfsiostat` shows it).

use crate::describe::report::*;

pub(super) const FORMAT: Format =
    Format::labels("calls of NFS clients sent again (`nfsstat -c`)", Level::E, &LABELS);

/// The row of numbers comes next.
const RPC: &str = "rpc";

static LABELS: Labels = Labels {
    unnamed: "nfs",
    near: 3,
    lines: &[
        announces("^Client rpc stats:$", |_, report, _| report.enter(RPC))
            .like(&["Client rpc stats:"]),
        begins("^calls retrans {authrefrsh|authrefresh}$", |_, report, _| report.enter(RPC))
            .like(&["calls      retrans    authrefrsh"]),
        says("^{calls:#} {again:#} {:#}$", |found, report, sink| {
            (report.part == RPC).then_some(())?;
            sink.add_fact(None, typed::RPC_CALLS, found.count("calls")?);
            sink.add_fact(None, typed::RPC_REPEATED, found.count("again")?);
            report.enter("")
        })
        .like(&["812345     31         812400"]),
    ],
    ..Labels::NEW
};
