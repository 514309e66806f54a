//! MySQL's and MariaDB's logs: the page cleaner that falls behind, slow commits of the slow query log.
//!
//! ## Reads
//! Of the error log `page_cleaner: 1000ms intended loop took 15843ms` and `Page cleaner took 5632ms to flush
//! 52 and evict 0 pages`. Of the slow query log each entry (`# Query_time: 2.345`) whose statement is a commit.
//! Both become facts: how many, and the slowest. A round that flushed and evicted nothing is `flush.idle`.
//!
//! ## Where it comes from
//! The server's error log, `journalctl -u mysqld`, the file of `slow_query_log`.
//!
//! ## Versions
//! MySQL 5.6 to 8.4, MariaDB 10 and 11, Percona Server.
//!
//! ## Traps
//! Only what took longer than a limit is logged: over 4 s of the page cleaner, `long_query_time` of a commit. A
//! round of the page cleaner is many writes and a flush, so its time is no latency of the disk; it also waits
//! for a processor and for locks. A round that flushed nothing waited for no disk: the machine was suspended, or the
//! server stood still. A commit waits for the flush of the log, and for other commits.
//!
//! ## Cannot know
//! How many commits were quick; the disk behind them; what else used it. Whether whole lines are missing: they
//! bear no numbers.

use iowhy_model::{Level, Nanos, Sink, typed};

use crate::facts::AddFact;
use crate::{Format, Reader, Sniff, Step, decimal};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "mysql-log",
    summary: "MySQL's logs: slow page cleaner, slow commits",
    manual: iowhy_model::manual!("mysql_log.rs"),
    level: Level::E,
    sniff: |lines| Sniff::from(lines.first().is_some_and(|line| Entry::of(line).is_some())),
    reader: || Box::new(MysqlLog::default()),
};

/// A line that tells of I/O.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Entry {
    /// Milliseconds of a round of the page cleaner, and whether it had nothing to write.
    Cleaner { ms: f64, idle: bool },
    /// Seconds of the statement below.
    Query(f64),
}

impl Entry {
    fn of(line: &str) -> Option<Entry> {
        if !line.contains(" took ") && !line.contains("# Query_time: ") {
            return None;
        }
        if let Some((_, rest)) = line.split_once("intended loop took ") {
            let (ms, rest) = rest.split_once("ms.").filter(|_| line.contains("page_cleaner:"))?;
            let idle = rest.contains("(flushed=0 and evicted=0,");
            return decimal(ms).map(|ms| Entry::Cleaner { ms, idle });
        }
        if let Some((_, rest)) = line.split_once("Page cleaner took ") {
            let (ms, rest) = rest.split_once("ms to flush ")?;
            let idle = rest.starts_with("0 and evict 0 pages");
            let cleaner = |ms| Entry::Cleaner { ms, idle };
            return decimal(ms).filter(|_| rest.contains(" pages")).map(cleaner);
        }
        let rest = line.trim_start().strip_prefix("# Query_time: ")?;
        let seconds = decimal(rest.split_whitespace().next()?)?;
        rest.contains("Lock_time: ").then_some(Entry::Query(seconds))
    }
}

#[derive(Default)]
struct MysqlLog {
    rounds: u64,
    slowest_ms: f64,
    /// The longest round that had nothing to write.
    idle_ms: f64,
    /// Seconds of the statement whose text has not come yet.
    query: Option<f64>,
    commits: u64,
    slowest_s: f64,
}

impl Reader for MysqlLog {
    fn line(&mut self, line: &str, _sink: &mut dyn Sink) -> Step {
        match Entry::of(line) {
            Some(Entry::Cleaner { ms, idle: true }) => {
                self.idle_ms = self.idle_ms.max(ms);
                return Step::Took;
            }
            Some(Entry::Cleaner { ms, idle: false }) => {
                self.rounds += 1;
                self.slowest_ms = self.slowest_ms.max(ms);
                return Step::Took;
            }
            Some(Entry::Query(seconds)) => {
                self.query = Some(seconds);
                return Step::Took;
            }
            None => {}
        }
        let text = line.trim();
        if text.starts_with("# Query_time:") || line.contains("page_cleaner: ") {
            return Step::Skipped("the line does not say how long it took".to_string());
        }
        let Some(seconds) = self.query else {
            return if text.is_empty() { Step::Took } else { Step::Passed };
        };
        let head = text.to_ascii_lowercase();
        let ahead = ["#", "set timestamp", "use "].iter().any(|word| head.starts_with(word));
        if text.is_empty() || ahead {
            return Step::Took;
        }
        self.query = None;
        if matches!(head.trim_end_matches(';').trim(), "commit" | "xa commit" | "commit work") {
            self.commits += 1;
            self.slowest_s = self.slowest_s.max(seconds);
        }
        Step::Took
    }

    fn resumes(&self) -> bool {
        true
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        if self.rounds > 0 {
            sink.add_fact(None, typed::FLUSH_SLOW, self.rounds);
            sink.add_fact(None, typed::FLUSH_SLOWEST, Nanos::from_ms(self.slowest_ms));
        }
        if self.idle_ms > 0.0 {
            sink.add_fact(None, typed::FLUSH_IDLE, Nanos::from_ms(self.idle_ms));
        }
        if self.commits > 0 {
            sink.add_fact(None, typed::COMMIT_SLOW, self.commits);
            sink.add_fact(None, typed::COMMIT_SLOWEST, Nanos::from_seconds(self.slowest_s));
        }
    }
}

#[cfg(test)]
mod tests {
    use iowhy_model::Listing;

    use crate::scan::recorded as read;

    fn facts(listing: &Listing) -> Vec<String> {
        listing.facts.iter().map(|fact| format!("{} {}", fact.key, fact.value)).collect()
    }

    #[test]
    fn rounds_of_the_page_cleaner_and_commits() {
        let recording = read(
            "2026-11-22T10:00:01.123456Z 0 [Note] InnoDB: page_cleaner: 1000ms intended loop took 15843ms. The settings might not be optimal. (flushed=1452 and evicted=0, during the time.)\n\
             2026-11-22T10:00:05.123456Z 0 [Note] InnoDB: page_cleaner: 1000ms intended loop took 18720441ms. The settings might not be optimal. (flushed=0 and evicted=0, during the time.)\n\
             2026-11-22T10:00:06.123456Z 0 [Note] InnoDB: Page cleaner took 5632ms to flush 0 and evict 0 pages\n\
             2026-11-22T10:00:09.123456Z 0 [Note] InnoDB: page_cleaner: 1000ms intended loop to\n\
             # Time: 2026-11-22T10:00:10.000000Z\n\
             # Query_time: 2.345000  Lock_time: 0.000000 Rows_sent: 0  Rows_examined: 0\n\
             SET timestamp=1795341610;\n\
             COMMIT;\n\
             # Query_time: 9.000000  Lock_time: 0.000000 Rows_sent: 0  Rows_examined: 0\n\
             SET timestamp=1795341620;\n\
             SELECT 1;\n",
        );
        // The error log bears a time before each line, the slow query log does not.
        let [errors, queries] = &recording.listings[..] else { panic!("{:?}", recording.listings) };
        assert_eq!(
            facts(errors),
            ["flush.slow 1", "flush.slowest 15.843 s", "flush.idle 18720.441 s"]
        );
        assert_eq!(errors.source.skipped, 1);
        assert_eq!(facts(queries), ["commit.slow 1", "commit.slowest 2.345 s"]);
    }
}
