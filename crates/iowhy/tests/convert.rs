//! `iowhy convert`: what is written can be read again and counts the same.
#![expect(clippy::expect_used, reason = "a test may")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

#[test]
fn single_ios_survive_every_format_that_carries_them() {
    let whole = histograms(&sample());
    let count = |of: &[Value]| of.iter().filter_map(|one| one["count"].as_u64()).sum::<u64>();
    let read = |of: &[Value]| {
        count(&of.iter().filter(|one| one["op"] == "read").cloned().collect::<Vec<_>>())
    };
    let total = count(&whole);
    assert!(total >= 5, "{total} I/Os");
    for target in ["biosnoop", "fio-hist-log", "pylatencymap"] {
        let file = converted(&sample(), target);
        let again = histograms(&file);
        assert_eq!(count(&again), total, "{target}");
        if target != "pylatencymap" {
            assert_eq!(read(&again), read(&whole), "{target}");
        }
    }
    let again = histograms(&converted(&sample(), "biosnoop"));
    for field in ["max_ns", "min_ns", "sum_ns", "device", "stage"] {
        assert_eq!(again[0][field], whole[0][field], "{field}");
    }
    let lines = std::fs::read_to_string(converted(&sample(), "json")).expect("written");
    let events = lines.lines().filter(|line| line.contains("iowhy.event/1")).count();
    assert_eq!(events as u64, total);
    let lines = std::fs::read_to_string(converted(&sample(), "csv")).expect("written");
    assert_eq!(lines.lines().count() as u64, total + 1);
}

#[test]
fn what_cannot_be_carried_is_refused_with_the_reason() {
    for (input, target, reason) in [
        ("iostat", "biosnoop", "averages"),
        ("iostat", "pylatencymap", "averages"),
        ("biolatency", "biosnoop", "histograms, not single I/Os"),
        ("iostat", "parquet", "holds averages"),
        ("smart", "parquet", "holds no latencies"),
        ("biosnoop", "orc", "no such format"),
    ] {
        let output = iowhy(&["convert", &any_sample(input), "-", "--to", target]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{input} to {target}: {said}");
        assert!(said.contains(reason), "{said}");
        assert!(said.contains("\nhint: "), "{said}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn histograms_keep_when_they_were_counted() {
    let tables =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pylatencymap/test_DTrace_data.txt");
    let file = converted(&tables, "json");
    let cells = |file: &Path| iowhy(&["map", &file.display().to_string(), "--csv"]).stdout;
    let lines = |cells: Vec<u8>| String::from_utf8(cells).expect("text").lines().count();
    assert_eq!(lines(cells(&file)), lines(cells(&tables)));
}

#[test]
fn a_capture_is_never_written_over_itself() {
    let copy = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("itself.csv");
    std::fs::copy(sample(), &copy).expect("a copy");
    let name = copy.to_str().expect("text");
    let output = iowhy(&["convert", name, name]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(std::fs::read(&copy).expect("there"), std::fs::read(sample()).expect("there"));
}

fn iowhy(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_iowhy"));
    command.args(words).stdin(Stdio::null()).output().expect("it runs")
}

/// A trace of the disk that read again and again.
fn sample() -> PathBuf {
    PathBuf::from(any_sample("biosnoop"))
}

/// The first sample of a format that has one.
fn any_sample(format: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../read/samples").join(format);
    let files = std::fs::read_dir(folder).expect("samples");
    let mut texts: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
    texts.retain(|path| path.extension().is_some_and(|ending| ending == "txt"));
    texts.sort();
    texts.first().expect("a sample").display().to_string()
}

fn converted(input: &Path, target: &str) -> PathBuf {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("converted.{target}"));
    let (from, to) = (input.display().to_string(), file.display().to_string());
    let output = iowhy(&["convert", &from, &to, "--to", target]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{target}: {said}");
    file
}

fn histograms(file: &Path) -> Vec<Value> {
    let name = file.display().to_string();
    // A log of one line could be any row of numbers: it is told what it is.
    let log = name.ends_with("fio-hist-log");
    let format: &[&str] = if log { &["--format", "fio-log"] } else { &[] };
    let output = iowhy(&[&["hist", &name, "--json"], format].concat());
    let whole: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    whole["histograms"].as_array().expect("a list").clone()
}
