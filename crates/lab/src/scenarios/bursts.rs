//! Scenarios whose volume was fast for as long as its credits lasted.

use iowhy_model::Op;

use super::parts::{burst_volume, lookups, stream};
use super::{Chance, Pace, Place, Plan, Recipe, Setup, Truth, recipe};

/// Recipes of this family.
pub(super) const RECIPES: &[Recipe] = &[
    recipe("cap.burst", "credits-end", |chance| {
        let depth = chance.whole(16, 48);
        let load = lookups(chance, depth, 5e4);
        plan(chance, |disk, _| disk.under(load))
    }),
    recipe("cap.burst", "credits-end-for-many", |chance| {
        let depth = chance.whole(48, 160);
        let load = lookups(chance, depth, 5e6);
        plan(chance, |disk, _| disk.under(load))
    }),
    recipe("cap.burst", "credits-end-in-a-copy", |chance| {
        let pace = Pace::Closed(chance.whole(12, 32), 3e4);
        let load = stream(Op::Write, &[16], Place::Onwards, pace, "pg_restore");
        plan(chance, |disk, _| disk.under(load))
    }),
];

/// Some seconds at 3000 a second, then three a GiB.
fn plan(chance: &mut Chance, load: impl FnOnce(Setup, &mut Chance) -> Setup) -> Plan {
    let baseline = chance.pick(&[100, 150, 300, 500, 600]);
    // Long enough to show as a level of its own in averages of a second.
    let quick = chance.even(5.0, 8.0);
    let credits = (quick * (3000 - baseline) as f64) as u64;
    let disk = burst_volume(chance, baseline, credits);
    let disk = load(disk, chance);
    let truth = Truth { limit: Some(baseline), device: Some(0), ..Truth::sound("cap.burst") };
    let seconds = quick + chance.even(10.0, 20.0);
    Plan { most: 36_000, ..Plan::of(truth, disk, seconds, 36_000) }
}
