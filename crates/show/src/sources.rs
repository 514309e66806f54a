//! The inputs of a report: source, level of detail, and what was lost, skipped or ignored.

use std::collections::{HashMap, HashSet};
use std::io;

use iowhy_model::{Filter, Recording, Report, Source};

use crate::paint::{Align, Canvas, Cell, Columns, Line, TextStyle, Tone, clean};
use crate::words::{count, level, several};

/// Inputs listed before the rest is only counted.
const LISTED: usize = 20;

/// The table of all inputs, and what was lost in them.
pub(crate) fn inputs(canvas: &mut Canvas, report: &Report) -> io::Result<()> {
    let recording = &report.recording;
    if recording.listings.is_empty() {
        canvas.item("  ", "No known format was found in the input.")?;
    } else {
        table(canvas, recording)?;
    }
    losses(canvas, recording)?;
    unread(canvas, recording)?;
    let listed: HashSet<&str> =
        recording.listings.iter().map(|listing| listing.source.input.as_str()).collect();
    for (input, lines) in &recording.prose {
        if !listed.contains(input.as_str()) {
            let mark = Line::new().with("  ", Tone::Plain);
            let text = format!("{}: {}", file_name(input), prose(*lines));
            canvas.paragraph(&mark, &text, Tone::Faint)?;
        }
    }
    Ok(())
}

/// A row per listing under the name of its input.
fn table(canvas: &mut Canvas, recording: &Recording) -> io::Result<()> {
    let roomy = canvas.width() >= ROOMY;
    let mut heads = vec![("", Align::Left), ("format", Align::Left)];
    if roomy {
        heads.push(("level", Align::Left));
    }
    heads.extend([("records", Align::Right), ("skipped", Align::Right), ("lost", Align::Right)]);
    let records = heads.len() - 3;
    let mut columns = Columns::new(&heads).indent(4).droppable(&[records, 1]);
    let shown = if canvas.style.verbose { usize::MAX } else { LISTED };
    for listing in recording.listings.iter().take(shown) {
        let source = &listing.source;
        let mut cells: Vec<Cell> = vec![
            (stretch(source), Tone::Faint.into()),
            (source.format.clone(), Tone::Accent.into()),
        ];
        if roomy {
            cells.push((level(source.level), Tone::Plain.into()));
        }
        cells.push((count(source.records), TextStyle::default()));
        cells.push(alarm(source.skipped, Tone::Warn));
        cells.push(alarm(source.lost(), Tone::Bad));
        columns.row(cells);
    }
    let lines = columns.lines(canvas.width());
    canvas.lines(lines.get(..1).unwrap_or_default())?;
    let prose_of: HashMap<&str, u64> =
        recording.prose.iter().rev().map(|(of, lines)| (of.as_str(), *lines)).collect();
    let mut input = None;
    for (listing, line) in recording.listings.iter().zip(lines.iter().skip(1)) {
        let name = listing.source.input.as_str();
        if input != Some(name) {
            input = Some(name);
            let room = canvas.width().saturating_sub(2);
            let mut heading = Line::new().with("  ", Tone::Plain);
            heading.push(&shortened(name, room), Tone::Plain);
            if let Some(lines) = prose_of.get(name).filter(|lines| **lines > 0) {
                heading.push(&format!("  {}", prose(*lines)), Tone::Faint);
            }
            canvas.line(&heading)?;
        }
        canvas.line(line)?;
    }
    // The line that names what is hidden follows the rows.
    canvas.lines(lines.get(1 + recording.listings.len().min(shown)..).unwrap_or_default())?;
    let rest = recording.listings.len().saturating_sub(shown);
    if rest > 0 {
        let more = several(rest as u64, "more listing");
        canvas.item("    ", &format!("and {more} with `--verbose`"))?;
    }
    Ok(())
}

/// From this width on the level is in the table.
const ROOMY: usize = 60;

/// The lines of the input that a listing took, if it has lines.
fn stretch(source: &Source) -> String {
    match source.lines {
        Some((first, last)) if first == last => format!("line {first}"),
        Some((first, last)) => format!("lines {first}-{last}"),
        None => String::new(),
    }
}

