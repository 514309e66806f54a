//! The kernel's log: messages about a failing disk, link or controller, or about stuck tasks.
//!
//! ## Reads
//! Lines of `dmesg` with or without `-T` (in any language), `-x`, `-r`, `-d`, `-e` and
//! `--time-format iso`, of `/var/log/messages`, and of `journalctl -k` in all its forms (`-o short`
//! and related names, `cat`, `json`, `json-pretty`, `export`, `verbose`), of a syslog of RFC 5424,
//! of /dev/kmsg, of `talosctl dmesg`, of `/var/adm/messages` of Solaris. Messages copied without
//! any time are read too, and those of arrays of md about their members. The bus of a disk that
//! stopped responding, if the log shows it, is `device.transport`. A message of a known kind
//! becomes a fact `kernel.log.KIND` of its device, whose value is the time as printed, in brackets,
//! and the message. Several messages on one line are separated by their times. An array check or
//! rebuild that starts and has no end in the log is also a fact. Kinds are `medium` (the surface
//! could not be read), `link` (cable, connector, port), `phy` (the link went down, nothing else),
//! `timeout` (no response from the drive), `controller` (NVMe or host adapter reset), `offline`,
//! `io-error`, `hung-task` (also the stack of a task that cannot be interrupted; what its functions
//! wait for, such as a discard, is counted as `tasks.wait_in.FUNCTION`), `hardware` (the drive
//! reports an internal failure), `path` (a volume lost one of its paths), `denied` (the drive
//! rejects commands because it is locked or protected; the kernel reports it like a medium error),
//! `refused` (the drive immediately rejects an unsupported command: sense key Illegal Request),
//! `reserved` (another host has reserved the disk),
//! `firmware`, `target` (a write completed with a read error, as by SCSI targets in software),
//! `query` (a query command of a program got no response, and recovery followed: no I/O failed),
//! `remote` (an NFS or SMB server, an iSCSI session or a DRBD peer that did not respond). Facts
//! `kernel.log.KIND.count` count all messages of a kind, and `kernel.log.lines` the lines read, so
//! that a log without messages is known, too; `kernel.log.end` is the time of the last of them.
//! `tasks.out_of_memory` counts processes that the kernel ended because memory ran out,
//! `swap.exhausted` its reports of memory in which no swap was left, and
//! `tasks.retry_memory` XFS's messages about memory that it asked for a hundred times, and
//! `tasks.stalled_for_memory` allocations that took ten seconds and more, and `network.stopped` the
//! times a network card of this machine stopped sending. `tasks.hung_in.FUNCTION`
//! counts tasks that hung by the function in their stack that shows why, `tasks.hung_within.MODULE`
//! those that wait for something of a module that is no I/O, `tasks.hung_for_io` those that wait
//! for I/O, `tasks.hung_on.DEVICE` workers of the kernel by the device of their queue.
//! `kernel.oopses` counts failures of the kernel itself, and `kernel.oops.in` is the function of
//! the first. `cpus.stuck` counts soft lockups.
//!
//! ## How to capture
//! `dmesg`, `journalctl -k -o short-iso`, support archives.
//!
//! ## Versions
//! Messages of Linux 2.4 (those of IDE, of SCSI and its Fusion MPT) to 6.x, those of FreeBSD's CAM
//! and ahci, those of the SCSI drivers of Solaris 2 and later, also where syslog or a mail broke
//! them, I/O errors of macOS (`disk0s2: I/O error.`) and of Unraid's arrays; `end_request`,
//! `blk_update_request` and today's bare `I/O error` mean the same.
//!
//! ## Caveats
//! A fault in the log outranks any latency pattern. `hostbyte=0x0b` with a medium error is a side
//! effect. A hung task and a buffer I/O error are consequences, not causes. `PHYRdyChg` and
//! `CommWake` alone may be power saving or a pulled plug. A timeout may be a drive, a shingled
//! disk, its power, or firmware. Devices are named as in the message: `sdb`, `nvme0`, or `ata3`, a
//! port whose disk is not in the message. The first 100 messages of a kind and device are kept.
//! Lines of other programs in a system log are ignored, `iscsid` excepted. A time in brackets
//! counts seconds since boot, which pause during a suspend. A message is classified by its
//! driver and by words at fixed positions; the same words in the name of a device, group, file or
//! program are ignored. In /dev/kmsg and the journal the kernel itself records who logged a line
//! (facility, `SUBSYSTEM=`, `_TRANSPORT=`); in a text file of syslog any user may write a line as
//! `kernel` (`logger -t kernel`), which cannot be distinguished.
//!
//! ## Not in this output
//! Missing messages: the log may have wrapped or been rate-limited. Errors that the drive repaired
//! silently.

mod address;
mod buses;
mod commands;
mod forms;
mod journal;
mod line;
mod names;
mod pci;
mod resets;
mod solaris;
mod usb_speed;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use iowhy_model::typed::BitsPerSecond;
use iowhy_model::{CommandKind, Message, MessageKind, waits};

use self::address::{is_pci, peripheral};
use self::buses::Buses;
use self::commands::{Commands, LogEvent};
use self::forms::{Dictionary, Logger, kind};
use self::journal::Journal;
use self::line::{is_bare, is_of_a_program, is_of_another, kmsg, kmsg_field, messages, split};
use self::names::Names;
use self::pci::Functions;
use self::resets::Resets;
use self::solaris::Solaris;
use self::usb_speed::UsbSpeed;
use crate::drive::log_events::LogEvents;
use crate::drive::smartd_lines;
use crate::drive::stack_frames;
use crate::program::*;
use crate::text::words::is_for_people;

pub(super) const FORMAT: Format = Format::program::<KernelLog>(
    "the kernel's log: dmesg, journalctl -k, /var/log/messages",
    Level::E,
    &[
        "kern", "[ID ", " unix: ", " iscsid", " state:D", "0x0000", "__CURSOR=",
        "__REALTIME_TIMESTAMP=", " [s=", "_request: ", "print_req_error: ", "error on dev",
        "error, dev ", "INFO: task ", "Aborting journal", "EXT4-fs ", "XFS (", "md/raid", "scsi",
        "aacraid", "hpsa ", "smartpqi ", "usb", "xhci", "CIFS", "mmcblk", "mpt2sas", "mpt3sas",
        "mptbase", "megaraid", "mr_sas", "ahcich", "nvme", "ata\\d", "connection\\d", "sd ",
        "sense key", "DMA ", "dma_", "dma timeout ", "drive not ready for command",
        "irq timeout: ", "lost interrupt", "_intr: ", "status timeout: ",
        "timeout waiting for DMA", "^address", "^bracket", "^comma", ",-;", ",-,", ",c;", ",c,",
        ",+;", ",+,",
    ],
    sniff,
);

/// Beginnings of lines that continue the SCSI layer's message about a disk in the line before:
/// kernels that end that line after the name, as one of a published capture did
/// (drivers/scsi/constants.c, scsi_print_sense).
const GO_ON: [&str; 7] = [
    "Additional sense: ", "Result: hostbyte=", "Sense Key :", "Add. Sense:",
    "Descriptor sense data", "CDB: ", "cdb[0]=",
];
/// How the SCSI layer begins to report a command that failed, since 2.6.25
/// (drivers/scsi/scsi_lib.c, scsi_io_completion).
const FAILED: [&str; 3] = ["Unhandled sense code", "Unhandled error code", "Result: hostbyte="];
/// Arrays, ports and log events remembered.
const REMEMBERED: usize = 65_536;
const ARRAYS: usize = 256;

/// The end of a message that names a read error and no more: drives add what became of it.
const READ_ERROR: &str = "Add. Sense: Unrecovered read error";

/// Messages about a port before and after its disk is woken.
const WAKES: [&str; 2] = ["wake up from deepsleep", "wake up successful"];
/// Messages about a link that answers late because its disk wakes up.
const SLOW_LINK: &str = "link is slow to respond";

/// A message of this many bytes may continue in a record of its own, wherever it was cut
/// (kernel/printk/printk.c, LOG_LINE_MAX and PRINTKRB_RECORD_MAX: a kilobyte with its prefix). No
/// driver's message about a disk is so long.
const LONG: usize = 800;

/// Drivers of disks that only a hypervisor provides, and which (drivers/scsi/storvsc_drv.c,
/// vmw_pvscsi.c; drivers/hv; drivers/block/virtio_blk.c).
const OF_GUESTS: [(&str, &str); 5] = [
    ("hv_storvsc ", "Hyper-V"),
    ("hv_vmbus: ", "Hyper-V"),
    ("STORVSC", "Hyper-V"),
    ("vmw_pvscsi: ", "VMware"),
    ("virtio_blk ", "virtio"),
];
/// How the driver of a RAID card that is given up says so (drivers/scsi/3w-9xxx.c).
const RESETS_ITSELF: &str = "timed out, resetting card.";

/// How the SCSI layer shows that it takes a command back that got no answer.
const ABORTS: &str = "attempting task abort";

/// Lines after a hung task that may be its call trace.
const TRACE_LINES: u32 = 64;
/// Lines between the message that a task hangs and its stack (kernel/hung_task.c).
const LINES_TO_STACK: u32 = 4;
/// Uncertain functions that are a stack if none is certain; fewer may be what an earlier one left
/// (a choice).
const UNWOUND: usize = 8;

fn sniff(lines: &[&str]) -> Detect {
    let Some(first) = lines.first() else { return Detect::No };
    if stack_frames::begins(first, false) {
        return Detect::Yes;
    }
    let is_known = || {
        let printed = as_printed(first);
        let is_known = || kind(&printed).is_some() || is_stopped_card(&printed);
        let by_kernel = printed.len() < first.len() && is_known();
        by_kernel || is_bare_message(&printed)
    };
    if is_for_people(first) && (split(first).is_some() || is_known()) {
        return Detect::Yes;
    }
    journal::sniff(lines)
}

