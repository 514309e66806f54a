//! What a task waits for, by the functions of the kernel it stands in.

/// Functions below which a task waits for free memory (mm/vmscan.c, mm/compaction.c,
/// mm/memcontrol.c, mm/page_io.c, mm/memory.c).
const FREES_MEMORY: [&str; 8] = [
    "try_to_free_pages+0x", "try_to_free_mem_cgroup_pages+0x", "shrink_inactive_list+0x",
    "compact_zone+0x", "isolate_migratepages+0x", "isolate_migratepages_block+0x",
    "swap_writepage+0x", "do_swap_page+0x",
];

/// What such a wait is called, whichever of the functions it is in.
pub(crate) const RECLAIM: &str = "try_to_free_pages";

/// Functions in which a task waits for the answer of a server, and whose (net/sunrpc/sched.c,
/// fs/nfs/inode.c, fs/smb/client/transport.c, fs/ceph/mds_client.c, net/ceph/osd_client.c).
const AWAIT: [(&str, &str); 7] = [
    ("rpc_wait_bit_killable+0x", "NFS"),
    ("nfs_wait_bit_killable+0x", "NFS"),
    ("cifs_call_async+0x", "SMB"),
    ("cifs_send_recv+0x", "SMB"),
    ("compound_send_recv+0x", "SMB"),
    ("ceph_mdsc_do_request+0x", "Ceph"),
    ("ceph_osdc_wait_request+0x", "Ceph"),
];

/// Whether a line is a function of which the kernel is certain: `shrink_node+0xf3/0x4e0`, not `?
/// shrink_node+0xf3/0x4e0`, which may be left from an earlier call. Its address may stand in front,
/// its module behind.
pub(crate) fn is_certain(line: &str) -> bool {
    let mut words = line.split_whitespace().filter(|word| !word.starts_with('['));
    let (frame, more) = (words.next().unwrap_or_default(), words.next());
    let Some((name, place)) = frame.split_once("+0x") else { return false };
    let is_hex = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let placed = place.split_once("/0x").is_some_and(|(at, of)| is_hex(at) && is_hex(of));
    let named =
        name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'$'));
    placed && named && more.is_none()
}

/// Whether the function frees memory for its task.
pub(crate) fn frees_memory(line: &str) -> bool {
    FREES_MEMORY.iter().any(|function| line.contains(function))
}

/// The kind of server whose answer the function waits for.
pub(crate) fn awaited_server(line: &str) -> Option<&'static str> {
    AWAIT.iter().find(|(function, _)| line.contains(function)).map(|(_, server)| *server)
}

/// Functions below which a task waits for the I/O of others, or for its own, and which say what
/// for: discards (block/blk-lib.c), a commit of the journal (fs/jbd2/journal.c), pages on their way
/// to a disk (mm/page-writeback.c, mm/filemap.c), and the limit of dirty pages
/// (mm/page-writeback.c).
///
/// Each with its name in today's kernels.
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

/// The function in a line of a stack that says what a task waits for.
pub(crate) fn waits_in(line: &str) -> Option<&'static str> {
    let frame = line.split_whitespace().find(|word| word.contains("+0x"))?;
    let (name, _) = frame.split_once("+0x")?;
    WAITS_IN.iter().find(|(known, _)| *known == name).map(|(_, today)| *today)
}

/// Functions that `ps` shows a task in (get_wchan of the kernel: the first outside of the
/// scheduler), and what for: the answer of a disk, and a free place in its queue
/// (block/blk-mq-tag.c, block/blk-rq-qos.c, before blk-mq block/blk-core.c).
const STANDS_IN: [(&str, &str); 18] = [
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
];

/// What a task waits for that stands in this function.
pub(crate) fn wait_of(function: &str) -> Option<&'static str> {
    let mut known = WAITS_IN.iter().chain(&STANDS_IN);
    known.find(|(known, _)| *known == function).map(|(_, today)| *today)
}

/// The kind of server whose answer a task waits for that stands in this function.
pub(crate) fn server_awaited_in(function: &str) -> Option<&'static str> {
    let mut known = AWAIT.iter();
    known.find(|(known, _)| known.trim_end_matches("+0x") == function).map(|(_, server)| *server)
}

/// Whether a line begins the stack of a task that cannot be interrupted: `task:fstrim
/// state:D stack:    0 pid: 3552 ...`, before Linux 5.14 `fstrim          D ffff8800b5ad3a48     0
/// 3552   2091 0x00000004` (kernel/sched/core.c, sched_show_task). Of the older form only behind a
/// time, since its words may stand anywhere.
pub(crate) fn begins(line: &str, is_timed: bool) -> bool {
    let line = line.trim_start();
    if let Some(rest) = line.strip_prefix("task:") {
        let (name, rest) = rest.split_once(" state:D").unwrap_or_default();
        return !name.is_empty()
            && !name.starts_with(' ')
            && rest.trim_start().starts_with("stack:");
    }
    if !is_timed {
        return false;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_hex = |word: &str| word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    match words.as_slice() {
        [_, "D", place, stack, pid, parent, flags] => {
            let is_place = is_hex(place) && (*place == "0" || place.len() >= 8);
            let flags = flags.strip_prefix("0x").is_some_and(is_hex);
            is_place && flags && [stack, pid, parent].iter().all(|word| is_number(word))
        }
        [_, "D", stack, pid, parent, flags] => {
            let flags = flags.strip_prefix("0x").is_some_and(is_hex);
            flags && [stack, pid, parent].iter().all(|word| is_number(word))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_begins_in_two_forms() {
        let old = "fstrim          D ffff8800b5ad3a48     0  3552   2091 0x00000004";
        assert!(begins(
            " task:fstrim          state:D stack:    0 pid: 3552 ppid:  2091 flags:0x00004006",
            false
        ));
        assert!(begins(
            "task:jbd2/dm-0-8     state:D stack:0     pid:512   tgid:512 ppid:2",
            false
        ));
        assert!(
            begins(old, true) && begins("fstrim          D    0  3552   2091 0x00000004", true)
        );
        for other in [
            old,
            "task:fstrim          state:S stack:    0 pid: 3552 ppid:  2091 flags:0x00004006",
            "task: the state:D of a disk",
            "a disk D may be slow",
        ] {
            assert!(!begins(other, false), "{other}");
        }
    }

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
}
