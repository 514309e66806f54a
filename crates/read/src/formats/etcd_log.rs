//! etcd's log: slow fdatasync of its write-ahead log, slow applies, heartbeats too late.
//!
//! ## Reads
//! `slow fdatasync` with `took`, `apply request took too long`, `wal: sync duration of 1.2s, expected
//! less than 1s`, `took too long (1.2s) to execute`, `apply entries took too long [1.2s for 3 entries]`, `failed to send out heartbeat on time`, in the
//! JSON lines of etcd 3.4 and later and in the older text. Each slow sync becomes a flush, each slow
//! apply an operation of the application.
//!
//! ## Where it comes from
//! `journalctl -u etcd`, `kubectl logs -n kube-system etcd-NODE`.
//!
//! ## Versions
//! etcd 2 to 3.6; microk8s' and k3s' embedded etcd alike.
//!
//! ## Traps
//! Only what took longer than a limit is logged (1 s for a sync, 100 ms for an apply): the mean of
//! what is logged is no mean, and the fact `trace.threshold` says so. A late heartbeat may be a slow
//! disk or a starved processor. An apply holds reads from memory, locks and the network.
//!
//! ## Cannot know
//! How many syncs were quick; the disk behind them; what else used it. Whether whole lines are
//! missing: they bear no numbers.

use iowhy_model::{Level, Op, Sink, typed};

use crate::counters::slow_log::SlowLog;
use crate::facts::AddFact;
use crate::{Format, Reader, Sniff, Step, WallTime, decimal};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "etcd-log",
    summary: "etcd's log: slow fdatasync, slow applies, late heartbeats",
    manual: iowhy_model::manual!("etcd_log.rs"),
    level: Level::C,
    sniff,
    reader: || Box::new(EtcdLog::default()),
};

/// From when on etcd logs an operation, the least of its limits.
const LOGGED_US: u64 = 100_000;

/// The time in front is the line's own, so nothing stands before it.
fn sniff(lines: &[&str]) -> Sniff {
    let whole = |line: &&&str| line.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '{');
    Sniff::from(lines.first().filter(whole).is_some_and(|line| slow(line).is_some()))
}

/// What was slow, and for how long if it says so.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Slow {
    Sync(u64),
    Apply(u64),
    Heartbeat,
}

fn slow(line: &str) -> Option<Slow> {
    // Each says in several words what was slow.
    if !line.contains(' ') {
        return None;
    }
    let after = |text: &str| {
        line.contains(text).then(|| line.split_once(text)).flatten().map(|(_, rest)| rest)
    };
    let took = || {
        let rest = after("\"took\":")?.trim_start();
        // Old JSON has seconds as a number.
        match rest.strip_prefix('"') {
            Some(rest) => duration(rest.split('"').next()?),
            None => decimal(rest.split([',', '}']).next()?).map(|s| (s * 1e9) as u64),
        }
    };
    if line.contains("\"slow fdatasync\"") {
        return took().map(Slow::Sync);
    }
    if let Some(rest) = after("sync duration of ") {
        let known = rest.contains(", expected less than ");
        return duration(rest.split(',').next()?).filter(|_| known).map(Slow::Sync);
    }
    if line.contains("\"apply request took too long\"") {
        return took().map(Slow::Apply);
    }
    if let Some(rest) = after(" took too long (").filter(|rest| rest.contains("to execute")) {
        return duration(rest.split(')').next()?).map(Slow::Apply);
    }
    // etcd 2 and 3.0: `apply entries took too long [99.955703ms for 1 entries]`.
    if let Some(rest) = after("apply entries took too long [") {
        let (time, rest) = rest.split_once(" for ")?;
        return duration(time).filter(|_| rest.contains(" entries]")).map(Slow::Apply);
    }
    let late = line.contains("failed to send out heartbeat on time");
    late.then_some(Slow::Heartbeat)
}

/// Go's durations: `1.207s`, `123.4ms`, `1m2.5s`, in ns.
fn duration(text: &str) -> Option<u64> {
    let (mut rest, mut total) = (text.trim(), 0.0);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
        let (number, after) = rest.split_at_checked(digits)?;
        let letters = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at_checked(letters)?;
        let unit = match unit {
            "ns" => 1.0,
            "us" | "µs" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            "m" => 6e10,
            "h" => 3.6e12,
            _ => return None,
        };
        total += decimal(number)? * unit;
        rest = after;
    }
    (total > 0.0 && total < 8.64e13).then_some(total as u64)
}

/// When the line was written: `"ts":"2026-..."`, or a date in front.
fn moment(line: &str) -> Option<WallTime> {
    if let Some((_, rest)) = line.split_once("\"ts\":\"") {
        return WallTime::read(rest.split('"').next()?);
    }
    let words: Vec<&str> = line.split_whitespace().take(2).collect();
    WallTime::read(&words.join(" "))
}

#[derive(Default)]
struct EtcdLog {
    slow: SlowLog,
    heartbeats: u64,
}

impl Reader for EtcdLog {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let Some(slow) = slow(line) else {
            return match line.contains("slow fdatasync") || line.trim().is_empty() {
                true if !line.trim().is_empty() => {
                    Step::Skipped("the line does not say how long it took".to_string())
                }
                true => Step::Took,
                false => Step::Passed,
            };
        };
        let (op, ns, what) = match slow {
            Slow::Heartbeat => {
                self.heartbeats += 1;
                return Step::Took;
            }
            Slow::Sync(ns) => (Op::Flush, ns, "fdatasync"),
            Slow::Apply(ns) => (Op::Other, ns, "apply"),
        };
        self.slow.take(("etcd", op, what), ns, moment(line), sink);
        Step::Took
    }

    fn resumes(&self) -> bool {
        true
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.slow.state_flushes(sink);
        if self.heartbeats > 0 {
            sink.add_fact(None, typed::ETCD_LATE_HEARTBEATS, self.heartbeats);
        }
        self.slow.state_threshold(LOGGED_US, sink);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_of_both_logs() {
        for (line, known) in [
            (
                "{\"level\":\"warn\",\"ts\":\"2026-02-11T10:00:01.2Z\",\"caller\":\"wal/wal.go:783\",\"msg\":\"slow fdatasync\",\"took\":\"1.207s\",\"expected-duration\":\"1s\"}",
                Slow::Sync(1_207_000_000),
            ),
            (
                "2020-02-11 10:00:01.2 W | wal: sync duration of 1.5s, expected less than 1s",
                Slow::Sync(1_500_000_000),
            ),
            (
                "etcdserver: read-only range request \"key:\\\"/registry\\\" \" took too long (123.4ms) to execute",
                Slow::Apply(123_400_000),
            ),
            (
                "2016-09-28 01:47:46.876082 W | etcdserver: apply entries took too long [99.9ms for 1 entries]",
                Slow::Apply(99_900_000),
            ),
            (
                "etcdserver: failed to send out heartbeat on time (exceeded the 100ms timeout for 23.4ms)",
                Slow::Heartbeat,
            ),
        ] {
            assert_eq!(slow(line), Some(known), "{line}");
        }
        assert_eq!(slow("the sync duration of 5 s was too long"), None);
        assert_eq!(duration("1m2.5s"), Some(62_500_000_000));
        assert_eq!(duration("soon"), None);
    }
}
