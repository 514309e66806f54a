//! One line of a kernel log in any of its printed forms: the time as printed, and the message.

use super::address::{is_pci, peripheral};
use super::{forms, names};
use crate::{WallTime, decimal, integer};

/// The facility of a message is above its level of three bits; 0 is the kernel (syslog(3)).
const FACILITY: u64 = 8;

/// Seconds since boot are fewer: thirty years.
const LONGEST_UPTIME: usize = 9;

/// The time as printed, and the message; the time is empty where only a difference was printed. A
/// console may have printed it after the prompt of a shell.
pub(super) fn split(line: &str) -> Option<(&str, &str)> {
    split_bare(line).or_else(|| split_bare(behind_prompt(line)?))
}

fn split_bare(line: &str) -> Option<(&str, &str)> {
    let text = without_level(line.trim_start())?;
    if let Some((stamp, rest)) = text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        // `dmesg -e -T` prints a day and the whole date.
        if let Some((date, second)) =
            second_time(rest).filter(|_| bracketed(stamp.trim()).is_some())
        {
            return Some((date, without_caller(second)));
        }
        let rest = rest.strip_prefix(':').unwrap_or(rest);
        let message = without_caller(rest.strip_prefix(' ').unwrap_or(rest));
        // Of a time that was shortened, or that any program prints (`2026-11-21T08:36:47Z`), only
        // the message says whose it is.
        let is_iso =
            |stamp: &str| stamp.get(10..11) == Some("T") && WallTime::read(stamp).is_some();
        let short = || {
            let stamp = Some(stamp.trim()).filter(|stamp| is_short(stamp) || is_iso(stamp));
            stamp.filter(|_| is_bare(message))
        };
        let stamp = bracketed(stamp.trim()).or_else(short)?;
        // Web servers print the same time, and then what kind of message it is. Kernels before
        // 4.10 print the address of each function of a stack there.
        let is_of_another = message.starts_with('[') && !message.starts_with("[<");
        let of_kernel = !is_of_another && (rest.starts_with(' ') || message.len() < rest.len());
        return of_kernel.then(|| {
            (
                stamp,
                message.split_once(" kernel: ").map_or(message, |(host, rest)| {
                    // `journalctl -o short-monotonic` names the host.
                    if host.contains(' ') { message } else { rest }
                }),
            )
        });
    }
    let forms = [of_syslog, of_kmsg, of_talos, of_illumos, of_solaris, of_iscsid];
    if let Some(split) = forms.iter().find_map(|form| form(text)) {
        return Some(split);
    }
    if let Some((stamp, message)) = text.split_once(' ')
        && stamp.contains(',')
        && WallTime::read(stamp).is_some()
    {
        // `dmesg --time-format iso` is alone in printing a comma.
        return Some((stamp, without_caller(message)));
    }
    // `kernel[0]: ` is that of macOS.
    let spoken = text.split_once(" kernel: ").or_else(|| text.split_once(" kernel[0]: "));
    let Some((head, message)) = spoken else { return untagged(text) };
    if !head.starts_with(char::is_alphanumeric) {
        return None;
    }
    let words: Vec<&str> = head.split_whitespace().collect();
    // `Nov 21 08:36:47 HOST`, `2026-11-21T08:36:47+0000 HOST`, `Sat 2026-11-21 08:36:47 UTC HOST`.
    let (_, stamp) = words.split_last().filter(|_| words.len() < 8)?;
    let clock =
        |word: &&str| (word.contains(':') || word.contains('.')) && WallTime::read(word).is_some();
    let dated = stamp.iter().any(clock);
    // A program's name and number between time and `kernel: ` show that the program wrote that.
    if words.iter().any(|word| word.ends_with(':') || word.ends_with(']')) {
        return None;
    }
    let stamp = head.rsplit_once(' ').map(|(stamp, _)| stamp.trim())?;
    // Syslog repeats the stamp of the kernel's own clock now and then.
    let repeated = Some(message).filter(|message| message.starts_with(['[', '<'])).and_then(split);
    let message = repeated.map_or(message, |(_, message)| message);
    // A syslog daemon of 2010 leaves the colon of a stamp it took away.
    let message = message.strip_prefix(": ").unwrap_or(message);
    dated.then_some((stamp, message))
}

