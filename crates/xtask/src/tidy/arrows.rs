//! Arrows between crates, from the manifests; and what the core binary must not depend on.

use std::collections::BTreeSet;

use super::{Complaint, Tree};

/// Crates of this workspace that each crate may use, by folder name: the arrows drawn in
/// docs/ARCHITECTURE.md.
const ARROWS: &[(&str, &[&str])] = &[
    ("capture", &["model"]),
    ("diagnose", &["model"]),
    ("iowhy", &["capture", "diagnose", "live", "model", "probe", "read", "show", "store"]),
    ("lab", &["diagnose", "model", "read", "show"]),
    ("live", &["model", "read"]),
    ("model", &[]),
    ("probe", &["model"]),
    ("read", &["capture", "model"]),
    ("rig", &["lab", "live", "model"]),
    ("show", &["model"]),
    ("store", &["capture", "model"]),
    ("xtask", &[]),
];

/// What a crate's tests may use besides. The judge's tests read real listings; what ships of it
/// cannot, for the compiler then does not see the reader.
const TEST_ARROWS: &[(&str, &str)] = &[("diagnose", "read")];

/// Crates, or beginnings of their names, that must not be in the core binary's tree.
const ENGINES: &[&str] = &["arrow", "ballista", "datafusion", "fuser", "parquet", "tokio"];

/// Crates of this workspace that are not shipped.
const NEVER_SHIPPED: &[&str] = &["iowhy-lab", "iowhy-rig", "xtask"];

/// Every dependency between crates of this workspace is an arrow in the picture.
pub(super) fn check(tree: &Tree) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for path in tree.files.iter().filter(|path| is_manifest(path)) {
        let krate = path.split('/').nth(1).unwrap_or_default();
        let Some(text) = tree.text(path) else { continue };
        let allowed = ARROWS.iter().find(|(name, _)| *name == krate).map(|(_, allowed)| *allowed);
        let Some(allowed) = allowed else {
            complaints.push(Complaint::new(
                path,
                0,
                format!("crate `{krate}` is not in the picture"),
                "draw its arrows in docs/ARCHITECTURE.md and in `ARROWS` of tidy/arrows.rs",
            ));
            continue;
        };
        for (line, used, tests) in own_dependencies(&text) {
            let in_tests = tests && TEST_ARROWS.contains(&(krate, used.as_str()));
            if !allowed.contains(&used.as_str()) && !in_tests {
                complaints.push(Complaint::new(
                    path,
                    line,
                    format!("`{krate}` must not use `{used}`"),
                    format!("`{krate}` may use: {}", list(allowed)),
                ));
            }
        }
        if !text.contains("[lints]\nworkspace = true") {
            complaints.push(Complaint::new(
                path,
                0,
                "the workspace's lints are not switched on",
                "add `[lints]` with `workspace = true`",
            ));
        }
    }
    complaints
}

/// Neither the SQL engine nor the laboratory's own crates are dependencies of the core binary, by
/// Cargo.lock (which is stricter than `cargo tree`: it counts tests and other platforms).
pub(super) fn core_tree(tree: &Tree) -> Vec<Complaint> {
    let Some(lock) = tree.text("Cargo.lock") else { return Vec::new() };
    let mut complaints = Vec::new();
    for name in below(&lock, "iowhy") {
        let engine = ENGINES.iter().any(|engine| name.starts_with(engine));
        if engine || NEVER_SHIPPED.contains(&name.as_str()) {
            complaints.push(Complaint::new(
                "Cargo.lock",
                0,
                format!("the core binary depends on `{name}`"),
                "`cargo tree -p iowhy -i NAME` shows what depends on it; it belongs in lab or rig",
            ));
        }
    }
    complaints
}

fn is_manifest(path: &str) -> bool {
    path.starts_with("crates/") && path.ends_with("/Cargo.toml") && path.matches('/').count() == 2
}

fn list(names: &[&str]) -> String {
    if names.is_empty() { "none of ours".to_string() } else { names.join(", ") }
}

/// Lines of a manifest's dependency tables that name a crate of this workspace, by folder name, and
/// whether the table is that of the tests.
fn own_dependencies(manifest: &str) -> Vec<(usize, String, bool)> {
    let (mut inside, mut tests) = (false, false);
    let mut found = Vec::new();
    for (place, line) in manifest.lines().enumerate() {
        let line = line.trim();
        if let Some(heading) = line.strip_prefix('[') {
            inside = heading.contains("dependencies");
            tests = heading.contains("dev-dependencies");
            let table = heading.trim_end_matches(']').rsplit('.').next().unwrap_or_default();
            if inside && let Some(name) = own_name(table) {
                found.push((place + 1, name, tests));
            }
            continue;
        }
        let name = line.split(['.', '=', ' ']).next().unwrap_or_default();
        if inside && let Some(name) = own_name(name) {
            found.push((place + 1, name, tests));
        }
    }
    found
}

fn own_name(package: &str) -> Option<String> {
    if package == "iowhy" {
        return Some(package.to_string());
    }
    package.strip_prefix("iowhy-").map(str::to_string)
}

/// All packages below one in a lock file.
fn below(lock: &str, package: &str) -> BTreeSet<String> {
    let mut uses: Vec<(String, Vec<String>)> = Vec::new();
    for block in lock.split("[[package]]").skip(1) {
        let name = block.lines().find_map(|line| line.strip_prefix("name = "));
        let name = name.unwrap_or_default().trim_matches('"').to_string();
        let below = block
            .lines()
            .filter_map(|line| line.trim().strip_prefix('"'))
            .filter_map(|line| line.split(['"', ' ']).next())
            .map(str::to_string)
            .collect();
        uses.push((name, below));
    }
    let mut seen = BTreeSet::new();
    let mut todo = vec![package.to_string()];
    while let Some(next) = todo.pop() {
        for (_, below) in uses.iter().filter(|(name, _)| *name == next) {
            todo.extend(below.iter().filter(|name| seen.insert((*name).clone())).cloned());
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forbidden_arrow_is_found_in_any_dependency_table() {
        let manifest = "[dependencies]\niowhy-model.workspace = true\n[dev-dependencies]\n\
                        iowhy-live = { path = \"../live\" }\n[dependencies.iowhy-show]\n";
        let found = own_dependencies(manifest);
        let found: Vec<_> = found.iter().map(|(_, name, tests)| (name.as_str(), *tests)).collect();
        assert_eq!(found, [("model", false), ("live", true), ("show", false)]);
    }

    #[test]
    fn the_closure_of_a_lock_file_is_followed() {
        let lock = "[[package]]\nname = \"iowhy\"\ndependencies = [\n \"a\",\n]\n\
                    [[package]]\nname = \"a\"\ndependencies = [\n \"arrow 60.1.0\",\n]\n\
                    [[package]]\nname = \"z\"\n";
        let names: Vec<String> = below(lock, "iowhy").into_iter().collect();
        assert_eq!(names, ["a", "arrow"]);
    }
}
