//! Scenarios whose disk is delayed by a timer, sleeps, gets hot, or fills its cache.

use iowhy_model::Op;

use super::effect::{Cliff, Heat, Shingles};
use super::parts::{lookups, nvme, platter, sata_ssd, scan, stream, visitors};
use super::{Chance, Effect, Pace, Place, Plan, Recipe, Setup, Trace, Truth, compound, recipe};

/// Recipes of this family.
pub(super) const RECIPES: &[Recipe] = &[
    compound("device.periodic-delay", "firmware-pacing", |chance| {
        let disk = if chance.chance(0.5) { nvme(chance, "") } else { sata_ssd(chance, "") };
        let step = chance.pick(&[250, 250, 500, 1000]) * 1000;
        ticks(disk, step, chance)
    }),
    compound("device.periodic-delay", "timer-ticks", |chance| {
        let disk = if chance.chance(0.5) { nvme(chance, "") } else { sata_ssd(chance, "") };
        let step = chance.pick(&[1, 4, 4, 10]) * 1_000_000;
        ticks(disk, step, chance)
    }),
    compound("device.periodic-delay", "platter-odd-step", |chance| {
        let (disk, _) = platter(chance, "");
        // No revolution of a platter that was ever sold, nor a multiple of one.
        let step = chance.pick(&[3_100, 4_700, 7_100, 9_300, 13_200]) * 1000;
        let mut plan = ticks(disk, step, chance);
        plan.disks.iter_mut().for_each(|disk| disk.streams = vec![scan(chance)]);
        plan
    }),
    compound("device.idle-wake", "spin-down", |chance| {
        let (disk, _) = platter(chance, "");
        let disk = disk.with(Effect::Sleep(seconds(chance, 8.0, 20.0), seconds(chance, 2.0, 7.0)));
        wake(disk, (5e7, 6e10), 900.0, chance)
    }),
    compound("device.idle-wake", "nvme-power-state", |chance| {
        let disk = nvme(chance, "");
        let disk =
            disk.with(Effect::Sleep(seconds(chance, 0.1, 0.8), seconds(chance, 0.002, 0.02)));
        wake(disk, (1e5, 4e9), 120.0, chance)
    }),
    compound("device.idle-wake", "link-power", |chance| {
        let disk = sata_ssd(chance, "");
        let disk =
            disk.with(Effect::Sleep(seconds(chance, 0.1, 0.5), seconds(chance, 0.005, 0.06)));
        wake(disk, (1e6, 3e9), 120.0, chance)
    }),
    recipe("device.smr", "scattered-writes", |chance| smr(chance, 0)),
    recipe("device.smr", "scattered-writes-and-reads", |chance| smr(chance, 8)),
    compound("device.thermal", "nvme-writes", |chance| {
        let disk = nvme(chance, "");
        let quick = chance.scale(1e9, 3e9);
        thermal(disk, quick, Op::Write, chance)
    }),
    compound("device.thermal", "nvme-reads", |chance| {
        let disk = nvme(chance, "");
        let quick = chance.scale(1.5e9, 3.5e9);
        thermal(disk, quick, Op::Read, chance)
    }),
    recipe("device.write-cliff", "copies-to-nvme", |chance| {
        let disk = nvme(chance, ",program=100us");
        let quick = chance.scale(0.8e9, 2.5e9);
        cliff(disk, quick, chance)
    }),
    recipe("device.write-cliff", "copies-to-ssd", |chance| {
        let disk = sata_ssd(chance, ",program=100us");
        let quick = chance.scale(0.3e9, 0.5e9);
        cliff(disk, quick, chance)
    }),
];

fn seconds(chance: &mut Chance, least: f64, most: f64) -> u64 {
    (chance.scale(least, most) * 1e9) as u64
}

/// A share of the requests is held for whole steps.
fn ticks(disk: Setup, step: u64, chance: &mut Chance) -> Plan {
    let (share, most) = (chance.even(0.25, 0.7), chance.whole(3, 8));
    let (depth, think) = (chance.whole(1, 3), chance.scale(1e5, 4e6));
    let load = lookups(chance, depth, think);
    let listed = chance.scale(80.0, 2000.0) as usize;
    let disk = disk.with(Effect::Steps(step, share, most)).under(load);
    Plan::of(Truth::faulty("device.periodic-delay", 0), disk, chance.even(8.0, 30.0), listed)
}