/// `[519825.439055] INFO: ...` of `[root@db1 ~]# [519825.439055] INFO: ...`.
fn behind_prompt(line: &str) -> Option<&str> {
    let at = ["# [", "$ ["].iter().find_map(|end| line.find(end))?;
    line.get(at + "# ".len()..).filter(|rest| rest.contains("] "))
}

/// The date in brackets after another time in brackets, and what follows.
fn second_time(rest: &str) -> Option<(&str, &str)> {
    let (stamp, rest) = rest.trim_start().strip_prefix('[')?.split_once(']')?;
    is_date(stamp.trim()).then(|| (stamp.trim(), rest.trim_start()))
}

/// `1 2020-12-02T21:55:55.868531+01:00 host kernel - - - MESSAGE`, after its level: the form of RFC
/// 5424, if it is the kernel's message. Text in brackets in place of the last `-` is the
/// collector's.
fn of_syslog(text: &str) -> Option<(&str, &str)> {
    let (stamp, rest) = text.strip_prefix("1 ")?.split_once(' ')?;
    let (_, rest) = rest.split_once(' ')?;
    let rest = rest.strip_prefix("kernel ")?;
    // The process and the kind of message.
    let (_, rest) = rest.split_once(' ')?;
    let (_, rest) = rest.split_once(' ')?;
    let message = match rest.strip_prefix('[') {
        Some(data) => data.split_once("] ")?.1,
        None => rest.strip_prefix("- ")?,
    };
    WallTime::read(stamp)?;
    let message = message.trim_start_matches('\u{feff}');
    let repeated = Some(message).filter(|message| message.starts_with(['[', '<'])).and_then(split);
    Some((stamp, repeated.map_or(message, |(_, message)| message)))
}

/// A record of /dev/kmsg.
#[derive(Clone, Copy, Debug)]
pub(super) struct KmsgRecord<'a> {
    /// Since boot, us.
    pub(super) micros: u64,
    /// Whether the kernel logged it, and not a program by writing there.
    pub(super) is_of_kernel: bool,
    /// Whether it is the rest of a message that was too long for one record, or a part of it.
    pub(super) is_part: bool,
    pub(super) message: &'a str,
}

/// `4,1082,153214221,-;nvme nvme0: ...` of /dev/kmsg: facility and level, number and microseconds
/// since boot (Documentation/ABI/testing/dev-kmsg). A program cannot choose the facility 0, which
/// is the kernel's.
pub(super) fn kmsg(text: &str) -> Option<KmsgRecord<'_>> {
    let (head, message) = text.split_once(';')?;
    let mut parts = head.split(',');
    let (level, number, time) = (parts.next()?, parts.next()?, parts.next()?);
    let (level_number, _) = (integer(level)?, integer(number)?);
    let flag = parts.next().filter(|flag| matches!(*flag, "-" | "c" | "+"))?;
    let (is_of_kernel, is_part) = (level_number < FACILITY, flag != "-");
    let micros = integer(time)?;
    (level.len() < 5).then_some(KmsgRecord { micros, is_of_kernel, is_part, message })
}

fn of_kmsg(text: &str) -> Option<(&str, &str)> {
    let record = kmsg(text).filter(|record| record.is_of_kernel)?;
    Some(("", record.message))
}

/// `node03: kern: warning: [2026-01-01T23:30:46.079064078Z]: nvme nvme1: ...`, as `talosctl dmesg`
/// writes a line.
fn of_talos(text: &str) -> Option<(&str, &str)> {
    let (node, rest) = text.split_once(": kern: ")?;
    let (level, rest) = rest.trim_start().split_once(": [")?;
    let (stamp, message) = rest.split_once("]: ")?;
    WallTime::read(stamp)?;
    (!node.contains(' ') && level.len() < 8).then_some((stamp, message))
}

/// `2017-04-06T20:07:33.81+00:00 node5 sata: [ID 801845 kern.info] /pci@0,0/...: SATA port 4
/// error`: the system log of illumos, in which a driver's message has its number.
/// `#012` and `#011` mean line feed and tab.
fn of_illumos(text: &str) -> Option<(&str, &str)> {
    let (head, rest) = text.split_once(": [ID ")?;
    let (number, message) = rest.split_once("] ")?;
    let (number, level) = number.split_once(' ')?;
    let (before, _driver) = head.rsplit_once(' ')?;
    let (stamp, _host) = before.rsplit_once(' ')?;
    WallTime::read(stamp.rsplit(' ').next()?)?;
    (integer(number).is_some() && level.starts_with("kern.")).then_some((stamp, message))
}

