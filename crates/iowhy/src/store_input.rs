//! The flight recorder's store as an input: `--store`, `--at`, `--since`, `--until`.

use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use clap::Args;
use iowhy_model::Order as _;
use iowhy_model::{Note, Sink, numbers};
use iowhy_show::incidents::{IncidentRow, Timeline};
use iowhy_store::{Gap, GapCause, LearnedHistograms, SECOND_NS, Span, Store};

use crate::messages::HintedError;
use crate::recorded::{self, RecordedIncident};
use crate::when;

/// The recorder's default store (systemd's StateDirectory).
pub(crate) const FOLDER: &str = "/var/lib/iowhy";
/// `--at` is a time with this much around it, ns; without seconds, a minute with half of that.
const AROUND_NS: i64 = 60 * SECOND_NS;

/// The heading of these options in help.
const RECORDED: &str = "Recorded by `iowhy watch`";

/// A past interval.
#[derive(Args, Clone, Debug, Default, PartialEq)]
pub(crate) struct StoreInput {
    /// The recorder's store [default: /var/lib/iowhy]
    #[arg(long, value_name = "DIR", help_heading = RECORDED)]
    pub store: Option<PathBuf>,
    /// Around this time, or in this minute: `03:12`, `yesterday 03:12`, `-2h`, `2026-11-22
    /// 03:12:07` (local time)
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = RECORDED)]
    #[arg(conflicts_with_all = ["since", "until"])]
    pub at: Vec<String>,
    /// Start of the time range
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = RECORDED)]
    pub since: Option<String>,
    /// End of the time range
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = RECORDED)]
    pub until: Option<String>,
}

impl StoreInput {
    /// Whether a past time or the store is selected.
    pub(crate) fn asked(&self) -> bool {
        self.store.is_some() || !self.at.is_empty() || self.since.is_some() || self.until.is_some()
    }

    /// Whether an interval is selected, not a single time.
    pub(crate) fn is_stretch(&self) -> bool {
        self.since.is_some() || self.until.is_some()
    }

    /// Whether an interval or a time is selected, not the whole store.
    pub(crate) fn is_of_a_time(&self) -> bool {
        self.is_stretch() || !self.at.is_empty()
    }

    /// The store's folder.
    pub(crate) fn folder(&self) -> PathBuf {
        self.store.clone().unwrap_or_else(|| PathBuf::from(FOLDER))
    }

    /// The same at one moment.
    pub(crate) fn at(&self, at: &str) -> StoreInput {
        StoreInput { at: vec![at.to_string()], ..self.clone() }
    }

    /// A time from the user: a moment, or a minute if it has no seconds.
    fn named(text: &str) -> anyhow::Result<Span> {
        let from_ns = when::asked(text, &when::now())?;
        let minute = if when::names_a_minute(text) { 60 * SECOND_NS - 1 } else { 0 };
        Ok(Span { from_ns, to_ns: from_ns.saturating_add(minute) })
    }

    /// The time of `--at`, if it is given once.
    fn moment(&self) -> anyhow::Result<Option<Span>> {
        match self.at.as_slice() {
            [at] => Self::named(at).map(Some),
            _ => Ok(None),
        }
    }

    /// The selected interval.
    ///
    /// # Errors If a time is invalid, or the end is before the start.
    pub(crate) fn span(&self) -> anyhow::Result<Span> {
        // The same `now` for both ends.
        let now = when::now();
        let moment = |text: &String| when::asked(text, &now);
        match self.at.as_slice() {
            [] => {}
            [at] => {
                let named = Self::named(at)?;
                let more = (2 * AROUND_NS - (named.to_ns - named.from_ns)) / 2;
                return Ok(Span {
                    from_ns: named.from_ns.saturating_sub(more),
                    to_ns: named.to_ns.saturating_add(more),
                });
            }
            _ => {
                let hint =
                    "`iowhy compare --at A --at B` takes two; else use `--since` and `--until`";
                return Err(HintedError::error("`--at` is one moment", hint));
            }
        }
        let from_ns = self.since.as_ref().map(moment).transpose()?.unwrap_or(i64::MIN);
        let to_ns = self.until.as_ref().map(moment).transpose()?.unwrap_or(i64::MAX);
        if from_ns >= to_ns {
            return Err(HintedError::error("`--until` is before `--since`", when::FORMS));
        }
        Ok(Span { from_ns, to_ns })
    }
}

