//! From a value to a position between the first and the last colour, and back.

use crate::view::Growth;
use crate::{Palette, Style};

/// Below the largest value by more than this factor all is the first colour: four decades
/// distinguish a single request among ten thousand.
const DECADES: f64 = 1e4;

/// The position of a value between the smallest and the largest cell.
pub(crate) struct Scale {
    least: f64,
    most: f64,
    linear: bool,
}

impl Scale {
    /// The scale of these cells: linear or logarithmic as asked for, else linear for the classic
    /// palette, whose original is, and logarithmic for the other.
    pub(crate) fn of(values: impl Iterator<Item = f64>, style: &Style) -> Scale {
        let (least, most) = values
            .filter(|value| value.is_finite() && *value > 0.0)
            .fold((f64::INFINITY, 0.0f64), |(low, high), v| (low.min(v), high.max(v)));
        let linear = match style.growth {
            Some(growth) => growth == Growth::Linear,
            None => style.palette == Palette::Classic,
        };
        Scale { least: least.max(most / DECADES), most, linear }
    }

    /// 0 for nothing, else above 0 and up to 1.
    pub(crate) fn place(&self, value: f64) -> f64 {
        if value.is_nan() || value <= 0.0 || self.most <= 0.0 {
            return 0.0;
        }
        let place = match self.most / self.least {
            _ if self.linear => value / self.most,
            span if span <= 1.0 => 1.0,
            span => (value.max(self.least) / self.least).ln() / span.ln(),
        };
        place.clamp(1e-3, 1.0)
    }

    /// The value that has a colour.
    pub(crate) fn value(&self, place: f64) -> f64 {
        if self.linear {
            self.most * place
        } else {
            self.least * (self.most / self.least).powf(place)
        }
    }

    /// Whether all cells that are not empty have one value.
    pub(crate) fn is_flat(&self) -> bool {
        self.most <= self.least * 1.001
    }
}
