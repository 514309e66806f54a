//! iostat -x of FreeBSD and DragonFly: requests, bytes, latency and busy share of each disk.
//!
//! ## Reads
//! The title `extended device statistics`, the heading `device       r/s     w/s     kr/s     kw/s
//! ms/r  ms/w  ms/o  ms/t qlen  %b` and a row for each disk, report after report.
//!
//! ## How to capture
//! `iostat -x -w 1 -c 10`, `iostat -xz -w 5` on FreeBSD.
//!
//! ## Versions
//! FreeBSD 11 and later print reads, writes, others and total separately (`ms/r ms/w ms/o ms/t`),
//! older ones one `svc_t`. Columns are found by the heading. The lists without `-x` are not read.
//!
//! ## Caveats
//! The first report is since boot, even if it is the only one. Rates are whole numbers and times
//! whole milliseconds: a 0 with requests is less than half a millisecond and treated as unknown.
//! `svc_t` is the mean time of a transaction from its start to its end, queue included. `qlen` is
//! the number of requests in flight at the end of the interval. `%b` is time with a request in
//! flight, not a measure of saturation. kB are units of 1024 bytes.
//!
//! ## Not in this output
//! The latency distribution, queue and device time separately, which process sent the requests. The
//! length of an interval, which is not printed.

use iowhy_model::{Level, Op};

use crate::Format;
use crate::describe::table::{KIB, MS, Slot, Subject, Table, busy, bytes, column, ios, wait_ms};

pub(super) const FORMAT: Format = Format::table("iostat -x of FreeBSD", Level::A, &TABLE);

static TABLE: Table = Table {
    // Solaris has `actv`, FreeBSD `qlen`.
    heading: &["r/s", "w/s", "kr/s", "kw/s", "qlen", "%b"],
    subject: Subject::First(&["device"]),
    banners: &["^{ }extended device statistics$"],
    since_boot: true,
    columns: &[
        ios("r/s", Op::Read),
        bytes("kr/s", Op::Read, KIB),
        wait_ms("ms/r", Op::Read),
        ios("w/s", Op::Write),
        bytes("kw/s", Op::Write, KIB),
        wait_ms("ms/w", Op::Write),
        column("svc_t", Slot::Wait(None), MS),
        column("ms/t", Slot::Wait(None), MS),
        column("qlen", Slot::InFlight, 1.0),
        busy("%b"),
    ],
    ..Table::NEW
};
