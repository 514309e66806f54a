//! Targets that must not be written to or loaded: each is refused by the program, with its reason,
//! and not a byte of it changes.

use std::process::{Command, Stdio};

use crate::folder::Folder;
use crate::probe_rig::{Loop, finish, missing, probe, shell};

const BYTES: u64 = 24 << 20;

/// What is done to a blank device, what undoes it, and what the refusal says.
struct Refusal {
    what: &'static str,
    before: &'static str,
    after: &'static str,
    options: &'static str,
    why: &'static str,
}

const fn row(what: &'static str, before: &'static str, why: &'static str) -> Refusal {
    Refusal { what, before, after: "true", options: "", why }
}

/// `{d}` is the device, `{f}` its file, `{m}` a directory. `put PLACE BYTES` writes into the file.
const TABLE: &[Refusal] = &[
    Refusal {
        after: "umount {m}",
        ..row("mounted", "mkfs.ext4 -q -F {d} && mount -o ro {d} {m}", "it is mounted on")
    },
    Refusal {
        after: "swapoff {d}",
        ..row("swapped to", "mkswap -q {d} && swapon {d}", "it is used for swap as")
    },
    row("md member", "put 4096 '\\374N+\\251'", "an md RAID member"),
    row(
        "md member, old, at the end",
        "put $((24*1024*1024-65536)) '\\374N+\\251'",
        "md RAID member",
    ),
    row("LVM physical volume", "put 536 'LVM2 001'", "an LVM physical volume"),
    row("LUKS", "put 0 'LUKS\\272\\276'", "it contains LUKS"),
    row("GPT only at the end", "put $((24*1024*1024-512)) 'EFI PART'", "a backup GPT"),
    row("partition table", "put 510 '\\125\\252'", "a partition table or boot sector"),
    row("signature only", "put 65600 '_BHRfS_M'", "a btrfs file system"),
    row("data of no known kind", "put 1234567 'precious'", "unknown data at its start"),
    row("data where it would write", "put 9437183 'x'", "it contains data at byte 9437183 "),
    Refusal {
        after: "kill $(cat {m}.pid)",
        ..row("held open", "sleep 60 < {d} >&- 2>&- & echo $! > {m}.pid", "holds it open")
    },
    Refusal { options: "--read-only", ..row("read-only", "true", "it is read-only") },
    row("a symlink to LUKS", "put 0 'LUKS\\272\\276' && ln -s {d} {m}.link", "it contains LUKS"),
    Refusal {
        after: "losetup -d $(cat {m}.loop)",
        ..row(
            "behind another loop device",
            "losetup -f --show {d} > {m}.loop",
            "the backing file of",
        )
    },
];

#[test]
fn unsafe_targets_are_refused_and_unchanged() {
    if let Some(what) = missing() {
        println!("skipped: unsafe targets: needs {what}");
        return;
    }
    let folder = Folder::new("refusals");
    println!("{:28} {:8} {:10} why", "target", "refused", "unchanged");
    for (number, row) in TABLE.iter().enumerate() {
        // The kernel may swap to the area at any time, and then it is the kernel that writes.
        let mut tried = (0..5).map(|attempt| refused(row, &folder, &format!("{number}.{attempt}")));
        let done = tried.find(|attempt| *attempt != Attempt::KernelSwapped);
        match done {
            Some(Attempt::Done) => {}
            Some(_) => println!("{:28} skipped: this machine cannot `{}`", row.what, row.before),
            None => println!("{:28} skipped: the kernel swaps to it all the time", row.what),
        }
    }
}

/// How trying one refusal ended; it fails by an assertion.
#[derive(PartialEq)]
enum Attempt {
    Done,
    NotHere,
    KernelSwapped,
}

/// Pages the kernel has swapped out since boot.
fn pages_swapped_out() -> Option<String> {
    let text = std::fs::read_to_string("/proc/vmstat").ok()?;
    text.lines().find(|line| line.starts_with("pswpout ")).map(str::to_string)
}

fn refused(row: &Refusal, folder: &Folder, name: &str) -> Attempt {
    let device = Loop::new(folder, &format!("disk{name}"), BYTES, row.options);
    let place = folder.file(&format!("at{name}"));
    std::fs::create_dir(&place).unwrap();
    let put = "put() { printf \"$2\" | dd of={f} bs=1 seek=$1 conv=notrunc status=none; \
               blockdev --flushbufs {d}; }";
    let fill = |script: &str| {
        script.replace("{d}", &device.device).replace("{f}", &device.file).replace("{m}", &place)
    };
    let swapped = pages_swapped_out();
    if shell(&fill(&format!("{put}; {}", row.before))).is_none() {
        return Attempt::NotHere;
    }
    let before = device.checksum();
    let link = format!("{place}.link");
    let target = if std::path::Path::new(&link).exists() { &link } else { &device.device };
    let words = ["write-latency", target, "--serial", &device.file, "--cap", "24m"];
    let mut run = probe(&[&words[..], &["--span", "1m", "--count", "10"]].concat());
    let (status, out, reported) = finish(run.spawn().unwrap());
    let unchanged = device.checksum() == before;
    let swaps = row.before.contains("swapon") && pages_swapped_out() != swapped;
    shell(&fill(row.after));
    let mut lines = reported.lines();
    let why = lines.find(|line| line.starts_with("iowhy: will not")).unwrap_or_default();
    let why = why.split_once("`: ").map_or(why, |(_, why)| why);
    println!("{:28} {:8} {unchanged:<10} {why}", row.what, status == Some(2));
    assert_eq!((status, out.as_str()), (Some(2), ""), "{}: {reported}", row.what);
    assert!(why.contains(row.why) && reported.contains("\nhint: "), "{}: {reported}", row.what);
    if swaps && !unchanged {
        return Attempt::KernelSwapped;
    }
    assert!(unchanged, "{}: something was written", row.what);
    Attempt::Done
}

#[test]
fn a_busy_device_is_not_loaded_unless_it_may_be_shared() {
    if let Some(what) = missing() {
        println!("skipped: a busy device: needs {what}");
        return;
    }
    let folder = Folder::new("busy");
    let device = Loop::new(&folder, "disk", BYTES, "");
    std::fs::write(&device.file, vec![7u8; BYTES as usize]).unwrap();
    let script = format!(
        "while true; do dd if={} of=/dev/null bs=64k iflag=direct status=none; done",
        device.device
    );
    let mut reader = Command::new("sh").args(["-c", &script]).stdin(Stdio::null()).spawn().unwrap();
    let (status, _, reported) = finish(probe(&["ramp", &device.device]).spawn().unwrap());
    let words = ["ramp", &device.device, "--share", "--for", "100ms", "--depth", "1"];
    let (shared, out, _) = finish(probe(&words).spawn().unwrap());
    reader.kill().unwrap();
    reader.wait().unwrap();
    assert_eq!(status, Some(2), "{reported}");
    assert!(
        reported.contains("busy") && reported.contains("`--share` measures anyway"),
        "{reported}"
    );
    assert!(shared == Some(0) && out.starts_with("probe ramp"), "{out}");
}
