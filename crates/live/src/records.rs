//! The records that the programs send, as events.

use std::num::{NonZeroU8, NonZeroU32};

use iowhy_model::{DeviceId, Event, Flags, Layer, Name, Op, Sink, SmallNumber, Time};
use zerocopy::FromBytes;

use crate::attach::CommandFlags;
use crate::cgroups::ControlGroups;
use crate::files::Files;
use crate::ring_records::{COMM_BYTES, Completion, FullCompletion, MoreCompletion, SentPath};
use crate::stacks::StackIds;
use crate::watch_list::WatchList;

/// Turns records into events, and caches the last device and process name, because they repeat.
#[derive(Debug)]
pub(crate) struct RecordReader {
    flags: CommandFlags,
    devices: Vec<(u32, DeviceId)>,
    comm: Option<([u8; COMM_BYTES], Name)>,
    groups: ControlGroups,
    files: Option<Files>,
    places: bool,
}

impl RecordReader {
    /// A reader for a kernel with these flags.
    pub(crate) fn new(flags: CommandFlags) -> Self {
        let groups = ControlGroups::new();
        RecordReader { flags, devices: Vec::new(), comm: None, groups, files: None, places: false }
    }

    /// Names of files as well.
    pub(crate) fn with_files(self, wanted: bool) -> Self {
        RecordReader { files: wanted.then(Files::new), ..self }
    }

    /// CPUs and queues as well.
    pub(crate) fn with_places(self, places: bool) -> Self {
        RecordReader { places, ..self }
    }

    /// The stacks of a record, if it has any.
    pub(crate) fn stacks(record: &[u8]) -> Option<StackIds> {
        let full = FullCompletion::read_from_bytes(record).ok()?;
        Some((full.kernel_stack, full.user_stack))
    }

    /// One record as an event; `None` if it is too short to be one, or the path of a file.
    pub(crate) fn event(
        &mut self,
        record: &[u8],
        watched: &WatchList,
        sink: &mut dyn Sink,
    ) -> Option<Event> {
        if let Ok(path) = SentPath::read_from_bytes(record) {
            self.files.iter_mut().for_each(|files| files.learn(&path, sink));
            return None;
        }
        let full = FullCompletion::read_from_bytes(record).ok();
        let (sent, more) = match MoreCompletion::read_from_prefix(record) {
            Ok((more, _)) => (more.plain, Some((more.arrived, more.cgroup))),
            Err(_) => (Completion::read_from_prefix(record).ok()?.0, None),
        };
        let device = self.device(sent.device, watched, sink);
        let mut event = Event::new(device, op_of(sent.cmd_flags), Layer::Block);
        event.completed = time(sent.completed);
        event.queued = time(sent.queued);
        event.issued = time(sent.issued);
        event.bytes = Some(sent.bytes);
        // An empty flush is about no sector; the kernel then has 2^64 - 1 or a stale number.
        event.sector = (sent.bytes != 0).then_some(sent.sector);
        event.depth = NonZeroU32::new(sent.depth);
        event.error = errno_of(sent.status.into());
        event.weight = u8::try_from(sent.weight).ok().and_then(NonZeroU8::new);
        event.flags = flags_of(sent.cmd_flags, self.flags);
        if sent.comm[0] != 0 {
            event.pid = Some(sent.pid);
            event.comm = Some(self.comm(sent.comm, sink));
        }
        if let Some((arrived, cgroup)) = more {
            event.arrived = time(arrived);
            event.cgroup = self.groups.name(cgroup, sink);
        }
        if let Some(full) = full {
            if self.places {
                event.cpu = SmallNumber::new(full.cpu.into());
                event.queue = full.queue.checked_sub(1).and_then(|at| SmallNumber::new(at.into()));
            }
            event.file = self.files.as_ref().and_then(|files| files.name(full.file, sink));
        }
        Some(event)
    }

    fn device(&mut self, number: u32, watched: &WatchList, sink: &mut dyn Sink) -> DeviceId {
        if let Some((_, id)) = self.devices.iter().find(|(known, _)| *known == number) {
            return *id;
        }
        let id = sink.device(&watched.name(number));
        self.devices.push((number, id));
        id
    }

    fn comm(&mut self, comm: [u8; COMM_BYTES], sink: &mut dyn Sink) -> Name {
        if let Some((known, name)) = self.comm
            && known == comm
        {
            return name;
        }
        let end = comm.iter().position(|byte| *byte == 0).unwrap_or(COMM_BYTES);
        let name = sink.name(&String::from_utf8_lossy(&comm[..end]));
        self.comm = Some((comm, name));
        name
    }
}

/// The operation of a `cmd_flags`, as `op_of` of `bpf/tables.h`.
pub(crate) fn op_of(command: u32) -> Op {
    match command & 0xff {
        0 => Op::Read,
        1 | 5 | 7 | 9 => Op::Write,
        2 => Op::Flush,
        3 => Op::Discard,
        _ => Op::Other,
    }
}

fn flags_of(command: u32, bits: CommandFlags) -> Flags {
    let set = bits.pairs().into_iter().filter(|(bit, _)| command & bit != 0);
    set.fold(Flags::default(), |flags, (_, flag)| flags.with(flag))
}

