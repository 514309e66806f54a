//! Logs of servers that complain of I/O that took too long: Hadoop, HBase, Elasticsearch, OpenSearch, Cassandra,
//! Tarantool, Oracle's log writer, Windows' ESENT.
//!
//! ## Reads
//! One sentence of each, wherever it stands in the line:
//! `Slow BlockReceiver write data to disk cost:3102ms (threshold=300ms)` and `Slow flushOrSync took 4016ms` (HDFS),
//! `Slow sync cost: 345 ms, current pipeline:` (HBase),
//! `health check of [PATH] took [5806ms] which is above the warn threshold of [5s]` and `writing cluster state took [14207ms]`
//! (Elasticsearch, OpenSearch), `too long WAL write: 1 rows at LSN 55: 0.523 sec` (Tarantool),
//! `Warning: log write elapsed time 5120ms, size 12KB` (Oracle), `A request to write to the file "F" ... took an abnormally long
//! time (36 seconds)` (ESENT). Each becomes an operation of the server. `Out of 72 commit log syncs over the past 76.78s with average
//! duration of 206.57ms` (Cassandra) becomes an average.
//!
//! ## Where it comes from
//! The servers' logs and `kubectl logs` of their pods; the event log of Windows.
//!
//! ## Versions
//! Hadoop 2.6 to 3.3, HBase 1.0 to 2.5, Elasticsearch 7.9 to 8, OpenSearch 1 and 2, Cassandra 2.1 to 4, Tarantool 1.6 to 2,
//! Oracle 10 to 19, Windows 7 and later.
//!
//! ## Traps
//! Only what took longer than a bound is logged, so the mean of what is logged is no mean; the fact `trace.threshold` has the
//! least bound. Cassandra's average counts since the first late sync. A pause of the garbage collector looks the same. HBase
//! syncs through a pipeline of three machines: network and the slowest of them. ESENT's bound is not documented: 10 s is taken, and the
//! shortest seen was 28 s. A machine that slept logs hours: more than one is left out.
//!
//! ## Cannot know
//! How many operations were quick (Cassandra tells), the disk behind a path, what else used it. Whether whole lines are missing:
//! they bear no numbers.

use iowhy_model::{Interval, Layer, Level, Nanos, Op, Sink};

use crate::counters::slow_log::{SlowLog, moment};
use crate::counters::stated::rates;
use crate::{Format, Reader, Sniff, Step, decimal, integer};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "server-log",
    summary: "logs of servers: HDFS, Elasticsearch, Cassandra and others, of slow I/O",
    manual: iowhy_model::manual!("server_log.rs"),
    level: Level::C,
    sniff: |lines| {
        let first = lines.first().copied().unwrap_or_default();
        // The time in front is the line's own: without it the line begins with a word.
        let whole = first.starts_with(|c: char| c.is_ascii_digit() || c == '[' || c == '{');
        let begins = |(sentence, _): (&Sentence, f64)| whole || !sentence.is_timed;
        Sniff::from(slow(first).is_some_and(begins) || Syncs::of(first).is_some())
    },
    reader: || Box::new(ServerLog::default()),
};

/// What a server writes of one operation.
struct Sentence {
    server: &'static str,
    what: &'static str,
    op: Op,
    /// What stands somewhere before the time, right before it, and behind it.
    marker: &'static str,
    before: &'static str,
    after: &'static str,
    unit_ns: f64,
    /// Whether its lines begin with their time.
    is_timed: bool,
    /// From when on it is logged unless somebody set another bound, us.
    logged_us: u64,
}

const MS: f64 = 1e6;
const SECOND: f64 = 1e9;
/// More than this is the time that a machine slept, ns: an hour.
const SLEPT_NS: f64 = 3600.0 * SECOND;

