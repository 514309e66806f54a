//! Every view on hand-made reports, compared with what a person reviewed and accepted.
//!
//! `UPDATE_GOLDEN=1 cargo test -p iowhy-show` accepts what is drawn now.

use std::collections::BTreeSet;

use iowhy_model::{Bound, Clause, Report};
use iowhy_show::{Colour, Palette, Style, VIEWS};

use crate::accepted::check;
use crate::hostile::without_colours;
use crate::reports;

fn drawn(view: &str, report: &Report, style: &Style) -> String {
    let mut out = Vec::new();
    let view = VIEWS.iter().find(|known| known.name == view).expect(view);
    (view.write)(report, style, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

const WIDTHS: [usize; 3] = [40, 80, 120];

fn style(width: usize, colour: Colour) -> Style {
    Style { width, height: 24, colour, unicode: colour != Colour::None, ..Style::plain() }
}

/// The screens: a view, a report, and its golden.
fn screens() -> Vec<(&'static str, &'static str, Report)> {
    vec![
        ("summary", "dusty", reports::dusty()),
        ("summary", "empty", reports::empty()),
        ("summary", "many", reports::many::many()),
        ("table", "live", reports::live()),
        ("histogram", "dusty", reports::dusty()),
        ("histogram", "live", reports::live()),
        ("events", "dusty", reports::dusty()),
        ("heatmap", "trace", reports::trace()),
        ("heatmap", "gapped", reports::gapped()),
    ]
}

#[test]
fn views_look_as_accepted() {
    for (view, what, report) in screens() {
        check(&format!("{view}--{what}.txt"), &drawn(view, &report, &style(80, Colour::None)));
    }
    for (view, what, report) in [
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
    ] {
        check(&format!("{view}--{what}.txt"), &drawn(view, &report, &Style::plain()));
    }
}

#[test]
fn all_there_is_looks_as_accepted() {
    for (view, what, report) in [
        ("histogram", "live", reports::live()),
        ("summary", "dusty", reports::dusty()),
        ("summary", "many", reports::many::many()),
        ("table", "live", reports::live()),
    ] {
        let verbose = Style { verbose: true, ..style(80, Colour::None) };
        check(&format!("{view}--{what}--verbose.txt"), &drawn(view, &report, &verbose));
    }
}

#[test]
fn colours_look_as_accepted() {
    check(
        "summary--dusty--true.txt",
        &drawn("summary", &reports::dusty(), &style(80, Colour::True)),
    );
    let classic = Style { palette: Palette::Classic, ..style(100, Colour::Ansi256) };
    for (name, style) in [("256", style(80, Colour::Ansi256)), ("classic", classic)] {
        check(&format!("heatmap--trace--{name}.txt"), &drawn("heatmap", &reports::trace(), &style));
    }
}

/// A heat map without colours draws its cells with letters; all other views only gain colours.
#[test]
fn colours_change_no_letter() {
    for (view, what, report) in screens().into_iter().filter(|(view, ..)| *view != "heatmap") {
        for width in WIDTHS {
            let plain = Style { unicode: true, ..style(width, Colour::None) };
            let plain = drawn(view, &report, &plain);
            for colour in [Colour::Ansi16, Colour::Ansi256, Colour::True] {
                let coloured = drawn(view, &report, &style(width, colour));
                assert_eq!(without_colours(&coloured), plain, "{view} {what} {width} {colour:?}");
            }
        }
    }
}

/// More columns hide nothing that fewer columns show.
#[test]
fn wider_screens_show_no_less() {
    let words = |text: &str| -> BTreeSet<String> {
        // What ends in `~` is cut.
        let number =
            |word: &&str| word.contains(|c: char| c.is_ascii_digit()) && !word.ends_with('~');
        // How many columns are hidden is not one of the numbers.
        let lines = text.lines().filter(|line| !line.contains(" more columns are hidden"));
        let words = lines.flat_map(str::split_whitespace);
        words.filter(number).map(ToString::to_string).collect()
    };
    for (view, what, report) in screens().into_iter().filter(|(view, ..)| *view != "heatmap") {
        let shown = WIDTHS.map(|width| words(&drawn(view, &report, &style(width, Colour::None))));
        for (narrow, wide) in shown.iter().zip(&shown[1..]) {
            let hidden: Vec<&String> = narrow.difference(wide).collect();
            assert!(hidden.is_empty(), "{view} {what}: {hidden:?}");
        }
    }
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

/// Only where a rule compares numbers: two empty columns would be noise.
#[test]
fn a_ledger_shows_each_value_beside_its_bound() {
    let ledger = Style { ledger: true, verbose: true, ..style(80, Colour::None) };
    let mut report = reports::dusty();
    let table = |report: &Report| -> String {
        let text = drawn("summary", report, &ledger);
        let (_, rest) = text.split_once("How the confidence was computed").unwrap();
        rest.split("\n\n").next().unwrap().to_string()
    };
    let bare = table(&report);
    assert!(!bare.contains("value") && bare.contains("after"), "{bare}");
    let compared = Some((0.81, Bound::Above(0.3)));
    report.findings[0].weigh([Clause { what: "share of lost time".into(), compared, nats: 1.5 }]);
    let full = table(&report);
    let words: Vec<&str> = full.split_whitespace().collect();
    assert!(words.join(" ").contains("share of lost time 0.810 > 0.300 +1.50 nats"), "{full}");
}

#[test]
fn the_list_is_sorted_by_name_and_no_name_stands_twice() {
    assert!(VIEWS.windows(2).all(|pair| pair[0].name < pair[1].name));
}
