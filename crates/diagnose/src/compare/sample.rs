//! Values of two recordings, as lists by kind of request.

use iowhy_model::{DeviceId, Event, Layer, Listing, Op, Recording, Unit};

use crate::measures::sequential::{self, Extent};
use crate::phrase;

/// A kind of request: operation, size within an octave, pattern.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Kind {
    op: Op,
    octave: u32,
    sequential: Option<bool>,
}

impl Kind {
    /// In words: `8 KiB sequential reads`; sizes up to the one named, from above its half.
    pub(super) fn words(self) -> String {
        let pattern = match self.sequential {
            Some(true) => "sequential ",
            Some(false) => "random ",
            None => "",
        };
        let size = phrase::bytes(f64::from(1u32.checked_shl(self.octave).unwrap_or(u32::MAX)));
        match self.op {
            Op::Flush => "flushes".to_string(),
            op => format!("{size} {pattern}{}", phrase::plural(op)),
        }
    }
}

/// One request of a side.
struct SideRequest {
    kind: Kind,
    bytes: Option<u32>,
    ms: Option<f64>,
}

/// A column of averages on both sides.
pub(super) struct Column {
    pub(super) group: String,
    pub(super) quantity: &'static str,
    pub(super) unit: Unit,
    pub(super) values: [Vec<f64>; 2],
}

/// The contents of both recordings.
pub(super) struct Sides<'a> {
    recordings: [&'a Recording; 2],
    taken: [Vec<SideRequest>; 2],
    span_s: [f64; 2],
}

