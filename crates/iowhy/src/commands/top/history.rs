//! The last minutes as ticks, and the last seconds as a recording to judge.

use iowhy_model::Order as _;
use iowhy_model::{Event, Filter, Interval, Listing, Nanos, Recording, Time, key};
use iowhy_show::clock::Clock;
use iowhy_show::top::Tick;

/// Ticks kept of a live watch: ten minutes of seconds.
const TICKS: usize = 600;
/// What is judged: the last seconds, with at most this many I/Os (96 bytes each, 5 MB).
const JUDGED_NS: i64 = 30_000_000_000;
const EVENTS: usize = 50_000;
/// Facts kept per listing: settings once, then changes.
const FACTS: usize = 4_000;
/// Maximum ticks of a replay.
const COLUMNS: i64 = 240;
/// The shortest zoom interval for single I/Os, ns: ticks of a microsecond.
const SHORTEST: i64 = COLUMNS * 1_000;

/// The history of a live watch.
#[derive(Default)]
pub(super) struct History {
    ticks: Vec<Tick>,
    window: Recording,
    /// The time on the trace's clock, ns, and facts about that clock, which only its first part
    /// has.
    now_ns: i64,
    clock: Option<Clock>,
}

impl History {
    /// Adds the records of the last `length`: filtered ones are shown, all are judged.
    pub(super) fn add(&mut self, mut part: Recording, filter: &Filter, length: Nanos) {
        let (from, to) = (Time::from_ns(i64::MIN), Time::from_ns(i64::MAX));
        let mut tick = if *filter == Filter::default() {
            Tick::of(&part, (from, to), length)
        } else {
            let mut shown = part.clone();
            keep(&mut shown, filter);
            Tick::of(&shown, (from, to), length)
        };
        if self.clock.is_none()
            && let Some(clock) = part.listings.iter().find_map(Clock::of)
        {
            let facts = part.listings.iter().flat_map(|listing| &listing.facts);
            let began = facts.filter(|fact| fact.key == key::CLOCK_BEGAN);
            let began = began.filter_map(|fact| Some(fact.value.duration()?.ns())).min();
            (self.clock, self.now_ns) =
                (Some(clock), began.map_or(self.now_ns, |began| began.saturating_sub(clock.zero)));
        }
        // The source reports the time since the start of the watch.
        for listing in &mut part.listings {
            listing.source.watched = listing.source.watched.map(|_| length);
        }
        tick.clock = self.clock;
        tick.slowest.iter_mut().for_each(|one| one.clock = one.clock.or(self.clock));
        tick.start_ns = self.now_ns;
        self.now_ns += length.ns();
        self.ticks.push(tick);
        let old = self.ticks.len().saturating_sub(TICKS);
        self.ticks.drain(..old);
        let before = std::mem::replace(&mut self.window, part);
        for (listing, old) in self.window.listings.iter_mut().zip(before.listings) {
            join(listing, old);
        }
    }

    /// The ticks, oldest first.
    pub(super) fn ticks(&self) -> &[Tick] {
        &self.ticks
    }

    /// The last seconds, for the judge.
    pub(super) fn window(&self) -> &Recording {
        &self.window
    }
}

