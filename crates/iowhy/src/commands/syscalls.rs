//! How long programs wait in reading, writing and syncing calls, and the disk's share.
//!
//! ## Does
//! Counts every call of the read and write families, fsync and related calls, libaio calls, and
//! every io_uring request, from entry to return (requests: from submission to completion), per
//! process, call and kind of file: number, failures, summed wait, mean, minimum and maximum, bytes,
//! and a latency histogram. At the same time it traces the block devices, and compares the waits of
//! each process with the I/Os that it submitted itself, with their summed device time (D2C): the
//! part of the wait that the disk can account for.
//!
//! A share is printed only where it is meaningful: for synchronous calls, on files that can be on a
//! disk. Overlapping I/Os (read-ahead, deep queues) can add up to more than the wait; a note says
//! so. Data that a process writes to the page cache is written back later by the kernel and is not
//! attributed to the process. `--verbose` draws all histograms, otherwise only those of the longest
//! waits.
//!
//! `--by mount` adds up by mount point and operation (reads, writes, fsync and related calls), with
//! p50, p99 and maximum: the latency that programs see on each file system, whatever is below it,
//! including NFS, SMB and FUSE. A read that the page cache serves counts as well. Calls that have
//! not returned when the watch ends are in the column `waiting`, and the oldest is named: a hanging
//! server or disk shows only there, without a latency.
//!
//!
//! ## Examples
//! `iowhy syscalls --for 30s`: who waits, in what, and is it the disk?
//! `iowhy syscalls --pid 4242 --verbose`: one process, every histogram.
//! `iowhy syscalls --by mount`: which file system is slow, or hangs?
//! `iowhy syscalls --csv > calls.csv`: a row per process, call and kind of file.
//! `iowhy syscalls --comm postgres --json`: one object of schema `iowhy.syscalls/1`.

mod by_mount;
mod disk;
mod text;

use std::time::Duration;

use clap::{Args, FromArgMatches, ValueEnum};
use iowhy_live::{CallCount, Syscalls, TraceFilter, TraceMode};
use iowhy_model::Loss;
use iowhy_model::Order as _;

use crate::calls::{CallArgs, RowArgs, WATCH};
use crate::command::{Command, Status};
use crate::messages::{self, HintedError};
use crate::sanitised;
use crate::watch::{Plan, Watch};
use disk::Disk;
use text::CallTotals;

/// Entry in the list of commands.
pub(super) const COMMAND: Command = Command {
    name: "syscalls",
    summary: "How long programs wait in I/O calls, and the disk's share",
    manual: iowhy_model::manual!("syscalls.rs"),
    arguments: Arguments::augment_args,
    run,
};

/// How often the tracer's ring is emptied.
const DRAIN: Duration = Duration::from_millis(50);

#[derive(Args, Debug)]
struct Arguments {
    #[command(flatten)]
    calls: CallArgs,
    /// Only this call, such as `pread64` or `io_uring read` (may be given several times)
    #[arg(long, value_name = "NAME")]
    call: Vec<String>,
    /// Add up by this instead of listing processes and calls
    #[arg(long, value_name = "KEYS")]
    by: Option<By>,
    #[command(flatten)]
    rows: RowArgs,
}

/// The key by which calls are added up.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum By {
    /// Where the file system of the file is mounted
    Mount,
}

fn run(matches: &clap::ArgMatches) -> anyhow::Result<Status> {
    let given = Arguments::from_arg_matches(matches)?;
    let whom = given.calls.callers()?;
    let known = iowhy_live::call_names();
    if let Some(call) = given.call.iter().find(|call| !known.contains(call)) {
        let hint = format!("supported calls: {}", known.join(", "));
        return Err(HintedError::error(format!("unsupported call `{call}`"), hint));
    }
    let (pid, comm) = (whom.pid, whom.comm.clone());
    let plan = Plan {
        trace: Some(TraceMode::Events),
        programs_only: true,
        filter: TraceFilter { pid, comm, ..TraceFilter::default() },
        length: Some(given.calls.watch_for.unwrap_or(WATCH)),
        progress: true,
        ..Plan::default()
    };
    let (calls, whole) = (Syscalls::new(whom).by_mount(given.by.is_some()), Duration::MAX);
    let mut watch = Watch::start_with(&plan, |all, sink| all.add(calls, whole, sink))?;
    watch.collectors.trace_at(DRAIN);
    let mut disk = Disk::default();
    watch.run(whole, |watch, nap| {
        watch.nap(nap, "watching calls");
        disk.count(&watch.sink.take());
        Ok(false)
    })?;
    let seconds = watch.elapsed().as_secs_f64();
    let rest = watch.end()?;
    disk.count(&rest);
    let wanted = |name: &String| given.call.is_empty() || given.call.contains(name);
    let unfinished = watch.collectors.of().map_or(&[][..], Syscalls::unfinished).iter();
    let unfinished: Vec<_> = unfinished.filter(|call| wanted(&call.call)).cloned().collect();
    let counts = watch.collectors.of().map_or(&[][..], Syscalls::counts).iter();
    let mut counts: Vec<_> = counts.filter(|count| wanted(&count.call)).cloned().collect();
    let waited = |count: &CallCount| count.histogram.sum_ns.unwrap_or(0.0);
    counts.order_by(|a, b| waited(b).total_cmp(&waited(a)));
    let listings = rest.listings.iter().filter(|one| !disk::is_of_disks(one));
    let losses: Vec<Loss> = listings.flat_map(|listing| listing.source.losses.clone()).collect();
    let totals = CallTotals { seconds, losses: &losses, disk_lost: disk.lost };
    let (by_mount, style) = (given.by == Some(By::Mount), given.rows.style());
    let mut out = sanitised::stdout();
    if given.rows.json {
        text::json(&counts, &unfinished, &disk, &totals)?;
    } else if given.rows.commas.csv {
        match by_mount {
            true => by_mount::csv(&counts, &unfinished, &mut out)?,
            false => text::csv(&counts, &mut out)?,
        }
        for loss in &losses {
            messages::warn(&format!("{} {}", loss.count, loss.what), None);
        }
    } else {
        let mut text = Vec::new();
        match by_mount {
            true => {
                by_mount::table(&counts, &unfinished, &totals, style.verbose, &mut text)?;
            }
            false => text::table(&counts, &unfinished, &disk, &totals, &style, &mut text)?,
        }
        iowhy_show::fitted(&String::from_utf8_lossy(&text), &style, &mut out)?;
    }
    Ok(Status::incomplete(!losses.is_empty() || disk.lost > 0))
}
