//! The clock of the tracer, and its offset from the wall clock.

use iowhy_model::{Fact, Nanos, Sink, Time, typed};
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Now, on the clock of `bpf_ktime_get_ns`: CLOCK_MONOTONIC, which stops while the machine is
/// suspended.
pub(crate) fn now() -> Time {
    Time::from_ns(ns(clock_gettime(ClockId::Monotonic)))
}

/// What to add to a time of [`now`] to get nanoseconds since 1970, as of this moment.
pub(crate) fn wall_offset_ns() -> i64 {
    let before = ns(clock_gettime(ClockId::Monotonic));
    let wall = ns(clock_gettime(ClockId::Realtime));
    let after = ns(clock_gettime(ClockId::Monotonic));
    wall - (before + (after - before) / 2)
}

/// Adds the time of day and the start of the watch to a listing whose zero is the boot of the
/// machine.
pub(crate) fn add_clock(sink: &mut dyn Sink, began: Time) {
    let offset = wall_offset_ns();
    let began = began.ns() + offset;
    for (key, ns) in [(typed::CLOCK_OFFSET, offset), (typed::CLOCK_BEGAN, began)] {
        sink.fact(Fact::of(None, key, Nanos(ns), "clock_gettime"));
    }
}

fn ns(time: Timespec) -> i64 {
    time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec)
}
