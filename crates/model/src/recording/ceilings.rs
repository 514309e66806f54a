//! Limits of a recording for each kind of record, so that untrusted input takes a bounded amount of
//! memory. What exceeds a limit is counted as lost and reported, with status 1.

use super::{EVENTS_KEPT, Listing, Recording};
use crate::{DeviceId, Note, Sink};

/// Devices (some 200 bytes each: 26 MB): ten times those of the largest machine known.
pub(super) const DEVICES: usize = 1 << 17;
/// The device for all records of devices beyond the limit; none of them is kept.
pub(super) const FURTHER_DEVICES: DeviceId = DeviceId(DEVICES as u32);
/// Strings interned (some 150 bytes each: 80 MB).
pub(super) const NAMES: usize = 1 << 19;
/// The name of strings and devices beyond the limit.
pub(super) const FURTHER: &str = "(further)";
/// Listings (some 700 bytes each: 46 MB). One more counts those beyond the limit.
pub(super) const LISTINGS: usize = 1 << 16;
/// Rows of averages of one listing (some 400 bytes each: 52 MB) before neighbours are merged.
pub(super) const ROWS_OF_ONE: usize = 1 << 17;
/// Single I/Os of all listings together past which a listing keeps [`EVENTS_LEAST`] only.
const EVENTS_TOGETHER: usize = 1 << 20;
const EVENTS_LEAST: usize = 1 << 12;

/// A kind of record: how many are kept over all listings, the loss reported beyond that, and how
/// many a listing has.
#[derive(Clone, Copy)]
pub(super) struct Ceiling {
    most: usize,
    beyond: &'static str,
    of: fn(&KeptCounts) -> usize,
}

/// 300 MB, for captures with many listings: a single one folds long before.
pub(super) const EVENTS: Ceiling = Ceiling {
    most: 3 << 20,
    beyond: "I/Os of many listings beyond the first 3145728",
    of: |kept| kept.events,
};
pub(super) const ROWS: Ceiling = Ceiling {
    most: 2 * ROWS_OF_ONE,
    beyond: "rows of averages beyond the first 262144",
    of: |kept| kept.rows,
};
/// Histograms of some twenty buckets take 60 MB.
pub(super) const HISTOGRAMS: Ceiling = Ceiling {
    most: 1 << 17,
    beyond: "histograms beyond the first 131072",
    of: |kept| kept.histograms,
};
/// Some 200 bytes each: 100 MB.
pub(super) const FACTS: Ceiling =
    Ceiling { most: 1 << 19, beyond: "facts beyond the first 524288", of: |kept| kept.facts };
const DEVICES_LOST: &str = "records of devices beyond the first 131072";
const LISTINGS_LOST: &str = "records of listings beyond the first 65536";
pub(super) const NAMES_LOST: &str =
    "names of processes, files and groups beyond the first 524288, shown as `(further)`";
pub(super) const ROWS_JOINED: &str = "averages of adjacent intervals were merged to save memory";

/// How many of each kind are kept.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct KeptCounts {
    events: usize,
    rows: usize,
    histograms: usize,
    facts: usize,
}

impl KeptCounts {
    fn of(listing: &Listing) -> KeptCounts {
        KeptCounts {
            events: listing.events.len(),
            rows: listing.intervals.len(),
            histograms: listing.distributions.len() + listing.rest.len(),
            facts: listing.facts.len(),
        }
    }

    /// One more listing ended.
    pub(super) fn add(&mut self, listing: &Listing) {
        let KeptCounts { events, rows, histograms, facts } = KeptCounts::of(listing);
        self.events += events;
        self.rows += rows;
        self.histograms += histograms;
        self.facts += facts;
    }
}

impl Recording {
    /// Whether the open listing may keep one more record of this kind and device; otherwise it is
    /// counted as lost.
    pub(super) fn has_room(&mut self, device: Option<DeviceId>, kind: Ceiling) -> bool {
        let open = KeptCounts::of(self.open());
        let together = (kind.of)(&self.ended) + (kind.of)(&open);
        let beyond = if device == Some(FURTHER_DEVICES) {
            DEVICES_LOST
        } else if self.current == LISTINGS {
            LISTINGS_LOST
        } else if together >= kind.most && self.is_bounded() {
            kind.beyond
        } else {
            return true;
        };
        // It was read, so the listing is not empty.
        self.source().records += 1;
        self.lost(beyond, 1);
        false
    }

    /// Single I/Os that the open listing may keep before it folds them.
    pub(super) fn budget(&self) -> usize {
        let left = EVENTS_TOGETHER.saturating_sub(self.ended.events).max(EVENTS_LEAST);
        if self.events_kept < EVENTS_KEPT { self.events_kept.min(left) } else { self.events_kept }
    }

    /// Whether it is from a capture, not a live one that a view keeps emptying.
    fn is_bounded(&self) -> bool {
        self.events_kept < usize::MAX
    }

    /// Adds a note to the open listing, unless it has it.
    pub(super) fn say_once(&mut self, reason: &str) {
        if !self.source().notes.iter().any(|note| note.reason == reason) {
            self.note(Note { line: 0, text: String::new(), reason: reason.to_string() });
        }
    }
}
