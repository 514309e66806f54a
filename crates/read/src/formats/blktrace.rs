//! blktrace: the binary trace of the kernel's block layer, one record per step of each request.
//!
//! ## Reads
//! What `blktrace` writes: the files `DEVICE.blktrace.0`, `.1` and so on, one per CPU, or all in
//! one stream (`blktrace -o -`, `blkparse -d`). Versions 1 and 2 of the records and both byte
//! orders are detected record by record. Queue (Q), get request (G), insert (I), issue (D) and
//! complete (C) of one request become one event with its time in the queue and on the device;
//! merges, splits, requeues and partial completions are followed.
//!
//! ## How to capture
//! `blktrace -d /dev/sdb` as root, kernel built with `CONFIG_BLK_DEV_IO_TRACE`. Name all files of
//! one trace together, `iowhy why sdb.blktrace.*`: they are read as one.
//!
//! ## Versions
//! Version 1 has records of 48 bytes and has been written since 2006; version 2, of 2025, has
//! 64 bytes and knows zones and write-zeroes.
//!
//! ## Caveats
//! Time counts from the first record. A request's process is the one that queued it, for buffered
//! writes the flusher. Damage is skipped up to the next intact record, counted as skipped, and
//! reported with its position; missing sequence numbers are counted as lost. A completion whose
//! request began before the trace gives an event without latency. The kernel completes an empty
//! flush twice; it counts once.
//!
//! ## Not in this output
//! Records dropped by the kernel because its buffers were full: they have no sequence number, and
//! only blktrace itself reports them when it stops. Names of devices with dynamic numbers: they
//! stay `253:0`. A request without data of which only record C was kept.

use std::collections::HashMap;
use std::io::BufRead;

use iowhy_model::{DeviceId, Flags, Name, Source};

use crate::listing::missing;
use crate::program::*;
use crate::trace::order::{Aside, OrderedRecords};
use crate::trace::pairing::{Action, Pairing, Point};
use crate::trace::records::{Record, Records};
use crate::{Binary, Error, Scan};

/// Entry in the list of formats.
pub const FORMAT: Format = Format::by_line::<Blktrace>(
    "binary traces of the block layer, one file per CPU or merged",
    Level::D,
    &["\u{7}tae", "\u{8}tae", "eat\u{7}", "eat\u{8}"],
    |line| {
        ["\u{7}tae", "\u{8}tae", "eat\u{7}", "eat\u{8}"].iter().any(|magic| line.contains(magic))
    },
);

/// Bits of a device number that are the minor (the kernel's own `MINORBITS`).
const MINOR_BITS: u32 = 20;
/// Most processes whose names are kept; Linux hands out 32768 numbers by default.
const PROCESSES: usize = 1 << 16;
/// Most devices in one trace; more are damage.
const DEVICES: usize = 1 << 12;

// Categories, by bit (`enum blktrace_cat`, include/uapi/linux/blktrace_api.h).
const READ: u32 = 1 << 0;
const WRITE: u32 = 1 << 1;
const FLUSH: u32 = 1 << 2;
const SYNC: u32 = 1 << 3;
const PASSTHROUGH: u32 = 1 << 9;
const READAHEAD: u32 = 1 << 11;
const META: u32 = 1 << 12;
const DISCARD: u32 = 1 << 13;
const DRIVER: u32 = 1 << 14;
const FUA: u32 = 1 << 15;
const ZONES: u32 = 0x3f << 16;
const ZEROES: u32 = 1 << 22;

/// Reads the files of one trace as one, merged by time, into `sink`; `input` names them together.
///
/// # Errors
/// As [`scan`](crate::scan).
pub fn merge(
    input: &str,
    parts: Vec<Box<dyn BufRead + '_>>,
    sink: &mut dyn Sink,
) -> Result<Scan, Error> {
    sink.begin(Source::new("blktrace", input, FORMAT.level));
    let (bytes, outcome) = read(parts, sink);
    let idle = sink.source().records == 0 && sink.source().skipped == 0;
    let missing = missing(sink.source());
    sink.end();
    match outcome {
        Err(cause) => Err(Error::Broken { input: input.to_string(), line: 0, byte: bytes, cause }),
        Ok(()) if bytes == 0 => Err(Error::Empty { input: input.to_string() }),
        Ok(()) if idle => {
            Err(Error::Unusable { input: input.to_string(), format: "blktrace", missing })
        }
        Ok(()) => Ok(Scan { bytes, listings: 1, ..Scan::default() }),
    }
}

/// The trace a per-CPU file belongs to: `sdb.blktrace.3` is part of `sdb.blktrace`.
pub fn trace_of(file: &str) -> Option<&str> {
    let (trace, cpu) = file.rsplit_once('.')?;
    let number = !cpu.is_empty() && cpu.bytes().all(|b| b.is_ascii_digit());
    (number && trace.ends_with(".blktrace")).then_some(trace)
}

#[derive(Default)]
struct Blktrace;

impl Reader for Blktrace {
    fn line(&mut self, _: &str, _: &mut dyn Sink) -> Step {
        Step::NotMine
    }

    fn binary(&mut self) -> Option<&mut dyn Binary> {
        Some(self)
    }
}

impl Binary for Blktrace {
    fn read(&mut self, input: &mut dyn BufRead, sink: &mut dyn Sink) -> std::io::Result<()> {
        read(vec![Box::new(input)], sink).1
    }
}

