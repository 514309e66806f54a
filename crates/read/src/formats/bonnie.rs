//! bonnie++: throughput of writing and reading a file, and the longest wait.
//!
//! ## Reads
//! The table under `Version  ------Sequential Output------`: for blocks (not for characters) the
//! write and read throughput, and from the row `Latency` the longest call of each. They become
//! reads and writes of a program with their mean and maximum.
//!
//! ## How to capture
//! `bonnie++ -d /mnt/test -s 16g -n 0 -u nobody`.
//!
//! ## Versions
//! 1.03 to 2.00 (`Name:Size etc`, `Machine  Size`). Before 1.96 there is no row `Latency`, only
//! rates. `bon_csv2txt` converts its CSV (`-q`).
//!
//! ## Caveats
//! A file smaller than the memory is read from the page cache: 2 GB/s is not a disk. `+++++` means
//! too fast to measure. Numbers may have a unit (`184m` is MB per second), else they are KiB. A
//! block is 8 KiB unless the size is printed as `16G:4k`.
//!
//! ## Not in this output
//! The disk, whether the page cache served the I/O, the latency distribution. Seeks: three to five
//! processes do them at once, and it is not known which one waited.

use iowhy_model::typed::{BytesPerSecond, PageCache};

use crate::counters::stated::rates;
use crate::describe::report::*;
use crate::describe::table::KIB;
use crate::text::numbers::time_ns;

pub(super) const FORMAT: Format =
    Format::labels("blocks written and read per second, and the longest wait", Level::B, &LABELS);

/// The second table is of files that are made and removed.
const FILES: &str = "files";

static LABELS: Labels = Labels {
    unnamed: "bonnie++",
    lines: &[
        begins("^Version{*}--Sequential Output--", |_, _, _| Some(())).opens_record().like(&[
            "Version 1.03e       ------Sequential Output------ --Sequential Input- --Random-",
        ]),
        says("-Sequential Create-", |_, report, sink| {
            rates_alone(report, sink);
            report.enter(FILES)
        })
        .like(&["------Sequential Create------ --------Random Create--------"]),
        says("^Latency {longest:text}$", latencies).like(&[
            "Latency             97109us     36ms    7369us   30153us    9002us    4435us",
        ]),
        says("^{:text}", row)
            .when(|found| {
                let is_title =
                    ["/sec %CP", "-Per Chr-"].iter().any(|words| found.line().contains(words));
                !is_title && has_numbers(found.line())
            })
            .like(&[
                "store1           8G 60112  91 81920  11 40144   7 66210  88 102400   6 201.3   0",
                "store2           8G           132035  24 56505  15           168485  25 325.7   1",
            ]),
        perhaps("^{:text}", |_, report, _| (report.part == FILES).then_some(()))
            .like(&["16  7120  88 +++++ +++ 9000   9  7001  92 +++++ +++ 8800   8"]),
    ],
    own: &["-Per Chr-", "-Create--", "/sec %CP"],
    end: Some(rates_alone),
    ..Labels::NEW
};

/// What bonnie++ reads and writes at once by default, bytes.
const BLOCK: f64 = 8192.0;
/// Words of a row: the size, and six phases with a rate and a share of the processor each; with
/// `-f` four, without characters.
const WORDS: [usize; 2] = [13, 9];
/// Blocks that are written, and blocks that are read: their place among the phases, with characters
/// and without, and how their rate is kept.
const PHASES: [(Op, [usize; 2], &str); 2] =
    [(Op::Write, [1, 0], "written"), (Op::Read, [4, 2], "read")];

/// A rate in bytes per second: `184m`, `647k`, `188807` (KiB).
fn rate(word: &str) -> Option<f64> {
    match decimal(word) {
        Some(kib) => Some(kib * KIB),
        None => bytes(&word.to_ascii_uppercase()),
    }
    .filter(|rate| *rate > 0.0)
}

/// Whether a line has as many words as a row and its last ones are mostly numbers: any of them may
/// be damaged.
fn has_numbers(line: &str) -> bool {
    let mut last = line.split_whitespace().rev();
    let phases = last.by_ref().take(WORDS[1] - 1);
    let numbers = phases.filter(|word| is_sound(Some(word), |word| rate(word).is_some())).count();
    last.next().is_some() && numbers * 2 >= WORDS[1]
}

