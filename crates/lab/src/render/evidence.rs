//! Evidence beside a trace: the kernel's log, health records, mounts, control groups, pressure,
//! settings. A quiet machine has some, too.

use std::fmt::Write;

use super::{Input, health, pauses, settings};
use crate::scenarios::{Chance, DiskRun, LogEvent, Scenario, Trace};

/// Messages of a healthy machine.
const QUIET: [&str; 4] = [
    "EXT4-fs (vda1): mounted filesystem with ordered data mode. Quota mode: none.",
    "systemd[1]: Reached target Local File Systems.",
    "audit: type=1400 audit(1795251662.101:92): apparmor=\"STATUS\" operation=\"profile_load\"",
    "IPv6: ADDRCONF(NETDEV_CHANGE): eth0: link becomes ready",
];
/// From this latency on the kernel reports a request that meets a surface fault, ns.
const LONG: u64 = 1_000_000_000;
/// Share of the machines whose log contains an old fault of another port.
const OLD_FAULT: f64 = 0.07;

/// All of it.
pub(super) fn inputs(scenario: &Scenario, taste: &mut Chance) -> Vec<Input> {
    let mut inputs = vec![
        Input { name: "dmesg.txt", text: log(scenario, taste) },
        Input { name: "mountinfo.txt", text: mounts(scenario) },
        Input { name: "pressure.txt", text: pressure(scenario, taste) },
        Input { name: settings::NAME, text: settings::text(scenario) },
    ];
    let groups = groups(scenario);
    if !groups.is_empty() {
        inputs.push(Input { name: "cgroup.txt", text: groups });
    }
    let pauses = pauses::text(scenario);
    if !pauses.is_empty() {
        inputs.push(Input { name: pauses::NAME, text: pauses });
    }
    inputs.extend(health::documents(scenario, taste));
    inputs
}

/// `dmesg`.
fn log(scenario: &Scenario, taste: &mut Chance) -> String {
    let up = scenario.uptime() as f64 / 1e9;
    let mut lines: Vec<(f64, String)> =
        QUIET.iter().enumerate().map(|(k, text)| (2.3 + k as f64, (*text).to_string())).collect();
    if taste.chance(OLD_FAULT) {
        let at = up * taste.even(0.1, 0.8);
        lines.push((at, "ata9: SError: { PHYRdyChg CommWake }".to_string()));
        lines.push((at + 0.1, "ata9: hard resetting link".to_string()));
    }
    for trace in &scenario.traces {
        match trace {
            Trace::Log(after, text) => lines.push(((up + after).max(1.0), text.clone())),
            Trace::Complaints(place, what) => {
                if let Some(disk) = scenario.disks.get(*place) {
                    lines.extend(log_events(disk, *what, *place + 3, up));
                }
            }
            _ => {}
        }
    }
    lines.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut out = String::new();
    for (at, text) in lines {
        let _ = writeln!(out, "[{at:>12.6}] {text}");
    }
    out
}

/// What the kernel reports of each failed request of the disk.
fn log_events(disk: &DiskRun, what: LogEvent, port: usize, up: f64) -> Vec<(f64, String)> {
    let mut lines = Vec::new();
    for done in disk.done.iter().filter(|done| done.failed || done.delayed >= LONG) {
        let (at, sector) = (up + done.completed as f64 / 1e9, done.offset / 512);
        let name = &disk.setup.name;
        let mut say = |text: String| lines.push((at, text));
        match what {
            LogEvent::Medium => {
                say(format!("ata{port}.00: exception Emask 0x0 SAct 0x40 SErr 0x0 action 0x0"));
                say(format!("ata{port}.00: error: {{ UNC }}"));
                let sense = "tag#6 Sense Key : Medium Error [current]";
                say(format!("sd {port}:0:0:0: [{name}] {sense}"));
                if done.failed {
                    say(format!(
                        "critical medium error, dev {name}, sector {sector} op 0x0:(READ) flags \
                         0x80700 phys_seg 1 prio class 2"
                    ));
                }
            }
            LogEvent::Timeout => {
                say(format!(
                    "ata{port}.00: exception Emask 0x0 SAct 0x40 SErr 0x0 action 0x6 frozen"
                ));
                say(format!("ata{port}.00: failed command: READ FPDMA QUEUED"));
                say(format!("ata{port}: hard resetting link"));
                if done.failed {
                    say(format!(
                        "I/O error, dev {name}, sector {sector} op 0x0:(READ) flags 0x80700 \
                         phys_seg 1 prio class 2"
                    ));
                }
            }
        }
    }
    lines
}

/// `/proc/self/mountinfo`.
fn mounts(scenario: &Scenario) -> String {
    let mut out =
        "22 27 0:21 / /proc rw,nosuid,nodev,noexec,relatime shared:14 - proc proc rw\n".to_string();
    for (place, disk) in scenario.disks.iter().enumerate() {
        let stated = scenario.traces.iter().find_map(|trace| match trace {
            Trace::Mount(of, kind, options) if *of == place => Some((*kind, *options)),
            _ => None,
        });
        let (kind, options) = stated.unwrap_or(("ext4", "rw,relatime"));
        let (part, numbers) =
            (settings::partition(&disk.setup.name), settings::numbers(disk, place));
        let _ = writeln!(
            out,
            "{} 27 {numbers} / /srv/{place} {options} shared:{} - {kind} /dev/{part} {options}",
            30 + place,
            20 + place,
        );
    }
    out
}

/// Files of control groups, as `grep -r .` prints them.
fn groups(scenario: &Scenario) -> String {
    let mut out = String::new();
    for trace in &scenario.traces {
        let Trace::Group(place, line) = trace else { continue };
        let Some(disk) = scenario.disks.get(*place) else { continue };
        let numbers = settings::numbers(disk, *place);
        let _ = writeln!(out, "{}", line.replace("{}", &numbers));
    }
    out
}

/// `grep . /proc/pressure/*`.
fn pressure(scenario: &Scenario, taste: &mut Chance) -> String {
    let stated = scenario.traces.iter().find_map(|trace| match trace {
        Trace::Pressure(some, full) => Some((*some, *full)),
        _ => None,
    });
    // A process waits whenever a synchronous request is in flight.
    let busy = || {
        let waits = scenario.disks.iter().flat_map(|disk| &disk.done).filter(|done| done.sync);
        let sum: u64 = waits.map(|done| done.completed - done.arrived).sum();
        (sum as f64 / scenario.span.max(1) as f64 * 100.0).min(95.0)
    };
    let (some, full) = stated.unwrap_or_else(|| {
        let some = busy() * taste.even(0.5, 0.9);
        (some, some * taste.even(0.2, 0.8))
    });
    let line = |what: &str, share: f64| {
        let total = (share / 100.0 * scenario.uptime() as f64 / 1e3 * 0.02) as u64;
        format!(
            "{what} avg10={share:.2} avg60={:.2} avg300={:.2} total={total}",
            share * 0.9,
            share * 0.4
        )
    };
    let (some, full) = (line("some", some), line("full", full));
    let none = "avg10=0.00 avg60=0.00 avg300=0.00 total=0";
    format!(
        "/proc/pressure/cpu:some avg10=2.10 avg60=1.83 avg300=1.66 total=214131875\n\
         /proc/pressure/cpu:full {none}\n\
         /proc/pressure/io:{some}\n/proc/pressure/io:{full}\n\
         /proc/pressure/memory:some {none}\n/proc/pressure/memory:full {none}\n"
    )
}
