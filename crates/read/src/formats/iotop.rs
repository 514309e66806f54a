//! iotop: reads and writes of processes, and totals of the disks.
//!
//! ## Reads
//! The screens of `iotop -b`: the totals (`Total DISK READ`, `Actual DISK WRITE` or `Current DISK
//! READ`) and the rows of processes, also alone. The actual totals become facts (`disks.read.mean`,
//! `disks.written.max`), and the processes with the most bytes (`process.reads`, `process.writes`).
//!
//! ## How to capture
//! `iotop -b -o -n 5 -d 2`, `iotop -botqqq`.
//!
//! ## Versions
//! iotop 0.4 and later, iotop-c (also its screens with graphs), with or without a preceding time
//! (`-t`).
//!
//! ## Caveats
//! `Total` is what programs read and wrote, caches included; `Actual` is the I/O of the disks.
//! `IO>` is the share of its time that a task waited for I/O, `SWAPIN` for swap: neither is the
//! load of the disk. `B/s`, `K/s` and `M/s` are powers of 1024. A thread is listed like a process
//! unless `-P` was given. With `-a` rows are sums since the start: they contain no rate. Those of
//! the last screen become `process.read` and `process.written`, and `process.write_share` says how
//! much of all the first of them wrote. With delay accounting off (kernels since 5.14) `IO>` is
//! `?unavailable?`.
//!
//! ## Not in this output
//! The disk, the number of requests and their latency.

use iowhy_model::typed::{OfProcess, Share};

use crate::describe::report::*;

pub(super) const FORMAT: Format = Format::labels(
    "iotop -b: reads and writes of processes, totals of the disks",
    Level::E,
    &LABELS,
);

/// The rows are sums since the start (`-a`).
const SUMS: &str = "sums";
/// A screen has begun.
const REPORTED: &str = "reported";
/// The totals of the screen were printed.
const TOTALLED: &str = "totalled";

static LABELS: Labels = Labels {
    lines: &[
        begins("Total DISK READ{read:text}|{*}DISK WRITE{written:text}$", |_, report, _| {
            named(report, "");
            report.processes.report();
            report.keep(REPORTED, 1.0)?;
            report.keep(TOTALLED, 1.0)
        })
        .when(|found| totals(found).is_some())
        .like(&["Total DISK READ :       0.00 B/s | Total DISK WRITE :      11.78 K/s"]),
        begins(
            "{Actual|Current} DISK READ{read:text}|{*}DISK WRITE{written:text}$",
            |found, report, _| {
                let (read, written) = totals(found)?;
                report.row(READ, read / 1024.0);
                report.row(WRITTEN, written / 1024.0);
                Some(())
            },
        )
        .when(|found| totals(found).is_some())
        .like(&["Actual DISK READ:       0.00 B/s | Actual DISK WRITE:      39.26 K/s"]),
        // The totals may be cut off; with leading times (`-t`) they precede the title.
        begins("{TID|PID} {*}PRIO {*}DISK READ{*}COMMAND$", title)
            .when(|found| !found.line().contains("TIME"))
            .like(&[
                "TID  PRIO  USER     DISK READ  DISK WRITE  SWAPIN     IO>    COMMAND",
                "TID  PRIO  USER     DISK READ DISK WRITE SWAPIN      IO   GRAPH[IO]▽ COMMAND",
            ]),
        says("^TIME {TID|PID} {*}PRIO {*}DISK READ{*}COMMAND$", title)
            .like(&["TIME  TID  PRIO  USER     DISK READ  DISK WRITE  SWAPIN      IO    COMMAND"]),
        // A row alone, as people copy it.
        begins(
            "^{:u} {be|rt}/{:u} {:word} {:n} {B/s|K/s|M/s|G/s} {:n} {B/s|K/s|M/s|G/s} ",
            |found, report, sink| {
                if report.kept(REPORTED).is_none() {
                    title(found, report, sink)?;
                }
                row(found, report, sink)
            },
        )
        .like(&[
            "968 be/0 root        0.00 B/s    0.00 B/s  0.00 % 99.99 % [txg_sync]",
            "312 be/3 root        0.00 B/s   11.78 K/s  0.00 %  0.39 % [jbd2/sda1-8]",
        ]),
        perhaps("^{row:text}$", row)
            .like(&["10:00:01  312 be/3 root  0.00 B/s  11.78 K/s ?unavailable?  [jbd2/sda1-8]"]),
    ],
    end: Some(|report, sink| {
        named(report, "");
        if report.kept(SUMS).is_some() {
            sink.note(note(
                "the rows are sums since the start of iotop (-a): there are no rates of processes",
            ));
        }
        report.state_sums(sink);
        if let Some(percent) = report.kept("waited") {
            let (value, who) = (Share::from_percent(percent), report.quoted().concat());
            sink.add_fact(None, typed::PROCESS_IO_WAIT, OfProcess { value, who });
        }
    }),
    ..Labels::NEW
};

