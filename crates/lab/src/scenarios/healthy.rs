//! Scenarios in which nothing is wrong, and scenarios without enough evidence.

use iowhy_model::Op;

use super::parts::{
    lookups, nvme, platter, platter_of, platter_rate, sata_ssd, scan, stream, visitors, volume,
};
use super::{Chance, Pace, Place, Plan, Recipe, Truth, recipe};

/// Recipes of this family.
pub(super) const RECIPES: &[Recipe] = &[
    recipe("healthy", "platter-scan", |chance| {
        let (disk, _) = platter(chance, "");
        let load = scan(chance);
        plan(disk.under(load), chance)
    }),
    recipe("healthy", "platter-lookups", |chance| {
        let (disk, _) = platter(chance, "");
        let think = chance.scale(2e5, 2e7);
        let load = lookups(chance, 1, think);
        plan(disk.under(load), chance)
    }),
    recipe("healthy", "platter-visitors", |chance| {
        let (disk, _) = platter(chance, "");
        let rate = platter_rate(&disk) * chance.even(0.05, 0.3);
        let load = visitors(chance, rate);
        plan(disk.under(load), chance)
    }),
    recipe("healthy", "platter-cached-writes", |chance| {
        let (disk, _) = platter(chance, ",cache=32M");
        let pace = Pace::Poisson(chance.scale(5.0, 40.0));
        let load = stream(Op::Write, &[4, 8, 16, 64], Place::Anywhere, pace, "kworker/u8:2");
        plan(disk.under(load), chance)
    }),
    recipe("healthy", "ssd-lookups", |chance| {
        let disk = sata_ssd(chance, "");
        let (depth, think) = (chance.whole(1, 4), chance.scale(2e5, 1e7));
        let load = lookups(chance, depth, think);
        plan(disk.under(load), chance)
    }),
    recipe("healthy", "ssd-scan", |chance| {
        let disk = sata_ssd(chance, "");
        let load = scan(chance);
        plan(disk.under(load), chance)
    }),
    recipe("healthy", "nvme-visitors", |chance| {
        let disk = nvme(chance, "");
        let rate = chance.scale(50.0, 2000.0);
        let load = visitors(chance, rate);
        plan(disk.under(load), chance)
    }),
    recipe("healthy", "nvme-read-and-write", |chance| {
        let disk = nvme(chance, "");
        let pace = Pace::Poisson(chance.scale(20.0, 300.0));
        let writes = stream(Op::Write, &[4, 8, 16], Place::Anywhere, pace, "kworker/u16:1");
        let rate = chance.scale(50.0, 1000.0);
        let load = visitors(chance, rate);
        plan(disk.under(load).under(writes), chance)
    }),
    recipe("healthy", "volume-visitors", |chance| {
        let disk = volume(chance, 3000, "125M");
        let rate = chance.scale(20.0, 900.0);
        let load = visitors(chance, rate);
        plan(disk.under(load), chance)
    }),
    recipe("healthy", "several-platters", |chance| {
        let count = chance.whole(4, 12);
        let rpm = chance.pick(&[7200, 7200, 10_000]);
        let mut disks = Vec::new();
        for place in 0..count {
            let disk = platter_of(chance, rpm, "").named(&letter(place));
            let rate = platter_rate(&disk) * chance.even(0.1, 0.3);
            let load = visitors(chance, rate);
            disks.push(disk.under(load));
        }
        let seconds = chance.even(5.0, 30.0);
        Plan::shelf(Truth::sound("healthy"), disks, seconds)
    }),
    recipe("insufficient", "a-few-lookups", |chance| {
        let (disk, _) = platter(chance, "");
        few_requests(chance, |chance| {
            let load = lookups(chance, 1, 4e8);
            disk.clone().under(load)
        })
    }),
    recipe("insufficient", "a-few-with-a-slow-one", |chance| {
        let (disk, _) = platter(chance, "");
        let disk = disk.with_fault(format!("stall=7s/{:.0}ms", chance.even(150.0, 900.0)));
        few_requests(chance, |chance| {
            let load = lookups(chance, 1, 1e9);
            disk.clone().under(load)
        })
    }),
    recipe("insufficient", "a-few-on-flash", |chance| {
        let disk = sata_ssd(chance, "").with_fault(format!("slow={:.1}", chance.scale(5.0, 40.0)));
        few_requests(chance, |chance| {
            let load = lookups(chance, 1, 5e8);
            disk.clone().under(load)
        })
    }),
];

/// The name of the disk with this index: sda, sdb and so on.
pub(super) fn letter(place: usize) -> String {
    format!("sd{}", char::from(b'a' + (place as u8).min(25)))
}

fn plan(disk: super::Setup, chance: &mut Chance) -> Plan {
    let seconds = chance.scale(3.0, 30.0);
    let most = chance.scale(60.0, 6000.0) as usize;
    Plan::of(Truth::sound("healthy"), disk, seconds, most)
}

/// Three to eight requests: they prove nothing.
fn few_requests(chance: &mut Chance, disk: impl Fn(&mut Chance) -> super::Setup) -> Plan {
    let disk = disk(chance);
    let most = chance.whole(3, 8);
    let truth = Truth::sound("insufficient");
    Plan { most, ..Plan::of(truth, disk, chance.even(5.0, 15.0), most) }
}
