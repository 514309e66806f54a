//! Numbers and verdicts in words: each number leaves here with its unit.

use iowhy_model::{Blame, Bound, Finding, Impact, Level, Nanos, Severity, Unit, Verdict};

use crate::paint::Tone;

/// Whom a verdict blames, as a headline.
pub fn blame_headline(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::DeviceCombOther => "A TIMER OR FIRMWARE IS TO BLAME, NOT THE WORKLOAD",
        Verdict::DeviceHang => "THE DEVICE HUNG ONCE, CAUSE UNKNOWN",
        Verdict::LayerRemote => "STORAGE BEHIND THE HOST IS TO BLAME, NOT THE WORKLOAD",
        Verdict::PeerShared => "WHAT THE DISKS SHARE IS TO BLAME, NO SINGLE DISK",
        _ => verdict.blames().headline(),
    }
}

/// The colour of a finding: that of its severity; of a cause whose latency nobody measured, a
/// warning.
pub fn tone(finding: &Finding) -> Tone {
    match (finding.verdict.blames(), finding.severity()) {
        (Blame::Nobody, _) => Tone::Good,
        (Blame::Unknown | Blame::Report, _) => Tone::Accent,
        (_, Some(Severity::Severe)) => Tone::Bad,
        (_, Some(Severity::Notable) | None) => Tone::Warn,
        (_, Some(Severity::Minor | Severity::None)) => Tone::Plain,
    }
}

/// What the trouble costs: time waited per second, share of slow requests, p99 or mean.
pub fn impact(impact: &Impact, unicode: bool) -> String {
    let mut parts = Vec::new();
    if let Some(waited) = impact.waited_per_s {
        parts.push(format!("{} waited per second", duration(waited * 1e9, unicode)));
    }
    let ns = |length: Nanos| duration(length.ns() as f64, unicode);
    if let Some(slow) = impact.slow_share {
        parts.push(format!("{} of I/Os over {}", share(slow), ns(impact.felt())));
    }
    match (impact.p99, impact.mean, impact.longest) {
        (Some(p99), _, _) => parts.push(format!("p99 {}", ns(p99))),
        (None, Some(mean), _) => parts.push(format!("mean {}", ns(mean))),
        (None, None, Some(longest)) => parts.push(format!("longest {}", ns(longest))),
        (None, None, None) => {}
    }
    parts.join(", ")
}

/// How sure a confidence is, in words.
pub fn sureness(confidence: f64) -> &'static str {
    // As the percentage beside it is rounded.
    match (confidence * 100.0).round() / 100.0 {
        c if c >= 0.95 => "nearly certain",
        c if c >= 0.8 => "very likely",
        c if c >= 0.6 => "likely",
        c if c >= 0.4 => "possible",
        c if c >= 0.0 => "a guess",
        _ => "not stated",
    }
}

/// A length of time: `434 ms`, `1.65 ms`, `83 us`, `2.1 s`, `12.5 min`.
pub fn duration(ns: f64, unicode: bool) -> String {
    let micro = if unicode { "µs" } else { "us" };
    let units = [(1.0, "ns"), (1e3, micro), (1e6, "ms"), (1e9, "s"), (60e9, "min"), (3600e9, "h")];
    if !ns.is_finite() {
        return NONE.to_string();
    }
    // Seconds are read well up to 600, minutes up to 600: only then comes the larger unit.
    let limits = [999.5, 999.5, 999.5, 599.5, 599.5, f64::INFINITY];
    let place = units.iter().zip(limits).position(|((scale, _), limit)| ns.abs() / scale < limit);
    let (scale, unit) = units[place.unwrap_or(units.len() - 1)];
    format!("{} {unit}", three(ns / scale))
}

/// A size: `512 B`, `128 KiB`, `1.3 GiB`.
pub fn bytes(bytes: f64) -> String {
    scaled(bytes, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB", "PiB"])
}

/// Events per second: `4.5 /s`, `10.9 k/s`.
pub fn rate(per_s: f64) -> String {
    scaled(per_s, 1000.0, &["/s", "k/s", "M/s", "G/s"])
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
pub fn count(count: u64, unicode: bool) -> String {
    let digits = count.to_string();
    let gap = if unicode { '\u{202f}' } else { ',' };
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) && digits.len() > 4 {
            text.push(gap);
        }
        text.push(digit);
    }
    text
}

