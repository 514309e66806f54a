//! What a task waits for, by the functions of the kernel it stands in.

/// Functions below which a task waits for free memory (mm/vmscan.c, mm/page_io.c, mm/memory.c).
const FREES_MEMORY: [&str; 3] = ["try_to_free_pages+0x", "swap_writepage+0x", "do_swap_page+0x"];

/// Functions in which a task waits for the answer of a server, and whose (net/sunrpc/sched.c, fs/nfs/inode.c,
/// fs/smb/client/transport.c, fs/ceph/mds_client.c, net/ceph/osd_client.c).
const AWAIT: [(&str, &str); 7] = [
    ("rpc_wait_bit_killable+0x", "NFS"),
    ("nfs_wait_bit_killable+0x", "NFS"),
    ("cifs_call_async+0x", "SMB"),
    ("cifs_send_recv+0x", "SMB"),
    ("compound_send_recv+0x", "SMB"),
    ("ceph_mdsc_do_request+0x", "Ceph"),
    ("ceph_osdc_wait_request+0x", "Ceph"),
];

/// Whether a line is a function of which the kernel is certain: `shrink_node+0xf3/0x4e0`, not `? shrink_node+0xf3/0x4e0`,
/// which may be left from an earlier call. Its address may stand in front, its module behind.
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
