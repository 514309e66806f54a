//! Records of several CPUs, from one file or many, in the order of time.
//!
//! A CPU's own records are nearly sorted. Between CPUs a file may jump by a whole buffer, as
//! `blktrace -o -` writes them, so a window of records is kept back.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::io::Result;

use crate::trace::records::{Next, Record, Records};

/// Records kept back (56 bytes each: 7 MB): twelve buffers of 512 KiB, the size blktrace gives
/// each CPU by default (blktrace(8), -b).
const WINDOW: usize = 1 << 17;
/// How far back within one CPU's records a late one is sorted in.
const LATE: usize = 64;
/// Records read from one file before another one is considered.
const TURN: usize = 64;
/// Most CPUs times devices in one trace; more are damage.
const LANES: usize = 1 << 12;
/// A sequence number that leaps further is a damaged one, not a loss.
const LEAP: u32 = 1 << 24;

/// Several files as one stream.
pub(crate) struct OrderedRecords<'a> {
    parts: Vec<Part<'a>>,
    lanes: Vec<Lane>,
    lane_of: HashMap<(usize, u32, u32), usize>,
    /// The first time of each lane that has records.
    heads: BinaryHeap<Reverse<(u64, usize)>>,
    kept: usize,
    before: u64,
    /// Records that came too late to be put in order.
    pub(crate) late: u64,
}

struct Part<'a> {
    records: Records<'a>,
    /// The earliest time of its last turn; `None` once it has ended.
    at: Option<u64>,
    lane: usize,
}

/// The records of one CPU about one device in one file.
struct Lane {
    key: (usize, u32, u32),
    records: VecDeque<Record>,
    first: u32,
    last: u32,
    seen: u32,
    missing: u64,
}

/// Side information collected while records are read.
pub(crate) trait Aside {
    /// A process and its name.
    fn process(&mut self, pid: u32, name: &[u8]);
    /// Bytes of file number `part` outside records; `end` if the file ends with them.
    fn damage(&mut self, part: usize, at: u64, bytes: u64, end: bool);
}

impl<'a> OrderedRecords<'a> {
    pub(crate) fn new(parts: Vec<Records<'a>>) -> Self {
        let part = |records| Part { records, at: Some(0), lane: 0 };
        OrderedRecords {
            parts: parts.into_iter().map(part).collect(),
            lanes: Vec::new(),
            lane_of: HashMap::new(),
            heads: BinaryHeap::new(),
            kept: 0,
            before: 0,
            late: 0,
        }
    }

    /// The next record in time.
    pub(crate) fn next(&mut self, aside: &mut dyn Aside) -> Result<Option<Record>> {
        while self.kept < WINDOW {
            let at = |part: &usize| self.parts[*part].at;
            let open = (0..self.parts.len()).filter(|part| at(part).is_some());
            let Some(part) = open.min_by_key(at) else { break };
            self.turn(part, aside)?;
        }
        let Some(mut head) = self.heads.peek_mut() else { return Ok(None) };
        let Reverse((_, lane)) = *head;
        let records = &mut self.lanes[lane].records;
        let record = records.pop_front();
        match records.front() {
            Some(next) => *head = Reverse((next.time, lane)),
            None => drop(PeekMut::pop(head)),
        }
        if let Some(record) = &record {
            self.kept -= 1;
            self.late += u64::from(record.time < self.before);
            self.before = self.before.max(record.time);
        }
        Ok(record)
    }

    /// Records whose numbers are missing.
    pub(crate) fn missing(&self) -> u64 {
        self.lanes.iter().map(Lane::missing).sum()
    }

    /// Bytes read of all files.
    pub(crate) fn bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.records.offset).sum()
    }

    fn turn(&mut self, part: usize, aside: &mut dyn Aside) -> Result<()> {
        let mut earliest = u64::MAX;
        for _ in 0..TURN {
            match self.parts[part].records.next()? {
                Next::Record(record) => {
                    earliest = earliest.min(record.time);
                    if !self.keep(part, record) {
                        aside.damage(part, self.parts[part].records.offset, 0, false);
                    }
                }
                Next::Process(pid, name) => aside.process(pid, &name),
                Next::Other => {}
                Next::Damage { at, bytes } => aside.damage(part, at, bytes, false),
                Next::Tail { at, bytes } => aside.damage(part, at, bytes, true),
                Next::End => {
                    self.parts[part].at = None;
                    return Ok(());
                }
            }
        }
        if earliest < u64::MAX {
            self.parts[part].at = Some(earliest);
        }
        Ok(())
    }

    /// Puts a record in its lane; false if there are absurdly many lanes already.
    fn keep(&mut self, part: usize, record: Record) -> bool {
        let key = (part, record.cpu, record.device);
        let last = self.parts[part].lane;
        let lane = match self.lanes.get(last) {
            Some(lane) if lane.key == key => last,
            _ => match self.lane_of.get(&key) {
                Some(lane) => *lane,
                None if self.lanes.len() >= LANES => return false,
                None => {
                    self.lanes.push(Lane::new(key, record.sequence));
                    self.lane_of.insert(key, self.lanes.len() - 1);
                    self.lanes.len() - 1
                }
            },
        };
        self.parts[part].lane = lane;
        let (lane, place) = (&mut self.lanes[lane], lane);
        lane.number(record.sequence);
        if lane.records.is_empty() {
            self.heads.push(Reverse((record.time, place)));
        }
        lane.push(record);
        self.kept += 1;
        true
    }
}

impl Lane {
    fn new(key: (usize, u32, u32), first: u32) -> Lane {
        Lane { key, records: VecDeque::new(), first, last: first, seen: 0, missing: 0 }
    }

    fn push(&mut self, record: Record) {
        let late = self.records.iter().rev().take(LATE).take_while(|kept| kept.time > record.time);
        match late.count() {
            0 | LATE => self.records.push_back(record),
            steps => self.records.insert(self.records.len() - steps, record),
        }
    }

    /// Counts a sequence number. They rise by one per record of a CPU and device.
    fn number(&mut self, sequence: u32) {
        let ahead = sequence.wrapping_sub(self.last);
        let behind = self.last.wrapping_sub(sequence);
        if ahead < LEAP {
            self.last = sequence;
        } else if behind >= LEAP {
            self.missing = self.missing();
            (self.first, self.last, self.seen) = (sequence, sequence, 0);
        }
        self.seen = self.seen.saturating_add(1);
    }

    fn missing(&self) -> u64 {
        let span = u64::from(self.last.wrapping_sub(self.first)) + 1;
        self.missing + span.saturating_sub(u64::from(self.seen))
    }
}