/// `Dec  9 03:31:42 db2 unix: WARNING: /sbus@1f,0/...`: the same until Solaris 7.
fn of_solaris(text: &str) -> Option<(&str, &str)> {
    let (head, message) = text.split_once(" unix: ")?;
    let (stamp, host) = head.rsplit_once(' ')?;
    let is_host = !host.contains(':') && !host.is_empty();
    WallTime::read(stamp.rsplit(' ').next()?).filter(|_| is_host && stamp.len() < 20)?;
    Some((stamp, message))
}

/// `Feb  2 10:11:01 web iscsid: Kernel reported iSCSI connection 4:0 error (1011 - ...) state (3)`:
/// the initiator's daemon repeats what the kernel told it.
fn of_iscsid(text: &str) -> Option<(&str, &str)> {
    let (head, rest) = text.split_once(" iscsid")?;
    let (number, message) = rest.split_once(": ")?;
    let named = number.is_empty() || number.starts_with('[') && number.ends_with(']');
    // ESXi prints no host.
    let (stamp, _host) =
        head.rsplit_once(' ').filter(|_| WallTime::read(head).is_none()).unwrap_or((head, ""));
    WallTime::read(stamp.rsplit(' ').next()?)?;
    let of_a_connection =
        message.starts_with(forms::OF_ISCSID) || message.starts_with("connection ");
    (named && of_a_connection).then_some((stamp.trim(), message))
}

/// `Dec 10 19:18:35 nas (ada2:ahcich3:0:0:0): ...`: a syslog that does not name the kernel, which
/// the message shows.
fn untagged(text: &str) -> Option<(&str, &str)> {
    // `Dec  1` is as long as `Dec 10`.
    let (stamp, rest) = text.split_at_checked("Dec 10 19:18:35".len())?;
    let (_, message) = rest.strip_prefix(' ')?.split_once(' ')?;
    let mut words = stamp.split_whitespace();
    let month = words.next()?;
    let is_month = month.len() == 3 && month.bytes().all(|b| b.is_ascii_alphabetic());
    let is_time =
        words.nth(1).is_some_and(|time| time.len() == 8 && WallTime::read(time).is_some());
    (is_month && is_time && is_bare(message)).then_some((stamp, message))
}

/// ` SUBSYSTEM=nvme`, ` DEVICE=c245:1`: what /dev/kmsg adds to a message, on lines of their own.
pub(super) fn kmsg_field(line: &str) -> Option<(&str, &str)> {
    let indented = line.trim_start();
    let (key, value) = indented.split_once('=').filter(|_| indented.len() < line.len())?;
    matches!(key, "SUBSYSTEM" | "DEVICE").then_some((key, value))
}

/// Whether a line shows that a program wrote it to the kernel's log: `<30>[    5.1] systemd[1]:
/// ...`, `daemon:info  : ...`, `30,412,5100000,-;...`.
pub(super) fn is_of_a_program(line: &str) -> bool {
    let text = line.trim_start();
    without_level(text).is_none() || kmsg(text).is_some_and(|record| !record.is_of_kernel)
}

/// The message behind the level of a kernel that prints no times: `<4>SCSI bus is being reset for
/// host 0 channel 0.`
pub(super) fn behind_level(line: &str) -> Option<&str> {
    let text = line.trim_start();
    let message = without_level(text).filter(|message| message.len() < text.len())?;
    (text.starts_with('<') && split(text).is_none()).then_some(message)
}

