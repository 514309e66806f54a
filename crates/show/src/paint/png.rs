//! Paints a figure as PNG (ISO/IEC 15948): 24 bits, letters of our own.

use std::io::{self, Write};

use miniz_oxide::deflate::compress_to_vec_zlib;

use super::Rgb;
use super::figure::{Anchor, Figure, LETTER, Shape};
use super::letters::{COLUMNS, ROWS, glyph};

/// Most pixels painted (a figure of 64 devices has about 60 million): beyond, it is cut.
const PIXELS: usize = 100_000_000;
/// Effort of compression, 0 to 10; 6 is zlib's own default.
const EFFORT: u8 = 6;

/// Writes the figure.
///
/// # Errors
/// What the writer says.
pub fn png(figure: &Figure, out: &mut dyn Write) -> io::Result<()> {
    let width = figure.width.max(1) as usize;
    let height = (figure.height.max(1) as usize).min(PIXELS / width).max(1);
    let mut canvas = Canvas { width, height, pixels: vec![figure.behind; width * height] };
    for shape in &figure.shapes {
        match shape {
            Shape::Rect(x, y, w, h, colour) => canvas.fill(*x, *y, *w, *h, *colour),
            Shape::Text(x, y, anchor, text, colour) => canvas.text(*x, *y, *anchor, text, *colour),
        }
    }
    out.write_all(b"\x89PNG\r\n\x1a\n")?;
    let mut head = Vec::new();
    head.extend_from_slice(&(width as u32).to_be_bytes());
    head.extend_from_slice(&(height as u32).to_be_bytes());
    // 8 bits a colour, red green blue, and the only methods there are.
    head.extend_from_slice(&[8, 2, 0, 0, 0]);
    chunk(b"IHDR", &head, out)?;
    let mut rows = Vec::with_capacity(height * (1 + 3 * width));
    for row in canvas.pixels.chunks(width) {
        rows.push(0);
        rows.extend(row.iter().flat_map(|Rgb(r, g, b)| [*r, *g, *b]));
    }
    chunk(b"IDAT", &compress_to_vec_zlib(&rows, EFFORT), out)?;
    chunk(b"IEND", &[], out)
}

struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<Rgb>,
}

impl Canvas {
    fn fill(&mut self, x: u32, y: u32, w: u32, h: u32, colour: Rgb) {
        let across = (x as usize).min(self.width)..((x + w) as usize).min(self.width);
        for row in (y as usize).min(self.height)..((y + h) as usize).min(self.height) {
            let start = row * self.width;
            if let Some(line) = self.pixels.get_mut(start + across.start..start + across.end) {
                line.fill(colour);
            }
        }
    }

    fn text(&mut self, x: u32, y: u32, anchor: Anchor, text: &str, colour: Rgb) {
        let long = text.chars().count() as u32 * LETTER.0;
        let mut left = if anchor == Anchor::End { x.saturating_sub(long) } else { x };
        let top = y.saturating_sub(ROWS as u32 / 2);
        for letter in text.chars() {
            for (row, bits) in glyph(letter).iter().enumerate() {
                for column in (0..COLUMNS).filter(|column| bits >> (COLUMNS - 1 - column) & 1 == 1)
                {
                    self.fill(left + column as u32, top + row as u32, 1, 1, colour);
                }
            }
            left += LETTER.0;
        }
    }
}

fn chunk(kind: &[u8; 4], content: &[u8], out: &mut dyn Write) -> io::Result<()> {
    let length = u32::try_from(content.len()).map_err(io::Error::other)?;
    out.write_all(&length.to_be_bytes())?;
    out.write_all(kind)?;
    out.write_all(content)?;
    let sum = kind.iter().chain(content).fold(u32::MAX, |sum, byte| crc(sum ^ u32::from(*byte)));
    out.write_all(&(!sum).to_be_bytes())
}

/// One byte of the checksum of ISO 3309, low bit first.
fn crc(sum: u32) -> u32 {
    (0..8).fold(sum, |sum, _| if sum & 1 == 1 { sum >> 1 ^ 0xEDB8_8320 } else { sum >> 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_chunk_has_the_checksum_every_png_ends_with() {
        let mut out = Vec::new();
        chunk(b"IEND", &[], &mut out).unwrap();
        assert_eq!(out, [0, 0, 0, 0, b'I', b'E', b'N', b'D', 0xAE, 0x42, 0x60, 0x82]);
    }
}
