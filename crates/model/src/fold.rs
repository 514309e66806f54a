//! Turns events into histograms and series for views and measures.

use std::collections::HashMap;

use crate::{
    DeviceId, Distribution, Edges, Event, Filter, Histogram, Layer, Listing, Nanos, Op, Series,
    Stage, Time,
};

impl Filter {
    /// Histograms of a listing that had to be left out because they cannot be filtered.
    pub fn left_out(&self, listing: &Listing) -> u64 {
        let filled = listing.histograms().filter(|known| known.histogram.count() > 0);
        let unknown = filled.filter(|known| self.distribution(known).is_none()).count() as u64;
        unknown + listing.left_out
    }
}

/// The latencies of a listing as one distribution per device, operation and stage: its own
/// histograms (deltas, so they add up), and its events counted over `edges`.
///
/// Histograms whose edges or labels differ stay apart; those that cannot be filtered are left out
/// ([`Filter::left_out`]).
pub fn distributions(listing: &Listing, filter: &Filter, edges: &Edges) -> Vec<Distribution> {
    let mut folded: Vec<Distribution> = Vec::new();
    // Those of one kind; few of them differ in their edges.
    let mut kinds: HashMap<_, Vec<usize>> = HashMap::new();
    for known in listing.histograms() {
        if filter.distribution(known) != Some(true) {
            continue;
        }
        let Distribution { device, op, stage, layer, label, bytes, .. } = *known;
        let places = kinds.entry((device, op, stage, layer, label, bytes)).or_default();
        let same = |place: &usize| {
            folded.get(*place).is_some_and(|o| o.histogram.edges() == known.histogram.edges())
        };
        let matching = places.iter().copied().find(same);
        match matching.and_then(|place| folded.get_mut(place)) {
            Some(matching) => {
                matching.histogram.merge(&known.histogram);
                let lengths = matching.length.zip(known.length);
                matching.length = lengths.map(|(a, b)| Nanos(a.ns().saturating_add(b.ns())));
            }
            None => {
                places.push(folded.len());
                folded.push(known.clone());
            }
        }
    }
    let mut places: HashMap<(DeviceId, Op, Stage, Layer), usize> = HashMap::new();
    let mut counted: Vec<Distribution> = Vec::new();
    for event in listing.events.iter().filter(|event| filter.event(event)) {
        for stage in Stage::ALL {
            let Some(latency) = event.latency(stage) else { continue };
            let key = (event.device, event.op, stage, event.layer);
            let place = *places.entry(key).or_insert_with(|| {
                let empty = Histogram::empty(edges.clone());
                let mut new = Distribution::new(event.device, event.layer, stage, empty);
                new.op = Some(event.op);
                counted.push(new);
                counted.len() - 1
            });
            counted[place].histogram.record(latency.ns() as u64);
        }
    }
    folded.append(&mut counted);
    folded.sort_by_key(|known| (known.device, known.op, known.stage));
    folded
}

/// The histograms of a listing with its events counted in them, each in the histogram of its
/// interval, or in one without an interval.
pub fn whole(listing: &Listing, edges: &Edges) -> Vec<Distribution> {
    let mut all: Vec<Distribution> = listing.histograms().cloned().collect();
    let known = all.len();
    let mut places: HashMap<(DeviceId, Op, Stage, Layer), Vec<usize>> = HashMap::new();
    for (place, one) in all.iter().enumerate() {
        if let Some(op) = one.op {
            places.entry((one.device, op, one.stage, one.layer)).or_default().push(place);
        }
    }
    for event in &listing.events {
        for stage in Stage::ALL {
            let Some(latency) = event.latency(stage) else { continue };
            let key = (event.device, event.op, stage, event.layer);
            let of_kind = places.entry(key).or_default();
            let holds = |place: &&usize| {
                all.get(**place).is_some_and(|one| {
                    **place >= known
                        || one
                            .stretch()
                            .zip(event.completed)
                            .is_some_and(|((from, to), at)| from <= at && at < to)
                })
            };
            // Histograms with an interval come before the one without.
            let place = of_kind.iter().find(holds).copied().unwrap_or_else(|| {
                let empty = Histogram::empty(edges.clone());
                let mut new = Distribution::new(event.device, event.layer, stage, empty);
                new.op = Some(event.op);
                all.push(new);
                of_kind.push(all.len() - 1);
                all.len() - 1
            });
            if let Some(one) = all.get_mut(place) {
                one.histogram.record(latency.ns().max(0) as u64);
            }
        }
    }
    all
}

