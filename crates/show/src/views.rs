//! The list of views. To add one: its file, its `mod` line, its place in [`VIEWS`]. Code that needs
//! one uses its `VIEW`, so that the compiler knows which there are.

pub mod biosnoop_text;
pub mod blkparse_text;
pub mod events;
pub mod events_csv;
pub mod events_json;
pub mod fio_hist_log;
pub mod fio_iolog;
pub mod heatmap;
pub mod heatmap_csv;
pub mod heatmap_json;
pub mod heatmap_png;
pub mod heatmap_svg;
pub mod hist_csv;
pub mod hist_json;
pub mod histogram;
pub mod html;
pub mod json;
pub mod parquet;
pub mod pylatencymap_records;
pub mod stat_csv;
pub mod stat_json;
pub mod summary;
pub mod table;

pub use html::{Before, page};

use crate::View;

/// All views, sorted by name.
pub const VIEWS: &[View] = &[
    biosnoop_text::VIEW,
    blkparse_text::VIEW,
    events::VIEW,
    events_csv::VIEW,
    events_json::VIEW,
    fio_hist_log::VIEW,
    fio_iolog::VIEW,
    heatmap::VIEW,
    heatmap_csv::VIEW,
    heatmap_json::VIEW,
    heatmap_png::VIEW,
    heatmap_svg::VIEW,
    hist_csv::VIEW,
    hist_json::VIEW,
    histogram::VIEW,
    html::VIEW,
    json::VIEW,
    parquet::VIEW,
    pylatencymap_records::VIEW,
    stat_csv::VIEW,
    stat_json::VIEW,
    summary::VIEW,
    table::VIEW,
];

pub use table::TableStream;
