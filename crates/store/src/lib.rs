//! The flight recorder's store: a folder of native captures, bounded in age and size.
//!
//! ```text
//! STORE/iowhy-store                                    the mark of a store, locked by its recorder
//! STORE/segments/20261122T190000Z.seconds.iowhy        averages and histograms, second by second
//! STORE/segments/20261122T150000Z.minutes.iowhy        the same, sampled once they were older
//! STORE/incidents/20261122T190312Z-sdb.iowhy           every I/O around an incident
//! STORE/incidents/20261122T190312Z-sdb.json            its verdict
//! STORE/baseline                                       usual latencies of each device at each hour
//! STORE/ages                                           recorded time before each file
//! ```
//!
//! A segment is a capture: blocks with two checksums each, readable without the others. So a killed
//! recorder loses the second it was about to write, damage costs one block, and every command that
//! reads captures reads any file of a store by itself.
//!
//! [`Blocks`], [`thin`], [`SegmentPour`], [`Coverage`], [`LearnedHistograms`] and [`SegmentName`]
//! compute; only [`Store`] and [`Segment`] use the file system.
//!
//! **Must never know:** read, live, probe, diagnose, show; what an incident is about.

#![forbid(unsafe_code)]

mod ages;
mod baseline;
mod blocks;
mod coverage;
mod emit;
mod name;
mod segment;
mod store;
mod thin;

pub use baseline::LearnedHistograms;
pub use blocks::{Blocks, Damage};
pub use coverage::{Coverage, Gap, GapCause};
pub use emit::{EmitCounts, SegmentPour, Span};
pub use name::{Grain, SegmentName, stamp, unstamp};
pub use segment::Segment;
pub use store::{Bounds, CALIBRATIONS, Incident, Store, TendReport, open_plain};
pub use thin::{ThinSegment, thin};

/// Nanoseconds of a second.
pub const SECOND_NS: i64 = 1_000_000_000;
