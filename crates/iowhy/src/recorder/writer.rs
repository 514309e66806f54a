//! The one thread that writes to the store. Whoever hands it something never waits: beyond a bound
//! it is given up and counted, so that a disk that hangs takes its own record only.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use iowhy_store::{Bounds, Segment, SegmentName, Store};

/// Things that wait to be written, and their bytes: half a minute of a busy machine.
const WAITING: usize = 256;
const WAITING_BYTES: u64 = 24 << 20;
/// How often the store is looked after, s.
const TENDED_S: i64 = 60;

/// What is to be written.
pub enum Write {
    /// Blocks of a second, at this time (s since 1970).
    Second(Vec<u8>, i64),
    /// The next second begins a segment of its own.
    NextSegment,
    /// I/Os of an incident.
    Incident(String, Vec<Arc<[u8]>>),
    /// All of them are there.
    IncidentOver(String),
    /// What was made of it.
    Verdict(String, Vec<u8>),
    /// What was learned.
    Learned(String),
    /// Nothing comes any more.
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
}

/// What became of it, for everybody to read.
#[derive(Debug, Default)]
pub struct Written {
    /// Bytes written.
    pub bytes: AtomicU64,
    /// Bytes that wait.
    pub waiting: AtomicU64,
    /// Seconds, I/O blocks, verdicts given up because too much was waiting.
    pub given_up: AtomicU64,
    /// The same because the disk refused (full, gone).
    pub refused: AtomicU64,
    /// Bytes that the store takes.
    pub store_bytes: AtomicU64,
    /// Cells that were added up, segments and incidents that were removed.
    pub thinned: AtomicU64,
    /// See `thinned`.
    pub removed: AtomicU64,
    /// When the writer was last done with something, CLOCK_MONOTONIC in s.
    pub done_s: AtomicI64,
}

/// The way to the writer.
#[derive(Clone)]
pub struct Queue {
    sender: SyncSender<Write>,
    /// What became of what was handed over.
    pub written: Arc<Written>,
}

impl Queue {
    /// Hands something over, or gives it up.
    pub fn push(&self, what: Write) {
        let bytes = what.bytes();
        let full = self.written.waiting.load(Relaxed) + bytes > WAITING_BYTES && bytes > 0;
        if full || self.sender.try_send(what).is_err() {
            self.written.given_up.fetch_add(1, Relaxed);
        } else {
            self.written.waiting.fetch_add(bytes, Relaxed);
        }
    }
}

/// Starts the writer; it says it is done by ending.
///
/// # Errors
/// If no thread can be started.
pub fn start(
    store: Store,
    bounds: Bounds,
) -> std::io::Result<(Queue, std::thread::JoinHandle<()>)> {
    let (sender, receiver) = sync_channel(WAITING);
    let written = Arc::new(Written::default());
    let queue = Queue { sender, written: Arc::clone(&written) };
    let writer = Writer {
        store,
        bounds,
        written,
        segment: None,
        began_s: 0,
        tended_s: 0,
        now_s: 0,
        incidents: HashMap::new(),
    };
    let thread = std::thread::Builder::new().name("writer".to_string());
    Ok((queue, thread.spawn(move || writer.run(&receiver))?))
}

struct Writer {
    store: Store,
    bounds: Bounds,
    written: Arc<Written>,
    segment: Option<Segment>,
    began_s: i64,
    tended_s: i64,
    now_s: i64,
    incidents: HashMap<String, Segment>,
}

impl Writer {
    fn run(mut self, receiver: &Receiver<Write>) {
        // However it ends, the other side notices by the queue.
        while let Ok(what) = receiver.recv_timeout(Duration::from_secs(3600)) {
            let bytes = what.bytes();
            let over = matches!(what, Write::End);
            match self.write(what) {
                Ok(()) => self.written.bytes.fetch_add(bytes, Relaxed),
                Err(_) => self.written.refused.fetch_add(1, Relaxed),
            };
            self.written.waiting.fetch_sub(bytes, Relaxed);
            let now = super::clock::Clocks::now().monotonic / 1_000_000_000;
            self.written.done_s.store(now, Relaxed);
            if over {
                break;
            }
        }
    }

    fn write(&mut self, what: Write) -> std::io::Result<()> {
        match what {
            Write::Second(blocks, now_s) => self.second(&blocks, now_s),
            Write::NextSegment => {
                self.segment = None;
                Ok(())
            }
            Write::Incident(id, blocks) => {
                if !self.incidents.contains_key(&id) {
                    let file = self.store.incident(&id)?;
                    self.incidents.insert(id.clone(), file);
                }
                let Some(file) = self.incidents.get_mut(&id) else { return Ok(()) };
                blocks.iter().try_for_each(|block| file.append(block))
            }
            Write::IncidentOver(id) => {
                self.incidents.remove(&id).map_or(Ok(()), |file| file.sync())
            }
            Write::Verdict(id, json) => self.store.verdict(&id, &json),
            Write::Learned(text) => self.store.replace(Path::new("baseline"), text.as_bytes()),
            Write::End => {
                self.incidents.clear();
                self.segment.take().map_or(Ok(()), |segment| segment.sync())
            }
        }
    }

    fn second(&mut self, blocks: &[u8], now_s: i64) -> std::io::Result<()> {
        self.now_s = now_s;
        if self.segment.is_none() {
            let segment = self.store.segment(now_s)?;
            let name = segment.path().file_name().and_then(|name| name.to_str());
            self.began_s = name.and_then(SegmentName::parse).map_or(now_s, |name| name.began_s);
            self.segment = Some(segment);
        }
        let written = match &mut self.segment {
            Some(segment) => segment.append(blocks),
            None => Ok(()),
        };
        if (now_s - self.tended_s).abs() >= TENDED_S {
            self.tended_s = now_s;
            let tended = self.store.tend(now_s, self.began_s, &self.bounds)?;
            self.written.store_bytes.store(tended.bytes, Relaxed);
            self.written.thinned.fetch_add(tended.thinned.0 - tended.thinned.1, Relaxed);
            self.written.removed.fetch_add(tended.segments + tended.incidents, Relaxed);
        }
        written
    }
}
