//! collectl's brief form: CPUs and all disks together, a line per interval.
//!
//! ## Reads
//! The table `#cpu sys inter ctxsw KBRead Reads KBWrit Writes ...`, with or without a preceding
//! time. The I/O of all disks becomes rates of one device, `total`, and the facts `disks.*`; the
//! CPU share is not kept, because `cpu` combines waiting and work.
//!
//! ## How to capture
//! `collectl`, `collectl -scd -oT`; its default screen.
//!
//! ## Versions
//! 3.x and 4.x. Columns are found by the heading.
//!
//! ## Caveats
//! The disks are added up: a slow one is hidden by fast ones. KB are 1024 bytes. Values may end in
//! K or M, which are powers of 1000 for counts. A partition or a stacked device is not counted
//! again by collectl.
//!
//! ## Not in this output
//! The latency of requests, and the disk: use `collectl -sD`.

use iowhy_model::{Interval, Layer, Level, Nanos, Op, Sink, Time};

use crate::counters::stated::{Column, rates, state_disks};
use crate::text::columns::Heading;
use crate::{Body, Format, Reader, Sniff, Step, WallTime, decimal};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "collectl-brief",
    summary: "collectl's brief form: all disks together",
    manual: iowhy_model::manual!("collectl_brief.rs"),
    level: Level::A,
    body: Body::Custom {
        needles: &["KBWrit"],
        sniff: |lines| Sniff::from(lines.first().is_some_and(|line| heading(line).is_some())),
        reader: || Box::new(CollectlBrief::default()),
    },
};

const KIB: f64 = 1024.0;

fn heading(line: &str) -> Option<Heading> {
    let names = line.trim().strip_prefix('#')?;
    Heading::of(names, &["KBRead", "Reads", "KBWrit", "Writes"])
}

/// `1203`, `12K`, `3M`.
fn value(word: &str) -> Option<f64> {
    let (digits, scale) = match word.as_bytes().last()? {
        b'K' => (&word[..word.len() - 1], 1e3),
        b'M' => (&word[..word.len() - 1], 1e6),
        b'G' => (&word[..word.len() - 1], 1e9),
        _ => (word, 1.0),
    };
    decimal(digits).map(|value| value * scale).filter(|value| *value >= 0.0)
}

#[derive(Default)]
struct CollectlBrief {
    heading: Heading,
    read: Column,
    written: Column,
    first: Option<WallTime>,
    before: Option<WallTime>,
}

impl Reader for CollectlBrief {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if let Some(heading) = heading(line) {
            self.heading = heading;
            return Step::Took;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.is_empty() || line.starts_with('#') {
            return Step::Took;
        }
        if !words.iter().all(|word| value(word).is_some() || WallTime::read(word).is_some()) {
            return Step::Passed;
        }
        if words.len() != self.heading.width() {
            return Step::Skipped("the values do not match the heading".to_string());
        }
        let of = |name: &str| self.heading.word(name, &words).and_then(value);
        let (read, written) = (of("KBRead"), of("KBWrit"));
        let mut interval = Interval::new(sink.device("total"), Layer::Block);
        let parts = [(Op::Read, of("Reads"), read), (Op::Write, of("Writes"), written)];
        for (op, ios, kib) in parts {
            let known = rates(ios, kib.map(|kib| kib * KIB), None);
            interval.rates.extend(known.map(|rates| (op, rates)));
        }
        read.into_iter().for_each(|kib| self.read.take(kib));
        written.into_iter().for_each(|kib| self.written.take(kib));
        let stamped = self.heading.place("Time", 0).is_some();
        if let Some(now) = self.heading.word("Time", &words).filter(|_| stamped) {
            let now = WallTime::read(now);
            let length = now.zip(self.before).and_then(|(now, before)| now.since(before));
            let start = self.before.zip(self.first).and_then(|(b, first)| b.since(first));
            if let Some((length, start)) = length.filter(|s| *s > 0.0).zip(start) {
                interval.start = Some(Time::from_seconds(start));
                interval.length = Some(Nanos::from_seconds(length));
            }
            if let Some(now) = now {
                WallTime::begin(&mut self.first, now, sink);
            }
            self.before = now.or(self.before);
        }
        sink.interval(interval);
        Step::Took
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        state_disks(&self.read, &self.written, sink);
    }
}
