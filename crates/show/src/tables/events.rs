//! Single I/Os as rows: every field of the model's list, durations of the stages instead of points
//! in time.

use std::io;

use iowhy_model::{EVENT_FIELDS, Edges, Event, Field, FieldValue, Nanos, Recording, Stage};

use super::files::{self, Files};
use super::schema::{Table, TableColumn};
use crate::parquet::{Column, Kind};

/// I/Os of a run: some 30 MB.
const RUN: usize = 1 << 18;

/// The column of each field of an I/O. Points in time are given by the time of completion and the
/// durations of the stages.
const COLUMNS: &[(&str, &str)] = &[
    ("arrived_ns", "b2q"),
    ("bytes", "bytes"),
    ("cgroup", "cgroup"),
    ("comm", "process"),
    ("completed_ns", "time"),
    ("depth", "in_flight"),
    ("device", "device"),
    ("error", "error"),
    ("file", "file"),
    ("flags", "flags"),
    ("issued_ns", "d2c"),
    ("op", "op"),
    ("pid", "pid"),
    ("queued_ns", "q2c"),
    ("sector", "sector"),
    ("weight", "weight"),
];

/// What a column holds of an I/O.
enum Holds {
    Time,
    Second,
    Length(Stage),
    /// The bucket of the time on the device.
    Bucket(Edges),
    /// The weight: 1 where every I/O is reported.
    Weight,
    /// The value of this field, up to this number.
    Field(&'static Field<Event>, i64),
    Nothing,
}

/// I/Os that wait to be written, with their time of day.
pub(super) struct Events {
    run: Vec<(i64, Event)>,
    columns: Vec<Holds>,
}

impl Default for Events {
    fn default() -> Events {
        Events { run: Vec::new(), columns: Table::Events.columns().map(Holds::of).collect() }
    }
}

impl Events {
    /// Takes one; whether a run is due.
    pub(super) fn push(&mut self, at_ns: i64, event: Event) -> bool {
        self.run.push((at_ns, event));
        self.run.len() >= RUN
    }

    /// Writes those that wait.
    pub(super) fn flush(&mut self, known: &Recording, files: &mut Files) -> io::Result<()> {
        let ranks = files::ranks(known);
        let key = |(at, event): &(i64, Event)| {
            let rank = ranks.get(event.device.index()).copied().unwrap_or(u32::MAX);
            (files::day_of(*at), *at, rank)
        };
        self.run.sort_by_key(key);
        for rows in self.run.chunk_by(|(a, _), (b, _)| files::day_of(*a) == files::day_of(*b)) {
            let Some((first, _)) = rows.first() else { continue };
            files.write(Table::Events, files::day_of(*first), rows, |columns, (at, event)| {
                let columns = columns.iter_mut().zip(&self.columns);
                columns.for_each(|(column, holds)| holds.fill(column, *at, event, known));
            })?;
        }
        self.run.clear();
        Ok(())
    }
}

impl Holds {
    fn of(column: &'static TableColumn) -> Holds {
        match column.name {
            "time" => Holds::Time,
            "second" => Holds::Second,
            "bucket" => Holds::Bucket(Edges::standard()),
            "b2q" => Holds::Length(Stage::Before),
            "q2d" => Holds::Length(Stage::Queue),
            "d2c" => Holds::Length(Stage::Device),
            "q2c" => Holds::Length(Stage::Total),
            "weight" => Holds::Weight,
            name => {
                let field = COLUMNS.iter().find(|(_, column)| *column == name);
                let field = field.and_then(|(field, _)| Field::named(&EVENT_FIELDS, field));
                let most = if column.kind == Kind::I32 { i32::MAX.into() } else { i64::MAX };
                field.map_or(Holds::Nothing, |field| Holds::Field(field, most))
            }
        }
    }

    fn fill(&self, column: &mut Column, at_ns: i64, event: &Event, known: &Recording) {
        let (field, most) = match self {
            Holds::Time => return column.number(Some(at_ns.div_euclid(1000))),
            Holds::Second => {
                return column.number(Some(files::second_of(at_ns).saturating_mul(1_000_000)));
            }
            Holds::Bucket(edges) => {
                let length = event.latency(Stage::Device);
                let bucket = length.map(|length| edges.index(length.ns() as u64) as i64);
                return column.number(bucket);
            }
            Holds::Length(stage) => return column.number(event.latency(*stage).map(Nanos::ns)),
            Holds::Weight => {
                return column
                    .real(Some(event.weight.map_or(1.0, |weight| f64::from(weight.get()))));
            }
            Holds::Nothing => return column.number(None),
            Holds::Field(field, most) => (field, *most),
        };
        match (field.get)(event) {
            Some(FieldValue::Device(id)) => {
                let name = known.device_of(id).name.as_str();
                column.text(Some(name).filter(|name| !name.is_empty()));
            }
            Some(FieldValue::Op(op)) => column.text(Some(op.name())),
            Some(FieldValue::Flags(op, flags)) => column.text(Some(&flags.rwbs(op))),
            Some(FieldValue::Name(name)) => column.text(Some(known.text(name))),
            Some(FieldValue::Whole(value)) => {
                column.number(i64::try_from(value).ok().filter(|value| *value <= most));
            }
            _ => column.number(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_of_an_event_has_a_column_but_the_layer_and_places() {
        for field in &EVENT_FIELDS {
            let known = COLUMNS.iter().find(|(name, _)| *name == field.name);
            let left_out = ["layer", "cpu", "queue"].contains(&field.name);
            assert!(known.is_some() || left_out, "{} has no column", field.name);
        }
        for (field, column) in COLUMNS {
            assert!(EVENT_FIELDS.iter().any(|known| known.name == *field), "{field}");
            assert!(Table::Events.columns().any(|known| known.name == *column), "{column}");
        }
        let empty = |column| matches!(Holds::of(column), Holds::Nothing);
        assert_eq!(Table::Events.columns().filter(|column| empty(column)).count(), 0);
    }
}
