//! Captures of known truth: I/Os and rows emitted into a recording by hand.

pub(crate) mod beside;

use iowhy_diagnose::{Options, judge};
use iowhy_model::{
    Event, Finding, Interval, Layer, Level, Medium, Nanos, Op, Rates, Recording, Sink, Source, Time,
};

/// A recording under construction.
pub(crate) struct MadeCapture {
    pub recording: Recording,
    seed: u64,
}

impl MadeCapture {
    pub(crate) fn new() -> MadeCapture {
        MadeCapture { recording: Recording::new(), seed: 0x9E37_79B9_7F4A_7C15 }
    }

    /// A capture with one listing of single I/Os.
    pub(crate) fn traced() -> MadeCapture {
        let mut capture = MadeCapture::new();
        capture.listing("biosnoop", Level::C);
        capture
    }

    /// A capture with one listing of averages.
    pub(crate) fn averaged() -> MadeCapture {
        let mut capture = MadeCapture::new();
        capture.listing("iostat", Level::A);
        capture
    }

    pub(crate) fn listing(&mut self, format: &str, level: Level) {
        let mut source = Source::new(format, "capture.txt", level);
        source.resolution = Some(Nanos(10_000));
        self.recording.begin(source);
    }

    pub(crate) fn medium(&mut self, device: &str, medium: Medium) {
        let id = self.recording.device(device);
        self.recording.set_medium(id, medium);
    }

    /// One I/O.
    pub(crate) fn io(
        &mut self,
        device: &str,
        op: Op,
        sector: u64,
        bytes: u32,
        at_ms: f64,
        took_ms: f64,
    ) {
        let id = self.recording.device(device);
        let mut event = Event::new(id, op, Layer::Block);
        event.sector = Some(sector);
        event.bytes = Some(bytes);
        event.issued = Some(Time::from_ns((at_ms * 1e6) as i64));
        event.completed = Some(Time::from_ns(((at_ms + took_ms) * 1e6) as i64));
        self.recording.event(event);
    }

    /// Sequential requests one after the other, each taking the time it is set to.
    pub(crate) fn chain(&mut self, device: &str, op: Op, bytes: u32, took_ms: &[f64]) {
        let mut at = 0.0;
        for (k, took) in took_ms.iter().enumerate() {
            self.io(device, op, 1_000_000 + k as u64 * u64::from(bytes / 512), bytes, at, *took);
            at += took + 0.05;
        }
    }

    /// A row of averages for one operation.
    pub(crate) fn row(&mut self, device: &str, op: Op, row: Row) {
        let id = self.recording.device(device);
        let mut interval = Interval::new(id, Layer::Block);
        interval.rates.push((
            op,
            Rates {
                ios_per_s: row.per_s,
                merges_per_s: Some(0.0),
                bytes_per_s: Some(row.per_s * row.bytes),
                await_ns: Some(row.await_ms * 1e6),
            },
        ));
        interval.queue_len = Some(row.per_s * row.await_ms / 1000.0);
        interval.busy = Some(row.busy);
        interval.svctm_ns = Some(row.busy / row.per_s * 1e9);
        self.recording.interval(interval);
    }

    pub(crate) fn judge(&mut self) -> Vec<Finding> {
        self.judge_with(&Options::default())
    }

    pub(crate) fn judge_with(&mut self, options: &Options) -> Vec<Finding> {
        self.recording.end();
        judge(&self.recording, options)
    }

    /// A number from 0 to 1, the same sequence in every run.
    pub(crate) fn chance(&mut self) -> f64 {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        (self.seed >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Around 1, with a relative spread.
    pub(crate) fn about(&mut self, spread: f64) -> f64 {
        let sum: f64 = (0..12).map(|_| self.chance()).sum();
        1.0 + spread * (sum - 6.0)
    }
}

/// A row of averages; the queue length follows from rate and latency.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    pub per_s: f64,
    pub bytes: f64,
    pub await_ms: f64,
    pub busy: f64,
}

/// The findings of one verdict.
pub(crate) fn of<'a>(findings: &'a [Finding], verdict: &str) -> Vec<&'a Finding> {
    findings.iter().filter(|finding| finding.verdict == verdict).collect()
}

/// Confidence of a verdict, 0 if it is not among the findings.
pub(crate) fn confidence(findings: &[Finding], verdict: &str) -> f64 {
    of(findings, verdict).iter().map(|finding| finding.confidence()).fold(0.0, f64::max)
}

/// Whether some verdict stands: sure enough, explaining enough, and not explained away.
pub(crate) fn accuses(findings: &[Finding], verdict: &str) -> bool {
    of(findings, verdict)
        .iter()
        .any(|f| f.confidence() >= 0.6 && f.explained_share >= 0.3 && f.explained_by.is_none())
}

/// Whether any device is blamed.
pub(crate) fn blames_a_device(findings: &[Finding]) -> bool {
    findings.iter().any(|f| f.blames_a_disk() && f.confidence() >= 0.6)
}

pub(crate) fn brief(findings: &[Finding]) -> String {
    findings
        .iter()
        .map(|f| {
            format!(
                "{} C={:.2} E={:.2}: {}",
                f.verdict,
                f.confidence(),
                f.explained_share,
                f.sentence
            )
        })
        .collect::<Vec<_>>()
        .join("\n")
}
