//! Reads incidents and learned latencies back from a recorder's store.

use std::io::Read;
use std::path::Path;
use std::time::UNIX_EPOCH;

use iowhy_model::Order as _;
use iowhy_model::{
    DeviceId, Distribution, Edges, Filter, Layer, Recording, Stage, distributions, numbers,
};
use iowhy_show::incidents::IncidentRow;
use iowhy_store::{Incident, LearnedHistograms, SECOND_NS, Span, Store};
use serde_json::{Value, json};

use crate::recorder::extent::SAME_NS;
use crate::{messages, when};

/// An incident that its recorder still updates was written at most this long ago, ns: three times
/// the update interval.
const STALE_NS: i64 = 90 * SECOND_NS;

/// An incident's I/Os begin and end at most this long before and after it was noticed, ns.
const BEFORE_NS: i64 = 30 * SECOND_NS;
const AFTER_NS: i64 = 60 * SECOND_NS;
/// An incident may have begun this long before it was noticed, ns: the history that the recorder
/// keeps of each device.
const KNOWN_NS: i64 = 600 * SECOND_NS;
/// Maximum bytes of a verdict: one with its report has some hundred thousand.
const LONGEST_VERDICT: u64 = 64 << 20;
/// Maximum bytes of learned latencies.
const LEARNED: u64 = 16 << 20;

/// An incident in a store.
pub(crate) struct RecordedIncident {
    /// Its files.
    pub files: Incident,
    /// Its verdict, without the report.
    pub json: Value,
    /// Whether its verdict is damaged.
    pub damaged: bool,
}

impl RecordedIncident {
    /// Reads one.
    pub(crate) fn read(files: Incident) -> RecordedIncident {
        let text = files.verdict.as_deref().map(verdict).transpose();
        let read = text.map_err(anyhow::Error::from).and_then(|text| {
            Ok(text.map(|text| serde_json::from_str::<Value>(&text)).transpose()?)
        });
        let at_ns = files.at_s.saturating_mul(SECOND_NS);
        let bare = || json!({"id": files.id, "at_ns": at_ns});
        let (mut json, damaged) = match read {
            Ok(Some(json)) if json.is_object() => (json, false),
            Ok(None) => (bare(), false),
            Ok(Some(_)) | Err(_) => (bare(), true),
        };
        json["capture"] =
            files.capture.as_ref().map_or(Value::Null, |path| path.display().to_string().into());
        if let Some(object) = json.as_object_mut() {
            object.shift_remove("report");
        }
        // The recorder wrote times in its own zone.
        let local = |of: &mut Value, words: &str, ns: &str| {
            if let Some(ns) = of[ns].as_i64() {
                of[words] = when::words(ns).into();
            }
        };
        for (words, ns) in [("at", "at_ns"), ("began", "began_ns"), ("until", "until_ns")] {
            local(&mut json, words, ns);
        }
        let alarms = json.get_mut("alarms").and_then(Value::as_array_mut);
        alarms.into_iter().flatten().for_each(|alarm| local(alarm, "at", "at_ns"));
        RecordedIncident { files, json, damaged }
    }

    /// Its start and end, as far as known. For one that was not judged, the maximum extent of its
    /// capture.
    pub(crate) fn span(&self) -> Span {
        let at_ns =
            self.json["at_ns"].as_i64().unwrap_or(self.files.at_s.saturating_mul(SECOND_NS));
        let length_s = self.json["length_s"].as_f64().unwrap_or(0.0);
        let from_ns = self.json["began_ns"].as_i64().unwrap_or(at_ns);
        let to_ns = self.json["until_ns"].as_i64();
        let to_ns = to_ns.unwrap_or(at_ns.saturating_add((length_s * 1e9) as i64));
        Span { from_ns, to_ns: to_ns.max(from_ns) }
    }

    /// Whether it goes on, in a store that is being written.
    fn is_ongoing(&self, is_written: bool) -> bool {
        let lately = self.span().to_ns > when::now_ns().saturating_sub(STALE_NS);
        self.json["over"] == false && is_written && lately
    }

    /// The same, until now if it goes on: the recorder looks at it again from time to time only.
    pub(crate) fn span_until_now(&self, is_written: bool) -> Span {
        let span = self.span();
        match self.is_ongoing(is_written) {
            true => Span { to_ns: when::now_ns().max(span.to_ns), ..span },
            false => span,
        }
    }

