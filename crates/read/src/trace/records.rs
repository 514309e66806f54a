//! The records of one binary blktrace file, each by its own magic number; damage is skipped and
//! reported.

use std::io::{BufRead, ErrorKind, Result};

/// Bytes read at a time.
const BLOCK: usize = 1 << 18;
/// Length of a record's head in version 1 and in version 2 of the format
/// (`include/uapi/linux/blktrace_api.h`).
const HEADS: [usize; 2] = [48, 64];
/// Longest payload taken for sound: kernel messages have 1024 bytes at most (`BLK_TN_MAX_MSG`),
/// all others fewer.
const PAYLOAD_LIMIT: usize = 4096;
/// More CPUs than Linux can be built for on any architecture (`NR_CPUS`).
const CPU_LIMIT: u32 = 1 << 14;
/// Bit of the category "notify" in an action: a word about the trace, not about an I/O.
pub(crate) const NOTIFY: u32 = 1 << 10;
/// Highest `what` of a trace record (zone unplug) and of a notification (message).
const LAST_WHAT: [u8; 2] = [19, 2];

/// One record, whatever its version and byte order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    pub(crate) time: u64,
    pub(crate) sector: u64,
    /// Behind a split: where the second part begins; else 0.
    pub(crate) split: u64,
    pub(crate) bytes: u32,
    pub(crate) pid: u32,
    pub(crate) device: u32,
    pub(crate) cpu: u32,
    pub(crate) sequence: u32,
    /// The categories, one bit each.
    pub(crate) category: u32,
    pub(crate) error: u16,
    pub(crate) what: u8,
}

/// The next item of a file.
pub(crate) enum Next {
    Record(Record),
    /// The name of a process.
    Process(u32, [u8; 16]),
    /// Something of no concern.
    Other,
    /// `bytes` from `at` on are no records.
    Damage {
        at: u64,
        bytes: u64,
    },
    /// The file ends inside a record, of which this is left.
    Tail {
        at: u64,
        bytes: u64,
    },
    End,
}

/// Walks one file.
pub(crate) struct Records<'a> {
    input: Box<dyn BufRead + 'a>,
    buffer: Vec<u8>,
    /// What of the buffer was used.
    used: usize,
    /// Where the unused part begins in the file.
    pub(crate) offset: u64,
}

#[derive(Clone, Copy)]
struct Layout {
    big: bool,
    second: bool,
}

impl<'a> Records<'a> {
    pub(crate) fn new(input: Box<dyn BufRead + 'a>) -> Self {
        Records { input, buffer: Vec::new(), used: 0, offset: 0 }
    }

    pub(crate) fn next(&mut self) -> Result<Next> {
        let there = self.need(HEADS[0])?;
        let Some(layout) = Layout::of(self.unused()) else {
            return if there < 4 { self.tail(there) } else { self.resynchronise() };
        };
        let head = HEADS[usize::from(layout.second)];
        let there = if head > there { self.need(head)? } else { there };
        let Some((record, payload)) = layout.decode(self.unused()) else {
            return if there < head { self.tail(there) } else { self.resynchronise() };
        };
        if payload == 0 {
            self.skip(head);
            return Ok(if record.category & NOTIFY == 0 {
                Next::Record(record)
            } else {
                Next::Other
            });
        }
        let whole = head + payload;
        let there = self.need(whole + 4)?;
        if there < whole {
            return self.tail(there);
        }
        let next = layout.interpret(record, self.unused().get(head..whole).unwrap_or_default());
        // A wrong length would swallow sound records: what follows must be one.
        let follows = there == whole || self.unused().get(whole..).and_then(Layout::of).is_some();
        self.skip(if follows { whole } else { head });
        Ok(next)
    }

    /// Goes on to the next sound head.
    fn resynchronise(&mut self) -> Result<Next> {
        let at = self.offset;
        loop {
            let there = self.need(HEADS[1] + 1)?;
            let unused = self.unused();
            let sound = |place: &usize| {
                let rest = unused.get(*place..).unwrap_or_default();
                Layout::of(rest).is_some_and(|layout| layout.decode(rest).is_some())
            };
            let found = (1..unused.len()).find(sound);
            let last = there <= HEADS[1];
            // A head may be cut in two at the buffer's end.
            let skip = found.unwrap_or(if last { there } else { unused.len() - HEADS[1] });
            self.skip(skip);
            if found.is_some() || last {
                return Ok(Next::Damage { at, bytes: self.offset - at });
            }
        }
    }

