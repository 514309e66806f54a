//! Building blocks of a format that is a program.

pub(crate) use iowhy_model::{
    Distribution, Event, Histogram, Interval, Layer, Level, Nanos, Note, Op, Rates, Sink, Stage,
    Time, typed,
};

pub(crate) use crate::facts::{AddFact, note};
pub(crate) use crate::{
    Detect, Format, Reader, Step, WallTime, bytes, decimal, device_name, fixed, integer,
};
