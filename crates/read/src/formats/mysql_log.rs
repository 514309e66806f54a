//! MySQL's and MariaDB's logs: a page cleaner that falls behind, slow commits, a full redo log.
//!
//! ## Reads
//! Of the error log `page_cleaner: 1000ms intended loop took 15843ms` and `Page cleaner took 5632ms
//! to flush 52 and evict 0 pages`. Of the slow query log each entry (`# Query_time: 2.345`) whose
//! statement is a commit. Both become facts: their number, and the slowest. A round that flushed
//! and evicted nothing is `flush.idle`. `Threads are unable to reserve space in redo log` counts as
//! writes that the server stopped (`stall.stopped`).
//!
//! ## How to capture
//! The server's error log, `journalctl -u mysqld`, the file of `slow_query_log`.
//!
//! ## Versions
//! MySQL 5.6 to 8.4, MariaDB 10 and 11, Percona Server.
//!
//! ## Caveats
//! Only operations slower than a limit are logged: 4 s for the page cleaner, `long_query_time` for
//! a commit. A round of the page cleaner is many writes and a flush, so its duration is not a disk
//! latency; it also waits for a CPU and for locks. A round that flushed nothing waited for no disk:
//! the machine was suspended, or the server was stopped. A commit waits for the flush of the log,
//! and for other commits.
//!
//! ## Not in this output
//! The number of fast commits; the disk; other I/O on it.

use crate::describe::report::*;

pub(super) const FORMAT: Format =
    Format::labels("MySQL's logs: slow page cleaner, slow commits", Level::E, &LABELS);

static LABELS: Labels = Labels {
    may_resume: true,
    lines: &[
        begins("page_cleaner:{*}intended loop took {ms:n}ms.{did:text}", |found, report, _| {
            cleaner(found, found.text("did")?.contains("(flushed=0 and evicted=0,"), report)
        })
        .like(&[
            "2023-05-01T10:00:01.1Z 0 [Note] InnoDB: page_cleaner: 1000ms intended loop took \
             5423ms. The settings might not be optimal. (flushed=200 and evicted=0, during the \
             time.)",
        ]),
        begins("Page cleaner took {ms:n}ms to flush {did:text}", |found, report, _| {
            cleaner(found, found.text("did")?.starts_with("0 and evict 0 pages"), report)
        })
        .when(|found| found.text("did").is_some_and(|did| did.contains(" pages")))
        .like(&[
            "2023-05-01T10:00:01.1Z 0 [Warning] InnoDB: Page cleaner took 5423ms to flush 2000 and \
             evict 0 pages",
        ]),
        // The redo log is full until a checkpoint wrote the changed pages.
        begins(
            "Threads are unable to reserve space in redo log which can't be \
                reclaimed",
            |_, report, _| {
                report.add("full", 1.0);
                Some(())
            },
        )
        .like(&[
            "2025-09-05T00:18:32.628243Z 0 [Warning] [MY-014084] [InnoDB] Threads are unable to \
             reserve space in redo log which can't be reclaimed due to the 'log_checkpointer' \
             consumer still lagging behind at LSN = 891463563. Consider increasing \
             innodb_redo_log_capacity.",
        ]),
        // The time of the statement below.
        begins("^# Query_time: {s:n}{*}Lock_time: ", |found, report, _| {
            report.keep("query", found.number("s")?)
        })
        .like(&["# Query_time: 2.400121  Lock_time: 0.000000 Rows_sent: 0  Rows_examined: 0"]),
        perhaps("^{statement:text}", statement).like(&["COMMIT;"]),
    ],
    cut: &["# Query_time:", "page_cleaner: "],
    end: Some(|report, sink| report.state_kept(None, &TOTALS, sink)),
    ..Labels::NEW
};

/// A round of the page cleaner, which may have had nothing to write.
fn cleaner(found: &Found, is_idle: bool, report: &mut Report) -> Option<()> {
    let ms = found.number("ms")?;
    if is_idle {
        return if ms > 0.0 { report.most("idle", ms) } else { Some(()) };
    }
    report.add("rounds", 1.0);
    report.most("slowest", ms)
}

fn statement(found: &Found, report: &mut Report, _: &mut dyn Sink) -> Option<()> {
    let seconds = report.kept("query")?;
    let text = found.line().to_ascii_lowercase();
    if ["page_cleaner: ", "# query_time:"].iter().any(|words| text.contains(words)) {
        return None;
    }
    // What comes between the time and the statement.
    if ["#", "set timestamp", "use "].iter().any(|word| text.starts_with(word)) {
        return Some(());
    }
    report.forget("query");
    if matches!(text.trim_end_matches(';').trim(), "commit" | "xa commit" | "commit work") {
        report.add("commits", 1.0);
        report.most("slowest commit", seconds);
    }
    Some(())
}

/// Facts of the rounds, stalls and commits.
const TOTALS: [Total; 6] = [
    ("rounds", |rounds| typed::FLUSH_SLOW.with(rounds as u64)),
    ("slowest", |ms| typed::FLUSH_ROUND.with(Nanos::from_ms(ms))),
    ("full", |times| typed::STALL_STOPPED.with(times as u64)),
    ("idle", |ms| typed::FLUSH_IDLE.with(Nanos::from_ms(ms))),
    ("commits", |commits| typed::COMMIT_SLOW.with(commits as u64)),
    ("slowest commit", |seconds| typed::COMMIT_SLOWEST.with(Nanos::from_seconds(seconds))),
];
