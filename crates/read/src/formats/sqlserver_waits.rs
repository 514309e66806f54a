//! What SQL Server waits for: `sys.dm_os_wait_stats`.
//!
//! ## Reads
//! A table of wait types with their time and, in any order, their part for a CPU (signal) and their
//! number: `WaitType Wait_S Resource_S Signal_S WaitCount ...`, `wait_type waiting_tasks_count
//! wait_time_ms ...`. The shares become `database.wait_share.*` by what is waited for: reads,
//! writes, the log, locks, latches, CPU, network. Waits for I/O (`PAGEIOLATCH_*`, `WRITELOG`,
//! `IO_COMPLETION`) also become their number with their mean.
//!
//! ## How to capture
//! `SELECT TOP 25 wait_type, waiting_tasks_count, wait_time_ms, signal_wait_time_ms FROM
//! sys.dm_os_wait_stats ORDER BY wait_time_ms DESC`, or one of the scripts that leave out idle
//! types. Twice, a few minutes apart: the difference is the present.
//!
//! ## Versions
//! SQL Server 2005 to 2022, Azure. Columns are found by their names.
//!
//! ## Caveats
//! Counters since the server started or they were cleared. Types of idle threads are left out.
//! `PAGEIOLATCH_*` is one session's wait for a page, which may be read ahead; `WRITELOG` includes
//! the queue of the log writer. Parallel statements (`CX*`) wait for their own threads.
//!
//! ## Not in this output
//! The file or device (`sqlserver-files`), when the long waits were.

use crate::counters::database_waits::{Awaited, io_waits};
use crate::describe::report::*;

pub(super) const FORMAT: Format =
    Format::labels("SQL Server: wait statistics by type", Level::B, &LABELS);

/// The beginnings of types: what is waited for, and the operation if it is one I/O.
const TYPES: [(&str, Awaited, Option<Op>); 18] = [
    ("PAGEIOLATCH_", Awaited::Read, Some(Op::Read)),
    ("WRITELOG", Awaited::Log, Some(Op::Flush)),
    ("LOGBUFFER", Awaited::Log, None),
    ("IO_COMPLETION", Awaited::Read, Some(Op::Other)),
    ("WRITE_COMPLETION", Awaited::Write, Some(Op::Write)),
    ("ASYNC_IO_COMPLETION", Awaited::Write, None),
    ("BACKUP", Awaited::Write, None),
    ("LCK_", Awaited::Lock, None),
    ("PAGELATCH_", Awaited::Latch, None),
    ("LATCH_", Awaited::Latch, None),
    ("TRAN_MARKLATCH_", Awaited::Latch, None),
    ("SOS_SCHEDULER_YIELD", Awaited::Cpu, None),
    ("THREADPOOL", Awaited::Cpu, None),
    ("ASYNC_NETWORK_IO", Awaited::Network, None),
    ("NETWORK_IO", Awaited::Network, None),
    ("OLEDB", Awaited::Network, None),
    ("HADR_SYNC_COMMIT", Awaited::Network, None),
    ("HADR_GROUP_COMMIT", Awaited::Network, None),
];
/// Beginnings of types of threads without work.
const IDLE: &[&str] = &[
    "BROKER_", "CHECKPOINT_QUEUE", "CHKPT", "CLR_", "DBMIRROR", "DIRTY_PAGE_POLL", "DISPATCHER_",
    "FSAGENT", "FT_", "HADR_", "KSOURCE_WAKEUP", "LAZYWRITER_SLEEP", "LOGMGR_QUEUE",
    "ONDEMAND_TASK_QUEUE", "PARALLEL_REDO_", "PERFORMANCE_COUNTERS_RWLOCK", "PREEMPTIVE_XE_",
    "PVS_PREALLOCATE", "PWAIT_", "QDS_", "REDO_THREAD_PENDING_WORK", "REQUEST_FOR_DEADLOCK_SEARCH",
    "RESOURCE_QUEUE", "SERVER_IDLE_CHECK", "SLEEP_", "SNI_HTTP_ACCEPT", "SOS_WORK_DISPATCHER",
    "SP_SERVER_DIAGNOSTICS_SLEEP", "SQLTRACE_", "STARTUP_STORAGE_MANAGER", "TRACEWRITE",
    "UCS_SESSION_REGISTRATION", "VDI_CLIENT_OTHER", "WAITFOR", "WAIT_XTP_", "WAIT_FOR_RESULTS",
    "XE_", "XTP_PREEMPTIVE_TASK",
];
/// Names of two words, which a heading separates like columns.
const PAIRS: [(&str, &str); 5] = [
    ("Wait Type", "WaitType"),
    ("Wait Percentage", "Percentage"),
    ("Wait Count", "WaitCount"),
    ("Waiting Tasks", "WaitCount"),
    ("Help/Info URL", "URL"),
];
const SECONDS: [&str; 5] = ["waits", "waitsec", "waittimes", "waittimesec", "waittimeseconds"];
const SIGNAL: [&str; 3] = ["signals", "signalsec", "signalwaittimes"];
const COUNT: [&str; 3] = ["waitcount", "waitingtaskscount", "waitingtasks"];

