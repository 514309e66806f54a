//! Every block request, from its start to its completion, by eBPF.

use iowhy_model::{Nanos, Op, Sink};

use crate::{Collector, Error};

/// Its name in the list of collectors.
pub const NAME: &str = "block-trace";

/// What the kernel hands over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TraceMode {
    /// One record per request.
    Events,
    /// Counts per device, operation and stage, kept in the kernel.
    Histograms,
}

/// What to trace, and how.
#[derive(Clone, PartialEq, Debug)]
pub struct TraceOptions {
    /// Single events or histograms.
    pub mode: TraceMode,
    /// Only these devices, as (major, minor) of the whole disk; all if empty.
    pub devices: Vec<(u32, u32)>,
    /// Only these operations; all if empty.
    pub ops: Vec<Op>,
    /// Events only: hand over only requests that took longer than this, Q2C (D2C where the start was
    /// not seen). The others are still counted.
    pub over: Option<Nanos>,
    /// Events only: size of the ring buffer; rounded up to a power of two.
    pub ring_bytes: u32,
}

impl TraceOptions {
    /// All devices and operations.
    pub fn new(mode: TraceMode) -> Self {
        TraceOptions { mode, devices: Vec::new(), ops: Vec::new(), over: None, ring_bytes: 8 << 20 }
    }
}

/// The block tracer.
#[derive(Debug)]
pub struct BlockTrace {
    options: TraceOptions,
}

impl BlockTrace {
    /// A tracer that has not begun yet.
    pub fn new(options: TraceOptions) -> Self {
        BlockTrace { options }
    }
}

impl Collector for BlockTrace {
    fn name(&self) -> &'static str {
        NAME
    }

    fn begin(&mut self, _sink: &mut dyn Sink) -> Result<(), Error> {
        let _ = &self.options;
        Err(Error::Missing { right: "CAP_BPF".to_string() })
    }

    fn poll(&mut self, _sink: &mut dyn Sink) -> Result<(), Error> {
        Ok(())
    }

    fn end(&mut self, _sink: &mut dyn Sink) -> Result<(), Error> {
        Ok(())
    }
}
