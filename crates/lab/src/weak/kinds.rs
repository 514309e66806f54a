//! The kinds of captures that earlier versions judged wrongly, as recipes with free parameters.

use iowhy_model::Medium;

use super::print::{biosnoop, iostat};
use super::queue::{Asker, Device, Io, Pace};
use crate::scenarios::Chance;

/// A capture, what is reported beside it, and what is right of it.
#[derive(Clone, Debug)]
pub struct Weak {
    /// Inputs by name.
    pub inputs: Vec<(&'static str, String)>,
    /// The disk.
    pub disk: &'static str,
    /// The stated medium.
    pub reported: Option<Medium>,
    /// First answers that are right.
    pub right: &'static [&'static str],
    /// Whether the capture leaves open which: then none of them may have the confidence of a
    /// headline.
    pub open: bool,
}

/// A kind of capture: name, what happens, and how one is made.
pub type Kind = (&'static str, &'static str, fn(&mut Chance) -> Weak);

/// All kinds, sorted.
pub const KINDS: &[Kind] = &[
    ("cache-hits", "healthy platter, most reads from its cache", cache_hits),
    ("cap", "a network volume at its purchased limit", cap),
    ("cloud-volume", "healthy network volume called nvme, `rotational` 0", cloud),
    ("durable-writes", "healthy NVMe, durable writes, iostat", durable_writes),
    ("full-device", "an NVMe drive at its maximum rate, iostat", full_device),
    ("hang", "one freeze of 0.3 to 10 s in a log", hang),
    ("hang-averages", "one freeze of 2 to 10 s in iostat", hang_averages),
    ("indented", "retries, quoted or indented", quoted),
    ("lost-lines", "healthy platter, 1 to 20 % of the lines lost", lost_lines),
    ("one-of-two", "healthy platter, the log of one program of two", one_of_two),
    ("queue", "healthy platter, depth 1 to 32", queue),
    ("reads-only", "healthy platter, the reads beside a writer", reads_only),
    ("slow-at-depth", "slow platter, depth 1 to 32", slow_at_depth),
    ("slow-flash", "slow SATA flash, class unknown", slow_flash),
    ("slow-flash-told", "slow SATA flash, class known", slow_flash_told),
    ("slow-two-levels", "slow platter, log and iostat", slow_two_levels),
    ("two-runs", "missed revolutions, two runs under two headings", two_runs),
    ("whole", "healthy platter, two programs, all of the log", whole),
];

const CALM: &[&str] = &["healthy", "load.saturated", "load.large-io", "load.rw-mix", "load.burst"];
const FROZE: &[&str] = &["device.hang", "device.stall"];
const FROZE_AND_FULL: &[&str] = &["device.hang", "device.stall", "load.saturated"];

fn weak(
    disk: &'static str,
    name: &'static str,
    text: String,
    right: &'static [&'static str],
) -> Weak {
    Weak { inputs: vec![(name, text)], disk, reported: None, right, open: false }
}

fn asker(writes: bool, bytes: u32, pace: Pace) -> Asker {
    Asker { comm: "mysqld", pid: 4321, writes, bytes, onwards: false, pace }
}

fn depth(chance: &mut Chance) -> usize {
    chance.scale(1.0, 32.99) as usize
}

/// Random position on a platter: half a revolution and a seek, ms.
fn seek(chance: &mut Chance, revolution: f64) -> f64 {
    chance.even(1.5, 6.5) + chance.even(0.0, revolution)
}

/// Random reads of a platter that is this many times slower than it should be.
fn lookups(
    chance: &mut Chance,
    factor: f64,
    pace: Pace,
    count: usize,
    freezes: Vec<(f64, f64)>,
) -> Vec<Io> {
    let revolution = chance.pick(&[8.333, 8.333, 11.11, 6.0]);
    let bytes = chance.pick(&[4096, 8192, 16384]);
    let service = |chance: &mut Chance, _: &Asker, _: f64| factor * seek(chance, revolution);
    let device = Device { servers: 1, service: &service, freezes };
    device.run(&[asker(false, bytes, pace)], count, 3600.0, chance)
}

