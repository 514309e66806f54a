//! What a task waits for, by the kernel functions on its stack.

use std::borrow::Cow;

/// What tasks wait for, by the function that shows it: the last part of the fact `tasks.wait_in`.
#[derive(Clone, Copy, Debug)]
pub struct KernelWait {
    /// Its name in current kernels.
    pub function: &'static str,
    /// What one task waits for.
    pub what: &'static str,
    /// What it means if a number of tasks wait in it at one moment.
    pub tasks: &'static str,
    /// What such a number means.
    pub means: &'static str,
}

/// Functions that are meaningful anywhere in the stack.
pub const KERNEL_WAITS: [KernelWait; 6] = [
    KernelWait {
        function: "jbd2_log_wait_commit",
        what: "a commit of the journal",
        tasks: "tasks that wait for a commit of the journal (`jbd2_log_wait_commit`)",
        means: "a flush or the writes before it: the device, or the process that writes most to \
                that file system",
    },
    KernelWait {
        function: "io_schedule",
        what: "I/O",
        tasks: "tasks that wait for a disk",
        means: "a snapshot: it does not say which disk, or for how long",
    },
    KernelWait {
        function: "blk_mq_get_tag",
        what: "a free tag in a device queue",
        tasks: "tasks that wait for a free tag in a device queue (`blk_mq_get_tag`)",
        means: "the queue is full: the device is overloaded, or it stopped serving requests",
    },
    KernelWait {
        function: "folio_wait_writeback",
        what: "pages under write-back",
        tasks: "tasks that wait for pages under write-back (`folio_wait_writeback`)",
        means: "a flush by a program, or too many dirty pages: the device below is slow or busy",
    },
    KernelWait {
        function: "balance_dirty_pages",
        what: "throttling at the dirty page limit",
        tasks: "tasks throttled at the dirty page limit (`balance_dirty_pages`)",
        means: "they write faster than the device: check `vm.dirty_bytes` and the writing \
                processes",
    },
    KernelWait {
        function: RECLAIM,
        what: "free memory (reclaim)",
        tasks: "tasks that free memory themselves, or move pages, before they get some",
        means: "memory is short or fragmented, of the machine or of their control group",
    },
];

/// Functions below which a task waits for free memory (mm/vmscan.c, mm/compaction.c,
/// mm/memcontrol.c, mm/page_io.c, mm/memory.c).
const FREES_MEMORY: [&str; 8] = [
    "try_to_free_pages+0x",
    "try_to_free_mem_cgroup_pages+0x",
    "shrink_inactive_list+0x",
    "compact_zone+0x",
    "isolate_migratepages+0x",
    "isolate_migratepages_block+0x",
    "swap_writepage+0x",
    "do_swap_page+0x",
];

/// The name of such a wait, whichever of the functions it is in.
pub const RECLAIM: &str = "try_to_free_pages";

/// Functions in which a task waits for a server's answer, and the kind of server
/// (net/sunrpc/sched.c, fs/nfs/inode.c, fs/nfs/direct.c, fs/fuse/dev.c,
/// fs/smb/client/transport.c, fs/ceph/mds_client.c, net/ceph/osd_client.c).
const AWAIT: [(&str, &str); 12] = [
    ("rpc_wait_bit_killable+0x", "NFS"),
    ("nfs_wait_bit_killable+0x", "NFS"),
    ("nfs_file_direct_read+0x", "NFS"),
    ("nfs_file_direct_write+0x", "NFS"),
    ("request_wait_answer+0x", "FUSE"),
    ("fuse_request_send+0x", "FUSE"),
    ("fuse_simple_request+0x", "FUSE"),
    ("cifs_call_async+0x", "SMB"),
    ("cifs_send_recv+0x", "SMB"),
    ("compound_send_recv+0x", "SMB"),
    ("ceph_mdsc_do_request+0x", "Ceph"),
    ("ceph_osdc_wait_request+0x", "Ceph"),
];

/// Whether the function reclaims memory for its task.
pub fn frees_memory(line: &str) -> bool {
    FREES_MEMORY.iter().any(|function| line.contains(function))
}

