//! PyLatencyMap 1.3's own picture, byte for byte: two maps, one frame per record.
//!
//! It is not in the list of views: a view draws a report on the given canvas, this draws the
//! original's records at the original's width and in its colours.
//!
//! It draws and counts like the original, including its errors: rows are labelled with upper bounds
//! even if the source counts from lower ones on (`<.128` then contains all below 256 us), a record
//! without `datasource` is taken as the kernel's although only Oracle's sources omit it, a clock
//! that wraps at midnight gives an interval of one second, averages weigh a short interval like a
//! long one, and a gap in time is not shown. The view `heatmap` has none of these errors.

use std::io::{self, Write};

mod figures;
mod records;
mod window;

use figures::{latency_label, padded_right, value};
pub use records::{CumulativeRecord, NewRecords};
use window::Window;

/// How the picture is laid out: the original's options, with its defaults.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PylatencymapOptions {
    /// `--num_records`: records that the picture holds, one less than it has columns.
    pub records: usize,
    /// `--min_bucket`: power of two of the lowest row.
    pub min_bucket: Option<u32>,
    /// `--max_bucket`: power of two of the highest row.
    pub max_bucket: Option<u32>,
    /// `--frequency_maxval`: the value that gets the last colour.
    pub frequency_max: Option<f64>,
    /// `--intensity_maxval`: the same of the second map.
    pub intensity_max: Option<f64>,
}

impl Default for PylatencymapOptions {
    fn default() -> Self {
        PylatencymapOptions {
            records: 90,
            min_bucket: None,
            max_bucket: None,
            frequency_max: None,
            intensity_max: None,
        }
    }
}

/// The title, which is also the first line of a run.
const TITLE: &str = "LatencyMap.py v1.3 - Luca.Canali@cern.ch\n";
const ABOUT: &str = "CLI heatmaps for latency histograms (frequency & intensity).\n";
/// Plain colours, an empty screen, the first line.
const CLEAR: &str = "\x1b[0m\x1b[2J\x1b[H";
const END: &str = "\nReached EOF from data source, exiting.\n";
/// Rows of a picture whose range the first record decides.
const AUTO_ROWS: u32 = 12;

/// The run of the original: feed it record by record.
#[derive(Debug)]
pub struct PylatencymapRun {
    options: PylatencymapOptions,
    last: Option<CumulativeRecord>,
    picture: Option<Picture>,
    frame: Vec<u8>,
}

/// State that is known after the first record.
#[derive(Debug)]
struct Picture {
    /// Powers of two of the lowest and highest row.
    low: u32,
    high: u32,
    frequency: Window,
    intensity: Window,
    samples: u64,
    delta_us: i64,
}

impl PylatencymapRun {
    /// A run that has drawn nothing yet.
    pub fn new(options: PylatencymapOptions) -> PylatencymapRun {
        PylatencymapRun { options, last: None, picture: None, frame: Vec::new() }
    }

    /// The text before the first frame.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn begin(&self, out: &mut dyn Write) -> io::Result<()> {
        write!(out, "{TITLE}{ABOUT}")
    }

    /// Takes a record and draws a frame.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn record(&mut self, record: CumulativeRecord, out: &mut dyn Write) -> io::Result<()> {
        let (low, high) = self.options.range(&record);
        let columns = self.options.records + 1;
        let picture = self.picture.get_or_insert_with(|| Picture {
            low,
            high,
            frequency: Window::new(&FREQUENCY_CELLS, (high - low + 1) as usize, columns),
            intensity: Window::new(&INTENSITY_CELLS, (high - low + 1) as usize, columns),
            samples: 0,
            delta_us: 0,
        });
        picture.add(self.last.as_ref(), &record, &self.options);
        self.frame.clear();
        picture.draw(&record, &self.options, &mut self.frame)?;
        self.last = Some(record);
        out.write_all(&self.frame)
    }

    /// The text after the last frame.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn end(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(END.as_bytes())
    }
}

/// Cells from nothing to the most: a background code of the 256 colours, and a blank
/// (LatencyMap.py 1.3).
const FREQUENCY_CELLS: [&str; 7] = [
    "\x1b[48;5;15m ",
    "\x1b[48;5;51m ",
    "\x1b[48;5;45m ",
    "\x1b[48;5;39m ",
    "\x1b[48;5;33m ",
    "\x1b[48;5;27m ",
    "\x1b[48;5;21m ",
];
const INTENSITY_CELLS: [&str; 7] = [
    "\x1b[48;5;15m ",
    "\x1b[48;5;226m ",
    "\x1b[48;5;220m ",
    "\x1b[48;5;214m ",
    "\x1b[48;5;208m ",
    "\x1b[48;5;202m ",
    "\x1b[48;5;196m ",
];

/// What differs between the two maps.
struct Words<'a> {
    title: &'a str,
    unit: &'a str,
    axis: &'a str,
}

