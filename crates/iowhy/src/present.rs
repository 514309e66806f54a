//! Draws reports with a view: one from captures, or a sequence from this machine.

use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use iowhy_model::{Filter, NameTable, Recording, Report, Stage, Tally};
use iowhy_show::clock::{self, Reach};
use iowhy_show::{Style, TableStream, views};

use crate::arguments::{Files, Output, Repeat, Selection};
use crate::command::Status;
use crate::confinement;
use crate::crosscheck;
use crate::device_lookup;
use crate::event_names::{self, NameKey, NamedEvents};
use crate::messages::{self, HintedError};
use crate::rows::{Rows, RowsOutcome};
use crate::sanitised;
use crate::watch::{Stretches, Watch};
use crate::when;

/// A view of the list.
pub(crate) struct View(pub &'static iowhy_show::View);

impl View {
    /// Whether it draws rows under one line of headings.
    fn is_table(&self) -> bool {
        *self.0 == views::table::VIEW
    }

    /// Whether it draws no single I/Os, so that counts are enough for it.
    fn is_of_histograms(&self) -> bool {
        [views::histogram::VIEW, views::hist_csv::VIEW, views::hist_json::VIEW].contains(self.0)
    }

    /// Draws a report.
    pub(crate) fn write(
        &self,
        report: &Report,
        style: &Style,
        out: &mut dyn Write,
    ) -> std::io::Result<()> {
        (self.0.write)(report, style, out)
    }

    /// Draws captures, with the time of day above them if requested.
    pub(crate) fn of_files(
        &self,
        files: &Files,
        selection: &Selection,
        output: &Output,
        timestamp: bool,
    ) -> anyhow::Result<Status> {
        confinement::reading(files.files.iter().map(PathBuf::as_path), &[])?;
        let mut out = sanitised::buffered();
        let Some((report, filter, incomplete)) = counted(files, selection, None)? else {
            return Ok(Status::Failed);
        };
        if timestamp && !output.json {
            writeln!(out, "{}", when(&report.recording)?)?;
        }
        self.write(&report, &output.style(filter), &mut out)?;
        out.flush()?;
        Ok(Status::incomplete(incomplete))
    }
}

impl View {
    /// Draws captures, with a name in place of the device of each I/O.
    pub(crate) fn of_files_by(
        &self,
        files: &Files,
        selection: &Selection,
        output: &Output,
        keys: &[NameKey],
    ) -> anyhow::Result<Status> {
        confinement::reading(files.files.iter().map(PathBuf::as_path), &[])?;
        let Some((mut report, incomplete)) = named(files, selection, Tally::default(), keys)?
        else {
            return Ok(Status::Failed);
        };
        if !self.is_table() {
            event_names::average(&mut report.recording);
        }
        let mut out = sanitised::buffered();
        self.write(&report, &output.style(Filter::default()), &mut out)?;
        out.flush()?;
        Ok(Status::incomplete(incomplete))
    }

    /// Draws single I/Os of captures of any length.
    pub(crate) fn of_rows_of(
        &self,
        files: &Files,
        selection: &Selection,
        output: &Output,
        how: RowStyle,
    ) -> anyhow::Result<Status> {
        confinement::reading(files.files.iter().map(PathBuf::as_path), &[])?;
        let out = &mut sanitised::buffered();
        let view = self.0;
        let styled = |filter| Style {
            pattern: how.pattern.then(HashMap::new),
            files: how.files,
            ..output.style(filter)
        };
        let style = styled(Filter::default());
        let mut rows = Rows::new(out, selection, style, Box::new(move |_| Ok(view)));
        let (failed, prose) = files.emit(&mut rows)?;
        let (recording, incomplete) = match rows.finish(prose)? {
            RowsOutcome::Parts { recording, incomplete, .. } => (recording, incomplete),
            RowsOutcome::Whole(mut recording) => {
                if recording.listings.is_empty() || !knows_devices(&recording, selection) {
                    return Ok(Status::Failed);
                }
                let filter = selection.known_in(&recording).filter(&mut recording);
                let incomplete = recording.is_incomplete();
                let reported = !how.timestamp
                    || recording.listings.iter().any(|one| clock::zero(one).is_some());
                let report = Report { recording, findings: Vec::new() };
                self.write(&report, &styled(filter), out)?;
                out.flush()?;
                if !reported {
                    no_time_of_day();
                }
                return Ok(Status::incomplete(failed > 0 || incomplete));
            }
        };
        if !knows_devices(&recording, selection) {
            return Ok(Status::Failed);
        }
        if how.timestamp && recording.listings.iter().all(|one| clock::zero(one).is_none()) {
            no_time_of_day();
        }
        Ok(Status::incomplete(failed > 0 || incomplete))
    }
}

/// How single I/Os of a capture are drawn.
#[derive(Clone, Copy)]
pub(crate) struct RowStyle {
    /// Sequential or random.
    pub pattern: bool,
    /// Of which file.
    pub files: bool,
    /// The time of day: it is printed wherever it is known; with this option a note says if it is
    /// not.
    pub timestamp: bool,
}

fn no_time_of_day() {
    let text = "the capture has no time of day; its own clock is shown";
    messages::warn(text, None);
}

/// From when to when captures reach, by the time of day.
///
/// # Errors If none of them has it.
pub(crate) fn when(recording: &Recording) -> anyhow::Result<String> {
    Reach::of(recording).and_then(|reach| reach.words(when::zone())).ok_or_else(|| {
        HintedError::error(
            "the capture has no time of day",
            "omit `--timestamp` to see the capture's own clock",
        )
    })
}

/// Captures of any length, counted while they are read, for views without single I/Os: the selected
/// part, and whether anything was lost; `None` if nothing was recognised, which is reported.
/// `stage` is counted over time, or the longest of each.
pub(crate) fn counted(
    files: &Files,
    selection: &Selection,
    stage: Option<Stage>,
) -> anyhow::Result<Option<(Report, Filter, bool)>> {
    let mut tally = Tally::default();
    tally.over_time(stage);
    if selection.per_event() || !selection.op.is_empty() {
        // Filters that need single I/Os apply before they are counted. Naming a device does not add
        // it.
        let rest = Selection { device: Vec::new(), ..selection.clone() };
        let filter = rest.filter(&mut tally);
        tally.only(filter);
    }
    // A recorder's store counts all I/Os in histograms; other filters need single I/Os.
    let files = Files { cells: !selection.per_event(), ..files.clone() };
    let mut gathered = files.read_counting(tally)?;
    let recording = &mut gathered.recording;
    if recording.listings.is_empty() || !knows_devices(recording, selection) {
        return Ok(None);
    }
    let filter = selection.known_in(recording).filter_of_counted(recording);
    let incomplete = gathered.failed > 0 || recording.is_incomplete();
    let report = Report { recording: gathered.recording, findings: Vec::new() };
    Ok(Some((report, filter, incomplete)))
}

/// What captures hold, counted with a name in place of the device of each I/O, and whether anything
/// was lost; `None` if nothing was recognised, which has then been reported.
///
/// # Errors
/// If no I/O has what the keys ask for.
pub(crate) fn named(
    files: &Files,
    selection: &Selection,
    mut tally: Tally,
    keys: &[NameKey],
) -> anyhow::Result<Option<(Report, bool)>> {
    let rest = Selection { device: Vec::new(), ..selection.clone() };
    let filter = rest.filter(&mut tally);
    tally.only(filter);
    let mut sink = NamedEvents::new(tally, keys, Tally::known, selection.clone());
    let (failed, prose) = files.emit(&mut sink)?;
    let reported = sink.reported;
    let mut recording = sink.inner.recording();
    recording.prose = prose;
    if recording.listings.is_empty() || !knows_devices(&recording, selection) {
        return Ok(None);
    }
    if !reported {
        return Err(HintedError::error(
            "the capture does not contain the field for `--by` of each I/O",
            "`iowhy record --cgroups` records the control group of each I/O, `--files` its file, \
             `--places` its CPU and queue",
        ));
    }
    let incomplete = failed > 0 || recording.is_incomplete();
    Ok(Some((Report { recording, findings: Vec::new() }, incomplete)))
}

/// Reports which of the named devices a capture does not have; false if it has none of them.
pub(crate) fn knows_devices(recording: &Recording, selection: &Selection) -> bool {
    let wanted = selection.known_in(recording).device;
    let missing = wanted.iter().filter(|name| recording.find_device(name).is_none());
    let missing: Vec<&String> = missing.collect();
    for name in &missing {
        let known: Vec<&str> = recording.devices().iter().map(|d| d.name.as_str()).collect();
        let hint = device_lookup::hint(name, &NameTable::of(recording))
            .unwrap_or_else(|| format!("it has {}", known.join(", ")));
        messages::warn(&format!("no `{name}` in this capture"), Some(&hint));
    }
    let table = NameTable::of(recording);
    for given in selection.device.iter().filter(|_| missing.is_empty()) {
        for target in table.resolve(given) {
            if !wanted.contains(&target.device) {
                let shown = wanted.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>();
                let text = format!(
                    "`{given}` is `{}`, which has no I/O in this capture; the device {} below it \
                     is shown",
                    target.device,
                    shown.join(", ")
                );
                messages::warn(&text, None);
            } else if let Some((name, _)) = &target.partition {
                messages::warn(&device_lookup::of_whole_disk(given, name, &target.device), None);
            }
        }
    }
    wanted.is_empty() || missing.len() < wanted.len()
}

/// The time of day.
pub(crate) fn now() -> String {
    when::words(when::now_ns())
}

/// The heading of each report, and the key of its rows.
#[derive(Clone, Copy, Default)]
pub(crate) struct ReportHeading<'a> {
    /// The time above it.
    pub timestamp: bool,
    /// Keys of rows instead of devices; devices if none.
    pub by: &'a [NameKey],
}

