//! The layout of the programs' records, which are distinguished by their size.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Components of a path, and the bytes of one.
pub(crate) const PARTS: usize = 8;
pub(crate) const PART_BYTES: usize = 64;
/// Bytes of a process name: TASK_COMM_LEN of the kernel.
pub(crate) const COMM_BYTES: usize = 16;

/// A completion: `struct record` of `bpf/finish.h`. Times are CLOCK_MONOTONIC in ns, 0 if not seen.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Clone, Debug)]
#[repr(C)]
pub(crate) struct Completion {
    pub completed: u64,
    pub queued: u64,
    pub issued: u64,
    pub sector: u64,
    pub bytes: u32,
    pub cmd_flags: u32,
    pub device: u32,
    pub pid: u32,
    pub depth: u32,
    pub status: i16,
    /// How many it represents; 0 if every request is reported.
    pub weight: u16,
    pub comm: [u8; COMM_BYTES],
}

/// A completion with the arrival of its bio and the charged cgroup: `struct more_record`.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Clone, Debug)]
#[repr(C)]
pub(crate) struct MoreCompletion {
    pub plain: Completion,
    pub arrived: u64,
    pub cgroup: u64,
}

/// A completion with all fields: `struct full_record`.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Clone, Debug)]
#[repr(C)]
pub(crate) struct FullCompletion {
    pub more: MoreCompletion,
    pub file: FileKey,
    pub kernel_stack: i32,
    pub user_stack: i32,
    /// Of the completion.
    pub cpu: u32,
    /// Of the device, plus one; 0 if there is none.
    pub queue: u32,
}

/// A file: `struct file_key` of `bpf/origin.h`.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(C)]
pub(crate) struct FileKey {
    /// Its inode; 0 is not a file.
    pub inode: u64,
    /// The number of its file system's device.
    pub system: u32,
    pub generation: u32,
}

/// The path of a file: `struct path` of `bpf/origin.h`.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Clone, Debug)]
#[repr(C)]
pub(crate) struct SentPath {
    pub key: FileKey,
    /// The number of a block device, if it is one instead of a file.
    pub device: u32,
    pub parts: u16,
    /// Whether the last part is the root of the file system.
    pub whole: u16,
    /// From the file up.
    pub part: [[u8; PART_BYTES]; PARTS],
}

// `bpf/` asserts the same: a change of one side does not compile.
const _: () = assert!(size_of::<Completion>() == 72);
const _: () = assert!(size_of::<MoreCompletion>() == 88);
const _: () = assert!(size_of::<FullCompletion>() == 120);
const _: () = assert!(size_of::<SentPath>() == 536);
