//! Facts and averages that many formats state in the same way.

use iowhy_model::{DeviceId, Fact, FactKey, Rates, Sink};

/// States something of the open listing: of a device, or of the machine or run as a whole.
pub(crate) fn state(device: Option<DeviceId>, key: &str, value: String, sink: &mut dyn Sink) {
    let read_from = sink.source().place();
    sink.fact(Fact::read(device, FactKey::named(key), &value, read_from));
}

/// Rates of one operation, where the number of requests is known. A mean of 0 beside requests is
/// one that was rounded away.
pub(crate) fn rates(ios: Option<f64>, bytes: Option<f64>, await_ns: Option<f64>) -> Option<Rates> {
    let ios_per_s = ios.filter(|ios| *ios >= 0.0)?;
    Some(Rates {
        ios_per_s,
        merges_per_s: None,
        bytes_per_s: bytes.filter(|bytes| *bytes >= 0.0),
        await_ns: await_ns.filter(|ns| ios_per_s > 0.0 && *ns > 0.0),
    })
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

    /// States `KEY.mean`, and `KEY.max` if there was more than one value.
    pub(crate) fn state(&self, key: &str, unit: &str, sink: &mut dyn Sink) {
        if let Some(mean) = self.mean() {
            let mean = if unit == "KiB" { format!("{mean:.0}") } else { format!("{mean:.1}") };
            state(None, &format!("{key}.mean"), format!("{mean} {unit}"), sink);
        }
        if self.count > 1 {
            state(None, &format!("{key}.max"), format!("{} {unit}", self.max), sink);
        }
    }
}
