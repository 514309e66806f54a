//! The verdict on one screen: at most [`LINES`] lines at 80 columns, the rest with `--verbose`.

use std::io;

use iowhy_model::{Blame, Evidence, Finding, Forecast, Report};

use super::verdict::{about, accuses, explained};
use crate::paint::{Ink, Line, Paper, Tone};
use crate::sources::{file_name, shortened};
use crate::words::{blame_headline, bound, count, duration, quantity, several, share, sureness};

/// Lines of a verdict: what a terminal of 24 rows shows above its prompt.
pub const LINES: usize = 20;
/// Columns of the labels.
const LABEL: usize = 12;
/// Numbers that decide, next steps and other findings that are shown.
const DECIDE: usize = 3;
const STEPS: usize = 3;
const ALSO: usize = 4;
/// From this width on a number stands with its n, basis and source.
const WIDE: usize = 120;

/// A part of the screen, and how many of its lines stay when room is short.
struct Block {
    lines: Vec<Line>,
    least: usize,
}

/// Draws the first finding, and the others in a line each.
///
/// # Errors
/// What the writer says.
pub fn write(paper: &mut Paper, report: &Report, findings: &[&Finding]) -> io::Result<()> {
    let Some((first, others)) = findings.split_first() else { return Ok(()) };
    let mut blocks = [
        headline(paper, report, first),
        sentence(paper, first),
        confidence(paper, first),
        forecast(paper, first),
        decides(paper, first),
        next(paper, first),
        also(paper, report, others),
        inputs(paper, report),
    ];
    // What is shortened first: other findings, steps, numbers, the forecast, the sentence.
    let mut over =
        blocks.iter().map(|block| block.lines.len()).sum::<usize>().saturating_sub(LINES);
    for place in [6, 5, 4, 3, 1] {
        if let Some(block) = blocks.get_mut(place) {
            over -= block.shorten(over, paper.width());
        }
    }
    blocks.iter().try_for_each(|block| paper.lines(&block.lines))
}

impl Block {
    fn text(lines: Vec<Line>, least: usize) -> Block {
        Block { lines, least }
    }

    /// Gives up to `over` lines away, and says so; how many.
    fn shorten(&mut self, over: usize, width: usize) -> usize {
        let away = over.min(self.lines.len().saturating_sub(self.least));
        self.lines.truncate(self.lines.len() - away);
        if let Some(last) = self.lines.last_mut()
            && away > 0
            && last.width() + 3 <= width
        {
            last.push(" ..", Tone::Faint);
        }
        away
    }
}

/// Who is to blame, the device, and the verdict's name.
fn headline(paper: &Paper, report: &Report, finding: &Finding) -> Block {
    let (blamed, tone) = blame_headline(finding.verdict);
    let mut line = bar(paper, tone).with(blamed, Ink::strong(tone));
    let device = finding.subject.device.and_then(|id| report.recording.devices().get(id.index()));
    let right = finding.verdict.name();
    let room = paper.width().saturating_sub(line.width() + right.chars().count() + 4);
    if let Some(device) = device.filter(|device| !device.name.is_empty() && room > 3) {
        let name = shortened(&device.name, room.saturating_sub(2));
        line.push(&format!(": {name}"), Ink::strong(tone));
    }
    if line.width() + 2 + right.chars().count() <= paper.width() {
        line.pad(paper.width() - right.chars().count());
        line.push(right, Tone::Faint);
    }
    Block::text(vec![line], 1)
}

fn sentence(paper: &Paper, finding: &Finding) -> Block {
    let (_, tone) = blame_headline(finding.verdict);
    let width = paper.width().saturating_sub(2);
    let lines = crate::paint::wrap(&finding.sentence, width);
    Block::text(lines.iter().map(|words| bar(paper, tone).with(words, Tone::Plain)).collect(), 3)
}

fn bar(paper: &Paper, tone: Tone) -> Line {
    Line::new().with(if paper.style.unicode { "▌ " } else { "| " }, tone)
}

/// How sure it is; an answer that is no probability has no percentage.
fn confidence(paper: &Paper, finding: &Finding) -> Block {
    if !is_probability(finding) {
        return Block::text(Vec::new(), 0);
    }
    let mut text = format!("{}, {}", share(finding.confidence), sureness(finding.confidence));
    if accuses(finding) {
        let part = share(finding.explained_share);
        text += &format!("; explains {part} {}", explained(finding));
    }
    labelled(paper, "confidence", &text, 1)
}

/// Whether its confidence is the probability of something: that too little is known is none.
fn is_probability(finding: &Finding) -> bool {
    finding.verdict.blames() != Blame::Unknown
}

fn forecast(paper: &Paper, finding: &Finding) -> Block {
    let Some(forecast) = &finding.forecast else { return Block::text(Vec::new(), 0) };
    labelled(paper, "forecast", &after_the_cure(forecast, paper.style.unicode), 1)
}

/// Latency now and after the cure, in one clause.
pub fn after_the_cure(forecast: &Forecast, unicode: bool) -> String {
    let said = |ns: i64| duration(ns as f64, unicode);
    let arrow = if unicode { "→" } else { "->" };
    let after = match forecast.range {
        Some((from, to)) if !forecast.is_narrow() => {
            format!("{} to {}", said(from.ns()), said(to.ns()))
        }
        _ => said(forecast.mean.ns()),
    };
    let now = said(forecast.now_mean.ns());
    format!("mean latency {now} now {arrow} {after} after the fix, if {}", forecast.assuming)
}

