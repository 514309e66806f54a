//! The error log of SQL Server: requests to a file that took longer than 15 s, long checkpoints.
//!
//! ## Reads
//! `SQL Server has encountered 2 occurrence(s) of I/O requests taking longer than 15 seconds to
//! complete on file [D:\data\x.mdf] in database [x] (5).` The occurrences and the bound become
//! facts of the drive of the file (`io.slow`, `io.slowest.least`). `FlushCache: cleaned up 36565
//! bufs with 2714 writes in 70883 ms ... for db 7:0` and the lines below it (`avgWriteLatency 11`)
//! become an average of the checkpoint's writes: their rate and bytes; checkpoints are counted
//! (`checkpoint.count`, `checkpoint.total`, `checkpoint.bytes`).
//!
//! ## How to capture
//! `ERRORLOG`, `sp_readerrorlog`, the event log of Windows.
//!
//! ## Versions
//! SQL Server 2005 to 2022, on Windows and on Linux.
//!
//! ## Caveats
//! The message is printed at most once in five minutes for a file and counts the requests since the
//! previous one. A request may also wait in a filter driver, an anti-virus program, a snapshot or a
//! path that fails over. CPUs whose clocks drift apart (power saving before SQL Server 2008) cause
//! apparent waits of this length. A checkpoint is logged if it was longer than a minute or its
//! target, or with trace flag 3504; buffers have 8 KiB. Its latency (`avgWriteLatency`) is that of
//! its last moments, so it is checked and not kept; SQL Server slows its checkpoint down on purpose
//! when writes get slow.
//!
//! ## Not in this output
//! The real duration of a request; the number of fast ones; the disk of the drive letter; the
//! drive of a checkpoint, of which only the database's number is known.

use crate::describe::log::{Effect, Log, LogReader, Ready, says};
use crate::program::*;
use iowhy_model::typed::Bytes;

pub(super) const FORMAT: Format = Format::by_line::<SqlServerLog>(
    "SQL Server's error log: I/O that took longer than 15 s, checkpoints",
    Level::E,
    &["occurrence(s)", CLEANED],
    |line| Ready::known(&LOG).sniff(&[line]) == Detect::Yes || Checkpoint::of(line).is_some(),
)
.resumed();

const SLOW: &[Effect] = &[Effect::Add(typed::IO_SLOW), Effect::Longest(typed::IO_SLOWEST_LEAST)];

static LOG: Log = Log {
    who: "SQL Server",
    sentences: &[
        says(
            "SQL Server has encountered {n:u} occurrence(s) of I/O requests taking longer than \
             {took:s} seconds to complete on file [{file:folder}]",
            SLOW,
        )
        .like(&[
            r"2008-04-22 16:30:02.140 spid6s SQL Server has encountered 2 occurrence(s) of I/O requests taking longer than 15 seconds to complete on file [D:\data\x.mdf] in database [x] (5).",
        ]),
    ],
    cut: &["occurrence(s) of I/O requests taking longer"],
    ..Log::NEW
};

/// How the first line about a checkpoint begins, behind time and process.
const CLEANED: &str = "FlushCache: cleaned up ";
/// What the lines below it say.
const BELOW: [&str; 3] =
    ["average writes per second:", "average throughput:", "last target outstanding:"];
/// Bytes of a buffer.
const BUFFER: f64 = 8192.0;

/// A checkpoint of a database.
struct Checkpoint {
    buffers: f64,
    writes: f64,
    took: Nanos,
}

impl Checkpoint {
    /// `FlushCache: cleaned up 36565 bufs with 2714 writes in 70883 ms (avoided 123 new dirty bufs)
    /// for db 7:0`.
    fn of(line: &str) -> Option<Checkpoint> {
        let (_, rest) = line.split_once(CLEANED)?;
        let words: Vec<&str> = rest.split_whitespace().collect();
        let [buffers, "bufs", "with", writes, "writes", "in", ms, "ms", ..] = words[..] else {
            return None;
        };
        let took = Nanos::from_ms(integer(ms).filter(|ms| *ms > 0)? as f64);
        let (buffers, writes) = (integer(buffers)? as f64, integer(writes)? as f64);
        Some(Checkpoint { buffers, writes, took })
    }

    fn emit(&self, sink: &mut dyn Sink) {
        let seconds = self.took.seconds();
        let rates = Rates {
            ios_per_s: self.writes / seconds,
            bytes_per_s: Some(self.buffers * BUFFER / seconds),
            ..Rates::default()
        };
        let mut interval = Interval::new(sink.device(LOG.who), Layer::Application);
        interval.length = Some(self.took);
        interval.rates.push((Op::Write, rates));
        sink.interval(interval);
    }
}

struct SqlServerLog {
    log: LogReader,
    /// The checkpoint whose other lines may follow.
    open: Option<Checkpoint>,
    count: u64,
    took: Nanos,
    bytes: f64,
}

impl Default for SqlServerLog {
    fn default() -> SqlServerLog {
        let log = LogReader::of(Ready::known(&LOG));
        SqlServerLog { log, open: None, count: 0, took: Nanos(0), bytes: 0.0 }
    }
}

impl Reader for SqlServerLog {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if line.contains(CLEANED) {
            self.end(sink);
            self.open = Checkpoint::of(line);
            return match self.open {
                Some(_) => Step::Consumed,
                None => Step::skipped("the numbers of the checkpoint cannot be read"),
            };
        }
        if self.open.is_some() && BELOW.iter().any(|words| line.contains(words)) {
            let Some((_, latency)) = line.split_once("avgWriteLatency ") else {
                return Step::Consumed;
            };
            let of_its_end = latency.split_whitespace().next().and_then(decimal);
            return match of_its_end.is_some_and(|ms| ms >= 0.0) {
                true => Step::Consumed,
                false => Step::skipped("the latency of the checkpoint cannot be read"),
            };
        }
        self.log.line(line, sink)
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.end(sink);
        if self.count > 0 {
            sink.add_fact(None, typed::CHECKPOINT_COUNT, self.count);
            sink.add_fact(None, typed::CHECKPOINT_TOTAL, self.took);
            sink.add_fact(None, typed::CHECKPOINT_BYTES, Bytes(self.bytes as u64));
        }
        self.log.finish(sink);
    }
}

impl SqlServerLog {
    /// The checkpoint has no other lines.
    fn end(&mut self, sink: &mut dyn Sink) {
        if let Some(checkpoint) = self.open.take() {
            self.count += 1;
            self.took = Nanos(self.took.0.saturating_add(checkpoint.took.0));
            self.bytes += checkpoint.buffers * BUFFER;
            checkpoint.emit(sink);
        }
    }
}
