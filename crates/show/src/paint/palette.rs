//! Colours of a heat map.

/// The colours of a heat map.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Palette {
    /// Dark to light, of even steps also for the colour-blind.
    #[default]
    Even,
    /// The blue and yellow-red of PyLatencyMap, on white.
    Classic,
}
