//! collectl's disk details (`collectl -sD`): requests, bytes, waits, queue and busy share per disk.
//!
//! ## Reads
//! The tables of `collectl -sD`, with or without a preceding time, and the plottable lines of
//! `collectl -sD -P`, whose heading lists each value of each disk.
//!
//! ## How to capture
//! `collectl -sD -i10`, `collectl -sD -oT -p FILE`, `collectl -sD -P`.
//!
//! ## Versions
//! 4.x has separate waits for reads and writes; 3.x has one `Wait` for both. Columns are found by
//! the heading, in whatever order.
//!
//! ## Caveats
//! All values are whole numbers: a wait below 1 ms is printed as 0, which is treated as unknown.
//! Rates are per second, unless `-on` was given, which the output does not show. Waits are
//! milliseconds, sizes kilobytes of 1024 bytes. Without `-oT` no row has a time. `SvcTim` is busy
//! time divided by requests, not a latency. `QLen` is the mean in flight while the disk was busy
//! (formatit.ph of collectl 4.3: weighted time by busy time), so that aqu-sz is `QLen` times
//! `Util`; both are whole numbers, and it is read only if there is no wait. Loop devices are not
//! shown by collectl.
//!
//! ## Not in this output
//! The distribution behind a mean; queue and device time separately.

use crate::describe::report::*;

pub(super) const FORMAT: Format =
    Format::labels("collectl -sD, disk details as tables or plottable lines", Level::A, &LABELS);

/// collectl's KB are powers of 1024 (it halves sectors).
const KIB: f64 = 1024.0;
const NS_PER_MS: f64 = 1e6;
/// The heading lists each value of each disk.
const PLOT: &str = "plottable lines";

static LABELS: Labels = Labels {
    // A greeting, a blank, a title.
    near: 4,
    lines: &[
        announces("^waiting for {*}sample", |_, _, _| Some(()))
            .like(&["waiting for 1 second sample..."]),
        announces("^# DISK STATISTICS", |_, _, _| Some(())).like(&["# DISK STATISTICS (/sec)"]),
        announces("^#{*}<---", |_, _, _| Some(()))
            .like(&["#          <---------reads---------------><---------writes-------------->"]),
        begins("^#{names:text} QLen Wait SvcTim Util$", |found, report, _| {
            // Each group of columns begins with `KBytes`, reads first; after `RWSize` comes what
            // both share.
            let (mut groups, mut op) = (["read", "write"].into_iter(), "");
            let names = found.line().strip_prefix('#')?.split_whitespace().map(|name| {
                op = match name {
                    "KBytes" => groups.next().unwrap_or(""),
                    "RWSize" => "",
                    _ => op,
                };
                column("", op, name)
            });
            report.heading = names.collect();
            report.enter("")
        })
        .when(|found| {
            let mut names = found.text("names").unwrap_or_default().split_whitespace();
            names.position(|name| name == "Name").is_some_and(|place| place < 3)
        })
        .like(&[
            "#Name       KBytes Merged  IOs Size  KBytes Merged  IOs Size  RWSize  QLen  Wait \
                 SvcTim Util",
        ]),
        begins("^#Date Time {names:text}$", |found, report, _| {
            report.heading = found.text("names")?.split_whitespace().map(plotted).collect();
            report.enter(PLOT)
        })
        .when(|found| found.text("names").is_some_and(|names| names.contains("[DSK:")))
        .shaped("[DSK:")
        .like(&["#Date Time [DSK:sda]Name [DSK:sda]Reads [DSK:sda]RMerge [DSK:sda]RKBytes"]),
        perhaps("^{row:text}$", row).like(&[
            "sda            0      0    0    0     104      7    4   26      26     1     2      \
             1    0",
            "20261121 10:00:05 sda 1 0 4 0 0 0 0 0",
        ]),
    ],
    own: &["^#"],
    ..Labels::NEW
};

