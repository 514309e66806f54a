//! The kernel's counters of a disk, at any time, as iostat takes differences of them.

use iowhy_model::Op;

use crate::scenarios::Done;

/// What `/proc/diskstats` counts, as far as `iostat -x` uses it. Times in ns.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Counters {
    /// Reads, writes, discards and flushes that completed.
    pub(super) ios: [u64; 4],
    /// Bytes of them.
    pub(super) bytes: [u64; 4],
    /// Their latencies together, queue included.
    pub(super) waits: [u64; 4],
    /// Time with something in flight, as the kernel estimates it.
    pub(super) busy: u64,
    /// Latencies in flight over time: counted at completion by new kernels, as time passes by old.
    pub(super) queue: u64,
}

/// How the kernel keeps its time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Kernel {
    /// Before 5.0 busy time is exact to a tick and the queue is integrated; since then, and to 6.9,
    /// busy time is sampled (`update_io_ticks`, block/blk-core.c: a tick at a start, at an end
    /// what passed since the last start or end; commits 5b18b5a73760, 2b8bd423614c) and
    /// the queue is the sum of what completed (`part_stat_show`, block/genhd.c).
    pub(super) old: bool,
    /// Length of a tick, ns: `CONFIG_HZ` 250 on Debian and Ubuntu.
    pub(super) tick: u64,
}

/// The counters at the end of each interval of that length, for this many intervals.
pub(super) fn at_ends(done: &[Done], kernel: Kernel, every: u64, count: u64) -> Vec<Counters> {
    // Starts and ends in the order of time.
    let mut steps: Vec<(u64, Option<&Done>)> = Vec::with_capacity(2 * done.len());
    for one in done {
        steps.push((one.queued, None));
        steps.push((one.completed, Some(one)));
    }
    steps.sort_by_key(|(time, end)| (*time, end.is_some()));
    let mut counters = Counters::default();
    let mut ends = Vec::new();
    let (mut stamp, mut flying, mut last) = (0, 0u64, 0);
    for (time, end) in steps {
        while (ends.len() as u64) < count && time >= (ends.len() as u64 + 1) * every {
            let now = (ends.len() as u64 + 1) * every;
            let mut seen = counters;
            if kernel.old && flying > 0 {
                // Reading the file brings the old counters up to date.
                seen.busy += now - last;
                seen.queue += flying * (now - last);
            }
            ends.push(seen);
        }
        if kernel.old {
            if flying > 0 {
                counters.busy += time - last;
                counters.queue += flying * (time - last);
            }
        } else {
            let now = time / kernel.tick;
            if now > stamp {
                let passed = if end.is_some() { now - stamp } else { 1 };
                counters.busy += passed * kernel.tick;
            }
            stamp = stamp.max(now);
        }
        last = time;
        match end {
            None => flying += 1,
            Some(one) => {
                flying = flying.saturating_sub(1);
                counters.complete(one, kernel);
            }
        }
    }
    ends.resize(count as usize, counters);
    ends
}

impl Counters {
    fn complete(&mut self, done: &Done, kernel: Kernel) {
        // An old kernel counts discards as writes and flushes not at all.
        let place = match done.op {
            Op::Flush if kernel.old => return,
            Op::Flush => 3,
            Op::Discard if !kernel.old => 2,
            Op::Write | Op::Discard => 1,
            Op::Read | Op::Other => 0,
        };
        let wait = done.completed - done.queued;
        self.ios[place] += 1;
        self.bytes[place] += u64::from(done.bytes);
        self.waits[place] += wait;
        if !kernel.old {
            self.queue += wait;
        }
    }

    /// What came since an earlier time.
    pub(super) fn since(&self, before: &Counters) -> Counters {
        let less = |now: [u64; 4], then: [u64; 4]| std::array::from_fn(|op| now[op] - then[op]);
        Counters {
            ios: less(self.ios, before.ios),
            bytes: less(self.bytes, before.bytes),
            waits: less(self.waits, before.waits),
            busy: self.busy - before.busy,
            queue: self.queue - before.queue,
        }
    }
}

#[cfg(test)]
mod tests {
    use iowhy_model::Flags;

    use super::*;

    /// Two requests of 100 ms that overlap by half, from 10 ms on.
    fn two() -> Vec<Done> {
        let one = |start: u64| Done {
            op: Op::Read,
            flags: Flags::default(),
            offset: 0,
            bytes: 4096,
            arrived: start,
            queued: start,
            issued: start + 1,
            completed: start + 100_000_000,
            comm: "dd",
            pid: 1,
            cgroup: None,
            sync: true,
            failed: false,
            delayed: 0,
            waited: 0,
        };
        vec![one(10_000_000), one(60_000_000)]
    }

    #[test]
    fn old_and_new_kernels_agree_on_a_long_interval_and_differ_on_when() {
        let tick = 4_000_000;
        for (old, halfway) in [(true, 90_000_000 + 40_000_000), (false, 0)] {
            let ends = at_ends(&two(), Kernel { old, tick }, 100_000_000, 2);
            // By 100 ms nothing completed: the old kernel has counted 90 and 40 ms, the new none.
            assert_eq!((ends[0].ios[0], ends[0].queue), (0, halfway));
            let end = ends[1];
            assert_eq!((end.ios[0], end.bytes[0], end.waits[0]), (2, 8192, 200_000_000));
            assert_eq!(end.queue, 200_000_000);
            // Linux 6.1 counts a tick at each start and what passed since at each end: the time
            // from 12 to 60 ms, in which only one was in flight, is lost.
            assert_eq!(end.busy, if old { 150_000_000 } else { (1 + 1 + 12 + 13) * tick });
        }
    }
}
