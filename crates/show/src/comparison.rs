//! A comparison as text and as JSON (`iowhy.comparison/1`).

use std::io::{self, Write};

use iowhy_model::{ComparedSide, Comparison, Difference, Explanation, Unit};
use serde_json::Value;

use crate::objects::{maybe, number, object};
use crate::paint::{Align, Canvas, Cell, Columns, Line, TextStyle, Tone};
use crate::words::{quantity, share, sureness, three};
use crate::{Style, csv};

/// Rows of what does not differ that are shown without `--verbose`.
const ALIKE: usize = 4;
/// Smallest probability that is printed in digits.
const TINY: f64 = 1e-6;

/// Draws a comparison.
///
/// # Errors
/// If the writer fails.
pub fn text(comparison: &Comparison, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let mut canvas = Canvas::new(style, out);
    let mark = Line::new().with(if style.unicode { "▌ " } else { "| " }, Tone::Accent);
    canvas.paragraph(&mark, &headline(comparison), TextStyle::strong(Tone::Plain))?;
    for (letter, side) in ["A", "B"].iter().zip(&comparison.sides) {
        canvas.blank()?;
        let mark = Line::new().with(&format!("  {letter}  "), Tone::Accent);
        canvas.paragraph(&mark, &said_of(side), TextStyle::from(Tone::Plain))?;
    }
    let (differing, alike): (Vec<&Difference>, Vec<&Difference>) =
        comparison.differences.iter().partition(|one| one.differs);
    canvas.blank()?;
    canvas.heading("What differs")?;
    if differing.is_empty() {
        canvas.line(&Line::new().with("  no significant difference", Tone::Plain))?;
    }
    table(&mut canvas, &differing)?;
    let shown = if style.verbose { alike.len() } else { ALIKE.min(alike.len()) };
    if shown > 0 {
        canvas.blank()?;
        canvas.heading("Not significant or not testable")?;
        table(&mut canvas, alike.get(..shown).unwrap_or_default())?;
    }
    if alike.len() > shown {
        let rest = format!("  and {} more with --verbose", alike.len() - shown);
        canvas.line(&Line::new().with(&rest, Tone::Faint))?;
    }
    canvas.blank()?;
    let how = format!(
        "{} quantities tested; `p` is Holm-corrected; 95 % intervals are from a seeded block \
         bootstrap; `B > A` is how often a value of B exceeds one of A",
        comparison.tests
    );
    canvas.paragraph(&Line::new().with("  ", Tone::Faint), &how, Tone::Faint)
}

/// What explains the difference, in a sentence.
pub(crate) fn headline(comparison: &Comparison) -> String {
    match comparison.explained {
        Explanation::One(side, place) => {
            let name = if side == 0 { "A" } else { "B" };
            let reported = comparison.sides.get(side).and_then(|side| side.verdicts.get(place));
            reported.map_or_else(String::new, |reported| {
                format!(
                    "{} on {name} explains the difference ({} confidence): {}",
                    reported.verdict,
                    share(reported.confidence),
                    reported.sentence
                )
            })
        }
        Explanation::Same(verdict) => {
            format!("both sides have the same verdict, {verdict}: they differ only in degree")
        }
        Explanation::Nothing if comparison.tests == 0 => {
            "nothing to test: the two sides have no quantity in common".to_string()
        }
        Explanation::Nothing => "no significant difference".to_string(),
        Explanation::Unknown => "the two sides differ, but no verdict explains why".to_string(),
    }
}

fn said_of(side: &ComparedSide) -> String {
    let verdict = side.verdicts.first().map_or("no verdict".to_string(), |reported| {
        let device = reported.device.as_ref().map_or(String::new(), |device| format!(" {device}"));
        format!(
            "{}{device}, {} ({})",
            reported.verdict,
            share(reported.confidence),
            sureness(reported.confidence)
        )
    });
    format!("{}: {verdict}", side.name)
}

