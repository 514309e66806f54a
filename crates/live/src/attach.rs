//! Which attach points, fields and flags this kernel has, and how the tracer uses them.

use iowhy_model::Flags;

use crate::Error;
use crate::btf::KernelTypes;
use crate::object_names::names_of;

/// What the tracer needs to know about the kernel before it is loaded.
#[derive(Clone, Debug)]
pub(crate) struct KernelShape {
    /// The available tracepoints that the tracer can use: (tracepoint, program).
    pub tracepoints: Vec<(&'static str, &'static str)>,
    /// Those for bios: (tracepoint, program); empty if one of the two is missing.
    pub bio_tracepoints: Vec<(&'static str, &'static str)>,
    /// Those for direct I/O on files: (tracepoint, program); empty before 6.6.
    pub file_tracepoints: Vec<(&'static str, &'static str)>,
    /// Some tracepoints have the queue as an argument before the request.
    pub queue_comes_first: bool,
    /// `block_bio_queue` has the queue as an argument before the bio.
    pub queue_before_bio: bool,
    /// A bio points to its disk.
    pub has_bi_disk: bool,
    /// A bio contains the control group that is charged (CONFIG_BLK_CGROUP).
    pub has_payer: bool,
    /// A request points to its disk.
    pub has_rq_disk: bool,
    /// `block_io_start` shows when a request started, and who started it.
    pub start_is_seen: bool,
    /// `start_time_ns` of a request is read from the clock, not cached for the whole plug.
    pub start_in_request: bool,
    /// The clock is read once for a batch of requests, so the kernel's own await is too high.
    pub plug_clock: bool,
    /// A program may read the running task (`bpf_get_current_task_btf`, since 5.11).
    pub task_is_known: bool,
    /// An interrupted program is never re-entered.
    pub never_nested: bool,
    /// `RQF_IO_STAT`, `RQF_FLUSH_SEQ`.
    pub request_flags: (u32, u32),
    /// Bits of `cmd_flags`.
    pub command_flags: CommandFlags,
}

/// Where the flags of a request sit in its `cmd_flags`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CommandFlags {
    /// `REQ_SYNC`.
    pub sync: u32,
    /// `REQ_META`.
    pub meta: u32,
    /// `REQ_RAHEAD`.
    pub read_ahead: u32,
    /// `REQ_FUA`.
    pub fua: u32,
    /// `REQ_PREFLUSH`.
    pub preflush: u32,
}

impl CommandFlags {
    /// The bit of each of our flags.
    pub(crate) fn pairs(self) -> [(u32, Flags); 5] {
        [
            (self.sync, Flags::SYNC),
            (self.meta, Flags::META),
            (self.read_ahead, Flags::READAHEAD),
            (self.fua, Flags::FUA),
            (self.preflush, Flags::PREFLUSH),
        ]
    }

    /// The bits of a write that requests a flush.
    pub(crate) fn of_flushes(self) -> u32 {
        self.preflush | self.fua
    }

    /// Converts our flags to the kernel's bits.
    pub(crate) fn bits(self, flags: Flags) -> u32 {
        let set = self.pairs().into_iter().filter(|(_, flag)| flags.has(*flag));
        set.fold(0, |bits, (bit, _)| bits | bit)
    }
}

names_of!($ BLOCK_TRACE);

/// Required tracepoints, with their programs.
const NEEDED: [(&str, &str); 2] =
    [("block_rq_issue", program!("issue")), ("block_rq_complete", program!("complete"))];
/// Optional tracepoints: the first exists since 6.5 (5a80bd075f3b).
const WELCOME: [(&str, &str); 3] = [
    ("block_io_start", program!("start")),
    ("block_rq_requeue", program!("requeue")),
    ("block_rq_merge", program!("merge")),
];
/// Tracepoints of bios: for devices that make no requests, and for the time before a request.
const OF_BIOS: [(&str, &str); 2] =
    [("block_bio_queue", program!("arrive")), ("block_bio_complete", program!("end_bio"))];
/// Tracepoints of direct I/O on files (iomap, since 6.6).
const OF_FILES: [(&str, &str); 3] = [
    ("iomap_dio_rw_begin", program!("direct_begins")),
    ("iomap_dio_rw_queued", program!("direct_queued")),
    ("iomap_dio_complete", program!("direct_done")),
];

impl KernelShape {
    /// What these types show.
    ///
    /// # Errors
    /// If a tracepoint is missing that the tracer cannot do without.
    pub(crate) fn of(types: &KernelTypes) -> Result<KernelShape, Error> {
        let has = |name: &str| types.tracepoint_arguments(name).is_some();
        if let Some((missing, _)) = NEEDED.iter().find(|(name, _)| !has(name)) {
            return Err(Error::Kernel {
                what: format!("the kernel has no tracepoint `{missing}`"),
            });
        }
        let mut tracepoints: Vec<_> = WELCOME.into_iter().filter(|(name, _)| has(name)).collect();
        tracepoints.extend(NEEDED);
        let start_is_seen = has("block_io_start");
        // Since 6.9 (da4c8c3d0975).
        let plug_clock = types.has_member("blk_plug", "cur_ktime");
        // Enumerators since 6.11; before, macros with these values since 4.10 (blkdev.h, blk-mq.h).
        let bit = |name: &str, before: u32| 1 << types.constant(name).unwrap_or(before);
        let all_or_none = |some: &[(&'static str, &'static str)]| {
            let all = some.iter().all(|(name, _)| has(name));
            if all { some.to_vec() } else { Vec::new() }
        };
        Ok(KernelShape {
            tracepoints,
            file_tracepoints: all_or_none(&OF_FILES),
            bio_tracepoints: all_or_none(&OF_BIOS),
            queue_before_bio: types.tracepoint_arguments("block_bio_queue") == Some(2),
            has_bi_disk: types.has_member("bio", "bi_disk"),
            has_payer: types.has_member("bio", "bi_blkg"),
            // 5.11 dropped the queue (a54895fa), and so did 5.10.137.
            queue_comes_first: types.tracepoint_arguments("block_rq_issue") == Some(2),
            has_rq_disk: types.has_member("request", "rq_disk"),
            start_is_seen,
            start_in_request: !start_is_seen && !plug_clock,
            plug_clock,
            task_is_known: types.has_function("bpf_get_current_task_btf"),
            never_nested: types.has_function("bpf_prog_inc_misses_counter"),
            request_flags: (bit("__RQF_IO_STAT", 13), bit("__RQF_FLUSH_SEQ", 4)),
            command_flags: CommandFlags {
                sync: bit("__REQ_SYNC", 11),
                meta: bit("__REQ_META", 12),
                fua: bit("__REQ_FUA", 17),
                preflush: bit("__REQ_PREFLUSH", 18),
                read_ahead: bit("__REQ_RAHEAD", 19),
            },
        })
    }

    /// Whether the time between start and issue is known.
    pub(crate) fn sees_queue(&self) -> bool {
        self.start_is_seen || self.start_in_request
    }
}
