//! Scenarios whose disk cannot read an area, gives up after a time limit, or has a faulty path to
//! the host.

use super::parts::{lookups, nvme, platter, platter_rate, sata_ssd, scan, visitors};
use super::peers::even_shelf;
use super::{Chance, Effect, LogEvent, Plan, Port, Recipe, Setup, Trace, Truth, compound};

/// Recipes of this family.
pub(super) const RECIPES: &[Recipe] = &[
    compound("device.media", "unreadable-places", |chance| {
        let (disk, _) = platter(chance, "");
        media(disk, true, chance)
    }),
    compound("device.media", "weak-places", |chance| {
        let (disk, _) = platter(chance, "");
        media(disk, false, chance)
    }),
    compound("device.media", "unreadable-flash", |chance| {
        let disk = sata_ssd(chance, "");
        media(disk, true, chance)
    }),
    compound("device.path", "port-with-several", |chance| {
        let count = chance.whole(5, 9);
        let behind = chance.whole(2, 4);
        let disks = even_shelf(chance, count);
        path(disks, behind, chance)
    }),
    compound("device.path", "cable", |chance| {
        let (disk, _) = platter(chance, "");
        let rate = platter_rate(&disk) * chance.even(0.1, 0.4);
        let load = visitors(chance, rate);
        path(vec![disk.under(load)], 1, chance)
    }),
    compound("device.path", "cable-of-flash", |chance| {
        let disk = sata_ssd(chance, "");
        let rate = chance.scale(20.0, 200.0);
        let load = visitors(chance, rate);
        path(vec![disk.under(load)], 1, chance)
    }),
    compound("device.path", "nvme-controller", |chance| {
        let disk = nvme(chance, "");
        let rate = chance.scale(20.0, 200.0);
        let load = visitors(chance, rate);
        path(vec![disk.under(load)], 1, chance)
    }),
    compound("device.recovery", "drive-gives-up", |chance| {
        let (disk, _) = platter(chance, "");
        recovery(disk, chance.pick(&[(7.0, 70), (7.0, 70), (15.0, 150)]), chance)
    }),
    compound("device.recovery", "kernel-gives-up", |chance| {
        let (disk, _) = platter(chance, "");
        recovery(disk, chance.pick(&[(30.0, 0), (30.0, 0), (10.0, 0), (60.0, 0)]), chance)
    }),
    compound("device.recovery", "flash-gives-up", |chance| {
        let disk = sata_ssd(chance, "");
        recovery(disk, chance.pick(&[(30.0, 0), (10.0, 0), (20.0, 0)]), chance)
    }),
];

/// Some parts of the range that is read are worn.
fn media(disk: Setup, fails: bool, chance: &mut Chance) -> Plan {
    let room = chance.pick(&[128u64, 192, 256]) << 20;
    let places = (0..chance.whole(3, 6)).map(|_| {
        let length = chance.pick(&[128u64, 256, 512]) << 10;
        // The last 16 MiB are never accessed.
        (chance.bits() % (room - (20 << 20)), length)
    });
    let places = places.collect();
    let tries = chance.scale(3e8, 3e9) as u64;
    let mut load = lookups(chance, 1, 2e6);
    load.bytes = vec![chance.pick(&[16, 32, 64]) << 10];
    load.within = Some(room);
    let disk = disk.with(Effect::Scars(places, tries, fails)).under(load);
    let (pending, remapped) = (chance.whole(8, 64) as u64, chance.whole(0, 24) as u64);
    let truth = Truth::faulty("device.media", 0);
    let most = chance.scale(1200.0, 4000.0) as usize;
    let mut traces = vec![
        Trace::Attribute(0, 197, pending / 2, pending),
        Trace::Attribute(0, 5, remapped, remapped),
    ];
    if fails {
        traces.push(Trace::Complaints(0, LogEvent::Medium));
        traces.push(Trace::Attribute(0, 187, 0, chance.whole(1, 30) as u64));
    }
    Plan::of(truth, disk, 400.0, most).leaves(traces)
}

