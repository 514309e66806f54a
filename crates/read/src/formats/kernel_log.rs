//! The kernel's log: messages that speak of a failing disk, link, controller or of stuck tasks.
//!
//! ## Reads
//! Lines of `dmesg`, `dmesg -T`, `/var/log/messages` and `journalctl -k`. A message of a known kind
//! becomes a fact `kernel.log.KIND` of its device, whose value is the time as printed, in
//! brackets, and the message. Kinds are `medium` (the surface could not be read), `link` (cable,
//! connector, port), `phy` (the link went down, nothing else), `timeout` (no answer from the
//! drive), `controller` (NVMe or host adapter reset), `offline`, `io-error`, `hung-task`,
//! `firmware`. Facts `kernel.log.KIND.count` count all messages of a kind, and
//! `kernel.log.lines` the lines read, so that silence is known too; `kernel.log.end` is the time of
//! the last of them.
//!
//! ## Where it comes from
//! `dmesg`, `journalctl -k -o short-iso`, support archives.
//!
//! ## Versions
//! Messages of Linux 2.6 to 6.x; `end_request`, `blk_update_request` and today's bare `I/O error`
//! mean the same.
//!
//! ## Traps
//! A fault in the log outranks any shape of latency. `hostbyte=0x0b` beside a medium error is
//! collateral damage. A hung task and a buffer I/O error are consequences, not causes. `PHYRdyChg`
//! and `CommWake` alone may be power saving or a pulled plug. A timeout may be a drive, a shingled
//! disk, its power, or firmware. Devices are named as the message does: `sdb`, `nvme0`, or `ata3`,
//! a port whose disk the message does not tell. The first 100 messages of a kind and device are
//! kept. Lines of other programs in a system log are passed over. A time in brackets counts seconds
//! since boot, which run slow across a suspend.
//!
//! ## Cannot know
//! What the kernel did not say: the log may have wrapped or been limited in rate. What the drive
//! repaired silently. Whether whole lines are missing: they bear no numbers.

use std::collections::BTreeMap;

use iowhy_model::{Fact, Level, Sink};

use crate::{Format, Moment, Reader, Sniff, Step, decimal};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "kernel-log",
    summary: "the kernel's log: dmesg, journalctl -k, /var/log/messages",
    manual: include_str!("kernel_log.rs"),
    level: Level::E,
    sniff,
    reader: || Box::new(KernelLog::default()),
};

/// Messages kept of one kind and device.
const KEPT: u64 = 100;

/// What words make a message of which kind; the first that fits decides. Each row is all words of
/// a message of the kernel that must be there (drivers/ata/libata-eh.c, drivers/scsi/scsi_logging.c,
/// block/blk-core.c, drivers/nvme/host/pci.c, kernel/hung_task.c; cases in the issue trackers
/// named on the project's page on evidence).
const KINDS: [(&str, &[&str]); 38] = [
    ("medium", &["critical medium error"]),
    ("medium", &["Sense Key : Medium Error"]),
    ("medium", &["Unrecovered read error"]),
    ("medium", &["ASC=0x11"]),
    ("medium", &["error: {", "UNC"]),
    ("medium", &["(media error)"]),
    ("link", &["SErr", "BadCRC"]),
    ("link", &["SErr", "UnrecovData"]),
    ("link", &["SErr", "Handshk"]),
    ("link", &["SErr", "10B8B"]),
    ("link", &["error: {", "ICRC"]),
    ("link", &["(ATA bus error)"]),
    ("link", &["interface fatal error"]),
    ("link", &["hard resetting link"]),
    ("link", &["limiting SATA link speed"]),
    ("link", &["SATA link down"]),
    ("phy", &["SErr", "PHYRdyChg"]),
    ("phy", &["SErr", "CommWake"]),
    ("link", &["exception Emask 0x10"]),
    ("timeout", &["exception Emask 0x0 ", "frozen"]),
    ("timeout", &["qc timeout"]),
    ("timeout", &["failed command: FLUSH CACHE"]),
    ("timeout", &["(timeout)"]),
    ("timeout", &["timing out command"]),
    ("controller", &["nvme", "timeout, "]),
    ("controller", &["nvme", "controller is down"]),
    ("controller", &["nvme", "resetting controller"]),
    ("controller", &["nvme", "Device not ready"]),
    ("controller", &["log_info("]),
    ("controller", &["task abort"]),
    ("controller", &["Power-on or device reset occurred"]),
    ("controller", &["uas_eh_"]),
    ("offline", &["rejecting I/O to offline device"]),
    ("offline", &["Device offlined"]),
    ("io-error", &["Buffer I/O error"]),
    ("io-error", &["I/O error, dev "]),
    ("hung-task", &["blocked for more than ", " seconds"]),
    ("firmware", &["device firmware changed"]),
];

