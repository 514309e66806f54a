//! pmstat: one line per interval for the whole machine, of Performance Co-Pilot.
//!
//! ## Reads
//! The rows below `1 min swpd free buff cache pi po bi bo in cs us sy id`: mean and maximum of the
//! CPU shares become the facts `cpu.*`; with `-x` iowait and steal among them.
//!
//! ## How to capture
//! `pmstat -t 5 -x`, `pmstat -a ARCHIVE`.
//!
//! ## Versions
//! PCP 3 to 7. Columns are found by the heading; `si so` are printed on machines that swap whole
//! processes.
//!
//! ## Caveats
//! There is no row since boot, unlike vmstat. Without `-x` iowait is part of idle. Large values are
//! shortened (`6952m`, `12K`), so only shares are used. `bi` and `bo` count blocks of
//! unknown size.
//!
//! ## Not in this output
//! The disk, the task, the number of requests and their latency.

use crate::counters::processor::{are_shares, shares};
use crate::describe::report::*;

pub(super) const FORMAT: Format =
    Format::labels("pmstat of Performance Co-Pilot: CPUs of the machine", Level::E, &LABELS);

static LABELS: Labels = Labels {
    lines: &[
        // The load is called `1 min`.
        begins("^1 min swpd {columns:text}$", |found, report, _| {
            report.heading = Heading::of(found.line().strip_prefix("1 min")?, &["swpd"])?;
            Some(())
        })
        .when(|found| {
            let columns: Vec<&str> = found.line().split_whitespace().collect();
            let has = |name: &&str| columns.contains(name);
            ["buff", "cache", "bi", "bo"].iter().all(has) && are_shares(&columns)
        })
        .like(&["1 min   swpd   free   buff  cache   pi   po   bi   bo   in   cs  us  sy  id"]),
        says("^{@ |loadavg}", |_, _, _| Some(()))
            .like(&["@ Thu Nov 26 10:00:00 2026", "loadavg                      memory"]),
        perhaps("^{row:text}$", row)
            .like(&["0.02   6952m 113352 151912 10824m    0    0    0   11  342  533   1   0  99"]),
    ],
    ..Labels::NEW
};

fn row(found: &Found, report: &mut Report, _: &mut dyn Sink) -> Option<()> {
    let words: Vec<&str> = found.line().split_whitespace().collect();
    // With several hosts each line begins with a host's name.
    let loads = words.len().saturating_sub(report.heading.width());
    let (before, row) = words.split_at(loads);
    let value = |word: &&str| {
        *word == "?" || word.starts_with(|c: char| c.is_ascii_digit()) && word.len() < 8
    };
    let load = before.last().is_some_and(|word| decimal(word).is_some() || *word == "?");
    if !load || before.len() > 2 || !row.iter().all(value) {
        let values = words.iter().filter(|word| value(word)).count();
        let is_meant = values * 2 > report.heading.width();
        return report.fails_if(is_meant, "the row does not match the heading");
    }
    report.processor.take(&shares(report.heading.pairs(row)));
    Some(())
}
