//! Formats that are described, not programmed: the engine that reads a listing by its description,
//! and what the descriptions of several formats share (`drive`, `raid`).

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

pub(crate) mod document;
pub(crate) mod drive;
pub(crate) mod labels;
pub(crate) mod log;
pub(crate) mod pattern;
pub(crate) mod raid;
pub(crate) mod report;
pub(crate) mod table;
pub(crate) mod user;
pub(crate) mod why;

/// Compiled descriptions, each built once and kept as long as the program runs.
pub(crate) struct MadeOnce<R: 'static>(Mutex<Option<HashMap<usize, &'static R>>>);

impl<R> MadeOnce<R> {
    pub(crate) const fn new() -> MadeOnce<R> {
        MadeOnce(Mutex::new(None))
    }

    /// The result of `make` for a description, built on first use.
    pub(crate) fn of<D>(&self, description: &'static D, make: impl FnOnce(&D) -> R) -> &'static R {
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = std::ptr::from_ref(description).addr();
        made.get_or_insert_default()
            .entry(place)
            .or_insert_with(|| Box::leak(Box::new(make(description))))
    }
}
