//! Walks an input once and finds each listing in it, wherever it is.
//!
//! Outside a listing every line is offered to all formats, as it is and without what may have been
//! put around it ([`Wrapping`]); the one that answers yes reads from there. Inside a listing its
//! reader gets each line first; lines that it does not consume are prose unless another format
//! claims them. After prose a new heading begins a new listing, even of the same format: two
//! screens in one document are two clocks.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::io::BufRead;

use iowhy_model::{HostName, Note, Recording, Sink, Source, Unread, typed};

use crate::facts::AddFact;
use crate::index::{Among, Index};
use crate::listing::missing;
use crate::text::damage::{
    BEFORE, BROKEN, CUT, begins_row, is_broken, is_half, is_prompt, lacks_decimals,
};
use crate::text::encoding::{DecodedInput, fill};
use crate::text::guest;
use crate::text::letters::{first_letters, script_of_digits};
use crate::text::lines::{LINE_LIMIT, Line, Lines, NOTE_TEXT};
use crate::text::machines::{Speaker, host_of_log, speaker};
use crate::text::repair::{self, Shapes};
use crate::text::unread::Rows;
use crate::text::wrapping::{Wrapping, opens_page};
use crate::unsupported::{Unsupported, unsupported};
use crate::{Detect, Error, Format, Formats, Reader, Scan, Step};

/// Most lines a format may ask for before it decides.
const HEAD_LIMIT: usize = 16;
/// Lines of prose above a listing that its reader is shown, and how much of each.
const ABOVE: usize = 3;
const ABOVE_TEXT: usize = 200;
/// First lines of a listing, and bytes of each, that are shown to a reader that is to say whether
/// it would accept another line.
const HEAD_KEPT: usize = 24;
const HEAD_TEXT: usize = 1024;
/// The cost of testing a line, in bytes.
const ASKING: usize = 256;
/// Hosts of a log whose listings are kept open side by side.
const HOSTS_OPEN: usize = 64;
/// Lines kept that would begin a listing if they had a number where they have none.
const FIRST_LINES: usize = 20;

/// Reads all of `reader`, named `input` in messages, into `sink`; with a format named in `formats`,
/// every line is given to that one without asking.
///
/// # Errors
/// [`Error::Empty`] and [`Error::Nothing`] if no listing was found; [`Error::Broken`] if the
/// input cannot be read on. In each case the sink holds what was read before.
pub fn scan(
    input: &str,
    reader: &mut dyn BufRead,
    formats: impl Into<Formats>,
    sink: &mut dyn Sink,
) -> Result<Scan, Error> {
    let Formats { own, only } = formats.into();
    let own = Index::of(own);
    let broken = |cause, line, byte| Error::Broken { input: input.to_string(), line, byte, cause };
    let known = unsupported(fill(reader).map_err(|cause| broken(cause, 1, 0))?);
    if let Some(Unsupported { what, instead, .. }) = known.filter(|known| known.is_no_text())
        && only.is_none()
    {
        return Err(Error::Unsupported { input: input.to_string(), what, instead });
    }
    let mut decoded = DecodedInput::of(reader).map_err(|cause| broken(cause, 1, 0))?;
    let mut scanner = Scanner {
        input,
        lines: Lines::new(&mut decoded),
        own: &own,
        only,
        open: None,
        machine: None,
        parked: Vec::new(),
        sniffed: None,
        page: false,
        broken: 0,
        unusable: None,
        rows: Rows::default(),
        half: None,
        above: Vec::new(),
        guest: None,
        head: Vec::new(),
        blank: false,
        shapes: Shapes::default(),
        first: Vec::new(),
        asked: 0,
        joined: 0,
        unsettled: Vec::new(),
        even: 0,
        scan: Scan::default(),
    };
    let outcome = scanner.run(sink);
    scanner.close_all(sink);
    scanner.rows.end(input, sink);
    scanner.not_started(sink);
    let (unusable, rows) = (scanner.unusable.take(), std::mem::take(&mut scanner.rows));
    let scan = Scan { lines: scanner.lines.number, bytes: scanner.lines.bytes, ..scanner.scan };
    if let Err(cause) = outcome {
        return Err(broken(cause, scan.lines + 1, scan.bytes));
    }
    match scan {
        Scan { listings: 0, bytes: 0, .. } => Err(Error::Empty { input: input.to_string() }),
        Scan { listings: 0, .. } if unusable.is_some() => {
            let (format, missing) = unusable.unwrap_or_default();
            Err(Error::Unusable { input: input.to_string(), format, missing })
        }
        Scan { listings: 0, .. } if known.is_some() => {
            let (what, instead) = known.map(|it| (it.what, it.instead)).unwrap_or_default();
            Err(Error::Unsupported { input: input.to_string(), what, instead })
        }
        Scan { listings: 0, lines, .. } => {
            let stated = rows.only_prose(input, sink);
            Err(Error::Nothing { input: input.to_string(), lines, stated })
        }
        _ => Ok(scan),
    }
}

