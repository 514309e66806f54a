//! SQL over captures of one host or ten thousand; becomes the binary `iowhy-fleet`.
//!
//! Empty so far. The SQL engine lives here and nowhere else, so that the core binary stays small.
//!
//! **Must never know:** live, probe; the core binary never links it.
