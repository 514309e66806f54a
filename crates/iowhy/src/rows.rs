//! Draws captures of any length with views that show every I/O, in parts while they are read.
//!
//! Up to [`KEPT`] I/Os a capture is kept whole and drawn at the end. Past that, I/Os that are
//! certainly in order are drawn and freed, so no row is lost and memory stays constant.

use std::collections::BTreeMap;
use std::io::Write;

use iowhy_model::{
    DeviceId, EVENT_FIELDS, EVENTS_KEPT, Event, Field, Level, Listing, Recording, Report, Sink,
    Source, Time, key,
};
use iowhy_show::{Style, View, views};

use crate::arguments::Selection;

/// Single I/Os kept before a part is drawn; half of them stay to be sorted with later ones (some
/// 100 bytes each: 13 MB).
const KEPT: usize = 1 << 17;

/// The view that draws a listing, or the reason why none can.
type Choose = Box<dyn Fn(&Listing) -> Result<&'static View, &'static str>>;

/// A sink that draws rows.
pub(crate) struct Rows<'a> {
    recording: Recording,
    current: usize,
    /// Single I/Os not drawn yet.
    held: usize,
    /// Listings before this one are drawn completely.
    settled: usize,
    out: &'a mut dyn Write,
    selection: &'a Selection,
    style: Style,
    choose: Choose,
    /// I/Os of a listing kept before a part is drawn: more if a second that must not be split has
    /// more.
    stretched: usize,
    /// Whether parts end where a second of the capture ends.
    whole_seconds: bool,
    /// Listings that were drawn in part or refused.
    parts: BTreeMap<usize, Part>,
    /// The view of all parts.
    view: Option<&'static View>,
    failed: Option<std::io::Error>,
    incomplete: bool,
    /// Whether everything is drawn at the end, and whether there were too many I/Os for that.
    whole: bool,
    too_long: bool,
    /// Fields that the view cannot show: those that no I/O had so far, and those that some had.
    unplaced: Vec<&'static Field<Event>>,
    left_out: Vec<&'static Field<Event>>,
}

/// The state of a listing.
struct Part {
    refused: Option<&'static str>,
    zero: Option<Time>,
    queue: bool,
    /// Its other records, already emitted.
    records: u64,
}

/// The result.
pub(crate) enum RowsOutcome {
    /// Nothing was drawn yet: it is short enough to be drawn at once.
    Whole(Recording),
    /// All of it was drawn.
    Parts {
        /// The recording without the rows.
        recording: Recording,
        /// Listings left out.
        refused: Vec<RefusedListing>,
        /// Whether anything was lost or could not be read.
        incomplete: bool,
    },
}

/// A listing that was left out.
pub(crate) struct RefusedListing {
    /// Which listing, and why.
    pub reason: String,
    /// Whether data is missing: averages beside their own I/Os do not count.
    pub is_loss: bool,
}

impl RefusedListing {
    /// For a listing, beside the written ones.
    pub(crate) fn of(listing: &Listing, reason: &str, written: &[&Listing]) -> RefusedListing {
        let source = &listing.source;
        let is_beside = written.iter().any(|other| other.source.input == source.input);
        RefusedListing {
            reason: format!("{} ({}): {reason}", source.place(), source.format),
            is_loss: !(source.level == Level::A && is_beside),
        }
    }
}

