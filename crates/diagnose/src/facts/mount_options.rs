//! Mount options that affect I/O.

/// Mount options that make I/O direct or synchronous: VxFS mount_vxfs(1M), UFS mount_ufs(1M),
/// mount(8).
const OPTIONS: [&str; 8] = [
    "mincache=direct",
    "convosync=direct",
    "mincache=unbuffered",
    "convosync=unbuffered",
    "forcedirectio",
    "directio",
    "sync",
    "dirsync",
];
/// Of these, the ones of VxFS alone.
const VXFS: [&str; 2] = ["mincache=", "convosync="];

/// Options that only file systems of a server have: nfs(5), mount.cifs(8), and systemd's word for
/// any of them.
const REMOTE: [&str; 8] =
    ["timeo=", "retrans=", "nfsvers=", "proto=tcp", "proto=rdma", "mountaddr=", "unc=", "_netdev"];
/// File systems of a server, by type.
const REMOTE_TYPES: [&str; 8] =
    ["nfs", "nfs4", "cifs", "smb3", "smbfs", "ceph", "fuse.glusterfs", "lustre"];

/// Whether a file is below the mount point of a file system.
pub(crate) fn is_below(file: &str, point: &str) -> bool {
    file.strip_prefix(point).is_some_and(|rest| rest.starts_with('/'))
}

/// Whether a file system is on a server, by its type and its options.
pub(crate) fn is_remote(kind: Option<&str>, options: &str) -> bool {
    let of_server = |option: &str| REMOTE.iter().any(|known| option.starts_with(known));
    kind.is_some_and(|kind| REMOTE_TYPES.contains(&kind)) || options.split(',').any(of_server)
}

/// Those of the options that make I/O direct or synchronous.
pub(crate) fn direct_or_synchronous(options: &str) -> Vec<&str> {
    options.split(['/', ',', ' ']).filter(|option| OPTIONS.contains(option)).collect()
}

/// Whether they are VxFS's.
pub(crate) fn is_of_vxfs(options: &str) -> bool {
    VXFS.iter().any(|option| options.contains(option))
}
