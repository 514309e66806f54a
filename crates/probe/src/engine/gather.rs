//! Collects the results of I/Os as they complete.

use iowhy_model::Op;

use crate::job::Job;
use crate::latencies::Latencies;

/// One I/O as the engine saw it; times in ns on the session's clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Io {
    /// When it was due (open loop), else when it was submitted.
    pub intended_ns: u64,
    /// When it was handed to the kernel.
    pub issued_ns: u64,
    /// When its completion was seen.
    pub completed_ns: u64,
    /// Its first byte.
    pub offset: u64,
    /// Read or write.
    pub op: Op,
    /// Bytes it moved, or should have.
    pub bytes: u32,
    /// In flight when it was issued, itself included.
    pub depth: u32,
    /// Errno if it failed, 0 if not.
    pub error: u16,
}

impl Io {
    /// From the moment it was due to its completion.
    pub fn latency_ns(&self) -> u64 {
        self.completed_ns.saturating_sub(self.intended_ns)
    }

    /// From submission to completion.
    pub fn service_ns(&self) -> u64 {
        self.completed_ns.saturating_sub(self.issued_ns)
    }
}

/// The results so far: enough to report them if the process is killed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SoFar {
    /// I/Os done.
    pub n: u64,
    /// Sum of their latencies, ns.
    pub sum_ns: u128,
    /// The smallest.
    pub min_ns: Option<u64>,
    /// The largest.
    pub max_ns: Option<u64>,
}

impl SoFar {
    /// A latencies in short.
    pub fn of(latencies: &Latencies) -> SoFar {
        let (min_ns, max_ns) = (latencies.min_ns, latencies.max_ns);
        SoFar { n: latencies.n, sum_ns: latencies.sum_ns, min_ns, max_ns }
    }

    /// Counts one latency.
    pub fn add(&mut self, ns: u64) {
        self.n += 1;
        self.sum_ns += u128::from(ns);
        self.min_ns = Some(self.min_ns.map_or(ns, |min| min.min(ns)));
        self.max_ns = Some(self.max_ns.map_or(ns, |max| max.max(ns)));
    }
}

/// Single I/Os kept per run (40 bytes each); beyond, they are only counted.
const KEPT: usize = 2_000_000;

/// Tallies and the I/Os themselves.
#[derive(Default)]
pub(crate) struct Gather {
    /// Latencies from the moment each I/O was due.
    pub latency: Latencies,
    /// Latencies from submission.
    pub service: Latencies,
    /// How late the engine itself was with submitting.
    pub late: Latencies,
    /// Latencies of reads and of writes, in a job that does both.
    pub of_both: Option<Box<[Latencies; 2]>>,
    /// The I/Os, in order of completion as far as one thread saw them.
    pub ios: Vec<Io>,
    /// I/Os counted but not kept.
    pub not_kept: u64,
    /// The first that failed.
    pub failed: Option<Io>,
    /// How many are kept.
    kept: usize,
}

impl Gather {
    /// Nothing yet of a job.
    pub(crate) fn of(job: &Job) -> Gather {
        let of_both = job.reads.map(|_| Box::default());
        // Those of a plan are known by number, and room for them is made before they are timed.
        let planned = job.plan.as_ref().map_or(0, |plan| plan.ios.len());
        let (kept, ios) = (planned.max(KEPT), Vec::with_capacity(planned));
        Gather { of_both, kept, ios, ..Gather::default() }
    }

    /// Takes one I/O; `late_ns` is the engine's own delay, where a schedule shows when it was due.
    pub(crate) fn take(&mut self, io: Io, late_ns: Option<u64>) {
        if io.error != 0 {
            self.failed.get_or_insert(io);
        } else {
            self.latency.record(io.latency_ns());
            self.service.record(io.service_ns());
            if let Some([reads, writes]) = self.of_both.as_deref_mut() {
                let latencies = if io.op == Op::Write { writes } else { reads };
                latencies.record(io.latency_ns());
            }
            if let Some(late_ns) = late_ns {
                self.late.record(late_ns);
            }
        }
        if self.ios.len() < self.kept {
            self.ios.push(io);
        } else {
            self.not_kept += 1;
        }
    }

    /// Adds what another thread gathered.
    pub(crate) fn add(&mut self, other: Gather) {
        self.latency.add(&other.latency);
        self.service.add(&other.service);
        self.late.add(&other.late);
        if let (Some(mine), Some(more)) = (self.of_both.as_deref_mut(), &other.of_both) {
            mine.iter_mut().zip(more.iter()).for_each(|(mine, more)| mine.add(more));
        }
        self.ios.extend(other.ios);
        self.not_kept += other.not_kept;
        self.failed = self.failed.or(other.failed);
    }
}
