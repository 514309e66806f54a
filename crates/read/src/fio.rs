//! What fio prints, shared by its formats.

pub(crate) mod bins;
pub(crate) mod latencies;
pub(crate) mod lines;
