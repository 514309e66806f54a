//! The verdict on one screen: at most [`LINES`] lines at 80 columns, the rest with `--verbose`.

use std::collections::HashSet;
use std::io;

use iowhy_model::Order as _;
use iowhy_model::{
    Evidence, Finding, Forecast, Level, NameTable, Observation, OwnerNames, Recording, Report,
    Requester, Severity, Unit, Verdict, key,
};

use super::verdict::{about, accuses};
use crate::Style;
use crate::device_label;
use crate::paint::{Canvas, Line, TextStyle, Tone, wrap};
use crate::sources::{file_name, shortened};
use crate::words::{
    self, blame_headline, bound, count, duration, explains, impact, quantity, several, share,
    sureness,
};

/// Lines of a verdict: what a terminal of 24 rows shows above its prompt.
pub(super) const LINES: usize = 20;
/// Columns of the labels.
const LABEL: usize = 12;
/// Numbers that decide, next steps and other findings that are shown.
const DECIDE: usize = 3;
const STEPS: usize = 3;
const ALSO: usize = 4;
const WHO: usize = 3;
/// Columns below which a clause cannot be read.
const SHORTEST: usize = 12;
/// From this width on all numbers and refutations are in a separate column on the right.
const TWO_COLUMNS: usize = 150;
/// Columns of the left one then: lines longer than this are hard to read.
const LEFT: usize = 96;
/// From this width on a number has its n, basis and source.
const WIDE: usize = 120;

/// A part of the screen, and how many of its lines stay when room is short.
struct Block {
    lines: Vec<Line>,
    least: usize,
    /// After how many lines an item ends: what is left out there cuts no sentence.
    ends: Vec<usize>,
}

/// Draws the first finding, and the others in a line each.
///
/// # Errors
/// If the writer fails.
pub(super) fn write(canvas: &mut Canvas, report: &Report, findings: &[&Finding]) -> io::Result<()> {
    let Some((first, others)) = findings.split_first() else { return Ok(()) };
    if canvas.width() < TWO_COLUMNS {
        let lines = column(canvas, report, first, others);
        return canvas.lines(&lines);
    }
    let (mut none, mut nowhere) = (io::sink(), io::sink());
    let left_style = Style { width: LEFT, ..canvas.style.clone() };
    let right_style = Style { width: canvas.width() - LEFT - 3, ..canvas.style.clone() };
    let left = column(&Canvas::new(&left_style, &mut none), report, first, others);
    let right = behind(&Canvas::new(&right_style, &mut nowhere), first);
    let rule = if canvas.style.unicode { " │ " } else { " | " };
    for place in 0..left.len().max(right.len().min(LINES)) {
        let mut line = left.get(place).cloned().unwrap_or_default();
        line.pad(LEFT);
        line.push(rule, Tone::Faint);
        line.append(right.get(place).cloned().unwrap_or_default());
        canvas.line(&line)?;
    }
    Ok(())
}

/// The lines of the screen, from the headline down to the inputs.
fn column(canvas: &Canvas, report: &Report, first: &Finding, others: &[&Finding]) -> Vec<Line> {
    let mut blocks = [
        headline(canvas, report, first),
        sentence(canvas, first),
        names(canvas, report, first),
        cost(canvas, first),
        confidence(canvas, first),
        forecast(canvas, first),
        who(canvas, report, first),
        decides(canvas, first, others),
        next(canvas, first, others),
        refuted(canvas, first),
        also(canvas, report, first, others),
        not_seen(canvas, report),
        inputs(canvas, report),
    ];
    // What is shortened first: other findings, steps, numbers, the forecast, refutation, sentence.
    // Whole items go before any sentence is cut.
    let lines = |blocks: &[Block]| blocks.iter().map(|block| block.lines.len()).sum::<usize>();
    let mut over = lines(&blocks).saturating_sub(LINES);
    for place in [10, 8, 7] {
        if let Some(block) = blocks.get_mut(place) {
            over = over.saturating_sub(block.leave_out(over));
        }
    }
    for place in [10, 8, 9, 7, 5, 6, 11, 1] {
        if let Some(block) = blocks.get_mut(place) {
            over -= block.shorten(over, canvas.width());
        }
    }
    blocks.into_iter().flat_map(|block| block.lines).collect()
}

impl Block {
    fn text(lines: Vec<Line>, least: usize) -> Block {
        Block { lines, least, ends: Vec::new() }
    }

    fn none() -> Block {
        Block::text(Vec::new(), 0)
    }

