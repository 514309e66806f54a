//! Shelves of disks under one load, one of them faulty.

use super::healthy::letter;
use super::parts::{platter_of, platter_rate, visitors};
use super::{Chance, Plan, Recipe, Setup, Truth, recipe};

/// Recipes of this family.
pub(super) const RECIPES: &[Recipe] = &[
    recipe("peer.outlier", "one-slow", |chance| {
        let fault = format!("slow={:.2}", chance.scale(2.5, 10.0));
        shelf(chance, &["device.slow"], fault)
    }),
    recipe("peer.outlier", "one-stalling", |chance| {
        let every = chance.scale(1.0, 4.0);
        let fault = format!("stall={every:.2}s/{:.2}s", every * chance.even(0.15, 0.5));
        shelf(chance, &["device.stall", "device.slow"], fault)
    }),
    recipe("peer.outlier", "one-retrying", |chance| {
        let fault = format!("retry={:.3}", chance.even(0.6, 0.93));
        shelf(chance, &["device.retry", "device.slow"], fault)
    }),
];

/// Evenly loaded disks of one kind; one of them has the fault.
fn shelf(chance: &mut Chance, also: &[&'static str], fault: String) -> Plan {
    let faulty = {
        let disks = chance.whole(5, 18);
        (chance.whole(0, disks - 1), disks)
    };
    let mut disks = even_shelf(chance, faulty.1);
    if let Some(disk) = disks.get_mut(faulty.0) {
        disk.faults.push(fault);
    }
    let truth = Truth::faulty("peer.outlier", faulty.0).or(also);
    let seconds = chance.even(8.0, 30.0);
    Plan::shelf(truth, disks, seconds)
}

/// Disks of one kind with their natural spread (the recipes of `parts`: a tenth in the seek).
pub(super) fn even_shelf(chance: &mut Chance, count: usize) -> Vec<Setup> {
    let rpm = chance.pick(&[7200, 7200, 10_000]);
    let share = chance.even(0.08, 0.25);
    (0..count)
        .map(|place| {
            let disk = platter_of(chance, rpm, "").named(&letter(place));
            let rate = platter_rate(&disk) * share;
            let load = visitors(chance, rate);
            disk.under(load)
        })
        .collect()
}
