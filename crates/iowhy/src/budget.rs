//! One budget for reading captures: unpacked bytes and CPU time, over all inputs, compression
//! layers and members together.
//!
//! A bound for each part would not help: many parts can each stay below it. Both bounds grow with
//! the size of the input, so large captures are read, and small ones cannot cost much.

use std::io::{self, ErrorKind, Read};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Maximum bytes unpacked from all inputs, with those of files in folders.
const BYTES: u64 = 4 << 30;
/// Maximum ratio of unpacked bytes to bytes from outside, past the first `FREE`: repetitive text
/// reaches some hundreds, a bomb of zeros a thousand and more.
const RATIO: u64 = 500;
/// Unpacked bytes before the ratio applies.
pub(crate) const FREE: u64 = 64 << 20;
/// CPU time for any input, and for each MiB from outside: twenty times the limit of the slowest
/// format for text (`lab large`).
const TIME: Duration = Duration::from_secs(60);
const TIME_PER_MIB: Duration = Duration::from_secs(4);

/// What was read so far, and the limits.
pub(crate) struct Budget {
    outside: AtomicU64,
    unpacked: AtomicU64,
    time: Duration,
}

static OF_THIS_RUN: Budget = Budget::new(TIME);

impl Budget {
    /// With this CPU time for any input.
    pub(crate) const fn new(time: Duration) -> Budget {
        Budget { outside: AtomicU64::new(0), unpacked: AtomicU64::new(0), time }
    }

    /// The budget of this process.
    pub(crate) fn of_this_run() -> &'static Budget {
        &OF_THIS_RUN
    }

    /// Counts bytes from a decoder.
    ///
    /// # Errors If there were too many, or reading took too long.
    pub(crate) fn unpack(&self, bytes: usize) -> io::Result<()> {
        self.unpacked.fetch_add(bytes as u64, Relaxed);
        self.check()
    }

    /// Whether a file of this size fits; if so it is counted.
    pub(crate) fn take_file(&self, bytes: u64) -> bool {
        let sum = |known: u64| known.checked_add(bytes).filter(|sum| *sum <= BYTES);
        self.unpacked.fetch_update(Relaxed, Relaxed, sum).is_ok()
    }

    /// Whether anything may still be read.
    ///
    /// # Errors
    /// Which bound was reached.
    pub(crate) fn check(&self) -> io::Result<()> {
        let (outside, unpacked) = (self.outside.load(Relaxed), self.unpacked.load(Relaxed));
        if unpacked > BYTES {
            return Err(exceeded("the unpacked data exceeds 4 GiB".to_string()));
        }
        if unpacked > FREE && unpacked / RATIO > outside {
            return Err(exceeded("it expands to more than 500 times its size".to_string()));
        }
        let time = self.time + TIME_PER_MIB.saturating_mul((outside >> 20) as u32);
        if cpu_time() > time {
            let seconds = time.as_secs_f64();
            return Err(exceeded(format!("reading it takes more than {seconds:.0} s of CPU time")));
        }
        Ok(())
    }

    /// A file or a pipe: its bytes come from outside.
    pub(crate) fn metered<R: Read>(&'static self, reader: R) -> MeteredReader<R> {
        MeteredReader { reader, budget: self }
    }
}

/// An error that names the bound.
fn exceeded(why: String) -> io::Error {
    let text = format!("{why}; unpack it and name the captures individually");
    io::Error::new(ErrorKind::InvalidData, text)
}

/// CPU time of the reading thread: drawing a capture that arrives for days is done in another.
fn cpu_time() -> Duration {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(used.tv_sec as u64, used.tv_nsec as u32)
}

/// Counts bytes from outside, and stops when reading took too long.
pub(crate) struct MeteredReader<R> {
    reader: R,
    budget: &'static Budget,
}

impl<R: Read> Read for MeteredReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(into)?;
        self.budget.outside.fetch_add(count as u64, Relaxed);
        self.budget.check()?;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_bounded_and_grows_with_what_comes_from_outside() {
        let none: &'static Budget = Box::leak(Box::new(Budget::new(Duration::ZERO)));
        let mut reader = none.metered(io::repeat(b'x'));
        let error = reader.read(&mut [0; 16]).expect_err("no time at all").to_string();
        assert!(error.contains("0 s of CPU time"), "{error}");
        none.outside.store(100 << 20, Relaxed);
        assert!(reader.read(&mut [0; 16]).is_ok());
    }

    #[test]
    fn files_that_fit_no_more_leave_room_for_smaller_ones() {
        let budget = Budget::new(TIME);
        assert!(budget.take_file(BYTES - 10));
        assert!(!budget.take_file(11) && budget.take_file(10) && !budget.take_file(1));
    }
}
