//! The line that shows which colour represents which value.

use crate::colour_scale::Scale;
use crate::paint::{Grid, Line, Ramp, TextStyle, Tone, density};
use crate::picture::Measure;
use crate::words::{duration, short};
use crate::{Colour, Style};

/// Steps of the legend, and on narrow canvas.
const STEPS: (usize, usize) = (6, 3);
/// A canvas of fewer columns than this is narrow.
const NARROW: usize = 60;

/// Swatches with their values.
pub(super) fn line(scale: &Scale, ramp: &Ramp, measure: Measure, style: &Style) -> Line {
    let mut line = Line::new().with("  ", Tone::Plain);
    swatch(&mut line, ramp, 0.0, style);
    line.push(" 0 ", Tone::Faint);
    let alike = scale.is_flat();
    let steps = if style.width < NARROW { STEPS.1 } else { STEPS.0 };
    for step in (0..steps).filter(|step| !alike || *step + 1 == steps) {
        let place = step as f64 / (steps - 1) as f64;
        swatch(&mut line, ramp, place.max(1e-3), style);
        let value = scale.value(place);
        let text = match measure {
            _ if value <= 0.0 => ">0".to_string(),
            Measure::Frequency => short(value),
            Measure::Intensity => duration(value * 1e9).replace(' ', ""),
        };
        line.push(&format!(" {text} "), Tone::Faint);
    }
    line.push(measure.unit(), Tone::Faint);
    line
}

fn swatch(line: &mut Line, ramp: &Ramp, place: f64, style: &Style) {
    let ink = TextStyle { behind: Some(ramp.at(place)), ..TextStyle::default() };
    match style.colour {
        Colour::None if place == 0.0 => line.push("blank", Tone::Faint),
        Colour::None => line.push(density(place, style.unicode), Tone::Plain),
        _ if Grid::rows_per_line(style) == 2 => line.push("  ", ink),
        _ if place == 0.0 => line.push("blank", Tone::Faint),
        Colour::Ansi16 => line.push(density(place, style.unicode), Tone::Exact(ramp.basic(place))),
        _ => line.push(density(place, style.unicode), Tone::Exact(ramp.at(place))),
    }
}
