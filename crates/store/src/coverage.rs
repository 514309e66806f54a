//! When a store's recorder was watching, and when not.

use std::collections::HashMap;

use iowhy_capture::{Block, Header};
use iowhy_model::Order as _;
use iowhy_model::{FactValue, Nanos, Time, key};

use crate::{SECOND_NS, Span};

/// The longest time between two blocks of a running recorder, ns (a minute, and two seconds for
/// delays).
const SILENCE_NS: i64 = 62 * SECOND_NS;
/// A recorder that ended or began another stream recorded that: the next one follows within this
/// time, ns.
const NEXT_NS: i64 = 3 * SECOND_NS;

/// Why nothing was recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GapCause {
    /// No recorder ran, or it could not write.
    NotRecorded,
    /// The machine was suspended.
    Suspended,
    /// The wall clock was set ahead: nothing is missing.
    ClockSet,
}

/// An interval, ns since 1970, without data in the store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gap {
    /// Its beginning.
    pub from_ns: i64,
    /// Its end.
    pub to_ns: i64,
    /// Why.
    pub cause: GapCause,
}

/// What one stream of blocks covers.
#[derive(Clone, Copy, Debug)]
struct Watched {
    from_ns: i64,
    to_ns: i64,
    /// It ended cleanly.
    ended: bool,
    /// Clock changes before it.
    after: GapCause,
}

/// Collects which parts of an interval were watched.
#[derive(Clone, Debug)]
pub struct Coverage {
    span: Span,
    /// Offset of the wall clock from the clock of the blocks, by stream, ns.
    offsets: HashMap<u64, i64>,
    watched: Vec<Watched>,
    /// The index in `watched` at which each stream continues.
    open: HashMap<u64, usize>,
}

impl Coverage {
    /// Empty coverage.
    pub fn new(span: Span) -> Coverage {
        Coverage { span, offsets: HashMap::new(), watched: Vec::new(), open: HashMap::new() }
    }

    /// Adds a segment, which began at this time, s since 1970.
    pub fn segment(&mut self, began_s: i64, blocks: impl Iterator<Item = (Header, Block)>) {
        for (header, block) in blocks {
            self.block(began_s, &header, &block);
        }
    }

    /// Adds a block.
    pub fn block(&mut self, began_s: i64, header: &Header, block: &Block) {
        let facts = || block.sections.iter().flat_map(|section| &section.facts);
        let stated = facts().find(|fact| fact.key == key::CLOCK_OFFSET);
        if let Some(offset) = stated.and_then(|fact| fact.value.duration()) {
            self.offsets.insert(header.stream, offset.ns());
        }
        let first = crate::emit::first_time(block).map_or(0, Time::ns);
        let named = || began_s.saturating_mul(SECOND_NS).saturating_sub(first);
        let offset = *self.offsets.entry(header.stream).or_insert_with(named);
        let mut add = |start: Time, length: Option<Nanos>| {
            let from_ns = start.ns().saturating_add(offset);
            let length = length.map_or(0, |length| length.ns());
            self.watched(header.stream, from_ns, from_ns.saturating_add(length));
        };
        for section in &block.sections {
            let cells = section.intervals.iter().map(|one| (one.start, one.length));
            let histograms = section.distributions.iter().map(|one| (one.start, one.length));
            let facts = section.facts.iter().map(|fact| (fact.at, None));
            for (start, length) in cells.chain(histograms).chain(facts) {
                if let Some(start) = start {
                    add(start, length);
                }
            }
        }
        let last = self.open.get(&header.stream).and_then(|place| self.watched.get_mut(*place));
        let Some(last) = last else { return };
        for fact in facts() {
            if fact.key == key::RECORDER.member("ended") {
                last.ended = true;
            } else if fact.key == key::RECORDER.member("suspend") {
                last.after = GapCause::Suspended;
            } else if fact.key == key::RECORDER.member("clock-step")
                && matches!(fact.value, FactValue::Duration(step) if step.ns() > 0)
            {
                last.after = GapCause::ClockSet;
            }
        }
    }

    fn watched(&mut self, stream: u64, from_ns: i64, to_ns: i64) {
        let place = self.open.get(&stream).and_then(|place| self.watched.get_mut(*place));
        match place {
            // Cells of a sampled segment come some minutes after the facts of their time.
            Some(last)
                if from_ns <= last.to_ns.saturating_add(SILENCE_NS)
                    && to_ns >= last.from_ns.saturating_sub(SILENCE_NS) =>
            {
                last.from_ns = last.from_ns.min(from_ns);
                last.to_ns = last.to_ns.max(to_ns);
            }
            _ => {
                let after = GapCause::NotRecorded;
                self.open.insert(stream, self.watched.len());
                self.watched.push(Watched { from_ns, to_ns, ended: false, after });
            }
        }
    }

    /// The watched intervals, in order; overlapping and adjacent ones are merged.
    fn stretches(&self) -> Vec<Watched> {
        let mut all = self.watched.clone();
        all.order_by_key(|one| one.from_ns);
        let mut merged: Vec<Watched> = Vec::new();
        for one in all {
            let allowed = |last: &Watched| if last.ended { NEXT_NS } else { SILENCE_NS };
            match merged.last_mut() {
                Some(last) if one.from_ns <= last.to_ns.saturating_add(allowed(last)) => {
                    if one.to_ns >= last.to_ns {
                        (last.to_ns, last.ended) = (one.to_ns, one.ended);
                    }
                }
                _ => merged.push(one),
            }
        }
        merged
    }

    /// Whether any part of an interval was watched.
    pub fn touches(&self, span: Span) -> bool {
        let touched = |one: &Watched| {
            let allowed = if one.ended { NEXT_NS } else { SILENCE_NS };
            span.touches(one.from_ns - NEXT_NS, one.to_ns.saturating_add(allowed))
        };
        self.stretches().iter().any(touched)
    }

    /// The gaps in the requested interval, in order: between watched parts, and at its ends if it
    /// has any.
    pub fn gaps(&self) -> Vec<Gap> {
        let mut gaps = Vec::new();
        let stretches = self.stretches();
        let (Some(first), Some(last)) = (stretches.first(), stretches.last()) else {
            return gaps;
        };
        let cause = GapCause::NotRecorded;
        if self.span.from_ns != i64::MIN {
            gaps.push(Gap { from_ns: self.span.from_ns, to_ns: first.from_ns, cause });
        }
        for pair in stretches.windows(2) {
            if let [before, after] = pair {
                let (from_ns, to_ns) = (before.to_ns, after.from_ns);
                gaps.push(Gap { from_ns, to_ns, cause: after.after });
            }
        }
        if self.span.to_ns != i64::MAX {
            gaps.push(Gap { from_ns: last.to_ns, to_ns: self.span.to_ns, cause });
        }
        gaps.retain_mut(|gap| {
            gap.from_ns = gap.from_ns.max(self.span.from_ns);
            gap.to_ns = gap.to_ns.min(self.span.to_ns);
            gap.to_ns.saturating_sub(gap.from_ns) > NEXT_NS
        });
        // The recorder need not have written a block at either end.
        let at_an_end =
            |gap: &Gap| gap.from_ns == self.span.from_ns || gap.to_ns == self.span.to_ns;
        gaps.retain(|gap| !at_an_end(gap) || gap.to_ns - gap.from_ns > SILENCE_NS);
        gaps
    }
}
