//! The picture of a verdict whose pattern the maps do not show, because their rows double: the
//! steps of a ladder on a linear axis, and the queue of an overload over time.

use std::collections::HashSet;
use std::f64::consts::TAU;

use iowhy_model::{DeviceId, Event, Finding, Listing, Report, Stage, Unit, Verdict};

use crate::Style;
use crate::clock::Clock;
use crate::paint::{Anchor, Figure, LETTER, Rgb, TimeAxis, ticks};
use crate::words::{count, duration, short};

/// Size of the plot, and the room left and right of it.
const PLOT: (u32, u32) = (900, 300);
const MARGINS: (u32, u32) = (82, 20);
/// Height of a line of text.
const LINE: u32 = 20;
const NIGHT: Rgb = Rgb(16, 18, 24);
const FRAME: Rgb = Rgb(70, 75, 88);
const FAINT: Rgb = Rgb(160, 166, 178);
const DOT: Rgb = Rgb(245, 125, 80);
/// Half of a dot.
const RADIUS: u32 = 1;
/// Columns of the queue.
const COLUMNS: usize = 300;
/// Fewest I/Os that show steps, and the least room between two lines and two labels.
const FEWEST: usize = 3;
const BETWEEN: f64 = 4.0;
const LABELS: f64 = 26.0;
/// More revolutions than this are one grey area.
const MOST: f64 = 10_000.0;

/// A picture with its heading and what it shows.
pub(crate) struct VerdictFigure {
    /// Its heading.
    pub heading: &'static str,
    /// The picture.
    pub figure: Figure,
    /// What its axes and marks are.
    pub caption: String,
}

/// The picture of a verdict, if it has one and the single I/Os or averages for it are there.
pub(crate) fn of(report: &Report, finding: &Finding, style: &Style) -> Option<VerdictFigure> {
    let device = finding.subject.device?;
    let listings =
        || finding.subject.listings.iter().filter_map(|k| report.recording.listings.get(*k));
    match finding.verdict {
        Verdict::DeviceRetry | Verdict::LoadMissedRevolution => {
            let rpm = finding.evidence.iter().find(|one| one.amount.unit == Unit::Rpm)?;
            let listing = listings().max_by_key(|listing| dots(listing, device).count())?;
            ladder(listing, device, 60e9 / rpm.amount.value, style)
        }
        Verdict::LoadSaturated | Verdict::LoadBurst => {
            listings().find_map(|listing| queue(listing, device, style))
        }
        _ => None,
    }
}

/// The I/Os of a device: when each was completed and how long it took, ns.
fn dots(listing: &Listing, device: DeviceId) -> impl Iterator<Item = (i64, i64)> {
    let own = listing.events.iter().filter(move |event| event.device == device);
    own.filter_map(|event| {
        let latency = event.latency(Stage::Device).or_else(|| Some(event.longest()?.1))?;
        Some((event.completed?.ns(), latency.ns()))
    })
}

/// Latencies over time, with a line where each further revolution ends.
fn ladder(
    listing: &Listing,
    device: DeviceId,
    revolution: f64,
    style: &Style,
) -> Option<VerdictFigure> {
    let all: Vec<(i64, i64)> = dots(listing, device).collect();
    let (from, to) = (all.iter().map(|dot| dot.0).min()?, all.iter().map(|dot| dot.0).max()?);
    let highest = all.iter().map(|dot| dot.1).max()? as f64;
    let first = first_step(&all, revolution)?;
    let lines = ((highest - first) / revolution).ceil().max(1.0);
    if all.len() < FEWEST || lines > MOST {
        return None;
    }
    let mut figure = Figure::new(MARGINS.0 + PLOT.0 + MARGINS.1, NIGHT);
    let (top, high) = (LINE, first + lines * revolution);
    let y = |ns: f64| {
        top + PLOT.1 - (ns / high * f64::from(PLOT.1)).clamp(0.0, f64::from(PLOT.1)) as u32
    };
    figure.rect((MARGINS.0 - 1, top - 1), (PLOT.0 + 2, PLOT.1 + 2), FRAME);
    figure.rect((MARGINS.0, top), PLOT, NIGHT);
    let room = revolution / high * f64::from(PLOT.1);
    let (step, labelled) = (apart(BETWEEN / room), apart(LABELS / room));
    for k in 0..=lines as u64 {
        let at = y(first + k as f64 * revolution);
        if k.is_multiple_of(step) {
            figure.rect((MARGINS.0, at), (PLOT.0, 1), FRAME);
        }
        if k.is_multiple_of(labelled) {
            let latency = duration(first + k as f64 * revolution);
            figure.text((MARGINS.0 - 10, at), Anchor::End, &latency, FAINT);
            if k > 0 && at > top + LETTER.1 {
                let text = format!("+{k}");
                figure.text((MARGINS.0 + 4, at - LETTER.1 / 2), Anchor::Start, &text, FAINT);
            }
        }
    }
    let length = (to.saturating_sub(from) as f64).max(1.0);
    let mut seen = HashSet::new();
    for (at, latency) in &all {
        let x =
            MARGINS.0 + (at.saturating_sub(from) as f64 / length * f64::from(PLOT.0 - 1)) as u32;
        let place = (x.saturating_sub(RADIUS), y(*latency as f64).saturating_sub(RADIUS));
        if seen.insert(place) {
            figure.rect(place, (2 * RADIUS + 1, 2 * RADIUS + 1), DOT);
        }
    }
    figure.height = top + PLOT.1;
    times(&mut figure, listing, (from, length), style);
    let lines = match step {
        1 => "a line: one more revolution".to_string(),
        _ => format!("a line: {} more revolutions", count(step)),
    };
    let caption = format!(
        "y: device time (D2C), linear; x: time of completion; a dot: an I/O; {lines} of {}, above \
         {}.",
        duration(revolution),
        duration(first)
    );
    Some(VerdictFigure { heading: "Latency in revolutions", figure, caption })
}

