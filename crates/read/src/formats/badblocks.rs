//! badblocks: how many blocks of a drive could not be read, written or compared.
//!
//! ## Reads
//! `Pass completed, 24 bad blocks found. (24/0/0 errors)` and progress lines `12.34% done, 1:23:45 elapsed. (3/0/0
//! errors)`: blocks that could not be read or written or came back different, as the fact `scan.failed`. The device is that
//! of the command line.
//!
//! ## Where it comes from
//! `badblocks -sv /dev/sdb`, `e2fsck -c`.
//!
//! ## Versions
//! e2fsprogs 1.42 to 1.47; before 1.42 there are no three counts in the brackets: the number of blocks is read.
//!
//! ## Traps
//! A block is 1 KiB unless told otherwise, so one sector of 4 KiB makes four. A write test on a drive with a wrong
//! capacity (a fake) shows differences where nothing is worn.
//!
//! ## Cannot know
//! How long reads took, why they failed (the kernel's log tells). Whether whole lines are missing: they bear no numbers.

use iowhy_model::{Level, Sink, typed};

use crate::drive::health::{Drive, Places, drive_named};
use crate::text::invocation::invocation;
use crate::{Format, Reader, Sniff, Step, decimal, integer};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "badblocks",
    summary: "badblocks: blocks of a drive that fail",
    manual: iowhy_model::manual!("badblocks.rs"),
    level: Level::E,
    sniff,
    reader: || Box::new(Badblocks::default()),
};

/// Lines between a command and the first count.
const NEAR: usize = 16;
/// Kinds of failure that are counted apart: read, write, compare.
const KINDS: usize = 3;

fn sniff(lines: &[&str]) -> Sniff {
    Sniff::announced(lines, NEAR, |line| failed(line).is_some(), |line| command(line).is_some())
}

/// `badblocks -sv /dev/sdb`.
fn command(line: &str) -> Option<String> {
    invocation(line, "badblocks")?;
    drive_named(line)
}

/// `12.34% done, 1:23:45 elapsed.`, behind the name of a test where it is the first; `19075872done, ...` where the terminal drew
/// it over the number of a block.
fn is_progress(text: &str) -> bool {
    let Some((head, _)) = text.split_once("done, ") else { return false };
    let is_named = ["Testing with ", "Checking for "].iter().any(|start| head.starts_with(start));
    let share =
        if is_named { head.rsplit_once(": ").map_or(head, |(_, share)| share) } else { head };
    decimal(share.trim_end_matches([' ', '%'])).is_some()
}

/// Blocks that could not be read or written or came back different.
fn failed(line: &str) -> Option<u64> {
    let text = line.trim();
    let end = text
        .strip_prefix("Pass completed, ")
        .and_then(|rest| rest.split_once(" bad blocks found."));
    let rest = match end {
        Some((_, rest)) => rest,
        None if is_progress(text) => text.split_once(" elapsed.")?.1,
        None => return None,
    };
    let inside = rest.rsplit_once('(').and_then(|(_, inside)| inside.strip_suffix(" errors)"));
    if let Some(inside) = inside {
        let counts: Vec<u64> = inside.split('/').map(integer).collect::<Option<_>>()?;
        return (counts.len() == KINDS).then(|| counts.into_iter().fold(0, u64::saturating_add));
    }
    let (count, _) = end.filter(|(_, rest)| rest.trim().is_empty())?;
    integer(count.trim())
}

#[derive(Default)]
struct Badblocks {
    drive: Drive,
    places: Places,
    /// The last count and where it stood.
    last: Option<(u64, String)>,
}

impl Reader for Badblocks {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let place = self.places.next(sink);
        let text = line.trim();
        if let Some(name) = command(line) {
            self.finish(sink);
            self.drive.named(&name);
        } else if let Some(count) = failed(line) {
            self.last = Some((count, place));
        } else {
            // Numbers of the blocks themselves stand between.
            let of_it = [
                "Checking ",
                "Testing with ",
                "Reading and comparing",
                "Interrupted at",
                "From block",
                "done",
            ];
            let known = of_it.iter().any(|start| text.starts_with(start));
            return if known || text.is_empty() || integer(text).is_some() {
                Step::Took
            } else {
                Step::Passed
            };
        }
        Step::Took
    }

    fn resumes(&self) -> bool {
        true
    }

    fn above(&mut self, line: &str) {
        if let Some(name) = command(line) {
            self.drive.named(&name);
        }
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        let Some((count, place)) = self.last.take() else { return };
        self.drive.add_fact(typed::SCAN_FAILED, count, &place);
        self.drive.pour(sink);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::recorded;

    #[test]
    fn counts_in_lines_of_both_kinds() {
        for (line, count) in [
            ("Pass completed, 24 bad blocks found. (20/3/1 errors)", Some(24)),
            (" 12.34% done, 1:23:45 elapsed. (3/0/0 errors)", Some(3)),
            ("Testing with random pattern: 0.05% done, 0:04 elapsed. (0/1/0 errors)", Some(1)),
            ("19075872done, 1:34:03 elapsed. (32/0/0 errors)", Some(32)),
            ("9:  6.40% done, 4:07 elapsed. (4/0/0 errors)", None),
            ("Pass completed, 7 bad blocks found.", Some(7)),
            ("12.34% done, 1:23:45 elapsed.", None),
            ("12.34% done, 1:23:45 elapsed. (3/0 errors)", None),
        ] {
            assert_eq!(failed(line), count, "{line}");
        }
    }

    #[test]
    fn the_last_count_is_that_of_the_drive() {
        let recording = recorded(
            "# badblocks -sv /dev/sdc\nChecking blocks 0 to 976762583\nChecking for bad blocks (read-only test): \n\
             4711232\n4711233\n  1.00% done, 3:45 elapsed. (2/0/0 errors)\ndone\n\
             Pass completed, 2 bad blocks found. (2/0/0 errors)\n",
        );
        let facts = &recording.listings[0].facts;
        assert_eq!(facts.len(), 1);
        assert_eq!(recording.device_of(facts[0].device.unwrap()).name, "sdc");
        assert_eq!(
            (facts[0].key.name(), facts[0].value.to_string()),
            ("scan.failed".into(), "2".to_string())
        );
    }
}