/// Puts older records before the new ones, and drops those that are too old.
fn join(listing: &mut Listing, mut old: Listing) {
    let source = &mut listing.source;
    let watched = source.watched.zip(old.source.watched);
    source.watched =
        watched.map(|(new, old)| Nanos(new.ns().saturating_add(old.ns()).min(JUDGED_NS)));
    source.records += old.source.records;
    source.skipped += old.source.skipped;
    old.source.losses.append(&mut source.losses);
    source.losses = old.source.losses;
    old.source.notes.append(&mut source.notes);
    source.notes = old.source.notes;
    let end = |event: &Event| event.completed.map(Time::ns);
    let last =
        listing.events.iter().rev().find_map(end).or_else(|| old.events.last().and_then(end));
    let oldest = last.map_or(i64::MIN, |last| last.saturating_sub(JUDGED_NS));
    old.events.retain(|event| end(event).is_none_or(|at| at >= oldest));
    old.events.append(&mut listing.events);
    let over = old.events.len().saturating_sub(EVENTS);
    old.events.drain(..over);
    // The oldest I/Os are missing, and so is the time in which they were watched.
    source.watched = source.watched.filter(|_| over == 0);
    listing.events = old.events;
    let start = |row: &Interval| row.start.map(Time::ns);
    let last = listing.intervals.iter().filter_map(start).max();
    let oldest = last.map_or(i64::MIN, |last| last.saturating_sub(JUDGED_NS));
    old.intervals.retain(|row| start(row).is_none_or(|at| at >= oldest));
    old.intervals.append(&mut listing.intervals);
    listing.intervals = old.intervals;
    old.distributions.append(&mut listing.distributions);
    let over = old.distributions.len().saturating_sub(FACTS);
    old.distributions.drain(..over);
    listing.distributions = old.distributions;
    // Settings come first, and are kept.
    if !old.facts.is_empty() {
        // Each part of a watch has its own names.
        listing.facts.retain(|fact| !fact.is_name());
    }
    old.facts.append(&mut listing.facts);
    if old.facts.len() > FACTS {
        let over = old.facts.len() - FACTS;
        old.facts.drain(FACTS / 2..FACTS / 2 + over);
    }
    listing.facts = old.facts;
}

/// A capture that is divided into ticks.
pub(super) struct Replay {
    recording: Recording,
    /// The slowest I/Os, if not all are kept.
    slowest: Option<Recording>,
    /// All of its time, ns.
    from: i64,
    to: i64,
    /// The length of its rows, if it has only rows.
    row: Option<i64>,
    /// What is not shown.
    pub missing: Vec<String>,
}

impl Replay {
    /// For a capture; `None` if nothing in it has a time.
    pub(super) fn of(recording: &Recording, filter: &Filter) -> Option<Replay> {
        let in_cells = recording.in_cells(filter);
        let slowest = in_cells.is_some().then(|| slowest(recording, filter));
        let mut recording = in_cells.unwrap_or_else(|| recording.clone());
        match &slowest {
            None => keep(&mut recording, filter),
            // The rest of the filter was applied when they were counted.
            Some(_) => {
                let devices = filter.devices.clone();
                keep(&mut recording, &Filter { devices, ..Filter::default() });
            }
        }
        // Averages without times are shown only if nothing has a time.
        if recording.listings.iter().all(|listing| span(listing).is_none()) {
            recording.listings.iter_mut().for_each(|listing| lay_out(&mut listing.intervals));
        }
        let spans: Vec<Option<(i64, i64)>> = recording.listings.iter().map(span).collect();
        let weight = |listing: &Listing| {
            (listing.events.len(), listing.distributions.len(), listing.intervals.len())
        };
        let main = (0..spans.len())
            .filter(|place| spans.get(*place).is_some_and(Option::is_some))
            .max_by_key(|place| recording.listings.get(*place).map(weight))?;
        let (from, to) = spans.get(main).copied().flatten()?;
        let untimed = |listing: &Listing| !listing.intervals.is_empty() && span(listing).is_none();
        let untimed = recording.listings.iter().filter(|listing| untimed(listing)).count();
        // Other listings are included if their time overlaps; otherwise they are on another clock.
        let mut left_out = untimed;
        for (listing, span) in recording.listings.iter_mut().zip(&spans) {
            let overlaps = span.is_some_and(|(start, end)| start < to && from < end);
            if !overlaps {
                left_out += usize::from(span.is_some());
                listing.events.clear();
                listing.intervals.clear();
                listing.distributions.clear();
            }
        }
        let main = recording.listings.get(main).filter(|listing| listing.events.is_empty());
        let rows = main.map(|listing| &listing.intervals);
        let row = rows.and_then(|rows| rows.iter().filter_map(|row| row.length).max());
        let mut missing = match left_out {
            0 => Vec::new(),
            1 => vec!["1 listing without a common clock is not shown".to_string()],
            many => vec![format!("{many} listings without a common clock are not shown")],
        };
        if slowest.is_some() {
            missing.push(
                "too many I/Os for a list of waiters over time: `iowhy report` has it for all"
                    .to_string(),
            );
        }
        let row = row.map(Nanos::ns);
        (from < to).then_some(Replay { row, recording, slowest, from, to, missing })
    }

