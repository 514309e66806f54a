//! The dusty disk of the first capture: it spins at 7200 rpm, and dust makes it read many sectors
//! twice.

use std::io::{self, IsTerminal};
use std::process::Stdio;

use iowhy_model::Op;

use super::watchers::{Watchers, print};
use super::{Stage, heading, say};
use crate::faulty_disk::{Entry, FaultyDisk, Spec, Truth};
use iowhy_lab::disk::Cause;

/// Large enough that the reader does not come to its end while it is watched.
const BYTES: u64 = 64 << 30;

/// Shows it.
///
/// # Errors
/// If the disk cannot be made or `iowhy` cannot be started.
pub(super) fn show(stage: &Stage) -> io::Result<()> {
    let spec = Spec {
        model: "rotational:rpm=7200".to_string(),
        faults: vec!["retry=0.35".to_string()],
        bytes: BYTES,
        seed: stage.seed,
        truth: stage.file("truth.csv"),
    };
    let disk = FaultyDisk::start(&spec)?;
    let path = disk.path();
    let device = path.trim_start_matches("/dev/");
    say(
        "A disk with dust in it: 7200 rpm, and every third read misses its sector and has to wait \
         for",
    )?;
    say(&format!(
        "the next revolution. It is {path}, a real block device of this kernel, served from memory."
    ))?;
    say("`dd` reads it from end to end, 128 KiB at a time; healthy, each takes 2 ms.")?;
    stage.announce("iostat, biolatency and iowhy")?;

    let mut reader = disk.command("dd");
    reader.args([&format!("if={path}"), "of=/dev/null", "bs=128k", "iflag=direct"]);
    reader.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut reader = reader.spawn()?;
    let watched = Watchers::start(stage, &disk, &[device])
        .and_then(|watchers| watchers.wait(stage, &disk, &[device]));
    reader.kill()?;
    reader.wait()?;
    watched?;
    let truth = disk.end()?;

    let live = io::stdout().is_terminal();
    if !live {
        heading("iowhy map: every read, over time")?;
        stage.iowhy(&["map"])?;
    }
    let above = if live { "Above, while it happened: reads" } else { "Reads" };
    say(&format!("{above} take 2, 10, 19 or 27 ms: one revolution, 8.33 ms, apart."))?;
    heading("iostat: averages")?;
    print(stage, "iostat", "sysstat")?;
    say("A busy, slow disk. Is it overloaded or faulty? Averages do not show which.")?;
    heading("biolatency: a histogram")?;
    print(stage, "biolatency", "libbpf-tools")?;
    say("Some reads take far longer than most. The histogram does not show why.")?;
    heading("iowhy why: the verdict")?;
    stage.iowhy(&["why"])?;
    heading("The truth, from the disk itself")?;
    show_truth(&truth)?;
    stage.pictures("map", &[])?;
    stage.farewell()
}

/// The disk's own record of its reads.
fn show_truth(truth: &Truth) -> io::Result<()> {
    let reads = || truth.entries.iter().filter(|entry| entry.op == Op::Read);
    let n = reads().count().max(1) as f64;
    let mean = reads().map(Entry::latency).sum::<u64>() as f64 / n / 1e6;
    let lost = reads().map(|entry| entry.spent(Cause::Retry)).sum::<u64>() as f64 / n / 1e6;
    let share = 100.0 * lost / mean;
    say(&format!(
        "It spins at 7200 rpm. {n} reads took {mean:.2} ms on average, of which {lost:.2} ms"
    ))?;
    say(&format!(
        "({share:.0} %) was spent rereading sectors. Extra revolutions: {}.",
        truth.revolutions_lost()
    ))
}
