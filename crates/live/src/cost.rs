//! The cost of tracing, from the kernel's own count of the time spent in BPF programs.

use std::os::fd::OwnedFd;
use std::time::Duration;

use aya::sys::{Stats, enable_stats};
use iowhy_model::Op;

use crate::{Error, RequestCounts};

/// Below this rate the programs' data is no longer in the CPU caches: on two CPUs some 1500 ns each
/// at 424 I/Os a second, some 200 at tens of thousands (a choice between the two).
const COLD: f64 = 5000.0;

/// Overhead of counting a program's time (reading the clock before and after it), ns per run
/// (measured on empty programs, docs/METHOD.md, 15 Tracer).
pub(crate) const FLOOR_NS: f64 = 52.0;

/// The time spent in the programs of a tracer.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Cost {
    /// All of it, in nanoseconds.
    pub ns: u64,
    /// How often a program ran.
    pub runs: u64,
    /// Requests and bios that completed meanwhile.
    pub ios: u64,
}

/// Has the kernel count while the descriptor is open.
///
/// # Errors
/// If the right to it is missing.
pub(crate) fn counted() -> Result<OwnedFd, Error> {
    enable_stats(Stats::RunTime).map_err(|error| Error::Kernel {
        what: format!("the kernel does not measure the cost of BPF programs: {error}"),
    })
}

impl Cost {
    /// The cost for this many requests.
    pub fn new(ns: u64, runs: u64, counts: &[(String, Op, RequestCounts)]) -> Cost {
        let of_one = |counts: &RequestCounts| {
            counts.measured + counts.filtered + counts.no_start + counts.no_sender
        };
        Cost { ns, runs, ios: counts.iter().map(|(_, _, counts)| of_one(counts)).sum() }
    }

    /// Nanoseconds without the overhead of counting.
    pub fn net_ns(self) -> f64 {
        (self.ns as f64 - self.runs as f64 * FLOOR_NS).max(0.0)
    }

    /// As text, with the CPU time of this process during a watch of this length.
    pub fn words(self, own: Duration, watched: Duration) -> String {
        let seconds = watched.as_secs_f64().max(1e-9);
        let share = |seconds_of_cpu: f64| 100.0 * seconds_of_cpu / seconds;
        let own = format!("iowhy itself {:.2} %", share(own.as_secs_f64()));
        if self.ios == 0 {
            return format!("overhead: no I/O was traced; {own} of one CPU");
        }
        let ios = self.ios as f64;
        let per_s = ios / seconds;
        let cold = if per_s < COLD {
            "; at such a low rate the CPU caches are cold each time"
        } else {
            ""
        };
        format!(
            "overhead: {:.0} ns in BPF per I/O (plus {:.0} ns for measuring it), {:.2} programs \
             per I/O, {} I/Os, {per_s:.0} per second{cold}; in total {:.2} % of one CPU, {own}",
            self.net_ns() / ios,
            self.runs as f64 * FLOOR_NS / ios,
            self.runs as f64 / ios,
            self.ios,
            share(self.net_ns() / 1e9),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_of_counting_is_taken_off() {
        let cost = Cost { ns: 1_000_000, runs: 3_000, ios: 1_000 };
        assert_eq!(cost.net_ns(), 844_000.0);
        let text = cost.words(Duration::from_millis(5), Duration::from_secs(1));
        assert!(text.starts_with("overhead: 844 ns in BPF per I/O (plus 156 ns"), "{text}");
        assert!(text.ends_with("in total 0.08 % of one CPU, iowhy itself 0.50 %"), "{text}");
        let idle = Cost { ios: 0, ..cost }.words(Duration::ZERO, Duration::from_secs(1));
        assert!(idle.contains("no I/O was traced"), "{idle}");
    }
}
