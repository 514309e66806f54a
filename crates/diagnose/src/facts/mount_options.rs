//! What mount options say of I/O.

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

/// Those of the options that make I/O direct or synchronous.
pub fn direct_or_synchronous(options: &str) -> Vec<&str> {
    options.split(['/', ',', ' ']).filter(|option| OPTIONS.contains(option)).collect()
}

/// Whether they are VxFS's.
pub fn is_of_vxfs(options: &str) -> bool {
    VXFS.iter().any(|option| options.contains(option))
}
