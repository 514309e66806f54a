//! What a load generator did: I/Os, their bytes and their waits, of each target, and percentiles.

use std::collections::BTreeMap;

use iowhy_model::Order as _;
use iowhy_model::{Distribution, Interval, Layer, Nanos, Op, Rates, Sink, Stage, Time};

use crate::facts::note;
use crate::fio::latencies::percentile_histogram;
use crate::fio::lines::Summary;

/// What was done.
#[derive(Clone, Copy, Default)]
pub(crate) struct Work {
    pub(crate) ios: u64,
    pub(crate) bytes: u64,
    /// Sum of latencies, ns, where the mean was printed.
    pub(crate) waited_ns: Option<f64>,
}

impl Work {
    /// As rates over this many seconds.
    pub(crate) fn rates(&self, seconds: f64) -> Rates {
        Rates {
            ios_per_s: self.ios as f64 / seconds,
            merges_per_s: None,
            bytes_per_s: Some(self.bytes as f64 / seconds),
            await_ns: self.waited_ns.map(|waited| waited / self.ios as f64),
        }
    }

    /// Adds what another thread did.
    pub(crate) fn add(&mut self, other: Work) {
        self.ios = self.ios.saturating_add(other.ios);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.waited_ns =
            [self.waited_ns, other.waited_ns].into_iter().flatten().reduce(|one, more| one + more);
    }
}

/// Latencies of one operation over all targets.
#[derive(Default)]
pub(crate) struct Latencies {
    /// Per cent and ns.
    pub(crate) percentiles: Vec<(f64, u64)>,
    pub(crate) min_ns: Option<u64>,
    pub(crate) max_ns: Option<u64>,
    pub(crate) mean_ns: Option<f64>,
}

/// Reads and writes, in this order everywhere below.
pub(crate) const OPS: [Op; 2] = [Op::Read, Op::Write];
/// What a total of all targets is called.
pub(crate) const ALL: &str = "all targets";

/// One time span after another.
#[derive(Default)]
pub(crate) struct TimeSpans {
    pub(crate) targets: BTreeMap<String, [Work; 2]>,
    pub(crate) latencies: [Latencies; 2],
    /// Seconds of the spans before.
    elapsed: f64,
    reported: bool,
}

impl TimeSpans {
    /// An average over a span of this many seconds that begins now.
    fn interval(&self, target: &str, seconds: f64, sink: &mut dyn Sink) -> Interval {
        let mut interval = Interval::new(sink.device(target), Layer::Application);
        interval.start = Some(Time::from_seconds(self.elapsed));
        interval.length = Some(Nanos::from_seconds(seconds));
        interval
    }

    /// Forgets the span that is being read.
    pub(crate) fn forget(&mut self) {
        (self.targets, self.latencies) = Default::default();
    }

    /// Emits the interval; `mixed` has requests of unknown operation, and percentiles have this
    /// step, ns.
    pub(crate) fn emit(
        &mut self,
        seconds: f64,
        mixed: Option<Work>,
        step_ns: u64,
        sink: &mut dyn Sink,
    ) {
        if let Some(work) = mixed {
            let mut interval = self.interval(ALL, seconds, sink);
            interval.mixed = Some(work.rates(seconds));
            sink.interval(interval);
        }
        for (target, works) in &self.targets {
            let mut interval = self.interval(target, seconds, sink);
            let done = OPS.iter().zip(works).filter(|(_, work)| work.ios > 0);
            interval.rates = done.map(|(op, work)| (*op, work.rates(seconds))).collect();
            sink.interval(interval);
        }
        let of_all: &str = match &self.targets.keys().collect::<Vec<_>>()[..] {
            [only] => only,
            _ => ALL,
        };
        let span = self.interval(of_all, seconds, sink);
        for (place, (op, known)) in OPS.into_iter().zip(&mut self.latencies).enumerate() {
            let count = iowhy_model::numbers::total(self.targets.values().map(|of| of[place].ios));
            let percentiles = &mut known.percentiles;
            percentiles.order_by(|a, b| a.0.total_cmp(&b.0));
            if count == 0 || percentiles.is_empty() {
                continue;
            }
            let extremes = known.min_ns.zip(known.max_ns).zip(known.mean_ns);
            let summary =
                extremes.map(|((min_ns, max_ns), mean_ns)| Summary { min_ns, max_ns, mean_ns });
            let built = percentile_histogram(percentiles, step_ns, summary, count);
            let Some(mut histogram) = built else { continue };
            histogram.sum_ns = known.mean_ns.map(|mean| mean * histogram.count() as f64);
            (histogram.min_ns, histogram.max_ns) = (known.min_ns, known.max_ns);
            let mut one = Distribution::new(span.device, span.layer, Stage::Total, histogram);
            (one.op, one.start, one.length) = (Some(op), span.start, span.length);
            sink.distribution(one);
            if !std::mem::replace(&mut self.reported, true) {
                sink.note(note("the counts of this histogram are computed from percentiles"));
            }
        }
        self.forget();
        self.elapsed += seconds;
    }
}
