//! What the I/Os of a run gave, gathered as they complete.

use crate::tally::Tally;

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

/// Single I/Os kept per run (40 bytes each); beyond, they are only counted.
const KEPT: usize = 2_000_000;

/// Tallies and the I/Os themselves.
#[derive(Default)]
pub struct Gather {
    /// Latencies from the moment each I/O was due.
    pub latency: Tally,
    /// Latencies from submission.
    pub service: Tally,
    /// How late the engine itself was with submitting.
    pub late: Tally,
    /// The I/Os, in order of completion as far as one thread saw them.
    pub ios: Vec<Io>,
    /// I/Os counted but not kept.
    pub not_kept: u64,
    /// The first that failed.
    pub failed: Option<Io>,
}

impl Gather {
    /// Takes one I/O; `late_ns` is the engine's own delay, where a schedule says when it was due.
    pub fn take(&mut self, io: Io, late_ns: Option<u64>) {
        if io.error != 0 {
            self.failed.get_or_insert(io);
        } else {
            self.latency.record(io.latency_ns());
            self.service.record(io.service_ns());
            if let Some(late_ns) = late_ns {
                self.late.record(late_ns);
            }
        }
        if self.ios.len() < KEPT {
            self.ios.push(io);
        } else {
            self.not_kept += 1;
        }
    }

    /// Adds what another thread gathered.
    pub fn add(&mut self, other: Gather) {
        self.latency.add(&other.latency);
        self.service.add(&other.service);
        self.late.add(&other.late);
        self.ios.extend(other.ios);
        self.not_kept += other.not_kept;
        self.failed = self.failed.or(other.failed);
    }
}