    /// Leaves out its last items, but not the first, to save `over` lines; how many it saves.
    fn leave_out(&mut self, over: usize) -> usize {
        let mut away = 0;
        while away < over && self.ends.len() > 1 {
            self.ends.pop();
            let left = self.ends.last().copied().unwrap_or(0);
            away += self.lines.len().saturating_sub(left);
            self.lines.truncate(left);
        }
        away
    }

    /// Gives up to `over` lines away, and shows it; how many.
    fn shorten(&mut self, over: usize, width: usize) -> usize {
        let away = over.min(self.lines.len().saturating_sub(self.least));
        self.lines.truncate(self.lines.len() - away);
        let is_whole = self.ends.contains(&self.lines.len());
        if let Some(last) = self.lines.last_mut()
            && away > 0
            && !last.ends_with(" ..")
            && (!is_whole || last.width() + 3 <= width)
        {
            last.shorten(width.saturating_sub(3));
            last.push(" ..", Tone::Faint);
        }
        away
    }
}

/// How severe it is, and the verdict's name.
fn headline_end(finding: &Finding) -> String {
    match severity(finding) {
        Some(severity) => format!("{}, {}", severity.word(), finding.verdict),
        None => finding.verdict.to_string(),
    }
}

/// The device with as many of its names as the headline has room for; empty if there is none.
fn headline_name(canvas: &Canvas, report: &Report, finding: &Finding, table: &NameTable) -> String {
    let blame = bar(canvas, Tone::Plain).width() + blame_headline(finding).chars().count();
    let room = canvas.width().saturating_sub(blame + headline_end(finding).chars().count() + 4);
    let device = finding.subject.device.and_then(|id| report.recording.devices().get(id.index()));
    match device.filter(|device| !device.name.is_empty() && room > 3) {
        Some(device) => device_label::fitted(table, &device.name, room.saturating_sub(2)),
        None => String::new(),
    }
}

/// The blame, the device, the severity, and the verdict's name.
fn headline(canvas: &Canvas, report: &Report, finding: &Finding) -> Block {
    let tone = words::tone(finding);
    let mut line = bar(canvas, tone).with(blame_headline(finding), TextStyle::strong(tone));
    let right = headline_end(finding);
    let name = headline_name(canvas, report, finding, &NameTable::of(&report.recording));
    if !name.is_empty() {
        line.push(&format!(": {name}"), TextStyle::strong(tone));
    }
    if line.width() + 2 + right.chars().count() <= canvas.width() {
        line.pad(canvas.width() - right.chars().count());
        line.push(&right, Tone::Faint);
        return Block::text(vec![line], 1);
    }
    Block::text(vec![line, bar(canvas, tone).with(&right, Tone::Faint)], 2)
}

/// All names of the device, where the headline has no room for them, or not for the whole of one.
fn names(canvas: &Canvas, report: &Report, finding: &Finding) -> Block {
    let device = finding.subject.device.and_then(|id| report.recording.devices().get(id.index()));
    let Some(device) = device else { return Block::none() };
    let table = NameTable::of(&report.recording);
    let label = device_label::label(&table, &device.name);
    if label.is_empty() || headline_name(canvas, report, finding, &table).contains(&label) {
        return Block::none();
    }
    labelled(canvas, "device", &label, 1)
}

/// How severe an accusation is.
fn severity(finding: &Finding) -> Option<Severity> {
    finding.severity().filter(|_| accuses(finding))
}

fn sentence(canvas: &Canvas, finding: &Finding) -> Block {
    let width = canvas.width().saturating_sub(2);
    let lines = wrap(&finding.sentence, width);
    let bar = bar(canvas, words::tone(finding));
    Block::text(lines.iter().map(|words| bar.clone().with(words, Tone::Plain)).collect(), 3)
}

fn bar(canvas: &Canvas, tone: Tone) -> Line {
    Line::new().with(if canvas.style.unicode { "▌ " } else { "| " }, tone)
}

/// The impact: the numbers that determine the severity.
fn cost(canvas: &Canvas, finding: &Finding) -> Block {
    let text = match &finding.impact {
        Some(known) => impact(known),
        None if accuses(finding) && finding.subject.device.is_some() => {
            "not measured: the input has no latency of this device".to_string()
        }
        None => return Block::none(),
    };
    labelled(canvas, "impact", &text, 1)
}

/// The confidence; an answer that is not a probability has no percentage.
fn confidence(canvas: &Canvas, finding: &Finding) -> Block {
    if !finding.is_probability() {
        return Block::none();
    }
    let mut text = format!("{}, {}", share(finding.confidence()), sureness(finding.confidence()));
    if let Some(of) = explains(finding) {
        text += &format!("; explains {} of {of}", share(finding.explained_share));
    }
    labelled(canvas, "confidence", &text, 1)
}

