//! Passes seconds and incidents to the store, and tracks a store that does not accept them.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::JoinHandle;

use iowhy_model::{FactValue, Nanos, numbers};
use iowhy_store::{Bounds, SegmentName, Store};

use super::cells::Cells;
use super::clock::{Change, Clocks, SECOND_NS, boot_id};
use super::incident::Incident;
use super::triggers::Trigger;
use super::verdicts::Snapshot;
use super::watched::Seen;
use super::writer::{self, Queue, Write, Written};
use crate::messages::{self, HintedError};

/// A disk that completes no write to the store for this long hangs, ns: ten times the flush of a
/// bad one.
const HANGS_NS: i64 = 10 * SECOND_NS;

/// Everything on its way to the store.
pub(crate) struct Kept {
    cells: Cells,
    segment_since_ns: i64,
    last: Clocks,
    queue: Queue,
    writing: JoinHandle<()>,
    failure: StoreFailure,
    /// Used names of incidents.
    ids: HashSet<String>,
    boot: String,
}

/// Opens a store to record into.
///
/// # Errors
/// If it cannot be written to, or another recorder does.
pub(crate) fn open(folder: &Path) -> anyhow::Result<Store> {
    Store::record(folder).map_err(|cause| {
        let text = format!("cannot record into `{}`: {cause}", folder.display());
        let hint = match cause.kind() {
            std::io::ErrorKind::WouldBlock => {
                "another recorder uses this folder; stop it, or name another one with `--store`"
            }
            std::io::ErrorKind::AlreadyExists => "name an empty or new folder with `--store`",
            _ => "name a folder with write permission with `--store`",
        };
        HintedError::error(text, hint)
    })
}

impl Kept {
    /// Starts the writer.
    ///
    /// # Errors
    /// If the store cannot be listed, or no thread be started.
    pub(crate) fn start(store: Store, bounds: Bounds, now: Clocks) -> anyhow::Result<Kept> {
        let ids = store.incidents()?.into_iter().map(|one| one.id).collect();
        let newest_s = store.segments()?.last().map(|last| last.began_s);
        let (queue, writing) = writer::start(store, bounds, now)?;
        let boot = boot_id();
        let mut kept = Kept {
            cells: Cells::new(&boot, now),
            segment_since_ns: now.monotonic,
            last: now,
            queue,
            writing,
            failure: StoreFailure::default(),
            ids,
            boot,
        };
        let behind_s = newest_s.map_or(0, |newest_s| newest_s - now.wall / SECOND_NS);
        if behind_s > 0 {
            let behind = Nanos(behind_s.saturating_mul(SECOND_NS));
            let text = format!(
                "the wall clock is {} behind the newest data in the store: it is wrong now, or was \
                 before; no data is removed because of it",
                numbers::duration(behind.ns() as f64)
            );
            messages::warn(&text, None);
            kept.cells.add_fact("clock-behind", FactValue::Duration(behind), now);
        }
        Ok(kept)
    }

    /// The id of this boot.
    pub(crate) fn boot(&self) -> &str {
        &self.boot
    }

    /// Counts of written and dropped items.
    pub(crate) fn written(&self) -> &Written {
        &self.queue.written
    }

    /// Why the store cannot be written, if it cannot.
    pub(crate) fn trouble(&self) -> Option<&str> {
        self.failure.since.as_ref().map(|(_, _, why)| why.as_str())
    }

    /// Passes something to the writer.
    pub(crate) fn push(&self, what: Write) {
        self.queue.push(what);
    }

    /// Keeps a second; returns a message about the store if its state changed.
    pub(crate) fn second(&mut self, seen: &Seen, now: Clocks) -> Option<String> {
        self.watch_clock(now);
        let news = self.watch_store(now);
        for message in &seen.messages {
            self.cells.message(&message.device, message.fact.clone());
        }
        for mark in &seen.marks {
            self.cells.add_fact("mark", FactValue::Text(mark.clone()), now);
        }
        if let Some(blocks) = self.cells.second(&seen.second, now) {
            self.queue.push(Write::Second(blocks, now));
        }
        news
    }

    /// Keeps changed facts about the machine.
    pub(crate) fn snapshot(&mut self, around: &Snapshot, now: Clocks) {
        self.cells.snapshot(around.recording(), now);
    }

    /// Keeps the current state of an incident, if it changed.
    pub(crate) fn incident(&self, incident: &mut Incident) {
        if incident.has_changed() {
            self.queue.push(Write::Verdict(incident.id.clone(), incident.text(&self.boot)));
        }
    }