/// The error number of a completion status: negative errno before 5.18 (d5869fdc189f), then
/// `blk_status_t`, whose numbers up to 13 have never changed (include/linux/blk_types.h; errno
/// from `blk_errors` in block/blk-core.c).
fn errno_of(status: i32) -> Option<u16> {
    let errno = match status {
        0 => return None,
        ..0 => status.unsigned_abs() as u16,
        1 => 95,  // NOTSUPP: EOPNOTSUPP
        2 => 110, // TIMEOUT: ETIMEDOUT
        3 => 28,  // NOSPC: ENOSPC
        4 => 67,  // TRANSPORT: ENOLINK
        5 => 121, // TARGET: EREMOTEIO
        6 => 52,  // RESV_CONFLICT: EBADE
        7 => 61,  // MEDIUM: ENODATA
        8 => 84,  // PROTECTION: EILSEQ
        9 => 12,  // RESOURCE: ENOMEM
        12 => 11, // AGAIN: EAGAIN
        13 => 16, // DEV_RESOURCE: EBUSY
        _ => 5,   // IOERR and all that came later: EIO
    };
    Some(errno)
}

fn time(ns: u64) -> Option<Time> {
    (ns > 0).then(|| Time::from_ns(ns as i64))
}

#[cfg(test)]
mod tests {
    use iowhy_model::{Nanos, Recording, Stage};
    use zerocopy::IntoBytes;

    use super::*;
    use crate::ring_records::FileKey;

    #[test]
    fn a_record_becomes_an_event() {
        let bits = CommandFlags {
            sync: 1 << 11,
            meta: 1 << 12,
            read_ahead: 1 << 19,
            fua: 1 << 17,
            preflush: 1 << 18,
        };
        let plain = Completion {
            completed: 3_000,
            queued: 1_000,
            issued: 2_000,
            sector: 77,
            bytes: 4096,
            cmd_flags: 1 | 1 << 11 | 1 << 17,
            device: crate::watch_list::number(8, 16),
            pid: 42,
            depth: 7,
            status: 3,
            weight: 0,
            comm: *b"dd\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        };
        let short = plain.as_bytes().to_vec();
        let full = FullCompletion {
            more: MoreCompletion { plain, arrived: 400, cgroup: 0 },
            file: FileKey { inode: 0, system: 0, generation: 0 },
            kernel_stack: -1,
            user_stack: 5,
            cpu: 3,
            queue: 1,
        };
        let mut record = full.as_bytes().to_vec();
        assert_eq!((short.len(), record.len()), (72, 120), "struct record and struct full_record");
        assert_eq!(RecordReader::stacks(&record), Some((-1, 5)));
        assert_eq!(RecordReader::stacks(&short), None);
        let watched = WatchList::of_one("sdb", 8, 16);
        let mut recording = Recording::new();
        let mut reader = RecordReader::new(bits);
        let event = reader.event(&record, &watched, &mut recording).expect("an event");
        assert_eq!(recording.device_of(event.device).name, "sdb");
        assert_eq!(event.flags.rwbs(event.op), "WFS");
        assert_eq!(event.longest().map(|(_, took)| took.ns()), Some(2_000));
        assert_eq!((event.bytes, event.sector), (Some(4096), Some(77)));
        assert_eq!((event.pid, event.depth, event.error), (Some(42), NonZeroU32::new(7), Some(28)));
        assert_eq!(event.comm.map(|comm| recording.text(comm)), Some("dd"));
        assert_eq!((event.latency(Stage::Before), event.cgroup), (Some(Nanos(600)), None));
        assert_eq!((event.cpu, event.queue), (None, None));
        let mut reader = reader.with_places(true);
        let event = reader.event(&record, &watched, &mut recording).expect("an event");
        assert_eq!((event.cpu, event.queue), (SmallNumber::new(3), SmallNumber::new(0)));
        let event = reader.event(&short, &watched, &mut recording).expect("an event");
        assert_eq!((event.pid, event.arrived), (Some(42), None));
        assert_eq!(event.weight, None);
        record.truncate(88);
        record[54] = 9;
        let event = reader.event(&record, &watched, &mut recording).expect("an event");
        assert_eq!(
            (event.latency(Stage::Before), event.weight),
            (Some(Nanos(600)), NonZeroU8::new(9))
        );
        record.truncate(71);
        assert!(reader.event(&record, &watched, &mut recording).is_none());
    }

    #[test]
    fn errors_of_both_generations_become_the_same_number() {
        assert_eq!(errno_of(0), None);
        assert_eq!(errno_of(3), Some(28));
        assert_eq!(errno_of(-28), Some(28));
        assert_eq!(errno_of(10), Some(5));
        assert_eq!(errno_of(-5), Some(5));
    }

    #[test]
    fn write_zeroes_and_secure_erase_are_writes_as_diskstats_counts_them() {
        assert_eq!(op_of(9), Op::Write);
        assert_eq!(op_of(5), Op::Write);
        assert_eq!(op_of(3), Op::Discard);
        assert_eq!(op_of(34), Op::Other);
        assert_eq!(op_of(1 | 1 << 17), Op::Write);
    }
}
