//! Veritas Volume Manager's I/O trace, `vxtrace -l`.
//!
//! ## Reads
//! Lines `ID LBOLT START|END read|write TYPE NAME ... block B len L ...`. A START and the END of
//! the same ID are one I/O; a START without END is an I/O of which only the issue is known, an
//! END alone gets its start from its own `time`.
//!
//! ## How to capture
//! `vxtrace -g DISKGROUP -l -o disk` on Solaris, HP-UX, AIX or Linux with VxVM. Often filtered
//! with `grep START`, which discards the completions.
//!
//! ## Versions
//! The fields `dg`, `dev`, `op`, `concurrency`, `pid` and `time` differ between releases, object
//! types and START or END; all are found by name.
//!
//! ## Caveats
//! LBOLT and `time` are clock ticks of 10 ms: latencies are multiples of that. `block` and `len`
//! are sectors of 512 bytes, so `len 16` is 8 KB and not 16 KB. One I/O to a volume is shown once
//! for the volume (`vdev`) and again for every disk below it: iowhy counts the disks, and the upper
//! objects only where no disk is listed. A Solaris slice (`c5t1d0s2`) is named by its disk
//! (`c5t1d0`), as in iostat. Two writes of one tick, block and length to two disks are the halves
//! of a mirror: both are kept, and recorded in the facts `mirror.of` and `mirror.writes`.
//!
//! ## Not in this output
//! Anything shorter than 10 ms. From START lines alone: every latency.

use std::collections::{BTreeMap, HashMap};

use crate::histogram::buckets::COUNT_LIMIT;
use crate::program::*;
use iowhy_model::Order as _;

pub(super) const FORMAT: Format = Format::by_line::<Vxtrace>(
    "Veritas Volume Manager I/O trace: one START and END line per I/O",
    Level::C,
    &["START", "END"],
    |line| matches!(parse(line), Some(Ok(_))),
);

/// A tick of lbolt, ns: Veritas article 100037700 gives hundredths of a second.
const TICK_NS: u64 = 10_000_000;
/// Bytes per block: the unit in which VxVM states `block` and `len`, checked in source document
/// 004, where 16 blocks go with 8.0 KB per read in iostat.
const BLOCK_BYTES: u64 = 512;
/// I/Os waited for at most: a log of START lines alone would fill the memory otherwise.
const OPEN_LIMIT: usize = 65_536;
/// Lines of upper objects held back until a disk line shows that they are not needed.
const UPPER_LIMIT: usize = 4_096;

#[derive(Default)]
struct Vxtrace {
    /// I/Os started and not ended, by ID.
    open: HashMap<u64, Event>,
    /// Lines of volumes, plexes and subdisks seen while no disk was.
    upper: Vec<Record>,
    /// Whether disks are counted, or the upper objects; unknown at first.
    disks: Option<bool>,
    /// Lines left out because another layer is counted.
    duplicates: u64,
    unended: u64,
    /// The writes of the current tick, for mirrors.
    tick: Vec<Record>,
    /// How often the second disk repeated a write of the first.
    mirrors: BTreeMap<(String, String), u64>,
}

/// One line.
#[derive(Clone, Debug, PartialEq)]
struct Record {
    id: u64,
    at: Time,
    start: bool,
    op: Op,
    disk: bool,
    name: String,
    block: u64,
    bytes: u32,
    pid: Option<u32>,
    took: Option<Nanos>,
}

impl Reader for Vxtrace {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        match parse(line) {
            None => return remark(line, sink),
            Some(Err(reason)) => return Step::Malformed(reason.to_string()),
            Some(Ok(record)) => self.sort(record, sink),
        }
        Step::Consumed
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        for record in std::mem::take(&mut self.upper) {
            self.emit(record, sink);
        }
        self.drain(sink);
        let log_events = [
            (self.unended, "I/Os have a START line but no END: their latency is unknown"),
            (self.duplicates, "lines of another layer are the same I/Os and not counted again"),
        ];
        for (count, what) in log_events {
            if count > 0 {
                sink.note(note(format!("{count} {what}")));
            }
        }
        for ((first, second), count) in std::mem::take(&mut self.mirrors) {
            let device = sink.device(&second);
            sink.add_fact(device, typed::MIRROR_OF, first);
            sink.add_fact(device, typed::MIRROR_WRITES, count);
        }
    }
}

impl Vxtrace {
    /// Decides which layer a line belongs to, and whether that layer is counted.
    fn sort(&mut self, record: Record, sink: &mut dyn Sink) {
        sink.source().resolution = Some(Nanos(TICK_NS as i64));
        if self.disks.is_none() && record.disk {
            self.disks = Some(true);
            self.duplicates += std::mem::take(&mut self.upper).len() as u64;
        }
        match self.disks {
            Some(disks) if disks == record.disk => self.emit(record, sink),
            Some(_) => self.duplicates += 1,
            None => self.upper.push(record),
        }
        if self.upper.len() > UPPER_LIMIT {
            self.disks = Some(false);
            for record in std::mem::take(&mut self.upper) {
                self.emit(record, sink);
            }
        }
    }

