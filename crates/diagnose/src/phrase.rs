//! Numbers and names in sentences: few digits, always a unit.

use iowhy_model::{Medium, Op, Quantity, Unit, is_kernel_name, numbers};

/// Milliseconds in the unit that suits them: `98 ms`, `1.65 ms`, `120 µs`, `1.2 s`.
pub(crate) fn ms(value: f64) -> String {
    numbers::duration(value * 1e6)
}

/// Nanoseconds, likewise.
pub(crate) fn ns(value: f64) -> String {
    numbers::duration(value)
}

/// Revolutions per minute: `7,200 rpm`.
pub(crate) fn rpm(value: f64) -> String {
    Quantity { value, unit: Unit::Rpm }.words()
}

/// Bytes per second: `119 MiB/s`.
pub(crate) fn rate(bytes_per_s: f64) -> String {
    Quantity { value: bytes_per_s, unit: Unit::BytesPerSecond }.words()
}

pub(crate) use iowhy_model::numbers::{
    bytes, exact as thousands, iops, share as percent, three as digits,
};

/// The name of a medium: `a spinning disk`.
pub(crate) fn medium(medium: Medium) -> &'static str {
    match medium {
        Medium::Rotational => "a spinning disk",
        Medium::Flash => "SATA flash",
        Medium::Card => "a memory card or eMMC",
        Medium::Nvme => "NVMe flash",
        Medium::Network => "a network volume",
        Medium::Stacked => "a stacked device",
    }
}

/// Operations in the plural: `reads`, `writes`.
pub(crate) fn plural(op: Op) -> &'static str {
    match op {
        Op::Read => "reads",
        Op::Write => "writes",
        Op::Discard => "discards",
        Op::Flush => "flushes",
        Op::Other => "requests",
    }
}

/// This many of them. `what` has `(s)` or `(es)` where the plural has these letters: `2 media
/// errors` and `1 media error` are `media error(s)`.
pub(crate) fn count(n: f64, what: &str) -> String {
    let what = if n == 1.0 { what.replace("(s)", "").replace("(es)", "") } else { several(what) };
    format!("{} {what}", thousands(n))
}

/// The plural of what [`count`] takes.
pub(crate) fn several(what: &str) -> String {
    what.replace("(s)", "s").replace("(es)", "es")
}

/// Some names, and how many more: `sdu, sdz, sdq and 13 more`.
pub(crate) fn list(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [head @ .., last] if names.len() <= 4 => format!("{} and {last}", head.join(", ")),
        _ => format!("{} and {} more", names[..3].join(", "), names.len() - 3),
    }
}

/// The disk's name, or words where the input gave none.
pub(crate) fn disk(name: &str) -> &str {
    if name.is_empty() { "the device" } else { name }
}

/// The disk's device node for a command. Other names (a port, a link, a controller slot) have none,
/// so the command has a placeholder.
pub(crate) fn node(disk: &str) -> String {
    // Disks of FreeBSD, and generic SCSI devices.
    let others =
        ["ada", "da", "nda", "nvd", "mfid", "sg"].iter().filter_map(|kind| disk.strip_prefix(kind));
    let numbered = |rest: &str| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit());
    let is_node = is_kernel_name(disk) || others.into_iter().any(numbered);
    format!("/dev/{}", if is_node { disk } else { "DISK" })
}

/// Texts with a disk's name for `{disk}` and its device node for `{node}`.
pub(crate) fn about(texts: &[&str], name: &str) -> Vec<String> {
    let node = node(name);
    texts.iter().map(|text| text.replace("{node}", &node).replace("{disk}", name)).collect()
}

/// Words of which `{n}` at the beginning is a number and `{share}` the same in percent.
pub(crate) fn counted(words: &str, n: f64) -> String {
    match words.strip_prefix("{n} ") {
        Some(counted) => count(n, counted),
        None => words.replace("{share}", &percent(n)),
    }
}

/// Of a text of paragraphs `Title: words` with a list (`- `) each, one paragraph: the words and the
/// points of its list.
pub(crate) fn paragraph<'t>(text: &'t str, title: &str) -> (&'t str, Vec<&'t str>) {
    let (_, told) = text.split_once(&format!("\n{title}: ")).unwrap_or_default();
    let (told, _) = told.split_once("\n\n").unwrap_or((told, ""));
    let mut lines = told.lines();
    let words = lines.next().unwrap_or_default();
    (words, lines.filter_map(|line| line.strip_prefix("- ")).collect())
}

/// Whether a step names a command or a file, which it quotes.
pub(crate) fn names_a_command(step: &str) -> bool {
    step.contains('`')
}

/// A clause out of a sentence: its first letter in lower case, unless it begins with an
/// abbreviation.
pub(crate) fn clause(sentence: &str) -> String {
    let mut letters = sentence.chars();
    match (letters.next(), letters.clone().next()) {
        (Some(first), Some(second)) if !second.is_uppercase() => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => sentence.to_string(),
    }
}

/// The command that captures every I/O of a device for this many seconds and judges it; of all
/// devices, if the input does not use the kernel's name.
pub(crate) fn capture(disk: &str, seconds: u32) -> String {
    let device = match is_kernel_name(disk) {
        true => format!(" --device {disk}"),
        false => String::new(),
    };
    format!("`iowhy why --for {seconds}s{device}`")
}

/// The step that shows who sends a load.
pub(crate) fn who_sends(disk: &str) -> String {
    format!("{} shows which processes send the requests", capture(disk, 30))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_node_is_called_disk() {
        assert_eq!((node("sdb"), node("ada3")), ("/dev/sdb".to_string(), "/dev/ada3".to_string()));
        for name in ["ata4", "c0/e32/s4", "usb 1-3", "0000:00:1c.5", "tank", "data"] {
            assert_eq!(node(name), "/dev/DISK", "{name}");
        }
    }

    #[test]
    fn names_read_well() {
        assert_eq!(list(&["a".into(), "b".into(), "c".into()]), "a, b and c");
    }

    #[test]
    fn no_command_names_a_job_as_a_device() {
        assert_eq!(capture("nvme0n1", 30), "`iowhy why --for 30s --device nvme0n1`");
        assert_eq!(capture("log file sync", 30), "`iowhy why --for 30s`");
    }

    #[test]
    fn one_is_not_many() {
        assert_eq!(count(1.0, "command(s) aborted in one log"), "1 command aborted in one log");
        assert_eq!(count(12_000.0, "loss(es) of sync"), "12,000 losses of sync");
    }
}
