//! Averages of a trace, as `iostat` would have shown them.
//!
//! A detailed input must not be judged worse than averages derived from it, so these are judged as
//! well.

use std::collections::BTreeMap;

use iowhy_model::{
    DeviceId, Event, Interval, Layer, Level, Listing, Nanos, Op, Rates, Recording, Sampling, Time,
};

use crate::analysis::requests::{self, Requests};
use crate::measures::spans::Spans;

/// Length of a row, ns: a second, as in iostat.
const ROW_NS: i64 = 1_000_000_000;

/// A recording of the same listings with rows of averages instead of single I/Os; `None` if there
/// are none in sequence.
pub(crate) fn of(recording: &Recording, traced: &[Requests]) -> Option<Recording> {
    if traced.is_empty() {
        return None;
    }
    let mut averages = recording.narrowed(|_| false, |_| true);
    for (place, (known, averaged)) in
        recording.listings.iter().zip(&mut averages.listings).enumerate()
    {
        let mut source = known.source.clone();
        let of_it: Vec<&Requests> = traced.iter().filter(|of| of.listing == place).collect();
        if !of_it.is_empty() {
            (source.level, source.sampling) = (Level::A, Sampling::Sampled);
        }
        let intervals = of_it.into_iter().flat_map(rows).chain(known.intervals.iter().cloned());
        *averaged = Listing { facts: known.facts.clone(), ..Listing::of(source) };
        averaged.intervals = intervals.collect();
    }
    Some(averages)
}

/// The rows of one device: whole seconds, or all of a shorter trace.
fn rows(of: &Requests) -> Vec<Interval> {
    let stretches = || of.events.iter().filter_map(|event| requests::stretch(event));
    let on_device = of.events.iter().filter_map(|event| requests::on_device(event));
    let busy = Spans::of(on_device);
    let Some(first) = stretches().map(|(start, _)| start).min() else { return Vec::new() };
    let whole = of.end_ns().saturating_sub(first);
    let seconds = (whole / ROW_NS).max(1);
    let mut counted: BTreeMap<i64, Vec<&Event>> = BTreeMap::new();
    for event in &of.events {
        let Some((_, end)) = requests::stretch(event) else { continue };
        let row = end.saturating_sub(first) / ROW_NS;
        if row < seconds {
            counted.entry(row).or_default().push(event);
        }
    }
    let length = if whole < ROW_NS { whole.max(1) } else { ROW_NS };
    let row = |(row, events): (i64, Vec<&Event>)| {
        let start = first.saturating_add(row.saturating_mul(ROW_NS));
        interval(of.device, &events, (start, start.saturating_add(length)), &busy)
    };
    counted.into_iter().map(row).collect()
}

fn interval(
    device: DeviceId,
    events: &[&Event],
    (start, end): (i64, i64),
    busy: &Spans,
) -> Interval {
    let length_ns = end.saturating_sub(start).max(1) as f64;
    let mut row = Interval::new(device, Layer::Block);
    (row.start, row.length) = (Some(Time::from_ns(start)), Some(Nanos(length_ns as i64)));
    let mut waited_ns = 0.0;
    for op in Op::ALL {
        let of_op = || events.iter().filter(|event| event.op == op);
        let count = of_op().count();
        if count == 0 {
            continue;
        }
        let waits: f64 =
            of_op().filter_map(|event| requests::stretch(event)).map(requests::length_ns).sum();
        waited_ns += waits;
        let bytes: Option<f64> = of_op().map(|event| event.bytes.map(f64::from)).sum();
        let rates = Rates {
            ios_per_s: count as f64 / length_ns * 1e9,
            merges_per_s: None,
            bytes_per_s: bytes.map(|bytes| bytes / length_ns * 1e9),
            await_ns: Some(waits / count as f64),
        };
        row.rates.push((op, rates));
    }
    row.queue_len = Some(waited_ns / length_ns);
    row.busy = Some((busy.covered_ns(start, end) / length_ns).min(1.0));
    row
}

#[cfg(test)]
mod tests {
    use iowhy_model::{Sink, Source};

    use super::*;

    #[test]
    fn a_trace_of_two_seconds_has_the_rows_of_iostat() {
        let mut recording = Recording::new();
        let device = recording.device("sdb");
        recording.begin(Source::new("example", "-", Level::D));
        for k in 0..21 {
            let mut event = Event::new(device, Op::Read, Layer::Block);
            event.issued = Some(Time::from_ns(k * 100_000_000));
            event.completed = Some(Time::from_ns(k * 100_000_000 + 50_000_000));
            event.bytes = Some(4096);
            recording.event(event);
        }
        recording.end();
        let traced = requests::by_device(&recording);
        let averages = of(&recording, &traced).unwrap();
        let [first, second] = &averages.listings[0].intervals[..] else { panic!("two rows") };
        for row in [first, second] {
            assert_eq!((row.ios_per_s(), row.mean_await_ns()), (10.0, Some(50e6)));
            assert_eq!((row.queue_len, row.busy), (Some(0.5), Some(0.5)));
            assert_eq!(row.mean_bytes(), Some(4096.0));
        }
        assert_eq!((averages.level(), averages.listings[0].events.len()), (Some(Level::A), 0));
        assert!(of(&Recording::new(), &[]).is_none());
    }
}