impl<'a> Rows<'a> {
    /// Draws to `out` what is selected, each listing with the view chosen for it.
    pub(crate) fn new(
        out: &'a mut dyn Write,
        selection: &'a Selection,
        style: Style,
        choose: Choose,
    ) -> Rows<'a> {
        Rows {
            recording: Recording::with_budget(usize::MAX),
            current: 0,
            held: 0,
            settled: 0,
            out,
            selection,
            style,
            choose,
            stretched: KEPT,
            whole_seconds: false,
            parts: BTreeMap::new(),
            view: None,
            failed: None,
            incomplete: false,
            whole: false,
            too_long: false,
            unplaced: Vec::new(),
            left_out: Vec::new(),
        }
    }

    /// The view shows only these fields of an I/O: others that occur are reported at the end.
    pub(crate) fn places(&mut self, carried: &[&str]) {
        self.unplaced =
            EVENT_FIELDS.iter().filter(|field| !carried.contains(&field.name)).collect();
    }

    /// The view does not sort by completion: everything is kept until the end, up to a limit.
    pub(crate) fn keep_whole(&mut self) {
        self.whole = true;
    }

    /// Whether there were more I/Os than the limit.
    pub(crate) fn is_too_long(&self) -> bool {
        self.too_long
    }

    /// Fields that occurred but cannot be shown.
    pub(crate) fn left_out(&self) -> &[&'static Field<Event>] {
        &self.left_out
    }

    /// Draws the rest; the prose of the inputs is for the footer.
    ///
    /// # Errors
    /// If it could not be written.
    pub(crate) fn finish(mut self, prose: Vec<(String, u64)>) -> std::io::Result<RowsOutcome> {
        self.recording.prose = prose;
        if self.parts.is_empty() {
            return Ok(RowsOutcome::Whole(self.recording));
        }
        for listing in 0..self.recording.listings.len() {
            self.draw(listing, true);
        }
        if let Some(failed) = self.failed {
            return Err(failed);
        }
        self.out.flush()?;
        let listings = &self.recording.listings;
        let drawn: Vec<&Listing> = self
            .parts
            .iter()
            .filter(|(_, part)| part.refused.is_none())
            .filter_map(|(listing, _)| listings.get(*listing))
            .collect();
        let refused = self.parts.iter().filter_map(|(listing, part)| {
            Some(RefusedListing::of(listings.get(*listing)?, part.refused?, &drawn))
        });
        let refused = refused.collect();
        let incomplete = self.incomplete || self.recording.is_incomplete();
        Ok(RowsOutcome::Parts { recording: self.recording, refused, incomplete })
    }

    /// Single I/Os of the current listing that are not drawn yet.
    fn kept(&self) -> usize {
        self.recording.listings.get(self.current).map_or(0, |listing| listing.events.len())
    }

    /// Draws all earlier listings, and the part of this one that is certainly in order.
    fn make_room(&mut self, listing: usize) {
        // Listings with single I/Os decide what is written, not averages that come before them.
        if self.view.is_none() {
            let this = self.recording.listings.get(listing);
            self.view = this.and_then(|this| (self.choose)(this).ok());
            // Its lines are sums over a second.
            self.whole_seconds = self.view == Some(&views::fio_hist_log::VIEW);
        }
        for before in self.settled..listing {
            let done = self.recording.listings.get(before).is_none_or(|one| one.events.is_empty());
            if !done || !self.parts.contains_key(&before) {
                self.draw(before, true);
            }
        }
        self.settled = listing;
        self.draw(listing, false);
    }

    /// Draws a listing: the rest, or the part that is certainly in order.
    fn draw(&mut self, number: usize, whole: bool) {
        let Some(listing) = self.recording.listings.get_mut(number) else { return };
        let drawn = self.parts.contains_key(&number);
        let refused = match self.parts.get(&number) {
            Some(part) => part.refused,
            None => match ((self.choose)(listing), self.view) {
                (Ok(view), None) => {
                    self.view = Some(view);
                    None
                }
                (Ok(view), Some(other)) if view != other => {
                    Some("the output already contains another kind of data")
                }
                (Ok(_), Some(_)) => None,
                (Err(reason), _) => Some(reason),
            },
        };
        listing.events.sort_by_key(|event| event.completed.or(event.issued).or(event.queued));
        let zero = match self.parts.get(&number).and_then(|part| part.zero) {
            Some(zero) => zero,
            None => {
                listing.events.iter().find_map(|event| event.completed).unwrap_or(Time::from_ns(0))
            }
        };
        let mut cut = listing.events.len();
        if !whole {
            cut /= 2;
            let second = |event: &Event| {
                event.completed.map(|at| (at - zero).ns().div_euclid(1_000_000_000))
            };
            while self.whole_seconds
                && cut > 0
                && listing.events.get(cut).map(second) == listing.events.get(cut - 1).map(second)
            {
                cut -= 1;
            }
            // The longest second must be kept.
            self.stretched = if cut == 0 { listing.events.len() * 2 } else { KEPT };
        }
        let events: Vec<Event> = listing.events.drain(..cut).collect();
        self.held = self.held.saturating_sub(events.len());
        if refused.is_some() {
            let part = Part { refused, zero: Some(zero), queue: false, records: 0 };
            self.parts.insert(number, part);
            return;
        }
        if events.is_empty() && !whole {
            return;
        }
        let mut part = Listing::of(listing.source.clone());
        let queue = events.iter().any(|event| event.queued.is_some());
        // Their lines are known only at the end, and one source is printed once.
        part.source.lines = None;
        let before = self.parts.get(&number);
        part.source.records -= before.map_or(0, |part| part.records).min(part.source.records);
        part.events = events;
        if whole {
            part.distributions = std::mem::take(&mut listing.distributions);
            part.intervals = std::mem::take(&mut listing.intervals);
            part.facts = listing.facts.clone();
        } else {
            let offset = listing.facts.iter().filter(|fact| fact.key == key::CLOCK_OFFSET);
            part.facts = offset.cloned().collect();
            // All losses are reported once, at the end.
            part.source.skipped = 0;
            part.source.losses.clear();
            part.source.notes.clear();
        }
        if is_one_of(self.view, &[views::biosnoop_text::VIEW, views::fio_hist_log::VIEW]) {
            part.events.iter_mut().for_each(|event| *event = event.since(zero));
        }
        let heading =
            !drawn || before.is_some_and(|part| queue != part.queue && !part_is_json(self.view));
        let records = listing.source.records;
        self.parts.insert(number, Part { refused: None, zero: Some(zero), queue, records });
        self.write(part, number, heading);
    }

    /// Draws one part.
    fn write(&mut self, part: Listing, number: usize, heading: bool) {
        self.incomplete |= part.source.skipped > 0 || part.source.lost() > 0;
        let (Some(view), None) = (self.view, &self.failed) else { return };
        let listings = std::mem::replace(&mut self.recording.listings, vec![part]);
        let mut style = self.style.clone();
        style.heading = heading;
        style.part = Some(number);
        let report = self.selected(&mut style).map(|()| Report {
            recording: std::mem::take(&mut self.recording),
            findings: Vec::new(),
        });
        if let Some(report) = report {
            if let Err(error) = (view.write)(&report, &style, self.out) {
                self.failed = Some(error);
            }
            self.recording = report.recording;
        }
        self.recording.listings = listings;
    }

    /// Adds the selection to the style; `None` if nothing of it is known so far.
    fn selected(&mut self, style: &mut Style) -> Option<()> {
        let wanted = self.selection.known_in(&self.recording).device;
        let known: Vec<DeviceId> =
            wanted.iter().filter_map(|name| self.recording.find_device(name)).collect();
        if known.is_empty() && !wanted.is_empty() {
            return None;
        }
        // Naming a device does not add it.
        let rest = Selection { device: Vec::new(), ..self.selection.clone() };
        style.filter = rest.filter(&mut self.recording);
        style.filter.devices = known;
        Some(())
    }
}

