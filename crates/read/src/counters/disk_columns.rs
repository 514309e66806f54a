//! The meaning of each column of iostat and sar, by name, not by position.

use iowhy_model::{DeviceId, Interval, Layer, Op, Rates};

use crate::decimal;

/// Whether a word of a header names a column. By its form, because new columns keep appearing.
pub(crate) fn is_column(word: &str) -> bool {
    let shaped = word.ends_with("/s") || word.ends_with("-sz") || word.ends_with("await");
    let totals = ["kB", "MB", "GB", "Blk"].iter().any(|unit| {
        let rest = word.strip_prefix(unit).and_then(|rest| rest.strip_prefix('_'));
        rest.is_some_and(|rest| matches!(rest, "read" | "wrtn" | "dscd" | "w+d"))
    });
    shaped || totals || matches!(word, "tps" | "svctm" | "%util" | "%rrqm" | "%wrqm" | "%drqm")
}

/// A value as iostat prints it: `139.31`, `139,31`, and with `--human` `1.3M`, `27.7%`. None of its
/// columns goes below zero.
pub(crate) fn is_value(word: &str) -> bool {
    value(word, 1.0).is_some_and(|value| value >= 0.0)
}

/// The value in the column's own unit times `scale`; a value that carries its unit letter is
/// scaled by that instead (1024-based, as `--human` prints them; `s` is a sector).
fn value(word: &str, scale: f64) -> Option<f64> {
    let (digits, scale) = match word.as_bytes().last()? {
        b'%' => (&word[..word.len() - 1], scale),
        b'B' => (&word[..word.len() - 1], 1.0),
        b's' => (&word[..word.len() - 1], SECTOR),
        b'k' => (&word[..word.len() - 1], KIB),
        b'M' => (&word[..word.len() - 1], MIB),
        b'G' => (&word[..word.len() - 1], GIB),
        b'T' => (&word[..word.len() - 1], GIB * KIB),
        b'P' => (&word[..word.len() - 1], GIB * MIB),
        _ => (word, scale),
    };
    decimal(digits).map(|number| number * scale)
}

/// Sectors are 512 bytes in every column of iostat, whatever the device's block size.
const SECTOR: f64 = 512.0;
/// iostat's kB, MB and GB are powers of 1024 (`iostat.c` halves sectors to get kB).
const KIB: f64 = 1024.0;
const MIB: f64 = KIB * KIB;
const GIB: f64 = MIB * KIB;
const NS_PER_MS: f64 = 1e6;

/// How far bytes over requests may be from the printed size: only rounding separates them, and a
/// tenth exceeds it in any row worth judging.
const SIZE_TOLERANCE: f64 = 0.10;
/// Half of the last digit of a number that is printed to a hundredth.
const HALF_DIGIT: f64 = 0.005;

/// A row that is being assembled, perhaps from several tables of one report.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowBuilder {
    /// Reads, writes, discards, flushes.
    parts: [Part; 4],
    /// All together, where only that is given.
    mixed: Part,
    await_ns: Option<f64>,
    queue_len: Option<f64>,
    busy: Option<f64>,
    svctm_ns: Option<f64>,
    /// Mean size over all operations, where it is printed.
    size: Option<f64>,
    /// Values are printed to a hundredth.
    hundredths: bool,
}

/// The columns of one operation.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    ios: Option<f64>,
    merges: Option<f64>,
    bytes: Option<f64>,
    /// The unit its bytes are printed in.
    unit: Option<f64>,
    size: Option<f64>,
    await_ns: Option<f64>,
}

/// The operation that the first letter of a column means.
const OPS: [(char, Op); 4] =
    [('r', Op::Read), ('w', Op::Write), ('d', Op::Discard), ('f', Op::Flush)];

