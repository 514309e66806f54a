//! The list of detectors. To add one: its file, its `mod` line, its place in [`DETECTORS`].

mod cap_volume;
mod device_retry;
mod device_slow;
mod device_stall;
mod healthy;
mod insufficient;
mod load_burst;
mod load_large_io;
mod load_missed_turn;
mod load_saturated;
mod load_small_sync;
mod peer_outlier;
mod report_inconsistent;
mod report_util_trap;

use crate::Detector;
use crate::scene::Scene;
use crate::weigh;

/// All detectors, sorted by name.
pub const DETECTORS: &[Detector] = &[
    cap_volume::DETECTOR,
    device_retry::DETECTOR,
    device_slow::DETECTOR,
    device_stall::DETECTOR,
    healthy::DETECTOR,
    insufficient::DETECTOR,
    load_burst::DETECTOR,
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

/// Per input, the disks that did something and against which no accusation stands: what the
/// detectors that speak last have to close.
fn unaccused<'a>(scene: &Scene<'a>) -> Vec<(&'a str, Vec<String>)> {
    let mut inputs: Vec<(&str, Vec<String>)> = Vec::new();
    let tracks = scene.tracks.iter().map(|track| (track.listing, track.disk.clone()));
    // A row without a completion is silence, unless something is in flight: then it is news.
    let active = scene.rows.iter().filter(|row| row.per_s() > 0.0 || row.outstanding().is_some());
    let rows = active.map(|row| (row.listing, row.disk.clone()));
    let shapes = scene.shapes.iter().map(|shape| (shape.listing, shape.disk.clone()));
    let streams = scene.streams.iter().map(|(at, stream)| (*at, scene.disk(stream.device)));
    for (listing, disk) in tracks.chain(rows).chain(shapes).chain(streams) {
        let input = scene.input(listing);
        let accused = scene.so_far.iter().any(|known| {
            weigh::stands(known)
                && known.subject.device.is_none_or(|device| scene.disk(device) == disk)
                && known.subject.listings.iter().any(|place| scene.input(*place) == input)
        });
        let place = match inputs.iter().position(|(known, _)| *known == input) {
            Some(place) => place,
            None => {
                inputs.push((input, Vec::new()));
                inputs.len() - 1
            }
        };
        if !accused && !inputs[place].1.contains(&disk) {
            inputs[place].1.push(disk);
        }
    }
    inputs.retain(|(_, disks)| !disks.is_empty());
    inputs
}
