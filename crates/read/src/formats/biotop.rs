//! bcc's biotop: block I/O of each process and disk, with its mean latency.
//!
//! ## Reads
//! The rows `PID COMM D MAJ MIN DISK I/O Kbytes AVGms`, screen after screen. The I/O of all
//! processes on a disk in one screen becomes one interval, with the mean latency of reads and of
//! writes; the processes with the most bytes become facts (`process.reads`, `process.writes`).
//!
//! ## How to capture
//! `biotop -C 5 3` of bcc and libbpf-tools.
//!
//! ## Versions
//! bcc since 2016; in newer screens `PID` is the process that queued the request.
//!
//! ## Caveats
//! Only the first twenty rows are listed unless `-r` was given: on a busy machine the sums are
//! incomplete. The latency runs from the start of the request to its end, queue included. Without
//! the line `Output every 5 secs` a screen is assumed to cover one second, biotop's default.
//!
//! ## Not in this output
//! The latency distribution, queue and device time separately.

use crate::describe::report::*;

pub(super) const FORMAT: Format =
    Format::labels("block I/O of processes and disks, mean latency (bcc)", Level::A, &LABELS);

/// How long a screen is, s, and how many there were.
const SECONDS: &str = "seconds";
const SCREENS: &str = "screens";

static LABELS: Labels = Labels {
    // Between the banner and the heading.
    near: 4,
    lines: &[
        announces("^Tracing... Output every {s:n} secs", |found, report, _| {
            report.forget(SECONDS);
            found.positive("s").map_or(Some(()), |seconds| report.keep(SECONDS, seconds))
        })
        .like(&["Tracing... Output every 5 secs. Hit Ctrl-C to end"]),
        announces("^{:word}:{:word} loadavg: ", |_, _, _| Some(()))
            .like(&["08:04:11 loadavg: 1.48 0.87 0.45 1/287 14547"]),
        begins("^PID COMM D MAJ MIN DISK I/O Kbytes AVGms$", |_, report, sink| {
            emit(report, sink);
            report.processes.report();
            Some(())
        })
        .like(&["PID    COMM             D MAJ MIN DISK       I/O  Kbytes  AVGms"]),
        perhaps("^{row:text}$", row)
            .like(&["14501  cksum            R 202 1   xvda1      361   28832   3.39"]),
    ],
    own: &["^{^C|Detaching...}$"],
    end: Some(emit),
    ..Labels::NEW
};

fn row(found: &Found, report: &mut Report, _: &mut dyn Sink) -> Option<()> {
    let words: Vec<&str> = found.line().split_whitespace().collect();
    integer(words.first()?)?;
    // From the right: a program's name may hold blanks.
    let [pid, comm @ .., way, major, minor, disk, ios, size, wait] = &words[..] else {
        return report.fails_if(words.len() > 4, "the row ends before its heading does");
    };
    let way = match *way {
        "R" => Some(Op::Read),
        "W" => Some(Op::Write),
        _ => None,
    };
    let sound = integer(major).is_some() && integer(minor).is_some();
    let positive = |word: &str| decimal(word).filter(|value| *value >= 0.0);
    let numbers = (positive(ios), positive(size), positive(wait));
    let ((Some(ios), Some(kib), Some(ms)), Some(op), true) = (numbers, way, sound) else {
        return report.fails("the columns do not match the heading");
    };
    let bytes = kib * 1024.0;
    report.work(disk, Some(op), Work { ios, bytes: Some(bytes), waited_ns: ios * ms * 1e6 });
    let rate = Some(bytes / report.kept(SECONDS).unwrap_or(1.0));
    let (read, written) = if op == Op::Read { (rate, None) } else { (None, rate) };
    report.processes.add(&format!("{} ({pid})", comm.join(" ")), read, written);
    Some(())
}

/// A screen is over.
fn emit(report: &mut Report, sink: &mut dyn Sink) {
    if report.has_work() {
        let seconds = report.kept(SECONDS).unwrap_or(1.0);
        let start = report.kept(SCREENS).unwrap_or(0.0) * seconds;
        report.emit_works(
            Layer::Block,
            seconds,
            |interval| {
                interval.start = Some(Time::from_seconds(start));
                interval.length = Some(Nanos::from_seconds(seconds));
            },
            sink,
        );
        report.add(SCREENS, 1.0);
    }
}
