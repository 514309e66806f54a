//! What the flight recorder noticed: when, how long, which device, the verdict, the time lost.
//!
//! ## Does
//! Lists the incidents in the store of `iowhy watch`, the latest last. `lost` is the time that I/Os
//! waited beyond what is usual for the device, summed over all of them, so that it may exceed the length.
//! Where other devices are accused in the same incident, each has a line below it. An
//! incident that was not judged, because the recorder was killed before, is listed as such; its I/Os
//! can be judged now. That the store itself could not be written for a while is a line of its own (trigger `store`); while it cannot,
//! a message on stderr says so. The last column is the name of its files in the store's folder `incidents`.
//!
//! ## Examples
//! `iowhy incidents`: all that are kept.
//! `iowhy incidents --since yesterday --until 06:00`: of a night.
//! `iowhy why --at 03:12`: the whole verdict of one, from its single I/Os.
//! `iowhy incidents --json`: one object of schema `iowhy.incidents/1`.

use std::io::Write;
use std::path::Path;

use clap::{Args, FromArgMatches};
use iowhy_model::numbers;
use iowhy_store::Store;
use serde_json::{Value, json};

use crate::command::{Command, Status};
use crate::confinement;
use crate::messages::HintedError;
use crate::sanitised;
use crate::store_input::{self, StoreInput};
use crate::when;

/// Entry in the list of commands.
pub const COMMAND: Command = Command {
    name: "incidents",
    summary: "What the flight recorder noticed: when, which device, the verdict",
    manual: iowhy_model::manual!("incidents.rs"),
    arguments: Incidents::augment_args,
    run,
};

#[derive(Args, Debug)]
struct Incidents {
    #[command(flatten)]
    past: StoreInput,
    /// Only those in which this device is accused or gave an alarm (may be given several times)
    #[arg(short, long, value_name = "NAME")]
    device: Vec<String>,
    /// One JSON object (or one per line) instead of text; `docs/JSON.md` has the schemas
    #[arg(long)]
    json: bool,
}

fn run(matches: &clap::ArgMatches) -> anyhow::Result<Status> {
    let asked = Incidents::from_arg_matches(matches)?;
    let span = asked.past.span()?;
    let folder = asked.past.folder();
    say_trouble(&folder);
    confinement::reading([folder.as_path()], &[])?;
    let store = store_input::open(&folder)?;
    let mut unread = 0;
    let mut rows = Vec::new();
    let all = store.incidents().map_err(|cause| {
        HintedError::error(format!("cannot read `{}`: {cause}", folder.display()), "run as root")
    })?;
    for incident in all.iter().filter(|one| store_input::touches(one, span)) {
        let text = incident.verdict.as_deref().map(store_input::verdict).transpose();
        let read = text.map_err(anyhow::Error::from).and_then(|text| {
            Ok(text.map(|text| serde_json::from_str::<Value>(&text)).transpose()?)
        });
        let at_ns = incident.at_s.saturating_mul(1_000_000_000);
        let mut row = match read {
            Ok(Some(row)) if row.is_object() => row,
            Ok(None) => json!({"id": incident.id, "at_ns": at_ns}),
            Ok(Some(_)) | Err(_) => {
                unread += 1;
                json!({"id": incident.id, "at_ns": at_ns})
            }
        };
        row["capture"] =
            incident.capture.as_ref().map_or(Value::Null, |path| path.display().to_string().into());
        if let Some(object) = row.as_object_mut() {
            object.shift_remove("report");
        }
        let wanted =
            |name: &str| asked.device.iter().any(|asked| asked.trim_start_matches("/dev/") == name);
        if asked.device.is_empty() || devices(&row).any(wanted) {
            rows.push(row);
        }
    }
    let mut out = sanitised::stdout();
    if asked.json {
        let whole = json!({"schema": "iowhy.incidents/1", "incidents": rows, "unread": unread});
        writeln!(out, "{}", serde_json::to_string_pretty(&whole)?)?;
    } else if rows.is_empty() {
        writeln!(out, "No incidents.")?;
    } else {
        table(&rows, &mut out)?;
    }
    if unread > 0 {
        crate::messages::warn(&format!("{unread} verdicts are damaged and were not read"), None);
    }
    out.flush()?;
    Ok(Status::incomplete(unread > 0))
}

