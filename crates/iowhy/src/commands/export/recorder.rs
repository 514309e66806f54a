//! A recorder's store as tables: hour by hour, then incident by incident.
//!
//! The recorder downsamples its hours as they age, from seconds to minutes to hours. The name of an
//! hour's file contains its resolution; a file is replaced by one with the same or a finer
//! resolution, never by a coarser one. The hour that is being recorded ranks last, because it is
//! not complete.

use std::io::{BufReader, Read};
use std::path::Path;

use iowhy_model::{Recording, key};
use iowhy_show::tables::{Statement, StatementKind, Statements, Table, TableOptions, TableSink};
use iowhy_store::{Damage, Grain, Incident, SECOND_NS, SegmentName, Store, stamp};
use serde_json::Value;

use super::partition::{Here, Partition};
use super::{Exporter, Unit};
use crate::messages::{self, HintedError, ProgressMessage};
use crate::recorded;
use crate::store_input::{self, FOLDER};
use crate::when;

/// The resolution of an hour's cells, the coarsest first.
const FINENESS: [&str; 4] = ["open", "hours", "minutes", "seconds"];
/// A cell may begin this long after its hour, s.
const BEYOND_S: i64 = 60;

impl Exporter {
    /// Contents of a store within the requested time.
    pub(super) fn store(&mut self, folder: &Path, here: &Here) -> anyhow::Result<()> {
        let _working = ProgressMessage::on("exporting the recorder's store");
        let store = store_input::open(folder)?;
        let span = self.asked.files.past.span()?;
        let cannot = |cause: std::io::Error| {
            let text = format!("cannot read the recorder's store `{}`: {cause}", folder.display());
            HintedError::error(text, "run as a user with read permission, such as root")
        };
        let segments = store.segments().map_err(cannot)?;
        let newest = segments.last().map(|name| name.began_s);
        let host = match &self.asked.host {
            Some(host) => host.clone(),
            None => host_of(&store, folder, &segments, here)?,
        };
        let host = Partition::of_host(&host);
        let now_s = when::now().timestamp().as_second();
        let (mut damage, mut met) = (Damage::default(), 0);
        for name in segments.iter().filter(|name| name.touches(span.from_ns, span.to_ns)) {
            met += 1;
            // A segment from the future was recorded with another clock, and is not being written.
            let ends = name.began_s.saturating_add(SegmentName::LENGTH_S + BEYOND_S);
            let young = (name.began_s..ends).contains(&now_s);
            let open = young && newest == Some(name.began_s);
            damage.add(self.hour(&store, *name, open, &host)?);
        }
        for incident in store.incidents().map_err(cannot)? {
            if recorded::touches(&incident, span) {
                met += 1;
                self.incident(&incident, &host)?;
            }
        }
        if damage.any() {
            self.sum.incomplete = true;
            let text = format!(
                "the store is damaged: {} blocks (a second each, unless older) and {} bytes are \
                 lost",
                damage.blocks, damage.bytes
            );
            messages::warn(&text, None);
        }
        if met == 0 { Err(store_input::nothing(&store, folder, true)) } else { Ok(()) }
    }

    /// Exports an hour; returns what could not be read.
    fn hour(
        &mut self,
        store: &Store,
        name: SegmentName,
        open: bool,
        host: &Partition,
    ) -> anyhow::Result<Damage> {
        let word = match (open, name.grain) {
            (true, _) => FINENESS[0],
            (_, Grain::Seconds) if self.asked.minutes => Grain::Minutes.word(),
            (_, grain) => grain.word(),
        };
        let fineness = |word: &str| FINENESS.iter().position(|known| *known == word);
        let began = stamp(name.began_s);
        let others = self.others(&began, name, host)?;
        if others.iter().any(|(_, other)| fineness(other) > fineness(word)) {
            self.sum.finer += 1;
            return Ok(Damage::default());
        }
        let options =
            TableOptions { minutes: self.asked.minutes, cells: true, ..Default::default() };
        let file = format!("{began}.{word}");
        let unit = Unit { host: Some(host.clone()), name: Some(&file), options };
        let mut damage = Damage::default();
        let mut incomplete = false;
        let emit = |sink: &mut TableSink| {
            let emitted = store.emit_segment(name, sink).map_err(|cause| {
                HintedError::error(
                    format!("cannot read `{}` of the store: {cause}", name.file()),
                    "run as a user with read permission, such as root",
                )
            })?;
            // The last second of the hour that is being recorded may be half written.
            damage = emitted.filter(|_| !open).map(|(_, damage)| damage).unwrap_or_default();
            Ok(())
        };
        let state = |statements: &mut Statements, recording: Recording| {
            incomplete = recording.is_incomplete();
            statements.facts(&recording);
            Ok(!recording.listings.is_empty())
        };
        let Some(done) = self.unit(unit, emit, state)? else { return Ok(damage) };
        for (folders, other) in others.iter().filter(|(_, other)| other != word) {
            let folders: Vec<&str> = folders.iter().map(String::as_str).collect();
            self.tree.remove(&folders, &format!("{began}.{other}.parquet"))?;
        }
        self.sum.incomplete |= incomplete;
        self.left_out(&done.written, &name.file())?;
        self.add(&done);
        Ok(damage)
    }