    /// Its line in a list.
    pub(crate) fn row(&self, is_written: bool) -> IncidentRow {
        let json = &self.json;
        let text = |key: &str| json[key].as_str().filter(|text| !text.is_empty());
        let span = self.span();
        let verdict = match (text("verdict"), &json["capture"]) {
            (Some(verdict), _) => verdict,
            _ if json["trigger"] == "store" => "store not written",
            (_, Value::Null) => "not judged",
            _ => "not judged yet",
        };
        let mounts = json["mounts"].as_array().into_iter().flatten().filter_map(Value::as_str);
        IncidentRow {
            began_ns: span.from_ns,
            until_ns: span.to_ns,
            ongoing: self.is_ongoing(is_written),
            device: text("device").unwrap_or_default().to_string(),
            names: given_names(&json["names"]),
            mounts: mounts.map(str::to_string).collect(),
            others: json["others"].as_array().map_or(0, Vec::len),
            who: text("who").map(|who| match text("owner") {
                Some(owner) => format!("{who}, {owner}"),
                None => who.to_string(),
            }),
            verdict: verdict.to_string(),
            confidence: json["confidence"].as_f64(),
            lost_s: json["lost_s"].as_f64(),
            id: self.files.id.clone(),
        }
    }
}

/// The names that people gave a device or the layers above it.
fn given_names(names: &Value) -> Vec<String> {
    let own = ["dm", "md", "backing_file"].into_iter().find_map(|key| names[key].as_str());
    match own {
        Some(own) => vec![own.to_string()],
        None => {
            let volumes = names["volumes"].as_array().into_iter().flatten();
            volumes.filter_map(Value::as_str).map(str::to_string).collect()
        }
    }
}

/// The text of an incident's verdict.
///
/// # Errors
/// If it is not a regular file, or cannot be read.
pub(crate) fn verdict(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    iowhy_store::open_plain(path)?.take(LONGEST_VERDICT).read_to_string(&mut text)?;
    Ok(text)
}

/// Whether I/Os of an incident may be before this time.
pub(crate) fn begins_before(incident: &Incident, moment_ns: i64) -> bool {
    // It may be noticed some minutes later.
    incident.at_s.saturating_mul(SECOND_NS).saturating_sub(KNOWN_NS) <= moment_ns
}

/// Whether the I/Os of an incident may overlap an interval.
pub(crate) fn touches(incident: &Incident, span: Span) -> bool {
    let at = incident.at_s.saturating_mul(SECOND_NS);
    // The files of a copied store have later times than its incidents.
    let ended = incident.ended_s.map(|ended| ended.saturating_mul(SECOND_NS));
    let ended = ended.filter(|ended| (at..at.saturating_add(AFTER_NS)).contains(ended));
    let ended = ended.unwrap_or(at.saturating_add(AFTER_NS));
    span.touches(at.saturating_sub(BEFORE_NS), ended)
}

/// The incidents of an interval, the earliest first.
///
/// # Errors
/// If the store's folder cannot be read.
pub(crate) fn incidents(store: &Store, span: Span) -> std::io::Result<Vec<RecordedIncident>> {
    let mut all: Vec<RecordedIncident> = store
        .incidents()?
        .into_iter()
        // Those that begin after the interval, or were last written before it, are not read.
        .filter(|one| begins_before(one, span.to_ns))
        .filter(|one| touches(one, span) || is_written_since(one, span.from_ns))
        .map(RecordedIncident::read)
        .filter(|one| {
            let its = one.span();
            span.touches(its.from_ns, its.to_ns) || touches(&one.files, span)
        })
        .collect();
    all.order_by_key(|one| one.span().from_ns);
    Ok(all)
}

fn is_written_since(incident: &Incident, moment_ns: i64) -> bool {
    let written = incident.verdict.as_ref().and_then(|path| path.metadata().ok()?.modified().ok());
    let since_1970 = written.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    since_1970.is_some_and(|at| at.as_nanos() as i64 >= moment_ns)
}

/// Since when the recorder has had this verdict on a device, and how often in the last day.
pub(crate) fn history(
    rows: &[IncidentRow],
    device: &str,
    verdict: &str,
    now_ns: i64,
) -> Option<String> {
    let same: Vec<&IncidentRow> =
        rows.iter().filter(|row| row.device == device && row.verdict == verdict).collect();
    let last = same.last()?;
    let ongoing = last.ongoing || now_ns.saturating_sub(last.until_ns) <= SAME_NS;
    let times = match same.len() + usize::from(!ongoing) {
        1 => "the first time".to_string(),
        2 => "the second time".to_string(),
        3 => "the third time".to_string(),
        more => format!("{more} times"),
    };
    Some(match ongoing {
        true => format!("since {}, {times} in 24 hours", when::words(last.began_ns)),
        false => format!("{times} in 24 hours, the last until {}", when::words(last.until_ns)),
    })
}

/// Latencies learned by earlier recorders of this store.
pub(crate) fn learned(folder: &Path) -> LearnedHistograms {
    let mut text = String::new();
    if let Ok(file) = iowhy_store::open_plain(&folder.join("baseline")) {
        let _ = file.take(LEARNED).read_to_string(&mut text);
    }
    let (learned, damaged) = LearnedHistograms::parse(&text);
    if damaged > 0 {
        let text = format!("{damaged} damaged lines of the learned baseline were ignored");
        messages::warn(&text, None);
    }
    learned
}

