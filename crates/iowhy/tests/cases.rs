//! Runs every story under `tests/cases/`: input, command, expected verdict; each is a test of its
//! own.
//!
//! A `case.md` shows the story, then names the command under `## Command` and what must come out
//! under `## Expected`, one statement a line:
//!
//! - `first VERDICT DEVICE`: the best finding (`-`: no device or any unnamed one, `*`: any);
//! - `found VERDICT DEVICE`: some finding;
//! - `never PREFIX DEVICE`: no finding above the reporting bar whose verdict begins so, unless a
//!   more specific one explains it;
//! - `confidence VERDICT AT-LEAST`;
//! - `evidence VERDICT UNIT LOW HIGH`: some evidence in that unit lies between the two;
//! - `says VERDICT PATTERN`: the sentence contains one of the alternatives (`a|b`);
//! - `silent VERDICT PATTERN`: no sentence of that verdict holds any of them;
//! - `status N`: the exit status;
//! - `explains SIDE VERDICT`: of a comparison, the side (`a`, `b`, `both`) whose verdict explains
//!   it;
//! - `differs GROUP QUANTITY LOW HIGH`: the group (blanks as `_`) differs by more than chance in
//!   the quantity that begins so, B over A between the two (`0 0`: one side has none).
//!
//! The findings of a comparison are the verdicts of both sides.

#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use libtest_mimic::{Arguments, Trial};
use serde_json::Value;

/// Below this a finding is a mention, not an accusation (docs/METHOD.md, 11 Confidence).
const ACCUSES: f64 = 0.6;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let entries = std::fs::read_dir(&folder).expect("the folder of cases").flatten();
    let mut cases: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    cases.sort();
    let trials = cases.into_iter().map(|case| {
        let name = case.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Trial::test(name, move || match &run(&case)[..] {
            [] => Ok(()),
            wrong => Err(wrong.join("\n").into()),
        })
    });
    let trials: Vec<Trial> = trials.collect();
    assert!(trials.len() >= 8, "cases are missing from {}", folder.display());
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn run(case: &Path) -> Vec<String> {
    let name = case.file_name().unwrap().to_string_lossy().into_owned();
    let story = std::fs::read_to_string(case.join("case.md")).unwrap();
    let command = section(&story, "Command");
    let words: Vec<&str> = command[0].split_whitespace().skip(1).collect();
    let output = Command::new(env!("CARGO_BIN_EXE_iowhy"))
        .args(words)
        .current_dir(case)
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let Ok(report) = serde_json::from_str::<Value>(&text) else {
        return vec![format!(
            "{name}: no JSON: {text} {}",
            String::from_utf8_lossy(&output.stderr)
        )];
    };
    let status = output.status.code().unwrap();
    let expected = section(&story, "Expected");
    if expected.is_empty() {
        return vec![format!("{name}: nothing stands under `## Expected`")];
    }
    let wrong = expected.iter().filter(|line| !holds(line, &report, status));
    wrong
        .map(|line| format!("{name}: {line}\n    got {}", brief(&report, status)))
        .chain(unaccounted(&report).into_iter().map(|sum| format!("{name}: ledger of {sum}")))
        .collect()
}

/// What a second computation may differ by: it adds the clauses up one by one and not at once, and
/// `serde_json` reads a number to within its last digit. The test of the ledgers themselves is
/// `lab/tests/score.rs`.
const LAST_DIGITS: f64 = 1e-12;

/// Each finding whose ledger, computed a second time, does not give the confidence beside it.
fn unaccounted(report: &Value) -> Vec<String> {
    let sums = findings(report).into_iter().filter_map(|finding| {
        let shown = finding["confidence"].as_f64()?;
        let steps = finding["ledger"].as_array()?.iter();
        let sum = steps.fold(0.0, |p: f64, step| {
            let weight = step["weight"].as_f64().unwrap();
            match step["step"].as_str().unwrap() {
                "clause" => 1.0 / (1.0 + ((1.0 - p) / p) * (-weight).exp()),
                "doubt" | "limit" => p.min(weight),
                "floor" => p.max(weight),
                "factor" => p * weight,
                _ => weight,
            }
        });
        ((shown - sum).abs() > LAST_DIGITS)
            .then(|| format!("{}: {shown}, {sum}", finding["verdict"]))
    });
    sums.collect()
}

fn section<'a>(story: &'a str, heading: &str) -> Vec<&'a str> {
    let (_, rest) = story.split_once(&format!("## {heading}\n")).unwrap();
    rest.lines()
        .take_while(|line| !line.starts_with("## "))
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect()
}

fn holds(line: &str, report: &Value, status: i32) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let findings = findings(report);
    let of =
        |verdict: &str| findings.iter().filter(|f| f["verdict"] == verdict).collect::<Vec<_>>();
    let number = |word: usize| words[word].parse::<f64>().unwrap();
    match words[0] {
        "first" => {
            findings.first().is_some_and(|f| f["verdict"] == words[1] && device_is(f, words[2]))
        }
        "found" => of(words[1]).iter().any(|f| device_is(f, words[2])),
        "never" => !findings.iter().any(|f| {
            f["verdict"].as_str().unwrap().starts_with(words[1])
                && device_is(f, words[2])
                && f["explained_by"].is_null()
                && f["confidence"].as_f64().unwrap() >= ACCUSES
        }),
        "confidence" => of(words[1]).iter().any(|f| f["confidence"].as_f64().unwrap() >= number(2)),
        "evidence" => of(words[1]).iter().any(|f| {
            f["evidence"].as_array().unwrap().iter().any(|e| {
                e["unit"] == words[2]
                    && (number(3)..=number(4)).contains(&e["value"].as_f64().unwrap())
            })
        }),
        "says" | "silent" => {
            let wanted = line.splitn(3, ' ').nth(2).unwrap();
            let says = of(words[1]).iter().any(|f| {
                let sentence = f["sentence"].as_str().unwrap();
                wanted.split('|').any(|part| sentence.contains(part))
            });
            says == (words[0] == "says")
        }
        "explains" => {
            let by = &report["explained_by"];
            by["side"] == words[1] && by["verdict"] == words[2]
        }
        "differs" => report["differences"].as_array().unwrap().iter().any(|one| {
            let ratio = one["ratio"].as_f64().unwrap_or(0.0);
            one["group"].as_str().unwrap().replace(' ', "_") == words[1]
                && one["quantity"].as_str().unwrap().starts_with(words[2])
                && one["differs"] == true
                && (number(3)..=number(4)).contains(&ratio)
        }),
        "status" => status == words[1].parse::<i32>().unwrap(),
        other => panic!("unknown statement `{other}`"),
    }
}

fn findings(report: &Value) -> Vec<&Value> {
    let of = |list: &'static str, key: &'static str| {
        let side = if list.is_empty() { report } else { &report[list] };
        side[key].as_array().into_iter().flatten()
    };
    of("", "findings").chain(of("a", "verdicts")).chain(of("b", "verdicts")).collect()
}

fn device_is(finding: &Value, wanted: &str) -> bool {
    match wanted {
        "*" => true,
        "-" => finding["device"].as_str().is_none_or(|name| name.is_empty() || name == "-"),
        name => finding["device"] == name,
    }
}

fn brief(report: &Value, status: i32) -> String {
    let findings: Vec<String> = findings(report)
        .into_iter()
        .map(|f| {
            format!(
                "{} {} C={} E={}",
                f["verdict"], f["device"], f["confidence"], f["explained_share"]
            )
        })
        .collect();
    format!("status {status}; {}", findings.join("; "))
}
