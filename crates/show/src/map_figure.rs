//! Heat maps as a figure: the same grid as in the terminal, finer, for a painter of pixels.

use iowhy_model::{DeviceId, Edges, Listing, Recording, Report, Series, Stage, series};

use crate::colour_scale::Scale;
use crate::map_choice::{FIGURES, MapChoice};
use crate::paint::{
    Anchor, Figure, Grid, LETTER, Mark, Ramp, Rgb, TimeAxis, latency_label, ticks, wrap,
};
use crate::picture::{AXES, Measure, Picture};
use crate::scale::wanted;
use crate::words::{duration, short};
use crate::{Style, map_title, sources};

/// Columns of cells, and how wide all of them are.
const COLUMNS: usize = 300;
const ACROSS: u32 = 900;
/// Columns if the figure is only a placeholder for a finer one drawn by a script.
const STAND_IN: usize = 75;
/// Most rows of a map: eight to each of twelve powers of two, from 16 us to 64 ms.
const ROWS: usize = 96;
/// Height a map should have, and the least and greatest height of a row.
const MAP: (u32, u32, u32) = (288, 2, 16);
/// Room left of the cells, for latencies, and right of them.
const MARGINS: (u32, u32) = (82, 20);
/// Height of a line of text.
const LINE: u32 = 20;
/// The background of the cells, a line around them, text, and bold text.
const NIGHT: Rgb = Rgb(16, 18, 24);
const FRAME: Rgb = Rgb(70, 75, 88);
const FAINT: Rgb = Rgb(160, 166, 178);
const STRONG: Rgb = Rgb(236, 238, 242);
/// Steps of the legend.
const STEPS: usize = 6;

/// The maps of one device and stage, drawn by themselves.
pub(crate) struct Drawn {
    /// Index of the input.
    pub input: usize,
    /// The device.
    pub device: DeviceId,
    /// What the latencies cover.
    pub stage: Stage,
    /// The frequency map above the intensity map.
    pub figure: Figure,
}

/// All maps of a report, one device below the other.
pub(crate) fn figure(report: &Report, style: &Style) -> Figure {
    let mut figure = Figure::new(width(), NIGHT);
    let choice = each(report, style, COLUMNS, |listing, one, _, picture| {
        both(&mut figure, report, listing, one, picture, style);
    });
    if let Some(text) = choice.words() {
        figure.text((MARGINS.1, figure.height + LINE), Anchor::Start, &text, STRONG);
        figure.height += 2 * LINE;
    }
    let missing = sources::left_out(&report.recording, &style.filter);
    if missing > 0 {
        let text = sources::left_out_words(missing);
        figure.text((MARGINS.1, figure.height + LINE), Anchor::Start, &text, FAINT);
        figure.height += 2 * LINE;
    } else if figure.height == 0 {
        let text = "no latencies over time were measured";
        figure.text((MARGINS.1, LINE), Anchor::Start, text, STRONG);
        figure.height = 2 * LINE;
    }
    figure
}

/// The same, a figure for each device and stage, coarser: the report's script draws the finer one.
pub(crate) fn figures(report: &Report, style: &Style) -> (Vec<Drawn>, Option<String>) {
    let mut all = Vec::new();
    let choice = each(report, style, STAND_IN, |listing, one, input, picture| {
        let mut figure = Figure::new(width(), NIGHT);
        both(&mut figure, report, listing, one, picture, style);
        all.push(Drawn { input, device: one.device, stage: one.stage, figure });
    });
    (all, choice.words())
}

fn width() -> u32 {
    MARGINS.0 + ACROSS + MARGINS.1
}

fn each(
    report: &Report,
    style: &Style,
    columns: usize,
    mut draw: impl FnMut(&Listing, &Series, usize, &Picture),
) -> MapChoice {
    let (choice, edges) = (MapChoice::of(report, style, FIGURES), Edges::standard());
    let listings = report.recording.listings.iter().enumerate();
    for (input, listing) in listings.filter(|(input, _)| choice.has_input(*input)) {
        let all = series(listing, &style.filter, &edges, columns, style.stage);
        let all = all.flat_map(|of_device| wanted(of_device, style.stage));
        for one in all.filter(|one| choice.has(input, one.device)) {
            if let Some(picture) = Picture::of(&one, columns, ROWS, true) {
                draw(listing, &one, input, &picture);
            }
        }
    }
    choice
}

