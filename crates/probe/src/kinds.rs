//! The list of kinds. To add one: its file, its `mod` line, its place in [`KINDS`].

mod read_latency;
mod write_latency;

use crate::kind::Kind;

/// All kinds, sorted by name.
pub const KINDS: &[Kind] = &[read_latency::KIND, write_latency::KIND];

/// The kind of a given name.
pub fn find(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name)
}
