//! f3write and f3read: how fast a card or stick is, and whether it returns what was written.
//!
//! ## Reads
//! `Data LOST: ... (193 sectors)` as the fact `run.sectors.lost`: sectors that were read back
//! differently from what was written. `Average writing speed` and `Average reading speed` as
//! `run.throughput`.
//!
//! ## How to capture
//! `f3write /media/card && f3read /media/card`.
//!
//! ## Versions
//! F3 2 to 9.
//!
//! ## Caveats
//! `Overwritten` sectors show a card that is smaller than it claims, `Corrupted` ones flash, a
//! reader or a link that changes data; which of these is not shown. If the card was not remounted
//! between the two programs, the page cache may serve the second.
//!
//! ## Not in this output
//! Latencies, the device of the folder.

use iowhy_model::typed::BytesPerSecond;

use crate::describe::report::*;

pub(super) const FORMAT: Format =
    Format::labels("f3write, f3read: throughput of a card, and sectors it lost", Level::E, &LABELS);

static LABELS: Labels = Labels {
    unnamed: "f3",
    lines: &[
        begins("^F3 {write|read} {version:word}$", |_, _, _| Some(()))
            .when(|found| {
                let version = found.text("version").unwrap_or_default();
                version.starts_with(|c: char| c.is_ascii_digit())
            })
            .like(&["F3 write 8.0"]),
        begins("^Average {writing|reading} speed: {n:n} {unit:word}$", |found, report, sink| {
            let unit = found.text("unit")?.strip_suffix("B/s")?;
            let rate = crate::bytes(&format!("{}{unit}", found.number("n")?))?;
            let run = if found.line().contains("writing") { "f3write" } else { "f3read" };
            let rate = BytesPerSecond(rate);
            sink.add_fact_at(run, typed::RUN_THROUGHPUT, rate, report.place());
            Some(())
        })
        .like(&["Average writing speed: 54.10 MB/s"]),
        begins("^Data LOST: {:n} {:word} ({n:u} sectors)$", |found, report, sink| {
            let lost = found.count("n")?;
            sink.add_fact_at(None, typed::RUN_SECTORS_LOST, lost, report.place());
            Some(())
        })
        .like(&["Data LOST: 96.50 KB (193 sectors)"]),
    ],
    own: &[
        "^Copyright ",
        "^This is free software",
        "^Removing old file ",
        "^Free space: ",
        "^Creating file ",
        "^SECTORS ok/corrupted",
        "^Validating file ",
        "^Data OK: ",
        "^{Corrupted|Slightly changed|Overwritten}: ",
        "^WARNING: Not all F3 files",
    ],
    ..Labels::NEW
};
