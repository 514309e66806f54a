//! Latency histograms per device and operation.
//!
//! ## Shows
//! The latency distribution for each device and operation: a row per power of two of a microsecond,
//! like biolatency, with count, share and bar; with `--verbose` all buckets, and queue and device
//! time side by side if both are known. Buckets that powers of two would split (whole milliseconds,
//! for instance) are kept. Rows that are parts of a power of two have different widths, so their
//! bars are counts per power of two. Sources with only minimum, mean and maximum are printed as a
//! table, the largest maximum first.
//!
//! ## Units
//! Each row includes its lower edge and excludes its upper one. The mean is exact if the source has
//! the sum of all latencies, else estimated from the middle of each bucket; the title shows which.
//! Percentiles are upper edges of buckets and are printed only if there are enough requests: 59 for
//! p95, 299 for p99. Q2D is time in the queue, D2C time on the device, Q2C both together.
//!
//! ## Read it like this
//! Look for more than one mode: two modes are two kinds of service (a cache and a platter, reads
//! that succeeded and reads that were retried), and the mean lies between them, where there are no
//! requests. Use `iowhy snoop --over` to look at a few requests in the slow tail.

use std::collections::BTreeSet;
use std::io::{self, Write};

use iowhy_model::Order as _;
use iowhy_model::{
    Distribution, Edges, Histogram, Layer, NameTable, Recording, Report, Source, Stage,
    distributions,
};

use crate::paint::{Align, Canvas, Columns, Line, TextStyle, Tone};
use crate::scale::{self, stage_words};
use crate::words::{count, duration, several};
use crate::{Style, View, device_label, sources};

mod bars;

/// Entry in the list of views.
pub const VIEW: View = View {
    name: "histogram",
    summary: "latency histograms per device and operation",
    manual: iowhy_model::manual!("histogram.rs"),
    write,
};

fn write(report: &Report, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let mut canvas = Canvas::new(style, out);
    let recording = &report.recording;
    let (mut drawn, mut devices) = (0, BTreeSet::new());
    for listing in &recording.listings {
        let mut folded = distributions(listing, &style.filter, &Edges::standard());
        folded.retain(|known| known.histogram.count() > 0);
        let wanted = scale::of_stage(&folded, style.stage);
        let (lone, shaped): (Vec<&Distribution>, Vec<&Distribution>) =
            wanted.into_iter().partition(|known| known.histogram.edges().buckets() == 1);
        for known in shaped {
            if drawn > 0 {
                canvas.blank()?;
            }
            drawn += 1;
            devices.insert(known.device);
            heading(&mut canvas, recording, &listing.source, known)?;
            let both = style.verbose && style.stage.is_none();
            match both.then(|| halves(&folded, known)).flatten() {
                Some((queue, device)) => bars::side_by_side(&mut canvas, queue, device)?,
                None => bars::write(&mut canvas, &known.histogram)?,
            }
        }
        if !lone.is_empty() {
            if drawn > 0 {
                canvas.blank()?;
            }
            drawn += 1;
            summaries(&mut canvas, recording, &listing.source, lone)?;
        }
    }
    if drawn == 0 && sources::left_out(recording, &style.filter) == 0 {
        canvas.item("", "no latencies were measured")?;
    }
    let names = devices.into_iter().map(|id| recording.device_of(id).name.as_str());
    if let Some(legend) = device_label::legend(&NameTable::of(recording), names) {
        canvas.blank()?;
        canvas.paragraph(&Line::new(), &legend, Tone::Faint)?;
    }
    sources::foot(&mut canvas, recording)
}

/// Waiting and device time of the same requests.
fn halves<'a>(
    all: &'a [Distribution],
    of: &Distribution,
) -> Option<(&'a Histogram, &'a Histogram)> {
    // They are sorted by device.
    let first = all.partition_point(|known| known.device < of.device);
    let find = |stage| {
        all.iter()
            .skip(first)
            .take_while(|known| known.device == of.device)
            .find(|known| {
                (known.device, known.op, known.layer, known.label, known.stage)
                    == (of.device, of.op, of.layer, of.label, stage)
            })
            .map(|known| &known.histogram)
    };
    Some((find(Stage::Queue)?, find(Stage::Device)?))
}

