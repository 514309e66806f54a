//! The rows of a histogram: edges, count, share, bar.

use std::io;

use iowhy_model::{Edges, Histogram};

use crate::paint::{Canvas, Line, TextStyle, Tone, bar, latency_label};
use crate::scale;
use crate::words::{count, share};

/// The percentiles that are shown.
pub(super) const QUANTILES: [(&str, f64); 4] =
    [("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999)];
/// Rows of one histogram shown by default.
const MOST: usize = 40;
/// Narrower canvas leaves out the shares.
const SHARES: usize = 60;
/// A bar is never longer: the eye compares lengths poorly across a wide screen.
const LONGEST: usize = 60;

/// Draws the non-empty rows and those between them.
pub(super) fn write(canvas: &mut Canvas, histogram: &Histogram) -> io::Result<()> {
    let Some(edges) = edges(canvas, &[histogram]) else { return Ok(()) };
    let rows = histogram.rebin(&edges);
    let labels = labels(&edges, canvas.style.unicode);
    let numbers: Vec<String> = rows.counts().iter().map(|n| count(*n)).collect();
    let room = numbers.iter().map(|text| text.chars().count()).max().unwrap_or(0);
    let shares = canvas.width() >= SHARES;
    let left = labels.first().map_or(0, |label| label.chars().count()) + room + 3;
    let left = left + if shares { 8 } else { 0 };
    let names: Vec<String> =
        (0..edges.buckets()).map(|row| names(histogram, &edges, row)).collect();
    let behind = names.iter().map(|text| text.len() + 1).max().unwrap_or(0);
    let length = canvas.width().saturating_sub(left + behind).clamp(1, LONGEST);
    let heights = heights(&rows);
    let most = heights.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    density_note(canvas, &edges)?;
    let folded = folded(&[&rows]);
    for (row, label) in labels.iter().enumerate() {
        if let Some(run) = folded.get(row).copied().flatten() {
            told_empty(canvas, label, run)?;
            continue;
        }
        let number = rows.counts().get(row).copied().unwrap_or(0);
        let faint = if number == 0 { Tone::Faint } else { Tone::Plain };
        let mut line = Line::new().with(label, Tone::Faint).with("  ", Tone::Plain);
        let text = numbers.get(row).map_or("", String::as_str);
        line.push(&" ".repeat(room - text.chars().count()), Tone::Plain);
        line.push(text, faint);
        let part = if number == 0 { String::new() } else { share(rate(number, histogram)) };
        line.push(&if shares { format!("  {part:>6} ") } else { " ".to_string() }, Tone::Faint);
        let height = heights.get(row).copied().unwrap_or(0.0);
        let drawn = bar(height / most, length, canvas.style.unicode);
        line.push(&drawn, Tone::Accent);
        if let Some(names) = names.get(row).filter(|names| !names.is_empty()) {
            line.push(&format!(" {names}"), TextStyle::strong(Tone::Warn));
        }
        canvas.line(&line)?;
    }
    Ok(())
}

/// Draws two histograms over the same rows, one beside the other.
pub(super) fn side_by_side(
    canvas: &mut Canvas,
    queue: &Histogram,
    device: &Histogram,
) -> io::Result<()> {
    let Some(edges) = edges(canvas, &[queue, device]) else { return Ok(()) };
    let unicode = canvas.style.unicode;
    let labels = labels(&edges, unicode);
    let label = labels.first().map_or(0, |label| label.chars().count());
    let sides =
        [("Q2D", queue.rebin(&edges), Tone::Warn), ("D2C", device.rebin(&edges), Tone::Accent)];
    let most = sides.iter().flat_map(|(_, side, _)| side.counts()).copied().max().unwrap_or(1);
    let room = count(most).chars().count().max(3);
    let half = canvas.width().saturating_sub(label) / 2;
    let length = half.saturating_sub(room + 4).clamp(1, LONGEST / 2);
    let mut head = Line::new();
    for (place, (name, _, tone)) in sides.iter().enumerate() {
        head.pad(label + place * half + 2 + room - name.len());
        head.push(name, TextStyle::strong(*tone));
    }
    density_note(canvas, &edges)?;
    canvas.line(&head)?;
    let tall: Vec<Vec<f64>> = sides.iter().map(|(_, side, _)| heights(side)).collect();
    let tallest = tall.iter().flatten().copied().fold(f64::MIN_POSITIVE, f64::max);
    let folded = folded(&[&sides[0].1, &sides[1].1]);
    for (row, text) in labels.iter().enumerate() {
        if let Some(run) = folded.get(row).copied().flatten() {
            told_empty(canvas, text, run)?;
            continue;
        }
        let mut line = Line::new().with(text, Tone::Faint);
        for (place, (_, side, tone)) in sides.iter().enumerate() {
            let number = side.counts().get(row).copied().unwrap_or(0);
            let text = count(number);
            line.pad(label + place * half + 2 + room - text.chars().count());
            line.push(&text, if number == 0 { Tone::Faint } else { Tone::Plain });
            line.push(" ", Tone::Plain);
            let height = tall.get(place).and_then(|side| side.get(row)).copied().unwrap_or(0.0);
            line.push(&bar(height / tallest, length, unicode), *tone);
        }
        canvas.line(&line)?;
    }
    Ok(())
}

/// Three empty rows and more are reported in one: at the first of them how many there are, at the
/// others none.
fn folded(sides: &[&Histogram]) -> Vec<Option<usize>> {
    let rows = sides.iter().map(|side| side.counts().len()).max().unwrap_or(0);
    let empty: Vec<bool> = (0..rows)
        .map(|row| sides.iter().all(|side| side.counts().get(row).is_none_or(|n| *n == 0)))
        .collect();
    let mut folded = Vec::new();
    for run in empty.chunk_by(|a, b| a == b) {
        let fold = run.first() == Some(&true) && run.len() > 2;
        folded.extend(
            (0..run.len()).map(|place| fold.then_some(if place == 0 { run.len() } else { 0 })),
        );
    }
    folded
}

/// The line that represents empty rows.
fn told_empty(canvas: &mut Canvas, label: &str, run: usize) -> io::Result<()> {
    if run == 0 {
        return Ok(());
    }
    let room = label.chars().count();
    let text = format!("{:>room$}  ({run} rows without an I/O)", "...");
    canvas.line(&Line::new().with(&text, Tone::Faint))
}

/// What the bars show: counts, or counts per octave if rows are parts of octaves.
fn heights(rows: &Histogram) -> Vec<f64> {
    let parts = scale::parts_of_octaves(rows.edges());
    let width = |row| if parts { scale::width_in_octaves(rows.edges(), row) } else { 1.0 };
    rows.counts().iter().enumerate().map(|(row, n)| *n as f64 / width(row)).collect()
}

fn density_note(canvas: &mut Canvas, edges: &Edges) -> io::Result<()> {
    if !scale::parts_of_octaves(edges) {
        return Ok(());
    }
    let text = "bars: I/Os per power of two, because rows have different widths";
    canvas.paragraph(&Line::new().with("  ", Tone::Faint), text, Tone::Faint)
}

fn edges(canvas: &Canvas, of: &[&Histogram]) -> Option<Edges> {
    if canvas.style.verbose { scale::rows(of, 10_000, 8) } else { scale::rows(of, MOST, 1) }
}

fn rate(number: u64, of: &Histogram) -> f64 {
    number as f64 / of.count().max(1) as f64
}

/// `16.4 ms - 32.8 ms` for each row, all of one width.
fn labels(edges: &Edges, unicode: bool) -> Vec<String> {
    let low: Vec<String> = (0..edges.buckets()).map(|row| latency_label(edges.low(row))).collect();
    let high: Vec<String> = (0..edges.buckets())
        .map(|row| match edges.high(row) {
            u64::MAX => "more".to_string(),
            high => latency_label(high),
        })
        .collect();
    let widest = |texts: &[String]| texts.iter().map(|t| t.chars().count()).max().unwrap_or(0);
    let (left, right) = (widest(&low), widest(&high));
    let dash = if unicode { "–" } else { "-" };
    low.iter().zip(&high).map(|(a, b)| format!("{a:>left$} {dash} {b:>right$}")).collect()
}

/// The mean and the percentiles in a row.
fn names(histogram: &Histogram, edges: &Edges, row: usize) -> String {
    let mut names: Vec<&str> = Vec::new();
    let here = |ns: u64| edges.index(ns) == row;
    if histogram.mean_ns().is_some_and(|(mean, _)| mean >= 0.0 && here(mean as u64)) {
        names.push("mean");
    }
    for (name, q) in QUANTILES {
        if histogram.quantile(q).is_some_and(|quantile| here(quantile.high_ns)) {
            names.push(name);
        }
    }
    names.join(" ")
}
