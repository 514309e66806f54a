//! Incidents found by the flight recorder: when, which device, the verdict, the time lost.
//!
//! ## Does
//! Lists the incidents in the store of `iowhy watch`, the latest last: its start, its end (or that
//! it is ongoing) and duration; the device with its mount points, and `+2` if two other devices are
//! accused in the same incident; the process that waited most, and the verdict. An incident that
//! recurs within five minutes on the same device for the same cause is counted as the same one.
//! `lost` is the time that I/Os waited beyond what is usual for the device, summed over all of
//! them, so it can exceed the duration. An incident without a verdict, because the recorder was
//! killed first, is listed as such; its I/Os can be judged now. A period in which the store itself
//! was not writable has its own line (trigger `store`); while it lasts, a message is printed to
//! stderr. The last column is the name of its files in the store's folder `incidents`.
//!
//! `--trend` shows what drifted: for each device and operation the median and p99 on the device
//! (D2C) of the first and the last day. A drift of the median is one that the order of five days
//! or more does not give by chance (Mann and Kendall, p < 0.05), of at least an eighth; its size
//! is the median slope between all pairs of days (Theil and Sen). Whether the load changed is in
//! `I/Os a day`. Days are of UTC, and count with 1,000 I/Os; how many there are follows from
//! `--keep-for` of `iowhy watch`. Calibrations are lines of their own (`read, alone`), whose days
//! count with 100 reads: no load hides their drift. `contrib/iowhy-calibrate@.timer` makes one a
//! week with `iowhy probe calibrate`, in the folder `calibrations` of the store.
//!
//! ## Examples
//! `iowhy incidents`: all incidents in the store.
//! `iowhy incidents --since yesterday --until 06:00`: last night.
//! `iowhy why --at 03:12`: the full verdict of one, from its individual I/Os.
//! `iowhy incidents --trend`: which disks became slower, day by day.
//! `iowhy incidents --csv`: a row per incident, for a spreadsheet.
//! `iowhy incidents --json`: one object of schema `iowhy.incidents/1`.

mod trend;

use std::io::Write;
use std::path::Path;

use clap::{Args, FromArgMatches};
use iowhy_model::Filter;
use iowhy_show::incidents::{IncidentRow, table};
use iowhy_store::Store;
use serde_json::{Value, json};

use crate::arguments::{Commas, Output};
use crate::command::{Command, Status};
use crate::confinement;
use crate::messages::HintedError;
use crate::store_input::{self, StoreInput};
use crate::{recorded, sanitised, when};

/// Entry in the list of commands.
pub(super) const COMMAND: Command = Command {
    name: "incidents",
    summary: "Incidents found by the flight recorder: when, which device, the verdict",
    manual: iowhy_model::manual!("incidents.rs"),
    arguments: Incidents::augment_args,
    run,
};

#[derive(Args, Debug)]
struct Incidents {
    #[command(flatten)]
    past: StoreInput,
    /// Only incidents in which this device is accused or raised an alarm (may be given several
    /// times)
    #[arg(short, long, value_name = "NAME")]
    device: Vec<String>,
    /// Instead of incidents what drifted: latencies of each device, day by day
    #[arg(long, conflicts_with = "csv")]
    trend: bool,
    /// One JSON object (or one per line) instead of text; `docs/JSON.md` has the schemas
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    commas: Commas,
    /// Width in columns, instead of the terminal's
    #[arg(long, value_name = "N", conflicts_with = "json")]
    width: Option<usize>,
}

/// The columns of `--csv`, keys of `iowhy.incident/1`.
const COLUMNS: [&str; 18] = [
    "id",
    "began",
    "began_ns",
    "until",
    "until_ns",
    "over",
    "length_s",
    "trigger",
    "device",
    "mounts",
    "who",
    "owner",
    "verdict",
    "blame",
    "confidence",
    "lost_s",
    "sentence",
    "capture",
];

