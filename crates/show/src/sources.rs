//! The inputs of a report: who spoke, how richly, and what was lost, skipped or left over.

use std::io;

use iowhy_model::{Recording, Report, Source};

use crate::paint::{Align, Cell, Columns, Ink, Line, Paper, Tone, clean};
use crate::words::{count, level, several};

/// Inputs listed before the rest is only counted.
const LISTED: usize = 20;

/// The table of all inputs, and what was lost in them.
pub fn inputs(paper: &mut Paper, report: &Report) -> io::Result<()> {
    let recording = &report.recording;
    if recording.listings.is_empty() {
        return paper.item("  ", "No listing of a known format was read.");
    }
    let unicode = paper.style.unicode;
    let narrow = paper.width() < 60;
    let mut heads = vec![("input", Align::Left), ("format", Align::Left)];
    if !narrow {
        heads.push(("level", Align::Left));
    }
    heads.extend([("records", Align::Right), ("skipped", Align::Right), ("lost", Align::Right)]);
    let mut columns = Columns::new(&heads).indent(2).flexible(0);
    let shown = if paper.style.verbose { usize::MAX } else { LISTED };
    for listing in recording.listings.iter().take(shown) {
        let source = &listing.source;
        let room = paper.width().saturating_sub(if narrow { 36 } else { 58 }).max(14);
        let mut cells: Vec<Cell> = vec![
            (shortened(&source.place(), room), Ink::default()),
            (source.format.clone(), Tone::Accent.into()),
        ];
        if !narrow {
            cells.push((level(source.level), Tone::Plain.into()));
        }
        cells.push((count(source.records, unicode), Ink::default()));
        cells.push(alarm(source.skipped, Tone::Warn, unicode));
        cells.push(alarm(source.lost(), Tone::Bad, unicode));
        columns.row(cells);
    }
    let lines = columns.lines(paper.width());
    paper.lines(&lines)?;
    let rest = recording.listings.len().saturating_sub(shown);
    if rest > 0 {
        paper.item(
            "  ",
            &format!("and {} with `--verbose`", several(rest as u64, "more listing", unicode)),
        )?;
    }
    losses(paper, recording)?;
    prose(paper, recording)
}

/// What was lost or could not be read, with the first complaints; nothing if all went well.
pub fn losses(paper: &mut Paper, recording: &Recording) -> io::Result<()> {
    let unicode = paper.style.unicode;
    for listing in &recording.listings {
        let source = &listing.source;
        for loss in &source.losses {
            let mark = Line::new().with("  lost     ", Ink::strong(Tone::Bad));
            let text = format!("{} {} ({})", count(loss.count, unicode), loss.what, place(source));
            paper.paragraph(&mark, &text, Tone::Bad)?;
        }
        if source.skipped > 0 {
            let mark = Line::new().with("  skipped  ", Ink::strong(Tone::Warn));
            let lines = several(source.skipped, "line", unicode);
            let text = format!("{lines} that could not be used ({})", place(source));
            paper.paragraph(&mark, &text, Tone::Plain)?;
        }
        for note in &source.notes {
            let mark = Line::new().with("  note     ", Tone::Warn);
            let at = match note.line {
                0 => place(source),
                line => format!("{}:{line}", file_name(&source.input)),
            };
            // The quoted line is somebody else's text: its backticks are not ours.
            let quoted = match note.text.trim() {
                "" => String::new(),
                text => format!(" in \"{}\"", text.replace('`', "'")),
            };
            paper.paragraph(&mark, &format!("{at}: {}{quoted}", note.reason), Tone::Plain)?;
        }
    }
    Ok(())
}

/// The same behind an empty line, for the foot of a view.
pub fn foot(paper: &mut Paper, recording: &Recording) -> io::Result<()> {
    let silent = |listing: &iowhy_model::Listing| {
        let source = &listing.source;
        source.losses.is_empty() && source.skipped == 0 && source.notes.is_empty()
    };
    if recording.listings.iter().all(silent) {
        return Ok(());
    }
    paper.blank()?;
    losses(paper, recording)
}

/// Lines that belonged to no listing, by input.
fn prose(paper: &mut Paper, recording: &Recording) -> io::Result<()> {
    let unicode = paper.style.unicode;
    for (input, lines) in recording.prose.iter().filter(|(_, lines)| *lines > 0) {
        let mark = Line::new().with("  prose    ", Tone::Faint);
        let verb = if *lines == 1 { "belongs" } else { "belong" };
        let lines = several(*lines, "line", unicode);
        let text = format!("{lines} of {} {verb} to no listing", file_name(input));
        paper.paragraph(&mark, &text, Tone::Faint)?;
    }
    Ok(())
}

fn place(source: &Source) -> String {
    format!("{}, {}", file_name(&source.place()), source.format)
}

/// A path without its folders.
pub fn file_name(path: &str) -> &str {
    path.rsplit('/').find(|part| !part.is_empty()).unwrap_or(path)
}

/// A path in at most `room` letters: its name, and of that the beginning and, more of it, the end.
pub fn shortened(path: &str, room: usize) -> String {
    let path = clean(path);
    let letters = path.chars().count();
    if letters <= room {
        return path;
    }
    let name = file_name(&path);
    if name.chars().count() <= room {
        return name.to_string();
    }
    let tail = room.saturating_sub(2) * 3 / 5;
    let head = room.saturating_sub(2 + tail);
    let start: String = name.chars().take(head).collect();
    let end: String = name.chars().skip(name.chars().count() - tail).collect();
    format!("{start}..{end}")
}

fn alarm(number: u64, tone: Tone, unicode: bool) -> Cell {
    let ink = if number > 0 { Ink::strong(tone) } else { Tone::Faint.into() };
    (count(number, unicode), ink)
}