    /// From its first moment to its last, ns.
    pub(super) fn whole(&self) -> (i64, i64) {
        (self.from, self.to)
    }

    /// An interval of it as ticks.
    pub(super) fn ticks(&self, (from, to): (i64, i64)) -> Vec<Tick> {
        let length = match self.row {
            Some(row) => row.max((to - from) / 10_000).max(1),
            None => nice((to - from) / COLUMNS),
        };
        let mut ticks = Vec::new();
        // Ticks are aligned with those of the whole.
        let mut at = self.from + (from - self.from) / length * length;
        while at < to {
            let end = at.saturating_add(length);
            let within = (Time::from_ns(at), Time::from_ns(end));
            let mut tick = Tick::of(&self.recording, within, Nanos(length));
            if let Some(slowest) = &self.slowest {
                tick.slowest = Tick::of(slowest, within, Nanos(length)).slowest;
            }
            ticks.push(tick);
            at = end;
        }
        let losses = self.recording.listings.iter().map(|listing| listing.source.lost()).sum();
        // Losses of the whole are reported once.
        for (place, tick) in ticks.iter_mut().enumerate() {
            tick.lost = if place == 0 { losses } else { 0 };
        }
        ticks
    }

    /// A quarter of an interval, around a time in it; `None` if that is below the resolution.
    pub(super) fn nearer(&self, (from, to): (i64, i64), around_ns: i64) -> Option<(i64, i64)> {
        let length = (to - from) / 4;
        let least = self.row.map_or(SHORTEST, |row| row.saturating_mul(4));
        let first = (around_ns - length / 2).clamp(from, to - length);
        (length >= least).then_some((first, first + length))
    }
}

/// The slowest I/Os of each listing, if only some are kept.
fn slowest(recording: &Recording, filter: &Filter) -> Recording {
    let mut slowest = recording.clone();
    for listing in &mut slowest.listings {
        if let Some(cells) = listing.cells.take() {
            listing.events = cells.singles.slowest;
            listing.events.order_by_key(|event| event.completed);
        }
        listing.events.retain(|event| filter.event(event));
    }
    slowest
}

/// Applies the filter. Counters include all I/Os of a device: they are dropped if single I/Os are
/// filtered and known.
fn keep(recording: &mut Recording, filter: &Filter) {
    let devices = Filter { devices: filter.devices.clone(), ..Filter::default() };
    let single =
        *filter != devices && recording.listings.iter().any(|listing| !listing.events.is_empty());
    for listing in &mut recording.listings {
        listing.events.retain(|event| filter.event(event));
        listing.intervals.retain(|row| !single && filter.device(row.device) && !row.since_boot);
        listing.distributions.retain(|known| !single && filter.device(known.device));
    }
}

/// Rows without a time follow each other, a second each unless their length is known.
fn lay_out(rows: &mut [Interval]) {
    let mut ends: Vec<(iowhy_model::DeviceId, i64)> = Vec::new();
    for row in rows.iter_mut() {
        let length = row.length.map_or(1_000_000_000, Nanos::ns);
        row.length = Some(Nanos(length));
        if row.start.is_some() {
            continue;
        }
        let place = ends.iter().position(|(device, _)| *device == row.device);
        let place = place.unwrap_or_else(|| {
            ends.push((row.device, 0));
            ends.len() - 1
        });
        if let Some((_, end)) = ends.get_mut(place) {
            row.start = Some(Time::from_ns(*end));
            *end = end.saturating_add(length);
        }
    }
}

