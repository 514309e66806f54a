//! What else is a right answer where the input cannot carry the verdict that is owed.
//!
//! From the reach of each verdict in the taxonomy: averages hide retries, a histogram knows neither
//! queue nor size. An answer that admits this, or names the same trouble more coarsely, is right.

use iowhy_model::Level;

/// Right answers besides the verdict itself.
pub(super) fn accepted(verdict: &str, level: Level) -> &'static [&'static str] {
    match (verdict, level) {
        // Below the reach of the verdict: a mean of milliseconds hides some turns more, and a stall
        // of one request among a thousand.
        ("device.retry" | "device.stall", Level::A) => &["device.slow", "healthy", "insufficient"],
        ("device.retry", Level::B) => &["device.slow", "device.stall", "insufficient"],
        ("device.stall", Level::B) => &["device.slow", "insufficient"],
        // A histogram alone does not tell a queue in the disk from a slow disk, nor sizes.
        (
            "device.slow" | "load.saturated" | "load.burst" | "load.large-io" | "cap.volume",
            Level::B,
        ) => &["insufficient"],
        ("load.burst", Level::A) => &["load.saturated", "insufficient"],
        // Averages do not know whether one request follows the other on the disk.
        ("load.small-sync", Level::A | Level::B) => &["healthy", "insufficient"],
        // One turn is what a small write anywhere costs too.
        ("load.missed-turn", Level::A) => &["healthy", "load.small-sync", "insufficient"],
        ("load.missed-turn", Level::B) => &["insufficient"],
        _ => &[],
    }
}
