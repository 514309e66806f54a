//! The list of detectors. To add one: its file, its `mod` line, its place in [`DETECTORS`].

mod cap_volume;
mod device_retry;
mod device_slow;
mod device_stall;
mod healthy;
mod insufficient;
mod load_burst;
mod load_flush;
mod load_large_io;
mod load_missed_turn;
mod load_saturated;
mod load_small_sync;
mod peer_outlier;
mod report_inconsistent;
mod report_util_trap;

use crate::Detector;

/// All detectors, sorted by name.
pub const DETECTORS: &[Detector] = &[
    cap_volume::DETECTOR,
    device_retry::DETECTOR,
    device_slow::DETECTOR,
    device_stall::DETECTOR,
    healthy::DETECTOR,
    insufficient::DETECTOR,
    load_burst::DETECTOR,
    load_flush::DETECTOR,
    load_large_io::DETECTOR,
    load_missed_turn::DETECTOR,
    load_saturated::DETECTOR,
    load_small_sync::DETECTOR,
    peer_outlier::DETECTOR,
    report_inconsistent::DETECTOR,
    report_util_trap::DETECTOR,
];

/// The detector of a given name.
pub fn find(name: &str) -> Option<&'static Detector> {
    DETECTORS.iter().find(|detector| detector.name == name)
}