    fn tail(&mut self, bytes: usize) -> Result<Next> {
        let at = self.offset;
        self.skip(bytes);
        Ok(if bytes == 0 { Next::End } else { Next::Tail { at, bytes: bytes as u64 } })
    }

    fn unused(&self) -> &[u8] {
        self.buffer.get(self.used..).unwrap_or_default()
    }

    fn skip(&mut self, bytes: usize) {
        self.used += bytes;
        self.offset += bytes as u64;
    }

    /// Sees to it that `bytes` can be looked at; fewer are there only at the file's end.
    fn need(&mut self, bytes: usize) -> Result<usize> {
        while self.buffer.len() - self.used < bytes {
            self.buffer.drain(..self.used);
            self.used = 0;
            let chunk = match self.input.fill_buf() {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                other => other?,
            };
            if chunk.is_empty() {
                break;
            }
            let part = chunk.get(..BLOCK).unwrap_or(chunk);
            self.buffer.extend_from_slice(part);
            let taken = part.len();
            self.input.consume(taken);
        }
        Ok(self.buffer.len() - self.used)
    }
}

impl Layout {
    /// Byte order and version by the magic, 0x65617407 or 0x65617408.
    fn of(bytes: &[u8]) -> Option<Layout> {
        match bytes.first_chunk()? {
            [version @ (7 | 8), b't', b'a', b'e'] => {
                Some(Layout { big: false, second: *version == 8 })
            }
            [b'e', b'a', b't', version @ (7 | 8)] => {
                Some(Layout { big: true, second: *version == 8 })
            }
            _ => None,
        }
    }

    /// The head and the length of the payload; `None` if too little is there, or it cannot be one.
    #[inline]
    fn decode(self, bytes: &[u8]) -> Option<(Record, usize)> {
        let word = |bytes: &[u8], at: usize| -> u32 {
            let four = bytes.get(at..).and_then(|rest| rest.first_chunk()).copied();
            let four = four.unwrap_or_default();
            if self.big { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) }
        };
        let long = |bytes: &[u8], at: usize| -> u64 {
            let eight = bytes.get(at..).and_then(|rest| rest.first_chunk()).copied();
            let eight = eight.unwrap_or_default();
            if self.big { u64::from_be_bytes(eight) } else { u64::from_le_bytes(eight) }
        };
        let half = |bytes: &[u8], at: usize| -> u16 {
            let two = bytes.get(at..).and_then(|rest| rest.first_chunk()).copied();
            let two = two.unwrap_or_default();
            if self.big { u16::from_be_bytes(two) } else { u16::from_le_bytes(two) }
        };
        let (action, pid, device, cpu, error, payload) = if self.second {
            let head: &[u8] = bytes.first_chunk::<64>()?;
            let (pid, action) = (word(head, 28), long(head, 32));
            (action, pid, word(head, 40), word(head, 44), half(head, 48), half(head, 50))
        } else {
            let head: &[u8] = bytes.first_chunk::<48>()?;
            let (action, pid) = (word(head, 28).into(), word(head, 32));
            (action, pid, word(head, 36), word(head, 40), half(head, 44), half(head, 46))
        };
        let head: &[u8] = bytes.first_chunk::<48>()?;
        let record = Record {
            time: long(head, 8),
            sector: long(head, 16),
            split: 0,
            bytes: word(head, 24),
            pid,
            device,
            cpu,
            sequence: word(head, 4),
            category: (action >> 16) as u32,
            error,
            // Bit 8 shows that a cgroup's number precedes the payload.
            what: action as u8,
        };
        let last = LAST_WHAT[usize::from(record.category & NOTIFY != 0)];
        let payload = usize::from(payload);
        let sound = cpu < CPU_LIMIT && record.what <= last && payload <= PAYLOAD_LIMIT;
        sound.then_some((record, payload))
    }

    /// What a record with a payload says.
    fn interpret(self, mut record: Record, payload: &[u8]) -> Next {
        const SPLIT: u8 = 13;
        if record.category & NOTIFY == 0 {
            // After the number of a cgroup, if there is one: eight bytes, big-endian always.
            if let (SPLIT, Some(at)) = (record.what, payload.last_chunk()) {
                record.split = u64::from_be_bytes(*at);
            }
            return Next::Record(record);
        }
        if record.what != 0 {
            return Next::Other;
        }
        let mut name = [0; 16];
        name.iter_mut().zip(payload).for_each(|(to, from)| *to = *from);
        Next::Process(record.pid, name)
    }
}