fn forecast(canvas: &Canvas, finding: &Finding) -> Block {
    let Some(forecast) = &finding.forecast else { return Block::none() };
    labelled(canvas, "forecast", &after_the_cure(forecast, canvas.style.unicode), 1)
}

/// Latency now and after the cure, in one clause.
pub(super) fn after_the_cure(forecast: &Forecast, unicode: bool) -> String {
    let message = |ns: i64| duration(ns as f64);
    let arrow = if unicode { "→" } else { "->" };
    let after = match forecast.range {
        Some((from, to)) if !forecast.is_narrow() => {
            format!("{} to {}", message(from.ns()), message(to.ns()))
        }
        _ => message(forecast.mean.ns()),
    };
    let now = message(forecast.now_mean.ns());
    format!("mean latency {now} now {arrow} {after} after the fix, if {}", forecast.assuming)
}

/// Who waited for the device, with shares of the time.
fn who(canvas: &Canvas, report: &Report, finding: &Finding) -> Block {
    let owners = OwnerNames::of(&report.recording);
    let message = |one: &Requester| {
        let name = one.program.as_deref().or(one.cgroup.as_deref())?;
        let pid = one.pid.map(|pid| format!("pid {pid}"));
        let owner = one.cgroup.as_deref().and_then(|cgroup| owners.words(cgroup));
        let who: Vec<String> = pid.into_iter().chain(owner).collect();
        let who = if who.is_empty() { String::new() } else { format!(" ({})", who.join(", ")) };
        let file = one.file.as_deref().map_or(String::new(), |file| format!(" on {file}"));
        let journal = words::by_journal(one);
        Some(format!("{name}{who} {}{file}{journal}", share(one.share)))
    };
    let some: Vec<String> = finding.requesters.iter().filter_map(message).take(WHO).collect();
    if some.is_empty() {
        return Block::none();
    }
    labelled(canvas, "who waits", &some.join(", "), 0)
}

/// The numbers that decide: two that met their threshold and one that describes, or what there is.
/// A number that a reader can see for himself comes before a statistic.
fn decides(canvas: &Canvas, finding: &Finding, others: &[&Finding]) -> Block {
    let met = |one: &&Evidence| one.bound.is_some_and(|bound| bound.holds(one.amount.value));
    let plain = |one: &&Evidence| !matches!(one.amount.unit, Unit::Sigma | Unit::Nats);
    let all = &finding.evidence;
    let candidates = (all.iter().filter(met).filter(plain).map(|one| (one, DECIDE - 1)))
        .chain(all.iter().filter(met).map(|one| (one, 1)))
        .chain(all.iter().filter(|one| one.bound.is_none()).map(|one| (one, DECIDE)))
        .chain(all.iter().map(|one| (one, DECIDE)));
    let mut some: Vec<&Evidence> = Vec::new();
    for (one, most) in candidates {
        if some.len() < most && !some.iter().any(|other| other.quantity == one.quantity) {
            some.push(one);
        }
    }
    // The plain fact comes before the statistic.
    some.order_by_key(|one| !plain(one));
    let name = if finding.is_probability() { "because" } else { "seen" };
    let mut lines = Vec::new();
    // The subject of the sentence is evidence as well.
    let reported = |one: &Observation| finding.evidence.first() == Some(&one.evidence);
    let mut untold: Vec<&Observation> = finding.seen.iter().filter(|one| !reported(one)).collect();
    let mut ends = Vec::new();
    // The sentence has the causes that are not certain enough, and what speaks for them.
    let suspected = suspicions(finding, others);
    untold.retain(|one| !suspected.iter().any(|known| one.verdict == Some(known.verdict)));
    if !untold.is_empty() {
        for one in untold.into_iter().take(DECIDE) {
            let mark = label(if lines.is_empty() { name } else { "" });
            let text = format!("{}: {}", number(canvas, &one.evidence), one.would_mean);
            lines.extend(canvas.wrapped(&mark, &text, Tone::Plain));
            ends.push(lines.len());
        }
        return Block { ends, ..Block::text(lines, 1) };
    }
    for one in some {
        let mark = label(if lines.is_empty() { name } else { "" });
        lines.extend(canvas.wrapped(&mark, &number(canvas, one), Tone::Plain));
        ends.push(lines.len());
    }
    Block { ends, ..Block::text(lines, 1) }
}

