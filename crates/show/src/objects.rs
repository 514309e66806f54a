//! The JSON objects shared by several views. An invalid number becomes null.

use std::io::{self, Write};

use iowhy_model::{
    Bound, DeviceId, Entry, Evidence, FactKey, Finding, Forecast, Impact, Listing, NameTable,
    Nanos, Note, Observation, Owner, OwnerNames, Recording, Report, Requester, Severity, Time, key,
};
use serde_json::{Map, Value, json};

use crate::clock::{self, Clock};
use crate::{Style, device_label};

/// An object whose keys stay in the order they are given.
pub(crate) fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    let pairs = fields.into_iter().map(|(key, value)| (key.to_string(), value));
    Value::Object(pairs.collect::<Map<String, Value>>())
}

/// A number; null if it is not finite.
pub(crate) fn number(value: f64) -> Value {
    serde_json::Number::from_f64(value).map_or(Value::Null, Value::Number)
}

/// A number or null.
pub(crate) fn maybe(value: Option<f64>) -> Value {
    value.map_or(Value::Null, number)
}

/// The name of a device; null if there is none.
pub(crate) fn device(recording: &Recording, id: Option<DeviceId>) -> Value {
    let device = id.and_then(|id| recording.devices().get(id.index()));
    device.map_or(Value::Null, |device| Value::String(device.name.clone()))
}

/// Adds `names` to an object about a device, where others than the kernel's are known.
pub(crate) fn add_names(
    object: &mut Value,
    names: &NameTable,
    recording: &Recording,
    device: Option<DeviceId>,
) {
    let device = device.and_then(|id| recording.devices().get(id.index()));
    let known = device.and_then(|device| device_label::object(names, &device.name));
    if let (Some(known), Value::Object(fields)) = (known, object) {
        fields.insert("names".to_string(), known);
    }
}

/// `{"above": x}`, `{"below": x}`, `{"between": [a, b]}` or null.
pub(crate) fn bound(bound: Option<Bound>) -> Value {
    match bound {
        None => Value::Null,
        Some(Bound::Above(limit)) => object([("above", number(limit))]),
        Some(Bound::Below(limit)) => object([("below", number(limit))]),
        Some(Bound::Between(low, high)) => {
            object([("between", Value::Array(vec![number(low), number(high)]))])
        }
    }
}

/// A key of an object, its meaning, and the function for its value. The tables of `docs/JSON.md`
/// are written from these lists.
pub(crate) struct Field<T: 'static> {
    key: &'static str,
    means: &'static str,
    /// Whether it is left out where nothing is known.
    optional: bool,
    value: fn(&Recording, &T) -> Value,
}

/// A field of a list.
pub(crate) const fn field<T>(
    key: &'static str,
    means: &'static str,
    value: fn(&Recording, &T) -> Value,
) -> Field<T> {
    Field { key, means, optional: false, value }
}

/// A field that is left out where nothing is known.
pub(crate) const fn optional<T>(
    key: &'static str,
    means: &'static str,
    value: fn(&Recording, &T) -> Value,
) -> Field<T> {
    Field { key, means, optional: true, value }
}

/// The object that a list of fields makes of something.
pub(crate) fn walk<T>(fields: &[Field<T>], recording: &Recording, of: &T) -> Value {
    let pairs = fields.iter().map(|one| (one, (one.value)(recording, of)));
    let known = pairs.filter(|(one, value)| !one.optional || !value.is_null());
    Value::Object(known.map(|(one, value)| (one.key.to_string(), value)).collect())
}

/// The rows of a table of `docs/JSON.md`.
pub(crate) fn rows<T>(fields: &[Field<T>]) -> String {
    let row = |one: &Field<T>| format!("| `{}` | {} |\n", one.key, one.means);
    format!("| key | meaning |\n|---|---|\n{}", fields.iter().map(row).collect::<String>())
}

