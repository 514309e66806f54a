//! Names of block devices in a folder with `sys`, `proc` and `dev`: device mapper, loop files,
//! partitions, links of udev and ZFS, mount points. No device is opened.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use iowhy_model::{FactKey, key};

use crate::container_names::owner_facts;
use crate::devices::{BlockDevice, name_of};
use crate::foreign_files::{self, MOST_ENTRIES, entries, own_entries, text_below};
use crate::sysfs::SysFact;

/// Files below a device's folder that name it (Documentation/ABI/testing/sysfs-block-dm,
/// drivers/block/loop.c).
const FILES: [(FactKey, &str); 3] =
    [(key::DM_NAME, "dm/name"), (key::DM_UUID, "dm/uuid"), (key::LOOP_FILE, "loop/backing_file")];
/// Folders of links that lead to devices: those of udev (60-persistent-storage.rules,
/// 63-md-raid-arrays.rules) and of ZFS, which has folders in its own (60-zvol.rules).
const LINKS: [&str; 8] = [
    "dev/disk/by-id",
    "dev/disk/by-label",
    "dev/disk/by-uuid",
    "dev/disk/by-partuuid",
    "dev/disk/by-partlabel",
    "dev/disk/by-path",
    "dev/md",
    "dev/zvol",
];
/// Folders of links in folders of links: `/dev/zvol/POOL/SET/SET/VOLUME`.
const LINK_DEPTH: usize = 8;
/// The names of these devices and of pods below a folder, `/` or one with the same layout.
pub fn naming_facts(root: &Path, devices: &[BlockDevice]) -> Vec<SysFact> {
    let sys = root.join("sys");
    let mut facts = Vec::new();
    let mut numbers = BTreeMap::new();
    // A device without a size is unused: a free loop device.
    for device in devices.iter().filter(|device| device.bytes != Some(0)) {
        let folder = sys.join("block").join(device.name.replace('/', "!"));
        let mut add = |name: &str, key: FactKey, value: String, path: PathBuf| {
            let (disk, path) = (name.to_string(), path.display().to_string());
            facts.push(SysFact { disk, key, value, path });
        };
        numbers.insert((device.major, device.minor), device.name.clone());
        for (key, file) in FILES {
            let path = folder.join(file);
            if let Some(value) = line(&path) {
                add(&device.name, key, value, path);
            }
        }
        for (key, file, names) in [
            (key::DEVICE_SLAVES, "slaves", &device.slaves),
            (key::DEVICE_HOLDERS, "holders", &device.holders),
        ] {
            if !names.is_empty() {
                add(&device.name, key, names.join(" "), folder.join(file));
            }
        }
        for (name, major, minor) in &device.partitions {
            numbers.insert((*major, *minor), name.clone());
            let folder = folder.join(name.replace('/', "!"));
            add(name, key::PARTITION_DISK, device.name.clone(), folder.join("partition"));
            for (key, file) in
                [(key::PARTITION_FIRST_SECTOR, "start"), (key::PARTITION_SECTORS, "size")]
            {
                let path = folder.join(file);
                if let Some(value) = line(&path) {
                    add(name, key, value, path);
                }
            }
            let holders = names_of(&folder.join("holders"));
            if !holders.is_empty() {
                add(name, key::DEVICE_HOLDERS, holders.join(" "), folder.join("holders"));
            }
        }
    }
    links(root, &numbers, &mut facts);
    mounts(root, &numbers, &mut facts);
    facts.extend(owner_facts(root));
    facts
}

type Numbers = BTreeMap<(u32, u32), String>;

