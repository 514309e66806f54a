//! The flight recorder: what `iowhy watch` is made of.
//!
//! One thread goes from second to second ([`daemon`]) and does nothing that may wait for a disk:
//!
//! - [`watched`] collects: what the collectors give ([`intake`]), the last I/Os in a ring of packed
//!   blocks ([`ring`]), what is too much to be kept one by one ([`busy`]), the kernel's log, marks;
//! - [`keeping`] keeps: seconds as blocks of a store ([`cells`]), and what is known of a store that
//!   fails;
//! - [`incidents`] judges: what begins an incident ([`triggers`]), how long it goes on
//!   ([`extent`]), and how things are between incidents ([`looks`]);
//! - [`exposed`] exposes: metrics that are served ([`metrics`]) and pushed ([`otlp`]), and what the
//!   recorder itself took.
//!
//! One thread writes ([`writer`]), one judges ([`verdicts`]), one reports it ([`announce`]), a few
//! answer scrapes or push. Between them are bounded queues; what finds one full is given up and
//! counted.

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
