//! perf-script: block events of the kernel as perf, trace-cmd or ftrace print them.
//!
//! ## Reads
//! Lines that end in a block event, after any tool's prefix:
//! `fio-1003 [001] d..1. 12.345678: block_rq_issue: 8,16 WS 4096 () 29826448 + 8 none,0,0 [fio]`.
//! Events of one request (bio_queue, getrq, io_start, rq_insert, rq_issue, rq_requeue, merges,
//! split, rq_complete or bio_complete) become one event with its time in the queue and on the
//! device.
//!
//! ## How to capture
//! `perf record -e 'block:block_rq_*' -a` and `perf script`; `trace-cmd record -e block` and
//! `trace-cmd report`; or, without any tool, the file `trace` in /sys/kernel/tracing with
//! `events/block/enable` set to 1. The events to record are block_bio_queue, block_rq_insert,
//! block_rq_issue and block_rq_complete.
//!
//! ## Versions
//! Linux 6.9 added the I/O priority (`none,0,0`) after the length, 6.5 block_io_start and
//! block_io_done. Older kernels lack the byte count of block_rq_issue or print it as 0.
//!
//! ## Caveats
//! perf prints microseconds unless `--ns` was given. A request without insert or queue event has
//! no queue time: most devices without a scheduler receive requests directly. Completions run in
//! interrupts, so the process of a request is the one of its earliest event. Lost events are
//! counted from the tools' own notices and from ftrace's count of entries written and kept.
//!
//! ## Not in this output
//! The queue time where only rq_issue and rq_complete were recorded. Names of devices whose numbers
//! are assigned at boot: they stay `253:0`.

use iowhy_model::{DeviceId, Flags, Name};

use crate::device_of_numbers;
use crate::program::*;
use crate::text::recent::RecentNames;
use crate::trace::pairing::{Action, Pairing, Point};

pub(super) const FORMAT: Format = Format::program::<PerfScript>(
    "block events of perf, trace-cmd or ftrace",
    Level::D,
    &["block_", "# entries-in-buffer/entries-written:"],
    sniff,
);

/// ftrace's head, before the first event of a listing.
const ENTRIES: &str = "# entries-in-buffer/entries-written:";

fn sniff(head: &[&str]) -> Detect {
    let Some((first, rest)) = head.split_first() else { return Detect::No };
    if !first.starts_with(ENTRIES) {
        return EventLine::of(first).is_some().into();
    }
    match rest.iter().find(|line| !line.starts_with('#')) {
        Some(line) => EventLine::of(line).is_some().into(),
        None => Detect::NeedLine,
    }
}

#[derive(Default)]
struct PerfScript {
    pairing: Pairing,
    device: RecentNames<DeviceId>,
    comm: RecentNames<Name>,
    begun: bool,
    /// Completions of requests are recorded, so the end of their accounting is not news.
    completes: bool,
}

impl Reader for PerfScript {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let Some(row) = EventLine::of(line) else { return other(line, sink) };
        if !std::mem::replace(&mut self.begun, true) {
            sink.source().resolution = Some(row.step);
        }
        self.completes |= row.event == "block_rq_complete";
        let Some(action) = action(row.event) else { return Step::Consumed };
        if row.event == "block_io_done" && self.completes {
            return Step::Consumed;
        }
        match self.point(&row, action, sink) {
            Some((action, point)) => {
                self.pairing.take(action, &point, sink);
                Step::Consumed
            }
            None => Step::skipped("the fields are not those of a block event"),
        }
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.pairing.finish(sink);
    }
}

impl PerfScript {
    fn point(
        &mut self,
        row: &EventLine,
        action: Action,
        sink: &mut dyn Sink,
    ) -> Option<(Action, Point)> {
        let (device, rest) = row.fields.split_once(' ')?;
        let name = device_of_numbers(device)?;
        let (rwbs, rest) = rest.split_once(' ')?;
        let (op, flags) = Flags::from_rwbs(rwbs)?;
        // `4096 () `: the length and the command, for passthrough in hexadecimal.
        let (bytes, rest) = match rest.split_once('(') {
            Some((bytes, rest)) if !bytes.contains('[') => {
                (integer(bytes.trim()), rest.split_once(')')?.1)
            }
            _ => (None, rest),
        };
        let mut words = rest.split_ascii_whitespace();
        let sector = integer(words.next()?)?;
        let split = words.next()? == "/";
        let number = integer(words.next()?)?;
        let bracket = rest.split_once('[').and_then(|(_, text)| text.rsplit_once(']'));
        let bracket = bracket.map_or("", |(inside, _)| inside);
        let action = if split { Action::Split(number) } else { action };
        let bytes = bytes.unwrap_or(if split { 0 } else { number.saturating_mul(512) });
        let begins = !matches!(action, Action::Complete | Action::Requeue);
        let comm =
            (begins && !bracket.is_empty()).then(|| self.comm.get(bracket, |text| sink.name(text)));
        let point = Point {
            at: Time::from_ns(row.time),
            device: self.device.get(device, |_| sink.device(&name)),
            // Requests without a place print -1 as an unsigned number.
            sector: if sector == u64::MAX { 0 } else { sector },
            bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
            op: if op == Op::Write && bytes == 0 { Op::Flush } else { op },
            flags,
            pid: if begins { row.pid() } else { None },
            comm,
            error: bracket.parse().ok().filter(|_| !begins).and_then(errno),
        };
        Some((action, point))
    }
}

