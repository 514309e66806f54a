//! The same counters through sysstat's iostat and through ours: every shared column must agree to
//! the last digit iostat prints.
//!
//! `iostat -f DIR` reads a tree of our making, once before and once after we change it. Counters
//! that wrap at 2^32 milliseconds are among them; sysstat 12.6 unwraps them too.

#![allow(clippy::print_stderr)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use iowhy_model::{Interval, Nanos, Op, Random, Recording};
use iowhy_read::diskstats::{Change, Counters, between, parse_stat};
use iowhy_read::scan;

/// Reads of the device whose rate shows the length that iostat took: 10 ms steps of the uptime.
const GAUGE: u64 = 10_000_000;
const DEVICES: usize = 12;
const WRAP: u64 = 1 << 32;

struct Tree(PathBuf);

impl Tree {
    fn new() -> Tree {
        let tree = std::env::temp_dir().join(format!("iowhy-parity-{}", std::process::id()));
        Tree(tree)
    }

    /// Puts a reading in place atomically, so that iostat never sees half of one.
    fn write(&self, name: &str, stat: &str) {
        let folder = self.0.join("block").join(name);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("new"), stat).unwrap();
        std::fs::rename(folder.join("new"), folder.join("stat")).unwrap();
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Two readings of a device about two seconds apart. The last three wrap.
fn readings(dice: &mut Random, place: usize) -> (String, String) {
    let mut before = Vec::new();
    let mut after = Vec::new();
    let ios: Vec<u64> = (0..4).map(|_| 1 + dice.below(4000)).collect();
    for group in [0, 1] {
        let started = [10_000, 300, 900_000, 70_000].map(|most| 1 + dice.below(most));
        let done = ios[group];
        let rise = [done, dice.below(50), dice.below(done * 512), dice.below(done * 9)];
        before.extend(started);
        after.extend(started.iter().zip(rise).map(|(a, b)| a + b));
    }
    let busy = dice.below(1800);
    let weighted = ios.iter().sum::<u64>() / 2;
    let begun = if place + 3 >= DEVICES { WRAP - 1 - dice.below(busy.max(1)) } else { 5000 };
    before.extend([0, begun, begun]);
    after.extend([dice.below(3), (begun + busy) % WRAP, (begun + weighted) % WRAP]);
    for (count, most) in [(ios[2], 64), (0, 1), (ios[2] * 2048, 1), (ios[2], 1)] {
        before.push(dice.below(most) + 7);
        after.push(before[before.len() - 1] + count);
    }
    before.extend([40, 20]);
    after.extend([40 + ios[3], 20 + 2 * ios[3]]);
    let text = |fields: Vec<u64>| {
        fields.iter().map(|field| format!("{field:>8} ")).collect::<String>() + "\n"
    };
    (text(before), text(after))
}

fn iostat(tree: &Path, names: &[String]) -> Option<std::process::Child> {
    let child = Command::new("iostat")
        .env("LC_ALL", "C")
        .arg("-f")
        .arg(tree)
        .args(["-x", "-y"])
        .args(names)
        .args(["2", "1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    child.ok()
}

#[test]
fn iostat_and_we_read_the_same_counters_alike() {
    let tree = Tree::new();
    let mut dice = Random::seeded(0x2545_f491_4f6c_dd1d);
    let mut names: Vec<String> = (0..DEVICES).map(|k| format!("pd{}", k + 1)).collect();
    let mut all: Vec<_> = (0..DEVICES).map(|place| readings(&mut dice, place)).collect();
    names.push("gauge".to_string());
    all.push(("1 0 8 1 0 0 0 0 0 1 1\n".into(), format!("{} 0 8 1 0 0 0 0 0 1 1\n", GAUGE + 1)));
    for (name, (before, _)) in names.iter().zip(&all) {
        tree.write(name, before);
    }
    let Some(child) = iostat(&tree.0, &names) else {
        eprintln!("skipped: needs `iostat` of sysstat 12.3.3 or later");
        return;
    };
    // iostat has read the first time within this second and reads again two seconds after.
    std::thread::sleep(Duration::from_millis(1000));
    for (name, (_, after)) in names.iter().zip(&all) {
        tree.write(name, after);
    }
    let printed = child.wait_with_output().unwrap().stdout;
    let text = format!("$ iostat -xy 2\n{}", String::from_utf8_lossy(&printed));
    let mut recording = Recording::new();
    if scan("iostat", &mut text.as_bytes(), None, &mut recording).is_err() {
        eprintln!("skipped: needs `iostat -f`, sysstat 12.3.3 or later; it printed:\n{text}");
        return;
    }
    let theirs = recording.listings[0].intervals.clone();
    assert_eq!(theirs.len(), names.len(), "{text}");
    let of = |name: &str| {
        let id = recording.find_device(name).unwrap_or_else(|| panic!("no {name} in {text}"));
        theirs.iter().find(|interval| interval.device == id).unwrap()
    };
    let rate = of("gauge").of(Op::Read).unwrap().ios_per_s;
    // iostat's own length, a whole number of hundredths.
    let length = Nanos::from_seconds((GAUGE as f64 / rate * 100.0).round() / 100.0);
    assert!((1.5..4.0).contains(&length.seconds()), "{length:?}: {text}");
    let mut wrapped = 0;
    for (name, (before, after)) in names.iter().zip(&all) {
        let read = |stat: &str| -> Counters { parse_stat(name, stat).unwrap() };
        let delta = match between(&read(before), &read(after), length) {
            Change::Rose(delta) => delta,
            Change::Wrapped(delta) => {
                wrapped += 1;
                delta
            }
            other => panic!("{name}: {other:?}"),
        };
        let theirs = of(name);
        compare(name, &delta.interval(theirs.device), theirs);
    }
    assert!(wrapped >= 2, "{wrapped} devices wrapped");
}

fn compare(name: &str, ours: &Interval, theirs: &Interval) {
    let same = |what: &str, ours: Option<f64>, theirs: Option<f64>, scale: f64| {
        // A column of iostat may be missing with us only where nothing completed.
        let (ours, theirs) = (ours.unwrap_or(0.0) * scale, theirs.unwrap_or(0.0) * scale);
        assert!((ours - theirs).abs() <= 0.005 + 1e-6, "{name} {what}: {ours}, iostat {theirs}");
    };
    for (op, theirs) in &theirs.rates {
        let Some(ours) = ours.of(*op) else {
            assert_eq!(theirs.ios_per_s, 0.0, "{name} {op:?} is not counted");
            continue;
        };
        let column = |what: &str| format!("{} {what}", op.name());
        same(&column("ios/s"), Some(ours.ios_per_s), Some(theirs.ios_per_s), 1.0);
        same(&column("merges/s"), ours.merges_per_s, theirs.merges_per_s, 1.0);
        same(&column("kB/s"), ours.bytes_per_s, theirs.bytes_per_s, 1.0 / 1024.0);
        same(&column("await ms"), ours.await_ns, theirs.await_ns, 1e-6);
    }
    same("aqu-sz", ours.queue_len, theirs.queue_len, 1.0);
    same("%util", ours.busy, theirs.busy, 100.0);
}
