//! What `iowhy record` keeps: every I/O, averages, histograms and facts, in blocks of columns.
//!
//! ## Reads
//! Captures written by `iowhy record` and `iowhy convert ... FILE.iowhy`. Everything that the
//! recorder knew: events with all their times to the nanosecond, processes, control groups, files,
//! depth and errors; averages; histograms; facts; and the sources, with their losses.
//!
//! ## How to capture
//! `iowhy record -o trace.iowhy`. The parts of a rotated capture can be named individually, or
//! concatenated in order: `cat trace.iowhy.* | iowhy why`.
//!
//! ## Versions
//! Versions 1 to 5: 1 had facts as texts, 1 to 3 no file of an I/O, 1 to 4 no weight. A block
//! begins with a header of 52 bytes: the magic `89 49 4F 57 48 59 01 0A`; version and end mark, 16
//! bits each (0: more follows, 1: the end, 2: continued in another file; 256 more if it repeats the
//! facts, losses and duration up to this file); bytes of content; number of the recording, position
//! of the block and events before it, 64 bits each; events in it; CRC-32 of the content; CRC-32 of
//! the header. Numbers are little-endian. The content is described in `crates/capture`.
//!
//! ## Caveats
//! Each block can be read without the others. If blocks are missing or damaged, the rest is read,
//! the I/Os in the gap are counted as lost, and damaged bytes are reported with their position. A
//! capture without its end mark was truncated, or its recorder was killed: at most its last second
//! is missing, which a note reports. Times count from the boot of the recorded machine.
//!
//! ## Not in this output
//! More than the recorder did. The fact `capture.format` names the collector or format.

use std::io::BufRead;

use iowhy_capture::{BLOCK_BYTES, Block, End, Header, MAGIC, Section};
use iowhy_model::{DeviceId, FactValue, Name, Source, key};
use memchr::memmem;

use crate::Binary;
use crate::program::*;

pub(super) const FORMAT: Format = Format::by_line::<IowhyCapture>(
    "captures of `iowhy record`: every I/O, averages, histograms, facts",
    Level::D,
    &["IOWHY\u{1}"],
    |line| line.ends_with("IOWHY\u{1}"),
);

/// Bytes asked of the input at a time.
const CHUNK: usize = 1 << 16;
/// What is reported of I/Os in blocks that cannot be read.
const GAP: &str = "I/Os in blocks that are missing or damaged";

#[derive(Default)]
struct IowhyCapture {
    /// Bytes taken from the input; what precedes `at` is finished.
    buffer: Vec<u8>,
    at: usize,
    /// Where in the input the buffer begins.
    base: u64,
    over: bool,
    stream: Option<Stream>,
}

/// The recording that is being read.
struct Stream {
    number: u64,
    /// Events in it up to now, those in gaps included.
    events: u64,
    /// What came after its last block.
    end: End,
    listings: Vec<Listing>,
}

/// One of its listings, and the losses of its source at the last block.
struct Listing {
    number: u64,
    here: usize,
    reported: Source,
    /// How long it had watched when this file began, if the file goes on from others.
    watched_before: Nanos,
}

impl Reader for IowhyCapture {
    fn line(&mut self, _: &str, _: &mut dyn Sink) -> Step {
        Step::NotMine
    }

    fn binary(&mut self) -> Option<&mut dyn Binary> {
        Some(self)
    }
}

impl Binary for IowhyCapture {
    fn read(&mut self, input: &mut dyn BufRead, sink: &mut dyn Sink) -> std::io::Result<()> {
        loop {
            if !self.fill(input, Header::BYTES)? {
                break;
            }
            let Some(header) = Header::from_bytes(self.rest()) else {
                self.pass_over(input, sink)?;
                continue;
            };
            let whole = Header::BYTES + header.bytes as usize;
            if header.bytes as usize > BLOCK_BYTES {
                self.pass_over(input, sink)?;
                continue;
            }
            if !self.fill(input, whole)? {
                self.lose(&header, sink);
                break;
            }
            self.enter(&header, sink);
            let content = self.rest().get(Header::BYTES..whole).unwrap_or_default();
            let sound = header.fits(content);
            match Block::from_bytes(header.version, content).filter(|_| sound) {
                Some(block) => {
                    self.at += whole;
                    self.emit(&header, block, sink);
                }
                None => {
                    self.lose(&header, sink);
                    self.pass_over(input, sink)?;
                }
            }
        }
        let left = self.rest().len();
        if left > 0 {
            self.add_loss(sink, left, "the capture ends in the middle of a block");
        }
        self.leave(sink);
        Ok(())
    }
}

impl IowhyCapture {
    fn rest(&self) -> &[u8] {
        self.buffer.get(self.at..).unwrap_or_default()
    }