/// A value in its unit.
pub fn quantity(value: f64, unit: Unit, unicode: bool) -> String {
    if !value.is_finite() {
        return NONE.to_string();
    }
    let plain = three(value);
    match unit {
        Unit::Ms => duration(value * 1e6, unicode),
        Unit::Seconds => duration(value * 1e9, unicode),
        Unit::Bytes => bytes(value),
        Unit::BytesPerSecond => format!("{}/s", bytes(value)),
        Unit::PerSecond => rate(value),
        Unit::Share => share(value),
        Unit::Ratio => format!("{plain}{}", if unicode { "×" } else { "x" }),
        Unit::Count if (0.0..1e15).contains(&value) && value.fract() == 0.0 => {
            count(value as u64, unicode)
        }
        Unit::Count => plain,
        Unit::Sigma => format!("{plain} {}", if unicode { "σ" } else { "sigma" }),
        Unit::Rpm if value.abs() < 1e6 => format!("{value:.0} rpm"),
        Unit::Rpm => format!("{plain} rpm"),
        Unit::Turns => format!("{plain} {}", if plain == "1" { "turn" } else { "turns" }),
        Unit::Requests => format!("{plain} requests"),
        Unit::Nats => format!("{plain} nats"),
    }
}

/// The threshold a value was compared with: `> 3.3 ms`, `12 to 20 %`.
pub fn bound(bound: Option<Bound>, unit: Unit, unicode: bool) -> String {
    match bound {
        None => String::new(),
        Some(Bound::Above(limit)) => format!("> {}", quantity(limit, unit, unicode)),
        Some(Bound::Below(limit)) => format!("< {}", quantity(limit, unit, unicode)),
        Some(Bound::Between(low, high)) => {
            format!("{} to {}", quantity(low, unit, unicode), quantity(high, unit, unicode))
        }
    }
}

/// A level as its letter and its words: `C, per-I/O log`.
pub fn level(level: Level) -> String {
    format!("{}, {}", level.letter(), level.words())
}

/// `1 record`, `2 records`.
pub fn several(number: u64, one: &str, unicode: bool) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {one}{plural}", count(number, unicode))
}

/// What stands where nothing was measured.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_carry_three_digits_and_a_unit() {
        let said = |ns| duration(ns, false);
        assert_eq!(said(434.31e6), "434 ms");
        assert_eq!(said(1.65e6), "1.65 ms");
        assert_eq!(said(83e3), "83 us");
        assert_eq!(said(2.1e9), "2.1 s");
        assert_eq!(said(999.6e3), "1 ms");
        assert_eq!(said(750e9), "12.5 min");
        assert_eq!(said(0.0), "0 ns");
        assert_eq!(said(-0.02e6), "-20 us");
        assert_eq!(said(f64::NAN), "-");
        assert_eq!(duration(83e3, true), "83 µs");
    }

    #[test]
    fn sizes_rates_shares_and_counts() {
        assert_eq!(bytes(131_072.0), "128 KiB");
        assert_eq!(bytes(1_048_575.9), "1 MiB");
        assert_eq!(rate(10_903.0), "10.9 k/s");
        assert_eq!(rate(4.5), "4.5 /s");
        assert_eq!(share(0.97), "97 %");
        assert_eq!(share(0.999), ">99 %");
        assert_eq!(share(1.0), "100 %");
        assert_eq!(share(0.0001), "<0.1 %");
        assert_eq!(share(f64::INFINITY), "-");
        assert_eq!(count(29_249, false), "29,249");
        assert_eq!(count(1021, true), "1021");
        assert_eq!(count(u64::MAX, false), "18,446,744,073,709,551,615");
        assert_eq!(quantity(7203.4, Unit::Rpm, false), "7203 rpm");
        assert_eq!(quantity(3e-11, Unit::Ratio, false), "3.00e-11x");
        assert_eq!(bound(Some(Bound::Above(3.3)), Unit::Ms, false), "> 3.3 ms");
    }
}
