//! A recording as bytes, and back: blocks of columns, each readable without the others.
//!
//! A capture is a chain of blocks. Each begins with a header of [`Header::BYTES`] bytes with its
//! own checksum, and contains everything needed to read it: devices, names and sources. So a
//! capture may be cut, joined with `cat`, or damaged in one place, and all other blocks stay
//! readable. The header counts the events before its block, so the size of a gap is known.
//!
//! [`Writer`] is a sink; a reader takes a [`Header`], then a [`Block`].
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

/// The checksum of a block's content, as in its header.
pub fn checksum(content: &[u8]) -> u32 {
    crc32fast::hash(content)
}

/// Events in a block at most. Three blocks a second at 100,000 events per second, and the columns
/// of one (8 bytes each) stay in a core's own cache.
pub const BLOCK_EVENTS: usize = 1 << 15;
/// Maximum bytes of a block's content; a header with more is damaged.
pub const BLOCK_BYTES: usize = 1 << 24;
