//! pidstat -d: reads, writes and I/O delay of each process.
//!
//! ## Reads
//! The table `UID  PID  kB_rd/s  kB_wr/s  kB_ccwr/s  iodelay  Command`, with a preceding time, with
//! `-h` or among the columns of other reports. The processes with the most bytes become facts
//! (`process.reads`, `process.writes`), as means over the reports; so does the longest delay.
//!
//! ## How to capture
//! `pidstat -d 5 3`, `pidstat -dl 1`.
//!
//! ## Versions
//! sysstat 7 and later; `iodelay` since 11.5. Columns are found by the heading.
//!
//! ## Caveats
//! Writes go to the page cache first: `kB_wr/s` is dirtied data, which the flusher writes later.
//! `kB_ccwr/s` was discarded before it was written. `iodelay` counts clock ticks (10 ms) spent
//! waiting for block I/O. -1.00 means that the value is not available, which needs root. `Average:`
//! rows repeat the others, and are read only if there are no others.
//!
//! ## Not in this output
//! The disk, the number of requests and their latency.

use iowhy_model::typed::OfProcess;

use crate::describe::report::*;

pub(super) const FORMAT: Format =
    Format::labels("pidstat -d: reads, writes and I/O delay of processes", Level::E, &LABELS);

/// Where the first row follows the heading on its line.
const TOGETHER: &str = " Average: ";

static LABELS: Labels = Labels {
    lines: &[
        begins("kB_rd/s {*}Command$", |found, report, _| {
            let (stamp, columns) = heading(found.line())?;
            report.heading = columns;
            report.keep("stamp", stamp as f64)
        })
        .when(|found| heading(found.line()).is_some())
        .shaped("kB_rd/s")
        .like(&["10:00:01 AM   UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command"]),
        // A page may have run the means together.
        begins("^Average: {*}kB_rd/s {*}Command Average: {rows:text}$", |found, report, _| {
            let (columns, _) = found.line().split_once(TOGETHER)?;
            report.heading = heading(columns)?.1;
            let rows = found.text("rows")?.split(TOGETHER);
            rows.map(|row| mean(&row.split_whitespace().collect::<Vec<_>>(), report)).collect()
        })
        .like(&[
            "Average: PID kB_rd/s kB_wr/s kB_ccwr/s Command Average: 71 1.10 2.50 0.00 crond \
             Average: 72 0.00 9.75 0.25 named",
        ]),
        perhaps("^{row:text}$", line)
            .like(&["10:00:06 AM  1000      1234   2048.00    512.00      0.00      12  mysqld"]),
    ],
    end: Some(|report, sink| {
        report.state_sums(sink);
        if let Some(ticks) = report.kept("delay") {
            let who = report.quoted().concat();
            let value = Nanos::from_ms(ticks * 10.0);
            sink.add_fact(None, typed::PROCESS_IO_DELAY, OfProcess { value, who });
        }
    }),
    ..Labels::NEW
};

/// Number of leading words that are no column (a time, AM or PM, a zone, a hash), and the columns.
fn heading(line: &str) -> Option<(usize, Heading)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let from = words.iter().position(|word| matches!(*word, "UID" | "USER" | "PID" | "TGID"))?;
    let (front, columns) = words.split_at_checked(from)?;
    let stamped = match front {
        [] | ["#"] | ["#", "Time"] => true,
        [word] if word.ends_with(':') => true,
        front => WallTime::read(&front.join(" ")).is_some(),
    };
    let known = columns.contains(&"kB_rd/s")
        && columns.contains(&"kB_wr/s")
        && columns.last() == Some(&"Command")
        && stamped;
    known.then(|| (front.len(), Heading::from_words(columns)))
}

/// Bytes per second: KiB, or with the unit that `--human` prints (`17.5k`, `140.9B`).
fn rate(word: &str) -> Option<f64> {
    match word.ends_with(|c: char| c.is_ascii_alphabetic()) {
        true => bytes(word),
        false => decimal(word).map(|kib| kib * 1024.0),
    }
}

fn line(found: &Found, report: &mut Report, _: &mut dyn Sink) -> Option<()> {
    let words: Vec<&str> = found.line().split_whitespace().collect();
    let first = *words.first()?;
    // A table of something else (`-u`, `-r`) begins.
    if words.contains(&"PID") && words.last() == Some(&"Command") {
        report.heading = Heading::default();
        return Some(());
    }
    let is_mean = first.ends_with(':') && !first.starts_with(|c: char| c.is_ascii_digit());
    // The means of all reports show nothing new, unless they are all that was pasted.
    if report.heading.width() == 0 || is_mean && report.kept("times").is_some() {
        return is_mean.then_some(());
    }
    if is_mean {
        return mean(words.get(1..)?, report);
    }
    let half = words.get(1).is_some_and(|word| matches!(*word, "AM" | "PM"));
    // A zone after it is in the heading as well.
    let zone = half && report.kept("stamp") == Some(3.0);
    let (stamp, values) = words.split_at_checked(1 + usize::from(half) + usize::from(zone))?;
    if report.moments.at(WallTime::read(&stamp.join(" "))?) {
        report.keep("times", 1.0);
        report.processes.report();
    }
    row(values, report)
}

/// A row of means over all reports.
fn mean(values: &[&str], report: &mut Report) -> Option<()> {
    if report.kept("means").is_none() {
        report.processes.report();
    }
    report.keep("means", 1.0);
    row(values, report)
}

fn row(values: &[&str], report: &mut Report) -> Option<()> {
    let heading = &report.heading;
    let known = |name: &str| heading.word(name, values).and_then(rate);
    if values.len() < heading.width() || known("kB_rd/s").is_none() {
        return report.fails("the values do not match the heading");
    }
    // A thread has `-` for its process.
    let pid = ["PID", "TGID"].iter().find_map(|name| heading.word(name, values));
    let Some(pid) = pid.filter(|pid| integer(pid).is_some() || *pid == "-") else {
        return report.fails("the row has no process");
    };
    let command = values.get(heading.width() - 1..)?.join(" ");
    let who = format!("{command} ({pid})");
    // Who may not read a process's counts is reported -1.
    let bytes = |name: &str| known(name).filter(|value| *value >= 0.0);
    let (read, written) = (bytes("kB_rd/s"), bytes("kB_wr/s"));
    let ticks = heading.number("iodelay", values).filter(|ticks| *ticks > 0.0);
    report.processes.add(&who, read, written);
    if let Some(ticks) = ticks.filter(|ticks| *ticks > report.kept("delay").unwrap_or(0.0)) {
        report.keep("delay", ticks);
        report.quote_alone(&who);
    }
    Some(())
}