impl RowBuilder {
    /// Takes one value; unknown columns hold nothing that is kept.
    pub(crate) fn take(&mut self, column: &str, word: &str) {
        let of = |scale: f64| value(word, scale);
        let fraction = word.split_once(['.', ',']).map_or(0, |(_, fraction)| fraction.len());
        self.hundredths |= fraction == 2;
        match column {
            "tps" => self.mixed.ios = of(1.0),
            "kB/s" => self.mixed.bytes = of(KIB),
            "MB/s" => self.mixed.bytes = of(MIB),
            "GB/s" => self.mixed.bytes = of(GIB),
            "sec/s" => self.mixed.bytes = of(SECTOR),
            "rqm/s" => self.mixed.merges = of(1.0),
            "await" => self.await_ns = of(NS_PER_MS),
            "aqu-sz" | "avgqu-sz" => self.queue_len = of(1.0),
            "%util" => self.busy = of(0.01),
            "avgrq-sz" => self.size = of(SECTOR),
            "svctm" => self.svctm_ns = of(NS_PER_MS),
            "kB_read/s" | "kB_wrtn/s" | "kB_dscd/s" | "kB_w+d/s" => self.add_bytes(of(KIB)),
            "MB_read/s" | "MB_wrtn/s" | "MB_dscd/s" | "MB_w+d/s" => self.add_bytes(of(MIB)),
            "GB_read/s" | "GB_wrtn/s" | "GB_dscd/s" | "GB_w+d/s" => self.add_bytes(of(GIB)),
            "Blk_read/s" | "Blk_wrtn/s" | "Blk_dscd/s" | "Blk_w+d/s" => self.add_bytes(of(SECTOR)),
            _ => self.take_part(column, word),
        }
    }

    /// The basic report has bytes by direction but only the total of requests.
    fn add_bytes(&mut self, bytes: Option<f64>) {
        if let Some(bytes) = bytes {
            *self.mixed.bytes.get_or_insert(0.0) += bytes;
        }
    }

    fn take_part(&mut self, column: &str, word: &str) {
        let Some(place) = OPS.iter().position(|(letter, _)| column.starts_with(*letter)) else {
            return;
        };
        let part = &mut self.parts[place];
        let of = |scale: f64| value(word, scale);
        match &column[1..] {
            "/s" => part.ios = of(1.0),
            "rqm/s" => part.merges = of(1.0),
            "kB/s" => (part.bytes, part.unit) = (of(KIB), Some(KIB)),
            "MB/s" => (part.bytes, part.unit) = (of(MIB), Some(MIB)),
            "GB/s" => (part.bytes, part.unit) = (of(GIB), Some(GIB)),
            "sec/s" if part.bytes.is_none() => {
                (part.bytes, part.unit) = (of(SECTOR), Some(SECTOR));
            }
            "areq-sz" => part.size = of(KIB),
            "_await" => part.await_ns = of(NS_PER_MS),
            _ => {}
        }
    }

    /// Rates of whole requests, if they are printed to a hundredth: over an interval of T seconds
    /// each is a multiple of 1/T.
    pub(crate) fn request_rates(&self) -> impl Iterator<Item = f64> {
        let parts = self.parts.iter().chain([&self.mixed]).filter(|_| self.hundredths);
        parts.flat_map(|part| [part.ios, part.merges]).flatten().filter(|rate| *rate > 0.0)
    }

    /// Bytes over requests, as a multiple of the mean size that is printed beside them, if the two
    /// differ: both are made of the same counters, so one was changed or is of another unit.
    pub(crate) fn size_denied(&self) -> Option<f64> {
        let sum = |of: fn(&Part) -> Option<f64>| self.parts[..3].iter().filter_map(of).sum::<f64>();
        let unit = |part: &Part| part.unit.unwrap_or(KIB);
        let units = sum(|part| part.bytes.map(|_| part.unit.unwrap_or(KIB)));
        let all = (sum(|part| part.bytes), sum(|part| part.ios), self.size, units);
        let parts = self.parts.iter().map(|part| (part.bytes, part.ios, part.size, unit(part)));
        let parts = parts.filter_map(|(bytes, ios, size, unit)| Some((bytes?, ios?, size, unit)));
        let denied = |(bytes, ios, size, unit): (f64, f64, Option<f64>, f64)| {
            let size = size.filter(|size| *size > 0.0 && ios > 0.0 && bytes > 0.0)?;
            // Each value may be off by half of its last digit, a hundredth of its unit.
            let (low, high) = (bytes - HALF_DIGIT * unit, bytes + HALF_DIGIT * unit);
            let least = low / (ios + HALF_DIGIT) / (size + HALF_DIGIT * KIB);
            let most = high / (ios - HALF_DIGIT).max(0.0) / (size - HALF_DIGIT * KIB).max(0.0);
            let denied = most < 1.0 - SIZE_TOLERANCE || least > 1.0 + SIZE_TOLERANCE;
            denied.then_some(bytes / ios / size)
        };
        std::iter::once(all).chain(parts).filter(|_| self.hundredths).find_map(denied)
    }

