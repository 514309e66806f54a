//! Scenarios with a network disk, or with a delay above a healthy disk.

use iowhy_model::{Medium, Op};

use super::parts::{lookups, nvme, platter, sata_ssd, stream, volume};
use super::{Chance, Effect, Pace, Place, Plan, Recipe, Setup, Trace, Truth, recipe};

/// Recipes of this family.
pub(super) const RECIPES: &[Recipe] = &[
    recipe("layer.remote", "first-touch", |chance| {
        let disk = volume(chance, 16_000, "1000M");
        remote(disk, chance)
    }),
    recipe("layer.remote", "array-behind-iscsi", |chance| {
        let disk = volume(chance, 16_000, "1000M").named("sdd");
        remote(disk, chance)
    }),
    recipe("layer.above", "lock-of-a-file-system", |chance| {
        let disk = nvme(chance, "");
        above(disk, Op::Write, (3e6, 4e7), "mysqld", chance)
    }),
    recipe("layer.above", "busy-processor", |chance| {
        let disk = sata_ssd(chance, "");
        above(disk, Op::Read, (2e6, 2e7), "java", chance)
    }),
    recipe("layer.above", "journal-above-a-platter", |chance| {
        let (disk, _) = platter(chance, ",cache=64M");
        above(disk, Op::Write, (3e7, 3e8), "tar", chance)
    }),
];

/// What is read for the first time is fetched from far away; later it is near.
fn remote(disk: Setup, chance: &mut Chance) -> Plan {
    let room = chance.pick(&[128u64, 256, 384]) << 20;
    let (depth, think) = (chance.whole(1, 4), chance.scale(3e5, 4e6));
    let mut load = lookups(chance, depth, think);
    load.within = Some(room);
    let touch = Effect::FirstTouch(512 << 10, chance.scale(6e6, 2.5e7));
    let name = disk.name.clone();
    let disk = disk.with(touch).under(load);
    let model = match name.as_str() {
        "nvme1n1" => "Amazon Elastic Block Store",
        "sdd" => "LIO-ORG  disk0",
        _ => "",
    };
    let traces = (!model.is_empty()).then_some(Trace::Model(0, model));
    let most = chance.scale(1500.0, 6000.0) as usize;
    Plan::of(Truth::sound("layer.remote"), disk, 60.0, most).leaves(traces)
}

/// Each call waits above before its I/O is sent, and the disk is healthy.
fn above(disk: Setup, op: Op, waits: (f64, f64), comm: &'static str, chance: &mut Chance) -> Plan {
    assert!(disk.medium != Medium::Stacked);
    let waits = chance.scale(waits.0, waits.1);
    let pace = Pace::Closed(chance.whole(1, 4), waits * chance.even(1.1, 2.0));
    let mut load = stream(op, &[4, 8, 16], Place::Runs(4), pace, comm);
    load.calls = Some(waits);
    let share = chance.even(15.0, 70.0);
    let most = chance.scale(150.0, 2000.0) as usize;
    Plan::of(Truth::sound("layer.above"), disk.under(load), chance.even(15.0, 40.0), most)
        .leaves([Trace::Pressure(share, share * chance.even(0.2, 0.6))])
}
