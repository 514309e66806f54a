//! Numbers as tools print them.

/// A decimal number with point or comma (`139.31`, `139,31`), no other text. Rejects what Rust
/// would accept but no tool prints (`inf`, `nan`, a lone sign).
pub fn decimal(text: &str) -> Option<f64> {
    let ok = text
        .bytes()
        .all(|b| b.is_ascii_digit() || matches!(b, b'.' | b',' | b'-' | b'+' | b'e' | b'E'));
    if !ok || !text.bytes().any(|b| b.is_ascii_digit()) {
        return None;
    }
    let value: f64 = if text.contains(',') {
        text.replace(',', ".").parse().ok()?
    } else {
        text.parse().ok()?
    };
    value.is_finite().then_some(value)
}

/// An unsigned integer, no other text.
pub fn integer(text: &str) -> Option<u64> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

/// A quantity with a 1024-based unit letter (`1.3M`, `43,9k`, `512B`, `7`), in bytes.
pub fn bytes(text: &str) -> Option<f64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let scale = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" | "kib" => 1024.0,
        "m" | "mb" | "mib" => 1024.0 * 1024.0,
        "g" | "gb" | "gib" => 1024.0 * 1024.0 * 1024.0,
        "t" | "tb" | "tib" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    decimal(digits).map(|value| value * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_tools_print_them() {
        assert_eq!(decimal("139,31"), Some(139.31));
        assert_eq!(decimal("-0.5"), Some(-0.5));
        assert_eq!(decimal("inf"), None);
        assert_eq!(decimal("1.2.3"), None);
        assert_eq!(decimal("-"), None);
        assert_eq!(integer("18446744073709551615"), Some(u64::MAX));
        assert_eq!(integer("1.0"), None);
        assert_eq!(bytes("1.3M"), Some(1.3 * 1048576.0));
        assert_eq!(bytes("12x"), None);
    }
}
