//! The incidents of a flight recorder over time: a bar for each, a row for each device, and the
//! list below.

use std::io::{self, Write};

use super::escape::text;
use crate::Style;
use crate::clock::Clock;
use crate::incidents::{IncidentRow, heads};
use crate::paint::{TimeAxis, ticks};
use crate::words::several;

/// Devices with a row of bars; the list has all of them.
const DEVICES: usize = 12;
/// Places of the picture, in its own units: width of the bars, of the names, height of a row.
const WIDE: f64 = 860.0;
const LEFT: f64 = 140.0;
const ROW: f64 = 22.0;
/// The narrowest bar that can be seen.
const NARROWEST: f64 = 3.0;

/// Writes the section, if there are any.
pub fn section(rows: &[IncidentRow], style: &Style, out: &mut dyn Write) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let title = several(rows.len() as u64, "incident");
    writeln!(out, "<h2 id=\"incidents\">{title}</h2>")?;
    bars(rows, style, out)?;
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

fn bars(rows: &[IncidentRow], style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let from = rows.iter().map(|row| row.began_ns).min().unwrap_or(0);
    let to = rows.iter().map(|row| row.until_ns).max().unwrap_or(0);
    // A lone incident has time around it.
    let around = (to.saturating_sub(from) / 20).max(5_000_000_000);
    let (from, to) = (from.saturating_sub(around), to.saturating_add(around));
    let length = to.saturating_sub(from) as f64;
    let mut devices: Vec<&str> = Vec::new();
    for row in rows {
        if !devices.contains(&row.device.as_str()) {
            devices.push(&row.device);
        }
    }
    devices.truncate(DEVICES);
    let height = ROW * (devices.len() as f64 + 1.0);
    writeln!(
        out,
        "<div class=\"scroll\"><figure class=\"bars\"><svg viewBox=\"0 0 {} {height}\" role=\"img\" aria-label=\"incidents over time\" \
         font-family=\"system-ui, sans-serif\" font-size=\"12\">",
        LEFT + WIDE
    )?;
    let x = |at: i64| LEFT + at.saturating_sub(from) as f64 / length * WIDE;
    for (place, device) in devices.iter().enumerate() {
        let y = ROW * place as f64;
        let name = if device.is_empty() { "no device" } else { device };
        writeln!(
            out,
            "<text x=\"8\" y=\"{:.0}\" fill=\"#eceef2\">{}</text>",
            y + 15.0,
            text(name)
        )?;
        for row in rows.iter().filter(|row| row.device == **device) {
            let (left, right) = (x(row.began_ns), x(row.until_ns));
            writeln!(
                out,
                "<rect x=\"{left:.1}\" y=\"{:.0}\" width=\"{:.1}\" height=\"{:.0}\" \
                 fill=\"#f57d50\"><title>{}</title></rect>",
                y + 4.0,
                (right - left).max(NARROWEST),
                ROW - 8.0,
                text(&row.cells(&style.zone).join("  "))
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
        let rows = [row("sdb", 0, 70), row("sd<i>a", 200, 46), row("sdb", 400, 1)];
        let mut out = Vec::new();
        section(&rows, &Style::plain(), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains(">3 incidents</h2>"), "{text}");
        assert_eq!((text.matches("<rect ").count(), text.matches("<tr><td").count()), (3, 3));
        assert!(text.contains("sd&lt;i&gt;a") && !text.contains("<i>"), "{text}");
        // The names are reported once each beside the bars.
        assert_eq!(text.matches("fill=\"#eceef2\"").count(), 2);
        let mut out = Vec::new();
        section(&[], &Style::plain(), &mut out).unwrap();
        assert!(out.is_empty());
    }
}
