//! Every format iowhy understands: lines come in, records and complaints go out.
//!
//! [`scan`] walks an input once, finds each listing in it wherever it stands (prose, several
//! formats and re-flowed tables are common), and lets the [`Format`] that knows it pour events,
//! intervals and histograms into a [`Sink`](iowhy_model::Sink). Reading is total: a bad line
//! becomes a note and never stops the rest.
//!
//! **Must never know:** live, probe, diagnose, show; a clock, a file system, the environment;
//! one format never knows another.

mod backwards;
mod bpftrace_maps;
mod buckets;
mod columns;
mod damage;
mod device_numbers;
mod disk_columns;
pub mod diskstats;
mod document;
mod encoding;
mod error;
mod fio_bins;
mod fio_latencies;
mod fio_lines;
mod format;
mod formats;
mod health;
mod invocation;
mod last;
mod latency_record;
mod letters;
mod lines;
mod literal_records;
mod moment;
mod numbers;
mod pairing;
mod powers;
mod processes;
mod processor;
mod scan;
mod smartd_lines;
mod stated;
mod table;
mod trace_order;
mod trace_records;
mod unread;
mod words;
mod wrapping;

pub use buckets::histogram_of;
pub use device_numbers::{device_name, device_of_numbers};
pub use error::Error;
pub use format::{Binary, Format, Reader, Sniff, Step, Taken};
pub use formats::{FORMATS, blktrace, find};
pub use lines::LINE_LIMIT;
pub use literal_records::{LiteralRecord, LiteralRecords};
pub use moment::Moment;
pub use numbers::{bytes, decimal, fixed, integer};
pub use scan::{Scan, scan};