    /// Makes sure that this many bytes are there; false if the input ends before.
    fn fill(&mut self, input: &mut dyn BufRead, bytes: usize) -> std::io::Result<bool> {
        while self.rest().len() < bytes && !self.over {
            if self.at > CHUNK {
                self.buffer.drain(..self.at);
                self.base += self.at as u64;
                self.at = 0;
            }
            let chunk = match input.fill_buf() {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                chunk => chunk?,
            };
            let taken = chunk.len().min(CHUNK);
            self.buffer.extend_from_slice(chunk.get(..taken).unwrap_or_default());
            input.consume(taken);
            self.over = taken == 0;
        }
        Ok(self.rest().len() >= bytes)
    }

    /// Goes on to the next magic after this place, and shows how many bytes were ignored.
    fn pass_over(&mut self, input: &mut dyn BufRead, sink: &mut dyn Sink) -> std::io::Result<()> {
        let (start, mut passed) = (self.base + self.at as u64, 0);
        self.at += 1;
        passed += 1;
        loop {
            if let Some(place) = memmem::find(self.rest(), &MAGIC) {
                self.at += place;
                passed += place;
                break;
            }
            // The magic may have begun in the last bytes.
            let skip = self.rest().len().saturating_sub(MAGIC.len() - 1);
            self.at += skip;
            passed += skip;
            if !self.fill(input, MAGIC.len())? {
                passed += self.rest().len();
                self.at = self.buffer.len();
                break;
            }
        }
        let reason = format!("{passed} bytes are not a block and were ignored");
        sink.skip(Note { line: 0, text: format!("byte {start}"), reason });
        Ok(())
    }

    fn add_loss(&mut self, sink: &mut dyn Sink, bytes: usize, reason: &str) {
        let text = format!("byte {}", self.base + self.at as u64);
        let reason = format!("{reason}: {bytes} bytes are left over");
        sink.skip(Note { line: 0, text, reason });
        self.at = self.buffer.len();
    }

    /// A block begins: perhaps of another recording, or after a gap.
    fn enter(&mut self, header: &Header, sink: &mut dyn Sink) {
        if self.stream.as_ref().is_none_or(|stream| stream.number != header.stream) {
            self.leave(sink);
            // A part of a rotated capture is whole; any other beginning is a cut, and a gap.
            let (number, listings) = (header.stream, Vec::new());
            let events = if header.repeats { header.events_before } else { 0 };
            self.stream = Some(Stream { number, events, end: End::More, listings });
        }
        let Some(stream) = &mut self.stream else { return };
        let gap = header.events_before.saturating_sub(stream.events);
        if gap > 0 {
            stream.resume_first(sink);
            sink.lost(GAP, gap.min(crate::histogram::buckets::COUNT_LIMIT));
        }
        stream.events = header.events_before;
        stream.end = header.end;
    }

    /// A block cannot be read, though its header can.
    fn lose(&mut self, header: &Header, sink: &mut dyn Sink) {
        self.enter(header, sink);
        let Some(stream) = &mut self.stream else { return };
        stream.resume_first(sink);
        sink.lost(GAP, header.events.into());
        stream.events = stream.events.saturating_add(header.events.into());
        stream.end = End::More;
    }

    fn emit(&mut self, header: &Header, block: Block, sink: &mut dyn Sink) {
        let Some(stream) = &mut self.stream else { return };
        stream.events = stream.events.saturating_add(header.events.into());
        let ids: Vec<DeviceId> =
            block.devices.iter().map(|device| sink.device(&device.name)).collect();
        let names: Vec<Name> = block.names.iter().map(|name| sink.name(name)).collect();
        for (device, id) in block.devices.iter().zip(&ids) {
            if let Some(medium) = device.medium {
                sink.set_medium(*id, medium);
            }
        }
        let mut sections = block.sections;
        // First, for readers that distinguish I/Os by the stated facts of their devices, also by
        // the listing of another collector.
        for section in &mut sections {
            let known = stream.speak(section, header.repeats, sink);
            if header.repeats && known {
                section.facts.clear();
            }
            if header.repeats {
                begin_later(section);
            }
            for mut fact in section.facts.drain(..) {
                fact.device = fact.device.and_then(|id| ids.get(id.index()).copied());
                sink.fact(fact);
            }
        }
        for section in sections {
            stream.resume(section.listing, sink);
            emit(section, &ids, &names, sink);
        }
    }

    /// The recording is over: shows it where it did not, and closes its listings.
    fn leave(&mut self, sink: &mut dyn Sink) {
        let Some(stream) = self.stream.take() else { return };
        stream.resume_first(sink);
        if stream.end == End::More {
            let reason = "the capture has no end: it was truncated, or its recorder was killed; at \
                          most the last second is missing";
            sink.skip(note(reason));
        }
        // The scanner closes the one that stays open.
        let (first, rest) = match stream.listings.split_first() {
            Some((first, rest)) => (first.here, rest),
            None => return,
        };
        for listing in rest.iter().rev() {
            sink.resume(listing.here);
            sink.end();
        }
        sink.resume(first);
    }
}

