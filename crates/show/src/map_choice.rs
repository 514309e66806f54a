//! Selects the maps to draw if there are too many: those with most time waited.

use std::collections::{HashMap, HashSet};

use iowhy_model::Order as _;
use iowhy_model::{DeviceId, Event, Report};

use crate::Style;

/// Maps of text, or of numbers: a terminal scrolls through some, a program asks for devices by
/// name.
pub(crate) const TEXTS: usize = 1000;
/// Maps of one picture, each some 600 pixels high: a PNG has to be in memory as a whole.
pub(crate) const FIGURES: usize = 60;

/// The maps that are drawn.
pub(crate) struct MapChoice {
    /// None if all are.
    drawn: Option<HashSet<(usize, DeviceId)>>,
    inputs: HashSet<usize>,
    left: usize,
}

impl MapChoice {
    /// Maximum maps of a report.
    pub(crate) fn of(report: &Report, style: &Style, most: usize) -> MapChoice {
        let waited = waited(report, style);
        let left = waited.len().saturating_sub(most);
        if left == 0 {
            return MapChoice { drawn: None, inputs: HashSet::new(), left };
        }
        let mut all: Vec<((usize, DeviceId), f64)> = waited.into_iter().collect();
        all.order_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let drawn: HashSet<(usize, DeviceId)> =
            all.into_iter().take(most).map(|(place, _)| place).collect();
        let inputs = drawn.iter().map(|(input, _)| *input).collect();
        MapChoice { drawn: Some(drawn), inputs, left }
    }

    /// Whether any map of an input is drawn.
    pub(crate) fn has_input(&self, input: usize) -> bool {
        self.drawn.is_none() || self.inputs.contains(&input)
    }

    /// Whether the map of a device is drawn.
    pub(crate) fn has(&self, input: usize, device: DeviceId) -> bool {
        self.drawn.as_ref().is_none_or(|drawn| drawn.contains(&(input, device)))
    }

    /// How many maps are left out.
    pub(crate) fn left(&self) -> usize {
        self.left
    }

    /// The note on maps left out, if there are any.
    pub(crate) fn words(&self) -> Option<String> {
        let left = self.left;
        (left > 0).then(|| {
            format!(
                "{left} more maps were left out: the maps with the most time waited are drawn; \
                 `--device` selects others"
            )
        })
    }
}

/// Time waited, by input and device.
fn waited(report: &Report, style: &Style) -> HashMap<(usize, DeviceId), f64> {
    let mut waited: HashMap<(usize, DeviceId), f64> = HashMap::new();
    for (input, listing) in report.recording.listings.iter().enumerate() {
        for event in listing.events.iter().filter(|event| style.filter.event(event)) {
            let ns = Event::longest(event).map_or(0, |(_, latency)| latency.ns());
            *waited.entry((input, event.device)).or_default() += ns as f64;
        }
        let timed = listing.distributions.iter().filter(|known| known.start.is_some());
        for known in timed.filter(|known| style.filter.distribution(known) == Some(true)) {
            let counted = &known.histogram;
            let mean = counted.mean_ns().map_or(0.0, |(mean, _)| mean);
            *waited.entry((input, known.device)).or_default() += mean * counted.count() as f64;
        }
    }
    waited
}

/// The devices that a map is drawn of, those of most time waited first.
pub fn busiest(report: &Report, style: &Style) -> Vec<DeviceId> {
    let mut of: HashMap<DeviceId, f64> = HashMap::new();
    for ((_, device), ns) in waited(report, style) {
        *of.entry(device).or_default() += ns;
    }
    let mut all: Vec<(DeviceId, f64)> = of.into_iter().collect();
    all.order_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    all.into_iter().map(|(device, _)| device).collect()
}

#[cfg(test)]
mod tests {
    use iowhy_model::{Layer, Level, Op, Recording, Sink, Source, Time};

    use super::*;

    #[test]
    fn the_maps_of_most_time_waited_are_drawn_and_the_others_counted() {
        let mut recording = Recording::new();
        recording.begin(Source::new("biosnoop", "-", Level::C));
        for k in 0..10i64 {
            let device = recording.device(&format!("sd{k}"));
            let mut event = Event::new(device, Op::Read, Layer::Block);
            event.issued = Some(Time::from_ns(0));
            event.completed = Some(Time::from_ns((k + 1) * 1_000_000));
            recording.event(event);
        }
        recording.end();
        let (last, first) = (recording.find_device("sd9"), recording.find_device("sd0"));
        let report = Report { recording, findings: Vec::new() };
        let all = MapChoice::of(&report, &Style::plain(), 10);
        assert!(all.words().is_none() && all.has(0, first.unwrap()));
        let few = MapChoice::of(&report, &Style::plain(), 3);
        assert_eq!(few.left(), 7);
        assert_eq!(busiest(&report, &Style::plain()).first().copied(), last);
        assert!(few.has_input(0) && few.has(0, last.unwrap()) && !few.has(0, first.unwrap()));
        assert!(few.words().unwrap().starts_with("7 more maps were left out"));
    }
}