/// Whether memory ran out and the kernel ended a process: `Out of memory: Killed process 1853
/// (named) total-vm:...` (mm/oom_kill.c; `Kill process` and `Out of Memory` before 5.3). Its second
/// line about that process is not a second one, and a control group that reached its own limit
/// (`Memory cgroup out of memory`) is not the machine.
fn ends_a_process(message: &str) -> bool {
    let rest =
        ["Out of memory: ", "Out of Memory: "].iter().find_map(|begin| message.strip_prefix(begin));
    rest.is_some_and(|rest| {
        let rest = rest.strip_prefix(['K', 'k']).unwrap_or_default();
        rest.starts_with("ill process ") || rest.starts_with("illed process ")
    })
}

fn is_bare_message(line: &str) -> bool {
    let is_known = |part: &&str| kind(split(part).map_or(part, |(_, message)| message)).is_some();
    is_bare(line) && messages(line).iter().any(is_known)
}

/// Messages of every kind that is known, made up.
pub(super) fn examples() -> impl Iterator<Item = String> {
    forms::examples()
}

/// The line as the kernel printed it: typesetters of blogs write `0×9`, and who cuts time and host
/// off the journal leaves `kernel: ` or `HOST kernel: `. A kernel without times leaves the level.
fn as_printed(line: &str) -> Cow<'_, str> {
    let is_host = |head: &str| {
        let mut letters = head.trim_end_matches(' ').chars();
        letters.all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
    };
    let after_host = line.split_once("kernel: ").filter(|(head, _)| is_host(head));
    let line = after_host.map_or(line, |(_, message)| message);
    let line = line::behind_level(line).unwrap_or(line);
    match line.contains("0×") {
        true => Cow::Owned(line.replace("0×", "0x")),
        false => Cow::Borrowed(line),
    }
}

/// How ports and controllers are named, with a number behind it.
const NUMBERED: [&str; 10] =
    ["ata", "nvme", "mpt2sas", "mpt3sas_cm", "mmcblk", "mmc", "mr_sas", "ahcich", "osd", "rbd"];

/// The device a message names: `[sdb]`, `dev sdb`, `nvme0: ...`, `ata3.00: ...`, each where its
/// driver puts it.
fn device(message: &str) -> Option<&str> {
    if let Some(named) = peripheral(message)
        .or_else(|| of_illumos(message))
        .or_else(|| forms::of_darwin(message).map(|(disk, _)| disk))
        .or_else(|| forms::of_unraid(message).map(|(disk, _)| disk))
        .or_else(|| server(message))
        .or_else(|| mapped(message))
    {
        return Some(named);
    }
    if let Some(named) = forms::scsi_disk(message).filter(|name| is_disk(name)) {
        return Some(named);
    }
    if let Some(line_text) = forms::of_md(message) {
        return member(line_text);
    }
    if names::address(message).is_some() {
        return None;
    }
    if let Some((name, _)) = forms::of_ide(message).or_else(|| forms::older_sense(message)) {
        return Some(name);
    }
    if let Some((name, _)) = forms::of_bad_sector(message) {
        return Some(name);
    }
    // `bcache: bch_count_io_errors() nvme0n1p5: IO error on writing btree.`
    if let Some((_, rest)) = message.split_once("_io_errors() ") {
        return rest.split(':').next().filter(|name| is_disk(name));
    }
    // `..., dev sdb, sector 2056`, `Buffer I/O error on device sdb1, ...`, `EXT4-fs warning (device
    // dm-0): ...`
    let marks: &[&str] = match message.contains("dev") {
        true => &["error, dev ", "error on dev ", "error on device ", " (device "],
        false => &[],
    };
    for mark in marks {
        if let Some((before, rest)) = message.split_once(*mark)
            && before.split_whitespace().count() <= 3
        {
            // Kernels 2.5 and 2.6.0 name the numbers first: `dev 16:01 (hdc), sector 150636992`.
            let named = rest.split_once(" (").filter(|(numbers, _)| numbers.len() <= 7);
            let rest = named.map_or(rest, |(_, name)| name);
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-');
            return rest.get(..end.unwrap_or(rest.len())).filter(|name| is_disk(name));
        }
    }
    let mut words = message.split_whitespace().take(3).map(|word| {
        let word = word.trim_end_matches(':');
        word.split_once('.').map_or(word, |(port, _)| port)
    });
    let port = words.find(|word| {
        NUMBERED.iter().any(|name| forms::numbered(word, name).is_some())
            || word.starts_with("3w-")
            || word.starts_with("STORVSC")
            || *word == "aacraid"
    });
    port.or_else(|| message.split_whitespace().take(3).find_map(pci))
        .or_else(|| host_of_usb(message))
}

/// The disk in a message of an md array: `sda1: rescheduling sector 3998908672`, `read error
/// corrected (8 sectors at 3999170856 on sda1)`, `Disk failure on sda1, disabling device.`, without
/// its partition.
fn member(line_text: &str) -> Option<&str> {
    let after = |mark: &str| line_text.split_once(mark).map(|(_, rest)| rest);
    let name = after(" on ").or_else(|| after("failing device ")).unwrap_or(line_text);
    let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    let name = name.get(..end.unwrap_or(name.len())).filter(|name| is_disk(name))?;
    let digits = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let numbered =
        ["nvme", "mmcblk", "md", "dm-", "loop", "nbd"].iter().any(|k| name.starts_with(k));
    let whole =
        digits.strip_suffix('p').filter(|disk| disk.ends_with(|c: char| c.is_ascii_digit()));
    let partition = name.len() - digits.len() > 0;
    match whole {
        Some(disk) if partition => Some(disk),
        _ if numbered => Some(name),
        _ => Some(digits),
    }
}

/// `dm-12` of `device-mapper: multipath: 253:12: Failing path 69:64.`: the minor number of a mapped
/// device is that of its name (drivers/md/dm.c). Kernels before 4.18 name the path only.
fn multipath(message: &str) -> Option<String> {
    let (number, _) = message.strip_prefix("device-mapper: multipath: ")?.split_once(": ")?;
    let (major, minor) = number.split_once(':')?;
    integer(major).and(integer(minor)).map(|minor| format!("dm-{minor}"))
}

/// `253:2` of `device-mapper: thin: 253:2: switching pool to out-of-data-space (queue IO) mode`.
fn mapped(message: &str) -> Option<&str> {
    let (_, rest) = message.strip_prefix("device-mapper: ")?.split_once(": ")?;
    let (number, _) = rest.split_once(": ")?;
    let (major, minor) = number.split_once(':')?;
    integer(major).and(integer(minor)).map(|_| number)
}

/// The server or peer that a message waits for: `nfs: server nas not responding`, `connection8:0:
/// ping timeout`, `drbd r0 peer: PingAck did not arrive in time.`
fn server(message: &str) -> Option<&str> {
    let word = |text: &'_ str| text.find([' ', ',']).unwrap_or(text.len());
    if let Some(rest) = message.strip_prefix("nfs: ") {
        // Who posts a log may have put words in place of `server NAME`.
        return match rest.strip_prefix("server ") {
            Some(rest) => rest.get(..word(rest)),
            None => rest.split_once(" not responding").map(|(name, _)| name),
        };
    }
    if let Some((_, rest)) = message
        .strip_prefix("Lustre: ")
        .and_then(|rest| rest.split_once(": Connection to "))
        .filter(|(_, rest)| rest.contains(" was lost; in progress "))
    {
        return rest.get(..word(rest));
    }
    // These do not name the server.
    let rest_of_cifs = message.strip_prefix("CIFS").map(|rest| rest.trim_start_matches(':'));
    let rest_of_cifs = rest_of_cifs.and_then(|rest| rest.strip_prefix(" VFS: "));
    let nameless = ["Error connecting", "No response ", "server not responding"];
    if rest_of_cifs.is_some_and(|rest| nameless.iter().any(|begin| rest.starts_with(begin))) {
        return message.get(.."CIFS".len());
    }
    if message.starts_with("iscsi: ") {
        return message.get(.."iscsi".len());
    }
    if let Some(rest) = message.strip_prefix("connection ") {
        // `connection 8:0 (iqn...) Nop-out timeout after 10 sec`
        return message.get(.."connection ".len() + word(rest));
    }
    if let Some(rest) = message.strip_prefix(forms::OF_ISCSID) {
        // `connection 4:0`
        let name = message.get(.."Kernel reported iSCSI connection ".len() + word(rest));
        return name?.strip_prefix("Kernel reported iSCSI ");
    }
    if let Some(rest) = rest_of_cifs {
        let rest = rest.trim_start_matches("Server ").trim_start_matches('\\');
        return rest.get(..word(rest));
    }
    let message = message.trim_start();
    if let Some(rest) = message.strip_prefix("block ").filter(|rest| rest.starts_with("nbd")) {
        return rest.split_once(": ").map(|(name, _)| name);
    }
    let name = message.strip_prefix("drbd ").or_else(|| {
        let rest =
            message.strip_prefix("connection").or_else(|| message.strip_prefix("session"))?;
        rest.starts_with(|c: char| c.is_ascii_digit()).then_some(message)
    })?;
    name.split_once(": ").map(|(name, _)| name)
}