/// The link of the first disks goes away now and then.
fn path(mut disks: Vec<Setup>, behind: usize, chance: &mut Chance) -> Plan {
    let seconds = chance.even(40.0, 80.0);
    let times: Vec<(u64, u64)> = (0..chance.whole(2, 4))
        .map(|k| {
            let at = seconds * (0.1 + 0.22 * k as f64) + chance.even(0.0, 3.0);
            ((at * 1e9) as u64, chance.scale(1e9, 6e9) as u64)
        })
        .collect();
    let count = disks.len();
    disks.iter_mut().take(behind).for_each(|disk| {
        disk.effects.push(Effect::Away(times.clone()));
    });
    let mut traces = Vec::new();
    let is_nvme = disks.iter().any(|disk| disk.name.starts_with("nvme"));
    for (at, length) in &times {
        let (at, length) = (*at as f64 / 1e9, *length as f64 / 1e9);
        let mut say = |later: f64, text: String| traces.push(Trace::Log(at + later, text));
        if is_nvme {
            let name = disks[0].name.trim_end_matches("n1");
            say(0.9 * length, format!("nvme {name}: I/O 512 QID 4 timeout, reset controller"));
            say(length, format!("nvme {name}: 8/0/0 default/read/poll queues"));
            continue;
        }
        let port = if count > 1 { 7 } else { 3 };
        say(
            0.001,
            format!("ata{port}.00: exception Emask 0x10 SAct 0x40 SErr 0x400100 action 0x6 frozen"),
        );
        say(0.001, format!("ata{port}: SError: {{ UnrecovData Handshk }}"));
        say(0.002, format!("ata{port}: hard resetting link"));
        say(length, format!("ata{port}: SATA link up 3.0 Gbps (SStatus 123 SControl 320)"));
    }
    for place in 0..count {
        let faulty = place < behind;
        let port = match (count > 1, faulty) {
            (true, true) => Port::Expander(7),
            (true, false) => Port::Ata(10 + place),
            _ => Port::Ata(3),
        };
        if !is_nvme {
            traces.push(Trace::Port(place, port));
        }
        if faulty && !is_nvme {
            let before = chance.whole(0, 40) as u64;
            traces.push(Trace::Attribute(place, 199, before, before + times.len() as u64 * 9));
            traces.push(Trace::Link(place, "3.0 Gb/s", "6.0 Gb/s"));
        }
    }
    let truth = Truth { faulty: true, ..Truth::sound("device.path") };
    let truth = if count == 1 { Truth::faulty("device.path", 0) } else { truth };
    Plan { listed: 20_000, ..Plan::shelf(truth, disks, seconds) }.leaves(traces)
}

/// Some requests end only at a limit: seconds, and the drive's own setting in deciseconds.
fn recovery(disk: Setup, (limit, drive): (f64, u64), chance: &mut Chance) -> Plan {
    let flash = disk.model.starts_with("ssd");
    let most = chance.scale(250.0, 2000.0) as usize;
    let load = if flash { lookups(chance, 1, 5e6) } else { scan(chance) };
    let fails = chance.chance(0.5);
    let share = chance.even(8.0, 14.0) / most as f64;
    let disk = disk.with(Effect::Rescue(share, (limit * 1e9) as u64, fails)).under(load);
    let seconds = (limit * 25.0).max(120.0);
    let mut traces =
        vec![Trace::Complaints(0, if drive > 0 { LogEvent::Medium } else { LogEvent::Timeout })];
    traces.push(Trace::Recovery(0, drive));
    let kernel = if drive > 0 { 30.0 } else { limit };
    traces.push(Trace::Setting(0, "device/timeout", format!("{kernel:.0}")));
    if fails {
        traces.push(Trace::Attribute(0, 197, 0, chance.whole(1, 9) as u64));
    }
    // A sector that a drive gives up is one it cannot read.
    let also: &[&str] = if drive > 0 { &["device.media"] } else { &[] };
    Plan::of(Truth::faulty("device.recovery", 0).or(also), disk, seconds, most).leaves(traces)
}
