//! A shelf of disks with the same load, one of them faulty, which is found by comparing it with its
//! peers.

use std::io;

use super::watchers::{Watchers, print};
use super::{Stage, heading, say};
use crate::faulty_disk::{Drive, FaultyDisk, Spec};

/// Disks on the shelf; four are enough to compare, a dozen looks like a real one.
const DISKS: u64 = 12;
/// Which of them is faulty.
const FAULTY: usize = 4;
/// What each is asked: a few small reads a second, anywhere.
const LOAD: &str = "read:8K,random,think=40ms";
const BYTES: u64 = 64 << 30;

/// Shows it.
///
/// # Errors
/// If a disk cannot be made or `iowhy` cannot be started.
pub(super) fn show(stage: &Stage) -> io::Result<()> {
    std::fs::create_dir_all(stage.file("truth"))?;
    let mut disks = Vec::new();
    for place in 0..DISKS {
        let faults =
            if place == FAULTY as u64 { vec!["retry=0.8".to_string()] } else { Vec::new() };
        disks.push(FaultyDisk::start(&Spec {
            model: "rotational:rpm=7200".to_string(),
            faults,
            bytes: BYTES,
            seed: stage.seed.wrapping_add(place),
            truth: stage.file("truth").join(format!("{place}.csv")),
        })?);
    }
    let paths: Vec<String> = disks.iter().map(FaultyDisk::path).collect();
    let devices: Vec<&str> = paths.iter().map(|path| path.trim_start_matches("/dev/")).collect();
    let (first, last) = (devices.first().unwrap_or(&""), devices.last().unwrap_or(&""));
    say(&format!(
        "A shelf of {DISKS} disks, {first} to {last}: 7200 rpm each, real block devices of this"
    ))?;
    say("kernel, served from memory. Each gets a few small reads a second, anywhere. One is \
         faulty.")?;
    stage.announce("iostat and iowhy")?;

    let drive = Drive::parse(LOAD).map_err(io::Error::other)?;
    let mut driven = Vec::new();
    for (place, path) in paths.iter().enumerate() {
        driven.push(drive.start(path, BYTES, stage.seed.wrapping_add(place as u64), "db")?);
    }
    let Some(one) = disks.first() else { return Ok(()) };
    let watched = Watchers::start(stage, one, &devices)
        .and_then(|watchers| watchers.wait(stage, one, &devices));
    for load in driven {
        load.stop()?;
    }
    watched?;
    let mut truths = Vec::new();
    for disk in disks {
        truths.push(disk.end()?);
    }

    heading("iostat: averages")?;
    print(stage, "iostat", "sysstat")?;
    say("One looks slower. Is it the load or the disk? And is the difference more than chance?")?;
    heading("iowhy why: the verdict")?;
    stage.iowhy(&["why"])?;
    heading("The truth, from the disks themselves")?;
    for (device, truth) in devices.iter().zip(&truths) {
        let n = truth.entries.len().max(1) as f64;
        let mean = truth.entries.iter().map(|entry| entry.latency()).sum::<u64>() as f64 / n / 1e6;
        let faulty =
            if Some(device) == devices.get(FAULTY) { "  <- retries 80 % of its reads" } else { "" };
        say(&format!("{device}  {mean:>5.1} ms mean of {n} reads{faulty}"))?;
    }
    if let (Some(faulty), Some(healthy)) = (devices.get(FAULTY), devices.get(FAULTY + 1)) {
        stage.pictures("map-faulty", &[faulty])?;
        stage.pictures("map-healthy", &[healthy])?;
    }
    stage.farewell()
}
