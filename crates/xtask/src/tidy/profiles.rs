//! What a crate leaves out of its tests to be quick, it has nothing of: examples in comments where
//! `doctest` is off, `unsafe` and debug assertions where these are off.

use super::{Complaint, Source, Tree};

/// Debug assertions in code, and what is compiled with them only. Those of the standard library
/// check uses of `unsafe`.
const ASSERTIONS: [&str; 3] = ["debug_assert!", "debug_assert_", "debug_assertions"];

/// Compares the manifests with the sources.
pub(super) fn check(tree: &Tree) -> Vec<Complaint> {
    let root = tree.text("Cargo.toml").unwrap_or_default();
    let mut complaints = Vec::new();
    for source in tree.sources.iter().filter(|source| source.path.contains("/src/")) {
        let Some(krate) = source.krate() else { continue };
        let manifest = tree.text(&format!("crates/{krate}/Cargo.toml")).unwrap_or_default();
        if let Some(line) = example(source).filter(|_| manifest.contains("\ndoctest = false")) {
            let cure = format!("remove `doctest = false` from crates/{krate}/Cargo.toml");
            let problem = "this example is not run";
            complaints.push(Complaint::new(&source.path, line, problem, cure));
        }
        if let Some(line) = checked(source).filter(|_| !is_checked(&root, krate)) {
            let cure = format!(
                "a line `debug-assertions = true` for this crate ({krate}) in the table \
                 `profile.test.package` of Cargo.toml"
            );
            let problem = "tests do not check this";
            complaints.push(Complaint::new(&source.path, line, problem, cure));
        }
    }
    complaints
}

/// The line at which an example in Rust begins in a comment.
fn example(source: &Source) -> Option<usize> {
    let mut open = false;
    for (place, line) in source.text.lines().enumerate() {
        let line = line.trim_start();
        let comment = line.strip_prefix("//!").or_else(|| line.strip_prefix("///"));
        let Some(fence) = comment.and_then(|text| text.trim().strip_prefix("```")) else {
            continue;
        };
        let words = ["", "rust", "no_run", "should_panic", "compile_fail"];
        if !open && fence.split(',').all(|word| words.contains(&word.trim())) {
            return Some(place + 1);
        }
        open = !open;
    }
    None
}

/// The first line of code that debug assertions check.
fn checked(source: &Source) -> Option<usize> {
    let is_unsafe = |line: &str| {
        line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == "unsafe")
    };
    let needs = |line: &str| is_unsafe(line) || ASSERTIONS.iter().any(|word| line.contains(word));
    source.code.lines().position(needs).map(|place| place + 1)
}

/// Whether tests of a crate are built with debug assertions.
fn is_checked(manifest: &str, krate: &str) -> bool {
    let off = manifest.contains("[profile.test]")
        && manifest.split("[profile.test]").nth(1).is_some_and(|rest| {
            rest.split("\n[").next().unwrap_or_default().contains("debug-assertions = false")
        });
    let tests = manifest.split("[profile.test.package]").nth(1).unwrap_or_default();
    let tests = tests.split("\n[").next().unwrap_or_default();
    let line = |line: &&str| {
        let name = line.split(['.', ' ']).next().unwrap_or_default();
        name.strip_prefix("iowhy-").unwrap_or(name) == krate
    };
    !off || tests.lines().filter(line).any(|line| line.contains("debug-assertions = true"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "[profile.test]\ndebug-assertions = false\n\n[profile.test.package]\n\
                        iowhy-live = { opt-level = 1, debug-assertions = true }\n\
                        iowhy-read.opt-level = 2\n\n[profile.release]\n";

    #[test]
    fn an_example_is_code_in_a_comment() {
        let of = |text: &str| example(&Source::new("crates/read/src/a.rs", text));
        assert_eq!(of("//! ```\n//! let a = 1;\n//! ```\n"), Some(1));
        assert_eq!(of("//! ```text\n//! a\n//! ```\n/// ```no_run\n/// a();\n/// ```\n"), Some(4));
        assert_eq!(of("//! ```toml\n//! a = 1\n//! ```\nconst A: &str = \"```\";\n"), None);
    }

    #[test]
    fn unsafe_code_is_checked_by_tests() {
        let of = |text: &str| checked(&Source::new("crates/read/src/a.rs", text));
        assert_eq!(
            of("#![forbid(unsafe_code)]\n// unsafe\nfn a() { debug_assert!(true); }\n"),
            Some(3)
        );
        assert_eq!(of("#![deny(unsafe_op_in_unsafe_fn)]\nfn a() { unsafe {} }\n"), Some(2));
        assert_eq!(of("mod unsafety;\nconst A: &str = \"unsafe\";\n"), None);
        assert!(is_checked(ROOT, "live") && !is_checked(ROOT, "read") && is_checked("", "read"));
    }
}