/// Shows one interval after another until the count is reached or the user stops it.
pub(crate) fn repeated(
    mut watch: Watch,
    view: &View,
    repeat: Repeat,
    interval: Duration,
    selection: &Selection,
    output: &Output,
    heading: ReportHeading,
) -> anyhow::Result<Status> {
    // The kernel has already applied filters that its histograms cannot answer.
    let filter = watch.filter_of_counted(selection);
    let mut style = output.style(filter);
    // The columns that fit depend on the data.
    let mut table = view.is_table().then(TableStream::default);
    let mut incomplete = false;
    let mut stretches = Stretches::of(watch, repeat, interval);
    while let Some(mut recording) = stretches.next_with(interval, |_| ())? {
        if view.is_of_histograms() {
            crosscheck::without_counters(&mut recording);
        }
        if !heading.by.is_empty() {
            event_names::rename(&mut recording, heading.by);
            event_names::average(&mut recording);
            // The kernel has already filtered devices.
            style.filter.devices.clear();
        }
        incomplete |= recording.is_incomplete();
        // Only the first part of a watch knows its clock.
        let zero = || recording.listings.iter().find_map(clock::zero);
        style.time_of_day = style.time_of_day.or_else(zero);
        let report = Report { recording, findings: Vec::new() };
        let mut out = sanitised::buffered();
        // Rows of one interval are distinguished from those of the next, with their times.
        let several = table.is_some() && repeat.interval.is_some() && repeat.count != Some(1);
        if several && !style.heading {
            writeln!(out)?;
        }
        if (heading.timestamp || several) && !output.json {
            writeln!(out, "{}", now())?;
        }
        match &mut table {
            Some(table) => table.write(&report, &style, &mut out)?,
            None => view.write(&report, &style, &mut out)?,
        }
        style.heading = false;
        out.flush()?;
    }
    Ok(Status::incomplete(incomplete))
}