static LABELS: Labels = Labels {
    may_resume: true,
    lines: &[
        begins("{wait_type|WaitType|Wait_Type|Wait Type|WAIT_TYPE} ", |found, report, _| {
            report.heading = Heading::plain(found.line(), &PAIRS);
            Some(())
        })
        .when(|found| {
            let heading = Heading::plain(found.line(), &PAIRS);
            let has = |names: &[&str]| heading.names().any(|name| names.contains(&name));
            heading.place("waittype", 0) == Some(0) && (has(&SECONDS) || has(&["waittimems"]))
        })
        .like(&[
            "WaitType                            Wait_S         Resource_S     Signal_S       \
             WaitCount",
            "wait_type                waiting_tasks_count  wait_time_ms         max_wait_time_ms",
        ]),
        perhaps("^{type:word} {:text}$", row)
            .like(&["LCK_M_IX           39.64           1.81        1.81       0.00       \
                     53665.49"]),
    ],
    own: &["^---{*}-", "^({:u} {row|rows|row(s)} affected)"],
    ..Labels::NEW
};

/// `53665.49`, `53,665.49`, `29,571`.
fn number(word: &str) -> Option<f64> {
    let is_grouped = word.split(',').skip(1).all(|part| part.find('.').unwrap_or(part.len()) == 3);
    let plain = if is_grouped { word.replace(',', "") } else { word.to_string() };
    decimal(&plain).filter(|number| *number >= 0.0)
}

fn row(found: &Found, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let line = found.line().replace('|', " ");
    let words: Vec<&str> = line.split_whitespace().collect();
    let name = *words.first()?;
    let is_type = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let has_numbers = words.iter().filter(|word| number(word).is_some()).count() > 1;
    (has_numbers && name.chars().all(is_type)).then_some(())?;
    report.fits(words.len())?;
    let word = |names: &[&str]| names.iter().find_map(|name| report.heading.word(name, &words));
    // A column that is absent is zero; one that holds no number is not.
    let value = |names: &[&str]| word(names).map_or(Some(0.0), number);
    let seconds = |names: &[&str], ms: &str| match word(names) {
        Some(word) => number(word),
        None => value(&[ms]).map(|ms| ms / 1e3),
    };
    let all_s = seconds(&SECONDS, "waittimems");
    let known = all_s.zip(seconds(&SIGNAL, "signalwaittimems")).zip(value(&COUNT));
    let ((all_s, signal_s), waits) =
        report.need(known, "a time or the number of waits of the row is not a number")?;
    let (resource_s, waits) = (all_s - signal_s.min(all_s), waits as u64);
    let (awaited, op) = awaited(name);
    report.waits.time(awaited, name, resource_s, waits);
    if awaited != Awaited::Idle {
        report.waits.time(Awaited::Cpu, "signal waits", signal_s.min(all_s), 0);
    }
    if let Some(op) = op.filter(|_| waits > 0 && all_s > 0.0) {
        io_waits(sink.device(name), op, waits, resource_s * 1e9 / waits as f64, sink);
    }
    Some(())
}

/// What a type waits for, and the operation if it is one I/O.
fn awaited(name: &str) -> (Awaited, Option<Op>) {
    let known = TYPES.iter().find(|(begin, ..)| name.starts_with(begin));
    match known {
        Some((_, awaited, op)) => (*awaited, *op),
        None if IDLE.iter().any(|begin| name.starts_with(begin)) => (Awaited::Idle, None),
        None => (Awaited::Other, None),
    }
}
