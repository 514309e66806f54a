//! Every format iowhy understands: lines come in, records and log events go out.
//!
//! [`scan`] walks an input once, finds each listing in it wherever it is (prose, several
//! formats and re-flowed tables are common), and lets the [`Format`] that knows it emit events,
//! intervals and histograms into a [`Sink`](iowhy_model::Sink). Reading is total: a bad line
//! becomes a note and never stops the rest.
//!
//! ```
//! use iowhy_model::Recording;
//!
//! let screen = "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n\
//!               0.000000 dd 16014 sdb R 37144544 131072 77.96\n\
//!               0.143268 dd 16014 sdb R 37144800 131072 143.20\n";
//! let mut recording = Recording::new();
//! let scan = iowhy_read::scan("screen", &mut screen.as_bytes(), None, &mut recording)?;
//! assert_eq!(scan.listings, 1);
//! let listing = &recording.listings[0];
//! assert_eq!((listing.source.format.as_str(), listing.events.len()), ("biosnoop", 2));
//! # Ok::<(), iowhy_read::Error>(())
//! ```
//!
//! **Must never know:** live, probe, diagnose, show; a clock, a file system, the environment;
//! one format never knows another.

#![forbid(unsafe_code)]

mod counters;
mod describe;
mod drive;
mod error;
mod facts;
mod fio;
mod format;
mod formats;
mod histogram;
mod index;
mod listing;
mod program;
mod reader;
mod scan;
mod text;
mod trace;
mod unsupported;

pub use counters::diskstats;
pub use counters::mountstats;
pub use describe::user::{FormatsError, OWN_FORMATS, formats_of};
pub use error::Error;
pub use format::{Body, Format, Formats};
pub use formats::{FORMATS, blktrace, find, log_examples};
pub use histogram::buckets::histogram_of;
pub use histogram::literal_records::{LiteralRecord, LiteralRecords};
pub use index::may_begin;
pub use iowhy_model::{device_name, device_of_numbers};
pub use reader::{Binary, BlockSize, Detect, Reader, Scan, Step};
pub use scan::scan;
pub use text::lines::LINE_LIMIT;
pub use text::numbers::{bytes, decimal, fixed, integer};
pub use text::wall_time::WallTime;
