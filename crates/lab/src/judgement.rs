//! Quality of the verdicts, in one page: blame on the worlds of another author, captures at first
//! meeting, and how often answers at 0.6 or more are right.

use std::collections::BTreeMap;
use std::fmt::Write;

use iowhy_model::STANDS;
use serde_json::Value;

use crate::field::{self, BINS};
use crate::score::{GIVEN, Grade, PublishedCase, published};
use crate::weak::blame::{SHOWN, Shown, WORLDS, World, blame, cleared_wrongly, macro_f1};

/// Collections whose first answers are shown: the last ones.
const LAST: usize = 6;
/// Answers from which on a reason is shown.
const OFTEN: usize = 4;

/// The tables; this many scenarios of each kind of world.
///
/// # Errors
/// If a rendering or a capture is not read.
pub fn judgement(each: usize) -> Result<String, String> {
    let cases = published().map_err(|error| error.to_string())?;
    let mut out = blamed(each)?;
    out.push_str(&met(&cases));
    out.push_str(&first_meetings()?);
    out.push_str(&field::held()?);
    out.push_str(&held_back()?);
    out.push_str(&message(&cases));
    Ok(out)
}

/// Blame, and HEALTHY verdicts over faulty devices.
fn blamed(each: usize) -> Result<String, String> {
    let all = blame(each)?;
    let mut out = format!(
        "## Healthy, load or device, {each} scenarios of each kind of worlds\n\n\
         | shown | macro-F1, nobody overlooks | as felt | bar | HEALTHY headline over faulty \
         devices | as felt | bar |\n\
         | --- | --- | --- | --- | --- | --- | --- |\n"
    );
    for shown in SHOWN {
        let (what, bar) = match shown {
            Shown::Log => ("single I/Os, medium unknown", 0.93),
            Shown::Told => ("single I/Os, medium known", 0.93),
            Shown::Averages => ("iostat, medium unknown", 0.80),
            Shown::Histogram => ("a histogram, medium unknown", 0.60),
        };
        let [plain, felt] = WORLDS.map(|world: World| {
            (macro_f1(&all, world, shown), 100.0 * cleared_wrongly(&all, world, shown))
        });
        let _ = writeln!(
            out,
            "| {what} | {:.3} | {:.3} | {bar} | {:.1} % | {:.1} % | 5 % |",
            plain.0, felt.0, plain.1, felt.1
        );
    }
    Ok(out + "\n")
}

/// The answers to collections when they were first read.
fn met(cases: &[PublishedCase]) -> String {
    let mut collections: Vec<&str> = Vec::new();
    for case in cases.iter().filter(|case| case.met.is_some()) {
        if !collections.contains(&case.collection()) {
            collections.push(case.collection());
        }
    }
    let mut out = String::from(
        "## Captures of strangers, when they were met\n\n\
         | collection | captures | right | admitted | insufficient | wrong | unread |\n\
         | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for collection in &collections[collections.len().saturating_sub(LAST)..] {
        let of: Vec<&PublishedCase> =
            cases.iter().filter(|case| case.collection() == *collection).collect();
        let n = |grade| of.iter().filter(|case| case.met == Some(grade)).count();
        let _ = writeln!(
            out,
            "| {collection} | {} | {} | {} | {} | {} | {} |",
            of.len(),
            n(Grade::Right),
            n(Grade::Admitted),
            n(Grade::Insufficient),
            n(Grade::Wrong),
            n(Grade::Unread)
        );
    }
    out + "\n"
}

/// The grades of a screen: right and useful, right but weak, rightly open, open though the listing
/// decides it, wrong, not read.
const SCREENS: [&str; 6] = ["right", "weak", "admitted", "open", "wrong", "unread"];