/// The latency of the first step, 0 to one revolution: the mean direction of all latencies on a
/// circle of one revolution, of those that took longer than one where there are any.
fn first_step(all: &[(i64, i64)], revolution: f64) -> Option<f64> {
    if !revolution.is_finite() || revolution < 1.0 {
        return None;
    }
    let longer = |ns: &f64| *ns >= revolution;
    let ns = || all.iter().map(|dot| dot.1 as f64);
    let is_any = ns().any(|one| longer(&one));
    let angles = ns().filter(|one| !is_any || longer(one)).map(|one| one / revolution * TAU);
    let (sine, cosine) =
        angles.fold((0.0, 0.0), |(sine, cosine), angle| (sine + angle.sin(), cosine + angle.cos()));
    Some(f64::atan2(sine, cosine).rem_euclid(TAU) / TAU * revolution)
}

/// The smallest of 1, 2, 5, 10, ... that is not below `least`.
fn apart(least: f64) -> u64 {
    let mut decade = 1;
    loop {
        for step in [1, 2, 5].map(|k| k * decade) {
            if step as f64 >= least || step >= MOST as u64 {
                return step;
            }
        }
        decade *= 10;
    }
}

/// Requests in flight over time: of single I/Os if all are there, else as averages report them.
fn queue(listing: &Listing, device: DeviceId, style: &Style) -> Option<VerdictFigure> {
    let of_single = if listing.folded == 0 { of_events(listing, device) } else { None };
    let is_single = of_single.is_some();
    let (from, length, means) = of_single.or_else(|| of_intervals(listing, device))?;
    let most = means.iter().copied().fold(0.0, f64::max);
    if most <= 0.0 || !most.is_finite() {
        return None;
    }
    let mut figure = Figure::new(MARGINS.0 + PLOT.0 + MARGINS.1, NIGHT);
    let top = LINE;
    figure.rect((MARGINS.0 - 1, top - 1), (PLOT.0 + 2, PLOT.1 + 2), FRAME);
    figure.rect((MARGINS.0, top), PLOT, NIGHT);
    let step = nice(most / 5.0);
    let high = (most / step).ceil() * step;
    let up = |value: f64| (value / high * f64::from(PLOT.1)) as u32;
    for k in 0..=(high / step).round() as u32 {
        let at = top + PLOT.1 - up(f64::from(k) * step);
        figure.rect((MARGINS.0, at), (PLOT.0, 1), FRAME);
        figure.text((MARGINS.0 - 10, at), Anchor::End, &short(f64::from(k) * step), FAINT);
    }
    let wide = PLOT.0 / COLUMNS as u32;
    for (place, mean) in means.iter().enumerate() {
        let tall = up(*mean).min(PLOT.1);
        let place = (MARGINS.0 + place as u32 * wide, top + PLOT.1 - tall);
        figure.rect(place, (wide, tall), DOT);
    }
    figure.height = top + PLOT.1;
    times(&mut figure, listing, (from, length), style);
    let what = match is_single {
        true => format!("a column: the mean of {}", duration(length / COLUMNS as f64)),
        false => "as the averages report it".to_string(),
    };
    let caption = format!("y: requests in flight (aqu-sz); x: time; {what}.");
    Some(VerdictFigure { heading: "Queue over time", figure, caption })
}