    fn emit(&mut self, record: Record, sink: &mut dyn Sink) {
        let mut event = Event::new(sink.device(&record.name), record.op, Layer::Block);
        event.sector = Some(record.block);
        event.bytes = Some(record.bytes);
        event.pid = record.pid;
        if record.start {
            event.issued = Some(record.at);
            if let Some(older) = self.open.insert(record.id, event) {
                self.unended += 1;
                sink.event(older);
            }
            if self.open.len() > OPEN_LIMIT {
                self.drain(sink);
            }
            self.mirror(record);
        } else {
            let start = self.open.remove(&record.id);
            event.issued = start
                .and_then(|start| start.issued)
                .or_else(|| record.took.map(|took| record.at - took));
            event.pid = event.pid.or(start.and_then(|start| start.pid));
            event.completed = Some(record.at);
            sink.event(event);
        }
    }

    /// Gives out the I/Os that have not ended, in order of their ID.
    fn drain(&mut self, sink: &mut dyn Sink) {
        let mut rest: Vec<(u64, Event)> = self.open.drain().collect();
        rest.order_by_key(|(id, _)| *id);
        self.unended += rest.len() as u64;
        rest.into_iter().for_each(|(_, event)| sink.event(event));
    }

    fn mirror(&mut self, record: Record) {
        if record.op != Op::Write {
            return;
        }
        if self.tick.first().is_some_and(|first| first.at != record.at) {
            self.tick.clear();
        }
        let twin = self.tick.iter().find(|other| {
            other.name != record.name && (other.block, other.bytes) == (record.block, record.bytes)
        });
        match twin {
            Some(twin) => {
                let pair = (twin.name.clone(), record.name);
                *self.mirrors.entry(pair).or_default() += 1;
            }
            None if self.tick.len() < OPEN_LIMIT => self.tick.push(record),
            None => {}
        }
    }
}

/// vxtrace's messages between its rows: that it waits, or that the kernel lost records.
fn remark(line: &str, sink: &mut dyn Sink) -> Step {
    let text = line.trim();
    if text.starts_with("waiting") && text.ends_with("...") {
        return Step::Consumed;
    }
    let count = text.split_whitespace().find_map(integer).filter(|count| *count <= COUNT_LIMIT);
    match count {
        Some(count) if text.contains("lost") && text.contains("record") => {
            sink.lost("trace records", count);
            Step::Consumed
        }
        _ => Step::NotMine,
    }
}

/// A line in long format. `None` if it is something else; an error if only its end is wrong.
fn parse(line: &str) -> Option<Result<Record, &'static str>> {
    let mut words = line.split_whitespace();
    let id = integer(words.next()?)?;
    let lbolt = integer(words.next()?)?;
    let start = match words.next()? {
        "START" => true,
        "END" => false,
        _ => return None,
    };
    let Some(op) = words.next().and_then(Op::from_name) else {
        return Some(Err("neither a read nor a write"));
    };
    let (Some(kind), Some(name)) = (words.next(), words.next()) else {
        return Some(Err("the line ends before the name of the object"));
    };
    let rest: Vec<&str> = words.collect();
    let field = |key: &str| {
        let value = rest.windows(2).find(|pair| pair.first() == Some(&key))?.get(1)?;
        integer(value)
    };
    let (Some(block), Some(len)) = (field("block"), field("len")) else {
        return Some(Err("the line has no `block` or no `len`"));
    };
    let Some(bytes) = len.checked_mul(BLOCK_BYTES).and_then(|bytes| bytes.try_into().ok()) else {
        return Some(Err("the length is beyond 4 GiB"));
    };
    let Some(at) = ticks(lbolt) else { return Some(Err("the tick is out of range")) };
    Some(Ok(Record {
        id,
        at: Time::from_ns(at.ns()),
        start,
        op,
        disk: kind == "disk",
        name: without_slice(name).to_string(),
        block,
        bytes,
        pid: field("pid").and_then(|pid| pid.try_into().ok()),
        took: field("time").and_then(ticks),
    }))
}

fn ticks(count: u64) -> Option<Nanos> {
    Some(Nanos(count.checked_mul(TICK_NS)?.try_into().ok()?))
}

/// `c5t1d0s2` without its slice: iostat names the disk.
fn without_slice(name: &str) -> &str {
    let Some((disk, slice)) = name.rsplit_once('s') else { return name };
    let digit = |text: &str| text.bytes().next_back().is_some_and(|byte| byte.is_ascii_digit());
    let solaris = disk.strip_prefix('c').is_some_and(|rest| {
        rest.starts_with(|c: char| c.is_ascii_digit()) && rest.contains('d') && digit(rest)
    });
    if solaris && integer(slice).is_some() { disk } else { name }
}
