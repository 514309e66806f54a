//! The list of formats. To add one: its file, its `mod` line, its place in [`FORMATS`].

mod diskstats;
mod mounts;
mod pylatencymap;
mod vxtrace;
mod write_test;

use crate::Format;

/// All formats, sorted by name.
pub const FORMATS: &[Format] = &[
    diskstats::FORMAT,
    mounts::FORMAT,
    pylatencymap::FORMAT,
    vxtrace::FORMAT,
    write_test::FORMAT,
];

/// The format of a given name.
pub fn find(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}
