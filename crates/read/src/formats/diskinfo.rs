//! FreeBSD's diskinfo: seeks, durable writes and the model of a disk.
//!
//! ## Reads
//! Of `-S` (`Synchronous random writes:`) the row of 4 kB, or the largest below it, or else the
//! first; of `-t` the row `Quarter stroke` as reads at random offsets, and `outside` as the
//! sequential rate. Of `-v` model, size and rotation rate. Other rows are checked and ignored: they
//! depend on size and location, not on the health of a disk.
//!
//! ## How to capture
//! `diskinfo -v -t /dev/ada0`, `diskinfo -wS /dev/nvd0` (TrueNAS users run it on a drive for the
//! log of a pool).
//!
//! ## Versions
//! As FreeBSD 10 and later print it; `-S` and `-i` are newer. `-i` (`Asynchronous random reads`)
//! keeps a full queue, and its rows have no time per I/O: ignored.
//!
//! ## Caveats
//! `-S` writes and flushes each time: the time is that of both (`DIOCGFLUSH`). A drive with
//! capacitors answers in tens of microseconds, one without in milliseconds, and both may be
//! healthy. A quarter stroke is longer than the mean seek of a file system. Mbytes are 1024 x 1024
//! bytes.
//!
//! ## Not in this output
//! Single latencies, what else used the disk.

use iowhy_model::typed::{Bytes, BytesPerSecond, PageCache};

use crate::describe::report::*;

pub(super) const FORMAT: Format = Format::labels(
    "FreeBSD diskinfo -t, -S: seeks and durable writes of a disk",
    Level::A,
    &LABELS,
);

/// Size of the durable write that represents the drive, kB: the page of a log.
const PAGE_KB: f64 = 4.0;
/// Numbers are printed to four digits or more.
const ROUNDING: f64 = 0.02;

static LABELS: Labels = Labels {
    unnamed: "diskinfo",
    near: 1,
    lines: &[
        announces("^/dev/{disk:word}$", |found, report, _| report.name(found.text("disk")?))
            .when(|found| {
                let sound = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '_' | '.');
                found.text("disk").is_some_and(|name| name.chars().all(sound))
            })
            .opens_again()
            .like(&["/dev/ada0"]),
        announces("^Seek times:$", |_, _, _| Some(())).like(&["Seek times:"]),
        begins("^Synchronous random writes:$", |_, _, _| Some(()))
            .opens_again()
            .like(&["Synchronous random writes:"]),
        begins("^{:text}{ }# sectorsize", |_, _, _| Some(())).like(&["512         # sectorsize"]),
        // A value and what it is.
        says("^{value:text}{ }# {what:text}$", described)
            .like(&["4000787030016  # mediasize in bytes (3.6T)", "5400  # Rotation rate in RPM"]),
        // The numbers of a row agree with each other.
        begins("^{kb:n} kbytes:{us:n} usec/IO ={rate:n} Mbytes/s$", |found, report, _| {
            let kb = found.number("kb")?;
            if report.kept("kb").is_none_or(|known| known < PAGE_KB && kb <= PAGE_KB) {
                report.keep("kb", kb);
                report.keep("us", found.number("us")?);
            }
            Some(())
        })
        .when(|found| agree(found, |kb, us| kb / 1024.0 / (us / 1e6), ["kb", "us"], 0.05))
        .like(&["4 kbytes:   2098.5 usec/IO =      1.9 Mbytes/s"]),
        begins("^{what:text}:{count:u} iter in{s:n} sec ={rate:n} msec$", |found, report, sink| {
            if found.text("what")? != "Quarter stroke" {
                return Some(());
            }
            let seconds = found.number("s")?;
            emit(report, Op::Read, found.number("count")? / seconds, Some(seconds), sink)
        })
        .when(|found| agree(found, |count, s| s * 1e3 / count, ["count", "s"], 0.0005))
        .like(&["Quarter stroke:   250 iter in   5.030273 sec =   20.121 msec"]),
        says(
            "^{what:text}:{kb:u} kbytes in{s:n} sec ={rate:n} kbytes/sec$",
            |found, report, sink| {
                if found.text("what")? == "outside" {
                    let per_s = found.number("kb")? * 1024.0 / found.number("s")?;
                    sink.add_fact(&*report, typed::RUN_THROUGHPUT, BytesPerSecond(per_s.round()));
                }
                Some(())
            },
        )
        .when(|found| agree(found, |kb, s| kb / s, ["kb", "s"], 1.0))
        .like(&["outside:       102400 kbytes in   0.583426 sec =   175515 kbytes/sec"]),
    ],
    own: &[
        "^{Transfer rates|Asynchronous random reads|I/O command overhead}:$",
        // Their numbers are of the processor as much as of the disk.
        "^{time to read |calculated command overhead}",
        "ops in{:text}sec ={:text}IOPS$",
    ],
    cut: &[" usec/IO", " iter in ", " kbytes/sec"],
    end: Some(|report, sink| {
        let Some(us) = report.kept("us") else { return };
        emit(report, Op::Flush, 1e6 / us, None, sink);
        sink.add_fact(&*report, typed::FLUSH_TIME, Nanos::from_us(us.round()));
    }),
    ..Labels::NEW
};

/// Whether a number equals the one printed next to it, within rounding.
fn agree(found: &Found, of: fn(f64, f64) -> f64, names: [&str; 2], step: f64) -> bool {
    let figures = names.map(|name| found.positive(name));
    let ([Some(one), Some(other)], Some(printed)) = (figures, found.number("rate")) else {
        return false;
    };
    let is_one = found.text("what").is_none_or(|what| !what.contains(':'));
    is_one && (of(one, other) - printed).abs() <= (ROUNDING * printed).max(step)
}

fn described(found: &Found, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let value = found.text("value")?;
    let device = report.device(sink);
    match (found.text("what")?.split(" (").next()?.trim(), integer(value)) {
        ("Disk descr.", _) => sink.add_fact(device, typed::DEVICE_MODEL, value),
        ("mediasize in bytes", Some(bytes)) => {
            sink.add_fact(device, typed::DEVICE_BYTES, Bytes(bytes));
        }
        ("Rotation rate in RPM", rpm) => {
            let spins = rpm.is_some_and(|rpm| rpm > 0);
            sink.add_fact(device, typed::QUEUE_ROTATIONAL, spins);
        }
        _ => {}
    }
    Some(())
}

fn emit(
    report: &Report,
    op: Op,
    per_s: f64,
    seconds: Option<f64>,
    sink: &mut dyn Sink,
) -> Option<()> {
    report.average(Some(op), one_by_one(per_s), seconds, sink)?;
    sink.add_fact(report, typed::RUN_CACHED, PageCache::No);
    Some(())
}
