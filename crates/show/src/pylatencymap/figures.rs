//! Numbers as Python prints them in PyLatencyMap.

/// A value beside a map: nothing for less than nothing, one digit up to 9, whole numbers below a
/// million, then two digits.
pub(super) fn value(value: f64) -> String {
    match value {
        v if v < 0.0 => "0".to_string(),
        v if v <= 9.0 => general(v, 1),
        v if v < 1e6 => format!("{}", v.round_ties_even()),
        v => general(v, 2),
    }
}

/// `%.1g` and `%.2g` of C and Python: this many digits, an exponent where it is below -4 or not
/// below the number of digits, no zeros at the end.
pub(super) fn general(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { "0".to_string() } else { value.to_string() };
    }
    let spread = format!("{:.*e}", digits.max(1) - 1, value);
    let Some((mantissa, exponent)) = spread.split_once('e') else { return spread };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if exponent < -4 || exponent >= digits as i32 {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", bare(mantissa), exponent.abs());
    }
    let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
    bare(&format!("{value:.decimals$}")).to_string()
}

/// Without the zeros that end a fraction.
fn bare(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// A bucket in milliseconds: three decimals without the 0 in front of them, else a whole number.
pub(super) fn latency_label(power: i64, unit: &str) -> String {
    let units = 2f64.powi(i32::try_from(power).unwrap_or(0));
    let us = match unit {
        "microsec" => units,
        "nanosec" => units / 1000.0,
        _ => units * 1000.0,
    };
    let ms = us / 1000.0;
    if ms < 1.0 {
        format!("{ms:.3}").trim_start_matches('0').to_string()
    } else {
        format!("{}", ms.round_ties_even())
    }
}

/// The text with blanks up to a column.
pub(super) fn padded_right(text: &str, width: usize) -> String {
    format!("{text:<width$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Python 3.11 prints for these.
    #[test]
    fn figures_are_pythons() {
        for (given, printed) in [
            (-3.0, "0"),
            (0.0, "0"),
            (0.00001, "1e-05"),
            (0.000123, "0.0001"),
            (0.25, "0.2"),
            (0.96, "1"),
            (2.5, "2"),
            (9.0, "9"),
            (9.5, "10"),
            (10.5, "10"),
            (11.5, "12"),
            (999_999.4, "999999"),
            (1e6, "1e+06"),
            (1_250_000.0, "1.2e+06"),
            (6.1605e6, "6.2e+06"),
            (3e100, "3e+100"),
        ] {
            assert_eq!(value(given), printed, "{given}");
        }
    }

    #[test]
    fn labels_are_milliseconds_whatever_the_unit() {
        let labels = [(7, "microsec"), (9, "microsec"), (10, "microsec"), (14, "microsec")];
        let labels = labels.map(|(power, unit)| latency_label(power, unit));
        assert_eq!(labels, [".128", ".512", "1", "16"]);
        assert_eq!(latency_label(15, "microsec"), "33");
        assert_eq!(latency_label(17, "nanosec"), ".131");
        assert_eq!(latency_label(11, "millisec"), "2048");
        assert_eq!(latency_label(-1, "millisec"), ".500");
        assert_eq!(latency_label(0, "nanosec"), ".000");
    }
}
