//! Histograms of all requests by interval: those kept in the kernel, and those of the sent events.
//!
//! The programs count into two banks in turn. Raising the epoch switches them to the other bank;
//! once every probe with the old number has finished, the old bank is read consistently. Counts and
//! sums only grow: a late one is counted when its bank is read again, two intervals later, unless
//! the watch is over by then.

use std::collections::BTreeMap;
use std::time::Duration;

use iowhy_model::{
    DeviceId, Distribution, Edges, Event, Histogram, Layer, Nanos, Op, Sink, Stage, Time,
};
use rustix::thread::{MembarrierCommand, membarrier};

use crate::Error;
use crate::bpf::{HISTOGRAM_WORDS, OPS, Programs};
use crate::watch_list::WatchList;

/// Wait for late probes if the kernel offers no barrier: far longer than the microseconds of a
/// probe, longer than a stolen time slice of a virtual CPU.
const GRACE: Duration = Duration::from_millis(10);

/// Stages, in the order of `enum stage` of `bpf/tables.h`.
const STAGES: [Stage; 4] = [Stage::Queue, Stage::Device, Stage::Total, Stage::Before];

/// The epoch in which the programs do nothing.
pub(crate) const WATCH_OFF: u64 = 0;
/// The first active one; a histogram that was never written has 0.
pub(crate) const FIRST_EPOCH: u64 = 1;

/// Counts since the last interval, and the previous reading, to compute the difference.
#[derive(Debug)]
pub(crate) struct StretchHistograms {
    edges: Edges,
    rows: u32,
    stages: u32,
    epoch: u64,
    since: Time,
    before: Vec<Vec<u64>>,
    sent: Sent,
}

/// How an interval ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StretchEnd {
    /// When.
    pub now: Time,
    /// The watch is over: the programs are idle then.
    pub over: bool,
    /// The kernel may have counted something.
    pub unread: bool,
}

/// Histograms by device and operation, one for each stage.
type ByStage = BTreeMap<(u32, usize), [Option<Histogram>; STAGES.len()]>;

/// Histograms of events: of the current interval, and of events after its end.
#[derive(Debug, Default)]
struct Sent {
    here: ByPlace,
    next: ByPlace,
}

/// Counts indexed by device and operation.
#[derive(Debug, Default)]
struct ByPlace(Vec<Option<Box<[Counts; STAGES.len()]>>>);

/// A histogram being built.
#[derive(Debug, Default)]
struct Counts {
    /// None before the first.
    buckets: Vec<u64>,
    sum_ns: u64,
    min_ns: u64,
    max_ns: u64,
}

impl Counts {
    fn add(&mut self, ns: u64, edges: &Edges) {
        if self.buckets.is_empty() {
            self.buckets = vec![0; edges.buckets()];
            self.min_ns = u64::MAX;
        }
        if let Some(bucket) = self.buckets.get_mut(edges.index(ns)) {
            *bucket += 1;
        }
        self.sum_ns = self.sum_ns.saturating_add(ns);
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// `None` if nothing was added.
    fn histogram(self, edges: &Edges) -> Option<Histogram> {
        let mut histogram = Histogram::from_counts(edges.clone(), self.buckets)?;
        histogram.sum_ns = Some(self.sum_ns as f64);
        histogram.min_ns = Some(self.min_ns);
        histogram.max_ns = Some(self.max_ns);
        Some(histogram)
    }
}

impl ByPlace {
    fn stages(&mut self, device: usize, op: usize) -> &mut [Counts; STAGES.len()] {
        let place = device * Op::ALL.len() + op;
        if self.0.len() <= place {
            self.0.resize_with(place + 1, || None);
        }
        self.0[place].get_or_insert_default()
    }

    /// Takes its contents and leaves it empty.
    fn take(&mut self, edges: &Edges) -> ByStage {
        let of = |place: usize| ((place / Op::ALL.len()) as u32, place % Op::ALL.len());
        let all = self.0.iter_mut().enumerate();
        let all = all.filter_map(|(place, stages)| Some((of(place), *stages.take()?)));
        all.map(|(of, stages)| (of, stages.map(|counts| counts.histogram(edges)))).collect()
    }
}

impl StretchHistograms {
    /// Ready for the first interval, which has begun with [`FIRST_EPOCH`].
    pub(crate) fn new(rows: u32, stages: u32, since: Time) -> StretchHistograms {
        let keys = (2 * rows * OPS * stages) as usize;
        let before = vec![Vec::new(); keys];
        let edges = Edges::standard();
        StretchHistograms {
            edges,
            rows,
            stages,
            epoch: FIRST_EPOCH,
            since,
            before,
            sent: Sent::default(),
        }
    }

