//! Scenarios whose volume has a limit, and whose load has reached it.

use iowhy_model::Op;

use super::parts::{lookups, stream, visitors, volume};
use super::{Chance, Pace, Place, Plan, Recipe, Setup, Truth, recipe};

/// Recipes of this family.
pub(super) const RECIPES: &[Recipe] = &[
    recipe("cap.volume", "operations-deep", |chance| {
        let (disk, limit) = limited(chance);
        // Demand that rises: more in flight, not more done.
        let (few, more) = (chance.whole(8, 16), chance.whole(10, 40));
        let first = lookups(chance, few, 5e4);
        let mut second = lookups(chance, more, 5e4);
        second.during = (chance.even(0.2, 0.7), 1.0);
        plan(disk.under(first).under(second), limit, chance)
    }),
    recipe("cap.volume", "operations-overrun", |chance| {
        let (disk, limit) = limited(chance);
        let rate = limit as f64 * chance.even(1.03, 1.25);
        let load = visitors(chance, rate);
        plan(disk.under(load), limit, chance)
    }),
    recipe("cap.volume", "bytes", |chance| {
        let mib = chance.pick(&[125, 250]);
        let disk = volume(chance, 16_000, &format!("{mib}M"));
        let kib = chance.pick(&[256, 512]);
        let pace = Pace::Closed(chance.whole(4, 12), 5e4);
        let first = stream(Op::Read, &[kib], Place::Onwards, pace, "backup");
        let pace = Pace::Closed(chance.whole(6, 16), 5e4);
        let mut second = stream(Op::Read, &[kib], Place::Onwards, pace, "backup");
        second.during = (chance.even(0.2, 0.7), 1.0);
        plan(disk.under(first).under(second), mib << 20, chance)
    }),
];

fn limited(chance: &mut Chance) -> (Setup, u64) {
    let limit = chance.pick(&[100, 250, 500, 500, 1000, 3000]);
    (volume(chance, limit, "1000M"), limit)
}

fn plan(disk: Setup, limit: u64, chance: &mut Chance) -> Plan {
    let truth = Truth { limit: Some(limit), device: Some(0), ..Truth::sound("cap.volume") };
    let seconds = if limit <= 1000 || limit > 1 << 20 {
        chance.even(20.0, 70.0)
    } else {
        chance.even(6.0, 10.0)
    };
    // Ten seconds at the highest limit.
    Plan { most: 30_000, ..Plan::of(truth, disk, seconds, 30_000) }
}
