//! The tests of this crate in one program, linked once; `./test` runs each module as a program of
//! its own.

#![allow(
    clippy::disallowed_methods, clippy::expect_used, clippy::panic, clippy::print_stdout,
    clippy::unwrap_used
)]

mod biosnoop;
mod blktrace;
mod damaged;
mod iostat_parity;
mod iowhy_capture;
mod make_blktrace;
mod prose;
mod sources_averages;
mod sources_events;
mod sources_latency;
mod unfiltered;
mod wrapped;
