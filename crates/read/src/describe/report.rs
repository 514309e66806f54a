//! Building blocks of the description of a report, and its hooks.

pub(crate) use iowhy_model::{
    Distribution, Event, Histogram, Interval, Layer, Level, Nanos, Op, Rates, Sink, Stage, Time,
    typed,
};

pub(crate) use super::labels::{
    Command, Labels, Opens, READ, Report, Total, WRITTEN, Work, announces, begins, counts, follows,
    label, one_by_one, perhaps, says,
};
pub(crate) use super::pattern::Found;
pub(crate) use crate::facts::{AddFact, note};
pub(crate) use crate::histogram::buckets::latencies;
pub(crate) use crate::text::columns::Heading;
pub(crate) use crate::{Format, Step, WallTime, bytes, decimal, integer};
