//! A recording that counts single I/Os instead of keeping them: any length in fixed memory.

use std::collections::BTreeMap;

use crate::{Distribution, Event, Filter, Listing, Note, Recording, Sink, Source, Stage};

mod neighbours;

/// Single events of a listing that are kept as they are (9.6 MB): a capture up to here is drawn
/// exactly at any screen width.
const EVENTS: usize = 100_000;
/// Histograms of a listing kept before neighbours in time are added up: 15 MB for PyLatencyMap's
/// records, 60 MB for the standard table.
const HISTOGRAMS: usize = 1 << 15;

/// Emits into a recording. Past `EVENTS`, single I/Os of a listing become histograms: of the
/// longest stage, or the one asked for, over time, of the other stages in one; past `HISTOGRAMS`,
/// those that a source gives are added up with their neighbours in time. No count is lost, only
/// time resolution.
///
/// Each listing is counted separately, because concurrent listings take turns.
pub struct Tally {
    recording: Recording,
    current: usize,
    /// The state of each listing in which neighbours were added up.
    joined: BTreeMap<usize, Joined>,
    filter: Filter,
}

/// How histograms of a listing are added up.
struct Joined {
    /// The number at which they are added up again.
    most: usize,
    /// Length of the intervals, as a power of two of ns.
    stretch: u32,
}

impl Default for Tally {
    fn default() -> Self {
        Tally::keeping(EVENTS)
    }
}

impl Tally {
    /// Counts events only past this many in a listing.
    pub fn keeping(events: usize) -> Tally {
        Tally::into(Recording::counting(events))
    }

    fn into(recording: Recording) -> Tally {
        let filter = Filter::default();
        Tally { recording, current: 0, joined: BTreeMap::new(), filter }
    }

    /// Counts only what passes. Histograms that cannot be filtered are left out and counted as
    /// such; a view need not filter the rest again.
    pub fn only(&mut self, filter: Filter) {
        self.filter = filter;
    }

    /// Counts this stage of events over time, instead of the longest.
    pub fn over_time(&mut self, stage: Option<Stage>) {
        self.recording.over_time = stage;
    }

    /// Keeps events as a recording for a verdict does, and adds up histograms only.
    pub fn for_a_verdict() -> Tally {
        Tally::into(Recording::for_a_verdict())
    }

    /// Also counts cells ([`Recording::keep_cells`]).
    pub fn keep_cells(&mut self, filter: Filter) {
        self.recording.keep_cells(filter);
    }

    /// What is known of sources, devices and names so far.
    pub fn known(&self) -> &Recording {
        &self.recording
    }

    /// Everything emitted, counted.
    pub fn recording(mut self) -> Recording {
        self.recording.resolve_all();
        self.recording
    }

    /// Everything counted since the last call; sources stay, and the open listing continues. For
    /// pictures of a running capture.
    pub fn take(&mut self) -> Recording {
        self.recording.resolve_all();
        self.joined.clear();
        let measured = |listing: &mut Listing| {
            (std::mem::take(&mut listing.events), std::mem::take(&mut listing.distributions))
        };
        let moved: Vec<_> = self.recording.listings.iter_mut().map(measured).collect();
        let mut part = self.recording.clone();
        for (listing, (events, distributions)) in part.listings.iter_mut().zip(moved) {
            (listing.events, listing.distributions) = (events, distributions);
        }
        part
    }

    /// Whether anything was lost or could not be read so far.
    pub fn is_incomplete(&self) -> bool {
        self.recording.is_incomplete()
    }

    fn listing(&mut self) -> Option<&mut Listing> {
        self.recording.listings.get_mut(self.current)
    }
}

impl Sink for Tally {
    crate::forward!(recording: source device set_medium name interval unread fact);

    fn begin(&mut self, source: Source) -> usize {
        self.current = self.recording.begin(source);
        self.current
    }

    fn resume(&mut self, listing: usize) {
        self.recording.resume(listing);
        self.current = listing;
    }

    fn event(&mut self, event: Event) {
        if !self.filter.event(&event) {
            self.recording.source().records += 1;
            return;
        }
        self.recording.event(event);
    }

