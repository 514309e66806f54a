//! Everything of a listing that is not an event, field by field: source, averages, histograms,
//! facts.

use crate::bytes::{Bytes, maybe, number, real, signed, text};
use iowhy_model::{
    DeviceId, Distribution, Edges, Fact, FactKey, FactValue, Field, FieldKind, FieldValue,
    Histogram, INTERVAL_FIELDS, Interval, Layer, Level, Loss, Message, Name, Nanos, Note, Op,
    Rates, Sampling, Source, Stage, Time,
};

/// How the counts of a histogram are stored: after its own edges; one for each bucket of the
/// standard table (before version 3); or only those of its non-empty buckets.
const OWN_EDGES: u8 = 0;
const STANDARD_ALL: u8 = 1;
const STANDARD_FILLED: u8 = 2;

/// Writes a source. Losses and skips are counted since the beginning, so a lost block hides none.
pub(crate) fn write_source(source: &Source, out: &mut Vec<u8>) {
    text(&source.format, out);
    text(&source.input, out);
    maybe(source.lines, out, |(first, last), out| {
        number(first, out);
        number(last, out);
    });
    out.extend([place(&Level::ALL, source.level), place(&Sampling::ALL, source.sampling)]);
    maybe(source.resolution, out, write_length);
    out.push(u8::from(source.sees_queue));
    maybe(source.watched, out, write_length);
    number(source.records, out);
    number(source.skipped, out);
    number(source.losses.len() as u64, out);
    for loss in &source.losses {
        text(&loss.what, out);
        number(loss.count, out);
    }
    number(source.notes.len() as u64, out);
    for note in &source.notes {
        number(note.line, out);
        text(&note.text, out);
        text(&note.reason, out);
    }
    maybe(source.host.as_ref(), out, |host, out| text(host, out));
}

/// Reads a source.
pub(crate) fn read_source(from: &mut Bytes) -> Option<Source> {
    let format = from.text()?;
    let mut source = Source::new(&format, &from.text()?, Level::A);
    source.lines = from.maybe(|from| Some((from.number()?, from.number()?)))?;
    source.level = *Level::ALL.get(usize::from(from.byte()?))?;
    source.sampling = *Sampling::ALL.get(usize::from(from.byte()?))?;
    source.resolution = from.maybe(read_length)?;
    source.sees_queue = from.byte()? != 0;
    source.watched = from.maybe(read_length)?;
    source.records = from.number()?;
    source.skipped = from.number()?;
    for _ in 0..from.count()? {
        source.losses.push(Loss { what: from.text()?, count: from.number()?, of: None });
    }
    for _ in 0..from.count()? {
        let (line, text) = (from.number()?, from.text()?);
        source.notes.push(Note { line, text, reason: from.text()? });
    }
    source.host = from.maybe(Bytes::text)?;
    Some(source)
}

/// Writes averages; the device is an index into the block's own list.
pub(crate) fn write_interval(interval: &Interval, out: &mut Vec<u8>) {
    number(interval.device.index() as u64, out);
    out.push(place(&Layer::ALL, interval.layer));
    let (of_time, measured) = interval_fields();
    of_time.for_each(|field| write_field((field.get)(interval), out));
    number(interval.rates.len() as u64, out);
    for (op, rates) in &interval.rates {
        out.push(place(&Op::ALL, *op));
        write_rates(rates, out);
    }
    maybe(interval.mixed.as_ref(), out, write_rates);
    measured.for_each(|field| write_field((field.get)(interval), out));
}

/// The fields of the interval, which come before the rates, and those after them.
fn interval_fields()
-> (impl Iterator<Item = &'static Field<Interval>>, impl Iterator<Item = &'static Field<Interval>>)
{
    let measured =
        |field: &&Field<Interval>| matches!(field.kind, FieldKind::Real | FieldKind::Whole(_));
    let fields = INTERVAL_FIELDS.iter();
    (fields.clone().filter(move |field| !measured(field)), fields.filter(measured))
}

/// A value that may be unknown; yes or no is always known.
fn write_field(value: Option<FieldValue>, out: &mut Vec<u8>) {
    if let Some(FieldValue::Flag(is)) = value {
        return out.push(u8::from(is));
    }
    maybe(value, out, |value, out| match value {
        FieldValue::Time(time) => write_time(time, out),
        FieldValue::Length(length) => write_length(length, out),
        FieldValue::Real(value) => real(value, out),
        FieldValue::Whole(value) => number(value, out),
        // Only events have other types, and store them as columns.
        _ => {}
    });
}

/// Reads what [`write_field`] wrote into its field; `None` if the bytes are invalid.
fn read_field<R>(field: &Field<R>, record: &mut R, from: &mut Bytes) -> Option<()> {
    let value = match field.kind {
        FieldKind::Flag => Some(FieldValue::Flag(from.byte()? != 0)),
        FieldKind::Time => from.maybe(read_time)?.map(FieldValue::Time),
        FieldKind::Length => from.maybe(read_length)?.map(FieldValue::Length),
        FieldKind::Real => from.maybe(Bytes::real)?.map(FieldValue::Real),
        FieldKind::Whole(_) => from.maybe(Bytes::number)?.map(FieldValue::Whole),
        _ => return None,
    };
    value.is_none_or(|value| (field.set)(record, value)).then_some(())
}

