//! A histogram together with what it is of.

use crate::{DeviceId, Histogram, Layer, Name, Nanos, Op, Stage, Time};

/// The latencies of one device (and, if known, one operation) over one stretch of time.
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
    /// When the stretch began.
    pub start: Option<Time>,
    /// How long it was. A source that shows how long a run of N took shows it here.
    pub length: Option<Nanos>,
    /// The size of every request, bytes, if the source filtered on it or knows it; of counters
    /// their mean size.
    pub bytes: Option<u32>,
    /// What else the source said of it (a filter, a flag set, a wait event).
    pub label: Option<Name>,
    /// The counts.
    pub histogram: Histogram,
}

impl Distribution {
    /// A distribution of which only the essentials are known.
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

    /// Its stretch of time, if that is known: its beginning, and its end, which does not belong to
    /// it.
    pub fn stretch(&self) -> Option<(Time, Time)> {
        self.start.zip(self.length).map(|(start, length)| (start, start + length))
    }
}
