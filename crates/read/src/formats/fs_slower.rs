//! bcc's ext4slower, xfsslower, zfsslower, nfsslower, fileslower, ...: slow file operations.
//!
//! ## Reads
//! The rows `TIME COMM PID T BYTES OFF_KB LAT(ms) FILENAME`, with the banner
//! `Tracing ext4 operations slower than 10 ms` or without; fileslower's
//! `TIME(s) COMM TID D BYTES LAT(ms) FILENAME`. Each row becomes an event of a file system, not of
//! a disk: it includes cache, locks, journal and queues.
//!
//! ## How to capture
//! `ext4slower 1`, `fileslower -p PID 10`, `fsslower -t xfs` of bcc and libbpf-tools.
//!
//! ## Versions
//! bcc since 2016, libbpf-tools' `fsslower`. The lines of `-j` are not read.
//!
//! ## Caveats
//! Only operations above the threshold are listed: their total number and mean are not known, which
//! the fact `trace.threshold` records, and no mean is compared with that of a disk. Opens and
//! `getattr` are not data I/O. Times are whole seconds, except fileslower's. `T` is `R`, `W`, `O`
//! (open), `S` or `F` (fsync), for NFS also `G` (attributes) and `C` (commit): if one of these
//! occurs, the fact `mount.type` is `nfs`.
//!
//! ## Not in this output
//! The disk share: run `biosnoop` at the same time. Operations below the threshold, mmap, direct
//! I/O of some file systems.

use crate::describe::report::*;
use crate::fixed;
use crate::text::repair::has_odd;

pub(super) const FORMAT: Format = Format::labels(
    "ext4slower, xfsslower, fileslower, ...: slow file operations (bcc)",
    Level::C,
    &LABELS,
);

/// Operations that nfsslower alone lists: asking a server for attributes, and committing what it
/// holds.
const OF_NFS: [&str; 2] = ["G", "C"];
/// Step of LAT(ms), which has two decimals.
const LATENCY_STEP: Nanos = Nanos(10_000);

static LABELS: Labels = Labels {
    unnamed: "files",
    near: 1,
    lines: &[
        // The file system and the threshold.
        announces("^Tracing {what:text} slower than {ms:ms}", |found, report, _| {
            report.name(kind(found.text("what")?)?);
            report.keep("threshold", found.time("ms")?.ns() as f64)
        })
        .when(|found| found.text("what").and_then(kind).is_some())
        .like(&[
            "Tracing ext4 operations slower than 10 ms",
            "Tracing sync read/writes slower than 1 ms",
        ]),
        begins(
            "^{TIME|TIME(s)} COMM {PID|TID} {T|D} BYTES OFF_KB LAT(ms) FILENAME$",
            |_, it, sink| heading(3.0, it, sink),
        )
        .like(&["TIME     COMM           PID    T BYTES   OFF_KB   LAT(ms) FILENAME"]),
        begins("^{TIME|TIME(s)} COMM {PID|TID} {T|D} BYTES LAT(ms) FILENAME$", |_, it, sink| {
            heading(2.0, it, sink)
        })
        .like(&["TIME(s)  COMM           TID    D BYTES   LAT(ms) FILENAME"]),
        perhaps("^{row:text}$", row)
            .like(&["06:35:03 mysqld         1822   S 0       0         102.40 ib_logfile0"]),
    ],
    own: &["^^C$"],
    end: Some(|report, sink| {
        if sink.source().records == 0 {
            return;
        }
        let place = sink.source().place();
        let key = typed::TRACE_THRESHOLD;
        match report.kept("threshold").filter(|ns| *ns > 0.0) {
            Some(ns) => sink.add_fact_at(None, key, Nanos(ns as i64), &place),
            // Without a banner it is not known, but that there was one is likely.
            None => sink.add_text_at(None, key, "unknown", &place),
        }
        let is_nfs = matches!(report.drive.name(), Some("NFS" | "nfs"));
        if is_nfs || report.kept("of nfs").is_some() {
            sink.add_fact(None, typed::MOUNT_TYPE, "nfs");
        }
    }),
    ..Labels::NEW
};

/// `ext4` of `ext4 operations`.
fn kind(what: &str) -> Option<&str> {
    let what = what.strip_suffix(" that are").unwrap_or(what);
    match what.strip_suffix(" operations") {
        Some(kind) if !kind.contains(' ') => Some(kind),
        _ => (what == "sync read/writes").then_some("files"),
    }
}

/// Distance of the latency from the process.
fn heading(at: f64, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    sink.source().resolution = Some(LATENCY_STEP);
    report.keep("latency", at)
}

fn row(found: &Found, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    const MISMATCH: &str = "the columns do not match the heading";
    let words: Vec<&str> = found.line().split_whitespace().collect();
    let time = *words.first()?;
    let clock = WallTime::read(time);
    let is_timed = clock.is_some() || decimal(time).is_some();
    (is_timed || has_odd(time)).then_some(())?;
    // A program's name may hold blanks: the process is the first number before a letter.
    let is_process = |pair: &[&str]| integer(pair[0]).is_some() && op(pair[1]).is_some();
    let Some(place) = words.windows(2).skip(2).position(is_process) else {
        return report.fails_if(words.len() > 5 && is_timed, MISMATCH);
    };
    report.need(is_timed.then_some(()), "the time of the row is not a time")?;
    let (front, values) = words.split_at_checked(place + 3)?;
    let ([_, who @ .., pid], letter) = (front, values.first()?) else { return None };
    let at = report.kept("latency")? as usize;
    let latency = values.get(at).and_then(|word| fixed(word, 6)).filter(|ns| *ns >= 0);
    let latency = Nanos(report.need(latency, MISMATCH)?);
    report.tally("of nfs", OF_NFS.contains(letter));
    let end = Time::from_seconds(seconds(time, clock, report)?);
    let mut event = Event::new(report.device(sink), op(letter)?, Layer::Syscall);
    event.bytes = values.get(1).and_then(|word| integer(word)?.try_into().ok());
    event.pid = integer(pid).and_then(|pid| pid.try_into().ok());
    event.comm = Some(sink.name(&who.join(" ")));
    let file = values.get(at + 1..).unwrap_or_default().join(" ");
    event.file = (!file.is_empty()).then(|| sink.name(&file));
    (event.queued, event.completed) = (Some(end - latency), Some(end));
    sink.event(event);
    Some(())
}

/// The time of a row: since the first, or as it is printed, s.
fn seconds(time: &str, clock: Option<WallTime>, report: &mut Report) -> Option<f64> {
    let Some(now) = clock else { return decimal(time) };
    report.moments.at(now);
    report.moments.since_first()
}

fn op(letter: &str) -> Option<Op> {
    match letter {
        "R" => Some(Op::Read),
        "W" => Some(Op::Write),
        "S" | "F" | "C" => Some(Op::Flush),
        "O" | "G" => Some(Op::Other),
        _ => None,
    }
}
