//! Averages that many formats report in the same way.

use iowhy_model::typed::{BytesPerSecond, Key};
use iowhy_model::{DeviceId, FactValue, Op, Rates, Sink, typed};

use crate::facts::AddFact;

/// Rates of one operation, where the number of requests is known. A mean of 0 with requests was
/// rounded away.
pub(crate) fn rates(ios: Option<f64>, bytes: Option<f64>, await_ns: Option<f64>) -> Option<Rates> {
    let ios_per_s = ios.filter(|ios| *ios >= 0.0)?;
    Some(Rates {
        ios_per_s,
        merges_per_s: None,
        bytes_per_s: bytes.filter(|bytes| *bytes >= 0.0),
        await_ns: await_ns.filter(|ns| ios_per_s > 0.0 && *ns > 0.0),
    })
}

/// The same of several operations: requests and bytes per second, and the mean latency in ns.
pub(crate) fn by_op<const N: usize>(parts: [(Op, [Option<f64>; 3]); N]) -> Vec<(Op, Rates)> {
    let parts = parts.into_iter();
    parts.filter_map(|(op, [ios, bytes, wait])| Some((op, rates(ios, bytes, wait)?))).collect()
}

/// A number to one decimal, as it is printed.
pub(crate) fn tenth(value: f64) -> f64 {
    (value * 10.0).round_ties_even() / 10.0
}

/// Mean and maximum of a column over the reports of a listing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Column {
    sum: f64,
    max: f64,
    count: u64,
}

impl Column {
    /// Takes the value of one more report.
    pub(crate) fn take(&mut self, value: f64) {
        self.sum += value;
        self.max = self.max.max(value);
        self.count += 1;
    }

    /// The mean of the values; `None` if there was none.
    pub(crate) fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }

    /// How many there were.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The largest of them.
    pub(crate) fn max(&self) -> f64 {
        self.max
    }

    /// Adds the mean, to a tenth of the column's unit, and the maximum if there was more than one
    /// value.
    pub(crate) fn state<V: Into<FactValue>>(
        &self,
        device: Option<DeviceId>,
        [mean, max]: [Key<V>; 2],
        in_unit: impl Fn(f64) -> V,
        sink: &mut dyn Sink,
    ) {
        if let Some(value) = self.mean() {
            sink.add_fact(device, mean, in_unit(tenth(value)));
        }
        if self.count > 1 {
            sink.add_fact(device, max, in_unit(self.max));
        }
    }
}

/// Adds what all disks read and wrote, by columns of KiB per second.
pub(crate) fn state_disks(read: &Column, written: &Column, sink: &mut dyn Sink) {
    for (column, family) in [(read, typed::DISKS_READ), (written, typed::DISKS_WRITTEN)] {
        let keys = [family.of("mean"), family.of("max")];
        column.state(None, keys, BytesPerSecond::from_kib, sink);
    }
}

/// Adds what one disk read and wrote, by the same columns.
pub(crate) fn state_disk(disk: &str, [read, written]: &[Column; 2], sink: &mut dyn Sink) {
    let device = Some(sink.device(disk));
    for (column, family) in [(read, typed::DISK_READ), (written, typed::DISK_WRITTEN)] {
        let keys = [family.of("mean"), family.of("max")];
        column.state(device, keys, BytesPerSecond::from_kib, sink);
    }
}
