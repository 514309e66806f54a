//! How the confidence of a finding was computed, step by step.

use std::io;

use iowhy_model::{Finding, Step};

use crate::paint::{Align, Canvas, Cell, Columns, TextStyle, Tone};
use crate::words::share;

/// Draws the ledger: each step, its reason, what it compared, its weight, the confidence after it.
pub(super) fn write(canvas: &mut Canvas, finding: &Finding) -> io::Result<()> {
    let belief = finding.belief();
    if belief.entries().is_empty() {
        return Ok(());
    }
    canvas.blank()?;
    canvas.heading("How the confidence was computed")?;
    let heads = [
        ("", Align::Left),
        ("why", Align::Left),
        ("value", Align::Right),
        ("bound", Align::Right),
        ("weight", Align::Right),
        ("after", Align::Right),
    ];
    // Most rules compare no number: two empty columns would be noise.
    let any = belief.entries().iter().any(|entry| entry.step.compared().is_some());
    let heads: Vec<_> =
        heads.into_iter().filter(|(head, _)| any || !["value", "bound"].contains(head)).collect();
    let droppable: &[usize] = if any { &[2, 3] } else { &[] };
    let mut columns = Columns::new(&heads).flexible(1).droppable(droppable).indent(2);
    for (place, entry) in belief.entries().iter().enumerate() {
        let mut cells: Vec<Cell> = vec![
            (entry.step.name().to_string(), Tone::Faint.into()),
            (entry.why.to_string(), TextStyle::default()),
        ];
        if any {
            let compared = entry.step.compared();
            let value = compared.map(|(value, _)| format!("{value:.3}")).unwrap_or_default();
            let bound = compared.map(|(_, bound)| bound.to_string()).unwrap_or_default();
            cells.extend([(value, Tone::Faint.into()), (bound, Tone::Faint.into())]);
        }
        cells.push((weight(&entry.step), TextStyle::default()));
        cells.push((share(belief.after(place + 1)), TextStyle::strong(Tone::Plain)));
        columns.row(cells);
    }
    let lines = columns.lines(canvas.width());
    canvas.lines(&lines)
}

/// The number of a step with its unit.
fn weight(step: &Step) -> String {
    match step {
        Step::Prior(p) | Step::Curve(p) => share(*p),
        Step::Clause(clause) => format!("{:+.2} nats", clause.nats),
        Step::Doubt(most) | Step::Limit(most) => format!("at most {}", share(*most)),
        Step::Floor(least) => format!("at least {}", share(*least)),
        Step::Factor(times) => format!("x {times:.2}"),
    }
}
