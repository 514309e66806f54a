//! Responses that wait until they are due, and the thread that sends them.

use std::collections::BinaryHeap;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fuser::{Errno, ReplyData, ReplyEmpty, ReplyWrite};
use rustix::time::{ClockId, clock_gettime};

use super::truth::Entry;

/// An answer to the kernel.
pub(super) enum Answer {
    /// To a read, with its bytes.
    Read(ReplyData, Vec<u8>),
    /// To a write.
    Write(ReplyWrite),
    /// To a flush or discard.
    Done(ReplyEmpty),
}

/// Answers in the order they are due, and the log of those given.
#[derive(Default)]
pub(super) struct Replies {
    waiting: Mutex<BinaryHeap<PendingReply>>,
    earlier: Condvar,
    given: Mutex<Vec<Entry>>,
    /// The measurement has ended: answer everything at once, log nothing.
    over: AtomicBool,
}

struct PendingReply {
    answer: Answer,
    entry: Entry,
}

/// Nanoseconds of the monotonic clock, the one the kernel's tracepoints use.
pub(super) fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

impl Replies {
    /// Gives the answer when `entry.due` comes; at once if it is past.
    pub(super) fn add(&self, answer: Answer, entry: Entry) {
        if entry.due <= now() || self.over.load(Ordering::Relaxed) {
            self.give(PendingReply { answer, entry });
            return;
        }
        let mut waiting = lock(&self.waiting);
        let first = waiting.peek().is_none_or(|next| entry.due < next.entry.due);
        waiting.push(PendingReply { answer, entry });
        drop(waiting);
        if first {
            self.earlier.notify_one();
        }
    }

    /// Answers all that waits, and all that comes, at once: what is still dirty when a run is
    /// over must not take a faulty disk's time.
    pub(super) fn hurry(&self) {
        // Under the lock, so that the thread that answers is asleep or will see it.
        let waiting = lock(&self.waiting);
        self.over.store(true, Ordering::Relaxed);
        drop(waiting);
        self.earlier.notify_one();
    }

    /// What was completed since the last call.
    pub(super) fn take(&self) -> Vec<Entry> {
        std::mem::take(&mut lock(&self.given))
    }

    /// Answers until the process ends.
    pub(super) fn run(self: Arc<Self>) {
        // One nanosecond of slack instead of the 50 us that sleeping threads get (prctl(2)).
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let mut waiting = lock(&self.waiting);
        loop {
            let over = self.over.load(Ordering::Relaxed);
            let rest = |due: u64| if over { 0 } else { due.saturating_sub(now()) };
            let wait = waiting.peek().map(|next| rest(next.entry.due));
            waiting = match wait {
                None => self.earlier.wait(waiting).unwrap_or_else(PoisonError::into_inner),
                Some(0) => {
                    let next = waiting.pop();
                    drop(waiting);
                    if let Some(next) = next {
                        self.give(next);
                    }
                    lock(&self.waiting)
                }
                Some(ns) => {
                    let slept = self.earlier.wait_timeout(waiting, Duration::from_nanos(ns));
                    slept.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    fn give(&self, PendingReply { answer, mut entry }: PendingReply) {
        entry.reply = now();
        match answer {
            Answer::Read(reply, _) if entry.failed => reply.error(Errno::EIO),
            Answer::Read(reply, bytes) => reply.data(&bytes),
            Answer::Write(reply) if entry.failed => reply.error(Errno::EIO),
            Answer::Write(reply) => reply.written(entry.bytes),
            Answer::Done(reply) if entry.failed => reply.error(Errno::EIO),
            Answer::Done(reply) => reply.ok(),
        }
        if !self.over.load(Ordering::Relaxed) {
            lock(&self.given).push(entry);
        }
    }
}

/// A thread that panicked ends the process, so a poisoned lock never occurs.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PartialEq for PendingReply {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for PendingReply {}

impl PartialOrd for PendingReply {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// The heap gives out its greatest: the one due first, of equals the one that came first.
impl Ord for PendingReply {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let key = |waiting: &Self| (waiting.entry.due, waiting.entry.arrival);
        key(other).cmp(&key(self))
    }
}
