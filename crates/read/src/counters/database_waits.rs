//! What the sessions of a database wait for: one list of classes for all databases.

use std::collections::BTreeMap;

use iowhy_model::typed::{OfProcess, Share};
use iowhy_model::{DeviceId, Nanos, Op, Sink, typed};

use crate::facts::AddFact;
use crate::histogram::buckets::{latencies, mean_only};

/// What a session waits for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Awaited {
    /// A read from storage.
    Read,
    /// A write of data, temporary files or backups.
    Write,
    /// The log: a write or flush of it, or space in it.
    Log,
    /// A lock of rows, tables or other objects.
    Lock,
    /// A latch or mutex: a structure in memory.
    Latch,
    /// A CPU, or computing on one.
    Cpu,
    /// A client, a replica or another node.
    Network,
    /// Memory, parallel workers of the same statement, what is not listed here.
    Other,
    /// Nothing: a session without work.
    Idle,
}

impl Awaited {
    /// The last part of the key.
    fn name(self) -> &'static str {
        match self {
            Awaited::Read => "read",
            Awaited::Write => "write",
            Awaited::Log => "log",
            Awaited::Lock => "lock",
            Awaited::Latch => "latch",
            Awaited::Cpu => "cpu",
            Awaited::Network => "network",
            Awaited::Other => "other",
            Awaited::Idle => "idle",
        }
    }
}

/// Events remembered at most: a database has some 2,000.
const KEPT: usize = 10_000;

/// Waits of a listing: their time, or how many sessions were seen in each.
#[derive(Clone, Debug, Default)]
pub(crate) struct DatabaseWaits {
    amounts: BTreeMap<(Awaited, String), f64>,
    waits: u64,
    is_timed: bool,
}

impl DatabaseWaits {
    /// Adds the time of this many waits for an event, in s.
    pub(crate) fn time(&mut self, awaited: Awaited, event: &str, seconds: f64, waits: u64) {
        self.is_timed = true;
        self.add(awaited, event, seconds, waits);
    }

    /// Adds sessions that were in an event when they were sampled.
    pub(crate) fn sessions(&mut self, awaited: Awaited, event: &str, sessions: u64) {
        self.add(awaited, event, sessions as f64, sessions);
    }

    fn add(&mut self, awaited: Awaited, event: &str, amount: f64, waits: u64) {
        let key = (awaited, event.to_string());
        let has_room = self.amounts.len() < KEPT || self.amounts.contains_key(&key);
        if awaited != Awaited::Idle && amount > 0.0 && has_room {
            *self.amounts.entry(key).or_default() += amount;
            self.waits = self.waits.saturating_add(waits);
        }
    }

    /// States the share of each class with its largest event.
    pub(crate) fn state(self, sink: &mut dyn Sink) {
        let all: f64 = self.amounts.values().sum();
        let mut classes: BTreeMap<Awaited, (f64, &str, f64)> = BTreeMap::new();
        for ((awaited, event), amount) in &self.amounts {
            let event = event.as_str();
            let known = classes.entry(*awaited).or_insert((0.0, event, *amount));
            known.0 += amount;
            if *amount > known.2 {
                (known.1, known.2) = (event, *amount);
            }
        }
        for (awaited, (sum, event, _)) in classes {
            let value = Share((1e3 * sum / all).round_ties_even() / 1e3);
            let key = typed::DATABASE_WAIT_SHARE.of(awaited.name());
            sink.add_fact(None, key, OfProcess { value, who: event.to_string() });
        }
        if all > 0.0 {
            sink.add_fact(None, typed::DATABASE_WAITS, self.waits);
        }
        if all > 0.0 && self.is_timed {
            sink.add_fact(None, typed::DATABASE_WAIT_TIME, Nanos::from_seconds(all));
        }
    }
}

/// Emits this many waits for I/O with this mean, as a session measured them.
pub(crate) fn io_waits(device: DeviceId, op: Op, waits: u64, mean_ns: f64, sink: &mut dyn Sink) {
    if let Some(histogram) = mean_only(waits, mean_ns) {
        latencies(device, Some(op), "", histogram, sink);
    }
}

