//! Server logs with messages about slow I/O: Hadoop, Elasticsearch, Cassandra, Oracle, ESENT, ...
//!
//! ## Reads
//! One message of each, anywhere in the line:
//! `Slow BlockReceiver write data to disk cost:3102ms (threshold=300ms)` and
//! `Slow flushOrSync took 4016ms` (HDFS), `Slow sync cost: 345 ms, current pipeline:` (HBase),
//! `health check of [PATH] took [5806ms] which is above the warn threshold of [5s]` and
//! `writing cluster state took [14207ms]` (Elasticsearch, OpenSearch),
//! `too long WAL write: 1 rows at LSN 55: 0.523 sec` (Tarantool),
//! `Slow SQL (started: ...) (total time: 5.16s)` (k3s without etcd), `Slow read, event 2: read
//! 679986 bytes in 2.89 sec.` (ClickHouse), `unable to write+read for 31.1s` (MinIO),
//! `Warning: log write elapsed time 5120ms, size 12KB` (Oracle),
//! `A request to write to the file "F" ... took an abnormally long time (36 seconds)` (ESENT). Each
//! becomes an operation of the server.
//! `Out of 72 commit log syncs over the past 76.78s with average duration of 206.57ms` (Cassandra)
//! becomes an average. `Slow BlockReceiver write packet to mirror took 3326ms` and the like (HDFS)
//! wait for another server: they are counted, with the longest (`replica.slow`). A list of such
//! messages with their counts (`sort | uniq -c`) is read too. `now throttling indexing`
//! (Elasticsearch) counts as a slowdown by the program (`stall.slowed`). Of `[gc][30] overhead,
//! spent [18.4s] collecting in the last [18.9s]` (Elasticsearch, OpenSearch) the largest share is
//! `jvm.gc_share` and the sum of the times `jvm.gc_time`: meanwhile the program waits for no disk.
//! `WAL checkpoint complete ... duration=28m55s` (Prometheus) adds to `checkpoint.count` and
//! `checkpoint.total`.
//!
//! ## How to capture
//! The servers' logs and `kubectl logs` of their pods; the event log of Windows.
//!
//! ## Versions
//! Hadoop 2.6 to 3.3, HBase 1.0 to 2.5, Elasticsearch 7.9 to 8, OpenSearch 1 and 2, Cassandra 2.1
//! to 4, Tarantool 1.6 to 2, Oracle 10 to 19, Windows 7 and later, k3s 1.25 to 1.33, ClickHouse 20,
//! MinIO 2023, Prometheus 2.
//!
//! ## Caveats
//! Only operations slower than a limit are logged, so the mean of logged operations is not a mean
//! of all; the fact `trace.threshold` has the lowest limit. Cassandra's average is since the first
//! late sync. A pause of the garbage collector looks the same; Elasticsearch reports its own where
//! it took a quarter of the time or more (its default). HBase syncs through a pipeline of three
//! machines: the time includes the network and the slowest of them. ESENT's bound is not
//! documented: 10 s is assumed, and the shortest seen was 28 s. A suspended machine logs hours:
//! durations above one hour are ignored.
//!
//! ## Not in this output
//! The number of fast operations (except Cassandra), the disk of a path, other I/O on it.

use iowhy_model::{Interval, Layer, Level, Nanos, Op, Rates, Sink, typed};

use crate::Format;
use crate::describe::log::{Effect, Log, says};
use crate::describe::pattern::Found;

pub(super) const FORMAT: Format = Format::log(
    "logs of servers: HDFS, Elasticsearch, Cassandra and others, of slow I/O",
    Level::C,
    &LOG,
);

const WRITE: &[Effect] = &[Effect::Event(Op::Write, "write")];
/// The line itself shows whether it was read or written.
const NAMED: &[Effect] = &[Effect::Event(Op::Other, "request")];
const SYNC: &[Effect] = &[Effect::Event(Op::Flush, "flush or sync")];
const SYNC_OF_LOG: &[Effect] = &[Effect::Event(Op::Flush, "sync of the write-ahead log")];
const CHECK: &[Effect] = &[Effect::Event(Op::Flush, "health check of the data folder")];
const STATE: &[Effect] = &[Effect::Event(Op::Flush, "write of the cluster's state")];
const WAL: &[Effect] = &[Effect::Event(Op::Write, "write of the write-ahead log")];
const LOG_WRITE: &[Effect] = &[Effect::Event(Op::Write, "log write")];
const STATEMENT: &[Effect] = &[Effect::Event(Op::Other, "statement of the database")];
const READ: &[Effect] = &[Effect::Event(Op::Read, "read")];
const PROBE: &[Effect] = &[Effect::Event(Op::Other, "write and read to test the drive")];
const CHECKPOINT: &[Effect] =
    &[Effect::Count(typed::CHECKPOINT_COUNT), Effect::Total(typed::CHECKPOINT_TOTAL, "took")];
