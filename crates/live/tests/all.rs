//! The tests of this crate in one program, linked once; `./test` runs each module as a program of
//! its own.

#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::unwrap_used)]

mod biolatency;
mod bios;
mod edges;
mod exactness;
mod folders;
mod kernel_times;
mod lifecycle;
mod origins;
mod rig;
mod surroundings;
mod thinning;