fn closed(chance: &mut Chance, depth: usize) -> Pace {
    Pace::Closed(depth, if depth == 1 { chance.scale(0.01, 3.0) } else { 0.0 })
}

fn queue(chance: &mut Chance) -> Weak {
    let (depth, count) = (depth(chance), chance.scale(24.0, 1500.0) as usize);
    let pace = closed(chance, depth);
    let ios = lookups(chance, 1.0, pace, count, Vec::new());
    let queue = chance.chance(0.5);
    weak("sda", "biosnoop.txt", biosnoop(&ios, "sda", queue), CALM)
}

fn slow_at_depth(chance: &mut Chance) -> Weak {
    let (depth, count) = (depth(chance), chance.scale(24.0, 1500.0) as usize);
    let factor = chance.scale(6.0, 20.0);
    let pace = closed(chance, depth);
    let ios = lookups(chance, factor, pace, count, Vec::new());
    let queue = chance.chance(0.5);
    let reported = chance.chance(0.5).then_some(Medium::Rotational);
    Weak { reported, ..weak("sda", "biosnoop.txt", biosnoop(&ios, "sda", queue), &["device.slow"]) }
}

fn slow_two_levels(chance: &mut Chance) -> Weak {
    let (depth, count) = (depth(chance), chance.scale(100.0, 1000.0) as usize);
    let factor = chance.scale(6.0, 20.0);
    let pace = closed(chance, depth);
    let ios = lookups(chance, factor, pace, count, Vec::new());
    let mut text = biosnoop(&ios, "sda", true);
    text.push('\n');
    text.push_str(&iostat(&ios, "sda"));
    Weak { reported: Some(Medium::Rotational), ..weak("sda", "both.txt", text, &["device.slow"]) }
}

