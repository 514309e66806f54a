//! The laboratory: disks with a known disease, and the tests that keep the tree tidy. Never
//! shipped; no crate that is may depend on it.
//!
//! - [`tidy`] holds the laws of docs/ARCHITECTURE.md as tests over the source text.

pub mod tidy;
