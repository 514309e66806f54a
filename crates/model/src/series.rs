//! Histograms over time, for heat maps.

use crate::{DeviceId, Histogram, Nanos, Op, Stage, Time};

/// Histograms of one device over consecutive intervals, all over the same edges.
#[derive(Clone, PartialEq, Debug)]
pub struct Series {
    /// The device.
    pub device: DeviceId,
    /// The operation; `None` for all together.
    pub op: Option<Op>,
    /// Which part of the request's life the latencies cover.
    pub stage: Stage,
    /// When each column begins, how long it is, and what was counted in it; an interval in which
    /// nothing was watched has no column.
    pub columns: Vec<(Time, Nanos, Histogram)>,
}
