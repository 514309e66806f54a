//! Names on the screen: a fault of a disk below LVM on md in a pod, in a capture that contains what
//! a copied /sys and /proc say.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use iowhy_capture::Writer;
use iowhy_model::{Fact, Level, Nanos, Recording, Sampling, Sink, Source, typed};
use serde_json::Value;

const UID: &str = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0";
const ID: &str = "3f4a1c0b9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a3b2c1d0e9f8a7b6c5d4e3f2a";
/// The log of a disk that read through dust.
const DUSTY: &str = include_str!("cases/dusty-disk-biosnoop/capture.txt");

/// A copy of /sys, /proc and /var/log of a host: LVM on md on two disks, and a pod.
fn host(name: &str) -> PathBuf {
    let root = std::env::temp_dir().join(format!("iowhy-host-{name}-{}", std::process::id()));
    let slices = [("sdb", "8:16"), ("sdc", "8:32"), ("md0", "9:0"), ("dm-3", "253:3")];
    let numbers = slices.map(|(disk, number)| (format!("sys/block/{disk}/dev"), number));
    let stacked = [
        ("sys/block/sdb/holders/md0/dev", "9:0"),
        ("sys/block/sdc/holders/md0/dev", "9:0"),
        ("sys/block/md0/slaves/sdb/dev", "8:16"),
        ("sys/block/md0/slaves/sdc/dev", "8:32"),
        ("sys/block/md0/holders/dm-3/dev", "253:3"),
        ("sys/block/dm-3/slaves/md0/dev", "9:0"),
        ("sys/block/dm-3/dm/name", "vg-pgdata"),
        ("sys/block/dm-3/dm/uuid", "LVM-x"),
        ("proc/self/mountinfo", "30 1 253:3 / /var/lib/pg rw - ext4 /dev/mapper/vg-pgdata rw"),
    ];
    let pod = (format!("var/log/pods/prod_db-0_{UID}/db/0.log"), "");
    let stacked = stacked.map(|(path, text)| (path.to_string(), text));
    for (path, text) in numbers.into_iter().chain(stacked).chain([pod]) {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("{text}\n")).unwrap();
    }
    root
}

/// Its I/Os as those of a database in a pod, on a volume over an array, in a file that is removed
/// in the end.
pub(crate) struct Capture(pub PathBuf);