/// The sources, and what was lost.
pub(crate) const SOURCE: &[Field<Listing>] = &[
    field("format", "the format or collector that read it: `biosnoop`, `block-trace`", |_, of| {
        of.source.format.clone().into()
    }),
    field("input", "the file, `-` for standard input, or `live`", |_, of| {
        of.source.input.clone().into()
    }),
    field("lines", "first and last line of the listing in that file, or `null`", |_, of| {
        of.source.lines.map_or(Value::Null, |(first, last)| json!([first, last]))
    }),
    field(
        "level",
        "level of detail: `A` averages, `B` histograms, `C` one record per I/O, `D` request trace, \
         `E` system evidence",
        |_, of| of.source.level.letter().to_string().into(),
    ),
    field("level_words", "the level in words", |_, of| of.source.level.words().into()),
    field(
        "sampling",
        "`traced` (every I/O was seen), `sampled` (counters read at intervals), `reported` \
         (printed by another tool), `thinned` (every I/O was seen: slow I/Os and a sample of the \
         others are events, the rest is counted in its histograms)",
        |_, of| of.source.sampling.word().into(),
    ),
    field("sees_queue", "whether its latencies include the time in the host's queue", |_, of| {
        of.source.sees_queue.into()
    }),
    field("resolution_ns", "resolution of its clock or of its printed latencies", |_, of| {
        of.source.resolution.map(|step| step.ns()).into()
    }),
    field(
        "zero_ns",
        "the zero of its clock in nanoseconds since 1970, to be added to its times; `null` if \
         unknown",
        |_, of| clock::zero(of).into(),
    ),
    field("watched_ns", "duration that it covers", |_, of| {
        of.source.watched.map(|length| length.ns()).into()
    }),
    field("host", "host, kernel or tool version, as printed in the listing", |_, of| {
        of.source.host.clone().into()
    }),
    optional("host_name", "name of the machine, if the capture has it", |_, of| {
        stated(of, key::HOST_NAME)
    }),
    optional("kernel", "its kernel release", |_, of| stated(of, key::HOST_KERNEL)),
    optional("zone", "its time zone", |_, of| stated(of, key::HOST_ZONE)),
    field("records", "events, averages, histograms and facts read", |_, of| {
        of.source.records.into()
    }),
    field(
        "folded",
        "events of these that were kept only as histograms, because there were too many",
        |_, of| of.folded.into(),
    ),
    field("skipped", "lines that looked like its format but could not be used", |_, of| {
        of.source.skipped.into()
    }),
    field("lost", "missing I/Os, the sum of `losses`", |_, of| of.source.lost().into()),
    field("losses", "what was lost (`what`) and its `count`", |_, of| {
        let losses = of.source.losses.iter();
        losses
            .map(|loss| object([("what", loss.what.clone().into()), ("count", loss.count.into())]))
            .collect()
    }),
    field(
        "notes",
        "the first three notes, each with `line` (`null` if about the whole input), `text` and \
         `reason`",
        |_, of| {
            let note = |note: &Note| {
                let line = if note.line > 0 { note.line.into() } else { Value::Null };
                object([
                    ("line", line),
                    ("text", note.text.clone().into()),
                    ("reason", note.reason.clone().into()),
                ])
            };
            of.source.notes.iter().map(note).collect()
        },
    ),
];

/// The text of a fact of a listing.
fn stated(of: &Listing, key: FactKey) -> Value {
    let fact = of.facts.iter().find(|fact| fact.key == key);
    fact.and_then(|fact| fact.value.text()).into()
}

/// A moment of a listing, given the nanoseconds since 1970 at its zero: local time and
/// nanoseconds since 1970.
pub(crate) fn at(zero: Option<i64>, of: Option<Time>, style: &Style) -> Option<(String, i64)> {
    let ns = zero?.saturating_add(of?.ns());
    Some((clock::rfc3339(ns, &style.zone), ns))
}

/// The nanoseconds since 1970 at the zero of each listing, where that is known.
pub(crate) fn zeros(recording: &Recording, style: &Style) -> Vec<Option<i64>> {
    let clocks = Clock::of_each(recording).into_iter();
    let zero = |clock: Option<Clock>| clock.filter(|clock| clock.utc).map(|clock| clock.zero);
    clocks.map(|clock| style.time_of_day.or_else(|| zero(clock))).collect()
}

