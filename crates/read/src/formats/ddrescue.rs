//! GNU ddrescue: how much of a failing drive was read, and how many places were not.
//!
//! ## Reads
//! The status screen: `errsize` or `bad-sector`, `errors`, `bad areas` and `read errors` as the fact `scan.failed`,
//! the number of places that could not be read when the screen was last drawn. The device is the first path in /dev
//! that a command line names.
//!
//! ## Where it comes from
//! `ddrescue -d /dev/sdb image map`.
//!
//! ## Versions
//! ddrescue 1.3 to 1.28: `errsize` and `errors` before 1.20, `bad areas` and `read errors` since.
//!
//! ## Traps
//! A place is a run of sectors, not one sector. Early passes leave what they skip as `non-trimmed`: a place there was read
//! once without success, and may be read yet. A drive behind a USB bridge that resets gives read errors too.
//!
//! ## Cannot know
//! How long single reads took, why they failed (the kernel's log tells), how fast the drive is: it reads in several sizes.
//! Whether whole lines are missing: they bear no numbers.

use iowhy_model::{Level, Sink, typed};

use crate::drive::health::{Drive, Places, is_name};
use crate::text::invocation::invocation;
use crate::{Format, Reader, Sniff, Step, integer};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "ddrescue",
    summary: "GNU ddrescue: places of a drive that could not be read",
    manual: iowhy_model::manual!("ddrescue.rs"),
    level: Level::E,
    sniff,
    reader: || Box::new(Ddrescue::default()),
};

/// Lines between a command or a banner and the first row.
const NEAR: usize = 12;
/// What stands before the colons of the screen (main.cc and rescuebook.cc of ddrescue).
const LABELS: [&str; 20] = [
    "ipos",
    "opos",
    "rescued",
    "errsize",
    "errors",
    "current rate",
    "average rate",
    "error rate",
    "non-tried",
    "non-trimmed",
    "non-scraped",
    "bad-sector",
    "bad areas",
    "read errors",
    "run time",
    "remaining time",
    "pct rescued",
    "slow reads",
    "tried",
    "since last successful read",
];

fn sniff(lines: &[&str]) -> Sniff {
    Sniff::announced(lines, NEAR, |line| pairs(line).is_some(), announces)
}

/// A banner or a command line.
fn announces(line: &str) -> bool {
    line.trim().starts_with("GNU ddrescue ") || source(line).is_some()
}

/// The drive that a command reads: `ddrescue -d -r3 /dev/sdb image map`.
fn source(line: &str) -> Option<&str> {
    invocation(line, "ddrescue")?;
    let mut words = line.split_whitespace();
    words.find(|word| word.rsplit('/').next() == Some("ddrescue"))?;
    let name = words.find_map(|word| word.strip_prefix("/dev/"))?;
    is_name(name).then_some(name)
}

/// Labels and values of a row: two or more, and all of them known.
fn pairs(line: &str) -> Option<Vec<(&'static str, &str)>> {
    let parts = line.split(',').filter(|part| !part.trim().is_empty());
    let pairs: Vec<_> = parts.map(pair).collect::<Option<_>>()?;
    (pairs.len() > 1).then_some(pairs)
}

/// `errors:       3`.
fn pair(part: &str) -> Option<(&'static str, &str)> {
    let (label, value) = part.split_once(':')?;
    let label = label.trim();
    let label = label.strip_prefix("time ").unwrap_or(label);
    let known = LABELS.iter().find(|known| **known == label)?;
    Some((known, value.trim()))
}

#[derive(Default)]
struct Ddrescue {
    drive: Drive,
    places: Places,
    /// Where the last count stood.
    place: String,
    areas: Option<u64>,
    errors: Option<u64>,
}

impl Reader for Ddrescue {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let place = self.places.next(sink);
        if let Some(name) = source(line) {
            self.pour(sink);
            self.drive.named(name);
            return Step::Took;
        }
        let Some(pairs) = pairs(line) else {
            let text = line.trim();
            let remark =
                ["GNU ddrescue", "Press Ctrl-C", "Initial status", "Current status", "Finished"];
            let of_the_screen = remark.iter().any(|start| text.starts_with(start))
                || LABELS.iter().any(|label| {
                    text.strip_prefix(label).is_some_and(|rest| rest.starts_with(':'))
                })
                || ["Copying ", "Trimming ", "Scraping ", "Retrying ", "Splitting "]
                    .iter()
                    .any(|start| text.starts_with(start) && text.contains('.'));
            return if of_the_screen || text.is_empty() { Step::Took } else { Step::Passed };
        };
        for (label, value) in pairs {
            let kept = match label {
                "bad areas" => &mut self.areas,
                "errors" | "read errors" => &mut self.errors,
                _ => continue,
            };
            if let Some(count) = integer(value) {
                *kept = Some(count);
                self.place.clone_from(&place);
            }
        }
        Step::Took
    }

    fn above(&mut self, line: &str) {
        if let Some(name) = source(line) {
            self.drive.named(name);
        }
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.pour(sink);
    }
}

impl Ddrescue {
    fn pour(&mut self, sink: &mut dyn Sink) {
        let (areas, errors) = (self.areas.take(), self.errors.take());
        // Reads fail several times in one area: areas count where there are any.
        let Some(count) = areas.filter(|areas| *areas > 0).or(errors).or(areas) else { return };
        self.drive.add_fact(typed::SCAN_FAILED, count, &self.place);
        self.drive.pour(sink);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::recorded;

    fn unreadable(text: &str) -> Vec<(String, String)> {
        let recording = recorded(text);
        let facts = recording.listings.iter().flat_map(|listing| &listing.facts);
        let of = |fact: &iowhy_model::Fact| {
            (recording.device_of(fact.device.unwrap()).name.clone(), fact.value.to_string())
        };
        facts.filter(|fact| fact.key.name() == "scan.failed").map(of).collect()
    }

    #[test]
    fn screens_of_old_and_new() {
        let old = "# ddrescue -n /dev/sdb /dev/sdc log\n\nrescued:   500107 MB,  errsize:   12288 B,  current rate:        0 B/s\n   \
                   ipos:   120034 MB,   errors:       3,    average rate:   55324 kB/s\n   \
                   opos:   120034 MB\nFinished\n";
        assert_eq!(unreadable(old), [("sdb".to_string(), "3".to_string())]);
        let new = "GNU ddrescue 1.23\nPress Ctrl-C to interrupt\n     \
                   ipos:  107374 MB, non-trimmed:        0 B,  current rate:       0 B/s\n     \
                   opos:  107374 MB, non-scraped:        0 B,  average rate:   2048 kB/s\n\
                   non-tried:        0 B,  bad-sector:     4096 B,    error rate:     170 B/s\n  \
                   rescued:  256060 MB,   bad areas:        2,        run time:      2m 21s\n\
                   pct rescued:   99.99%, read errors:       17,  remaining time:         n/a\n                              \
                   time since last successful read:         12s\nFinished\n";
        assert_eq!(unreadable(new), [("drive".to_string(), "2".to_string())]);
        assert_eq!(pairs("rescued: all, errors: none, mood: good"), None);
    }
}
