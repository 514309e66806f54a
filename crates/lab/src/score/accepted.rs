//! Other right answers if the input cannot support the expected verdict.
//!
//! From the reach of each verdict in the taxonomy: averages hide retries, a histogram has neither
//! queue nor size. An answer that admits this, or names the same problem less precisely, is right.

use iowhy_model::Level;

/// Whether an answer is right besides the verdict itself. Where a stall is the coarser name, so is
/// one freeze of it; and averages show a silence, not how often requests met one.
pub(super) fn accepts(verdict: &str, level: Level, reported: &str) -> bool {
    let known = accepted(verdict, level);
    let coarse = known.contains(&"device.stall") || verdict == "device.stall" && level == Level::A;
    known.contains(&reported) || reported == "device.hang" && coarse
}

pub(super) fn accepted(verdict: &str, level: Level) -> &'static [&'static str] {
    match (verdict, level) {
        // Below the reach of the verdict: a mean of milliseconds hides some revolutions more, and a
        // stall of one request among a thousand. A freeze within an interval is hidden in its mean.
        ("device.hang", Level::A) => &["healthy", "insufficient"],
        ("device.hang", Level::B) => &["healthy", "insufficient", "device.slow"],
        ("device.retry" | "device.stall", Level::A) => &["device.slow", "healthy", "insufficient"],
        ("device.retry", Level::B) => &["device.slow", "device.stall", "insufficient"],
        ("device.stall", Level::B) => &["device.slow", "insufficient"],
        // A histogram alone does not distinguish a queue in the disk from a slow disk, and has no
        // sizes.
        (
            "device.slow" | "load.saturated" | "load.burst" | "load.large-io" | "cap.volume",
            Level::B,
        ) => &["insufficient"],
        ("load.burst", Level::A) => &["load.saturated", "insufficient"],
        // Averages do not show whether one request follows the other on the disk.
        ("load.small-sync", Level::A | Level::B) => &["healthy", "insufficient"],
        // A small write anywhere costs one revolution too.
        ("load.missed-revolution", Level::A) => &["healthy", "load.small-sync", "insufficient"],
        ("load.missed-revolution", Level::B) => &["insufficient"],
        _ => later(verdict, level),
    }
}

/// The same for verdicts that are suspected from poor input and confirmed by rich: the letters of
/// the taxonomy stand beside each.
fn later(verdict: &str, level: Level) -> &'static [&'static str] {
    let averages = level <= Level::B;
    match verdict {
        // C!: a mean or a wide bucket shows no step, and no pause before a request.
        "device.periodic-delay" | "device.idle-wake" if averages => {
            &["device.slow", "device.stall", "healthy", "insufficient"]
        }
        // B?E!: the limits are in the system's settings. One disk that does nothing else
        // meanwhile has stalled.
        "device.recovery" if level == Level::A => {
            &["device.stall", "device.slow", "healthy", "insufficient"]
        }
        "device.recovery" if level < Level::E => &["device.stall", "insufficient"],
        // C?E!: neither iostat nor biosnoop prints an error.
        "device.media" if averages => &["device.stall", "device.slow", "healthy", "insufficient"],
        "device.media" if level < Level::E => {
            &["device.stall", "device.recovery", "device.slow", "insufficient"]
        }
        // A?E!: a link that went down is a disk that stalled while its neighbours did not.
        "device.path" if level < Level::E => {
            &["device.stall", "device.recovery", "peer.outlier", "peer.shared", "insufficient"]
        }
        // A?E!: without a temperature it is slow, and a full cache is as likely.
        "device.thermal" if averages => {
            &["device.slow", "device.write-cliff", "healthy", "insufficient"]
        }
        "device.thermal" if level < Level::E => &["device.slow", "insufficient"],
        // A?C!
        "device.write-cliff" if averages => {
            &["device.slow", "device.stall", "load.saturated", "insufficient"]
        }
        // A?E!: cleaning looks like a stall.
        "device.smr" if level < Level::E => &["device.slow", "device.stall", "insufficient"],
        // A?E!: what they share is reported by the topology.
        "peer.shared" if level < Level::E => &["insufficient"],
        // D!: only recent iostat counts flushes, biosnoop of bcc leaves them out.
        "load.flush" if averages => &["load.small-sync", "healthy", "insufficient"],
        "load.flush" if level == Level::C => &["load.small-sync", "healthy", "insufficient"],
        // A?D!
        "load.discard" if level < Level::D => &["healthy", "insufficient"],
        // A?C!
        "load.rw-mix" if averages => &["load.saturated", "healthy", "insufficient"],
        // A!: a histogram has no plateau.
        "cap.burst" if level == Level::B => &["cap.volume", "insufficient"],
        // D!: the block layer itself is not the cause. And io.max contains a request before the
        // first of the trace's points: until the limit is read, only a wait above the device is
        // known.
        "cap.cgroup" | "layer.above" if level < Level::D => &["healthy", "insufficient"],
        "cap.cgroup" if level == Level::D => &["layer.above"],
        // D!: who does not see the queue sees nothing; who does sees a queue.
        "cfg.scheduler" if level < Level::D => {
            &["load.saturated", "load.burst", "healthy", "insufficient"]
        }
        // C?E!: the size of the disk's physical blocks is in the settings.
        "cfg.misaligned" if averages => &["load.small-sync", "healthy", "insufficient"],
        "cfg.misaligned" if level < Level::E => &["insufficient"],
        // A?E!: a volume that answers as volumes do.
        "layer.remote" if level < Level::E => &["healthy", "insufficient"],
        _ => &[],
    }
}