/// The drive of which an adapter of 3ware shows that a sector could not be read, and was written
/// anew from the others or not (drivers/scsi/3w-9xxx.h, twa_aen_table): `scsi0: AEN: WARNING
/// (0x04:0x0023): Sector repair completed:port=1, LBA=0x4383A7F`.
fn unread_behind_3ware(message: &str) -> Option<String> {
    let (_, rest) = message.strip_prefix("3w-")?.split_once(": ")?;
    let (adapter, event) = rest.split_once(": AEN: ")?;
    let unread =
        ["Sector repair completed", "Drive ECC error"].iter().any(|what| event.contains(what));
    let (_, port) = event.split_once("port=").filter(|_| unread)?;
    let port = port.split(|c: char| !c.is_ascii_digit()).next().filter(|port| !port.is_empty())?;
    Some(format!("c{}/p{port}", adapter.strip_prefix("scsi")?))
}

/// What btrfs counts of a member: `BTRFS error (device sda1): bdev /dev/sdb1 errs: wr 270, rd 271,
/// flush 0, corrupt 6, gen 0` (fs/btrfs/volumes.c, btrfs_dev_stat_print_on_error).
fn btrfs_counts(message: &str) -> Option<(&str, &str, KindCounts)> {
    const KINDS: [(&str, &str); 5] = [
        ("wr", "write"),
        ("rd", "read"),
        ("flush", "flush"),
        ("corrupt", "checksum"),
        ("gen", "generation"),
    ];
    let body = message.trim_start().strip_prefix("BTRFS ")?;
    let (volume, body) = body.split_once(" (device ")?.1.split_once("): ")?;
    let (member, counts) = body.strip_prefix("bdev ")?.split_once(" errs: ")?;
    let counts = counts.split(", ").map(|pair| {
        let (name, count) = pair.trim().split_once(' ')?;
        let (_, kind) = KINDS.iter().find(|(known, _)| *known == name)?;
        Some((*kind, integer(count)?))
    });
    let counts: Option<KindCounts> = counts.collect();
    let is_path = member.starts_with('/') && !member.contains(char::is_whitespace);
    counts
        .filter(|counts| is_path && counts.len() == KINDS.len())
        .map(|counts| (volume, member, counts))
}

/// `sd5` of `WARNING: /pci@0,0/pci15d9,f280@1f,2/disk@4,0 (sd5):`, as illumos names the disk, or
/// the controller's address.
fn of_illumos(message: &str) -> Option<&str> {
    let rest = solaris::path(message)?;
    let disk = rest.split_once(" (").and_then(|(_, rest)| rest.split_once("):"));
    let disk = disk.map(|(name, _)| name).filter(|name| is_disk(name) || name.starts_with("ssd"));
    // For a port only the controller is named.
    disk.or_else(|| rest.split_once(':').map(|(path, _)| path).filter(|path| !path.contains(' ')))
}

/// `xhci-hcd.0.auto` of `xhci-hcd xhci-hcd.0.auto: HC died; cleaning up`: a host controller on no
/// bus of PCI.
fn host_of_usb(message: &str) -> Option<&str> {
    let mut words = message.split_whitespace();
    let driver = words.next().filter(|word| word.starts_with("xhci"))?;
    words.next()?.strip_suffix(':').filter(|name| name.starts_with(driver))
}

/// The address of a PCI device, `0000:03:00.0`, also as qla2xxx writes it,
/// `[0000:41:00.0]-500b:8:`.
fn pci(word: &str) -> Option<&str> {
    let bracketed = word.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let word = bracketed.map_or(word.trim_end_matches(':'), |(address, _)| address);
    Some(word).filter(|word| is_pci(word))
}

fn is_disk(name: &str) -> bool {
    let prefixes = ["sd", "hd", "vd", "xvd", "nvme", "dm-", "md", "mmcblk", "sr", "loop", "nbd"];
    let long = name.len() > 2 && name.len() < 16;
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    long && is_plain && prefixes.iter().any(|prefix| name.starts_with(prefix))
}

#[derive(Default)]
struct KernelLog {
    /// The port of the last message that named one: its `res` line does not.
    port: String,
    /// When that was, seconds on the log's clock.
    port_at: Option<f64>,
    /// A `res` line whose port was not named in its second: the next message may name it.
    unported: Option<(MessageKind, PlacedMessage)>,
    /// The disk of the last message, if that was one of the SCSI layer, which adds lines of its
    /// own.
    reported: String,
    /// The port that the last message reported as recovered: the failed command is reported next.
    recovered: Option<String>,
    /// Ports and their disks, as far as reported.
    behind: HashSet<(String, String)>,
    /// The disk whose last message was a read error.
    read_error: String,
    log_events: LogEvents,
    /// The last error counts of btrfs for its members.
    of_btrfs: BTreeMap<String, BtrfsCounts>,
    /// Arrays in background work whose end was not printed.
    arrays: BTreeMap<String, String>,
    /// The log's names of the disks by address and port.
    names: Names,
    /// The PCI functions that storage drivers own.
    functions: Functions,
    /// By which buses disks are attached.
    buses: Buses,
    /// Resets of USB devices without a known disk.
    resets: Resets,
    /// What the SCSI drivers of Solaris report, line by line.
    solaris: Solaris,
    /// Whether a driver that only guests load has logged.
    is_of_a_guest: bool,
    /// Disks of which a request failed.
    failing: BTreeSet<String>,
    /// Commands that may have more lines.
    commands: Commands,
    /// SCSI addresses that a log event named and no disk yet.
    addressed: BTreeSet<String>,
    /// Aborts of commands at a SCSI address whose result was not printed yet.
    aborted: BTreeMap<String, u64>,
    /// A command that an adapter gave up, until the next line names the device.
    given_up: Option<PlacedMessage>,
    /// The last line, if it was no log event: it may continue in the next.
    unfinished: Option<(String, String)>,
    /// The last line, if smartd began a sentence on it.
    begun_by_smartd: Option<String>,
    /// Whether a drive on a port reported sense data with the last command that failed there. Where
    /// it did not, libata makes up sense data from the registers
    /// (drivers/ata/libata-scsi.c, ata_to_sense_error): Illegal Request with `Unaligned write
    /// command` for any error without a bit, with `LBA out of range` for a sector that was not
    /// found.
    reports_sense: Option<bool>,
    /// IDE drives with a DMA timeout: the recovery from it is not a second event.
    expired: BTreeSet<String>,
    /// Ports whose disk the kernel itself suspends and wakes by a reset (reported by Synology's
    /// kernel): a late link is then not a log event.
    woken: HashSet<String>,
    /// Log events with a time to the microsecond: a log that was pasted twice contains all of them
    /// twice.
    seen: HashSet<u64>,
    /// The kernel's own clock on the last line.
    clock: Option<String>,
    /// iSCSI connections with errors reported by the kernel itself.
    connections: HashSet<String>,
    /// Lines left that may be the call trace of a task that hung.
    trace: u32,
    /// Functions that tasks waited in, how many did, and the place of the first.
    waits: BTreeMap<&'static str, (u64, String)>,
    /// The stack of the last task that hung, innermost first.
    stack: HungStack,
    /// Whether a stack began without the message that its task hangs.
    is_headless: bool,
    /// Functions in which tasks hung, and modules of the kernel within which they did, each with
    /// how many and the place of the first.
    hung_in: BTreeMap<String, Counted>,
    hung_within: BTreeMap<String, Counted>,
    /// Tasks that hung in a wait for I/O.
    hung_for_io: Counted,
    /// Devices whose work tasks of the kernel hung in.
    hung_on: BTreeMap<String, Counted>,
    /// Tasks that hung while memory was freed.
    hung_in_reclaim: u64,
    /// Allocations that a file system tried again and again.
    retried: Counted,
    /// Times a network card sent nothing for seconds though there was something to send.
    cards_stopped: Counted,
    /// Times a CPU ran one task for so long that no other had its turn.
    stuck_cpus: Counted,
    /// Allocations that took more than ten seconds.
    stalled: Counted,
    /// Processes that were killed because memory ran out.
    out_of_memory: Counted,
    swap_exhausted: Counted,
    /// The line before said that no swap is free.
    no_swap_left: bool,
    /// Failures of the kernel itself.
    oopses: Counted,
    /// The function of the first of them, and where it is printed.
    oops_in: Option<(String, String)>,
    /// The form of the log.
    form: Form,
    /// The last record of /dev/kmsg, until the fields after it are read.
    record: Option<Record>,
    /// Whether records of this log name their devices.
    names_devices: bool,
    /// Disks on USB that came up at full speed.
    usb_speed: UsbSpeed,
    /// Whether the last message was so long that the next may continue it.
    was_long: bool,
    /// Whether the last message was from a driver that prints no user-chosen names.
    was_of_a_driver: bool,
}

/// A record of /dev/kmsg and its fields.
#[derive(Default)]
struct Record {
    stamp: String,
    message: String,
    place: String,
    subsystem: String,
    device: String,
    is_part: bool,
}