/// The messages of a line into which several were run together: each begins with a time of its own
/// in brackets. One piece, the line, if there is one message at most.
pub(super) fn messages(line: &str) -> Vec<&str> {
    const STAMP: usize = 18;
    let stamped = |place: usize| {
        let inner = line.get(place + 1..)?.split_once(']')?.0;
        let (whole, fraction) = inner.trim_start().split_once('.')?;
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let is_time = digits(whole) && digits(fraction) && fraction.len() == 6;
        (inner.len() <= STAMP && is_time).then_some(place)
    };
    let begins = |(place, _): (usize, &str)| match place {
        0 => stamped(0),
        _ => {
            stamped(place).filter(|_| line.get(..place).is_some_and(|before| before.ends_with(' ')))
        }
    };
    let places: Vec<usize> = line.match_indices('[').filter_map(begins).collect();
    // Of two stamps side by side one repeats the other.
    let apart = |pair: &[usize]| {
        let between = pair.first().zip(pair.last()).and_then(|(from, to)| line.get(*from..*to));
        between
            .and_then(|text| text.split_once(']'))
            .is_some_and(|(_, reported)| reported.trim().len() > 3)
    };
    if places.len() < 2 || !places.windows(2).all(apart) {
        return vec![line];
    }
    // A time within a chosen name begins no message.
    let mut starts = vec![0];
    let is_bare_first = line.get(..places.first().copied().unwrap_or_default());
    let is_bare_first = is_bare_first.is_some_and(|head| is_bare(head.trim_start()));
    for place in places.into_iter().skip(usize::from(!is_bare_first)) {
        let begin = starts.last().copied().unwrap_or_default();
        let before = line.get(begin..place).unwrap_or_default().trim_end();
        if forms::is_of_a_driver(split(before).map_or(before, |(_, message)| message)) {
            starts.push(place);
        }
    }
    let ends = starts.iter().skip(1).copied().chain([line.len()]);
    let pieces = starts.iter().zip(ends).filter_map(|(from, to)| line.get(*from..to));
    pieces.map(str::trim_end).collect()
}

/// The text after `<3>`, as /dev/kmsg and `dmesg -r` write facility and level, or after `kern
/// :err   : `, as `dmesg -x` does; `None` if the facility is another than the kernel's.
fn without_level(text: &str) -> Option<&str> {
    const OTHERS: [&str; 20] = [
        "user", "daemon", "syslog", "auth", "authpriv", "mail", "lpr", "news", "uucp", "cron",
        "ftp", "res0", "local0", "local1", "local2", "local3", "local4", "local5", "local6",
        "local7",
    ];
    if let Some((level, rest)) = text.strip_prefix('<').and_then(|rest| rest.split_once('>'))
        && level.len() < 4
        && let Some(number) = integer(level)
    {
        return (number < FACILITY).then_some(rest);
    }
    let mut parts = text.splitn(3, ':');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(facility), Some(level), Some(rest)) if level.len() <= 8 && !level.contains(']') => {
            match facility.trim_end() {
                "kern" => Some(rest.strip_prefix(' ').unwrap_or(rest)),
                other if OTHERS.contains(&other) => None,
                _ => Some(text),
            }
        }
        _ => Some(text),
    }
}

/// The time in brackets before a message; `None` if that is not a time.
fn bracketed(stamp: &str) -> Option<&str> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let fine = |text: &str| {
        text.split_once('.').is_some_and(|(whole, fraction)| {
            digits(whole)
                && whole.len() <= LONGEST_UPTIME
                && digits(fraction)
                && fraction.len() == 6
        })
    };
    // `dmesg -d` puts the difference after it, or alone; `-e` and `-H` print it from the second on,
    // with the point of the locale.
    let difference = |text: &str| {
        let inner = text.strip_prefix('<').and_then(|text| text.strip_suffix('>'));
        let inner = inner.or_else(|| text.strip_prefix('+'));
        inner.is_some_and(|inner| fine(&inner.trim().replacen(',', ".", 1)))
    };
    if fine(stamp) {
        return Some(stamp);
    }
    if difference(stamp) {
        return Some("");
    }
    if let Some((first, _)) =
        stamp.split_once(' ').filter(|(first, rest)| fine(first) && difference(rest.trim()))
    {
        return Some(first);
    }
    is_date(stamp).then_some(stamp)
}

/// Seconds since boot with other than six digits after the point, as they are retyped:
/// `81234.110`, `81234`.
fn is_short(stamp: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let (whole, fraction) = stamp.split_once('.').unwrap_or((stamp, "0"));
    let filled = !whole.is_empty() && !fraction.is_empty();
    filled && digits(whole) && digits(fraction) && whole.len() <= LONGEST_UPTIME
}