/// The kind of server whose answer the function waits for.
pub fn awaited_server(line: &str) -> Option<&'static str> {
    AWAIT.iter().find(|(function, _)| line.contains(function)).map(|(_, server)| *server)
}

/// Functions that show for which I/O a task waits, its own or that of others: discards
/// (block/blk-lib.c), a commit of the journal (fs/jbd2/journal.c), pages on their way to a disk
/// (mm/page-writeback.c, mm/filemap.c), and the limit of dirty pages (mm/page-writeback.c).
///
/// Each with its name in current kernels.
const WAITS_IN: [(&str, &str); 8] = [
    ("blkdev_issue_discard", "blkdev_issue_discard"),
    ("jbd2_log_wait_commit", "jbd2_log_wait_commit"),
    ("log_wait_commit", "jbd2_log_wait_commit"),
    ("folio_wait_writeback", "folio_wait_writeback"),
    ("wait_on_page_writeback", "folio_wait_writeback"),
    ("balance_dirty_pages", "balance_dirty_pages"),
    ("balance_dirty_pages_ratelimited", "balance_dirty_pages"),
    ("balance_dirty_pages_ratelimited_flags", "balance_dirty_pages"),
];

/// The function in a line of a stack that shows what a task waits for.
pub fn waits_in(line: &str) -> Option<&'static str> {
    let frame = line.split_whitespace().find(|word| word.contains("+0x"))?;
    let (name, _) = frame.split_once("+0x")?;
    WAITS_IN.iter().find(|(known, _)| *known == name).map(|(_, today)| *today)
}

/// Functions that `ps` shows a task in (get_wchan of the kernel: the first outside of the
/// scheduler), and what for: the answer of a disk, and a free slot in its queue
/// (block/blk-mq-tag.c, block/blk-rq-qos.c, before blk-mq block/blk-core.c), and inodes of XFS that
/// reclaim has to write first (fs/xfs/xfs_icache.c).
const STANDS_IN: [(&str, &str); 19] = [
    ("io_schedule", "io_schedule"),
    ("bit_wait_io", "io_schedule"),
    ("folio_wait_bit_common", "io_schedule"),
    ("wait_on_page_bit_common", "io_schedule"),
    ("wait_on_page_bit", "io_schedule"),
    ("__wait_on_buffer", "io_schedule"),
    ("wait_on_buffer", "io_schedule"),
    ("sleep_on_buffer", "io_schedule"),
    ("sleep_on_page", "io_schedule"),
    ("do_blockdev_direct_IO", "io_schedule"),
    ("dio_await_one", "io_schedule"),
    ("submit_bio_wait", "io_schedule"),
    ("blk_execute_rq", "io_schedule"),
    ("xfs_buf_iowait", "io_schedule"),
    ("blk_mq_get_tag", "blk_mq_get_tag"),
    ("rq_qos_wait", "blk_mq_get_tag"),
    ("get_request_wait", "blk_mq_get_tag"),
    ("get_request", "blk_mq_get_tag"),
    ("xfs_reclaim_inodes_ag", RECLAIM),
];

/// What a task in this function waits for.
pub fn wait_of(function: &str) -> Option<&'static str> {
    let mut known = WAITS_IN.iter().chain(&STANDS_IN);
    known.find(|(known, _)| *known == function).map(|(_, today)| *today)
}

/// The kind of server whose answer a task in this function waits for.
pub fn server_awaited_in(function: &str) -> Option<&'static str> {
    let mut known = AWAIT.iter();
    known.find(|(known, _)| known.trim_end_matches("+0x") == function).map(|(_, server)| *server)
}

