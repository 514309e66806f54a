//! What a load generator did of one operation: its I/Os, their bytes and their waits.

use iowhy_model::Rates;

/// What was done.
#[derive(Clone, Copy, Default)]
pub(crate) struct Work {
    pub(crate) ios: u64,
    pub(crate) bytes: u64,
    /// Sum of latencies, ns, where the mean was printed.
    pub(crate) waited_ns: Option<f64>,
}

impl Work {
    /// As rates over so many seconds.
    pub(crate) fn rates(&self, seconds: f64) -> Rates {
        Rates {
            ios_per_s: self.ios as f64 / seconds,
            merges_per_s: None,
            bytes_per_s: Some(self.bytes as f64 / seconds),
            await_ns: self.waited_ns.map(|waited| waited / self.ios as f64),
        }
    }
}
