//! Which processes read and wrote, as reported by the tools that list them.

use std::collections::BTreeMap;

use iowhy_model::Order as _;
use iowhy_model::typed::{Bytes, BytesPerSecond, OfProcess, Share};
use iowhy_model::{Sink, typed};

use crate::counters::stated::tenth;
use crate::facts::AddFact;

/// Processes that are named; the others only add up.
const NAMED: usize = 5;
/// Processes remembered at most.
const KEPT: usize = 10_000;

/// Bytes per second of each process, summed over the reports of a listing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Processes {
    known: BTreeMap<String, [f64; 2]>,
    reports: u64,
    /// Bytes of each process since a moment that is not known.
    sums: BTreeMap<String, [f64; 2]>,
}

impl Processes {
    /// A report begins.
    pub(crate) fn report(&mut self) {
        self.reports += 1;
    }

    /// Adds what a process, `mysqld (1234)`, read and wrote.
    pub(crate) fn add(&mut self, who: &str, read: Option<f64>, written: Option<f64>) {
        if self.known.len() >= KEPT && !self.known.contains_key(who) {
            return;
        }
        let [reads, writes] = self.known.entry(who.to_string()).or_default();
        *reads += read.unwrap_or(0.0).max(0.0);
        *writes += written.unwrap_or(0.0).max(0.0);
    }

    /// Sets what a process has read and written so far, in bytes.
    pub(crate) fn sum(&mut self, who: &str, read: f64, written: f64) {
        if self.sums.len() < KEPT || self.sums.contains_key(who) {
            self.sums.insert(who.to_string(), [read.max(0.0), written.max(0.0)]);
        }
    }

    /// States those that moved most since that moment, and which share of all the first is.
    fn state_sums(&self, sink: &mut dyn Sink) {
        let keys = [
            (typed::PROCESS_READ, typed::PROCESS_READ_SHARE),
            (typed::PROCESS_WRITTEN, typed::PROCESS_WRITE_SHARE),
        ];
        for (place, (key, of_all)) in keys.into_iter().enumerate() {
            let moved = most(&self.sums, place);
            let all: f64 = moved.iter().map(|(_, bytes)| bytes).sum();
            for (who, bytes) in moved.iter().take(NAMED) {
                let value = Bytes(*bytes as u64);
                sink.add_fact(None, key.clone(), OfProcess { value, who: who.to_string() });
            }
            if let Some((who, bytes)) = moved.first() {
                let value = Share::from_percent(tenth(bytes / all * 100.0));
                sink.add_fact(None, of_all, OfProcess { value, who: who.to_string() });
            }
        }
    }

    /// States those that moved most: `process.reads = 1024.0 KiB/s mysqld (1234)`, a mean over the
    /// reports.
    pub(crate) fn state(&self, sink: &mut dyn Sink) {
        let reports = self.reports.max(1) as f64;
        for (place, key) in [typed::PROCESS_READS, typed::PROCESS_WRITES].into_iter().enumerate() {
            for (who, bytes) in most(&self.known, place).iter().take(NAMED) {
                let value = BytesPerSecond::from_kib(tenth(bytes / reports / 1024.0));
                sink.add_fact(None, key.clone(), OfProcess { value, who: who.to_string() });
            }
        }
        self.state_sums(sink);
    }
}

/// Processes by what they read or wrote, the first of them the most.
fn most(of: &BTreeMap<String, [f64; 2]>, place: usize) -> Vec<(&str, f64)> {
    let mut moved: Vec<(&str, f64)> =
        of.iter().map(|(who, moved)| (who.as_str(), moved[place])).collect();
    moved.retain(|(_, bytes)| *bytes > 0.0);
    moved.order_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
    moved
}
