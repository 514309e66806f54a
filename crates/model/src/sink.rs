//! Where readers and collectors emit records.

use crate::{
    DeviceId, Distribution, Event, Fact, Interval, Loss, Medium, Name, Note, Op, Source, Unread,
};

/// Receives what a reader or collector finds. A [`Recording`](crate::Recording) keeps it; a live
/// view may only count it.
///
/// Everything between [`begin`](Sink::begin) and [`end`](Sink::end) belongs to one listing.
/// Collectors that watch side by side [`resume`](Sink::resume) their own before they emit.
pub trait Sink {
    /// A listing begins and becomes the open one; its number is for [`resume`](Sink::resume).
    fn begin(&mut self, source: Source) -> usize;

    /// What follows belongs to this listing again.
    fn resume(&mut self, listing: usize);

    /// The source of the listing that is open, to be amended as the reader learns more.
    fn source(&mut self) -> &mut Source;

    /// The device of that name; added if it is new.
    fn device(&mut self, name: &str) -> DeviceId;

    /// Sets the medium of a device. A sink that does not keep it may ignore it.
    fn set_medium(&mut self, device: DeviceId, medium: Medium) {
        let _ = (device, medium);
    }

    /// Interns a string.
    fn name(&mut self, text: &str) -> Name;

    /// One completed I/O.
    fn event(&mut self, event: Event);

    /// Averages over one interval.
    fn interval(&mut self, interval: Interval);

    /// A histogram of one interval.
    fn distribution(&mut self, distribution: Distribution);

    /// Something known that is not a measurement.
    fn fact(&mut self, fact: Fact);

    /// The open listing ends.
    fn end(&mut self);

    /// A line of the listing could not be used.
    fn skip(&mut self, note: Note) {
        self.source().skipped += 1;
        self.note(note);
    }

    /// A line about this device could not be used. Counts for the device only; the reader also
    /// [skips](Sink::skip) the line.
    fn skipped_of(&mut self, device: DeviceId) {
        let known = &mut self.source().skipped_of;
        match known.iter().position(|(other, _)| *other == device) {
            Some(place) => known[place].1 += 1,
            None if known.len() < DEVICES_KEPT => known.push((device, 1)),
            None => {}
        }
    }

    /// A section of the input could not be read. A sink that does not keep it may ignore it.
    fn unread(&mut self, unread: Unread) {
        let _ = unread;
    }

    /// A caveat; kept if it is among the first three.
    fn note(&mut self, note: Note) {
        let notes = &mut self.source().notes;
        if notes.len() < NOTES_KEPT {
            notes.push(note);
        }
    }

    /// I/Os were lost.
    fn lost(&mut self, what: &str, count: u64) {
        self.lose(Loss { what: what.to_string(), count, of: None });
    }

    /// Requests of one device and operation were lost.
    fn lost_of(&mut self, device: &str, op: Op, why: &str, count: u64) {
        let of = Some((self.device(device), op));
        let what = format!("{device} {} requests {why}", op.name());
        self.lose(Loss { what, count, of });
    }

    /// The same for an existing loss; one with the same words is added to.
    fn lose(&mut self, loss: Loss) {
        if loss.count == 0 {
            return;
        }
        let losses = &mut self.source().losses;
        let full = losses.len() >= LOSSES_KEPT;
        let place = |what: &str| losses.iter().position(|known| known.what == what);
        let further = || if full { place(FURTHER_LOSSES) } else { None };
        match place(&loss.what).or_else(further).and_then(|place| losses.get_mut(place)) {
            Some(known) => known.count = known.count.saturating_add(loss.count),
            None if full => {
                losses.push(Loss { what: FURTHER_LOSSES.to_string(), of: None, ..loss });
            }
            None => losses.push(loss),
        }
    }
}

/// Implements methods of a [`Sink`] that delegate to the sink in a field: `forward!(tally: source
/// device)`.
#[macro_export]
macro_rules! forward {
    ($within:tt: $($method:ident)+) => { $($crate::forward!(@ $method $within);)+ };
    (@ begin $within:tt) => {
        fn begin(&mut self, source: $crate::Source) -> usize {
            self.$within.begin(source)
        }
    };
    (@ resume $within:tt) => {
        fn resume(&mut self, listing: usize) {
            self.$within.resume(listing);
        }
    };
    (@ source $within:tt) => {
        fn source(&mut self) -> &mut $crate::Source {
            self.$within.source()
        }
    };
    (@ device $within:tt) => {
        fn device(&mut self, name: &str) -> $crate::DeviceId {
            self.$within.device(name)
        }
    };
    (@ set_medium $within:tt) => {
        fn set_medium(&mut self, device: $crate::DeviceId, medium: $crate::Medium) {
            self.$within.set_medium(device, medium);
        }
    };
    (@ name $within:tt) => {
        fn name(&mut self, text: &str) -> $crate::Name {
            self.$within.name(text)
        }
    };
    (@ event $within:tt) => {
        fn event(&mut self, event: $crate::Event) {
            self.$within.event(event);
        }
    };
    (@ interval $within:tt) => {
        fn interval(&mut self, interval: $crate::Interval) {
            self.$within.interval(interval);
        }
    };
    (@ distribution $within:tt) => {
        fn distribution(&mut self, distribution: $crate::Distribution) {
            self.$within.distribution(distribution);
        }
    };
    (@ unread $within:tt) => {
        fn unread(&mut self, unread: $crate::Unread) {
            self.$within.unread(unread);
        }
    };
    (@ fact $within:tt) => {
        fn fact(&mut self, fact: $crate::Fact) {
            self.$within.fact(fact);
        }
    };
    (@ end $within:tt) => {
        fn end(&mut self) {
            self.$within.end();
        }
    };
}

/// Devices with skipped lines kept per listing.
const DEVICES_KEPT: usize = 100;
/// Reasons of losses kept per listing.
const LOSSES_KEPT: usize = 256;
/// The reason reported for all others.
const FURTHER_LOSSES: &str = "I/Os, for other reasons";
/// Log events kept per listing; the rest are only counted.
const NOTES_KEPT: usize = 3;
