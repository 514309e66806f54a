//! Kinds of probes, and the user's options.

use std::time::Duration;

use iowhy_model::Op;

use crate::consent::Purpose;
use crate::error::Error;
use crate::job::{Arrivals, Durable, EngineChoice, Order};
use crate::outcome::Outcome;
use crate::plan::Replay;
use crate::session::Session;

/// A kind of the list in `kinds.rs`.
#[derive(Clone, Copy)]
pub struct Kind {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it measures, in a line.
    pub summary: &'static str,
    /// The source text of its file, whose header is its manual.
    pub manual: &'static str,
    /// Whether it loads the device to its maximum, which slows down other I/O.
    pub loads: bool,
    /// What it will do to the target.
    pub purpose: fn(&Ask) -> Purpose,
    /// Measures.
    pub run: fn(&Ask, &mut Session<'_>) -> Result<Outcome, Error>,
}

/// The user's options for a kind; `None` means the kind's default.
#[derive(Clone, Debug)]
pub struct Ask {
    /// Sizes of the I/Os, bytes; empty for the default.
    pub sizes: Vec<u32>,
    /// All sizes from the logical block up to this, doubling, instead.
    pub up_to: Option<u32>,
    /// How many I/Os per step.
    pub count: Option<u64>,
    /// How long, per step or in all: see the kind.
    pub time: Option<Duration>,
    /// Where they go.
    pub order: Option<Order>,
    /// What a write waits for.
    pub durable: Option<Durable>,
    /// Read or write, where a kind can do both.
    pub op: Op,
    /// The share of reads, where a kind does both.
    pub reads: Option<f64>,
    /// Queue depth, or the maximum queue depth.
    pub depth: Option<u32>,
    /// Starts per second of an open loop.
    pub per_s: Option<f64>,
    /// When they are due.
    pub arrivals: Arrivals,
    /// The latency to keep.
    pub goal: Option<Duration>,
    /// The quantile that has to keep it, 0 to 1.
    pub quantile: f64,
    /// Size of the test file, or of the tested region of a device.
    pub span: Option<u64>,
    /// Seed for random offsets and arrivals.
    pub seed: u64,
    /// The I/O engine.
    pub way: EngineChoice,
    /// The plan, for a kind that replays.
    pub replay: Option<Replay>,
}

impl Default for Ask {
    fn default() -> Self {
        Ask {
            sizes: Vec::new(),
            up_to: None,
            count: None,
            time: None,
            order: None,
            durable: None,
            op: Op::Read,
            reads: None,
            depth: None,
            per_s: None,
            arrivals: Arrivals::Poisson,
            goal: None,
            quantile: 0.99,
            span: None,
            seed: 1,
            way: EngineChoice::Best,
            replay: None,
        }
    }
}

/// Size of a test file if none was asked for: larger than the write cache of a disk of today
/// (256 MiB would be safe against all, but filling it takes a slow disk seconds).
pub const SPAN: u64 = 64 << 20;

impl Ask {
    /// The first size, or the default.
    pub fn size(&self, default: u32) -> u32 {
        self.sizes.first().copied().unwrap_or(default)
    }

    /// All sizes asked for on a target of this logical block, or the default ones.
    pub fn sizes(&self, block: u32, default: &[u32]) -> Vec<u32> {
        match self.up_to {
            Some(most) => std::iter::successors(Some(block.max(1)), |size| size.checked_mul(2))
                .take_while(|size| *size <= most)
                .collect(),
            None if self.sizes.is_empty() => default.to_vec(),
            None => self.sizes.clone(),
        }
    }

    /// Bytes that one I/O of each size moves at most, before the target's block is known.
    pub fn bytes_of_each(&self, default: &[u32]) -> u64 {
        // The smallest block there is.
        self.sizes(512, default).into_iter().map(u64::from).sum()
    }

    /// The purpose of a kind that writes this many bytes.
    pub fn writes(&self, bytes: u64, dsync: bool) -> Purpose {
        Purpose::Write { span: self.span.unwrap_or(SPAN), bytes, dsync }
    }
}