fn prose(lines: u64) -> String {
    format!("{} ignored", several(lines, "line"))
}

/// What was lost or could not be read, with the first log events; nothing if all went well.
pub(crate) fn losses(canvas: &mut Canvas, recording: &Recording) -> io::Result<()> {
    for listing in &recording.listings {
        let source = &listing.source;
        for loss in &source.losses {
            let mark = Line::new().with("  lost     ", TextStyle::strong(Tone::Bad));
            let text = format!("{} {} ({})", count(loss.count), loss.what, place(source));
            canvas.paragraph(&mark, &text, Tone::Bad)?;
        }
        if source.skipped > 0 {
            let mark = Line::new().with("  skipped  ", TextStyle::strong(Tone::Warn));
            let lines = several(source.skipped, "line");
            let text = format!("{lines} that could not be used ({})", place(source));
            canvas.paragraph(&mark, &text, Tone::Plain)?;
        }
        for note in &source.notes {
            let mark = Line::new().with("  note     ", Tone::Warn);
            let at = match note.line {
                0 => place(source),
                line => format!("{}:{line}", file_name(&source.input)),
            };
            // The quoted line is from the input: its backticks are not markup.
            let quoted = match note.text.trim() {
                "" => String::new(),
                text => format!(" in \"{}\"", text.replace('`', "'")),
            };
            canvas.paragraph(&mark, &format!("{at}: {}{quoted}", note.reason), Tone::Plain)?;
        }
    }
    Ok(())
}

/// Listings that were not read.
fn unread(canvas: &mut Canvas, recording: &Recording) -> io::Result<()> {
    let shown = if canvas.style.verbose { usize::MAX } else { LISTED };
    for unread in recording.unread.iter().take(shown) {
        let mark = Line::new().with("  not read ", TextStyle::strong(Tone::Warn));
        let (first, last) = unread.lines;
        let name = file_name(&unread.input);
        let quoted = unread.text.replace('`', "'");
        let text = format!("{name}:{first}-{last}: {} in \"{quoted}\"", unread.reason);
        canvas.paragraph(&mark, &text, Tone::Plain)?;
    }
    Ok(())
}

/// The same after an empty line, for the end of a view that draws histograms; and how many of
/// them the filter left out.
pub(crate) fn foot(canvas: &mut Canvas, recording: &Recording) -> io::Result<()> {
    let silent = |listing: &iowhy_model::Listing| {
        let source = &listing.source;
        source.losses.is_empty() && source.skipped == 0 && source.notes.is_empty()
    };
    let missing = left_out(recording, &canvas.style.filter);
    if missing == 0 && recording.listings.iter().all(silent) {
        return Ok(());
    }
    canvas.blank()?;
    losses(canvas, recording)?;
    if missing > 0 {
        let mark = Line::new().with("  note     ", Tone::Warn);
        let text = left_out_words(missing);
        canvas.paragraph(&mark, &text, Tone::Plain)?;
    }
    Ok(())
}

/// Histograms left out because the filter needs single I/Os.
pub(crate) fn left_out(recording: &Recording, filter: &Filter) -> u64 {
    iowhy_model::numbers::total(recording.listings.iter().map(|listing| filter.left_out(listing)))
}

/// The same in words.
pub(crate) fn left_out_words(histograms: u64) -> String {
    let histograms = several(histograms, "histogram");
    format!("{histograms} left out: size, process and minimum latency of its I/Os are not known")
}

fn place(source: &Source) -> String {
    format!("{}, {}", file_name(&source.place()), source.format)
}

/// A path without its folders.
pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit('/').find(|part| !part.is_empty()).unwrap_or(path)
}

/// A path in at most `room` letters: its name, and of that the beginning and, more of it, the end.
pub(crate) fn shortened(path: &str, room: usize) -> String {
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

fn alarm(number: u64, tone: Tone) -> Cell {
    let ink = if number > 0 { TextStyle::strong(tone) } else { Tone::Faint.into() };
    (count(number), ink)
}
