//! The scenarios as Markdown tables.

use std::fmt::Write;

use iowhy_lab::written::Figure;

use super::{Outcome, Route};

/// All runs, and their summary.
pub fn tables(all: &[Outcome]) -> String {
    let mut out = String::from(
        "| scenario | seed | requests | expected | live | snoop piped | capture | value | \
         reported | truth |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for one in all {
        let reported = Route::ALL.map(|way| cell(one, way));
        let (figure, found, truth) = figures(one);
        let (scenario, seed, requests, expected) =
            (&one.scenario.name, one.seed, one.requests, one.scenario.owes());
        let [live, pipe, capture] = reported;
        let _ = writeln!(
            out,
            "| {scenario} | {seed} | {requests} | {expected} | {live} | {pipe} | {capture} | \
             {figure} | {found} | {truth} |"
        );
    }
    let _ = writeln!(out, "\n{}", sums(all));
    out
}

/// A verdict as a cell: in bold where it is wrong, with a star where it is right but not the one
/// expected.
fn cell(outcome: &Outcome, way: Route) -> String {
    let Some(answer) = outcome.answer(way) else { return "**none**".to_string() };
    let text = format!("{} {:.0} %", answer.verdict, 100.0 * answer.confidence);
    match outcome.right(way) {
        false => format!("**{text}**"),
        true if answer.verdict != outcome.scenario.owes() => format!("{text}*"),
        true => text,
    }
}

/// The value's name, the live verdict's value, and the true one.
fn figures(outcome: &Outcome) -> (&'static str, String, String) {
    let reported = outcome.answer(Route::Live).and_then(|answer| answer.figure);
    let text = |value: Option<f64>, of: &dyn Fn(f64) -> String| value.map_or("-".to_string(), of);
    let (name, of): (_, &dyn Fn(f64) -> String) = match outcome.scenario.figure {
        Figure::None => return ("", String::new(), String::new()),
        Figure::Rpm(_) => ("rpm", &|value| format!("{value:.0}")),
        Figure::Cap(_) => ("per second", &|value| format!("{value:.0}")),
        Figure::Added => ("ms added", &|value| format!("{value:.2}")),
    };
    (name, text(reported, of), text(outcome.truth, of))
}

fn sums(all: &[Outcome]) -> String {
    let mut out = String::new();
    let n = all.len();
    for (way, words) in Route::ALL.into_iter().zip(["live", "snoop piped", "capture"]) {
        let right = all.iter().filter(|outcome| outcome.right(way)).count();
        let exact = all.iter().filter(|outcome| {
            outcome
                .answer(way)
                .is_some_and(|a| outcome.right(way) && a.verdict == outcome.scenario.owes())
        });
        let share = 100.0 * right as f64 / n.max(1) as f64;
        let exact = exact.count();
        let _ = writeln!(
            out,
            "- {words}: {right} of {n} right ({share:.1} %), {exact} of them the expected verdict"
        );
    }
    let mut names: Vec<&str> =
        all.iter().filter_map(|outcome| outcome.scenario.name.split('/').next()).collect();
    names.dedup();
    let accused: std::collections::BTreeSet<String> = all
        .iter()
        .flat_map(|outcome| {
            let of = outcome.falsely_accused().into_iter();
            of.map(|(_, verdict)| {
                format!("{verdict} in {}:{}", outcome.scenario.name, outcome.seed)
            })
        })
        .collect();
    let accused = match accused.len() {
        0 => "none".to_string(),
        _ => accused.into_iter().collect::<Vec<String>>().join(", "),
    };
    let _ = writeln!(out, "- faults: {} ({})", names.len(), names.join(", "));
    let _ = writeln!(out, "- healthy disks accused, by any path: {accused}");
    out
}
