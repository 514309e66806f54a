//! What can be watched on this machine, and what is missing.

/// One thing that was tried.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Check {
    /// What was looked for: `kernel types (BTF)`.
    pub what: String,
    /// Whether it is there.
    pub ok: bool,
    /// Whether tracing is impossible without it.
    pub needed: bool,
    /// What was found.
    pub detail: String,
    /// What cannot be done without it and what to do about it; empty if it is there.
    pub consequence: String,
}

/// Examines this machine.
pub fn examine() -> Vec<Check> {
    Vec::new()
}