/// Reads averages.
pub(crate) fn read_interval(from: &mut Bytes) -> Option<Interval> {
    let device = DeviceId::at(from.small()?);
    let mut interval = Interval::new(device, *Layer::ALL.get(usize::from(from.byte()?))?);
    let (of_time, measured) = interval_fields();
    for field in of_time {
        read_field(field, &mut interval, from)?;
    }
    for _ in 0..from.count()? {
        let op = *Op::ALL.get(usize::from(from.byte()?))?;
        interval.rates.push((op, read_rates(from)?));
    }
    interval.mixed = from.maybe(read_rates)?;
    for field in measured {
        read_field(field, &mut interval, from)?;
    }
    Some(interval)
}

/// Writes a histogram; device and label are indexes into the block's own lists.
pub(crate) fn write_distribution(of: &Distribution, out: &mut Vec<u8>) {
    number(of.device.index() as u64, out);
    maybe(of.op, out, |op, out| out.push(place(&Op::ALL, op)));
    out.extend([place(&Layer::ALL, of.layer), place(&Stage::ALL, of.stage)]);
    maybe(of.start, out, write_time);
    maybe(of.length, out, write_length);
    maybe(of.bytes, out, |bytes, out| number(bytes.into(), out));
    maybe(of.label, out, |label, out| number(label.index() as u64, out));
    // Most histograms use the standard table, and few of its buckets have counts.
    let edges = of.histogram.edges();
    let filled = of.histogram.counts().iter().enumerate().filter(|(_, count)| **count > 0);
    if *edges == Edges::standard() {
        out.push(STANDARD_FILLED);
        number(filled.clone().count() as u64, out);
        let mut next = 0;
        for (place, count) in filled {
            number((place - next) as u64, out);
            number(*count, out);
            next = place + 1;
        }
    } else {
        out.push(OWN_EDGES);
        number(edges.as_slice().len() as u64, out);
        edges.as_slice().iter().for_each(|edge| number(*edge, out));
        of.histogram.counts().iter().for_each(|count| number(*count, out));
    }
    maybe(of.histogram.sum_ns, out, real);
    maybe(of.histogram.min_ns, out, number);
    maybe(of.histogram.max_ns, out, number);
}

/// Reads a histogram.
pub(crate) fn read_distribution(from: &mut Bytes) -> Option<Distribution> {
    let device = DeviceId::at(from.small()?);
    let op = from.maybe(|from| Op::ALL.get(usize::from(from.byte()?)).copied())?;
    let layer = *Layer::ALL.get(usize::from(from.byte()?))?;
    let stage = *Stage::ALL.get(usize::from(from.byte()?))?;
    let start = from.maybe(read_time)?;
    let length = from.maybe(read_length)?;
    let bytes = from.maybe(Bytes::small)?;
    let label = from.maybe(|from| from.small().map(Name::at))?;
    let kind = from.byte()?;
    let edges = match kind {
        STANDARD_ALL | STANDARD_FILLED => Edges::standard(),
        OWN_EDGES => {
            let count = from.count()?;
            Edges::new((0..count).map(|_| from.number()).collect::<Option<_>>()?)?
        }
        _ => return None,
    };
    let counts = match kind {
        STANDARD_FILLED => read_filled(edges.buckets(), from)?,
        _ => (0..edges.buckets()).map(|_| from.number()).collect::<Option<Vec<u64>>>()?,
    };
    counts.iter().try_fold(0u64, |total, count| total.checked_add(*count))?;
    let mut histogram = Histogram::from_counts(edges, counts)?;
    histogram.sum_ns = from.maybe(Bytes::real)?;
    histogram.min_ns = from.maybe(Bytes::number)?;
    histogram.max_ns = from.maybe(Bytes::number)?;
    let mut of = Distribution::new(device, layer, stage, histogram);
    (of.op, of.start, of.length, of.bytes, of.label) = (op, start, length, bytes, label);
    Some(of)
}

/// Counts of the filled buckets, each after the number of empty ones before it.
fn read_filled(buckets: usize, from: &mut Bytes) -> Option<Vec<u64>> {
    let mut counts = vec![0; buckets];
    let mut next = 0usize;
    for _ in 0..from.count()? {
        let place = next.checked_add(from.small()?)?;
        *counts.get_mut(place)? = from.number()?;
        next = place + 1;
    }
    Some(counts)
}

/// Writes a fact; the device is an index into the block's own list.
pub(crate) fn write_fact(fact: &Fact, out: &mut Vec<u8>) {
    maybe(fact.device, out, |device, out| number(device.index() as u64, out));
    text(&fact.key.name(), out);
    write_value(&fact.value, out);
    maybe(fact.at, out, write_time);
    text(&fact.read_from, out);
}

