//! Windows' performance counters of a disk, however a tool prints them.

use iowhy_model::{Interval, Layer, Op, Sink};

use crate::counters::stated::rates;

const NS_PER_S: f64 = 1e9;
/// The sum over all disks.
pub(crate) const TOTAL: &str = "_Total";

/// What the counters of a disk say, by their English names; nothing if none of them counts I/O.
pub(crate) fn interval(
    disk: &str,
    of: impl Fn(&str) -> Option<f64>,
    sink: &mut dyn Sink,
) -> Option<Interval> {
    let wait = |name: &str| of(name).filter(|s| *s > 0.0).map(|s| s * NS_PER_S);
    let mut interval = Interval::new(sink.device(disk), Layer::Block);
    let parts = [
        (Op::Read, "Disk Reads/sec", "Disk Read Bytes/sec", "Avg. Disk sec/Read"),
        (Op::Write, "Disk Writes/sec", "Disk Write Bytes/sec", "Avg. Disk sec/Write"),
    ];
    for (op, ios, bytes, mean) in parts {
        let known = rates(of(ios), of(bytes), wait(mean));
        interval.rates.extend(known.map(|rates| (op, rates)));
    }
    let all = wait("Avg. Disk sec/Transfer");
    if interval.rates.is_empty() {
        interval.mixed = rates(of("Disk Transfers/sec"), of("Disk Bytes/sec"), all);
        // A mean without a count.
        let single = [wait("Avg. Disk sec/Read"), wait("Avg. Disk sec/Write")];
        interval.await_ns = all.or(single.into_iter().flatten().reduce(f64::max));
    } else {
        interval.await_ns = all.filter(|_| interval.ios_per_s() > 0.0);
    }
    interval.queue_len = of("Avg. Disk Queue Length");
    interval.in_flight = of("Current Disk Queue Length").map(|count| count as u64);
    interval.busy = of("% Idle Time").filter(|idle| *idle <= 100.0).map(|idle| 1.0 - idle / 100.0);
    let known = !interval.rates.is_empty()
        || interval.mixed.is_some()
        || interval.await_ns.is_some()
        || interval.busy.is_some();
    known.then_some(interval)
}