/// The numbers that decide: two that met their threshold and one that describes, or what there is.
fn decides(paper: &Paper, finding: &Finding) -> Block {
    let met = |one: &&Evidence| one.bound.is_some_and(|bound| bound.holds(one.value));
    let all = &finding.evidence;
    let candidates = (all.iter().filter(met).map(|one| (one, DECIDE - 1)))
        .chain(all.iter().filter(|one| one.bound.is_none()).map(|one| (one, DECIDE)))
        .chain(all.iter().map(|one| (one, DECIDE)));
    let mut some: Vec<&Evidence> = Vec::new();
    for (one, most) in candidates {
        if some.len() < most && !some.iter().any(|other| other.quantity == one.quantity) {
            some.push(one);
        }
    }
    let unicode = paper.style.unicode;
    let mut lines = Vec::new();
    for one in some {
        let mut text = format!("{}: {}", one.quantity, quantity(one.value, one.unit, unicode));
        if one.bound.is_some() {
            text += &format!(" (threshold {})", bound(one.bound, one.unit, unicode));
        }
        if paper.width() >= WIDE {
            let n = count(one.n, unicode);
            text += &format!(
                ", n {n}, {}, from {}",
                one.how.word(),
                file_name(&one.origin.to_string())
            );
        }
        let mark = label(if lines.is_empty() { "because" } else { "" });
        lines.extend(paper.wrapped(&mark, &text, Tone::Plain));
    }
    Block::text(lines, 1)
}

fn next(paper: &Paper, finding: &Finding) -> Block {
    let mut lines = Vec::new();
    for (place, step) in finding.next_step.iter().take(STEPS).enumerate() {
        let mark = label(if place == 0 { "next" } else { "" });
        lines.extend(paper.wrapped(&mark, step, Tone::Plain));
    }
    Block::text(lines, 2)
}

/// The other findings that stand, a line each; consequences only count.
fn also(paper: &Paper, report: &Report, others: &[&Finding]) -> Block {
    let mut lines = Vec::new();
    let standing: Vec<&&Finding> =
        others.iter().filter(|finding| finding.explained_by.is_none()).collect();
    let shown = if standing.len() > ALSO { ALSO - 1 } else { ALSO };
    for finding in standing.iter().take(shown) {
        let (_, tone) = blame_headline(finding.verdict);
        let mut line = label(if lines.is_empty() { "also" } else { "" });
        line.push(finding.verdict.name(), tone);
        if is_probability(finding) {
            line.push(&format!(" {}", share(finding.confidence)), Tone::Faint);
        }
        let room = paper.width().saturating_sub(line.width() + 2);
        let device = about(report, finding);
        let text = match finding.sentence.contains(&device) {
            true => finding.sentence.clone(),
            false => format!("{device}: {}", finding.sentence),
        };
        line.push(&format!("  {}", super::ended(&text, room)), Tone::Plain);
        lines.push(line);
    }
    if standing.len() > shown {
        let rest = standing.len() - shown;
        lines.push(label("").with(&format!("and {rest} more with -v"), Tone::Faint));
    }
    Block::text(lines, 1)
}

/// What was read, and what is missing of it, in a line.
fn inputs(paper: &Paper, report: &Report) -> Block {
    let recording = &report.recording;
    let unicode = paper.style.unicode;
    let mut files: Vec<&str> = Vec::new();
    let (mut records, mut skipped, mut lost) = (0, 0, 0);
    for listing in &recording.listings {
        if !files.contains(&listing.source.input.as_str()) {
            files.push(&listing.source.input);
        }
        records += listing.source.records;
        skipped += listing.source.skipped;
        lost += listing.source.lost();
    }
    let name = match files.as_slice() {
        [one] => shortened(file_name(one), 30),
        many => several(many.len() as u64, "input", unicode),
    };
    let mut line = label("inputs");
    line.push(&format!("{name}: {}", several(records, "record", unicode)), Tone::Faint);
    let prose: u64 = recording.prose.iter().map(|(_, lines)| lines).sum();
    let unread = recording.unread.len() as u64;
    let nothing = (skipped + lost + unread == 0).then(|| ", nothing lost".to_string());
    let ignored = (prose > 0).then(|| format!(", {} ignored", several(prose, "line", unicode)));
    let more = Some("; all of it: -v".to_string());
    for text in [nothing, ignored, more].into_iter().flatten() {
        if line.width() + text.chars().count() <= paper.width() {
            line.push(&text, Tone::Faint);
        }
    }
    let mut lines = vec![line];
    if skipped + lost + unread > 0 {
        let mut line = label("missing");
        if unread > 0 {
            let first = recording.unread.first().map_or((0, 0), |unread| unread.lines);
            let listings = several(unread, "listing", unicode);
            let end = if lost + skipped > 0 { ", " } else { "" };
            let text = format!("{listings} not read (lines {}-{}){end}", first.0, first.1);
            line.push(&text, Ink::strong(Tone::Warn));
        }
        if lost > 0 {
            line.push(&format!("{} lost", count(lost, unicode)), Ink::strong(Tone::Bad));
        }
        if skipped > 0 {
            line.push(if lost > 0 { ", " } else { "" }, Tone::Faint);
            let text = format!("{} unreadable", several(skipped, "line", unicode));
            line.push(&text, Ink::strong(Tone::Warn));
        }
        lines.push(line);
    }
    Block { least: lines.len(), lines }
}

fn label(name: &str) -> Line {
    let mut mark = Line::new().with("  ", Tone::Plain).with(name, Tone::Faint);
    mark.pad(LABEL + 2);
    mark
}

fn labelled(paper: &Paper, name: &str, text: &str, least: usize) -> Block {
    Block::text(paper.wrapped(&label(name), text, Tone::Plain), least)
}
