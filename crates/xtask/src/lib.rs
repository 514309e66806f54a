//! Development tasks of this repository. Uses no other crate of this tree, so it builds quickly.
//!
//! - [`new`] creates a member of a list: `xtask new format NAME`.
//! - [`results`] rewrites the tables of docs/results: `xtask results PAGE...`.
//! - [`shipped`] lists what the released binary is made of: `xtask licences TARGET`, `xtask sbom
//!   TARGET`.
//! - [`suite`] runs all tests: `xtask test`, which `./test` calls.
//! - [`tidy`] contains the rules of docs/ARCHITECTURE.md as tests of the source text.

#![forbid(unsafe_code)]

pub mod new;
pub mod results;
pub mod shipped;
pub mod suite;
pub mod tidy;

/// The folder of the workspace.
pub fn root() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