/// The sentences (DataNode's BlockReceiver.java, HBase's FSHLog.java, Elasticsearch's FsHealthService.java and
/// PersistedClusterStateService.java, Tarantool's txn.c, messages of kcrf.c and of ESENT).
const SENTENCES: [Sentence; 9] = [
    Sentence {
        server: "hdfs",
        what: "write",
        op: Op::Write,
        marker: "Slow BlockReceiver",
        before: "write data to disk cost:",
        after: "ms (threshold=",
        unit_ns: MS,
        is_timed: true,
        logged_us: 300_000,
    },
    Sentence {
        server: "hdfs",
        what: "flush or sync",
        op: Op::Flush,
        marker: "Slow",
        before: "flushOrSync took ",
        after: "ms (threshold=",
        unit_ns: MS,
        is_timed: true,
        logged_us: 300_000,
    },
    Sentence {
        server: "hbase",
        what: "sync of the write-ahead log",
        op: Op::Flush,
        marker: "Slow sync",
        before: "cost: ",
        after: " ms, current pipeline:",
        unit_ns: MS,
        is_timed: true,
        logged_us: 100_000,
    },
    Sentence {
        server: "elasticsearch",
        what: "health check of the data folder",
        op: Op::Flush,
        marker: "health check of [",
        before: "] took [",
        after: "ms] which is above the warn threshold of [",
        unit_ns: MS,
        is_timed: true,
        logged_us: 5_000_000,
    },
    Sentence {
        server: "elasticsearch",
        what: "write of the cluster's state",
        op: Op::Flush,
        marker: "writing ",
        before: "cluster state took [",
        after: "ms] which is above the warn threshold of [",
        unit_ns: MS,
        is_timed: true,
        logged_us: 10_000_000,
    },
    Sentence {
        server: "tarantool",
        what: "write of the write-ahead log",
        op: Op::Write,
        marker: "too long WAL write: ",
        before: ": ",
        after: " sec",
        unit_ns: SECOND,
        is_timed: false,
        logged_us: 500_000,
    },
    Sentence {
        server: "oracle",
        what: "log write",
        op: Op::Write,
        marker: "Warning: ",
        before: "log write elapsed time ",
        after: "ms, size ",
        unit_ns: MS,
        is_timed: false,
        logged_us: 500_000,
    },
    Sentence {
        server: "esent",
        what: "read",
        op: Op::Read,
        marker: "A request to read from the file",
        before: "took an abnormally long time (",
        after: " seconds) to be serviced by the OS",
        unit_ns: SECOND,
        is_timed: false,
        logged_us: 10_000_000,
    },
    Sentence {
        server: "esent",
        what: "write",
        op: Op::Write,
        marker: "A request to write to the file",
        before: "took an abnormally long time (",
        after: " seconds) to be serviced by the OS",
        unit_ns: SECOND,
        is_timed: false,
        logged_us: 10_000_000,
    },
];

/// The sentence in a line, and how long the operation took, ns.
fn slow(line: &str) -> Option<(&'static Sentence, f64)> {
    SENTENCES.iter().find_map(|sentence| {
        let (_, rest) = line.split_once(sentence.marker)?;
        let (head, _) = rest.split_once(sentence.after)?;
        let (_, number) = head.rsplit_once(sentence.before)?;
        let took = decimal(number).filter(|took| *took >= 0.0)?;
        Some((sentence, took * sentence.unit_ns))
    })
}

/// What Cassandra says of the syncs of its commit log.
struct Syncs {
    count: u64,
    seconds: f64,
    mean_ns: f64,
}

impl Syncs {
    /// `Out of 72 commit log syncs over the past 76.78s with average duration of 206.57ms, 2 have exceeded`.
    fn of(line: &str) -> Option<Syncs> {
        let (_, rest) = line.split_once("Out of ")?;
        let (count, rest) = rest.split_once(" commit log syncs over the past ")?;
        let (seconds, rest) = rest.split_once("s with average duration of ")?;
        let (mean, _) = rest.split_once("ms, ")?;
        let number = |text: &str| decimal(&text.replace(',', ".")).filter(|value| *value >= 0.0);
        Some(Syncs {
            count: integer(count)?,
            seconds: number(seconds)?,
            mean_ns: number(mean)? * MS,
        })
    }
}

#[derive(Default)]
struct ServerLog {
    slow: SlowLog,
    /// The least bound of what was logged, us.
    logged_us: Option<u64>,
}