/// One request after the other, with pauses of all lengths; all sizes alike.
fn wake(disk: Setup, pauses: (f64, f64), seconds: f64, chance: &mut Chance) -> Plan {
    let mut load = lookups(chance, 1, 1.0);
    load.pace = Pace::Pauses(pauses.0, pauses.1);
    let truth = Truth::faulty("device.idle-wake", 0);
    let seconds = seconds * chance.even(0.6, 1.2);
    Plan::of(truth, disk.under(load), seconds, chance.scale(150.0, 1500.0) as usize)
}

/// Scattered writes until the cache in front of the shingles is full.
fn smr(chance: &mut Chance, reads: u32) -> Plan {
    let (disk, _) = platter(chance, ",cache=64M");
    let seconds = chance.even(40.0, 90.0);
    let kib = chance.pick(&[4, 8, 16]);
    let think = chance.scale(8e6, 2e7);
    let depth = chance.whole(1, 3);
    let load = stream(Op::Write, &[kib], Place::Anywhere, Pace::Closed(depth, think), "rsync");
    let per_second = depth as f64 * 1e9 / (think + 1e6);
    let room = per_second * f64::from(kib << 10) * seconds * chance.even(0.2, 0.45);
    let clean = chance.scale(1.5e8, 1.2e9);
    let frees = f64::from(kib << 10) * chance.scale(3.0, 15.0);
    let mut disk = disk.with(Effect::Shingles(Shingles::new(room, clean, frees))).under(load);
    if reads > 0 {
        let load = visitors(chance, f64::from(reads));
        disk = disk.under(load);
    }
    let model = chance.pick(&["ST8000AS0002-1NA17Z", "WDC WD40EFAX-68JH4N0", "ST2000DM008-2FR102"]);
    Plan::of(Truth::faulty("device.smr", 0), disk, seconds, 12_000).leaves([Trace::Model(0, model)])
}

/// Under its load the disk reaches its warning temperature; it rests once.
fn thermal(disk: Setup, quick: f64, op: Op, chance: &mut Chance) -> Plan {
    let seconds = chance.even(40.0, 70.0);
    let (depth, think) = (chance.whole(1, 3), chance.scale(3e6, 9e6));
    let kib = chance.pick(&[256u32, 512, 1024]);
    let mut load = stream(op, &[kib], Place::Onwards, Pace::Closed(depth, think), "backup");
    let mib = f64::from(kib) / 1024.0;
    let mib_per_s = depth as f64 * mib / (think / 1e9 + mib * 1.05e6 / quick);
    let warning = chance.even(70.0, 84.0).round();
    let ambient = chance.even(38.0, 48.0);
    let cools = seconds * chance.even(0.12, 0.3);
    // Where it would end if the load never ended.
    let ends = warning + chance.even(3.0, 12.0);
    let per_mib = (ends - ambient) / (mib_per_s * cools);
    let heat = Heat::new(ambient, per_mib, cools * 1e9, warning, chance.scale(4.0, 9.0));
    let rests = chance.even(0.5, 0.75);
    let mut later = load.clone();
    load.during = (0.0, rests);
    later.during = (rests + chance.even(0.1, 0.2), 1.0);
    let disk = disk.with(Effect::Bus(quick)).with(Effect::Heat(heat)).under(load).under(later);
    let plan = Plan::of(Truth::faulty("device.thermal", 0), disk, seconds, 20_000);
    Plan { most: 20_000, ..plan }
}

/// Copies with rests between; each is longer than the fast cells last.
fn cliff(disk: Setup, quick: f64, chance: &mut Chance) -> Plan {
    let cycles = chance.whole(2, 4);
    let cycle = chance.even(8.0, 14.0);
    let copies = chance.even(0.55, 0.7);
    let kib = chance.pick(&[256, 512, 1024]);
    let bytes = f64::from(kib << 10);
    let (depth, think) = (chance.whole(1, 3), chance.scale(1e6, 4e6));
    let rate = depth as f64 * bytes / (think / 1e9 + bytes / quick);
    let room = rate * cycle * copies * chance.even(0.3, 0.55);
    let slow = quick / chance.scale(5.0, 18.0);
    let folds = room / (cycle * (1.0 - copies) * 0.6);
    let mut disk = disk.with(Effect::Cliff(Cliff::new(room, quick, slow, folds)));
    for k in 0..cycles {
        let at = |part: f64| (k as f64 + part) / cycles as f64;
        let mut load = stream(Op::Write, &[kib], Place::Onwards, Pace::Closed(depth, think), "cp");
        load.during = (at(0.0), at(copies));
        disk = disk.under(load);
    }
    let celsius = chance.whole(38, 55) as u64;
    let truth = Truth::faulty("device.write-cliff", 0);
    Plan { most: 25_000, ..Plan::of(truth, disk, cycle * cycles as f64, 25_000) }
        .leaves([Trace::Celsius(0, celsius)])
}
