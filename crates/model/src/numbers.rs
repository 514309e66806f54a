//! How numbers are written, everywhere: three significant digits, and a unit.
//!
//! Sentences, tables, pictures and messages format their numbers here; JSON has them raw. The
//! columns of other tools (iostat, biosnoop) are written as those tools write them. For a terminal
//! without UTF-8 the output layer, not the formatter, writes `us` for `µs`.
//!
//! [`total`] adds counts as they were read, without overflow.

/// A length of time: `434 ms`, `1.65 ms`, `83 µs`, `2.1 s`, `12.5 min`.
pub fn duration(ns: f64) -> String {
    let units = [(1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s"), (60e9, "min"), (3600e9, "h")];
    if !ns.is_finite() {
        return NONE.to_string();
    }
    // Seconds are readable up to 600, and so are minutes: only then comes the larger unit.
    let limits = [999.5, 999.5, 999.5, 599.5, 599.5, f64::INFINITY];
    let place = units.iter().zip(limits).position(|((scale, _), limit)| ns.abs() / scale < limit);
    let (scale, unit) = units[place.unwrap_or(units.len() - 1)];
    format!("{} {unit}", three(ns / scale))
}

/// A size: `512 B`, `128 KiB`, `1.3 GiB`.
pub fn bytes(bytes: f64) -> String {
    scaled(bytes, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB", "PiB"])
}

/// I/Os per second: `4.5 IOPS`, `10,903 IOPS`.
pub fn iops(per_s: f64) -> String {
    match per_s.abs() {
        size if (99.95..1e12).contains(&size) => format!("{} IOPS", exact(per_s.round())),
        _ => format!("{} IOPS", three(per_s)),
    }
}

/// A number for a narrow column: `4.5`, `10.9k`, `1.2M`.
pub fn short(value: f64) -> String {
    scaled(value, 1000.0, &["", "k", "M", "G", "T"]).replace(' ', "")
}

/// A share of one: `97 %`, `0.4 %`, never rounded up to all or down to nothing.
pub fn share(share: f64) -> String {
    match share * 100.0 {
        p if !p.is_finite() => NONE.to_string(),
        p if p > 0.0 && p < 0.05 => "<0.1 %".to_string(),
        p if (99.5..100.0).contains(&p) => ">99 %".to_string(),
        p if p.abs() < 9.95 => format!("{} %", trimmed(format!("{p:.1}"))),
        p if p.abs() < 1e6 => format!("{p:.0} %"),
        p => format!("{} %", three(p)),
    }
}

/// A number of things, its digits in groups of three.
pub fn count(count: u64) -> String {
    grouped(&count.to_string())
}

/// A number with its digits in groups of three, and its first decimal if it has one: `16,001.6`.
pub fn exact(value: f64) -> String {
    let text = trimmed(format!("{value:.1}"));
    let (sign, text) = text.strip_prefix('-').map_or(("", text.as_str()), |rest| ("-", rest));
    let (whole, decimal) = text.split_once('.').unwrap_or((text, ""));
    let point = if decimal.is_empty() { "" } else { "." };
    format!("{sign}{}{point}{decimal}", grouped(whole))
}

fn grouped(digits: &str) -> String {
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) && digits.len() > 4 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 record`, `2 records`.
pub fn several(number: u64, one: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {one}{plural}", count(number))
}

/// The text for an unmeasured value.
pub const NONE: &str = "-";

/// Three significant digits, without zeros at the end.
pub fn three(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 || !size.is_finite() {
        return if size == 0.0 { "0".to_string() } else { NONE.to_string() };
    }
    if !(1e-4..1e9).contains(&size) {
        return format!("{value:.2e}");
    }
    let decimals = match size {
        s if s >= 99.95 => 0,
        s if s >= 9.995 => 1,
        s if s >= 0.9995 => 2,
        s => (2.0 - s.log10().floor()) as usize,
    };
    trimmed(format!("{value:.decimals$}"))
}

fn scaled(value: f64, step: f64, units: &[&str]) -> String {
    if !value.is_finite() {
        return NONE.to_string();
    }
    let (mut value, mut place) = (value, 0);
    while value.abs() >= step - 0.5 && place + 1 < units.len() {
        value /= step;
        place += 1;
    }
    format!("{} {}", three(value), units[place])
}

fn trimmed(text: String) -> String {
    if !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// The sum of counts from an input; it saturates, because an input may claim any count.
pub fn total(counts: impl IntoIterator<Item = u64>) -> u64 {
    counts.into_iter().fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_carry_three_digits_and_a_unit() {
        let reported = duration;
        assert_eq!(reported(434.31e6), "434 ms");
        assert_eq!(reported(1.65e6), "1.65 ms");
        assert_eq!(reported(83e3), "83 µs");
        assert_eq!(reported(2.1e9), "2.1 s");
        assert_eq!(reported(999.6e3), "1 ms");
        assert_eq!(reported(750e9), "12.5 min");
        assert_eq!(reported(0.0), "0 ns");
        assert_eq!(reported(-0.02e6), "-20 µs");
        assert_eq!(reported(f64::NAN), "-");
        assert_eq!(duration(83e3), "83 µs");
    }

    #[test]
    fn sizes_rates_shares_and_counts() {
        assert_eq!(bytes(131_072.0), "128 KiB");
        assert_eq!(bytes(1_048_575.9), "1 MiB");
        assert_eq!(iops(10_903.2), "10,903 IOPS");
        assert_eq!(iops(4.5), "4.5 IOPS");
        assert_eq!(share(0.97), "97 %");
        assert_eq!(share(0.999), ">99 %");
        assert_eq!(share(1.0), "100 %");
        assert_eq!(share(0.0001), "<0.1 %");
        assert_eq!(share(f64::INFINITY), "-");
        assert_eq!(count(29_249), "29,249");
        assert_eq!(count(1021), "1021");
        assert_eq!(count(u64::MAX), "18,446,744,073,709,551,615");
        assert_eq!(exact(16_001.6), "16,001.6");
        assert_eq!(exact(-16_000.0), "-16,000");
        assert_eq!(exact(999.0), "999");
    }
}
