//! The one thread that writes to the store. Callers never wait: beyond a limit items are dropped
//! and counted, so a hanging disk loses only its own record.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use iowhy_store::{Bounds, Segment, SegmentName, Store};

use super::clock::Clocks;

/// Maximum queued items and bytes: half a minute of a busy machine.
const WAITING: usize = 256;
const WAITING_BYTES: u64 = 24 << 20;
/// Maximum bytes of seconds and verdicts kept after the disk refused them: minutes of a busy
/// machine, an hour of a quiet one.
const REFUSED_BYTES: u64 = 8 << 20;
/// How often refused writes are retried.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// How often the store is maintained, s.
const MAINTENANCE_S: i64 = 60;

/// An item to write.
pub(crate) enum Write {
    /// Blocks of a second, at this time.
    Second(Vec<u8>, Clocks),
    /// The next second begins a new segment.
    NextSegment,
    /// I/Os of an incident.
    Incident(String, Vec<Arc<[u8]>>),
    /// The end of these I/Os.
    IncidentOver(String),
    /// Its verdict.
    Verdict(String, Vec<u8>),
    /// Learned latencies.
    Learned(String),
    /// The end.
    End,
}

impl Write {
    fn bytes(&self) -> u64 {
        match self {
            Write::Second(bytes, _) | Write::Verdict(_, bytes) => bytes.len() as u64,
            Write::Incident(_, blocks) => blocks.iter().map(|block| block.len() as u64).sum(),
            Write::Learned(text) => text.len() as u64,
            Write::NextSegment | Write::IncidentOver(_) | Write::End => 0,
        }
    }

    /// Whether it is kept if the disk refuses it. Single I/Os are too many for that, and learned
    /// latencies are sent again.
    fn may_wait(&self) -> bool {
        !matches!(self, Write::Incident(..) | Write::Learned(_))
    }
}

/// Shared counters of the writer.
#[derive(Debug, Default)]
pub(crate) struct Written {
    /// Bytes written.
    pub bytes: AtomicU64,
    /// Queued bytes.
    pub waiting: AtomicU64,
    /// Seconds, I/O blocks and verdicts dropped because the queue was full.
    pub given_up: AtomicU64,
    /// The same because the disk refused (full, gone).
    pub refused: AtomicU64,
    /// Seconds among both.
    pub lost_seconds: AtomicU64,
    /// The store's size in bytes.
    pub store_bytes: AtomicU64,
    /// Downsampled cells; removed segments and incidents.
    pub thinned: AtomicU64,
    /// See `thinned`.
    pub removed: AtomicU64,
    /// When the writer last finished an item, CLOCK_MONOTONIC in s.
    pub done_s: AtomicI64,
    /// The last error of the disk, until it accepts everything again.
    refusal: Mutex<Option<String>>,
}

impl Written {
    /// Why nothing can be written, if writes fail.
    pub(crate) fn refusal(&self) -> Option<String> {
        self.refusal.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_refusal(&self, refusal: Option<String>) {
        *self.refusal.lock().unwrap_or_else(PoisonError::into_inner) = refusal;
    }
}

/// The queue to the writer.
#[derive(Clone)]
pub(crate) struct Queue {
    sender: SyncSender<Write>,
    /// Counts of written and dropped items.
    pub written: Arc<Written>,
}

impl Queue {
    /// Queues an item, or drops it.
    pub(crate) fn push(&self, what: Write) {
        let (bytes, second) = (what.bytes(), matches!(what, Write::Second(..)));
        // Counted before the writer can take it and subtract it again.
        let waiting = self.written.waiting.fetch_add(bytes, Relaxed) + bytes;
        let full = waiting > WAITING_BYTES && bytes > 0;
        if full || self.sender.try_send(what).is_err() {
            self.written.waiting.fetch_sub(bytes, Relaxed);
            self.written.given_up.fetch_add(1, Relaxed);
            self.written.lost_seconds.fetch_add(second.into(), Relaxed);
        }
    }
}

/// Starts the writer of a recorder that began at this time; it ends when it is done.
///
/// # Errors
/// If no thread can be started.
pub(crate) fn start(
    store: Store,
    bounds: Bounds,
    began: Clocks,
) -> io::Result<(Queue, std::thread::JoinHandle<()>)> {
    let (sender, receiver) = sync_channel(WAITING);
    let written = Arc::new(Written::default());
    let queue = Queue { sender, written: Arc::clone(&written) };
    let writer = Writer {
        store,
        bounds,
        written,
        segment: None,
        segment_s: 0,
        began,
        ran_s: 0,
        tended_s: -MAINTENANCE_S,
        incidents: HashMap::new(),
        refused: VecDeque::new(),
        refused_bytes: 0,
    };
    let thread = std::thread::Builder::new().name("writer".to_string());
    Ok((queue, thread.spawn(move || writer.run(&receiver))?))
}

struct Writer {
    store: Store,
    bounds: Bounds,
    written: Arc<Written>,
    segment: Option<Segment>,
    /// When the segment began, from its name.
    segment_s: i64,
    began: Clocks,
    /// How long the recorder had run at the last second, s.
    ran_s: i64,
    tended_s: i64,
    incidents: HashMap<String, Segment>,
    /// Items refused by the disk, in order.
    refused: VecDeque<Write>,
    refused_bytes: u64,
}

impl Writer {
    fn run(mut self, receiver: &Receiver<Write>) {
        loop {
            let pause =
                if self.refused.is_empty() { Duration::from_secs(3600) } else { RETRY_INTERVAL };
            // However it ends, the other side notices that the queue is closed.
            let over = match receiver.recv_timeout(pause) {
                Ok(Write::End) => true,
                Ok(what) => {
                    self.take(what);
                    false
                }
                Err(RecvTimeoutError::Timeout) => false,
                Err(RecvTimeoutError::Disconnected) => true,
            };
            self.catch_up();
            self.written.done_s.store(Clocks::now().monotonic / 1_000_000_000, Relaxed);
            if over {
                self.end();
                return;
            }
        }
    }