/// The time range of a listing.
fn span(listing: &Listing) -> Option<(i64, i64)> {
    let events =
        listing.events.iter().filter_map(|event| event.completed).map(|at| (at.ns(), at.ns() + 1));
    let rows = listing.intervals.iter().filter_map(|row| Some((row.start?.ns(), row.length?.ns())));
    let counted = listing.distributions.iter();
    let counted = counted.filter_map(|known| Some((known.start?.ns(), known.length?.ns())));
    let rows = rows.chain(counted).map(|(start, length)| (start, start.saturating_add(length)));
    events.chain(rows).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

/// The next duration of 1, 2 or 5 times a power of ten.
fn nice(ns: i64) -> i64 {
    let mut step = 1_000;
    loop {
        for factor in [1, 2, 5] {
            if step * factor >= ns {
                return step * factor;
            }
        }
        if step > i64::MAX / 100 {
            return ns;
        }
        step *= 10;
    }
}

#[cfg(test)]
mod tests {
    use iowhy_model::Sink;

    use super::*;

    fn log() -> Recording {
        let mut recording = Recording::new();
        let text: String =
            std::iter::once("TIME(s)     COMM    PID    DISK T SECTOR BYTES LAT(ms)\n")
                .map(str::to_string)
                .chain((0..400).map(|k| {
                    let (comm, disk) = if k % 4 == 0 { ("fio", "sdb") } else { ("dd", "sda") };
                    format!("{:.6} {comm} 7 {disk} R {} 4096 0.5\n", 0.1 * f64::from(k), 8 * k)
                }))
                .collect();
        iowhy_read::scan("log", &mut text.as_bytes(), None, &mut recording).unwrap();
        recording
    }

    fn ios(ticks: &[Tick]) -> f64 {
        let of = |tick: &Tick| {
            let ios: f64 = tick.devices.iter().map(iowhy_show::top::DeviceTick::ios).sum();
            ios * tick.length_ns as f64 / 1e9
        };
        ticks.iter().map(of).sum::<f64>().round()
    }

    #[test]
    fn a_stretch_is_a_quarter_in_shorter_ticks() {
        let replay = Replay::of(&log(), &Filter::default()).unwrap();
        let whole = replay.ticks(replay.whole());
        assert_eq!(ios(&whole), 400.0);
        let mut stretch = replay.whole();
        let middle = (stretch.0 + stretch.1) / 2;
        let mut deep = 0;
        while let Some(nearer) = replay.nearer(stretch, middle) {
            assert!(nearer.0 >= stretch.0 && nearer.1 <= stretch.1, "{nearer:?} of {stretch:?}");
            assert!((nearer.0..nearer.1).contains(&middle), "{nearer:?} without {middle}");
            (stretch, deep) = (nearer, deep + 1);
            let ticks = replay.ticks(stretch);
            assert!((1..=COLUMNS as usize + 1).contains(&ticks.len()), "{}", ticks.len());
        }
        assert_eq!(deep, 8, "40 s to 0.6 ms");
        let first = replay.nearer(replay.whole(), replay.whole().0).unwrap();
        assert_eq!(first.0, replay.whole().0);
        let quarter = ios(&replay.ticks(first));
        assert!((95.0..=105.0).contains(&quarter), "{quarter} of 400 I/Os");
    }

    #[test]
    fn the_window_is_as_long_as_its_parts() {
        let mut part = log();
        let mut history = History::default();
        // The source counts from the start of the watch.
        for second in 1..=40 {
            part.listings[0].source.watched = Some(Nanos(second * 1_000_000_000));
            history.add(part.clone(), &Filter::default(), Nanos(1_000_000_000));
            let expected = Some(Nanos(second.min(30) * 1_000_000_000));
            assert_eq!(history.window().listings[0].source.watched, expected);
        }
    }

    #[test]
    fn single_ios_that_were_asked_for_stand_alone() {
        let mut recording = log();
        let comm = recording.name("fio");
        let filter = Filter { comm: Some(comm), ..Filter::default() };
        let replay = Replay::of(&recording, &filter).unwrap();
        let ticks = replay.ticks(replay.whole());
        assert_eq!(ios(&ticks), 100.0);
        let mut history = History::default();
        history.add(recording.clone(), &filter, Nanos(1_000_000_000));
        assert_eq!(ios(history.ticks()), 100.0);
        assert_eq!(history.window().listings[0].events.len(), 400);
    }

    #[test]
    fn ticks_have_round_lengths() {
        assert_eq!(nice(1), 1_000);
        assert_eq!(nice(3_100_000), 5_000_000);
        assert_eq!(nice(1_000_000_000), 1_000_000_000);
        assert_eq!(nice(i64::MAX / 2), i64::MAX / 2);
    }
}
