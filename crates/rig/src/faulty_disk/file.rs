//! The one file that is the disk, as FUSE sees it.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation,
    INodeNo, InitFlags, KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty,
    ReplyEntry, ReplyOpen, ReplyWrite, TimeOrNow, WriteFlags,
};
use iowhy_model::Op;
use rustix::fs::FallocateFlags;

use super::replies::{Answer, Replies, lock, now};
use super::truth::Entry;
use iowhy_lab::disk::{Disk, Request};

/// The file's name below the mount point.
pub(super) const NAME: &str = "disk.img";

/// Inode of the directory, fixed by FUSE.
const ROOT: INodeNo = INodeNo(1);
/// Inode of the file.
const DISK: INodeNo = INodeNo(2);
/// Requests that FUSE allows in flight. Asynchronous direct I/O counts as background, and the
/// default of 16 would hide every deeper queue (measured: 12 in flight gave 2,361 IOPS at 5 ms
/// where 64 give 11,700).
const IN_FLIGHT: u16 = 512;
/// Largest write that FUSE passes in one piece, bytes.
const LARGEST_WRITE: u32 = 1 << 20;
/// Nothing changes, so the kernel need never ask again.
const FOR_EVER: Duration = Duration::from_secs(86_400);

/// The file system of one file.
pub(super) struct DiskFile {
    /// Sparse memory that contains the bytes. They move at arrival; only the answer waits.
    pub(super) memory: File,
    pub(super) bytes: u64,
    pub(super) disk: Mutex<Disk>,
    pub(super) replies: Arc<Replies>,
}

impl DiskFile {
    /// Gets the completion time of the request from the model.
    fn entry(&self, op: Op, offset: u64, bytes: u32) -> Entry {
        let mut disk = lock(&self.disk);
        // Stamped under the lock: the model must see arrivals in order.
        let arrival = now();
        let served = disk.serve(&Request { op, offset, bytes, arrival });
        let failed = served.failed;
        Entry { op, offset, bytes, arrival, due: served.due, reply: 0, failed, why: served.why }
    }

    fn attributes(&self, inode: INodeNo) -> FileAttr {
        let directory = inode == ROOT;
        let size = if directory { 0 } else { self.bytes };
        FileAttr {
            ino: inode,
            size,
            blocks: size / 512,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind: if directory { FileType::Directory } else { FileType::RegularFile },
            perm: if directory { 0o700 } else { 0o600 },
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        }
    }
}

impl Filesystem for DiskFile {
    fn init(&mut self, _: &fuser::Request, config: &mut KernelConfig) -> std::io::Result<()> {
        let wanted = InitFlags::FUSE_ASYNC_DIO
            | InitFlags::FUSE_ASYNC_READ
            | InitFlags::FUSE_BIG_WRITES
            | InitFlags::FUSE_MAX_PAGES;
        config
            .add_capabilities(wanted)
            .map_err(|lacking| std::io::Error::other(format!("FUSE lacks {lacking:?}")))?;
        // Each answers with the nearest value it can have; that one is taken then.
        let _ = config.set_max_background(IN_FLIGHT);
        let _ = config.set_congestion_threshold(IN_FLIGHT);
        if let Err(nearest) = config.set_max_write(LARGEST_WRITE) {
            let _ = config.set_max_write(nearest);
        }
        Ok(())
    }

    fn lookup(&self, _: &fuser::Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if parent == ROOT && name == NAME {
            reply.entry(&FOR_EVER, &self.attributes(DISK), Generation(0));
        } else {
            reply.error(Errno::ENOENT);
        }
    }

    fn getattr(&self, _: &fuser::Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&FOR_EVER, &self.attributes(inode));
    }

    fn open(&self, _: &fuser::Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(1), FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES);
    }

    fn read(
        &self,
        _: &fuser::Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let length = u64::from(size).min(self.bytes.saturating_sub(offset)) as u32;
        let mut entry = self.entry(Op::Read, offset, length);
        let mut bytes = vec![0; length as usize];
        entry.failed |= self.memory.read_exact_at(&mut bytes, offset).is_err();
        self.replies.add(Answer::Read(reply, bytes), entry);
    }

    fn write(
        &self,
        _: &fuser::Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        bytes: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let mut entry = self.entry(Op::Write, offset, bytes.len() as u32);
        if !entry.failed {
            entry.failed = self.memory.write_all_at(bytes, offset).is_err();
        }
        self.replies.add(Answer::Write(reply), entry);
    }

    fn fsync(&self, _: &fuser::Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.replies.add(Answer::Done(reply), self.entry(Op::Flush, 0, 0));
    }

    fn fallocate(
        &self,
        _: &fuser::Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        _: i32,
        reply: ReplyEmpty,
    ) {
        let bytes = u32::try_from(length).unwrap_or(u32::MAX);
        let mut entry = self.entry(Op::Discard, offset, bytes);
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        entry.failed |= rustix::fs::fallocate(&self.memory, hole, offset, length).is_err();
        self.replies.add(Answer::Done(reply), entry);
    }

    /// The close of a descriptor, which a disk does not notice.
    fn flush(
        &self,
        _: &fuser::Request,
        _: INodeNo,
        _: FileHandle,
        _: LockOwner,
        reply: ReplyEmpty,
    ) {
        reply.ok();
    }

    fn setattr(
        &self,
        _: &fuser::Request,
        inode: INodeNo,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        reply.attr(&FOR_EVER, &self.attributes(inode));
    }
}
