//! Oracle's extended SQL trace, event 10046: every wait of a session with its time.
//!
//! ## Reads
//! Lines `WAIT #4: nam='db file sequential read' ela= 5963 ... tim=1343398091083450`. Each wait is
//! an event of the application that ends at `tim` and began `ela` before; its name is used as the
//! device, so that each kind of wait has its own statistics. Everything else in the trace file
//! (cursors, binds, statements, calls) is ignored.
//!
//! ## How to capture
//! `alter session set events '10046 trace name context forever, level 8'`, the trace file under
//! `user_dump_dest`; PyLatencyMap's `10046_connector.py` reads the same lines.
//!
//! ## Versions
//! Oracle 9i and later, where both times are microseconds; 8i wrote hundredths of a second, which
//! cannot be distinguished. Older releases write `p1= p2= p3=` for `file#= block#= blocks=`.
//!
//! ## Caveats
//! `tim` is when the wait was written, microseconds after its end. Idle waits
//! (`SQL*Net message from client` and similar) are time of the client: they are ignored, and
//! counted in a note. `ela= 0` is a wait too short for the clock. The operation is taken from the
//! name: `read` and `write`; all else, from locks to latches, is `other`. `direct path read` waits
//! only for the rest of an asynchronous read. A wait without `tim` is placed at the zero of the
//! listing: its duration is right, its time is not.
//!
//! ## Not in this output
//! The size of an I/O: `blocks` counts database blocks of unknown size. The disk of a data file.
//! Whether a wait was for storage or for a busy CPU.

use iowhy_model::DeviceId;

use crate::program::*;
use crate::text::recent::RecentNames;

pub(super) const FORMAT: Format = Format::by_line::<Oracle10046>(
    "Oracle's extended SQL trace (event 10046): every wait",
    Level::C,
    &["WAIT #"],
    |line| wait(line).is_some(),
);

/// Waits for the client or for work, not for anything that is slow (the wait class `Idle` of
/// `v$event_name`, those of foreground and the busiest background processes).
const IDLE: [&str; 8] = [
    "SQL*Net message from client", "SQL*Net more data from client", "jobq slave wait", "pipe get",
    "rdbms ipc message", "smon timer", "pmon timer", "PX Deq: Execution Msg",
];
/// Lines of a trace file that may occur between waits.
const BETWEEN: [&str; 22] = [
    "PARSE ", "PARSING ", "EXEC ", "FETCH ", "STAT ", "CLOSE ", "BINDS ", "UNMAP ", "SORT ",
    "XCTEND ", "RPC ", "ERROR ", "LOBREAD:", "LOBGETLEN:", "LOBWRITE:", "LOBPGSIZE:",
    "LOBTMPCREATE:", "LOBTMPFRE:", "Bind#", "END OF STMT", "***", "====",
];
/// A wait longer than this, a month, is a damaged line.
const LONGEST_US: u64 = 2_678_400_000_000;

/// One wait.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Wait<'a> {
    name: &'a str,
    ela_us: u64,
    tim_us: Option<i64>,
}

fn wait(line: &str) -> Option<Wait<'_>> {
    let rest = line.trim_start().strip_prefix("WAIT #")?;
    let (cursor, rest) = rest.split_once(':')?;
    integer(cursor)?;
    let rest = rest.trim_start();
    let rest = rest.strip_prefix("nam='").or_else(|| rest.strip_prefix("name='"))?;
    let (name, rest) = rest.split_once('\'')?;
    let ela = field(rest, "ela=")?;
    let tim_us = field(rest, "tim=").and_then(|tim| i64::try_from(tim).ok());
    let tim_us = tim_us.filter(|tim| *tim < i64::MAX / 1_000);
    (ela <= LONGEST_US).then_some(Wait { name, ela_us: ela, tim_us })
}

/// The number after `key`; Oracle puts a blank between them now and then.
fn field(text: &str, key: &str) -> Option<u64> {
    let (_, rest) = text.split_once(key)?;
    integer(rest.trim_start().split(' ').next()?)
}

/// What a wait is for, by its name.
fn op(name: &str) -> Op {
    match name {
        "log file sync" | "log file parallel write" => Op::Write,
        name if name.contains("read") && !name.contains("thread") => Op::Read,
        name if name.contains("write") => Op::Write,
        _ => Op::Other,
    }
}

#[derive(Default)]
struct Oracle10046 {
    device: RecentNames<DeviceId>,
    /// Inside the text of a statement.
    statement: bool,
    idle: u64,
}

impl Reader for Oracle10046 {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if let Some(wait) = wait(line) {
            self.statement = false;
            self.wait(wait, sink);
            return Step::Consumed;
        }
        if line.starts_with("PARSING IN CURSOR") {
            self.statement = true;
        } else if line.starts_with("END OF STMT") {
            self.statement = false;
        } else if line.starts_with("WAIT #") {
            return Step::skipped("a wait without a name or an elapsed time");
        } else if !self.statement
            && !line.starts_with([' ', '\t'])
            && !line.is_empty()
            && !BETWEEN.iter().any(|beginning| line.starts_with(beginning))
        {
            return Step::NotMine;
        }
        Step::Consumed
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        if self.idle > 0 {
            sink.note(note(format!("{} idle waits were ignored", self.idle)));
        }
    }
}

impl Oracle10046 {
    fn wait(&mut self, wait: Wait, sink: &mut dyn Sink) {
        if IDLE.contains(&wait.name) {
            self.idle += 1;
            return;
        }
        sink.source().resolution = Some(Nanos(1_000));
        let device = self.device.get(wait.name, |name| sink.device(name));
        let mut event = Event::new(device, op(wait.name), Layer::Application);
        let ela = Nanos(i64::try_from(wait.ela_us * 1_000).unwrap_or(i64::MAX));
        // Without a time the wait is put at the zero of the listing, so that its length is kept.
        let end = Time::from_ns(wait.tim_us.map_or(ela.ns(), |us| us * 1_000));
        event.completed = Some(end);
        event.queued = Some(end - ela);
        sink.event(event);
    }
}