/// A source as an object.
pub(crate) fn source(listing: &Listing) -> Value {
    walk(SOURCE, &Recording::new(), listing)
}

/// The tables of `docs/JSON.md` by their names there.
pub fn tables() -> Vec<(&'static str, String)> {
    vec![
        ("evidence", rows(EVIDENCE)),
        ("finding", rows(FINDING)),
        ("forecast", rows(FORECAST)),
        ("impact", rows(IMPACT)),
        ("requester", rows(REQUESTER)),
        ("ledger", rows(LEDGER)),
        ("seen", rows(SEEN)),
        ("source", rows(SOURCE)),
    ]
}

/// All inputs of a recording, in order.
pub(crate) fn inputs(recording: &Recording) -> Value {
    recording.listings.iter().map(source).collect()
}

/// The source as a separate line, before its own lines. Later intervals of one watch have it only
/// if something was lost since.
pub(crate) fn source_line(of: &Listing, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let source_of = &of.source;
    let silent =
        source_of.losses.is_empty() && source_of.notes.is_empty() && source_of.skipped == 0;
    if !style.heading && silent {
        return Ok(());
    }
    let mut fields = Map::new();
    fields.insert("schema".to_string(), "iowhy.source/1".into());
    if let Value::Object(rest) = source(of) {
        fields.extend(rest);
    }
    line(&Value::Object(fields), out)
}

/// One value on one line.
pub(crate) fn line(value: &Value, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value).map_err(io::Error::from)?;
    writeln!(out)
}

/// The findings about the selected devices.
pub(crate) fn findings(report: &Report, style: &Style) -> Value {
    report
        .findings
        .iter()
        .filter(|finding| finding.subject.device.is_none_or(|id| style.filter.device(id)))
        .map(|known| walk(FINDING, &report.recording, known))
        .collect()
}

/// A verdict and everything after it.
pub(crate) const FINDING: &[Field<Finding>] = &[
    field("verdict", "its name; `iowhy explain NAME` prints the rule", |_, of| {
        of.verdict.name().into()
    }),
    field(
        "blame",
        "`disk`, `path` (cable, link, port or adapter), `disk-or-path`, `workload`, `limit`, \
         `configuration`, `above` (software above the block layer), `below` (disk, path or the \
         load on them), `report`, `healthy` or `insufficient`",
        |_, of| of.blames().name().into(),
    ),
    field("device", "the device, or `null` if it is about the whole input", |recording, of| {
        device(recording, of.subject.device)
    }),
    optional("names", "other names of the device, see above", |recording, of| {
        let device = of.subject.device.and_then(|id| recording.devices().get(id.index()));
        let names = NameTable::of(recording);
        device.and_then(|device| device_label::object(&names, &device.name)).into()
    }),
    field("group", "the part of the load it is about, or `null`", |_, of| {
        of.subject.group.clone().into()
    }),
    field("inputs", "indexes in `inputs` of its sources, from 0", |_, of| {
        of.subject.listings.iter().copied().collect()
    }),
    field(
        "severity",
        "severity, from `impact`: `none`, `minor`, `notable`, `severe`; `null` if no latency of \
         the device is known",
        |_, of| of.severity().map(Severity::word).into(),
    ),
    field(
        "confidence",
        "probability that the verdict is right; `null` for `insufficient`",
        |_, of| if of.is_probability() { number(of.confidence()) } else { Value::Null },
    ),
    field(
        "ledger",
        "the steps that lead to the confidence, in order, each computed from the previous one",
        |recording, of| {
            let steps = of.belief().entries().iter().enumerate();
            steps
                .map(|(place, entry)| {
                    let after = of.belief().after(place + 1);
                    walk(LEDGER, recording, &LedgerStep { entry: entry.clone(), after })
                })
                .collect()
        },
    ),
    field("explained_share", "share of the excess latency it explains", |_, of| {
        number(of.explained_share)
    }),
    field("sentence", "the verdict in a sentence", |_, of| of.sentence.clone().into()),
    field(
        "impact",
        "cost of the problem if the device was measured, else `null`",
        |recording, of| {
            of.impact.as_ref().map_or(Value::Null, |known| walk(IMPACT, recording, known))
        },
    ),
    field("evidence", "the numbers that support it", |recording, of| {
        of.evidence.iter().map(|one| walk(EVIDENCE, recording, one)).collect()
    }),
    field("refuted_by", "observations that would refute it", |_, of| of.refuted_by.clone().into()),
    field("next_step", "what to do, best first; commands are in backticks", |_, of| {
        of.next_step.clone().into()
    }),
    field("forecast", "latency after the fix, or `null`", |recording, of| {
        of.forecast.as_ref().map_or(Value::Null, |known| walk(FORECAST, recording, known))
    }),
    field(
        "explained_by",
        "the more specific verdict that explains this one, or `null`",
        |_, of| of.explained_by.map(|by| by.name()).into(),
    ),
    field("seen", "what was observed, if there is no conclusion", |recording, of| {
        of.seen.iter().map(|one| walk(SEEN, recording, one)).collect()
    }),
    field(
        "requesters",
        "processes that waited for the device, most first, at most five",
        |recording, of| of.requesters.iter().map(|one| walk(REQUESTER, recording, one)).collect(),
    ),
];

