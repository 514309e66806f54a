//! iowhy's own records, one JSON object per line, as `--json` writes them.
//!
//! ## Reads
//! Objects that name their `schema`. `iowhy.event/1` is one I/O. `iowhy.hist/1` is one histogram,
//! or an object with several under `histograms` and their sources under `inputs`.
//! `iowhy.stat/1` is one device's averages over an interval.
//! `iowhy.source/1` describes the source of the following lines and their quality: level, sampling,
//! resolution, lost and skipped records. `names` of a device become facts.
//!
//! ## How to capture
//! `iowhy snoop --json`, `iowhy hist --json`, `iowhy stat --json` and `iowhy convert`.
//!
//! ## Versions
//! Schema 1 is the only one. Keys may be in any order; unknown ones are ignored; the value of a
//! missing key is unknown, like `null`.
//!
//! ## Caveats
//! Times are nanoseconds from the zero of the capture, not of a calendar. The last edge of a
//! histogram is `null` if its last bucket is open. A source line of another input starts another
//! listing; one of the same input adds losses since. A line longer than 1 MiB is not read.
//!
//! ## Not in this output
//! More than its source knew: a listing of averages stays one of averages. The fact
//! `capture.format` names the first format or collector.

use std::collections::BTreeSet;

use iowhy_model::Order as _;
use iowhy_model::{
    DeviceId, EVENT_FIELDS, Edges, Field, FieldKind, FieldValue, Flags, INTERVAL_FIELDS, Name,
    RATE_FIELDS, Sampling,
};
use serde_json::Value;

use crate::histogram::buckets::COUNT_LIMIT;
use crate::listing::another_input;
use crate::program::*;
use crate::text::recent::RecentNames;

pub(super) const FORMAT: Format = Format::by_line::<IowhyJsonl>(
    "iowhy's own records: JSON lines of events, histograms and their source",
    Level::C,
    &["\"iowhy."],
    begins,
);

const EVENT: &str = "iowhy.event/1";
const HISTOGRAM: &str = "iowhy.hist/1";
const SOURCE: &str = "iowhy.source/1";
const STAT: &str = "iowhy.stat/1";

fn begins(line: &str) -> bool {
    let schemas = [EVENT, HISTOGRAM, SOURCE, STAT];
    match parse(line) {
        Some(object) => {
            let schema = object.get("schema").and_then(Value::as_str);
            schema.is_some_and(|schema| schemas.contains(&schema))
        }
        // A damaged line of iowhy's own is not prose.
        None => {
            line.trim_start().starts_with("{\"schema\":\"iowhy.")
                && schemas.iter().any(|schema| line.contains(schema))
        }
    }
}

#[derive(Default)]
struct IowhyJsonl {
    device: RecentNames<DeviceId>,
    names: RecentNames<Name>,
    /// The devices whose other names were stated.
    named: BTreeSet<String>,
    /// Format, input and lines of the source that spoke: another one begins another listing.
    from: Option<[Value; 3]>,
}

impl Reader for IowhyJsonl {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let text = line.trim();
        if !text.starts_with('{') {
            return if text.is_empty() { Step::Consumed } else { Step::NotMine };
        }
        let Some(object) = parse(line) else {
            return Step::skipped("not a JSON object of a known schema");
        };
        Step::from(match object.get("schema").and_then(Value::as_str) {
            Some(EVENT) => self.event(&object, sink),
            Some(HISTOGRAM) if object.get("histograms").is_some() => self.envelope(&object, sink),
            Some(HISTOGRAM) => self.histogram(&object, sink).and_then(|()| {
                sink.lost("I/Os of a histogram", loss(&object, "lost")?.unwrap_or(0));
                Ok(())
            }),
            Some(STAT) => self.interval(&object, sink),
            Some(SOURCE) if self.is_another(&object) => return Step::End,
            Some(SOURCE) => self.source(&object, sink),
            _ => Err("its schema is not event/1, hist/1, stat/1 or source/1"),
        })
    }
}