/// Requests of a device that freezes once, and when.
fn frozen(chance: &mut Chance, least: f64) -> (Vec<Io>, &'static str, &'static [&'static str]) {
    let length = chance.scale(least, 10_000.0);
    let flash = chance.chance(0.4);
    let many = chance.scale(100.0, 2500.0) as usize;
    let depth = chance.pick(&[1, 1, 2, 4]);
    if flash {
        let per_s = chance.scale(20.0, 300.0);
        let begin = many as f64 / per_s * 1e3 * chance.even(0.2, 0.8);
        // Others come after it too.
        let many = many + (length / 1e3 * per_s) as usize;
        let service = |chance: &mut Chance, _: &Asker, _: f64| chance.even(0.08, 0.2);
        let device = Device { servers: 4, service: &service, freezes: vec![(begin, length)] };
        return (
            device.run(&[asker(false, 4096, Pace::Open(per_s))], many, 3600.0, chance),
            "nvme0n1",
            FROZE,
        );
    }
    let begin = many as f64 * 8.5 * chance.even(0.2, 0.8);
    let pace = closed(chance, depth);
    // Four at a time on one arm are saturation as well.
    let right = if depth > 2 { FROZE_AND_FULL } else { FROZE };
    (lookups(chance, 1.0, pace, many, vec![(begin, length)]), "sda", right)
}

fn hang(chance: &mut Chance) -> Weak {
    let (ios, disk, right) = frozen(chance, 300.0);
    let queue = chance.chance(0.5);
    weak(disk, "biosnoop.txt", biosnoop(&ios, disk, queue), right)
}

fn hang_averages(chance: &mut Chance) -> Weak {
    let (ios, disk, right) = frozen(chance, 2000.0);
    weak(disk, "iostat.txt", iostat(&ios, disk), right)
}

fn durable_writes(chance: &mut Chance) -> Weak {
    let (low, high) = (chance.scale(0.2, 2.0), chance.even(1.1, 2.0));
    let service = |chance: &mut Chance, _: &Asker, _: f64| low * chance.even(1.0, high);
    let device = Device { servers: 2, service: &service, freezes: Vec::new() };
    let depth = chance.pick(&[1, 1, 1, 2]);
    let think = chance.scale(0.05, 5.0);
    let load = Asker { onwards: true, ..asker(true, 4096, Pace::Closed(depth, think)) };
    let seconds = chance.even(3.0, 10.0);
    let ios = device.run(&[load], 40_000, seconds, chance);
    let reported = chance.chance(0.5).then_some(Medium::Nvme);
    let right = &["healthy", "load.flush", "load.small-sync", "load.missed-revolution"];
    Weak { reported, ..weak("nvme0n1", "iostat.txt", iostat(&ios, "nvme0n1"), right) }
}

fn cache_hits(chance: &mut Chance) -> Weak {
    let hits = chance.even(0.75, 0.92);
    let service = move |chance: &mut Chance, _: &Asker, _: f64| match chance.chance(hits) {
        true => chance.even(0.08, 0.25),
        false => chance.even(2.0, 18.0),
    };
    let device = Device { servers: 1, service: &service, freezes: Vec::new() };
    let count = chance.scale(20.0, 1500.0) as usize;
    let think = chance.scale(0.01, 3.0);
    let ios = device.run(&[asker(false, 8192, Pace::Closed(1, think))], count, 3600.0, chance);
    let disk = chance.pick(&["sda", "sdc"]);
    weak(disk, "biosnoop.txt", biosnoop(&ios, disk, false), CALM)
}

fn flash_that_is_slow(chance: &mut Chance) -> Vec<Io> {
    let (middle, spread) = (chance.even(5.0, 12.0), chance.even(0.05, 0.3));
    let service = move |chance: &mut Chance, _: &Asker, _: f64| {
        middle * chance.even(1.0 - spread, 1.0 + spread)
    };
    let device = Device { servers: 1, service: &service, freezes: Vec::new() };
    let count = chance.scale(30.0, 800.0) as usize;
    let think = chance.scale(0.05, 2.0);
    device.run(&[asker(false, 8192, Pace::Closed(1, think))], count, 3600.0, chance)
}

fn slow_flash(chance: &mut Chance) -> Weak {
    let ios = flash_that_is_slow(chance);
    let right = &["device.slow", "healthy"];
    Weak { open: true, ..weak("sda", "biosnoop.txt", biosnoop(&ios, "sda", false), right) }
}

fn slow_flash_told(chance: &mut Chance) -> Weak {
    let ios = flash_that_is_slow(chance);
    let reported = Some(Medium::Flash);
    Weak { reported, ..weak("sda", "biosnoop.txt", biosnoop(&ios, "sda", false), &["device.slow"]) }
}

fn cloud(chance: &mut Chance) -> Weak {
    let base = chance.scale(0.4, 1.5);
    let service = move |chance: &mut Chance, _: &Asker, _: f64| {
        let far = if chance.chance(0.02) { chance.scale(2.0, 8.0) } else { 1.0 };
        base * chance.even(0.8, 1.5) * far
    };
    let device = Device { servers: 64, service: &service, freezes: Vec::new() };
    let load = asker(chance.chance(0.4), 8192, Pace::Open(chance.scale(50.0, 1500.0)));
    let ios = device.run(&[load], 4000, 20.0, chance);
    let disk = chance.pick(&["nvme1n1", "nvme1n1", "vda", "sda"]);
    // `rotational` is 0 of a volume too: it shows that nothing revolutions here, not what there is.
    let reported = chance.chance(0.5);
    let stated = format!("==> /sys/block/{disk}/queue/rotational <==\n0\n");
    let mut text =
        if chance.chance(0.5) { biosnoop(&ios, disk, false) } else { iostat(&ios, disk) };
    if reported {
        text = format!("{stated}\n{text}");
    }
    weak(disk, "capture.txt", text, CALM)
}

/// Two programs that read on and on from a healthy platter.
fn two_readers(chance: &mut Chance) -> Vec<Io> {
    let bytes = chance.pick(&[131_072, 262_144, 1_048_576]);
    let per_ms = chance.even(90.0, 220.0) * 1000.0;
    let switch = chance.even(0.0, 1.0);
    let one = f64::from(bytes) / per_ms + switch;
    let service = move |chance: &mut Chance, _: &Asker, _: f64| one * chance.even(0.98, 1.03);
    let device = Device { servers: 1, service: &service, freezes: Vec::new() };
    let (a, b) = (depth(chance).min(8), depth(chance).min(8));
    let pace = |depth| Pace::Closed(depth, 0.0);
    let asks =
        |comm, pid, depth| Asker { comm, pid, onwards: true, ..asker(false, bytes, pace(depth)) };
    let count = chance.scale(40.0, 1000.0) as usize;
    device.run(&[asks("dd", 77, a), asks("rsync", 88, b)], count, 3600.0, chance)
}

fn whole(chance: &mut Chance) -> Weak {
    let ios = two_readers(chance);
    weak("sda", "biosnoop.txt", biosnoop(&ios, "sda", true), CALM)
}

fn one_of_two(chance: &mut Chance) -> Weak {
    let mut ios = two_readers(chance);
    ios.retain(|io| io.comm == "dd");
    let reported = chance.chance(0.5).then_some(Medium::Rotational);
    Weak { reported, ..weak("sda", "biosnoop.txt", biosnoop(&ios, "sda", true), CALM) }
}

fn reads_only(chance: &mut Chance) -> Weak {
    let service = |chance: &mut Chance, _: &Asker, _: f64| seek(chance, 8.333);
    let device = Device { servers: 1, service: &service, freezes: Vec::new() };
    let (reads, writes) = (chance.whole(1, 6), chance.whole(1, 24));
    let reader = asker(false, 8192, Pace::Closed(reads, 0.0));
    let writer =
        Asker { comm: "kworker/u8:1", pid: 9, ..asker(true, 8192, Pace::Closed(writes, 0.0)) };
    let count = chance.scale(100.0, 1500.0) as usize;
    let mut ios = device.run(&[reader, writer], count, 3600.0, chance);
    ios.retain(|io| !io.writes);
    weak("sda", "biosnoop.txt", biosnoop(&ios, "sda", false), CALM)
}

fn lost_lines(chance: &mut Chance) -> Weak {
    let onwards = chance.chance(0.6);
    let bytes = chance.pick(&[131_072, 262_144, 1_048_576]);
    let one = f64::from(bytes) / (chance.even(90.0, 220.0) * 1000.0);
    let depth = depth(chance);
    let count = chance.scale(60.0, 1000.0) as usize;
    let mut ios = if onwards {
        let service = move |chance: &mut Chance, _: &Asker, _: f64| one * chance.even(0.97, 1.04);
        let device = Device { servers: 1, service: &service, freezes: Vec::new() };
        let load = Asker { onwards, ..asker(false, bytes, Pace::Closed(depth, 0.0)) };
        device.run(&[load], count, 3600.0, chance)
    } else {
        lookups(chance, 1.0, Pace::Closed(depth, 0.0), count, Vec::new())
    };
    let (before, share) = (ios.len(), chance.scale(0.01, 0.2));
    ios.retain(|_| !chance.chance(share));
    let lost = before - ios.len();
    let mut text = biosnoop(&ios, "sda", true);
    if lost > 0 && chance.chance(0.5) {
        text.push_str(&format!("Possibly lost {lost} samples\n"));
    }
    weak("sda", "biosnoop.txt", text, CALM)
}

/// Small synchronous writes, each of which just missed its sector; some lose one revolution more.
fn revolutions(chance: &mut Chance, count: usize, revolution: f64) -> Vec<Io> {
    let service = move |chance: &mut Chance, _: &Asker, _: f64| {
        revolution * (1.0 + f64::from(u8::from(chance.chance(0.1)))) - 0.02
            + chance.even(-0.06, 0.06)
    };
    let device = Device { servers: 1, service: &service, freezes: Vec::new() };
    let load =
        Asker { onwards: true, comm: "writetest", ..asker(true, 4096, Pace::Closed(1, 0.01)) };
    device.run(&[load], count, 3600.0, chance)
}

fn two_runs(chance: &mut Chance) -> Weak {
    let revolution = chance.pick(&[8.333, 11.11]);
    let count = chance.whole(25, 80);
    let first = revolutions(chance, count, revolution);
    let second = revolutions(chance, count, revolution);
    let text = biosnoop(&first, "sde", false) + &biosnoop(&second, "sde", false);
    weak("sde", "biosnoop.txt", text, &["load.missed-revolution"])
}

fn quoted(chance: &mut Chance) -> Weak {
    let revolution = chance.pick(&[8.333, 11.11]);
    let share = chance.even(0.4, 0.7);
    let service = move |chance: &mut Chance, _: &Asker, _: f64| {
        let mut revolutions = 0.0;
        while revolutions < 8.0 && chance.chance(share) {
            revolutions += 1.0;
        }
        1.72 + revolutions * revolution + chance.even(-0.05, 0.05)
    };
    let device = Device { servers: 1, service: &service, freezes: Vec::new() };
    let load = Asker { onwards: true, ..asker(false, 131_072, Pace::Closed(1, 0.05)) };
    let ios = device.run(&[load], chance.whole(40, 200), 3600.0, chance);
    let prefix = chance.pick(&["> ", "    ", ">> ", "\t", "| "]);
    let text: String =
        biosnoop(&ios, "sdc", false).lines().map(|line| format!("{prefix}{line}\n")).collect();
    weak("sdc", "mail.txt", text, &["device.retry"])
}

fn full_device(chance: &mut Chance) -> Weak {
    let (servers, one) = (chance.whole(1, 16), chance.scale(0.06, 0.25));
    let service = move |chance: &mut Chance, _: &Asker, _: f64| one * chance.even(0.95, 1.05);
    let device = Device { servers, service: &service, freezes: Vec::new() };
    let depth = chance.scale(64.0, 2048.0) as usize;
    let seconds = chance.whole(4, 9) as f64;
    let most = (servers as f64 / one * 1e3 * seconds) as usize;
    let load = asker(false, 4096, Pace::Closed(depth, 0.0));
    let ios = device.run(&[load], most.min(120_000), seconds, chance);
    weak("nvme0n1", "iostat.txt", iostat(&ios, "nvme0n1"), CALM)
}

fn cap(chance: &mut Chance) -> Weak {
    let limit = chance.pick(&[3000.0, 16_000.0, 1000.0, 6000.0]);
    // What was bought is granted evenly: one request each 1 / limit, 0.7 ms away.
    let service = move |_: &mut Chance, _: &Asker, _: f64| 1e3 / limit;
    let device = Device { servers: 1, service: &service, freezes: Vec::new() };
    let depths = [chance.whole(16, 64), chance.whole(80, 256)];
    let seconds = chance.whole(4, 8) as f64;
    let mut ios: Vec<Io> = Vec::new();
    for depth in depths {
        let begun = ios.last().map_or(0.0, |io: &Io| (io.completed / 1e3).ceil() * 1e3);
        let load = asker(false, 8192, Pace::Closed(depth, 0.0));
        let more = device.run(&[load], 200_000, seconds, chance).into_iter();
        ios.extend(more.map(|io| Io {
            issued: io.issued + begun,
            completed: io.completed + begun + 0.7,
            ..io
        }));
    }
    let right = &["cap.volume", "load.saturated"];
    weak("vda", "iostat.txt", iostat(&ios, "vda"), right)
}
