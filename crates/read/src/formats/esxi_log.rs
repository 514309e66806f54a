//! The kernel's log of VMware ESX and ESXi: paths that are gone, commands that failed or were
//! aborted.
//!
//! ## Reads
//! Lines of `vmkernel.log` and `vobd.log` in all their forms. A message of a known kind becomes a
//! fact `kernel.log.KIND` of the device, adapter or driver that it names, like those of Linux
//! (format `kernel-log`): `offline` (all paths are down, the device is lost), `link` (one path is),
//! `remote` (a server of NFS or iSCSI), `timeout`, `controller` (commands aborted, a bus or device
//! reset, a corresponding host status), `medium`, `hardware` and `denied` (sense keys 3, 4 and 7),
//! `reserved` (a reservation conflict). A command that failed by its host status is one of the path
//! that the message names (`vmhba2:C0:T1:L1`), and the device lies on the paths that failed it.
//! `kernel.log.lines` counts the lines. Of `performance has deteriorated. I/O latency increased
//! from average value of 1343 microseconds to 28022 microseconds` the longest of each device is
//! kept.
//!
//! ## How to capture
//! `/var/log/vmkernel.log`, `/var/log/vobd.log`, a support bundle (`vm-support`);
//! `/var/log/vmkernel` of ESX.
//!
//! ## Versions
//! ESX 3 and 4, ESXi 5 to 8.
//!
//! ## Caveats
//! `H:`, `D:` and `P:` are the status of host, device and plug-in; 0x2 of the host is a busy bus,
//! 0x1 no connection, 0x3 and 0x5 a timeout and an abort, 0x7 and 0x8 an error and a reset. 0x8 of
//! the device is busy, 0x18 a reservation conflict, 0x28 a full queue. Sense data after `Possible`
//! or `Invalid` belongs to another command. Reservation conflicts are caused by another host, not
//! by the disk. A clock after the date (`84:18:41:17.645`) counts from boot.
//!
//! ## Not in this output
//! Suppressed messages: the log limits repetitions (`repeated 10 times`).

use std::collections::{BTreeMap, BTreeSet};

use iowhy_model::{Message, MessageKind};

use crate::drive::log_events::{Kinds, LogEvents, kind_of};
use crate::program::*;

pub(super) const FORMAT: Format = Format::by_line::<EsxiLog>(
    "the kernel's log of VMware ESXi: vmkernel.log, vobd.log",
    Level::E,
    &["cpu", "vobd"],
    |line| split(line).is_some(),
)
.resumed();

/// What words make a log event of which kind; the first row whose words all stand there decides.
const KINDS: &Kinds = &[
    (MessageKind::Medium, &["Valid sense data: 0x3 "]),
    (MessageKind::Hardware, &["Valid sense data: 0x4 "]),
    (MessageKind::Denied, &["Valid sense data: 0x7 "]),
    (MessageKind::Link, &["Valid sense data: 0xb 0x47 "]),
    (MessageKind::Reserved, &[" D:0x18 "]),
    (MessageKind::Offline, &["Lost connectivity to storage device"]),
    (MessageKind::Offline, &["ermanently inaccessible"]),
    (MessageKind::Offline, &["ermanent Device Loss"]),
    (MessageKind::Offline, &["ll Paths Down"]),
    (MessageKind::Offline, &["Lost access to volume"]),
    (MessageKind::Offline, &["H:0x1 "]),
    (MessageKind::Link, &["Lost path redundancy"]),
    (MessageKind::Link, &["pathstate.dead"]),
    (MessageKind::Link, &["ath vmhba", " is down"]),
    (MessageKind::Link, &["I/O could not be issued to device"]),
    (MessageKind::Remote, &["dev \"naa.", " D:0x8 "]),
    (MessageKind::Remote, &["dev \"naa.", " D:0x28 "]),
    (MessageKind::Remote, &["iscsid", "Kernel reported iSCSI connection ", " error "]),
    (MessageKind::Remote, &["iscsid", "connection ", "Nop-out timeout"]),
    (MessageKind::Remote, &["iSCSI connection is being marked "]),
    (MessageKind::Remote, &["IO failed on handle ", "failed: No connection"]),
    (MessageKind::Timeout, &["H:0x3 "]),
    (MessageKind::Timeout, &["H:0x5 "]),
    (MessageKind::Link, &["H:0x6 "]),
    (MessageKind::Timeout, &["Reservation error: Timeout"]),
    (MessageKind::Timeout, &["File system timeout"]),
    (MessageKind::Controller, &["H:0x2 "]),
    (MessageKind::Controller, &["H:0x7 "]),
    (MessageKind::Controller, &["H:0x8 "]),
    (MessageKind::Controller, &["H:0xb "]),
    (MessageKind::Controller, &["state in doubt"]),
    (MessageKind::Controller, &["issued abort"]),
    (MessageKind::Controller, &["ahciAbortIO"]),
    (MessageKind::Controller, &["VIRT_RESET"]),
    (MessageKind::Controller, &["LUN_RESET"]),
    (MessageKind::Controller, &["Storage initiator error"]),
    (MessageKind::Controller, &["Bus reset"]),
];