/// The latencies of a listing over time, one series per device and stage, a device at a time: its
/// own timed histograms, or its events counted into `columns` equal parts of the time that all
/// events cover. The requested stage of an event is counted, or its longest. Histograms that cannot
/// be filtered are left out.
pub fn series<'a>(
    listing: &'a Listing,
    filter: &Filter,
    edges: &'a Edges,
    columns: usize,
    asked: Option<Stage>,
) -> impl Iterator<Item = Vec<Series>> + use<'a> {
    let known = listing.histograms();
    let mut known: Vec<&Distribution> = known
        .filter(|known| known.start.is_some() && filter.distribution(known) == Some(true))
        .collect();
    known.sort_by_key(|known| known.device);
    let mut timed: Vec<(&Event, Time)> = listing
        .events
        .iter()
        .filter(|event| filter.event(event))
        .filter_map(|event| Some((event, event.completed?)))
        .collect();
    let first = timed.iter().map(|(_, at)| at.ns()).min().unwrap_or(0);
    let last = timed.iter().map(|(_, at)| at.ns()).max().unwrap_or(0);
    let width = (last.saturating_sub(first) / columns.max(1) as i64).saturating_add(1);
    timed.sort_by_key(|(event, _)| event.device);
    let (mut of_known, mut of_timed) = (0, 0);
    std::iter::from_fn(move || {
        let next = [
            known.get(of_known).map(|known| known.device),
            timed.get(of_timed).map(|(event, _)| event.device),
        ];
        let device = next.into_iter().flatten().min()?;
        let mut all: Vec<Series> = Vec::new();
        while let Some(known) = known.get(of_known).filter(|known| known.device == device) {
            of_known += 1;
            add_histogram(&mut all, known);
        }
        while let Some((event, at)) =
            timed.get(of_timed).filter(|(event, _)| event.device == device)
        {
            of_timed += 1;
            let Some((stage, latency)) = event.shown(asked) else { continue };
            let series = entry(&mut all, device, stage);
            let place = at.ns().saturating_sub(first) / width;
            // Columns begin at the first event, so empty intervals keep their position.
            while (series.columns.len() as i64) <= place {
                let offset = (series.columns.len() as i64).saturating_mul(width);
                let start = Time::from_ns(first.saturating_add(offset));
                series.columns.push((start, Nanos(width), Histogram::empty(edges.clone())));
            }
            series.columns[place as usize].2.record(latency.ns() as u64);
        }
        all.sort_by_key(|series| series.stage);
        Some(all)
    })
}

fn add_histogram(all: &mut Vec<Series>, known: &Distribution) {
    let (Some(start), Some(length)) = (known.start, known.length) else { return };
    let series = entry(all, known.device, known.stage);
    // Columns stay in order of time; those of one start are found without a walk over all.
    let first = series.columns.partition_point(|(at, _, _)| *at < start);
    let matching = series.columns.iter_mut().skip(first).take_while(|(at, _, _)| *at == start);
    match matching
        .map(|(_, _, matching)| matching)
        .find(|matching| matching.edges() == known.histogram.edges())
    {
        Some(matching) => {
            matching.merge(&known.histogram);
        }
        None => series.columns.insert(first, (start, length, known.histogram.clone())),
    }
}

