//! iostat's JSON (`iostat -o JSON`): rates, mean waits, queue and busy share per device and report.
//!
//! ## Reads
//! The reports of `iostat -o JSON`, read one at a time, so that a run of days needs no more memory
//! than one report. Rows become intervals, exactly as those of the printed tables. `sadf -j -- -d`
//! prints the same document with sar's columns and is read too.
//!
//! ## How to capture
//! `iostat -o JSON -x 10` of the sysstat package, also with `-y`, `-t`, `-p`, `-s`, `-k`, `-m`; and
//! copies reformatted by `jq`.
//!
//! ## Versions
//! sysstat 11.5.1 and later. Keys are the columns of the tables without their percent sign: `util`,
//! `rrqm`, `wrqm`. Requests per second come first since 12.1.2. Unknown keys are ignored, and the
//! value of a missing key is unknown (on hosts of many disks some versions lose a few: sysstat
//! issue 396).
//!
//! ## Caveats
//! The output of a killed run ends in the middle: the complete part is read, and the truncated row
//! is ignored with a note; one stopped by an interrupt is closed properly. 12.2.0 writes `wMB/s`
//! 2048 times too large (sysstat issue 264): if it differs that much from `w/s` times `wareq-sz`,
//! the product is used, with a note. The first report is since boot unless `-y` was given, which
//! the JSON does not show: it is assumed unless all its rates are whole requests over 1, 2, 5 or
//! 10 s. `0.00` without I/O means no value, not fast. `util` is not a measure of saturation.
//! Without `-t` no report has a time. A line longer than 1 MiB is not read: print it in several
//! lines.
//!
//! ## Not in this output
//! The same as in the printed tables: the distribution behind a mean, and queue and device time
//! separately.

use serde_json::{Map, Value};

use crate::counters::disk_columns::{RowBuilder, are_whole_first};
use crate::describe::document::Content;
use crate::program::*;
use crate::text::wall_time::Moments;

pub(super) const FORMAT: Format =
    Format::document::<Reports>("iostat -o JSON of sysstat, complete or truncated", Level::A);

/// How many times too large 12.2.0 writes `wMB/s`: it takes sectors for megabytes.
const SECTORS_PER_MB: f64 = 2048.0;

#[derive(Default)]
struct Reports {
    reports: u64,
    moments: Moments,
    /// The bug of 12.2.0 was reported.
    reported: bool,
}

impl Content for Reports {
    const KEYS: &[&str] = &["\"sysstat\""];
    const LIST: Option<&str> = Some("\"statistics\"");
    const TRUNCATED: &str = "the document is truncated: the last report may be missing disks";

    fn head(&mut self, head: &Value, sink: &mut dyn Sink) {
        if let Some((name, host)) = host(head) {
            sink.source().is_of_printed_host(&name, host);
        }
    }

    fn element(&mut self, report: &Value, sink: &mut dyn Sink) -> Result<(), &'static str> {
        let now = report.get("timestamp").and_then(moment);
        let rows = report.get("disk").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let drafts: Vec<(&str, RowBuilder)> =
            rows.iter().filter_map(|row| self.row(row, sink)).collect();
        let rates: Vec<f64> = drafts.iter().flat_map(|(_, draft)| draft.request_rates()).collect();
        let sampled = report.get("timestamp").is_some_and(Value::is_object);
        let since_boot = self.reports == 0 && !sampled && !are_whole_first(&rates);
        let is_later = now.is_some_and(|now| self.moments.at(now)) && !since_boot;
        for (name, draft) in drafts {
            let mut interval = draft.interval(sink.device(name));
            interval.since_boot = since_boot;
            if is_later {
                self.moments.date(&mut interval);
            }
            sink.interval(interval);
        }
        self.reports += 1;
        Ok(())
    }
}

impl Reports {
    fn row<'a>(&mut self, row: &'a Value, sink: &mut dyn Sink) -> Option<(&'a str, RowBuilder)> {
        let row = row.as_object()?;
        let name = row.get("disk_device").or_else(|| row.get("disk-device"));
        let name = name.and_then(Value::as_str)?.trim();
        let written = self.written(row, sink);
        let mut draft = RowBuilder::default();
        for (key, value) in row {
            let column = match key.as_str() {
                "util" | "util-percent" => "%util",
                // sadf's: bytes by direction with requests of both together.
                "rkB" => "kB_read/s",
                "wkB" => "kB_wrtn/s",
                "dkB" => "kB_dscd/s",
                other => other,
            };
            match (key.as_str(), written) {
                ("wMB/s", Some(written)) => draft.take(column, &written.to_string()),
                _ => draft.take(column, &word(value)),
            }
        }
        Some((name, draft))
    }

    /// MB written per second, where 12.2.0 got it wrong.
    fn written(&mut self, row: &Map<String, Value>, sink: &mut dyn Sink) -> Option<f64> {
        let number = |key| row.get(key).and_then(Value::as_f64);
        let (stated, per_s, kb) = (number("wMB/s")?, number("w/s")?, number("wareq-sz")?);
        let product = per_s * kb / 1024.0;
        // Both factors are rounded to a hundredth: a third either way is generous.
        let wrong = (0.67..1.5).contains(&(stated / product / SECTORS_PER_MB));
        if wrong && !std::mem::replace(&mut self.reported, true) {
            sink.note(note(
                "wMB/s is 2048 times too large, as 12.2.0 writes it: w/s times wareq-sz is used",
            ));
        }
        wrong.then_some(product)
    }
}

/// iostat prints a report's time as one text, sadf its date and time apart.
fn moment(stamp: &Value) -> Option<WallTime> {
    let of = |key| stamp.get(key).and_then(Value::as_str);
    match stamp.as_str() {
        Some(text) => WallTime::read(text),
        None => WallTime::read(&format!("{} {}", of("date")?, of("time")?)),
    }
}

/// A number as the tables print it: JSON has two decimals too, but a parser drops idle zeros.
fn word(value: &Value) -> String {
    match value.as_f64() {
        Some(number) if value.is_f64() => format!("{number:.2}"),
        Some(_) => value.to_string(),
        None => value.as_str().unwrap_or_default().to_string(),
    }
}

/// `HOST, Linux RELEASE MACHINE, N CPU`, as of the printed banner.
fn host(document: &Value) -> Option<(String, String)> {
    let host = document.pointer("/sysstat/hosts/0")?;
    let of = |key| host.get(key).and_then(Value::as_str);
    let system = [of("sysname"), of("release"), of("machine")].into_iter().flatten();
    let system = system.collect::<Vec<_>>().join(" ");
    let processors = host.get("number-of-cpus").and_then(Value::as_u64);
    let processors = processors.map_or(String::new(), |count| format!(", {count} CPU"));
    let name = of("nodename")?;
    Some((name.to_string(), format!("{name}, {system}{processors}")))
}
