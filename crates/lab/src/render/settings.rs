//! What /sys reports of the disks: queues, ports, members of arrays; as `grep -r .` and `ls -l`
//! print it.

use std::fmt::Write;

use iowhy_model::{Fact, FactKey, Level, Medium, Recording, Sink, Source, key};

use crate::scenarios::{DiskRun, Port, Scenario, Trace};

/// The name of the input.
pub(super) const NAME: &str = "sys-block.txt";

/// The file's name below the disk's folder, and the fact that the live reader makes of it
/// (`crates/live/src/devices.rs`).
const FILES: [(&str, FactKey); 12] = [
    ("queue/scheduler", key::QUEUE_SCHEDULER),
    ("queue/rotational", key::QUEUE_ROTATIONAL),
    ("queue/nr_requests", key::QUEUE_NR_REQUESTS),
    ("queue/write_cache", key::QUEUE_WRITE_CACHE),
    ("queue/fua", key::QUEUE_FUA),
    ("queue/logical_block_size", key::QUEUE_LOGICAL_BLOCK_SIZE),
    ("queue/physical_block_size", key::QUEUE_PHYSICAL_BLOCK_SIZE),
    ("queue/discard_max_bytes", key::QUEUE_DISCARD_MAX_BYTES),
    ("queue/zoned", key::QUEUE_ZONED),
    ("device/queue_depth", key::DEVICE_QUEUE_DEPTH),
    ("device/timeout", key::DEVICE_TIMEOUT),
    ("device/model", key::DEVICE_MODEL),
];

/// `grep -r . /sys/block`, as far as it concerns the scenario, and the links of `ls -l /sys/block`.
pub(super) fn text(scenario: &Scenario) -> String {
    let mut out = String::new();
    for (place, disk) in scenario.disks.iter().enumerate() {
        let name = &disk.setup.name;
        let folder = format!("/sys/block/{name}");
        for (file, _) in FILES {
            let stated = scenario.traces.iter().find_map(|trace| match trace {
                Trace::Setting(of, known, value) if (*of, *known) == (place, file) => {
                    Some(value.clone())
                }
                Trace::Model(of, model) if *of == place && file == "device/model" => {
                    Some((*model).to_string())
                }
                _ => None,
            });
            if let Some(value) = stated.or_else(|| usual(disk, file)) {
                let _ = writeln!(out, "{folder}/{file}:{value}");
            }
        }
        let _ = writeln!(out, "{folder}/dev:{}", numbers(disk, place));
        for trace in &scenario.traces {
            if let Trace::Setting(of, file, _) = trace
                && *of == place
                && file.starts_with("holders/")
            {
                let _ = writeln!(out, "{folder}/{file}/slaves/{name}/dev:{}", numbers(disk, place));
            }
        }
        let target = way(scenario, disk, place);
        let _ = writeln!(out, "lrwxrwxrwx 1 root root 0 Nov 21 10:02 {name} -> {target}");
    }
    out
}

/// The default content of such a file for a disk of that kind.
fn usual(disk: &DiskRun, file: &str) -> Option<String> {
    let medium = disk.setup.medium;
    let scsi = disk.setup.name.starts_with("sd");
    let value = match file {
        "queue/scheduler" if medium == Medium::Rotational => "none [mq-deadline]",
        "queue/scheduler" if scsi => "none [mq-deadline]",
        "queue/scheduler" => "[none] mq-deadline",
        // Guests are told 1 for any disk of the host.
        "queue/rotational" if medium == Medium::Rotational || disk.setup.name.starts_with('v') => {
            "1"
        }
        "queue/rotational" => "0",
        "queue/nr_requests" if scsi => "64",
        "queue/nr_requests" => "1023",
        "queue/write_cache" if disk.setup.model.contains("cache=") => "write back",
        "queue/write_cache" if medium == Medium::Rotational => "write through",
        "queue/write_cache" if medium == Medium::Network => "write through",
        "queue/write_cache" => "write back",
        "queue/fua" => {
            if medium == Medium::Nvme {
                "1"
            } else {
                "0"
            }
        }
        "queue/logical_block_size" => "512",
        "queue/physical_block_size" => {
            if medium == Medium::Rotational {
                "4096"
            } else {
                "512"
            }
        }
        "queue/discard_max_bytes" => {
            if medium == Medium::Rotational {
                "0"
            } else {
                "2147450880"
            }
        }
        "queue/zoned" => "none",
        "device/queue_depth" if scsi => "32",
        "device/timeout" if scsi => "30",
        "device/model" if scsi && medium == Medium::Rotational => "ST4000NM0035-1V4",
        "device/model" if scsi => "Samsung SSD 870",
        "device/model" if medium == Medium::Nvme => "Samsung SSD 980 PRO 1TB",
        _ => return None,
    };
    Some(value.to_string())
}

