//! The tests of this crate in one program, linked once; `./test` runs each module as a program of
//! its own.

#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::unwrap_used)]

mod disk;
mod forecast;
mod metamorphic;
mod parquet;
mod published;
mod rich_and_poor;
mod rows;
mod scenarios;
mod score;
mod tables;
