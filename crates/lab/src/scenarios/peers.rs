//! Shelves of disks under one load, one of them sick.

use super::healthy::letter;
use super::parts::{platter_of, platter_rate, visitors};
use super::{Chance, Plan, Recipe, Setup, Truth, recipe};

/// Recipes of this family.
pub(super) const RECIPES: &[Recipe] = &[
    recipe("peer.outlier", "one-slow", |chance| {
        let disease = format!("slow={:.2}", chance.scale(2.5, 10.0));
        shelf(chance, &["device.slow"], disease)
    }),
    recipe("peer.outlier", "one-stalling", |chance| {
        let every = chance.scale(1.0, 4.0);
        let disease = format!("stall={every:.2}s/{:.2}s", every * chance.even(0.15, 0.5));
        shelf(chance, &["device.stall", "device.slow"], disease)
    }),
    recipe("peer.outlier", "one-retrying", |chance| {
        let disease = format!("retry={:.3}", chance.even(0.6, 0.93));
        shelf(chance, &["device.retry", "device.slow"], disease)
    }),
];

/// Evenly loaded disks of one kind; one of them has the disease.
fn shelf(chance: &mut Chance, also: &[&'static str], disease: String) -> Plan {
    let sick = {
        let disks = chance.whole(5, 18);
        (chance.whole(0, disks - 1), disks)
    };
    let mut disks = even_shelf(chance, sick.1);
    if let Some(disk) = disks.get_mut(sick.0) {
        disk.diseases.push(disease);
    }
    let truth = Truth::sick("peer.outlier", sick.0).or(also);
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
