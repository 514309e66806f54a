//! The repository's own rules: [`tidy`] holds the laws of docs/ARCHITECTURE.md as tests over the source
//! text. Uses no other crate of this tree, so it is built in a moment.

pub mod tidy;
