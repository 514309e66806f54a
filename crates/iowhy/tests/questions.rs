//! The ten questions of the manual, asked of a capture and of a store: each screen answers within
//! ten seconds, at the place that the manual names.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use iowhy_store::Store;
use serde_json::json;

use crate::incidents::{now_ns, seconds, stamp};
use crate::names;
use crate::top::Terminal;

const MANUAL: &str = include_str!("../../../docs/MANUAL.md");
const SECOND: i64 = 1_000_000_000;
/// How long an answer may take.
const BAR: Duration = Duration::from_secs(10);

/// Where the answer is: on the screens `why` and `top` of a capture, on the lists of a stretch of
/// time (`incidents`, `why --since`, `report --since`), and on `why --at`. Where it is `None`, the
/// manual names another screen, or the machine as it is now.
struct Answer {
    asked: &'static str,
    why: Option<&'static str>,
    top: Option<&'static str>,
    lists: Option<&'static str>,
    at: Option<&'static str>,
}

const fn answer(asked: &'static str, [why, top, lists, at]: [Option<&'static str>; 4]) -> Answer {
    Answer { asked, why, top, lists, at }
}

const VERDICT: Option<&str> = Some("device.retry");
const ANSWERS: [Answer; 10] = [
    answer("When did it begin?", [None, None, Some("BEGAN"), Some("BEGAN")]),
    answer("Is it still going on?", [None, None, Some("ongoing"), Some("ongoing")]),
    answer("Which disk?", [Some("sdb"), Some("sdb"), Some("sdb"), Some("sdb")]),
    answer("Which volume, which mount?", [Some("/var/lib/pg"); 4]),
    answer("Which container?", [Some("pod prod/db-0"); 4]),
    answer("Which program?", [Some("postgres"); 4]),
    answer("Which file?", [Some("base/16384"), None, None, Some("base/16384")]),
    answer("The disk or the load?", [VERDICT; 4]),
    answer("How bad is it?", [Some("waited per second"), None, Some("41.2 s"), Some("41.2 s")]),
    answer("What do I do next?", [Some("  next "), None, None, Some("  next ")]),
];

/// A store that is being written, with an incident that began a quarter of an hour ago, goes on,
/// and whose I/Os are kept.
struct Kept {
    folder: PathBuf,
    began_s: i64,
    _store: Store,
}

