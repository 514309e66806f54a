//! The few kernel calls for which no safe function exists: loop devices and real-time priority.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use rustix::fs::FlockOperation;

/// `LOOP_CTL_ADD` and related ones, `include/uapi/linux/loop.h`.
const LOOP_CONFIGURE: libc::c_ulong = 0x4c0a;
const LOOP_CTL_ADD: libc::c_ulong = 0x4c80;
const LOOP_CTL_REMOVE: libc::c_ulong = 0x4c81;
/// Detach at the last close.
const LO_FLAGS_AUTOCLEAR: u32 = 4;
/// Bypass the page cache of the backing file, so that every request reaches it as it is.
const LO_FLAGS_DIRECT_IO: u32 = 16;

/// Bytes of `struct dm_ioctl`.
pub(crate) const MAPPER_HEADER: usize = 312;

/// `struct loop_info64`.
#[repr(C)]
struct LoopDetails {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

/// `struct loop_config`.
#[repr(C)]
struct LoopConfig {
    fd: u32,
    block_size: u32,
    details: LoopDetails,
    reserved: [u64; 8],
}

/// Opens the device that makes loop devices, and keeps other laboratories out until it is closed.
///
/// # Errors
/// If it is not there or may not be opened.
pub(super) fn loop_control() -> io::Result<File> {
    let control = File::options().read(true).write(true).open("/dev/loop-control")?;
    rustix::fs::flock(&control, FlockOperation::LockExclusive)?;
    Ok(control)
}

/// Makes `/dev/loopNUMBER`.
///
/// # Errors
/// `AlreadyExists` if it is there; else what the kernel says.
pub(super) fn add_loop(control: &File, number: u32) -> io::Result<()> {
    with_number(control, LOOP_CTL_ADD, number)
}

/// Takes `/dev/loopNUMBER` away again.
///
/// # Errors
/// `ResourceBusy` while it is open or attached, `NotFound` if it is not there.
pub(super) fn remove_loop(control: &File, number: u32) -> io::Result<()> {
    with_number(control, LOOP_CTL_REMOVE, number)
}

/// Attaches `file` to an open loop device: direct I/O, 512-byte sectors, gone at the last close.
///
/// # Errors
/// The error of the kernel.
pub(super) fn attach_loop(device: &File, file: &File) -> io::Result<()> {
    let config = LoopConfig {
        fd: file.as_raw_fd() as u32,
        block_size: 512,
        details: LoopDetails {
            device: 0,
            inode: 0,
            rdevice: 0,
            offset: 0,
            size_limit: 0,
            number: 0,
            encrypt_type: 0,
            encrypt_key_size: 0,
            flags: LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO,
            file_name: [0; 64],
            crypt_name: [0; 64],
            encrypt_key: [0; 32],
            init: [0; 2],
        },
        reserved: [0; 8],
    };
    // SAFETY: both descriptors are open for as long as they are borrowed, and `config` has the
    // layout of the kernel's `struct loop_config`, which the call only reads.
    let answer = unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CONFIGURE, &raw const config) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Sends a command to the device mapper; `message` is `struct dm_ioctl` with what follows it, and
/// comes back with the answer (`include/uapi/linux/dm-ioctl.h`).
///
/// # Errors
/// The error of the kernel.
pub(crate) fn tell_mapper(control: &File, number: u32, message: &mut [u8]) -> io::Result<()> {
    let says = message.get(12..16).and_then(|size| size.try_into().ok()).map(u32::from_ne_bytes);
    if message.len() < MAPPER_HEADER || says != u32::try_from(message.len()).ok() {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    // `_IOWR(0xfd, number, struct dm_ioctl)`.
    let request = 0xc000_0000 | (MAPPER_HEADER as u32) << 16 | 0xfd00 | number;
    // SAFETY: the descriptor is open; the kernel reads and writes as many bytes as the third field
    // of the message says, which is its length, as was just made sure of.
    let answer = unsafe {
        libc::ioctl(control.as_raw_fd(), libc::c_ulong::from(request), message.as_mut_ptr())
    };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Lets the calling thread, and all it starts from now on, run before ordinary ones
/// (`SCHED_FIFO`): a late answer would look like a slow disk.
///
/// # Errors
/// Without the right to do so.
pub(super) fn run_first() -> io::Result<()> {
    // Above ordinary threads, below the kernel's own (which run at 50).
    let parameters = libc::sched_param { sched_priority: 10 };
    // SAFETY: 0 means the calling thread; `parameters` lives through the call, which only reads.
    let answer = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn with_number(control: &File, request: libc::c_ulong, number: u32) -> io::Result<()> {
    // SAFETY: the descriptor is open, and these requests take a number and touch no memory.
    let answer = unsafe { libc::ioctl(control.as_raw_fd(), request, libc::c_ulong::from(number)) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structures_have_the_kernels_size() {
        assert_eq!(size_of::<LoopDetails>(), 232);
        assert_eq!(size_of::<LoopConfig>(), 304);
    }
}