fn table(canvas: &mut Canvas, rows: &[&Difference]) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let heads = [
        ("", Align::Left),
        ("", Align::Left),
        ("A", Align::Right),
        ("B", Align::Right),
        ("B/A", Align::Right),
        ("95 %", Align::Left),
        ("B > A", Align::Right),
        ("p", Align::Right),
        ("n", Align::Left),
    ];
    let mut columns = Columns::new(&heads).flexible(1).droppable(&[6, 8, 5]).indent(2);
    for one in rows {
        let value = |side: usize| {
            let known = one.values.get(side).copied().flatten();
            known.map_or("-".to_string(), |value| quantity(value, one.unit))
        };
        let range = one
            .interval
            .map_or(String::new(), |(low, high)| format!("{} to {}", three(low), three(high)));
        let plain = |text: String| -> Cell { (text, Tone::Plain.into()) };
        let faint = |text: String| -> Cell { (text, Tone::Faint.into()) };
        columns.row(vec![
            plain(one.group.clone()),
            plain(one.quantity.to_string()),
            plain(value(0)),
            plain(value(1)),
            (
                one.ratio.map_or("-".to_string(), |ratio| quantity(ratio, Unit::Ratio)),
                TextStyle::strong(Tone::Plain),
            ),
            plain(range),
            faint(one.superiority.map_or("-".to_string(), share)),
            faint(one.p.map_or("-".to_string(), chance)),
            faint(format!("{}, {}", one.n[0], one.n[1])),
        ]);
    }
    let width = canvas.width();
    canvas.lines(&columns.lines(width))
}

fn chance(p: f64) -> String {
    match p {
        p if p < TINY => "< 1e-6".to_string(),
        p if p < 0.001 => format!("{p:.0e}"),
        p => three(p),
    }
}

/// Writes a comparison as one JSON object.
///
/// # Errors
/// If the writer fails.
pub fn json(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    let (side, verdict) = match comparison.explained {
        Explanation::One(side, place) => {
            let reported = comparison.sides.get(side).and_then(|side| side.verdicts.get(place));
            (
                if side == 0 { "a" } else { "b" }.into(),
                reported.map(|reported| reported.verdict.name()).into(),
            )
        }
        Explanation::Same(verdict) => ("both".into(), verdict.name().into()),
        Explanation::Nothing | Explanation::Unknown => (Value::Null, Value::Null),
    };
    let whole = object([
        ("schema", "iowhy.comparison/1".into()),
        ("differs", comparison.differences.iter().any(|one| one.differs).into()),
        ("explained_by", object([("side", side), ("verdict", verdict)])),
        ("sentence", headline(comparison).into()),
        ("a", comparison.sides.first().map_or(Value::Null, compared)),
        ("b", comparison.sides.get(1).map_or(Value::Null, compared)),
        ("tests", comparison.tests.into()),
        ("differences", comparison.differences.iter().map(difference).collect()),
    ]);
    serde_json::to_writer_pretty(&mut *out, &whole).map_err(io::Error::from)?;
    writeln!(out)
}

/// Writes the differences as rows.
///
/// # Errors
/// If the writer fails.
pub fn csv(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    let rows: Vec<Value> = comparison.differences.iter().map(difference).collect();
    csv::rows(
        &[
            "group",
            "quantity",
            "unit",
            "a",
            "b",
            "n_a",
            "n_b",
            "ratio",
            "ratio_95",
            "superiority",
            "chance",
            "differs",
        ],
        &rows,
        out,
    )
}

fn compared(side: &ComparedSide) -> Value {
    let verdicts = side.verdicts.iter().map(|reported| {
        object([
            ("verdict", reported.verdict.name().into()),
            ("device", reported.device.clone().into()),
            ("confidence", number(reported.confidence)),
            ("explained_share", number(reported.explained_share)),
            ("stands", reported.stands.into()),
            ("sentence", reported.sentence.clone().into()),
        ])
    });
    object([
        ("name", side.name.clone().into()),
        ("records", side.records.into()),
        ("verdicts", verdicts.collect()),
    ])
}

fn difference(one: &Difference) -> Value {
    let interval = one
        .interval
        .map_or(Value::Null, |(low, high)| Value::Array(vec![number(low), number(high)]));
    object([
        ("group", one.group.clone().into()),
        ("quantity", one.quantity.into()),
        ("unit", one.unit.symbol().into()),
        ("a", maybe(one.values[0])),
        ("b", maybe(one.values[1])),
        ("n_a", one.n[0].into()),
        ("n_b", one.n[1].into()),
        ("ratio", maybe(one.ratio)),
        ("ratio_95", interval),
        ("superiority", maybe(one.superiority)),
        ("chance", maybe(one.p)),
        ("differs", one.differs.into()),
    ])
}
