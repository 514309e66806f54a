//! The sums of every view and of every target of `convert` agree, however long a capture is.
//!
//! The short form is longer than what any of them keeps of single I/Os but a verdict; the long form
//! has ten million, and lengths at which something begins to be counted. It takes six minutes of an
//! optimised program, which `IOWHY_FAST` names (`./test --long` builds one), and an hour of
//! another. `IOWHY_LENGTHS` sets another length for the short one.

use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::folder::Folder;

/// More than are kept before parts are drawn (2^17), or counted instead of kept (100,000).
const SHORT: u64 = 150_000;
const LONG: u64 = 10_000_000;
/// From this many I/Os on a part is judged singly, and the rest counted.
const JUDGED: u64 = 1 << 19;
/// Where drawn parts, kept and judged I/Os end.
const BOUNDARIES: [u64; 6] =
    [(1 << 17) - 1, 1 << 17, (1 << 17) + 1, JUDGED - 1, JUDGED, JUDGED + 1];
/// One in this many is a write.
const WRITES: u64 = 5;

fn length() -> u64 {
    std::env::var("IOWHY_LENGTHS").ok().and_then(|text| text.parse().ok()).unwrap_or(SHORT)
}

/// The program, optimised where there is one.
fn program() -> String {
    std::env::var("IOWHY_FAST").unwrap_or_else(|_| env!("CARGO_BIN_EXE_iowhy").to_string())
}

/// `total` I/Os of 4 KiB, a thousand a second of a millisecond each, every fifth a write of 2 ms by
/// another process.
fn capture(file: &Path, total: u64) {
    let mut out = BufWriter::new(std::fs::File::create(file).unwrap());
    writeln!(out, "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)").unwrap();
    for k in 0..total {
        let (comm, op, ms) = if k % WRITES == 0 { ("db", "W", 2) } else { ("dd", "R", 1) };
        writeln!(out, "{}.{:03}000 {comm} 1 sda {op} {} 4096 {ms}.00", k / 1000, k % 1000, k * 8)
            .unwrap();
    }
    out.flush().unwrap();
}

/// Lines of what it prints that `wanted` counts; it must end with status 0.
fn lines(words: &[&str], wanted: impl Fn(&str) -> bool) -> u64 {
    let mut child = Command::new(program())
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    let count = out.lines().filter(|line| wanted(line.as_ref().unwrap())).count() as u64;
    assert_eq!(child.wait().unwrap().code(), Some(0), "{words:?}");
    count
}

fn text(words: &[&str]) -> String {
    let run = Command::new(program()).args(words).stdin(Stdio::null()).output().unwrap();
    let reported = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(0), "{words:?}: {reported}");
    String::from_utf8(run.stdout).unwrap()
}

/// The I/Os that `hist` counts, with what it is asked for.
fn counted(file: &str, more: &[&str]) -> u64 {
    let report = text(&[&["hist", "--json", file], more].concat());
    let report: Value = serde_json::from_str(&report).unwrap();
    let all = report["histograms"].as_array().unwrap();
    all.iter().map(|one| one["count"].as_u64().unwrap()).sum()
}

#[test]
fn every_view_counts_every_io_at_any_length() {
    holds(length());
}

#[test]
#[ignore = "long: ten million I/Os through every view and target"]
fn every_view_counts_every_one_of_ten_million() {
    holds(LONG);
}

#[test]
#[ignore = "long: half a million I/Os, six times"]
fn every_view_counts_every_io_at_the_bounds() {
    BOUNDARIES.into_iter().for_each(holds);
}

