//! pt-diskstats of the Percona Toolkit: rates, latency and concurrency of each block device.
//!
//! ## Reads
//! The heading `#ts device rd_s rd_avkb rd_mb_s rd_mrg rd_cnc rd_rt ...` and a row for each device:
//! requests and MiB per second, response time (`rd_rt`, `wr_rt`), requests at once (`rd_cnc` plus
//! `wr_cnc`), busy share and requests in flight.
//!
//! ## How to capture
//! `pt-diskstats --interval 5`, the file of `pt-stalk` shown by `pt-diskstats FILE`.
//!
//! ## Versions
//! Percona Toolkit 2.0 to 3.6. Columns are found by the heading.
//!
//! ## Caveats
//! `#ts` is the number of seconds since the start, or `{4}` for the number of devices or samples in
//! one row; neither is a time of day, and the length of an interval is not printed. The response
//! time is the time of all requests, queue included, divided by their number before merging. `busy`
//! may exceed 100 % by rounding. Merges are printed as a share and not read.
//!
//! ## Not in this output
//! The latency distribution, discards and flushes, what happened within an interval.

use iowhy_model::{Level, Op};

use crate::Format;
use crate::describe::table::{
    MIB, RowTime, Slot, Subject, Table, busy, bytes, column, ios, wait_ms,
};

pub(super) const FORMAT: Format =
    Format::table("latency and concurrency of block devices", Level::A, &TABLE);

static TABLE: Table = Table {
    heading: &["rd_s", "rd_mb_s", "rd_rt", "wr_s", "wr_rt"],
    sign: "#",
    subject: Subject::First(&["device"]),
    time: RowTime::Front,
    columns: &[
        ios("rd_s", Op::Read),
        bytes("rd_mb_s", Op::Read, MIB),
        wait_ms("rd_rt", Op::Read),
        ios("wr_s", Op::Write),
        bytes("wr_mb_s", Op::Write, MIB),
        wait_ms("wr_rt", Op::Write),
        column("in_prg", Slot::InFlight, 1.0),
        busy("busy"),
    ],
    may_resume: true,
    finish: Some(|interval, cells| {
        let at_once = ["rd_cnc", "wr_cnc"].map(|name| cells.get(name));
        interval.queue_len = at_once[0].zip(at_once[1]).map(|(reads, writes)| reads + writes);
    }),
    ..Table::NEW
};
