//! Every format iowhy understands: lines come in, records and complaints go out.
//!
//! [`scan`] walks an input once, finds each listing in it wherever it stands (prose, several
//! formats and re-flowed tables are common), and lets the [`Format`] that knows it pour events,
//! intervals and histograms into a [`Sink`](iowhy_model::Sink). Reading is total: a bad line
//! becomes a note and never stops the rest.
//!
//! **Must never know:** live, probe, diagnose, show; a clock, a file system, the environment;
//! one format never knows another.

mod counters;
mod drive;
mod error;
mod fio;
mod format;
mod formats;
mod histogram;
mod scan;
mod text;
mod trace;

pub use counters::device_numbers::{device_name, device_of_numbers};
pub use counters::diskstats;
pub use error::Error;
pub use format::{Binary, BlockSize, Format, Reader, Sniff, Step};
pub use formats::{FORMATS, blktrace, find};
pub use histogram::buckets::histogram_of;
pub use histogram::literal_records::{LiteralRecord, LiteralRecords};
pub use scan::{Scan, scan};
pub use text::lines::LINE_LIMIT;
pub use text::numbers::{bytes, decimal, fixed, integer};
pub use text::wall_time::WallTime;
