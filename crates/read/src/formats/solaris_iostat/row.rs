//! The meaning of each column of Solaris' iostat.

use iowhy_model::{DeviceId, Interval, Layer, Op, Rates};

use crate::decimal;

/// What the columns alone do not show.
#[derive(Clone, Copy)]
pub(super) struct Scale {
    /// Times are in microseconds (`-u`).
    pub(super) micros: bool,
    /// Length of the interval, which counts per interval (`-i`) are divided by.
    pub(super) seconds: Option<f64>,
}

/// Columns of the extended report, of the errors (`-e`), and of tty and cpu (`-t`, `-c`).
const COLUMNS: [&str; 29] = [
    "r/s", "w/s", "kr/s", "kw/s", "Mr/s", "Mw/s", "r/i", "w/i", "kr/i", "kw/i", "Mr/i", "Mw/i",
    "wait", "actv", "svc_t", "wsvc_t", "asvc_t", "%w", "%b", "s/w", "h/w", "trn", "tot", "tin",
    "tout", "us", "sy", "wt", "id",
];

pub(super) fn is_column(word: &str) -> bool {
    COLUMNS.contains(&word)
}

pub(super) fn is_value(word: &str) -> bool {
    decimal(word).is_some()
}

/// The interval that a row describes.
pub(super) fn interval<'a>(
    device: DeviceId,
    cells: impl Iterator<Item = (&'a str, &'a str)>,
    scale: Scale,
) -> Interval {
    let mut sides = [Side::default(); 2];
    let [read, write] = &mut sides;
    let mut interval = Interval::new(device, Layer::Block);
    let (mut wait, mut actv) = (None, None);
    let time = if scale.micros { 1e3 } else { 1e6 };
    let share = |count: Option<f64>| Some(count? / scale.seconds?);
    for (column, word) in cells {
        let value = decimal(word);
        let of = |factor: f64| value.map(|value| value * factor);
        match column {
            "r/s" => read.ios = value,
            "w/s" => write.ios = value,
            "kr/s" => read.bytes = of(KIB),
            "kw/s" => write.bytes = of(KIB),
            "Mr/s" => read.bytes = of(KIB * KIB),
            "Mw/s" => write.bytes = of(KIB * KIB),
            "r/i" => read.ios = share(value),
            "w/i" => write.ios = share(value),
            "kr/i" => read.bytes = share(of(KIB)),
            "kw/i" => write.bytes = share(of(KIB)),
            "Mr/i" => read.bytes = share(of(KIB * KIB)),
            "Mw/i" => write.bytes = share(of(KIB * KIB)),
            "wait" => wait = value,
            "actv" => actv = value,
            "wsvc_t" => interval.wait_ns = of(time),
            "asvc_t" => interval.device_ns = of(time),
            "svc_t" => interval.await_ns = of(time),
            "%b" => interval.busy = of(0.01),
            _ => {}
        }
    }
    let sides = [(Op::Read, sides[0]), (Op::Write, sides[1])];
    interval.rates = sides.iter().filter_map(|(op, side)| Some((*op, side.rates()?))).collect();
    interval.queue_len = wait.zip(actv).map(|(wait, actv)| wait + actv);
    interval.active_len = actv;
    // "0.0" is printed where nothing completed; that is not a latency.
    if !interval.rates.is_empty() && interval.ios_per_s() == 0.0 {
        let known = |time: &f64| *time > 0.0;
        interval.wait_ns = interval.wait_ns.filter(|_| interval.device_ns.is_some_and(|d| d > 0.0));
        interval.device_ns = interval.device_ns.filter(known);
        interval.await_ns = interval.await_ns.filter(known);
    }
    interval
}

/// Solaris' kilobyte (`kr/s`): 1024 bytes.
const KIB: f64 = 1024.0;

#[derive(Clone, Copy, Default)]
struct Side {
    ios: Option<f64>,
    bytes: Option<f64>,
}

impl Side {
    fn rates(&self) -> Option<Rates> {
        Some(Rates { ios_per_s: self.ios?, bytes_per_s: self.bytes, ..Rates::default() })
    }
}
