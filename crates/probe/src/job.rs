//! What one run of the engine does: operation, size, offsets, load, and when it ends.

use std::sync::Arc;
use std::time::Duration;

use iowhy_model::Op;

use crate::plan::Plan;

/// One run.
#[derive(Clone, Debug)]
pub struct Job {
    /// Read or write.
    pub op: Op,
    /// The share of reads among the I/Os of a job that does both, 0 to 1; such a job has a count.
    pub reads: Option<f64>,
    /// Bytes of each I/O.
    pub bytes: u32,
    /// How I/Os follow each other.
    pub load: Load,
    /// Where they go.
    pub order: Order,
    /// First byte of the region they go to.
    pub from: u64,
    /// Length of that region in bytes.
    pub span: u64,
    /// What a write waits for.
    pub durable: Durable,
    /// The run ends after this many I/Os.
    pub count: Option<u64>,
    /// The run ends after this time.
    pub time: Option<Duration>,
    /// The seed of offsets and arrivals.
    pub seed: u64,
    /// The I/O engine.
    pub way: EngineChoice,
    /// The individual I/Os of a replay, with their own operations, sizes, offsets and times.
    pub plan: Option<Arc<Plan>>,
}

/// How I/Os follow each other.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Load {
    /// This many are kept in flight: the next starts when one ends. A slow device slows the
    /// caller, and latencies look better than they are to a caller on a schedule.
    Closed {
        /// How many.
        depth: u32,
    },
    /// This many per second whatever the device does, at most `depth` in flight. Latency counts
    /// from the moment an I/O was due.
    Open {
        /// Starts per second.
        per_s: f64,
        /// When they are due.
        arrivals: Arrivals,
        /// How many may be in flight.
        depth: u32,
    },
    /// Each when its plan says, at most `depth` in flight. Latency counts from that moment.
    Planned {
        /// How many may be in flight.
        depth: u32,
    },
}

impl Load {
    /// How many may be in flight.
    pub fn depth(self) -> u32 {
        match self {
            Load::Closed { depth } | Load::Open { depth, .. } | Load::Planned { depth } => {
                depth.max(1)
            }
        }
    }

    /// Whether I/Os are due at their own time, whatever the device does.
    pub fn has_a_schedule(self) -> bool {
        !matches!(self, Load::Closed { .. })
    }
}

/// When the I/Os of an open loop are due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrivals {
    /// At equal distances.
    Constant,
    /// Independent of each other, as from many users.
    Poisson,
}

/// Where I/Os go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Each after the previous one, wrapping around.
    Sequential,
    /// Anywhere in the region, on multiples of the size.
    Random,
    /// Always the first offset.
    Same,
}

impl Order {
    /// The word used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Order::Sequential => "sequential",
            Order::Random => "random",
            Order::Same => "same",
        }
    }
}

/// What a write waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Durable {
    /// Nothing beyond the call itself.
    Plain,
    /// The file was opened with `O_DSYNC`.
    Dsync,
    /// `fdatasync` follows each write and counts as part of it.
    Fdatasync,
    /// Each write carries `RWF_DSYNC`.
    RwfDsync,
}

impl Durable {
    /// The word used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Durable::Plain => "plain",
            Durable::Dsync => "dsync",
            Durable::Fdatasync => "fdatasync",
            Durable::RwfDsync => "rwf-dsync",
        }
    }

    /// The way of a given name.
    pub fn from_name(name: &str) -> Option<Durable> {
        [Self::Plain, Self::Dsync, Self::Fdatasync, Self::RwfDsync]
            .into_iter()
            .find(|durable| durable.name() == name)
    }
}

/// The I/O engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EngineChoice {
    /// io_uring where it works, else system calls.
    Best,
    /// io_uring or nothing.
    Ring,
    /// pread and pwrite, one thread per I/O in flight.
    Calls,
}

impl Job {
    /// Random reads of one size at a depth, over a region.
    pub fn reads(bytes: u32, depth: u32, span: u64) -> Job {
        Job {
            op: Op::Read,
            reads: None,
            bytes,
            load: Load::Closed { depth },
            order: Order::Random,
            from: 0,
            span,
            durable: Durable::Plain,
            count: None,
            time: None,
            seed: 1,
            way: EngineChoice::Best,
            plan: None,
        }
    }

    /// The I/Os of a plan, over a region.
    pub fn planned(plan: Arc<Plan>, (from, span): (u64, u64)) -> Job {
        let op = if plan.writes() { Op::Write } else { Op::Read };
        Job {
            op,
            load: Load::Planned { depth: plan.depth },
            from,
            count: Some(plan.ios.len() as u64),
            plan: Some(plan.clone()),
            ..Job::reads(plan.largest, plan.depth, span)
        }
    }

    /// Whether it may write.
    pub fn may_write(&self) -> bool {
        self.op == Op::Write || self.reads.is_some()
    }

    /// How many writes it makes at most.
    pub fn writes(&self) -> u64 {
        let count = self.count.unwrap_or(u64::MAX);
        match (self.op, self.reads) {
            (Op::Write, None) => count,
            (_, None) => 0,
            (_, Some(share)) => ((1.0 - share) * count as f64).round() as u64,
        }
    }
}