    fn distribution(&mut self, distribution: Distribution) {
        if self.filter.per_event() && self.filter.distribution(&distribution) != Some(true) {
            self.recording.source().records += 1;
            let unknown = self.filter.distribution(&distribution).is_none();
            if let Some(listing) = self.listing().filter(|_| unknown) {
                listing.left_out += u64::from(distribution.histogram.count() > 0);
            }
            return;
        }
        let joined = self.joined.get(&self.current);
        let (most, stretch) =
            (joined.map_or(HISTOGRAMS, |one| one.most), joined.map(|one| one.stretch));
        if let (Some(stretch), Some(listing)) = (stretch, self.listing())
            && neighbours::join(&mut listing.distributions, &distribution, stretch)
        {
            listing.source.records += 1;
            return;
        }
        self.recording.distribution(distribution);
        let Some(listing) = self.listing().filter(|known| known.distributions.len() >= most) else {
            return;
        };
        let stretch = neighbours::add_up(&mut listing.distributions, most / 2);
        // Many series may need more; then memory grows with their number, not with the length.
        let left = listing.distributions.len();
        let most = most.max(left.saturating_mul(2));
        self.joined.insert(self.current, Joined { most, stretch });
        let reason = "histograms of adjacent intervals were merged to save memory";
        let reported = self.source().notes.iter().any(|note| note.reason == reason);
        if !reported {
            self.note(Note { line: 0, text: String::new(), reason: reason.to_string() });
        }
    }

    fn end(&mut self) {
        self.joined.remove(&self.current);
        self.recording.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Edges, Filter, Histogram, Layer, Level, Nanos, Op, Time};
    use crate::{distributions, series};

    /// `total` reads and writes, one each 10 us, of 100 us and a little more; every third was seen
    /// being queued.
    fn emitted(total: i64, sink: &mut dyn Sink) {
        sink.begin(Source::new("blktrace", "-", Level::D));
        let sda = sink.device("sda");
        for k in 0..total {
            let op = if k % 4 == 0 { Op::Write } else { Op::Read };
            let mut event = Event::new(sda, op, Layer::Block);
            let issued = 5_000_000_000 + k * 10_000;
            event.queued = (k % 3 == 0).then(|| Time::from_ns(issued - 1500));
            event.issued = Some(Time::from_ns(issued));
            event.completed = Some(Time::from_ns(issued + 100_000 + k % 50_000));
            sink.event(event);
        }
        sink.end();
    }

    #[test]
    fn counted_io_gives_the_histograms_that_kept_io_gives() {
        let (mut kept, mut counted) = (Recording::new(), Tally::keeping(1000));
        emitted(30_000, &mut kept);
        emitted(30_000, &mut counted);
        let counted = counted.recording();
        let (kept, counted) = (&kept.listings[0], &counted.listings[0]);
        assert_eq!((counted.events.len(), counted.folded), (0, 30_000));
        assert_eq!(counted.source.records, 30_000);
        let (filter, edges) = (Filter::default(), Edges::standard());
        let folded = |listing| -> Vec<_> {
            let all = distributions(listing, &filter, &edges);
            all.into_iter().map(|one| (one.op, one.stage, one.histogram)).collect()
        };
        assert_eq!(folded(counted), folded(kept));
    }

    #[test]
    fn counted_io_covers_the_same_time_without_a_gap() {
        let mut counted = Tally::keeping(1000);
        emitted(30_000, &mut counted);
        let counted = counted.recording();
        let edges = Edges::standard();
        let all: Vec<_> =
            series(&counted.listings[0], &Filter::default(), &edges, 80, None).flatten().collect();
        assert_eq!(all.len(), 2, "Q2C of those seen queued, D2C of the others");
        let total: u64 = all.iter().flat_map(|one| &one.columns).map(|(.., h)| h.count()).sum();
        assert_eq!(total, 30_000);
        for one in &all {
            assert!(one.columns.windows(2).all(|pair| pair[0].0 + pair[0].1 == pair[1].0));
            let (first, last) = (one.columns.first().unwrap(), one.columns.last().unwrap());
            assert_eq!(first.0.ns(), 5_000_100_000);
            assert_eq!((last.0 + last.1).ns(), 5_000_000_000 + 29_999 * 10_000 + 129_999 + 1);
        }
    }

    #[test]
    fn the_stage_asked_for_is_counted_over_time() {
        for keeping in [1000, 100_000] {
            let mut counted = Tally::keeping(keeping);
            counted.over_time(Some(Stage::Device));
            emitted(30_000, &mut counted);
            let counted = counted.recording();
            let (filter, edges) = (Filter::default(), Edges::standard());
            let asked = Some(Stage::Device);
            let all = series(&counted.listings[0], &filter, &edges, 80, asked).flatten();
            let all: Vec<_> = all.filter(|one| one.stage == Stage::Device).collect();
            let total: u64 = all.iter().flat_map(|one| &one.columns).map(|(.., h)| h.count()).sum();
            assert_eq!((all.len(), total), (1, 30_000), "{keeping} kept");
        }
    }

