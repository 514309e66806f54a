//! etcd's log: slow fdatasync of its write-ahead log, slow applies, late heartbeats.
//!
//! ## Reads
//! `slow fdatasync` with `took`, `apply request took too long`, `wal: sync duration of 1.2s,
//! expected less than 1s`, `took too long (1.2s) to execute`, `apply entries took too long [1.2s
//! for 3 entries]`, `failed to send out heartbeat on time`, in the JSON lines of etcd 3.4 and later
//! and in the older text. Each slow sync becomes a flush, each slow apply an operation of the
//! application.
//!
//! ## How to capture
//! `journalctl -u etcd`, `kubectl logs -n kube-system etcd-NODE`.
//!
//! ## Versions
//! etcd 2 to 3.6; microk8s' and k3s' embedded etcd alike.
//!
//! ## Caveats
//! Only operations slower than a limit are logged (1 s for a sync, 100 ms for an apply): the mean
//! of logged operations is not a mean of all, which the fact `trace.threshold` records. A late
//! heartbeat may be caused by a slow disk or CPU starvation. An apply includes reads from memory,
//! locks and the network.
//!
//! ## Not in this output
//! The number of fast syncs; the disk; other I/O on it.

use iowhy_model::{Level, Nanos, Op, typed};

use crate::Format;
use crate::describe::log::{Effect, Log, Stamp, says};

pub(super) const FORMAT: Format =
    Format::log("etcd's log: slow fdatasync, slow applies, late heartbeats", Level::C, &LOG);

const SYNC: &[Effect] = &[Effect::Event(Op::Flush, "fdatasync")];
const APPLY: &[Effect] = &[Effect::Event(Op::Other, "apply")];
const LATE: &[Effect] = &[Effect::Count(typed::ETCD_LATE_HEARTBEATS)];

static LOG: Log = Log {
    who: "etcd",
    time: &[Stamp::Json("ts"), Stamp::Front],
    sentences: &[
        // etcd 3.4 and later; old JSON has seconds as a number.
        says(r#""slow fdatasync"{*}"took":{ }"{took:time}""#, SYNC).like(&[
            r#"{"level":"warn","ts":"2026-02-11T10:00:01.2Z","caller":"wal/wal.go:783","msg":"slow fdatasync","took":"1.207s","expected-duration":"1s"}"#,
        ]),
        says(r#""slow fdatasync"{*}"took":{took:s}"#, SYNC).like(&[
            r#"{"level":"warn","ts":"2020-02-11T10:00:01.2Z","msg":"slow fdatasync","took":1.207}"#,
        ]),
        says(r#""apply request took too long"{*}"took":{ }"{took:time}""#, APPLY).like(&[
            r#"{"ts":"2026-04-02T09:12:44.121Z","msg":"apply request took too long","took":"1.790112s"}"#,
        ]),
        says(r#""apply request took too long"{*}"took":{took:s}"#, APPLY).like(&[
            r#"{"ts":"2020-04-02T09:12:44.121Z","msg":"apply request took too long","took":1.79}"#,
        ]),
        // etcd 3.0 to 3.3.
        says("sync duration of {took:time}, expected less than ", SYNC)
            .like(&["2020-02-11 10:00:01.2 W | wal: sync duration of 1.5s, expected less than 1s"]),
        says(" took too long ({took:time}) {*}to execute", APPLY).like(&[
            "etcdserver: read-only range request \"key:\\\"/registry\\\" \" took too long \
             (123.4ms) to execute",
        ]),
        // etcd 2.
        says("apply entries took too long [{took:time} for {:u} entries]", APPLY).like(&[
            "2016-09-28 01:47:46.876082 W | etcdserver: apply entries took too long [99.9ms for 1 \
             entries]",
        ]),
        says("failed to send out heartbeat on time", LATE).like(&[
            "etcdserver: failed to send out heartbeat on time (exceeded the 100ms timeout for \
             23.4ms)",
        ]),
    ],
    cut: &["slow fdatasync"],
    // The least of its limits.
    over: Some(Nanos::whole_ms(100)),
    ..Log::NEW
};