impl IowhyJsonl {
    fn event(&mut self, object: &Value, sink: &mut dyn Sink) -> Result<(), &'static str> {
        let device = text(object, "device")?.unwrap_or_default();
        let op = text(object, "op")?.and_then(Op::from_name).ok_or("an event without an op")?;
        let device = self.device.get(device, |name| sink.device(name));
        let mut event = Event::new(device, op, layer(object)?);
        if let Some(flags) = text(object, "flags")? {
            let (_, flags) = Flags::from_rwbs(flags).ok_or("the flags are not the kernel's")?;
            event.flags = flags;
        }
        let names = &mut self.names;
        let name = |text: &str| names.get(text, |text| sink.name(text));
        fill(&EVENT_FIELDS, &mut event, object, name)?;
        sink.event(event);
        Ok(())
    }

    fn interval(&mut self, object: &Value, sink: &mut dyn Sink) -> Result<(), &'static str> {
        let device = text(object, "device")?.unwrap_or_default();
        let device = self.device.get(device, |name| sink.device(name));
        let mut interval = Interval::new(device, layer(object)?);
        fill(&INTERVAL_FIELDS, &mut interval, object, |name| sink.name(name))?;
        if let Some(ops) = object.get("ops").and_then(Value::as_object) {
            for (name, known) in ops {
                let op = Op::from_name(name).ok_or("unknown op")?;
                interval.rates.push((op, rates(known)?));
            }
        }
        interval.rates.order_by_key(|(op, _)| *op);
        let mixed = object.get("mixed").filter(|known| known.is_object());
        interval.mixed = mixed.map(rates).transpose()?;
        sink.interval(interval);
        self.names(object, device, sink);
        Ok(())
    }

    /// The other names of a device, once.
    fn names(&mut self, object: &Value, device: DeviceId, sink: &mut dyn Sink) {
        let Some(names) = object.get("names").filter(|names| names.is_object()) else { return };
        let name = object.get("device").and_then(Value::as_str).unwrap_or_default();
        if !self.named.insert(name.to_string()) {
            return;
        }
        let place = sink.source().input.clone();
        let text = |key: &str| names.get(key).and_then(Value::as_str).map(str::to_string);
        let list = |key: &str| -> Vec<String> {
            let all = names.get(key).and_then(Value::as_array).into_iter().flatten();
            all.filter_map(Value::as_str).map(str::to_string).collect()
        };
        for (key, name) in [
            (typed::DM_NAME, text("dm")),
            (typed::LOOP_FILE, text("backing_file")),
            (typed::PARTITION_DISK, text("disk")),
        ] {
            if let Some(name) = name {
                sink.add_fact_at(device, key, name, &place);
            }
        }
        for point in list("mounts") {
            sink.add_fact_at(device, typed::MOUNT_POINT, point, &place);
        }
        let folders = ["by_id", "by_label", "by_uuid", "by_partuuid", "by_path"].into_iter();
        let links = folders.flat_map(|key| {
            let folder = key.replace('_', "-");
            list(key).into_iter().map(move |name| format!("/dev/disk/{folder}/{name}"))
        });
        let array = text("md").map(|name| format!("/dev/md/{name}"));
        let links: Vec<String> = links.chain(array).collect();
        for (key, words) in [
            (typed::DEVICE_LINKS, links),
            (typed::DEVICE_SLAVES, list("made_of")),
            (typed::DEVICE_HOLDERS, list("part_of")),
        ] {
            if !words.is_empty() {
                sink.add_fact_at(device, key, words, &place);
            }
        }
    }

    /// Several histograms at once, a listing for each input that has some.
    fn envelope(&mut self, object: &Value, sink: &mut dyn Sink) -> Result<(), &'static str> {
        let list = |key: &str| object.get(key).and_then(Value::as_array);
        let histograms = list("histograms").ok_or("`histograms` is not a list")?;
        let mut current = None;
        for one in histograms {
            let input: Option<usize> = number(one, "input")?;
            if input != current {
                let from = input.and_then(|input| list("inputs")?.get(input));
                current = input;
                self.enter(from.unwrap_or(&Value::Null), sink)?;
            }
            self.histogram(one, sink)?;
        }
        Ok(())
    }

    /// What follows comes from this input: in a listing of its own, if it is another one.
    fn enter(&mut self, from: &Value, sink: &mut dyn Sink) -> Result<(), &'static str> {
        if self.is_another(from) {
            another_input(FORMAT.level, sink);
        }
        self.source(from, sink)
    }

    fn histogram(&mut self, object: &Value, sink: &mut dyn Sink) -> Result<(), &'static str> {
        let stage = stage(text(object, "stage")?)?;
        let op = match text(object, "op")? {
            None => None,
            Some(name) => Some(Op::from_name(name).ok_or("unknown op")?),
        };
        let edges = numbers(object, "edges_ns")?;
        let counts = numbers(object, "counts")?;
        let total = counts.iter().try_fold(0u64, |total, count| total.checked_add(*count));
        if total.is_none_or(|total| total > COUNT_LIMIT) {
            return Err("the counts are implausible");
        }
        let edges = Edges::new(edges).ok_or("the edges do not increase")?;
        let mut histogram =
            Histogram::from_counts(edges, counts).ok_or("edges and counts do not match")?;
        histogram.sum_ns = object.get("sum_ns").and_then(Value::as_f64);
        histogram.min_ns = number(object, "min_ns")?;
        histogram.max_ns = number(object, "max_ns")?;
        let device = text(object, "device")?.unwrap_or_default();
        let device = self.device.get(device, |name| sink.device(name));
        let mut distribution = Distribution::new(device, layer(object)?, stage, histogram);
        distribution.op = op;
        distribution.start = time(object, "start_ns")?;
        distribution.length = length(object, "length_ns")?;
        distribution.bytes = number(object, "bytes")?;
        distribution.label = text(object, "label")?.map(|label| sink.name(label));
        sink.distribution(distribution);
        self.names(object, device, sink);
        Ok(())
    }

    fn is_another(&self, source: &Value) -> bool {
        self.from.as_ref().is_some_and(|from| *from != identity(source))
    }

    /// Amends the source of the open listing by what its own line says.
    fn source(&mut self, object: &Value, sink: &mut dyn Sink) -> Result<(), &'static str> {
        if let Some(letter) = text(object, "level")? {
            let level = Level::ALL.into_iter().find(|level| letter == level.letter().to_string());
            let level = level.ok_or("unknown level")?;
            sink.source().level = level;
            if level == Level::D {
                sink.source().sampling = Sampling::Traced;
            }
        }
        if let Some(word) = text(object, "sampling")? {
            let sampling = Sampling::ALL.into_iter().find(|sampling| sampling.word() == word);
            sink.source().sampling = sampling.ok_or("unknown sampling")?;
        }
        let (resolution, watched) =
            (length(object, "resolution_ns")?, length(object, "watched_ns")?);
        let (host, sees_queue) = (text(object, "host")?, object.get("sees_queue"));
        let skipped = loss(object, "skipped")?.unwrap_or(0);
        let source = sink.source();
        source.resolution = resolution.or(source.resolution);
        source.watched = watched.or(source.watched);
        source.host = host.map(str::to_string).or(source.host.take());
        source.sees_queue = sees_queue.and_then(Value::as_bool).unwrap_or(source.sees_queue);
        source.skipped += skipped;
        for key in ["losses", "lost"] {
            for lost in object.get(key).and_then(Value::as_array).into_iter().flatten() {
                let what = text(lost, "what")?.ok_or("a loss without a name")?;
                sink.lost(what, loss(lost, "count")?.ok_or("a loss without a count")?);
            }
        }
        let zero = object.get("zero_ns").and_then(Value::as_i64);
        if let Some(zero) = zero.filter(|zero| *zero > 0) {
            sink.add_fact(None, typed::CLOCK_OFFSET, Nanos(zero));
            // What contains nothing but a time is not a capture.
            let source = sink.source();
            source.records = source.records.saturating_sub(1);
        }
        let known = self.from.replace(identity(object));
        if known != self.from
            && let Some(format) = text(object, "format")?
        {
            sink.add_fact(None, typed::CAPTURE_FORMAT, format);
        }
        Ok(())
    }
}

