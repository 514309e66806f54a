//! The incidents of a flight recorder over time: a bar for each, a row for each device, on the
//! clock of the requested window; below it the list, with everything as text.

use std::io::{self, Write};

use super::escape::text;
use crate::Style;
use crate::clock::{Clock, date_and_time};
use crate::incidents::{IncidentRow, Timeline, heads};
use crate::paint::{TimeAxis, ticks};
use crate::words::several;

/// Devices with a row of bars; the list has all of them.
const DEVICES: usize = 12;
/// Positions in the picture, in its own units: width of the bars, of the names, height of a row,
/// width of a letter.
const WIDE: f64 = 800.0;
const LEFT: f64 = 200.0;
const ROW: f64 = 22.0;
const LETTER: f64 = 6.4;
/// Between a bar and its words.
const GAP: f64 = 6.0;
/// The narrowest bar that can be seen.
const NARROWEST: f64 = 3.0;

/// Writes the section, if there are any.
pub(super) fn section(timeline: &Timeline, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let rows = &timeline.rows;
    let Some(window) = timeline.window() else { return Ok(()) };
    let title = several(rows.len() as u64, "incident");
    let at = |ns: i64| date_and_time(ns, &style.zone);
    writeln!(out, "<h2 id=\"incidents\">{title}</h2>")?;
    writeln!(out, "<p class=\"note\">from {} to {}</p>", at(window.0), at(window.1))?;
    bars(timeline, window, style, out)?;
    writeln!(out, "<div class=\"scroll\"><table><tr>")?;
    for (head, is_number) in heads() {
        write!(out, "<th class=\"{}\">{head}", if is_number { "n" } else { "w" })?;
    }
    writeln!(out, "</tr>")?;
    for row in rows {
        write!(out, "<tr>")?;
        for (cell, (_, is_number)) in row.cells(&style.zone).iter().zip(heads()) {
            write!(out, "<td class=\"{}\">{}", if is_number { "n" } else { "w" }, text(cell))?;
        }
        writeln!(out, "</tr>")?;
    }
    writeln!(out, "</table></div>")
}

fn bars(
    timeline: &Timeline,
    (from, to): (i64, i64),
    style: &Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let length = to.saturating_sub(from) as f64;
    let mut devices: Vec<String> = Vec::new();
    for row in &timeline.rows {
        if !devices.contains(&row.named_device()) {
            devices.push(row.named_device());
        }
    }
    devices.truncate(DEVICES);
    let height = ROW * (devices.len() as f64 + 1.0);
    writeln!(
        out,
        "<div class=\"scroll\"><figure class=\"bars\"><svg viewBox=\"0 0 {} {height}\" \
         role=\"img\" aria-label=\"{}\" font-family=\"system-ui, sans-serif\" font-size=\"12\">",
        LEFT + WIDE,
        text(&timeline.words(style)),
    )?;
    let x = |at: i64| LEFT + at.clamp(from, to).saturating_sub(from) as f64 / length * WIDE;
    for (place, device) in devices.iter().enumerate() {
        let y = ROW * place as f64;
        writeln!(
            out,
            "<text x=\"8\" y=\"{:.0}\" fill=\"#eceef2\">{}</text>",
            y + 15.0,
            text(&cut(device, LEFT - 12.0))
        )?;
        let mine = |row: &&IncidentRow| {
            row.named_device() == *device && row.began_ns <= to && row.until_ns >= from
        };
        let mine: Vec<&IncidentRow> = timeline.rows.iter().filter(mine).collect();
        let mut taken = LEFT;
        for (nth, row) in mine.iter().enumerate() {
            let left = x(row.began_ns).min(LEFT + WIDE - NARROWEST);
            let right = x(row.until_ns).max(left + NARROWEST);
            let ends = if row.ongoing || row.until_ns > to { " going" } else { "" };
            writeln!(
                out,
                "<rect class=\"bar{ends}\" x=\"{left:.1}\" y=\"{:.0}\" width=\"{:.1}\" \
                 height=\"{:.0}\" fill=\"{}\"><title>{}</title></rect>",
                y + 4.0,
                right - left,
                ROW - 8.0,
                if ends.is_empty() { "#f57d50" } else { "#ff4d4d" },
                text(&row.cells(&style.zone).join("  "))
            )?;
            // Cause and lost time stand beside the bar where there is room for them.
            let next = mine.get(nth + 1).map_or(LEFT + WIDE, |next| x(next.began_ns));
            let before = std::mem::replace(&mut taken, right);
            let placed = [row.cause(), row.verdict.clone()].into_iter().find_map(|words| {
                let wide = words.chars().count() as f64 * LETTER;
                let behind = right + GAP + wide <= next;
                let ahead = left - GAP - wide >= before;
                match (behind, ahead) {
                    (true, _) => Some((right + GAP, "start", right + GAP + wide, words)),
                    (_, true) => Some((left - GAP, "end", right, words)),
                    _ => None,
                }
            });
            let Some((at, anchor, end, words)) = placed else { continue };
            taken = end;
            writeln!(
                out,
                "<text x=\"{at:.1}\" y=\"{:.0}\" text-anchor=\"{anchor}\" fill=\"#c8ccd4\" \
                 font-size=\"11\">{}</text>",
                y + 15.0,
                text(&words)
            )?;
        }
    }
    let clock = Clock { zero: 0, utc: true };
    let axis = TimeAxis {
        start: clock.second(from, &style.zone),
        seconds: length / 1e9,
        clock: Some((clock, from, style.zone.clone())),
    };
    for (share, label) in ticks(&axis, 8.0) {
        let x = LEFT + share * WIDE;
        if x + 60.0 < LEFT + WIDE {
            writeln!(
                out,
                "<text x=\"{x:.1}\" y=\"{:.0}\" fill=\"#a0a6b2\">{label}</text>",
                height - 6.0
            )?;
        }
    }
    writeln!(out, "</svg></figure></div>")
}

