//! The input of a view: the recording and the findings.

use crate::{Finding, Recording};

/// A recording and the findings about it, in order; complete and immutable.
#[derive(Clone, Debug)]
pub struct Report {
    /// What was read or watched.
    pub recording: Recording,
    /// The findings, best first.
    pub findings: Vec<Finding>,
}
