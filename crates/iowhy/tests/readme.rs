//! The README and the other pages name what exists, and only that.

#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::unwrap_used)]

use std::process::{Command, Stdio};

fn names(family: &str) -> Vec<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_iowhy"))
        .args(["explain", family, "--json"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let listed: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let entries = listed["entries"].as_array().unwrap();
    entries.iter().map(|entry| entry["name"].as_str().unwrap().to_string()).collect()
}

fn page(name: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_readme_names_every_command_format_and_verdict() {
    let readme = page("README.md");
    let missing: Vec<String> = ["commands", "formats", "verdicts"]
        .into_iter()
        .flat_map(names)
        .filter(|name| {
            !readme.contains(&format!("`{name}`")) && !readme.contains(&format!("`iowhy {name}"))
        })
        .collect();
    assert!(missing.is_empty(), "README.md does not name {missing:?}");
}

#[test]
fn the_verdict_in_the_readme_is_the_programs() {
    let readme = page("README.md");
    let (_, rest) = readme.split_once("$ ./run why --example dusty-disk\n").unwrap();
    let (shown, _) = rest.split_once("```").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_iowhy"))
        .args(["why", "--example", "dusty-disk", "--width", "80"])
        .env("LANG", "C.UTF-8")
        .env_remove("LC_ALL")
        .env_remove("LC_CTYPE")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(shown, String::from_utf8(output.stdout).unwrap());
}

#[test]
fn the_links_of_the_readme_lead_somewhere() {
    let readme = page("README.md");
    for link in readme.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../..")
            .join(link.split('#').next().unwrap_or(link));
        assert!(link.starts_with("https://") || path.exists(), "{link} leads nowhere");
    }
}

#[test]
fn everything_that_is_listed_has_a_manual() {
    for family in ["commands", "formats", "verdicts", "views", "collectors"] {
        let names = names(family);
        assert!(!names.is_empty(), "{family}");
        for name in names {
            let output = Command::new(env!("CARGO_BIN_EXE_iowhy"))
                .args(["explain", &name])
                .stdin(Stdio::null())
                .output()
                .unwrap();
            let manual = String::from_utf8(output.stdout).unwrap();
            assert!(manual.lines().count() > 6, "{name}: {manual}");
        }
    }
}
