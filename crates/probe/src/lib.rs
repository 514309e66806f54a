//! iowhy's own measured I/O: the measurement that decides when watching is not enough.
//!
//! A target is examined ([`examine`]), opened by its [`Permit`], and measured by one of
//! [`KINDS`]. Every I/O becomes an event of a [`Session`]'s recording, so that the judge and all
//! views can use it.
//!
//! **Must never know:** live, read, diagnose, show; and it never writes without a request to do so.

mod consent;
mod engine;
mod enqueue;
mod error;
mod idle;
mod job;
mod kind;
mod kinds;
mod latencies;
mod limits;
mod logbook;
mod outcome;
mod own_facts;
mod plan;
mod rate_limit;
mod revolutions;
mod scaling;
mod session;
mod target;

pub use consent::{Permit, Purpose, Terms, examine, human};
pub use engine::{Clock, Io, Run, SoFar, Watcher, run};
pub use error::Error;
pub use idle::quiet;
pub use job::{Arrivals, Durable, EngineChoice, Job, Load, Order};
pub use kind::{Ask, Kind, SPAN};
pub use kinds::{KINDS, REPLAY, find};
pub use latencies::Latencies;
pub use limits::Limit;
pub use logbook::recover;
pub use outcome::{Cell, Outcome, Table, digits, time};
pub use own_facts::Own;
pub use plan::{Captured, Plan, Planned, Replay};
pub use rate_limit::LimitedRun;
pub use revolutions::Revolutions;
pub use session::Session;
pub use target::{KernelCounts, Target};