/// Who speaks of storage: modules of the kernel, drivers of adapters, and the daemon that collects
/// observations (`171974us: `). Others name virtual machines, networks and programs, whose names
/// are chosen by people.
const STORAGE: [&str; 52] = [
    "ATS", "DLX", "DOM", "FDS", "FS3", "FSS", "Fil3", "Fil6", "HBX", "HPP", "ISCSI", "J3", "J6",
    "LSOM", "LVM", "LinScsi", "LinuxSCSI", "MPP", "NFS", "NMP", "NVMe", "Nvme", "PLOG", "PSA",
    "Res3", "Res6", "SCSI", "SVM", "Scsi", "Storage", "SunRPC", "UNMAP", "VMW_", "Vol3", "aacraid",
    "ahci", "bnx2", "fnic", "hpsa", "iscsi", "lpfc", "lsi", "megaraid", "mpt", "nfnic", "nhpsa",
    "nmp", "nvme", "ql", "smartpqi", "vmhba", "vmw_",
];

/// What a message of the storage stack says, without quoted and bracketed text: names of
/// volumes and devices.
fn said_of_storage(message: &str) -> Option<String> {
    let plain = message
        .strip_prefix("WARNING: ")
        .or_else(|| message.strip_prefix("ALERT: "))
        .unwrap_or(message);
    let observed = plain
        .split(' ')
        .take(5)
        .any(|word| word.strip_suffix("us:").is_some_and(|us| integer(us).is_some()));
    if !observed && !STORAGE.iter().any(|module| plain.starts_with(module)) {
        return None;
    }
    let (mut reported, mut inside) = (String::new(), None);
    for (at, c) in message.char_indices() {
        match (inside, c) {
            (None, '"') => {
                let keeps = is_numbered(message.get(at + 1..).unwrap_or_default());
                inside = Some(('"', keeps));
                reported.extend(keeps.then_some(c));
            }
            (None, '(') => inside = Some((')', false)),
            (None, _) => reported.push(c),
            (Some((end, keeps)), _) => {
                reported.extend(keeps.then_some(c));
                inside = inside.filter(|_| c != end);
            }
        }
    }
    Some(reported)
}

/// Whether a device is named by its number, which no drive chooses in words: `naa.5000c500a1b2c3d4"
/// failed`.
fn is_numbered(text: &str) -> bool {
    let number = text.split_once('"').and_then(|(name, _)| name.strip_prefix("naa."));
    number.is_some_and(|number| number.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'#'))
}

/// The kind of a message.
fn kind(message: &str) -> Option<MessageKind> {
    kind_of(KINDS, &said_of_storage(message)?)
}

/// The volume of NFS, where it is named, of a message that its server does not answer or got
/// slower: `NFS: 6339: Status:No connection. Retrying synchronous write I/O 1 of 25 times`, `NFS
/// volume ds7 performance has deteriorated. I/O latency increased from average value of 2010
/// microseconds to 171022 microseconds.`
fn of_nfs(message: &str) -> Option<&str> {
    let plain = message.strip_prefix("WARNING: ").unwrap_or(message);
    let (number, reported) = plain.strip_prefix("NFS: ")?.split_once(": ")?;
    integer(number)?;
    if reported.starts_with("Status:No connection. Retrying ") {
        return Some("");
    }
    let (volume, rest) =
        reported.strip_prefix("NFS volume ")?.split_once(" performance has deteriorated. ")?;
    rest.starts_with("I/O latency increased ").then_some(volume)
}

