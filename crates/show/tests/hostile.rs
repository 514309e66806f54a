//! What no view may do: panic, draw beyond its width, print an escape from the input, swallow an
//! error of its writer, or write invalid JSON.

use std::io::{self, Write};

use iowhy_model::{Report, Stage};
use iowhy_show::{Colour, Palette, Style, VIEWS};
use unicode_width::UnicodeWidthStr;

use crate::reports;

const COLOURS: [Colour; 4] = [Colour::None, Colour::Ansi16, Colour::Ansi256, Colour::True];

fn all_reports() -> Vec<(&'static str, Report)> {
    vec![
        ("dusty", reports::dusty()),
        ("live", reports::live()),
        ("gapped", reports::gapped()),
        ("empty", reports::empty()),
        ("hostile", reports::hostile::hostile()),
    ]
}

fn all_styles() -> Vec<Style> {
    let mut styles = Vec::new();
    for width in [0, 1, 7, 20, 40, 80, 120, 400] {
        for colour in COLOURS {
            let base =
                Style { width, colour, unicode: colour >= Colour::Ansi256, ..Style::plain() };
            styles.push(Style {
                verbose: true,
                palette: Palette::Classic,
                height: 0,
                ..base.clone()
            });
            styles.push(Style { stage: Some(Stage::Queue), heading: false, ..base.clone() });
            styles.push(base);
        }
    }
    styles
}

fn drawn(view: &iowhy_show::View, report: &Report, style: &Style) -> String {
    String::from_utf8(bytes(view, report, style)).unwrap()
}

fn bytes(view: &iowhy_show::View, report: &Report, style: &Style) -> Vec<u8> {
    let mut out = Vec::new();
    (view.write)(report, style, &mut out).unwrap();
    out
}

/// Views whose bytes are not text.
const BINARY: [&str; 2] = ["heatmap-png", "parquet"];

/// Whether a view draws on paper; the others write for programs.
fn on_paper(view: &iowhy_show::View) -> bool {
    let endings = [
        "biosnoop-text",
        "blkparse-text",
        "fio-iolog",
        "-csv",
        "-log",
        "-png",
        "-records",
        "-svg",
        "html",
        "parquet",
    ];
    !view.name.contains("json") && !endings.iter().any(|ending| view.name.ends_with(ending))
}

/// The text without the colours we put in.
pub(crate) fn without_colours(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\x1b[") {
        plain.push_str(before);
        let end = after.find('m').expect("an escape of ours ends in m");
        assert!(after[..end].bytes().all(|b| b.is_ascii_digit() || b == b';'), "{after:?}");
        rest = &after[end + 1..];
    }
    plain + rest
}

#[test]
fn no_line_is_wider_than_its_paper() {
    for (name, report) in all_reports() {
        for style in all_styles() {
            for view in VIEWS.iter().filter(|view| on_paper(view)) {
                // Lines for other programs are never cut.
                if view.name == "events" {
                    continue;
                }
                for line in without_colours(&drawn(view, &report, &style)).lines() {
                    let width = line.width();
                    let room = style.width.max(1);
                    assert!(width <= room, "{} of {name} on {room}: {width}: {line:?}", view.name);
                }
            }
        }
    }
}

#[test]
fn no_control_character_gets_through_and_plain_paper_stays_plain() {
    for (name, report) in all_reports() {
        for style in all_styles() {
            for view in VIEWS.iter().filter(|view| !BINARY.contains(&view.name)) {
                let text = drawn(view, &report, &style);
                let text = if style.colour == Colour::None { text } else { without_colours(&text) };
                let bad = text.chars().find(|c| c.is_control() && *c != '\n');
                assert_eq!(bad, None, "{} of {name}", view.name);
                // A page says itself which letters it is written in, and XML is UTF-8.
                let says = ["html", "heatmap-svg"].contains(&view.name);
                if name != "hostile" && !style.unicode && !says {
                    assert!(text.is_ascii(), "{} of {name}: {text}", view.name);
                }
            }
        }
    }
}

#[test]
fn json_is_json_and_numbers_that_are_none_are_null() {
    let mut reported = 0;
    for (name, report) in all_reports() {
        for view in VIEWS.iter().filter(|view| view.name.contains("json")) {
            let text = drawn(view, &report, &Style::plain());
            let values: Result<Vec<serde_json::Value>, _> =
                serde_json::Deserializer::from_str(&text).into_iter().collect();
            let values = values.unwrap_or_else(|error| panic!("{} of {name}: {error}", view.name));
            // Of an empty report a view may show nothing.
            reported += values.len();
            assert!(values.iter().all(|value| value["schema"].is_string()), "{text}");
        }
    }
    assert!(reported > 20, "{reported} values were looked at");
}

/// Accepts this many bytes, then fails.
struct BrokenWriter(usize);

impl Write for BrokenWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0 == 0 {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let taken = bytes.len().min(self.0);
        self.0 -= taken;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_broken_writer_is_reported_wherever_it_breaks() {
    for (name, report) in all_reports() {
        for view in VIEWS {
            let style = Style { colour: Colour::True, unicode: true, ..Style::plain() };
            let whole = bytes(view, &report, &style).len();
            // A picture costs more to draw and breaks at fewer kinds of places.
            let places = if on_paper(view) { 40 } else { 4 };
            for at in (0..whole).step_by((whole / places).max(1)) {
                let outcome = (view.write)(&report, &style, &mut BrokenWriter(at));
                let kind = outcome.map_err(|error| error.kind());
                assert_eq!(kind, Err(io::ErrorKind::BrokenPipe), "{} of {name} at {at}", view.name);
            }
        }
    }
}
