//! The most recent part of a stream: as many seconds as the terminal has columns.

use std::collections::BTreeSet;

use iowhy_model::{
    DeviceId, Distribution, Edges, Event, Histogram, Layer, Listing, Nanos, Recording, Stage, Time,
    key,
};
use iowhy_show::clock;

/// One second of a source's clock.
pub(super) const SECOND: Nanos = Nanos(1_000_000_000);

/// Recent records, with single requests counted by the second.
#[derive(Default)]
pub(super) struct Window {
    recording: Recording,
}

/// The known series: empty seconds are kept for each of them.
type CountedKeys = BTreeSet<(DeviceId, Layer, Stage)>;

impl Window {
    /// Adds new records and returns what is drawn: at most `seconds`.
    pub(super) fn add(&mut self, part: Recording, seconds: usize) -> Recording {
        let before = std::mem::replace(&mut self.recording, part);
        let mut olds = before.listings.into_iter();
        for listing in &mut self.recording.listings {
            let old = olds.next();
            merge(listing, old, seconds as i64);
        }
        self.recording.clone()
    }
}

/// Puts older records before the new ones, and drops those that are too old.
fn merge(listing: &mut Listing, old: Option<Listing>, seconds: i64) {
    let events = std::mem::take(&mut listing.events);
    // Facts about the clock are emitted once, at the beginning.
    if let Some(old) = old.as_ref().filter(|_| clock::zero(listing).is_none()) {
        let clock = old.facts.iter().filter(|fact| fact.key == key::CLOCK_OFFSET);
        listing.facts.extend(clock.cloned());
    }
    let mut known = old.map_or_else(Vec::new, |old| old.distributions);
    let last = last_second(&known);
    listing.distributions.drain(..).for_each(|one| join(&mut known, one));
    let mut counted = CountedKeys::new();
    for event in &events {
        count(&mut known, &mut counted, event);
    }
    silence(&mut known, &counted, last);
    if let Some(end) = known.iter().filter_map(|one| Some(one.start? + one.length?)).max() {
        let oldest = end.ns().saturating_sub(seconds.saturating_mul(SECOND.ns()));
        known.retain(|one| one.start.is_none_or(|start| start.ns() >= oldest));
    }
    listing.distributions = known;
}

/// Adds an interval of much less than a second to its second, and one without a time to the others
/// of its kind. An interval of about a second stays where it is: moved to a whole second, it would
/// leave a gap after a slightly longer one, which a busy machine produces.
fn join(known: &mut Vec<Distribution>, mut one: Distribution) {
    if let (Some(start), Some(length)) = (one.start, one.length) {
        if length.ns() > SECOND.ns() / 2 {
            return known.push(one);
        }
        (one.start, one.length) = (Some(second_of(start)), Some(SECOND));
    }
    let key = |one: &Distribution| (one.device, one.layer, one.stage, one.op, one.start, one.label);
    let wanted = key(&one);
    let place = known.iter_mut().rev().find(|other| key(other) == wanted);
    if !place.is_some_and(|other| other.histogram.merge(&one.histogram)) {
        known.push(one);
    }
}

fn second_of(at: Time) -> Time {
    Time::from_ns(at.ns().div_euclid(SECOND.ns()).saturating_mul(SECOND.ns()))
}

fn last_second(known: &[Distribution]) -> Option<i64> {
    known.iter().filter_map(|one| Some(one.start?.ns().div_euclid(SECOND.ns()))).max()
}

/// Counts a request into the second in which it completed.
fn count(known: &mut Vec<Distribution>, counted: &mut CountedKeys, event: &Event) {
    let (Some((stage, latency)), Some(at)) = (event.longest(), event.completed) else { return };
    let start = second_of(at);
    counted.insert((event.device, event.layer, stage));
    let who = (event.device, event.layer, stage, Some(event.op), Some(start));
    let same = |one: &&mut Distribution| {
        (one.device, one.layer, one.stage, one.op, one.start) == who && one.label.is_none()
    };
    // The newest are last, and most requests belong there.
    if let Some(one) = known.iter_mut().rev().find(same) {
        one.histogram.record(latency.ns().unsigned_abs());
        return;
    }
    let mut one = empty(event.device, event.layer, stage, start);
    one.op = Some(event.op);
    one.histogram.record(latency.ns().unsigned_abs());
    known.push(one);
}