fn both(
    figure: &mut Figure,
    report: &Report,
    listing: &Listing,
    one: &Series,
    picture: &Picture,
    style: &Style,
) {
    title(figure, &report.recording, listing, one, picture, style);
    let axis = picture.axis(listing, &style.zone);
    map(figure, picture, &axis, Measure::Frequency, style);
    map(figure, picture, &axis, Measure::Intensity, style);
}

fn title(
    figure: &mut Figure,
    recording: &Recording,
    listing: &Listing,
    one: &Series,
    picture: &Picture,
    style: &Style,
) {
    let (name, text) = map_title::title(recording, listing, one, picture, &style.zone);
    let y = figure.height + LINE;
    figure.text((MARGINS.1, y), Anchor::Start, &name, STRONG);
    let gap = if name.is_empty() { 0 } else { 2 };
    let mut behind = MARGINS.1 + LETTER.0 * (name.chars().count() as u32 + gap);
    if behind * 2 > figure.width {
        behind = MARGINS.1;
        figure.height += LINE;
    }
    let room = (figure.width.saturating_sub(behind + MARGINS.1) / LETTER.0) as usize;
    for line in wrap(&text, room) {
        figure.text((behind, figure.height + LINE), Anchor::Start, &line, FAINT);
        figure.height += LINE;
    }
    figure.height += LINE;
}

/// One map: heading, cells with latencies, time, legend.
fn map(figure: &mut Figure, picture: &Picture, axis: &TimeAxis, measure: Measure, style: &Style) {
    let ramp = match measure {
        Measure::Frequency => style.palette.frequency(),
        Measure::Intensity => style.palette.intensity(),
    };
    let (grid, scale) = picture.grid(measure, style);
    let mut heading = measure.heading().to_string();
    if measure == Measure::Frequency {
        heading += AXES;
    } else {
        heading += if picture.exact { " (sums exact)" } else { " (estimated from buckets)" };
    }
    figure.text((MARGINS.0, figure.height + LINE / 2), Anchor::Start, &heading, STRONG);
    figure.height += LINE;
    let rows = picture.edges().buckets() as u32;
    let row = (MAP.0 / rows).clamp(MAP.1, MAP.2);
    let top = figure.height;
    let down = rows * row;
    figure.rect((MARGINS.0 - 1, top - 1), (ACROSS + 2, down + 2), FRAME);
    figure.rect((MARGINS.0, top), (ACROSS, down), NIGHT);
    cells(figure, &grid, picture.columns, &ramp, row);
    latencies(figure, picture.edges(), row);
    figure.height += down;
    times(figure, axis);
    legend(figure, &scale, &ramp, measure, picture);
    figure.height += LINE;
}

