//! The disk share: the block I/Os that each process started itself, in the same window.

use std::collections::BTreeMap;

use iowhy_live::{BlockTrace, Collector, TraceFilter, TraceMode, TraceOptions};
use iowhy_model::{Recording, Stage};

/// The block I/Os of one process.
#[derive(Clone, Debug, Default)]
pub struct OfProcess {
    /// Its name.
    pub comm: String,
    /// How many completed.
    pub ios: u64,
    /// Their summed time on the device (D2C), ns.
    pub device_ns: u64,
    /// Their summed time from start to completion (Q2C), ns.
    pub total_ns: u64,
}

/// The tracer of the block devices, and what it saw so far.
pub struct DiskPart {
    trace: BlockTrace,
    recording: Recording,
    seen: Disk,
}

/// What it saw.
#[derive(Debug, Default)]
pub struct Disk {
    /// By process.
    pub processes: BTreeMap<u32, OfProcess>,
    /// I/Os that were lost.
    pub lost: u64,
}

impl DiskPart {
    /// Begins to trace.
    ///
    /// # Errors
    /// If a right or the kernel's types are missing.
    pub fn begin(pid: Option<u32>, comm: Option<String>) -> anyhow::Result<DiskPart> {
        let filter = TraceFilter { pid, comm, ..TraceFilter::default() };
        let options = TraceOptions { filter, ..TraceOptions::new(TraceMode::Events) };
        let mut trace = BlockTrace::new(options);
        let mut recording = Recording::new();
        trace.begin(&mut recording)?;
        Ok(DiskPart { trace, recording, seen: Disk::default() })
    }

    /// Counts what completed since the last time.
    ///
    /// # Errors
    /// If the kernel's tables cannot be read.
    pub fn poll(&mut self) -> anyhow::Result<()> {
        self.trace.poll(&mut self.recording)?;
        self.count();
        Ok(())
    }

    /// Ends the trace.
    ///
    /// # Errors
    /// If the kernel's tables cannot be read.
    pub fn end(mut self) -> anyhow::Result<Disk> {
        self.trace.end(&mut self.recording)?;
        self.count();
        Ok(self.seen)
    }

    fn count(&mut self) {
        let taken = self.recording.take();
        for listing in &taken.listings {
            self.seen.lost += listing.source.lost();
            for event in &listing.events {
                let Some(pid) = event.pid else { continue };
                let of = self.seen.processes.entry(pid).or_default();
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