    /// The rate where all its columns were left out: `svctm` is busy time divided by requests, so
    /// it gives their number, and the queue over that the mean latency (Little's law).
    fn rate_of_svctm(&self) -> Option<Rates> {
        if self.parts.iter().any(|part| part.ios.is_some()) {
            return None;
        }
        let each_ns = self.svctm_ns.filter(|ns| *ns > 0.0)?;
        let ios_per_s = self.busy.filter(|busy| *busy > 0.0)? * 1e9 / each_ns;
        let await_ns = self.queue_len.map(|queue| queue * 1e9 / ios_per_s);
        let (bytes_per_s, merges_per_s) = (self.size.map(|size| size * ios_per_s), None);
        Some(Rates { ios_per_s, merges_per_s, bytes_per_s, await_ns: self.await_ns.or(await_ns) })
    }

    /// The interval that the row describes.
    pub(crate) fn interval(&self, device: DeviceId) -> Interval {
        let mut interval = Interval::new(device, Layer::Block);
        let parts = OPS.iter().zip(&self.parts);
        interval.rates = parts.filter_map(|((_, op), part)| Some((*op, part.rates()?))).collect();
        interval.mixed = self.mixed.rates().or(self.rate_of_svctm());
        // "0.00" is printed if nothing completed; that is not a latency.
        let idle = interval.ios_per_s() == 0.0;
        let known = |time: &f64| !(idle && *time == 0.0);
        interval.await_ns = self.await_ns.filter(known);
        interval.svctm_ns = self.svctm_ns.filter(known);
        interval.queue_len = self.queue_len;
        interval.busy = self.busy;
        interval
    }
}

impl Part {
    fn rates(&self) -> Option<Rates> {
        let ios_per_s = self.ios?;
        Some(Rates {
            ios_per_s,
            merges_per_s: self.merges,
            bytes_per_s: self.bytes.or(self.size.map(|size| size * ios_per_s)),
            await_ns: self.await_ns.filter(|time| ios_per_s > 0.0 || *time > 0.0),
        })
    }
}

/// Intervals in seconds that leave a step in rates printed to hundredths, and rates needed before
/// that says anything: by chance all of this many are multiples of the step less than once in 8,000
/// times.
const STEPPED: [(f64, usize); 4] = [(1.0, 2), (2.0, 3), (5.0, 3), (10.0, 4)];
/// Rates needed after a banner, which is usually followed by a report since boot.
const AGAINST_A_BANNER: usize = 4;

/// Whether all rates of a report are whole requests over 1, 2, 5 or 10 s. Averages since boot are
/// not.
pub(crate) fn are_whole(rates: &[f64]) -> bool {
    let over = |(seconds, needed): (f64, usize)| {
        let whole = |rate: &f64| (rate * seconds - (rate * seconds).round()).abs() < 1e-6;
        rates.len() >= needed && rates.iter().all(whole)
    };
    STEPPED.into_iter().any(over)
}

/// Whether they are although the report is the first: `-y` was given, but the command was not
/// copied.
pub(crate) fn are_whole_first(rates: &[f64]) -> bool {
    rates.len() >= AGAINST_A_BANNER && are_whole(rates)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_with_and_without_their_units() {
        assert_eq!(value("576,00", KIB), Some(589_824.0));
        assert_eq!(value("3.5M", KIB), Some(3_670_016.0));
        assert_eq!(value("0.0k", KIB), Some(0.0));
        assert_eq!(value("27.7%", 1.0), Some(27.7));
        for word in ["", "k", "%", "sda", "1.2.3", "sdä", "nan"] {
            assert_eq!(value(word, 1.0), None, "{word}");
        }
    }

    #[test]
    fn columns_are_known_by_their_shape() {
        for word in ["r/s", "f_await", "avgrq-sz", "%drqm", "kB_dscd", "Blk_read/s", "aqu-sz"] {
            assert!(is_column(word), "{word}");
        }
        for word in ["sda", "dm-0", "nvme0n1", "Device", "avg-cpu:", "%user", "0.00"] {
            assert!(!is_column(word), "{word}");
        }
    }

    #[test]
    fn whole_requests_over_the_interval_are_no_average_since_boot() {
        assert!(are_whole(&[7.3, 15.3, 2.7, 0.4]));
        assert!(are_whole(&[300.0, 338.0, 19.0, 11.0]));
        assert!(!are_whole(&[223.19, 101.01, 288.72, 143.51]));
        assert!(are_whole(&[18.0, 28.0, 10.0]), "whole seconds need no more");
        assert!(!are_whole_first(&[18.0, 28.0, 10.0]), "a banner is against it");
        assert!(!are_whole(&[300.0]), "too few to tell");
        assert!(!are_whole(&[7.3, 15.3, 2.7]), "too few to tell");
    }
}