/// Beginning, length and the mean number in flight of each column.
type Means = (i64, f64, Vec<f64>);

fn of_events(listing: &Listing, device: DeviceId) -> Option<Means> {
    let span = |event: &Event| {
        let (start, end) = (event.queued.or(event.issued)?.ns(), event.completed?.ns());
        (start <= end).then_some((start, end))
    };
    let own = listing.events.iter().filter(|event| event.device == device);
    let spans: Vec<(i64, i64)> = own.filter_map(span).collect();
    columns(spans.iter().map(|(start, end)| (*start, *end, 1.0)).collect())
}

fn of_intervals(listing: &Listing, device: DeviceId) -> Option<Means> {
    let own = listing.intervals.iter().filter(|one| one.device == device && !one.since_boot);
    let rows = own.filter_map(|one| {
        let (start, length) = (one.start?.ns(), one.length?.ns());
        Some((start, start.checked_add(length)?, one.queue_len.filter(|mean| mean.is_finite())?))
    });
    columns(rows.collect())
}

/// What is summed over time, as the mean of each column.
fn columns(spans: Vec<(i64, i64, f64)>) -> Option<Means> {
    let from = spans.iter().map(|span| span.0).min()?;
    let to = spans.iter().map(|span| span.1).max()?;
    let length = to.checked_sub(from).filter(|length| *length > 0)? as f64;
    let one = length / COLUMNS as f64;
    // Whole columns as a change at both ends, the parts of the first and the last by themselves.
    let (mut parts, mut changes) = (vec![0.0; COLUMNS], vec![0.0; COLUMNS + 1]);
    for (start, end, value) in spans {
        let [start, end] = [start, end].map(|at| at.saturating_sub(from) as f64 / one);
        let [first, last] = [start, end].map(|at| (at as usize).min(COLUMNS - 1));
        if first == last {
            parts[first] += (end - start) * value;
            continue;
        }
        parts[first] += ((first + 1) as f64 - start) * value;
        parts[last] += (end - last as f64) * value;
        changes[first + 1] += value;
        changes[last] -= value;
    }
    let mut whole = 0.0;
    for (part, change) in parts.iter_mut().zip(changes) {
        whole += change;
        *part += whole;
    }
    Some((from, length, parts))
}

/// The smallest of 1, 2, 5 times a power of ten that is not below `least`.
fn nice(least: f64) -> f64 {
    let decade = 10f64.powf(least.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|k| k * decade);
    steps.into_iter().find(|step| *step >= least * (1.0 - 1e-9)).unwrap_or(10.0 * decade)
}

fn times(figure: &mut Figure, listing: &Listing, (from, length): (i64, f64), style: &Style) {
    let clock = Clock::of(listing);
    let axis = TimeAxis {
        start: clock.map_or(from as f64 / 1e9, |clock| clock.second(from, &style.zone)),
        seconds: length / 1e9,
        clock: clock.map(|clock| (clock, from, style.zone.clone())),
    };
    for (share, label) in ticks(&axis, f64::from(PLOT.0) / 100.0) {
        let x = MARGINS.0 + (share * f64::from(PLOT.0)) as u32;
        figure.rect((x, figure.height + 1), (1, 5), FRAME);
        if x + label.chars().count() as u32 * LETTER.0 < MARGINS.0 + PLOT.0 {
            figure.text((x + 4, figure.height + LINE / 2), Anchor::Start, &label, FAINT);
        }
    }
    figure.height += LINE;
}

#[cfg(test)]
mod tests {
    use iowhy_model::{Interval, Layer, Level, Nanos, Op, Recording, Sink, Source, Time};

    use super::*;
    use crate::paint::Shape;

    const REVOLUTION: f64 = 60e9 / 7200.0;

    /// A listing of reads: when each began and how long it took, ns.
    fn reads(of: &[(i64, i64)]) -> Recording {
        let mut recording = Recording::new();
        recording.begin(Source::new("biosnoop", "-", Level::C));
        let device = recording.device("sdb");
        for (start, took) in of {
            let mut event = Event::new(device, Op::Read, Layer::Block);
            event.issued = Some(Time::from_ns(*start));
            event.completed = Some(Time::from_ns(start + took));
            recording.event(event);
        }
        recording.end();
        recording
    }

