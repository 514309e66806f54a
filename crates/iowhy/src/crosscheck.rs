//! Compares the kernel's counters with the trace, and reports differences with their reason.

use std::collections::HashSet;

use iowhy_model::{
    DeviceId, Level, Listing, Nanos, Note, Op, Recording, Sink, Stage, Time, numbers,
};

/// Maximum time between reading the counters and ending the trace's interval, s, beside the
/// difference of their clocks.
const APART_S: f64 = 0.02;
/// Means of fewer requests are not compared.
const FEW: f64 = 100.0;
/// Means that differ by less agree: 3 % is the effect of one batch in thirty, and more than the
/// effect of the interval's edges on a hundred requests.
const TOLERANCE: f64 = 0.03;
/// Resolution of the kernel's sums per device and operation, ns (1 ms).
const STEP_NS: f64 = 1e6;
/// Requests on which an operation's means rest; the kernel counts a flush twice (the write that
/// carries it, and the flush), the trace separately from both.
const OPS: [Op; 2] = [Op::Read, Op::Write];

/// Differences already reported: each device and operation once.
#[derive(Debug, Default)]
pub(crate) struct CrossCheck {
    reported: HashSet<(DeviceId, Op, bool)>,
}

/// Requests, their summed wait (Q2C or await) and the time watched.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    count: f64,
    wait_ns: f64,
    seconds: f64,
    in_flight: f64,
    /// First and last counted time, ns, if known.
    stretch: Option<(i64, i64)>,
}

impl Sum {
    fn mean(self) -> f64 {
        self.wait_ns / self.count
    }
}

impl CrossCheck {
    /// Adds a note to the listing of the trace for each device with different counters.
    /// `plug_clock`: this kernel reads the clock once for a batch of requests.
    pub(crate) fn add_facts(&mut self, recording: &mut Recording, plug_clock: bool) {
        let mut notes = Vec::new();
        let devices: Vec<(DeviceId, String)> = {
            let used = recording.listings.iter().flat_map(|listing| &listing.intervals);
            let mut ids: Vec<DeviceId> = used.map(|interval| interval.device).collect();
            ids.sort();
            ids.dedup();
            ids.into_iter().map(|id| (id, recording.device_of(id).name.clone())).collect()
        };
        for (device, name) in devices {
            for op in OPS {
                let (traced, counted) =
                    (traced(recording, device, op), counted(recording, device, op));
                let (Some(traced), Some(counted)) = (traced, counted) else { continue };
                let lost = lost(recording, device, op);
                if let Some(words) = numbers(traced, counted, lost)
                    && self.reported.insert((device, op, false))
                {
                    notes.push(format!("{name} {}: {words}", op.name()));
                }
                if let Some(words) = means(traced, counted, plug_clock)
                    && self.reported.insert((device, op, true))
                {
                    notes.push(format!("{name} {}: {words}", op.name()));
                }
            }
        }
        let trace = recording.listings.iter().position(is_trace);
        let (Some(trace), false) = (trace, notes.is_empty()) else { return };
        recording.resume(trace);
        for reason in notes {
            recording.note(Note { line: 0, text: String::new(), reason });
        }
    }
}

/// Removes the counters, for views of the trace alone.
pub(crate) fn without_counters(recording: &mut Recording) {
    recording.listings.retain(|listing| listing.source.format != "diskstats");
}

fn is_trace(listing: &Listing) -> bool {
    listing.source.level != Level::A && listing.source.format == "block-trace"
}

/// The trace's values; `None` if it has no such I/O.
fn traced(recording: &Recording, device: DeviceId, op: Op) -> Option<Sum> {
    let mut sum = Sum::default();
    for listing in recording.listings.iter().filter(|listing| is_trace(listing)) {
        for known in &listing.distributions {
            sum.stretch = joined(sum.stretch, known.start, known.length);
            if (known.device, known.op, known.stage) == (device, Some(op), Stage::Total) {
                sum.count += known.histogram.count() as f64;
                sum.wait_ns += known.histogram.sum_ns?;
            }
        }
        for event in listing.events.iter().filter(|event| (event.device, event.op) == (device, op))
        {
            if let Some(latency) = event.latency(Stage::Total) {
                sum.count += 1.0;
                sum.wait_ns += latency.ns() as f64;
            }
        }
    }
    (sum.count > 0.0).then_some(sum)
}