/// How many errors of each kind were counted.
type KindCounts = Vec<(&'static str, u64)>;

/// Errors by kind that btrfs counted of a member, with their place.
struct BtrfsCounts {
    counts: KindCounts,
    place: String,
    /// The device by which the file system is known.
    volume: String,
}

/// A message, with its place.
struct PlacedMessage {
    message: Message,
    place: String,
}

/// The functions of a stack with their modules, those that are certain and the others, and where it
/// begins.
#[derive(Default)]
struct HungStack {
    frames: Vec<(String, Option<String>)>,
    uncertain: Vec<(String, Option<String>)>,
    place: String,
}

/// Functions of a stack that are kept, and names of functions that are counted.
const FRAMES: usize = 64;
const FUNCTIONS: usize = 64;

/// How many messages of a kind there are, and the place of the first.
#[derive(Default)]
struct Counted {
    n: u64,
    first: String,
}

impl Counted {
    fn add(&mut self, place: &str) {
        if self.n == 0 {
            self.first = place.to_string();
        }
        self.n += 1;
    }

    /// States their number, if there are any.
    fn state(&mut self, key: typed::Key<u64>, sink: &mut dyn Sink) {
        let Counted { n, first } = std::mem::take(self);
        if n > 0 {
            sink.add_fact_at(None, key, n, &first);
        }
    }
}

/// Whether the kernel itself failed and ended the task that ran (`die`,
/// arch/x86/kernel/dumpstack.c, arch/arm64/kernel/traps.c): `Oops: 0000 [#1] SMP NOPTI`, `general
/// protection fault: 0000 [#2]`, `Internal error: Oops: 96000004 [#1] PREEMPT SMP`. It numbers
/// them.
fn is_oops(message: &str) -> bool {
    const BEGIN: [&str; 6] = [
        "Oops: ", "general protection fault", "invalid opcode: ", "stack segment: ",
        "Internal error: ", "divide error: ",
    ];
    let number = message.split_once(" [#").and_then(|(_, rest)| rest.split_once(']'));
    BEGIN.iter().any(|begin| message.starts_with(begin))
        && !forms::begins_with_a_task(message)
        && number.is_some_and(|(number, _)| integer(number).is_some())
}

/// The function in the registers that an oops prints: `RIP: 0010:ext4_finish_bio+0x42/0xd0`, `pc :
/// ext4_finish_bio+0x10/0x20`.
fn failed_in(message: &str) -> Option<&str> {
    let rest = message.strip_prefix("RIP: 0010:").or_else(|| message.strip_prefix("pc : "))?;
    let (name, _) = rest.split_once("+0x")?;
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.".contains(&byte));
    Some(name).filter(|name| !name.is_empty() && is_name)
}

/// XFS's message about an allocation that failed a hundred times.
const RETRIES: &str = " possible memory allocation deadlock ";

/// Threads of the kernel that collect huge pages and free space in the background, at low priority
/// (mm/khugepaged.c, mm/compaction.c): nobody waits for them.
const BACKGROUND: [&str; 2] = ["khugepaged", "kcompactd"];

/// `cc1: page allocation stalls for 10646ms, order:0, ...` (mm/page_alloc.c): ten seconds and more.
fn is_stalled_allocation(message: &str) -> bool {
    let Some((program, rest)) = message.split_once(": ") else { return false };
    if BACKGROUND.iter().any(|thread| program.starts_with(thread)) {
        return false;
    }
    let stall =
        rest.strip_prefix("page allocation stalls for ").and_then(|ms| ms.split_once("ms,"));
    program.len() <= forms::TASK_NAME
        && stall.is_some_and(|(ms, rest)| integer(ms).is_some() && rest.starts_with(" order:"))
}

/// `NETDEV WATCHDOG: eth0 (tg3): transmit queue 0 timed out`, before 2.6.31 `NETDEV WATCHDOG: eth0:
/// transmit timed out`, since 6.5 behind the names of driver and card (net/sched/sch_generic.c).
fn is_stopped_card(message: &str) -> bool {
    let Some((before, rest)) = message.split_once("NETDEV WATCHDOG: ") else { return false };
    let of_driver = before.is_empty() || before.ends_with(": ");
    of_driver && rest.contains(": transmit ") && rest.contains(" timed out")
}

/// `watchdog: BUG: soft lockup - CPU#0 stuck for 21s! [server:102065]`, before 4.14 behind `NMI
/// watchdog: ` or nothing (kernel/watchdog.c).
fn is_stuck_cpu(message: &str) -> bool {
    let Some((before, rest)) = message.split_once("BUG: soft lockup - CPU#") else { return false };
    let number = rest.split_once(" stuck for ").and_then(|(number, _)| integer(number));
    matches!(before, "" | "watchdog: " | "NMI watchdog: ") && number.is_some()
}

/// Whether a stack that begins in this function is that of a task that sleeps.
fn sleeps(function: &str) -> bool {
    matches!(function, "__switch_to" | "__schedule" | "schedule")
}

/// Whether two times are of one second, or one of them is not known.
fn within_a_second(one: Option<f64>, other: Option<f64>) -> bool {
    one.zip(other).is_none_or(|(one, other)| (one - other).abs() <= 1.0)
}

/// How messages are distinguished.
#[derive(Default)]
enum Form {
    /// The first line shows it.
    #[default]
    Unknown,
    /// A time and a message on each line.
    Lines,
    /// Messages without a time.
    Bare,
    /// Entries of the journal.
    Journal(Box<Journal>),
}

impl Reader for KernelLog {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let printed = as_printed(line);
        // Without a time the line begins with its device.
        let is_spoken = printed.len() < line.len();
        let line = &*printed;
        // A page or a terminal may have run the lines together.
        let parts = messages(line);
        if parts.len() > 1 && kmsg(line).is_none() {
            for part in parts {
                self.one(part, is_spoken, sink);
            }
            return Step::Consumed;
        }
        self.one(line, is_spoken, sink)
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.close(sink);
    }
}

impl KernelLog {
    /// Takes a line that contains one message at most.
    fn one(&mut self, line: &str, is_spoken: bool, sink: &mut dyn Sink) -> Step {
        let place = sink.here();
        if matches!(self.form, Form::Unknown) {
            self.form = match line {
                _ if split(line).is_some() => Form::Lines,
                _ if is_spoken || is_bare(line) => Form::Bare,
                _ if stack_frames::begins(line, false) => Form::Bare,
                _ if journal::sniff(&[line]) != Detect::No => Form::Journal(Box::default()),
                _ => Form::Unknown,
            };
        }
        if let Some((key, value)) = kmsg_field(line)
            && let Some(record) = &mut self.record
        {
            self.names_devices = true;
            let field = if key == "DEVICE" { &mut record.device } else { &mut record.subsystem };
            *field = value.to_string();
            return Step::Consumed;
        }
        self.flush_record(sink);
        if let Some(found) = kmsg(line) {
            if found.is_of_kernel && !self.is_repeated(line, found.message) {
                let stamp = format!("{}.{:06}", found.micros / 1_000_000, found.micros % 1_000_000);
                let (message, is_part) = (found.message.to_string(), found.is_part);
                self.record = Some(Record { stamp, message, place, is_part, ..Record::default() });
            }
            return Step::Consumed;
        }
        let continues = self.continues(line);
        let is_of_a_stack = self.is_of_a_stack(line);
        match &mut self.form {
            Form::Journal(journal) => {
                let (entry, step) = journal.line(line);
                if let Some(entry) = entry {
                    self.message(&entry.stamp, &entry.message, place, sink);
                }
                step
            }
            Form::Bare if is_spoken || is_bare(line) || continues || is_of_a_stack => {
                self.message("", line.trim_start(), place, sink);
                Step::Consumed
            }
            _ => {
                let Some((stamp, message)) = split(line) else {
                    let stripped = line.trim_start();
                    let is_indented = line.starts_with([' ', '\t']) && self.was_of_a_driver;
                    // The second line of what the block layer reports of a request beyond the end
                    // of a device.
                    let is_second = forms::of_bad_sector(stripped).is_some();
                    if continues
                        || is_indented && is_bare(stripped)
                        || is_second && kind(stripped).is_some()
                    {
                        let stamp = self.log_events.end.clone();
                        self.message(&stamp, stripped, place, sink);
                        return Step::Consumed;
                    }
                    if is_second {
                        let begun = (self.log_events.end.clone(), stripped.trim_end().to_string());
                        self.unfinished = Some(begun);
                        return Step::Consumed;
                    }
                    // The line that begins a stack is longer than a mail's.
                    if self.trace > 0 && line.trim_start().starts_with("flags:0x") {
                        return Step::Consumed;
                    }
                    if let Some((stamp, whole)) = self.continued(line) {
                        self.message(&stamp, &whole, place, sink);
                        return Step::Consumed;
                    }
                    if let Some(message) = self.of_smartd(line) {
                        message.state(&place, sink);
                        return Step::Consumed;
                    }
                    let others = line.trim().is_empty()
                        || is_of_another(line)
                        || is_of_a_program(line)
                        || kmsg_field(line).is_some();
                    return if others { Step::Consumed } else { Step::NotMine };
                };
                // For a passthrough command the rest shows which one it was.
                let is_cut = message.ends_with(" CDB: ATA command");
                if !is_cut && !self.is_repeated(line, message) {
                    self.message(stamp, message, place, sink);
                }
                self.unfinished =
                    kind(message).is_none().then(|| (stamp.to_string(), message.to_string()));
                Step::Consumed
            }
        }
    }

    /// Takes the record of /dev/kmsg that waits for its fields.
    fn flush_record(&mut self, sink: &mut dyn Sink) {
        let Some(record) = self.record.take() else { return };
        let (subsystem, device) = (record.subsystem.as_str(), record.device.as_str());
        let dictionary = Dictionary { subsystem, device, is_kept: self.names_devices };
        if record.is_part || !dictionary.allows(&record.message) {
            self.log_events.line(&record.stamp);
            return;
        }
        self.message(&record.stamp, &record.message, record.place, sink);
    }

    /// What smartd reports on a line, or on two that a mail made of it.
    fn of_smartd(&mut self, line: &str) -> Option<smartd_lines::SmartdMessage> {
        let begun = self.begun_by_smartd.take();
        if let Some(whole) = smartd_lines::message_of(line) {
            return Some(whole);
        }
        if smartd_lines::is_begun(line) {
            self.begun_by_smartd = Some(line.trim_end().to_string());
        }
        smartd_lines::message_of(&format!("{} {}", begun?, line.trim()))
    }