fn sniff(lines: &[&str]) -> Sniff {
    Sniff::from(lines.first().is_some_and(|line| split(line).is_some()))
}

/// The time as printed, and the message.
fn split(line: &str) -> Option<(&str, &str)> {
    let text = line.trim_start();
    // `<3>`: the level, as /dev/kmsg and `dmesg -r` write it.
    let text = match text.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
        Some((level, rest)) if level.len() < 4 && decimal(level).is_some() => rest,
        _ => text,
    };
    if let Some((stamp, rest)) = text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        let stamp = stamp.trim();
        let since_boot = stamp.split_once('.').is_some_and(|(whole, fraction)| {
            let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
            digits(whole) && digits(fraction) && fraction.len() == 6
        });
        let dated = stamp.len() >= 19 && stamp.contains(' ') && Moment::read(stamp).is_some();
        let message = rest.strip_prefix(' ')?.trim_start();
        return (since_boot || dated).then_some((stamp, message));
    }
    let (head, message) = text.split_once(" kernel: ")?;
    let words: Vec<&str> = head.split_whitespace().collect();
    // `Nov 21 08:36:47 HOST` or `2026-11-21T08:36:47+0000 HOST`.
    let (_, stamp) = words.split_last()?;
    let dated = match stamp {
        [_, _, time] => time.contains(':'),
        [iso] => Moment::read(iso).is_some(),
        _ => false,
    };
    let stamp = head.rsplit_once(' ').map(|(stamp, _)| stamp.trim())?;
    // Syslog repeats the stamp of the kernel's own clock now and then.
    let message = split(message).map_or(message, |(_, message)| message);
    dated.then_some((stamp, message))
}

/// Whether a line of a system log is some program's: `Nov 21 08:36:47 web sshd[812]: ...`.
fn is_of_another(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().take(5).collect();
    let speaks = |word: &&&str| word.ends_with(':');
    match words.as_slice() {
        [_, day, time, _, program] if Moment::read(time).is_some() => {
            decimal(day).is_some() && program.ends_with(':')
        }
        [iso, _, rest @ ..] => {
            iso.len() > 18 && Moment::read(iso).is_some() && rest.first().filter(speaks).is_some()
        }
        _ => false,
    }
}

fn kind(message: &str) -> Option<&'static str> {
    let fits = |words: &&[&str]| words.iter().all(|word| message.contains(word));
    KINDS.iter().find(|(_, words)| fits(words)).map(|(kind, _)| *kind)
}

/// The device a message names: `[sdb]`, `dev sdb`, `nvme0: ...`, `ata3.00: ...`.
fn device(message: &str) -> Option<&str> {
    let name = |text: &str| {
        text.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(text.len())
    };
    for mark in ["dev ", "device ", "["] {
        for (place, _) in message.match_indices(mark) {
            let rest = message.get(place + mark.len()..)?;
            let found = rest.get(..name(rest))?;
            if is_disk(found) {
                return Some(found);
            }
        }
    }
    let mut words = message.split_whitespace().map(|word| {
        let word = word.trim_end_matches(':');
        word.split_once('.').map_or(word, |(port, _)| port)
    });
    words.find(|word| {
        let numbered = |prefix: &str| {
            word.strip_prefix(prefix).is_some_and(|n| n.starts_with(|c: char| c.is_ascii_digit()))
        };
        numbered("ata") || numbered("nvme") || numbered("mpt3sas_cm") || numbered("mmcblk")
    })
}

fn is_disk(name: &str) -> bool {
    let prefixes = ["sd", "hd", "vd", "xvd", "nvme", "dm-", "md", "mmcblk", "sr", "loop", "nbd"];
    let long = name.len() > 2 && name.len() < 16;
    long && prefixes.iter().any(|prefix| name.starts_with(prefix))
}

