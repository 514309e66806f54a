//! Scenarios whose report is wrong or misleading.

use super::parts::{lookups, nvme, platter, sata_ssd, scan, volume};
use super::{Chance, Plan, Quirk, Recipe, Setup, Truth, at_a, recipe};

/// Recipes of this family.
pub(super) const RECIPES: &[Recipe] = &[
    recipe("report.inconsistent", "queue-or-other-window", |chance| {
        let (disk, _) = platter(chance, "");
        let load = scan(chance);
        let factor =
            if chance.chance(0.5) { 1.0 / chance.scale(3.0, 8.0) } else { chance.scale(3.0, 8.0) };
        wrong(disk.under(load), Quirk::Queue(factor), chance)
    }),
    recipe("report.inconsistent", "bytes-or-other-window", |chance| {
        let disk = sata_ssd(chance, "");
        let (depth, think) = (chance.whole(1, 3), chance.scale(2e5, 2e6));
        let load = lookups(chance, depth, think);
        let factor = chance.pick(&[2.0, 8.0, 2048.0]);
        wrong(disk.under(load), Quirk::Bytes(factor), chance)
    }),
    recipe("report.inconsistent", "two-listings", |chance| {
        let (disk, _) = platter(chance, "");
        let think = chance.scale(1e6, 1e7);
        let load = lookups(chance, 1, think);
        let factor = elsewhere(chance);
        wrong(disk.under(load), Quirk::Elsewhere(factor), chance)
    }),
    at_a("report.util-trap", "nvme-rising", |chance| {
        let disk = nvme(chance, ",read=180us");
        trap(disk, (3, 5), chance)
    }),
    at_a("report.util-trap", "ssd-rising", |chance| {
        let disk = sata_ssd(chance, ",read=180us");
        trap(disk, (2, 3), chance)
    }),
    at_a("report.util-trap", "volume-rising", |chance| {
        let disk = volume(chance, 16_000, "1000M");
        trap(disk, (3, 8), chance)
    }),
];

/// How far the second listing is off: more than twice, yet not as if the disk were another one.
fn elsewhere(chance: &mut Chance) -> f64 {
    let factor = chance.scale(2.3, 4.0);
    if chance.chance(0.5) { factor } else { 1.0 / factor }
}

fn wrong(disk: Setup, quirk: Quirk, chance: &mut Chance) -> Plan {
    let (seconds, most) = (chance.even(6.0, 20.0), chance.scale(200.0, 4000.0) as usize);
    let plan = Plan::of(Truth::sound("report.inconsistent"), disk, seconds, most);
    Plan { quirk, ..plan }
}

/// First this many in flight, then three times as many: the disk is never idle, the rate triples
/// and the latency stays.
fn trap(disk: Setup, depth: (usize, usize), chance: &mut Chance) -> Plan {
    let depth = chance.whole(depth.0, depth.1);
    let first = lookups(chance, depth, 4e3);
    let mut second = lookups(chance, 2 * depth, 4e3);
    second.bytes.clone_from(&first.bytes);
    second.during = (0.5, 1.0);
    let truth = Truth::sound("report.util-trap");
    let plan = Plan::of(truth, disk.under(first).under(second), chance.even(3.0, 6.0), 0);
    Plan { most: 500_000, ..plan }
}
