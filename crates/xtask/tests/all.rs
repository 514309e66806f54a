//! The tests of this crate in one program, linked once; `./test` runs each module as a program of
//! its own.

mod new;
mod setup;
mod supply;
mod tidy;
