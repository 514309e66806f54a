//! How the CPUs spent their time, as many tools print it: shares of a report by column.

use iowhy_model::typed::Share;
use iowhy_model::{Sink, typed};

use crate::counters::stated::Column;
use crate::decimal;

/// The name of a column here, and in the tools (sysstat, top of two generations, dstat).
const SHARES: [(&str, &[&str]); 5] = [
    ("user", &["%user", "%usr", "us", "usr"]),
    ("system", &["%system", "%sys", "sy", "sys"]),
    ("iowait", &["%iowait", "wa", "wai"]),
    ("steal", &["%steal", "st", "stl"]),
    ("idle", &["%idle", "id", "idl"]),
];

/// Shares of the processors' time over the reports of a listing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Processor {
    shares: [Column; SHARES.len()],
}

/// The values of one report by the names above.
pub(crate) type Shares = [Option<f64>; SHARES.len()];

impl Processor {
    /// Takes the values of one report.
    pub(crate) fn take(&mut self, shares: &Shares) {
        for (column, value) in self.shares.iter_mut().zip(shares) {
            if let Some(value) = value.filter(|value| (0.0..=100.0).contains(value)) {
                column.take(value);
            }
        }
    }

    /// States mean and maximum of each share: `cpu.iowait.mean`, `cpu.iowait.max`, in percent.
    pub(crate) fn state(&self, sink: &mut dyn Sink) {
        for ((of, _), column) in SHARES.iter().zip(&self.shares) {
            let keys = [typed::CPU_MEAN.of(of), typed::CPU_MAX.of(of)];
            column.state(None, keys, Share::from_percent, sink);
        }
    }
}

/// The shares among columns and their values.
pub(crate) fn shares<'a>(columns: impl Iterator<Item = (&'a str, &'a str)>) -> Shares {
    let mut shares = Shares::default();
    for (name, word) in columns {
        let place = SHARES.iter().position(|(_, names)| names.contains(&name));
        if let Some(share) = place.and_then(|place| shares.get_mut(place)) {
            *share = decimal(word.trim_end_matches('%'));
        }
    }
    shares
}

/// Idle time with I/O outstanding, in percent.
pub(crate) fn iowait(shares: &Shares) -> Option<f64> {
    let place = SHARES.iter().position(|(name, _)| *name == "iowait")?;
    *shares.get(place)?
}

/// Whether these are columns of a processor: enough to recognise it.
pub(crate) fn are_shares(columns: &[&str]) -> bool {
    let has = |key: &str| {
        let names = SHARES.iter().find(|(known, _)| *known == key).map_or(&[][..], |(_, n)| n);
        columns.iter().any(|column| names.contains(column))
    };
    has("idle") && has("user") && has("system")
}
