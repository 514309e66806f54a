//! The verdict: what is slow, what is to blame, and the evidence.
//!
//! ## Shows
//! One screen of at most 20 lines. From the top: the party to blame, the device, the severity and
//! the name of the verdict; the verdict in a sentence; the impact (time waited per second, share of
//! slow I/Os, p99 or mean); the confidence; the forecast for the fix; the decisive numbers, with
//! their thresholds; the next step; what would make the verdict wrong; other findings, a line each;
//! what was not seen; the inputs and their losses. With `-v` every finding in full: each number
//! with its threshold, basis and source, everything that would refute it, all steps, all inputs;
//! with `-vv` also how each confidence was computed, step by step. From 150 columns up, the numbers
//! and the refutations have their own column.
//!
//! ## Units
//! Every number has a unit and a basis: traced (every I/O was seen), sampled (counters read at
//! intervals), reported (printed by the source), computed (exactly, from printed values) or
//! estimated (from histogram buckets or a fit). `n` is the number of I/Os or intervals. One KiB is
//! 1024 bytes. Severity is none, minor, notable or severe; it depends on the impact, never on the
//! confidence. The colour shows the severity.
//!
//! ## Read it like this
//! Read the sentence, then impact and confidence: the first is how bad it is, the second how likely
//! the verdict is right. Before acting, read `wrong if`: if it applies, take the next finding. NO
//! VERDICT has no percentage: it lists what was seen and the capture that decides.

use std::io::{self, Write};

use iowhy_model::{Finding, Report};

use crate::paint::{Canvas, Line, TextStyle, Tone};
use crate::sources;
use crate::words::{clauses, share, tone};
use crate::{Style, View};

mod evidence;
mod ledger;
mod screen;
mod verdict;

/// Entry in the list of views.
pub const VIEW: View = View {
    name: "summary",
    summary: "the verdict: who is to blame, with its evidence",
    manual: iowhy_model::manual!("summary.rs"),
    write,
};

/// Findings shown at length unless all are asked for.
const AT_LENGTH: usize = 3;

fn write(report: &Report, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let mut canvas = Canvas::new(style, out);
    let (explained, main): (Vec<&Finding>, Vec<&Finding>) =
        wanted(report, style).partition(|finding| finding.explained_by.is_some());
    if !style.verbose && !main.is_empty() {
        let all: Vec<&Finding> = main.into_iter().chain(explained).collect();
        return screen::write(&mut canvas, report, &all);
    }
    let at_length = if style.verbose { usize::MAX } else { AT_LENGTH };
    for (place, finding) in main.iter().take(at_length).enumerate() {
        if place > 0 {
            canvas.blank()?;
        }
        if place == 1 {
            canvas.heading("Runner-up")?;
        }
        let rank = if place == 0 { verdict::Rank::First } else { verdict::Rank::Other };
        verdict::write(&mut canvas, report, finding, rank)?;
    }
    if main.is_empty() && explained.is_empty() {
        nothing(&mut canvas, report)?;
    }
    let rest: Vec<&Finding> = main.into_iter().skip(at_length).collect();
    section(&mut canvas, "Further findings", &rest, report)?;
    section(&mut canvas, "Consequences", &explained, report)?;
    canvas.blank()?;
    canvas.heading("Inputs")?;
    sources::inputs(&mut canvas, report)
}

/// The findings about devices that were asked for.
fn wanted<'a>(report: &'a Report, style: &Style) -> impl Iterator<Item = &'a Finding> {
    let filter = style.filter.clone();
    report
        .findings
        .iter()
        .filter(move |finding| finding.subject.device.is_none_or(|device| filter.device(device)))
}

/// Findings of a line each, cut at the edge.
fn section(canvas: &mut Canvas, title: &str, some: &[&Finding], report: &Report) -> io::Result<()> {
    if some.is_empty() {
        return Ok(());
    }
    canvas.blank()?;
    canvas.heading(title)?;
    let verdicts = some.iter().map(|finding| finding.verdict.name().len()).max().unwrap_or(0);
    for finding in some {
        let tone = tone(finding);
        let mut line = Line::new().with("  ", Tone::Plain).with(finding.verdict.name(), tone);
        line.pad(verdicts + 4);
        match finding.explained_by {
            Some(by) => {
                line.push(&verdict::about(report, finding), Tone::Plain);
                line.push(&format!(" (explained by {by})"), Tone::Faint);
            }
            None => {
                let sure = if finding.is_probability() {
                    share(finding.confidence())
                } else {
                    String::new()
                };
                line.push(&format!("{sure:>5}  "), Tone::Faint);
                let room = canvas.width().saturating_sub(line.width());
                line.push(&clauses(&finding.sentence, room), Tone::Plain);
            }
        }
        canvas.line(&line)?;
    }
    if some.iter().any(|finding| finding.explained_by.is_none()) {
        canvas.item("  ", "all of each with `--verbose`")?;
    }
    Ok(())
}

/// No finding at all.
fn nothing(canvas: &mut Canvas, report: &Report) -> io::Result<()> {
    let none = report.recording.records() == 0;
    let headline = if none { "NO I/O WAS SEEN" } else { "NO FINDING" };
    canvas.line(&Line::new().with(headline, TextStyle::strong(Tone::Accent)))?;
    let text = if none {
        "The inputs contain no requests, averages or histograms, so there is nothing to judge."
    } else {
        "The inputs do not lead to a conclusion."
    };
    canvas.item("", text)
}
