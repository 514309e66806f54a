//! What a view draws: everything known, and everything concluded.

use crate::{Finding, Recording};

/// A recording and the findings about it, in order; complete and immutable.
#[derive(Clone, Debug)]
pub struct Report {
    /// What was read or watched.
    pub recording: Recording,
    /// What was concluded, best first.
    pub findings: Vec<Finding>,
}