    /// The message that a line without a time ends, if the two together are a log event, or say of
    /// which command one is: mail programs break lines.
    fn continued(&mut self, line: &str) -> Option<(String, String)> {
        let (stamp, begin) = self.unfinished.take()?;
        // The kernel's own second lines are indented.
        if line.starts_with([' ', '\t']) {
            return None;
        }
        let whole = format!("{begin} {}", line.trim_end());
        let whose = begin.contains(" CDB: ");
        // A path of Solaris may be as long as a line.
        if solaris::path(&whole).is_some() && !whole.contains(" (") {
            self.unfinished = Some((stamp.clone(), whole.clone()));
            return Some((stamp, whole));
        }
        let of_solaris = solaris::heading(&begin).is_none() && solaris::heading(&whole).is_some()
            || solaris::failed_drive(&whole).is_some();
        (whose || of_solaris || kind(&whole).is_some()).then_some((stamp, whole))
    }

    /// Whether a log event, or the beginning of a stack, was read before, to the microsecond.
    fn is_repeated(&mut self, line: &str, message: &str) -> bool {
        let clock = clock(line);
        let at_once = clock.is_some() && clock == self.clock.as_deref();
        self.clock = clock.map(str::to_string);
        let is_timed = clock.is_some() || kmsg(line).is_some();
        if !is_timed || kind(message).is_none() && !stack_frames::begins(message, true) {
            return false;
        }
        let mut hasher = DefaultHasher::new();
        line.trim().hash(&mut hasher);
        let found = hasher.finish();
        let known = self.seen.contains(&found)
            || (self.seen.len() < REMEMBERED && !self.seen.insert(found));
        // For commands that failed together the kernel logs the same at once.
        let is_repeated = known && !(at_once && commands::is_of_a_command(message));
        if is_repeated {
            // The stack below it was read as well, and is not that of the task before.
            self.trace = 0;
        }
        is_repeated
    }

    /// Adds the facts of the log as a whole.
    fn close(&mut self, sink: &mut dyn Sink) {
        self.flush_record(sink);
        let place = sink.source().place();
        if let Form::Journal(journal) = &mut self.form
            && let Some(entry) = journal.finish()
        {
            self.message(&entry.stamp, &entry.message, place.clone(), sink);
        }
        if matches!(self.form, Form::Bare) {
            sink.note(note("messages without a time: their order and age are not known"));
        }
        if let Some((kind, said)) = self.unported.take() {
            self.log_events.add(kind, "", said.message, said.place, sink);
        }
        if let Some(line_text) = self.given_up.take() {
            let name = device(&line_text.message.text).unwrap_or_default().to_string();
            self.log_events.add(
                MessageKind::Timeout,
                &name,
                line_text.message,
                line_text.place,
                sink,
            );
        }
        for log_event in self.commands.finish() {
            self.add_log_event(log_event, sink);
        }
        for (drive, failed) in self.solaris.failed() {
            self.log_events.add(MessageKind::Hardware, &drive, failed.message, failed.place, sink);
        }
        for (disk, bus) in self.buses.of_disks(&self.names) {
            sink.add_fact_at(&disk, typed::DEVICE_TRANSPORT, bus, &place);
        }
        if let Some((disk, line_text, at, bus)) = self.buses.went_with_its_plug(&self.names) {
            sink.add_fact_at(&disk, typed::DEVICE_TRANSPORT, bus, &at);
            self.log_events.add(MessageKind::Offline, &disk, line_text, at, sink);
        }
        self.state_resets(sink);
        // The disk may have been named after its address was.
        for address in std::mem::take(&mut self.addressed) {
            if let Some(disk) = self.names.known_at(&address) {
                sink.add_fact_at(&disk, typed::DEVICE_ALIAS, vec![address], &place);
            }
        }
        if let Some((plug, at)) = self.usb_speed.finish() {
            sink.add_fact_at(&plug, typed::DEVICE_TRANSPORT, "usb", &at);
            sink.add_fact_at(&plug, typed::DEVICE_LINK_SPEED, BitsPerSecond(usb_speed::FULL), &at);
            let most = BitsPerSecond(usb_speed::HIGH);
            sink.add_fact_at(&plug, typed::DEVICE_LINK_SPEED_MAX, most, &at);
        }
        for (name, work) in std::mem::take(&mut self.arrays) {
            sink.add_text_at(&name, typed::ARRAY_ACTION, &work, &place);
        }
        let mut volumes: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (member, BtrfsCounts { counts, place, volume }) in std::mem::take(&mut self.of_btrfs) {
            let disk = member.strip_prefix("/dev/").unwrap_or(&member);
            volumes.entry(volume).or_default().push(disk.to_string());
            for (kind, count) in counts {
                sink.add_fact_at(&member, typed::MEMBER_ERRORS.of(kind), count, &place);
            }
        }
        // Members without an error are not printed, so that one or two tell nothing of the others.
        for (volume, members) in volumes.into_iter().filter(|(_, members)| members.len() > 2) {
            let name = format!("btrfs on {volume}");
            sink.add_fact_at(&name, typed::DEVICE_SLAVES, members, &place);
        }
        for (function, (count, place)) in std::mem::take(&mut self.waits) {
            sink.add_fact_at(None, typed::TASKS_WAIT_IN.of(function), count, &place);
        }
        self.end_stack();
        self.hung_for_io.state(typed::TASKS_HUNG_FOR_IO, sink);
        for (device, mut counted) in std::mem::take(&mut self.hung_on) {
            counted.state(typed::TASKS_HUNG_ON.member(device), sink);
        }
        for (function, mut counted) in std::mem::take(&mut self.hung_in) {
            counted.state(typed::TASKS_HUNG_IN.member(function), sink);
        }
        for (module, mut counted) in std::mem::take(&mut self.hung_within) {
            counted.state(typed::TASKS_HUNG_WITHIN.member(module), sink);
        }
        let hung = std::mem::take(&mut self.hung_in_reclaim);
        if hung > 0 {
            sink.add_fact_at(None, typed::TASKS_HUNG_IN_RECLAIM, hung, &place);
        }
        self.retried.state(typed::TASKS_RETRY_MEMORY, sink);
        self.stalled.state(typed::TASKS_STALLED_FOR_MEMORY, sink);
        self.cards_stopped.state(typed::NETWORK_STOPPED, sink);
        self.stuck_cpus.state(typed::CPUS_STUCK, sink);
        self.out_of_memory.state(typed::TASKS_OUT_OF_MEMORY, sink);
        self.swap_exhausted.state(typed::SWAP_EXHAUSTED, sink);
        self.oopses.state(typed::KERNEL_OOPSES, sink);
        if let Some((function, place)) = self.oops_in.take() {
            sink.add_fact_at(None, typed::KERNEL_OOPS_IN, function, &place);
        }
        self.log_events.close(sink);
    }

