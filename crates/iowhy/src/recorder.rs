//! The flight recorder, `iowhy watch`.
//!
//! One thread runs once a second ([`daemon`]) and does nothing that may wait for a disk:
//!
//! - [`watched`] collects: records of the collectors ([`intake`]), the last I/Os in a ring of
//!   packed blocks ([`ring`]), sampling of busy devices ([`busy`]), the kernel's log, marks;
//! - [`keeping`] keeps: seconds as blocks of a store ([`cells`]), and the state of a failing store;
//! - [`incidents`] judges: triggers of incidents ([`triggers`]), their duration ([`extent`]), and
//!   verdicts between incidents ([`looks`]);
//! - [`exposed`] exposes: metrics that are served ([`metrics`]) and pushed ([`otlp`]), and the
//!   recorder's own cost.
//!
//! One thread writes ([`writer`]), one judges ([`verdicts`]), one notifies ([`announce`]), a few
//! answer scrapes or push. Between them are bounded queues; items that find one full are dropped
//! and counted.

pub mod announce;
pub mod busy;
pub mod cells;
pub mod clock;
pub mod daemon;
pub mod exposed;
pub mod extent;
pub mod incident;
pub mod incidents;
pub mod intake;
pub mod keeping;
pub mod looks;
pub mod marks;
pub mod metrics;
pub mod otlp;
pub mod ring;
pub mod settings;
pub mod triggers;
pub mod trust;
pub mod verdicts;
pub mod watched;
pub mod writer;