/// Opens a store to read.
///
/// # Errors
/// If the folder is none.
pub(crate) fn open(folder: &Path) -> anyhow::Result<Store> {
    Store::open(folder).map_err(|cause| {
        let text = format!("cannot read the recorder's store `{}`: {cause}", folder.display());
        let hint = match cause.kind() {
            std::io::ErrorKind::PermissionDenied => {
                "run as a user with read permission, such as root"
            }
            _ => {
                "nothing is recorded there. Start a recorder with `systemctl enable --now \
                 iowhy-watch`, or `iowhy watch` as root; or name its folder with `--store DIR`"
            }
        };
        HintedError::error(text, hint)
    })
}

/// Emits a past interval of a store: the single I/Os of incidents if they are wanted and exist,
/// else histograms and averages. Returns no lines of prose.
///
/// # Errors
/// If it cannot be read, or contains nothing of that time.
pub(crate) fn emit(
    folder: &Path,
    past: &StoreInput,
    cells: bool,
    sink: &mut dyn Sink,
) -> anyhow::Result<()> {
    let store = open(folder)?;
    let span = past.span()?;
    let cannot = |cause: std::io::Error| {
        let text = format!("cannot read the recorder's store `{}`: {cause}", folder.display());
        HintedError::error(text, "run as a user with read permission, such as root")
    };
    if !cells && span != Span::ALL {
        let moment = past.moment()?;
        let incidents = recorded::incidents(&store, span).map_err(cannot)?;
        let mut emitted = 0;
        let with_capture = incidents.iter().filter(|one| one.files.capture.is_some());
        let is_written = Store::is_written(folder);
        let stretch = moment.unwrap_or(span);
        let mut touched: Vec<&RecordedIncident> =
            with_capture.filter(|one| holds(one, stretch, is_written)).collect();
        if let Some(moment) = moment {
            let taken = nearest(&mut touched, moment, is_written);
            report_other_incidents(&incidents, moment, taken, is_written);
        }
        for capture in touched.iter().filter_map(|one| one.files.capture.as_ref()) {
            let file = iowhy_store::open_plain(capture).map_err(cannot)?.take(LONGEST_CAPTURE);
            let input = capture.display().to_string();
            iowhy_read::scan(&input, &mut BufReader::with_capacity(1 << 18, file), None, sink)?;
            emitted += 1;
        }
        if emitted > 0 {
            return Ok(());
        }
    }
    if let Some(moment) = past.moment()?
        && !store.coverage(span).map_err(cannot)?.touches(moment)
    {
        return Err(nothing(&store, folder, true));
    }
    let (emitted, damage, coverage) = store.emit(span, sink).map_err(cannot)?;
    if damage.any() {
        let reason = format!(
            "the store is damaged: {} blocks (a second each, unless older) and {} bytes are lost",
            damage.blocks, damage.bytes
        );
        if emitted.cells > 0 {
            sink.skip(Note { line: 0, text: folder.display().to_string(), reason });
        } else {
            crate::messages::warn(&reason, None);
        }
    }
    if emitted.cells + emitted.facts == 0 {
        return Err(nothing(&store, folder, !coverage.touches(span)));
    }
    report_gaps(&coverage.gaps());
    if emitted.cells == 0 {
        crate::messages::warn("the recorder was running at that time, but there was no I/O", None);
    }
    Ok(())
}

/// Gaps that are listed individually.
const GAPS_LISTED: usize = 3;

/// Reports when nothing was recorded, because the output does not cover it.
fn report_gaps(gaps: &[Gap]) {
    let length = |gap: &Gap| gap.to_ns.saturating_sub(gap.from_ns) as f64;
    let mut longest: Vec<&Gap> = gaps.iter().collect();
    longest.order_by(|a, b| length(b).total_cmp(&length(a)));
    longest.truncate(GAPS_LISTED);
    longest.order_by_key(|gap| gap.from_ns);
    for gap in longest {
        let (from, to) = (when::words(gap.from_ns), when::words(gap.to_ns));
        let length = numbers::duration(length(gap));
        crate::messages::warn(
            &match gap.cause {
                GapCause::NotRecorded => {
                    format!("nothing was recorded from {from} to {to} ({length})")
                }
                GapCause::Suspended => {
                    format!("the machine was suspended from {from} to {to} ({length})")
                }
                GapCause::ClockSet => {
                    format!("the wall clock was set ahead by {length}, from {from} to {to}")
                }
            },
            None,
        );
    }
    if gaps.len() > GAPS_LISTED {
        let all = numbers::duration(gaps.iter().map(length).sum());
        let text = format!("{} such gaps, {all} in total; the longest are listed", gaps.len());
        crate::messages::warn(&text, None);
    }
}