/// Targets of links are read from their text: no device is opened.
fn links(root: &Path, numbers: &Numbers, facts: &mut Vec<SysFact>) {
    let mut known: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let is_device = |name: &str| numbers.values().any(|known| known == name);
    let mut folders: Vec<(String, usize)> = LINKS.map(|folder| (folder.to_string(), 0)).into();
    while let Some((folder, depth)) = folders.pop() {
        for entry in own_entries(root, &folder).take(MOST_ENTRIES) {
            let Ok(target) = fs::read_link(entry.path()) else {
                if depth < LINK_DEPTH {
                    let inner = format!("{folder}/{}", entry.file_name().to_string_lossy());
                    folders.push((inner, depth + 1));
                }
                continue;
            };
            let Some(name) = target.file_name().map(|name| name.to_string_lossy()) else {
                continue;
            };
            let link = entry.file_name().to_string_lossy().into_owned();
            // Names in the fact are separated by blanks; udev writes a blank as `\x20`.
            if is_device(&name) && !link.contains(char::is_whitespace) {
                known.entry(name.into_owned()).or_default().push(format!("/{folder}/{link}"));
            }
        }
    }
    for (disk, mut links) in known {
        links.sort();
        let (value, path) = (links.join(" "), root.join("dev").display().to_string());
        facts.push(SysFact { disk, key: key::DEVICE_LINKS, value, path });
    }
}

/// Mount points of this process's namespace by the number of the device; if that number belongs to
/// the file system (btrfs), by its source. A bind mount is used only if there is no other.
fn mounts(root: &Path, numbers: &Numbers, facts: &mut Vec<SysFact>) {
    const PATH: &str = "proc/self/mountinfo";
    let text = text_below(root, PATH).unwrap_or_default();
    let mut known: BTreeMap<String, Vec<(bool, String)>> = BTreeMap::new();
    for line in text.lines().take(MOST_ENTRIES) {
        // proc_pid_mountinfo(5): number, root and place are the third to fifth word, the source the
        // second after a lone hyphen.
        let words: Vec<&str> = line.split(' ').collect();
        let [_, _, number, of, point, ..] = words.as_slice() else { continue };
        let source = words.iter().position(|word| *word == "-").and_then(|at| words.get(at + 2));
        let number =
            number.split_once(':').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
        let by_source = || {
            let name = source?.strip_prefix("/dev/")?;
            numbers.values().find(|known| *known == name)
        };
        if let Some(device) = number.and_then(|of| numbers.get(&of)).or_else(by_source) {
            known.entry(device.clone()).or_default().push((*of == "/", unescaped(point)));
        }
    }
    for (disk, mut points) in known {
        let whole = points.iter().any(|(is_whole, _)| *is_whole);
        points.retain(|(is_whole, _)| *is_whole || !whole);
        for (_, value) in points {
            let (disk, path) = (disk.clone(), root.join(PATH).display().to_string());
            facts.push(SysFact { disk, key: key::MOUNT_POINT, value, path });
        }
    }
}

/// Blanks, tabs, newlines and backslashes are octal in /proc (fs/proc_namespace.c, mangle).
fn unescaped(text: &str) -> String {
    let all = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    all.into_iter().fold(text.to_string(), |text, (code, plain)| text.replace(code, plain))
}

fn names_of(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        entries(folder).filter_map(|entry| name_of(&entry.path())).collect();
    names.sort();
    names
}

