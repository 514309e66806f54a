//! Errors that btrfs counted on each of its devices: `btrfs device stats`.
//!
//! ## Reads
//! Lines such as `[/dev/sda].read_io_errs     0`. They become facts of the device:
//! `member.errors.read`, `member.errors.write`, `member.errors.flush`, `member.errors.checksum`
//! (corruption) and `member.errors.generation`.
//!
//! ## Where it comes from
//! `btrfs device stats /mountpoint`.
//!
//! ## Versions
//! btrfs-progs 3.12 to 6.x; old versions end each line of the first kind with `nr`.
//!
//! ## Traps
//! The counters live as long as the file system, across reboots, until `-z` clears them: old errors
//! stay. Corruption that was repaired from another copy counts too.
//!
//! ## Cannot know
//! When an error happened. Whether lines are missing: they bear no numbers.

use iowhy_model::{Level, Sink, typed};

use crate::drive::health::Places;
use crate::facts::AddFact;
use crate::{Format, Reader, Sniff, Step, integer};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "btrfs-stats",
    summary: "errors that btrfs counted: btrfs device stats",
    manual: iowhy_model::manual!("btrfs_stats.rs"),
    level: Level::E,
    sniff,
    reader: || Box::new(BtrfsStats::default()),
};

const COUNTERS: &[(&str, &str)] = &[
    ("read_io_errs", "read"),
    ("write_io_errs", "write"),
    ("flush_io_errs", "flush"),
    ("corruption_errs", "checksum"),
    ("generation_errs", "generation"),
];

fn sniff(lines: &[&str]) -> Sniff {
    Sniff::from(lines.first().is_some_and(|line| row(line).is_some()))
}

/// The device, the kind of errors and the count.
fn row(line: &str) -> Option<(&str, &'static str, u64)> {
    let (device, rest) = line.trim().strip_prefix('[')?.split_once("].")?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let [counter, count] = words.as_slice() else { return None };
    let (_, kind) = COUNTERS.iter().find(|(name, _)| name == counter)?;
    Some((device, kind, integer(count)?))
}

#[derive(Default)]
struct BtrfsStats {
    places: Places,
}

impl Reader for BtrfsStats {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let place = self.places.next(sink);
        let Some((device, kind, count)) = row(line) else {
            return if line.trim().is_empty() { Step::Took } else { Step::Passed };
        };
        sink.add_fact_at(device, typed::MEMBER_ERRORS.of(kind), count, &place);
        Step::Took
    }
}
