//! What a drive says of itself, by whatever tool.

pub(crate) mod complaints;
pub(crate) mod health;
pub(crate) mod smartd_lines;
