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

/// Whether a line names a function of which the kernel is certain: `shrink_node+0xf3/0x4e0`, not `? shrink_node+0xf3/0x4e0`,
/// which may be left from an earlier call.
pub(crate) fn is_certain(line: &str) -> bool {
    line.contains("+0x") && !line.contains("? ")
}

/// Whether the function frees memory for its task.
pub(crate) fn frees_memory(line: &str) -> bool {
    FREES_MEMORY.iter().any(|function| line.contains(function))
}

/// The kind of server whose answer the function waits for.
pub(crate) fn awaited_server(line: &str) -> Option<&'static str> {
    AWAIT.iter().find(|(function, _)| line.contains(function)).map(|(_, server)| *server)
}