/// A recorder states at least each minute that it watches; one that has written nothing for so long cannot.
const SILENT: std::time::Duration = std::time::Duration::from_secs(90);

/// Says that the store's disk is full, or that its recorder runs and does not come to write.
fn say_trouble(folder: &Path) {
    if !Store::is_written(folder) {
        return;
    }
    let space = rustix::fs::statvfs(folder);
    let full = space.is_ok_and(|space| space.f_bavail * space.f_frsize < FULL);
    let written = Store::open(folder).ok().and_then(|store| store.written_last());
    let silent = written.and_then(|at| at.elapsed().ok()).filter(|silent| *silent > SILENT);
    let text = match (full, silent) {
        (true, _) => "the disk of the store is full: its recorder cannot write".to_string(),
        (_, Some(silent)) => format!(
            "the recorder runs and has written nothing for {} s: the disk of the store refuses or hangs",
            silent.as_secs()
        ),
        _ => return,
    };
    crate::messages::warn(&text, Some("make room on it, or see why it does not answer"));
}

/// Bytes below which a disk is full.
const FULL: u64 = 64 << 10;

/// Its device, others that are accused in it, and those that gave an alarm in it.
fn devices(row: &Value) -> impl Iterator<Item = &str> {
    let more = ["others", "alarms"].into_iter().filter_map(|name| row[name].as_array()).flatten();
    std::iter::once(row).chain(more).filter_map(|of| of["device"].as_str())
}

fn table(rows: &[Value], out: &mut dyn Write) -> std::io::Result<()> {
    const HEADS: [&str; 8] =
        ["when", "length", "device", "verdict", "confidence", "lost", "trigger", "id"];
    let zone = jiff::tz::TimeZone::system();
    let text =
        |value: &Value| value.as_str().filter(|text| !text.is_empty()).unwrap_or("-").to_string();
    let seconds = |value: &Value| {
        value.as_f64().map_or("-".to_string(), |value| numbers::duration(value * 1e9))
    };
    let mut cells: Vec<[String; 8]> = vec![HEADS.map(str::to_string)];
    for row in rows {
        let verdict = match (&row["verdict"], &row["capture"]) {
            (Value::String(verdict), _) => verdict.clone(),
            _ if row["trigger"] == "store" => "store not written".to_string(),
            (_, Value::Null) => "not judged".to_string(),
            _ => "not judged yet".to_string(),
        };
        let confidence = row["confidence"].as_f64();
        cells.push([
            when::words(row["at_ns"].as_i64().unwrap_or(0), &zone),
            seconds(&row["length_s"]),
            text(&row["device"]),
            verdict,
            confidence.map_or("-".to_string(), numbers::share),
            seconds(&row["lost_s"]),
            text(&row["trigger"]),
            text(&row["id"]),
        ]);
        for other in row["others"].as_array().into_iter().flatten() {
            let mut line: [String; 8] = Default::default();
            line[2] = text(&other["device"]);
            line[3] = text(&other["verdict"]);
            line[4] = other["confidence"].as_f64().map_or(String::new(), numbers::share);
            cells.push(line);
        }
    }
    let width =
        |column: usize| cells.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..HEADS.len()).map(width).collect();
    for row in &cells {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            // Numbers stand at the right of their column.
            let right = matches!(HEADS[column], "length" | "confidence" | "lost");
            let cell = if right { format!("{cell:>width$}") } else { format!("{cell:<width$}") };
            line.push_str(&cell);
            line.push_str("  ");
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn an_incident_is_of_every_device_that_gave_an_alarm_in_it() {
        let judged = json!({"device": "sda", "others": [{"device": "sdb"}],
            "alarms": [{"device": "sdc", "trigger": "latency"}]});
        assert!(super::devices(&judged).eq(["sda", "sdb", "sdc"]));
        // One that the recorder did not come to judge.
        let waiting = json!({"device": "vda", "alarms": [{"device": "vda"}, {"device": "loop7"}]});
        assert!(super::devices(&waiting).any(|name| name == "loop7"));
    }
}