struct Scanner<'a> {
    input: &'a str,
    lines: Lines<'a>,
    /// The formats of the user.
    own: &'a Index,
    only: Option<&'static Format>,
    open: Option<OpenListing>,
    /// The machine whose prompt or banner was read last.
    machine: Option<HostName>,
    /// The listings of a log's other hosts, by their numbers.
    parked: Vec<(HostName, OpenListing)>,
    /// The line sniffed last, by its number, and the answer.
    sniffed: Option<(u64, Option<ListingStart>)>,
    /// Whether the input is a page of HTML.
    page: bool,
    /// Broken lines since the last listing.
    broken: u64,
    /// The first recognised format without records, and what is missing.
    unusable: Option<(&'static str, String)>,
    /// Lines outside any listing that look like rows of one.
    rows: Rows,
    /// The note on the last line of the input, if it has no line end and is in a listing.
    half: Option<Note>,
    /// The last lines of prose since the last listing.
    above: Vec<String>,
    /// The hypervisor of the machine, if a sentence since the last listing names it.
    guest: Option<&'static str>,
    /// The first lines that the open listing took.
    head: Vec<String>,
    /// Whether a blank line followed the last line of the open listing.
    blank: bool,
    /// What the rows of the open listing look like.
    shapes: Shapes,
    /// Lines that would begin a listing of that format if they had a number where they have none.
    first: Vec<(&'static Format, Note)>,
    /// Bytes of lines that were tried.
    asked: usize,
    /// Bytes of lines that were tried with the next one.
    joined: usize,
    /// Up to which line no line settled it for a format that may be shown many at once.
    unsettled: Vec<(&'static str, u64)>,
    /// The line up to which the lines ahead have nothing odd in place of a number.
    even: u64,
    scan: Scan,
}

/// A listing that begins at a line.
#[derive(Clone)]
struct ListingStart {
    format: &'static Format,
    wrapping: Wrapping,
}

/// The listing being read.
struct OpenListing {
    /// Its number in the sink.
    number: usize,
    format: &'static Format,
    reader: Box<dyn Reader>,
    /// What its lines are wrapped in.
    wrapping: Wrapping,
    /// Whether prose followed its last line.
    prose_since: bool,
    /// Nothing but blank lines since the last prose.
    behind_prose: bool,
}

impl Scanner<'_> {
    fn run(&mut self, sink: &mut dyn Sink) -> std::io::Result<()> {
        while let Some(line) = self.lines.next()? {
            self.hear(line, sink);
            if !self.continues(line, sink)? {
                match self.sniff(line)? {
                    // Nothing begins at an empty line.
                    None if self.lines.text(line).trim().is_empty() => self.prose(line, sink),
                    Some(begins) => {
                        self.rows.end(self.input, sink);
                        self.begin(begins, line, sink)?;
                    }
                    None => match self.begins_otherwise(line)? {
                        Some((begins, line)) => {
                            self.rows.end(self.input, sink);
                            self.begin(begins, line, sink)?;
                        }
                        None if self.would_begin(line)? => {}
                        None => self.prose(line, sink),
                    },
                }
            }
            self.block(sink);
        }
        Ok(())
    }

    /// Changes to the machine that a line is of: a listing is of one.
    fn hear(&mut self, line: Line, sink: &mut dyn Sink) {
        let text = self.lines.text(line);
        let own = self.open.as_ref().and_then(|_| sink.source().machine.as_ref());
        // Most lines of a log are of the host of the line before.
        let is_own = |host: &str| own.is_some_and(|own| own.in_log && own.is_called(host));
        if host_of_log(&text).is_some_and(is_own) {
            return;
        }
        let Some(speaker) = speaker(&text) else { return };
        let own = own.cloned();
        match speaker {
            Speaker::Session(host) => {
                let is_other = |own: &HostName| host.as_ref().is_none_or(|host| !host.is(own));
                if own.as_ref().is_some_and(is_other) {
                    self.close_all(sink);
                }
                self.machine = host;
            }
            Speaker::Log(host) => {
                let is_log = own.as_ref().is_some_and(|own| own.in_log);
                if self.open.is_some() && !is_log || own.is_some_and(|own| own.is(&host)) {
                    return;
                }
                self.park(sink);
                let known = self.parked.iter().position(|(other, _)| other.is(&host));
                if let Some((_, open)) = known.map(|place| self.parked.swap_remove(place)) {
                    sink.resume(open.number);
                    self.open = Some(open);
                }
            }
        }
    }

    /// Keeps the open listing for when its host speaks again.
    fn park(&mut self, sink: &mut dyn Sink) {
        if self.parked.len() >= HOSTS_OPEN {
            return self.close(sink);
        }
        if let Some(open) = self.open.take()
            && let Some(host) = sink.source().machine.clone()
        {
            self.parked.push((host, open));
        }
        self.shapes = Shapes::default();
        self.head.clear();
    }

    /// Offers the open listing all that has been read of the input, if it can take it at once.
    fn block(&mut self, sink: &mut dyn Sink) {
        let plain = |open: &&mut OpenListing| !open.prose_since && open.wrapping.is_none();
        let Some(open) = self.open.as_mut().filter(plain) else { return };
        let block = self.lines.block();
        let taken = open.reader.block(block, sink);
        if taken.lines > 0 {
            let mut lines =
                block.get(..taken.bytes).unwrap_or_default().split(|byte| *byte == b'\n');
            let first = lines.next();
            for line in first.into_iter().chain(lines.rev().nth(1)) {
                self.shapes.took(&String::from_utf8_lossy(line), sink);
            }
            self.lines.skip(taken);
            extend(sink, self.lines.number);
        }
    }

    /// Offers a line to the open listing; false if it may begin another one.
    fn continues(&mut self, line: Line, sink: &mut dyn Sink) -> std::io::Result<bool> {
        let Some(open) = &self.open else { return Ok(false) };
        let ours = open.format.may_resume().then_some(open.format.name);
        // The two are quoted differently.
        let other = !open.wrapping.is_none() && !open.wrapping.stands(&self.lines.text(line));
        if (open.prose_since || other)
            && let Some(begins) = self.sniff(line)?
            && (ours != Some(begins.format.name) || other)
            && !self.claims_row(&begins, line)
        {
            self.close(sink);
            return Ok(false);
        }
        let Some(open) = &mut self.open else { return Ok(false) };
        let mut was_reported = 0;
        let step = if line.cut {
            Step::Malformed(format!("the line is longer than {LINE_LIMIT} bytes"))
        } else {
            was_reported = reported(sink);
            sink.source().line = line.number;
            let text = self.lines.text(line);
            let foreign = script_of_digits(&text).map(foreign_digits);
            match open.reader.line(&open.wrapping.off(text), sink) {
                Step::Malformed(reason) => Step::Malformed(foreign.unwrap_or(reason)),
                Step::NotMine => foreign.map_or(Step::NotMine, Step::Malformed),
                step => step,
            }
        };
        match step {
            Step::Consumed => {
                // A blank line after prose is no more of the listing than the prose.
                let behind = open.prose_since || open.behind_prose;
                open.behind_prose = behind && self.lines.text(line).trim().is_empty();
                open.prose_since = false;
                if !open.behind_prose {
                    extend(sink, line.number);
                }
                self.took(line, sink);
            }
            Step::Malformed(reason) => {
                extend(sink, line.number);
                // A reader that knows its columns has reported its device.
                if reported(sink) == was_reported {
                    repair::skip(self.whole_note(line, reason), sink);
                } else {
                    sink.skip(self.note(line, reason));
                }
            }
            Step::NotMine => {
                if self.sniff(line)?.is_some() {
                    self.close(sink);
                    return Ok(false);
                }
                if let Some((begins, whole)) = self.begins_broken(line)? {
                    if ours != Some(begins.format.name) {
                        self.close(sink);
                        self.begin(begins, whole, sink)?;
                    } else if !self.takes_whole(whole, sink) {
                        self.prose(whole, sink);
                    }
                } else if !self.lost(line, sink)? {
                    self.prose(line, sink);
                }
            }
            Step::End => {
                let ended = self.sniff(line)?.is_none() && self.lost(line, sink)?;
                self.close(sink);
                return Ok(ended);
            }
        }
        Ok(true)
    }

    /// Offers the open listing a line of its own that was broken; false if it is not.
    fn takes_whole(&mut self, whole: Line, sink: &mut dyn Sink) -> bool {
        let Some(open) = &mut self.open else { return false };
        let text = open.wrapping.off(self.lines.text(whole));
        match open.reader.line(&text, sink) {
            Step::Consumed => {
                (open.prose_since, open.behind_prose) = (false, false);
                self.took(whole, sink);
            }
            Step::Malformed(reason) => repair::skip(self.whole_note(whole, reason), sink),
            Step::NotMine | Step::End => return false,
        }
        extend(sink, whole.number);
        true
    }

    /// Whether a line that the open listing did not take is a row of it with something odd for a
    /// number: then it is lost, which is reported.
    fn lost(&mut self, line: Line, sink: &mut dyn Sink) -> std::io::Result<bool> {
        let Some(open) = &self.open else { return Ok(false) };
        let name = open.format.name;
        let text = open.wrapping.off(self.lines.text(line)).into_owned();
        let note = self.whole_note(line, String::new());
        let mut lost = self.shapes.lost(&text, note);
        if lost.is_none()
            && let Some((format, note)) = self.repaired(line)?
            && format.name == name
        {
            lost = Some(note);
        }
        if lost.is_none() && self.takes_repaired(&text) {
            let odd = repair::repaired(&text).first().map(|(odd, _)| repair::reason(odd));
            lost = Some(self.whole_note(line, odd.unwrap_or_default()));
            self.shapes.forget(line.number);
        }
        let Some(note) = lost else { return Ok(false) };
        extend(sink, line.number);
        repair::skip(note, sink);
        Ok(true)
    }

    /// Whether a reader that was shown the first lines of the listing would take a line if it had
    /// numbers where it has something else, and does not take it as it is.
    fn takes_repaired(&mut self, text: &str) -> bool {
        let Some(open) = &self.open else { return false };
        let repaired = repair::all_repaired(text);
        let bytes = self.head.iter().map(String::len).sum::<usize>() + text.len() + ASKING;
        if !repair::has_odd(text) || self.asked > repair::ASKED {
            return false;
        }
        self.asked += (repaired.len() + 1) * bytes;
        let takes = |last: &str| {
            let (mut reader, mut sink) = (open.format.reader(), Recording::new());
            sink.begin(Source::new(open.format.name, self.input, open.format.level));
            for line in &self.head {
                reader.line(line, &mut sink);
            }
            reader.line(last, &mut sink) == Step::Consumed
        };
        !takes(text) && repaired.iter().any(|text| takes(text))
    }

    /// The listing that begins at a line before damaged ones, or at one that was broken.
    fn begins_otherwise(&mut self, line: Line) -> std::io::Result<Option<(ListingStart, Line)>> {
        if let Some(begins) = self.begins_damaged(line)? {
            return Ok(Some((begins, line)));
        }
        self.begins_broken(line)
    }

    /// The listing that begins at a line with the next one behind it, and both as one.
    fn begins_broken(&mut self, line: Line) -> std::io::Result<Option<(ListingStart, Line)>> {
        if self.only.is_some() || self.joined > repair::ASKED {
            return Ok(None);
        }
        let Some((whole, next)) = self.lines.join(line)? else { return Ok(None) };
        let text = self.lines.text(whole).into_owned();
        self.joined += text.len();
        let among = |text: &str| Among::of(Index::built_in(), text);
        let begins = self.ask(&among, &text)?;
        // What is quoted was broken before, and a title stands above a heading.
        if let Some(begins) = begins.filter(|begins| begins.wrapping.is_of_a_log()) {
            let rest = self.lines.text(next).into_owned();
            if self.ask(&among, &rest)?.is_none() {
                return Ok(Some((begins, whole)));
            }
        }
        self.lines.unjoin(next);
        Ok(None)
    }

    /// The listing that would begin at a line if the lines after it, of which some were read, had
    /// numbers in place of something else: their reader reports of them that they are lost.
    fn begins_damaged(&mut self, line: Line) -> std::io::Result<Option<ListingStart>> {
        if line.cut || self.only.is_some() || self.asked > repair::ASKED {
            return Ok(None);
        }
        let count = self.lines.ahead_count().min(HEAD_LIMIT);
        let even = self.lines.ahead_to(self.even).min(count);
        if !self.lines.ahead_from(even).take(count - even).any(|text| repair::has_odd(&text)) {
            self.even = self.lines.ahead_number_of(count).max(self.even);
            return Ok(None);
        }
        let text = self.lines.text(line).into_owned();
        let asked: Vec<_> = Among::of(Index::built_in(), &text).at(&text, true).collect();
        if asked.is_empty() {
            return Ok(None);
        }
        let behind: Vec<String> =
            self.lines.ahead().take(HEAD_LIMIT).map(Cow::into_owned).collect();
        let repaired: Vec<_> = behind.iter().map(|text| repair::all_repaired(text)).collect();
        let bytes = behind.iter().map(String::len).sum::<usize>() + text.len();
        let numbers = repair::NUMBERS.len();
        self.asked += numbers * repaired.len() * bytes + ASKING;
        let ways = (1..=repaired.len()).flat_map(|ahead| (0..numbers).map(move |n| (ahead, n)));
        for (ahead, number) in ways {
            let behind = repaired.iter().take(ahead).map(|texts| texts[number].as_str());
            let head: Vec<&str> = std::iter::once(text.as_str()).chain(behind).collect();
            for format in &asked {
                // Bytes are not repaired.
                if format.sniff(&head) == Detect::Yes && format.reader().binary().is_none() {
                    return Ok(Some(ListingStart { format, wrapping: Wrapping::default() }));
                }
            }
        }
        Ok(None)
    }

    /// Whether a listing would begin at a line outside any, if it had a number where it has none;
    /// remembered until one begins.
    fn would_begin(&mut self, line: Line) -> std::io::Result<bool> {
        let Some(begins) = self.repaired(line)? else { return Ok(false) };
        if self.first.len() < FIRST_LINES {
            self.first.push(begins);
        }
        Ok(true)
    }

    /// The format of the listing that would begin here then.
    fn repaired(&mut self, line: Line) -> std::io::Result<Option<(&'static Format, Note)>> {
        if line.cut || self.only.is_some() || self.asked > repair::ASKED {
            return Ok(None);
        }
        let text = self.lines.text(line);
        if !repair::has_odd(&text) {
            return Ok(None);
        }
        let text = text.into_owned();
        let repaired = repair::repaired(&text);
        self.asked += repaired.len() * (text.len() + ASKING);
        for (odd, text) in repaired {
            let among = Among::of(Index::built_in(), &text);
            let text = Cow::Borrowed(text.as_str());
            if let Some(format) = self.ask_text(&among, text, &Wrapping::default())? {
                return Ok(Some((format, self.whole_note(line, repair::reason(odd)))));
            }
        }
        Ok(None)
    }

    /// States that a possible beginning of a listing is none.
    fn not_started(&mut self, sink: &mut dyn Sink) {
        for (format, note) in self.first.drain(..) {
            sink.unread(Unread {
                input: self.input.to_string(),
                lines: (note.line, note.line),
                text: note.text.chars().take(NOTE_TEXT).collect(),
                format: Some(format.name.to_string()),
                reason: note.reason,
            });
        }
    }

    /// Whether what would begin here is a row of the listing that is open.
    fn claims_row(&self, begins: &ListingStart, line: Line) -> bool {
        self.open.as_ref().is_some_and(|open| {
            open.format.name == begins.format.name
                && open.wrapping == begins.wrapping
                && open.reader.claims_row(&open.wrapping.off(self.lines.text(line)))
        })
    }

    fn begin(
        &mut self,
        begins: ListingStart,
        line: Line,
        sink: &mut dyn Sink,
    ) -> std::io::Result<()> {
        let ListingStart { format, wrapping } = begins;
        let mut source = Source::new(format.name, self.input, format.level);
        (source.lines, source.line) = (Some((line.number, line.number)), line.number);
        source.machine = match speaker(&self.lines.text(line)) {
            Some(Speaker::Log(host)) => Some(host),
            _ => self.machine.clone(),
        };
        let number = sink.begin(source);
        self.scan.listings += 1;
        sink.lost(BEFORE, std::mem::take(&mut self.broken));
        let (own, others) = self.first.drain(..).partition(|(other, _)| other.name == format.name);
        let own: Vec<(&Format, Note)> = own;
        self.first = others;
        self.not_started(sink);
        own.into_iter().for_each(|(_, note)| repair::skip(note, sink));
        self.shapes = Shapes::default();
        self.head.clear();
        let mut reader = format.reader();
        self.above.drain(..).for_each(|line| reader.line_above(&line));
        if let Some(hypervisor) = self.guest.take() {
            sink.add_fact(None, typed::HOST_HYPERVISOR, hypervisor);
        }
        let open = self.open.insert(OpenListing {
            number,
            format,
            reader,
            wrapping,
            prose_since: false,
            behind_prose: false,
        });
        if let Some(binary) = open.reader.binary() {
            return binary.read(&mut self.lines.rest(), sink);
        }
        match open.reader.line(&open.wrapping.off(self.lines.text(line)), sink) {
            Step::Consumed => self.took(line, sink),
            Step::Malformed(reason) => sink.skip(self.note(line, reason)),
            // Only for a forced format: detection was skipped.
            Step::NotMine => self.prose(line, sink),
            Step::End => {
                self.close(sink);
                self.prose(line, sink);
            }
        }
        Ok(())
    }

    /// Looks for damage in a line that was understood.
    fn took(&mut self, line: Line, sink: &mut dyn Sink) {
        let text = self.lines.text(line);
        let text = match &self.open {
            Some(open) => open.wrapping.off(text),
            None => text,
        };
        let above = self.shapes.last();
        let half =
            is_half(&text, line) && (!self.shapes.knows(&text) || lacks_decimals(&text, above));
        self.blank = false;
        self.shapes.took(&text, sink);
        if self.head.len() < HEAD_KEPT && text.len() <= HEAD_TEXT {
            self.head.push(text.into_owned());
        }
        if half {
            self.ends(line);
        }
        if is_broken(&self.lines.text(line)) {
            sink.lost(BROKEN, 1);
            sink.note(self.note(line, "non-printable bytes: damaged".to_string()));
        }
    }

    /// Stores the last line of the input, which is incomplete.
    fn ends(&mut self, line: Line) {
        self.half = Some(self.note(line, "the input ends in the middle of a row".to_string()));
    }

    fn note(&self, line: Line, reason: String) -> Note {
        let text = self.lines.text(line).chars().take(NOTE_TEXT).collect();
        Note { line: line.number, text, reason }
    }

    /// The same with as much of the line as is searched for the name of a disk.
    fn whole_note(&self, line: Line, reason: String) -> Note {
        let text = repair::shortened(&self.lines.text(line)).to_string();
        Note { line: line.number, text, reason }
    }

    /// Closes the open listing and those of a log's other hosts.
    fn close_all(&mut self, sink: &mut dyn Sink) {
        self.close(sink);
        for (_, open) in std::mem::take(&mut self.parked) {
            sink.resume(open.number);
            self.open = Some(open);
            self.close(sink);
        }
    }

    fn close(&mut self, sink: &mut dyn Sink) {
        if let Some(mut open) = self.open.take() {
            let was_reported = damages(sink);
            open.reader.finish(sink);
            let named = sink.source().machine.clone().filter(|machine| !machine.in_log);
            self.machine = named.or(self.machine.take());
            // Readers that count brackets or declared totals know better what is missing.
            if let Some(note) = self.half.take().filter(|_| damages(sink) == was_reported) {
                sink.lost(CUT, 1);
                sink.note(note);
            }
            if sink.source().records == 0 && sink.source().skipped == 0 {
                self.scan.listings -= 1;
                let missing = missing(sink.source());
                self.unusable.get_or_insert((open.format.name, missing));
            }
            sink.end();
        }
    }

    fn prose(&mut self, line: Line, sink: &mut dyn Sink) {
        if line.cut {
            self.scan.cut += 1;
        }
        let text = self.lines.text(line);
        self.page |= opens_page(&text);
        let text = match &self.open {
            Some(open) => open.wrapping.off(text),
            None => text,
        };
        let text = text.trim();
        if text.is_empty() {
            self.blank = true;
            return;
        }
        self.rows.take(text, line.number, self.input, sink);
        if text.len() <= ABOVE_TEXT {
            self.guest = self.guest.or_else(|| guest::hypervisor(text));
        }
        let mut above = match self.above.len() {
            ABOVE => self.above.remove(0),
            _ => String::new(),
        };
        above.clear();
        above.push_str(first_letters(text, ABOVE_TEXT));
        self.above.push(above);
        let broken = is_broken(text);
        if self.open.is_some() && broken {
            extend(sink, line.number);
            return sink.skip(self.note(line, "non-printable bytes: damaged".to_string()));
        }
        self.broken += u64::from(broken);
        self.scan.prose += 1;
        let filler = matches!(text, "[...]" | "[…]" | "…") || text.bytes().all(|b| b == b'.');
        // Right below its rows something cut off was one of them; after a blank line it must look
        // like one.
        let is_row = || match self.blank {
            true => begins_row(text, self.shapes.last()),
            false => !is_prompt(text),
        };
        let follows = self.open.as_ref().is_some_and(|open| !open.prose_since);
        if follows && is_half(text, line) && is_row() {
            self.ends(line);
        }
        if let Some(open) = &mut self.open
            && !filler
        {
            open.prose_since = true;
        }
    }

    /// The format whose listing begins at this line; called once per line.
    fn sniff(&mut self, line: Line) -> std::io::Result<Option<ListingStart>> {
        let blank = || self.lines.text(line).trim().is_empty() && self.only.is_none();
        if line.cut || blank() {
            return Ok(None);
        }
        if let Some(format) = self.only.filter(|_| self.open.is_none()) {
            let text = self.lines.text(line).into_owned();
            let begins = self.ask(&|_| Among::only(format), &text)?;
            let wrapping = begins.map_or_else(Wrapping::default, |begins| begins.wrapping);
            return Ok(Some(ListingStart { format, wrapping }));
        }
        match &self.sniffed {
            Some((number, answer)) if *number == line.number => Ok(answer.clone()),
            _ => {
                let (own, text) = (self.own, self.lines.text(line).into_owned());
                // Prose in a listing of a forced format does not end it; a heading of its own does.
                let mut answer = match self.only {
                    Some(only) => self.ask(&|_| Among::only(only), &text)?,
                    None if self.own.is_empty() => None,
                    None => self.ask(&|text| Among::of(own, text), &text)?,
                };
                if answer.is_none() && self.only.is_none() {
                    answer = self.ask(&|text| Among::of(Index::built_in(), text), &text)?;
                }
                self.sniffed = Some((line.number, answer.clone()));
                Ok(answer)
            }
        }
    }

    /// The format that accepts a line as it is, or without its wrapping.
    fn ask<'i>(
        &mut self,
        of: &dyn Fn(&str) -> Among<'i>,
        line: &str,
    ) -> std::io::Result<Option<ListingStart>> {
        let among = &of(line);
        let bare = if self.page { Wrapping::page() } else { Wrapping::default() };
        let found = self.ask_text(among, bare.off(Cow::Borrowed(line)), &bare)?;
        let mut begins = found.map(|format| ListingStart { format, wrapping: bare });
        let mut left = usize::MAX;
        for (wrapping, text) in Wrapping::candidates(line) {
            if wrapping.needs_two_lines() && !self.is_around_the_next(&wrapping)? {
                continue;
            }
            if wrapping.is_a_count() && begins.is_some() {
                continue;
            }
            let length = text.trim().len();
            // Text in another encoding there is read separately.
            let inside = matches!(text, Cow::Owned(_)).then(|| of(&text));
            let among = inside.as_ref().unwrap_or(among);
            let found = match &begins {
                Some(ListingStart { format, wrapping: known })
                    if !wrapping.is_plain_to_see()
                        && !is_lax(format, &known.off(Cow::Borrowed(line))) =>
                {
                    continue;
                }
                // It finds its words anywhere in a line; what precedes them is not its own.
                Some(ListingStart { format, .. }) => {
                    self.ask_text(&Among::only(format), text.clone(), &wrapping)?
                }
                None => self.ask_text(among, text.clone(), &wrapping)?,
            };
            // What another program logs is not the daemon's.
            let is_its_own =
                |format: &&Format| !wrapping.is_of_a_process() || text.contains(format.speaker);
            let found = found.filter(is_its_own);
            // Bytes are not quoted.
            let found = found.filter(|format| format.reader().binary().is_none());
            if let Some(format) = found.filter(|_| length < left) {
                (begins, left) = (Some(ListingStart { format, wrapping }), length);
            }
        }
        Ok(begins)
    }

    /// Whether the next line has what may be this one's wrapping; if there is none, it has.
    fn is_around_the_next(&mut self, wrapping: &Wrapping) -> std::io::Result<bool> {
        let known = self.lines.look_ahead(1)?;
        Ok(!known || self.lines.ahead().next().is_none_or(|next| wrapping.is_around(&next)))
    }

    /// The first of these formats that accepts a line without its wrapping; two are a bug (a test
    /// checks for it).
    fn ask_text(
        &mut self,
        among: &Among,
        first: Cow<'_, str>,
        wrapping: &Wrapping,
    ) -> std::io::Result<Option<&'static Format>> {
        // A format that answered no is not called again; for most lines all answer no.
        let mut asked: Vec<Candidate> = Vec::new();
        for format in among.at(&first, matches!(first, Cow::Borrowed(_))) {
            match format.sniff(&[&first]) {
                Detect::Yes => return Ok(Some(format)),
                Detect::No => {}
                Detect::NeedLine => asked.push(Candidate { format, ahead: 1, at_once: false }),
                Detect::NeedLines => asked.push(Candidate { format, ahead: 1, at_once: true }),
            }
        }
        if asked.iter().any(|one| one.at_once) {
            self.ask_at_once(&mut asked, &first, wrapping);
        }
        for ahead in 1..HEAD_LIMIT {
            asked.retain(|asked| asked.ahead < HEAD_LIMIT);
            if asked.is_empty() || !self.lines.look_ahead(ahead)? {
                break;
            }
            if asked.iter().all(|asked| asked.ahead > ahead) {
                continue;
            }
            let mut unsettled = std::mem::take(&mut self.unsettled);
            let head = OnceCell::new();
            let mut found = None;
            for one in asked.iter_mut().filter(|one| one.ahead <= ahead) {
                match self.answer(one, (&first, ahead), &head, wrapping, &mut unsettled) {
                    Detect::Yes => {
                        found = Some(one.format);
                        break;
                    }
                    Detect::No => one.ahead = NEVER,
                    Detect::NeedLine | Detect::NeedLines => one.ahead = ahead + 1,
                }
            }
            self.unsettled = unsettled;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Shows all lines that are known already to those who can be shown many.
    fn ask_at_once(&mut self, asked: &mut [Candidate], first: &str, wrapping: &Wrapping) {
        let mut unsettled = std::mem::take(&mut self.unsettled);
        let known = self.lines.ahead_count().min(HEAD_LIMIT - 1);
        let head = OnceCell::new();
        for one in asked.iter_mut().filter(|one| one.at_once) {
            one.ahead = match self.answer(one, (first, known), &head, wrapping, &mut unsettled) {
                // The line is found together with the others, one of which may say so earlier.
                Detect::Yes => 1,
                Detect::No => NEVER,
                Detect::NeedLine | Detect::NeedLines => known + 1,
            };
        }
        self.unsettled = unsettled;
    }

    /// Whether a format needs more lines than this many after the first. Of a long one it
    /// is not shown again the lines that did not settle it when a line above was asked about:
    /// without them it says yes as before, and where it would say no, it asks for more at most.
    fn resolved_by_none(
        &self,
        asked: &Candidate,
        first: &str,
        ahead: usize,
        wrapping: &Wrapping,
        unsettled: &mut [(&'static str, u64)],
    ) -> bool {
        #[cfg(test)]
        if tests::SHOWN_ALL.get() {
            return false;
        }
        let known = unsettled.iter_mut().find(|(name, _)| *name == asked.format.name);
        let Some((_, to)) = known.filter(|_| asked.at_once && wrapping.is_none()) else {
            return false;
        };
        let searched = self.lines.ahead_to(*to);
        if ahead + 2 < HEAD_LIMIT || searched == 0 {
            return false;
        }
        let settles = |line: Cow<'_, str>| asked.format.sniff(&[first, &line]) == Detect::Yes;
        if self.lines.ahead_from(searched).take(ahead.saturating_sub(searched)).any(settles) {
            return false;
        }
        *to = self.lines.ahead_number_of(ahead).max(*to);
        true
    }

    /// A format's answer to a head: a line and this many after it, which are read for the first
    /// format that needs them.
    fn answer<'t>(
        &'t self,
        asked: &Candidate,
        (first, ahead): (&'t str, usize),
        head: &OnceCell<Vec<Cow<'t, str>>>,
        wrapping: &Wrapping,
        unsettled: &mut Vec<(&'static str, u64)>,
    ) -> Detect {
        if self.resolved_by_none(asked, first, ahead, wrapping, unsettled) {
            return Detect::NeedLines;
        }
        let texts = head.get_or_init(|| self.head(first, ahead, wrapping));
        let head: Vec<&str> = texts.iter().map(|text| &**text).collect();
        let answer = asked.format.sniff(&head);
        if answer == Detect::NeedLines && asked.at_once && wrapping.is_none() {
            let to = self.lines.ahead_number_of(ahead);
            match unsettled.iter_mut().find(|(name, _)| *name == asked.format.name) {
                Some((_, known)) => *known = to.max(*known),
                None => unsettled.push((asked.format.name, to)),
            }
        }
        answer
    }

    /// A line and this many after it, as far as they are known.
    fn head<'t>(&'t self, first: &'t str, ahead: usize, wrapping: &Wrapping) -> Vec<Cow<'t, str>> {
        let behind = self.lines.ahead().take(ahead).map(|text| wrapping.off(text));
        std::iter::once(Cow::Borrowed(first)).chain(behind).collect()
    }
}

/// A format that needs more lines, and with how many after the first it is called again.
struct Candidate {
    format: &'static Format,
    ahead: usize,
    at_once: bool,
}

/// It answered no.
const NEVER: usize = usize::MAX;

/// Whether a format accepts a line whatever precedes it. The time of a line is its own.
fn is_lax(format: &Format, line: &str) -> bool {
    if format.is_timed(line) {
        return false;
    }
    let says = |line: String| format.sniff(&[&line]) == Detect::Yes;
    says(format!("; {line}")) || says(format!(";{}", line.trim_start()))
}

/// Why a line in digits of another script is not read.
fn foreign_digits(script: &str) -> String {
    format!("its digits are {script}: only 0 to 9 are supported; run the tool with `LC_ALL=C`")
}

/// What is known to be lost of the open listing.
fn damages(sink: &mut dyn Sink) -> u64 {
    let source = sink.source();
    source.skipped.saturating_add(source.lost())
}

/// Skipped lines that are known to be about a device.
fn reported(sink: &mut dyn Sink) -> u64 {
    sink.source().skipped_of.iter().map(|(_, count)| count).sum()
}

fn extend(sink: &mut dyn Sink, number: u64) {
    if let Some((_, last)) = &mut sink.source().lines {
        *last = number;
    }
}

/// The result of reading a text, for the tests of formats.
#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) fn recorded(text: &str) -> iowhy_model::Recording {
    let mut recording = iowhy_model::Recording::new();
    scan("test", &mut text.as_bytes(), None, &mut recording).unwrap();
    recording
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use iowhy_model::Level;

    use super::*;
    use crate::format::Sniff;
    use crate::{Body, FORMATS};

    thread_local! {
        static ASKED: Cell<u64> = const { Cell::new(0) };
        /// Whether each format is shown every line of a head, also those that settled nothing
        /// before.
        pub(super) static SHOWN_ALL: Cell<bool> = const { Cell::new(false) };
    }

    /// Lines that begin with `#` begin a listing, numbers are its lines, `end` ends it.
    struct Numbers;

    impl Reader for Numbers {
        fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
            match line {
                "end" => Step::End,
                _ if line.starts_with('#') => {
                    sink.source().records += 1;
                    Step::Consumed
                }
                _ if line.parse::<u64>().is_ok() => Step::Consumed,
                _ => Step::NotMine,
            }
        }
    }

    static NUMBERS: Format = Format {
        name: "numbers",
        summary: "",
        manual: "",
        level: Level::A,
        speaker: "",
        body: Body::Custom {
            needles: &[],
            sniff: Sniff::Line(|line| {
                ASKED.set(ASKED.get() + 1);
                line.starts_with('#')
            }),
            reader: || Box::new(Numbers),
            may_resume: false,
        },
    };

    fn scanned(text: &str) -> (Scan, Recording) {
        let mut recording = Recording::new();
        ASKED.set(0);
        let scan = scan("-", &mut text.as_bytes(), Some(&NUMBERS), &mut recording);
        (scan.expect("a listing"), recording)
    }

    #[test]
    fn a_forced_format_counts_as_prose_what_it_does_not_take() {
        let (scan, recording) = scanned("some words\n\n# heading\n1\n");
        assert_eq!((scan.listings, scan.prose), (1, 1));
        assert_eq!(recording.listings[0].source.lines, Some((3, 4)));
        let (scan, recording) = scanned("end\n# heading\n1\nend\nwords\n");
        assert_eq!((scan.listings, scan.prose), (1, 3));
        assert_eq!(recording.listings[0].source.lines, Some((2, 3)));
    }

    #[test]
    fn nothing_begins_at_an_empty_line() {
        for format in FORMATS {
            for head in [&[""][..], &["  "], &["", ""], &["", "{"], &["", "Device r/s w/s"]] {
                assert_eq!(format.sniff(head), Detect::No, "{}", format.name);
            }
        }
    }

    /// Begins and ends of documents, in an order made by a seed, and prose.
    fn half_documents(seed: u64) -> String {
        const LINES: [&str; 12] = [
            "{", "{\"a\": [1,", "{\"b\": {\"c\": 2},", "\"sysstat\": {\"hosts\": []",
            "\"blockdevices\": [", "\"fio version\": \"fio-3.33\",", "\"d\": 4,", "]", "}", "}}",
            "words", "",
        ];
        let mut random = iowhy_model::Random::seeded(seed);
        // Most are of few kinds of lines, or no head stays open for long.
        let kinds = 2 + random.place(LINES.len() - 1);
        let line = |_| LINES[random.place(kinds)].to_string() + "\n";
        (0..200).map(line).collect()
    }

    #[test]
    fn lines_that_settled_nothing_need_not_be_shown_again() {
        let listings = |text: &str| {
            let mut recording = Recording::new();
            let scan = scan("-", &mut text.as_bytes(), None, &mut recording);
            let begins = |listing: &iowhy_model::Listing| {
                (listing.source.format.clone(), listing.source.lines, listing.source.skipped)
            };
            (scan.is_ok(), recording.listings.iter().map(begins).collect::<Vec<_>>())
        };
        let mut found = 0;
        for seed in 0..300 {
            let text = half_documents(seed);
            let shown_some = listings(&text);
            SHOWN_ALL.set(true);
            let shown_all = listings(&text);
            SHOWN_ALL.set(false);
            assert_eq!(shown_some, shown_all, "{text}");
            found += shown_all.1.len();
        }
        assert!(found > 300, "{found}");
    }

    #[test]
    fn a_line_after_prose_is_sniffed_once() {
        let (scan, _) = scanned("# heading\nwords\nmore\nyet more\n");
        // Four lines, and the heading once more for its wrapping.
        assert_eq!((scan.prose, ASKED.get()), (3, 4));
    }
}
