//! Draws a [`Report`](iowhy_model::Report): tables, histograms, heat maps, the verdict, JSON.
//!
//! **Must never know:** read, live, diagnose; where the report came from; the terminal it is
//! drawn on beyond its [`Style`].

#![forbid(unsafe_code)]

mod cells;
pub mod clock;
mod colour_scale;
pub mod comparison;
pub mod csv;
pub mod device_label;
mod facts;
pub mod incidents;
mod map_choice;
mod map_figure;
mod map_title;
mod objects;
mod paint;
mod parquet;
mod picture;
mod pylatencymap;
mod row_map;
mod scale;
mod sources;
pub mod tables;
pub mod top;
pub mod trend;
mod verdict_figure;
mod view;
pub mod views;
mod words;

pub use map_choice::busiest;
pub use objects::tables as json_tables;
pub use paint::{Colour, Palette, fitted};
pub use parquet::ParquetSink;
pub use pylatencymap::{CumulativeRecord, NewRecords, PylatencymapOptions, PylatencymapRun};
pub use row_map::RowMap;
pub use view::{Growth, Style, View};
pub use views::{Before, TableStream, VIEWS, page};
