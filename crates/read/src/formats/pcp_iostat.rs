//! pmiostat and `pcp iostat`: Performance Co-Pilot's table of disks.
//!
//! ## Reads
//! The rows below `# Device rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await r_await w_await %util`,
//! with a time in front (`# Timestamp Device`), each one sample of one disk.
//!
//! ## Where it comes from
//! `pcp iostat`, `pmiostat -t 5`, `pcp -a ARCHIVE iostat -x t`.
//!
//! ## Versions
//! PCP 3 to 7. Columns are found by the heading.
//!
//! ## Traps
//! It looks like `iostat -x` and is not: `avgrq-sz` is KiB, not sectors. There is no sample since boot. Rates
//! are of the sampled interval, which the heading does not tell: it is known from the times, or not at all.
//! Columns of `-x dm` name the volumes. `rkB/s` is in units of 1024 bytes.
//!
//! ## Cannot know
//! How latencies are distributed; queue and device time apart. Whether whole lines are missing: they bear no
//! numbers.

use iowhy_model::{Interval, Layer, Level, Nanos, Op, Sink, Time};

use crate::counters::stated::rates;
use crate::text::columns::Heading;
use crate::{Format, Reader, Sniff, Step, WallTime, decimal};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "pcp-iostat",
    summary: "pmiostat, pcp iostat: the disks of Performance Co-Pilot",
    manual: iowhy_model::manual!("pcp_iostat.rs"),
    level: Level::A,
    sniff: |lines| Sniff::from(lines.first().is_some_and(|line| heading(line).is_some())),
    reader: || Box::new(PcpIostat::default()),
};

const KIB: f64 = 1024.0;
const NS_PER_MS: f64 = 1e6;

fn heading(line: &str) -> Option<Heading> {
    let names = line.trim().strip_prefix('#')?;
    let heading = Heading::of(names, &["Device", "r/s", "w/s", "await", "%util"])?;
    let first = heading.place("Device", 0)?;
    let stamped = first == 0 || (first == 1 && heading.place("Timestamp", 0) == Some(0));
    stamped.then_some(heading)
}

#[derive(Default)]
struct PcpIostat {
    heading: Heading,
    first: Option<WallTime>,
    /// The time of the sample being read, and the one before.
    now: Option<WallTime>,
    before: Option<WallTime>,
}

impl Reader for PcpIostat {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if let Some(heading) = heading(line) {
            self.heading = heading;
            return Step::Took;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(place) = self.heading.place("Device", 0) else { return Step::Passed };
        if words.is_empty() {
            return Step::Took;
        }
        // A time may be of several words: `Wed Apr 29 19:03:07 2015`.
        let width = self.heading.width() - place;
        let Some(from) = words.len().checked_sub(width) else {
            let numbers = words.iter().filter(|word| decimal(word).is_some()).count();
            return match numbers > 3 {
                true => Step::Skipped("the row has fewer values than the heading".to_string()),
                false => Step::Passed,
            };
        };
        let (stamp, row) = words.split_at(from);
        if (place == 0) != stamp.is_empty() {
            return Step::Passed;
        }
        // `?` stands where there is no value yet.
        let sound = |word: &&str| decimal(word).is_some_and(|value| value >= 0.0) || *word == "?";
        if !row.iter().skip(1).all(sound) {
            let numbers = row.iter().filter(|word| decimal(word).is_some()).count();
            return match numbers > 3 {
                true => Step::Skipped("a value is not a number".to_string()),
                false => Step::Passed,
            };
        }
        if let Some(moment) = WallTime::read(&stamp.join(" "))
            && self.now != Some(moment)
        {
            WallTime::begin(&mut self.first, moment, sink);
            (self.before, self.now) = (self.now, Some(moment));
        }
        self.row(place, &words[from.saturating_sub(place)..], row, sink);
        Step::Took
    }
}

impl PcpIostat {
    fn row(&self, place: usize, words: &[&str], row: &[&str], sink: &mut dyn Sink) {
        // Values by the heading, whose places count from its own first word.
        let words = match place {
            0 => row,
            _ => words,
        };
        let of = |column: &str| self.heading.number(column, words);
        let name = row.first().copied().unwrap_or_default();
        let mut interval = Interval::new(sink.device(name), Layer::Block);
        let parts = [
            (Op::Read, "r/s", "rkB/s", "r_await", "rrqm/s"),
            (Op::Write, "w/s", "wkB/s", "w_await", "wrqm/s"),
        ];
        for (op, ios, size, wait, merges) in parts {
            let bytes = of(size).map(|kib| kib * KIB);
            let known = rates(of(ios), bytes, of(wait).map(|ms| ms * NS_PER_MS));
            interval.rates.extend(known.map(|mut rates| {
                rates.merges_per_s = of(merges);
                (op, rates)
            }));
        }
        let busy = interval.ios_per_s() > 0.0;
        interval.await_ns = of("await").map(|ms| ms * NS_PER_MS).filter(|_| busy);
        interval.queue_len = of("avgqu-sz").or_else(|| of("aqu-sz"));
        interval.busy = of("%util").map(|percent| percent / 100.0);
        let length = self.now.zip(self.before).and_then(|(now, before)| now.since(before));
        let start = self.before.zip(self.first).and_then(|(before, first)| before.since(first));
        if let Some((length, start)) = length.filter(|length| *length > 0.0).zip(start) {
            interval.start = Some(Time::from_seconds(start));
            interval.length = Some(Nanos::from_seconds(length));
        }
        sink.interval(interval);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::recorded as read;

    #[test]
    fn sizes_are_not_sectors_and_a_time_tells_the_interval() {
        let recording = read(
            "# Timestamp              Device rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await r_await w_await %util\n\
             Wed Apr 29 19:03:07 2015 sda      0.00 1.00 6.00 3.00 91.00 37.00 14.222 0.143 15.89 18.00 11.67 5.20\n\
             Wed Apr 29 19:03:07 2015 sdb      0.00 0.00 ? 0.00 0.00 0.00 0.000 0.000 0.00 0.00 0.00 0.00\n\
             Wed Apr 29 19:03:12 2015 sda      0.00 1.00 7.00 3.00 91.00 37.00 12.800 0.144 14.40 15.57 11.67 5.20\n\
             Wed Apr 29 19:03:17 2015 sda      0.00 1.00 7.00 3.00 91.00\n",
        );
        let listing = &recording.listings[0];
        let [first, .., last] = &listing.intervals[..] else { panic!("{:?}", listing.intervals) };
        assert_eq!((listing.intervals.len(), listing.source.skipped), (3, 1));
        assert_eq!((first.await_ns, first.queue_len), (Some(15.89e6), Some(0.143)));
        assert_eq!(last.length, Some(Nanos::from_seconds(5.0)));
        assert_eq!(last.of(Op::Read).unwrap().bytes_per_s, Some(91.0 * KIB));
    }
}
