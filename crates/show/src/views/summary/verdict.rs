//! One finding: headline, bars, evidence, refutation, next step, forecast.

use std::io;

use iowhy_model::{Finding, Forecast, Observation, Report};

use super::{evidence, ledger};
use crate::paint::{Canvas, Line, TextStyle, Tone, gauge};
use crate::words::{
    blame_headline, bound, count, duration, explains, impact, quantity, share, sureness, tone,
};

/// How much room a finding gets.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rank {
    /// The likeliest: all of it.
    First,
    /// One of the next: what it takes to weigh it against the first.
    Other,
}

/// Columns of the labels before each bar.
const LABEL: usize = 14;
/// Narrower canvas has no room for bars.
const ROOMY: usize = 60;
/// Numbers shown of the first finding and of the others, unless all are asked for.
const EVIDENCE: (usize, usize) = (10, 3);

/// Draws a finding.
pub(super) fn write(
    canvas: &mut Canvas,
    report: &Report,
    finding: &Finding,
    rank: Rank,
) -> io::Result<()> {
    let full = rank == Rank::First || canvas.style.verbose;
    headline(canvas, report, finding, rank)?;
    if full {
        canvas.blank()?;
        impact_line(canvas, finding)?;
        match canvas.width() < ROOMY {
            true => sureness_line(canvas, finding)?,
            false => sureness_bars(canvas, finding)?,
        }
    } else {
        sureness_line(canvas, finding)?;
    }
    if let Some(forecast) = &finding.forecast {
        forecast_line(canvas, forecast)?;
    }
    if full {
        canvas.blank()?;
        canvas.heading("Evidence")?;
    }
    let most = match rank {
        _ if canvas.style.verbose => usize::MAX,
        Rank::First => EVIDENCE.0,
        Rank::Other => EVIDENCE.1,
    };
    evidence::write(canvas, finding, most, full)?;
    seen(canvas, finding, full)?;
    if canvas.style.ledger {
        ledger::write(canvas, finding)?;
    }
    let steps = if full { usize::MAX } else { 1 };
    if full {
        list(canvas, "What would refute it", "  - ", &finding.refuted_by, usize::MAX)?;
    }
    list(canvas, "Next", "", &finding.next_step, steps)
}

/// What was seen where nothing can be concluded, each with what it would mean.
fn seen(canvas: &mut Canvas, finding: &Finding, full: bool) -> io::Result<()> {
    let line = |one: &Observation| {
        let known = &one.evidence;
        let mut amount = quantity(known.amount.value, known.amount.unit);
        if known.bound.is_some() {
            amount += &format!(" (threshold {})", bound(known.bound, known.amount.unit));
        }
        let (n, origin) = (count(known.n), known.origin.to_string());
        format!(
            "{}: {amount}, n {n}, {}, from {origin}: {}",
            known.quantity,
            known.how.word(),
            one.would_mean
        )
    };
    let lines: Vec<String> = finding.seen.iter().map(line).collect();
    if full { list(canvas, "Seen", "  - ", &lines, usize::MAX) } else { Ok(()) }
}

/// The device and the part of its load a finding is about.
pub(super) fn about(report: &Report, finding: &Finding) -> String {
    let devices = report.recording.devices();
    let device = finding.subject.device.and_then(|id| devices.get(id.index()));
    let mut parts: Vec<&str> = device.map(|device| device.name.as_str()).into_iter().collect();
    parts.extend(finding.subject.group.as_deref());
    parts.retain(|part| !part.is_empty());
    parts.join(", ")
}

/// Who is to blame, the verdict's name, and its sentence beside a bar of the blame's colour.
fn headline(canvas: &mut Canvas, report: &Report, finding: &Finding, rank: Rank) -> io::Result<()> {
    let (blamed, tone) = (blame_headline(finding), tone(finding));
    let mut bar = Line::new();
    if canvas.style.unicode {
        bar.push("▌ ", tone);
    }
    let mut top = bar.clone();
    if rank == Rank::First {
        top.push(blamed, TextStyle::strong(tone));
    } else {
        top.push(finding.verdict.name(), TextStyle::strong(tone));
    }
    let about = about(report, finding);
    let right = match rank {
        Rank::First => finding.verdict.to_string(),
        Rank::Other => about.clone(),
    };
    if top.width() + 2 + right.chars().count() <= canvas.width() {
        top.pad(canvas.width() - right.chars().count());
        top.push(&right, Tone::Faint);
        canvas.line(&top)?;
    } else {
        canvas.paragraph(&bar, blamed, TextStyle::strong(tone))?;
        canvas.paragraph(&bar, &right, Tone::Faint)?;
    }
    let text = TextStyle { strong: rank == Rank::First, ..TextStyle::default() };
    let width = canvas.width().saturating_sub(bar.width());
    for line in crate::paint::wrap(&finding.sentence, width) {
        canvas.line(&bar.clone().with(&line, text))?;
    }
    if rank == Rank::First && !about.is_empty() {
        canvas.line(&bar.with(&about, Tone::Faint))?;
    }
    Ok(())
}