    /// Follows the call trace of a task that hung. Gives the kind of server that it waits for.
    fn trace(
        &mut self,
        kind: Option<MessageKind>,
        message: &str,
        sink: &mut dyn Sink,
    ) -> Option<&'static str> {
        if kind == Some(MessageKind::HungTask) {
            self.end_stack();
            (self.trace, self.stack.place) = (TRACE_LINES, sink.source().place());
        } else if self.trace > 0 {
            self.trace -= 1;
            if let Some(device) = stack_frames::device_of_queue(message)
                && self.hung_on.len() < FUNCTIONS
            {
                self.hung_on.entry(device).or_default().add(&self.stack.place);
            }
            if stack_frames::is_certain(message) {
                if self.stack.frames.len() < FRAMES {
                    self.stack.frames.extend(stack_frames::frame(message));
                }
                if let Some(function) = waits::waits_in(message) {
                    let counted =
                        self.waits.entry(function).or_insert_with(|| (0, sink.source().place()));
                    counted.0 += 1;
                }
                let server = waits::awaited_server(message);
                let frees = waits::frees_memory(message);
                self.hung_in_reclaim += u64::from(frees);
                if frees || server.is_some() {
                    self.trace = 0;
                    self.stack.frames.clear();
                    self.stack.uncertain.clear();
                }
                return server;
            }
            if self.stack.uncertain.len() < FRAMES {
                self.stack.uncertain.extend(stack_frames::uncertain_frame(message));
            }
        } else if stack_frames::is_certain(message) {
            // A stack whose first lines are missing: only that a server does not answer is plain.
            self.is_headless |= stack_frames::frame(message).is_some_and(|(name, _)| sleeps(&name));
            let server = waits::awaited_server(message).filter(|_| self.is_headless);
            self.is_headless &= server.is_none();
            return server;
        } else {
            // Functions that the kernel is not certain about stand between others.
            self.is_headless &= message.contains("+0x");
        }
        None
    }

    /// Counts where the last task hung: in which function and, unless that shows what it waits for
    /// or it waits for I/O, within which module.
    fn end_stack(&mut self) {
        let mut frames = std::mem::take(&mut self.stack.frames);
        let uncertain = std::mem::take(&mut self.stack.uncertain);
        // Where the kernel cannot unwind a stack it is certain about none.
        if frames.is_empty() && uncertain.len() >= UNWOUND {
            frames = uncertain;
        }
        let names: Vec<&str> = frames.iter().map(|(name, _)| name.as_str()).collect();
        let Some((function, what)) = waits::of_stack(&names) else { return };
        let add = |counts: &mut BTreeMap<String, Counted>, name: &str| {
            if counts.len() < FUNCTIONS || counts.contains_key(name) {
                counts.entry(name.to_string()).or_default().add(&self.stack.place);
            }
        };
        add(&mut self.hung_in, function);
        let is_told = what.is_some_and(|what| what != waits::A_LOCK);
        let module = frames.iter().find(|(name, _)| name == function);
        let module = module.and_then(|(_, module)| module.as_deref());
        if waits::are_for_io(&names) {
            self.hung_for_io.add(&self.stack.place);
        } else if let Some(module) = module.filter(|_| !is_told) {
            add(&mut self.hung_within, module);
        }
    }

    /// Whether a line without a time is one of the stack of a task.
    fn is_of_a_stack(&self, line: &str) -> bool {
        let is_certain = || stack_frames::is_certain(line);
        let is_frame = || is_certain() || stack_frames::uncertain_frame(line).is_some();
        stack_frames::begins(line, false)
            || self.trace > 0 && (is_frame() || stack_frames::is_above_functions(line))
    }

    /// Whether a line without a time is the second one of a message (`res 41/40:...`).
    fn continues(&self, line: &str) -> bool {
        let line = line.trim_start();
        !self.port.is_empty() && (line.starts_with("res ") || line.starts_with("cmd "))
            || !self.reported.is_empty() && line.starts_with("Additional sense: ")
    }

    /// Adds the disk of a port. When libata has recovered a port (`ata1.00: configured for
    /// UDMA/133`), it returns the failed command to the SCSI layer, which names the disk in the
    /// next line (drivers/ata/libata-eh.c, ata_eh_finish).
    fn tell_port(&mut self, named: Option<&str>, message: &str, place: &str, sink: &mut dyn Sink) {
        let recovered = self.recovered.take();
        let is_single = message.starts_with("ata")
            && message
                .split_once(".00: ")
                .is_some_and(|(_, line_text)| line_text.starts_with("configured for "));
        if is_single {
            self.recovered = named.map(str::to_string);
            return;
        }
        let scsi_text = names::address(message).and_then(|_| forms::of_scsi(message));
        let failed = scsi_text
            .is_some_and(|scsi_text| FAILED.iter().any(|words| scsi_text.starts_with(words)));
        let Some((port, disk)) = recovered.zip(named.filter(|_| failed)) else { return };
        let was_reported = (port.clone(), disk.to_string());
        if self.behind.len() < ARRAYS && self.behind.insert(was_reported) {
            sink.add_fact_at(disk, typed::DEVICE_PORT, port, place);
        }
    }

    /// Handles the array driver's messages: `data-check of RAID array md3`, `md3: data-check done.`
    /// (drivers/md/md.c, md_do_sync).
    fn array(&mut self, line_text: &str) {
        let name = |word: &str| is_disk(word).then(|| word.to_string());
        if let Some((work, array)) = line_text.split_once(" of RAID array ") {
            let begins = !work.contains(' ') && self.arrays.len() < ARRAYS;
            if let Some(array) = name(array.trim()).filter(|_| begins) {
                self.arrays.insert(array, work.to_string());
            }
        } else if let Some((array, end)) = line_text.split_once(": ")
            && (end.contains(" done") || end.contains(" interrupted"))
        {
            self.arrays.remove(array);
        }
    }

    /// Whether the command that a read error answered was a write of whole blocks of 4 KiB, for
    /// which no drive reads. Targets of software have one answer for every request that failed
    /// (tgt, usr/bs_rdwr.c).
    fn answers_a_write(&mut self, disk: &str, message: &str) -> bool {
        if forms::of_scsi(message).is_some_and(|line_text| line_text.trim_end() == READ_ERROR) {
            self.read_error = disk.to_string();
            return false;
        }
        let after = !disk.is_empty() && std::mem::take(&mut self.read_error) == disk;
        after && written_blocks(message).is_some_and(|(first, count)| (first | count) % 8 == 0)
    }

    /// Takes a message of the kernel.
    fn message(&mut self, stamp: &str, message: &str, place: String, sink: &mut dyn Sink) {
        self.log_events.lines += 1;
        // Lines with a full date may be pasted in any order.
        let earlier = is_whole_date(stamp)
            && is_whole_date(&self.log_events.end)
            && *stamp < *self.log_events.end;
        if !earlier {
            self.log_events.end = stamp.to_string();
        }
        self.was_of_a_driver = forms::is_of_a_driver(message);
        let may_be_the_rest = std::mem::replace(&mut self.was_long, message.len() >= LONG);
        if may_be_the_rest {
            return;
        }
        if let Some((kind, disk, message)) = self.solaris.message(stamp, message, &place) {
            self.log_events.add(kind, &disk, message, place, sink);
            return;
        }
        let reported = std::mem::take(&mut self.reported);
        let rest = forms::without_colon(message);
        let continues = !reported.is_empty() && GO_ON.iter().any(|start| rest.starts_with(start));
        let named = device(message).or(continues.then_some(reported.as_str()));
        let names_a_disk =
            names::address(message).is_some() || forms::older_sense(message).is_some();
        if continues || names_a_disk {
            let whose = named.or_else(|| names::address(message));
            self.reported = whose.unwrap_or_default().to_string();
        }
        self.tell_port(named, message, &place, sink);
        if let Some(line_text) = message.strip_prefix("md: ") {
            self.array(line_text);
        }
        // fs/xfs/kmem.c: after a hundred tries.
        if message.starts_with("XFS: ") && message.contains(RETRIES) {
            self.retried.add(&place);
        }
        if is_stalled_allocation(message) {
            self.stalled.add(&place);
        }
        if is_stopped_card(message) {
            self.cards_stopped.add(&place);
        }
        if is_stuck_cpu(message) {
            self.stuck_cpus.add(&place);
        }
        // The kernel's report of its memory has both, one after the other (mm/show_mem.c).
        if let Some(kib) = message.strip_prefix("Total swap = ") {
            let total = kib.strip_suffix("kB").and_then(integer).unwrap_or(0);
            if std::mem::take(&mut self.no_swap_left) && total > 0 {
                self.swap_exhausted.add(&place);
            }
        }
        self.no_swap_left |= message == "Free swap  = 0kB";
        if ends_a_process(message) {
            self.out_of_memory.add(&place);
        }
        if is_oops(message) {
            self.oopses.add(&place);
        }
        if let Some(function) = failed_in(message)
            && self.oopses.n > 0
            && self.oops_in.is_none()
        {
            self.oops_in = Some((function.to_string(), place.clone()));
        }
        let reset = Message::new(stamp, message);
        let at = reset.at_s;
        let of_port = named.filter(|name| name.starts_with("ata"));
        if let Some((kind, said)) = self.unported.take() {
            let near = within_a_second(said.message.at_s, at);
            let name = of_port.filter(|_| near).unwrap_or_default();
            self.log_events.add(kind, name, said.message, said.place, sink);
        }
        if let Some(port) = of_port {
            self.port = port.to_string();
            self.port_at = at;
        } else if message.starts_with("res ") && !within_a_second(self.port_at, at) {
            self.port.clear();
        }
        self.buses.learn(&reset, &place);
        let of_request = named.filter(|_| commands::is_of_a_request(message));
        if !continues {
            self.names.join(stamp, message, of_request);
        }
        let gone = self.names.learn(stamp, message, named);
        if let Some(line_text) = self.given_up.take() {
            // The adapter reports that it gives up, and the next line names the device.
            let address = names::address(message).filter(|_| message.contains("CDB: "));
            let older = names::older_address(message);
            let whose = address.or(older.as_deref()).map(|address| self.names.at(address));
            let adapter = device(&line_text.message.text).map(str::to_string);
            let name = whose.or(adapter).unwrap_or_default();
            let mut given_up = line_text.message;
            let mut kind = MessageKind::Timeout;
            if let Some(address) = address {
                given_up = commands::with_command(&given_up, message);
                let command = given_up.command;
                kind = if command == Some(CommandKind::Query) { MessageKind::Query } else { kind };
                self.commands.failed(address, command, given_up.at_s);
            }
            self.log_events.add(kind, &name, given_up, line_text.place, sink);
        }
        if let Some((disk, line_text)) = gone {
            if self.buses.is_new(&disk) {
                sink.add_fact_at(&disk, typed::DEVICE_TRANSPORT, "usb", &place);
            }
            self.log_events.add(MessageKind::Offline, &disk, line_text, place.clone(), sink);
        }
        if names::usb_reset(message).is_some() && self.recovers_usb(&reset) {
            return;
        }
        if let Some(disk) = self.names.reset(message) {
            let reset_message = reset;
            self.log_events.add(MessageKind::Controller, &disk, reset_message, place, sink);
            return;
        }
        if let Some(plug) = names::usb_reset(message) {
            // Whether a disk is attached there follows from other messages, or from the number of
            // resets.
            self.resets.add(plug, reset, place);
            return;
        }
        if let Some(drive) = unread_behind_3ware(message) {
            self.log_events.add(MessageKind::Medium, &drive, reset, place, sink);
            return;
        }
        if let Some((volume, member, counts)) = btrfs_counts(message) {
            let volume = volume.to_string();
            if self.of_btrfs.len() < ARRAYS || self.of_btrfs.contains_key(member) {
                self.of_btrfs.insert(member.to_string(), BtrfsCounts { counts, place, volume });
            }
            return;
        }
        self.functions.learn(message);
        self.usb_speed.learn(message, &place);
        if let Some(hypervisor) = message.strip_prefix("Hypervisor detected: ") {
            sink.add_fact_at(None, typed::HOST_HYPERVISOR, hypervisor.trim(), &place);
        } else if !self.is_of_a_guest
            && let Some((_, name)) = OF_GUESTS.iter().find(|(begin, _)| message.starts_with(begin))
        {
            self.is_of_a_guest = true;
            sink.add_fact_at(None, typed::HOST_HYPERVISOR, *name, &place);
        }
        let of_a_target = self.answers_a_write(named.unwrap_or_default(), message);
        self.learn_sense(message);
        let is_made_up =
            |kind: &MessageKind| *kind == MessageKind::Refused && self.reports_sense == Some(false);
        let kind = kind(message).filter(|kind| !is_made_up(kind));
        // The stack of a hung task from the previous line is not a second event.
        let is_new = self.trace + LINES_TO_STACK < TRACE_LINES;
        let begins = kind.is_none() && stack_frames::begins(message, !stamp.is_empty());
        let kind = kind.or((begins && is_new).then_some(MessageKind::HungTask));
        let kind = if of_a_target { Some(MessageKind::Target) } else { kind };
        if let Some(server) = self.trace(kind, message, sink) {
            let log_message = Message::new(stamp, message);
            self.log_events.add(MessageKind::Remote, server, log_message, place, sink);
            return;
        }
        let wakes = || {
            let (_, line_text) = forms::heading(message);
            WAKES.iter().any(|words| line_text.starts_with(words))
        };
        if let Some(port) = named.filter(|name| name.starts_with("ata") && wakes()) {
            self.woken.insert(port.to_string());
        }
        let is_result = message.starts_with("res ");
        let port = (is_result && !self.port.is_empty()).then(|| self.port.clone());
        let whose = self.whose(message, named.or(port.as_deref()));
        let reset_message = reset;
        let of_host = names::host(message).and_then(|host| self.commands.of_host(host));
        let target = of_host.as_deref().unwrap_or(&whose);
        if forms::is_recovery(message) && self.commands.recovers(target, &reset_message) {
            return;
        }
        let Some(known) = kind.filter(|_| self.is_of_storage(message)) else {
            for log_event in self.commands.take(&whose, &reset_message, None) {
                self.add_log_event(log_event, sink);
            }
            if kind.is_none()
                && let Some(kind) = forms::kind_by_words(message)
                && self.is_of_storage(message)
            {
                let at = names::address(message).map(|address| self.names.at(address));
                let name = named.map(str::to_string).or(at).unwrap_or_default();
                self.log_events.by_words.add(kind, &name, reset_message, &place, sink);
            }
            return;
        };
        let kind = known;
        // Which command timed out is in the lines before; a drive's own error needs none.
        if is_result && port.is_none() && kind != MessageKind::Timeout {
            self.unported = Some((kind, PlacedMessage { message: reset_message, place }));
            return;
        }
        // The kernel's own message came before, `connection4:0: detected conn error`, and the
        // daemon repeats it.
        if message.starts_with("connection") {
            let number = named.and_then(|name| name.strip_prefix("connection"));
            let number = number.filter(|_| self.connections.len() < REMEMBERED);
            self.connections.extend(number.map(str::to_string));
        } else if message.starts_with(forms::OF_ISCSID)
            && let Some(number) = named.and_then(|name| name.strip_prefix("connection "))
            && self.connections.contains(number)
        {
            return;
        }
        if message.contains(SLOW_LINK) && named.is_some_and(|port| self.woken.contains(port)) {
            return;
        }
        if let Some((drive, reset_message)) = forms::of_ide(message) {
            if reset_message.starts_with("dma_timer_expiry") {
                self.expired.insert(drive.to_string());
            } else if kind == MessageKind::Controller && self.expired.remove(drive) {
                return;
            }
        }
        let address = names::address(message);
        let of_an_adapter = message.contains("scmd(") || message.contains("(sc=");
        if kind == MessageKind::Timeout && address.is_none() && of_an_adapter {
            self.given_up = Some(PlacedMessage { message: reset_message, place });
            return;
        }
        let at = address.and_then(|address| match kind {
            MessageKind::Timeout | MessageKind::Offline => Some(self.names.at(address)),
            MessageKind::Controller if message.ends_with(RESETS_ITSELF) => {
                Some(self.names.at(address))
            }
            // Before disks had names, adapters logged addresses.
            _ if names::is_older(message) => Some(self.names.at(address)),
            _ => self.names.known_at(address),
        });
        let at = at.or_else(|| {
            let older = names::older_address(message)
                .filter(|_| matches!(kind, MessageKind::Offline | MessageKind::Timeout))?;
            Some(self.names.at(&older))
        });
        let at = at.filter(|_| named.is_none());
        if let Some(address) = address.filter(|address| at.as_deref() == Some(*address))
            && self.addressed.len() < REMEMBERED
        {
            self.addressed.insert(address.to_string());
        }
        if is_abort(message)
            && let Some(address) = address
            && self.aborted.len() < REMEMBERED
        {
            *self.aborted.entry(address.to_string()).or_default() += 1;
        }
        let is_of_a_function =
            |message: &&str| pci::is_bus_error(message) || pci::is_iommu_fault(message);
        let function = Some(message).filter(is_of_a_function);
        let function = function.and_then(|message| self.functions.name(message));
        if let Some(target) = at.as_deref().filter(|_| names::is_older(message))
            && self.buses.is_new(target)
        {
            sink.add_fact_at(target, typed::DEVICE_TRANSPORT, "spi", &place);
        }
        let of_line = named.map(str::to_string);
        // A Smart Array's driver names its own function first.
        let behind = forms::smart_array_address(message);
        let behind = behind.and_then(|address| self.names.known_at(address));
        let named = function.or_else(|| multipath(message)).or(behind);
        let name = named.or(of_line).or(port).or(at).unwrap_or_default();
        let log_event = LogEvent { kind, name, message: reset_message.clone(), place };
        for log_event in self.commands.take(&whose, &reset_message, Some(log_event)) {
            self.add_log_event(log_event, sink);
        }
    }

    /// Learns whether sense data of a port are the drive's own: `status: { DRDY SENSE ERR }`.
    fn learn_sense(&mut self, message: &str) {
        let (logger, line_text) = forms::heading(message);
        if logger != Logger::Ata {
            return;
        }
        if line_text.starts_with("exception Emask") {
            self.reports_sense = None;
        } else if line_text.starts_with("status: {") {
            let own = line_text.split(' ').any(|word| word == "SENSE");
            self.reports_sense = Some(own || self.reports_sense == Some(true));
        }
    }

    /// What links the lines about one command: the SCSI address, or the port.
    fn whose(&self, message: &str, named: Option<&str>) -> String {
        let by_name = || {
            let of_request = commands::is_of_a_request(message);
            named.filter(|_| of_request).and_then(|disk| self.names.address_of(disk)).or(named)
        };
        names::address(message).or_else(by_name).unwrap_or_default().to_string()
    }

    /// Whether a USB port reset is the recovery from a query or a discard of its disk, or of the
    /// only disk with a timed-out command if the log does not name it.
    fn recovers_usb(&self, message: &Message) -> bool {
        match self.names.reset(&message.text) {
            Some(disk) => {
                let address = self.names.address_of(&disk).unwrap_or(&disk);
                self.commands.recovers(address, message)
            }
            None => self.commands.recovers_only(message),
        }
    }

    /// Whether a message is about the path to a disk: the PCIe errors of a network card are not.
    fn is_of_storage(&self, message: &str) -> bool {
        !(pci::is_bus_error(message) || pci::is_iommu_fault(message))
            || self.functions.are_of_storage(message)
    }

    /// Adds the resets of USB devices: to a disk, if all are of one device and the only disk with
    /// failed requests is not on another bus; to the port, if their intervals match command
    /// timeouts; otherwise to none.
    fn state_resets(&mut self, sink: &mut dyn Sink) {
        let mut failing = self.failing.iter();
        let only = failing.next().filter(|_| failing.next().is_none()).cloned();
        let plugs = std::mem::take(&mut self.resets).of_plugs();
        let is_one = plugs.len() == 1;
        for (plug, line_text) in plugs {
            let disk = only.as_ref().filter(|disk| is_one && names::is_of_scsi(disk));
            let disk = disk.filter(|_| line_text.len() >= resets::REPEATED);
            if let Some(disk) = disk.filter(|disk| self.buses.is_new(disk)) {
                sink.add_fact_at(disk.as_str(), typed::DEVICE_TRANSPORT, "usb", &line_text[0].1);
            }
            let is_periodic = resets::is_periodic(&line_text);
            let name = disk.cloned().or_else(|| is_periodic.then_some(plug)).unwrap_or_default();
            for (message, place) in line_text {
                self.log_events.add(MessageKind::Controller, &name, message, place, sink);
            }
        }
    }

    /// Adds a log event, unless it is the result of a command whose abort was added.
    fn add_log_event(&mut self, log_event: LogEvent, sink: &mut dyn Sink) {
        let text = &log_event.message.text;
        if log_event.kind == MessageKind::Timeout
            && !is_abort(text)
            && let Some(address) = names::address(text)
            && let Some(aborts) = self.aborted.get_mut(address)
            && *aborts > 0
        {
            *aborts -= 1;
            return;
        }
        let LogEvent { kind, name, message, place } = log_event;
        // The request that it was made for may have named the disk.
        let name = self.names.known_at(&name).unwrap_or(name);
        if matches!(kind, MessageKind::IoError | MessageKind::Timeout | MessageKind::Offline)
            && self.failing.len() < ARRAYS
        {
            self.failing.extend(member(&name).map(str::to_string));
        }
        if matches!(kind, MessageKind::Timeout | MessageKind::Offline | MessageKind::Controller) {
            self.buses.failed(&message);
        }
        self.log_events.add(kind, &name, message, place, sink);
    }
}

