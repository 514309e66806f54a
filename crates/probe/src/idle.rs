//! Whether a device is idle enough to be loaded.

use std::time::Duration;

use iowhy_model::numbers;

use crate::error::Error;
use crate::target::Target;

/// Busy share below which a device counts as idle (peers note, "Safety").
const IDLE: f64 = 0.05;
/// How long it is watched.
const WATCHED: Duration = Duration::from_secs(1);

/// Refuses a device that others are using.
///
/// # Errors
/// If it is busy for 5 % of a second or more.
pub fn quiet(target: &Target) -> Result<(), Error> {
    match target.busy(WATCHED) {
        Some(busy) if busy >= IDLE => Err(Error::refused(
            "load",
            &target.path,
            format!("other I/O keeps {} busy {} of the time", target.name(), numbers::share(busy)),
            "`--share` measures anyway, slows that I/O down and includes its effect",
        )),
        _ => Ok(()),
    }
}