/// Whether a value is one, or too fast to be reported (`+++++`).
fn is_sound(word: Option<&&str>, is_value: fn(&str) -> bool) -> bool {
    word.is_none_or(|word| is_value(word) || word.bytes().all(|byte| byte == b'+'))
}

fn row(found: &Found, report: &mut Report, _: &mut dyn Sink) -> Option<()> {
    if report.part == FILES {
        return Some(());
    }
    let words: Vec<&str> = found.line().split_whitespace().collect();
    let rows = WORDS.map(|count| words.get(words.len().checked_sub(count)?..)?.split_first());
    let mut sized = rows.iter().enumerate().filter_map(|(kind, row)| {
        let (size, phases) = (*row)?;
        let (size, block) = sizes(size)?;
        Some((kind, size, block, phases))
    });
    let (kind, size, block, phases) =
        report.need(sized.next(), "the size of the file is not a number")?;
    report.keep("size", size);
    report.keep("block", block.unwrap_or(BLOCK));
    for (_, place, kept) in PHASES {
        report.forget(kept);
        let word = phases.get(place[kind] * 2);
        word.and_then(|word| rate(word)).and_then(|rate| report.keep(kept, rate));
    }
    let is_whole = |(_, place, _): &(Op, [usize; 2], &str)| {
        is_sound(phases.get(place[kind] * 2), |word| rate(word).is_some())
    };
    if PHASES.iter().all(is_whole) { Some(()) } else { report.fails("a rate is not a number") }
}

/// The bytes of the file, and of a block: `8G`, `16G:4k`, and `15744M` of a long name with a blank
/// in it that fills its column, `(8 disk)15744M`.
fn sizes(word: &str) -> Option<(f64, Option<f64>)> {
    let is_of_size = |c: char| c.is_ascii_digit() || ".:kKmMgGtT".contains(c);
    let word = word.rsplit(|c| !is_of_size(c)).next()?;
    let (size, block) = word.split_once(':').unwrap_or((word, ""));
    let size = bytes(&size.to_ascii_uppercase())?;
    let is_whole = word.starts_with(|c: char| c.is_ascii_digit());
    is_whole.then(|| (size, bytes(&block.to_ascii_uppercase()).filter(|block| *block > 0.0)))
}

/// Rates without latencies below them, as before version 1.96: blocks of one program, one after
/// the other.
fn rates_alone(report: &mut Report, sink: &mut dyn Sink) {
    for (op, _, kept) in PHASES {
        let Some(per_s) = report.take(kept) else { continue };
        let block = report.kept("block").unwrap_or(BLOCK);
        if let Some(known) = rates(Some(per_s / block), Some(per_s), None) {
            report.average(Some(op), known, None, sink);
        }
        sink.add_fact(&*report, typed::RUN_CACHED, PageCache::Unknown);
    }
}

fn latencies(found: &Found, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    if report.part == FILES {
        return Some(());
    }
    let longest: Vec<&str> = found.text("longest")?.split_whitespace().collect();
    let (size, block) = (report.kept("size"), report.kept("block").unwrap_or(BLOCK));
    let kind = usize::from(longest.len() < WORDS[0] / 2);
    for (op, place, kept) in PHASES {
        let ns = longest.get(place[kind]).and_then(|word| time_ns(word));
        let Some(((per_s, longest), size)) = report.take(kept).zip(ns).zip(size) else { continue };
        let (calls, mean) = ((size / block).max(1.0), block / per_s * 1e9);
        let mut histogram = Histogram::from_summary(calls as u64, mean, 0, longest as u64);
        // The shortest time is not given.
        histogram.min_ns = None;
        let device = report.device(sink);
        let mut one = Distribution::new(device, Layer::Application, Stage::Total, histogram);
        (one.op, one.bytes) = (Some(op), Some(block as u32));
        sink.distribution(one);
        sink.add_fact(device, typed::RUN_THROUGHPUT, BytesPerSecond(per_s.round()));
        sink.add_fact(device, typed::RUN_CACHED, PageCache::Unknown);
    }
    let is_whole = |(_, place, _): &(Op, [usize; 2], &str)| {
        is_sound(longest.get(place[kind]), |word| time_ns(word).is_some())
    };
    if PHASES.iter().all(is_whole) { Some(()) } else { report.fails("a latency is not a number") }
}
