//! From a value to a colour, and the line that says so.

use super::picture::Measure;
use crate::paint::{Grid, Ink, Line, Palette, Ramp, Tone, density};
use crate::words::{duration, short};
use crate::{Colour, Style};

/// Steps of the legend, and on narrow paper.
const STEPS: (usize, usize) = (6, 3);
/// Paper narrower than this is narrow.
const NARROW: usize = 60;
/// Below the largest value by more than this factor all is the first colour: four decades hold
/// a single request among ten thousand apart.
const DECADES: f64 = 1e4;

/// Where a value lies between the smallest and the largest cell.
pub struct Scale {
    least: f64,
    most: f64,
    linear: bool,
}

impl Scale {
    /// The scale of these cells.
    pub fn of(values: impl Iterator<Item = f64>, palette: Palette) -> Scale {
        let (least, most) = values
            .filter(|value| value.is_finite() && *value > 0.0)
            .fold((f64::INFINITY, 0.0f64), |(low, high), v| (low.min(v), high.max(v)));
        Scale { least: least.max(most / DECADES), most, linear: palette == Palette::Classic }
    }

    /// 0 for nothing, else above 0 and up to 1.
    pub fn place(&self, value: f64) -> f64 {
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
    fn value(&self, place: f64) -> f64 {
        if self.linear {
            self.most * place
        } else {
            self.least * (self.most / self.least).powf(place)
        }
    }

    /// Swatches with their values.
    pub fn line(&self, ramp: &Ramp, measure: Measure, style: &Style) -> Line {
        let mut line = Line::new().with("  ", Tone::Plain);
        swatch(&mut line, ramp, 0.0, style);
        line.push(" 0 ", Tone::Faint);
        let alike = self.most <= self.least * 1.001;
        let steps = if style.width < NARROW { STEPS.1 } else { STEPS.0 };
        for step in (0..steps).filter(|step| !alike || *step + 1 == steps) {
            let place = step as f64 / (steps - 1) as f64;
            swatch(&mut line, ramp, place.max(1e-3), style);
            let value = self.value(place);
            let text = match measure {
                _ if value <= 0.0 => ">0".to_string(),
                Measure::Frequency => short(value),
                Measure::Intensity => duration(value * 1e9, style.unicode).replace(' ', ""),
            };
            line.push(&format!(" {text} "), Tone::Faint);
        }
        line.push(measure.unit(), Tone::Faint);
        line
    }
}

fn swatch(line: &mut Line, ramp: &Ramp, place: f64, style: &Style) {
    let ink = Ink { behind: Some(ramp.at(place)), ..Ink::default() };
    match style.colour {
        Colour::None if place == 0.0 => line.push("blank", Tone::Faint),
        Colour::None => line.push(density(place, style.unicode), Tone::Plain),
        _ if Grid::rows_per_line(style) == 2 => line.push("  ", ink),
        _ if place == 0.0 => line.push("blank", Tone::Faint),
        Colour::Ansi16 => line.push(density(place, style.unicode), Tone::Exact(ramp.basic(place))),
        _ => line.push(density(place, style.unicode), Tone::Exact(ramp.at(place))),
    }
}
