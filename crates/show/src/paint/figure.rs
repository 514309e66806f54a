//! A drawing in pixels: filled rectangles and short texts, for any painter.

use super::Rgb;

/// The position of a text relative to its point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Anchor {
    /// It begins there.
    Start,
    /// It ends there.
    End,
}

/// Height of the letters, pixels: what both painters draw.
pub(crate) const LETTER: (u32, u32) = (7, 14);

/// One piece of a drawing; later ones are drawn over earlier ones.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Shape {
    /// A rectangle: left, top, width, height.
    Rect(u32, u32, u32, u32, Rgb),
    /// A text: x, middle of its line, what it says.
    Text(u32, u32, Anchor, String, Rgb),
}

/// A drawing.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Figure {
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
    /// The background.
    pub behind: Rgb,
    /// Its pieces.
    pub shapes: Vec<Shape>,
}

impl Figure {
    /// Nothing drawn yet, of no height.
    pub(crate) fn new(width: u32, behind: Rgb) -> Figure {
        Figure { width, height: 0, behind, shapes: Vec::new() }
    }

    /// Adds a rectangle; one without width or height is ignored.
    pub(crate) fn rect(&mut self, place: (u32, u32), size: (u32, u32), colour: Rgb) {
        if size.0 > 0 && size.1 > 0 {
            self.shapes.push(Shape::Rect(place.0, place.1, size.0, size.1, colour));
        }
    }

    /// Adds a text.
    pub(crate) fn text(&mut self, place: (u32, u32), anchor: Anchor, text: &str, colour: Rgb) {
        self.shapes.push(Shape::Text(place.0, place.1, anchor, super::clean(text), colour));
    }
}
