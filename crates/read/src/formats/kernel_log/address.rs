//! Addresses by which drivers name devices.

use crate::integer;

/// The disk that FreeBSD names in front of a message, `(ada0:ahcich0:0:0:0): CAM status: ...`, or
/// its bus while it is only looked for (cam(4): peripheral, bus, bus number, target, unit).
pub(super) fn peripheral(line: &str) -> Option<&str> {
    let (head, _) = line.strip_prefix('(')?.split_once("): ")?;
    let parts: Vec<&str> = head.split(':').collect();
    let [name, bus, numbers @ ..] = parts.as_slice() else { return None };
    let is_name = |word: &str| {
        word.ends_with(|c: char| c.is_ascii_digit())
            && word.bytes().all(|b| b.is_ascii_alphanumeric())
    };
    let all = numbers.len() == 3 && numbers.iter().all(|number| integer(number).is_some());
    let looked_for =
        ["aprobe", "probe", "noperiph", "xpt"].iter().any(|word| name.starts_with(word));
    (all && is_name(bus)).then_some(if looked_for { *bus } else { *name })
}

/// The address of a PCI function, `0000:03:00.0`.
pub(super) fn is_pci(word: &str) -> bool {
    let Some((slot, function)) = word.split_once('.') else { return false };
    let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let lengths: Vec<usize> = slot.split(':').map(str::len).collect();
    lengths == [4, 2, 2] && slot.split(':').all(is_hex) && function.len() == 1 && is_hex(function)
}
