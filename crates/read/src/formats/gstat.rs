//! gstat of FreeBSD: requests, bytes, latency and busy share of each GEOM provider.
//!
//! ## Reads
//! The screen of `gstat` and the lines of `gstat -b`: `dT: 1.002s  w: 1.000s`, the heading
//! ` L(q) ops/s    r/s   kBps   ms/r    w/s   kBps   ms/w   %busy Name` and a row for each
//! provider. With `-d` and `-o` deletes and other requests (flushes among them) have separate
//! columns.
//!
//! ## How to capture
//! `gstat -b -I 5s`, `gstat -p`, `gstat -dop` on FreeBSD and related systems.
//!
//! ## Versions
//! Columns are found by the heading. Older screens have a bar before the name; `-C` (CSV) of
//! FreeBSD 13 has the same names, separated by commas.
//!
//! ## Caveats
//! `L(q)` is the number of requests in flight at the end of the interval, not a mean. `ms/r` has
//! one decimal: a mean below 0.05 ms is printed as 0.0 and taken as unknown. `%busy` is the share
//! of the interval with a request in flight; it may exceed 100 and is not a measure of saturation.
//! A partition (`ada0p2`) or label (`gpt/x`) repeats the I/O of its disk: it is ignored below a
//! disk's row. `kBps` are units of 1024 bytes. `dT` is the time that really passed; a screen copied
//! a moment after a key was pressed covers a few milliseconds.
//!
//! ## Not in this output
//! The latency distribution, which process sent the requests, what happened within an interval.
//! Time in the queue and on the device separately.

use iowhy_model::{Level, Op};

use crate::Format;
use crate::describe::table::{KIB, RowTime, Slot, Subject, Table, busy, column, ios, wait_ms};

pub(super) const FORMAT: Format =
    Format::table("gstat of FreeBSD: latency and busy share of disks", Level::A, &TABLE);

static TABLE: Table = Table {
    heading: &["L(q)", "ops/s", "r/s", "kBps", "ms/r", "%busy"],
    subject: Subject::Last(&["Name", "name"]),
    banners: &["^{ }dT: {length:s}s{ }w: "],
    blanks: "|,",
    columns: &[
        column("L(q)", Slot::InFlight, 1.0),
        ios("r/s", Op::Read),
        wait_ms("ms/r", Op::Read),
        ios("w/s", Op::Write),
        wait_ms("ms/w", Op::Write),
        ios("d/s", Op::Discard),
        wait_ms("ms/d", Op::Discard),
        // Other requests, flushes among them, move nothing and have no column of bytes.
        ios("o/s", Op::Flush),
        wait_ms("ms/o", Op::Flush),
        column("kBps", Slot::BytesBeside, KIB),
        busy("%busy"),
    ],
    time: RowTime::None,
    keep: Some(is_disk),
    ..Table::NEW
};

/// Providers that only name a part of a disk once more.
const LABELS: [&str; 7] = ["gpt/", "gptid/", "label/", "diskid/", "ufs/", "ufsid/", "msdosfs/"];

/// Whether a row is a disk's, and no partition (`ada0p2`) or label of one above.
fn is_disk(name: &str, above: &[String]) -> bool {
    let is_part = |disk: &String| {
        let part = name.strip_prefix(disk.as_str()).and_then(|rest| rest.strip_prefix(['p', 's']));
        part.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let is_label = LABELS.iter().any(|folder| name.starts_with(folder));
    above.is_empty() || !(is_label || above.iter().any(is_part))
}
