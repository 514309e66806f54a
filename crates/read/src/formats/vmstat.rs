//! vmstat: memory, swap and CPUs as causes of slow I/O.
//!
//! ## Reads
//! The table of `vmstat INTERVAL`, with or without `-a`, `-w`, `-t`, `-S`. For the columns that
//! matter for disks (`r`, `b`, `si`, `so`, `bi`, `bo`, `us`, `sy`, `id`, `wa`, `st`) mean and
//! maximum over the intervals become facts: `vmstat.wa.mean`, `vmstat.so.max`; `vmstat.intervals`
//! is their number. `vmstat.moving.sy` and others are means over the intervals that moved 10 MB/s
//! or more; `vmstat.while.waiting.bo` and others over those in which tasks waited for I/O
//! (`waiting`), waited and nothing moved (`stuck`), the CPUs had no time left (`full`) or nothing
//! was done (`quiet`). `memory.swapped.ratio` is `swpd` divided by `free`, `buff` and `cache`
//! together; `memory.cached` is `buff` and `cache`, where all values are whole pages of 4 KiB (with
//! another unit of `-S` they are not).
//!
//! ## How to capture
//! `vmstat 1 10` of procps on Linux.
//!
//! ## Versions
//! procps 2 and later, and the one of Linux 2.4, whose `id` includes waits for I/O; `wa` came with
//! Linux 2.5, `st` with procps 3.2.7, `gu` with 4.0.5. Columns are known by their heading.
//! The lists of `-d`, `-D`, `-m` and `-s` are not read. A time of day before each row (Oracle's
//! OSWatcher and ExaWatcher) is ignored.
//!
//! ## Caveats
//! The first row is since boot: it is ignored, unless it is the only one; then its facts are named
//! `vmstat.since_boot.wa`. `wa` is idle time with I/O outstanding: a busy CPU hides it. `b` counts
//! tasks in uninterruptible sleep, most of them waiting for I/O. `bi` and `bo` are KiB per second
//! whatever the unit of memory; `si` and `so` are memory per second in the unit of `-S`, KiB by
//! default. `so` above 0 on the same disk makes memory the cause. `st` above 5 % is caused by the
//! host.
//!
//! ## Not in this output
//! The device, the task, the number of requests.

use iowhy_model::FactValue;
use iowhy_model::typed::{Bytes, BytesPerSecond, Share};

use crate::describe::report::*;

pub(super) const FORMAT: Format =
    Format::labels("run queue, swapping, blocks, CPU shares", Level::E, &LABELS);

/// What a column counts.
type Unit = fn(f64) -> FactValue;
const TASKS: Unit = |tasks| tasks.into();
const KIB_PER_SECOND: Unit = |kib| BytesPerSecond::from_kib(kib).into();
const PERCENT: Unit = |percent| Share::from_percent(percent).into();

/// Columns that become facts, and their unit.
const COLUMNS: [(&str, Unit); 11] = [
    ("r", TASKS),
    ("b", TASKS),
    ("si", KIB_PER_SECOND),
    ("so", KIB_PER_SECOND),
    ("bi", KIB_PER_SECOND),
    ("bo", KIB_PER_SECOND),
    ("us", PERCENT),
    ("sy", PERCENT),
    ("id", PERCENT),
    ("wa", PERCENT),
    ("st", PERCENT),
];

/// KiB per second, read and written, from which on an interval moves data in bulk (a choice: more
/// than a spinning disk reads at random), and the columns that show what the processors do then.
const MOVES: f64 = 10_000.0;
const MOVING: [(&str, &str); 5] = [
    ("r", "moving r"),
    ("us", "moving us"),
    ("sy", "moving sy"),
    ("id", "moving id"),
    ("wa", "moving wa"),
];