/// Cells side by side that have one colour are one rectangle; those without a request are the
/// background.
fn cells(figure: &mut Figure, grid: &Grid, columns: usize, ramp: &Ramp, row: u32) {
    let (top, wide) = (figure.height, ACROSS / columns.max(1) as u32);
    let colour = |line: usize, column| grid.cell(line, column).map(|value| ramp.at(value));
    let nothing = ramp.at(0.0);
    let watched: Vec<bool> = (0..columns)
        .map(|column| {
            grid.rows() > 0 && (0..grid.rows()).all(|line| colour(line, column).is_some())
        })
        .collect();
    let mut column = 0;
    for run in watched.chunk_by(|a, b| a == b) {
        if run.first() == Some(&true) {
            let size = (run.len() as u32 * wide, grid.rows() as u32 * row);
            figure.rect((MARGINS.0 + column as u32 * wide, top), size, nothing);
        }
        column += run.len();
    }
    for line in 0..grid.rows() {
        let mut column = 0;
        while column < columns {
            let this = colour(line, column);
            let same = (column..columns).take_while(|next| colour(line, *next) == this).count();
            let there = || watched.iter().skip(column).take(same).all(|watched| *watched);
            if let Some(this) = this.filter(|this| *this != nothing || !there()) {
                let place = (MARGINS.0 + column as u32 * wide, top + line as u32 * row);
                figure.rect(place, (same as u32 * wide, row), this);
            }
            column += same.max(1);
        }
    }
    for (line, column, mark) in grid.marks() {
        // The percentile's line is broken, as it is in the terminal.
        if *mark == Mark::Tail && column % 4 > 1 {
            continue;
        }
        let behind = colour(*line, *column).unwrap_or(NIGHT);
        let height = (row / 3).clamp(1, 3);
        let y = top + *line as u32 * row + (row - height) / 2;
        let place = (MARGINS.0 + *column as u32 * wide, y);
        figure.rect(place, (wide, height), behind.contrast());
    }
}

/// Latencies at the edges of rows, powers of two of a microsecond if the rows have them.
fn latencies(figure: &mut Figure, edges: &Edges, row: u32) {
    let rows = edges.buckets() as u32;
    let whole = |low: u64| low.is_multiple_of(1000) && (low / 1000).is_power_of_two();
    let octaves = edges.as_slice().iter().filter(|low| whole(**low)).count() > 2;
    let mut last = u32::MAX;
    for (place, low) in edges.as_slice().iter().enumerate() {
        let y = figure.height + (rows - place as u32) * row;
        let near = last != u32::MAX && last - y < LETTER.1 + 4;
        if near || *low == u64::MAX || (octaves && !whole(*low)) {
            continue;
        }
        last = y;
        let label = latency_label(*low);
        figure.text((MARGINS.0 - 10, y), Anchor::End, &label, FAINT);
        figure.rect((MARGINS.0 - 6, y), (5, 1), FRAME);
    }
}

fn times(figure: &mut Figure, axis: &TimeAxis) {
    for (share, label) in ticks(axis, ACROSS as f64 / 100.0) {
        let x = MARGINS.0 + (share * f64::from(ACROSS)) as u32;
        figure.rect((x, figure.height + 1), (1, 5), FRAME);
        if x + label.chars().count() as u32 * LETTER.0 < MARGINS.0 + ACROSS {
            figure.text((x + 4, figure.height + LINE / 2), Anchor::Start, &label, FAINT);
        }
    }
    figure.height += LINE;
}

fn legend(figure: &mut Figure, scale: &Scale, ramp: &Ramp, measure: Measure, picture: &Picture) {
    let y = figure.height + LINE / 2;
    let mut x = MARGINS.0;
    let mut swatch = |figure: &mut Figure, colour: Rgb, label: &str| {
        figure.rect((x, y - 7), (22, 14), FRAME);
        figure.rect((x + 1, y - 6), (20, 12), colour);
        figure.text((x + 28, y), Anchor::Start, label, FAINT);
        x += 28 + LETTER.0 * (label.chars().count() as u32 + 2);
    };
    swatch(figure, ramp.at(0.0), "0");
    for step in (0..STEPS).filter(|step| !scale.is_flat() || step + 1 == STEPS) {
        let place = step as f64 / (STEPS - 1) as f64;
        let value = scale.value(place);
        let label = match measure {
            _ if value <= 0.0 => ">0".to_string(),
            Measure::Frequency => short(value),
            Measure::Intensity => duration(value * 1e9).replace(' ', ""),
        };
        swatch(figure, ramp.at(place.max(1e-3)), &label);
    }
    let mut text = measure.unit().to_string();
    if measure == Measure::Frequency && picture.is_marked(Mark::Median) {
        text += "   line: median";
        if picture.is_marked(Mark::Tail) {
            text += ", dashed line: 99th percentile";
        }
    }
    figure.text((x, y), Anchor::Start, &text, FAINT);
    figure.height += LINE;
}
