//! The histograms kept in the kernel, read stretch by stretch.
//!
//! The programs count into two banks in turn. Raising the epoch sends them to the other bank; once
//! every probe that still held the old number is through, the old bank lies still and is read
//! without tearing. Counts and sums only grow there: should a straggler come after that, it is
//! counted when its bank is read again, two stretches later, unless the watch is over by then.

use std::time::Duration;

use iowhy_model::{Distribution, Edges, Histogram, Layer, Op, Sink, Stage, Time};
use rustix::thread::{MembarrierCommand, membarrier};

use crate::Error;
use crate::bpf::{HISTOGRAM_WORDS, OPS, Programs};
use crate::clock;
use crate::watched::WatchList;

/// Waiting for stragglers where the kernel offers no barrier: far above the microseconds a probe
/// takes, above a time slice of a stolen virtual CPU.
const GRACE: Duration = Duration::from_millis(10);

/// Stages, in the order of `enum stage` of `bpf/tables.h`.
const STAGES: [Stage; 4] = [Stage::Queue, Stage::Device, Stage::Total, Stage::Before];

/// The epoch in which the programs do nothing.
pub const WATCH_OFF: u64 = 0;
/// The first one in which they do; a histogram that was never written has 0.
pub const FIRST_EPOCH: u64 = 1;

/// What was read before, to tell what is new.
#[derive(Debug)]
pub struct Counted {
    edges: Edges,
    rows: u32,
    stages: u32,
    epoch: u64,
    since: Time,
    before: Vec<Vec<u64>>,
}

impl Counted {
    /// Ready for the first stretch, which has begun with [`FIRST_EPOCH`].
    pub fn new(rows: u32, stages: u32, since: Time) -> Counted {
        let keys = (2 * rows * OPS * stages) as usize;
        let before = vec![Vec::new(); keys];
        Counted { edges: Edges::standard(), rows, stages, epoch: FIRST_EPOCH, since, before }
    }

    /// When the running stretch began.
    pub fn since(&self) -> Time {
        self.since
    }

    /// Ends the running stretch, starts the next unless the watch was over at `over`, and pours what
    /// was counted.
    ///
    /// # Errors
    /// If a table cannot be read.
    pub fn pour(
        &mut self,
        programs: &mut Programs,
        watched: &WatchList,
        sink: &mut dyn Sink,
        over: Option<Time>,
    ) -> Result<(), Error> {
        let (epoch, start) = (self.epoch, self.since);
        self.epoch += 1;
        if let Some(over) = over {
            self.since = over;
        } else {
            programs.set_epoch(self.epoch)?;
            self.since = clock::now();
            wait_for_running_probes();
        }
        for (row, device) in watched.devices.iter().enumerate() {
            for (op_number, op) in Op::ALL.into_iter().enumerate() {
                let stages = STAGES.into_iter().take(self.stages as usize);
                for (stage_number, stage) in stages.enumerate() {
                    let bank = (epoch & 1) as u32 * self.rows + row as u32;
                    let key = (bank * OPS + op_number as u32) * self.stages + stage_number as u32;
                    let Some(histogram) = self.new_in(programs, key, epoch)? else { continue };
                    let device = sink.device(&device.name);
                    let mut found = Distribution::new(device, Layer::Block, stage, histogram);
                    found.op = Some(op);
                    found.start = Some(start);
                    found.length = Some(self.since - start);
                    sink.distribution(found);
                }
            }
        }
        Ok(())
    }

    /// What is new at `key`; `None` if nothing is.
    fn new_in(
        &mut self,
        programs: &Programs,
        key: u32,
        epoch: u64,
    ) -> Result<Option<Histogram>, Error> {
        let cpus = programs.histograms(key)?;
        let Some(before) = self.before.get_mut(key as usize) else { return Ok(None) };
        Ok(difference(&cpus, before, epoch, &self.edges))
    }
}

/// Waits until every probe that may still count into the old bank is through: programs run with
/// preemption off, so that a grace period of RCU is enough (kernel/sched/membarrier.c).
pub fn wait_for_running_probes() {
    if membarrier(MembarrierCommand::Global).is_err() {
        std::thread::sleep(GRACE);
    }
}

/// The counts over all CPUs less those read `before`, which are brought up to date.
fn difference(
    cpus: &[[u64; HISTOGRAM_WORDS]],
    before: &mut Vec<u64>,
    epoch: u64,
    edges: &Edges,
) -> Option<Histogram> {
    let buckets = edges.buckets();
    let mut now = vec![0u64; buckets + 1];
    let (mut min, mut max) = (u64::MAX, None);
    for cpu in cpus {
        let [sum, low, high, of, counts @ ..] = cpu;
        let seen = counts.iter().chain([sum]);
        now.iter_mut().zip(seen).for_each(|(all, one)| *all = all.wrapping_add(*one));
        if *of == epoch {
            min = min.min(*low);
            max = max.max(Some(*high));
        }
    }
    before.resize(buckets + 1, 0);
    let new: Vec<u64> = now.iter().zip(&*before).map(|(now, was)| now.wrapping_sub(*was)).collect();
    *before = now;
    let (sum, counts) = new.split_last()?;
    if counts.iter().all(|count| *count == 0) {
        return None;
    }
    let mut histogram = Histogram::from_counts(edges.clone(), counts.to_vec())?;
    histogram.sum_ns = Some(*sum as f64);
    histogram.min_ns = max.map(|_| min);
    histogram.max_ns = max;
    Some(histogram)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_holds_what_is_new_and_extremes_only_of_its_own_epoch() {
        let edges = Edges::standard();
        let mut cpu = [0; HISTOGRAM_WORDS];
        cpu[4 + 3] = 2;
        cpu[..4].copy_from_slice(&[800, 390, 410, 1]);
        let idle = [0; HISTOGRAM_WORDS];
        let mut before = Vec::new();
        let first = difference(&[cpu, idle], &mut before, 1, &edges).expect("two values");
        assert_eq!((first.count(), first.sum_ns), (2, Some(800.0)));
        assert_eq!((first.min_ns, first.max_ns), (Some(390), Some(410)));
        assert_eq!(difference(&[cpu, idle], &mut before, 3, &edges), None);
        cpu[4 + 5] = 1;
        cpu[..4].copy_from_slice(&[1450, 650, 650, 5]);
        let second = difference(&[cpu, idle], &mut before, 5, &edges).expect("one value");
        assert_eq!((second.count(), second.sum_ns), (1, Some(650.0)));
        assert_eq!((second.min_ns, second.max_ns), (Some(650), Some(650)));
    }
}
