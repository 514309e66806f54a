//! MongoDB's log: long checkpoints and flushes, queries that read from the disk.
//!
//! ## Reads
//! `Checkpoint has been running for 27 seconds and wrote`, `Checkpoint ran for`,
//! `flushing mmaps took 18467ms`, and `Slow query` with the time it spent reading from the disk
//! (`timeReadingMicros`), in the JSON lines of 4.4 and later and in the older text. They become
//! facts: their number, and the longest. Of all slow queries the shares of their time that passed
//! waiting for locks (`timeAcquiringMicros`) and reading become `database.wait_share.*`.
//! `serverStatus was very slow` becomes an operation of the
//! server, with the duration of its last step.
//!
//! ## How to capture
//! `/var/log/mongodb/mongod.log`, `kubectl logs`.
//!
//! ## Versions
//! 2.6 to 8. The times of queries are logged since 4.2.
//!
//! ## Caveats
//! Only queries slower than a limit (100 ms) are logged. A checkpoint that runs is reported several
//! times, so checkpoints are counted by their start. A checkpoint is many writes and may be slow on
//! purpose: its duration is not a latency. `timeReadingMicros` is the sum over all reads of a
//! query. A slow `serverStatus` waits for a CPU, a lock or the storage engine; only one that takes
//! longer than a second is logged.
//!
//! ## Not in this output
//! How many reads a query did, which disk, other I/O on it.

use iowhy_model::{Level, Nanos, Op, typed};

use crate::counters::database_waits::{Awaited, DatabaseWaits};
use crate::describe::log::{Effect, Log, Stamp, says};
use crate::describe::pattern::Found;
use crate::{Format, integer};

pub(super) const FORMAT: Format =
    Format::log("MongoDB's log: long checkpoints and flushes, reads of queries", Level::E, &LOG);

const CHECKPOINT: &[Effect] = &[Effect::Running(typed::CHECKPOINT_COUNT, typed::CHECKPOINT_TOTAL)];
const FLUSH: &[Effect] = &[Effect::Count(typed::FLUSH_SLOW), Effect::Longest(typed::FLUSH_ROUND)];
const STATUS: &[Effect] = &[Effect::EventOf(Op::Other, "serverStatus", last_step)];
const READ: &[Effect] = &[Effect::Longest(typed::QUERY_READ_WAIT), Effect::Waits(waits)];
const WAIT: &[Effect] = &[Effect::Waits(waits)];

static LOG: Log = Log {
    who: "mongodb",
    time: &[Stamp::Json("$date"), Stamp::Front],
    sentences: &[
        says("Checkpoint {has been running for|ran for} {took:s} seconds{*}wrote", CHECKPOINT)
            .like(&[
                "[1588254373:511361][1:0x7f], WT_SESSION.checkpoint: Checkpoint has been running \
                 for 20 seconds and wrote: 41000 pages (1300 MB)",
            ]),
        says("flushing mmaps took {took:ms}ms", FLUSH).like(&[
            "2015-07-02T10:31:08.811+0000 I STORAGE  [DataFileSync] flushing mmaps took 11520ms  \
             for 12 files",
        ]),
        // db/ftdc of MongoDB shows it from 1 s on.
        says("serverStatus was very slow{rest:text}", STATUS)
            .over(Nanos::whole_ms(1_000))
            .like(&[
                "2018-04-23T14:17:08.626+0000 I COMMAND  [ftdc] serverStatus was very slow: { \
                 after basic: 12, after asserts: 22, after wiredTiger: 8560, at end: 8561 }",
            ]),
        says(r#""Slow query"{*}timeReadingMicros":{ }{took:us}"#, READ).like(&[
            r#"{"t":{"$date":"2024-05-01T10:00:00.000+00:00"},"msg":"Slow query","attr":{"storage":{"data":{"bytesRead":1,"timeReadingMicros":4077}}}}"#,
        ]),
        says(" storage:{{ data:{*}timeReadingMicros:{ }{took:us}", READ).like(&[
            "2020-05-01T10:00:00.000+0000 I COMMAND [conn1] command a.b storage:{ data: { \
             bytesRead: 1, timeReadingMicros: 4077 } }",
        ]),
        says(r#""Slow query"{*}timeAcquiringMicros":{ }{{"#, WAIT).like(&[
            r#"{"t":{"$date":"2024-05-01T10:00:00.000+00:00"},"msg":"Slow query","attr":{"locks":{"Global":{"timeAcquiringMicros":{"w":113092}}},"durationMillis":114}}"#,
        ]),
        says(" locks:{{{*}timeAcquiringMicros: {{", WAIT).like(&[
            "2020-05-01T10:00:00.000+0000 I COMMAND [conn1] command a.b locks:{ Database: { \
             timeAcquiringMicros: { r: 4077 } } } protocol:op_msg 105ms",
        ]),
    ],
    cut: &["flushing mmaps took"],
    ..Log::NEW
};

/// Time at the end of the last step that is named: `{ after basic: 12, ..., at end: 8560 }` in ms,
/// in JSON with quotation marks and without blanks.
fn last_step(text: &str) -> Option<Nanos> {
    let steps = text.match_indices([',', '}']).filter_map(|(end, _)| {
        let (label, value) = text.get(..end)?.rsplit_once(':')?;
        let label = label.trim_end_matches(['"', '\\']);
        let step = label.rsplit([',', '{', '"']).next()?.trim();
        let named = step.starts_with("after ") || step == "at end";
        integer(value.trim()).filter(|_| named)
    });
    steps.max().map(|ms| Nanos::from_ms(ms as f64))
}

/// Adds the time of a slow query: in waits for locks, in reads, and the rest.
fn waits(found: &Found, waits: &mut DatabaseWaits) {
    let line = found.line().trim_end();
    let after = |text: &'static str| line.split(text).skip(1);
    let leading = |text: &str| {
        let digits = text.trim_start_matches(|c: char| !c.is_ascii_digit() && c != '}');
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        integer(&digits[..end])
    };
    let last = line.rsplit(' ').next().and_then(|word| word.strip_suffix("ms"));
    let behind = after(" protocol:op_").find_map(|text| text.split_whitespace().nth(1));
    let last = last.or(behind.and_then(|word| word.split("ms").next()));
    let took_ms = after("\"durationMillis\":").find_map(leading).or(last.and_then(integer));
    let Some(took_us) = took_ms.map(|ms| ms as f64 * 1e3) else { return };
    // A number for each mode in which a lock was taken: `timeAcquiringMicros: { r: 12, w: 7 }`.
    let modes = after("timeAcquiringMicros").filter_map(|text| {
        let (_, modes) = text.split_at(text.find('{').filter(|at| *at < 5)?);
        let each = modes.split('}').next()?.split(',').filter_map(leading);
        Some(each.map(|us| us as f64).sum::<f64>())
    });
    let locks_us = modes.sum::<f64>().min(took_us);
    let reads = after("timeReadingMicros").filter_map(leading).map(|us| us as f64);
    let reads_us = reads.sum::<f64>().min(took_us - locks_us);
    let rest_us = took_us - locks_us - reads_us;
    waits.time(Awaited::Lock, "timeAcquiringMicros", locks_us / 1e6, 1);
    waits.time(Awaited::Read, "timeReadingMicros", reads_us / 1e6, 1);
    waits.time(Awaited::Other, "rest of the slow queries", rest_us / 1e6, 0);
}
