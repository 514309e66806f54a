//! The list of formats. To add one: its file, its `mod` line, its place in [`FORMATS`].

use crate::Format;

/// All formats, sorted by name.
pub const FORMATS: &[Format] = &[];

/// The format of a given name.
pub fn find(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}