impl Kept {
    fn new(name: &str) -> Kept {
        let folder =
            std::env::temp_dir().join(format!("iowhy-questions-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let mut store = Store::record(&folder).unwrap();
        let began_s = now_ns() / SECOND - 900;
        let mut kept = Vec::new();
        names::emit("kept", Some(began_s * SECOND), &mut kept);
        let name = format!("{}-sdb", stamp(began_s + 5));
        store.incident(&name, began_s).unwrap().append(&kept).unwrap();
        let from_s = now_ns() / SECOND - 3700;
        store.segment(from_s, 0).unwrap().append(&seconds(from_s, 3600)).unwrap();
        let incident = json!({
            "schema": "iowhy.incident/1", "id": format!("{}-sdb", stamp(began_s)),
            "at_ns": (began_s + 5) * SECOND, "began_ns": began_s * SECOND,
            "until_ns": now_ns() - 60 * SECOND, "length_s": 840.0, "over": false, "device": "sdb",
            "verdict": "device.retry", "mounts": ["/var/lib/pg"], "confidence": 0.9,
            "who": "postgres", "owner": "pod prod/db-0", "lost_s": 41.2, "sentence": "sdb retries",
        });
        store.verdict(&name, incident.to_string().as_bytes(), began_s + 5).unwrap();
        Kept { folder, began_s, _store: store }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// What a command prints, or writes into a file, and that it took no longer than it may.
fn asked(words: &[&str], page: Option<&Path>) -> String {
    let begun = Instant::now();
    let output = Command::new(env!("CARGO_BIN_EXE_iowhy")).args(words).output().unwrap();
    let took = begun.elapsed();
    println!("{:6.3} s  iowhy {}", took.as_secs_f64(), words.join(" "));
    assert!(took < BAR, "{words:?}");
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() < Some(2), "{words:?}: {message}");
    match page {
        Some(page) => std::fs::read_to_string(page).unwrap(),
        None => String::from_utf8(output.stdout).unwrap(),
    }
}

/// Looks for what each question needs; `began` is how a screen prints the beginning.
fn answers(screen: &str, began: &str, of: impl Fn(&Answer) -> Option<&'static str>) {
    // A long name may be broken at the end of a line.
    let on_one_line: String = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    for answer in &ANSWERS {
        let Some(wanted) = of(answer) else { continue };
        let wanted = wanted.replace("BEGAN", began);
        let found = screen.contains(&wanted) || on_one_line.contains(&wanted);
        assert!(found, "{}: no `{wanted}` in\n{screen}", answer.asked);
    }
}

#[test]
fn the_manual_asks_ten_questions() {
    let (_, part) = MANUAL.split_once("\n## Ten questions at three in the morning\n").unwrap();
    let part = part.split("\n## ").next().unwrap();
    let rows = part.lines().filter(|line| line.starts_with("| ") && line.contains("? |"));
    let asked: Vec<&str> = rows.filter_map(|line| line.split('|').nth(1)).map(str::trim).collect();
    assert_eq!(asked, ANSWERS.map(|answer| answer.asked));
}

#[test]
fn a_capture_answers_on_the_screens_of_why_and_top() {
    let capture = names::capture("questions");
    let path = capture.0.to_str().unwrap();
    let screen = asked(&["why", path], None);
    answers(&screen, "", |answer| answer.why);
    let begun = Instant::now();
    let Some(terminal) = Terminal::run("questions", (160, 50), &format!("top {path}")) else {
        return;
    };
    let wanted = ANSWERS.iter().filter_map(|answer| answer.top);
    let screen =
        terminal.wait("every answer", |screen| wanted.clone().all(|text| screen.contains(text)));
    println!("{:6.3} s  iowhy top", begun.elapsed().as_secs_f64());
    assert!(begun.elapsed() < BAR, "{screen}");
    // How bad it is and what to do next are one key away.
    terminal.keys(&["Enter"]);
    for part in ["waited per second", "Next"] {
        terminal.wait_for(part);
    }
    assert!(begun.elapsed() < BAR);
    terminal.keys(&["q"]);
}

#[test]
fn a_store_answers_on_its_list_on_a_window_on_a_report_and_on_a_moment() {
    let kept = Kept::new("store");
    let store = ["--store", kept.folder.to_str().unwrap()];
    let date = |form: &str| {
        let at = format!("@{}", kept.began_s);
        let output = Command::new("date").args(["-d", &at, form]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_string()
    };
    let began = date("+%H:%M:%S");
    let with = |words: &[&'static str]| [words, &store[..]].concat();
    answers(&asked(&with(&["incidents"]), None), &began, |answer| answer.lists);
    let window = asked(&with(&["why", "--since", "-2h"]), None);
    answers(&window, &began, |answer| answer.lists);
    let page = kept.folder.with_extension("html");
    let to = page.to_str().unwrap();
    let words = [&with(&["report", "--since", "-2h", "--force"])[..], &["-o", to]].concat();
    let report = asked(&words, Some(&page));
    std::fs::remove_file(&page).unwrap();
    answers(&report, &began, |answer| answer.lists);
    let moment = date("+%Y-%m-%d %H:%M:%S");
    let screen = asked(&[&["why", "--at", moment.as_str()][..], &store].concat(), None);
    answers(&screen, &began, |answer| answer.at);
    // The list calls it ongoing, so it is the answer also for a moment after what was judged last.
    let words = [&["why", "--at=-20s"][..], &store].concat();
    answers(&asked(&words, None), &began, |answer| answer.at);
}

/// The words of the first line that begins with this one, columns of two words as they are.
fn heading(screen: &str, first: &str) -> Vec<String> {
    let line = screen.lines().find(|line| line.trim_start().starts_with(first));
    let line = line.unwrap_or_else(|| panic!("no `{first}` in\n{screen}"));
    line.split_whitespace().map(str::to_string).collect()
}

#[test]
fn each_column_of_a_table_is_explained() {
    let (capture, kept) = (names::capture("columns"), Kept::new("columns"));
    let path = capture.0.to_str().unwrap();
    let store = ["incidents", "--store", kept.folder.to_str().unwrap()];
    let mut words = heading(&asked(&store, None), "began");
    words.extend(heading(&asked(&["stat", path, "--width", "250"], None), "Device"));
    words.extend(heading(&asked(&["snoop", path, "--files"], None), "TIME"));
    words.extend(["mean", "min", "max", "p50", "p95", "p99", "p99.9"].map(str::to_string));
    // What `why -v`, `top` and `map` print besides.
    let others = "basis brightest cgroup device file Frequency Intensity mount op process quantity \
                  share size slowest source threshold volume waits";
    words.extend(others.split_whitespace().map(str::to_string));
    assert!(words.len() > 25, "{words:?}");
    for word in words {
        let output = Command::new(env!("CARGO_BIN_EXE_iowhy")).args(["explain", &word]).output();
        assert!(output.unwrap().status.success(), "`{word}` is not explained");
    }
}

/// Labels of the lines of a verdict: what stands between the second and the fourteenth column.
fn labels(screen: &str) -> Vec<String> {
    let lines = screen.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let labels = lines.map(|line| line.chars().take(14).collect::<String>().trim().to_string());
    labels.filter(|label| label.chars().next().is_some_and(char::is_alphabetic)).collect()
}

#[test]
fn each_word_of_a_screen_is_explained() {
    let mut words: std::collections::BTreeSet<String> = std::collections::BTreeSet::new();
    for name in ["dusty-disk", "one-of-seventeen"] {
        let screen = asked(&["why", "--example", name, "--width", "80"], None);
        assert!(labels(&screen).len() > 5, "{screen}");
        words.extend(labels(&screen));
        let json = asked(&["why", "--example", name, "--json"], None);
        let report: serde_json::Value = serde_json::from_str(&json).unwrap();
        for finding in report["findings"].as_array().unwrap() {
            words.extend(
                finding["severity"].as_str().filter(|one| *one != "none").map(str::to_string),
            );
            let steps = finding["ledger"].as_array().unwrap().iter();
            words.extend(steps.filter_map(|step| step["step"].as_str()).map(str::to_string));
            let evidence = finding["evidence"].as_array().unwrap().iter();
            words.extend(evidence.filter_map(|one| one["how"].as_str()).map(str::to_string));
        }
    }
    words.extend(iowhy_model::Sampling::ALL.iter().map(|how| how.word().to_string()));
    let fixed = "runner-up; evidence; computed; estimated; assumed; reported; prior; factor; \
                 calibration; weight; nearly certain; very likely; likely; possible; a guess; \
                 sampled; traced; HEALTHY; IDLE; NO VERDICT; stage; suspected; V-test; sigma; nats; \
                 rev; level; excess latency; service time; healthy service time; QD; state; ended; \
                 almost idle; watched; write-back; journal; S0; rpm; clause; doubt; limit; floor; \
                 in flight; queue depth; tail latency; usual; recorded; wrong if; seen; not seen; \
                 elsewhere; a verdict";
    words.extend(fixed.split(';').map(|word| word.trim().to_string()));
    assert!(words.len() > 60, "{words:?}");
    let explained = |word: &&String| {
        let output = Command::new(env!("CARGO_BIN_EXE_iowhy")).args(["explain", word]).output();
        output.unwrap().status.success()
    };
    let missing: Vec<&String> = words.iter().filter(|word| !explained(word)).collect();
    assert!(missing.is_empty(), "not explained: {missing:?}");
}