fn run(matches: &clap::ArgMatches) -> anyhow::Result<Status> {
    let asked = Incidents::from_arg_matches(matches)?;
    let span = asked.past.span()?;
    let folder = asked.past.folder();
    warn_of_unwritable_store(&folder);
    confinement::reading([folder.as_path()], &[])?;
    let store = store_input::open(&folder)?;
    let is_written = Store::is_written(&folder);
    let cannot = |cause: std::io::Error| {
        HintedError::error(format!("cannot read `{}`: {cause}", folder.display()), "run as root")
    };
    if asked.trend {
        let mut trends = trend::trends(&store, span, &asked.names()).map_err(cannot)?;
        trends.extend(trend::calibrations(&folder, span, &asked.names()).map_err(cannot)?);
        return trend(&asked, &trends);
    }
    let mut all = recorded::incidents(&store, span).map_err(cannot)?;
    let unread = all.iter().filter(|one| one.damaged).count();
    let names = asked.names();
    let wanted = |name: &str| names.iter().any(|asked| asked == name);
    all.retain(|one| asked.device.is_empty() || devices(&one.json).any(wanted));
    let mut out = sanitised::stdout();
    if asked.json {
        let rows: Vec<Value> = all.into_iter().map(|one| one.json).collect();
        let whole = json!({"schema": "iowhy.incidents/1", "incidents": rows, "unread": unread});
        writeln!(out, "{}", serde_json::to_string_pretty(&whole)?)?;
    } else if asked.commas.csv {
        let rows: Vec<Value> = all.into_iter().map(|one| one.json).collect();
        iowhy_show::csv::rows(&COLUMNS, &rows, &mut out)?;
    } else if all.is_empty() {
        writeln!(out, "No incidents.")?;
    } else {
        let rows: Vec<IncidentRow> = all.iter().map(|one| one.row(is_written)).collect();
        let style = Output { width: asked.width, ..Output::default() }.style(Filter::default());
        table(&rows, &style, &mut out)?;
        if let Some(last) = rows.last().filter(|_| style.fitted) {
            let at = when::words(last.began_ns);
            writeln!(out, "\nWhat to do about the last one: `iowhy why --at '{at}'`")?;
        }
    }
    if unread > 0 {
        crate::messages::warn(&format!("{unread} verdicts are damaged and were not read"), None);
    }
    out.flush()?;
    Ok(Status::incomplete(unread > 0))
}

impl Incidents {
    /// The devices asked for.
    fn names(&self) -> Vec<String> {
        self.device.iter().map(|name| name.trim_start_matches("/dev/").to_string()).collect()
    }
}

fn trend(asked: &Incidents, trends: &[trend::Trend]) -> anyhow::Result<Status> {
    let mut out = sanitised::stdout();
    match asked.json {
        true => writeln!(out, "{}", serde_json::to_string_pretty(&trend::whole(trends))?)?,
        false => {
            let output = Output { width: asked.width, ..Output::default() };
            trend::write(trends, &output.style(Filter::default()), &mut out)?;
        }
    }
    out.flush()?;
    Ok(Status::Done)
}

/// A recorder writes at least once a minute; without a write for this long it cannot write.
const SILENT: std::time::Duration = std::time::Duration::from_secs(90);

/// Warns that the store's disk is full, or that its running recorder does not write.
fn warn_of_unwritable_store(folder: &Path) {
    if !Store::is_written(folder) {
        return;
    }
    let space = rustix::fs::statvfs(folder);
    let full = space.is_ok_and(|space| space.f_bavail * space.f_frsize < FULL);
    let written = Store::open(folder).ok().and_then(|store| store.written_last());
    let silent = written.and_then(|at| at.elapsed().ok()).filter(|silent| *silent > SILENT);
    let text = match (full, silent) {
        (true, _) => "the file system of the store is full: the recorder cannot write".to_string(),
        (_, Some(silent)) => format!(
            "the recorder is running but has written nothing for {} s: the disk of the store \
             returns errors or hangs",
            silent.as_secs()
        ),
        _ => return,
    };
    crate::messages::warn(
        &text,
        Some("free some space, or find out why the disk does not respond"),
    );
}

/// A disk with less free space is full.
const FULL: u64 = 64 << 10;

/// Its device, other accused devices, and those with an alarm.
fn devices(row: &Value) -> impl Iterator<Item = &str> {
    let more = ["others", "alarms"].into_iter().filter_map(|name| row[name].as_array()).flatten();
    std::iter::once(row).chain(more).filter_map(|of| of["device"].as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn an_incident_is_of_every_device_that_gave_an_alarm_in_it() {
        let judged = json!({"device": "sda", "others": [{"device": "sdb"}],
            "alarms": [{"device": "sdc", "trigger": "latency"}]});
        assert!(super::devices(&judged).eq(["sda", "sdb", "sdc"]));
        // One that the recorder did not judge.
        let waiting = json!({"device": "vda", "alarms": [{"device": "vda"}, {"device": "loop7"}]});
        assert!(super::devices(&waiting).any(|name| name == "loop7"));
    }
}