/// Grades of screens, and findings at 0.6 or more in them.
fn first_meetings() -> Result<String, String> {
    let answers = field::answers()?;
    let mut collections: Vec<&str> =
        answers.iter().filter_map(|answer| answer["collection"].as_str()).collect();
    collections.dedup();
    let mut out = String::from(
        "## Screens of captures that nobody had seen, graded once\n\n\
         | collection | captures | right and useful | right, but weak | rightly open | open, \
         though answerable | wrong | unread | \
         0.6 or more | mean confidence | on the right side | wrong |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for collection in collections {
        let of: Vec<&Value> = answers.iter().filter(|of| of["collection"] == collection).collect();
        let n = |grade: &str| of.iter().filter(|answer| answer["grade"] == grade).count();
        let _ = write!(out, "| {collection} | {} |", of.len());
        for grade in SCREENS {
            let _ = write!(out, " {} |", n(grade));
        }
        let sure = |answer: &&&Value| answer["confidence"].as_f64().is_some_and(|it| it >= STANDS);
        let message: Vec<&&Value> = of.iter().filter(sure).collect();
        let mean: f64 = message.iter().filter_map(|answer| answer["confidence"].as_f64()).sum();
        let among = |grades: &[&str]| {
            message.iter().filter(|answer| grades.iter().any(|it| answer["grade"] == *it)).count()
        };
        let _ = writeln!(
            out,
            " {} | {:.2} | {} | {} |",
            message.len(),
            mean / message.len().max(1) as f64,
            among(&["right", "weak"]),
            among(&["wrong"])
        );
    }
    Ok(out + "\n")
}

/// What held a first answer back: doubts and limits, and the clauses of those that nothing else
/// did; how many were on the right side, wrong, or better left open.
fn held_back() -> Result<String, String> {
    let mut reasons: BTreeMap<(&str, String), Vec<(&str, f64)>> = BTreeMap::new();
    let answers = field::answers()?;
    for answer in &answers {
        let (Some(verdict), Some(grade), Some(sure)) =
            (answer["verdict"].as_str(), answer["grade"].as_str(), answer["confidence"].as_f64())
        else {
            continue;
        };
        let ledger = answer["ledger"].as_array().map_or(&[][..], Vec::as_slice);
        let mut why = [steps(ledger, "doubt"), steps(ledger, "limit")].concat();
        if why.is_empty() {
            why = steps(ledger, "clause");
        }
        for why in why {
            reasons.entry((verdict, why)).or_default().push((grade, sure));
        }
    }
    let mut out = String::from(
        "## First answers by what held them back\n\n\
         | verdict | doubt, limit or clause | answers | mean confidence | on the right side | \
         wrong | open |\n\
         | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for ((verdict, why), met) in reasons.iter().filter(|(_, met)| met.len() >= OFTEN) {
        let n = |grades: &[&str]| met.iter().filter(|(grade, _)| grades.contains(grade)).count();
        let mean = met.iter().map(|(_, sure)| sure).sum::<f64>() / met.len() as f64;
        let [right, wrong, open] = [n(&["right", "weak"]), n(&["wrong"]), n(&["open", "admitted"])];
        let _ = writeln!(
            out,
            "| {verdict} | {why} | {} | {mean:.2} | {right} | {wrong} | {open} |",
            met.len()
        );
    }
    Ok(out + "\n")
}

/// The steps of a kind in a ledger that moved something, in words; clauses with their weight.
fn steps(ledger: &[Value], kind: &str) -> Vec<String> {
    let of_kind = ledger.iter().filter(|entry| entry["step"] == kind && entry["weight"] != 0.0);
    let words = of_kind.filter_map(|entry| {
        let nats = entry["weight"].as_f64().filter(|_| kind == "clause");
        let nats = nats.map_or(String::new(), |nats| format!(", {nats:.1} nats"));
        Some(format!("{}{nats}", entry["why"].as_str()?))
    });
    words.collect()
}

/// How often what is reported at 0.6 or more of published captures is right, by what was given and
/// by how sure it is reported.
fn message(cases: &[PublishedCase]) -> String {
    let published = cases.iter().filter(|case| case.collection() != "W");
    let answers: Vec<(char, f64, bool)> =
        published.filter_map(|case| case.reported().aloud()).collect();
    let mut out = String::from(
        "## Answers to published captures at 0.6 or more, and how many are right (training \
         data)\n\n\
         | given | confidence | answers | mean confidence | right |\n| --- | --- | --- | --- | --- \
         |\n",
    );
    for (given, levels) in GIVEN {
        for bin in BINS.windows(2) {
            let here: Vec<_> = answers
                .iter()
                .filter(|(level, sure, _)| {
                    levels.contains(level) && (bin[0]..bin[1]).contains(sure)
                })
                .collect();
            if here.is_empty() {
                continue;
            }
            let n = here.len() as f64;
            let sure: f64 = here.iter().map(|(_, sure, _)| sure).sum();
            let right = here.iter().filter(|(_, _, right)| *right).count() as f64;
            let _ = writeln!(
                out,
                "| {given} | {:.1} to {:.1} | {n} | {:.2} | {:.2} |",
                bin[0],
                bin[1].min(1.0),
                sure / n,
                right / n
            );
        }
    }
    out
}