/// Nanoseconds of an hour.
const HOUR_NS: i64 = 3600 * SECOND_NS;
/// I/Os from which on a median is compared (docs/METHOD.md, 14 Counters).
const FEW: u64 = 30;

/// Compares the latency of a device with what its recorder learned for this hour, by the median of
/// the operation with most time waited; `None` if too little is known.
pub(crate) fn beside_usual(
    learned: &LearnedHistograms,
    recording: &Recording,
    device: DeviceId,
    now_ns: i64,
) -> Option<String> {
    let filter = Filter { devices: vec![device], ..Filter::default() };
    let folded = recording.listings.iter().flat_map(|listing| {
        let all = distributions(listing, &filter, &Edges::standard());
        all.into_iter().filter(|one| one.layer == Layer::Block && one.stage == Stage::Total)
    });
    let waited = |one: &Distribution| one.histogram.sum_ns.unwrap_or(0.0);
    let now = folded.max_by(|a, b| waited(a).total_cmp(&waited(b)))?;
    let (op, n) = (now.op?, now.histogram.count());
    let hour = u8::try_from(now_ns.rem_euclid(24 * HOUR_NS) / HOUR_NS).ok()?;
    let (from, to) = learned.median_ns(&recording.device_of(device).name, op, hour)?;
    let median = now.histogram.quantile(0.5).filter(|_| n >= FEW)?;
    let reported = |ns: u64| numbers::duration(ns as f64);
    let median_ns = median.high_ns;
    let (usual, now) = (format!("{} to {}", reported(from), reported(to)), reported(median_ns));
    let compared = if median_ns > to {
        format!("{:.1} times the usual {usual} at this hour", median_ns as f64 / to as f64)
    } else if median_ns < from {
        format!("below the usual {usual} at this hour")
    } else {
        format!("normal for this hour ({usual})")
    };
    Some(format!("median {} {now}, {compared}", op.name()))
}

#[cfg(test)]
mod tests {
    use iowhy_model::{Histogram, Level, Op, Sink, Source};

    use super::*;

    #[test]
    fn the_current_latency_is_compared_with_the_usual_one_of_this_hour() {
        let mut learned = LearnedHistograms::default();
        let of = |ns: u64, n: u64| {
            let mut histogram = Histogram::empty(Edges::standard());
            (0..n).for_each(|_| histogram.record(ns));
            histogram
        };
        learned.learn("sdb", Op::Read, 10, &of(300_000, 5000));
        let reported = |ns: u64, n: u64, hour: i64| {
            let mut recording = Recording::new();
            recording.begin(Source::new("block-trace", "live", Level::D));
            let device = recording.device("sdb");
            let mut one = Distribution::new(device, Layer::Block, Stage::Total, of(ns, n));
            one.op = Some(Op::Read);
            recording.distribution(one);
            beside_usual(&learned, &recording, device, hour * HOUR_NS + 5)
        };
        let words = |text: &str| Some(text.to_string());
        let usual = "usual 256 µs to 512 µs at this hour";
        let normal = "median read 300 µs, normal for this hour (256 µs to 512 µs)";
        assert_eq!(reported(300_000, 40, 34), words(normal));
        let slow = reported(30_000_000, 40, 34).unwrap();
        assert!(slow.ends_with(&format!("times the {usual}")), "{slow}");
        assert!(reported(9_000, 40, 34).unwrap().ends_with(&format!("below the {usual}")));
        assert_eq!((reported(300_000, 9, 34), reported(300_000, 40, 35)), (None, None));
    }

    #[test]
    fn a_verdict_is_told_since_when_and_how_often() {
        let row = |began_s: i64, length_s: i64, verdict: &str| IncidentRow {
            began_ns: began_s * SECOND_NS,
            until_ns: (began_s + length_s) * SECOND_NS,
            device: "sdb".to_string(),
            verdict: verdict.to_string(),
            ..IncidentRow::default()
        };
        let of = |rows: &[IncidentRow], now_s: i64| {
            history(rows, "sdb", "device.retry", now_s * SECOND_NS)
        };
        let rows = [
            row(1_795_260_000, 70, "device.retry"),
            row(1_795_261_000, 5, "device.stall"),
            row(1_795_263_000, 30, "device.retry"),
        ];
        let since = format!("since {}, the second time in 24 hours", when::words(rows[2].began_ns));
        assert_eq!(of(&rows, 1_795_263_060), Some(since));
        let later = of(&rows, 1_795_270_000).unwrap();
        assert!(later.starts_with("the third time in 24 hours, the last until "), "{later}");
        assert_eq!(of(&rows[1..2], 1_795_261_010), None);
    }
}
