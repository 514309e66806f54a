//! The tests of this crate in one program, linked once; `./test` runs each module as a program of
//! its own.

#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::unwrap_used)]

#[path = "../../live/tests/rig/mod.rs"]
mod rig;

mod attack;
mod bad_input;
mod baseline;
mod browser;
mod calls;
mod clock;
mod compat_biotools;
mod compat_pylatencymap;
mod confined;
mod convert;
mod damaged;
mod export;
mod first_screen;
mod folder;
mod growth;
mod hanging_mounts;
mod hostile_names;
mod incidents;
mod lengths;
mod live;
mod mcp;
mod names;
mod options;
mod pages;
mod probe;
mod probe_ask;
mod probe_failures;
mod probe_refusals;
mod probe_replay;
mod probe_rig;
mod questions;
mod readme;
mod record;
mod report;
mod schemas;
mod screen;
mod store_faults;
mod stories;
mod sweeps;
mod top;
mod tour;
mod views;
mod waits;
mod watch;
