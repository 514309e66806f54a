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

pub(crate) mod announce;
pub(crate) mod busy;
pub(crate) mod cells;
pub(crate) mod clock;
pub(crate) mod daemon;
pub(crate) mod exposed;
pub(crate) mod extent;
pub(crate) mod incident;
pub(crate) mod incidents;
pub(crate) mod intake;
pub(crate) mod keeping;
pub(crate) mod looks;
pub(crate) mod marks;
pub(crate) mod metrics;
pub(crate) mod otlp;
pub(crate) mod ring;
pub(crate) mod settings;
pub(crate) mod triggers;
pub(crate) mod trust;
pub(crate) mod verdicts;
pub(crate) mod watched;
pub(crate) mod writer;
