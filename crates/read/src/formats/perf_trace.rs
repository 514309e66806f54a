//! perf trace: duration of I/O system calls; `perf trace -s`: their number and mean.
//!
//! ## Reads
//! Calls that read, write or flush files, each an event of a system call: `12.041 ( 8.312 ms):
//! postgres/1822 pread64(fd: 24</srv/db>, ...) = 16384`; and the rows of `Summary of events:`, for
//! each task or all together, as number, mean, shortest and longest.
//!
//! ## How to capture
//! `perf trace -T -e pread64,pwrite64,fsync,fdatasync -p PID`, `perf trace -s -a -- sleep 10`.
//!
//! ## Versions
//! perf of Linux 3.14 and later; the summary with or without the column `errors`. `... [continued]`
//! is the end of a call, with its duration.
//!
//! ## Caveats
//! A call waits for the page cache, the file system, locks and the device. `read` and `write` on
//! sockets and pipes wait for other processes: only calls with an offset, flushes, and calls whose
//! file is printed are read; of the summary only the first two. Failed calls are ignored.
//!
//! ## Not in this output
//! The device and its share, calls of io_uring and mmap, page faults. The
//! distribution within a summary.

use crate::describe::report::*;
use crate::trace::syscalls::{file_of, file_op};

pub(super) const FORMAT: Format =
    Format::labels("time and number of system calls for I/O", Level::C, &LABELS);

static LABELS: Labels = Labels {
    unnamed: "system calls",
    may_resume: true,
    lines: &[
        begins("^{at:ms} ({ }{took:ms} ms): {call:text}) = {result:text}$", call)
            .when(|found| found.text("call").is_some_and(|call| call.contains('(')))
            .like(&[
                "0.041 ( 8.312 ms): postgres/1822 pread64(fd: 24</srv/db>, buf: 0x7f2a, count: \
                 16384, pos: 81920) = 16384",
                "12.105 (12.001 ms): dd/2411  ... [continued]: fsync())                            \
                 = 0",
            ]),
        begins("^syscall calls {errors |}total min avg max stddev$", |_, _, _| Some(())).like(&[
            "syscall            calls  errors  total       min       avg       max       stddev",
            "syscall            calls    total       min       avg       max      stddev",
        ]),
        begins("^Summary of events:$", |_, report, _| {
            report.forget_quoted();
            Some(())
        })
        .like(&["Summary of events:"]),
        says("^{task:text}, {:u} events{*}", |found, report, _| {
            report.quote_alone(found.text("task")?)
        })
        .like(&["postgres (1822), 154 events, 99.4%", "total, 2824 events"]),
        says("^{name:word} {calls:u} {:u} {total:ms} {min:ms} {avg:ms} {max:ms} {:text}$", row)
            .like(&[
                "fdatasync          2000      0  2114.402     0.310     1.057   101.618      \
                     2.10%",
            ]),
        says("^{name:word} {calls:u} {total:ms} {min:ms} {avg:ms} {max:ms} {:text}$", row)
            .like(&["fdatasync          2000   2114.402     0.310     1.057   101.618      2.10%"]),
        // An invalid value.
        says(
            "^{read|readv|write|writev|pread|pwrite|fsync|fdatasync|sync|msync}{:word} {:u} \
             {:text}",
            |_, _, _| None,
        )
        .like(&["pread64          2000      0  2114.402     0.310     1.o57   101.618      2.10%"]),
    ],
    own: &["^(msec)", "^------", "^{:n} ({ }): ", "^?{ }({ }): ", "^LOST "],
    cut: &[" ms): "],
    ..Labels::NEW
};

fn call(found: &Found, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let (front, arguments) = found.text("call")?.split_once('(')?;
    let (task, name) = front.rsplit_once(char::is_whitespace).unwrap_or(("", front));
    let Some((op, of_file)) = file_op(name) else { return Some(()) };
    let mut words = found.text("result")?.split_whitespace();
    let bytes = words.next()?.parse::<i64>();
    let file = file_of(arguments);
    // A call that failed says why: `= -1 EAGAIN (Resource temporarily unavailable)`.
    let failed = bytes.as_ref().is_ok_and(|result| *result < 0);
    if failed && words.next().is_none() {
        return report.fails("a call that failed names its error");
    }
    if failed || file == Some("") || file.is_none() && !of_file {
        return Some(());
    }
    let begun = Time::from_ns(found.time("at")?.ns());
    let mut event = Event::new(report.device(sink), op, Layer::Syscall);
    (event.queued, event.completed) = (Some(begun), Some(begun + found.time("took")?));
    if op != Op::Flush {
        event.bytes = bytes.ok().and_then(|bytes| u32::try_from(bytes).ok());
    }
    event.file = file.map(|file| sink.name(file));
    event.comm = Some(sink.name(name));
    let task = task.split(" ... ").next().unwrap_or(task);
    event.pid = task.rsplit_once('/').and_then(|(_, pid)| pid.trim().parse().ok());
    sink.event(event);
    Some(())
}

/// A row of the summary.
fn row(found: &Found, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let name = found.text("name")?;
    let Some((op, true)) = file_op(name) else { return Some(()) };
    let of = |what: &str| Some(found.time(what)?.ns());
    let (min, mean, max) = (of("min")?, of("avg")?, of("max")?);
    if !(0 <= min && min <= mean && mean <= max) {
        return report.fails("the mean does not lie between the shortest and the longest");
    }
    let calls = found.count("calls").filter(|calls| *calls > 0)?;
    // The mean has three decimals, the total as many of a larger number.
    let mean = of("total")? as f64 / calls as f64;
    let histogram = Histogram::from_summary(calls, mean, min as u64, max as u64);
    let mut one = Distribution::new(report.device(sink), Layer::Syscall, Stage::Total, histogram);
    one.op = Some(op);
    let task = report.quoted().first().filter(|task| *task != "total");
    let label = task.map_or(name.to_string(), |task| format!("{name}, {task}"));
    one.label = Some(sink.name(&label));
    sink.distribution(one);
    Some(())
}
