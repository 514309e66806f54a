//! NVMe controllers that the kernel gave up on.

use crate::facts::kernel_log::LogLine;

/// Whether a controller did not come back from a reset though it was on its bus: then the drive,
/// its power states and its slot are not distinguished.
pub(crate) fn is_given_up(reading: &[&LogLine]) -> bool {
    let left = reading.iter().any(|line| line.message.left_its_bus());
    !left && reading.iter().any(|line| line.message.gives_a_controller_up())
}
