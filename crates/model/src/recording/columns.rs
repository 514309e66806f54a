//! Single I/Os counted over time, in columns that widen as the time they cover grows.

use crate::cells::SingleIos;
use crate::{
    ByDevice, DeviceId, DeviceTotals, Distribution, Edges, Event, Histogram, Layer, Nanos, Op,
    Stage, Time,
};

/// Columns of all series together (1.9 KB each: 31 MB).
const COLUMNS: i64 = 1 << 14;
/// Columns are 2^20 ns wide at first, a millisecond: no screen shows a long capture in more detail.
const SHIFT: u32 = 20;
/// Series over time at most (two columns each at least: 62 MB), and as many histograms of other
/// stages. I/Os of further series count for rates and averages only.
const SERIES: usize = 1 << 14;

/// What was counted.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    edges: Edges,
    /// A column is 2^`shift` ns wide and begins at a multiple of that.
    shift: u32,
    /// Completion of the earliest and the latest event, ns.
    first: i64,
    last: i64,
    /// Events counted.
    pub(super) events: u64,
    /// Latencies dropped because there were too many series.
    pub(super) unplaced: u64,
    /// Their sums by device.
    pub(super) counted: Vec<DeviceTotals>,
    /// Single I/Os for pictures, if any picture shows them.
    pub(super) singles: Option<SingleIos>,
    /// Which stage is counted over time; else the longest.
    over_time: Option<Stage>,
    /// The index of each device in these, and of each key in `timed` and `whole`.
    places: ByDevice<()>,
    timed_places: ByDevice<Kind>,
    whole_places: ByDevice<Kind>,
    /// One stage of each event, over time.
    timed: Vec<TimeColumns>,
    /// Its other stages, all in one.
    whole: Vec<Distribution>,
}

/// The non-empty columns of one device, operation and stage, by number.
#[derive(Clone, Debug)]
struct TimeColumns {
    key: Key,
    columns: Vec<(i64, Histogram)>,
}

type Key = (DeviceId, Kind);

type Kind = (Op, Layer, Stage);

impl Columns {
    /// Counts events kept so far.
    pub(super) fn of<'a>(
        events: impl Iterator<Item = &'a Event> + Clone,
        singles: Option<SingleIos>,
        over_time: Option<Stage>,
    ) -> Columns {
        let times = || events.clone().filter_map(|event| event.completed).map(Time::ns);
        let (first, last) = (times().min().unwrap_or(0), times().max().unwrap_or(0));
        let edges = Edges::standard();
        let mut columns = Columns {
            edges,
            shift: SHIFT,
            first,
            last,
            events: 0,
            unplaced: 0,
            counted: Vec::new(),
            singles,
            over_time,
            places: ByDevice::default(),
            timed_places: ByDevice::default(),
            whole_places: ByDevice::default(),
            timed: Vec::new(),
            whole: Vec::new(),
        };
        columns.shift = columns.fitting(SHIFT, 1);
        events.for_each(|event| columns.count(event));
        columns
    }

    /// Counts an event; one without a latency has nothing to count.
    pub(super) fn count(&mut self, event: &Event) {
        self.events += 1;
        DeviceTotals::count(&mut self.counted, &mut self.places, event);
        if let Some(singles) = &mut self.singles {
            singles.take(event);
        }
        let (Some((shown, latency)), Some(at)) = (event.shown(self.over_time), event.completed)
        else {
            return;
        };
        let key = |stage| (event.device, (event.op, event.layer, stage));
        self.record(key(shown), at.ns(), latency);
        for stage in Stage::ALL.into_iter().filter(|stage| *stage != shown) {
            if let Some(latency) = event.latency(stage) {
                self.add(key(stage), latency);
            }
        }
    }

    fn record(&mut self, key: Key, at: i64, latency: Nanos) {
        if self.timed.len() >= SERIES && self.timed_places.get(key.0, key.1).is_none() {
            self.unplaced += 1;
            return;
        }
        (self.first, self.last) = (self.first.min(at), self.last.max(at));
        let series = self.timed_places.get_or(key.0, key.1, || {
            self.timed.push(TimeColumns { key, columns: Vec::new() });
            self.timed.len() - 1
        });
        let shift = self.fitting(self.shift, self.timed.len());
        while self.shift < shift {
            self.shift += 1;
            self.timed.iter_mut().for_each(TimeColumns::halve);
        }
        let column = at >> self.shift;
        self.timed[series].at(column, &self.edges).record(latency.ns() as u64);
    }

    fn add(&mut self, key: Key, latency: Nanos) {
        if self.whole.len() >= SERIES && self.whole_places.get(key.0, key.1).is_none() {
            return;
        }
        let (device, (op, layer, stage)) = key;
        let place = self.whole_places.get_or(key.0, key.1, || {
            let empty = Histogram::empty(self.edges.clone());
            let mut new = Distribution::new(device, layer, stage, empty);
            new.op = Some(op);
            self.whole.push(new);
            self.whole.len() - 1
        });
        self.whole[place].histogram.record(latency.ns() as u64);
    }

    /// The narrowest column width, not below this shift, at which this many series fit. At the
    /// widest there are two columns, before and after the zero of the clock.
    fn fitting(&self, from: u32, series: usize) -> u32 {
        let room = (COLUMNS / series.max(1) as i64).max(2);
        let fits = |shift: &u32| (self.last >> shift) - (self.first >> shift) < room;
        (from..63).find(fits).unwrap_or(63)
    }

    /// Every column from the first to the last, because seeing nothing is a result too.
    pub(super) fn distributions(self) -> Vec<Distribution> {
        let Columns { edges, shift, first, last, timed, mut whole, .. } = self;
        let length = Some(Nanos(last.saturating_sub(first).saturating_add(1)));
        whole.iter_mut().for_each(|one| one.length = length);
        for TimeColumns { key: (device, (op, layer, stage)), columns } in timed {
            let mut filled = columns.into_iter().peekable();
            for column in first >> shift..=last >> shift {
                let here = filled.next_if(|(number, _)| *number == column);
                let histogram =
                    here.map_or_else(|| Histogram::empty(edges.clone()), |(_, known)| known);
                let mut one = Distribution::new(device, layer, stage, histogram);
                // The outer columns end where the events do.
                let start = (column << shift).max(first);
                let end = (column << shift | !(-1 << shift)).min(last);
                one.op = Some(op);
                one.start = Some(Time::from_ns(start));
                one.length = Some(Nanos(end.saturating_sub(start).saturating_add(1)));
                whole.push(one);
            }
        }
        whole
    }
}

