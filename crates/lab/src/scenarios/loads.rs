//! Scenarios with a healthy disk and a harmful load.

use iowhy_model::Op;

use super::parts::{lookups, nvme, platter, platter_rate, sata_ssd, stream, visitors, volume};
use super::{Chance, Pace, Place, Plan, Recipe, Setup, Truth, recipe};

/// Recipes of this family.
pub(super) const RECIPES: &[Recipe] = &[
    recipe("load.burst", "writeback-onwards", |chance| {
        let (disk, _) = platter(chance, "");
        let (count, every) = (chance.whole(20, 150), chance.even(1.0, 4.0) * 1e9);
        let kib = chance.pick(&[64, 128, 256]);
        let pace = Pace::Batches(every, count, 8_000.0);
        let load = stream(Op::Write, &[kib], Place::Onwards, pace, "kworker/u8:3");
        plan("load.burst", disk.under(load), chance)
    }),
    recipe("load.burst", "writeback-anywhere", |chance| {
        let (disk, _) = platter(chance, "");
        let count = chance.whole(12, 60);
        // The disk rests for half the time or more.
        let drain = count as f64 / platter_rate(&disk) * 1e9;
        let pace = Pace::Batches(drain * chance.even(2.0, 5.0), count, 8_000.0);
        let load = stream(Op::Write, &[4, 8], Place::Anywhere, pace, "kworker/u8:3");
        plan("load.burst", disk.under(load), chance)
    }),
    recipe("load.burst", "prefetch-on-flash", |chance| {
        let disk = nvme(chance, ",dies=4");
        let (count, every) = (chance.whole(800, 3000), chance.even(1.0, 4.0) * 1e9);
        let pace = Pace::Batches(every, count, 3_000.0);
        let load = stream(Op::Read, &[4], Place::Anywhere, pace, "clickhouse");
        plan("load.burst", disk.under(load), chance)
    }),
    recipe("load.large-io", "platter-scan", |chance| {
        let (disk, _) = platter(chance, "");
        let kib = chance.pick(&[1024, 2048, 4096]);
        let depth = chance.whole(1, 2);
        let pace = Pace::Closed(depth, chance.scale(5e4, 5e6));
        let load = stream(Op::Read, &[kib], Place::Onwards, pace, "cp");
        plan("load.large-io", disk.under(load), chance)
    }),
    recipe("load.large-io", "platter-write", |chance| {
        let (disk, _) = platter(chance, "");
        let kib = chance.pick(&[2048, 4096]);
        let pace = Pace::Closed(1, chance.scale(5e4, 5e6));
        let load = stream(Op::Write, &[kib], Place::Runs(8), pace, "tar");
        plan("load.large-io", disk.under(load), chance)
    }),
    recipe("load.missed-revolution", "log-writer", |chance| {
        let (disk, rpm) = platter(chance, "");
        let kib = chance.pick(&[1, 2, 4, 8]);
        let pace = Pace::Closed(1, chance.scale(2e4, 3e5));
        let load = stream(Op::Write, &[kib], Place::Onwards, pace, "write_test");
        let mut plan = plan("load.missed-revolution", disk.under(load), chance);
        plan.truth.rpm = Some(rpm);
        plan
    }),
    recipe("load.saturated", "platter-deep", |chance| {
        let (disk, _) = platter(chance, "");
        let depth = chance.whole(12, 64);
        let load = lookups(chance, depth, 1e5);
        plan("load.saturated", disk.under(load), chance)
    }),
    recipe("load.saturated", "platter-overrun", |chance| {
        let (disk, _) = platter(chance, "");
        let rate = platter_rate(&disk) * chance.even(1.1, 2.0);
        let load = visitors(chance, rate);
        let mut plan = plan("load.saturated", disk.under(load), chance);
        plan.listed = plan.listed.max(200);
        plan
    }),
    recipe("load.saturated", "flash-deep", |chance| {
        let disk = nvme(chance, ",dies=16");
        let depth = chance.whole(256, 600);
        let load = lookups(chance, depth, 1e4);
        let mut plan = plan("load.saturated", disk.under(load), chance);
        plan.listed = plan.listed.max(4000);
        plan
    }),
    recipe("load.saturated", "platter-read-and-write", |chance| {
        let (disk, _) = platter(chance, "");
        let depth = chance.whole(8, 24);
        let reads = lookups(chance, depth, 1e5);
        let pace = Pace::Closed(chance.whole(8, 24), 1e5);
        let writes = stream(Op::Write, &[8, 16], Place::Anywhere, pace, "mysqld");
        plan("load.saturated", disk.under(reads).under(writes), chance)
    }),
    recipe("load.small-sync", "platter-writes", |chance| {
        let (disk, _) = platter(chance, ",cache=32M");
        let load = drips(Op::Write, (2e5, 1.2e6), chance);
        plan("load.small-sync", disk.under(load), chance)
    }),
    recipe("load.small-sync", "platter-reads", |chance| {
        let (disk, _) = platter(chance, "");
        let load = drips(Op::Read, (2e5, 1.5e6), chance);
        plan("load.small-sync", disk.under(load), chance)
    }),
    recipe("load.small-sync", "volume-reads", |chance| {
        let disk = volume(chance, 3000, "125M");
        let load = drips(Op::Read, (8e5, 4e6), chance);
        plan("load.small-sync", disk.under(load), chance)
    }),
    recipe("load.small-sync", "flash-reads-and-writes", |chance| {
        let disk = sata_ssd(chance, "");
        let reads = drips(Op::Read, (1.5e5, 5e5), chance);
        let writes = drips(Op::Write, (1.5e5, 5e5), chance);
        plan("load.small-sync", disk.under(reads).under(writes), chance)
    }),
];

/// Small pieces of a file, each requested when the one before has come; the program waits for the
/// disk for an eighth of its time or more, else it would not suffer from it.
fn drips(op: Op, think: (f64, f64), chance: &mut Chance) -> super::Stream {
    let kib = chance.pick(&[4, 8, 8, 8]);
    let pace = Pace::Closed(1, chance.scale(think.0, think.1));
    stream(op, &[kib], Place::Onwards, pace, "unzip")
}

fn plan(verdict: &'static str, disk: Setup, chance: &mut Chance) -> Plan {
    let batch = disk.streams.iter().map(|stream| match stream.pace {
        Pace::Batches(_, count, _) => count,
        _ => 0,
    });
    // A listing of less than two batches shows no bursts.
    let least = 2 * batch.max().unwrap_or(0);
    let listed = (chance.scale(150.0, 4000.0) as usize).max(least);
    Plan::of(Truth::sound(verdict), disk, chance.even(6.0, 30.0), listed)
}
