//! How numbers and names stand in a sentence: few digits, always a unit.

use iowhy_model::Op;

/// Milliseconds in the unit that suits them: `98 ms`, `1.65 ms`, `120 us`, `1.2 s`.
pub fn ms(value: f64) -> String {
    match value.abs() {
        v if v >= 10_000.0 => format!("{} s", digits(value / 1000.0)),
        v if v < 0.1 => format!("{} us", digits(value * 1000.0)),
        _ => format!("{} ms", digits(value)),
    }
}

/// Nanoseconds, likewise.
pub fn ns(value: f64) -> String {
    ms(value / 1e6)
}

/// Three significant digits, no more than two decimals.
pub fn digits(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => trim(format!("{value:.1}")),
        _ => trim(format!("{value:.2}")),
    }
}

/// Without the zeros behind the point.
fn trim(text: String) -> String {
    if !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// Bytes as block sizes are said: `8 KB`, `128 KB`, `1 MB`, `512 bytes`; 1 KB is 1024 bytes.
pub fn bytes(value: f64) -> String {
    match value {
        v if v >= 1048576.0 => format!("{} MB", digits(v / 1048576.0)),
        v if v >= 1024.0 => format!("{} KB", digits(v / 1024.0)),
        v => format!("{v:.0} bytes"),
    }
}

/// A share as a percentage: `98 %`, `0.3 %`.
pub fn percent(share: f64) -> String {
    format!("{} %", digits(share * 100.0))
}

/// A number with its thousands apart, and its first decimal if it has one: `16,000`, `16,001.6`.
pub fn thousands(value: f64) -> String {
    let exact = trim(format!("{:.1}", value.abs()));
    let (digits, decimals) = exact.split_once('.').unwrap_or((&exact, ""));
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    if !decimals.is_empty() {
        text.push('.');
        text.push_str(decimals);
    }
    if value < 0.0 { format!("-{text}") } else { text }
}

/// Operations in the plural: `reads`, `writes`.
pub fn plural(op: Op) -> &'static str {
    match op {
        Op::Read => "reads",
        Op::Write => "writes",
        Op::Discard => "discards",
        Op::Flush => "flushes",
        Op::Other => "requests",
    }
}

/// Some names, and how many more: `sdu, sdz, sdq and 13 more`.
pub fn list(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [head @ .., last] if names.len() <= 4 => format!("{} and {last}", head.join(", ")),
        _ => format!("{} and {} more", names[..3].join(", "), names.len() - 3),
    }
}

/// The disk's name, or words where the input gave none.
pub fn disk(name: &str) -> &str {
    if name.is_empty() { "the device" } else { name }
}

/// The command that captures every I/O of a device for so many seconds and judges it.
pub fn capture(disk: &str, seconds: u32) -> String {
    let device = if disk.is_empty() { String::new() } else { format!(" --device {disk}") };
    format!("`iowhy why --for {seconds}s{device}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(ms(222.22), "222 ms");
        assert_eq!(ms(1.649), "1.65 ms");
        assert_eq!(ms(0.0204), "20.4 us");
        assert_eq!(ms(16777.7), "16.8 s");
        assert_eq!(bytes(8192.0), "8 KB");
        assert_eq!(bytes(131072.0), "128 KB");
        assert_eq!(thousands(16001.6), "16,001.6");
        assert_eq!(thousands(-16000.0), "-16,000");
        assert_eq!(digits(100.0), "100");
        assert_eq!(thousands(999.0), "999");
        assert_eq!(list(&["a".into(), "b".into(), "c".into()]), "a, b and c");
    }
}
