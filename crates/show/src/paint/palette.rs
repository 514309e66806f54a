//! Colours of a heat map: each step is lighter (or hotter) than the one before it.

use super::Rgb;

/// The colours of a heat map.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Palette {
    /// Dark to light in even steps, blue to yellow and plum to sand: legible to the colour-blind
    /// and when printed in grey.
    #[default]
    Even,
    /// The blue and yellow-red of PyLatencyMap, on white, in seven steps.
    Classic,
}

/// The way from nothing to the most.
#[derive(Clone, Copy, Debug)]
pub struct Ramp {
    empty: Rgb,
    anchors: &'static [Rgb],
    basic: &'static [Rgb],
    /// Whether a colour is one of the anchors, never in between.
    stepped: bool,
}

/// Chosen so that the lightness L* rises from 36 to 91 in about equal steps while blue gives way
/// to yellow, the axis that the common colour blindnesses keep (a test contains the order). The
/// first is seen on the ground: a single slow I/O is what a map is looked at for.
const SEA: &[Rgb] = &[
    Rgb(44, 87, 131),
    Rgb(62, 119, 139),
    Rgb(106, 148, 129),
    Rgb(157, 176, 110),
    Rgb(206, 203, 97),
    Rgb(253, 230, 92),
];
/// As above, plum to sand.
const EMBER: &[Rgb] = &[
    Rgb(154, 41, 75),
    Rgb(196, 66, 63),
    Rgb(226, 102, 54),
    Rgb(241, 145, 60),
    Rgb(248, 187, 96),
    Rgb(253, 228, 140),
];
/// The background codes 51 45 39 33 27 21 of PyLatencyMap 1.3 (docs/METHOD.md, 16).
const CLASSIC_BLUE: &[Rgb] = &[
    Rgb(0, 255, 255),
    Rgb(0, 215, 255),
    Rgb(0, 175, 255),
    Rgb(0, 135, 255),
    Rgb(0, 95, 255),
    Rgb(0, 0, 255),
];
/// The background codes 226 220 214 208 202 196 of PyLatencyMap 1.3 (docs/METHOD.md, 16).
const CLASSIC_RED: &[Rgb] = &[
    Rgb(255, 255, 0),
    Rgb(255, 215, 0),
    Rgb(255, 175, 0),
    Rgb(255, 135, 0),
    Rgb(255, 95, 0),
    Rgb(255, 0, 0),
];
/// Blue, cyan, bright cyan, yellow, bright yellow: of the sixteen of ANSI those that rise in
/// lightness; the letters' density carries the rest.
const BASIC_SEA: &[Rgb] =
    &[Rgb(92, 92, 255), Rgb(0, 205, 205), Rgb(0, 255, 255), Rgb(205, 205, 0), Rgb(255, 255, 0)];
/// As above: magenta, red, bright red, yellow, bright yellow.
const BASIC_EMBER: &[Rgb] =
    &[Rgb(205, 0, 205), Rgb(205, 0, 0), Rgb(255, 0, 0), Rgb(205, 205, 0), Rgb(255, 255, 0)];
/// Watched, and nothing came: darker than the first step, lighter than black canvas.
const EMPTY: Rgb = Rgb(24, 26, 34);
/// Code 15 of PyLatencyMap.
const CLASSIC_EMPTY: Rgb = Rgb(255, 255, 255);

impl Palette {
    /// Colours for how many.
    pub fn frequency(self) -> Ramp {
        match self {
            Palette::Even => Ramp { empty: EMPTY, anchors: SEA, basic: BASIC_SEA, stepped: false },
            Palette::Classic => Ramp {
                empty: CLASSIC_EMPTY,
                anchors: CLASSIC_BLUE,
                basic: BASIC_SEA,
                stepped: true,
            },
        }
    }

    /// Colours for how much time.
    pub fn intensity(self) -> Ramp {
        match self {
            Palette::Even => {
                Ramp { empty: EMPTY, anchors: EMBER, basic: BASIC_EMBER, stepped: false }
            }
            Palette::Classic => Ramp {
                empty: CLASSIC_EMPTY,
                anchors: CLASSIC_RED,
                basic: BASIC_EMBER,
                stepped: true,
            },
        }
    }
}

impl Ramp {
    /// The colour of a value from 0 (nothing) to 1 (the most).
    pub fn at(&self, value: f64) -> Rgb {
        if value.is_nan() || value <= 0.0 {
            return self.empty;
        }
        let way = value.min(1.0) * (self.anchors.len() - 1) as f64;
        let way = if self.stepped { way.round() } else { way };
        let from = (way as usize).min(self.anchors.len() - 2);
        let (a, b) = (self.anchors[from], self.anchors[from + 1]);
        let part = way - from as f64;
        let mix =
            |x: u8, y: u8| (f64::from(x) + (f64::from(y) - f64::from(x)) * part).round() as u8;
        Rgb(mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2))
    }

    /// The same where there are only the sixteen of ANSI.
    pub fn basic(&self, value: f64) -> Rgb {
        if value.is_nan() || value <= 0.0 {
            return self.empty;
        }
        let step = (value.min(1.0) * self.basic.len() as f64).ceil() as usize;
        self.basic.get(step.max(1) - 1).copied().unwrap_or(self.empty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance of sRGB (WCAG 2.1).
    fn luminance(Rgb(r, g, b): Rgb) -> f64 {
        let linear = |v: u8| {
            let v = f64::from(v) / 255.0;
            if v <= 0.03928 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
    }

    /// Lightness L* of CIE 1976.
    fn lightness(rgb: Rgb) -> f64 {
        116.0 * luminance(rgb).cbrt() - 16.0
    }

    #[test]
    fn more_is_lighter_in_even_steps() {
        for ramp in [Palette::Even.frequency(), Palette::Even.intensity()] {
            let steps: Vec<f64> =
                (1..=6).map(|k| lightness(ramp.at(f64::from(k - 1).max(0.01) / 5.0))).collect();
            for pair in steps.windows(2) {
                assert!((8.0..24.0).contains(&(pair[1] - pair[0])), "{steps:?}");
            }
            assert!(lightness(ramp.at(0.0)) < steps[0]);
            let [few, none] = [ramp.at(1e-3), ramp.at(0.0)].map(|rgb| luminance(rgb) + 0.05);
            assert!(few / none > 2.0, "the lowest colour has a contrast of {} only", few / none);
        }
    }

    #[test]
    fn nothing_and_nonsense_are_empty() {
        let ramp = Palette::Classic.intensity();
        assert_eq!(ramp.at(f64::NAN), Rgb(255, 255, 255));
        assert_eq!(ramp.at(0.0), Rgb(255, 255, 255));
        assert_eq!(ramp.at(1e-9), Rgb(255, 255, 0));
        assert_eq!(ramp.at(9.0), Rgb(255, 0, 0));
    }
}
