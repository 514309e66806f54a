//! Scenarios that look like a fault without having one, and scenarios with two at once.

use iowhy_model::Op;

use super::parts::{
    lookups, nvme, platter, platter_rate, sata_ssd, scan, stream, visitors, volume,
};
use super::peers::even_shelf;
use super::{Chance, MOST, Pace, Place, Plan, Quirk, Recipe, Setup, Truth, misleading};

/// Right answers where some steps in the latency come from a clock.
const PERIODIC: &[&str] = &["device.periodic-delay", "healthy", "insufficient"];
/// Right answers where everything stalled at once.
const TOGETHER: &[&str] = &["healthy", "insufficient", "peer.shared", "layer.above"];

/// Recipes of this family.
pub(super) const RECIPES: &[Recipe] = &[
    misleading("healthy", "busier-peer", |chance| {
        let count = chance.whole(5, 14);
        let mut disks = even_shelf(chance, count);
        let busy = chance.whole(0, count - 1);
        let times = chance.even(2.0, 3.0);
        if let Some(disk) = disks.get_mut(busy) {
            let rate = platter_rate(disk) * 0.15 * times;
            let load = visitors(chance, rate);
            disk.streams = vec![load];
        }
        let truth = Truth::sound("healthy").or(&["load.saturated"]);
        Plan::shelf(truth, disks, chance.even(8.0, 30.0))
    }),
    misleading("healthy", "even-shelf", |chance| {
        let count = chance.whole(3, 18);
        let disks = even_shelf(chance, count);
        let (truth, seconds) = (Truth::sound("healthy"), chance.even(3.0, 30.0));
        Plan::shelf(truth, disks, seconds)
    }),
    misleading("healthy", "mixed-sizes", |chance| {
        let (disk, _) = platter(chance, "");
        let pace = Pace::Closed(1, chance.scale(1e5, 5e6));
        let place = chance.pick(&[Some(Place::Onwards), Some(Place::Anywhere)]);
        let sizes = &[4, 16, 64, 256, 1024];
        let load = stream(Op::Read, sizes, place.unwrap_or(Place::Onwards), pace, "rsync");
        alone(Truth::sound("healthy").or(&["load.large-io"]), disk.under(load), chance)
    }),
    misleading("healthy", "timer-of-4-ms", |chance| {
        let disk = volume(chance, 3000, "125M");
        let load = lookups(chance, 1, 5e5);
        let plan = alone(Truth::sound("healthy").or(PERIODIC), disk.under(load), chance);
        Plan { quirk: Quirk::Timer(4_000_000, chance.even(0.1, 0.9)), ..plan }
    }),
    misleading("healthy", "host-pause", |chance| {
        let count = chance.whole(4, 8);
        let mut disks = even_shelf(chance, count);
        let pause =
            format!("stall={:.2}s/{:.0}ms", chance.even(1.5, 5.0), chance.scale(80.0, 600.0));
        disks.iter_mut().for_each(|disk| disk.faults.push(pause.clone()));
        let truth = Truth::sound("healthy").or(TOGETHER);
        Plan::shelf(truth, disks, chance.even(12.0, 30.0))
    }),
    misleading("healthy", "flash-cleaning", |chance| {
        let disk = sata_ssd(chance, ",fresh=1M");
        let pace = Pace::Poisson(chance.scale(20.0, 100.0));
        let writes = stream(Op::Write, &[16], Place::Anywhere, pace, "kworker/u8:1");
        let rate = chance.scale(50.0, 300.0);
        let load = visitors(chance, rate);
        let truth = Truth::sound("healthy").or(&["load.rw-mix", "insufficient"]);
        alone(truth, disk.under(load).under(writes), chance)
    }),
    misleading("healthy", "scan-and-lookups", |chance| {
        let (disk, _) = platter(chance, "");
        let rate = chance.even(5.0, 15.0);
        let lookups = visitors(chance, rate);
        let pace = Pace::Closed(1, chance.scale(5e6, 2e7));
        let scan = stream(Op::Read, &[128], Place::Onwards, pace, "tar");
        alone(Truth::sound("healthy"), disk.under(scan).under(lookups), chance)
    }),
    misleading("healthy", "far-volume", |chance| {
        let disk = volume(chance, 16_000, "1000M");
        let (depth, think) = (chance.whole(1, 4), chance.scale(1e5, 1e7));
        let load = lookups(chance, depth, think);
        let truth = Truth::sound("healthy").or(&["layer.remote"]);
        alone(truth, disk.under(load), chance)
    }),
    misleading("load.large-io", "large-and-well", |chance| {
        let (disk, _) = platter(chance, "");
        let kib = chance.pick(&[512, 1024]);
        let pace = Pace::Closed(1, chance.scale(5e4, 2e6));
        let load = stream(Op::Read, &[kib], Place::Onwards, pace, "cat");
        alone(Truth::sound("load.large-io").or(&["healthy"]), disk.under(load), chance)
    }),
    misleading("healthy", "deep-on-flash", |chance| {
        let disk = nvme(chance, "");
        let depth = chance.whole(16, 32);
        let load = lookups(chance, depth, 1e5);
        let truth = Truth::sound("healthy").or(&["report.util-trap"]);
        let plan = alone(truth, disk.under(load), chance);
        Plan { listed: 20_000, ..plan }
    }),
    misleading("insufficient", "idle", |chance| {
        let count = chance.whole(1, 3);
        let mut disks = even_shelf(chance, count);
        disks.iter_mut().flat_map(|disk| &mut disk.streams).for_each(|stream| {
            stream.pace = Pace::Poisson(0.3);
        });
        let (truth, seconds) = (Truth::sound("insufficient").or(&["healthy"]), 10.0);
        Plan { most: 3, ..Plan::shelf(truth, disks, seconds) }
    }),
    misleading("device.retry", "retries-under-a-queue", |chance| {
        let (disk, _) = platter(chance, "");
        let disk = disk.with_fault(format!("retry={:.2}", chance.even(0.4, 0.8)));
        let pace = Pace::Closed(chance.whole(8, 24), 1e5);
        let load = stream(Op::Read, &[128], Place::Onwards, pace, "dd");
        let truth = Truth::faulty("device.retry", 0).or(&["load.saturated", "device.slow"]);
        alone(truth, disk.under(load), chance)
    }),
    misleading("device.stall", "stalls-and-bursts", |chance| {
        let (disk, _) = platter(chance, "");
        let disk = disk.with_fault(format!("stall={:.1}s/300ms", chance.even(1.0, 3.0)));
        let pace = Pace::Batches(1.5e9, chance.whole(20, 60), 8e3);
        let writes = stream(Op::Write, &[64], Place::Onwards, pace, "kworker/u8:0");
        let load = lookups(chance, 1, 2e7);
        let truth = Truth::faulty("device.stall", 0).or(&["load.burst", "load.saturated"]);
        Plan { listed: MOST, ..alone(truth, disk.under(load).under(writes), chance) }
    }),
    misleading("device.slow", "slow-and-large", |chance| {
        let (disk, _) = platter(chance, "");
        let disk = disk.with_fault(format!("slow={:.1}", chance.scale(4.0, 12.0)));
        let mut load = scan(chance);
        load.bytes = vec![1 << 20];
        alone(Truth::faulty("device.slow", 0).or(&["load.large-io"]), disk.under(load), chance)
    }),
];

fn alone(truth: Truth, disk: Setup, chance: &mut Chance) -> Plan {
    let (seconds, most) = (chance.even(5.0, 25.0), chance.scale(100.0, 4000.0) as usize);
    Plan::of(truth, disk, seconds, most)
}
