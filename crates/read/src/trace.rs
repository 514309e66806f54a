//! Request traces: records of several CPUs in the order of time, and the points of one request
//! paired.

pub(crate) mod order;
pub(crate) mod pairing;
pub(crate) mod records;
pub(crate) mod syscalls;