/// Whether the SCSI layer takes a command back.
fn is_abort(message: &str) -> bool {
    forms::of_scsi(message).is_some_and(|line_text| line_text.starts_with(ABORTS))
}

/// `2017-04-06T20:07:33...`: as text in the order of time, within one zone.
fn is_whole_date(stamp: &str) -> bool {
    let year = stamp.split('-').next().unwrap_or_default();
    year.len() == 4 && integer(year).is_some() && stamp.contains(':')
}

/// `CDB: Write(10) 2a 00 00 00 14 88 00 00 08 00`, `CDB: Write(16) 8a 00 ...`: the first sector and
/// how many (SBC-4).
fn written_blocks(message: &str) -> Option<(u64, u64)> {
    let (_, command) = message.split_once("CDB: Write(")?;
    let (size, bytes) = command.split_once(") ")?;
    let bytes: Option<Vec<u8>> =
        bytes.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).ok()).collect();
    let bytes = bytes?;
    let of = |places: std::ops::Range<usize>| {
        Some(bytes.get(places)?.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
    };
    match size {
        "10" => Some((of(2..6)?, of(7..9)?)),
        "16" => Some((of(2..10)?, of(10..14)?)),
        _ => None,
    }
}

/// The kernel's own clock on a line, if it has one: `245.908016` of ` 245.908016]`.
fn clock(line: &str) -> Option<&str> {
    line.match_indices(']').take(3).find_map(|(end, _)| {
        let before = line.get(..end)?;
        let (_, fraction) = before.rsplit_once('.')?;
        let is_clock = fraction.len() == 6 && integer(fraction).is_some();
        before.rsplit(['[', ' ']).next().filter(|_| is_clock)
    })
}