/// Functions of the scheduler and of sleeping itself, which show nothing (kernel/sched/core.c,
/// completion.c, wait_bit.c, kernel/time/sleep_timeout.c, block/blk-core.c, block/bio.c).
const PLUMBING: [&str; 29] = [
    "__schedule",
    "schedule",
    "schedule_idle",
    "schedule_preempt_disabled",
    "schedule_timeout",
    "schedule_timeout_uninterruptible",
    "schedule_timeout_killable",
    "schedule_hrtimeout_range",
    "schedule_hrtimeout_range_clock",
    "schedule_hrtimeout",
    "io_schedule",
    "io_schedule_timeout",
    "blk_io_schedule",
    "bit_wait",
    "bit_wait_io",
    "bit_wait_timeout",
    "bit_wait_io_timeout",
    "__wait_on_bit",
    "__wait_on_bit_lock",
    "out_of_line_wait_on_bit",
    "out_of_line_wait_on_bit_lock",
    "__wait_for_common",
    "wait_for_completion",
    "wait_for_completion_io",
    "wait_for_completion_state",
    "wait_for_completion_timeout",
    "wait_for_completion_io_timeout",
    "wait_for_completion_killable",
    "submit_bio_wait",
];

/// Functions that take a lock (kernel/locking/): none of them names the lock, so their caller is
/// shown.
const LOCKS: [&str; 24] = [
    "__mutex_lock",
    "__mutex_lock_common",
    "__mutex_lock_slowpath",
    "__mutex_lock_killable_slowpath",
    "mutex_lock",
    "mutex_lock_killable",
    "mutex_lock_io",
    "rwsem_down_read_slowpath",
    "rwsem_down_write_slowpath",
    "__down_read_common",
    "__down_read",
    "down_read",
    "down_read_killable",
    "__down_write_common",
    "__down_write",
    "down_write",
    "down_write_killable",
    "percpu_rwsem_wait",
    "__percpu_down_read",
    "percpu_down_read",
    "percpu_down_write",
    "__down",
    "__down_common",
    "down",
];

/// Further functions that show what a task waits for, for stacks that include the outer functions:
/// throttling (block/blk-wbt.c, blk-iocost.c, blk-iolatency.c), flushes (block/blk-flush.c),
/// commits and room of journals (fs/jbd2/, fs/xfs/, fs/btrfs/), write-back (fs/fs-writeback.c),
/// limits of control groups (mm/memcontrol.c), and what has nothing to do with I/O (kernel/fork.c,
/// kernel/rcu/, kernel/workqueue.c, kernel/time/).
const OUTER_FUNCTIONS: [(&str, &str); 30] = [
    ("wbt_wait", "write-back throttling (wbt)"),
    ("ioc_rqos_throttle", "its share of the device (io.cost)"),
    ("blkcg_iolatency_throttle", "throttling for others (io.latency)"),
    ("blkdev_issue_discard", "a discard"),
    ("blkdev_issue_flush", "a flush of the device"),
    ("blkdev_issue_zeroout", "zeroing of a range"),
    ("jbd2_journal_commit_transaction", "the writes of a commit of the journal"),
    ("__jbd2_log_wait_for_space", "room in the journal"),
    ("add_transaction_credits", "room in the journal"),
    ("wait_transaction_locked", "the end of a commit of the journal"),
    ("xlog_wait_on_iclog", "a commit of the journal"),
    ("xlog_wait_on_iclog_lsn", "a commit of the journal"),
    ("xlog_grant_head_wait", "room in the journal"),
    ("btrfs_commit_transaction", "a commit of the journal"),
    ("wait_current_trans", "a commit of the journal"),
    ("btrfs_sync_log", "a commit of the journal"),
    ("wb_wait_for_completion", "write-back of a file system"),
    ("__filemap_fdatawait_range", "pages under write-back"),
    ("mem_cgroup_handle_over_high", "throttling by its memory limit"),
    ("__mem_cgroup_handle_over_high", "throttling by its memory limit"),
    ("throttle_direct_reclaim", "free memory (reclaim)"),
    ("blk_mq_freeze_queue_wait", "a device queue to drain"),
    ("__bio_queue_enter", "a device queue that is frozen"),
    ("blk_queue_enter", "a device queue that is frozen"),
    ("wait_for_vfork_done", "its vfork child"),
    ("synchronize_rcu", "all CPUs (RCU)"),
    ("synchronize_rcu_expedited", "all CPUs (RCU)"),
    ("__synchronize_srcu", "all CPUs (RCU)"),
    ("__flush_work", "work of a kernel thread"),
    ("msleep", "a fixed time"),
];

