//! Published captures with known causes, judged beside the simulated ones.

/// A published capture.
#[derive(Clone, Copy, Debug)]
pub struct Published {
    /// Its number in the list of cases.
    pub name: &'static str,
}

/// All of them.
pub fn published() -> &'static [Published] {
    &[]
}