/// Whether an interval is part of an incident, or its I/Os are kept.
fn holds(incident: &RecordedIncident, stretch: Span, is_written: bool) -> bool {
    let its = incident.span_until_now(is_written);
    stretch.touches(its.from_ns, its.to_ns) || recorded::touches(&incident.files, stretch)
}

/// Keeps only the incident at this time, or the nearest one.
fn nearest<'a>(
    touched: &mut Vec<&'a RecordedIncident>,
    moment: Span,
    is_written: bool,
) -> Option<&'a RecordedIncident> {
    touched.order_by_key(|one| distance_ns(one, moment, is_written));
    touched.truncate(1);
    touched.first().copied()
}

/// The distance of an incident from a time, and, for one at that time, when it was noticed.
fn distance_ns(incident: &RecordedIncident, moment: Span, is_written: bool) -> (u64, u64) {
    let its = incident.span_until_now(is_written);
    let apart_ns =
        its.from_ns.saturating_sub(moment.to_ns).max(moment.from_ns.saturating_sub(its.to_ns));
    let at_ns = incident.files.at_s.saturating_mul(SECOND_NS);
    (apart_ns.max(0) as u64, at_ns.abs_diff(at_ns.clamp(moment.from_ns, moment.to_ns)))
}

/// Reports which incident the answer is about, and the times of other incidents nearby.
fn report_other_incidents(
    incidents: &[RecordedIncident],
    moment: Span,
    taken: Option<&RecordedIncident>,
    is_written: bool,
) {
    let began = |one: &RecordedIncident| when::words(one.span().from_ns);
    if let Some(taken) = taken {
        let its = taken.span();
        let length = numbers::duration(its.to_ns.saturating_sub(its.from_ns) as f64);
        let text =
            format!("the incident from {} to {} ({length})", began(taken), when::words(its.to_ns));
        crate::messages::warn(&text, None);
    }
    let of_moment = |one: &&RecordedIncident| {
        taken.is_none() && one.files.capture.is_none() && holds(one, moment, is_written)
    };
    if let Some(gone) = incidents.iter().find(of_moment) {
        let text =
            format!("the individual I/Os of the incident at {} are no longer kept", began(gone));
        crate::messages::warn(&text, Some("`iowhy incidents` lists its verdict"));
    }
    let mut others: Vec<&RecordedIncident> = incidents
        .iter()
        .filter(|one| one.files.capture.is_some())
        .filter(|one| taken.is_none_or(|taken| taken.files.id != one.files.id))
        .collect();
    others.order_by_key(|one| distance_ns(one, moment, is_written));
    let Some(first) = others.first().map(|first| began(first)) else { return };
    let text = match (others.len(), taken) {
        (_, None) => format!("no incident at that time; the nearest began at {first}"),
        (1, Some(_)) => format!("another incident around that time began at {first}"),
        (count, Some(_)) => {
            format!("{count} other incidents around that time; the nearest began at {first}")
        }
    };
    crate::messages::warn(&text, Some(&format!("use `--at '{first}'` to see it")));
}

/// Maximum bytes of an incident's capture, as for any file: a truncated one lacks its end mark,
/// which is reported.
pub(crate) const LONGEST_CAPTURE: u64 = 1 << 30;

/// The incidents of the selected interval, as listed; none if no interval is selected or none can
/// be read.
pub(crate) fn rows(past: &StoreInput) -> Vec<IncidentRow> {
    let known = || -> anyhow::Result<Vec<IncidentRow>> {
        let (folder, span) = (past.folder(), past.span()?);
        let is_written = Store::is_written(&folder);
        let all = recorded::incidents(&open(&folder)?, span)?;
        Ok(all.iter().map(|one| one.row(is_written)).collect())
    };
    if past.asked() { known().unwrap_or_default() } else { Vec::new() }
}

