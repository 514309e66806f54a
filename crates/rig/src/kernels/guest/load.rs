//! Loads of an exact number of requests, without the page cache.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use iowhy_model::{Op, Random};
use rustix::fs::OFlags;

/// The part of the disk that is used, bytes.
const SPAN: u64 = 32 << 20;
/// The alignment that direct I/O needs: a page satisfies every device.
const ALIGNED: usize = 4096;

/// Requests at random places.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Read, write (each through to the medium) or discard.
    pub op: Op,
    /// Length of each.
    pub bytes: usize,
    /// Threads, each with one in flight.
    pub depth: u32,
    /// Requests of all threads together.
    pub number: u32,
}

impl Load {
    /// Runs it to its end.
    ///
    /// # Errors
    /// If a request fails.
    pub fn run(self, path: &str) -> io::Result<()> {
        if self.op == Op::Discard {
            return self.discard(path);
        }
        thread::scope(|scope| {
            let threads = 0..self.depth;
            let threads: Vec<_> =
                threads.map(|one| scope.spawn(move || self.one(path, one))).collect();
            threads.into_iter().try_for_each(|one| {
                one.join().map_err(|_| io::Error::other("a thread of the load failed"))?
            })
        })
    }

    fn one(self, path: &str, seed: u32) -> io::Result<()> {
        let flags = if self.op == Op::Write { OFlags::DSYNC } else { OFlags::empty() };
        let file = open(path, flags)?;
        let mut random = Random::seeded(u64::from(seed));
        let mut memory = vec![0x5a; self.bytes + ALIGNED];
        let buffer = aligned(&mut memory, self.bytes);
        for _ in 0..self.number / self.depth {
            let place = random.bits() % (SPAN / self.bytes as u64) * self.bytes as u64;
            match self.op {
                Op::Write => file.write_all_at(buffer, place)?,
                _ => file.read_exact_at(buffer, place)?,
            }
        }
        Ok(())
    }

    fn discard(self, path: &str) -> io::Result<()> {
        let bytes = self.bytes.to_string();
        for place in 0..self.number {
            let offset = (u64::from(place) * self.bytes as u64).to_string();
            let discard = ["-o", &offset, "-l", &bytes, path];
            if !Command::new("blkdiscard").args(discard).status()?.success() {
                return Err(io::Error::other("`blkdiscard` failed"));
            }
        }
        Ok(())
    }
}

/// Reads from the beginning on, 128 KiB at a time, until it is `over`; a file again and again.
///
/// # Errors
/// If a read fails.
pub(super) fn read_on(path: &str, over: &AtomicBool) -> io::Result<()> {
    const LENGTH: usize = 128 << 10;
    let file = open(path, OFlags::empty())?;
    // A block device has no length here, and is longer than anybody reads.
    let length = Some(file.metadata()?.len()).filter(|bytes| *bytes > 0).unwrap_or(u64::MAX);
    let mut memory = vec![0; LENGTH + ALIGNED];
    let buffer = aligned(&mut memory, LENGTH);
    let mut place = 0;
    while !over.load(Ordering::Relaxed) {
        file.read_exact_at(buffer, place)?;
        place = (place + LENGTH as u64) % length;
    }
    Ok(())
}

/// Reads once.
///
/// # Errors
/// If that fails.
pub(super) fn read_at(path: &str, place: u64, length: usize) -> io::Result<()> {
    let mut memory = vec![0; length + ALIGNED];
    open(path, OFlags::empty())?.read_exact_at(aligned(&mut memory, length), place)
}

fn open(path: &str, flags: OFlags) -> io::Result<File> {
    let flags = (OFlags::DIRECT | flags).bits() as i32;
    File::options().read(true).write(true).custom_flags(flags).open(path)
}

/// The part of `memory` that begins at an aligned address.
fn aligned(memory: &mut [u8], length: usize) -> &mut [u8] {
    let skip = memory.as_ptr().align_offset(ALIGNED);
    &mut memory[skip..skip + length]
}