    /// Begins another segment each hour, and when the clocks changed.
    fn watch_clock(&mut self, now: Clocks) {
        let change = now.change(self.last);
        let before = std::mem::replace(&mut self.last, now);
        let hour = now.monotonic - self.segment_since_ns >= SegmentName::LENGTH_S * SECOND_NS;
        if !hour && change.is_none() {
            return;
        }
        self.segment_since_ns = now.monotonic;
        self.queue.push(Write::Second(self.cells.end(now), before));
        self.queue.push(Write::NextSegment);
        self.cells.begin(now);
        match change {
            Some(Change::Stepped(ns)) => {
                self.cells.add_fact("clock-step", FactValue::Duration(Nanos(ns)), now);
                if ns.abs() >= SECOND_NS {
                    let text = format!(
                        "the wall clock was set {} by {}: recorded in the store; no data is \
                         removed because of it",
                        if ns < 0 { "back" } else { "ahead" },
                        numbers::duration(ns.abs() as f64)
                    );
                    messages::warn(&text, None);
                }
            }
            Some(Change::Slept(ns)) => {
                self.cells.add_fact("suspend", FactValue::Duration(Nanos(ns)), now);
            }
            None => {}
        }
    }

    /// Reports when the store cannot be written, and when it can again. After lost seconds the
    /// stream restarts with all facts, because those stated meanwhile are lost as well.
    fn watch_store(&mut self, now: Clocks) -> Option<String> {
        let written = Arc::clone(&self.queue.written);
        let lost = written.lost_seconds.load(Relaxed);
        let fresh = lost - std::mem::replace(&mut self.failure.lost_seconds, lost);
        self.failure.unstated += fresh;
        if fresh > 0 {
            self.cells.begin(now);
        }
        let why = written.refusal().or_else(|| self.failure.hangs(&written, now));
        if why.is_none() && self.failure.unstated > 0 {
            let count = FactValue::Count(std::mem::take(&mut self.failure.unstated));
            self.cells.add_fact("unwritten", count, now);
        }
        match (why, self.failure.since.take()) {
            (Some(why), None) => {
                let text = format!(
                    "cannot write to the store: {why}; new data is buffered in memory for a \
                     limited time"
                );
                self.failure.since = Some((now, lost - fresh, why));
                Some(text)
            }
            (Some(why), Some((since, before, _))) => {
                self.failure.since = Some((since, before, why));
                None
            }
            (None, Some((since, before, why))) => {
                let (length_s, lost_s) = (now.ran_s(since), lost - before);
                let text = format!(
                    "the store was not writable for {length_s} s ({why}); {lost_s} s of data are \
                     lost"
                );
                self.unwritten(since, length_s, lost_s, &text);
                Some(text)
            }
            (None, None) => None,
        }
    }

    /// Keeps an incident of the store itself.
    fn unwritten(&mut self, since: Clocks, length_s: i64, lost_s: u64, text: &str) {
        let id = self.id(since, "store");
        let incident = serde_json::json!({
            "schema": "iowhy.incident/1",
            "id": id,
            "at": crate::when::words(since.wall),
            "at_ns": since.wall,
            "boot": self.boot,
            "length_s": length_s,
            "trigger": Trigger::Store.name(),
            "device": null,
            "verdict": null,
            "sentence": text,
            "lost_s": 0,
            "unwritten_s": lost_s,
        });
        let json = serde_json::to_vec_pretty(&incident).unwrap_or_default();
        self.queue.push(Write::Verdict(id, json));
    }

    /// An unused name for an incident of this moment: the wall clock may have been set back.
    pub(crate) fn id(&mut self, at: Clocks, device: &str) -> String {
        let at_s = at.wall.div_euclid(SECOND_NS);
        let mut ids = (at_s..).map(|at_s| iowhy_store::Incident::id(at_s, device));
        let free = ids.find(|id| !self.ids.contains(id)).unwrap_or_default();
        self.ids.insert(free.clone());
        free
    }

    /// Ends recording; only learned latencies follow.
    pub(crate) fn end(&mut self, learned: String, now: Clocks) {
        self.queue.push(Write::Second(self.cells.end(now), now));
        self.queue.push(Write::Learned(learned));
        self.queue.push(Write::End);
    }

    /// Whether all is written.
    pub(crate) fn is_done(&self) -> bool {
        self.writing.is_finished()
    }
}

/// The state of a store that cannot be written.
#[derive(Default)]
struct StoreFailure {
    /// Since when, seconds lost before it, and why.
    since: Option<(Clocks, u64, String)>,
    /// Seconds lost so far, and those not yet recorded in the store.
    lost_seconds: u64,
    unstated: u64,
    /// When the writer last made progress, CLOCK_MONOTONIC in ns, and its progress then, s.
    moved: (i64, i64),
}

impl StoreFailure {
    /// Why nothing is written, if the queue is not empty and the writer made no progress for a
    /// while.
    fn hangs(&mut self, written: &Written, now: Clocks) -> Option<String> {
        let done_s = written.done_s.load(Relaxed);
        if written.waiting.load(Relaxed) == 0 || done_s != self.moved.1 {
            self.moved = (now.monotonic, done_s);
        }
        let waited_ns = now.monotonic - self.moved.0;
        (waited_ns >= HANGS_NS).then(|| "its disk does not respond".to_string())
    }
}
