//! Every view on reports made by hand, compared with what a person looked at and accepted.
//!
//! `UPDATE_GOLDEN=1 cargo test -p iowhy-show` accepts what is drawn now.

use iowhy_model::Report;
use iowhy_show::{Colour, Palette, Style, VIEWS};

use crate::accepted::check;
use crate::reports;

fn drawn(view: &str, report: &Report, style: &Style) -> String {
    let mut out = Vec::new();
    let view = VIEWS.iter().find(|known| known.name == view).expect(view);
    (view.write)(report, style, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn style(width: usize, colour: Colour) -> Style {
    let height = if width > 100 { 40 } else { 24 };
    Style { width, height, colour, unicode: colour != Colour::None, ..Style::plain() }
}

#[test]
fn views_look_as_accepted() {
    let cases: &[(&str, &str, Report)] = &[
        ("summary", "dusty", reports::dusty()),
        ("summary", "empty", reports::empty()),
        ("summary", "hostile", reports::hostile::hostile()),
        ("summary", "many", reports::many::many()),
        ("table", "dusty", reports::dusty()),
        ("table", "live", reports::live()),
        ("histogram", "dusty", reports::dusty()),
        ("histogram", "live", reports::live()),
        ("events", "dusty", reports::dusty()),
        ("heatmap", "trace", reports::trace()),
        ("heatmap", "gapped", reports::gapped()),
        ("json", "dusty", reports::dusty()),
        ("hist-csv", "dusty", reports::dusty()),
        ("hist-json", "dusty", reports::dusty()),
        ("stat-csv", "live", reports::live()),
        ("stat-json", "live", reports::live()),
        ("events-json", "dusty", reports::dusty()),
        ("biosnoop-text", "dusty", reports::dusty()),
        ("blkparse-text", "dusty", reports::dusty()),
        ("fio-iolog", "dusty", reports::dusty()),
        ("events-csv", "dusty", reports::dusty()),
        ("heatmap-csv", "gapped", reports::gapped()),
        ("heatmap-svg", "gapped", reports::gapped()),
        ("pylatencymap-records", "gapped", reports::gapped()),
    ];
    for (view, what, report) in cases {
        let on_paper = !["iolog", "json", "csv", "svg", "records", "text"]
            .iter()
            .any(|end| view.ends_with(end));
        if !on_paper {
            check(&format!("{view}--{what}.txt"), &drawn(view, report, &Style::plain()));
            continue;
        }
        for (width, colour, suffix) in [
            (40, Colour::None, "40-none"),
            (80, Colour::None, "80-none"),
            (80, Colour::Ansi16, "80-16"),
            (80, Colour::Ansi256, "80-256"),
            (120, Colour::True, "120-true"),
        ] {
            let text = drawn(view, report, &style(width, colour));
            check(&format!("{view}--{what}--{suffix}.txt"), &text);
        }
    }
}

#[test]
fn all_there_is_looks_as_accepted() {
    let verbose = |width, colour| Style { verbose: true, ..style(width, colour) };
    for (view, what, report) in [
        ("histogram", "live", reports::live()),
        ("summary", "dusty", reports::dusty()),
        ("summary", "hostile", reports::hostile::hostile()),
        ("summary", "many", reports::many::many()),
        ("table", "live", reports::live()),
    ] {
        for (width, colour) in [(80, Colour::None), (120, Colour::True)] {
            let name = format!("{view}--{what}--{width}-verbose.txt");
            check(&name, &drawn(view, &report, &verbose(width, colour)));
        }
    }
    let classic = Style { palette: Palette::Classic, ..style(100, Colour::Ansi256) };
    check("heatmap--trace--classic.txt", &drawn("heatmap", &reports::trace(), &classic));
}

/// The numbers of iostat's own row for this load, 2 decimals, in one line.
#[test]
fn numbers_are_rounded_as_iostat_rounds_them() {
    let text = drawn("table", &reports::dusty(), &Style { width: 200, ..Style::plain() });
    let row = text.lines().find(|line| line.starts_with("sdb")).unwrap();
    for number in ["4.50", "576.00", "434.31", "128.00", "1.98", "100.00"] {
        assert!(row.split_whitespace().any(|cell| cell == number), "{number} in {row}");
    }
}

#[test]
fn the_list_is_sorted_by_name_and_no_name_stands_twice() {
    assert!(VIEWS.windows(2).all(|pair| pair[0].name < pair[1].name));
}
