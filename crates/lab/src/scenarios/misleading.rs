//! Near misses: scenarios that look like a fault of the longer list and have another one, or none.

use iowhy_model::Op;

use super::effect::Cliff;
use super::parts::{
    lookups, nvme, platter, platter_of, platter_rate, sata_ssd, scan, stream, visitors, volume,
};
use super::peers::even_shelf;
use super::{Chance, Effect, MOST, Pace, Place, Plan, Recipe, Setup, Trace, Truth, misleading};

/// Recipes of this family.
pub(super) const RECIPES: &[Recipe] = &[
    misleading("healthy", "old-link-errors", |chance| {
        let (disk, _) = platter(chance, "");
        let rate = platter_rate(&disk) * chance.even(0.1, 0.3);
        let load = visitors(chance, rate);
        let errors = chance.whole(3, 900) as u64;
        alone(Truth::sound("healthy"), disk.under(load), chance).leaves([
            Trace::Attribute(0, 199, errors, errors),
            Trace::Log(-86_400.0 * 3.0, "ata3: hard resetting link".to_string()),
        ])
    }),
    misleading("healthy", "warm-and-well", |chance| {
        let disk = nvme(chance, "");
        let rate = chance.scale(50.0, 1000.0);
        let load = visitors(chance, rate);
        alone(Truth::sound("healthy"), disk.under(load), chance).leaves([Trace::Celsius(0, 66)])
    }),
    misleading("healthy", "program-limits-itself", |chance| {
        let disk = volume(chance, 16_000, "1000M");
        let rate = chance.pick(&[100.0, 250.0, 500.0]);
        let load = stream(Op::Read, &[16], Place::Anywhere, Pace::Even(rate), "rclone");
        let truth = Truth::sound("healthy").or(&["layer.remote"]);
        let plan = alone(truth, disk.under(load), chance);
        Plan { seconds: 30.0, listed: MOST, ..plan }
    }),
    misleading("healthy", "demand-ends", |chance| {
        let disk = volume(chance, 16_000, "1000M");
        let mut first = lookups(chance, 8, 1e6);
        first.during = (0.0, 0.4);
        let second = visitors(chance, 100.0);
        let truth = Truth::sound("healthy").or(&["layer.remote"]);
        let plan = alone(truth, disk.under(first).under(second), chance);
        Plan { seconds: 20.0, most: 40_000, listed: 40_000, ..plan }
    }),
    misleading("healthy", "misaligned-on-purpose", |chance| {
        let (disk, _) = platter(chance, ",cache=64M");
        let pace = Pace::Poisson(chance.scale(5.0, 30.0));
        let mut load = stream(Op::Write, &[4, 8], Place::Anywhere, pace, "kworker/u8:2");
        load.shift = (63 * 512, 1.0);
        let size = |file, value: &str| Trace::Setting(0, file, value.to_string());
        alone(Truth::sound("healthy"), disk.under(load), chance).leaves([
            size("queue/physical_block_size", "4096"),
            size("queue/logical_block_size", "512"),
        ])
    }),
    misleading("healthy", "flushes-that-cost-nothing", |chance| {
        let disk = nvme(chance, "");
        let pace = Pace::Closed(1, chance.scale(5e5, 4e6));
        let mut load = stream(Op::Write, &[8, 16], Place::Onwards, pace, "postgres");
        load.flush_every = 1;
        let truth = Truth::sound("healthy").or(&["load.small-sync"]);
        alone(truth, disk.under(load), chance)
    }),
    misleading("healthy", "quick-guest-disk", |chance| {
        let disk = nvme(chance, "").named("vda");
        let rate = chance.scale(50.0, 800.0);
        let load = visitors(chance, rate);
        alone(Truth::sound("healthy"), disk.under(load), chance)
    }),
    misleading("healthy", "cold-after-a-pause", |chance| {
        let (disk, _) = platter(chance, "");
        // After the pause it seeks, then it continues where it was: no constant cost.
        let mut seek = lookups(chance, 1, 1.0);
        seek.pace = Pace::Pauses(5e8, 6e9);
        let pace = Pace::Closed(1, chance.scale(2e7, 8e7));
        let run = stream(Op::Read, &[64], Place::Runs(12), pace, "less");
        let plan = alone(Truth::sound("healthy"), disk.under(seek).under(run), chance);
        Plan { seconds: 40.0, ..plan }
    }),
    misleading("healthy", "cache-off-scattered-writes", |chance| {
        let (disk, _) = platter(chance, "");
        let pace = Pace::Closed(1, chance.scale(5e6, 3e7));
        let load = stream(Op::Write, &[4, 8, 16], Place::Anywhere, pace, "rsync");
        alone(Truth::sound("healthy"), disk.under(load), chance)
    }),
    misleading("healthy", "one-is-rebuilt", |chance| {
        let count = chance.whole(5, 10);
        let mut disks = even_shelf(chance, count);
        let target = chance.whole(0, count - 1);
        let pace = Pace::Closed(1, chance.scale(1e6, 1e7));
        let load = stream(Op::Write, &[512], Place::Onwards, pace, "md0_resync");
        if let Some(disk) = disks.get_mut(target) {
            disk.streams = vec![load];
        }
        Plan::shelf(Truth::sound("healthy").or(&["load.large-io"]), disks, 20.0)
    }),
    misleading("healthy", "shelf-of-two-models", |chance| {
        let disks = (0..chance.whole(6, 10))
            .map(|place| {
                let rpm = if place % 3 == 2 { 5400 } else { 7200 };
                let disk = platter_of(chance, rpm, "").named(&super::healthy::letter(place));
                let rate = platter_rate(&disk) * chance.even(0.1, 0.2);
                let load = visitors(chance, rate);
                disk.under(load)
            })
            .collect();
        Plan::shelf(Truth::sound("healthy"), disks, chance.even(10.0, 30.0))
    }),
    misleading("healthy", "deletes-with-writes", |chance| {
        let disk = sata_ssd(chance, "");
        let reads = visitors(chance, 100.0);
        let every = chance.even(3.0, 6.0) * 1e9;
        let trim = stream(
            Op::Discard,
            &[1024, 4096],
            Place::Onwards,
            Pace::Batches(every, 20, 2e6),
            "kworker/2:1H",
        );
        let writes = stream(
            Op::Write,
            &[16, 64],
            Place::Anywhere,
            Pace::Batches(every, 80, 2e4),
            "jbd2/sda1-8",
        );
        let truth = Truth::sound("healthy").or(&["load.rw-mix", "load.burst"]);
        alone(truth, disk.under(reads).under(trim).under(writes), chance)
    }),
    misleading("load.burst", "same-job-on-all", |chance| {
        let count = chance.whole(4, 8);
        let mut disks = even_shelf(chance, count);
        let every = chance.even(4.0, 8.0) * 1e9;
        let jobs = chance.whole(30, 80);
        for disk in &mut disks {
            let pace = Pace::Batches(every, jobs, 3e4);
            disk.streams.push(stream(Op::Read, &[4], Place::Anywhere, pace, "updatedb"));
        }
        let truth = Truth::sound("load.burst").or(&["load.saturated", "peer.shared", "healthy"]);
        Plan::shelf(truth, disks, chance.even(20.0, 40.0))
    }),
    misleading("load.saturated", "reads-and-writes-queue", |chance| {
        let (disk, _) = platter(chance, "");
        let depth = chance.whole(8, 20);
        let reads = lookups(chance, depth, 1e5);
        let pace = Pace::Batches(2e9, 60, 1e4);
        let writes = stream(Op::Write, &[8], Place::Anywhere, pace, "kworker/u8:3");
        let truth = Truth::sound("load.saturated").or(&["load.burst"]);
        alone(truth, disk.under(reads).under(writes), chance)
    }),
    misleading("insufficient", "thin-pool-is-full", |chance| {
        let disk = sata_ssd(chance, "").named("dm-2");
        let disk = Setup { medium: iowhy_model::Medium::Stacked, ..disk };
        let pace = Pace::Poisson(chance.scale(20.0, 100.0));
        let load = stream(Op::Write, &[4, 16], Place::Anywhere, pace, "qemu-kvm");
        let disk = disk.with(Effect::Rescue(0.2, 60_000_000, true)).under(load);
        let truth = Truth::sound("insufficient").or(&["healthy", "layer.above", "load.saturated"]);
        let say = |at, text: &str| Trace::Log(at, text.to_string());
        alone(truth, disk, chance).leaves([
            say(
                0.5,
                "device-mapper: thin: 253:1: reached low water mark for data device: sending \
                      event.",
            ),
            say(
                1.0,
                "device-mapper: thin: 253:1: switching pool to out-of-data-space (queue IO) \
                      mode",
            ),
            say(2.0, "Buffer I/O error on dev dm-2, logical block 5504, lost async page write"),
        ])
    }),
    misleading("device.write-cliff", "cliff-of-a-warm-disk", |chance| {
        let disk = nvme(chance, ",program=100us");
        let cliff = Cliff::new(4e8, 1e9, 1e8, 4e8);
        let mut disk = disk.with(Effect::Cliff(cliff));
        for k in 0..3 {
            let pace = Pace::Closed(1, 2e6);
            let mut load = stream(Op::Write, &[512], Place::Onwards, pace, "cp");
            load.during = (f64::from(k) / 3.0, (f64::from(k) + 0.65) / 3.0);
            disk = disk.under(load);
        }
        let plan = Plan::of(Truth::faulty("device.write-cliff", 0), disk, 30.0, 25_000);
        Plan { most: 25_000, ..plan }.leaves([Trace::Celsius(0, 64)])
    }),
    misleading("device.stall", "outliers-of-any-length", |chance| {
        let (disk, _) = platter(chance, "");
        let load = scan(chance);
        let mut disk = disk.under(load);
        for _ in 0..7 {
            let long = chance.scale(4e8, 2.5e10) as u64;
            disk.effects.push(Effect::Rescue(0.0012, long, false));
        }
        let truth = Truth::faulty("device.stall", 0).or(&["device.slow", "device.media"]);
        let most = chance.scale(700.0, 2000.0) as usize;
        Plan::of(truth, disk, 900.0, most)
    }),
];

fn alone(truth: Truth, disk: Setup, chance: &mut Chance) -> Plan {
    let (seconds, most) = (chance.even(8.0, 30.0), chance.scale(150.0, 4000.0) as usize);
    Plan::of(truth, disk, seconds, most)
}