/// The same for functions that are meaningful only if they are the innermost: direct I/O
/// (block/fops.c, fs/iomap/direct-io.c, fs/direct-io.c), pages (mm/filemap.c), blocks
/// (fs/buffer.c), I/Os (block/blk-mq.c), md (drivers/md/), vfork (kernel/fork.c).
const INNERMOST_FUNCTIONS: [(&str, &str); 17] = [
    ("kernel_clone", "its vfork child"),
    ("_do_fork", "its vfork child"),
    ("__blkdev_direct_IO_simple", "its direct I/O"),
    ("__blkdev_direct_IO", "its direct I/O"),
    ("__iomap_dio_rw", "its direct I/O"),
    ("iomap_dio_rw", "its direct I/O"),
    ("do_blockdev_direct_IO", "its direct I/O"),
    ("dio_await_one", "its direct I/O"),
    ("folio_wait_bit_common", "a page that is read or locked"),
    ("wait_on_page_bit_common", "a page that is read or locked"),
    ("wait_on_page_bit", "a page that is read or locked"),
    ("__wait_on_buffer", "a block of a file system"),
    ("wait_on_buffer", "a block of a file system"),
    ("xfs_buf_iowait", "a block of a file system"),
    ("blk_execute_rq", "a command to a device"),
    ("raid5_get_active_stripe", "a free stripe of an array"),
    ("md_write_start", "an array to accept writes"),
];

/// What a task waits for whose stack takes a lock.
pub const A_LOCK: &str = "a lock";

/// Whether a stack shows that its task waits for I/O (kernel/sched/core.c, block/,
/// drivers/md/md.c). Write-back throttling makes tasks wait for other I/O, and has lost wake-ups
/// itself: it shows neither.
pub fn are_for_io(frames: &[&str]) -> bool {
    const OF_IO: [&str; 9] = [
        "io_schedule",
        "io_schedule_timeout",
        "blk_io_schedule",
        "bit_wait_io",
        "wait_for_completion_io",
        "wait_for_completion_io_timeout",
        "submit_bio_wait",
        "blk_mq_get_tag",
        "md_super_wait",
    ];
    frames.iter().any(|frame| OF_IO.contains(frame)) && !frames.contains(&"wbt_wait")
}

