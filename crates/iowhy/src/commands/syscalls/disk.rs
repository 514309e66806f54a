//! The disk share: the block I/Os that each process started itself, in the same window.

use std::collections::BTreeMap;

use iowhy_model::{Listing, Recording, Stage};

/// The block I/Os of one process.
#[derive(Clone, Debug, Default)]
pub(super) struct OfProcess {
    /// Its name.
    pub comm: String,
    /// How many completed.
    pub ios: u64,
    /// Their summed time on the device (D2C), ns.
    pub device_ns: u64,
    /// Their summed time from start to completion (Q2C), ns.
    pub total_ns: u64,
}

/// The block I/Os that the tracer saw.
#[derive(Debug, Default)]
pub(super) struct Disk {
    /// By process.
    pub processes: BTreeMap<u32, OfProcess>,
    /// I/Os that were lost.
    pub lost: u64,
}

/// Whether a listing is from that tracer.
pub(super) fn is_of_disks(listing: &Listing) -> bool {
    listing.source.format == "block-trace"
}

impl Disk {
    /// Counts completions since the last call.
    pub(super) fn count(&mut self, taken: &Recording) {
        for listing in taken.listings.iter().filter(|one| is_of_disks(one)) {
            self.lost += listing.source.lost();
            for event in &listing.events {
                let Some(pid) = event.pid else { continue };
                let of = self.processes.entry(pid).or_default();
                if of.comm.is_empty() {
                    of.comm = event.comm.map_or(String::new(), |name| taken.text(name).to_string());
                }
                let ns = |stage| event.latency(stage).map_or(0, |latency| latency.ns() as u64);
                of.ios += 1;
                of.device_ns += ns(Stage::Device);
                of.total_ns += ns(Stage::Total);
            }
        }
    }
}
