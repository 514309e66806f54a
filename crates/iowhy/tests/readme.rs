//! The README and the other pages name what exists, and only that.

use std::process::{Command, Stdio};

fn names(family: &str) -> Vec<String> {
    entries(family).into_iter().map(|(name, _)| name).collect()
}

/// Name and summary of each member of a list.
fn entries(family: &str) -> Vec<(String, String)> {
    let output = Command::new(env!("CARGO_BIN_EXE_iowhy"))
        .args(["explain", family, "--json"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let listed: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let entries = listed["entries"].as_array().unwrap();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_string();
    entries.iter().map(|entry| (text(&entry["name"]), text(&entry["summary"]))).collect()
}

/// Lines of the verdict that the README shows.
const SHOWN: usize = 15;

fn page(name: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_readme_is_short_and_the_manual_names_every_command() {
    let readme = page("README.md");
    assert!(readme.lines().count() <= 110, "{} lines", readme.lines().count());
    let manual = page("docs/MANUAL.md");
    let missing: Vec<String> = names("commands")
        .into_iter()
        .filter(|name| !manual.contains(&format!("`iowhy {name}")))
        .collect();
    assert!(missing.is_empty(), "docs/MANUAL.md does not name {missing:?}");
}

#[test]
fn the_lists_of_the_manual_are_the_programs() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/MANUAL.md");
    let before = page("docs/MANUAL.md");
    let mut manual = before.clone();
    for family in ["formats", "verdicts"] {
        let mut table = String::new();
        for (name, summary) in entries(family) {
            table += &format!("- `{name}`: {summary}\n");
        }
        let (begin, end) = (format!("<!-- {family} -->\n"), format!("<!-- end {family} -->"));
        let (head, rest) = manual.split_once(&begin).unwrap();
        let (_, tail) = rest.split_once(&end).unwrap();
        manual = format!("{head}{begin}{table}{end}{tail}");
    }
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        return std::fs::write(path, manual).unwrap();
    }
    assert!(manual == before, "docs/MANUAL.md is not what the lists say: set UPDATE_GOLDEN=1");
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
    let whole = String::from_utf8(output.stdout).unwrap();
    let beginning: String = whole.split_inclusive('\n').take(SHOWN).collect();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
        return std::fs::write(path, readme.replacen(shown, &beginning, 1)).unwrap();
    }
    assert_eq!(shown, beginning);
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