/// The subject of the histogram, and its numbers.
fn heading(
    canvas: &mut Canvas,
    recording: &Recording,
    source: &Source,
    known: &Distribution,
) -> io::Result<()> {
    let unicode = canvas.style.unicode;
    let histogram = &known.histogram;
    let mark = Line::new().with(&device(recording, known), TextStyle::strong(Tone::Accent));
    let mark = if mark.width() * 2 > canvas.width() {
        canvas.line(&mark)?;
        Line::new()
    } else {
        mark.with("  ", Tone::Plain)
    };
    let (stage, one) = match known.layer {
        Layer::Syscall => ("entry to return", "call"),
        _ => (stage_words(known.stage), "I/O"),
    };
    let mut text = format!("{}{stage}", op(known));
    if let Some(label) = known.label {
        text += &format!(", {}", recording.text(label));
    }
    text += &format!(", {} ({})", several(histogram.count(), one), source.format);
    if let Some(length) = known.length {
        text += &format!(" in {}", duration(length.ns() as f64));
    }
    canvas.paragraph(&mark, &text, Tone::Plain)?;
    canvas.item("  ", &numbers(histogram, unicode))
}

/// Mean, extremes and the percentiles that the sample carries.
fn numbers(histogram: &Histogram, unicode: bool) -> String {
    let mut parts: Vec<String> = Vec::new();
    if let Some((mean, exact)) = histogram.mean_ns() {
        parts.push(format!(
            "mean {} ({})",
            duration(mean),
            if exact { "exact" } else { "estimated" }
        ));
    }
    parts.extend(histogram.min_ns.map(|ns| format!("min {}", duration(ns as f64))));
    parts.extend(histogram.max_ns.map(|ns| format!("max {}", duration(ns as f64))));
    let below = if unicode { "≤" } else { "<=" };
    for (name, q) in bars::QUANTILES {
        let quantile = histogram.quantile(q).filter(|known| known.high_ns < u64::MAX - 1);
        parts.extend(
            quantile.map(|known| format!("{name} {below} {}", duration(known.high_ns as f64))),
        );
    }
    parts.join(", ")
}

/// Devices of which only number, minimum, mean and maximum are known, the worst first.
fn summaries(
    canvas: &mut Canvas,
    recording: &Recording,
    source: &Source,
    mut some: Vec<&Distribution>,
) -> io::Result<()> {
    some.order_by_key(|known| std::cmp::Reverse(known.histogram.max_ns));
    let right = Align::Right;
    let heads =
        [("Device", Align::Left), ("I/Os", right), ("min", right), ("mean", right), ("max", right)];
    let mut columns = Columns::new(&heads).flexible(0);
    for known in some {
        let histogram = &known.histogram;
        let reported = |ns: Option<f64>| (duration(ns.unwrap_or(f64::NAN)), TextStyle::default());
        columns.row(vec![
            (format!("{} {}", device(recording, known), op(known)), Tone::Accent.into()),
            (count(histogram.count()), TextStyle::default()),
            reported(histogram.min_ns.map(|ns| ns as f64)),
            reported(histogram.mean_ns().map(|(ns, _)| ns)),
            reported(histogram.max_ns.map(|ns| ns as f64)),
        ]);
    }
    let text = format!("{} ({})", source.place(), source.format);
    canvas.paragraph(&Line::new(), &text, Tone::Faint)?;
    let lines = columns.lines(canvas.width());
    canvas.lines(&lines)
}

fn device(recording: &Recording, known: &Distribution) -> String {
    recording.devices().get(known.device.index()).map(|d| d.name.clone()).unwrap_or_default()
}

/// The operation and size, followed by a comma, if they are known.
fn op(known: &Distribution) -> String {
    let size = known.bytes.map(|bytes| format!(" {}", crate::words::bytes(f64::from(bytes))));
    known.op.map(|op| format!("{}{}, ", op.name(), size.unwrap_or_default())).unwrap_or_default()
}