/// Percent of the processors' time from which on they have none left, and that passes in waits for
/// I/O from which on tasks wait, and wait in vain; KiB per second up to which nothing moves for
/// those, and hardly anything (choices).
const FULL: f64 = 90.0;
const WAITS: f64 = 20.0;
const IN_VAIN: f64 = 10.0;
const NOTHING: f64 = 100.0;
const HARDLY: f64 = 1000.0;
/// What becomes a fact of intervals of such a kind: their number is not among the columns.
const KINDS: [(&str, &str); 11] = [
    ("", "full.intervals"),
    ("r", "full.r"),
    ("us", "full.us"),
    ("sy", "full.sy"),
    ("", "waiting.intervals"),
    ("b", "waiting.b"),
    ("bi", "waiting.bi"),
    ("bo", "waiting.bo"),
    ("wa", "waiting.wa"),
    ("", "quiet.intervals"),
    ("", "stuck.intervals"),
];

/// A page, KiB, and rows from which on it is not chance that all values are whole ones.
const PAGE_KIB: f64 = 4.0;
const SEVERAL: u64 = 4;
/// The longest title that stands before the banner.
const LONGEST_TITLE: usize = 24;

static LABELS: Labels = Labels {
    near: 1,
    lines: &[
        announces("procs{*}swap-{*}io-", |_, _, _| Some(())).when(is_banner).like(&[
            "procs -----------memory---------- ---swap-- -----io---- -system-- ----cpu----",
            "--time-- procs -----------memory---------- ---swap-- -----io----",
        ]),
        announces("procs{*}memory{*}swap{*}io{*}system{*}cpu$", |_, _, _| Some(()))
            .when(is_banner)
            .like(&["procs                      memory    swap          io     system     cpu"]),
        begins("^r b {swpd|w swpd} {:text}$", |found, report, _| {
            report.heading = columns(found)?;
            Some(())
        })
        .when(|found| columns(found).is_some())
        .like(&[
            "r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st",
            "r  b  w   swpd   free   buff  cache  si  so    bi    bo   in    cs  us  sy  id",
        ]),
        perhaps("^{row:text}$", row).like(&[
            "1  0      0 7542104  84172 524088    0    0    12     5   44   90  1  0 98 1",
        ]),
    ],
    end: Some(state),
    ..Labels::NEW
};

/// Oracle's watchers put `--time--` in front.
fn is_banner(found: &Found) -> bool {
    let before = found.line().split("procs").next().unwrap_or_default();
    let named = before.bytes().all(|b| b.is_ascii_lowercase() || matches!(b, b'-' | b' ' | b'\t'));
    named && before.len() <= LONGEST_TITLE
}

fn columns(found: &Found) -> Option<Heading> {
    Heading::of(found.line(), &["si", "so", "bi", "bo", "us", "id"])
}

