//! The tests of this crate in one program, linked once; `./test` runs each module as a program of
//! its own.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used
)]

mod baselines;
mod beside;
mod claims;
mod emitted;
mod faults;
mod fleet_a;
mod kernel_lines;
mod limits_layers;
mod lists;
mod loads;
mod made;
mod margins;
mod metamorphic;
mod no_culprit;
mod published;
mod seeds;
mod slowdowns;
mod stated;
mod trials;
mod unused_facts;
mod verdicts;
mod vetoes;