/// Each line has its own names: another heading would add nothing.
fn part_is_json(view: Option<&View>) -> bool {
    is_one_of(view, &[views::events_json::VIEW, views::events_csv::VIEW, views::fio_hist_log::VIEW])
}

fn is_one_of(view: Option<&View>, views: &[View]) -> bool {
    view.is_some_and(|view| views.contains(view))
}

impl Sink for Rows<'_> {
    iowhy_model::forward!(recording: source device set_medium name interval distribution fact);

    fn begin(&mut self, source: Source) -> usize {
        self.current = self.recording.begin(source);
        self.current
    }

    fn resume(&mut self, listing: usize) {
        self.recording.resume(listing);
        self.current = listing;
        self.settled = self.settled.min(listing);
    }

    fn event(&mut self, event: Event) {
        if !self.unplaced.is_empty() {
            let there = self.unplaced.extract_if(.., |field| (field.get)(&event).is_some());
            self.left_out.extend(there);
        }
        if self.whole {
            self.too_long |= self.held >= EVENTS_KEPT;
            if !self.too_long {
                self.held += 1;
                self.recording.event(event);
            }
            return;
        }
        let before = self.kept();
        self.recording.event(event);
        let kept = self.kept();
        // Listings beyond the limit of a recording have no waiting I/Os.
        self.held += kept.saturating_sub(before);
        if kept >= self.stretched {
            self.make_room(self.current);
        }
    }

    fn end(&mut self) {
        self.recording.end();
        // Many listings, each of them short.
        if self.held >= KEPT
            && !self.whole
            && let Some(last) = self.recording.listings.len().checked_sub(1)
        {
            self.make_room(last);
        }
    }
}

#[cfg(test)]
mod tests {
    use iowhy_model::{Layer, Op};

    use super::*;

    /// More short listings than a recording keeps: the limit counts waiting I/Os only, so that
    /// parts are not drawn repeatedly for I/Os that are not there.
    #[test]
    fn what_is_held_is_what_waits() {
        let (mut out, selection) = (Vec::new(), Selection::default());
        let choose: Choose = Box::new(|_| Ok(&views::events::VIEW));
        let mut rows = Rows::new(&mut out, &selection, Style::plain(), choose);
        for listing in 0..(1 << 16) + (1 << 13) {
            rows.begin(Source::new("biosnoop", "a", Level::C));
            let device = rows.device("sda");
            for k in 0..3 {
                let mut event = Event::new(device, Op::Read, Layer::Block);
                event.completed = Some(Time::from_ns(listing * 10 + k));
                rows.event(event);
            }
            rows.end();
        }
        let waiting: usize = rows.recording.listings.iter().map(|one| one.events.len()).sum();
        assert_eq!(rows.held, waiting);
        assert!(rows.held < KEPT, "{} wait", rows.held);
        assert!(rows.settled > 0, "room was made");
    }
}
