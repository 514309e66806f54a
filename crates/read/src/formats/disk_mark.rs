//! CrystalDiskMark and KDiskMark: rates and mean latencies of a drive at several sizes and depths.
//!
//! ## Reads
//! The rows of `[Read]`, `[Write]` and `[Mix]`: the test (sequential or random, block size, depth,
//! threads), the rate, requests per second and mean latency. Each row becomes a separate run,
//! `SEQ1M Q8T1`.
//!
//! ## How to capture
//! `CrystalDiskMark`: File, Save (text); KDiskMark, the same for Linux (it starts fio).
//!
//! ## Versions
//! CrystalDiskMark 3 to 8, KDiskMark 2 and 3. Version 6 and older name the operation in the row and
//! print no latency (`Random Read 4KiB (Q= 32,T= 1) :    39.550 MB/s [  9655.8 IOPS]`); a
//! sequential row has no requests per second there.
//!
//! ## Caveats
//! MB are 10^6 bytes, KiB are 1024. A row is the best of several runs, five by default, so it is
//! not a sample of the drive's usual behaviour. KDiskMark goes through the file system: with `Use
//! O_DIRECT` off, or on a file system that ignores it (FUSE), it measures the page cache. Times
//! that do not fit depth and rate are of another run than the rate.
//!
//! ## Not in this output
//! Single latencies, what else used the drive, which drive it was (a letter or a folder).

use iowhy_model::typed::PageCache;

use crate::counters::stated::rates;
use crate::describe::report::*;

pub(super) const FORMAT: Format = Format::labels(
    "CrystalDiskMark, KDiskMark: rates and mean latencies by size and depth",
    Level::A,
    &LABELS,
);

static LABELS: Labels = Labels {
    near: 1,
    may_resume: true,
    lines: &[
        begins(
            "^{SEQ|RND|Sequential|Random} {size:text}(Q={q:u}, T={t:u}):{mb:n} MB/s [{ios:n} IOPS] \
             <{us:n} us>$",
            with_latency,
        )
        .like(&[
            "RND    4KiB (Q= 32, T=16):  2205.914 MB/s [ 538553.2 IOPS] <   949.24 us>",
            "Sequential   1 MiB (Q=  8, T= 1):  5683.719 MB/s [   5550.5 IOPS] <  1417.53 us>",
        ]),
        // Before latencies were printed.
        begins("^{Sequential|Random} {op:word} {size:text} :{mb:n} MB/s", rate_alone).like(&[
            "Random Read 4KiB (Q= 32,T= 1) :    39.550 MB/s [  9655.8 IOPS]",
            "Random Write 4KB (QD=32) :     0.928 MB/s [   226.6 IOPS]",
            "Sequential Write (T= 1) :   483.610 MB/s",
        ]),
        begins("^Sequential {op:word} :{mb:n} MB/s", rate_alone)
            .like(&["Sequential Read :   103.2 MB/s"]),
        announces("^[{Read|Write|Mix}]", |found, report, _| {
            report.enter(if found.line().starts_with("[Read") {
                "read"
            } else if found.line().starts_with("[Write") {
                "write"
            } else {
                ""
            })
        })
        .like(&["[Read]", "[Mix]"]),
    ],
    own: &["^[{*}]", "^* ", "^---"],
    ignored: &["Test", "Mode", "Time", "Date", "OS", "Comment", "Profile"],
    cut: &["IOPS] <"],
    ..Labels::NEW
};

fn with_latency(found: &Found, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let kind = found.line().split(' ').next()?;
    let size = found.text("size")?.replace(' ', "").replace("iB", "");
    let [depth, threads] = [found.count("q")?, found.count("t")?];
    let order = if kind.starts_with('S') { "SEQ" } else { "RND" };
    report.name(&format!("{order}{size} Q{depth}T{threads}"));
    let op = [Op::Read, Op::Write].into_iter().find(|op| op.name() == report.part);
    let at_once = depth.checked_mul(threads).filter(|count| *count > 0)?;
    // CrystalDiskMark has diskspd pass the cache by (`-Sh`).
    let cached = if kind.len() == 3 { PageCache::No } else { PageCache::Unknown };
    let mean = bytes(&size).filter(|bytes| *bytes > 0.0)?;
    row(found, report, op, mean, sink)?;
    sink.add_fact(&*report, typed::RUN_AT_ONCE, at_once);
    sink.add_fact(&*report, typed::RUN_CACHED, cached);
    Some(())
}

fn rate_alone(found: &Found, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let op = match found.text("op")? {
        "Read" => Op::Read,
        "Write" => Op::Write,
        _ => return None,
    };
    let order = if found.line().starts_with('S') { "SEQ" } else { "RND" };
    let text = found.text("size").unwrap_or_default();
    let (size, load) = text.split_once('(').unwrap_or((text, ""));
    // Depth and threads; what is not named is one.
    let mut at_once = 1u64;
    for part in load.split([',', ')']).filter_map(|part| part.split_once('=')) {
        at_once = at_once.checked_mul(integer(part.1.trim())?).filter(|count| *count > 0)?;
    }
    let size = size.trim().trim_end_matches('B').trim_end_matches('i');
    report.name(&format!("{order}{size} {at_once} at once"));
    row(found, report, Some(op), bytes(size).unwrap_or(SEQUENTIAL), sink)?;
    // Without a latency the depth alone would make one of the rate: only one at a time is exact.
    let device = report.device(sink);
    if at_once == 1 {
        sink.add_fact(device, typed::RUN_AT_ONCE, at_once);
    }
    sink.add_fact(device, typed::RUN_CACHED, PageCache::No);
    Some(())
}

/// Requests of a sequential test whose size is not printed, bytes (CrystalDiskMark 3 and 5).
const SEQUENTIAL: f64 = 1_048_576.0;

fn row(
    found: &Found,
    report: &Report,
    op: Option<Op>,
    size: f64,
    sink: &mut dyn Sink,
) -> Option<()> {
    let moved = found.number("mb").map(|mb| mb * 1e6);
    let ios = found.number("ios").or_else(|| {
        let (_, ios) = found.line().split_once('[')?;
        decimal(ios.strip_suffix("IOPS]")?.trim())
    });
    // Where requests are not counted, they are as large as the test says.
    let ios = ios.or(moved.map(|moved| moved / size));
    let known = rates(ios, moved, found.number("us").map(|us| us * 1e3));
    let mut interval = Interval::new(report.device(sink), Layer::Application);
    match op {
        Some(op) => interval.rates.extend(known.map(|rates| (op, rates))),
        None => interval.mixed = known,
    }
    sink.interval(interval);
    Some(())
}