impl<'a> Sides<'a> {
    pub(super) fn of(recordings: [&'a Recording; 2]) -> Sides<'a> {
        let taken = recordings.map(|recording| recording.listings.iter().flat_map(taken).collect());
        let span_s = recordings
            .map(|recording| recording.listings.iter().filter_map(span_s).fold(0.0, f64::max));
        Sides { recordings, taken, span_s }
    }

    /// Requests of a side.
    pub(super) fn count(&self, side: usize) -> u64 {
        self.taken[side].len() as u64
    }

    pub(super) fn kinds(&self, side: usize) -> impl Iterator<Item = Kind> + '_ {
        self.taken[side].iter().map(|one| one.kind)
    }

    /// Requests per second over the longest of its listings, if that took any time.
    pub(super) fn per_second(&self, side: usize) -> Option<f64> {
        let span = self.span_s[side];
        (span > 0.0 && !self.taken[side].is_empty()).then(|| self.count(side) as f64 / span)
    }

    /// Sizes of the requests, by side.
    pub(super) fn bytes(&self) -> [Vec<f64>; 2] {
        [0, 1].map(|side| {
            let sizes = self.taken[side].iter().filter_map(|one| one.bytes);
            sizes.filter(|bytes| *bytes > 0).map(f64::from).collect()
        })
    }

    /// Latencies of a kind, or of all but flushes, ms, by side, in order of completion.
    pub(super) fn latencies(&self, kind: Option<Kind>) -> [Vec<f64>; 2] {
        [0, 1].map(|side| {
            let wanted = |one: &&SideRequest| match kind {
                Some(kind) => one.kind == kind,
                None => one.kind.op != Op::Flush,
            };
            self.taken[side].iter().filter(wanted).filter_map(|one| one.ms).collect()
        })
    }

    /// Averages that both sides print.
    pub(super) fn rows(&self) -> Vec<Column> {
        let mut columns = Vec::new();
        for op in [Op::Read, Op::Write, Op::Flush] {
            type Of = fn(&iowhy_model::Rates) -> Option<f64>;
            let of: [(&'static str, Unit, Of); 3] = [
                ("rate, median of the rows", Unit::PerSecond, |rates| Some(rates.ios_per_s)),
                ("mean size, median of the rows", Unit::Bytes, |rates| rates.mean_bytes()),
                ("await, median of the rows", Unit::Ms, |rates| Some(rates.await_ns? / 1e6)),
            ];
            for (quantity, unit, value) in of {
                let values = self.recordings.map(|recording| {
                    rows(recording).filter_map(|row| value(row.of(op)?)).collect::<Vec<f64>>()
                });
                let group = phrase::plural(op).to_string();
                columns.push(Column { group, quantity, unit, values });
            }
        }
        type Of = fn(&iowhy_model::Interval) -> Option<f64>;
        let whole: [(&'static str, Unit, Of); 3] = [
            ("await, median of the rows", Unit::Ms, |row| Some(row.mean_await_ns()? / 1e6)),
            ("requests in flight, median of the rows", Unit::Requests, |row| row.queue_len),
            ("busy share, median of the rows", Unit::Share, |row| row.busy),
        ];
        for (quantity, unit, value) in whole {
            let values =
                self.recordings.map(|recording| rows(recording).filter_map(value).collect());
            columns.push(Column { group: "all".to_string(), quantity, unit, values });
        }
        columns.retain(|column| {
            let something = |values: &Vec<f64>| values.iter().any(|value| *value > 0.0);
            column.values.iter().any(something)
        });
        columns
    }
}

/// Rows of a recording that are samples of the present.
fn rows(recording: &Recording) -> impl Iterator<Item = &iowhy_model::Interval> {
    let all = recording.listings.iter().flat_map(|listing| &listing.intervals);
    all.filter(|row| row.layer == Layer::Block && !row.since_boot)
}

/// The requests of a listing; those of the block layer if there are any.
fn taken(listing: &Listing) -> Vec<SideRequest> {
    let block = listing.events.iter().any(|event| event.layer == Layer::Block);
    let events: Vec<&Event> =
        listing.events.iter().filter(|event| (event.layer == Layer::Block) == block).collect();
    let patterns = patterns(&events);
    events
        .iter()
        .zip(patterns)
        .map(|(event, sequential)| {
            let bytes = event.bytes;
            let octave = bytes.unwrap_or(0).max(1).next_power_of_two().trailing_zeros();
            let sequential = sequential.filter(|_| event.op != Op::Flush);
            let kind = Kind { op: event.op, octave, sequential };
            SideRequest { kind, bytes, ms: event.longest().map(|(_, latency)| latency.ms()) }
        })
        .collect()
}

/// Whether each request continues where an earlier one ended, by device and operation.
fn patterns(events: &[&Event]) -> Vec<Option<bool>> {
    let mut answers = vec![None; events.len()];
    let mut streams: Vec<((DeviceId, Op), Vec<usize>)> = Vec::new();
    for (place, event) in events.iter().enumerate() {
        if event.sector.is_none() || event.bytes.unwrap_or(0) == 0 {
            continue;
        }
        let key = (event.device, event.op);
        match streams.iter_mut().find(|(known, _)| *known == key) {
            Some((_, places)) => places.push(place),
            None => streams.push((key, vec![place])),
        }
    }
    for (_, mut places) in streams {
        places.sort_by_key(|place| {
            let event = events[*place];
            event.issued.or(event.queued).or(event.completed)
        });
        let extents: Vec<Extent> = places
            .iter()
            .filter_map(|place| {
                let event = events[*place];
                Some(Extent { sector: event.sector?, bytes: event.bytes? })
            })
            .collect();
        for (place, continues) in places.iter().zip(sequential::continues(&extents)) {
            answers[*place] = Some(continues);
        }
    }
    answers
}

/// From the first moment a listing names to the last, seconds.
fn span_s(listing: &Listing) -> Option<f64> {
    let moments = |event: &Event| [event.queued, event.issued, event.completed];
    let known = || listing.events.iter().flat_map(moments).flatten();
    let (first, last) = (known().min()?, known().max()?);
    Some((last.ns().saturating_sub(first.ns())) as f64 / 1e9)
}
