//! A load on a real block device, past the page cache, from threads of this process.
//!
//! It is written as the loads of [`simulate`](iowhy_lab::simulate) are, `read:128K` or
//! `read:4K,random,depth=4,think=5ms`, and `batch=20/500ms:write:4K,random` sends so many at once,
//! so often. Threads carry a name of their own, so a tracer shows who asked.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use iowhy_model::{Op, Random};
use rustix::fs::OFlags;

use iowhy_lab::disk::duration;
use iowhy_lab::simulate::Load;

/// What direct I/O asks of the place of a buffer: a page satisfies every device.
const ALIGNED: usize = 4096;
/// Threads of a load that sends at its own rate: so many may be late at once.
const SENDERS: usize = 16;

/// A load as it is written.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Drive {
    load: Load,
    /// From batch to batch, where requests come in batches of `depth`.
    batch: Option<Duration>,
}

/// A load that runs until it is told to stop.
#[derive(Debug)]
pub struct RunningDrive {
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<io::Result<()>>>,
}

/// What the threads of a load share.
struct Shared {
    over: Arc<AtomicBool>,
    /// Where the next request of a load in order begins.
    next: AtomicU64,
    begun: Instant,
}

impl Drive {
    /// Reads one from the command line.
    ///
    /// # Errors
    /// If it is none; the text says what would be.
    pub fn parse(text: &str) -> Result<Drive, String> {
        let Some(rest) = text.strip_prefix("batch=") else {
            return Ok(Drive { load: Load::parse(text)?, batch: None });
        };
        let form = || format!("`{text}` is no load; write `batch=20/500ms:write:4K,random`");
        let (batch, load) = rest.split_once(':').ok_or_else(form)?;
        let (many, every) = batch.split_once('/').ok_or_else(form)?;
        let depth = many.parse().ok().filter(|many| (1..=512).contains(many)).ok_or_else(form)?;
        let every = duration(every).ok_or_else(form)?;
        let load = Load { depth, ..Load::parse(load)? };
        Ok(Drive { load, batch: Some(Duration::from_nanos(every)) })
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
        let shared = Arc::new(Shared { over: over.clone(), next, begun });
        let mut driven = RunningDrive { over, threads: Vec::new() };
        for one in 0..self.senders() {
            let (device, shared) = (device.clone(), shared.clone());
            let random = Random::seeded(seed.wrapping_add(one as u64));
            let thread = thread::Builder::new().name(name.to_string());
            driven.threads.push(thread.spawn(move || self.one(&device, bytes, random, &shared))?);
        }
        Ok(driven)
    }

    /// How many send, each with one request in flight.
    pub fn senders(&self) -> usize {
        if self.load.rate.is_some() { SENDERS.max(self.load.depth) } else { self.load.depth }
    }

    /// What is asked: operation, bytes, and whether anywhere.
    pub fn asks(&self) -> (Op, u32, bool) {
        (self.load.op, self.load.bytes, self.load.random)
    }

    /// When a sender sends first, ns.
    pub fn first(&self, random: &mut Random) -> u64 {
        self.after(0, 0, random)
    }

    /// When a sender sends next that sent last at `sent` and was answered at `answered`, ns.
    pub fn after(&self, sent: u64, answered: u64, random: &mut Random) -> u64 {
        match (self.batch, self.load.rate) {
            // Whoever is late joins the next batch that is still to come.
            (Some(every), _) => {
                let every = (every.as_nanos() as u64).max(1);
                (sent.max(answered) / every + 1) * every
            }
            // Gaps of a Poisson process: minus the logarithm of an even number.
            (None, Some(rate)) => {
                let each = rate / self.senders() as f64;
                sent + (random.exponential() / each * 1e9) as u64
            }
            (None, None) => answered + self.load.think,
        }
    }

    /// What one thread does; errors of the disk are what it was made for, and are passed over.
    fn one(self, device: &File, bytes: u64, mut random: Random, shared: &Shared) -> io::Result<()> {
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
    fn pace(&self, last: Duration, random: &mut Random, shared: &Shared) -> Duration {
        let now = shared.begun.elapsed().as_nanos() as u64;
        let next = Duration::from_nanos(self.after(last.as_nanos() as u64, now, random));
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
            one.join().map_err(|_| io::Error::other("a thread of the load broke"))?
        })
    }
}

impl Drop for RunningDrive {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_read_as_they_are_written() {
        let drive = Drive::parse("batch=20/500ms:write:4K,random").unwrap();
        assert_eq!(drive.batch, Some(Duration::from_millis(500)));
        assert_eq!((drive.load.depth, drive.load.bytes, drive.load.op), (20, 4096, Op::Write));
        assert_eq!(Drive::parse("read:128K").unwrap().batch, None);
        for bad in ["batch=20:read:4K", "batch=0/1s:read:4K", "batch=5/x:read:4K", "read:5"] {
            assert!(Drive::parse(bad).is_err(), "{bad}");
        }
    }
}