/// The series of a stage: few stages, one device.
fn entry(all: &mut Vec<Series>, device: DeviceId, stage: Stage) -> &mut Series {
    let place = all.iter().position(|series| series.stage == stage).unwrap_or_else(|| {
        all.push(Series { device, op: None, stage, columns: Vec::new() });
        all.len() - 1
    });
    &mut all[place]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Layer, Level, Recording, Sink, Source};

    fn listing() -> Listing {
        let mut recording = Recording::new();
        recording.begin(Source::new("biosnoop", "-", Level::C));
        let sda = recording.device("sda");
        for k in 0..100i64 {
            let op = if k % 4 == 0 { Op::Write } else { Op::Read };
            let mut event = Event::new(sda, op, Layer::Block);
            event.bytes = Some(if k % 2 == 0 { 4096 } else { 8192 });
            event.issued = Some(Time::from_ns(k * 10_000_000));
            event.completed = Some(Time::from_ns(k * 10_000_000 + 1_000_000 + k * 1000));
            recording.event(event);
        }
        recording.end();
        recording.listings.remove(0)
    }

    #[test]
    fn events_fold_per_operation_and_stage_and_no_count_is_lost() {
        let listing = listing();
        let folded = distributions(&listing, &Filter::default(), &Edges::standard());
        assert_eq!(folded.len(), 2);
        assert_eq!(folded.iter().map(|d| d.histogram.count()).sum::<u64>(), 100);
        let filter = Filter { bytes: Some((4096, 4096)), ..Filter::default() };
        let folded = distributions(&listing, &filter, &Edges::standard());
        assert_eq!(folded.iter().map(|d| d.histogram.count()).sum::<u64>(), 50);
    }

    #[test]
    fn columns_cover_the_time_evenly() {
        let (listing, edges) = (listing(), Edges::standard());
        let all: Vec<Series> =
            series(&listing, &Filter::default(), &edges, 10, None).flatten().collect();
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].columns.len(), 10);
        assert_eq!(all[0].columns.iter().map(|(_, _, h)| h.count()).sum::<u64>(), 100);
        assert!(all[0].columns.windows(2).all(|pair| pair[0].0 + pair[0].1 == pair[1].0));
    }
    fn histograms(sizes: &[Option<u32>]) -> Listing {
        let mut recording = Recording::new();
        recording.begin(Source::new("capture", "-", Level::B));
        let sda = recording.device("sda");
        for bytes in sizes {
            let mut histogram = Histogram::empty(Edges::standard());
            histogram.record(1_000_000);
            let mut known = Distribution::new(sda, Layer::Block, Stage::Device, histogram);
            (known.start, known.length) = (Some(Time::from_ns(0)), Some(Nanos(i64::MAX)));
            known.bytes = *bytes;
            recording.distribution(known);
        }
        recording.end();
        recording.listings.remove(0)
    }

    #[test]
    fn lengths_beyond_all_time_do_not_overflow() {
        let listing = histograms(&[None, None]);
        let folded = distributions(&listing, &Filter::default(), &Edges::standard());
        assert_eq!((folded.len(), folded[0].length), (1, Some(Nanos(i64::MAX))));
    }

    #[test]
    fn a_histogram_that_cannot_be_filtered_is_left_out_and_counted() {
        let listing = histograms(&[None, Some(4096), Some(8192)]);
        let size = Filter { bytes: Some((4096, 4096)), ..Filter::default() };
        assert!(size.per_event() && !Filter::default().per_event());
        let folded = distributions(&listing, &size, &Edges::standard());
        assert_eq!(folded.iter().map(|known| known.bytes).collect::<Vec<_>>(), [Some(4096)]);
        let edges = Edges::standard();
        let columns = series(&listing, &size, &edges, 10, None).flatten().next().unwrap().columns;
        assert_eq!(columns.iter().map(|(_, _, known)| known.count()).sum::<u64>(), 1);
        assert_eq!(size.left_out(&listing), 1);
        for filter in [
            Filter { pid: Some(7), ..Filter::default() },
            Filter { over: Some(Nanos(1)), ..Filter::default() },
        ] {
            assert_eq!(distributions(&listing, &filter, &Edges::standard()), []);
            assert_eq!(series(&listing, &filter, &edges, 10, None).flatten().count(), 0);
            assert_eq!(filter.left_out(&listing), 3);
        }
        assert_eq!(Filter::default().left_out(&listing), 0);
    }
}
