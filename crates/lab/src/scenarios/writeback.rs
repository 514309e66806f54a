//! Scenarios in which programs dirty pages of the page cache that a disk writes back.
//!
//! Their author knew the detector's threshold; how long a program is paused follows from the
//! kernel's rule and from what the simulated disk wrote (`render/pauses.rs`).

use iowhy_model::{Level, Op};

use super::parts::{lookups, nvme, platter, sata_ssd, stream, volume};
use super::{Chance, Pace, Place, Plan, Recipe, Setup, Stream, Trace, Truth, misleading, recipe};

/// Recipes of this family.
pub(super) const RECIPES: &[Recipe] = &[
    seen_live(recipe("load.writeback", "copy-onto-a-platter", |chance| {
        let (disk, _) = platter(chance, "");
        let times = chance.scale(1.5, 20.0);
        let disk = written_back(disk, chance);
        plan(Truth::sound("load.writeback"), disk, &[("cp", times)], chance)
    })),
    seen_live(recipe("load.writeback", "two-copies-beside-a-log", |chance| {
        let (disk, _) = platter(chance, ",cache=64M");
        let (one, other) = (chance.scale(1.2, 6.0), chance.scale(1.2, 6.0));
        let disk = written_back(disk, chance);
        let writers = [("tar", one), ("rsync", other), ("rsyslogd", 0.01)];
        plan(Truth::sound("load.writeback"), disk, &writers, chance)
    })),
    seen_live(recipe("load.writeback", "restore-beside-a-database", |chance| {
        let disk = sata_ssd(chance, "");
        let depth = chance.whole(1, 4);
        let reads = lookups(chance, depth, 2e6);
        let times = chance.scale(1.3, 8.0);
        let disk = written_back(disk, chance).under(reads);
        let truth = Truth::sound("load.writeback").or(&["load.rw-mix"]);
        plan(truth, disk, &[("pg_restore", times)], chance)
    })),
    seen_live(recipe("load.writeback", "import-onto-flash", |chance| {
        let disk = nvme(chance, "");
        let times = chance.scale(1.3, 4.0);
        let disk = written_back(disk, chance);
        plan(Truth::sound("load.writeback"), disk, &[("mysqlimport", times)], chance)
    })),
    // Its pauses are a few percent of the time.
    seen_live(misleading("load.saturated", "hardly-paused", |chance| {
        let (disk, _) = platter(chance, "");
        let times = chance.even(1.01, 1.06);
        let disk = written_back(disk, chance);
        let truth = Truth::sound("load.saturated").or(&["load.large-io", "load.burst", "healthy"]);
        plan(truth, disk, &[("cp", times)], chance)
    })),
    // A program that any healthy disk keeps up with.
    seen_live(misleading("device.slow", "pages-of-a-slow-disk", |chance| {
        let (disk, _) = platter(chance, "");
        let disk = disk.with_fault(format!("slow={:.1}", chance.even(5.0, 9.0)));
        let times = chance.even(1.5, 4.0);
        let mut load = lookups(chance, 1, 3e7);
        load.op = Op::Write;
        let disk = disk.under(Stream { comm: "kworker/u8:5", ..load });
        plan(Truth::faulty("device.slow", 0), disk, &[("cp", times)], chance)
    })),
    seen_live(misleading("cap.volume", "pages-of-a-limited-volume", |chance| {
        let iops = chance.pick(&[500, 1000, 3000]);
        let disk = volume(chance, iops, "1000M");
        let pace = Pace::Closed(chance.whole(16, 48), 1e4);
        let load = stream(Op::Write, &[16], Place::Anywhere, pace, "kworker/u8:5");
        let mut truth = Truth::sound("cap.volume");
        truth.limit = Some(iops);
        let times = chance.scale(1.5, 8.0);
        let plan = plan(truth, disk.under(load), &[("dd", times)], chance);
        Plan { seconds: 30.0, most: 200_000, listed: 200_000, ..plan }
    })),
];

/// Only a live watch reports pauses.
const fn seen_live(recipe: Recipe) -> Recipe {
    Recipe { levels: &[Level::E], ..recipe }
}

/// A disk that writes back as fast as it can: large requests, one after the other.
fn written_back(disk: Setup, chance: &mut Chance) -> Setup {
    let kib = chance.pick(&[256, 512, 1024]);
    let pace = Pace::Closed(chance.whole(2, 8), 2e4);
    disk.under(stream(Op::Write, &[kib], Place::Runs(64), pace, "kworker/u8:5"))
}

/// Programs, and how many times as fast as the disk writes each of them dirties pages.
fn plan(truth: Truth, disk: Setup, writers: &[(&'static str, f64)], chance: &mut Chance) -> Plan {
    let dirty = writers.iter().map(|(comm, times)| Trace::Dirties(0, comm, *times));
    // Of 2 to 16 GB of memory a fifth may be dirty, and three quarters of that before anybody is
    // paused (vm.dirty_ratio 20, vm.dirty_background_ratio 10). They have run for a while.
    let freerun = Trace::Freerun(chance.scale(2e9, 16e9) * 0.2 * 0.75, chance.even(0.95, 1.0));
    let seconds = chance.even(15.0, 40.0);
    let listed = chance.scale(400.0, 4000.0) as usize;
    Plan::of(truth, disk, seconds, listed).leaves(dirty.collect::<Vec<Trace>>()).leaves([freerun])
}
