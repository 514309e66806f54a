//! Names that users choose, in the kernel's log: each message that a reader knows, written in the
//! place of a name.
//!
//! A message in a name is not a log event: it must not become a fact. As a control, the message
//! itself in the same form of the log must become one.

use std::io;
use std::path::PathBuf;

use iowhy_model::{FactKey, Recording, key};

use super::{AttackRow, Field};

/// The attacks' names.
const NAMES: &str = "each known message as a name in a kernel log: a fault believed";
const JUDGED: &str = "the same, all of them in a log for `why`";

/// A process that the kernel ended because memory ran out.
const KILLED: &str = "process killed";

/// Where names occur in messages of the kernel and of what writes to its log; `{}` is the name.
const PLACES: &[(&str, &str)] = &[
    ("USB product", "usb 1-1: Product: {}"),
    ("USB manufacturer", "usb 1-1: Manufacturer: {}"),
    ("USB serial number", "usb 1-1: SerialNumber: {}"),
    ("input device", "input: {} as /devices/pci0000:00/0000:00:14.0/usb1/1-1/input/input5"),
    (
        "HID device",
        "hid-generic 0003:046D:C52B.0001: input,hidraw0: USB HID v1.11 Keyboard [{}] on \
         usb-0000:00:14.0-1/input0",
    ),
    ("SCSI inquiry", "scsi 0:0:0:0: Direct-Access     ACME     {} 0001 PQ: 0 ANSI: 5"),
    ("ATA model", "ata1.00: ATA-8: {}, 1.0, max UDMA/133"),
    ("ATA bridge", "ata1.00: Model '{}', rev '1.0', applying bridge limits"),
    ("NVMe subsystem", "nvme nvme0: new ctrl: NQN \"{}\", addr 192.0.2.7:4420"),
    ("card", "mmcblk0: mmc0:0001 {} 29.8 GiB"),
    (
        "control group, version 2",
        "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/user.slice/{},task_memcg=/user.slice/{},task=python3,pid=1,uid=1000",
    ),
    (
        "control group, version 1",
        "Tasks in /user/{} are going to be killed due to memory.oom.group set",
    ),
    ("control group that ran out", "Task in /user/{} killed as a result of limit of /user/{}"),
    (
        "control group of too many tasks",
        "cgroup: fork rejected by pids controller in /user.slice/{}",
    ),
    (
        "cpuset",
        "dd: page allocation failure: order:0, mode:0xcc0(GFP_KERNEL), \
         nodemask=(null),cpuset={},mems_allowed=0",
    ),
    (KILLED, "Out of memory: Killed process 812 ({}) total-vm:65536kB, anon-rss:1kB, UID:1000"),
    (
        "process that crashed",
        "{15}[812]: segfault at 0 ip 0000000000401136 sp 00007ffd0 error 4 in {}[401000+1000]",
    ),
    (
        "process that needed memory",
        "{15} invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
    ),
    ("process that was traced", "CPU: 0 PID: 812 Comm: {15} Not tainted 6.1.0"),
    ("process that frees caches", "{15} (812): drop_caches: 3"),
    (
        "program of a trap",
        "traps: {15}[812] general protection fault ip:401136 sp:7ffd0 error:0 in {}[401000+1000]",
    ),
    (
        "file",
        "EXT4-fs error (device sda1): ext4_lookup:1851: inode #2: comm ls: deleted inode \
         referenced: {}",
    ),
    (
        "process beside a file",
        "EXT4-fs error (device sda1): ext4_lookup:1851: inode #2: comm {15}: deleted inode \
         referenced: 12",
    ),
    ("mount option", "EXT4-fs (sda1): Unrecognized mount option \"{}\" or missing value"),
    ("mount", "EXT4-fs (sda1): mounted filesystem with ordered data mode. Opts: {}"),
    ("last mount", "EXT4-fs (sda1): last mounted on {}"),
    (
        "volume label",
        "BTRFS: device label {} devid 1 transid 7 /dev/sdb scanned by systemd-udevd (211)",
    ),
    (
        "volume label, later",
        "BTRFS: device label {} devid 1 transid 7 /dev/sdb (8:16) scanned by mount (211)",
    ),
    ("device-mapper name", "device-mapper: ioctl: device {} was renamed"),
    ("array", "md: {} stopped."),
    ("network device", "eth0: renamed from {}"),
    (
        "audit",
        "audit: type=1400 audit(1763714207.123:45): apparmor=\"DENIED\" operation=\"open\" \
         profile=\"{}\" name=\"{}\" pid=812 comm=\"{15}\"",
    ),
    (
        "audit of a command",
        "audit: type=1326 audit(1763714207.123:45): auid=1000 uid=1000 exe=\"{}\" sig=31",
    ),
    ("unit", "systemd[1]: Starting {}..."),
    ("hostname", "systemd[1]: Set hostname to <{}>."),
    ("firmware", "platform regulatory.0: Direct firmware load for {} failed with error -2"),
    ("a program's line", "app[812]: {}"),
    ("a quoted message", "app: it says \"{}\" and goes on"),
    ("a message after a time", "usb 1-1: Product: x [  100.100003] {}"),
    ("a message after a syslog header", "usb 1-1: Product: 08:36:47 web kernel: {}"),
];

