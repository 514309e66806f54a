use super::*;
use crate::{FactKey, Level, Sink, Source};

/// A recording in which this is stated.
fn recording(stated: &[(&str, FactKey, &str)]) -> Recording {
    let mut recording = Recording::new();
    recording.begin(Source::new("host-facts", "live", Level::E));
    for (device, key, text) in stated {
        let device = Some(recording.device(device));
        recording.fact(Fact::read(device, key.clone(), text, "/sys"));
    }
    recording
}

/// LVM on an md array of two disks, with a file system, beside a disk with partitions and a loop
/// device.
fn host() -> NameTable {
    NameTable::of(&recording(&[
        ("sda", key::DEVICE_NUMBER, "8:0"),
        ("sda", key::DEVICE_HOLDERS, "md0"),
        ("sdb", key::DEVICE_HOLDERS, "md0"),
        ("md0", key::DEVICE_SLAVES, "sda sdb"),
        ("md0", key::DEVICE_LINKS, "/dev/md/root /dev/disk/by-id/md-name-host:root"),
        ("dm-3", key::DEVICE_SLAVES, "md0"),
        ("dm-3", key::DM_NAME, "vg--a-pg--data"),
        ("dm-3", key::DM_UUID, "LVM-AAAAbbbb"),
        ("vg--a-pg--data", key::MOUNT_POINT, "/var/lib/pg"),
        ("sdc", key::DEVICE_NUMBER, "8:32"),
        ("sdc1", key::PARTITION_DISK, "sdc"),
        ("sdc1", key::PARTITION_FIRST_SECTOR, "2048"),
        ("sdc1", key::PARTITION_SECTORS, "409600"),
        ("sdc1", key::DEVICE_LINKS, "/dev/disk/by-uuid/AB-CD /dev/disk/by-label/EFI"),
        ("sdc1", key::MOUNT_POINT, "/boot/efi"),
        ("sdc2", key::PARTITION_DISK, "sdc"),
        ("dm-4", key::DEVICE_SLAVES, "sdc2"),
        ("dm-4", key::DM_NAME, "luks-1234-ab"),
        ("dm-4", key::DM_UUID, "CRYPT-LUKS2-1234-luks"),
        ("dm-4", key::MOUNT_POINT, "/"),
        ("loop7", key::LOOP_FILE, "/srv/disk image.raw"),
        ("nvme0c1n1", key::DEVICE_NUMBER, "259:4"),
    ]))
}

#[test]
fn volume_names_are_split_where_the_hyphen_is_single() {
    let of = |name: &str| volume_of(name);
    let named = |group: &str, volume: &str| Some((group.to_string(), volume.to_string()));
    assert_eq!(of("vg-pgdata"), named("vg", "pgdata"));
    assert_eq!(of("vg--a-pg--data"), named("vg-a", "pg-data"));
    assert_eq!(of("vg--a--"), None);
    assert_eq!(of("vg-lv-real"), named("vg", "lv-real"));
    assert_eq!(of("luks"), None);
    assert_eq!(of("-x"), None);
}

#[test]
fn a_device_is_known_by_all_its_names() {
    let table = host();
    let volume = table.get("dm-3").unwrap();
    assert_eq!(volume.volume(), Some(("vg-a".to_string(), "pg-data".to_string())));
    assert_eq!(volume.mounts, ["/var/lib/pg"]);
    assert_eq!(table.get("dm-4").and_then(|known| known.kind), Some(MapKind::Crypt));
    assert_eq!(table.get("md0").and_then(DeviceNames::array), Some("root"));
    // The volume's own entry is that of the device.
    assert_eq!(table.get("vg--a-pg--data"), None);
    assert_eq!(table.above("sda"), ["md0", "dm-3"]);
    assert_eq!(table.mounts("sda"), ["/var/lib/pg"]);
    assert_eq!(table.above("sdc"), ["dm-4"]);
    assert_eq!(table.mounts("sdc"), ["/boot/efi", "/"]);
    assert_eq!(table.above("nvme0c1n1"), ["nvme0n1"]);
}

#[test]
fn each_name_leads_to_its_device() {
    let table = host();
    for (given, device) in [
        ("sda", "sda"),
        ("/dev/sda", "sda"),
        ("8:32", "sdc"),
        ("vg--a-pg--data", "dm-3"),
        ("/dev/mapper/vg--a-pg--data", "dm-3"),
        ("vg-a/pg-data", "dm-3"),
        ("/dev/vg-a/pg-data", "dm-3"),
        ("/var/lib/pg", "dm-3"),
        ("/var/lib/pg/", "dm-3"),
        ("/", "dm-4"),
        ("/dev/md/root", "md0"),
        ("/dev/disk/by-id/md-name-host:root", "md0"),
        ("md-name-host:root", "md0"),
        ("/srv/disk image.raw", "loop7"),
    ] {
        let found = table.resolve(given);
        let names: Vec<&str> = found.iter().map(|target| target.device.as_str()).collect();
        assert_eq!(names, [device], "{given}");
        assert!(found.iter().all(|target| target.partition.is_none()), "{given}");
    }
    for given in ["sdc1", "/dev/sdc1", "UUID=AB-CD", "LABEL=EFI", "EFI", "/boot/efi"] {
        let found = table.resolve(given);
        assert_eq!(found.len(), 1, "{given}");
        let (name, partition) = found[0].partition.clone().unwrap();
        assert_eq!((found[0].device.as_str(), name.as_str()), ("sdc", "sdc1"), "{given}");
        assert_eq!(partition.range(), Some((2048, 411_648)));
    }
    for given in ["", "sdx", "/var/lib", "UUID=EFI", "vg-a"] {
        assert_eq!(table.resolve(given), [], "{given}");
    }
}

#[test]
fn a_capture_of_lsblk_and_mounts_is_enough() {
    let table = NameTable::of(&recording(&[
        ("dm-0", key::DEVICE_ALIAS, "vg-root"),
        ("dm-0", key::DEVICE_SLAVES, "nvme0n1p2"),
        ("nvme0n1", key::DEVICE_NUMBER, "259:0"),
        ("nvme0n1p2", key::MOUNT_POINT, "/raw"),
        ("vg-root", key::MOUNT_POINT, "/"),
    ]));
    assert_eq!(table.mounts("dm-0"), ["/"]);
    assert_eq!(table.resolve("vg-root")[0].device, "dm-0");
    assert_eq!(table.above("nvme0n1"), ["dm-0"]);
    assert_eq!(table.mounts("nvme0n1"), ["/raw", "/"]);
}