    #[test]
    fn listings_that_take_turns_are_counted_each_by_itself() {
        let mut tally = Tally::keeping(1000);
        let listings = [0, 1].map(|_| tally.begin(Source::new("iowhy-capture", "-", Level::D)));
        let sda = tally.device("sda");
        for k in 0..9000i64 {
            tally.resume(listings[usize::from(k % 3 == 0)]);
            let mut event = Event::new(sda, Op::Read, Layer::Block);
            event.issued = Some(Time::from_ns(k * 10_000));
            event.completed = Some(Time::from_ns(k * 10_000 + if k < 4000 { 100 } else { 90_000 }));
            tally.event(event);
        }
        for listing in listings {
            tally.resume(listing);
            tally.end();
        }
        let recording = tally.recording();
        for (listing, expected) in recording.listings.iter().zip([6000, 3000]) {
            let all = distributions(listing, &Filter::default(), &Edges::standard());
            let [one] = &all[..] else { panic!("{} histograms", all.len()) };
            assert_eq!((one.histogram.count(), listing.folded), (expected, expected));
        }
    }

    #[test]
    fn cells_hold_all_and_the_verdict_its_stretch() {
        let mut recording = Recording::new();
        recording.keep_stretches(4000);
        recording.keep_cells(Filter::default());
        emitted(30_000, &mut recording);
        let listing = &recording.listings[0];
        assert!(listing.folded > 0 && listing.events.len() < 4000);
        let (filter, edges) = (Filter::default(), Edges::standard());
        let drawn = recording.in_cells(&filter).expect("cells");
        let mut kept = Recording::new();
        emitted(30_000, &mut kept);
        let folded = |recording: &Recording| -> Vec<_> {
            let all = distributions(&recording.listings[0], &filter, &edges);
            all.into_iter().map(|one| (one.op, one.stage, one.histogram)).collect()
        };
        assert_eq!(folded(&drawn), folded(&kept));
        let (singles, all) = (listing.singles(&filter), kept.listings[0].singles(&filter));
        assert_eq!(singles.processes, all.processes);
    }

    #[test]
    fn every_io_is_counted_at_each_bound() {
        for bound in [EVENTS, 1 << 17, crate::EVENTS_JUDGED] {
            for total in [bound - 1, bound, bound + 1] {
                let mut tally = Tally::default();
                emitted(total as i64, &mut tally);
                let recording = tally.recording();
                let listing = &recording.listings[0];
                let whole = |one: &Distribution| one.stage != Stage::Queue;
                let edges = Edges::standard();
                let all = distributions(listing, &Filter::default(), &edges);
                let counted: u64 =
                    all.iter().filter(|one| whole(one)).map(|one| one.histogram.count()).sum();
                // For those with a queue time, both Q2C and D2C.
                let queued = total.div_ceil(3) as u64;
                assert_eq!(counted, total as u64 + queued, "{total}");
                assert_eq!(listing.events.len() as u64 + listing.folded, total as u64, "{total}");
                assert_eq!(listing.source.records, total as u64, "{total}");
                assert!(!recording.is_incomplete(), "{total}");
            }
        }
    }

    #[test]
    fn neighbouring_histograms_are_added_up_and_noted() {
        let mut tally = Tally::default();
        tally.begin(Source::new("pylatencymap", "-", Level::B));
        let device = tally.device("");
        let total = 4 * HISTOGRAMS as i64;
        for k in 0..total {
            let mut histogram = Histogram::empty(Edges::log2_us(20));
            histogram.record(k as u64 * 1000);
            let mut one = Distribution::new(device, Layer::Block, Stage::Device, histogram);
            one.start = Some(Time::from_ns(k * 1_000_000_000));
            one.length = Some(Nanos(1_000_000_000));
            tally.distribution(one);
        }
        tally.end();
        let listing = tally.recording().listings.remove(0);
        assert!(listing.distributions.len() < HISTOGRAMS);
        assert_eq!(listing.source.records, total as u64);
        let counts = listing.distributions.iter().map(|one| one.histogram.count());
        assert_eq!(counts.sum::<u64>(), total as u64);
        let seconds: i64 = listing.distributions.iter().map(|one| one.length.unwrap().ns()).sum();
        assert_eq!(seconds, total * 1_000_000_000);
        assert_eq!(listing.source.notes.len(), 1);
    }

    #[test]
    fn what_is_taken_now_and_then_is_all_there_was() {
        let mut tally = Tally::keeping(1000);
        emitted(2500, &mut tally);
        let mut counted = 0;
        for _ in 0..3 {
            let part = tally.take();
            counted += part.listings.iter().map(|listing| listing.events.len() as u64).sum::<u64>();
            let longest = |one: &&Distribution| one.start.is_some();
            let timed = part.listings.iter().flat_map(|listing| &listing.distributions);
            counted += timed.filter(longest).map(|one| one.histogram.count()).sum::<u64>();
        }
        assert_eq!(counted, 2500);
        assert!(!tally.is_incomplete());
    }
}