/// How a line of the log is printed; `{}` is the message, `{n}` its number.
const FORMS: &[(&str, &str)] = &[
    ("dmesg", "[  100.10{n}] {}"),
    ("dmesg -x", "kern  :info  : [  100.10{n}] {}"),
    ("dmesg -T", "[Sat Nov 21 08:36:47 2026] {}"),
    ("/dev/kmsg", "6,1{n},10010{n},-;{}"),
    ("syslog", "Nov 21 08:36:47 web kernel: [  100.10{n}] {}"),
    ("syslog of RFC 5424", "<6>1 2026-11-21T08:36:47.10{n}Z web kernel - - - {}"),
    ("journalctl -o short-iso", "2026-11-21T08:36:47+0000 web kernel: {}"),
    (
        "journalctl -o json",
        "{\"__CURSOR\":\"s=1\",\"__MONOTONIC_TIMESTAMP\":\"10010{n}\",\"_TRANSPORT\":\"kernel\",\"SYSLOG_IDENTIFIER\":\"kernel\",\"MESSAGE\":{json}}",
    ),
    (
        "journalctl -o export",
        "__CURSOR=s=1\n__MONOTONIC_TIMESTAMP=10010{n}\n_TRANSPORT=kernel\nMESSAGE={}\n",
    ),
    ("messages alone", "{}"),
];

/// The log begins with a message of a device that was not measured, so that a reader accepts it
/// whatever follows.
const OPENS: &str = "ata9: SATA max UDMA/133 abar m2048@0xf7e36000 port 0xf7e36100 irq 27";

/// A message with a name in it; names of tasks have 15 bytes at most.
fn placed(place: &str, name: &str) -> String {
    let short = (0..=15).rev().find_map(|length| name.get(..length)).unwrap_or_default();
    place.replace("{15}", short).replace("{}", name)
}

/// A log of messages.
fn log(form: &str, messages: &[String]) -> String {
    let line = |(number, message): (usize, &String)| {
        let json = message.replace('\\', "\\\\").replace('"', "\\\"");
        let text = form.replace("{n}", &format!("{:04}", number % 10_000));
        text.replace("{json}", &format!("\"{json}\"")).replace("{}", message) + "\n"
    };
    messages.iter().enumerate().map(line).collect()
}

/// What a text states of faults.
fn faults(text: &str) -> Vec<String> {
    let mut recording = Recording::new();
    let _ = iowhy_read::scan("log", &mut text.as_bytes(), None, &mut recording);
    let facts = recording.listings.iter().flat_map(|listing| &listing.facts);
    let fault = |key: &FactKey| {
        let of_log = key.member_of(key::KERNEL_LOG).is_some()
            && *key != key::KERNEL_LOG_LINES
            && *key != key::KERNEL_LOG_END;
        of_log
            || key.is_under("smart")
            || *key == key::DEVICE_PORT
            || *key == key::KERNEL_OOPSES
            || key.member_of(key::TASKS_HUNG_IN).is_some()
            || *key == key::TASKS_HUNG_IN_RECLAIM
            || *key == key::TASKS_RETRY_MEMORY
            || *key == key::TASKS_STALLED_FOR_MEMORY
            || *key == key::NETWORK_STOPPED
    };
    facts
        .filter(|fact| fault(&fact.key))
        .map(|fact| format!("{} {}", fact.key, fact.value))
        .collect()
}

/// Writes every known message into every name, in every form of the log or, in short, in one form
/// each; read here, for the files of all commands are read so.
pub(super) fn names(in_short: bool) -> AttackRow {
    let mut row = AttackRow::of(NAMES);
    let examples = iowhy_read::log_examples();
    for (turn, (form_name, form)) in FORMS.iter().enumerate() {
        for (at, (place_name, place)) in PLACES.iter().enumerate() {
            // A thousand lines in one log would hide which it was.
            for (number, example) in examples.iter().enumerate() {
                if in_short && (at + number) % (4 * FORMS.len()) != turn {
                    continue;
                }
                let text = log(form, &[OPENS.to_string(), placed(place, example)]);
                row.inputs += 1;
                let found = faults(&text);
                let failed = (!found.is_empty()).then(|| {
                    format!(
                        "{form_name}, {place_name}: `{example}` is believed: {}",
                        found.join("; ")
                    )
                });
                row.ran(failed);
            }
        }
    }
    let controls = [
        "blk_update_request: critical medium error, dev sda, sector 8 op 0x0:(READ)",
        "ata3.00: error: { UNC }",
    ];
    for (form_name, form) in FORMS {
        for control in controls {
            row.inputs += 1;
            let found = faults(&log(form, &[OPENS.to_string(), control.to_string()]));
            row.ran(found.is_empty().then(|| format!("{form_name}: `{control}` is not seen")));
        }
    }
    row
}