/// Reads a fact.
pub(crate) fn read_fact(from: &mut Bytes) -> Option<Fact> {
    let device = from.maybe(|from| from.small().map(DeviceId::at))?;
    let key = FactKey::named(&from.text()?);
    let value = match read_value(from)? {
        FactValue::Text(text) if key.kind().is_of_process() => key.read(&text),
        value => value,
    };
    let at = from.maybe(read_time)?;
    Some(Fact { device, key, value, at, read_from: from.text()? })
}

/// Reads a fact of version 1, whose value was a text.
pub(crate) fn read_text_fact(from: &mut Bytes) -> Option<Fact> {
    let device = from.maybe(|from| from.small().map(DeviceId::at))?;
    let (key, value) = (from.text()?, from.text()?);
    Some(Fact::from_text(device, &key, &value, from.text()?))
}

/// The approximate size of a value in bytes.
pub(crate) fn value_bytes(value: &FactValue) -> usize {
    match value {
        FactValue::Text(text) => text.len(),
        FactValue::Words(words) => words.iter().map(String::len).sum(),
        FactValue::OfProcess(of) => size_of::<f64>() + of.who.len(),
        FactValue::Message(message) => message.stamp.len() + message.text.len(),
        _ => size_of::<f64>(),
    }
}

/// A value after the code of its type; the codes never change.
fn write_value(value: &FactValue, out: &mut Vec<u8>) {
    let mut measured = |kind: u8, value: f64| {
        out.push(kind);
        real(value, out);
    };
    match value {
        FactValue::Number(value) => measured(4, *value),
        FactValue::BytesPerSecond(value) => measured(6, *value),
        FactValue::BitsPerSecond(value) => measured(7, *value),
        FactValue::PerSecond(value) => measured(8, *value),
        FactValue::Celsius(value) => measured(10, *value),
        FactValue::Share(value) => measured(11, *value),
        FactValue::Date(value) => measured(12, *value),
        FactValue::Text(one) => {
            out.push(0);
            text(one, out);
        }
        FactValue::OfProcess(of) => {
            out.push(0);
            text(&of.to_string(), out);
        }
        FactValue::Words(words) => {
            out.push(1);
            number(words.len() as u64, out);
            words.iter().for_each(|word| text(word, out));
        }
        FactValue::Flag(is) => out.extend([2, u8::from(*is)]),
        FactValue::Count(count) => {
            out.push(3);
            number(*count, out);
        }
        FactValue::Bytes(bytes) => {
            out.push(5);
            number(*bytes, out);
        }
        FactValue::Duration(length) => {
            out.push(9);
            write_length(*length, out);
        }
        FactValue::Message(message) => {
            out.push(13);
            text(&message.stamp, out);
            text(&message.text, out);
        }
    }
}

fn read_value(from: &mut Bytes) -> Option<FactValue> {
    Some(match from.byte()? {
        0 => FactValue::Text(from.text()?),
        1 => {
            let count = from.count()?;
            FactValue::Words((0..count).map(|_| from.text()).collect::<Option<_>>()?)
        }
        2 => FactValue::Flag(from.byte()? != 0),
        3 => FactValue::Count(from.number()?),
        4 => FactValue::Number(from.real()?),
        5 => FactValue::Bytes(from.number()?),
        6 => FactValue::BytesPerSecond(from.real()?),
        7 => FactValue::BitsPerSecond(from.real()?),
        8 => FactValue::PerSecond(from.real()?),
        9 => FactValue::Duration(read_length(from)?),
        10 => FactValue::Celsius(from.real()?),
        11 => FactValue::Share(from.real()?),
        12 => FactValue::Date(from.real()?),
        13 => FactValue::Message(Message::new(&from.text()?, &from.text()?)),
        _ => return None,
    })
}

fn write_rates(rates: &Rates, out: &mut Vec<u8>) {
    real(rates.ios_per_s, out);
    for value in [rates.merges_per_s, rates.bytes_per_s, rates.await_ns] {
        maybe(value, out, real);
    }
}

fn read_rates(from: &mut Bytes) -> Option<Rates> {
    let ios_per_s = from.real()?;
    let mut next = || from.maybe(Bytes::real);
    Some(Rates { ios_per_s, merges_per_s: next()?, bytes_per_s: next()?, await_ns: next()? })
}

fn write_time(time: Time, out: &mut Vec<u8>) {
    signed(time.ns(), out);
}

fn read_time(from: &mut Bytes) -> Option<Time> {
    from.signed().map(Time::from_ns)
}

fn write_length(length: Nanos, out: &mut Vec<u8>) {
    signed(length.ns(), out);
}

fn read_length(from: &mut Bytes) -> Option<Nanos> {
    from.signed().map(Nanos)
}

/// The index of a value in a short list.
fn place<T: PartialEq>(all: &[T], one: T) -> u8 {
    all.iter().position(|known| *known == one).unwrap_or(0) as u8
}
