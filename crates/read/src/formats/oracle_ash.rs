//! Oracle's sessions, counted by the event that they wait for.
//!
//! ## Reads
//! A table with `EVENT` and `COUNT(*)` (or `SAMPLES`, `SESSIONS`, `CNT`, `ASH_SECS`), perhaps with
//! `WAIT_CLASS` and the session's state: `log file sync  Commit  WAITING  12856`. `ON CPU`, or no
//! event, is a session that computes. The shares become `database.wait_share.*` by what is waited
//! for: reads, writes, the log, locks, latches, CPU, network.
//!
//! ## How to capture
//! `SELECT NVL(event, 'ON CPU') event, wait_class, COUNT(*) FROM v$active_session_history WHERE
//! sample_time > SYSDATE - 1/24 GROUP BY NVL(event, 'ON CPU'), wait_class ORDER BY 3 DESC`.
//!
//! ## Versions
//! Oracle 10g to 23: `v$active_session_history`, `dba_hist_active_sess_history`, `v$session`,
//! `v$session_wait`.
//!
//! ## Caveats
//! A sample per second (of the history on disk one per 10 s) sees a session in a long wait more
//! often than in a short one, so counts are shares of time and not numbers of waits. One session
//! that writes the log, and hundreds that wait for it, are counted alike.
//!
//! ## Not in this output
//! The duration of a wait (`oracle-awr`, `oracle-histogram`), the file or device.

use crate::counters::database_waits::{Awaited, of_oracle};
use crate::describe::report::*;
use crate::text::repair::has_odd;

pub(super) const FORMAT: Format =
    Format::labels("Oracle: active sessions, counted by event", Level::E, &LABELS);

/// Names of the column of the count.
const COUNTS: [&str; 7] =
    ["COUNT(*)", "COUNT(1)", "SAMPLES", "SESSIONS", "CNT", "ASH_SECS", "COUNT"];

static LABELS: Labels = Labels {
    may_resume: true,
    lines: &[
        begins("EVENT", |found, report, _| {
            let words: Vec<String> = words(found.line());
            let place = words.iter().position(|word| COUNTS.contains(&&**word))?;
            report.keep("columns after the count", (words.len() - place - 1) as f64);
            report.keep("count first", f64::from(u8::from(place == 0)))
        })
        .when(|found| {
            let words = words(found.line());
            let has = |names: &[&str]| words.iter().any(|word| names.contains(&&**word));
            has(&["EVENT", "WAIT_EVENT"]) && has(&COUNTS)
        })
        .like(&[
            "EVENT                       WAIT_CLASS        state     session  serial#   COUNT(*)",
            "  COUNT(*) EVENT",
        ]),
        perhaps("^{:text}$", |found, report, _| row(found.line(), report)).like(&[
            "log file sync               Commit          WAITING        2687        1      12856",
            "8412 db file sequential read",
        ]),
    ],
    own: &["^---{*}-", "^===", " rows selected.", "^{blocking|session|serial#} "],
    ..Labels::NEW
};

fn words(line: &str) -> Vec<String> {
    line.replace('|', " ").split_whitespace().map(str::to_uppercase).collect()
}

/// Adds the sessions of a row.
fn row(line: &str, report: &mut Report) -> Option<()> {
    let line = line.replace('|', " ");
    let words: Vec<&str> = line.split_whitespace().collect();
    let first = report.kept("count first")? > 0.0;
    let after = match first {
        true => words.len().saturating_sub(1),
        false => report.kept("columns after the count")? as usize,
    };
    let count = *words.get(words.len().checked_sub(after + 1)?)?;
    let text = if first { line.trim().strip_prefix(count)? } else { line.trim() };
    let (awaited, event) = of_oracle(text);
    // Without an event the session computes; a sentence has no gap between its words.
    let (awaited, event) = match words.len() {
        1 => (Some(Awaited::Cpu), "ON CPU"),
        _ if awaited.is_none() && !line.trim().contains("  ") => return None,
        _ => (awaited, event),
    };
    let Some(sessions) = integer(&count.replace(',', "")) else {
        return report.fails_if(has_odd(count), "the count of the row is not a number");
    };
    report.waits.sessions(awaited.unwrap_or(Awaited::Other), event, sessions);
    Some(())
}
