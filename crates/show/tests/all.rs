//! The tests of this crate in one program, linked once; `./test` runs each module as a program of
//! its own.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used
)]

mod accepted;
mod golden;
mod hostile;
mod json;
mod pylatencymap;
mod reports;
mod top;