impl Stream {
    /// Goes on with the listing of that number.
    fn resume(&self, number: u64, sink: &mut dyn Sink) {
        if let Some(known) = self.listings.iter().find(|known| known.number == number) {
            sink.resume(known.here);
        }
    }

    /// Log events go to the listing that began first.
    fn resume_first(&self, sink: &mut dyn Sink) {
        if let Some(first) = self.listings.first() {
            sink.resume(first.here);
        }
    }

    /// Opens the section's listing, and adds what its source lost or noted since the last block, or
    /// since the block that repeats what was reported before this file. Whether it was known.
    fn speak(&mut self, section: &Section, repeats: bool, sink: &mut dyn Sink) -> bool {
        let known = self.listings.iter().position(|known| known.number == section.listing);
        let place = known.unwrap_or_else(|| {
            let here = begin(&section.source, self.listings.is_empty(), sink);
            let mut source_before = section.source.clone();
            let mut watched_before = Nanos(0);
            if repeats {
                watched_before = source_before.watched.unwrap_or(watched_before);
            } else {
                (source_before.skipped, source_before.losses) = (0, Vec::new());
            }
            source_before.notes = Vec::new();
            self.listings.push(Listing {
                number: section.listing,
                here,
                reported: source_before,
                watched_before,
            });
            self.listings.len() - 1
        });
        let Some(listing) = self.listings.get_mut(place) else { return true };
        sink.resume(listing.here);
        amend(&listing.reported, &section.source, sink);
        let watched = section.source.watched;
        sink.source().watched =
            watched.map(|all| Nanos(all.0.saturating_sub(listing.watched_before.0).max(0)));
        listing.reported = section.source.clone();
        known.is_some()
    }
}

/// Opens a listing for a source. The one that the scanner opened gives way to the first.
fn begin(reported: &Source, first: bool, sink: &mut dyn Sink) -> usize {
    let input = sink.source().input.clone();
    let kept = first.then(|| {
        let opened = sink.source();
        (opened.skipped, opened.losses.clone(), opened.notes.clone())
    });
    if first {
        // Damage may have been reported of it already: that moves, and the empty one is dropped.
        let opened = sink.source();
        (opened.skipped, opened.losses, opened.notes) = (0, Vec::new(), Vec::new());
        sink.end();
    }
    let mut source = Source::new("iowhy-capture", &input, reported.level);
    source.sampling = reported.sampling;
    source.sees_queue = reported.sees_queue;
    if let Some((skipped, losses, notes)) = kept {
        (source.skipped, source.losses, source.notes) = (skipped, losses, notes);
    }
    let here = sink.begin(source);
    sink.add_fact_at(None, typed::CAPTURE_FORMAT, reported.format.as_str(), &input);
    here
}

/// What the source reports beyond the last block.
fn amend(before: &Source, now: &Source, sink: &mut dyn Sink) {
    let source = sink.source();
    source.resolution = now.resolution;
    source.host.clone_from(&now.host);
    source.skipped = source.skipped.saturating_add(now.skipped.saturating_sub(before.skipped));
    for loss in &now.losses {
        let known = before.losses.iter().find(|known| known.what == loss.what);
        sink.lost(&loss.what, loss.count.saturating_sub(known.map_or(0, |known| known.count)));
    }
    now.notes.iter().skip(before.notes.len()).for_each(|note| sink.note(note.clone()));
}

/// A file that continues others began when they ended: as much later as had been watched by
/// then.
fn begin_later(section: &mut Section) {
    let before = section.source.watched.map_or(0, |watched| watched.0);
    for fact in section.facts.iter_mut().filter(|fact| fact.key == key::CLOCK_BEGAN) {
        if let Some(began) = fact.value.duration() {
            fact.value = FactValue::Duration(Nanos(began.0.saturating_add(before)));
        }
    }
}

fn emit(section: Section, ids: &[DeviceId], names: &[Name], sink: &mut dyn Sink) {
    let here = |name: Option<Name>| name.and_then(|name| names.get(name.index()).copied());
    for mut event in section.events {
        let Some(device) = ids.get(event.device.index()) else { continue };
        event.device = *device;
        event.rename(|name| here(Some(name)));
        sink.event(event);
    }
    for mut interval in section.intervals {
        let Some(device) = ids.get(interval.device.index()) else { continue };
        interval.device = *device;
        sink.interval(interval);
    }
    for mut one in section.distributions {
        let Some(device) = ids.get(one.device.index()) else { continue };
        (one.device, one.label) = (*device, here(one.label));
        sink.distribution(one);
    }
}