/// The name of a device in so much room.
fn cut(device: &str, room: f64) -> String {
    let most = (room / LETTER) as usize;
    if device.chars().count() <= most {
        return device.to_string();
    }
    let kept: String = device.chars().take(most.saturating_sub(3)).collect();
    format!("{kept}...")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_incident_is_a_bar_and_a_row_and_names_stay_text() {
        let second = 1_000_000_000;
        let row = |device: &str, began: i64, length: i64| IncidentRow {
            began_ns: (1_795_260_967 + began) * second,
            until_ns: (1_795_260_967 + began + length) * second,
            device: device.to_string(),
            verdict: "device.retry".to_string(),
            ..IncidentRow::default()
        };
        let drawn = |timeline: &Timeline| {
            let mut out = Vec::new();
            section(timeline, &Style::plain(), &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let rows = vec![row("sdb", 0, 70), row("sd<i>a", 200, 46), row("sdb", 400, 1)];
        let text = drawn(&Timeline { rows: rows.clone(), ..Timeline::default() });
        assert!(text.contains(">3 incidents</h2>"), "{text}");
        assert_eq!((text.matches("<rect ").count(), text.matches("<tr><td").count()), (3, 3));
        assert!(text.contains("sd&lt;i&gt;a") && !text.contains("<i>"), "{text}");
        // The names are reported once each beside the bars.
        assert_eq!(text.matches("fill=\"#eceef2\"").count(), 2);
        // The cause is next to a bar, and everything is also in text.
        assert!(text.contains(">device.retry, 70 s</text>"), "{text}");
        let words =
            "sdb from 2026-11-21 11:36:07 UTC to 2026-11-21 11:37:17 UTC, device.retry, 70 s";
        assert!(text.contains(words), "{text}");
        assert_eq!(drawn(&Timeline::default()), "");
        // On the clock of a window that was asked for: a bar ends where the window does.
        let at = |began: i64| Some((1_795_260_967 + began) * second);
        let going = IncidentRow { ongoing: true, ..row("sdb", 400, 600) };
        let rows = vec![row("sdb", -50, 100), going];
        let text = drawn(&Timeline { rows, from_ns: at(0), to_ns: at(1000) });
        let bar = |class: &str, x: f64, wide: f64| {
            format!("<rect class=\"bar{class}\" x=\"{x:.1}\" y=\"4\" width=\"{wide:.1}\"")
        };
        assert!(text.contains(&bar("", LEFT, WIDE / 20.0)), "{text}");
        assert!(text.contains(&bar(" going", LEFT + WIDE * 0.4, WIDE * 0.6)), "{text}");
        assert!(text.contains("device.retry, 10 min, still going"), "{text}");
    }
}
