//! I/Os and rows emitted into a capture with flags, arrival and facts, and what a finding cites of
//! them.

use iowhy_model::{
    Event, Fact, FactKey, Finding, Flags, Interval, Layer, Level, Nanos, Op, Rates, Sink, Time,
};

use crate::made::{MadeCapture, brief, of};

/// One I/O to emit: times in ms; flags, arrival and queueing as far as they matter.
#[derive(Clone, Copy)]
pub(crate) struct Io {
    pub op: Op,
    pub flags: Flags,
    pub sector: u64,
    pub bytes: u32,
    pub arrived: Option<f64>,
    pub queued: Option<f64>,
    pub issued: f64,
    pub completed: f64,
}

impl Io {
    pub(crate) fn new(op: Op, sector: u64, bytes: u32, issued: f64, took: f64) -> Io {
        let completed = issued + took;
        let flags = Flags::default();
        Io { op, flags, sector, bytes, arrived: None, queued: None, issued, completed }
    }
}

pub(crate) fn ns(ms: f64) -> Time {
    Time::from_ns((ms * 1e6).round() as i64)
}

pub(crate) fn emit(capture: &mut MadeCapture, device: &str, mut ios: Vec<Io>) {
    ios.sort_by(|a, b| a.completed.total_cmp(&b.completed));
    let id = capture.recording.device(device);
    for io in ios {
        let mut event = Event::new(id, io.op, Layer::Block);
        (event.flags, event.sector, event.bytes) = (io.flags, Some(io.sector), Some(io.bytes));
        event.arrived = io.arrived.map(ns);
        event.queued = io.queued.map(ns);
        event.issued = Some(ns(io.issued));
        event.completed = Some(ns(io.completed));
        capture.recording.event(event);
    }
}

pub(crate) fn fact(
    capture: &mut MadeCapture,
    device: Option<&str>,
    key: FactKey,
    value: &str,
    read_from: &str,
) {
    let device = device.map(|name| capture.recording.device(name));
    capture.recording.fact(Fact::read(device, key, value, read_from));
}

pub(crate) fn traced(level: Level) -> MadeCapture {
    let mut capture = MadeCapture::new();
    capture.listing("block-trace", level);
    capture
}

/// A cited number, by the beginning of its name.
pub(crate) fn cited(findings: &[Finding], verdict: &str, quantity: &str) -> f64 {
    let finding = of(findings, verdict);
    let finding = finding.first().unwrap_or_else(|| panic!("no {verdict}: {}", brief(findings)));
    let evidence = finding.evidence.iter().find(|e| e.quantity.starts_with(quantity));
    evidence.unwrap_or_else(|| panic!("no `{quantity}`: {:#?}", finding.evidence)).amount.value
}

pub(crate) fn near(value: f64, wanted: f64) {
    assert!((value - wanted).abs() <= 1e-6 * wanted.abs().max(1.0), "{value} is not {wanted}");
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    if n % 2 == 1 { values[n / 2] } else { (values[n / 2 - 1] + values[n / 2]) / 2.0 }
}

/// A row with rates per operation: (op, per second, await in ms).
pub(crate) fn row(
    capture: &mut MadeCapture,
    device: &str,
    busy: f64,
    queue: f64,
    rates: &[(Op, f64, f64)],
) {
    let id = capture.recording.device(device);
    let mut interval = Interval::new(id, Layer::Block);
    for (op, per_s, ms) in rates {
        let bytes = if *op == Op::Flush { 0.0 } else { 4096.0 };
        interval.rates.push((
            *op,
            Rates {
                ios_per_s: *per_s,
                merges_per_s: Some(0.0),
                bytes_per_s: Some(per_s * bytes),
                await_ns: Some(ms * 1e6),
            },
        ));
    }
    interval.length = Some(Nanos(1_000_000_000));
    (interval.busy, interval.queue_len) = (Some(busy), Some(queue));
    capture.recording.interval(interval);
}