impl PylatencymapOptions {
    /// Powers of two of the lowest and highest row: what was asked for, else 12 from 1 ms, 128 us
    /// or 131 us on, by the unit of the first record.
    fn range(&self, first: &CumulativeRecord) -> (u32, u32) {
        let low = self.min_bucket.unwrap_or(match first.unit.as_str() {
            "microsec" => 7,
            "nanosec" => 17,
            _ => 0,
        });
        let high = self.max_bucket.unwrap_or(low + AUTO_ROWS - 1);
        (low.min(high), high)
    }
}

impl Picture {
    fn add(
        &mut self,
        last: Option<&CumulativeRecord>,
        record: &CumulativeRecord,
        options: &PylatencymapOptions,
    ) {
        let rows = (self.high - self.low + 1) as usize;
        let (mut frequency, mut intensity) = (vec![0.0; rows], vec![0.0; rows]);
        if let Some(last) = last {
            self.delta_us = record.at_us.saturating_sub(last.at_us);
            let seconds = if self.delta_us > 0 { self.delta_us as f64 / 1e6 } else { 1.0 };
            let weight = if record.source == "oracle" { 0.75 } else { 1.5 };
            for (bucket, count) in &record.counts {
                let known = last.counts.iter().find(|(other, _)| other == bucket);
                let added = count.saturating_sub(known.map_or(0, |(_, count)| *count)) as f64;
                let row = (*bucket).clamp(self.low, self.high) - self.low;
                let width = 2f64.powi(i32::try_from(*bucket).unwrap_or(i32::MAX));
                frequency[row as usize] += added / seconds;
                intensity[row as usize] += weight * added * width / seconds;
            }
        }
        self.samples += 1;
        self.frequency.push(&frequency, options.frequency_max);
        self.intensity.push(&intensity, options.intensity_max);
    }

    fn draw(
        &self,
        record: &CumulativeRecord,
        options: &PylatencymapOptions,
        out: &mut Vec<u8>,
    ) -> io::Result<()> {
        let unit = if record.unit.is_empty() { "millisec" } else { &record.unit };
        write!(out, "{CLEAR}{TITLE}")?;
        let words = Words {
            title: "Frequency Heatmap: events per sec",
            unit: "(N#/sec)",
            axis: "x=time, y=latency bucket (ms), color=wait frequency (IOPS)",
        };
        self.map(&self.frequency, &words, unit, options, out)?;
        let words = Words {
            title: "Intensity Heatmap: time waited per sec",
            unit: &format!("({unit}/sec)"),
            axis: "x=time, y=latency bucket (ms), color=time waited",
        };
        self.map(&self.intensity, &words, unit, options, out)?;
        let average =
            |waited: f64, waits: f64| value(if waits > 0.0 { waited / waits } else { 0.0 });
        let all = average(self.intensity.total(), self.frequency.total());
        let latest = average(self.intensity.latest_sum(), self.frequency.latest_sum());
        writeln!(
            out,
            "Average latency: {all} {unit}. Average latency of latest values: {latest} {unit}"
        )?;
        let seconds = self.delta_us as f64 / 1e6;
        let (samples, date) = (self.samples, record.date.to_uppercase());
        writeln!(out, "Sample num: {samples}. Delta time: {seconds:.1} sec. Date: {date}")?;
        if !record.label.is_empty() {
            writeln!(out, "Label: {}", record.label)?;
        }
        Ok(())
    }

    /// One map: two headings, the rows from the highest down, the axis.
    fn map(
        &self,
        window: &Window,
        words: &Words,
        unit: &str,
        options: &PylatencymapOptions,
        out: &mut Vec<u8>,
    ) -> io::Result<()> {
        let records = options.records;
        let line = padded_right("Latency bucket", (records / 2).saturating_sub(10).max(16));
        let line = padded_right(&(line + words.title), records + 2);
        writeln!(out, "{line}Latest values    Legend")?;
        let width = (records + 14).saturating_sub(words.unit.len()).max(16);
        writeln!(out, "{}{}", padded_right("(millisec)", width), words.unit)?;
        let rows = (self.high - self.low) as usize;
        for row in 0..=rows {
            let bucket = self.high - row as u32;
            let label = match row {
                0 => format!(">{}", latency_label(i64::from(bucket) - 1, unit)),
                _ if row == rows => format!("<{}", latency_label(i64::from(bucket), unit)),
                _ => latency_label(i64::from(bucket), unit),
            };
            write!(out, "{label:>6} ")?;
            out.extend_from_slice(window.cells(rows - row));
            write!(out, "\x1b[0m{:.>7}", value(window.latest(rows - row)))?;
            match row {
                0..=6 => write!(out, "    {}\x1b[0m {}", window.swatch(row), window.step(row))?,
                7 => write!(out, "    Max: {}", value(window.most()))?,
                _ if row == rows => write!(out, "    Max(Sum):")?,
                _ => {}
            }
            out.push(b'\n');
        }
        let axis = padded_right(&format!("      {}", words.axis), records + 3);
        let (latest, most) = (value(window.latest_sum()), value(window.most_sum()));
        writeln!(out, "{axis}Sum:{latest:.>7}    {most}\n")
    }
}
