//! Errors counted by btrfs on each of its devices: `btrfs device stats`.
//!
//! ## Reads
//! Lines such as `[/dev/sda].read_io_errs     0`. They become facts of the device:
//! `member.errors.read`, `member.errors.write`, `member.errors.flush`, `member.errors.checksum`
//! (corruption) and `member.errors.generation`.
//!
//! ## How to capture
//! `btrfs device stats /mountpoint`.
//!
//! ## Versions
//! btrfs-progs 3.12 to 6.x; old versions end each line of the first kind with `nr`.
//!
//! ## Caveats
//! The counters persist with the file system, across reboots, until `-z` clears them: they include
//! old errors. Corruption repaired from another copy is also counted.
//!
//! ## Not in this output
//! The time of an error.

use crate::describe::report::*;

pub(super) const FORMAT: Format =
    Format::labels("errors counted by btrfs: btrfs device stats", Level::E, &LABELS);

static LABELS: Labels = Labels {
    lines: &[begins("^[{disk:device}].{counter:word}_errs {n:u}$", |found, report, sink| {
        let kind = match found.text("counter")? {
            "read_io" => "read",
            "write_io" => "write",
            "flush_io" => "flush",
            "corruption" => "checksum",
            "generation" => "generation",
            _ => return None,
        };
        let (key, count) = (typed::MEMBER_ERRORS.of(kind), found.count("n")?);
        sink.add_fact_at(found.device()?, key, count, report.place());
        Some(())
    })
    .like(&["[/dev/sdb].read_io_errs    0", "[/dev/sdb].corruption_errs 12"])],
    ..Labels::NEW
};
