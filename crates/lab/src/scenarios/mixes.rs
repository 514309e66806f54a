//! Scenarios in which one kind of request slows down another: flushes, discards, writes, partial
//! blocks.

use iowhy_model::{Flags, Level, Op};

use super::effect::Cliff;
use super::parts::{nvme, platter_of, sata_ssd, stream, visitors};
use super::{Chance, Effect, Pace, Place, Plan, Recipe, Setup, Trace, Truth, compound, recipe};

/// Recipes of this family.
pub(super) const RECIPES: &[Recipe] = &[
    recipe("cfg.misaligned", "partition-at-63", |chance| {
        let rpm = chance.pick(&[5400, 7200, 7200]);
        let disk = platter_of(chance, rpm, "");
        let revolution = 60_000_000_000 / rpm;
        let disk = disk.with(Effect::Partial(4096, revolution));
        misaligned(disk, Some(chance.pick(&[1u64, 2, 4]) << 30), chance)
    }),
    recipe("cfg.misaligned", "flash-pages", |chance| {
        let disk = sata_ssd(chance, "");
        let cost = chance.scale(4e5, 2.5e6) as u64;
        misaligned(disk.with(Effect::Partial(4096, cost)), None, chance)
    }),
    Recipe { levels: &[Level::E], ..recipe("cfg.misaligned", "parity-of-a-stripe", parity) },
    compound("load.discard", "deletes-in-bulk", |chance| {
        let disk = if chance.chance(0.5) { nvme(chance, "") } else { sata_ssd(chance, "") };
        let (each, per_mib) = (chance.scale(2e6, 1e7), chance.scale(2e4, 1e5));
        let mib = chance.pick(&[64u32, 128, 256]);
        let pace = Pace::Closed(1, 2e5);
        let trim = stream(Op::Discard, &[mib << 10], Place::Onwards, pace, "fstrim");
        let runs = chance.whole(2, 5);
        let trims = (0..runs).map(|run| {
            let at = (run as f64 + chance.even(0.1, 0.5)) / runs as f64;
            let during = (at, at + chance.even(0.25, 0.45) / runs as f64);
            super::Stream { during, ..trim.clone() }
        });
        let trims = trims.collect();
        discards(disk, trims, (each, per_mib), "rw,relatime", chance)
    }),
    compound("load.discard", "mounted-with-discard", |chance| {
        let disk = sata_ssd(chance, "");
        let each = chance.scale(5e6, 2e7);
        let rate = chance.even(0.3, 0.55) * 1e9 / each;
        let trim = stream(
            Op::Discard,
            &[128, 1024, 4096],
            Place::Anywhere,
            Pace::Poisson(rate),
            "kworker/2:1H",
        );
        discards(disk, vec![trim], (each, 1e4), "rw,relatime,discard", chance)
    }),
    recipe("load.flush", "platter-commits", |chance| {
        let rpm = chance.pick(&[5400, 7200, 7200, 10_000]);
        let disk = platter_of(chance, rpm, ",cache=32M");
        let revolutions = chance.even(1.0, 2.5);
        flush(disk, revolutions * 60e9 / rpm as f64, chance)
    }),
    recipe("load.flush", "flash-commits", |chance| {
        let disk = if chance.chance(0.5) { nvme(chance, "") } else { sata_ssd(chance, "") };
        let cost = chance.scale(1.2e6, 1.2e7);
        flush(disk, cost, chance)
    }),
    recipe("load.flush", "forced-unit-access", |chance| {
        let disk = if chance.chance(0.5) { nvme(chance, "") } else { sata_ssd(chance, "") };
        let cost = chance.scale(8e5, 8e6);
        let pace = Pace::Closed(1, chance.scale(1e5, 2e6));
        let mut load = stream(Op::Write, &[4, 8], Place::Onwards, pace, "jbd2/sda1-8");
        load.flags = if chance.chance(0.5) { Flags::FUA } else { Flags::FUA.with(Flags::PREFLUSH) };
        let plain = stream(
            Op::Write,
            &[4, 8, 16],
            Place::Anywhere,
            Pace::Poisson(chance.scale(20.0, 80.0)),
            "kworker/u8:2",
        );
        let disk = disk.with(Effect::Barrier(cost as u64)).under(load).under(plain);
        flushed(disk, chance)
    }),
    compound("load.rw-mix", "writes-before-reads", |chance| {
        let (disk, quick) = (sata_ssd(chance, ""), chance.scale(0.35e9, 0.5e9));
        mix(disk, quick, chance)
    }),
    compound("load.rw-mix", "writes-before-reads-on-nvme", |chance| {
        let (disk, quick) = (nvme(chance, ""), chance.scale(1e9, 2.5e9));
        mix(disk, quick, chance)
    }),
];