/// The counters' values; `None` if there are none.
fn counted(recording: &Recording, device: DeviceId, op: Op) -> Option<Sum> {
    let mut sum = Sum::default();
    let sampled = recording.listings.iter().filter(|listing| listing.source.format == "diskstats");
    for interval in sampled.flat_map(|listing| &listing.intervals) {
        if interval.device != device {
            continue;
        }
        let (Some(rates), Some(length)) = (interval.of(op), interval.length) else { continue };
        let seconds = length.ns() as f64 / 1e9;
        let count = rates.ios_per_s * seconds;
        sum.count += count;
        sum.seconds += seconds;
        sum.stretch = joined(sum.stretch, interval.start, interval.length);
        sum.wait_ns += count * rates.await_ns.unwrap_or(0.0);
        let busy = interval.in_flight.unwrap_or(0) as f64;
        sum.in_flight = sum.in_flight.max(busy).max(interval.queue_len.unwrap_or(0.0));
    }
    (sum.seconds > 0.0).then_some(sum)
}

/// The interval from the earlier start to the later end.
fn joined(
    known: Option<(i64, i64)>,
    start: Option<Time>,
    length: Option<Nanos>,
) -> Option<(i64, i64)> {
    let more = start.zip(length).map(|(start, length)| (start.ns(), (start + length).ns()));
    match (known, more) {
        (Some(known), Some(more)) => Some((known.0.min(more.0), known.1.max(more.1))),
        _ => known.or(more),
    }
}

fn lost(recording: &Recording, device: DeviceId, op: Op) -> f64 {
    let losses = recording.listings.iter().flat_map(|listing| &listing.source.losses);
    losses.filter(|loss| loss.of == Some((device, op))).map(|loss| loss.count).sum::<u64>() as f64
}

/// Whether the counts differ by more than requests in flight at the edges, the time between the two
/// readings, and known losses allow.
fn numbers(traced: Sum, counted: Sum, lost: f64) -> Option<String> {
    // In a short interval one of the two may have missed everything.
    let rate = counted.count.max(traced.count) / counted.seconds;
    let apart = match (traced.stretch, counted.stretch) {
        (Some(ours), Some(theirs)) => ours.0.abs_diff(theirs.0) + ours.1.abs_diff(theirs.1),
        _ => 0,
    };
    let apart = APART_S + apart as f64 / 1e9;
    let edges = 2.0 * counted.in_flight.ceil() + rate * apart + 2.0;
    let missing = (counted.count - traced.count).abs() - lost - edges;
    (missing > 0.0).then(|| {
        format!(
            "/proc/diskstats counts {:.0}; {:.0} were traced and {lost:.0} lost, and I/Os in \
             flight at the start and end explain at most {edges:.0}",
            counted.count, traced.count
        )
    })
}

/// Whether the means differ, and why.
fn means(traced: Sum, counted: Sum, plug_clock: bool) -> Option<String> {
    if traced.count < FEW || counted.count < FEW {
        return None;
    }
    let (ours, theirs) = (traced.mean(), counted.mean());
    let rounding = STEP_NS / counted.count;
    // Requests in flight at the edges may be of any age.
    let edges = ours * 2.0 * counted.in_flight / counted.count;
    if (theirs - ours).abs() <= ours * TOLERANCE + rounding + edges {
        return None;
    }
    let why = if plug_clock && theirs > ours {
        "this kernel (6.9 or later) reads the clock once per batch, so its await includes time \
         before the request existed; the tracer reads the clock for each request"
    } else {
        "reason unknown; the tracer reads the clock itself"
    };
    Some(format!(
        "await is {} in /proc/diskstats (and iostat) and {} in the trace, {:+.0} %: {why}",
        numbers::duration(theirs),
        numbers::duration(ours),
        (theirs / ours - 1.0) * 100.0
    ))
}

