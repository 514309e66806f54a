//! A load on a real block device, bypassing the page cache, from threads of this process.
//!
//! It is written as the loads of [`simulate`](iowhy_lab::simulate) are, `read:128K`,
//! `read:4K,random,depth=4,think=5ms` or `batch=20/500ms:write:4K,random`, which sends that many at
//! once at that interval. Threads have their own name, so a tracer shows the sender.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use iowhy_model::{Op, Random};
use rustix::fs::OFlags;

use iowhy_lab::simulate::Load;

/// The alignment that direct I/O needs: a page satisfies every device.
const ALIGNED: usize = 4096;
/// A load to be sent.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Drive {
    load: Load,
}

/// A load that runs until it is stopped.
#[derive(Debug)]
pub struct RunningDrive {
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<io::Result<()>>>,
}

/// What the threads of a load share.
struct LoadState {
    over: Arc<AtomicBool>,
    /// Where the next request of a load in order begins.
    next: AtomicU64,
    begun: Instant,
}

impl Drive {
    /// Reads one from the command line.
    ///
    /// # Errors
    /// If it is none; the text shows what would be.
    pub fn parse(text: &str) -> Result<Drive, String> {
        Ok(Drive { load: Load::parse(text)? })
    }

    /// Begins on a device of `bytes`; `name` is what a tracer calls it.
    ///
    /// # Errors
    /// If the device cannot be opened.
    pub fn start(self, path: &str, bytes: u64, seed: u64, name: &str) -> io::Result<RunningDrive> {
        let flags = OFlags::DIRECT.bits() as i32;
        let device =
            Arc::new(File::options().read(true).write(true).custom_flags(flags).open(path)?);
        let over = Arc::new(AtomicBool::new(false));
        let (next, begun) = (AtomicU64::new(0), Instant::now());
        let shared = Arc::new(LoadState { over: over.clone(), next, begun });
        let mut driven = RunningDrive { over, threads: Vec::new() };
        for one in 0..self.load.senders() {
            let (device, shared) = (device.clone(), shared.clone());
            let random = Random::seeded(seed.wrapping_add(one as u64));
            let thread = thread::Builder::new().name(name.to_string());
            driven.threads.push(thread.spawn(move || self.one(&device, bytes, random, &shared))?);
        }
        Ok(driven)
    }

    /// What one thread does; errors of the disk are what it was made for, and are ignored.
    fn one(
        self,
        device: &File,
        bytes: u64,
        mut random: Random,
        shared: &LoadState,
    ) -> io::Result<()> {
        let length = self.load.bytes as usize;
        let mut memory = vec![0x5a; length + ALIGNED];
        let skip = memory.as_ptr().align_offset(ALIGNED);
        let buffer = memory.get_mut(skip..skip + length).unwrap_or_default();
        let room = (bytes / u64::from(self.load.bytes)).max(1);
        let mut due = Duration::ZERO;
        while !shared.over.load(Ordering::Relaxed) {
            due = self.pace(due, &mut random, shared);
            if shared.over.load(Ordering::Relaxed) {
                break;
            }
            let place = match self.load.random {
                true => random.bits() % ((bytes - length as u64) / 4096 + 1) * 4096,
                false => shared.next.fetch_add(1, Ordering::Relaxed) % room * length as u64,
            };
            let _ = match self.load.op {
                Op::Write => device.write_at(buffer, place),
                _ => device.read_at(buffer, place),
            };
        }
        Ok(())
    }

    /// Waits until the next request is to be sent; when that was, since the load began.
    fn pace(&self, last: Duration, random: &mut Random, shared: &LoadState) -> Duration {
        let now = shared.begun.elapsed().as_nanos() as u64;
        let next = Duration::from_nanos(self.load.after(last.as_nanos() as u64, now, random));
        // In short sleeps, so that the end is noticed.
        while !shared.over.load(Ordering::Relaxed) {
            let rest = next.saturating_sub(shared.begun.elapsed());
            if rest.is_zero() {
                break;
            }
            thread::sleep(rest.min(Duration::from_millis(50)));
        }
        next
    }
}

impl RunningDrive {
    /// Ends it, once its last requests are answered.
    ///
    /// # Errors
    /// If a thread broke.
    pub fn stop(mut self) -> io::Result<()> {
        self.over.store(true, Ordering::Relaxed);
        self.threads.drain(..).try_for_each(|one| {
            one.join().map_err(|_| io::Error::other("a thread of the load failed"))?
        })
    }
}

impl Drop for RunningDrive {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}