/// A number with its threshold; where there is room with its n, basis and source.
fn number(canvas: &Canvas, one: &Evidence) -> String {
    let mut text = format!("{}: {}", one.quantity, quantity(one.amount.value, one.amount.unit));
    if one.bound.is_some() {
        text += &format!(" (threshold {})", bound(one.bound, one.amount.unit));
    }
    if canvas.width() >= WIDE {
        let (n, origin) = (count(one.n), one.origin.to_string());
        text += &format!(", n {n}, {}, from {}", one.how.word(), file_name(&origin));
    }
    text
}

/// What a wide screen shows beside it: all numbers, and all that would refute it.
fn behind(canvas: &Canvas, finding: &Finding) -> Vec<Line> {
    let mut lines = vec![Line::new().with("Evidence", TextStyle::strong(Tone::Accent))];
    let mut refuted = Vec::new();
    for text in &finding.refuted_by {
        refuted.extend(canvas.wrapped(&Line::new().with("  - ", Tone::Faint), text, Tone::Plain));
    }
    let room = LINES.saturating_sub(refuted.len() + 3);
    for one in &finding.evidence {
        let mut text = format!("{}: {}", one.quantity, quantity(one.amount.value, one.amount.unit));
        if one.bound.is_some() {
            text += &format!(" (threshold {})", bound(one.bound, one.amount.unit));
        }
        let (n, origin) = (count(one.n), one.origin.to_string());
        text += &format!(", n {n}, {}, {}", one.how.word(), file_name(&origin));
        let mark = Line::new().with("  ", Tone::Plain);
        let number = canvas.wrapped(&mark, &text, Tone::Plain);
        if lines.len() + number.len() > room {
            lines.push(Line::new().with("  more with -v", Tone::Faint));
            break;
        }
        lines.extend(number);
    }
    if !refuted.is_empty() {
        lines.push(Line::new());
        lines.push(Line::new().with("What would refute it", TextStyle::strong(Tone::Accent)));
        lines.extend(refuted);
    }
    lines
}

/// Without a verdict: the causes that are not certain enough, of which its sentence names two.
fn suspicions<'a>(first: &Finding, others: &[&'a Finding]) -> Vec<&'a Finding> {
    let is_open = first.verdict == Verdict::Insufficient;
    let is_seen = |of: &Finding| first.seen.iter().any(|one| one.verdict == Some(of.verdict));
    let suspected = |one: &&&Finding| one.is_probability() && !one.stands() && is_seen(one);
    others.iter().filter(|_| is_open).filter(suspected).copied().collect()
}

fn next(canvas: &Canvas, finding: &Finding, others: &[&Finding]) -> Block {
    let (mut lines, mut ends) = (Vec::new(), Vec::new());
    // Of causes that are not certain enough, one step decides.
    let most = if suspicions(finding, others).is_empty() { STEPS } else { 1 };
    for (place, step) in finding.next_step.iter().take(most).enumerate() {
        let mark = label(if place == 0 { "next" } else { "" });
        lines.extend(canvas.wrapped(&mark, step, Tone::Plain));
        ends.push(lines.len());
    }
    Block { ends, ..Block::text(lines, 2) }
}

/// What would change the answer; on a wide screen it is in the column on the right.
fn refuted(canvas: &Canvas, finding: &Finding) -> Block {
    match finding.refuted_by.first() {
        Some(first) if finding.is_probability() => labelled(canvas, "wrong if", first, 1),
        _ => Block::none(),
    }
}

/// The other valid findings, one line each; consequences only count.
fn also(canvas: &Canvas, report: &Report, first: &Finding, others: &[&Finding]) -> Block {
    let mut lines = Vec::new();
    let suspected = suspicions(first, others);
    let is_told = |one: &Finding| suspected.iter().any(|known| std::ptr::eq(*known, one));
    let standing: Vec<&&Finding> = others
        .iter()
        .filter(|finding| finding.explained_by.is_none() && !is_told(finding))
        .collect();
    let shown = if standing.len() > ALSO { ALSO - 1 } else { ALSO };
    for finding in standing.iter().take(shown) {
        let mut line = label(if lines.is_empty() { "also" } else { "" });
        line.push(finding.verdict.name(), words::tone(finding));
        if finding.is_probability() {
            line.push(&format!(" {}", share(finding.confidence())), Tone::Faint);
        }
        let room = canvas.width().saturating_sub(line.width() + 2);
        let device = about(report, finding);
        let text = match finding.sentence.contains(&device) {
            true => words::clauses(&finding.sentence, room),
            false => match room.saturating_sub(device.chars().count() + 2) {
                left if left < SHORTEST => {
                    words::ended(&format!("{device}: {}", finding.sentence), room)
                }
                left => format!("{device}: {}", words::clauses(&finding.sentence, left)),
            },
        };
        line.push(&format!("  {text}"), Tone::Plain);
        lines.push(line);
    }
    if standing.len() > shown {
        let rest = standing.len() - shown;
        lines.push(label("").with(&format!("and {rest} more with -v"), Tone::Faint));
    }
    Block { ends: (1..=lines.len()).collect(), ..Block::text(lines, 1) }
}