/// What a task with this kernel stack waits for (innermost first, `function+0x12` or names alone):
/// the function that shows it, and its meaning if known.
pub fn of_stack(frames: &[impl AsRef<str>]) -> Option<(&str, Option<Cow<'static, str>>)> {
    fn name(frame: &impl AsRef<str>) -> &str {
        frame.as_ref().split("+0x").next().unwrap_or_default()
    }
    let known = |today: &str| {
        let wait = KERNEL_WAITS.iter().find(|wait| wait.function == today);
        wait.map(|wait| Cow::Borrowed(wait.what))
    };
    // Tables list each function with the texts that follow it in a line.
    let line = |function: &str| format!("{function}+0x0");
    let find = |is: &dyn Fn(&str) -> Option<Cow<'static, str>>| {
        frames.iter().map(name).find_map(|function| Some((function, Some(is(function)?))))
    };
    let within = |table: &'static [(&str, &str)], function: &str| {
        table.iter().find(|(one, _)| *one == function).map(|(_, what)| Cow::Borrowed(*what))
    };
    let certain = find(&|function| frees_memory(&line(function)).then(|| known(RECLAIM))?)
        .or_else(|| {
            find(&|function| {
                let server = server_awaited_in(function)?;
                Some(Cow::Owned(format!("the answer of a server ({server})")))
            })
        })
        .or_else(|| find(&|function| waits_in(&line(function)).and_then(known)))
        .or_else(|| find(&|function| within(&OUTER_FUNCTIONS, function)));
    if certain.is_some() {
        return certain;
    }
    let mut outer = frames.iter().map(name).skip_while(|one| PLUMBING.contains(one)).peekable();
    let innermost = *outer.peek()?;
    if LOCKS.contains(&innermost) {
        let taker = outer.find(|one| !LOCKS.contains(one)).unwrap_or(innermost);
        return Some((taker, Some(A_LOCK.into())));
    }
    let what =
        within(&INNERMOST_FUNCTIONS, innermost).or_else(|| wait_of(innermost).and_then(known));
    // A buffer's bit (wait_on_buffer of linux/buffer_head.h, inlined into its caller).
    let is_buffer = || frames.iter().map(name).any(|function| function == "bit_wait_io");
    Some((innermost, what.or_else(|| is_buffer().then_some("a block of a file system".into()))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_function_waits_for() {
        assert_eq!(waits_in("  blkdev_issue_discard+0x6a/0xa0"), Some("blkdev_issue_discard"));
        assert_eq!(
            waits_in("[<0>] jbd2_log_wait_commit+0xa9/0x110 [jbd2]"),
            Some("jbd2_log_wait_commit")
        );
        let held_back = "balance_dirty_pages_ratelimited_flags+0x1a/0x30";
        assert_eq!(waits_in(held_back), Some("balance_dirty_pages"));
        assert_eq!(waits_in("__blkdev_issue_discard+0x6a/0xa0"), None);
        assert_eq!(waits_in("a file blkdev_issue_discard"), None);
    }

    #[test]
    fn the_function_that_shows_the_wait_is_found_in_a_stack() {
        let of = |stack: &[&str]| of_stack(stack).map(|(name, what)| format!("{name}: {what:?}"));
        for (stack, shown) in [
            (
                &["__schedule+0x2", "io_schedule+0x1", "folio_wait_bit_common+0x9", "read+0x1"][..],
                "folio_wait_bit_common: Some(\"a page that is read or locked\")",
            ),
            (
                &["schedule", "submit_bio_wait+0x7", "__blkdev_direct_IO_simple", "vfs_read"],
                "__blkdev_direct_IO_simple: Some(\"its direct I/O\")",
            ),
            (
                &["schedule", "folio_wait_bit_common", "folio_wait_writeback", "ext4_sync_file"],
                "folio_wait_writeback: Some(\"pages under write-back\")",
            ),
            (
                &["schedule", "rwsem_down_write_slowpath", "down_write", "ext4_file_write_iter"],
                "ext4_file_write_iter: Some(\"a lock\")",
            ),
            (
                &["schedule", "rpc_wait_bit_killable", "__wait_on_bit", "nfs4_call_sync"],
                "rpc_wait_bit_killable: Some(\"the answer of a server (NFS)\")",
            ),
            (
                &["schedule", "io_schedule", "shrink_folio_list", "do_try_to_free_pages"],
                "do_try_to_free_pages: Some(\"free memory (reclaim)\")",
            ),
            (
                &["schedule", "blk_mq_get_tag"],
                "blk_mq_get_tag: Some(\"a free tag in a device queue\")",
            ),
            (
                &["schedule", "bit_wait_io", "__wait_on_bit", "ext4_read_bh"],
                "ext4_read_bh: Some(\"a block of a file system\")",
            ),
            (
                &["io_schedule", "rq_qos_wait", "wbt_wait", "blk_mq_submit_bio"],
                "wbt_wait: Some(\"write-back throttling (wbt)\")",
            ),
            (&["schedule", "nobody_knows"], "nobody_knows: None"),
        ] {
            assert_eq!(of(stack).as_deref(), Some(shown));
        }
        assert_eq!(of(&["__schedule", "schedule"]), None);
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn every_name_of_today_is_explained() {
        let names = WAITS_IN.iter().chain(&STANDS_IN).map(|(_, today)| *today).chain([RECLAIM]);
        for name in names.filter(|name| *name != "blkdev_issue_discard") {
            assert!(KERNEL_WAITS.iter().any(|wait| wait.function == name), "{name}");
        }
    }
}
