//! The whole report as one HTML file for mail, tickets or archives.
//!
//! ## Shows
//! Host, time range and devices; the verdict with its confidence, forecast and next steps; the
//! processes that waited; the incidents of a flight recorder over time; the other findings, by the
//! action they need; the evidence; of retries the latencies in revolutions, of an overload the
//! queue; heat maps, histograms and the slowest I/Os, zoomable in time; the inputs with everything
//! that was lost, skipped or not read; and the data to download. Without scripts, static pictures
//! and all tables are shown.
//!
//! ## Units
//! Those of `summary`, `heatmap` and `histogram`. Times are local if the input has the time of day,
//! else on its own clock.
//!
//! ## Read it like this
//! From top to bottom: the verdict, its evidence, the pictures. Drag over a picture to zoom in
//! time: all pictures of the same input follow. The file loads nothing else: its
//! Content-Security-Policy allows one script and one style sheet, by their hashes, and no network.
//! Names from captures are text, never markup.

use std::borrow::Cow;
use std::io::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use iowhy_model::{Comparison, Filter, Finding, Report, SingleIos};
use sha2::{Digest, Sha256};

use crate::incidents::Timeline;
use crate::{Style, View};

mod about;
mod beside;
mod drawn;
mod escape;
mod sections;
mod timeline;

pub use escape::{prose, text};

/// Entry in the list of views.
pub const VIEW: View = View {
    name: "html",
    summary: "the whole report as one self-contained HTML file",
    manual: iowhy_model::manual!("html.rs"),
    write,
};

const STYLE: &str = include_str!("html/page.css");
const SCRIPT: &str = include_str!("html/page.js");

/// What the report is compared with.
#[derive(Clone, Copy)]
pub struct Before<'a> {
    /// The state before, judged by itself.
    pub report: &'a Report,
    /// What differs: before is A, the report is B.
    pub comparison: &'a Comparison,
}

fn write(report: &Report, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    page(report, None, &Timeline::default(), style, out)
}

/// Writes the page, with a section "Before and after" if there is something to compare with, and a
/// timeline of the incidents in it.
///
/// # Errors
/// If the writer fails.
pub fn page(
    report: &Report,
    before: Option<Before>,
    incidents: &Timeline,
    style: &Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let findings: Vec<&Finding> = report
        .findings
        .iter()
        .filter(|finding| finding.subject.device.is_none_or(|id| style.filter.device(id)))
        .collect();
    head(report, &findings, out)?;
    writeln!(out, "<main>")?;
    about::first_line(report, style, out)?;
    sections::verdict(report, &findings, out)?;
    let pictured = Pictured::of(report, style);
    sections::who(&pictured, out)?;
    timeline::section(incidents, style, out)?;
    sections::others(report, &findings, !incidents.rows.is_empty(), out)?;
    if let Some(before) = &before {
        beside::section(before, report, style, out)?;
    }
    sections::evidence(report, &findings, out)?;
    sections::pattern(report, &findings, style, out)?;
    sections::pictures(&pictured, out)?;
    sections::histograms(&pictured, out)?;
    sections::slowest(&pictured, out)?;
    sections::inputs(report, out)?;
    sections::reproduce(report, &findings, style, out)?;
    let packed = miniz_oxide::deflate::compress_to_vec(drawn::json(&pictured, style).as_bytes(), 9);
    writeln!(
        out,
        "<script id=\"data\" type=\"application/octet-stream\">{}</script>",
        STANDARD.encode(packed)
    )?;
    writeln!(out, "<script>{SCRIPT}</script>\n</body>\n</html>")
}

/// A report as its pictures are drawn: of all I/Os, where only a part of them was kept for the
/// verdict.
struct Pictured<'a> {
    report: Cow<'a, Report>,
    style: Cow<'a, Style>,
    /// What is reported of single I/Os, by listing.
    singles: Vec<Cow<'a, SingleIos>>,
}

impl<'a> Pictured<'a> {
    fn of(report: &'a Report, style: &'a Style) -> Pictured<'a> {
        let singles = report.recording.listings.iter();
        let singles = singles.map(|listing| listing.singles(&style.filter)).collect();
        let (report, style) = match report.recording.in_cells(&style.filter) {
            None => (Cow::Borrowed(report), Cow::Borrowed(style)),
            Some(recording) => {
                let ops = style.filter.ops.clone();
                let devices = style.filter.devices.clone();
                let filter = Filter { devices, ops, ..Filter::default() };
                let findings = report.findings.clone();
                (
                    Cow::Owned(Report { recording, findings }),
                    Cow::Owned(Style { filter, ..style.clone() }),
                )
            }
        };
        Pictured { report, style, singles }
    }
}

fn head(report: &Report, findings: &[&Finding], out: &mut dyn Write) -> io::Result<()> {
    let title = match findings.first() {
        Some(finding) => format!("iowhy: {}", sections::title(report, finding)),
        None => "iowhy: report".to_string(),
    };
    begin(&title, Some(SCRIPT), out)
}

/// The head of a self-contained page, up to the start of its body: one style sheet, the script
/// that is given or none, and a policy that allows nothing else.
///
/// # Errors
/// If the writer fails.
pub fn begin(title: &str, script: Option<&str>, out: &mut dyn Write) -> io::Result<()> {
    let hash = |source: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(source)));
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         script-src {}; style-src {}; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n",
        script.map_or_else(|| "'none'".to_string(), hash),
        hash(STYLE),
        text(title)
    )
}
