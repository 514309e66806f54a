//! The numbers behind a finding, in columns.

use std::io;

use iowhy_model::Order as _;
use iowhy_model::{Evidence, Finding};

use crate::paint::{Align, Canvas, Cell, Columns, Line, TextStyle, Tone};
use crate::sources::file_name;
use crate::words::{bound, count, quantity};

/// From this width on the origins are next to the numbers.
const WIDE: usize = 100;

/// Draws at most `most` numbers; their origin is next to them if there is space, else below.
pub(super) fn write(
    canvas: &mut Canvas,
    finding: &Finding,
    most: usize,
    full: bool,
) -> io::Result<()> {
    let some = chosen(&finding.evidence, most);
    if some.is_empty() {
        return Ok(());
    }
    let places = places(&some);
    let wide = table(canvas, &some, Some(&places), true);
    let beside =
        full && places.len() > 1 && canvas.width() >= WIDE && wide.natural() <= canvas.width();
    let lines = if beside {
        wide.lines(canvas.width())
    } else {
        let numbered = (full && places.len() > 1).then_some(places.as_slice());
        table(canvas, &some, numbered, false).lines(canvas.width())
    };
    canvas.lines(&lines)?;
    if full && !beside {
        for (place, text) in places.iter().enumerate() {
            let number = if places.len() > 1 { format!("[{}] ", place + 1) } else { String::new() };
            let mark = Line::new().with(&format!("  {number}"), Tone::Faint);
            canvas.paragraph(&mark, &format!("from {text}"), Tone::Faint)?;
        }
    }
    let rest = finding.evidence.len().saturating_sub(some.len());
    if rest > 0 {
        let text = format!("  and {rest} more with --verbose");
        canvas.line(&Line::new().with(&text, Tone::Faint))?;
    }
    Ok(())
}

/// The first three numbers, then those that were compared with a threshold, then the rest, as
/// many as fit, in their own order.
fn chosen(evidence: &[Evidence], most: usize) -> Vec<&Evidence> {
    let mut order: Vec<usize> = (0..evidence.len()).collect();
    order.order_by_key(|place| match evidence.get(*place) {
        _ if *place < 3 => 0,
        Some(one) if one.bound.is_some() => 1,
        _ => 2,
    });
    order.truncate(most);
    order.sort_unstable();
    order.into_iter().filter_map(|place| evidence.get(place)).collect()
}

/// Where the numbers were read, each origin once.
fn places(evidence: &[&Evidence]) -> Vec<String> {
    let mut places: Vec<String> = Vec::new();
    for one in evidence {
        let place = file_name(&one.origin.to_string()).to_string();
        if !place.is_empty() && !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

fn table(canvas: &Canvas, some: &[&Evidence], places: Option<&[String]>, spelt: bool) -> Columns {
    // 60: below that the quantity itself no longer has room to be read.
    let roomy = canvas.width() >= 60;
    let mut heads = vec![("", Align::Left), ("value", Align::Right), ("threshold", Align::Left)];
    if roomy {
        heads.extend([("n", Align::Right), ("basis", Align::Left)]);
    }
    if places.is_some() && roomy {
        heads.push(("source", Align::Left));
    }
    let mut columns = Columns::new(&heads).flexible(0).droppable(&[3, 4]).indent(2);
    for one in some {
        let ink = verdict_ink(one);
        let mut cells: Vec<Cell> = vec![
            (one.quantity.clone(), TextStyle::default()),
            (quantity(one.amount.value, one.amount.unit), ink),
            (bound(one.bound, one.amount.unit), Tone::Faint.into()),
        ];
        if roomy {
            cells.push((count(one.n), Tone::Faint.into()));
            cells.push((one.how.word().to_string(), Tone::Faint.into()));
        }
        if let Some(places) = places.filter(|_| roomy) {
            let source = one.origin.to_string();
            let name = file_name(&source);
            let place = places.iter().position(|place| place == name);
            let text = match place {
                Some(_) if spelt => name.to_string(),
                Some(place) => format!("[{}]", place + 1),
                None => String::new(),
            };
            cells.push((text, Tone::Faint.into()));
        }
        columns.row(cells);
    }
    columns
}

/// Bold if the value meets its threshold; marked where it does not.
fn verdict_ink(one: &Evidence) -> TextStyle {
    match one.bound {
        Some(bound) if !bound.holds(one.amount.value) => Tone::Warn.into(),
        Some(_) => TextStyle::strong(Tone::Plain),
        None => TextStyle::default(),
    }
}