/// Positions in a line where the event's name is searched for. A task's name, of 15 letters
/// (`TASK_COMM_LEN`, include/linux/sched.h), contains the word twice at most, and a file's name
/// that grep put in front a few times; a line of nothing else must not cost its square.
const CANDIDATES: usize = 8;

/// A line: who and where, when, which event, and its fields.
struct EventLine<'a> {
    task: &'a str,
    time: i64,
    /// The step of the printed time.
    step: Nanos,
    event: &'a str,
    fields: &'a str,
}

impl<'a> EventLine<'a> {
    fn of(line: &'a str) -> Option<EventLine<'a>> {
        line.match_indices("block_").take(CANDIDATES).find_map(|(place, _)| {
            let (before, event) = line.split_at_checked(place)?;
            let before = before.trim_ascii_end();
            let before = before.strip_suffix("block:").unwrap_or(before).trim_ascii_end();
            let before = before.strip_suffix(':')?;
            let (task, time) = before.rsplit_once([' ', '\t'])?;
            let (_, decimals) = time.split_once('.')?;
            let (event, fields) = event.split_once(':')?;
            let step = Nanos(10i64.checked_pow(9u32.checked_sub(decimals.len() as u32)?)?);
            let is_name = event.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
            let fields = fields.trim_ascii();
            let time = fixed(time, 9)?;
            // Plugs name only their process, all others a device first.
            let known = fields.starts_with(|c: char| c.is_ascii_digit() || c == '[');
            (is_name && known).then_some(EventLine { task, time, step, event, fields })
        })
    }

    /// `fio-1003 [001]`, `fio  1003 [001]`, `fio 1003/1007`, `<idle>-0 (-----) [000] d..1.`
    fn pid(&self) -> Option<u32> {
        let task = self.task.split(" [").next()?.split(" (").next()?.trim_ascii();
        let last = task.rsplit(' ').next()?;
        let number = last.rsplit(['-', '/']).next()?;
        number.parse().ok()
    }
}

/// A line that is not an event: ftrace's head, a notice of loss, or prose.
fn other(line: &str, sink: &mut dyn Sink) -> Step {
    if let Some(counts) = line.strip_prefix(ENTRIES) {
        let mut counts = counts.split_ascii_whitespace().next().unwrap_or("").split('/');
        let mut next = || counts.next().and_then(integer);
        let (kept, written) = (next(), next());
        let lost = written.zip(kept).map_or(0, |(written, kept)| written.saturating_sub(kept));
        sink.lost("events overwritten in the kernel's buffer", lost);
        return Step::Consumed;
    }
    if line.starts_with('#') {
        return Step::Consumed;
    }
    let upper = line.to_ascii_uppercase();
    let tells = upper.contains("LOST") || upper.contains("DROPPED");
    if tells && upper.contains("EVENTS") && upper.contains("CPU") {
        // `CPU:3 [LOST 123 EVENTS]`, `CPU 3: 123 events lost`: the last number counts.
        let mut numbers = upper.split(|c: char| !c.is_ascii_digit()).filter_map(integer);
        sink.lost("events lost by the tracer", numbers.next_back().unwrap_or(1));
        return Step::Consumed;
    }
    Step::NotMine
}

/// The step an event means; others (plug, remap, dirty_buffer) do not move a request.
fn action(event: &str) -> Option<Action> {
    Some(match event {
        "block_bio_queue" => Action::Queue,
        "block_getrq" => Action::Get,
        "block_io_start" => Action::Start,
        "block_rq_insert" => Action::Insert,
        "block_rq_issue" => Action::Issue,
        "block_rq_complete" | "block_bio_complete" | "block_io_done" => Action::Complete,
        "block_rq_requeue" => Action::Requeue,
        "block_bio_backmerge" | "block_rq_merge" => Action::BackMerge,
        "block_bio_frontmerge" => Action::FrontMerge,
        "block_split" => Action::Split(0),
        _ => return None,
    })
}

fn errno(number: i32) -> Option<u16> {
    u16::try_from(number.unsigned_abs()).ok().filter(|number| *number != 0)
}
