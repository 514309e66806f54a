//! The list of views. To add one: its file, its `mod` line, its place in [`VIEWS`].

mod biosnoop_text;
mod events;
mod events_csv;
mod events_json;
mod fio_hist_log;
mod heatmap;
mod heatmap_csv;
mod heatmap_json;
mod heatmap_png;
mod heatmap_svg;
mod hist_json;
mod histogram;
mod html;
mod json;
mod parquet;
mod pylatencymap_records;
mod stat_json;
mod summary;
mod table;

pub use html::{Before, page};

use crate::View;

/// All views, sorted by name.
pub const VIEWS: &[View] = &[
    biosnoop_text::VIEW,
    events::VIEW,
    events_csv::VIEW,
    events_json::VIEW,
    fio_hist_log::VIEW,
    heatmap::VIEW,
    heatmap_csv::VIEW,
    heatmap_json::VIEW,
    heatmap_png::VIEW,
    heatmap_svg::VIEW,
    hist_json::VIEW,
    histogram::VIEW,
    html::VIEW,
    json::VIEW,
    parquet::VIEW,
    pylatencymap_records::VIEW,
    stat_json::VIEW,
    summary::VIEW,
    table::VIEW,
];

pub use table::TableStream;

/// The view of a given name.
pub fn find(name: &str) -> Option<&'static View> {
    VIEWS.iter().find(|view| view.name == name)
}
