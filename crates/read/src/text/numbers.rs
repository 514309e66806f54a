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

/// A plain decimal number, with point or comma, times `10^places`, exactly and without a float:
/// `fixed("77.96", 6)` is 77 960 000. Digits beyond `places` are dropped.
pub fn fixed(text: &str, places: u32) -> Option<i64> {
    let (negative, digits) = match text.as_bytes() {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let (mut value, mut any, mut point) = (0i64, false, None);
    for (place, byte) in digits.iter().enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit < 10 {
            any = true;
            if point.is_none_or(|point| place - point <= places as usize) {
                value = value.checked_mul(10)?.checked_add(i64::from(digit))?;
            }
        } else if matches!(*byte, b'.' | b',') && point.is_none() {
            point = Some(place);
        } else {
            return None;
        }
    }
    let decimals = point.map_or(0, |point| digits.len() - point - 1) as u32;
    let value = value.checked_mul(10i64.checked_pow(places.saturating_sub(decimals))?)?;
    any.then_some(if negative { -value } else { value })
}

/// An unsigned integer, no other text.
pub fn integer(text: &str) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.bytes().try_fold(0u64, |value, byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value.checked_mul(10)?.checked_add(u64::from(digit))
    })
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
        "p" | "pb" | "pib" => 1024.0 * 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    decimal(digits).map(|value| value * scale)
}

/// A time directly followed by its unit (`585us`, `1.5ms`, `2s`), in ns.
pub(crate) fn time_ns(text: &str) -> Option<f64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    Some(decimal(digits)? * unit_ns(text.get(digits.len()..)?)?)
}

/// A time and its unit with a blank between them (`71.6 us`, `1.33 ms`, `2 min`), in ns.
pub(crate) fn spaced_time_ns(text: &str) -> Option<f64> {
    let (digits, unit) = text.split_once(char::is_whitespace)?;
    let unit = unit.trim();
    Some(decimal(digits)? * if unit == "min" { 6e10 } else { unit_ns(unit)? })
}

/// `1.2M`, `345K`, `17`: a number in thousands, and thousands of them.
pub(crate) fn in_thousands(text: &str) -> Option<f64> {
    let units = [('K', 1e3), ('M', 1e6), ('G', 1e9)];
    let unit = units.into_iter().find_map(|(end, scale)| Some((text.strip_suffix(end)?, scale)));
    let (digits, scale) = unit.unwrap_or((text, 1.0));
    decimal(digits).map(|number| number * scale)
}

/// A span of time, in seconds: `2d3h`, `6h58m6s`, `11:48:52`, `1:02:03:04`, `2 days 03:04:05`.
pub(crate) fn span_s(text: &str) -> Option<f64> {
    const UNITS: [(char, f64); 4] = [('s', 1.0), ('m', 60.0), ('h', 3600.0), ('d', 86_400.0)];
    if let Some((days, clock)) = text.split_once(" days ").or(text.split_once(" day ")) {
        return Some(integer(days)? as f64 * 86_400.0 + span_s(clock)?);
    }
    if text.contains(':') {
        let parts: Vec<f64> = text.split(':').map(decimal).collect::<Option<_>>()?;
        let sum = parts.iter().rev().zip(UNITS).map(|(part, (_, unit))| part * unit).sum();
        return (parts.len() <= UNITS.len()).then_some(sum);
    }
    let parts = text.split_inclusive(|c: char| c.is_ascii_alphabetic());
    let seconds = parts.map(|part| {
        let (digits, unit) = part.split_at_checked(part.len().checked_sub(1)?)?;
        let (_, unit) = UNITS.iter().find(|(name, _)| unit.starts_with(*name))?;
        Some(integer(digits)? as f64 * unit)
    });
    seconds.collect::<Option<Vec<f64>>>().filter(|parts| !parts.is_empty()).map(|p| p.iter().sum())
}

/// A unit of time below a second, as keys and headings of histograms spell it, in ns.
pub(crate) fn fine_unit_ns(word: &str) -> Option<u64> {
    match word {
        "ns" | "nsec" | "nsecs" | "nanosec" | "nanoseconds" => Some(1),
        "us" | "usec" | "usecs" | "microsec" | "microseconds" => Some(1_000),
        "ms" | "msec" | "msecs" | "milliseconds" => Some(1_000_000),
        _ => None,
    }
}

/// A unit of time, in ns.
pub(crate) fn unit_ns(unit: &str) -> Option<f64> {
    match unit {
        "ns" => Some(1.0),
        "us" | "µs" | "μs" => Some(1e3),
        "ms" => Some(1e6),
        "s" | "sec" => Some(1e9),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_bear_their_unit() {
        assert_eq!((time_ns("585us"), time_ns("1.5ms")), (Some(585e3), Some(1.5e6)));
        assert_eq!((time_ns("2s"), time_ns("7ns")), (Some(2e9), Some(7.0)));
        assert_eq!((time_ns("12"), time_ns("us"), time_ns("5min")), (None, None, None));
        assert_eq!(spaced_time_ns("71.6 us"), Some(71_600.0));
        assert_eq!(spaced_time_ns("1,33  ms"), Some(1_330_000.0));
        assert_eq!((spaced_time_ns("2 min"), spaced_time_ns("2min")), (Some(1.2e11), None));
    }

    #[test]
    fn spans_of_time() {
        for (text, seconds) in [
            ("8h45m", Some(31_500.0)),
            ("2d3h", Some(183_600.0)),
            ("11:48:52", Some(42_532.0)),
            ("1:00:00:01", Some(86_401.0)),
            ("2 days 00:00:01", Some(172_801.0)),
            ("10", None),
            ("soon", None),
            ("no estimated completion time", None),
            ("", None),
        ] {
            assert_eq!(span_s(text), seconds, "{text}");
        }
    }

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
        assert_eq!(bytes("11,5P"), Some(11.5 * 1024f64.powi(5)));
        assert_eq!((bytes("12x"), bytes("0KB")), (None, Some(0.0)));
        assert_eq!(fixed("77.96", 6), Some(77_960_000));
        assert_eq!(fixed("0.143268", 9), Some(143_268_000));
        assert_eq!(fixed("-1", 6), Some(-1_000_000));
        assert_eq!(fixed("7.1234567", 6), Some(7_123_456));
        assert_eq!(fixed("1,2", 6), Some(1_200_000));
        for bad in ["", ".", "-", "1.2.3", "1.2,3", "R", "18446744073709551615"] {
            assert_eq!(fixed(bad, 6), None, "{bad}");
        }
    }
}
