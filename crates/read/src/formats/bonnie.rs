//! bonnie++: how quickly a file was written and read, and the longest wait for it.
//!
//! ## Reads
//! The table under `Version  ------Sequential Output------`: of its blocks (not of its characters) what was written and
//! read per second, and from the row `Latency` the longest single call of each. They become reads and writes of a program
//! with their mean and maximum.
//!
//! ## Where it comes from
//! `bonnie++ -d /mnt/test -s 16g -n 0 -u nobody`.
//!
//! ## Versions
//! 1.96 to 2.00 (`Name:Size etc`, `Machine  Size`). Its CSV (`-q`) is told by `bon_csv2txt`.
//!
//! ## Traps
//! A file smaller than the memory is read from the page cache: 2 GB/s is no disk. `+++++` is too quick to be told.
//! Numbers carry a unit (`184m` is MB per second), else they are KiB. A block is 8 KiB unless the size is printed as
//! `16G:4k`.
//!
//! ## Cannot know
//! Which disk it was, whether the page cache answered, how latencies are distributed. Seeks: three to five programs do
//! them at once, and which waited is not told. Whether whole lines are missing: they bear no numbers.

use iowhy_model::typed::{BytesPerSecond, PageCache};
use iowhy_model::{Distribution, Histogram, Layer, Level, Op, Sink, Stage, typed};

use crate::facts::AddFact;
use crate::text::numbers::time_ns;
use crate::{Format, Reader, Sniff, Step, bytes, decimal};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "bonnie",
    summary: "bonnie++: blocks written and read per second, and the longest wait",
    manual: iowhy_model::manual!("bonnie.rs"),
    level: Level::B,
    sniff: |lines| Sniff::from(lines.first().is_some_and(|line| is_heading(line))),
    reader: || Box::<Bonnie>::default(),
};

/// What bonnie++ reads and writes at once unless told otherwise, bytes.
const BLOCK: f64 = 8192.0;
const KIB: f64 = 1024.0;
/// What the run is called in reports.
const NAME: &str = "bonnie++";
/// Words of a row: the name and six phases with a rate and a share of the processor each.
const WORDS: usize = 13;
/// Blocks that are written, and blocks that are read: their place among the phases.
const PHASES: [(Op, usize); 2] = [(Op::Write, 1), (Op::Read, 4)];

fn is_heading(line: &str) -> bool {
    line.starts_with("Version") && line.contains("--Sequential Output--")
}

/// A rate in bytes per second: `184m`, `647k`, `188807` (KiB).
fn rate(word: &str) -> Option<f64> {
    match decimal(word) {
        Some(kib) => Some(kib * KIB),
        None => bytes(&word.to_ascii_uppercase()),
    }
    .filter(|rate| *rate > 0.0)
}

/// Takes a line in which each of these is a number, or too quick to be told (`+++++`).
fn sound<'w>(mut words: impl Iterator<Item = &'w str>, number: fn(&str) -> bool) -> Step {
    let odd = |word: &&str| !number(word) && word.bytes().any(|byte| byte != b'+');
    match words.find(odd) {
        Some(word) => Step::Skipped(format!("`{word}` is not a number")),
        None => Step::Took,
    }
}

#[derive(Default)]
struct Bonnie {
    /// Rates of the phases, and bytes of the file and of a block.
    rates: Vec<Option<f64>>,
    size: Option<f64>,
    block: f64,
    /// The second table is of files that are made and removed.
    files: bool,
}

impl Reader for Bonnie {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let words: Vec<&str> = line.split_whitespace().collect();
        if is_heading(line) {
            *self = Bonnie::default();
            return Step::Took;
        }
        if line.contains("-Sequential Create-") {
            self.files = true;
            return Step::Took;
        }
        match words[..] {
            [] => Step::Took,
            _ if line.contains("-Per Chr-")
                || line.contains("-Create--")
                || line.contains("/sec %CP") =>
            {
                Step::Took
            }
            ["Latency", ..] if self.files => Step::Took,
            ["Latency", ref longest @ ..] => {
                self.pour(longest, sink);
                let places = PHASES.iter().filter_map(|(_, place)| longest.get(*place));
                sound(places.copied(), |word| time_ns(word).is_some())
            }
            _ if self.files => Step::Took,
            [.., _] if words.len() >= WORDS => {
                let phases = &words[words.len() - WORDS + 1..];
                let size = words[words.len() - WORDS];
                let (size, block) = match size.split_once(':') {
                    Some((size, block)) => (size, bytes(&block.to_ascii_uppercase())),
                    None => (size, None),
                };
                self.size = bytes(&size.to_ascii_uppercase());
                self.block = block.filter(|block| *block > 0.0).unwrap_or(BLOCK);
                self.rates = phases.chunks(2).map(|phase| rate(phase[0])).collect();
                if self.size.is_none() {
                    return Step::Skipped("the size of the file is not a number".to_string());
                }
                let places = PHASES.iter().filter_map(|(_, place)| phases.get(place * 2));
                sound(places.copied(), |word| rate(word).is_some())
            }
            _ => Step::Passed,
        }
    }
}

impl Bonnie {
    fn pour(&mut self, longest: &[&str], sink: &mut dyn Sink) {
        let Some(size) = self.size else { return };
        for (op, place) in PHASES {
            let known = self.rates.get(place).copied().flatten();
            let longest = longest.get(place).and_then(|word| time_ns(word));
            let (Some(per_s), Some(longest)) = (known, longest) else { continue };
            let calls = (size / self.block).max(1.0);
            let mean_ns = self.block / per_s * 1e9;
            let mut histogram = Histogram::from_summary(calls as u64, mean_ns, 0, longest as u64);
            // Nobody said what the shortest took.
            histogram.min_ns = None;
            let device = sink.device(NAME);
            let mut one = Distribution::new(device, Layer::Application, Stage::Total, histogram);
            (one.op, one.bytes) = (Some(op), Some(self.block as u32));
            sink.distribution(one);
            sink.add_fact(device, typed::RUN_THROUGHPUT, BytesPerSecond(per_s.round()));
            sink.add_fact(device, typed::RUN_CACHED, PageCache::Unknown);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::recorded as read;

    #[test]
    fn blocks_have_a_mean_and_a_longest() {
        let recording = read(
            "Version 2.00a       ------Sequential Output------ --Sequential Input- --Random-\n\
             \x20                   -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--\n\
             Name:Size etc        /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP\n\
             host          1G:4k  647k  54  128m  25  408m  33 1295k  69  2.0g  56 +++++ +++\n\
             Latency             97109us     36ms    7369us   30153us    9002us    4435us\n",
        );
        let [writes, reads] = &recording.listings[0].distributions[..] else {
            panic!("{recording:?}")
        };
        assert_eq!((writes.op, reads.op), (Some(Op::Write), Some(Op::Read)));
        assert_eq!(
            (writes.histogram.count(), writes.histogram.max_ns),
            (262_144, Some(36_000_000))
        );
        // 4 KiB at 128 MiB per second.
        assert_eq!(writes.histogram.mean_ns().map(|(ns, _)| ns.round()), Some(30_518.0));
    }
}