fn row(found: &Found, report: &mut Report, _: &mut dyn Sink) -> Option<()> {
    // A watcher puts the time of day in front of each row.
    let timed = |word: &&str| word.contains(':') && WallTime::read(word).is_some();
    let words: Vec<&str> = found.line().split_whitespace().skip_while(timed).collect();
    let numbers = words.iter().take_while(|word| decimal(word).is_some()).count();
    // The heading of `-t` ends with the zone, its rows with a date and a time.
    let places = COLUMNS.iter().filter_map(|(name, _)| report.heading.place(name, 0));
    if numbers <= places.max()? {
        return if numbers > 2 {
            report.fails("the row has fewer values than the heading")
        } else {
            None
        };
    }
    let is_first = report.kept("rows").is_none();
    report.add("rows", 1.0);
    for (name, _) in COLUMNS {
        let Some(value) = report.heading.number(name, &words) else { continue };
        match is_first {
            true => report.keep(name, value),
            false => report.row(name, value),
        };
    }
    let number = |name: &str| report.heading.number(name, &words);
    let moving = number("bi").zip(number("bo")).is_some_and(|(bi, bo)| bi + bo >= MOVES);
    let parts = ["free", "buff", "cache"].map(number);
    let left = parts.into_iter().sum::<Option<f64>>();
    let cached = parts.into_iter().skip(1).sum::<Option<f64>>();
    let is_whole = parts.into_iter().flatten().all(|kib| kib % PAGE_KIB == 0.0);
    let swapped = number("swpd").zip(left.filter(|left| *left > 0.0));
    if let Some((swapped, left)) = swapped {
        report.row("swapped", swapped / left);
    }
    if let Some(cached) = cached {
        report.row(if is_whole { "cached" } else { "in another unit" }, cached);
    }
    if moving && !is_first {
        report.add("moving", 1.0);
        for (name, of_moving) in MOVING {
            if let Some(value) = report.heading.number(name, &words) {
                report.row(of_moving, value);
            }
        }
    }
    let kinds = ["b", "wa", "us", "sy", "bi", "bo"];
    let [b, wa, us, sy, bi, bo] = kinds.map(|name| report.heading.number(name, &words));
    // Old kernels count a wait for I/O as idle time.
    let waits = wa.or_else(|| report.heading.number("id", &words));
    if let (Some(b), Some(waits), Some(us), Some(sy), Some(bi), Some(bo)) =
        (b, waits, us, sy, bi, bo)
        && !is_first
    {
        let kinds = [
            ("full.", us + sy >= FULL),
            ("waiting.", b >= 1.0 && waits >= WAITS),
            ("stuck.", b >= 1.0 && waits >= IN_VAIN && bi + bo <= NOTHING),
            ("quiet.", wa.is_some() && waits < IN_VAIN && bi + bo <= HARDLY),
        ];
        for (kind, _) in kinds.into_iter().filter(|(_, is_so)| *is_so) {
            for (column, fact) in KINDS.into_iter().filter(|(_, fact)| fact.starts_with(kind)) {
                let value = report.heading.number(column, &words).unwrap_or(1.0);
                report.row(fact, value);
            }
        }
    }
    Some(())
}

fn state(report: &mut Report, sink: &mut dyn Sink) {
    let intervals = report.kept("rows").unwrap_or(0.0) as u64;
    for (name, unit) in COLUMNS {
        let Some(first) = report.kept(name) else { continue };
        match report.column(name).mean() {
            None => sink.add_fact(None, typed::VMSTAT_SINCE_BOOT.of(name), unit(first)),
            Some(mean) => {
                sink.add_fact(None, typed::VMSTAT_MEAN.of(name), unit(mean));
                sink.add_fact(None, typed::VMSTAT_MAX.of(name), unit(report.column(name).max()));
            }
        }
    }
    if let Some(ratio) = report.column("swapped").mean().filter(|ratio| *ratio > 0.0) {
        sink.add_fact(None, typed::MEMORY_SWAPPED, ratio);
    }
    let in_pages = report.column("in another unit").count() == 0;
    let cached = report.column("cached").mean().filter(|_| in_pages && intervals >= SEVERAL);
    if let Some(kib) = cached {
        sink.add_fact(None, typed::MEMORY_CACHED, Bytes::from_kib(kib as u64));
    }
    if let Some(moving) = report.kept("moving") {
        sink.add_fact(None, typed::VMSTAT_MOVING.of("intervals"), TASKS(moving));
        for (name, of_moving) in MOVING {
            let unit = if name == "r" { TASKS } else { PERCENT };
            if let Some(mean) = report.column(of_moving).mean() {
                sink.add_fact(None, typed::VMSTAT_MOVING.of(name), unit(mean));
            }
        }
    }
    for (column, fact) in KINDS {
        let known = report.column(fact);
        let unit =
            COLUMNS.iter().find(|(name, _)| *name == column).map_or(TASKS, |(_, unit)| *unit);
        let value = match column {
            "" => Some(known.count() as f64),
            _ => known.mean(),
        };
        if let Some(value) = value.filter(|_| known.count() > 0) {
            sink.add_fact(None, typed::VMSTAT_WHILE.of(fact), unit(value));
        }
    }
    if intervals > 1 {
        sink.add_fact(None, typed::VMSTAT_INTERVALS, intervals - 1);
    }
}
