//! PostgreSQL's sessions, counted by the event that they wait for.
//!
//! ## Reads
//! A table of psql with `wait_event_type`, `wait_event` and a count: ` Lock | transactionid | 25`.
//! The shares become `database.wait_share.*` by what is waited for: reads, writes, the log (WAL),
//! locks, latches (LWLock), CPU, network. A session without an event computes.
//!
//! ## How to capture
//! `psql -c "SELECT wait_event_type, wait_event, count(*) FROM pg_stat_activity WHERE state =
//! 'active' GROUP BY 1, 2 ORDER BY 3 DESC"`, several times.
//!
//! ## Versions
//! PostgreSQL 9.6 to 18, EDB, Aurora; `pg_wait_sampling_profile` (`event_type`, `event`). Columns
//! are found by their names.
//!
//! ## Caveats
//! One moment, unless it is a profile. Background processes and idle sessions (`Activity`,
//! `Client`, `Timeout`) are left out; a session that is idle in a transaction may hold the lock
//! that others wait for. `LWLock` with `WALWrite` waits for another session that writes the log.
//!
//! ## Not in this output
//! The duration of a wait, the file or device (`pg_stat_io` has means).

use crate::counters::database_waits::Awaited;
use crate::describe::report::*;

pub(super) const FORMAT: Format =
    Format::labels("PostgreSQL: sessions, counted by wait event", Level::E, &LABELS);

/// Names of the column of the count.
const COUNTS: [&str; 8] =
    ["count", "sessions", "session_count", "backends", "cnt", "num", "waiters", "total"];
/// Types of events, one of which a row has.
const KINDS: [&str; 8] =
    ["Activity", "Client", "Extension", "IO", "IPC", "LWLock", "Lock", "Timeout"];

static LABELS: Labels = Labels {
    may_resume: true,
    lines: &[
        begins("{wait_event_type|event_type} |", |found, report, _| {
            report.heading = cells(found.line()).into_iter().map(common).collect();
            Some(())
        })
        .when(|found| {
            let names: Vec<String> = cells(found.line()).into_iter().map(common).collect();
            ["event_type", "event", "count"].iter().all(|name| names.iter().any(|it| it == name))
        })
        .like(&[" wait_event_type |  wait_event   | count ", " event_type | event | count"]),
        perhaps("|", row).like(&[" Lock            | transactionid |    25"]),
    ],
    own: &["^---{*}-+-", "^({:u} rows)"],
    ..Labels::NEW
};

fn cells(line: &str) -> Vec<&str> {
    line.trim().trim_matches('|').split('|').map(str::trim).collect()
}

/// The name of a column, without what names of versions add.
fn common(name: &str) -> String {
    let name = name.trim_start_matches("wait_");
    if COUNTS.contains(&name) { "count".to_string() } else { name.to_string() }
}

fn row(found: &Found, report: &mut Report, _: &mut dyn Sink) -> Option<()> {
    // A row's first cell may be empty, and its bar is not one around the row.
    let line = found.line();
    let cells: Vec<&str> = match line.matches('|').count() + 1 == report.heading.width() {
        true => line.split('|').map(str::trim).collect(),
        false => cells(line),
    };
    let is_ours = cells.iter().any(|cell| KINDS.contains(cell));
    let count = report.heading.word("count", &cells).and_then(integer);
    let Some(sessions) = count.filter(|_| cells.len() == report.heading.width()) else {
        return report.fails_if(is_ours, "the row does not match the heading");
    };
    let kind = report.heading.word("event_type", &cells)?;
    let event = report.heading.word("event", &cells)?;
    let is_idle = report.heading.word("state", &cells).is_some_and(|it| it.starts_with("idle"));
    let awaited = if is_idle { Awaited::Idle } else { awaited(kind, event) };
    let name = if event.is_empty() { "no wait event" } else { event };
    report.waits.sessions(awaited, name, sessions);
    Some(())
}

/// What an event waits for (PostgreSQL's manual, Monitoring Database Activity, wait events).
fn awaited(kind: &str, event: &str) -> Awaited {
    let is_log = event.starts_with("WALWrite") || event.starts_with("WALSync");
    match kind {
        "" | "CPU" | "CPU/None" => Awaited::Cpu,
        "IO" | "LWLock" if is_log => Awaited::Log,
        "IO" if event.contains("Read") => Awaited::Read,
        "IO" => Awaited::Write,
        "LWLock" if ["BufferIO", "buffer_io"].contains(&event) => Awaited::Read,
        "LWLock" | "LWLockNamed" | "LWLockTranche" => Awaited::Latch,
        "Lock" | "BufferPin" | "Buffer" => Awaited::Lock,
        "IPC" if event == "SyncRep" => Awaited::Network,
        "Client" if event != "ClientRead" => Awaited::Network,
        "Activity" | "Client" | "Timeout" => Awaited::Idle,
        _ => Awaited::Other,
    }
}