    /// Counts an event; one that completed after `until`, the end of the interval, belongs to the
    /// next.
    pub(crate) fn add(&mut self, event: &Event, until: Option<Time>) {
        let later = until.zip(event.completed).is_some_and(|(until, at)| at > until);
        let all = if later { &mut self.sent.next } else { &mut self.sent.here };
        let op = Op::ALL.iter().position(|op| *op == event.op).unwrap_or_default();
        let stages = all.stages(event.device.index(), op);
        for (stage, counts) in STAGES.iter().zip(stages) {
            if let Some(latency) = event.latency(*stage) {
                counts.add(latency.ns().max(0) as u64, &self.edges);
            }
        }
    }

    /// When the current interval began.
    pub(crate) fn since(&self) -> Time {
        self.since
    }

    /// Ends the current interval at `now` and emits its counts: those of events, and those of the
    /// kernel if `unread` shows any. Begins the next one unless the watch is over. The kernel's
    /// counts are returned separately.
    ///
    /// # Errors
    /// If a table cannot be read.
    pub(crate) fn emit(
        &mut self,
        programs: &mut Programs,
        watched: &WatchList,
        sink: &mut dyn Sink,
        StretchEnd { now, over, unread }: StretchEnd,
    ) -> Result<Vec<Distribution>, Error> {
        let (epoch, start) = (self.epoch, self.since);
        self.since = now;
        let mut all = self.sent.here.take(&self.edges);
        std::mem::swap(&mut self.sent.here, &mut self.sent.next);
        let mut in_kernel = ByStage::new();
        if unread {
            if !over {
                self.epoch += 1;
                programs.set_epoch(self.epoch)?;
                wait_for_running_probes();
            }
            in_kernel = self.read(programs, watched, sink, epoch)?;
        }
        let length = self.since - start;
        for (key, stages) in &in_kernel {
            let known = all.entry(*key).or_default();
            for (known, new) in known.iter_mut().zip(stages) {
                match (known, new) {
                    (Some(known), Some(new)) => drop(known.merge(new)),
                    (known @ None, Some(new)) => *known = Some(new.clone()),
                    (_, None) => {}
                }
            }
        }
        of_stretch(all, start, length).into_iter().for_each(|one| sink.distribution(one));
        Ok(of_stretch(in_kernel, start, length))
    }

    /// What the kernel counted in an epoch.
    fn read(
        &mut self,
        programs: &Programs,
        watched: &WatchList,
        sink: &mut dyn Sink,
        epoch: u64,
    ) -> Result<ByStage, Error> {
        let mut all = ByStage::new();
        for (row, device) in watched.devices.iter().take(self.rows as usize).enumerate() {
            for op in 0..Op::ALL.len() {
                for stage in 0..self.stages as usize {
                    let bank = (epoch & 1) as u32 * self.rows + row as u32;
                    let key = (bank * OPS + op as u32) * self.stages + stage as u32;
                    let Some(new) = self.new_in(programs, key, epoch)? else { continue };
                    let device = sink.device(&device.name).index() as u32;
                    if let Some(place) = all.entry((device, op)).or_default().get_mut(stage) {
                        *place = Some(new);
                    }
                }
            }
        }
        Ok(all)
    }

    /// New counts at `key`; `None` if there are none.
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

/// Histograms as distributions of one interval.
fn of_stretch(all: ByStage, start: Time, length: Nanos) -> Vec<Distribution> {
    let mut found = Vec::new();
    for ((device, op), stages) in all {
        for (stage, histogram) in STAGES.into_iter().zip(stages) {
            let Some(histogram) = histogram else { continue };
            let device = DeviceId::at(device);
            let mut one = Distribution::new(device, Layer::Block, stage, histogram);
            one.op = Op::ALL.get(op).copied();
            (one.start, one.length) = (Some(start), Some(length));
            found.push(one);
        }
    }
    found
}

/// Waits until every probe that may still count into the old bank has finished: programs run with
/// preemption disabled, so an RCU grace period is enough (kernel/sched/membarrier.c).
pub(crate) fn wait_for_running_probes() {
    if membarrier(MembarrierCommand::Global).is_err() {
        std::thread::sleep(GRACE);
    }
}

/// The counts over all CPUs less those read `before`, which is updated.
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
