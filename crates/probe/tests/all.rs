//! The tests of this crate in one program, linked once; `./test` runs each module as a program of
//! its own.

#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::unwrap_used)]

mod beside_fio;
mod consent;
mod engine;
mod fallback;
mod replay;
mod rig;
mod session;