#[derive(Default)]
struct KernelLog {
    /// Lines offered so far; the first is that of the listing.
    offered: u64,
    /// Those that were of the kernel.
    lines: u64,
    /// The time of the last of them, as printed.
    end: String,
    /// The port of the last message that named one: its `res` line does not.
    port: String,
    counts: BTreeMap<(&'static str, String), u64>,
}

impl Reader for KernelLog {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let first = sink.source().lines.map_or(0, |(first, _)| first);
        let place = format!("{}:{}", sink.source().input, first + self.offered);
        self.offered += 1;
        let Some((stamp, message)) = split(line) else {
            let others = line.trim().is_empty() || is_of_another(line);
            return if others { Step::Took } else { Step::Passed };
        };
        self.lines += 1;
        self.end = stamp.to_string();
        let named = device(message);
        if let Some(port) = named.filter(|name| name.starts_with("ata")) {
            self.port = port.to_string();
        }
        let Some(kind) = kind(message) else { return Step::Took };
        let port = Some(self.port.as_str()).filter(|_| message.starts_with("res "));
        let name = named.or(port).unwrap_or_default();
        let count = self.counts.entry((kind, name.to_string())).or_default();
        *count += 1;
        if *count <= KEPT {
            fact(name, format!("kernel.log.{kind}"), format!("[{stamp}] {message}"), place, sink);
        }
        Step::Took
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        let place = sink.source().place();
        for ((kind, name), count) in std::mem::take(&mut self.counts) {
            fact(&name, format!("kernel.log.{kind}.count"), count.to_string(), place.clone(), sink);
        }
        fact("", "kernel.log.lines".to_string(), self.lines.to_string(), place.clone(), sink);
        fact("", "kernel.log.end".to_string(), std::mem::take(&mut self.end), place, sink);
    }
}

fn fact(name: &str, key: String, value: String, read_from: String, sink: &mut dyn Sink) {
    let device = (!name.is_empty()).then(|| sink.device(name));
    sink.fact(Fact { device, key, value, read_from });
}

#[cfg(test)]
mod tests {
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
            ("nvme nvme0: I/O 27 QID 3 timeout, aborting", "controller", "nvme0"),
            ("nvme nvme1: controller is down; will reset: CSTS=0xffffffff", "controller", "nvme1"),
            ("sd 6:0:0:0: rejecting I/O to offline device", "offline", ""),
            ("Buffer I/O error on dev dm-3, logical block 5, async page read", "io-error", "dm-3"),
            ("INFO: task kworker/u8:1:77 blocked for more than 120 seconds.", "hung-task", ""),
        ] {
            assert_eq!(kind(message), Some(expected), "{message}");
            assert_eq!(device(message).unwrap_or_default(), name, "{message}");
        }
        assert_eq!(kind("EXT4-fs (sda1): mounted filesystem"), None);
    }

    #[test]
    fn stamps_of_all_kinds() {
        let stamp = |line| split(line).map(|(stamp, _)| stamp);
        assert_eq!(stamp("[    1.234567] sd 0:0:0:0: x"), Some("1.234567"));
        assert_eq!(stamp("<3>[12345.678901] x"), Some("12345.678901"));
        assert_eq!(stamp("[Sat Nov 21 08:36:47 2026] x"), Some("Sat Nov 21 08:36:47 2026"));
        assert_eq!(stamp("Nov  1 08:36:47 web kernel: [  1.000000] x"), Some("Nov  1 08:36:47"));
        let iso = "2026-11-21T08:36:47+0000";
        let line = format!("{iso} web kernel: x");
        assert_eq!(split(&line), Some((iso, "x")));
        assert!(is_of_another("Nov 21 08:36:47 web sshd[812]: Accepted"));
        assert!(is_of_another(&format!("{iso} web sshd[812]: Accepted")));
        assert!(!is_of_another("As you see, the disk is slow: 80 ms"));
        for other in ["[2, 4) 5 |@@|", "[12.5] a footnote", "[...]", "the kernel: a view"] {
            assert_eq!(stamp(other), None, "{other}");
        }
    }
}
