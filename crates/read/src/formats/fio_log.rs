//! fio's logs: one line per I/O or window (`write_lat_log` and others), histograms over time.
//!
//! ## Reads
//! Lines `msec, value, direction, block size` with up to four more fields, and lines of
//! `write_hist_log`: `msec, direction, block size` and hundreds of counts. Each I/O of a latency
//! log becomes an event of the application, each window of an averaged one an interval, and each
//! line of a histogram log a histogram. Of IOPS logs the windows become intervals; of bandwidth
//! logs only their mean is kept, as a fact, for they count no I/Os.
//!
//! ## How to capture
//! `fio --write_lat_log=NAME`, which writes `NAME_lat.1.log`, `NAME_clat.1.log`,
//! `NAME_slat.1.log`; `--write_iops_log`, `--write_bw_log`, `--write_hist_log`.
//!
//! ## Versions
//! Four fields to 3.18; five with the priority (3.19 and later); six with an offset before it
//! (`log_offset`); seven with the time of issue; eight with both mean and maximum of a window.
//! Histogram lines have 1856 counts (3.x, ns) or 1216 (2.x, us), or half of them for each step of
//! `log_hist_coarseness`.
//!
//! ## Caveats
//! The file name shows what was measured; without one completion latencies are assumed, with a
//! note. 3.x logs ns, 2.x microseconds in the same columns: only four-field logs can be of 2.x, and
//! those are read as ns with a note. A block size of 0 means windows (`log_avg_msec`): means, from
//! which no percentiles are computed. There are as many files as jobs (`.1.log`, `.2.log`). Times
//! are whole milliseconds since the job began, at completion, while latencies are ns: what happened
//! in which order within a millisecond is not known. Bins of a histogram are exact to one part
//! in 64.
//!
//! ## Not in this output
//! The tested device: the log's name is used instead. Time above fio.

mod line;

use iowhy_model::DeviceId;
use iowhy_model::typed::BytesPerSecond;

use self::line::{Kind, Line, kind_and_job};
use crate::fio::bins;
use crate::histogram::buckets::histogram_of;
use crate::program::*;

pub(super) const FORMAT: Format = Format::program::<FioLog>(
    "fio's latency, IOPS, bandwidth and histogram logs",
    Level::C,
    &["^numbers"],
    sniff,
);

/// Nanoseconds of a millisecond, the unit of times.
const MS: i64 = 1_000_000;
/// Groups of 64 bins: of 3.x, which counts ns, and of 2.x, which counts microseconds.
const GROUPS: [(u64, u64); 2] = [(29, 1), (19, 1_000)];
/// A latency longer than this, a week, is not a latency.
const LONGEST_NS: u64 = 604_800_000_000_000;

/// Two lines must agree: one alone could be any row of numbers.
fn sniff(lines: &[&str]) -> Detect {
    let fits = |line: &str| Line::of(line).is_some();
    match lines {
        [first] if fits(first) => Detect::NeedLine,
        [first, second, ..] => Detect::from(fits(first) && fits(second)),
        _ => Detect::No,
    }
}

#[derive(Default)]
struct FioLog {
    kind: Option<Kind>,
    device: Option<DeviceId>,
    /// The end of the window before, by direction.
    before: [Option<i64>; 3],
    /// Sum and number of bandwidths, by direction.
    bandwidth: [(f64, u64); 3],
}

impl Reader for FioLog {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if line.trim().is_empty() {
            return Step::Consumed;
        }
        let Some(read) = Line::of(line) else {
            return Step::skipped_if(
                line.starts_with(|c: char| c.is_ascii_digit()) && line.contains(','),
                "the line is not from a fio log",
            );
        };
        let device = match self.device {
            Some(device) => device,
            None => self.begin(&read, sink),
        };
        match read {
            Line::Counts { at_ms, op, counts } => self.counts(device, at_ms, op, &counts, sink),
            Line::Value { at_ms, value, op, bytes, offset, .. } => {
                let kind = self.kind.unwrap_or(Kind::Clat);
                match (kind, bytes) {
                    (Kind::Bandwidth, _) => self.bandwidth(op, value),
                    (Kind::Iops, 0) => self.window(device, at_ms, op, Err(value), sink),
                    (Kind::Iops, _) => {
                        let mut event = Event::new(device, op, Layer::Application);
                        event.completed = Some(Time::from_ns(at_ms * MS));
                        event.bytes = Some(bytes);
                        sink.event(event);
                    }
                    _ if value > LONGEST_NS => {
                        return Step::skipped("implausible latency");
                    }
                    (_, 0) => self.window(device, at_ms, op, Ok(value), sink),
                    _ => {
                        let mut event = latency(kind, device, op, at_ms * MS, value);
                        event.bytes = Some(bytes);
                        event.sector = offset.map(|offset| offset / 512);
                        sink.event(event);
                    }
                }
                Step::Consumed
            }
        }
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        for (place, op) in DIRECTIONS.iter().enumerate() {
            let Some((sum, count)) = self.bandwidth.get(place).filter(|(_, count)| *count > 0)
            else {
                continue;
            };
            let mean = BytesPerSecond::from_kib((sum / *count as f64).round());
            sink.add_fact(self.device, typed::FIO_BANDWIDTH_MEAN.of(op.name()), mean);
        }
    }
}

const DIRECTIONS: [Op; 3] = [Op::Read, Op::Write, Op::Discard];

