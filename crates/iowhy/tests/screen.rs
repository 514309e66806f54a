//! The verdict of every case fits on a screen of 80 columns and 24 rows, and what it advises can
//! be pasted into a shell.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// Rows of the screen less the prompt before and after.
const ROWS: usize = 20;
const COLUMNS: usize = 80;

/// Every case with the files it is judged from.
fn cases() -> Vec<(String, Vec<PathBuf>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut all: Vec<(String, Vec<PathBuf>)> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|case| {
            let name = case.file_name().unwrap().to_string_lossy().into_owned();
            let mut files: Vec<PathBuf> = std::fs::read_dir(&case)
                .unwrap()
                .map(|entry| entry.unwrap().path())
                .filter(|path| path.file_name().unwrap() != "case.md")
                .collect();
            files.sort();
            (name, files)
        })
        .filter(|(_, files)| !files.is_empty())
        .collect();
    all.sort();
    assert!(all.len() >= 30, "cases are missing from {}", folder.display());
    all
}

fn why(files: &[PathBuf], option: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_iowhy"))
        .arg("why")
        .args(option)
        .args(files)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_verdict_of_every_case_fits_on_a_screen() {
    let mut failures = Vec::new();
    for (name, files) in cases() {
        let text = why(&files, &["--width", "80"]);
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        let rows = text.lines().count();
        if rows == 0 || rows > ROWS || widest > COLUMNS {
            failures.push(format!("{name}: {rows} rows of up to {widest} columns\n{text}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn no_percentage_is_printed_without_a_verdict() {
    let mut seen = 0;
    for (name, files) in cases() {
        let text = why(&files, &["--width", "80"]);
        if text.contains("NO VERDICT") {
            seen += 1;
            assert!(!text.contains("confidence  "), "{name}: {text}");
            assert!(text.contains("  seen        "), "{name}: {text}");
            let last = text.lines().last().unwrap();
            assert!(last.trim_start().starts_with("inputs"), "{name}: {last}");
        }
    }
    assert!(seen > 0, "no case has no verdict");
}

/// Whether some word of a text is the name of a verdict: `device.slow`.
fn names_a_verdict(text: &str) -> bool {
    let families = ["cap.", "cfg.", "device.", "layer.", "load.", "peer.", "report."];
    let mut words = text.split(|c: char| c.is_whitespace() || "`(),;:".contains(c));
    let is_name =
        |rest: &str| rest.len() > 2 && rest.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
    words.any(|word| families.iter().any(|family| word.strip_prefix(family).is_some_and(is_name)))
}

#[test]
fn without_a_verdict_there_are_two_readings_and_one_step() {
    let mut seen = 0;
    for (name, files) in cases() {
        let text = why(&files, &["--width", "80"]);
        if !text.contains("NO VERDICT") || !text.contains("perhaps ") {
            continue;
        }
        seen += 1;
        let sentence: Vec<&str> =
            text.lines().filter_map(|line| line.strip_prefix(['▌', '|'])).collect();
        let sentence = sentence[1..].join(" ");
        assert!(sentence.matches("perhaps ").count() <= 2, "{name}: {text}");
        assert!(!names_a_verdict(&sentence), "{name}: {text}");
        let part = |label: &str| -> String {
            let lines = text.lines().skip_while(|line| !line.starts_with(&format!("  {label} ")));
            let of_it = |(at, line): &(usize, &str)| *at == 0 || line.starts_with("      ");
            lines.enumerate().take_while(of_it).map(|(_, line)| format!("{line}\n")).collect()
        };
        assert!(!names_a_verdict(&part("seen")), "{name}: {text}");
        if sentence.starts_with("not enough evidence") {
            // Of several steps each begins at the column of the first.
            let steps = part("next").lines().filter(|line| line.contains("`: ")).count();
            assert!(steps <= 1 && !part("next").is_empty(), "{name}: {text}");
        }
    }
    assert!(seen > 0, "no case has two readings");
}

#[test]
fn a_wide_screen_shows_the_numbers_beside_the_verdict() {
    let (_, files) = cases().into_iter().find(|(name, _)| name == "dusty-disk").unwrap();
    let text = why(&files, &["--width", "200"]);
    assert!(text.lines().count() <= ROWS, "{text}");
    let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
    assert!((120..=200).contains(&widest), "{text}");
    assert!(text.contains("Evidence") && text.contains("What would refute it"), "{text}");
}

#[test]
fn status_three_is_what_was_asked_for() {
    let (_, files) = cases().into_iter().find(|(name, _)| name == "dusty-disk").unwrap();
    let status = |fail_on: &str| {
        let mut iowhy = Command::new(env!("CARGO_BIN_EXE_iowhy"));
        iowhy.args(["why", "--fail-on", fail_on]).args(&files).stdin(Stdio::null());
        iowhy.output().unwrap().status.code()
    };
    assert_eq!(status("device"), Some(3));
    assert_eq!(status("device.retry:90%"), Some(3));
    assert_eq!(status("device.retry:0.999"), Some(0));
    assert_eq!(status("load"), Some(0));
    assert_eq!(status("no-such-verdict"), Some(2));
}

#[test]
fn the_whole_reasoning_is_one_key_away() {
    let (_, files) = cases().into_iter().find(|(name, _)| name == "dusty-disk").unwrap();
    let text = why(&files, &["-v"]);
    for part in ["Evidence", "What would refute it", "Next", "Inputs"] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
}

#[test]
fn every_command_that_is_advised_is_one_a_shell_reads() {
    let mut commands: Vec<(String, String)> = Vec::new();
    for (name, files) in cases() {
        let report: Value = serde_json::from_str(&why(&files, &["--json"])).unwrap();
        for finding in report["findings"].as_array().unwrap() {
            for step in finding["next_step"].as_array().unwrap() {
                let step = step.as_str().unwrap();
                assert_eq!(step.matches('`').count() % 2, 0, "{name}: {step}");
                let pieces = step.split('`').skip(1).step_by(2);
                commands.extend(pieces.map(|piece| (name.clone(), piece.to_string())));
            }
        }
    }
    assert!(commands.len() > 50, "{} commands", commands.len());
    let mut failures = Vec::new();
    for (name, command) in commands {
        let mut shell = Command::new("bash")
            .args(["-n", "/dev/stdin"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        shell.stdin.take().unwrap().write_all(command.as_bytes()).unwrap();
        let output = shell.wait_with_output().unwrap();
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr).into_owned();
            failures.push(format!("{name}: {command}: {why}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn rows_of_single_ios_leave_columns_out_by_rank_and_say_which() {
    let sample = |name: &str| format!("{}/../read/samples/{name}", env!("CARGO_MANIFEST_DIR"));
    let snoop = |arguments: &[&str]| -> String {
        let output = Command::new(env!("CARGO_BIN_EXE_iowhy"))
            .arg("snoop")
            .arg(sample("biosnoop/bcc-0.10--queue.txt"))
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let whole = snoop(&[]);
    assert!(whole.starts_with("TIME(s)") && whole.contains("SECTOR"), "{whole}");
    assert!(!whole.contains("hidden"), "{whole}");
    assert_eq!(snoop(&["--width", "80"]), whole);
    for (width, hidden) in [
        (79, "SECTOR"),
        (69, "SECTOR"),
        (68, "SECTOR, PID"),
        (60, "SECTOR, PID, BYTES"),
        (50, "SECTOR, PID, BYTES, QUE(ms)"),
        (40, "SECTOR, PID, BYTES, QUE(ms), COMM"),
    ] {
        let text = snoop(&["--width", &width.to_string()]);
        let reported = format!("# hidden: {hidden}; widen the terminal");
        assert_eq!(text.lines().nth(1), Some(reported.as_str()), "{width}");
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
        assert_eq!(text.lines().count(), whole.lines().count() + 1, "{width}");
    }
}

/// At 80 columns a comparison keeps the chance of each difference, and names the columns it leaves
/// out.
#[test]
fn compare_says_which_columns_a_narrow_screen_hides() {
    let case = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/dusty-disk");
    let compare = |width: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_iowhy"));
        command.arg("compare").args([&case, &case]).args(["--verbose", "--width", width]);
        let output = command.stdin(Stdio::null()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let heading = |text: &str| {
        let line = text.lines().find(|line| line.contains("B/A")).map(str::to_string);
        line.unwrap_or_else(|| panic!("{text}"))
    };
    let (narrow, wide) = (compare("80"), compare("160"));
    let columns =
        |text: &str| heading(text).split_whitespace().map(str::to_string).collect::<Vec<_>>();
    assert!(columns(&narrow).contains(&"p".to_string()), "{narrow}");
    let hidden = narrow.lines().find_map(|line| line.trim().strip_prefix("hidden: "));
    let hidden = hidden.unwrap_or_else(|| panic!("{narrow}"));
    let hidden = hidden.trim_end_matches("; widen the terminal");
    for column in hidden.split(", ") {
        assert!(heading(&wide).contains(column) && !heading(&narrow).contains(column), "{column}");
    }
}