    fn rects(figure: &Figure, colour: Rgb) -> Vec<(u32, u32, u32, u32)> {
        let shapes = figure.shapes.iter();
        shapes
            .filter_map(|shape| match shape {
                Shape::Rect(x, y, wide, tall, of) if *of == colour => Some((*x, *y, *wide, *tall)),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn each_retry_lies_on_a_line_of_a_linear_axis() {
        // 2 ms and so many revolutions.
        let took = |k: i64| 2_000_000 + (k as f64 * REVOLUTION) as i64;
        let ladder_of = [0, 9, 17, 28, 3, 12, 0, 20];
        let some: Vec<(i64, i64)> =
            (0..).zip(ladder_of).map(|(n, k)| (n * 300_000_000, took(k))).collect();
        let recording = reads(&some);
        let style = Style::plain();
        let drawn = ladder(&recording.listings[0], DeviceId::at(0), REVOLUTION, &style).unwrap();
        let lines: Vec<u32> = rects(&drawn.figure, FRAME)
            .into_iter()
            .filter(|(_, _, wide, tall)| (*wide, *tall) == (PLOT.0, 1))
            .map(|(_, y, ..)| y)
            .collect();
        assert_eq!(lines.len(), 29, "{lines:?}");
        let gaps: Vec<u32> = lines.windows(2).map(|pair| pair[0] - pair[1]).collect();
        assert!(gaps.iter().max().unwrap() - gaps.iter().min().unwrap() <= 1, "{gaps:?}");
        let dots = rects(&drawn.figure, DOT);
        assert_eq!(dots.len(), ladder_of.len());
        for (dot, k) in dots.iter().zip(ladder_of) {
            assert!((dot.1 + RADIUS).abs_diff(lines[k as usize]) <= 1, "{k}: {dot:?} {lines:?}");
        }
        assert!(
            drawn.caption.contains("one more revolution of 8.33 ms, above 2 ms"),
            "{}",
            drawn.caption
        );
        // Of two I/Os nobody sees steps.
        let few = reads(&some[..2]);
        assert!(ladder(&few.listings[0], DeviceId::at(0), REVOLUTION, &style).is_none());
        for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY, 1.0] {
            assert!(
                ladder(&recording.listings[0], DeviceId::at(0), wrong, &style).is_none(),
                "{wrong}"
            );
        }
    }

    #[test]
    fn a_hundred_revolutions_have_fewer_lines() {
        let some: Vec<(i64, i64)> =
            (0..300).map(|k| (k * 10_000_000, (k as f64 * REVOLUTION) as i64 + 500_000)).collect();
        let recording = reads(&some);
        let drawn = ladder(&recording.listings[0], DeviceId::at(0), REVOLUTION, &Style::plain());
        let drawn = drawn.unwrap();
        assert!(drawn.caption.contains("a line: 5 more revolutions of"), "{}", drawn.caption);
    }

    #[test]
    fn a_queue_is_the_time_waited_in_each_column() {
        // Four at once for the first half, then none, then one for the last quarter.
        let some = [(0, 500), (0, 500), (0, 500), (0, 500), (750, 250)];
        let recording = reads(&some.map(|(start, took)| (start * 1_000_000, took * 1_000_000)));
        let listing = &recording.listings[0];
        let (from, length, means) = of_events(listing, DeviceId::at(0)).unwrap();
        assert_eq!((from, length), (0, 1e9));
        let sum: f64 = means.iter().sum::<f64>() * length / COLUMNS as f64;
        assert!((sum - 2.25e9).abs() < 1.0, "{sum}");
        for (column, mean) in [(0, 4.0), (149, 4.0), (150, 0.0), (224, 0.0), (225, 1.0), (299, 1.0)]
        {
            assert!((means[column] - mean).abs() < 1e-6, "{column}: {}", means[column]);
        }
        let drawn = queue(listing, DeviceId::at(0), &Style::plain()).unwrap();
        let tallest = rects(&drawn.figure, DOT).into_iter().map(|bar| bar.3).max();
        assert_eq!(tallest, Some(PLOT.1));
        assert!(queue(listing, DeviceId::at(1), &Style::plain()).is_none());
    }

    #[test]
    fn a_queue_of_averages_is_their_column() {
        let mut recording = Recording::new();
        recording.begin(Source::new("iostat", "-", Level::A));
        let device = recording.device("sdb");
        for (second, mean) in [(0, 32.0), (1, 64.0)] {
            let mut row = Interval::new(device, Layer::Block);
            row.start = Some(Time::from_ns(second * 1_000_000_000));
            row.length = Some(Nanos(1_000_000_000));
            row.queue_len = Some(mean);
            recording.interval(row);
        }
        recording.end();
        let (_, _, means) = of_intervals(&recording.listings[0], device).unwrap();
        assert!((means[10] - 32.0).abs() < 1e-6 && (means[290] - 64.0).abs() < 1e-6);
    }
}