    /// Existing files of an hour: their folders and resolution.
    fn others(
        &self,
        began: &str,
        name: SegmentName,
        host: &Partition,
    ) -> anyhow::Result<Vec<(Vec<String>, String)>> {
        let mut others = Vec::new();
        let last_s = name.began_s.saturating_add(SegmentName::LENGTH_S + BEYOND_S);
        let mut dates = [name.began_s, last_s].map(|at_s| stamp(at_s)[..8].to_string()).to_vec();
        dates.dedup();
        for date in dates {
            let date = format!("{}-{}-{}", &date[..4], &date[4..6], &date[6..]);
            for table in [Table::Cells, Table::Facts] {
                let folders = host.folders(table, &date);
                let within: Vec<&str> = folders.iter().map(String::as_str).collect();
                for file in self.tree.names(&within)? {
                    let rest = file.strip_prefix(began).and_then(|rest| rest.strip_prefix('.'));
                    if let Some(word) = rest.and_then(|rest| rest.strip_suffix(".parquet"))
                        && FINENESS.contains(&word)
                    {
                        others.push((folders.clone(), word.to_string()));
                    }
                }
            }
        }
        Ok(others)
    }

    /// An incident: its single I/Os, if they are kept, and its verdict.
    fn incident(&mut self, incident: &Incident, host: &Partition) -> anyhow::Result<()> {
        let options = TableOptions { events: true, ..TableOptions::default() };
        let unit = Unit { host: Some(host.clone()), name: Some(&incident.id), options };
        let capture = incident.capture.clone();
        let findings = findings(incident);
        self.sum.incomplete |= findings.is_none();
        let emit = |sink: &mut TableSink| {
            let Some(capture) = &capture else { return Ok(()) };
            let input = capture.display().to_string();
            let file = match iowhy_store::open_plain(capture) {
                Ok(file) => file.take(store_input::LONGEST_CAPTURE),
                // It was removed meanwhile to free space.
                Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => return Ok(()),
                Err(cause) => {
                    let text = format!("cannot read `{input}`: {cause}");
                    return Err(HintedError::error(
                        text,
                        "run as a user with read permission, such as root",
                    ));
                }
            };
            let mut reader = BufReader::with_capacity(1 << 18, file);
            iowhy_read::scan(&input, &mut reader, None, sink)?;
            Ok(())
        };
        let mut incomplete = false;
        let state = |statements: &mut Statements, recording: Recording| {
            incomplete = recording.is_incomplete();
            let findings = findings.unwrap_or_default();
            let any = !findings.is_empty() || !recording.listings.is_empty();
            findings.into_iter().for_each(|one| statements.add(one));
            Ok(any)
        };
        let Some(done) = self.unit(unit, emit, state)? else { return Ok(()) };
        self.sum.incomplete |= incomplete;
        self.left_out(&done.written, &incident.id)?;
        self.add(&done);
        Ok(())
    }
}

/// The recorder's findings about an incident and other devices in it; `None` if they cannot be
/// read.
fn findings(incident: &Incident) -> Option<Vec<Statement>> {
    let Some(path) = &incident.verdict else { return Some(Vec::new()) };
    let text = match recorded::verdict(path) {
        Ok(text) => text,
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => return Some(Vec::new()),
        Err(_) => return None,
    };
    let row: Value = serde_json::from_str(&text).ok()?;
    let at_ns = row["at_ns"].as_i64().unwrap_or(incident.at_s.saturating_mul(SECOND_NS));
    let others = row["others"].as_array().into_iter().flatten();
    let all = std::iter::once(&row).chain(others);
    let finding = |one: &Value| {
        let device = one["device"].as_str().filter(|name| !name.is_empty());
        Some(Statement {
            at_ns: Some(at_ns),
            number: one["confidence"].as_f64(),
            ..Statement::new(
                device.map(str::to_string),
                StatementKind::Finding,
                one["verdict"].as_str()?,
                one["sentence"].as_str().unwrap_or_default(),
            )
        })
    };
    Some(all.filter_map(finding).collect())
}

/// This machine's name, for a store recorded on it.
fn host_of(
    store: &Store,
    folder: &Path,
    segments: &[SegmentName],
    here: &Here,
) -> anyhow::Result<String> {
    let mut known = Recording::new();
    if let Some(last) = segments.last() {
        // Unreadable parts are reported when it is exported.
        let _ = store.emit_segment(*last, &mut known);
    }
    let boots = known.listings.iter().flat_map(|listing| &listing.facts);
    let mut boots = boots.filter(|fact| fact.key == key::RECORDER.member("boot"));
    let same = boots.any(|fact| fact.value.text() == Some(here.boot.as_str()));
    if (same || folder == Path::new(FOLDER)) && !here.host.is_empty() {
        return Ok(here.host.clone());
    }
    let text =
        format!("`{}` does not contain the name of the host it was recorded on", folder.display());
    Err(HintedError::error(text, "set it: `--host NAME`"))
}