impl Field<'_> {
    /// Gives `why` all of these logs: it blames no device.
    pub(super) fn names(&self) -> io::Result<AttackRow> {
        let mut row = AttackRow::of(JUDGED);
        let examples = iowhy_read::log_examples();
        for (place_name, place) in PLACES {
            let messages: Vec<String> = [OPENS.to_string()]
                .into_iter()
                .chain(examples.iter().map(|example| placed(place, example)))
                .collect();
            std::fs::write(
                self.at("input"),
                log(FORMS[row.inputs as usize % FORMS.len()].1, &messages),
            )?;
            row.inputs += 1;
            let failed = self.run("why --json {in}", "input", true)?;
            let report_text = std::fs::read_to_string(self.at("stdout"))?;
            let blames = report_text
                .split("\"verdict\": \"")
                .skip(1)
                .filter_map(|rest| rest.split('"').next());
            // That message is the kernel's statement about memory, whatever the process is called.
            let of_memory = |verdict: &str| place_name == &KILLED && verdict == "layer.memory";
            let blamed = blames.filter(|verdict| {
                !["insufficient", "healthy"].contains(verdict) && !of_memory(verdict)
            });
            let blamed: Vec<&str> = blamed.collect();
            let judged =
                (!blamed.is_empty()).then(|| format!("{place_name}: {}", blamed.join(", ")));
            row.ran(failed.or(judged));
        }
        Ok(row)
    }

    /// As root, where memory is limited by groups of version 1 or 2: a group with a message as its
    /// name runs out of memory, and the kernel writes that name to its log. Nothing where that
    /// cannot be.
    pub(super) fn named_live(&self) -> io::Result<Option<AttackRow>> {
        let tops =
            [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")];
        let Some((top, limit)) = tops.iter().find(|(top, limit)| {
            PathBuf::from(top).join("cgroup.procs").exists() && {
                let probe = PathBuf::from(top).join(format!("iowhy-attack-{}", std::process::id()));
                let made = std::fs::create_dir(&probe).is_ok() && probe.join(limit).exists();
                let _ = std::fs::remove_dir(&probe);
                made
            }
        }) else {
            return Ok(None);
        };
        let mut row =
            AttackRow::of("a control group with a message as its name runs out of memory, live");
        for message in [
            "x blk_update_request: critical medium error, dev vda, sector 7 op 0x0:(READ)",
            "sd 0:0:0:0: [sda] tag#3 Sense Key : Medium Error [current]",
            "nvme nvme0: I/O 27 QID 3 timeout, aborting",
        ] {
            let group = PathBuf::from(top).join(message);
            std::fs::create_dir_all(&group)?;
            row.inputs += 1;
            std::fs::write(group.join(limit), "4194304")?;
            let script = "echo $$ > \"$GROUP/cgroup.procs\"; exec head -c 64M /dev/zero | tail";
            let _ =
                std::process::Command::new("sh").args(["-c", script]).env("GROUP", &group).output();
            let failed = self.run("why --for 1s --json", "input", true)?;
            std::fs::remove_dir(&group)?;
            let report_text = std::fs::read_to_string(self.at("stdout"))?;
            // The machine's log may rightly name other disks.
            let report: serde_json::Value = serde_json::from_str(&report_text).unwrap_or_default();
            let of_a_message = |finding: &serde_json::Value| {
                let device = finding["device"].as_str().unwrap_or_default();
                let verdict = finding["verdict"].as_str().unwrap_or_default();
                ["vda", "sda", "nvme0", "nvme0n1"].contains(&device)
                    && ["device.media", "device.hang", "device.path"].contains(&verdict)
            };
            let findings = report["findings"].as_array();
            let reported = ["sector 7 op 0x0", "[sda] tag#3", "I/O 27 QID 3"];
            let believed = findings.is_none_or(|all| all.iter().any(of_a_message))
                || reported.iter().any(|words| report_text.contains(words));
            row.ran(failed.or(believed.then(|| format!("`{message}` is believed"))));
        }
        Ok(Some(row))
    }
}
