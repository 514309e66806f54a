//! Usual latencies of each device at each hour of the day, learned from its own histograms.

use std::collections::BTreeMap;
use std::fmt::Write;

use iowhy_model::{Edges, Histogram, Op};

/// Powers of two of a microsecond, up to 134 s.
const OCTAVES: u32 = 27;
/// I/Os needed in an hour before it is compared with its own past, and of a device before it is
/// compared at all: the 99.9th percentile takes 2995 (`Quantile::events_needed`).
const ENOUGH: f32 = 3000.0;
/// Counts of an hour are halved beyond this number, so that new I/Os weigh more.
const MOST: f32 = 4e6;
/// "Far above" is this many times the 99.9th percentile.
const FAR_ABOVE: f64 = 4.0;
/// Devices and operations kept; a machine that creates and removes volumes all day has an unbounded
/// number.
const KINDS: usize = 512;

/// Histograms per device, operation and hour of the day.
#[derive(Clone, PartialEq, Debug)]
pub struct LearnedHistograms {
    edges: Edges,
    kinds: BTreeMap<(String, Op), [Vec<f32>; 24]>,
}

impl Default for LearnedHistograms {
    fn default() -> LearnedHistograms {
        LearnedHistograms { edges: Edges::log2_us(OCTAVES), kinds: BTreeMap::new() }
    }
}

impl LearnedHistograms {
    /// Learns from a second without alarms.
    pub fn learn(&mut self, device: &str, op: Op, hour: u8, histogram: &Histogram) {
        let known = self.kinds.len();
        let buckets = self.edges.buckets();
        let key = (device.to_string(), op);
        if known >= KINDS && !self.kinds.contains_key(&key) {
            return;
        }
        let hours = self.kinds.entry(key).or_insert_with(|| std::array::from_fn(|_| Vec::new()));
        let counts = &mut hours[usize::from(hour.min(23))];
        counts.resize(buckets, 0.0);
        for (low, _, count) in histogram.filled() {
            if let Some(bucket) = counts.get_mut(self.edges.index(low)) {
                *bucket += count as f32;
            }
        }
        if counts.iter().sum::<f32>() > MOST {
            counts.iter_mut().for_each(|count| *count /= 2.0);
        }
    }

    /// The latency from which an I/O is far above what is usual for this device and hour, ns;
    /// `None` while too little is known.
    pub fn bound_ns(&self, device: &str, op: Op, hour: u8) -> Option<u64> {
        let hours = self.kinds.get(&(device.to_string(), op))?;
        let of_hour = hours.get(usize::from(hour.min(23)))?;
        let mut counts = vec![0.0; self.edges.buckets()];
        let enough = |counts: &[f32]| counts.iter().sum::<f32>() >= ENOUGH;
        if enough(of_hour) {
            counts.copy_from_slice(of_hour);
        } else {
            for one in hours {
                counts.iter_mut().zip(one).for_each(|(all, one)| *all += *one);
            }
        }
        if !enough(&counts) {
            return None;
        }
        let rank = 0.999 * counts.iter().sum::<f32>();
        let mut seen = 0.0;
        let bucket = counts.iter().position(|count| {
            seen += count;
            seen >= rank
        })?;
        Some((self.edges.high(bucket) as f64 * FAR_ABOVE) as u64)
    }

    /// The range that contains the device's median latency at this hour, ns; `None` while too
    /// little is known.
    pub fn median_ns(&self, device: &str, op: Op, hour: u8) -> Option<(u64, u64)> {
        let hours = self.kinds.get(&(device.to_string(), op))?;
        let counts = hours.get(usize::from(hour.min(23)))?;
        let all: f32 = counts.iter().sum();
        let mut seen = 0.0;
        let bucket = counts.iter().position(|count| {
            seen += count;
            seen >= 0.5 * all
        });
        let bucket = bucket.filter(|_| all >= ENOUGH)?;
        Some((self.edges.low(bucket), self.edges.high(bucket)))
    }

