//! Measures: each states a number about a device, and accuses nobody.
//!
//! Pure functions over plain slices and small structs. Times are in nanoseconds unless a name
//! says `ms`. A measure that the input cannot carry is `None`.
//!
//! **Must never know:** a detector, a recording, a verdict's name.

pub mod cap;
pub mod comb;
pub mod elasticity;
pub mod ladder;
#[cfg(test)]
pub mod listings;
pub mod lost_time;
pub mod missed_turn;
pub mod peers;
pub mod ramp;
pub mod random;
pub mod rungs;
pub mod sequential;
pub mod service;
pub mod spread;
pub mod stall;
pub mod transfer;
#[cfg(test)]
pub mod trials;
