//! The list of detectors. To add one: its file, its `mod` line, its place in [`DETECTORS`].

mod cap_burst;
mod cap_cgroup;
mod cap_volume;
mod cfg_misaligned;
mod cfg_scheduler;
mod device_hang;
mod device_idle_wake;
mod device_media;
mod device_path;
mod device_periodic_delay;
mod device_recovery;
mod device_retry;
mod device_slow;
mod device_smr;
mod device_stall;
mod device_thermal;
mod device_write_cliff;
mod healthy;
mod insufficient;
mod layer_above;
mod layer_below;
mod layer_cpu;
mod layer_memory;
mod layer_remote;
mod load_burst;
mod load_discard;
mod load_flush;
mod load_large_io;
mod load_missed_revolution;
mod load_rebuild;
mod load_rw_mix;
mod load_saturated;
mod load_small_sync;
mod load_writeback;
mod peer_outlier;
mod peer_shared;
mod report_inconsistent;
mod report_util_trap;

use iowhy_model::Verdict;

use crate::detector::Detector;

/// All detectors, sorted by name.
pub const DETECTORS: &[Detector] = &[
    cap_burst::DETECTOR,
    cap_cgroup::DETECTOR,
    cap_volume::DETECTOR,
    cfg_misaligned::DETECTOR,
    cfg_scheduler::DETECTOR,
    device_hang::DETECTOR,
    device_idle_wake::DETECTOR,
    device_media::DETECTOR,
    device_path::DETECTOR,
    device_periodic_delay::DETECTOR,
    device_recovery::DETECTOR,
    device_retry::DETECTOR,
    device_slow::DETECTOR,
    device_smr::DETECTOR,
    device_stall::DETECTOR,
    device_thermal::DETECTOR,
    device_write_cliff::DETECTOR,
    healthy::DETECTOR,
    insufficient::DETECTOR,
    layer_above::DETECTOR,
    layer_below::DETECTOR,
    layer_cpu::DETECTOR,
    layer_memory::DETECTOR,
    layer_remote::DETECTOR,
    load_burst::DETECTOR,
    load_discard::DETECTOR,
    load_flush::DETECTOR,
    load_large_io::DETECTOR,
    load_missed_revolution::DETECTOR,
    load_rebuild::DETECTOR,
    load_rw_mix::DETECTOR,
    load_saturated::DETECTOR,
    load_small_sync::DETECTOR,
    load_writeback::DETECTOR,
    peer_outlier::DETECTOR,
    peer_shared::DETECTOR,
    report_inconsistent::DETECTOR,
    report_util_trap::DETECTOR,
];

/// The detector of a verdict.
pub fn find(verdict: Verdict) -> Option<&'static Detector> {
    DETECTORS.iter().find(|detector| detector.verdict == verdict)
}