/// Watched seconds without a completion since the last one drawn.
fn silence(known: &mut Vec<Distribution>, counted: &CountedKeys, last: Option<i64>) {
    /// A larger gap is a clock step, not idle time: a day.
    const MOST: i64 = 86_400;
    let (Some(last), Some(now)) = (last, last_second(known)) else { return };
    let busy: BTreeSet<_> = known
        .iter()
        .filter_map(|one| Some((one.device, one.layer, one.stage, one.start?)))
        .collect();
    for (device, layer, stage) in counted {
        for second in (last + 1..now).take(usize::from(now - last < MOST) * MOST as usize) {
            let start = Time::from_ns(second.saturating_mul(SECOND.ns()));
            if !busy.contains(&(*device, *layer, *stage, start)) {
                known.push(empty(*device, *layer, *stage, start));
            }
        }
    }
}

fn empty(device: DeviceId, layer: Layer, stage: Stage, start: Time) -> Distribution {
    let histogram = Histogram::empty(Edges::standard());
    let mut one = Distribution::new(device, layer, stage, histogram);
    (one.start, one.length) = (Some(start), Some(SECOND));
    one
}

#[cfg(test)]
mod tests {
    use super::*;
    use iowhy_model::{Level, Nanos, Op, Sink, Source};

    fn part(seconds: std::ops::Range<i64>) -> Recording {
        let mut recording = Recording::new();
        recording.begin(Source::new("biosnoop", "-", Level::C));
        let sda = recording.device("sda");
        for at in seconds {
            let mut event = Event::new(sda, Op::Read, Layer::Block);
            event.issued = Some(Time::from_ns(at * SECOND.ns()));
            event.completed = Some(Time::from_ns(at * SECOND.ns() + 1_000_000));
            recording.event(event);
        }
        recording
    }

    #[test]
    fn the_latest_seconds_stay_and_silence_is_kept() {
        let mut window = Window::default();
        window.add(part(0..30), 40);
        let drawn = window.add(part(35..60), 40);
        let known = &drawn.listings[0].distributions;
        let starts: Vec<i64> =
            known.iter().filter_map(|one| Some(one.start?.ns() / SECOND.ns())).collect();
        assert_eq!(starts.iter().min(), Some(&20));
        let empty = known.iter().filter(|one| one.histogram.count() == 0).count();
        assert_eq!((starts.len(), empty), (40, 5));
        assert!(known.iter().all(|one| one.length == Some(Nanos(1_000_000_000))));
    }

    #[test]
    fn stretches_of_about_a_second_leave_no_gap() {
        let device = Recording::new().device("sda");
        let (mut known, mut at) = (Vec::new(), 0);
        for k in 0..40 {
            let length = [1_300_000_000, 700_000_000, 1_000_000_000][k % 3];
            let mut one = empty(device, Layer::Block, Stage::Device, Time::from_ns(at));
            one.length = Some(Nanos(length));
            join(&mut known, one);
            at += length;
        }
        let ends = known.iter().filter_map(|one| Some(one.start? + one.length?));
        let starts = known.iter().skip(1).filter_map(|one| one.start);
        assert!(ends.zip(starts).all(|(end, start)| end == start));
    }

    #[test]
    fn parts_of_a_second_become_that_second() {
        let device = Recording::new().device("sda");
        let mut known = Vec::new();
        for k in 0..3000 {
            let start = Time::from_ns(k * 1_000_000);
            let mut one = empty(device, Layer::Block, Stage::Device, start);
            one.length = Some(Nanos(1_000_000));
            one.histogram.record(5000);
            join(&mut known, one);
        }
        let counts: Vec<u64> = known.iter().map(|one| one.histogram.count()).collect();
        assert_eq!(counts, [1000, 1000, 1000]);
    }
}