const CACHE: &[Effect] = &[Effect::Event(Op::Other, "write-out of the page cache")];
const REPLICA: &[Effect] =
    &[Effect::Count(typed::REPLICA_SLOW), Effect::Longest(typed::REPLICA_SLOWEST)];
const REPLICAS: &[Effect] = &[Effect::Add(typed::REPLICA_SLOW)];
const LOCAL: &[Effect] = &[Effect::Add(typed::IO_SLOW)];
const THROTTLED: &[Effect] = &[Effect::Count(typed::STALL_SLOWED)];
const COLLECTED: &[Effect] =
    &[Effect::LargestOf(typed::JVM_GC_SHARE), Effect::Total(typed::JVM_GC_TIME, "took")];
const MEAN: &[Effect] = &[Effect::Call(mean)];

/// DataNode's BlockReceiver.java, HBase's FSHLog.java, Elasticsearch's FsHealthService.java and
/// PersistedClusterStateService.java, JvmGcMonitorService.java, Tarantool's txn.c, messages of
/// kcrf.c and of ESENT.
static LOG: Log = Log {
    who: "server",
    sentences: &[
        says("Slow BlockReceiver {*}write data to disk cost:{took:ms}ms (threshold=", WRITE)
            .of("hdfs")
            .over(Nanos::whole_ms(300))
            .like(&[
                "WARN datanode.DataNode: Slow BlockReceiver write data to disk cost:3102ms \
                 (threshold=300ms)",
            ]),
        says("Slow {*}flushOrSync took {took:ms}ms (threshold=", SYNC)
            .of("hdfs")
            .over(Nanos::whole_ms(300))
            .like(&["Slow flushOrSync took 4016ms (threshold=300ms), isSync:false, "]),
        says("Slow manageWriterOsCache took {took:ms}ms (threshold=", CACHE)
            .of("hdfs")
            .over(Nanos::whole_ms(300))
            .like(&["Slow manageWriterOsCache took 512ms (threshold=300ms)"]),
        // A wait for another machine of the pipeline.
        says(
            "Slow BlockReceiver write packet to mirror took {took:ms}ms (threshold=",
            REPLICA,
        )
        .like(&["WARN datanode.DataNode: Slow BlockReceiver write packet to mirror took 3326ms \
                 (threshold=300ms)"]),
        says("Slow PacketResponder send ack to upstream took {took:ms}ms (threshold=", REPLICA)
            .like(&["Slow PacketResponder send ack to upstream took 402ms (threshold=300ms), \
                     PacketResponder: x"]),
        says("Slow ReadProcessor read fields took {took:ms}ms (threshold=", REPLICA).like(&[
            "WARN hdfs.DFSClient: Slow ReadProcessor read fields took 31274ms (threshold=30000ms); \
             ack: seqno: 9",
        ]),
        says(
            "^{ }{n:u} Slow {BlockReceiver write packet to mirror|PacketResponder send ack to \
             upstream|ReadProcessor read fields} {took|cost}$",
            REPLICAS,
        )
        .like(&["   3326 Slow BlockReceiver write packet to mirror took"]),
        says(
            "^{ }{n:u} Slow {BlockReceiver write data to disk|flushOrSync|manageWriterOsCache} \
             {took|cost}$",
            LOCAL,
        )
        .like(&["      8 Slow BlockReceiver write data to disk cost"]),
        says("Slow sync {*}cost: {took:ms} ms, current pipeline:", SYNC_OF_LOG)
            .of("hbase")
            .over(Nanos::whole_ms(100))
            .like(&["INFO [sync.1] wal.FSHLog: Slow sync cost: 345 ms, current pipeline: [x]"]),
        says(
            "health check of [{*}] took [{took:ms}ms] which is above the warn threshold of [",
            CHECK,
        )
        .of("elasticsearch")
        .over(Nanos::whole_ms(5_000))
        .like(&[
            "[node-1] health check of [/srv/es/nodes/0] took [6002ms] which is above the warn \
             threshold of [5s]",
        ]),
        says(
            "writing {*}cluster state took [{took:ms}ms] which is above the warn threshold of [",
            STATE,
        )
        .of("elasticsearch")
        .over(Nanos::whole_ms(10_000))
        .like(&[
            "writing full cluster state took [14207ms] which is above the warn threshold of [10s]; \
             wrote",
        ]),
        says("] now throttling indexing: numMergesInFlight=", THROTTLED).like(&[
            "[INFO ][index.engine.internal ] [n1][logs-1][2] now throttling indexing: \
             numMergesInFlight=6, maxNumMerges=5",
        ]),
        says(
            "[gc][{:u}] overhead, spent [{took:time}] collecting in the last [{over:time}]",
            COLLECTED,
        )
        .like(&[
            "[WARN ][o.e.m.j.JvmGcMonitorService] [es-1] [gc][71205] overhead, spent [12.1s] \
             collecting in the last [12.6s]",
            "[INFO ][o.e.m.j.JvmGcMonitorService] [es-1] [gc][71206] overhead, spent [350ms] \
             collecting in the last [1s]",
            "[WARN ][o.e.m.j.JvmGcMonitorService] [es-1] [gc][71300] overhead, spent [1.1m] \
             collecting in the last [1.2m]",
        ]),
        says("too long WAL write: {*}: {took:s} sec", WAL)
            .of("tarantool")
            .over(Nanos::whole_ms(500))
            .like(&["W> too long WAL write: 1 rows at LSN 55: 0.523 sec"]),
        says("Slow SQL (started: {*}) (total time: {took:time}):", STATEMENT)
            .of("kine")
            .over(Nanos::whole_ms(1_000))
            .like(&[
                r#"k3s[2903]: time="2023-06-30T09:56:00Z" level=info msg="Slow SQL (started: 2023-06-30 09:55:55.477825148 +0000 UTC m=+72029.041571689) (total time: 5.162300684s): INSERT INTO kine"#,
            ]),
        says("Slow SQL: {*} duration={took:time} started=", STATEMENT)
            .of("kine")
            .over(Nanos::whole_ms(1_000))
            .like(&[
                r#"time="2026-05-18T12:10:18Z" level=info msg="Slow SQL: SELECT id FROM kine LIMIT 500" duration=1.635096511s started="2026-05-18T12:10:16.805985111Z""#,
            ]),
        says("Slow read, event {*}: read {:u} bytes in {took:s} sec.", READ)
            .of("clickhouse")
            .over(Nanos::whole_ms(1_000))
            .like(&[
                "2020.09.10 10:05:04.037673 [ 123 ] {5418} <Debug> MergeTreeReadPool: Slow read, \
                 event \u{2116}2: read 679986 bytes in 2.893045457 sec., 229.53 KiB/s.",
            ]),
        says("taking drive {*} offline: unable to write+read for {took:time}", PROBE)
            .of("minio")
            .over(Nanos::whole_ms(30_000))
            .like(&[
                "Error: node(127.0.0.1:9000): taking drive /data offline: unable to write+read for \
                 31.141s",
                "taking drive /data offline: unable to write+read for 1m37s",
            ]),
        says(r#""WAL checkpoint complete" first={*} duration={took:time}"#, CHECKPOINT).like(&[
            r#"level=info ts=2020-01-08T08:06:44.537Z caller=head.go:663 component=tsdb msg="WAL checkpoint complete" first=139197 last=139253 duration=28m55.427322072s"#,
        ]),
        says("Warning: log write elapsed time {took:ms}ms, size ", LOG_WRITE)
            .of("oracle")
            .over(Nanos::whole_ms(500))
            .like(&["Warning: log write elapsed time 5120ms, size 12KB"]),
        says(
            "A request to {what:op} {from|to} the file{*}took an abnormally long time ({took:s} \
             seconds) to be serviced by the OS",
            NAMED,
        )
        .of("esent")
        .over(Nanos::whole_ms(10_000))
        .like(&[
            r#"svchost (5092) X: A request to read from the file "C:\a.edb" at offset 1 (0x01) for 4096 (0x1000) bytes succeeded, but took an abnormally long time (15 seconds) to be serviced by the OS."#,
            r#"svchost (5092) X: A request to write to the file "C:\a.log" at offset 1 (0x01) for 4096 (0x1000) bytes succeeded, but took an abnormally long time (36 seconds) to be serviced by the OS."#,
        ]),
        says(
            "Out of {n:u} commit log syncs over the past {over:s}s with average duration of \
             {mean:ms}ms, ",
            MEAN,
        )
        .like(&[
            "WARN  [PERIODIC-COMMIT-LOG-SYNCER] 2020-11-02 11:20:24,835 NoSpamLogger.java:94 - Out \
             of 72 commit log syncs over the past 36.00s with average duration of 206.57ms, 2 have \
             exceeded the configured commit interval by an average of 966.04ms",
        ]),
    ],
    longest: Nanos::whole_ms(3_600_000),
    ..Log::NEW
};

/// What Cassandra reports of the syncs of its commit log. Of one sync, or where the time was
/// rounded away, a mean is all there is.
fn mean(found: &Found, sink: &mut dyn Sink) -> Option<()> {
    let (count, over, mean) = (found.count("n")?, found.time("over")?, found.time("mean")?);
    let mut interval = Interval::new(sink.device("cassandra"), Layer::Application);
    let await_ns = Some(mean.0 as f64).filter(|ns| *ns > 0.0);
    if count > 0 && over.0 > 0 {
        interval.length = Some(over);
        let ios_per_s = count as f64 / over.seconds();
        let rates = Rates { ios_per_s, merges_per_s: None, bytes_per_s: None, await_ns };
        interval.rates.push((Op::Flush, rates));
    } else {
        interval.await_ns = await_ns;
    }
    sink.interval(interval);
    Some(())
}