    /// As lines of text: device, operation, hour, counts from the shortest latency.
    pub fn text(&self) -> String {
        let mut text = String::from(
            "# iowhy: latencies per device, operation and hour (UTC); counts over 0, 2, 4 ... us\n",
        );
        for ((device, op), hours) in &self.kinds {
            for (hour, counts) in hours.iter().enumerate().filter(|(_, counts)| !counts.is_empty())
            {
                // Writing into a text does not fail.
                let _ = write!(text, "{} {} {hour}", device.replace(' ', "?"), op.name());
                counts.iter().for_each(|count| {
                    let _ = write!(text, " {}", count.round());
                });
                text.push('\n');
            }
        }
        text
    }

    /// From such lines; those that are damaged are ignored and counted.
    pub fn parse(text: &str) -> (LearnedHistograms, u64) {
        let (mut learned, mut skipped) = (LearnedHistograms::default(), 0);
        for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
            skipped += u64::from(learned.line(line).is_none());
        }
        (learned, skipped)
    }

    fn line(&mut self, line: &str) -> Option<()> {
        let mut words = line.split(' ');
        let (device, op) = (words.next()?, Op::from_name(words.next()?)?);
        let hour: usize = words.next()?.parse().ok()?;
        let counts: Vec<f32> = words.map(|word| word.parse().ok()).collect::<Option<_>>()?;
        let sound = counts.len() == self.edges.buckets()
            && counts.iter().all(|count| (0.0..=MOST).contains(count));
        if !sound || self.kinds.len() >= KINDS {
            return None;
        }
        let hours = self
            .kinds
            .entry((device.to_string(), op))
            .or_insert_with(|| std::array::from_fn(|_| Vec::new()));
        *hours.get_mut(hour)? = counts;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(us: u64, count: u64) -> Histogram {
        let mut histogram = Histogram::empty(Edges::standard());
        (0..count).for_each(|_| histogram.record(us * 1000));
        histogram
    }

    #[test]
    fn an_hour_is_held_against_its_own_past_and_else_against_the_day() {
        let mut learned = LearnedHistograms::default();
        assert_eq!(learned.bound_ns("sda", Op::Read, 3), None);
        // At three a backup reads slowly.
        for _ in 0..40 {
            learned.learn("sda", Op::Read, 3, &second(30_000, 100));
            learned.learn("sda", Op::Read, 12, &second(300, 10_000));
        }
        // 30 ms are in 16.384 to 32.768 ms; 300 us in 256 to 512 us.
        assert_eq!(learned.bound_ns("sda", Op::Read, 3), Some(4 * 32_768_000));
        assert_eq!(learned.bound_ns("sda", Op::Read, 12), Some(4 * 512_000));
        // 1 % of the day's I/Os are slow.
        assert_eq!(learned.bound_ns("sda", Op::Read, 7), Some(4 * 32_768_000));
        assert_eq!(learned.bound_ns("sda", Op::Write, 12), None);
        assert_eq!(learned.median_ns("sda", Op::Read, 12), Some((256_000, 512_000)));
        assert_eq!(learned.median_ns("sda", Op::Read, 7), None);
    }

    #[test]
    fn it_comes_back_from_its_text_and_damaged_lines_are_counted() {
        let mut learned = LearnedHistograms::default();
        learned.learn("nvme0n1", Op::Write, 23, &second(90, 5000));
        let text = learned.text();
        assert_eq!(LearnedHistograms::parse(&text), (learned, 0));
        for cut in 0..text.len() {
            let _ = LearnedHistograms::parse(&text[..cut]);
        }
        let (read, skipped) = LearnedHistograms::parse("sda read 25 1 2\nsda nothing 3\nx\n");
        assert_eq!((read, skipped), (LearnedHistograms::default(), 3));
    }
}
