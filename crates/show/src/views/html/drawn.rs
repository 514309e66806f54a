//! The data that the page's script draws, as JSON: the cells of the maps, and the slowest I/Os.

use std::collections::HashMap;

use iowhy_model::Order as _;
use iowhy_model::{Event, Listing, Name, Op, Report};
use serde_json::{Value, json};

use super::Pictured;
use crate::Style;
use crate::cells::{Column, Map, drawn_maps};
use crate::clock::Clock;
use crate::map_choice::{FIGURES, TEXTS};
use crate::objects::{findings, inputs, object};

/// Single I/Os kept, the slowest ones.
const SLOWEST: usize = 10_000;

/// The data of the page.
pub(super) fn json(pictured: &Pictured, style: &Style) -> String {
    let report = &pictured.report;
    let recording = &report.recording;
    let all = variants(report, &pictured.style);
    let mut names = Names::default();
    let slow: Vec<Value> = slowest(pictured, style, SLOWEST)
        .into_iter()
        .filter_map(|(input, event)| dot(input, event, &mut names))
        .collect();
    let names: Vec<&str> = names.order.iter().map(|name| recording.text(*name)).collect();
    let spans: Vec<Option<(i64, i64)>> = (0..recording.listings.len())
        .map(|input| {
            let of_it = all.iter().filter(|(_, map)| map.input == input);
            let columns: Vec<&Column> = of_it.flat_map(|(_, map)| &map.columns).collect();
            let from = columns.iter().map(|column| column.start.ns()).min();
            let to = columns.iter().map(|c| c.start.ns().saturating_add(c.length.ns())).max();
            from.zip(to)
        })
        .collect();
    object([
        ("schema", "iowhy.page/1".into()),
        ("inputs", inputs(recording)),
        ("findings", findings(report, style)),
        ("devices", recording.devices().iter().map(|device| device.name.as_str()).collect()),
        ("spans", json!(spans)),
        (
            "clocks",
            recording
                .listings
                .iter()
                .zip(&spans)
                .map(|(of, span)| of_day(of, *span, style))
                .collect(),
        ),
        ("maps", all.iter().map(|(op, map)| cells(*op, map)).collect()),
        ("names", names.into()),
        ("slow", slow.into()),
    ])
    .to_string()
}

/// What to add to a time of an input for nanoseconds since midnight: from when on, and how much.
fn of_day(listing: &Listing, span: Option<(i64, i64)>, style: &Style) -> Value {
    let midnights = |clock: Clock| json!(clock.midnights(span.unwrap_or_default(), &style.zone));
    Clock::of(listing).map_or(Value::Null, midnights)
}

/// Every map, and beside those of several operations one for each operation.
pub(super) fn variants(report: &Report, style: &Style) -> Vec<(Option<Op>, Map)> {
    let mut all: Vec<(Option<Op>, Map)> = Vec::new();
    let whole = drawn_maps(report, style, FIGURES);
    let mut of_one: Vec<(Op, Vec<Map>)> = Op::ALL
        .into_iter()
        .filter(|op| style.filter.op(Some(*op)))
        .map(|op| {
            let mut one = style.clone();
            one.filter.ops = vec![op];
            (op, drawn_maps(report, &one, TEXTS))
        })
        .collect();
    for map in whole {
        let same = |other: &Map| {
            (other.input, &other.device, other.stage) == (map.input, &map.device, map.stage)
        };
        let count = |map: &Map| {
            iowhy_model::numbers::total(map.columns.iter().flat_map(|c| &c.ios).copied())
        };
        let total = count(&map);
        let mut parts: Vec<(Op, Map)> = Vec::new();
        for (op, maps) in &mut of_one {
            if let Some(place) = maps.iter().position(same) {
                let part = maps.swap_remove(place);
                // Histograms that mix operations pass every filter: they are no part.
                if count(&part) > 0 && count(&part) < total {
                    parts.push((*op, part));
                }
            }
        }
        all.push((None, map));
        all.extend(parts.into_iter().map(|(op, part)| (Some(op), part)));
    }
    all
}

