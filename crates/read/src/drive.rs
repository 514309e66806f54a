//! What a drive reports of itself, by whatever tool, and what logs and stacks of the kernel
//! complain of.

pub(crate) mod health;
pub(crate) mod log_events;
pub(crate) mod raid_lines;
pub(crate) mod smartd_lines;
pub(crate) mod stack_frames;