fn place(op: Op) -> usize {
    DIRECTIONS.iter().position(|known| *known == op).unwrap_or(0)
}

impl FioLog {
    /// The first line shows what the log is.
    fn begin(&mut self, first: &Line, sink: &mut dyn Sink) -> DeviceId {
        let input = sink.source().input.clone();
        let (kind, job) = kind_and_job(&input);
        self.kind = kind;
        let device = sink.device(job);
        self.device = Some(device);
        let source = sink.source();
        source.resolution = Some(Nanos(MS));
        source.level = match first {
            Line::Counts { .. } => Level::B,
            Line::Value { bytes: 0, .. } => Level::A,
            Line::Value { .. } if kind == Some(Kind::Bandwidth) => Level::A,
            Line::Value { .. } => Level::C,
        };
        if let Line::Value { fields, .. } = first {
            if kind.is_none() {
                sink.note(note(
                    "no file name shows what was measured: completion latencies are assumed",
                ));
            }
            if *fields == 4 {
                sink.note(note(
                    "four fields: nanoseconds are assumed, but fio 2 logs microseconds",
                ));
            }
        }
        device
    }

    fn bandwidth(&mut self, op: Op, value: u64) {
        if let Some((sum, count)) = self.bandwidth.get_mut(place(op)) {
            *sum += value as f64;
            *count += 1;
        }
    }

    /// Start and length of the window that ends now, for its direction.
    fn span(&mut self, at_ms: i64, op: Op) -> (i64, i64) {
        let before = self.before.get_mut(place(op)).and_then(|end| end.replace(at_ms));
        let start = before.filter(|before| *before <= at_ms).unwrap_or(0);
        (start, at_ms - start)
    }

    /// The mean latency, or else the rate, of a window.
    fn window(
        &mut self,
        device: DeviceId,
        at_ms: i64,
        op: Op,
        value: Result<u64, u64>,
        sink: &mut dyn Sink,
    ) {
        let (start, length) = self.span(at_ms, op);
        // A mean wait without a rate has no place per operation: the name of the log distinguishes
        // them.
        let device = match value {
            Ok(_) => {
                let input = sink.source().input.clone();
                let (_, job) = kind_and_job(&input);
                sink.device(format!("{job} {}", op.name()).trim_start())
            }
            Err(_) => device,
        };
        let mut interval = Interval::new(device, Layer::Application);
        interval.start = Some(Time::from_ns(start * MS));
        interval.length = Some(Nanos(length * MS)).filter(|length| length.ns() > 0);
        match value {
            Ok(latency) => interval.await_ns = Some(latency as f64),
            Err(rate) => {
                let rates = Rates { ios_per_s: rate as f64, ..Rates::default() };
                interval.rates.push((op, rates));
            }
        }
        sink.interval(interval);
    }

    fn counts(
        &mut self,
        device: DeviceId,
        at_ms: i64,
        op: Op,
        counts: &[u64],
        sink: &mut dyn Sink,
    ) -> Step {
        let (start, length) = self.span(at_ms, op);
        let Some((step, unit)) = bins(counts.len()) else {
            return Step::skipped("more bins than any version of fio has");
        };
        if counts.iter().all(|count| *count == 0) {
            return Step::Consumed;
        }
        let rows =
            counts.iter().enumerate().filter(|(_, count)| **count > 0).map(|(bin, count)| {
                let first = bin as u64 * step;
                let (low, _) = bins::bounds(first)?;
                let (_, high) = bins::bounds(first + step - 1)?;
                Some((low.checked_mul(unit)?, high.checked_mul(unit)?, *count))
            });
        let histogram = rows.collect::<Option<Vec<_>>>().and_then(histogram_of);
        let Some(histogram) = histogram else {
            return Step::skipped("the counts are implausible");
        };
        let mut one = Distribution::new(device, Layer::Application, Stage::Total, histogram);
        one.op = Some(op);
        one.start = Some(Time::from_ns(start * MS));
        one.length = Some(Nanos(length * MS)).filter(|length| length.ns() > 0);
        one.label = Some(sink.name("clat"));
        sink.distribution(one);
        Step::Consumed
    }
}

/// Bins that were added up into one, and the unit in ns, for this many counts in a line.
fn bins(counts: usize) -> Option<(u64, u64)> {
    GROUPS.into_iter().find_map(|(groups, unit)| {
        let all = groups * bins::PER_OCTAVE;
        let step = all.checked_div(counts as u64)?;
        (step.is_power_of_two() && step * counts as u64 == all).then_some((step, unit))
    })
}

/// An I/O: its total latency runs from the start of submission, its completion latency from the
/// end of it, both as the application sees them; a submission latency has no completion.
fn latency(kind: Kind, device: DeviceId, op: Op, at: i64, value: u64) -> Event {
    let mut event = Event::new(device, op, Layer::Application);
    let (end, value) = (Time::from_ns(at), Nanos(i64::try_from(value).unwrap_or(i64::MAX)));
    event.queued = Some(end - value);
    match kind {
        Kind::Slat => event.issued = Some(end),
        _ => event.completed = Some(end),
    }
    event
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn histograms_may_be_halved() {
        assert_eq!(bins(1856), Some((1, 1)));
        assert_eq!(bins(464), Some((4, 1)));
        assert_eq!(bins(1216), Some((1, 1000)));
        assert_eq!(bins(1215), None);
    }
}
