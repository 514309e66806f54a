//! The picture of another tool, as that tool draws it.

use std::io::Write;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::Duration;

use clap::Args;
use iowhy_read::{LiteralRecord, LiteralRecords};
use iowhy_show::{CumulativeRecord, PylatencymapOptions, PylatencymapRun};

use crate::arguments::Files;
use crate::command::Status;
use crate::confinement;
use crate::messages::{self, HintedError};
use crate::sanitised;
use crate::when::long_duration;

/// `--compat`, and the options of PyLatencyMap that go with it.
#[derive(Args, Debug)]
#[command(next_help_heading = "Compatibility")]
pub(super) struct Compat {
    /// Draw the same picture as this tool, from its records: `pylatencymap`
    #[arg(long, value_name = "TOOL", value_parser = ["pylatencymap"])]
    pub compat: Option<String>,
    /// Records in the picture
    #[arg(short, long, alias = "num_records", value_name = "N", default_value_t = 90)]
    #[arg(requires = "compat", value_parser = clap::value_parser!(u32).range(..=10_000))]
    num_records: u32,
    /// Power of two of the lowest row
    #[arg(long, alias = "min_bucket", value_name = "POWER", requires = "compat")]
    #[arg(value_parser = clap::value_parser!(u32).range(..=64))]
    min_bucket: Option<u32>,
    /// Power of two of the highest row
    #[arg(long, alias = "max_bucket", value_name = "POWER", requires = "compat")]
    #[arg(value_parser = clap::value_parser!(u32).range(..=64))]
    max_bucket: Option<u32>,
    /// Events per second at the end of the colour scale
    #[arg(long, alias = "frequency_maxval", value_name = "N", requires = "compat")]
    frequency_maxval: Option<f64>,
    /// Time waited per second at the end of the colour scale, in the unit of the records
    #[arg(long, alias = "intensity_maxval", value_name = "N", requires = "compat")]
    intensity_maxval: Option<f64>,
    /// Pause after each frame when reading a file
    #[arg(long, alias = "screen_delay", value_name = "TIME", value_parser = long_duration)]
    #[arg(requires = "compat")]
    screen_delay: Option<Duration>,
}

impl Compat {
    /// Draws the records of each input, frame by frame, while they arrive.
    pub(super) fn draw(&self, files: &Files) -> anyhow::Result<Status> {
        let options = self.options()?;
        let delay = self.screen_delay.unwrap_or(Duration::ZERO);
        let mut status = Status::Done;
        confinement::reading(files.files.iter().map(PathBuf::as_path), &[])?;
        for (input, opened) in files.open() {
            let mut reader = opened?;
            let mut records = LiteralRecords::new(&mut reader);
            let mut out = sanitised::screen();
            let mut run = PylatencymapRun::new(options);
            let Some(mut record) = records.next_record()? else {
                status = Status::Failed;
                messages::error(&no_records(&input));
                continue;
            };
            run.begin(&mut out)?;
            loop {
                run.record(cumulative(record), &mut out)?;
                out.flush()?;
                if !delay.is_zero() {
                    sleep(delay);
                }
                match records.next_record()? {
                    Some(next) => record = next,
                    None => break,
                }
            }
            run.end(&mut out)?;
            if records.skipped > 0 {
                warn_skipped(&input, &records);
                status = if status == Status::Failed { status } else { Status::Incomplete };
            }
        }
        Ok(status)
    }

    fn options(&self) -> anyhow::Result<PylatencymapOptions> {
        if let (Some(low), Some(high)) = (self.min_bucket, self.max_bucket)
            && low > high
        {
            let hint = "the highest row must not be below the lowest";
            return Err(HintedError::error("`--min-bucket` is above `--max-bucket`", hint));
        }
        // The original uses -1 for "from the data" and 64 for "12 rows".
        Ok(PylatencymapOptions {
            records: self.num_records as usize,
            min_bucket: self.min_bucket,
            max_bucket: self.max_bucket.filter(|power| *power != 64),
            frequency_max: self.frequency_maxval,
            intensity_max: self.intensity_maxval,
        })
    }
}

fn cumulative(record: LiteralRecord) -> CumulativeRecord {
    let LiteralRecord { at_us, date, label, source, unit, counts } = record;
    CumulativeRecord { at_us, date, label, source, unit, counts }
}

fn no_records(input: &str) -> anyhow::Error {
    HintedError::error(
        format!("`{input}` contains no PyLatencyMap records"),
        format!(
            "to draw any other capture: `iowhy convert {input} - --to pylatencymap | iowhy map - \
             --compat pylatencymap`"
        ),
    )
}

/// Reports once where the original would have failed.
fn warn_skipped(input: &str, records: &LiteralRecords) {
    let skipped = records.skipped;
    let first: Vec<String> = records
        .notes
        .iter()
        .map(|note| format!("line {}: {} `{}`", note.line, note.reason, note.text))
        .collect();
    let hint = "`iowhy map` without `--compat` explains them";
    messages::warn(
        &format!("{input}: {skipped} lines were left out ({})", first.join("; ")),
        Some(hint),
    );
}
