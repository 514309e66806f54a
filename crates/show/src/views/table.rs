//! Rates, latencies and queue per device, with the columns of iostat.
//!
//! ## Shows
//! A row per device and time interval: requests and kilobytes per second, mean latency (r_await,
//! w_await), mean size, queue and busy share, as counted by `iostat -x`; if individual requests
//! were traced or logged, also p50, p95, p99 and the maximum, and queue time (Q2D) and device time
//! (D2C) separately; with `--before`, the mean time before the request (B2Q). What iostat lacks
//! comes first: p50, p99, Q2D, D2C. Columns without data are omitted, and on a narrow terminal also
//! the less important ones, those four last. Idle devices are hidden unless `--verbose` or
//! `--device` is given.
//!
//! ## Units
//! Rates per second; kB are 1024 bytes; await and all other latencies in ms; aqu-sz in requests;
//! %util in percent. All with two decimals, rounded like iostat. `-` means that nothing completed
//! or was measured, which iostat prints as 0.00. A percentile is the upper edge of its bucket,
//! printed only if there are enough requests for it.
//!
//! ## Read it like this
//! Compare await with the expected service time of the device, then look at aqu-sz: high latency
//! with a short queue points to the disk, with a long queue to the workload. %util is the share of
//! time with at least one request in flight; on a device that serves several at once, 100 does not
//! mean saturated. Grey rows are based on fewer than 30 requests: their means may be far off.

use std::io::{self, Write};

use iowhy_model::{NameTable, Report};

use crate::paint::{Canvas, Line, TextStyle, Tone};
use crate::{Style, View, device_label, sources};

mod layout;
mod rows;

use layout::Layout;
use rows::{COLUMNS, Row, Stretch};

/// Entry in the list of views.
pub const VIEW: View = View {
    name: "table",
    summary: "rates, latencies and queue per device, like iostat",
    manual: iowhy_model::manual!("table.rs"),
    write,
};

fn write(report: &Report, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    draw(report, style, |_| style.heading, out)
}

/// The table of one report after another: with a new heading if its columns change, and once per
/// screen.
#[derive(Debug, Default)]
pub struct TableStream {
    layout: Option<Layout>,
    /// Rows below the last heading.
    rows: usize,
}

impl TableStream {
    /// Draws the next report; what follows the rows is reported once.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn write(&mut self, report: &Report, style: &Style, out: &mut dyn Write) -> io::Result<()> {
        let style = Style { heading: self.layout.is_none(), ..style.clone() };
        let mut text = Vec::new();
        let (last, rows) = (&mut self.layout, &mut self.rows);
        let due = |layout: &Layout| {
            // Two lines stay for the shell's prompt.
            let due = last.as_ref() != Some(layout) || *rows >= style.height.max(12) - 2;
            if due {
                *last = Some(layout.clone());
                *rows = 0;
            }
            due
        };
        draw(report, &style, due, &mut text)?;
        *rows += text.iter().filter(|byte| **byte == b'\n').count();
        out.write_all(&text)
    }
}

/// Draws one report; whether its columns are headed is asked for.
fn draw(
    report: &Report,
    style: &Style,
    heading: impl FnOnce(&Layout) -> bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut canvas = Canvas::new(style, out);
    let mut stretches = rows::stretches(report, style);
    let all: usize = stretches.iter().map(|stretch| stretch.rows.len()).sum();
    for stretch in &mut stretches {
        stretch.rows.retain(|row| shown(row, style));
    }
    let rows: Vec<&Row> = stretches.iter().flat_map(|stretch| &stretch.rows).collect();
    if rows.is_empty() {
        let text = if all == 0 { "no device was measured" } else { "no device did any I/O" };
        canvas.item("", text)?;
        return sources::foot(&mut canvas, &report.recording);
    }
    let layout = Layout::fit(&rows, canvas.width());
    let titled = stretches.iter().filter(|stretch| !stretch.rows.is_empty()).count() > 1;
    let mut headed = !heading(&layout);
    for stretch in stretches.iter().filter(|stretch| !stretch.rows.is_empty()) {
        if titled {
            if headed {
                canvas.blank()?;
            }
            title(&mut canvas, stretch)?;
        }
        if !headed {
            canvas.line(&layout.heading())?;
            headed = true;
        }
        for row in &stretch.rows {
            canvas.line(&layout.row(row))?;
        }
    }
    if style.heading {
        let table = NameTable::of(&report.recording);
        let devices = rows.iter().map(|row| row.device());
        if let Some(legend) = device_label::legend(&table, devices) {
            canvas.paragraph(&Line::new(), &legend, Tone::Faint)?;
        }
        footnotes(&mut canvas, &rows, &layout)?;
    }
    sources::foot(&mut canvas, &report.recording)
}

/// Idle devices are shown only if selected.
fn shown(row: &Row, style: &Style) -> bool {
    !row.idle || style.verbose || !style.filter.devices.is_empty()
}

fn title(canvas: &mut Canvas, stretch: &Stretch) -> io::Result<()> {
    canvas.paragraph(&Line::new(), &stretch.title, TextStyle::from(Tone::Accent))
}

/// A caveat for users of iostat; printed once.
fn footnotes(canvas: &mut Canvas, rows: &[&Row], layout: &Layout) -> io::Result<()> {
    let mark = Line::new();
    if layout.draws("%util") {
        let text = "%util: share of time with a request in flight, not a measure of saturation";
        canvas.paragraph(&mark, text, Tone::Faint)?;
    }
    if rows.iter().any(|row| row.since_boot) {
        let text = "* averages since boot, not current values";
        canvas.paragraph(&mark, text, Tone::Warn)?;
    }
    if rows.iter().any(|row| row.few) {
        canvas.paragraph(&mark, "grey: fewer than 30 requests", Tone::Faint)?;
    }
    let hidden = COLUMNS.len().saturating_sub(layout.drawn() + layout.unknown());
    if hidden > 0 {
        let text = format!("{hidden} more columns are hidden; widen the terminal (or `--width`)");
        canvas.paragraph(&mark, &text, Tone::Faint)?;
    }
    Ok(())
}
