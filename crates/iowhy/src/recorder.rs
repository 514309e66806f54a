//! The flight recorder: what `iowhy watch` is made of.
//!
//! One thread looks (`watch`), and does nothing that may wait for a disk: it takes what the collectors
//! pour ([`intake`]), keeps the last I/Os in a ring of packed blocks ([`ring`]) and decides what is an
//! incident ([`triggers`]), how long it goes on ([`extent`]) and what is too much to be kept one by one ([`busy`]). One thread writes ([`writer`]), one judges
//! ([`verdicts`]), one tells of it ([`announce`]), a few answer scrapes ([`metrics`]) or push ([`otlp`]). Between them are bounded queues; what finds
//! one full is given up and counted.

pub mod announce;
pub mod busy;
pub mod cells;
pub mod clock;
pub mod daemon;
pub mod extent;
pub mod incident;
pub mod intake;
pub mod marks;
pub mod metrics;
pub mod otlp;
pub mod ring;
pub mod triggers;
pub mod trust;
pub mod verdicts;
pub mod writer;
