//! A sink that writes single I/Os, or else histograms, as the rows of a Parquet file.

use std::io::{self, Write};

use iowhy_model::{
    DeviceId, Distribution, EVENT_FIELDS, Event, Fact, Field, FieldKind, FieldValue, Filter,
    Interval, Level, Name, Recording, Sink, Source, Time,
};
use serde_json::Value;

use super::{Codec, Column, Kind, ParquetFile};
use crate::objects::source;

/// Rows of a group: some 10 MB of columns in memory.
const GROUP_ROWS: usize = 1 << 17;
/// Histograms kept back until it is clear that no single I/Os come; each has some 2 kB.
const HISTOGRAMS_KEPT: usize = 5000;
/// Facts kept for the file's own description.
const FACTS_KEPT: usize = 2000;

/// A column, the type of its values and what its numbers mean.
type ColumnOf = (&'static str, Kind, &'static str);

/// The columns of single I/Os: where each comes from, and its fields.
fn event_columns() -> Vec<ColumnOf> {
    let kind = |field: &Field<Event>| match field.kind {
        FieldKind::Time | FieldKind::Length => Kind::I64,
        FieldKind::Whole(most) if most > u32::MAX.into() => Kind::U64,
        FieldKind::Whole(_) | FieldKind::Flag => Kind::U32,
        _ => Kind::Text,
    };
    let fields = EVENT_FIELDS.iter().map(|field| (field.name, kind(field), field.unit));
    std::iter::once(("source", Kind::U32, "index in iowhy.sources")).chain(fields).collect()
}

/// The columns of histograms: one row per bucket that is not empty.
const BUCKET_COLUMNS: [ColumnOf; 13] = [
    ("source", Kind::U32, "index in iowhy.sources"),
    ("histogram", Kind::U64, "its number in this file"),
    ("device", Kind::Text, ""),
    ("op", Kind::Text, ""),
    ("stage", Kind::Text, "B2Q, Q2D, D2C or Q2C"),
    ("layer", Kind::Text, ""),
    ("label", Kind::Text, ""),
    ("start_ns", Kind::I64, "ns on the clock of the source"),
    ("length_ns", Kind::I64, "ns"),
    ("request_bytes", Kind::U32, "bytes"),
    ("low_ns", Kind::U64, "ns, inclusive"),
    ("high_ns", Kind::U64, "ns, exclusive; null if the bucket is open"),
    ("count", Kind::U64, "I/Os"),
];

fn columns(rows: Rows) -> Vec<ColumnOf> {
    if rows == Rows::Events { event_columns() } else { BUCKET_COLUMNS.to_vec() }
}

/// Which rows the file holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rows {
    Undecided,
    Events,
    Buckets,
}

/// Writes what is emitted into it as Parquet, in flat memory. An error of the output is kept until
/// [`finish`](ParquetSink::finish).
pub struct ParquetSink<W: Write> {
    /// Nothing is written before there are rows.
    out: Option<W>,
    file: Option<ParquetFile<W>>,
    rows: Rows,
    columns: Vec<Column>,
    /// Names, devices and sources; it is never given records.
    known: Recording,
    listing: usize,
    filter: Filter,
    kept_back: Vec<(usize, Distribution)>,
    facts: Vec<Fact>,
    left_out: [u64; 3],
    written: u64,
    histograms: u64,
    error: Option<io::Error>,
}

/// Its result.
pub struct Written {
    /// Rows written.
    pub rows: u64,
    /// Why something was left out, in words; empty if nothing was.
    pub left_out: Vec<String>,
    /// Whether a source reported losses or skipped lines.
    pub incomplete: bool,
}

impl<W: Write> ParquetSink<W> {
    /// A file of the records that pass; the filter is made from this sink's own names, by
    /// [`only`](ParquetSink::only).
    pub fn new(out: W) -> ParquetSink<W> {
        ParquetSink {
            out: Some(out),
            file: None,
            rows: Rows::Undecided,
            columns: Vec::new(),
            known: Recording::new(),
            listing: 0,
            filter: Filter::default(),
            kept_back: Vec::new(),
            facts: Vec::new(),
            left_out: [0; 3],
            written: 0,
            histograms: 0,
            error: None,
        }
    }

    /// Only these records.
    pub fn only(&mut self, filter: Filter) {
        self.filter = filter;
    }

    /// Ends the file.
    ///
    /// # Errors
    /// The first error of the output.
    pub fn finish(mut self) -> io::Result<Written> {
        self.settle(Rows::Buckets);
        self.group();
        if let Some(error) = self.error {
            return Err(error);
        }
        let sources: Vec<Value> = self.known.listings.iter().map(source).collect();
        let facts: Vec<Value> = self.facts.iter().map(|fact| self.fact_object(fact)).collect();
        let meanings = columns(self.rows);
        let meanings = meanings.iter().filter(|(_, _, meaning)| !meaning.is_empty());
        let units: serde_json::Map<String, Value> =
            meanings.map(|(name, _, unit)| (name.to_string(), (*unit).into())).collect();
        let schema = if self.rows == Rows::Events { "iowhy.event/1" } else { "iowhy.hist/1" };
        let reported = [
            ("iowhy.schema", schema.to_string()),
            ("iowhy.sources", Value::from(sources).to_string()),
            ("iowhy.units", Value::from(units).to_string()),
            ("iowhy.facts", Value::from(facts).to_string()),
        ];
        let left_out = self.reasons();
        let incomplete = self.known.is_incomplete();
        if let Some(file) = self.file {
            file.finish(&self.columns, &reported)?;
        }
        Ok(Written { rows: self.written, left_out, incomplete })
    }

