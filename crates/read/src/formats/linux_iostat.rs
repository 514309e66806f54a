//! iostat 2 of Linux, with the columns of Solaris: rates, size, queue and mean waits of each disk.
//!
//! ## Reads
//! The title `extended device statistics`, the heading `device mgr/s mgw/s    r/s    w/s    kr/s
//! kw/s   size queue   wait svc_t  %b` and a row for each disk, report after report.
//!
//! ## How to capture
//! `iostat -x 10` of that program. Today's is the iostat of sysstat, another format.
//!
//! ## Versions
//! iostat 1.1 to 2.2, for kernels 2.4 and 2.6. The short lists (`kps tps svc_t`) are not read, nor
//! are rows with CPU shares after them (`-c`).
//!
//! ## Caveats
//! The first report covers the time since boot. `wait` is the mean time from a request's arrival to
//! its end, queue included, in milliseconds; `svc_t` is busy time divided by requests, not a
//! service time. `queue` is the mean number of requests in the queue or on the device, `size` their
//! mean size in KiB, and `%b` time with something in flight. A mean of 0.0 counts as unknown. A
//! disk that is busy all the time has at least one request in flight: where `queue` and `wait` are
//! 0.0 the kernel kept no times of its requests, and each takes `svc_t` at least, which then stands
//! for its latency.
//!
//! ## Not in this output
//! The latency distribution, the waits of reads and writes separately, the length of an interval,
//! which process sent the requests.

use iowhy_model::{Level, Op};

use crate::Format;
use crate::describe::table::{KIB, MS, Slot, Subject, Table, busy, bytes, column, ios};

pub(super) const FORMAT: Format =
    Format::table("iostat 2 of Linux with the columns of Solaris", Level::A, &TABLE);

/// Busy share from which on one request follows the other (a choice).
const ALL_THE_TIME: f64 = 0.95;

static TABLE: Table = Table {
    heading: &["mgr/s", "mgw/s", "kr/s", "kw/s", "svc_t", "%b"],
    subject: Subject::First(&["device"]),
    columns: &[
        column("mgr/s", Slot::Merges(Op::Read), 1.0),
        column("mgw/s", Slot::Merges(Op::Write), 1.0),
        ios("r/s", Op::Read),
        ios("w/s", Op::Write),
        bytes("kr/s", Op::Read, KIB),
        bytes("kw/s", Op::Write, KIB),
        column("queue", Slot::Queued, 1.0),
        column("wait", Slot::Wait(None), MS),
        busy("%b"),
    ],
    banners: &["^{ }extended device statistics"],
    since_boot: true,
    finish: Some(|interval, cells| {
        interval.svctm_ns = cells.get("svc_t").filter(|ms| *ms > 0.0).map(|ms| ms * MS);
        let timed =
            ["queue", "wait"].iter().any(|name| cells.get(name).is_none_or(|mean| mean > 0.0));
        if !timed && interval.busy.is_some_and(|busy| busy >= ALL_THE_TIME) {
            (interval.queue_len, interval.await_ns) = (None, interval.svctm_ns);
        }
    }),
    ..Table::NEW
};
