//! A fact with the place where it was read.

use iowhy_model::Fact;

/// A fact and its listing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FactReading<'a> {
    /// The fact as it was read.
    pub fact: &'a Fact,
    /// The index of its listing.
    pub listing: usize,
}

impl<'a> FactReading<'a> {
    /// Its value, if that is a text; else the empty one.
    pub fn text(&self) -> &'a str {
        self.fact.value.text().unwrap_or_default()
    }

    /// Its value as a number in the unit of its type: seconds, bytes, a share of one.
    pub fn number(&self) -> Option<f64> {
        self.fact.value.number()
    }

    /// Where it was read: a file and line, or a path.
    pub fn read_from(&self) -> &'a str {
        &self.fact.read_from
    }
}
