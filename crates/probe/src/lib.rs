//! iowhy's own measured I/O: the measurement that decides when watching is not enough.
//!
//! A target is examined ([`examine`]), opened by its [`Permit`], and measured by one of
//! [`KINDS`]. Every I/O becomes an event of a [`Session`]'s recording, so that the judge and all
//! views can use it.
//!
//! **Must never know:** live, read, diagnose, show; and it never writes where it was not told to.

mod consent;
mod engine;
mod enqueue;
mod error;
mod held;
mod job;
mod kind;
mod kinds;
mod limits;
mod logbook;
mod outcome;
mod own_facts;
mod quiet;
mod revolutions;
mod scaling;
mod session;
mod tally;
mod target;

pub use consent::{Permit, Purpose, Terms, examine, human};
pub use engine::{Clock, Counted, Io, Run, SoFar, Watcher, run};
pub use error::Error;
pub use held::Held;
pub use job::{Arrivals, Durable, Job, Load, Order, Way};
pub use kind::{Ask, Kind, SPAN};
pub use kinds::{KINDS, find};
pub use limits::Limit;
pub use logbook::recover;
pub use outcome::{Cell, Outcome, Table, digits, time};
pub use quiet::quiet;
pub use revolutions::Revolutions;
pub use session::{Own, Session};
pub use tally::Tally;
pub use target::Target;
