//! A histogram with its device, operation, stage and interval.

use crate::{DeviceId, Histogram, Layer, Name, Nanos, Op, Stage, Time};

/// The latencies of one device (and, if known, one operation) over one interval.
#[derive(Clone, PartialEq, Debug)]
pub struct Distribution {
    /// The device.
    pub device: DeviceId,
    /// The operation; `None` if the source mixes them.
    pub op: Option<Op>,
    /// Where it was measured.
    pub layer: Layer,
    /// Which part of the request's life it covers.
    pub stage: Stage,
    /// When the interval began.
    pub start: Option<Time>,
    /// How long it was, or how long the whole run took if the source gives that.
    pub length: Option<Nanos>,
    /// Request size in bytes, if all had the same; for counters the mean size.
    pub bytes: Option<u32>,
    /// Further labels from the source (a filter, a flag set, a wait event).
    pub label: Option<Name>,
    /// The counts.
    pub histogram: Histogram,
}

impl Distribution {
    /// A distribution with only the required fields.
    pub fn new(device: DeviceId, layer: Layer, stage: Stage, histogram: Histogram) -> Self {
        Distribution {
            device,
            op: None,
            layer,
            stage,
            start: None,
            length: None,
            bytes: None,
            label: None,
            histogram,
        }
    }

    /// Its interval, if known: start (inclusive) and end (exclusive).
    pub fn stretch(&self) -> Option<(Time, Time)> {
        self.start.zip(self.length).map(|(start, length)| (start, start + length))
    }
}