impl Reader for ServerLog {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if let Some(syncs) = Syncs::of(line) {
            let device = sink.device("cassandra");
            let mut interval = Interval::new(device, Layer::Application);
            interval.length = Some(Nanos::from_seconds(syncs.seconds));
            let per_s = syncs.count as f64 / syncs.seconds;
            let known = Some(per_s).filter(|per_s| per_s.is_finite());
            let known = rates(known, None, Some(syncs.mean_ns));
            if known.is_none() {
                // One sync, or the time was rounded away: a mean is all there is.
                (interval.length, interval.await_ns) = (None, Some(syncs.mean_ns));
            }
            interval.rates.extend(known.map(|rates| (Op::Flush, rates)));
            sink.interval(interval);
            return Step::Took;
        }
        let Some((sentence, ns)) = slow(line) else { return Step::Passed };
        if ns > SLEPT_NS {
            return Step::Skipped("it took more than an hour: the machine slept".to_string());
        }
        let known = (sentence.server, sentence.op, sentence.what);
        self.slow.take(known, ns as u64, moment(line), sink);
        let least = self.logged_us.map_or(sentence.logged_us, |us| us.min(sentence.logged_us));
        self.logged_us = Some(least);
        Step::Took
    }

    fn resumes(&self) -> bool {
        true
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.slow.state_flushes(sink);
        if let Some(us) = self.logged_us {
            self.slow.state_threshold(us, sink);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::recorded;

    #[test]
    fn each_sentence_is_known_by_its_number() {
        for (line, server, seconds) in [
            (
                "WARN datanode.DataNode: Slow BlockReceiver write data to disk cost:3102ms (threshold=300ms)",
                "hdfs",
                3.102,
            ),
            ("Slow flushOrSync took 4016ms (threshold=300ms), isSync:false, ", "hdfs", 4.016),
            (
                "INFO [sync.1] wal.FSHLog: Slow sync cost: 345 ms, current pipeline: [x]",
                "hbase",
                0.345,
            ),
            (
                "[node-1] health check of [/srv/es/nodes/0] took [6002ms] which is above the warn threshold of [5s]",
                "elasticsearch",
                6.002,
            ),
            (
                "writing full cluster state took [14207ms] which is above the warn threshold of [10s]; wrote",
                "elasticsearch",
                14.207,
            ),
            ("W> too long WAL write: 1 rows at LSN 55: 0.523 sec", "tarantool", 0.523),
            ("Warning: log write elapsed time 5120ms, size 12KB", "oracle", 5.12),
            (
                "svchost (5092) X: A request to write to the file \"C:\\a.log\" at offset 1 (0x01) for 4096 (0x1000) bytes \
                 succeeded, but took an abnormally long time (36 seconds) to be serviced by the OS.",
                "esent",
                36.0,
            ),
        ] {
            let (sentence, ns) = slow(line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!((sentence.server, ns / SECOND), (server, seconds), "{line}");
        }
        for other in [
            "LOG.warn(\"Slow BlockReceiver write data to disk cost:\" + duration + \"ms (threshold=\"",
            "took an abnormally long time (36 seconds) to be serviced by the OS",
            "Slow BlockReceiver write packet to mirror took 1534ms (threshold=300ms)",
        ] {
            assert!(slow(other).is_none(), "{other}");
        }
    }

    #[test]
    fn the_time_is_that_of_the_line() {
        let later = |line: &str, then: &str| moment(then)?.since(moment(line)?);
        let hdfs =
            "2023-08-15 02:02:40,008 WARN org.apache.hadoop.hdfs.server.datanode.DataNode: Slow";
        assert_eq!(later(hdfs, &hdfs.replace("40,008", "41,508")), Some(1.5));
        let pod = "[pod/indexer-0/indexer] [2026-02-12T21:51:51,711][WARN ][o.o.m.f.FsHealthService  ] [n] health";
        assert_eq!(later(pod, &pod.replace("51,711", "54,211")), Some(2.5));
        assert_eq!(moment("WARN datanode.DataNode: Slow flushOrSync"), None);
    }

    #[test]
    fn an_average_is_one_and_what_is_slow_has_its_bound() {
        let recording = recorded(
            "WARN  [PERIODIC-COMMIT-LOG-SYNCER] 2020-11-02 11:20:24,835 NoSpamLogger.java:94 - Out of 72 commit log syncs over \
             the past 36.00s with average duration of 206.57ms, 2 have exceeded the configured commit interval by an average of 966.04ms\n\
             [2026-02-12T21:51:51,711][WARN ][o.o.m.f.FsHealthService  ] [n] health check of [/v] took [5806ms] which is above the \
             warn threshold of [5s]\n\
             [2026-02-12T21:52:51,711][WARN ][o.o.m.f.FsHealthService  ] [n] health check of [/v] took [9000000ms] which is above the \
             warn threshold of [5s]\n",
        );
        let listing = &recording.listings[0];
        let flushes = listing.intervals[0].of(Op::Flush).unwrap();
        assert_eq!((flushes.ios_per_s, flushes.await_ns), (2.0, Some(206.57e6)));
        assert_eq!((listing.events.len(), listing.source.skipped), (1, 1));
        let bound = listing.facts.iter().find(|fact| fact.key.name() == "trace.threshold");
        assert!(bound.is_some_and(|fact| fact.value.to_string() == "5 s"), "{:?}", listing.facts);
    }
}