/// The text of a small file without its newline; `None` if it is not there or empty.
fn line(path: &Path) -> Option<String> {
    let text = foreign_files::text(path)?;
    let text = text.strip_suffix('\n').unwrap_or(&text);
    (!text.is_empty()).then(|| text.to_string())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use iowhy_model::{Fact, Level, NameTable, Recording, Sink, Source};

    use super::*;
    use crate::devices::devices;

    /// LVM on an md array of a partition and a disk, a loop device, btrfs, and a bind mount.
    fn host() -> PathBuf {
        let root = std::env::temp_dir().join(format!("iowhy-names-{}", std::process::id()));
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
            fs::write(path, text).expect("a file");
        };
        for (disk, number) in [
            ("sda", "8:0"),
            ("sdb", "8:16"),
            ("md0", "9:0"),
            ("dm-3", "253:3"),
            ("loop7", "7:7"),
            ("zd16", "230:16"),
        ] {
            write(&format!("sys/block/{disk}/dev"), &format!("{number}\n"));
            write(&format!("sys/block/{disk}/size"), "4194304\n");
        }
        write("sys/block/sda/sda1/partition", "1\n");
        write("sys/block/sda/sda1/dev", "8:1\n");
        write("sys/block/sda/sda1/start", "2048\n");
        write("sys/block/sda/sda1/size", "1048576\n");
        write("sys/block/sda/sda1/holders/md0/dev", "9:0\n");
        write("sys/block/sdb/holders/md0/dev", "9:0\n");
        write("sys/block/md0/slaves/sda1/dev", "8:1\n");
        write("sys/block/md0/slaves/sdb/dev", "8:16\n");
        write("sys/block/md0/holders/dm-3/dev", "253:3\n");
        write("sys/block/dm-3/slaves/md0/dev", "9:0\n");
        write("sys/block/dm-3/dm/name", "vg-pgdata\n");
        write("sys/block/dm-3/dm/uuid", "LVM-x\n");
        write("sys/block/loop7/loop/backing_file", "/srv/a disk.img\n");
        write(
            "proc/self/mountinfo",
            "30 1 253:3 / /var/lib/pg rw shared:1 - ext4 /dev/mapper/vg-pgdata rw\n\
             31 1 253:3 /etc/hosts /etc/hosts rw - ext4 /dev/mapper/vg-pgdata rw\n\
             32 1 0:40 /@ /mnt/a\\040b rw - btrfs /dev/loop7 rw\n\
             33 1 0:20 / /proc rw - proc proc rw\n",
        );
        fs::create_dir_all(root.join("dev/disk/by-id")).expect("folders");
        fs::create_dir_all(root.join("dev/md")).expect("folders");
        fs::create_dir_all(root.join("dev/zvol/tank/vm")).expect("folders");
        symlink("../../../zd16", root.join("dev/zvol/tank/vm/web")).expect("a link");
        symlink("../../sda", root.join("dev/disk/by-id/ata-EXAMPLE_1")).expect("a link");
        symlink("../../gone", root.join("dev/disk/by-id/ata-EXAMPLE_2")).expect("a link");
        symlink("../md0", root.join("dev/md/data")).expect("a link");
        root
    }

    #[test]
    fn a_copied_tree_names_its_devices() {
        let root = host();
        let mut recording = Recording::new();
        recording.begin(Source::new("host-facts", "live", Level::E));
        let known = devices(&root.join("sys")).expect("a folder of devices");
        for fact in naming_facts(&root, &known) {
            let device = (!fact.disk.is_empty()).then(|| recording.device(&fact.disk));
            recording.fact(Fact::read(device, fact.key, &fact.value, fact.path));
        }
        fs::remove_dir_all(&root).expect("nobody needs it");
        let table = NameTable::of(&recording);
        for (given, device) in [
            ("/var/lib/pg", "dm-3"),
            ("vg/pgdata", "dm-3"),
            ("/mnt/a b", "loop7"),
            ("/srv/a disk.img", "loop7"),
            ("ata-EXAMPLE_1", "sda"),
            ("/dev/md/data", "md0"),
            ("sda1", "sda"),
            ("tank/vm/web", "zd16"),
        ] {
            let found = table.resolve(given);
            assert_eq!(found.first().map(|one| one.device.as_str()), Some(device), "{given}");
        }
        assert!(
            table.resolve("/etc/hosts").is_empty() && table.resolve("ata-EXAMPLE_2").is_empty()
        );
        assert_eq!(table.above("sda"), ["md0", "dm-3"]);
        assert_eq!(table.mounts("sdb"), ["/var/lib/pg"]);
        assert_eq!(table.get("zd16").and_then(|known| known.given()), Some("tank/vm/web"));
    }
}
