//! iozone: throughput of one program's records, in order and at random.
//!
//! ## Reads
//! The table below the heading `kB  reclen  write  rewrite  read  reread ...`: the kB per second of
//! each test that was run, under the name of its column. Records are sent one after the other, so a
//! rate gives a mean wait: the size divided by the rate.
//!
//! ## How to capture
//! `iozone -I -s 1g -r 4k -i 0 -i 1 -i 2 -f /mnt/test/file`.
//!
//! ## Versions
//! 3.x, automatic mode. What `-t` prints (several processes at once) has no such table.
//!
//! ## Caveats
//! Values are right-aligned below their names, and tests that were not run are empty. Without `-I`
//! (O_DIRECT) the page cache serves the I/O: reads are then not from a disk. With `-e` flushes are
//! in the time of writes.
//!
//! ## Not in this output
//! The latency distribution, which disk it was, other I/O on it.

use iowhy_model::typed::PageCache;

use crate::counters::stated::rates;
use crate::program::*;

pub(super) const FORMAT: Format = Format::by_line::<Iozone>(
    "throughput of records, sequential and random",
    Level::A,
    &["reclen", DIRECT],
    |line| line.trim() == DIRECT || ends(line).is_some(),
)
.resumed();

/// The tests in the order of their columns.
const TESTS: [(&str, Op); 13] = [
    ("write", Op::Write),
    ("rewrite", Op::Write),
    ("read", Op::Read),
    ("reread", Op::Read),
    ("random read", Op::Read),
    ("random write", Op::Write),
    ("backward read", Op::Read),
    ("record rewrite", Op::Write),
    ("stride read", Op::Read),
    ("fwrite", Op::Write),
    ("frewrite", Op::Write),
    ("fread", Op::Read),
    ("freread", Op::Read),
];
const KIB: f64 = 1024.0;
/// What shows in the lines above that the page cache was bypassed.
const DIRECT: &str = "O_DIRECT feature enabled";

/// Where the names of the tests end in the heading.
fn ends(line: &str) -> Option<Vec<usize>> {
    let words = placed(line);
    let [(kb, _), (reclen, _), (write, _), tests @ ..] = &words[..] else { return None };
    let is_one = kb.eq_ignore_ascii_case("kb") && *reclen == "reclen" && *write == "write";
    let first = words.get(2)?.1;
    is_one.then(|| std::iter::once(first).chain(tests.iter().map(|(_, end)| *end)).collect())
}

/// The words of a line, and where each ends.
fn placed(line: &str) -> Vec<(&str, usize)> {
    let start = line.as_ptr() as usize;
    line.split_whitespace()
        .map(|word| (word, word.as_ptr() as usize - start + word.len()))
        .collect()
}

#[derive(Default)]
struct Iozone {
    is_direct: bool,
    ends: Vec<usize>,
}

impl Reader for Iozone {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if let Some(ends) = ends(line) {
            self.ends = ends;
            return Step::Consumed;
        }
        if line.trim() == DIRECT {
            self.is_direct = true;
            return Step::Consumed;
        }
        let words = placed(line);
        if words.is_empty() {
            return Step::Consumed;
        }
        let numbers: Option<Vec<(f64, usize)>> = words
            .iter()
            .map(|(word, end)| Some((decimal(word).filter(|value| *value >= 0.0)?, *end)))
            .collect();
        let Some(numbers) = numbers else {
            let is_row = words.first().is_some_and(|(word, _)| decimal(word).is_some());
            return Step::skipped_if(is_row, "a value of the row is not a number");
        };
        let [(_, _), (record, _), values @ ..] = &numbers[..] else { return Step::NotMine };
        // A value is below the end of its name; a wide one may reach a letter further.
        let test = |end: usize| {
            let near = |at: &&usize| at.abs_diff(end) <= 1;
            TESTS.get(self.ends.iter().position(|at| near(&at))?)
        };
        let known: Option<Vec<_>> =
            values.iter().map(|(value, end)| Some((test(*end)?, *value))).collect();
        let Some(known) = known.filter(|_| *record > 0.0) else {
            return Step::skipped("the row does not match the heading");
        };
        for ((name, op), kib_per_s) in known {
            let size = numbers.get(1).map_or(0.0, |(kib, _)| kib * KIB);
            let per_s = kib_per_s * KIB / size;
            let device = sink.device(&format!("{name} {record}K"));
            let mut interval = Interval::new(device, Layer::Application);
            let mean_ns = (per_s > 0.0).then(|| 1e9 / per_s);
            let stated = rates(Some(per_s), Some(kib_per_s * KIB), mean_ns);
            interval.rates.extend(stated.map(|stated| (*op, stated)));
            sink.interval(interval);
            sink.add_fact(device, typed::RUN_AT_ONCE, 1u64);
            let cached = if self.is_direct { PageCache::No } else { PageCache::Unknown };
            sink.add_fact(device, typed::RUN_CACHED, cached);
        }
        Step::Consumed
    }
}
