//! A recording as bytes, and back: blocks of columns, each readable without the others.
//!
//! A capture is a chain of blocks. Each begins with a header of [`Header::BYTES`] bytes that has a
//! checksum of its own, and holds everything needed to read it: its devices, its names, and who
//! spoke. So a capture may be cut, joined with `cat`, or damaged in one place, and all other blocks
//! stay readable. The header counts the events before its block, so that a gap shows what it cost.
//!
//! [`Writer`] is a sink; whoever reads captures takes a [`Header`], then a [`Block`].
//!
//! **Must never know:** any other crate but model; a clock, a file system, the environment.

#![forbid(unsafe_code)]

mod block;
mod bytes;
mod columns;
mod events;
mod header;
mod records;
mod writer;

pub use block::{Block, Section};
pub use header::{End, Header, MAGIC, VERSION};
pub use writer::Writer;

/// The checksum that a header gives of its block's content.
pub fn checksum(content: &[u8]) -> u32 {
    crc32fast::hash(content)
}

/// Events in a block at most. Three blocks a second at 100,000 events per second, and the columns
/// of one (8 bytes each) stay in a core's own cache.
pub const BLOCK_EVENTS: usize = 1 << 15;
/// Bytes of a block's content at most; a header that says more is damage.
pub const BLOCK_BYTES: usize = 1 << 24;