impl TimeColumns {
    /// The column of that number; events come nearly in order.
    fn at(&mut self, column: i64, edges: &Edges) -> &mut Histogram {
        let place = match self.columns.last() {
            Some((last, _)) if *last == column => self.columns.len() - 1,
            Some((last, _)) if *last > column => {
                let found = self.columns.binary_search_by_key(&column, |(number, _)| *number);
                found.unwrap_or_else(|place| {
                    self.columns.insert(place, (column, Histogram::empty(edges.clone())));
                    place
                })
            }
            _ => {
                self.columns.push((column, Histogram::empty(edges.clone())));
                self.columns.len() - 1
            }
        };
        &mut self.columns[place].1
    }

    /// Every two neighbouring columns become one.
    fn halve(&mut self) {
        let columns = std::mem::take(&mut self.columns);
        for (number, histogram) in columns {
            match self.columns.last_mut() {
                Some((last, known)) if *last == number >> 1 => {
                    known.merge(&histogram);
                }
                _ => self.columns.push((number >> 1, histogram)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(times: &[i64]) -> Columns {
        let events = times.iter().map(|at| {
            let mut event = Event::new(DeviceId(0), Op::Read, Layer::Block);
            event.completed = Some(Time::from_ns(*at));
            event.issued = Some(Time::from_ns(at.saturating_sub(1000)));
            event
        });
        let mut columns = Columns::of([].iter(), None, None);
        (columns.first, columns.last) = (times[0], times[0]);
        events.for_each(|event| columns.count(&event));
        columns
    }

    #[test]
    fn columns_widen_until_they_have_room_and_keep_every_count() {
        let times: Vec<i64> = (0..200_000).map(|k| k * 1_000_000).collect();
        let columns = columns(&times);
        let all = columns.distributions();
        assert!((COLUMNS / 2 - 2..=COLUMNS).contains(&(all.len() as i64)), "{}", all.len());
        assert_eq!(all.iter().map(|one| one.histogram.count()).sum::<u64>(), 200_000);
    }

    #[test]
    fn of_too_many_devices_the_first_have_histograms_and_the_rest_is_counted() {
        let mut columns = Columns::of([].iter(), None, None);
        for k in 0..SERIES as u32 + 100 {
            let mut event = Event::new(DeviceId(k), Op::Read, Layer::Block);
            event.completed = Some(Time::from_ns(2000));
            event.issued = Some(Time::from_ns(1000));
            columns.count(&event);
        }
        assert_eq!((columns.unplaced, columns.counted.len()), (100, SERIES + 100));
        assert!(columns.distributions().len() <= 2 * SERIES);
    }

    #[test]
    fn clocks_that_leap_to_the_ends_of_time_do_not_overflow() {
        let all = columns(&[0, i64::MAX, i64::MIN + 1, 5]).distributions();
        assert!(all.len() as i64 <= COLUMNS);
        // An issue before the start of the clock is moved to it, so its latency is not lost.
        assert_eq!(all.iter().map(|one| one.histogram.count()).sum::<u64>(), 4);
    }
}
