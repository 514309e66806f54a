//! Pure crates use no environment: no clock, file, environment, network, thread or process.

use super::{Complaint, Tree};

/// The crates that are pure.
const PURE: &[&str] = &["capture", "diagnose", "model", "read", "show"];

/// Paths that must be in each pure crate's clippy.toml under `disallowed-methods`.
const DISALLOWED: &[&str] = &[
    "std::time::Instant::now",
    "std::time::SystemTime::now",
    "std::env::var",
    "std::env::var_os",
    "std::env::args",
    "std::fs::File::open",
    "std::fs::File::create",
    "std::fs::read",
    "std::fs::read_to_string",
    "std::fs::write",
    "std::thread::spawn",
    "std::thread::sleep",
    "std::process::exit",
];

/// Paths that must not appear in the code of a pure crate at all; clippy cannot ban modules.
const BANNED: &[&str] = &[
    "std::env::",
    "std::fs",
    "std::net",
    "std::process",
    "std::thread",
    "Instant::now",
    "SystemTime",
    "println!",
    "print!",
];

/// The list is in each clippy.toml, and the code has none of the banned paths.
pub(super) fn check(tree: &Tree) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for krate in PURE {
        if !tree.sources.iter().any(|source| source.krate() == Some(krate)) {
            continue;
        }
        let path = format!("crates/{krate}/clippy.toml");
        let text = tree.text(&path).unwrap_or_default();
        for method in DISALLOWED {
            if !text.contains(&format!("\"{method}\"")) {
                let problem = format!("`{method}` is not disallowed");
                let cure = "copy the line from another pure crate's clippy.toml";
                complaints.push(Complaint::new(&path, 0, problem, cure));
            }
        }
    }
    let folders: Vec<String> = PURE.iter().map(|krate| format!("crates/{krate}/src/")).collect();
    for source in &tree.sources {
        if !folders.iter().any(|folder| source.path.starts_with(folder.as_str())) {
            continue;
        }
        for (line, text) in source.shipped() {
            if let Some(banned) = BANNED.iter().find(|banned| text.contains(**banned)) {
                let cure = "do it in the CLI and pass the result in";
                let problem = format!("`{banned}` in a pure crate");
                complaints.push(Complaint::new(&source.path, line, problem, cure));
            }
        }
    }
    complaints
}
