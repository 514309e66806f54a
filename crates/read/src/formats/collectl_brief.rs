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

use crate::counters::stated::rates;
use crate::describe::report::*;
use crate::text::numbers::in_thousands;

pub(super) const FORMAT: Format =
    Format::labels("collectl's brief form: all disks together", Level::A, &LABELS);

const KIB: f64 = 1024.0;

static LABELS: Labels = Labels {
    lines: &[
        begins("^#{names:text}$", |found, report, _| {
            report.heading = columns(found)?;
            Some(())
        })
        .when(|found| columns(found).is_some())
        .shaped("KBWrit")
        .like(&["#cpu sys inter  ctxsw KBRead  Reads KBWrit Writes   KBIn  PktIn  KBOut  PktOut"]),
        perhaps("^{row:text}$", row)
            .like(&["0   0   151    278      0      0     64      8      1     12      2      13"]),
    ],
    own: &["^#"],
    ..Labels::NEW
};

fn columns(found: &Found) -> Option<Heading> {
    Heading::of(found.text("names")?, &["KBRead", "Reads", "KBWrit", "Writes"])
}

/// `1203`, `12K`, `3M`.
fn value(word: &str) -> Option<f64> {
    in_thousands(word).filter(|value| *value >= 0.0)
}

fn row(found: &Found, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let words: Vec<&str> = found.line().split_whitespace().collect();
    if !words.iter().all(|word| value(word).is_some() || WallTime::read(word).is_some()) {
        return None;
    }
    report.fits(words.len())?;
    if let Some(now) = report.heading.word("Time", &words).and_then(WallTime::read) {
        report.moments.begin(now, sink);
    }
    let mut interval = Interval::new(sink.device("total"), Layer::Block);
    report.moments.date(&mut interval);
    let parts = [(Op::Read, "Reads", "KBRead", READ), (Op::Write, "Writes", "KBWrit", WRITTEN)];
    for (op, ios, kib, column) in parts {
        let of = |name: &str| report.heading.word(name, &words).and_then(value);
        let (ios, kib) = (of(ios), of(kib));
        let known = rates(ios, kib.map(|kib| kib * KIB), None);
        interval.rates.extend(known.map(|rates| (op, rates)));
        kib.and_then(|kib| report.row(column, kib));
    }
    sink.interval(interval);
    Some(())
}