/// `Sat Nov 21 08:36:47 2026` in any language, and `Nov21 08:36` of `dmesg -e`.
fn is_date(stamp: &str) -> bool {
    let words: Vec<&str> = stamp.split_whitespace().collect();
    let time = |word: &str| {
        let parts: Vec<&str> = word.split(':').collect();
        (2..=3).contains(&parts.len())
            && parts.iter().all(|part| part.len() == 2 && decimal(part).is_some())
    };
    match words[..] {
        [date, clock] => {
            let day = date.trim_start_matches(char::is_alphabetic);
            day.len() < date.len() && day.len() < 3 && integer(day).is_some() && time(clock)
        }
        [name, .., clock, year] if words.len() < 7 => {
            let named = name.chars().next().is_some_and(char::is_alphabetic);
            named && time(clock) && year.len() == 4 && integer(year).is_some()
        }
        _ => false,
    }
}

/// The message after `[ T1234]` or `[    C0]`: the task or processor that logged it.
fn without_caller(message: &str) -> &str {
    let caller = message.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    match caller {
        Some((caller, rest))
            if caller.trim().strip_prefix(['T', 'C']).is_some_and(|n| integer(n).is_some()) =>
        {
            rest.trim_start()
        }
        _ => message.trim_start(),
    }
}

/// Whether a line without any time begins as messages of the block layer and its drivers do.
pub(super) fn is_bare(line: &str) -> bool {
    const BEGIN: [&str; 33] = [
        "blk_update_request: ", "end_request: ", "print_req_error: ", "Buffer I/O error on dev",
        "3w-9xxx: scsi", "aacraid: ", "usb-storage ", "xhci", "critical medium error, dev ",
        "critical target error, dev ", "I/O error, dev ", "INFO: task ", "mmcblk", "mpt2sas_cm",
        "mpt3sas_cm", "usb ", "megaraid_sas ", "WARNING: mr_sas", "mptbase: ioc", "mptscsih: ioc",
        "md/raid", "EXT4-fs ", "XFS (", "Aborting journal on device ", "nfs: server ",
        "CIFS VFS: ", "CIFS: VFS: ", "NETDEV WATCHDOG: ", "mptbase: Initiating ioc",
        "mptscsih: Old", "scsi : aborting command ", "SCSI host ", "SCSI bus is being reset ",
    ];
    /// With a number behind it.
    const NUMBERED: [&str; 11] = [
        "ata", "ahcich", "mpt2sas", "mpt3sas", "mr_sas", "sd ", "nvme nvme", "connection", "scsi ",
        "scsi target", "scsi host",
    ];
    // None of them begins so, but times and documents do.
    if line.starts_with(['[', '{', '<', '"']) {
        return false;
    }
    let older = || line.starts_with("scsi") && names::older_address(line).is_some();
    BEGIN.iter().any(|begin| line.starts_with(begin))
        || names::address(line).is_some()
        || older()
        || is_of_pci(line)
        || peripheral(line).is_some()
        || forms::of_ide(line).is_some()
        || forms::older_sense(line).is_some()
        || NUMBERED.iter().any(|name| forms::numbered(line, name).is_some()) && line.contains(": ")
}

/// Whether the message is a driver's about its PCI function: `pcieport 0000:00:1d.0: AER: ...`.
fn is_of_pci(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    let (Some(driver), Some(address)) = (words.next(), words.next()) else { return false };
    let named = driver.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    let bracketed = address.strip_prefix('[').and_then(|rest| rest.split_once("]-"));
    named && bracketed.map(|(address, _)| address).or(address.strip_suffix(':')).is_some_and(is_pci)
}

/// Whether a line of a system log is some program's: `Nov 21 08:36:47 web sshd[812]: ...`.
pub(super) fn is_of_another(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().take(12).collect();
    // A log of a log has two times.
    let mut head = words.iter().take(8);
    let clock = head.rposition(|word| word.contains(':') && WallTime::read(word).is_some());
    let Some(clock) = clock else { return false };
    let rest = words.get(clock + 1..).unwrap_or_default();
    let dated = clock > 0 || words.first().is_some_and(|word| word.len() > 18);
    dated && rest.iter().take(4).skip(1).any(|word| word.ends_with(':'))
}
