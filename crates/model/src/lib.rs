//! The four nouns in which everything in iowhy is reported: [`Event`], [`Interval`], [`Histogram`]
//! and [`Finding`].
//!
//! Readers and collectors emit the first three into a [`Sink`]; the judge turns a [`Recording`]
//! into findings; views draw a [`Report`]. All other crates depend on this one.
//!
//! ```
//! use iowhy_model::{Edges, Histogram};
//!
//! let mut latencies = Histogram::empty(Edges::standard());
//! for ns in [1_900_000, 2_000_000, 2_100_000, 27_000_000] {
//!     latencies.record(ns);
//! }
//! assert_eq!(latencies.count(), 4);
//! let (mean, exact) = latencies.mean_ns().expect("there are values");
//! assert!(exact && mean == 8_250_000.0);
//! // Four values have no 99th percentile.
//! assert!(latencies.quantile(0.99).is_none());
//! ```
//!
//! **Must never know:** any other crate of the project, a clock, a file, the environment, the
//! network, a thread or a terminal.

#![forbid(unsafe_code)]

mod belief;
mod by_device;
mod cells;
mod comparison;
mod device;
mod device_names;
mod device_numbers;
mod device_totals;
mod distribution;
mod emit;
mod event;
mod fact;
mod field;
mod filter;
mod finding;
mod fold;
mod histogram;
mod host_name;
mod interval;
mod kernel_disk;
mod limit;
pub mod manual;
pub mod numbers;
mod op;
mod order;
mod owner;
mod quantity;
mod random;
mod recording;
mod report;
mod series;
mod sink;
mod source;
mod tally;
mod time;
mod verdict;
pub mod waits;

pub use belief::{Belief, Clause, Entry, Step};
pub use by_device::ByDevice;
pub use cells::{Cells, SingleIos, Waiters};
pub use comparison::{ComparedSide, ComparedVerdict, Comparison, Difference, Explanation};
pub use device::{Device, DeviceId, Medium, Name, is_kernel_name};
pub use device_names::{DeviceNames, MapKind, NameTable, NamedTarget, Partition, volume_of};
pub use device_numbers::{device_name, device_of_numbers, numbers_of};
pub use device_totals::DeviceTotals;
pub use distribution::Distribution;
pub use event::{Event, Layer, SmallNumber, Stage};
pub use fact::{
    CommandKind, Fact, FactKey, FactValue, KeyFamily, Kind, Message, MessageKind, PathEvent,
    PortErrors, key, port_errors, typed,
};
pub use field::{EVENT_FIELDS, Field, FieldKind, FieldValue, INTERVAL_FIELDS, RATE_FIELDS};
pub use filter::Filter;
pub use finding::{
    Basis, EXPLAINS_ENOUGH, Evidence, FELT_PER_S, Finding, Forecast, How, Impact, Observation,
    Origin, Requester, STANDS, Severity, Subject,
};
pub use fold::{distributions, series, whole};
pub use histogram::{Edges, Histogram, Quantile, STANDARD_PER_OCTAVE, STANDARD_UNIT_NS};
pub use host_name::HostName;
pub use interval::{Interval, Rates};
pub use kernel_disk::KernelDisk;
pub use limit::LimitKind;
pub use op::{Flags, Op};
pub use order::Order;
pub use owner::{Owner, OwnerNames};
pub use quantity::{Bound, Quantity, Unit};
pub use random::Random;
pub use recording::{EVENTS_JUDGED, EVENTS_KEPT, Listing, Recording};
pub use report::Report;
pub use series::Series;
pub use sink::Sink;
pub use source::{Inference, Level, Loss, Note, Sampling, Source, Unread};
pub use tally::Tally;
pub use time::{Nanos, Time};
pub use verdict::{Blame, Family, Verdict};
