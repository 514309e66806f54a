//! Frequency and intensity heat maps: latency over time, by colour.
//!
//! ## Shows
//! Two maps per device. Time is on the x axis, latency on the y axis, with a row for each power of
//! two or a part of one, as fine as source and canvas allow. In the frequency map, colour is the
//! number of requests that completed in a cell; in the intensity map, the time waited. The values
//! of the latest column are on the right. An interval that was not watched stays empty (`/` without
//! colour); one that was watched but had no requests is dark. Three or more consecutive empty rows
//! are collapsed into one line. With a thousand I/Os or more, a cell is up to four columns wide, so
//! that each interval has about a hundred.
//!
//! ## Units
//! Frequency in requests per second, intensity in time waited per second: 1 s/s means that one
//! request was waiting all the time. Waited time is computed from the middle of each bucket and
//! scaled to the exact sum of the column if the source has one; the title shows which. Colours
//! follow the logarithm of the value, so that a single slow request stays visible. Time is the time
//! of day (UTC) if the source has it, else the time on its own clock; if that clock started long
//! before, the title gives the zero of the map.
//!
//! ## Read it like this
//! A healthy device shows one or two steady bands. A rising band is a queue that fills; a column
//! that stretches upwards is a stall; a second band far above the first is a second kind of
//! service, such as retries. Cells that are bright in the intensity map but not in the frequency
//! map are where the time goes. A solid line marks the median, a dashed line the 99th percentile,
//! in each column with enough requests for it.

use std::io::{self, Write};

use iowhy_model::{Edges, Listing, Report, Series, series};

use crate::colour_scale::Scale;
use crate::map_choice::{MapChoice, TEXTS};
use crate::paint::{Canvas, Grid, Line, Mark, Ramp, TextStyle, TimeAxis, Tone, time_axis};
use crate::picture::{AXES, Measure, Picture, bins};
use crate::scale::wanted;
use crate::{Style, View, map_title, sources};

mod legend;

/// Entry in the list of views.
pub const VIEW: View = View {
    name: "heatmap",
    summary: "frequency and intensity heat maps of latency over time",
    manual: iowhy_model::manual!("heatmap.rs"),
    write,
};

/// Columns left of the cells: a latency and a blank.
const LEFT: usize = 9;
/// Columns right of them: a blank and the latest value.
const RIGHT: usize = 9;
/// Lines without cells: a title of two lines, a heading, axis and legend for each map, a blank
/// between, and the one that the last line end opens.
const AROUND: usize = 10;
/// Lines of cells per map: fewer show no shape, more do not fit beside each other.
const LINES: std::ops::RangeInclusive<usize> = 6..=24;

fn write(report: &Report, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let mut canvas = Canvas::new(style, out);
    let columns = canvas.width().saturating_sub(LEFT + RIGHT).max(1);
    let mut drawn = 0;
    let (choice, edges) = (MapChoice::of(report, style, TEXTS), Edges::standard());
    let listings = report.recording.listings.iter().enumerate();
    for (input, listing) in listings.filter(|(input, _)| choice.has_input(*input)) {
        let bins = bins(listing, &style.filter, columns);
        let all = series(listing, &style.filter, &edges, bins, style.stage);
        let all = all.flat_map(|of_device| wanted(of_device, style.stage));
        for one in all.filter(|one| choice.has(input, one.device)) {
            let one = &one;
            let per_line = Grid::rows_per_line(style);
            let rows = lines(style) * per_line;
            let Some(picture) = Picture::of(one, columns, rows, per_line == 2) else { continue };
            if drawn > 0 {
                canvas.blank()?;
            }
            drawn += 1;
            title(&mut canvas, report, listing, one, &picture)?;
            let axis = picture.axis(listing, &style.zone);
            map(&mut canvas, &picture, &axis, Measure::Frequency)?;
            canvas.blank()?;
            map(&mut canvas, &picture, &axis, Measure::Intensity)?;
        }
    }
    if let Some(text) = choice.words() {
        canvas.blank()?;
        canvas.item("", &text)?;
    }
    if drawn == 0 && sources::left_out(&report.recording, &style.filter) == 0 {
        let text = "no latencies over time were measured; `iowhy hist` draws histograms without \
                    time";
        canvas.item("", text)?;
    }
    sources::foot(&mut canvas, &report.recording)
}

/// Lines of cells in each map.
fn lines(style: &Style) -> usize {
    (style.height.saturating_sub(AROUND) / 2).clamp(*LINES.start(), *LINES.end())
}

fn title(
    canvas: &mut Canvas,
    report: &Report,
    listing: &Listing,
    one: &Series,
    picture: &Picture,
) -> io::Result<()> {
    let (name, text) =
        map_title::title(&report.recording, listing, one, picture, &canvas.style.zone);
    let mark = Line::new().with(&name, TextStyle::strong(Tone::Accent));
    let mark = if mark.width() * 2 > canvas.width() {
        canvas.line(&mark)?;
        Line::new()
    } else {
        mark.with("  ", Tone::Plain)
    };
    canvas.paragraph(&mark, &text, Tone::Plain)
}

/// One map: heading, cells with labels, time axis, legend.
fn map(
    canvas: &mut Canvas,
    picture: &Picture,
    times: &TimeAxis,
    measure: Measure,
) -> io::Result<()> {
    let style = canvas.style;
    let ramp: Ramp = match measure {
        Measure::Frequency => style.palette.frequency(),
        Measure::Intensity => style.palette.intensity(),
    };
    let mut heading = Line::new().with(measure.heading(), TextStyle::strong(Tone::Plain));
    if measure == Measure::Intensity {
        let how = if picture.exact { "  sums exact" } else { "  estimated from buckets" };
        heading.push(how, Tone::Faint);
    }
    let end = LEFT + picture.columns + RIGHT;
    if measure == Measure::Frequency && heading.width() + AXES.len() + 9 < end {
        heading.push(AXES, Tone::Faint);
    }
    if heading.width() + 7 < end {
        heading.pad(end - "latest".len());
        heading.push("latest", Tone::Faint);
    }
    canvas.line(&heading)?;
    let (grid, scale): (Grid, Scale) = picture.grid(measure, style);
    let mut line = 0;
    while line < picture.lines(style) {
        let empty = picture.empty_from(line, style);
        if empty > 0 {
            let text = format!("{:>8} ({empty} rows without an I/O)", "...");
            canvas.line(&Line::new().with(&text, Tone::Faint))?;
            line += empty;
            continue;
        }
        let label = picture.label(line, style);
        let mut drawn = Line::new().with(&format!("{label:>8} "), Tone::Faint);
        drawn.append(grid.line(line, &ramp, style));
        drawn.push(&format!(" {:>8}", picture.latest(line, measure, style)), Tone::Plain);
        canvas.line(&drawn)?;
        line += 1;
    }
    let mut axis = Line::new().with(&" ".repeat(LEFT), Tone::Plain);
    axis.append(time_axis(times, picture.columns, style.unicode));
    axis.pad(LEFT + picture.columns);
    axis.push(&format!(" {:>8}", picture.latest_sum(measure)), TextStyle::strong(Tone::Plain));
    canvas.line(&axis)?;
    let mut legend = legend::line(&scale, &ramp, measure, style);
    for (mark, name) in [(Mark::Median, "p50"), (Mark::Tail, "p99")] {
        if measure == Measure::Frequency && picture.is_marked(mark) {
            legend.push(&format!("  {} {name}", mark.sign()), TextStyle::strong(Tone::Plain));
        }
    }
    canvas.line(&legend)
}
