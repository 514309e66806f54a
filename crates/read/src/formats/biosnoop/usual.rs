//! The most common line, parsed in one pass from its end: this sets the speed on large captures.

use iowhy_model::{Event, Flags, Layer, Nanos, Op, Time};

use super::{Biosnoop, operation};
use crate::text::backwards::Backwards;

impl Biosnoop {
    /// The event of a line whose process and disk were met before, and on which nothing is missing,
    /// glued together or out of bounds: nearly all lines.
    #[inline]
    pub(super) fn usual(&self, line: &[u8]) -> Option<Event> {
        let mut columns = Backwards(line);
        let latency = columns.fixed(6)?;
        columns.blanks()?;
        let queue = if self.columns.queue {
            let queue = columns.fixed(6)?;
            columns.blanks()?;
            Some(queue)
        } else {
            None
        };
        let bytes = u32::try_from(columns.integer()?).ok()?;
        columns.blanks()?;
        let sector = columns.integer()?;
        columns.blanks()?;
        let (op, flags) = match columns.word()? {
            b"R" if bytes > 0 => (Op::Read, Flags::default()),
            b"W" if bytes > 0 => (Op::Write, Flags::default()),
            kind @ [b'A'..=b'Z', ..] => operation(str::from_utf8(kind).ok()?, Some(bytes))?,
            _ => return None,
        };
        columns.blanks()?;
        let device = self.disk.known(columns.word()?)?;
        columns.blanks()?;
        let pid = u32::try_from(columns.integer()?).ok()?;
        columns.blanks()?;
        let (time, comm) = columns.0.split_at_checked(memchr::memchr(b' ', columns.0)?)?;
        let comm = self.comm.known(comm.trim_ascii_start())?;
        let mut time = Backwards(time);
        let completed = Time::from_ns(time.fixed(9).filter(|_| time.0.is_empty())?);
        let issued = completed - Nanos(latency);
        let mut event = Event::new(device, op, Layer::Block);
        event.flags = flags;
        event.completed = Some(completed);
        event.issued = Some(issued);
        event.queued = queue.map(|ns| issued - Nanos(ns));
        event.sector = Some(sector);
        event.bytes = Some(bytes);
        event.comm = Some(comm);
        event.pid = Some(pid);
        Some(event)
    }
}
