//! The verdict: what is slow, who is to blame, and what that rests on.
//!
//! ## Shows
//! The likeliest finding in full: who is to blame, how sure that is, how much of the excess
//! latency it explains, each number it rests on beside the threshold it was held against, what
//! would refute it, what to do next and the latency to expect after the cure. Then the next
//! findings, shorter. A finding that a more specific one explains is only named. Last the inputs
//! it all comes from, with everything that was lost, skipped or left unread.
//!
//! ## Units
//! Every number carries its unit and how it came about: traced (every I/O was seen), sampled
//! (counters read at intervals), reported (printed by the source), computed (from what was
//! printed, exactly) or estimated (from histogram buckets or a fit). `n` is the number of I/Os or
//! intervals behind it. One KiB is 1024 bytes.
//!
//! ## Read it like this
//! Begin with the sentence, then the two bars: the first says how likely the verdict is right,
//! the second how much of the excess latency it accounts for. A sure verdict that explains little
//! is trivia. Before you act, look at what would refute it: if one of those is the case with you,
//! take the runner-up.

use std::io::{self, Write};

use iowhy_model::{Finding, Report};

use crate::paint::{Ink, Line, Paper, Tone, wrap};
use crate::sources;
use crate::words::{blame_headline, share};
use crate::{Style, View};

mod evidence;
mod screen;
mod verdict;

/// Entry in the list of views.
pub const VIEW: View = View {
    name: "summary",
    summary: "the verdict: who is to blame, with its evidence",
    manual: include_str!("summary.rs"),
    write,
};

/// Findings shown at length unless all are asked for.
const AT_LENGTH: usize = 3;

fn write(report: &Report, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let mut paper = Paper::new(style, out);
    let (explained, main): (Vec<&Finding>, Vec<&Finding>) =
        wanted(report, style).partition(|finding| finding.explained_by.is_some());
    if !style.verbose && !main.is_empty() {
        let all: Vec<&Finding> = main.into_iter().chain(explained).collect();
        return screen::write(&mut paper, report, &all);
    }
    let at_length = if style.verbose { usize::MAX } else { AT_LENGTH };
    for (place, finding) in main.iter().take(at_length).enumerate() {
        if place > 0 {
            paper.blank()?;
        }
        if place == 1 {
            paper.heading("Runner-up")?;
        }
        let rank = if place == 0 { verdict::Rank::First } else { verdict::Rank::Other };
        verdict::write(&mut paper, report, finding, rank)?;
    }
    if main.is_empty() && explained.is_empty() {
        nothing(&mut paper, report)?;
    }
    let rest: Vec<&Finding> = main.into_iter().skip(at_length).collect();
    section(&mut paper, "Further findings", &rest, report)?;
    section(&mut paper, "Explained by what stands above", &explained, report)?;
    paper.blank()?;
    paper.heading("Inputs")?;
    sources::inputs(&mut paper, report)
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
fn section(paper: &mut Paper, title: &str, some: &[&Finding], report: &Report) -> io::Result<()> {
    if some.is_empty() {
        return Ok(());
    }
    paper.blank()?;
    paper.heading(title)?;
    let verdicts = some.iter().map(|finding| finding.verdict.name().len()).max().unwrap_or(0);
    for finding in some {
        let (_, tone) = blame_headline(finding.verdict);
        let mut line = Line::new().with("  ", Tone::Plain).with(finding.verdict.name(), tone);
        line.pad(verdicts + 4);
        match finding.explained_by {
            Some(by) => {
                line.push(&verdict::about(report, finding), Tone::Plain);
                line.push(&format!(" (explained by {by})"), Tone::Faint);
            }
            None => {
                line.push(&format!("{:>5}  ", share(finding.confidence)), Tone::Faint);
                let room = paper.width().saturating_sub(line.width());
                line.push(&ended(&finding.sentence, room), Tone::Plain);
            }
        }
        paper.line(&line)?;
    }
    if some.iter().any(|finding| finding.explained_by.is_none()) {
        paper.item("  ", "all of each with `--verbose`")?;
    }
    Ok(())
}

/// The beginning of a sentence, marked as such if something is left out.
fn ended(sentence: &str, room: usize) -> String {
    let mut lines = wrap(sentence, room.saturating_sub(3)).into_iter();
    let first = lines.next().unwrap_or_default();
    if lines.next().is_some() { format!("{first} ..") } else { first }
}

/// No finding at all.
fn nothing(paper: &mut Paper, report: &Report) -> io::Result<()> {
    let none = report.recording.records() == 0;
    let headline = if none { "NO I/O WAS SEEN" } else { "NO FINDING" };
    paper.line(&Line::new().with(headline, Ink::strong(Tone::Accent)))?;
    let text = if none {
        "The inputs hold no request, no average and no histogram, so nothing can be judged."
    } else {
        "Nothing was concluded from what the inputs hold."
    };
    paper.item("", text)
}
