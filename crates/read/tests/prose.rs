//! Texts that look like the beginning of a listing and are none: `prose.txt`, blank lines between.

use iowhy_model::Recording;
use iowhy_read::{Error, scan};

#[test]
fn what_looks_like_a_listing_and_is_none_is_prose() {
    let texts = include_str!("prose.txt").split("\n\n").map(|text| {
        let of_text = text.lines().skip_while(|line| line.starts_with("# ") && !is_metric(line));
        of_text.map(|line| format!("{line}\n")).collect::<String>()
    });
    let texts: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
    assert!(texts.len() > 30, "{}", texts.len());
    let is_read = |text: &&String| {
        let outcome = scan("prose", &mut text.as_bytes(), None, &mut Recording::new());
        !matches!(outcome, Err(Error::Nothing { .. }))
    };
    let read: Vec<&String> = texts.iter().filter(is_read).collect();
    assert!(read.is_empty(), "{read:#?}");
}

/// A comment of Prometheus' text format.
fn is_metric(line: &str) -> bool {
    line.starts_with("# TYPE ")
}