fn holds(total: u64) {
    let folder = Folder::new("lengths");
    let file = folder.file("many.txt");
    capture(Path::new(&file), total);
    let writes = total.div_ceil(WRITES);
    let parts: [(&[&str], u64); 4] = [
        (&[], total),
        (&["--op", "write"], writes),
        (&["--comm", "dd"], total - writes),
        (&["--over", "1500us"], writes),
    ];
    for (asked, expected) in parts {
        assert_eq!(counted(&file, asked), expected, "hist {asked:?}");
        let of = |words: &[&'static str]| -> Vec<&str> {
            words.iter().chain(asked).copied().chain([file.as_str()]).collect()
        };
        let row = |line: &str| line.contains(" sda ");
        assert_eq!(lines(&of(&["snoop"]), row), expected, "snoop {asked:?}");
        let event = |line: &str| line.contains("iowhy.event/1");
        assert_eq!(lines(&of(&["snoop", "--json"]), event), expected, "snoop --json {asked:?}");
        // Cells of the map: the I/Os of each.
        let map: Value = serde_json::from_str(&text(&of(&["map", "--json"]))).unwrap();
        assert_eq!(cells(&map), expected, "map {asked:?}");
        let table = text(&of(&["stat", "--width", "400"]));
        let per_s = rates(&table);
        // First issue to last completion is a little more or less than the time of all.
        let seconds = total as f64 / 1000.0;
        let ios = per_s * seconds;
        assert!((ios - expected as f64).abs() <= expected as f64 * 1e-3 + 2.0, "{ios} of {table}");
    }
    for target in ["json", "biosnoop", "iowhy-capture", "pylatencymap"] {
        let to = folder.file(&format!("many.{target}"));
        text(&["convert", &file, &to, "--to", target]);
        assert_eq!(counted(&to, &[]), total, "{target}");
        if target != "pylatencymap" {
            assert_eq!(counted(&to, &["--comm", "db"]), writes, "{target}");
            let events = lines(&["snoop", "--json", &to], |line| line.contains("iowhy.event/1"));
            assert_eq!(events, total, "{target}");
        }
        std::fs::remove_file(&to).unwrap();
    }
    let csv = folder.file("many.csv");
    text(&["convert", &file, &csv]);
    let mut rows = BufReader::new(std::fs::File::open(&csv).unwrap()).lines().map(Result::unwrap);
    let heading = rows.next().unwrap();
    assert!(heading.starts_with("input,device,op,"));
    let (mut count, mut last) = (0, 0);
    for row in rows {
        let fields: Vec<&str> = row.split(',').collect();
        assert_eq!((fields[0], fields[1]), ("0", "sda"));
        let completed: i64 = fields[6].parse().unwrap();
        assert!(completed >= last, "in order of completion");
        (count, last) = (count + 1, completed);
    }
    assert_eq!(count, total);
    let log = folder.file("many.log");
    text(&["convert", &file, &log, "--to", "fio-hist-log"]);
    let log = std::fs::read_to_string(&log).unwrap();
    let mut ends = Vec::new();
    let mut count = 0;
    for line in log.lines() {
        let mut fields = line.split(", ").map(|field| field.parse::<u64>().unwrap());
        ends.push((fields.next().unwrap(), fields.next().unwrap()));
        count += fields.skip(1).sum::<u64>();
    }
    assert_eq!(count, total);
    assert!(ends.is_sorted() && ends.windows(2).all(|pair| pair[0] != pair[1]), "{ends:?}");
    let parquet = folder.file("many.parquet");
    text(&["convert", &file, &parquet]);
    assert!(std::fs::metadata(&parquet).unwrap().len() > total / 8);
    // A part of a capture and the whole of it are one and the same load.
    let part = format!("{file}@0-{}s", total / 2000);
    // Past what is judged one by one the rest is folded: that is reported, and status 1.
    let judged = |words: &[&str]| -> Value {
        let run = Command::new(program()).args(words).stdin(Stdio::null()).output().unwrap();
        assert_eq!(run.status.code(), Some(i32::from(total >= JUDGED)), "{words:?}");
        serde_json::from_slice(&run.stdout).unwrap()
    };
    let why = judged(&["why", "--json", &file]);
    let notes = why["inputs"][0]["notes"].to_string();
    assert_eq!(
        notes.contains(&format!("of {total} I/Os are judged individually")),
        total >= JUDGED
    );
    let compared = judged(&["compare", "--json", &file, &part]);
    let verdict = |side: usize| compared["sides"][side]["verdicts"][0]["verdict"].clone();
    assert_eq!(verdict(0), verdict(1), "{compared}");
}

/// The I/Os in all cells of the maps.
fn cells(map: &Value) -> u64 {
    match map {
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| if key == "ios" { sum(value) } else { cells(value) })
            .sum(),
        Value::Array(values) => values.iter().map(cells).sum(),
        _ => 0,
    }
}

fn sum(value: &Value) -> u64 {
    match value {
        Value::Array(values) => values.iter().map(sum).sum(),
        other => other.as_u64().unwrap_or(0),
    }
}

/// Reads and writes per second of the table's row.
fn rates(table: &str) -> f64 {
    let mut lines = table.lines();
    let heading: Vec<&str> = lines.next().unwrap().split_whitespace().collect();
    let row: Vec<&str> = lines.next().unwrap().split_whitespace().collect();
    let columns = heading.iter().zip(&row).filter(|(name, _)| matches!(**name, "r/s" | "w/s"));
    columns.filter_map(|(_, value)| value.parse::<f64>().ok()).sum()
}
