//! The context of the I/O, from a folder with the layout of a machine: no privileges, no hardware.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use iowhy_live::{Collector, HostFacts};
use iowhy_model::{Fact, FactKey, FactValue, Recording, key};

/// A folder that is removed with its guard.
struct Machine(PathBuf);

impl Machine {
    fn new() -> Machine {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("iowhy-around-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&path);
        Machine(path)
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.0.join(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("its folder");
        fs::write(path, text).expect("a file");
    }

    /// A link as in /sys: relative, and inside it.
    fn link(&self, from: &str, to: &str) {
        let up = "../".repeat(from.matches('/').count() - 1);
        let to = to.strip_prefix("sys/").expect("a place in /sys");
        let from = self.0.join(from);
        fs::create_dir_all(from.parent().expect("a folder")).expect("its folder");
        std::os::unix::fs::symlink(up + to, from).expect("a link");
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn fact(recording: &Recording, key: FactKey) -> &Fact {
    let mut all = recording.listings.iter().flat_map(|listing| &listing.facts);
    all.find(|fact| fact.key == key).unwrap_or_else(|| panic!("no fact `{key}`"))
}

fn on(recording: &Recording, key: FactKey) -> String {
    let device = fact(recording, key).device.expect("a device");
    recording.device_of(device).name.clone()
}

#[test]
fn every_fact_says_where_it_was_read() {
    let machine = Machine::new();
    machine.write("proc/stat", "cpu  100 0 50 800 20 0 0 30 0 0\n");
    machine.write("proc/vmstat", "nr_free_pages 9\nnr_dirty 120\nnr_dirty_threshold 400\n");
    machine.write("proc/pressure/io", "some avg10=12.50 avg60=0.00 avg300=0.00 total=7\n");
    machine.write("proc/self/mountinfo", "30 1 8:1 / /srv rw,sync shared:1 - ext4 /dev/sda1 rw\n");
    machine.write(
        "dev/kmsg",
        "3,812,86411204830,-;blk_update_request: critical medium error, dev sda, sector 2056\n \
         SUBSYSTEM=block\n",
    );
    machine.write("sys/fs/cgroup/a.slice/io.max", "8:0 rbps=max wbps=max riops=max wiops=120\n");
    let port = "sys/devices/pci0000:00/0000:00:1f.2/ata3/host2/target2:0:0/2:0:0:0";
    machine.write(&format!("{port}/block/sda/dev"), "8:0");
    machine.write(&format!("{port}/block/sda/queue/rotational"), "1");
    machine.write(&format!("{port}/block/sda/size"), "7814037168\n");
    machine.write(&format!("{port}/model"), "EXAMPLE HD4000\n");
    machine.write(&format!("{port}/hwmon/hwmon1/temp1_input"), "56000\n");
    machine.write(&format!("{port}/hwmon/hwmon1/temp1_max"), "60000\n");
    machine.link("sys/block/sda", &format!("{port}/block/sda"));
    machine.link(&format!("{port}/block/sda/device"), port);
    machine.write("sys/class/ata_link/link3/sata_spd", "3.0 Gbps\n");
    machine.write("image", "shown by a loop device");
    let image = Path::new(&machine.0).join("image");
    let number = fs::metadata(&image).expect("the image").dev();
    let number = format!("{}:{}", libc::major(number), libc::minor(number));
    machine.write("sys/block/loop3/dev", "7:3");
    machine.write("sys/block/loop3/loop/backing_file", &format!("{}\n", image.display()));
    machine.write(&format!("{port}/block/sda/sda1/partition"), "1\n");
    machine.link(&format!("sys/dev/block/{number}"), &format!("{port}/block/sda/sda1"));
    machine.write("sys/class/ata_link/link3/hw_sata_spd_limit", "6.0 Gbps\n");

    let mut recording = Recording::new();
    let mut around = HostFacts::new(Path::new(&machine.0));
    around.begin(&mut recording).expect("a beginning");
    machine.write("proc/stat", "cpu  150 0 50 820 20 0 0 60 0 0\n");
    around.end(&mut recording).expect("an end");

    // 30 of 100 ticks.
    let stolen = fact(&recording, key::VMSTAT_MEAN.of("st"));
    assert_eq!((&stolen.value, stolen.read_from.as_str()), (&FactValue::Share(0.3), "/proc/stat"));
    assert_eq!(fact(&recording, key::VM.of("nr_dirty")).value, FactValue::Count(120));
    assert_eq!(fact(&recording, key::PRESSURE_AVG10.of("io.some")).value, FactValue::Share(0.125));
    assert_eq!(fact(&recording, key::MOUNT_OPTIONS).read_from, "/proc/self/mountinfo:1");
    assert_eq!(on(&recording, key::KERNEL_LOG.of("medium")), "sda");
    let message =
        fact(&recording, key::KERNEL_LOG.of("medium")).value.message().expect("a message");
    assert_eq!((message.stamp.as_str(), message.at_s), ("86411.204830", Some(86411.204830)));
    let limit = fact(&recording, key::CGROUP_MAX_WIOPS);
    assert_eq!(limit.value, FactValue::PerSecond(120.0));
    assert_eq!(on(&recording, key::CGROUP_MAX_WIOPS), "sda");
    assert_eq!(limit.read_from, "/sys/fs/cgroup/a.slice/io.max");
    assert_eq!(fact(&recording, key::DEVICE_PORT).value.text(), Some("ata3"));
    assert_eq!(fact(&recording, key::DEVICE_PARENT).value.text(), Some("0000:00:1f.2"));
    assert_eq!(fact(&recording, key::DEVICE_MODEL).value.text(), Some("EXAMPLE HD4000"));
    // Sectors of 512 bytes (Documentation/ABI/stable/sysfs-block).
    assert_eq!(fact(&recording, key::DEVICE_BYTES).value, FactValue::Bytes(4_000_787_030_016));
    assert_eq!(fact(&recording, key::DEVICE_BACKING).value.text(), Some("sda"));
    assert_eq!(on(&recording, key::DEVICE_BACKING), "loop3");
    assert_eq!(fact(&recording, key::DEVICE_LINK_SPEED).value, FactValue::BitsPerSecond(3e9));
    assert_eq!(fact(&recording, key::DEVICE_LINK_SPEED_MAX).value, FactValue::BitsPerSecond(6e9));
    let warmth = fact(&recording, key::DEVICE_CELSIUS);
    assert!(warmth.value == FactValue::Celsius(56.0) && warmth.at.is_some(), "{warmth:?}");
    assert_eq!(fact(&recording, key::DEVICE_CELSIUS_WARNING).value, FactValue::Celsius(60.0));
}

#[test]
fn limits_of_version_1_are_those_of_the_controller_blkio() {
    let machine = Machine::new();
    machine.write(
        "proc/self/mountinfo",
        "30 24 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n\
         31 24 0:27 / /sys/fs/cgroup/blkio rw,relatime shared:9 - cgroup cgroup rw,blkio\n",
    );
    machine.write("sys/fs/cgroup/blkio/db/blkio.throttle.read_iops_device", "8:0 100\n");
    machine.write("sys/fs/cgroup/blkio/db/blkio.throttle.write_bps_device", "8:0 1048576\n");
    machine.write("sys/fs/cgroup/blkio/blkio.throttle.read_bps_device", "");
    let mut recording = Recording::new();
    let mut around = HostFacts::new(Path::new(&machine.0));
    around.begin(&mut recording).expect("a beginning");
    around.end(&mut recording).expect("an end");
    let limit = fact(&recording, key::CGROUP_MAX_RIOPS);
    assert_eq!(limit.value, FactValue::PerSecond(100.0));
    assert_eq!(on(&recording, key::CGROUP_MAX_RIOPS), "sda");
    assert_eq!(limit.read_from, "/sys/fs/cgroup/blkio/db/blkio.throttle.read_iops_device");
    assert_eq!(on(&recording, key::CGROUP_MAX_WBPS), "sda");
}

#[test]
fn a_group_of_any_name_has_its_limit() {
    for name in [
        "x y",
        " ",
        "8:16 100",
        "a:8:0 7",
        "echo \"8:0 7\" > z",
        "io.max",
        "\t",
        "a\rb",
        "\u{1b}[2J",
        "#%=,;'",
    ] {
        for (file, text, mount) in [
            ("blkio.throttle.read_iops_device", "8:0 7\n", "cgroup cgroup rw,blkio"),
            ("io.max", "8:0 rbps=max wbps=max riops=7 wiops=max\n", "cgroup2 cgroup2 rw"),
        ] {
            let machine = Machine::new();
            let top = "sys/fs/cgroup/top";
            machine.write("proc/self/mountinfo", &format!("31 24 0:27 / /{top} rw - {mount}\n"));
            machine.write(&format!("{top}/{name}/{file}"), text);
            machine.write(&format!("{top}/{name}/blkio.throttle.io_serviced"), "8:0 Read 58\n");
            let mut recording = Recording::new();
            let mut around = HostFacts::new(Path::new(&machine.0));
            around.begin(&mut recording).expect("a beginning");
            around.end(&mut recording).expect("an end");
            let limit = fact(&recording, key::CGROUP_MAX_RIOPS);
            assert_eq!(limit.value, FactValue::PerSecond(7.0), "{name:?}");
            assert_eq!(on(&recording, key::CGROUP_MAX_RIOPS), "sda", "{name:?}");
            let shown = name.replace(char::is_control, "\u{fffd}");
            assert_eq!(limit.read_from, format!("/{top}/{shown}/{file}"));
            let counted = fact(&recording, FactKey::named("cgroup.io.stat.rios"));
            assert_eq!(counted.value, FactValue::Count(58), "{name:?}");
        }
    }
}

#[test]
fn a_machine_that_shows_nothing_is_no_error() {
    let mut recording = Recording::new();
    let mut around = HostFacts::new(Path::new("/nowhere/at/all"));
    around.begin(&mut recording).expect("a beginning");
    around.poll(&mut recording).expect("a poll");
    around.end(&mut recording).expect("an end");
    assert!(recording.listings.iter().all(|listing| listing.facts.is_empty()));
}
