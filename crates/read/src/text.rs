//! Text as people paste it: encodings, lines, text around listings, words, numbers, times, tables.

pub(crate) mod backwards;
pub(crate) mod columns;
pub(crate) mod csv;
pub(crate) mod damage;
pub(crate) mod document;
pub(crate) mod encoding;
pub(crate) mod exposition;
pub(crate) mod guest;
pub(crate) mod invocation;
pub(crate) mod letters;
pub(crate) mod lines;
pub(crate) mod machines;
pub(crate) mod numbers;
pub(crate) mod recent;
pub(crate) mod repair;
pub(crate) mod table;
pub(crate) mod unread;
pub(crate) mod wall_time;
pub(crate) mod words;
pub(crate) mod wrapping;