/// What an event of Oracle waits for, by the beginning of its name (Oracle Database Reference,
/// appendix C); the first that fits.
const ORACLE: &[(&str, Awaited)] = &[
    ("ON CPU", Awaited::Cpu),
    ("DB CPU", Awaited::Cpu),
    ("CPU", Awaited::Cpu),
    ("resmgr:cpu quantum", Awaited::Cpu),
    ("log file sequential read", Awaited::Read),
    ("log file", Awaited::Log),
    ("log buffer space", Awaited::Log),
    ("LGWR wait for redo copy", Awaited::Latch),
    ("free buffer waits", Awaited::Write),
    ("write complete waits", Awaited::Write),
    ("enq: ", Awaited::Lock),
    ("enqueue", Awaited::Lock),
    ("row cache lock", Awaited::Lock),
    ("library cache lock", Awaited::Lock),
    ("library cache pin", Awaited::Lock),
    ("library cache", Awaited::Latch),
    ("latch", Awaited::Latch),
    ("buffer busy waits", Awaited::Latch),
    ("cursor: ", Awaited::Latch),
    ("gc buffer busy", Awaited::Latch),
    ("gc ", Awaited::Network),
    ("read by other session", Awaited::Read),
    ("db file async I/O submit", Awaited::Write),
    ("db file parallel write", Awaited::Write),
    ("db file single write", Awaited::Write),
    ("db file", Awaited::Read),
    ("direct path write", Awaited::Write),
    ("direct path sync", Awaited::Write),
    ("direct path", Awaited::Read),
    ("cell ", Awaited::Read),
    ("control file sequential read", Awaited::Read),
    ("control file", Awaited::Write),
    ("Data file init write", Awaited::Write),
    ("flashback log file", Awaited::Write),
    ("Log archive I/O", Awaited::Write),
    ("Disk file operations I/O", Awaited::Read),
    ("SQL*Net message from client", Awaited::Idle),
    ("rdbms ipc message", Awaited::Idle),
    ("smon timer", Awaited::Idle),
    ("pmon timer", Awaited::Idle),
    ("PL/SQL lock timer", Awaited::Idle),
    ("jobq slave wait", Awaited::Idle),
    ("class slave wait", Awaited::Idle),
    ("DIAG idle wait", Awaited::Idle),
    ("VKTM", Awaited::Idle),
    ("Streams AQ: ", Awaited::Idle),
    ("Space Manager: slave idle wait", Awaited::Idle),
    ("PX Deq: Execution Msg", Awaited::Idle),
    ("SQL*Net ", Awaited::Network),
    ("LNS", Awaited::Network),
    ("LGWR real time apply sync", Awaited::Network),
    ("SYNC Remote Write", Awaited::Network),
];
/// The same by its class; AWR cuts the names at eight letters or more.
const ORACLE_CLASSES: &[(&str, Awaited)] = &[
    ("User I/O", Awaited::Read),
    ("System I/O", Awaited::Write),
    ("Commit", Awaited::Log),
    ("Concurre", Awaited::Latch),
    ("Applicat", Awaited::Lock),
    ("Network", Awaited::Network),
    ("Cluster", Awaited::Network),
    ("Schedule", Awaited::Cpu),
    ("Idle", Awaited::Idle),
    ("Configur", Awaited::Other),
    ("Administ", Awaited::Other),
    ("Other", Awaited::Other),
];

/// What a row of Oracle waits for that begins with the event, and that event.
pub(crate) fn of_oracle(row: &str) -> (Option<Awaited>, &str) {
    let row = row.trim();
    let class = ORACLE_CLASSES.iter().find_map(|(name, awaited)| {
        let at = row.find(&format!(" {name}"))?;
        Some((at, *awaited))
    });
    let known = ORACLE.iter().find(|(begin, _)| row.starts_with(begin)).map(|known| known.1);
    let is_number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let number = row.match_indices(' ').find(|(at, _)| is_number(&row[at + 1..]));
    let ends = [class.map(|(at, _)| at), number.map(|(at, _)| at), row.find("  ")];
    let end = ends.into_iter().flatten().min().unwrap_or(row.len());
    (known.or(class.map(|(_, awaited)| awaited)), row[..end].trim())
}
