//! The kernel's counters of a disk, at any time, as iostat takes differences of them.

use iowhy_model::Op;

use crate::worlds::Done;

/// What `/proc/diskstats` counts, as far as `iostat -x` uses it. Times in ns.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Counters {
    /// Reads and writes that completed.
    pub(super) ios: [u64; 2],
    /// Bytes of them.
    pub(super) bytes: [u64; 2],
    /// Their latencies together, queue included.
    pub(super) waits: [u64; 2],
    /// Time with something in flight, as the kernel estimates it.
    pub(super) busy: u64,
    /// Latencies in flight over time: counted at completion by new kernels, as time passes by old.
    pub(super) queue: u64,
}

/// How the kernel keeps its time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Kernel {
    /// Before 5.0 busy time is exact to a tick and the queue is integrated; since then busy time is
    /// sampled at starts and ends (`update_io_ticks`, block/blk-core.c; commit 5b18b5a73760) and
    /// the queue is the sum of what completed (`part_stat_show`, block/genhd.c).
    pub(super) old: bool,
    /// Length of a tick, ns: `CONFIG_HZ` 250 on Debian and Ubuntu.
    pub(super) tick: u64,
}

/// The counters at the end of each interval of that length, for so many intervals.
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
            if now > stamp && (end.is_some() || flying > 0) {
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
        let place = usize::from(done.op == Op::Write);
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
        let pair = |now: [u64; 2], then: [u64; 2]| [now[0] - then[0], now[1] - then[1]];
        Counters {
            ios: pair(self.ios, before.ios),
            bytes: pair(self.bytes, before.bytes),
            waits: pair(self.waits, before.waits),
            busy: self.busy - before.busy,
            queue: self.queue - before.queue,
        }
    }
}
