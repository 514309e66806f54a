//! InnoDB's own report: what its threads wait for at this moment, and how often it reads, writes
//! and flushes.
//!
//! ## Reads
//! Of `FILE I/O`, `LOG` and `BUFFER POOL AND MEMORY` the requests that are pending (`Pending normal
//! aio reads`, `Pending flushes (fsync) log`, `1 pending log flushes`, `Pending writes: LRU 0,
//! flush list 6`) and the rates (`0.00 reads/s, 0 avg bytes/read, 12.50 writes/s, 6.25 fsyncs/s`);
//! of `SEMAPHORES`, and of the warnings about long waits, the longest wait and where it is.
//! Of several reports in one listing the highest number counts.
//!
//! ## How to capture
//! `SHOW ENGINE INNODB STATUS\G`, the standard monitor in the server's error log.
//!
//! ## Versions
//! MySQL 5.1 to 8.0, MariaDB 5.5 to 11: threads counted individually (`[0, 0, 0, 0]`) and as a sum.
//!
//! ## Caveats
//! Pending counts are snapshots, not means: one pending flush is normal on a busy server, and
//! meaningful only if several reports show it. The rates are means since the report before, or of
//! the last seconds. Reads and writes are file I/O: the page cache and the file system are between
//! them and a device.
//!
//! ## Not in this output
//! The duration of an I/O; the device of the files; other I/O on it.

use iowhy_model::Nanos;
use iowhy_model::typed::{OfProcess, PerSecond};

use crate::describe::report::*;

pub(super) const FORMAT: Format =
    Format::labels("SHOW ENGINE INNODB STATUS: pending and done I/O", Level::E, &LABELS);

static LABELS: Labels = Labels {
    may_resume: true,
    lines: &[
        begins("INNODB MONITOR OUTPUT", |_, _, _| Some(()))
            .like(&["2026-11-26 02:10:01 0x7f INNODB MONITOR OUTPUT"]),
        begins(
            "^Pending normal aio reads:{reads:text} aio writes:{writes:text}",
            |found, report, _| {
                most(report, "read.pending", threads(found.text("reads")?));
                most(report, "write.pending", threads(found.text("writes")?))
            },
        )
        .like(&[
            "Pending normal aio reads: [0, 2, 0, 1] , aio writes: [0, 4, 0, 0] ,",
            "Pending normal aio reads: 2, aio writes: 5,",
        ]),
        begins(
            "--Thread {:u} has waited at {place:text} line {line:u} for {s:n} seconds the \
             semaphore:",
            |found, report, _| {
                let seconds = found.number("s")?;
                if seconds > report.kept(WAITED).unwrap_or(-1.0) {
                    report.keep(WAITED, seconds);
                    let line = found.count("line")?;
                    report.quote_alone(&format!("{} line {line}", found.text("place")?));
                }
                Some(())
            },
        )
        .like(&[
            "--Thread 139731125044992 has waited at trx0i_s.cc line 1074 for 245 seconds the \
             semaphore:",
        ]),
        begins("^InnoDB: Pending preads {r:u}, pwrites {w:u}$", |found, report, _| {
            most(report, "read.pending", found.number("r"));
            most(report, "write.pending", found.number("w"))
        })
        .like(&["InnoDB: Pending preads 0, pwrites 0"]),
        // What one report counts at two places adds up: the log's flushes and those of the buffer
        // pool.
        begins(
            "^Pending flushes (fsync) log:{log:text}; buffer pool:{pool:text}",
            |found, report, _| {
                let pending = threads(found.text("log")?)? + threads(found.text("pool")?)?;
                most(report, "flush.pending", Some(pending))
            },
        )
        .like(&["Pending flushes (fsync) log: 1; buffer pool: 2"]),
        begins("^Pending writes: LRU {lru:n}, flush list {list:n},", |found, report, _| {
            let pending = found.number("lru")? + found.number("list")?;
            most(report, "write.pending", Some(pending))
        })
        .like(&["Pending writes: LRU 0, flush list 6, single page 0"]),
        begins("^{n:n} pending log flushes, {:n} pending chkp writes$", |found, report, _| {
            most(report, "flush.pending", found.number("n"))
        })
        .like(&["1 pending log flushes, 0 pending chkp writes"]),
        begins("^{n:n} pending log writes, {:n} pending chkp writes$", |found, report, _| {
            most(report, "write.pending", found.number("n"))
        })
        .like(&["0 pending log writes, 0 pending chkp writes"]),
        begins(
            "^{r:n} reads/s, {:n} avg bytes/read, {*}{w:n} writes/s, {f:n} fsyncs/s$",
            |found, report, _| {
                most(report, "file.reads", found.number("r"));
                most(report, "file.writes", found.number("w"));
                most(report, "file.flushes", found.number("f"))
            },
        )
        .like(&["0.50 reads/s, 16384 avg bytes/read, 12.50 writes/s, 6.25 fsyncs/s"]),
    ],
    cut: &[
        "Pending normal aio", "Pending flushes (fsync)", "Pending writes: LRU",
        "pending chkp writes", "avg bytes/read",
    ],
    end: Some(stated),
    ..Labels::NEW
};

/// The longest wait for a lock inside the server, s.
const WAITED: &str = "waited";

/// Of several reports in one listing the highest number counts.
fn most(report: &mut Report, what: &'static str, number: Option<f64>) -> Option<()> {
    let number = number.filter(|number| *number >= 0.0)?;
    report.most(what, number)
}

/// `[0, 2, 0, 1] ,` or `3, `: the sum over the threads.
fn threads(text: &str) -> Option<f64> {
    let text = text.trim_start();
    let number = |word: &str| decimal(word.trim());
    match text.strip_prefix('[') {
        Some(list) => list.split_once(']')?.0.split(',').map(number).sum(),
        None => number(text.split([',', ';', ' ']).next()?),
    }
}

fn stated(report: &mut Report, sink: &mut dyn Sink) {
    if let Some(seconds) = report.kept(WAITED) {
        let (value, who) = (Nanos::from_ms(seconds * 1e3), report.quoted().concat());
        sink.add_fact(None, typed::DATABASE_LATCH_WAIT, OfProcess { value, who });
    }
    let totals: [Total; 6] = [
        ("file.flushes", |rate| typed::FILE_FLUSHES.with(PerSecond(rate))),
        ("file.reads", |rate| typed::FILE_READS.with(PerSecond(rate))),
        ("file.writes", |rate| typed::FILE_WRITES.with(PerSecond(rate))),
        ("flush.pending", |count| typed::FLUSH_PENDING.with(count as u64)),
        ("read.pending", |count| typed::READ_PENDING.with(count as u64)),
        ("write.pending", |count| typed::WRITE_PENDING.with(count as u64)),
    ];
    report.state_kept(None, &totals, sink);
}