impl Drop for Capture {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

pub(crate) fn capture(name: &str) -> Capture {
    let place = std::env::temp_dir().join(format!("iowhy-names-{name}-{}", std::process::id()));
    emit(name, None, &mut std::fs::File::create(&place).unwrap());
    Capture(place)
}

/// The same into any file; with the time of day at which it began, if that is to be known.
pub(crate) fn emit<W: std::io::Write>(name: &str, began_ns: Option<i64>, out: &mut W) {
    let mut dusty = Recording::new();
    iowhy_read::scan("dusty", &mut DUSTY.as_bytes(), None, &mut dusty).unwrap();
    let mut writer = Writer::new(out, 7);
    let mut source = Source::new("block-trace", "live", Level::D);
    source.sampling = Sampling::Traced;
    writer.begin(source);
    if let Some(ns) = began_ns {
        writer.fact(Fact::of(None, typed::CLOCK_OFFSET, Nanos(ns), "made"));
    }
    let tree = host(name);
    let devices = iowhy_live::devices(&tree.join("sys")).unwrap();
    for fact in iowhy_live::naming_facts(&tree, &devices) {
        let device = (!fact.disk.is_empty()).then(|| writer.device(&fact.disk));
        writer.fact(Fact::read(device, fact.key, &fact.value, fact.path));
    }
    std::fs::remove_dir_all(&tree).unwrap();
    let slice = format!("kubepods-burstable-pod{}.slice", UID.replace('-', "_"));
    let cgroup =
        format!("/kubepods.slice/kubepods-burstable.slice/{slice}/cri-containerd-{ID}.scope");
    let (comm, cgroup) = (writer.name("postgres"), writer.name(&cgroup));
    let file = writer.name("/var/lib/pg/base/16384");
    for mut event in dusty.listings.iter().flat_map(|listing| listing.events.clone()) {
        let device = dusty.device_of(event.device).name.clone();
        event.device = writer.device(&device);
        (event.comm, event.cgroup, event.file) = match device.as_str() {
            "sdb" => (Some(comm), Some(cgroup), Some(file)),
            _ => (None, None, None),
        };
        writer.event(event);
    }
    writer.finish().unwrap();
}

fn text(words: &[&str], capture: &Capture) -> String {
    let program = env!("CARGO_BIN_EXE_iowhy");
    let run = Command::new(program).args(words).arg(&capture.0).stdin(Stdio::null()).output();
    let run = run.unwrap();
    let reported = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{words:?}: {reported}");
    String::from_utf8(run.stdout).unwrap()
}

#[test]
fn one_screen_names_disk_volume_mount_pod_program_file_and_verdict() {
    let capture = capture("screen");
    let screen = text(&["why"], &capture);
    for name in
        ["sdb", "vg-pgdata", "/var/lib/pg", "pod prod/db-0", "postgres", "16384", "device.retry"]
    {
        assert!(screen.contains(name), "no {name}:\n{screen}");
    }
    assert!(screen.lines().count() <= 20, "{screen}");
    let json: Value = serde_json::from_str(&text(&["why", "--json"], &capture)).unwrap();
    let first = &json["findings"][0];
    assert_eq!(first["names"]["part_of"][0], "md0");
    assert_eq!(first["names"]["volumes"][1], "vg-pgdata");
    assert_eq!(first["names"]["mounts"][0], "/var/lib/pg");
    assert_eq!(first["requesters"][0]["pod_name"], "prod/db-0");
    assert_eq!(first["requesters"][0]["container"], ID);
}

#[test]
fn a_capture_is_asked_by_mount_point_and_counted_by_names() {
    let capture = capture("by");
    // Nothing of the volume itself was traced.
    for given in ["/var/lib/pg", "vg/pgdata", "/dev/mapper/vg-pgdata", "md0"] {
        let rows = text(&["stat", "-d", given], &capture);
        assert!(rows.contains("\nsdb ") && !rows.contains("\nnvme0n1 "), "{given}: {rows}");
    }
    let by_pod = text(&["stat", "--by", "pod"], &capture);
    assert!(by_pod.contains("\nprod/db-0 ") && !by_pod.contains("\nsdb "), "{by_pod}");
    let by_mount = text(&["stat", "--by", "mount"], &capture);
    assert!(by_mount.contains("\nbelow /var/lib/pg "), "{by_mount}");
    let json = text(&["stat", "--by", "pod,mount", "--json"], &capture);
    let rows: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let row = rows.iter().find(|row| row["device"] == "prod/db-0, below /var/lib/pg");
    assert!(row.is_some_and(|row| row["ops"]["read"]["ios_per_s"].as_f64() > Some(1.0)), "{json}");
    let map = text(&["map", "--by", "pod,mount"], &capture);
    assert!(map.contains("prod/db-0, below /var/lib/pg  D2C"), "{map}");
    let of_disk = text(&["map", "--by", "pod,mount", "-d", "sdb"], &capture);
    assert!(of_disk.contains("prod/db-0") && !of_disk.contains("nvme0n1"), "{of_disk}");
    for (keys, label) in [
        ("volume", "below vg-pgdata"),
        ("container", &ID[..12]),
        ("pod,process", "prod/db-0, postgres"),
        ("process,mount", "postgres, below /var/lib/pg"),
    ] {
        let json = text(&["hist", "--json", "--by", keys], &capture);
        let json: Value = serde_json::from_str(&json).unwrap();
        let all = json["histograms"].as_array().unwrap();
        assert!(all.iter().any(|known| known["label"] == label), "{keys}: {json}");
    }
}

#[test]
fn a_support_archive_names_its_devices() {
    let tree = host("archive");
    let listing = tree.join("biosnoop.txt");
    std::fs::write(&listing, DUSTY).unwrap();
    // A link in the tree leads nowhere.
    std::fs::create_dir_all(tree.join("dev/disk")).unwrap();
    std::os::unix::fs::symlink("/dev", tree.join("dev/disk/by-id")).unwrap();
    let program = env!("CARGO_BIN_EXE_iowhy");
    let run = Command::new(program).args(["why", "--width", "100"]).arg(&tree).output().unwrap();
    std::fs::remove_dir_all(&tree).unwrap();
    let screen = String::from_utf8(run.stdout).unwrap();
    for name in ["sdb", "md0", "vg-pgdata", "/var/lib/pg", "device.retry"] {
        assert!(screen.contains(name), "no {name}:\n{screen}");
    }
}
