//! Redis' log: syncs of the append-only file that took too long.
//!
//! ## Reads
//! `Asynchronous AOF fsync is taking too long (disk is busy?)`, as facts: how often, and the least that the longest took.
//! Other lines of the server are passed over; a log of snapshots and rewrites without a complaint has none.
//!
//! ## Where it comes from
//! `redis-server.log`, the server's stdout; Valkey and KeyDB say the same.
//!
//! ## Versions
//! Redis 2.4 to 8.
//!
//! ## Traps
//! The server writes the line when it has put a write off for two seconds because a sync goes on (`flushAppendOnlyFile` of
//! aof.c), so a sync took two seconds at least. It often meets a rewrite of the file or a snapshot, which writes much at
//! once: then the load comes before the disk.
//!
//! ## Cannot know
//! How long the sync took, how many were quick, the disk behind them. Whether whole lines are missing: they bear no
//! numbers.

use iowhy_model::{Level, Nanos, Sink, typed};

use crate::facts::AddFact;
use crate::{Format, Reader, Sniff, Step};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "redis-log",
    summary: "Redis' log: syncs of the append-only file that took too long",
    manual: iowhy_model::manual!("redis_log.rs"),
    level: Level::E,
    sniff: |lines| {
        Sniff::from(lines.first().is_some_and(|line| is_slow_sync(line) || is_of_saving(line)))
    },
    reader: || Box::new(RedisLog::default()),
};

/// What the server waits before it says so, us.
const LEAST_US: u64 = 2_000_000;

fn is_slow_sync(line: &str) -> bool {
    line.contains("Asynchronous AOF fsync is taking too long (disk is busy?)")
}

/// Whether the server wrote a line: `[2314] 01 Mar 05:50:23 * ...`, `2314:M 01 Mar 2020 05:50:23.118 * ...`.
fn is_of_server(line: &str) -> bool {
    let who = line.split_whitespace().next().unwrap_or_default();
    let pid = match who.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(pid) => pid,
        None => {
            who.split_once(':').map_or("", |(pid, role)| if role.len() == 1 { pid } else { "" })
        }
    };
    !pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether the server tells of a snapshot or of its append-only file.
fn is_of_saving(line: &str) -> bool {
    let about = ["AOF", "append only file", "Background saving", "DB saved on disk"];
    is_of_server(line) && about.iter().any(|words| line.contains(words))
}

#[derive(Default)]
struct RedisLog {
    slow: u64,
}

impl Reader for RedisLog {
    fn line(&mut self, line: &str, _sink: &mut dyn Sink) -> Step {
        if is_slow_sync(line) {
            self.slow += 1;
            return Step::Took;
        }
        if line.trim().is_empty() || is_of_server(line) { Step::Took } else { Step::Passed }
    }

    fn resumes(&self) -> bool {
        true
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        sink.add_fact(None, typed::FLUSH_SLOW, self.slow);
        if self.slow > 0 {
            let least = Nanos::from_us(LEAST_US as f64);
            sink.add_fact(None, typed::FLUSH_SLOWEST_LEAST, least);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_server_and_of_others() {
        for ours in ["[2314] 01 Mar 05:50:23 * x", "2314:M 01 Mar 2020 05:50:23.118 * x"] {
            assert!(is_of_server(ours), "{ours}");
        }
        for other in ["Mar 01 05:50:23 web sshd[2]: x", "[note] x", "12:30 x", ""] {
            assert!(!is_of_server(other), "{other}");
        }
    }
}
