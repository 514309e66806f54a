//! collectl's brief form: processors and all disks together, a line per interval.
//!
//! ## Reads
//! The table `#cpu sys inter ctxsw KBRead Reads KBWrit Writes ...`, with or without a time in front. What all
//! disks did becomes rates of one device, `total`, and the facts `disks.*`; the processors' share is not kept,
//! for `cpu` holds waiting and work together.
//!
//! ## Where it comes from
//! `collectl`, `collectl -scd -oT`, the first screen of anybody who has it.
//!
//! ## Versions
//! 3.x and 4.x. Columns are found by the heading.
//!
//! ## Traps
//! The disks are added up: a slow one hides among quick ones. KB are 1024 bytes. Values may end in K or M, which
//! are powers of 1000 for counts. A partition or a stacked device is not counted again by collectl.
//!
//! ## Cannot know
//! How long requests waited, and on which disk: `collectl -sD` tells. Whether whole lines are missing: they bear
//! no numbers.

use iowhy_model::{Interval, Layer, Level, Nanos, Op, Sink, Time};

use crate::counters::stated::{Column, rates, state_disks};
use crate::text::columns::Heading;
use crate::{Format, Reader, Sniff, Step, WallTime, decimal};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "collectl-brief",
    summary: "collectl's brief form: all disks together",
    manual: iowhy_model::manual!("collectl_brief.rs"),
    level: Level::A,
    sniff: |lines| Sniff::from(lines.first().is_some_and(|line| heading(line).is_some())),
    reader: || Box::new(CollectlBrief::default()),
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
            return Step::Skipped("the values do not fit the heading".to_string());
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::recorded as read;

    #[test]
    fn thousands_and_times() {
        let recording = read(
            "#         <--------CPU--------><----------Disks----------->\n\
             #Time     cpu sys inter  ctxsw KBRead  Reads KBWrit Writes \n\
             10:00:01    3   1   812   1203      0      0    144     12 \n\
             10:00:03   12   4  1812    12K   160K   1250      0      0 \n\
             10:00:05   12   4  1812    12K   16\n",
        );
        let listing = &recording.listings[0];
        let [_, second] = &listing.intervals[..] else { panic!("{:?}", listing.intervals) };
        let reads = second.of(Op::Read).unwrap();
        assert_eq!((reads.ios_per_s, reads.bytes_per_s), (1250.0, Some(160_000.0 * KIB)));
        assert_eq!(second.length, Some(Nanos::from_seconds(2.0)));
        assert_eq!(listing.source.skipped, 1);
    }
}
