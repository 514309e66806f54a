//! The recorder's figures for Prometheus: text, OpenMetrics, or protobuf with native histograms.

mod exposition;
mod message;
mod otlp;
mod server;
mod wire;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use iowhy_model::{Histogram, Op, Stage};

use super::intake::Second;
use super::verdicts::Brief;
pub use otlp::{Span, export};
pub use server::{Terms, serve};
pub use wire::{DeadlineStream, tls};

/// Devices with figures of their own; further ones share the name `other`, so that the number of
/// series is bounded: 5 operations and 3 stages of each.
const DEVICES: usize = 32;
const OTHER: &str = "other";

/// Counters of a device and operation.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    /// Completed I/Os.
    pub ios: u64,
    /// Bytes, as /proc/diskstats counts them.
    pub bytes: f64,
    /// Time waited, s.
    pub waited_s: f64,
}

/// All figures since the recorder began.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// Latencies by device, operation and stage.
    pub latencies: BTreeMap<(String, Op, Stage), Histogram>,
    /// Counters by device and operation.
    pub counters: BTreeMap<(String, Op), Counters>,
    /// I/Os in flight by device.
    pub in_flight: BTreeMap<String, u64>,
    /// The last verdict of each device, with its confidence.
    pub verdicts: BTreeMap<String, (String, f64)>,
    /// Incidents by verdict.
    pub incidents: BTreeMap<String, u64>,
    /// Single figures: name, help, whether it only grows, value.
    pub own: Vec<(&'static str, &'static str, bool, f64)>,
}

impl Figures {
    fn device(&self, name: &str) -> String {
        let counted = self.counters.keys().map(|(device, _)| device);
        let mut devices: Vec<&String> = counted.chain(self.in_flight.keys()).collect();
        devices.sort_unstable();
        devices.dedup();
        if devices.iter().any(|known| *known == name) || devices.len() < DEVICES {
            name.to_string()
        } else {
            OTHER.to_string()
        }
    }

    /// Adds a second.
    pub fn second(&mut self, second: &Second) {
        for (device, one) in &second.histograms {
            let Some(op) = one.op else { continue };
            let device = self.device(device);
            if one.stage == Stage::Total {
                let counters = self.counters.entry((device.clone(), op)).or_default();
                counters.ios += one.histogram.count();
                counters.waited_s += one.histogram.sum_ns.unwrap_or(0.0) / 1e9;
            }
            match self.latencies.get_mut(&(device.clone(), op, one.stage)) {
                Some(known) => {
                    known.merge(&one.histogram);
                }
                None => {
                    self.latencies.insert((device, op, one.stage), one.histogram.clone());
                }
            }
        }
        for (device, row) in &second.averages {
            let device = self.device(device);
            let seconds = row.length.map_or(0.0, |length| length.ns() as f64 / 1e9);
            for (op, rates) in &row.rates {
                if let Some(bytes) = rates.bytes_per_s.filter(|bytes| *bytes > 0.0) {
                    let counters = self.counters.entry((device.clone(), *op)).or_default();
                    counters.bytes += bytes * seconds;
                }
            }
            // A machine has many loop devices that never do anything.
            let in_flight = row.in_flight.unwrap_or(0);
            if in_flight > 0 || self.counters.keys().any(|(known, _)| *known == device) {
                self.in_flight.insert(device, in_flight);
            }
        }
    }

    /// Keeps a verdict.
    pub fn verdict(&mut self, brief: &Brief) {
        if !brief.device.is_empty() {
            let device = self.device(&brief.device);
            self.verdicts.insert(device, (brief.verdict.clone(), brief.confidence));
        }
    }
}

/// Figures that the recorder writes and the server reads.
#[derive(Clone, Default)]
pub struct SharedFigures(Arc<Mutex<Figures>>);

impl SharedFigures {
    /// The figures, for a moment.
    pub fn figures(&self) -> MutexGuard<'_, Figures> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
