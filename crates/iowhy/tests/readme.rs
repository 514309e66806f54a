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

fn workspace() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Files below a folder with one of these endings, and their text.
fn texts(folder: &std::path::Path, endings: &[&str]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        let ending = path.extension().map(|ending| ending.to_string_lossy().into_owned());
        if path.is_dir() && !path.ends_with("target") {
            found.extend(texts(&path, endings));
        } else if endings.contains(&ending.unwrap_or_default().as_str()) {
            let text = std::fs::read_to_string(&path).unwrap();
            found.push((path.display().to_string(), text));
        }
    }
    found
}

/// What stands between backticks, of several lines too, but not in listings.
fn spans(text: &str) -> Vec<String> {
    let mut prose = String::new();
    for (place, part) in text.split("```").enumerate() {
        prose += if place % 2 == 0 { part } else { "\n\n" };
    }
    let paragraphs = prose.split("\n\n");
    let of_one = |text: &str| -> Vec<String> {
        let words = |span: &str| span.split_whitespace().collect::<Vec<_>>().join(" ");
        text.split('`').skip(1).step_by(2).map(words).collect()
    };
    paragraphs.flat_map(of_one).collect()
}

/// The pages, and the manuals in the code.
fn manuals() -> Vec<(String, String)> {
    let root = workspace();
    let mut all = texts(&root.join("docs"), &["md"]);
    all.extend(["README.md", "SECURITY.md"].map(|name| (name.to_string(), page(name))));
    for (path, text) in texts(&root.join("crates"), &["rs"]) {
        let lines = text.lines().filter_map(|line| line.strip_prefix("//!"));
        all.push((path, lines.map(|line| format!("{}\n", line.trim())).collect()));
    }
    all
}

/// Options in a help text or a page.
fn options_in(text: &str) -> std::collections::BTreeSet<String> {
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let starts = text.match_indices("--").filter(|(place, _)| {
        let before = text[..*place].chars().next_back();
        !before.is_some_and(|c| is_name(c) || c.is_ascii_uppercase())
    });
    let named = starts.map(|(place, _)| {
        let rest = &text[place..];
        &rest[..rest.find(|c| !is_name(c)).unwrap_or(rest.len())]
    });
    let has_name = |name: &&str| name.len() > 3 && name.contains(|c| c != '-');
    named.filter(has_name).map(str::to_string).collect()
}

#[test]
fn commands_and_options_in_backticks_exist() {
    let help = |words: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_iowhy"))
            .args(words)
            .arg("--help")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        options_in(&String::from_utf8(output.stdout).unwrap())
    };
    let commands: std::collections::BTreeMap<String, _> =
        names("commands").into_iter().map(|name| (name.clone(), help(&[&name]))).collect();
    // Without a command it is `why`.
    let bare: std::collections::BTreeSet<String> =
        help(&[]).union(&commands["why"]).cloned().collect();
    let mut wrong = Vec::new();
    for (path, text) in manuals() {
        for span in spans(&text) {
            // `--setup` is for `./run` itself.
            let words = span.split(' ').skip_while(|word| *word == "sudo");
            let words: Vec<&str> = words.filter(|word| *word != "--setup").collect();
            let [program @ ("iowhy" | "./run"), rest @ ..] = &words[..] else { continue };
            let is_name = |word: &&&str| word.chars().all(|c| c.is_ascii_lowercase());
            let name = rest.first().filter(is_name).copied();
            if *program == "./run" && matches!(name, Some("demo" | "fleet"))
                || matches!(name, Some("help"))
            {
                continue;
            }
            let known = match name {
                None => &bare,
                Some(name) => match commands.get(name) {
                    Some(options) => options,
                    None => {
                        wrong.push(format!("{path}: `{span}`: no command `{name}`"));
                        continue;
                    }
                },
            };
            // What comes after a pipe or a semicolon is another program's.
            let own = rest.iter().take_while(|word| **word != "|" && !word.ends_with(';'));
            let own: Vec<&str> = own.copied().collect();
            let unknown: Vec<String> =
                options_in(&own.join(" ")).difference(known).cloned().collect();
            if !unknown.is_empty() {
                wrong.push(format!("{path}: `{span}`: no option {unknown:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn spans_and_options_are_found() {
    let text = "a `iowhy why\n--for 5s` b\n```\n`not`\n```\n`x`\n\n`cut\n\n`y`";
    assert_eq!(spans(text), ["iowhy why --for 5s", "x", "cut", "y"]);
    let found = options_in("  --for <TIME>, [--at=T] a--b ---- --2x");
    assert_eq!(found.into_iter().collect::<Vec<_>>(), ["--2x", "--at", "--for"]);
}