#[cfg(test)]
mod tests {
    use iowhy_model::key;

    use super::*;

    #[test]
    fn messages_by_kind_and_device() {
        for (message, expected, name) in [
            ("blk_update_request: critical medium error, dev sdb, sector 2056", "medium", "sdb"),
            ("sd 2:0:0:0: [sdc] tag#3 Sense Key : Medium Error [current]", "medium", "sdc"),
            ("ata3.00: error: { UNC }", "medium", "ata3"),
            ("ata4: SError: { PHYRdyChg CommWake }", "phy", "ata4"),
            ("ata4: SError: { PHYRdyChg 10B8B BadCRC }", "link", "ata4"),
            ("ata3.00: exception Emask 0x0 SAct 0x0 SErr 0x0 action 0x6 frozen", "timeout", "ata3"),
            ("ata1.00: exception Emask 0x0 SAct 0x0 SErr 0x280000 action 0x0", "link", "ata1"),
            ("ata1.00: exception Emask 0x0 SAct 0x0 SErr 0x50000 action 0x0", "phy", "ata1"),
            ("nvme nvme0: I/O 27 QID 3 timeout, aborting", "controller", "nvme0"),
            ("nvme nvme1: controller is down; will reset: CSTS=0xffffffff", "controller", "nvme1"),
            ("sd 6:0:0:0: rejecting I/O to offline device", "offline", ""),
            ("Buffer I/O error on dev dm-3, logical block 5, async page read", "io-error", "dm-3"),
            ("INFO: task kworker/u8:1:77 blocked for more than 120 seconds.", "hung-task", ""),
        ] {
            assert_eq!(kind(message).map(MessageKind::name), Some(expected), "{message}");
            assert_eq!(device(message).unwrap_or_default(), name, "{message}");
        }
        assert_eq!(kind("EXT4-fs (sda1): mounted filesystem"), None);
        assert_eq!(kind("ata1.00: exception Emask 0x0 SAct 0x0 SErr 0x0 action 0x0"), None);
    }

    #[test]
    fn what_an_adapter_repaired_is_counted_of_the_drive() {
        let line = "3w-9xxx: scsi0: AEN: WARNING (0x04:0x0023): Sector repair completed:port=1, \
                    LBA=0x4383A7F.";
        assert_eq!(unread_behind_3ware(line).as_deref(), Some("c0/p1"));
        let other = "3w-9xxx: scsi0: AEN: INFO (0x04:0x0029): Verify started:unit=0.";
        assert_eq!(unread_behind_3ware(other), None);
    }

    #[test]
    fn a_log_of_freebsd_with_and_without_its_syslog() {
        let of = |log: &str, kind: &'static str| {
            let recording = crate::scan::recorded(log);
            let Some(listing) = recording.listings.first() else { return Vec::new() };
            let of = listing.facts.iter().filter(|fact| fact.key == key::KERNEL_LOG.of(kind));
            let named = of.filter_map(|fact| Some(recording.device_of(fact.device?).name.clone()));
            named.collect::<Vec<_>>()
        };
        let lines = [
            "ahcich3: Timeout on slot 31 port 0",
            "(ada2:ahcich3:0:0:0): READ_FPDMA_QUEUED. ACB: 60 80 30 6b 94 40 08 02 00 00 00 00",
            "(ada2:ahcich3:0:0:0): CAM status: Command timeout",
            "(aprobe0:ahcich3:0:0:0): CAM status: Command timeout",
            "(da5:mps0:0:13:0): SCSI sense: MEDIUM ERROR asc:11,0 (Unrecovered read error)",
        ];
        let bare = lines.join("\n") + "\n";
        let syslog = lines.map(|line| format!("Dec 10 19:18:35 nas {line}\n")).concat();
        let grepped =
            lines.map(|line| format!("./var/log/kern.log:Dec 10 19:18:35 nas {line}\n")).concat();
        // A day of one digit follows two blanks.
        let early = lines.map(|line| format!("Dec  1 19:18:35 nas {line}\n")).concat();
        for log in [bare, syslog, early, grepped] {
            assert_eq!(of(&log, "timeout"), ["ahcich3", "ada2", "ahcich3"], "{log}");
            assert_eq!(of(&log, "medium"), ["da5"], "{log}");
        }
        assert_eq!(split("Dec 10 19:18:35 nas sshd: Accepted"), None);
    }

    #[test]
    fn messages_run_together_are_told_apart() {
        let one = "[ 6546.141374] ata3.00: exception Emask 0x0 frozen [ 6546.141379] ata3.00: \
                   failed command: FLUSH CACHE EXT [ 6546.141390] ata3.00: status: { DRDY }";
        let parts = messages(one);
        assert_eq!(parts.len(), 3);
        assert_eq!(
            split(parts[1]),
            Some(("6546.141379", "ata3.00: failed command: FLUSH CACHE EXT"))
        );
        for alone in [
            "[    1.234567] sd 0:0:0:0: [sda] tag#3 Sense Key : Medium Error [current]",
            "[    1.234567] [    1.234567] sd 0:0:0:0: x",
            "Nov  1 08:36:47 web kernel: [    1.000000] ata3: x",
        ] {
            assert_eq!(messages(alone), [alone], "{alone}");
        }
    }

    #[test]
    fn stamps_of_all_kinds() {
        let stamp = |line| split(line).map(|(stamp, _)| stamp);
        assert_eq!(stamp("[    1.234567] sd 0:0:0:0: x"), Some("1.234567"));
        assert_eq!(stamp("<3>[12345.678901] x"), Some("12345.678901"));
        assert_eq!(stamp("[Sat Nov 21 08:36:47 2026] x"), Some("Sat Nov 21 08:36:47 2026"));
        assert_eq!(stamp("Nov  1 08:36:47 web kernel: [  1.000000] x"), Some("Nov  1 08:36:47"));
        // A shortened time is accepted before a message that is certainly the kernel's.
        assert_eq!(stamp("[81234.110] sd 2:0:0:0: [sdb] Sense Key : x"), Some("81234.110"));
        assert_eq!(stamp("[81234] blk_update_request: I/O error, dev sdb"), Some("81234"));
        assert_eq!(stamp("[81234.110] starting the server"), None);
        assert_eq!(stamp("[3] usual words"), None);
        let iso = "2026-11-21T08:36:47+0000";
        let line = format!("{iso} web kernel: x");
        assert_eq!(split(&line), Some((iso, "x")));
        assert!(is_of_another("Nov 21 08:36:47 web sshd[812]: Accepted"));
        assert!(is_of_another(&format!("{iso} web sshd[812]: Accepted")));
        assert!(!is_of_another("As you see, the disk is slow: 80 ms"));
        for (line, printed) in [
            ("kern  :err   : [    1.234567] ata4: x", "1.234567"),
            ("kern  :info  : [Sat Nov 21 08:36:47 2026] x", "Sat Nov 21 08:36:47 2026"),
            ("[Сб ноя 21 08:36:47 2026] x", "Сб ноя 21 08:36:47 2026"),
            ("[六 11月 21 08:36:47 2026] x", "六 11月 21 08:36:47 2026"),
            ("[sam. nov. 21 08:36:47 2026] x", "sam. nov. 21 08:36:47 2026"),
            ("[    1.234567][  T123] x", "1.234567"),
            ("[    1.234567] [    C0] x", "1.234567"),
            ("[    1.234567 <    0.000012>] x", "1.234567"),
            ("[<    0.000012>] x", ""),
            ("[  +0.000012] x", ""),
            ("[Nov21 08:36] x", "Nov21 08:36"),
            ("2026-11-21T08:36:47,123456+00:00 x", "2026-11-21T08:36:47,123456+00:00"),
            ("[    1.234567] web kernel: x", "1.234567"),
            ("Sat 2026-11-21 08:36:47 UTC web kernel: x", "Sat 2026-11-21 08:36:47 UTC"),
            ("1763714207.123456 web kernel: x", "1763714207.123456"),
            (
                "<3>1 2026-11-21T08:36:47.12+01:00 web kernel - - - x",
                "2026-11-21T08:36:47.12+01:00",
            ),
            ("<3>1 2026-11-21T08:36:47Z web kernel - - [id a=\"b\"] x", "2026-11-21T08:36:47Z"),
        ] {
            let (stamp, message) = split(line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!((stamp, message.trim_start_matches("ata4: ")), (printed, "x"), "{line}");
        }
        for other in [
            "[1763714207.123456] 64 bytes from 10.0.0.1: icmp_seq=1 ttl=64 time=0.1 ms",
            "[Sat Nov 21 08:36:47 2026] [error] [client 10.0.0.1] File does not exist",
            "[2026-11-21 08:36:47] INFO started",
            "<6>1 2026-11-21T08:36:47Z web sshd 812 - - Accepted",
        ] {
            assert_eq!(split(other), None, "{other}");
        }
        for other in ["[2, 4) 5 |@@|", "[12.5] a footnote", "[...]", "the kernel: a view"] {
            assert_eq!(stamp(other), None, "{other}");
        }
    }
}
