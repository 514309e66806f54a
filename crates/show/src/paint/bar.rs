//! Bars whose length represents a number.

/// A bar of at most `width` columns for a fraction of one; eighths of a block if `unicode`. A
/// number above zero always leaves a trace.
pub(crate) fn bar(fraction: f64, width: usize, unicode: bool) -> String {
    let fraction = if fraction.is_finite() { fraction.clamp(0.0, 1.0) } else { 0.0 };
    if fraction == 0.0 {
        return String::new();
    }
    if !unicode {
        return "*".repeat(((fraction * width as f64).round() as usize).max(1));
    }
    let eighths = ((fraction * width as f64 * 8.0).round() as usize).max(1);
    let mut text = "█".repeat(eighths / 8);
    text.extend(EIGHTHS.get(eighths % 8).filter(|c| **c != ' '));
    text
}

/// A thin bar and the rest of its way; full only for all of it.
pub(crate) fn gauge(fraction: f64, width: usize, unicode: bool) -> (String, String) {
    let fraction = if fraction.is_finite() { fraction.clamp(0.0, 1.0) } else { 0.0 };
    let rounded = (fraction * width as f64).round() as usize;
    let full = if fraction < 1.0 { rounded.min(width.saturating_sub(1)) } else { rounded };
    let (done, left) = if unicode { ("━", "─") } else { ("#", ".") };
    (done.repeat(full), left.repeat(width - full))
}

/// Left-filled blocks of one to seven eighths (U+258F to U+2589).
const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_in_proportion_and_never_vanish() {
        assert_eq!(bar(0.5, 4, true), "██");
        assert_eq!(bar(0.0001, 40, true), "▏");
        assert_eq!(bar(0.0001, 40, false), "*");
        assert_eq!(bar(f64::NAN, 40, true), "");
        assert_eq!(bar(7.0, 4, false), "****");
        assert_eq!(gauge(0.5, 4, false), ("##".to_string(), "..".to_string()));
        assert_eq!(gauge(0.99, 4, true), ("━━━".to_string(), "─".to_string()));
        assert_eq!(gauge(1.0, 0, true), (String::new(), String::new()));
    }
}