/// Messages of every kind that is known, made up.
pub(super) fn examples() -> impl Iterator<Item = String> {
    KINDS.iter().map(|(_, words)| format!("ScsiDeviceIO: 2968: {}", words.join(" 0x1 ")))
}

/// The time as printed, and the message, of a line of one of the two logs.
fn split(line: &str) -> Option<(&str, &str)> {
    for (at, _) in line.match_indices("cpu") {
        let (before, rest) = line.split_at(at);
        if let Some((who, message)) = rest.split_once(')')
            && is_processor(who)
        {
            // Who publishes a message may cover its time: `[YYYY-MM-DDTHH:MM:SS]
            // cpu51:2098041)WARNING: ...`.
            let covered = || deteriorated_us(message).map(|_| "");
            return Some((stamp(before).or_else(covered)?, message.trim_start()));
        }
    }
    // `vobd: ...`, `In(14) vobd[2097700]: [scsiCorrelator] 171974us: ...`.
    let (head, rest) = line.split_once("vobd")?;
    let (_, message) = rest.split_once(": ")?;
    message.contains("us: ").then_some((stamp(head)?, message))
}

/// What the daemon of the initiator says beside the kernel: `2015-01-20T10:35:03Z iscsid: Kernel
/// reported iSCSI connection 6:0 error (1011) state (3)`, in `syslog.log` (`vmkiscsid` before ESXi
/// 5).
fn of_iscsid(line: &str) -> Option<(&str, &str)> {
    let at = line.find(" iscsid").or_else(|| line.find(" vmkiscsid"))?;
    let (head, rest) = line.split_at_checked(at + 1)?;
    let message = rest.strip_prefix("vmk").unwrap_or(rest);
    let (name, _) = message.split_once(": ")?;
    let number = name.strip_prefix("iscsid")?.trim_matches(['[', ']']);
    let stamp = stamp(head).filter(|_| number.is_empty() || integer(number).is_some())?;
    // A host name may come between.
    let between = head.get(stamp.len()..)?.split_whitespace().count();
    (between < 2).then_some((stamp, message))
}

/// The time that a line begins with: `2017-02-25T17:34:15.505Z`, `Apr 27 10:14:42`.
fn stamp(head: &str) -> Option<&str> {
    let blanks: Vec<usize> = head.match_indices(' ').map(|(at, _)| at).collect();
    let to = |end: Option<&usize>| head.get(..*end?);
    let whole = to(blanks.first()).filter(|word| word.contains('T'));
    // A day of one digit follows two blanks.
    let dated = || {
        let end = blanks.iter().find(|at| head.get(..**at).is_some_and(|text| text.contains(':')));
        to(end)
    };
    let is_time = |stamp: &&str| {
        let words: Vec<&str> = stamp.split_whitespace().collect();
        let dated =
            words.len() == 1 || words.len() == 3 && words.first().is_some_and(|m| m.len() == 3);
        dated && words.last().is_some_and(|time| WallTime::read(time).is_some())
    };
    let stamp = whole.or_else(dated).filter(is_time)?;
    Some(stamp.trim_end_matches(':'))
}

/// `cpu3:1037`: the processor and the world that spoke.
fn is_processor(word: &str) -> bool {
    let numbers = word.strip_prefix("cpu").and_then(|rest| rest.split_once(':'));
    numbers.is_some_and(|(cpu, world)| integer(cpu).is_some() && integer(world).is_some())
}

