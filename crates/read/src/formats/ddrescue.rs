//! GNU ddrescue: how much of a failing drive was read, and the number of unreadable areas.
//!
//! ## Reads
//! The status screen: `errsize` or `bad-sector`, `errors`, `bad areas` and `read errors` as the
//! fact `scan.failed`, the number of unreadable areas in the last screen. The device is the first
//! path in /dev that a command line names.
//!
//! ## How to capture
//! `ddrescue -d /dev/sdb image map`.
//!
//! ## Versions
//! ddrescue 1.3 to 1.28: `errsize` and `errors` before 1.20, `bad areas` and `read errors` since.
//!
//! ## Caveats
//! An area is a run of sectors, not one sector. Early passes leave skipped areas as `non-trimmed`:
//! a failed read there may succeed later. A drive on a USB bridge that resets also gives read
//! errors.
//!
//! ## Not in this output
//! The duration of individual reads, why they failed (see the kernel's log), the speed of the
//! drive: it reads in several sizes.

use crate::describe::report::*;
use crate::drive::health::is_name;
use crate::text::invocation::invocation;

pub(super) const FORMAT: Format =
    Format::labels("GNU ddrescue: areas of a drive that could not be read", Level::E, &LABELS);

// The labels of the screen: main.cc and rescuebook.cc of ddrescue.
static LABELS: Labels = Labels {
    command: Some(Command { program: "ddrescue", subject: source, opens: Opens::Record }),
    near: 12,
    lines: &[begins(
        "^{ipos:|opos:|rescued:|errsize:|errors:|non-tried:|pct rescued:}{*},{ \
             }{errsize|errors|tried|current rate|average rate|error \
             rate|non-trimmed|non-scraped|bad-sector|bad areas|read errors|run time|remaining \
             time|slow reads|time since last successful read}:",
        row,
    )
    .like(&[
        "rescued:   500107 MB,  errsize:   12288 B,  current rate:        0 B/s",
        "ipos:   120034 MB,   errors:       3,    average rate:   55324 kB/s",
        "rescued:  256060 MB,   bad areas:        2,        run time:      2m 21s",
        "pct rescued:   99.99%, read errors:       17,  remaining time:         n/a",
    ])],
    own: &[
        "^GNU ddrescue",
        "^About to copy ",
        "^Proceed (y/N)",
        "^Press Ctrl-C",
        "^{Initial|Current} status",
        "^Finished",
        "^{Copying|Trimming|Scraping|Retrying|Splitting} {*}.",
        "^{ipos|opos|rescued|run time|time since last successful read}:",
    ],
    ..Labels::NEW
};

/// The drive that a command reads: `ddrescue -d -r3 /dev/sdb image map`.
fn source(line: &str) -> Option<String> {
    invocation(line, "ddrescue")?;
    let mut words = line.split_whitespace();
    words.find(|word| word.rsplit('/').next() == Some("ddrescue"))?;
    let name = words.find_map(|word| word.strip_prefix("/dev/"))?;
    is_name(name).then(|| name.to_string())
}

fn row(found: &Found, report: &mut Report, _: &mut dyn Sink) -> Option<()> {
    for (label, value) in found.line().split(',').filter_map(|part| part.split_once(':')) {
        let what = match label.trim() {
            "bad areas" => "areas",
            "errors" | "read errors" => "errors",
            _ => continue,
        };
        let Some(count) = integer(value.trim()) else { continue };
        report.keep(what, count as f64);
        // Reads fail several times in one area: areas count where there are any.
        let (areas, errors) = (report.kept("areas"), report.kept("errors"));
        if let Some(count) = areas.filter(|areas| *areas > 0.0).or(errors).or(areas) {
            report.update(typed::SCAN_FAILED, count as u64);
        }
    }
    Some(())
}
