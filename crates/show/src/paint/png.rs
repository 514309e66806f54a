//! Paints a figure as PNG, two pixels for each of the figure's, with text in Roboto Mono.

use std::io::{self, Write};

use ab_glyph::{Font, FontRef, Glyph, PxScale, ScaleFont, point};

use super::Rgb;
use super::figure::{Anchor, Figure, LETTER, Shape};

/// Roboto Mono Regular, Apache-2.0; `fonts/README.md` shows what is left out.
const FONT: &[u8] = include_bytes!("../../fonts/RobotoMono-Latin.ttf");
/// Pixels for each of the number's, so that text is sharp on a dense screen.
const SCALE: u32 = 2;
/// Most pixels painted: a larger figure gets one pixel for each of its own, and is cut beyond.
const PIXELS: u64 = 100_000_000;

/// Writes the number.
///
/// # Errors
/// If the writer fails.
pub(crate) fn png(figure: &Figure, out: &mut dyn Write) -> io::Result<()> {
    let (width, height) = (figure.width.max(1), figure.height.max(1));
    let pixels = u64::from(width) * u64::from(height);
    let scale = if pixels * u64::from(SCALE * SCALE) <= PIXELS { SCALE } else { 1 };
    let height = height.min((PIXELS / u64::from(width)) as u32).max(1);
    let mut canvas = Canvas::new(width * scale, height * scale, scale, figure.behind)?;
    for shape in &figure.shapes {
        match shape {
            Shape::Rect(x, y, w, h, colour) => canvas.fill(*x, *y, *w, *h, *colour),
            Shape::Text(x, y, anchor, text, colour) => canvas.text(*x, *y, *anchor, text, *colour),
        }
    }
    let mut encoder = png::Encoder::new(out, canvas.width, canvas.height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().map_err(of_writer)?;
    writer.write_image_data(&canvas.pixels).map_err(of_writer)?;
    writer.finish().map_err(of_writer)
}

/// The error of the writer, unchanged.
fn of_writer(error: png::EncodingError) -> io::Error {
    match error {
        png::EncodingError::IoError(error) => error,
        other => io::Error::other(other),
    }
}

struct Canvas {
    width: u32,
    height: u32,
    scale: u32,
    /// Red, green, blue, row by row.
    pixels: Vec<u8>,
    font: FontRef<'static>,
    size: PxScale,
}

impl Canvas {
    fn new(width: u32, height: u32, scale: u32, Rgb(r, g, b): Rgb) -> io::Result<Canvas> {
        let font = FontRef::try_from_slice(FONT).map_err(io::Error::other)?;
        // The size at which a letter is as wide as the number reckons.
        let wide = font.as_scaled(PxScale::from(1.0)).h_advance(font.glyph_id('0'));
        let size = PxScale::from((LETTER.0 * scale) as f32 / wide);
        let pixels = [r, g, b].repeat(width as usize * height as usize);
        Ok(Canvas { width, height, scale, pixels, font, size })
    }

    /// A rectangle, in the number's pixels.
    fn fill(&mut self, x: u32, y: u32, w: u32, h: u32, Rgb(r, g, b): Rgb) {
        let at = |place: u32, end: u32| place.saturating_mul(self.scale).min(end) as usize;
        let across = 3 * at(x, self.width)..3 * at(x.saturating_add(w), self.width);
        let row = 3 * self.width as usize;
        for line in at(y, self.height)..at(y.saturating_add(h), self.height) {
            let start = row * line;
            if let Some(line) = self.pixels.get_mut(start + across.start..start + across.end) {
                line.chunks_exact_mut(3).for_each(|pixel| pixel.copy_from_slice(&[r, g, b]));
            }
        }
    }

    /// A text, its middle at `y`, in the number's pixels.
    fn text(&mut self, x: u32, y: u32, anchor: Anchor, text: &str, colour: Rgb) {
        let wide = text.chars().count() as u32 * LETTER.0;
        let left = if anchor == Anchor::End { x.saturating_sub(wide) } else { x };
        // As in the SVG: the base line is a third of a line's height below its middle.
        let base = (y * self.scale) as f32 + (LETTER.1 * self.scale) as f32 / 3.0;
        for (place, letter) in text.chars().enumerate() {
            let mut id = self.font.glyph_id(letter);
            if id.0 == 0 {
                id = self.font.glyph_id('?');
            }
            let x = ((left + place as u32 * LETTER.0) * self.scale) as f32;
            self.letter(id.with_scale_and_position(self.size, point(x, base)), colour);
        }
    }

    fn letter(&mut self, glyph: Glyph, Rgb(r, g, b): Rgb) {
        let Some(outline) = self.font.outline_glyph(glyph) else { return };
        let corner = outline.px_bounds().min;
        let (width, height) = (i64::from(self.width), i64::from(self.height));
        let pixels = &mut self.pixels;
        outline.draw(|x, y, covered| {
            let (x, y) = (corner.x as i64 + i64::from(x), corner.y as i64 + i64::from(y));
            if !(0..width).contains(&x) || !(0..height).contains(&y) {
                return;
            }
            let at = 3 * (y * width + x) as usize;
            let Some(pixel) = pixels.get_mut(at..at + 3) else { return };
            let covered = covered.clamp(0.0, 1.0);
            for (old, new) in pixel.iter_mut().zip([r, g, b]) {
                *old = (f32::from(*old) * (1.0 - covered) + f32::from(new) * covered).round() as u8;
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(figure: &Figure) -> (u32, u32, Vec<u8>) {
        let mut file = Vec::new();
        png(figure, &mut file).unwrap();
        let mut reader = png::Decoder::new(io::Cursor::new(file)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        (info.width, info.height, pixels)
    }

    #[test]
    fn rectangles_and_letters_are_where_the_figure_has_them() {
        let mut figure = Figure::new(40, Rgb(0, 0, 0));
        figure.height = 20;
        figure.rect((2, 3), (4, 5), Rgb(200, 0, 0));
        figure.text((39, 10), Anchor::End, "µI", Rgb(0, 255, 0));
        let (width, height, pixels) = decoded(&figure);
        assert_eq!((width, height), (80, 40));
        let at = |x: usize, y: usize| &pixels[3 * (80 * y + x)..][..3];
        assert_eq!(
            (at(3, 6), at(4, 6), at(11, 15), at(12, 15)),
            (
                [0, 0, 0].as_slice(),
                [200, 0, 0].as_slice(),
                [200, 0, 0].as_slice(),
                [0, 0, 0].as_slice(),
            )
        );
        // Two letters of seven pixels end at 39: the green lies between 25 and 39, in both.
        let green = |x: usize| (0..40).any(|y| at(x, y)[1] > 128);
        assert!((50..64).any(green) && (64..78).any(green));
        assert!(!(0..50).any(green) && !(78..80).any(green));
    }

    #[test]
    fn a_figure_too_large_for_memory_is_cut() {
        let mut figure = Figure::new(10_000, Rgb(1, 2, 3));
        figure.height = 1_000_000;
        let mut file = Vec::new();
        png(&figure, &mut file).unwrap();
        let reader = png::Decoder::new(io::Cursor::new(file)).read_info().unwrap();
        assert_eq!((reader.info().width, reader.info().height), (10_000, 10_000));
    }
}
