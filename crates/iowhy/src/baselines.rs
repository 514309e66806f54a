//! The source of the healthy service time: `--baseline`, and what `--learn` saves for the next run.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use clap::Args;
use iowhy_diagnose::{Baseline, BaselineEntry, HealthyOrigin};
use iowhy_model::{Finding, Op, Recording};
use serde_json::Value;

use crate::messages::{self, HintedError};
use crate::outputs;

/// What a device is compared with, and what is learned.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Baseline")]
pub(crate) struct Baselines {
    /// Baseline of a healthy device: `class` (typical for its class), `own` (its best interval),
    /// `peers`, or a FILE written by `--learn` or `iowhy probe calibrate --json` [default: class]
    #[arg(long, value_name = "WHAT")]
    baseline: Option<String>,
    /// Add the service times of each disk that no verdict accuses to this file, for a later
    /// `--baseline`
    #[arg(long, value_name = "FILE")]
    learn: Option<String>,
}

impl Baselines {
    /// The requested source of healthy service times.
    pub(crate) fn healthy_origin(&self) -> anyhow::Result<HealthyOrigin> {
        match self.baseline.as_deref() {
            None | Some("class") => Ok(HealthyOrigin::Class),
            Some("own") => Ok(HealthyOrigin::Own),
            Some("peers") => Ok(HealthyOrigin::Peers),
            Some(file) => stored(file).map(HealthyOrigin::Stored),
        }
    }

    /// The file to learn into, if requested.
    pub(crate) fn learned(&self) -> Option<&Path> {
        self.learn.as_deref().map(Path::new)
    }

    /// Saves what was learned, if requested, and reports it.
    pub(crate) fn learn(&self, recording: &Recording, findings: &[Finding]) -> anyhow::Result<()> {
        let Some(file) = self.learn.as_deref() else { return Ok(()) };
        let wrong = |why: std::io::Error| {
            let hint = "name a new file, or one that `--learn` wrote";
            HintedError::error(format!("cannot save a baseline in `{file}`: {why}"), hint)
        };
        let there = outputs::open_to_rewrite(Path::new(file)).map_err(wrong)?;
        let mut baseline = match &there {
            Some(there) => read_learned(file, there)?,
            None => Baseline::default(),
        };
        let from = recording.listings.first().map_or("-", |listing| listing.source.input.as_str());
        let (learned, accused) = Baseline::learned(recording, findings, from);
        let kinds = learned.len();
        if kinds > 0 {
            baseline.add(learned);
            outputs::rewrite(Path::new(file), there.as_ref(), baseline.text().as_str())?;
        }
        let but = match accused.as_slice() {
            [] => String::new(),
            names => format!(
                "; nothing learned for {}, which is accused in this capture",
                names.join(", ")
            ),
        };
        let added = iowhy_model::numbers::several(kinds as u64, "kind");
        let text = format!("`{file}`: {added} of requests added{but}");
        let few = "a kind needs 20 I/Os with individual latencies; averages are not enough";
        messages::warn(&text, (kinds == 0 && accused.is_empty()).then_some(few));
        Ok(())
    }
}

/// Reads a baseline that `--learn` wrote and refuses any other file: nothing else is replaced.
fn read_learned(name: &str, mut file: &File) -> anyhow::Result<Baseline> {
    let mut text = String::new();
    let wrong = |why: String| {
        let hint = "name a new file, or one that `--learn` wrote";
        HintedError::error(format!("cannot save a baseline in `{name}`: {why}"), hint)
    };
    file.read_to_string(&mut text).map_err(|why| wrong(why.to_string()))?;
    Baseline::parse(&text).map_err(wrong)
}

fn stored(file: &str) -> anyhow::Result<Baseline> {
    let hint = "write one with `iowhy why --learn FILE CAPTURE`, or `iowhy probe calibrate TARGET \
                --json > FILE`";
    let wrong =
        |why: String| HintedError::error(format!("cannot use `{file}` as a baseline: {why}"), hint);
    let text = std::fs::read_to_string(file).map_err(|why| wrong(why.to_string()))?;
    if text.trim_start().starts_with('{') {
        return calibrated(file, &text)
            .ok_or_else(|| wrong("it contains no table of `iowhy probe calibrate`".to_string()));
    }
    Baseline::parse(&text).map_err(wrong)
}

/// The result of a calibration. Its target may have another name when it is judged, so every judged
/// disk is compared with it.
fn calibrated(file: &str, text: &str) -> Option<Baseline> {
    let probe: Value = serde_json::from_str(text).ok()?;
    let tables = probe.get("tables")?.as_array()?;
    let table = tables.iter().find(|table| table["name"] == "calibrate")?;
    let columns = table["columns"].as_array()?;
    let place = |name: &str| columns.iter().position(|column| column["name"] == name);
    let [size, order, n, median, high] =
        [place("size")?, place("order")?, place("n")?, place("S0")?, place("p90")?];
    let known = |row: &Value| -> Option<BaselineEntry> {
        let number = |place: usize| row.get(place)?.as_f64();
        let median_ms = number(median).filter(|ms| *ms > 0.0)?;
        // The 90th percentile of a normal logarithm lies 1.28 sigma above its middle.
        let sigma = (number(high)? / median_ms).max(1.0).ln() / 1.28;
        Some(BaselineEntry {
            device: BaselineEntry::ANY.to_string(),
            op: Op::Read,
            bytes: number(size)? as u32,
            sequential: Some(row.get(order)? == "sequential"),
            median_ms,
            sigma,
            n: number(n)? as u64,
            from: format!("calibration {file}"),
        })
    };
    let lines: Vec<BaselineEntry> = table["rows"].as_array()?.iter().filter_map(known).collect();
    (!lines.is_empty()).then(|| Baseline::new(lines))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_calibration_is_a_baseline() {
        let text = r#"{"tables":[{"name":"calibrate","columns":[{"name":"size"},{"name":"order"},
            {"name":"n"},{"name":"min"},{"name":"S0"},{"name":"p90"}],
            "rows":[[4096.0,"random",300.0,0.05,0.06,0.12],[4096.0,"random",300.0,0.05,null,0.1]]}]}"#;
        let baseline = calibrated("probe.json", text).unwrap();
        assert_eq!(baseline.len(), 1);
        assert!(baseline.text().contains("* read 4096 random 0.060000 0.542 300 calibration"));
        assert_eq!(calibrated("x", "{}"), None);
    }
}