/// The name of a column here: its disk, if the heading shows it, the operation, and the quantity.
fn column(disk: &str, op: &str, what: &str) -> String {
    format!("{disk}\t{op} {what}")
}

/// A column of plottable lines: `[DSK:sda]RKBytes`.
fn plotted(name: &str) -> String {
    let Some((disk, name)) = name.strip_prefix("[DSK:").and_then(|name| name.split_once(']'))
    else {
        return name.to_string();
    };
    let (op, what) = match name {
        "Reads" => ("read", "IOs"),
        "RMerge" => ("read", "Merged"),
        "RKBytes" => ("read", "KBytes"),
        "WaitR" => ("read", "Wait"),
        "Writes" => ("write", "IOs"),
        "WMerge" => ("write", "Merged"),
        "WKBytes" => ("write", "KBytes"),
        "WaitW" => ("write", "Wait"),
        "QueLen" => ("", "QLen"),
        other => ("", other),
    };
    column(disk, op, what)
}

fn row(found: &Found, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let words: Vec<&str> = found.line().split_whitespace().collect();
    let is_plot = report.part == PLOT;
    let named = report.heading.place(&column("", "", "Name"), 0).unwrap_or(0);
    let numbers = words.get(named + 1..).filter(|numbers| !numbers.is_empty())?;
    let (values, moment) = match is_plot {
        true => (words.get(2..)?, plotted_time(words.first()?, words.get(1)?)?),
        false => (&words[..], words.get(..named)?.join(" ")),
    };
    let sound = numbers.iter().filter(|word| decimal(word).is_some_and(|value| value >= 0.0));
    let sound = sound.count();
    (is_plot || sound * 2 > numbers.len()).then_some(())?;
    let is_whole = is_plot || sound == numbers.len();
    let fits = is_whole && values.len() == report.heading.width();
    report.need(fits.then_some(()), "the values do not match the heading")?;
    if let Some(now) = WallTime::read(&moment) {
        report.moments.begin(now, sink);
    }
    let mut disks: Vec<&str> =
        report.heading.names().filter_map(|it| Some(it.split_once('\t')?.0)).collect();
    disks.dedup();
    for disk in disks {
        let name = if is_plot { disk } else { words.get(named)? };
        emit(name, |op, what| report.heading.number(&column(disk, op, what), values), report, sink);
    }
    Some(())
}

/// `20261121 10:00:05` with dashes, so that the days are known.
fn plotted_time(date: &str, time: &str) -> Option<String> {
    decimal(date)?;
    let date = date.get(..4).zip(date.get(4..6)).zip(date.get(6..8));
    Some(date.map_or(String::new(), |((year, month), day)| format!("{year}-{month}-{day} {time}")))
}

fn emit(name: &str, of: impl Fn(&str, &str) -> Option<f64>, report: &Report, sink: &mut dyn Sink) {
    let mut interval = Interval::new(sink.device(name), Layer::Block);
    report.moments.date(&mut interval);
    for (op, name) in [(Op::Read, "read"), (Op::Write, "write")] {
        let rates = of(name, "IOs").map(|ios_per_s| Rates {
            ios_per_s,
            merges_per_s: of(name, "Merged"),
            bytes_per_s: of(name, "KBytes").map(|kb| kb * KIB),
            await_ns: of(name, "Wait").map(|ms| ms * NS_PER_MS).filter(|wait| *wait > 0.0),
        });
        interval.rates.extend(rates.map(|rates| (op, rates)));
    }
    interval.busy = of("", "Util").map(|percent| percent / 100.0);
    interval.await_ns = of("", "Wait").map(|ms| ms * NS_PER_MS).filter(|wait| *wait > 0.0);
    if let (None, Some(length), Some(busy)) = (interval.await_ns, of("", "QLen"), interval.busy) {
        // In flight while the disk was busy; aqu-sz where whole numbers say it within a tenth.
        let is_fine = 0.5 / length + 0.005 / busy <= 0.1;
        interval.queue_len = is_fine.then_some(length * busy);
    }
    sink.interval(interval);
}