    /// Takes an item: it is written after those that wait already.
    fn take(&mut self, what: Write) {
        let bytes = what.bytes();
        let waits = !self.refused.is_empty();
        if waits && (!what.may_wait() || self.refused_bytes + bytes > REFUSED_BYTES && bytes > 0) {
            // The newest one is dropped: it cannot be read without the earlier ones.
            return self.lose(&what);
        }
        self.refused_bytes += bytes;
        self.refused.push_back(what);
    }

    /// Writes waiting items until the disk refuses one.
    fn catch_up(&mut self) {
        while let Some(what) = self.refused.pop_front() {
            let bytes = what.bytes();
            match self.write(&what) {
                Ok(()) => {
                    self.written.bytes.fetch_add(bytes, Relaxed);
                    self.written.waiting.fetch_sub(bytes, Relaxed);
                }
                Err(error) => {
                    self.written.set_refusal(Some(error.to_string()));
                    if what.may_wait() {
                        self.refused.push_front(what);
                        return;
                    }
                    self.lose(&what);
                }
            }
            self.refused_bytes -= bytes;
        }
        self.written.set_refusal(None);
    }

    fn lose(&self, what: &Write) {
        self.written.refused.fetch_add(1, Relaxed);
        self.written.lost_seconds.fetch_add(matches!(what, Write::Second(..)).into(), Relaxed);
        self.written.waiting.fetch_sub(what.bytes(), Relaxed);
    }

    fn end(&mut self) {
        self.incidents.clear();
        for what in std::mem::take(&mut self.refused) {
            self.lose(&what);
        }
        let synced = self.segment.take().map_or(Ok(()), |segment| segment.sync());
        if synced.is_err() {
            self.written.refused.fetch_add(1, Relaxed);
        }
        self.tend();
    }

    /// Records first, then ages, which can be estimated.
    fn write(&mut self, what: &Write) -> io::Result<()> {
        self.apply(what)?;
        self.store.keep_ages();
        Ok(())
    }

    fn apply(&mut self, what: &Write) -> io::Result<()> {
        match what {
            Write::Second(blocks, at) => self.second(blocks, *at),
            Write::NextSegment => {
                self.segment = None;
                Ok(())
            }
            Write::Incident(id, blocks) => {
                if !self.incidents.contains_key(id) {
                    let file = self.store.incident(id, self.ran_s)?;
                    self.incidents.insert(id.clone(), file);
                }
                let Some(file) = self.incidents.get_mut(id) else { return Ok(()) };
                blocks.iter().try_for_each(|block| file.append(block))
            }
            Write::IncidentOver(id) => {
                // Done, whether the disk accepted it or not.
                if self.incidents.remove(id).is_some_and(|file| file.sync().is_err()) {
                    self.written.refused.fetch_add(1, Relaxed);
                }
                Ok(())
            }
            Write::Verdict(id, json) => self.store.verdict(id, json, self.ran_s),
            Write::Learned(text) => self.store.replace(Path::new("baseline"), text.as_bytes()),
            Write::End => Ok(()),
        }
    }

    fn second(&mut self, blocks: &[u8], at: Clocks) -> io::Result<()> {
        self.ran_s = at.ran_s(self.began);
        if self.segment.is_none() {
            let now_s = at.wall.div_euclid(1_000_000_000);
            let segment = self.store.segment(now_s, self.ran_s)?;
            let name = segment.path().file_name().and_then(|name| name.to_str());
            self.segment_s = name.and_then(SegmentName::parse).map_or(now_s, |name| name.began_s);
            self.segment = Some(segment);
        }
        if let Some(segment) = &mut self.segment {
            segment.append(blocks)?;
        }
        if self.ran_s - self.tended_s >= MAINTENANCE_S {
            self.tend();
        }
        Ok(())
    }

    fn tend(&mut self) {
        self.tended_s = self.ran_s;
        match self.store.tend(self.ran_s, self.segment_s, &self.bounds) {
            Ok(tended) => {
                self.written.store_bytes.store(tended.bytes, Relaxed);
                self.written.thinned.fetch_add(tended.thinned.0 - tended.thinned.1, Relaxed);
                self.written.removed.fetch_add(tended.segments + tended.incidents, Relaxed);
            }
            Err(_) => {
                self.written.refused.fetch_add(1, Relaxed);
            }
        }
    }
}
