//! iostat of AIX: busy share, transfers and bytes of disks.
//!
//! ## Reads
//! The rows below `Disks: % tm_act Kbps tps Kb_read Kb_wrtn`: busy share, transfers and bytes per
//! second.
//!
//! ## How to capture
//! `iostat 5 10`, `iostat -d 5 10`.
//!
//! ## Versions
//! AIX 5 to 7: the same columns.
//!
//! ## Caveats
//! The first report is the mean since boot, unless a line above it reports that the history of
//! disks is off. A disk of an array is a LUN. `Kb_read` and `Kb_wrtn` are sums of the interval,
//! whose length is not printed: reads and writes are not distinguished.
//!
//! ## Not in this output
//! Any latency or queue: `iostat -D` has them.

use iowhy_model::Level;

use crate::describe::table::{KIB, Slot, Subject, Table, column};
use crate::{Format, decimal};

pub const FORMAT: Format =
    Format::table("iostat of AIX: busy share, transfers, bytes of disks", Level::A, &TABLE);

static TABLE: Table = Table {
    heading: &["tm_act", "Kb_read", "Kb_wrtn"],
    subject: Subject::First(&["Disks:"]),
    columns: &[
        column("tm_act", Slot::Busy, 1.0),
        column("Kbps", Slot::Bytes(None), KIB),
        column("tps", Slot::Ios(None), 1.0),
    ],
    since_boot: true,
    blanks: "%",
    // Between two reports is a line of terminals and processors.
    keep: Some(|name, _| decimal(name).is_none()),
    ..Table::NEW
};