/// The key of a source.
fn identity(source: &Value) -> [Value; 3] {
    ["format", "input", "lines"].map(|key| source.get(key).cloned().unwrap_or_default())
}

/// A line as a JSON object that names a schema of iowhy.
fn parse(line: &str) -> Option<Value> {
    let text = line.trim();
    // Most lines of any input are not iowhy's: look before parsing.
    if !text.starts_with('{') || !text.contains("\"iowhy.") {
        return None;
    }
    serde_json::from_str(text).ok().filter(Value::is_object)
}

/// A text, or `None` if it is left out or null.
fn text<'a>(object: &'a Value, key: &str) -> Result<Option<&'a str>, &'static str> {
    match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err("a string was expected"),
    }
}

/// A whole number that fits, or `None` if it is left out or null.
fn number<N: TryFrom<i128>>(object: &Value, key: &str) -> Result<Option<N>, &'static str> {
    let value = match object.get(key) {
        None | Some(Value::Null) => return Ok(None),
        Some(value) => value,
    };
    let whole = value.as_u64().map(i128::from).or_else(|| value.as_i64().map(i128::from));
    whole
        .and_then(|whole| N::try_from(whole).ok())
        .map(Some)
        .ok_or("a whole number was expected, or is out of range")
}

fn loss(object: &Value, key: &str) -> Result<Option<u64>, &'static str> {
    let count = number(object, key)?;
    if count > Some(COUNT_LIMIT) { Err("the loss is implausible") } else { Ok(count) }
}