/// What was read and written, bytes per second.
fn totals(found: &Found) -> Option<(f64, f64)> {
    let rate = |name: &str| {
        let words = found.text(name)?.trim_start_matches([' ', ':']);
        let mut words = words.split_whitespace();
        per_second(words.next()?, words.next()?)
    };
    Some((rate("read")?, rate("written")?))
}

fn title(_: &Found, report: &mut Report, _: &mut dyn Sink) -> Option<()> {
    named(report, "");
    if report.take(TOTALLED).is_none() {
        report.processes.report();
    }
    report.keep(REPORTED, 1.0)
}

fn per_second(number: &str, unit: &str) -> Option<f64> {
    let unit = unit.strip_suffix("/s")?;
    bytes(&format!("{number}{unit}"))
}

/// Bytes since the start of iotop (`-a`): `51.53 M`.
fn sum(number: &str, unit: &str) -> Option<f64> {
    matches!(unit, "B" | "K" | "M" | "G" | "T").then(|| bytes(&format!("{number}{unit}")))?
}

/// Whether it is one of the shares between rates and command, or the graph that iotop-c draws of
/// them in dots.
fn is_share(word: &str) -> bool {
    let is_graph = word.chars().all(|c| matches!(c, '\u{2800}'..='\u{28ff}'));
    is_graph || matches!(word, "%" | "?unavailable?") || decimal(word).is_some()
}

fn is_class(word: &str) -> bool {
    let leveled = word.split_once('/').filter(|(class, _)| matches!(*class, "be" | "rt"));
    leveled.is_some_and(|(_, level)| integer(level).is_some())
        || matches!(word, "idle" | "?dif" | "none")
}

/// What is kept of a row whose command is missing: a mail may have broken the row before it.
const PID: &str = "row of";
const ROW_READ: &str = "read by the row";
const ROW_WRITTEN: &str = "written by the row";
const ROW_IS_A_SUM: &str = "whether the row is a sum";
const ROW_WAITED: &str = "waited by the row";

/// A process, perhaps after a time.
fn row(found: &Found, report: &mut Report, _: &mut dyn Sink) -> Option<()> {
    let words: Vec<&str> = found.line().split_whitespace().collect();
    let Some(place) = words.iter().take(4).position(|word| is_class(word)) else {
        return named(report, found.line());
    };
    let pid = words.get(place.checked_sub(1)?).filter(|pid| integer(pid).is_some())?;
    named(report, "");
    let [read, read_unit, written, written_unit, rest @ ..] =
        words.get(place + 2..).unwrap_or_default()
    else {
        return report.fails("the row ends before its rates");
    };
    let sums = sum(read, read_unit).zip(sum(written, written_unit));
    if sums.is_some() {
        report.keep(SUMS, 1.0);
    }
    let rates = sums.or(per_second(read, read_unit).zip(per_second(written, written_unit)));
    let (read, written) = report.need(rates, "the rates of the row are not numbers")?;
    let command: Vec<&str> = rest.iter().copied().skip_while(|word| is_share(word)).collect();
    let percent = rest.windows(2).filter(|pair| pair[1] == "%").nth(1);
    report.keep(ROW_READ, read);
    report.keep(ROW_WRITTEN, written);
    report.keep(ROW_IS_A_SUM, f64::from(u8::from(sums.is_some())));
    report.keep(ROW_WAITED, percent.and_then(|pair| decimal(pair[0])).unwrap_or(0.0));
    report.keep_text(PID, *pid);
    if command.is_empty() { Some(()) } else { named(report, &command.join(" ")) }
}

/// Adds the process of the last row, if its command was missing so far: this, or none.
fn named(report: &mut Report, command: &str) -> Option<()> {
    let pid = report.kept_text(PID)?.to_string();
    let (read, written) = (report.take(ROW_READ)?, report.take(ROW_WRITTEN)?);
    let (percent, is_sum) = (report.take(ROW_WAITED)?, report.take(ROW_IS_A_SUM)?);
    report.forget(PID);
    let who = format!("{} ({pid})", command.trim());
    if is_sum > 0.0 {
        report.processes.sum(who.trim(), read, written);
        return Some(());
    }
    report.processes.add(who.trim(), Some(read), Some(written));
    if percent > report.kept("waited").unwrap_or(0.0) {
        report.keep("waited", percent);
        report.quote_alone(who.trim());
    }
    Some(())
}
