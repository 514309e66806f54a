//! Draws a [`Report`](iowhy_model::Report): tables, histograms, heat maps, the verdict, JSON.
//!
//! **Must never know:** read, live, diagnose; where the report came from; the terminal it is
//! drawn on beyond its [`Style`].

mod view;

pub use view::{Colour, Style, View};
