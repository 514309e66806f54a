//! Axes: rows of latency, columns of time.

use jiff::tz::TimeZone;

use super::{Line, Tone};
use crate::clock::Clock;
use crate::words::duration;

/// The label of a latency row: its lower edge, or that it contains all below its upper one.
pub(crate) fn latency_label(low_ns: u64) -> String {
    if low_ns == 0 { "0".to_string() } else { duration(low_ns as f64) }
}

/// Fewest columns between two ticks of time.
const TICK: usize = 10;

/// The times along a picture: `seconds` of them from `start` on.
pub(crate) struct TimeAxis {
    /// Its first moment, s: the second of the day if there is a clock.
    pub start: f64,
    /// How much time it covers, s.
    pub seconds: f64,
    /// Which moment of which clock the start is, ns, and the zone it is labelled in: for the time
    /// of day.
    pub clock: Option<(Clock, i64, TimeZone)>,
}

/// A line of ticks over this many columns, each with its time after it.
pub(crate) fn time_axis(axis: &TimeAxis, columns: usize, unicode: bool) -> Line {
    let (start, seconds) = (axis.start, axis.seconds);
    let mut line = Line::new();
    if !seconds.is_finite() || seconds <= 0.0 || !start.is_finite() || columns == 0 {
        return line;
    }
    let step = nice_step(seconds / (columns as f64 / TICK as f64).max(1.0));
    // A tick just left of the edge is moved onto it.
    let first = ((start - seconds / columns as f64) / step).ceil();
    for k in 0..columns {
        let at = (first + k as f64) * step;
        let column = ((at - start) / seconds * columns as f64).round() as usize;
        let label = axis.label(at, step);
        if column + 1 + label.chars().count() > columns {
            break;
        }
        if column < line.width() {
            continue;
        }
        line.pad(column);
        line.push(if unicode { "╵" } else { "'" }, Tone::Faint);
        line.push(&label, Tone::Faint);
    }
    line
}

/// Ticks of a time axis, `most` at the most: the position of each, 0 to 1, and its time.
pub(crate) fn ticks(axis: &TimeAxis, most: f64) -> Vec<(f64, String)> {
    let (start, seconds) = (axis.start, axis.seconds);
    if !seconds.is_finite() || seconds <= 0.0 || !start.is_finite() {
        return Vec::new();
    }
    let step = nice_step(seconds / most.max(1.0));
    let first = (start / step - 1e-9).ceil();
    (0..most as u32 + 2)
        .map(|k| (first + f64::from(k)) * step)
        .take_while(|at| *at <= start + seconds)
        .map(|at| (((at - start) / seconds).max(0.0), axis.label(at, step)))
        .collect()
}

/// The smallest of 1, 2, 5 times a power of ten of a second, or of the steps of a clock, that is
/// not below `least`.
fn nice_step(least: f64) -> f64 {
    const CLOCK: [f64; 9] = [60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0, 7200.0, 21600.0, 86400.0];
    if least > 30.0 {
        return CLOCK.into_iter().find(|step| *step >= least).unwrap_or(least);
    }
    let decade = 10f64.powf(least.max(1e-9).log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|k| k * decade)
        .find(|step| *step >= least * 0.999)
        .unwrap_or(least)
        .min(60.0)
}

impl TimeAxis {
    /// A time in the unit and with the decimals of its step.
    fn label(&self, at: f64, step: f64) -> String {
        if let Some((clock, start_ns, zone)) = &self.clock {
            let decimals = (-step.log10() - 1e-6).ceil().clamp(0.0, 6.0) as usize;
            let since_ns = ((at - self.start) * 1e9).round() as i64;
            return clock.of_day(start_ns.saturating_add(since_ns), decimals, zone);
        }
        let (scale, unit) = match step {
            s if s >= 3600.0 => (3600.0, "h"),
            s if s >= 60.0 => (60.0, "min"),
            _ if (self.start + self.seconds).abs() < 1.0 => (1e-3, "ms"),
            _ => (1.0, "s"),
        };
        if at.abs() < step / 1e3 {
            return "0".to_string();
        }
        let decimals = (-(step / scale).log10() - 1e-6).ceil().clamp(0.0, 9.0) as usize;
        format!("{:.decimals$} {unit}", at / scale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Colour;

    fn drawn(start: f64, seconds: f64, columns: usize) -> String {
        of(&TimeAxis { start, seconds, clock: None }, columns)
    }

    fn of(axis: &TimeAxis, columns: usize) -> String {
        let mut out = Vec::new();
        time_axis(axis, columns, false).write(200, Colour::None, &mut out).unwrap();
        String::from_utf8(out).unwrap().trim_end().to_string()
    }

    #[test]
    fn ticks_stand_at_nice_times() {
        assert_eq!(drawn(0.0, 60.0, 40), "'0           '20 s         '40 s");
        assert_eq!(drawn(0.0, 4.0, 40), "'0        '1 s      '2 s      '3 s");
        assert_eq!(drawn(3.0, 600.0, 30), "'0             '5 min");
        assert_eq!(drawn(30.0, 600.0, 30), "              '5 min");
        assert_eq!(drawn(0.0, 0.02, 40), "'0        '5 ms     '10 ms    '15 ms");
        assert_eq!(drawn(2.64, 0.15, 30), "  '2.65 s   '2.70 s   '2.75 s");
        assert_eq!(drawn(0.0, 0.0, 30), "");
        assert_eq!(drawn(f64::NAN, 1.0, 30), "");
    }

    #[test]
    fn times_of_day_jump_where_the_clocks_do() {
        let zone = TimeZone::posix("NST3:30NDT,M3.2.0,M11.1.0").unwrap();
        let axis = |since_1970_s: i64| {
            let clock = Clock { zero: since_1970_s * 1_000_000_000, utc: true };
            TimeAxis {
                start: clock.second(0, &zone),
                seconds: 60.0,
                clock: Some((clock, 0, zone.clone())),
            }
        };
        assert_eq!(of(&axis(1_795_260_967), 40), "         '08:06:20    '08:06:40");
        // Two o'clock on 8 March 2026 is three.
        assert_eq!(of(&axis(1_772_947_775), 40), "   '01:59:40     '03:00:00    '03:00:20");
    }
}