/// Reads take longer while a write is under way, which is half of the time.
fn mix(disk: Setup, quick: f64, chance: &mut Chance) -> Plan {
    let kib = chance.pick(&[512, 1024, 2048]);
    let takes = f64::from(kib << 10) / quick;
    let per_second = chance.even(0.25, 0.55) / takes;
    let writes =
        stream(Op::Write, &[kib], Place::Onwards, Pace::Poisson(per_second), "kworker/u16:3");
    let pace = Pace::Closed(chance.whole(1, 2), chance.scale(4e5, 3e6));
    let reads = stream(Op::Read, &[4], Place::Anywhere, pace, "mysqld");
    let disk = disk
        .with(Effect::Cliff(Cliff::new(f64::MAX, quick, quick, 0.0)))
        .with(Effect::Clash(chance.scale(4.0, 12.0)))
        .under(reads)
        .under(writes);
    let most = chance.scale(400.0, 6000.0) as usize;
    Plan::of(Truth::sound("load.rw-mix"), disk, chance.even(10.0, 30.0), most)
}

/// Each commit is a write, or a few, and a flush.
fn flush(disk: Setup, cost: f64, chance: &mut Chance) -> Plan {
    let pace = Pace::Closed(1, chance.scale(1e5, 3e6));
    let mut load = stream(Op::Write, &[4, 8, 16], Place::Onwards, pace, "postgres");
    load.flush_every = chance.whole(1, 3);
    let mut disk = disk.with(Effect::Barrier(cost as u64)).under(load);
    if chance.chance(0.5) {
        let reads = visitors(chance, 15.0);
        disk = disk.under(reads);
    }
    flushed(disk, chance)
}

fn flushed(disk: Setup, chance: &mut Chance) -> Plan {
    let most = chance.scale(150.0, 3000.0) as usize;
    Plan::of(Truth::sound("load.flush"), disk, chance.even(10.0, 30.0), most)
        .leaves([Trace::Setting(0, "queue/write_cache", "write back".to_string())])
}

/// Reads wait behind discards.
fn discards(
    disk: Setup,
    trims: Vec<super::Stream>,
    (each, per_mib): (f64, f64),
    options: &'static str,
    chance: &mut Chance,
) -> Plan {
    let rate = chance.scale(60.0, 250.0);
    let reads = visitors(chance, rate);
    let mut disk = disk.with(Effect::Trim(each as u64, per_mib as u64)).under(reads);
    disk.streams.extend(trims);
    Plan::of(Truth::sound("load.discard"), disk, chance.even(16.0, 40.0), 12_000)
        .leaves([Trace::Mount(0, "ext4", options)])
}

/// Small writes, most of them beside the disk's own blocks; some lie well.
fn misaligned(disk: Setup, within: Option<u64>, chance: &mut Chance) -> Plan {
    let pace = Pace::Closed(1, chance.scale(5e5, 5e6));
    let mut load = stream(Op::Write, &[4, 8, 16], Place::Anywhere, pace, "mysqld");
    // The first partition began at sector 63 until about 2009.
    load.shift = (63 * 512, chance.even(0.3, 0.9));
    load.within = within;
    let most = chance.scale(200.0, 3000.0) as usize;
    let seconds = chance.even(15.0, 40.0);
    Plan::of(Truth::sound("cfg.misaligned"), disk.under(load), seconds, most).leaves([
        Trace::Setting(0, "queue/physical_block_size", "4096".to_string()),
        Trace::Setting(0, "queue/logical_block_size", "512".to_string()),
    ])
}

/// Small writes to a RAID with parity: each member reads before it writes.
fn parity(chance: &mut Chance) -> Plan {
    let rpm = chance.pick(&[7200, 10_000]);
    let count = chance.whole(3, 5);
    let mut traces = Vec::new();
    let think = chance.scale(5e6, 4e7);
    let disks = (0..count)
        .map(|place| {
            traces.push(Trace::Setting(place, "holders/md0", String::new()));
            let pace = Pace::Closed(1, think);
            let load = stream(Op::Write, &[4, 8], Place::ReadThenWrite, pace, "md0_raid5");
            platter_of(chance, rpm, "").named(&super::healthy::letter(place)).under(load)
        })
        .collect();
    Plan::shelf(Truth::sound("cfg.misaligned"), disks, chance.even(15.0, 40.0)).leaves(traces)
}