/// A step of a ledger, and where it leads.
pub(crate) struct LedgerStep {
    /// The step and its reason.
    pub entry: Entry,
    /// The probability after it, 0 to 1.
    pub after: f64,
}

/// How a finding came to its confidence.
pub(crate) const LEDGER: &[Field<LedgerStep>] = &[
    field(
        "step",
        "`prior` and `calibration` set the probability, `clause` adds nats to the log odds, \
         `doubt` and `limit` cap it, `floor` is a lower bound, `factor` multiplies it",
        |_, of| of.entry.step.name().into(),
    ),
    field("why", "the reason", |_, of| of.entry.why.as_ref().into()),
    field("weight", "the value of the step: nats of a clause, else a probability or a factor", {
        |_, of| number(of.entry.step.weight())
    }),
    field("value", "the value that a clause compared, or `null`", |_, of| {
        maybe(of.entry.step.compared().map(|of| of.0))
    }),
    field("bound", "its threshold, or `null`", |_, of| {
        bound(of.entry.step.compared().map(|of| of.1))
    }),
    field("after", "the probability after this step", |_, of| number(of.after)),
];

/// What was seen, and what it would mean.
pub(crate) const SEEN: &[Field<Observation>] = &[
    field("evidence", "the number, as above", |recording, of| {
        walk(EVIDENCE, recording, &of.evidence)
    }),
    field("would_mean", "what it would mean", |_, of| of.would_mean.clone().into()),
    field("verdict", "the verdict that it would support, or `null`", |_, of| {
        of.verdict.map(|verdict| verdict.name()).into()
    }),
];

/// Whose a control group is.
fn owner(of: &Requester) -> Owner {
    Owner::of_cgroup(of.cgroup.as_deref().unwrap_or_default())
}

/// The waiting processes, and their share of the time.
pub(crate) const REQUESTER: &[Field<Requester>] = &[
    field("program", "its name, or `null`", |_, of| of.program.clone().into()),
    field("pid", "its process id; `null` for several processes added up", |_, of| of.pid.into()),
    field("cgroup", "its control group, or `null`", |_, of| of.cgroup.clone().into()),
    optional("unit", "systemd unit named in the path of the control group", |_, of| {
        owner(of).unit.into()
    }),
    optional("container", "container ID in that path", |_, of| owner(of).container.into()),
    optional(
        "container_name",
        "name of the container, if the host has its log",
        |recording, of| {
            let names = OwnerNames::of(recording);
            owner(of).container.and_then(|id| names.container(&id).map(str::to_string)).into()
        },
    ),
    optional("pod", "pod UID in that path", |_, of| owner(of).pod.into()),
    optional(
        "pod_name",
        "`namespace/name` of the pod, if the host has its logs",
        |recording, of| {
            let names = OwnerNames::of(recording);
            owner(of).pod.and_then(|uid| names.pod(&uid).map(str::to_string)).into()
        },
    ),
    field("file", "the file it waited for most, or `null`", |_, of| of.file.clone().into()),
    optional(
        "journal",
        "thread that committed the journal for it, if it waited for that (fsync on ext4)",
        |_, of| of.journal.clone().into(),
    ),
    field("share", "its share of all time waited", |_, of| number(of.share)),
];

