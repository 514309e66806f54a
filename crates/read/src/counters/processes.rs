//! Which processes read and wrote, as reported by the tools that list them.

use std::collections::BTreeMap;

use iowhy_model::Order as _;
use iowhy_model::typed::{BytesPerSecond, OfProcess};
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

    /// States those that moved most: `process.reads = 1024.0 KiB/s mysqld (1234)`, a mean over the
    /// reports.
    pub(crate) fn state(&self, sink: &mut dyn Sink) {
        let reports = self.reports.max(1) as f64;
        for (place, key) in [typed::PROCESS_READS, typed::PROCESS_WRITES].into_iter().enumerate() {
            let mut moved: Vec<(&str, f64)> =
                self.known.iter().map(|(who, moved)| (who.as_str(), moved[place])).collect();
            moved.retain(|(_, bytes)| *bytes > 0.0);
            moved.order_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
            for (who, bytes) in moved.iter().take(NAMED) {
                let value = BytesPerSecond::from_kib(tenth(bytes / reports / 1024.0));
                sink.add_fact(None, key.clone(), OfProcess { value, who: who.to_string() });
            }
        }
    }
}