#[cfg(test)]
mod tests {
    use iowhy_model::{Distribution, Edges, Histogram, Interval, Layer, Rates, Source};

    use super::*;

    fn recording(traced: u64, us: u64, counted: f64, await_us: f64) -> Recording {
        let mut recording = Recording::new();
        let sda = recording.device("sda");
        recording.begin(Source::new("block-trace", "live", Level::B));
        let mut histogram = Histogram::empty(Edges::standard());
        (0..traced).for_each(|_| histogram.record(us * 1000));
        let mut known = Distribution::new(sda, Layer::Block, Stage::Total, histogram);
        known.op = Some(Op::Read);
        recording.distribution(known);
        recording.begin(Source::new("diskstats", "live", Level::A));
        let mut interval = Interval::new(sda, Layer::Block);
        interval.length = Some(Nanos(1_000_000_000));
        let await_ns = Some(await_us * 1e3);
        let rates = Rates { ios_per_s: counted, await_ns, ..Rates::default() };
        interval.rates.push((Op::Read, rates));
        interval.in_flight = Some(4);
        recording.interval(interval);
        recording
    }

    fn reported(mut recording: Recording) -> Vec<String> {
        let mut crosscheck = CrossCheck::default();
        crosscheck.add_facts(&mut recording, true);
        crosscheck.add_facts(&mut recording, true);
        recording.listings[0].source.notes.iter().map(|note| note.reason.clone()).collect()
    }

    #[test]
    fn what_agrees_within_the_edges_is_not_spoken_of() {
        assert!(reported(recording(10_000, 200, 10_000.0, 201.0)).is_empty());
        // 8 in flight at the edges, 200 in the 20 ms between the readings, and 2.
        assert!(reported(recording(9_791, 200, 10_000.0, 200.0)).is_empty());
        assert!(reported(recording(50, 200, 50.0, 400.0)).is_empty());
        // Eleven in an interval as short as the time between the readings.
        let short = Sum { seconds: 0.02, ..Sum::default() };
        assert_eq!(numbers(Sum { count: 11.0, ..short }, short, 0.0), None);
        // 400 missing of 10,000 per second; the trace was turned off 50 ms after the last reading.
        let stretch = Some((0, 1_000_000_000));
        let counted = Sum { count: 10_000.0, seconds: 1.0, stretch, ..Sum::default() };
        let traced = Sum { count: 10_400.0, stretch, ..Sum::default() };
        assert!(numbers(traced, counted, 0.0).is_some());
        let traced = Sum { stretch: Some((0, 1_050_000_000)), ..traced };
        assert_eq!(numbers(traced, counted, 0.0), None);
    }

    #[test]
    fn each_disagreement_is_said_once_with_its_reason() {
        let notes = reported(recording(10_000, 200, 10_000.0, 250.0));
        assert_eq!(notes.len(), 1);
        assert!(
            notes[0].contains(
                "await is 250 µs in /proc/diskstats (and iostat) and 200 µs in the trace, +25 %"
            ),
            "{notes:?}"
        );
        assert!(notes[0].contains("once per batch"), "{notes:?}");
        let notes = reported(recording(5_000, 200, 10_000.0, 200.0));
        assert!(notes[0].contains("counts 10000; 5000 were traced"), "{notes:?}");
    }

    #[test]
    fn what_is_known_to_be_lost_explains_what_is_missing() {
        let mut lossy = recording(9_000, 200, 10_000.0, 200.0);
        assert_eq!(reported(lossy.clone()).len(), 1);
        lossy.resume(0);
        lossy.lost_of("sda", Op::Write, "dropped", 900);
        assert_eq!(reported(lossy.clone()).len(), 1);
        lossy.lost_of("sda", Op::Read, "dropped", 900);
        assert_eq!(reported(lossy).len(), 0);
    }
}
