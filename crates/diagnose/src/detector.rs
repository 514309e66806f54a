//! What a detector is.

/// A detector of the list in `detectors.rs`: states one accusation.
#[derive(Clone, Copy)]
pub struct Detector {
    /// The verdict it states, such as `device.retry`.
    pub name: &'static str,
    /// The accusation, in a line.
    pub summary: &'static str,
    /// The source text of its file, whose header is its manual.
    pub manual: &'static str,
}