/// Whom a message is about: a device by its identifier (`naa.`, `t10.`, `eui.`, `mpx.`), else an
/// adapter, else the driver that speaks.
fn device(message: &str) -> &str {
    let end = |text: &str| {
        text.find(|c: char| c.is_whitespace() || matches!(c, '"' | ',' | '\'' | ')'))
            .unwrap_or(text.len())
    };
    for mark in ["naa.", "t10.", "eui.", "mpx."] {
        if let Some(rest) = message.find(mark).and_then(|at| message.get(at..)) {
            return rest.get(..end(rest)).unwrap_or_default().trim_end_matches(['.', ':']);
        }
    }
    if let Some(rest) = message.find("vmhba").and_then(|at| message.get(at..)) {
        let digits = rest.bytes().skip("vmhba".len()).take_while(u8::is_ascii_digit).count();
        return rest.get(.."vmhba".len() + digits).unwrap_or_default();
    }
    if let Some((_, reported)) = message.split_once(": ").filter(|(by, _)| by.starts_with("iscsid"))
    {
        let at = reported.find("connection ").unwrap_or(reported.len());
        let named = reported.get(at..).unwrap_or_default();
        let numbered = named.get("connection ".len()..).unwrap_or_default();
        return named.get(.."connection ".len() + end(numbered)).unwrap_or_default();
    }
    // A virtual machine's disk: `SVM: 1861: scsi0:0 IO failed on handle 2497915`.
    if let Some((before, _)) = message.split_once(" IO failed on handle ") {
        return before.rsplit(' ').next().unwrap_or_default();
    }
    let driver = message.split([':', '[']).next().unwrap_or_default();
    let named = driver.ends_with(|c: char| c.is_ascii_digit()) || driver.starts_with("vmw_");
    if named && !driver.contains(' ') { driver } else { "" }
}

/// The path on which a command failed by its host status, which is what the adapter reports: `Cmd
/// 0x28 (...) to dev "naa..." on path "vmhba2:C0:T1:L1" Failed: H:0x8 D:0x0 P:0x0`.
fn failed_path(message: &str) -> Option<&str> {
    let (_, rest) = message.split_once(" on path \"")?;
    let (path, rest) = rest.split_once('"')?;
    let mut parts = path.strip_prefix("vmhba")?.split(':');
    let letters = ["", "C", "T", "L"];
    let numbered = |letter| parts.next()?.strip_prefix(letter).and_then(integer);
    let is_path = letters.into_iter().map(numbered).all(|number| number.is_some());
    let of_host = rest.contains(" H:0x") && !rest.contains(" H:0x0 ");
    (is_path && of_host).then_some(path)
}

/// The mean latency, us, of a message that the host finds it too long: `performance has
/// deteriorated. I/O latency increased from average value of 1343 microseconds to 28022
/// microseconds.`
fn deteriorated_us(message: &str) -> Option<u64> {
    let text = said_of_storage(message)?;
    let (_, rest) = text.split_once("performance has deteriorated. ")?;
    let (_, rest) = rest.split_once(" to ")?;
    integer(rest.split_once(" microseconds")?.0)
}

/// Devices of which the paths are remembered.
const DEVICES: usize = 1024;

#[derive(Default)]
struct EsxiLog {
    log_events: LogEvents,
    /// Of each device the longest mean latency that was found too long, us, and where.
    deteriorated: BTreeMap<String, (u64, String)>,
    /// Paths of devices on which a command failed.
    paths: BTreeMap<String, BTreeSet<String>>,
}

impl Reader for EsxiLog {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let Some((stamp, message)) = split(line).or_else(|| of_iscsid(line)) else {
            // A message continues in the next line of syslog, which has its time and no processor.
            let more = line.trim().is_empty() || line.contains(" vmkernel: ");
            return if more { Step::Consumed } else { Step::NotMine };
        };
        self.log_events.line(stamp);
        let of_nfs = of_nfs(message).map(|volume| (MessageKind::Remote, volume));
        let event = of_nfs.or_else(|| Some((kind(message)?, device(message))));
        if let Some((kind, name)) = event {
            let path = failed_path(message);
            if let Some(path) = path.filter(|_| self.paths.len() < DEVICES && !name.is_empty()) {
                self.paths.entry(name.to_string()).or_default().insert(path.to_string());
            }
            let name = path.unwrap_or(name);
            let text = Message::new(stamp, message);
            self.log_events.add(kind, name, text, sink.here(), sink);
        } else if let Some(us) = deteriorated_us(message) {
            let longest = self.deteriorated.entry(device(message).to_string()).or_default();
            if us > longest.0 {
                *longest = (us, sink.here());
            }
        }
        Step::Consumed
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        for (name, (us, place)) in std::mem::take(&mut self.deteriorated) {
            let longest = Nanos::from_us(us as f64);
            sink.add_fact_at(&name, typed::DEVICE_LATENCY_COMPLAINED, longest, &place);
        }
        for (name, paths) in std::mem::take(&mut self.paths) {
            let paths: Vec<String> = paths.into_iter().collect();
            sink.add_fact(name.as_str(), typed::DEVICE_SLAVES, paths);
        }
        self.log_events.close(sink);
    }
}