/// What it costs, if that was measured.
fn impact_line(canvas: &mut Canvas, finding: &Finding) -> io::Result<()> {
    let Some(known) = &finding.impact else { return Ok(()) };
    let mut mark = Line::new().with("  impact", Tone::Faint);
    mark.pad(LABEL);
    let numbers = impact(known);
    let text = match finding.severity().filter(|_| accuses(finding)) {
        Some(severity) => format!("{}: {numbers}", severity.word()),
        None => numbers,
    };
    canvas.paragraph(&mark, &text, Tone::Plain)
}

/// Confidence and explained share, each as a bar, a number and a word.
fn sureness_bars(canvas: &mut Canvas, finding: &Finding) -> io::Result<()> {
    let unicode = canvas.style.unicode;
    let width = (canvas.width() / 4).clamp(6, 24);
    if !finding.is_probability() {
        return Ok(());
    }
    let sure = ("confidence", finding.confidence(), sureness(finding.confidence()));
    let of = explains(finding).map(|of| format!("of {of}"));
    let part = of.as_deref().map(|of| ("explains", finding.explained_share, of));
    for (label, value, words) in std::iter::once(sure).chain(part) {
        let tone = if value >= 0.6 { Tone::Good } else { Tone::Warn };
        let (full, rest) = gauge(value, width, unicode);
        let mut line = Line::new().with("  ", Tone::Plain).with(label, Tone::Faint);
        line.pad(LABEL);
        line.push(&full, tone);
        line.push(&rest, Tone::Faint);
        line.push(&format!(" {:>5}", share(value)), TextStyle::strong(Tone::Plain));
        line.push(&format!("  {words}"), Tone::Plain);
        canvas.line(&line)?;
    }
    Ok(())
}

/// The same in one line.
fn sureness_line(canvas: &mut Canvas, finding: &Finding) -> io::Result<()> {
    if !finding.is_probability() {
        return Ok(());
    }
    let mark = Line::new()
        .with("  ", Tone::Plain)
        .with(
            &format!("{} confidence", share(finding.confidence())),
            TextStyle::strong(Tone::Plain),
        )
        .with(" ", Tone::Plain);
    let mut text = format!("({})", sureness(finding.confidence()));
    if let Some(of) = explains(finding) {
        text += &format!(", explains {} of {of}", share(finding.explained_share));
    }
    canvas.paragraph(&mark, &text, Tone::Plain)
}

/// Whether a verdict names a cause: only then is there anything to explain.
pub(super) fn accuses(finding: &Finding) -> bool {
    !finding.verdict.accuses_nobody()
}

/// Latency now and after the cure.
fn forecast_line(canvas: &mut Canvas, forecast: &Forecast) -> io::Result<()> {
    let unicode = canvas.style.unicode;
    let reported = |ns: i64| duration(ns as f64);
    let arrow = if unicode { "→" } else { "->" };
    let mut mark = Line::new().with("  forecast", Tone::Faint);
    mark.pad(LABEL);
    let after = match forecast.range {
        Some((from, to)) if !forecast.is_narrow() => {
            format!("between {} and {} after", reported(from.ns()), reported(to.ns()))
        }
        Some((from, to)) => {
            let mean = reported(forecast.mean.ns());
            format!("{mean} after ({} to {})", reported(from.ns()), reported(to.ns()))
        }
        None => format!("{} after", reported(forecast.mean.ns())),
    };
    let p99 = match forecast.p99.filter(|_| forecast.is_narrow()) {
        Some(p99) => format!(", p99 {}", reported(p99.ns())),
        None => String::new(),
    };
    let now = reported(forecast.now_mean.ns());
    let text = format!("mean {now} now {arrow} {after}{p99}, assuming {}", forecast.assuming);
    canvas.paragraph(&mark, &text, Tone::Plain)
}

/// A list under a heading; numbered if it has no mark.
fn list(
    canvas: &mut Canvas,
    title: &str,
    mark: &str,
    items: &[String],
    most: usize,
) -> io::Result<()> {
    if items.is_empty() {
        return Ok(());
    }
    if most > 1 {
        canvas.blank()?;
        canvas.heading(title)?;
    }
    for (place, item) in items.iter().take(most).enumerate() {
        match (mark, most) {
            ("", 1) => canvas.item("  next        ", item)?,
            ("", _) => canvas.item(&format!("  {}. ", place + 1), item)?,
            _ => canvas.item(mark, item)?,
        }
    }
    Ok(())
}
