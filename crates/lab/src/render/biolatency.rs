//! `biolatency -D` of libbpf-tools, and the per-device table of the outlier script.

use std::fmt::Write;

use crate::scenarios::{DiskRun, Scenario};

/// Width of a bar, as the tool draws it.
const BAR: u64 = 40;
/// The outlier script warns above this by default, us.
const OUTLIER_US: u64 = 500_000;

/// A histogram per disk over the whole time: issue to completion, in powers of two of a us.
pub(super) fn histograms(scenario: &Scenario) -> String {
    let mut out = "Tracing block device I/O... Hit Ctrl-C to end.\n".to_string();
    for disk in scenario.disks.iter().filter(|disk| !disk.done.is_empty()) {
        let mut slots = [0u64; 27];
        for us in latencies(disk) {
            let slot = (u64::BITS - 1).saturating_sub(us.max(1).leading_zeros()) as usize;
            slots[slot.min(26)] += 1;
        }
        let _ = writeln!(
            out,
            "\n\ndisk = {}\t\n     usecs               : count    distribution",
            disk.setup.name
        );
        let most = slots.iter().copied().max().unwrap_or(0).max(1);
        let last = slots.iter().rposition(|count| *count > 0).unwrap_or(0);
        for (slot, count) in slots.iter().enumerate().take(last + 1) {
            let low = if slot == 0 { 0 } else { 1u64 << slot };
            let high = (2u64 << slot) - 1;
            let bar = "*".repeat((count * BAR / most) as usize);
            let _ = writeln!(out, "{low:>10} -> {high:<10} : {count:<8} |{bar:<40}|");
        }
    }
    out
}

/// Count, minimum, mean and maximum per disk, and a warning for each outlier.
pub(super) fn table(scenario: &Scenario) -> String {
    let seconds = scenario.span.div_ceil(1_000_000_000).max(1);
    let mut out = format!(
        "Measuring block I/O latency and statistics\n\
         A warning will be printed for I/Os with latency higher than {OUTLIER_US} microseconds\n\
         Statistics will be printed every {seconds} seconds. Press CTRL-C to stop\n\n...\n"
    );
    for disk in &scenario.disks {
        let slow = disk.done.iter().zip(latencies(disk)).filter(|(_, us)| *us > OUTLIER_US);
        for (done, us) in slow {
            let (name, sector) = (&disk.setup.name, done.offset / 512);
            let _ = writeln!(
                out,
                "latency warning, >{OUTLIER_US} microsec: device={name}, sector={sector}, \
                 latency={us}"
            );
        }
    }
    let _ = writeln!(
        out,
        "....\n\nI/O latency basic statistics per device, measurement time: {seconds} seconds\n\
         Latency measured in microseconds\n\
         Disk name          Num I/Os    Min latency    Avg latency    Max latency\n....",
    );
    for disk in scenario.disks.iter().filter(|disk| !disk.done.is_empty()) {
        let all: Vec<u64> = latencies(disk).collect();
        let count = all.len() as u64;
        let (min, max) = (all.iter().min().unwrap_or(&0), all.iter().max().unwrap_or(&0));
        let mean = all.iter().sum::<u64>() / count;
        let name = &disk.setup.name;
        let _ = writeln!(out, "{name:<15} {count:>11} {min:>14} {mean:>14} {max:>14}");
    }
    out.push_str("....\n");
    out
}

fn latencies(disk: &DiskRun) -> impl Iterator<Item = u64> + '_ {
    disk.done.iter().map(|done| (done.completed - done.issued) / 1000)
}