/// The same, with the time range for drawing: the selected interval, up to now if it has no end;
/// for a single time, the full length of each incident around it.
pub(crate) fn timeline(past: &StoreInput) -> Timeline {
    let rows = rows(past);
    let (mut from_ns, mut to_ns) = (None, None);
    if past.is_stretch()
        && let Ok(span) = past.span()
    {
        from_ns = Some(span.from_ns).filter(|from| *from != i64::MIN);
        to_ns = Some(span.to_ns.min(when::now_ns()));
    }
    Timeline { rows, from_ns, to_ns }
}

/// How far back the store is searched beside a live verdict, ns: a day.
const DAY_NS: i64 = 86_400 * SECOND_NS;

/// The incidents of the last day in this machine's store; none without a readable store.
pub(crate) fn of_the_last_day() -> Vec<IncidentRow> {
    let folder = Path::new(FOLDER);
    let Ok(store) = Store::open(folder) else { return Vec::new() };
    let (is_written, now_ns) = (Store::is_written(folder), when::now_ns());
    let span = Span { from_ns: now_ns.saturating_sub(DAY_NS), to_ns: now_ns };
    let all = recorded::incidents(&store, span).unwrap_or_default();
    all.iter().map(|one| one.row(is_written)).collect()
}

/// The usual latencies learned by this machine's recorder; none without a readable store.
pub(crate) fn learned() -> LearnedHistograms {
    recorded::learned(Path::new(FOLDER))
}

/// Reports what an empty interval's store contains instead, and whether nothing was watching then
/// or there was no I/O.
pub(crate) fn nothing(store: &Store, folder: &Path, unwatched: bool) -> anyhow::Error {
    let segments = store.segments().unwrap_or_default();
    let began = |name: Option<&iowhy_store::SegmentName>| {
        name.map(|name| when::words(name.began_s.saturating_mul(SECOND_NS)))
    };
    let hint = match (began(segments.first()), began(segments.last())) {
        (Some(first), Some(last)) if first == last => format!("it begins at {first}"),
        (Some(first), Some(last)) => {
            format!("it begins at {first}; its last hour begins at {last}")
        }
        _ => "it is empty; `iowhy watch` fills it".to_string(),
    };
    let why = if unwatched { "the recorder was not running" } else { "there was none" };
    HintedError::error(format!("`{}` contains no I/O at that time: {why}", folder.display()), hint)
}

#[cfg(test)]
mod tests {
    use iowhy_store::Incident;

    use super::*;

    fn at(text: &str) -> StoreInput {
        StoreInput { at: vec![text.to_string()], ..StoreInput::default() }
    }

    #[test]
    fn a_minute_has_the_incident_that_began_in_it() {
        let minute = at("2026-11-22 03:12").moment().expect("a time").expect("one");
        let second = at("2026-11-22 03:12:00").moment().expect("a time").expect("one");
        assert_eq!(minute.from_ns, second.from_ns);
        // Two minutes are searched on either side.
        for (text, begins_s) in [("2026-11-22 03:12", -30), ("2026-11-22 03:12:00", -60)] {
            let span = at(text).span().expect("a span");
            assert_eq!(span.from_ns, minute.from_ns + begins_s * SECOND_NS, "{text}");
            assert_eq!((span.to_ns - span.from_ns + 1) / SECOND_NS, 120, "{text}");
        }
        let zero_s = minute.from_ns / SECOND_NS;
        let incident = |after_s: i64| {
            RecordedIncident::read(Incident {
                id: format!("{after_s}"),
                at_s: zero_s + after_s,
                ended_s: None,
                capture: None,
                verdict: None,
            })
        };
        let all = [incident(-20), incident(37), incident(75)];
        let of = |moment: Span| {
            let mut touched: Vec<&RecordedIncident> =
                all.iter().filter(|one| holds(one, moment, false)).collect();
            nearest(&mut touched, moment, false).map(|one| one.files.id.clone())
        };
        assert_eq!(of(minute).as_deref(), Some("37"));
        // A time selects the incident whose I/Os include it.
        assert_eq!(of(second).as_deref(), Some("-20"));
    }
}