/// Reads all parts; how many bytes, and whether to the end.
fn read(parts: Vec<Box<dyn BufRead + '_>>, sink: &mut dyn Sink) -> (u64, std::io::Result<()>) {
    sink.source().lines = None;
    sink.source().resolution = Some(Nanos(1));
    let several = parts.len() > 1;
    let mut ordered = OrderedRecords::new(parts.into_iter().map(Records::new).collect());
    let mut trace = Trace::new(several, sink);
    let outcome = loop {
        match ordered.next(&mut trace) {
            Ok(Some(record)) => trace.take(&record),
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    trace.finish(ordered.missing(), ordered.late);
    (ordered.bytes(), outcome)
}

/// One trace being read.
struct Trace<'a> {
    sink: &'a mut dyn Sink,
    pairing: Pairing,
    several: bool,
    zero: Option<u64>,
    taken: u64,
    devices: Vec<(u32, DeviceId)>,
    names: HashMap<u32, Name>,
    last_name: (u32, Option<Name>),
}

impl<'a> Trace<'a> {
    fn new(several: bool, sink: &'a mut dyn Sink) -> Self {
        let last_name = (0, None);
        let (pairing, devices, names) = (Pairing::default(), Vec::new(), HashMap::new());
        Trace { sink, pairing, several, zero: None, taken: 0, devices, names, last_name }
    }

    fn take(&mut self, record: &Record) {
        self.taken += 1;
        let zero = *self.zero.get_or_insert(record.time);
        let Some(action) = action(record) else { return };
        let Some(device) = self.device(record.device) else { return };
        let (op, flags) = operation(record);
        let begins = action != Action::Complete;
        let point = Point {
            at: Time::from_ns(record.time.wrapping_sub(zero) as i64),
            device,
            sector: record.sector,
            bytes: record.bytes,
            op,
            flags,
            pid: begins.then_some(record.pid),
            comm: if begins { self.name(record.pid) } else { None },
            error: errno(record.error),
        };
        self.pairing.take(action, &point, self.sink);
    }

    fn device(&mut self, number: u32) -> Option<DeviceId> {
        if let Some((_, id)) = self.devices.iter().find(|(known, _)| *known == number) {
            return Some(*id);
        }
        if self.devices.len() >= DEVICES {
            return None;
        }
        let minor = number & ((1 << MINOR_BITS) - 1);
        let id = self.sink.device(&device_name(number >> MINOR_BITS, minor));
        self.devices.push((number, id));
        Some(id)
    }

    fn name(&mut self, pid: u32) -> Option<Name> {
        if self.last_name.0 != pid {
            self.last_name = (pid, self.names.get(&pid).copied());
        }
        self.last_name.1
    }

    fn finish(&mut self, missing: u64, late: u64) {
        self.pairing.finish(self.sink);
        self.sink.lost("trace records (gaps in their numbers)", missing);
        let note = |sink: &mut dyn Sink, reason| {
            sink.note(Note { line: 0, text: String::new(), reason });
        };
        if missing * 100 > self.taken + missing {
            let reason = "more than 1 % of the trace is missing: its percentiles are unreliable";
            note(self.sink, reason.to_string());
        }
        if late > 0 {
            note(self.sink, format!("{late} records came too late to be sorted"));
        }
    }
}

impl Aside for Trace<'_> {
    fn process(&mut self, pid: u32, name: &[u8]) {
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        if !name.is_empty() && (self.names.len() < PROCESSES || self.names.contains_key(&pid)) {
            let name = self.sink.name(&String::from_utf8_lossy(name));
            self.names.insert(pid, name);
            self.last_name = (pid, Some(name));
        }
    }

    fn damage(&mut self, part: usize, at: u64, bytes: u64, end: bool) {
        let file = if self.several { format!("file {}, ", part + 1) } else { String::new() };
        let reason = match end {
            true => format!("the file ends inside a record ({bytes} bytes)"),
            false => format!("{bytes} bytes are not trace records and were ignored"),
        };
        self.sink.skip(Note { line: 0, text: format!("{file}byte {at}"), reason });
    }
}

/// The steps that matter (`enum blktrace_act`); remaps, plugs and sleeps are not read, since the
/// device below has records of its own.
fn action(record: &Record) -> Option<Action> {
    Some(match record.what {
        1 => Action::Queue,
        2 => Action::BackMerge,
        3 => Action::FrontMerge,
        4 => Action::Get,
        6 => Action::Requeue,
        7 => Action::Issue,
        8 => Action::Complete,
        12 => Action::Insert,
        13 => Action::Split(record.split),
        _ => return None,
    })
}

fn operation(record: &Record) -> (Op, Flags) {
    let has = |bit: u32| record.category & bit != 0;
    let flush = has(FLUSH);
    let op = if has(DISCARD | ZEROES) {
        Op::Discard
    } else if has(PASSTHROUGH | DRIVER | ZONES) {
        Op::Other
    } else if flush && record.bytes == 0 {
        Op::Flush
    } else if has(WRITE) {
        Op::Write
    } else if has(READ) {
        Op::Read
    } else {
        Op::Other
    };
    let set = [
        (has(SYNC), Flags::SYNC),
        (has(META), Flags::META),
        (has(READAHEAD), Flags::READAHEAD),
        (has(FUA), Flags::FUA),
        (flush && op != Op::Flush, Flags::PREFLUSH),
    ];
    let flags = set.into_iter().filter(|(set, _)| *set);
    (op, flags.fold(Flags::default(), |flags, (_, flag)| flags.with(flag)))
}

/// The kernel stores a negative errno in sixteen bits.
fn errno(error: u16) -> Option<u16> {
    (error != 0).then(|| (error as i16).unsigned_abs())
}
