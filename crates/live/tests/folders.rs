//! Devices and counters from folders that look like /sys: no rights, no hardware.

use std::fs;
use std::path::{Path, PathBuf};

use iowhy_live::{Collector, DiskStats, devices, devices_in_use, examine_at};
use iowhy_model::{Medium, Op, Recording, key};

/// A folder that is removed with its guard.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("iowhy-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(path.join("block")).expect("a folder in /tmp");
        Folder(path)
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.0.join(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("its folder");
        fs::write(path, text).expect("a file");
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Reads once, calls `change` to rewrite the folder, reads again.
fn between(folder: &Folder, change: impl FnOnce(&Path)) -> Recording {
    let mut recording = Recording::new();
    let mut stats = DiskStats::new(Some(folder.0.clone()));
    stats.begin(&mut recording).expect("the first reading");
    std::thread::sleep(std::time::Duration::from_millis(100));
    change(&folder.0);
    stats.poll(&mut recording).expect("the second reading");
    stats.end(&mut recording).expect("the end");
    recording
}

fn notes(recording: &Recording) -> Vec<String> {
    let all = recording.listings.iter().flat_map(|listing| &listing.source.notes);
    all.map(|note| format!("{}: {}", note.text, note.reason)).collect()
}

#[test]
fn averages_between_two_readings() {
    let folder = Folder::new("averages");
    // reads, merges, sectors, ms; the same of writes; in flight, busy, weighted; discards; flushes.
    folder.write("block/sda/stat", "100 10 800 50 20 2 160 30 0 60 80 0 0 0 0 5 7");
    let recording = between(&folder, |_| {
        folder.write("block/sda/stat", "300 10 2400 1050 20 2 160 30 3 70 1080 0 0 0 0 5 7");
    });
    let [interval] = &recording.listings[0].intervals[..] else { panic!("one interval") };
    let read = interval.of(Op::Read).expect("reads");
    let seconds = interval.length.expect("a length").seconds();
    assert!((read.ios_per_s * seconds - 200.0).abs() < 1e-6);
    assert!((read.bytes_per_s.expect("bytes") * seconds - 1600.0 * 512.0).abs() < 1e-3);
    assert_eq!(read.await_ns, Some(5e6));
    assert_eq!(interval.of(Op::Write).expect("writes").await_ns, None);
    assert_eq!(interval.in_flight, Some(3));
    assert!(seconds >= 0.1);
    assert_eq!(notes(&recording), Vec::<String>::new());
}

#[test]
fn wraps_resets_arrivals_and_departures_are_told_apart() {
    let folder = Folder::new("changes");
    // 2^32 - 20 ms of weighted time and more to come.
    folder.write("block/sda/stat", "100 0 800 50 0 0 0 0 2 60 4294967276");
    folder.write("block/sdb/stat", "100 0 800 50 40 0 320 9 0 60 80");
    folder.write("block/sdc/stat", "100 0 800 50 0 0 0 0 0 60 80");
    folder.write("block/sde/stat", "0 0 0 0 0 0 0 0 0 0 0");
    let recording = between(&folder, |root| {
        folder.write("block/sda/stat", "140 0 1120 90 0 0 0 0 2 90 20");
        folder.write("block/sdb/stat", "200 0 1600 70 39 0 330 9 0 60 90");
        fs::remove_dir_all(root.join("block/sdc")).expect("sdc goes");
        folder.write("block/sdd/stat", "5 0 40 1 0 0 0 0 0 1 1");
    });
    let listing = &recording.listings[0];
    let named: Vec<&str> = listing
        .intervals
        .iter()
        .map(|interval| recording.device_of(interval.device).name.as_str())
        .collect();
    assert_eq!(named, ["sda"], "only sda has averages: {:?}", notes(&recording));
    let queue = listing.intervals[0].queue_len.expect("a queue length");
    let seconds = listing.intervals[0].length.expect("a length").seconds();
    assert!((queue * seconds - 0.040).abs() < 1e-9, "40 ms were waited: {queue}");
    let notes = notes(&recording);
    assert_eq!(notes.len(), 3, "the first three are kept: {notes:?}");
    assert!(notes[0].starts_with("sdc: the device is gone"), "{notes:?}");
    assert!(notes[1].starts_with("sda: a 32-bit counter wrapped"), "{notes:?}");
    assert!(notes[2].starts_with("sdb: a counter decreased"), "{notes:?}");
}

#[test]
fn the_counters_of_this_machine_know_the_time_of_day() {
    let folder = Folder::new("clock");
    folder.write("block/sda/stat", "100 10 800 50 20 2 160 30 0 60 80");
    let states_its_beginning = |recording: &Recording| {
        recording.listings[0].facts.iter().any(|fact| fact.key == key::CLOCK_BEGAN)
    };
    assert!(!states_its_beginning(&between(&folder, |_| {})), "copies may be of another machine");
    let mut recording = Recording::new();
    let begun = std::time::SystemTime::now();
    DiskStats::new(None).begin(&mut recording).expect("/proc/diskstats");
    let facts = &recording.listings[0].facts;
    let began = facts.iter().find(|fact| fact.key == key::CLOCK_BEGAN).expect("its beginning");
    let since_1970 = begun.duration_since(std::time::UNIX_EPOCH).expect("a time after 1970");
    let behind = began.value.duration().expect("a time").seconds() - since_1970.as_secs_f64();
    assert!((-0.1..5.0).contains(&behind), "{behind} s");
}

#[test]
fn a_folder_without_devices_is_an_error_with_a_hint() {
    let mut stats = DiskStats::new(Some(PathBuf::from("/no/such/folder")));
    let error = stats.begin(&mut Recording::new()).expect_err("nothing is there");
    assert!(error.to_string().starts_with("cannot read `/no/such/folder/block`"), "{error}");
    assert!(error.hint().contains("iowhy doctor"));
}

#[test]
fn what_a_device_is_made_of() {
    let folder = Folder::new("media");
    let disk = |name: &str, number: &str, rotational: &str, model: &str| {
        folder.write(&format!("block/{name}/dev"), number);
        folder.write(&format!("block/{name}/size"), "2097152");
        folder.write(&format!("block/{name}/queue/rotational"), rotational);
        if !model.is_empty() {
            folder.write(&format!("block/{name}/device/model"), model);
        }
    };
    disk("sda", "8:0", "1", "WDC WD800JD-60LSA5");
    disk("sdb", "8:16", "0", "Samsung SSD 860");
    disk("sdc", "8:32", "1", "QEMU HARDDISK");
    disk("sdd", "8:48", "1", "PersistentDisk");
    disk("vda", "254:0", "1", "");
    disk("dm-0", "253:0", "1", "");
    disk("nvme0n1", "259:0", "0", "Samsung SSD 990 PRO");
    disk("nvme1n1", "259:1", "0", "Amazon Elastic Block Store");
    disk("nvme2n1", "259:2", "0", "Linux");
    folder.write("block/nvme2n1/device/transport", "tcp\n");
    folder.write("block/nvme0n1/device/transport", "pcie\n");
    // A LUN by its iSCSI session, and a volume of a virtual machine by its bus.
    for (name, number, by) in [("sde", "8:64", "host3/session1"), ("sdf", "8:80", "virtio2/host2")]
    {
        let place = format!("devices/platform/{by}/block/{name}");
        folder.write(&format!("{place}/dev"), number);
        folder.write(&format!("{place}/queue/rotational"), "1");
        let link = folder.0.join("block").join(name);
        std::os::unix::fs::symlink(folder.0.join(place), link).expect("a link");
    }
    folder.write("block/cciss!c0d0/dev", "104:0\n");
    folder.write("block/sda/sda1/partition", "1\n");
    folder.write("block/sda/sda1/dev", "8:1\n");
    folder.write("block/sda/queue/scheduler", "[mq-deadline] kyber none\n");
    folder.write("block/dm-0/slaves/sda/dev", "8:0");
    folder.write("block/sda/holders/dm-0/dev", "253:0");
    let found = devices(&folder.0).expect("the folder");
    let of = |name: &str| found.iter().find(|device| device.name == name).expect(name);
    let media = [
        ("sda", Some(Medium::Rotational)),
        ("sdb", Some(Medium::Flash)),
        ("sdc", None),
        ("sdd", Some(Medium::Network)),
        ("sde", Some(Medium::Network)),
        ("sdf", None),
        ("vda", None),
        ("dm-0", Some(Medium::Stacked)),
        ("nvme0n1", Some(Medium::Nvme)),
        ("nvme1n1", Some(Medium::Network)),
        ("nvme2n1", Some(Medium::Network)),
        ("cciss/c0d0", None),
    ];
    for (name, medium) in media {
        assert_eq!(of(name).medium, medium, "{name}");
    }
    assert_eq!(found.len(), media.len());
    let sda = of("sda");
    assert_eq!((sda.major, sda.minor, sda.bytes), (8, 0, Some(1 << 30)));
    assert_eq!(sda.partitions, [("sda1".to_string(), 8, 1)]);
    assert_eq!(sda.holders, ["dm-0"]);
    assert_eq!(of("dm-0").slaves, ["sda"]);
    let scheduler =
        sda.facts.iter().find(|(key, ..)| *key == key::QUEUE_SCHEDULER).expect("a fact");
    assert_eq!(scheduler.1, "mq-deadline");
}

#[test]
fn devices_made_in_advance_are_not_in_use_until_something_is_behind_them() {
    let folder = Folder::new("in-use");
    for (name, number, size) in [
        ("loop0", "7:0", "2048"),
        ("loop1", "7:1", "0"),
        ("nbd0", "43:0", "0"),
        ("md0", "9:0", "0"),
        ("sda", "8:0", "0"),
        ("sdb", "8:16", ""),
    ] {
        folder.write(&format!("block/{name}/dev"), number);
        folder.write(&format!("block/{name}/size"), size);
    }
    // A stopped array, and a disk that shows no size any more.
    folder.write("block/md0/md/array_state", "inactive");
    folder.write("block/sda/device/state", "offline");
    let names = |found: Vec<iowhy_live::BlockDevice>| -> Vec<String> {
        found.into_iter().map(|device| device.name).collect()
    };
    let in_use = names(devices_in_use(&folder.0).expect("the folder"));
    assert_eq!(in_use, ["loop0", "md0", "sda", "sdb"]);
    assert_eq!(names(devices(&folder.0).expect("the folder")).len(), 6);
}

#[test]
fn the_doctor_says_what_is_missing_and_what_that_costs() {
    let folder = Folder::new("doctor");
    folder.write("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
    folder.write("proc/diskstats", "8 0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n");
    let checks = examine_at(&folder.0);
    let of = |what: &str| checks.iter().find(|check| check.what == what).expect(what);
    assert!(of("counters").ok);
    assert!(of("counters").detail.contains("but not flushes"), "{:?}", of("counters"));
    assert!(!of("clock").ok && of("clock").detail.contains("hpet"));
    assert!(!of("devices").ok, "there is no sys/block");
    for check in &checks {
        assert_eq!(check.ok, check.consequence.is_empty(), "{check:?}");
    }
}

#[test]
fn the_doctor_explains_which_disk_is_below() {
    let folder = Folder::new("stacks");
    for (name, numbers) in [("sda", "8:0"), ("dm-0", "253:0"), ("zram0", "252:0")] {
        folder.write(&format!("sys/block/{name}/dev"), numbers);
        folder.write(&format!("sys/block/{name}/size"), "2048");
    }
    // Only a request-based device has hardware queues.
    folder.write("sys/block/sda/mq/0/nr_tags", "64");
    folder.write("sys/block/sda/holders/dm-0/dev", "253:0");
    folder.write("sys/block/dm-0/slaves/sda/dev", "8:0");
    let checks = examine_at(&folder.0);
    let stacks = checks.iter().find(|check| check.what == "stacks").expect("stacks");
    for words in
        ["`dm-0` consists of sda", "`sda` is part of dm-0", "per bio (Q2C only): dm-0, zram0"]
    {
        assert!(stacks.detail.contains(words), "{}", stacks.detail);
    }
}

#[test]
fn the_doctor_says_what_a_container_hides() {
    let link = |folder: &Folder, name: &str, to: &str| {
        folder.write("proc/self/ns/there", "");
        std::os::unix::fs::symlink(to, folder.0.join("proc/self/ns").join(name)).expect("a link");
    };
    let container = |folder: &Folder| {
        let checks = examine_at(&folder.0);
        checks.into_iter().find(|check| check.what == "container").expect("a check")
    };
    let folder = Folder::new("container");
    assert!(container(&folder).ok);
    link(&folder, "pid", "pid:[4026531836]");
    link(&folder, "cgroup", "cgroup:[4026531835]");
    assert!(container(&folder).detail.starts_with("none"));
    folder.write("run/.containerenv", "");
    assert!(container(&folder).ok && container(&folder).detail.contains("mount points"));
    let folder = Folder::new("container-alone");
    link(&folder, "pid", "pid:[4026532200]");
    let alone = container(&folder);
    assert!(!alone.ok && alone.consequence.contains("--pid=host"), "{alone:?}");
}
