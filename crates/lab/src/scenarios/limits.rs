//! Scenarios in which the host delays requests: a control group's limit, a scheduler, too few
//! requests.

use super::parts::{lookups, nvme, platter, sata_ssd, visitors};
use super::{Chance, Host, Limit, Pace, Plan, Recipe, Setup, Trace, Truth, recipe};

/// Recipes of this family.
pub(super) const RECIPES: &[Recipe] = &[
    recipe("cap.cgroup", "io-max-on-flash", |chance| {
        let disk = if chance.chance(0.5) { nvme(chance, "") } else { sata_ssd(chance, "") };
        let iops = chance.scale(40.0, 600.0).round();
        group(disk, iops, true, chance)
    }),
    recipe("cap.cgroup", "io-max-on-a-platter", |chance| {
        let (disk, _) = platter(chance, "");
        let iops = chance.even(8.0, 25.0).round();
        group(disk, iops, true, chance)
    }),
    recipe("cap.cgroup", "io-latency-or-cost", |chance| {
        let disk = if chance.chance(0.5) { nvme(chance, "") } else { sata_ssd(chance, "") };
        let iops = chance.scale(40.0, 600.0).round();
        group(disk, iops, false, chance)
    }),
    recipe("cfg.scheduler", "one-at-a-time", |chance| {
        let disk = sata_ssd(chance, "");
        scheduler(disk, "bfq", 1, 0, chance)
    }),
    recipe("cfg.scheduler", "waits-for-the-same-process", |chance| {
        let disk = if chance.chance(0.5) { nvme(chance, "") } else { sata_ssd(chance, "") };
        // slice_idle of bfq is 8 ms (block/bfq-iosched.c).
        let idling = chance.pick(&[2_000_000, 4_000_000, 8_000_000]);
        scheduler(disk, "bfq", 1, idling, chance)
    }),
    recipe("cfg.scheduler", "few-at-a-time", |chance| {
        let disk = nvme(chance, "");
        let dispatched = chance.whole(2, 4);
        scheduler(disk, "kyber", dispatched, 0, chance)
    }),
    recipe("cfg.scheduler", "few-requests", |chance| {
        let disk = nvme(chance, "");
        let requests = chance.whole(2, 6);
        let depth = chance.whole(24, 96);
        let load = lookups(chance, depth, 2e4);
        let host = Host { requests, ..disk.host };
        let disk = Setup { host, ..disk }.under(load);
        let traces = [setting("queue/nr_requests", requests.to_string())];
        configured(disk, chance).leaves(traces)
    }),
];

fn setting(file: &'static str, value: String) -> Trace {
    Trace::Setting(0, file, value)
}

/// A group wants more than it may; others are served at once.
fn group(disk: Setup, iops: f64, unseen: bool, chance: &mut Chance) -> Plan {
    let cgroup = chance.pick(&["/system.slice/db.service", "/machine.slice/vm3", "/batch.slice"]);
    let depth = chance.whole(2, 16);
    let mut load = lookups(chance, depth, 5e4);
    load.cgroup = Some(cgroup);
    load.calls = (unseen || chance.chance(0.4)).then_some(5_000.0);
    let mut other = visitors(chance, (iops * 0.1).max(1.0));
    other.cgroup = Some("/user.slice");
    let limit = Limit { cgroup, iops, unseen };
    let host = Host { limit: Some(limit), ..disk.host };
    let mut disk = Setup { host, ..disk }.under(load);
    if chance.chance(0.5) {
        disk = disk.under(other);
    }
    let file = if unseen {
        format!("/sys/fs/cgroup{cgroup}/io.max:{{}} rbps=max wbps=max riops={iops} wiops=max")
    } else {
        let target = chance.pick(&[200, 500, 1000]);
        format!("/sys/fs/cgroup/system.slice/web.service/io.latency:{{}} target={target}")
    };
    let share = chance.even(50.0, 97.0);
    let most = chance.scale(200.0, 4000.0) as usize;
    Plan::of(Truth::sound("cap.cgroup"), disk, chance.even(15.0, 40.0), most)
        .leaves([Trace::Group(0, file), Trace::Pressure(share, share * 0.6)])
}

/// The disk could take more at once than the scheduler lets it.
fn scheduler(
    disk: Setup,
    name: &'static str,
    dispatched: usize,
    idling: u64,
    chance: &mut Chance,
) -> Plan {
    let depth = chance.whole(8, 24);
    let host = Host { dispatched, idling, ..disk.host };
    let mut disk = Setup { host, ..disk };
    for _ in 0..if idling > 0 { 3 } else { 1 } {
        let mut load = lookups(chance, depth, 5e4);
        if idling > 0 {
            load.pace = Pace::Closed(chance.whole(2, 6), 5e4);
        }
        disk = disk.under(load);
    }
    configured(disk, chance)
        .leaves([setting("queue/scheduler", format!("none mq-deadline [{name}]"))])
}

fn configured(disk: Setup, chance: &mut Chance) -> Plan {
    let most = chance.scale(250.0, 6000.0) as usize;
    Plan::of(Truth::sound("cfg.scheduler"), disk, chance.even(6.0, 20.0), most)
}