/// Where the link of the disk leads.
fn way(scenario: &Scenario, disk: &DiskRun, place: usize) -> String {
    let name = &disk.setup.name;
    let port = scenario.traces.iter().find_map(|trace| match trace {
        Trace::Port(of, port) if *of == place => Some(*port),
        _ => None,
    });
    if let Some(controller) = name.strip_suffix("n1") {
        return format!("../devices/pci0000:00/0000:01:00.0/nvme/{controller}/{name}");
    }
    if name.starts_with("vd") || name.starts_with("xvd") {
        return format!(
            "../devices/pci0000:00/0000:00:0{}.0/virtio{place}/block/{name}",
            4 + place % 6
        );
    }
    if disk.setup.medium == Medium::Network {
        return format!("../devices/platform/host3/session1/target3:0:0/3:0:0:0/block/{name}");
    }
    match port.unwrap_or(Port::Ata(3 + place)) {
        Port::Ata(port) => format!(
            "../devices/pci0000:00/0000:00:17.0/ata{port}/host{0}/target{0}:0:0/{0}:0:0:0/block/{name}",
            port - 1
        ),
        Port::Expander(port) => format!(
            "../devices/pci0000:00/0000:02:00.0/host9/port-9:{port}/expander-9:{port}/port-9:{port}:{place}/end_device-9:{port}:{place}/target9:0:{place}/9:0:{place}:0/block/{name}"
        ),
    }
}

/// The disk's number.
pub(super) fn numbers(disk: &DiskRun, place: usize) -> String {
    let name = &disk.setup.name;
    let letter = name.bytes().last().unwrap_or(b'a').saturating_sub(b'a').min(15);
    match name.as_str() {
        name if name.starts_with("sd") => format!("8:{}", 16 * u32::from(letter)),
        name if name.starts_with("xvd") => format!("202:{}", 16 * u32::from(letter)),
        name if name.starts_with("vd") => format!("254:{}", 16 * u32::from(letter)),
        name if name.starts_with("nvme") => format!("259:{place}"),
        _ => format!("253:{}", place + 2),
    }
}

/// Its first partition.
pub(super) fn partition(name: &str) -> String {
    let digit = name.ends_with(|last: char| last.is_ascii_digit());
    match name {
        name if name.starts_with("dm-") => format!("mapper/vg0-lv{}", &name[3..]),
        name if digit => format!("{name}p1"),
        name => format!("{name}1"),
    }
}

/// States the content of such an input as the live reader would, if this is one and no format of
/// ours reads it.
pub(super) fn states(name: &str, text: &str, recording: &mut Recording) -> bool {
    if name != NAME {
        return false;
    }
    recording.begin(Source::new("devices", NAME, Level::E));
    for line in text.lines() {
        if let Some((link, target)) = line.split_once(" -> ") {
            let disk = link.rsplit(' ').next().unwrap_or_default();
            let port = target
                .split('/')
                .find(|part| part.strip_prefix("ata").is_some_and(|n| n.parse::<u32>().is_ok()));
            if let Some(port) = port {
                state(recording, disk, key::DEVICE_PORT, port);
            }
            continue;
        }
        let Some((path, value)) = line.split_once(':') else { continue };
        let Some((disk, file)) = path.trim_start_matches("/sys/block/").split_once('/') else {
            continue;
        };
        if let Some(holder) = file.strip_prefix("holders/").and_then(|rest| rest.split('/').next())
        {
            state(recording, disk, key::DEVICE_HOLDERS, holder);
        }
        if file == "dev" {
            state(recording, disk, key::DEVICE_NUMBER, value);
        }
        if let Some((_, key)) = FILES.iter().find(|(known, _)| *known == file) {
            let chosen = value.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
            state(recording, disk, key.clone(), chosen.map_or(value, |(chosen, _)| chosen));
        }
    }
    recording.end();
    true
}

fn state(recording: &mut Recording, disk: &str, key: FactKey, value: &str) {
    let device = Some(recording.device(disk));
    let read_from = format!("/sys/block/{disk}");
    recording.fact(Fact::read(device, key, value, read_from));
}