fn length(object: &Value, key: &str) -> Result<Option<Nanos>, &'static str> {
    match number(object, key)? {
        Some(ns) if ns < 0 => Err("a negative duration"),
        ns => Ok(ns.map(Nanos)),
    }
}

fn time(object: &Value, key: &str) -> Result<Option<Time>, &'static str> {
    Ok(number(object, key)?.map(Time::from_ns))
}

/// The rates of one operation.
fn rates(object: &Value) -> Result<Rates, &'static str> {
    let mut rates = Rates::default();
    // A rate is not a string: no name is ever looked up.
    fill(&RATE_FIELDS, &mut rates, object, |_| Name::at(0))?;
    Ok(rates)
}

/// Gives a record what an object reports of its fields; the rest stays as it is.
fn fill<R>(
    fields: &[Field<R>],
    record: &mut R,
    object: &Value,
    mut name: impl FnMut(&str) -> Name,
) -> Result<(), &'static str> {
    for field in fields {
        let value = match field.kind {
            FieldKind::Time => time(object, field.name)?.map(FieldValue::Time),
            FieldKind::Length => length(object, field.name)?.map(FieldValue::Length),
            FieldKind::Whole(_) => number(object, field.name)?.map(FieldValue::Whole),
            FieldKind::Real => real(object, field.name)?.map(FieldValue::Real),
            FieldKind::Flag => {
                object.get(field.name).and_then(Value::as_bool).map(FieldValue::Flag)
            }
            FieldKind::Name => text(object, field.name)?.map(&mut name).map(FieldValue::Name),
            // What every record needs is read before.
            FieldKind::Device | FieldKind::Op | FieldKind::Flags | FieldKind::Layer => None,
        };
        if value.is_some_and(|value| !(field.set)(record, value)) {
            return Err("a whole number was expected, or is out of range");
        }
    }
    Ok(())
}

/// A number, or `None` if it is left out or null.
fn real(object: &Value, key: &str) -> Result<Option<f64>, &'static str> {
    match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => value.as_f64().map(Some).ok_or("a number was expected"),
    }
}

/// A list of whole numbers; `null` is an open end.
fn numbers(object: &Value, key: &str) -> Result<Vec<u64>, &'static str> {
    let list = object.get(key).and_then(Value::as_array).ok_or("a list of numbers is missing")?;
    let whole = |value: &Value| if value.is_null() { Some(u64::MAX) } else { value.as_u64() };
    list.iter()
        .map(whole)
        .collect::<Option<Vec<u64>>>()
        .ok_or("a list has a value that is not a whole number")
}

/// The layer; the block layer if it is left out.
fn layer(object: &Value) -> Result<Layer, &'static str> {
    let Some(name) = text(object, "layer")? else { return Ok(Layer::Block) };
    Layer::ALL.into_iter().find(|layer| layer.name() == name).ok_or("unknown layer")
}

/// A stage by the field's abbreviation or by its own name.
fn stage(name: Option<&str>) -> Result<Stage, &'static str> {
    match name {
        Some("queue") => Ok(Stage::Queue),
        Some("device") => Ok(Stage::Device),
        Some("total") => Ok(Stage::Total),
        name => {
            let mut all = Stage::ALL.into_iter();
            all.find(|stage| name == Some(stage.name())).ok_or("unknown stage")
        }
    }
}
