//! IOR: bandwidth, rate and latency of parallel tasks on a file system.
//!
//! ## Reads
//! The table `access bw(MiB/s) IOPS Latency(s) block(KiB) xfer(KiB) open(s) wr/rd(s) close(s)
//! total(s) iter`, a row for each repetition of writing or reading; where it is missing, the means
//! of `Summary of all tests`. The number of tasks, of the options above the table, and whether the
//! command bypassed the page cache.
//!
//! ## How to capture
//! `mpirun -np 16 ior -t 1m -b 1g -F -C -e --posix.odirect -o FILE`.
//!
//! ## Versions
//! IOR 3.0 to 4.0. Tables before 3.3 have neither `IOPS` nor `Latency(s)`: the rate is bandwidth
//! divided by the size of a transfer.
//!
//! ## Caveats
//! `Latency(s)` is the mean of the task that was fastest. Without `-C` or `--posix.odirect` tasks
//! read what they wrote from the page cache. `bw` includes opening and closing the file, `IOPS`
//! does not. The summary repeats the rows.
//!
//! ## Not in this output
//! The latency distribution, slower tasks, the disks behind the file system, other load on them.

use iowhy_model::typed::PageCache;

use crate::describe::report::*;
use crate::describe::table::{KIB, MIB};

pub(super) const FORMAT: Format =
    Format::labels("bandwidth, rate and latency of parallel tasks", Level::A, &LABELS);

// What the rows below a heading are.
const ACCESS: &str = "access";
const SUMMARY: &str = "summary";

static LABELS: Labels = Labels {
    unnamed: "ior",
    may_resume: true,
    lines: &[
        begins("^IOR-{:word} MPI Coordinated Test of Parallel I/O$", |_, report, _| {
            report.enter("")
        })
        .like(&["IOR-4.0.0: MPI Coordinated Test of Parallel I/O"]),
        begins("^access bw(MiB/s) {:text}", |found, report, _| {
            report.heading = Heading::of(found.line(), &["bw(MiB/s)"])?;
            report.enter(ACCESS)
        })
        .like(&[
            "access    bw(MiB/s)  IOPS       Latency(s)  block(KiB) xfer(KiB)  open(s)    \
             wr/rd(s)   close(s)   total(s)   iter",
            "access    bw(MiB/s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   \
             total(s)   iter",
            "access    bw(MiB/s)  IOPS",
        ]),
        begins("^Operation Max(MiB) Min(MiB) Mean(MiB) {:text}", |found, report, _| {
            report.heading = Heading::of(found.line(), &["Mean(MiB)"])?;
            report.enter(SUMMARY)
        })
        .like(&[
            "Operation   Max(MiB)   Min(MiB)  Mean(MiB)     StdDev   Max(OPs)   Min(OPs)  \
                 Mean(OPs)     StdDev    Mean(s) Test# #Tasks tPN reps fPP reord reordoff \
                 reordrand seed segcnt   blksiz    xsize aggs(MiB)   API RefNum",
        ]),
        says("^remove - {*}", |_, _, _| Some(())).like(&[
            "remove    -          -          -           -          -          -          \
                     -          -          0.000564   0",
        ]),
        perhaps("^{op:op} {:n} {:text}", row)
            .when(|found| matches!(found.operation(), Some((Op::Read | Op::Write, _))))
            .like(&[
                "write     580.00     580.01     0.006896    10485760   1024.00    0.000648   \
                 70.62      0.000842   70.62      0",
                "read      5640       5641",
            ]),
        perhaps("^{read|write} {:word}", |_, report, _| {
            if report.part == ACCESS {
                report.fails("the row does not match the heading")
            } else {
                None
            }
        })
        .like(&["write     58o.00     580.01"]),
        says("^clients = {n:#}", |found, report, _| tasks(found.count("n")?, report))
            .like(&["clients            = 4 (1 per node)"]),
    ],
    labels: &[
        label(&["tasks"], |value, report| tasks(integer(value)?, report)),
        label(&["Command line"], |value, report| {
            let is_direct = ["odirect", "O_DIRECT", " -B"].iter().any(|word| value.contains(word));
            if is_direct { report.fact(typed::RUN_CACHED, PageCache::No) } else { Some(()) }
        }),
    ],
    ignored: &[
        "Began", "Command line used", "Machine", "TestID", "StartTime", "Path", "FS", "Options",
        "api", "apiVersion", "test filename", "access", "type", "segments", "ordering in a file",
        "ordering inter file", "task offset", "nodes", "clients per node", "memoryBuffer",
        "dataAccess", "GPUDirect", "repetitions", "xfersize", "blocksize", "aggregate filesize",
        "verbose", "Results", "Participating tasks", "Max Write", "Max Read", "Finished",
        "Summary of all tests", "Using Time Stamp", "Start time skew across all tasks",
        "Commencing write performance test", "Commencing read performance test", "Summary",
    ],
    own: &["^------", "^Verifying contents of the file(s) just written."],
    ..Labels::NEW
};

fn tasks(count: u64, report: &mut Report) -> Option<()> {
    report.update(typed::RUN_AT_ONCE, count)
}

/// A row of either table.
fn row(found: &Found, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let (op, _) = found.operation()?;
    let words: Vec<&str> = found.line().split_whitespace().collect();
    let of = |name: &str| report.heading.number(name, &words).filter(|value| *value > 0.0);
    let (bandwidth, rate) = match report.part {
        ACCESS => (of("bw(MiB/s)"), of("IOPS")),
        // The rows of the table above once more.
        SUMMARY if report.kept(ACCESS).is_some() => return Some(()),
        SUMMARY => (of("Mean(MiB)"), of("Mean(OPs)")),
        _ => return None,
    };
    let size = of("xfer(KiB)").map(|size| size * KIB).or(of("xsize"));
    let bytes = bandwidth.map(|bandwidth| bandwidth * MIB);
    let rate = rate.or_else(|| Some(bytes? / size?));
    let Some((bytes_per_s, ios_per_s)) = bytes.zip(rate) else {
        return report.fails("the row does not match the heading");
    };
    let await_ns = of("Latency(s)").map(|seconds| seconds * 1e9);
    let rates = Rates { ios_per_s, bytes_per_s: Some(bytes_per_s), await_ns, ..Rates::default() };
    let seconds = of("total(s)").or(of("Mean(s)"));
    report.keep(report.part, 1.0);
    report.average(Some(op), rates, seconds, sink)
}