/// Nanoseconds to four significant digits: what a colour, a hover and a table need, in half the
/// room.
fn four_digits(ns: f64) -> u64 {
    let whole = ns.round() as u64;
    let unit = 10u64.pow(whole.checked_ilog10().unwrap_or(0).saturating_sub(3));
    whole.saturating_add(unit / 2) / unit * unit
}

fn cells(op: Option<Op>, map: &Map) -> Value {
    let edges = map.edges.as_slice().iter();
    let edges = edges.map(|edge| if *edge == u64::MAX { Value::Null } else { (*edge).into() });
    let columns = map.columns.iter().map(|column| {
        let filled = column.ios.iter().zip(&column.waited_ns).enumerate();
        let filled = filled.filter(|(_, (ios, _))| **ios > 0);
        let filled: Vec<Value> =
            filled.map(|(row, (ios, waited))| json!([row, ios, four_digits(*waited)])).collect();
        json!([column.start.ns(), column.length.ns(), filled])
    });
    object([
        ("device", map.device.clone().into()),
        ("stage", map.stage.name().into()),
        ("op", op.map_or("all", Op::name).into()),
        ("input", map.input.into()),
        ("edges", edges.collect()),
        ("columns", columns.collect()),
    ])
}

/// The slowest I/Os of all inputs that have a latency and a time, slowest first.
pub(super) fn slowest<'a>(
    pictured: &'a Pictured,
    style: &Style,
    most: usize,
) -> Vec<(usize, &'a Event)> {
    let mut all: Vec<(i64, usize, &Event)> = Vec::new();
    for (input, singles) in pictured.singles.iter().enumerate() {
        let some = singles.slowest.iter().filter(|event| style.filter.event(event));
        all.extend(some.filter_map(|event| {
            event.completed?;
            Some((event.longest()?.1.ns(), input, event))
        }));
    }
    if all.len() > most {
        all.select_nth_unstable_by_key(most, |(latency, ..)| std::cmp::Reverse(*latency));
        all.truncate(most);
    }
    all.order_by_key(|(latency, input, event)| {
        (std::cmp::Reverse(*latency), *input, event.completed.map(|at| at.ns()))
    });
    all.into_iter().map(|(_, input, event)| (input, event)).collect()
}

/// Names by their index in a list that the page contains once.
#[derive(Default)]
struct Names {
    places: HashMap<Name, usize>,
    order: Vec<Name>,
}

impl Names {
    fn place(&mut self, name: Name) -> usize {
        *self.places.entry(name).or_insert_with(|| {
            self.order.push(name);
            self.order.len() - 1
        })
    }
}

/// Input, completion and latency in ns, device, operation, bytes, sector, process.
fn dot(input: usize, event: &Event, names: &mut Names) -> Option<Value> {
    let (_, latency) = event.longest()?;
    let op = match event.op {
        Op::Read => "R",
        Op::Write => "W",
        Op::Discard => "D",
        Op::Flush => "F",
        Op::Other => "N",
    };
    let comm = event.comm.map(|name| names.place(name));
    Some(json!([
        input,
        event.completed?.ns(),
        latency.ns(),
        event.device.index(),
        op,
        event.bytes,
        event.sector,
        comm
    ]))
}

#[cfg(test)]
mod tests {
    use super::four_digits;

    #[test]
    fn time_waited_keeps_four_digits() {
        assert_eq!(four_digits(0.0), 0);
        assert_eq!(four_digits(9_999.0), 9_999);
        assert_eq!(four_digits(45_992.4), 45_990);
        assert_eq!(four_digits(1_359_773.0), 1_360_000);
        assert!(four_digits(f64::MAX) > 0, "no overflow");
    }
}
