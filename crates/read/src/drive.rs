//! What a drive reports about itself, by any tool, and problems in kernel logs and stacks.

pub(crate) mod health;
pub(crate) mod log_events;
pub(crate) mod osds;
pub(crate) mod smartd_lines;
pub(crate) mod stack_frames;