    fn reasons(&self) -> Vec<String> {
        let what = ["individual I/Os", "histograms", "averages"];
        let kept = if self.rows == Rows::Events { what[0] } else { what[1] };
        let some = self.left_out.iter().zip(what).filter(|(count, _)| **count > 0);
        some.map(|(count, what)| match self.written {
            0 => format!("it contains {what}, not individual I/Os or histograms"),
            _ => format!("{count} {what}: a Parquet file contains rows of one kind, here {kept}"),
        })
        .collect()
    }

    fn fact_object(&self, fact: &Fact) -> Value {
        let device = fact.device.map(|id| self.known.device_of(id).name.clone());
        crate::facts::object(fact, device.as_deref())
    }

    /// The kind of rows, once and for all; histograms kept back are written or left out.
    fn settle(&mut self, rows: Rows) {
        if self.rows != Rows::Undecided {
            return;
        }
        self.rows = rows;
        self.columns =
            columns(rows).iter().map(|(name, kind, _)| Column::new(name, *kind)).collect();
        for (listing, one) in std::mem::take(&mut self.kept_back) {
            self.histogram(listing, &one);
        }
    }

    fn histogram(&mut self, listing: usize, one: &Distribution) {
        if self.rows == Rows::Events {
            self.left_out[1] += 1;
            return;
        }
        let number = self.histograms as i64;
        self.histograms += 1;
        for (low, high, count) in one.histogram.filled() {
            let text = |name: Name| self.known.text(name);
            let [source, place, device, op, stage, layer, label, start, length, bytes, from, to, n] =
                &mut self.columns[..]
            else {
                return;
            };
            source.number(Some(listing as i64));
            place.number(Some(number));
            device.text(Some(&self.known.device_of(one.device).name));
            op.text(one.op.map(|op| op.name()));
            stage.text(Some(one.stage.name()));
            layer.text(Some(one.layer.name()));
            label.text(one.label.map(text));
            start.number(one.start.map(Time::ns));
            length.number(one.length.map(|length| length.ns()));
            bytes.number(one.bytes.map(i64::from));
            from.number(Some(low as i64));
            to.number((high < u64::MAX).then_some(high as i64));
            n.number(Some(count as i64));
            self.row_is_full();
        }
    }

    fn row_is_full(&mut self) {
        self.written += 1;
        if self.columns.first().is_some_and(|first| first.rows() >= GROUP_ROWS) {
            self.group();
        }
    }

    fn group(&mut self) {
        if self.error.is_some() || self.columns.first().is_none_or(|first| first.rows() == 0) {
            return;
        }
        if let Err(error) = self.write_group() {
            self.error = Some(error);
        }
    }

    fn write_group(&mut self) -> io::Result<()> {
        if let Some(out) = self.out.take() {
            self.file = Some(ParquetFile::new(out, Codec::None)?);
        }
        self.file.as_mut().map_or(Ok(()), |file| file.row_group(&mut self.columns))
    }
}

impl<W: Write> Sink for ParquetSink<W> {
    fn begin(&mut self, source: Source) -> usize {
        self.listing = self.known.begin(source);
        self.listing
    }

    fn resume(&mut self, listing: usize) {
        self.listing = listing.min(self.known.listings.len().saturating_sub(1));
    }

    fn source(&mut self) -> &mut Source {
        if self.known.listings.is_empty() {
            // A reader that speaks before it begins is a bug in iowhy; nothing is thrown away.
            self.begin(Source::new("unknown", "-", Level::A));
        }
        &mut self.known.listings[self.listing].source
    }

    fn device(&mut self, name: &str) -> DeviceId {
        self.known.device(name)
    }

    fn name(&mut self, text: &str) -> Name {
        self.known.name(text)
    }

    fn event(&mut self, event: Event) {
        self.source().records += 1;
        if !self.filter.event(&event) {
            return;
        }
        self.settle(Rows::Events);
        if self.rows != Rows::Events {
            self.left_out[0] += 1;
            return;
        }
        let Some((source, columns)) = self.columns.split_first_mut() else { return };
        source.number(Some(self.listing as i64));
        for (column, field) in columns.iter_mut().zip(&EVENT_FIELDS) {
            match (field.get)(&event) {
                Some(FieldValue::Device(id)) => column.text(Some(&self.known.device_of(id).name)),
                Some(FieldValue::Op(op)) => column.text(Some(op.name())),
                Some(FieldValue::Flags(op, flags)) => column.text(Some(&flags.rwbs(op))),
                Some(FieldValue::Layer(layer)) => column.text(Some(layer.name())),
                Some(FieldValue::Name(name)) => column.text(Some(self.known.text(name))),
                Some(FieldValue::Time(time)) => column.number(Some(time.ns())),
                Some(FieldValue::Length(length)) => column.number(Some(length.ns())),
                Some(FieldValue::Whole(whole)) => column.number(Some(whole as i64)),
                Some(FieldValue::Flag(is)) => column.number(Some(is.into())),
                // An event has no number with a fraction.
                Some(FieldValue::Real(_)) | None => column.number(None),
            }
        }
        self.row_is_full();
    }

    fn interval(&mut self, _: Interval) {
        self.source().records += 1;
        self.left_out[2] += 1;
    }

    fn distribution(&mut self, distribution: Distribution) {
        self.source().records += 1;
        if self.filter.distribution(&distribution) != Some(true) {
            return;
        }
        let listing = self.listing;
        if self.rows != Rows::Undecided {
            return self.histogram(listing, &distribution);
        }
        self.kept_back.push((listing, distribution));
        if self.kept_back.len() >= HISTOGRAMS_KEPT {
            self.settle(Rows::Buckets);
        }
    }

    fn fact(&mut self, fact: Fact) {
        self.source().records += 1;
        if self.facts.len() < FACTS_KEPT {
            self.facts.push(fact);
        }
    }

    fn end(&mut self) {}
}
