//! Fleets with hidden generations: slower disks behind one model's name are no fault of a host.

#![allow(
    missing_docs,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used
)]

use std::path::Path;
use std::process::Command;

use serde_json::Value;

fn good(arguments: &[&str]) -> String {
    let mut program = Command::new(env!("CARGO_BIN_EXE_iowhy-fleet"));
    let output = program.args(arguments).output().expect("it starts");
    let reported = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {reported}");
    String::from_utf8(output.stdout).expect("text")
}

/// What the truth of a fleet has under this word, as `host:disk`.
fn named(truth: &str, what: &str) -> Vec<String> {
    let lines = truth.lines().map(|line| line.split(',').collect::<Vec<_>>());
    lines.filter(|of| of[4] == what).map(|of| format!("{}:{}", of[0], of[1])).collect()
}

/// Forty hosts of each model, up to three generations behind its name, 1.1 to 3 times apart, no
/// faulty host. With few hosts of a model a generation has one or two, which a fault of the host
/// looks like: docs/results/fleet.md.
#[test]
fn no_host_is_accused_of_its_generation() {
    let (mut faulty, mut found, mut wrong, mut hidden) = (0, 0, 0, 0);
    for seed in ["601", "602"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_str().unwrap();
        let size = ["--disks", "960", "--per-host", "2", "--days", "3", "--span", "3600"];
        let more = ["--faulty", "15", "--generations", "3", "--seed", seed];
        good(&[&["make", path], &size[..], &more[..]].concat());
        let truth = std::fs::read_to_string(Path::new(path).join("truth.csv")).unwrap();
        assert!(named(&truth, "host").is_empty(), "{truth}");
        let sick = named(&truth, "faulty");
        let report: Value = serde_json::from_str(&good(&["why", path, "--json"])).unwrap();
        for one in report["accused"].as_array().unwrap() {
            let name = one["name"].as_str().unwrap().to_string();
            match one["kind"].as_str().unwrap() {
                "disk" if sick.contains(&name) => found += 1,
                "disk" => wrong += 1,
                "firmware" => {}
                kind => panic!("seed {seed}: the healthy {kind} {name} is accused: {one}"),
            }
        }
        (faulty, hidden) = (faulty + sick.len(), hidden + named(&truth, "generation").len());
    }
    println!(
        "{found} of {faulty} faulty disks and {wrong} healthy ones accused, {hidden} hidden \
         generations, no host"
    );
    assert!(faulty >= 15 && hidden >= 4, "{faulty} faulty disks, {hidden} generations");
    assert!(found * 10 >= faulty * 8 && wrong <= 1, "found {found} of {faulty}, wrong {wrong}");
}