/// Its cost; null if unknown.
pub(crate) const IMPACT: &[Field<Impact>] = &[
    field(
        "waited_s_per_s",
        "time waited by all requests together, per second watched: the mean number in flight",
        |_, of| maybe(of.waited_per_s),
    ),
    field(
        "worst_waited_s_per_s",
        "the same in the interval with the most time waited, if there are several",
        |_, of| maybe(of.worst_per_s),
    ),
    field("mean_ms", "mean latency", |_, of| milliseconds(of.mean)),
    field("median_ms", "median latency, if individual I/Os are known", |_, of| {
        milliseconds(of.median)
    }),
    field("p99_ms", "99th percentile, if there are enough I/Os or a histogram", |_, of| {
        milliseconds(of.p99)
    }),
    field("longest_ms", "longest latency", |_, of| milliseconds(of.longest)),
    field("slow_over_ms", "latency from which a request counts as slow here", |_, of| {
        milliseconds(Some(of.felt()))
    }),
    field(
        "slow_share",
        "share of the requests that took at least that long, lower bound",
        |_, of| maybe(of.slow_share),
    ),
    field(
        "slow_share_most",
        "the same, upper bound, if histogram buckets do not give it exactly",
        |_, of| maybe(of.slow_most),
    ),
];

/// A number that supports a verdict.
pub(crate) const EVIDENCE: &[Field<Evidence>] = &[
    field("quantity", "what was measured", |_, of| of.quantity.clone().into()),
    field("value", "its value", |_, of| number(of.amount.value)),
    field(
        "unit",
        "`ms`, `s`, `B`, `B/s`, `1/s`, `share`, `x` (a ratio), `count`, `rpm`, `revolutions`, \
         `requests`, `sector`, `sigma` or `nats`",
        |_, of| of.amount.unit.symbol().into(),
    ),
    field(
        "bound",
        "the threshold: `{\"above\": 3.1}`, `{\"below\": 4}`, `{\"between\": [1, 2]}` or `null`",
        |_, of| bound(of.bound),
    ),
    field("n", "number of I/Os or intervals", |_, of| of.n.into()),
    field("how", "`traced`, `sampled`, `reported`, `computed` or `estimated`", |_, of| {
        of.how.word().into()
    }),
    field("source", "where it was read: file, lines, format", |_, of| of.origin.to_string().into()),
];

/// Latency after the fix.
pub(crate) const FORECAST: &[Field<Forecast>] = &[
    field("now_mean_ms", "mean latency now", |_, of| number(of.now_mean.ms())),
    field("mean_ms", "mean latency after the fix", |_, of| number(of.mean.ms())),
    field(
        "mean_from_ms",
        "lower end of the range of that mean; `null` if no range is known",
        |_, of| of.range.map_or(Value::Null, |(from, _)| number(from.ms())),
    ),
    field("mean_to_ms", "upper end of that range", |_, of| {
        of.range.map_or(Value::Null, |(_, to)| number(to.ms()))
    }),
    field("p99_ms", "99th percentile after the fix; `null` if the sample is too small", |_, of| {
        milliseconds(of.p99)
    }),
    field("assuming", "assumption of the forecast", |_, of| of.assuming.clone().into()),
];

fn milliseconds(length: Option<Nanos>) -> Value {
    length.map_or(Value::Null, |length| number(length.ms()))
}