/// What no input of this run could have shown.
fn not_seen(canvas: &Canvas, report: &Report) -> Block {
    let missing = missing(&report.recording);
    match missing.as_slice() {
        [] => Block::none(),
        some => labelled(canvas, "not seen", &some.join(", "), 0),
    }
}

fn missing(recording: &Recording) -> Vec<String> {
    let listings = &recording.listings;
    let facts = || listings.iter().flat_map(|listing| &listing.facts);
    let under = |part: &str| facts().any(|fact| fact.key.is_under(part));
    let measured = |listing: &&iowhy_model::Listing| {
        !listing.events.is_empty()
            || !listing.intervals.is_empty()
            || !listing.distributions.is_empty()
    };
    let any = listings.iter().any(|listing| measured(&listing));
    let single = listings.iter().any(|listing| {
        !listing.events.is_empty() || listing.folded > 0 || listing.source.level >= Level::C
    });
    let queue = listings.iter().filter(measured).any(|listing| listing.source.sees_queue);
    let known = [
        (!any, "any latency"),
        (any && !single, "individual I/Os"),
        (any && !queue, "time in the host's queue"),
        (!under("smart"), "drive health (SMART)"),
        (!under("kernel"), "kernel log"),
    ];
    let known = known.into_iter().filter(|(is, _)| *is);
    let mut missing: Vec<String> = known.map(|(_, what)| what.to_string()).collect();
    for fact in facts() {
        if let Some(what) = fact.key.member_of(key::UNSEEN)
            && let Some(why) = fact.value.text()
        {
            let stated = format!("{what} ({why})");
            if !missing.contains(&stated) {
                missing.push(stated);
            }
        }
    }
    missing
}

/// What was read, and what is missing of it, in a line.
fn inputs(canvas: &Canvas, report: &Report) -> Block {
    let recording = &report.recording;
    let mut files: HashSet<&str> = HashSet::new();
    let (mut records, mut skipped, mut lost) = (0, 0, 0);
    for listing in &recording.listings {
        files.insert(&listing.source.input);
        records += listing.source.records;
        skipped += listing.source.skipped;
        lost += listing.source.lost();
    }
    let name = match (files.len(), files.iter().next()) {
        (1, Some(one)) => shortened(file_name(one), 30),
        (many, _) => several(many as u64, "input"),
    };
    let mut line = label("inputs");
    line.push(&format!("{name}: {}", several(records, "record")), Tone::Faint);
    let prose: u64 = recording.prose.iter().map(|(_, lines)| lines).sum();
    let unread = recording.unread.len() as u64;
    let first = recording.unread.first().map_or((0, 0), |unread| unread.lines);
    let bad =
        TextStyle::strong(if lost.saturating_mul(100) > records { Tone::Bad } else { Tone::Warn });
    let warn = TextStyle::strong(Tone::Warn);
    let listings = several(unread, "listing");
    let parts = [
        (lost > 0, format!("{} lost", count(lost)), bad),
        (unread > 0, format!("{listings} not read (line {})", first.0), warn),
        (skipped > 0, format!("{} unreadable", several(skipped, "line")), warn),
        (skipped + lost + unread == 0, "nothing lost".to_string(), Tone::Faint.into()),
        (prose > 0, format!("{} ignored", several(prose, "line")), Tone::Faint.into()),
        (true, "more with -v".to_string(), Tone::Faint.into()),
    ];
    for (_, text, ink) in parts.into_iter().filter(|(is, _, _)| *is) {
        if line.width() + 2 + text.chars().count() <= canvas.width() {
            line.push(", ", Tone::Faint);
            line.push(&text, ink);
        }
    }
    Block::text(vec![line], 1)
}

fn label(name: &str) -> Line {
    let mut mark = Line::new().with("  ", Tone::Plain).with(name, Tone::Faint);
    mark.pad(LABEL + 2);
    mark
}

fn labelled(canvas: &Canvas, name: &str, text: &str, least: usize) -> Block {
    Block::text(canvas.wrapped(&label(name), text, Tone::Plain), least)
}
