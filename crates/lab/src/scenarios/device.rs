//! Scenarios whose disk is faulty: slow, rereading, or stalled.

use iowhy_model::Op;

use super::parts::{
    lookups, nvme, platter, platter_rate, sata_ssd, scan, stream, visitors, volume,
};
use super::{Chance, MOST, Pace, Place, Plan, Recipe, Setup, Truth, at_d, recipe};

/// Recipes of this family.
pub(super) const RECIPES: &[Recipe] = &[
    recipe("device.hang", "platter-once", |chance| {
        let (disk, _) = platter(chance, "");
        let rate = platter_rate(&disk) * chance.even(0.1, 0.3);
        let load = visitors(chance, rate);
        hang(disk.under(load), chance)
    }),
    recipe("device.hang", "nvme-once", |chance| {
        let disk = nvme(chance, "");
        let rate = chance.scale(30.0, 300.0);
        let load = visitors(chance, rate);
        hang(disk.under(load), chance)
    }),
    recipe("device.retry", "mild", |chance| retry(chance, (0.08, 0.35), (80.0, 900.0))),
    recipe("device.retry", "often", |chance| retry(chance, (0.3, 0.7), (40.0, 500.0))),
    recipe("device.retry", "severe", |chance| retry(chance, (0.88, 0.96), (30.0, 200.0))),
    recipe("device.slow", "platter-scan", |chance| {
        let (disk, _) = platter(chance, "");
        let load = scan(chance);
        slow(disk.under(load), (4.0, 20.0), chance)
    }),
    recipe("device.slow", "platter-lookups", |chance| {
        let (disk, _) = platter(chance, "");
        let think = chance.scale(1e5, 1e7);
        let load = lookups(chance, 1, think);
        slow(disk.under(load), (4.0, 12.0), chance)
    }),
    recipe("device.slow", "platter-visitors", |chance| {
        let (disk, _) = platter(chance, "");
        let factor = chance.scale(4.0, 10.0);
        // Rate so that the faulty disk is busy for six to nine tenths of the time: a queue, but
        // none that a healthy disk would have.
        let rate = platter_rate(&disk) / factor * chance.even(0.6, 0.9);
        let load = visitors(chance, rate);
        slow(disk.under(load), (factor, factor), chance)
    }),
    recipe("device.slow", "nvme-lookups", |chance| {
        let disk = nvme(chance, "");
        let (depth, think) = (chance.whole(1, 3), chance.scale(1e5, 5e6));
        let load = lookups(chance, depth, think);
        slow(disk.under(load), (15.0, 80.0), chance)
    }),
    // Some milliseconds on a disk called sda: a platter's own time, unless it is known to be flash.
    at_d("device.slow", "ssd-lookups", |chance| {
        let disk = sata_ssd(chance, "");
        let (depth, think) = (chance.whole(1, 3), chance.scale(1e5, 5e6));
        let load = lookups(chance, depth, think);
        slow(disk.under(load), (15.0, 80.0), chance)
    }),
    recipe("device.slow", "nvme-visitors", |chance| {
        let disk = nvme(chance, "");
        let rate = chance.scale(30.0, 400.0);
        let load = visitors(chance, rate);
        slow(disk.under(load), (20.0, 120.0), chance)
    }),
    recipe("device.stall", "platter-scan", |chance| {
        let (disk, _) = platter(chance, "");
        let load = scan(chance);
        stall(disk.under(load), chance)
    }),
    recipe("device.stall", "platter-visitors", |chance| {
        let (disk, _) = platter(chance, "");
        let rate = platter_rate(&disk) * chance.even(0.1, 0.3);
        let load = visitors(chance, rate);
        stall(disk.under(load), chance)
    }),
    recipe("device.stall", "ssd-lookups", |chance| {
        let disk = sata_ssd(chance, "");
        let (depth, think) = (chance.whole(1, 8), chance.scale(5e6, 4e7));
        let load = lookups(chance, depth, think);
        stall(disk.under(load), chance)
    }),
    recipe("device.stall", "nvme-writes", |chance| {
        let disk = nvme(chance, "");
        let pace = Pace::Poisson(chance.scale(50.0, 600.0));
        let load = stream(Op::Write, &[4, 8, 16], Place::Anywhere, pace, "postgres");
        stall(disk.under(load), chance)
    }),
    recipe("device.stall", "volume-visitors", |chance| {
        let disk = volume(chance, 3000, "125M");
        let rate = chance.scale(30.0, 300.0);
        let load = visitors(chance, rate);
        stall(disk.under(load), chance)
    }),
];

fn retry(chance: &mut Chance, severity: (f64, f64), events: (f64, f64)) -> Plan {
    let (disk, rpm) = platter(chance, "");
    let disk = disk.with_fault(format!("retry={:.3}", chance.even(severity.0, severity.1)));
    let load = scan(chance);
    let most = chance.scale(events.0, events.1) as usize;
    let truth = Truth { rpm: Some(rpm), ..Truth::faulty("device.retry", 0) };
    Plan::of(truth, disk.under(load), 40.0, most)
}

fn slow(disk: Setup, factor: (f64, f64), chance: &mut Chance) -> Plan {
    let disk = disk.with_fault(format!("slow={:.2}", chance.scale(factor.0, factor.1)));
    let most = chance.scale(40.0, 3000.0) as usize;
    Plan::of(Truth::faulty("device.slow", 0), disk, chance.even(5.0, 30.0), most)
}

/// One freeze of 0.5 to 6 s.
fn hang(disk: Setup, chance: &mut Chance) -> Plan {
    let every = chance.even(8.0, 15.0);
    let length = chance.scale(0.5, 6.0);
    // The first ends after `every`; the watch ends before the second.
    let seconds = every + 0.8 * (every - length);
    let disk = disk.with_fault(format!("stall={:.0}ms/{:.0}ms", every * 1e3, length * 1e3));
    Plan::of(Truth::faulty("device.hang", 0), disk, seconds, MOST)
}

/// Three stalls or more, at even intervals or (two rhythms at once) at uneven ones.
fn stall(disk: Setup, chance: &mut Chance) -> Plan {
    let rhythm = |chance: &mut Chance, longest: f64| {
        let every = chance.scale(0.8, 4.0);
        let length = chance.scale(0.12, longest.min(every * 0.5));
        format!("stall={:.0}ms/{:.0}ms", every * 1e3, length * 1e3)
    };
    let mut disk = {
        let first = rhythm(chance, 0.9);
        disk.with_fault(first)
    };
    if chance.chance(0.4) {
        let second = rhythm(chance, 0.3);
        disk = disk.with_fault(second);
    }
    Plan::of(Truth::faulty("device.stall", 0), disk, chance.even(14.0, 30.0), MOST)
}
