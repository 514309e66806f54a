//! Nothing of the machine a file was written on, and no registry's host, in any file.

use super::{Complaint, Tree};

/// Paths of build machines, in two halves so that this file does not accuse itself.
const PLACES: &[(&str, &str)] = &[("/wo", "rk"), ("/ro", "ot/"), ("/opt/whe", "els")];

/// Hosts of package registries, likewise.
const HOSTS: &[(&str, &str)] = &[
    ("crates", ".io"),
    ("static.crates", ".io"),
    ("pypi", ".org"),
    ("files.pythonhosted", ".org"),
    ("registry.npmjs", ".org"),
    ("proxy.golang", ".org"),
    ("deb.debian", ".org"),
];

/// The line that every lock file must have for packages of the default registry.
const LOCK_LINE: &str = "source = \"registry+https://github.com/rust-lang/";

/// Checks every text file that is or is about to be committed.
pub(super) fn check(tree: &Tree) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for path in &tree.files {
        let Some(text) = tree.text(path) else { continue };
        for (place, line) in text.lines().enumerate() {
            if path == "Cargo.lock" && line.starts_with(LOCK_LINE) {
                continue;
            }
            if let Some(leak) = leak(line) {
                let cure = "write it relative to the workspace, or leave it out";
                let problem = format!("the file contains `{leak}`");
                complaints.push(Complaint::new(path, place + 1, problem, cure));
            }
        }
    }
    complaints
}

fn leak(line: &str) -> Option<String> {
    // `../shared`, `$HOME/x` and `network/x` are not paths of a machine.
    let joins_place =
        |c: char| c.is_alphanumeric() || matches!(c, '.' | '}' | ')' | '_' | '~' | '/');
    let mut places = PLACES.iter().map(|(a, b)| format!("{a}{b}"));
    if let Some(place) = places.find(|place| stands_alone(line, place, joins_place)) {
        return Some(place);
    }
    let mut hosts = HOSTS.iter().map(|(a, b)| format!("{a}{b}"));
    hosts.find(|host| stands_alone(line, host, |c| c.is_alphanumeric() || c == '-'))
}

/// Whether `what` is in the line and neither the end nor the beginning of a longer word.
fn stands_alone(line: &str, what: &str, joins: impl Fn(char) -> bool) -> bool {
    line.match_indices(what).any(|(place, _)| {
        let rest = &line[place + what.len()..];
        let goes_on = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
        !line[..place].ends_with(&joins) && (what.ends_with('/') || !rest.starts_with(goes_on))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_hosts_are_found_and_look_alikes_are_not() {
        for (a, b) in PLACES {
            assert!(leak(&format!("see `{a}{b}/x` there")).is_some(), "{a}{b}");
        }
        for (a, b) in HOSTS {
            assert!(leak(&format!("https://{a}{b}/x")).is_some(), "{a}{b}");
        }
        assert!(leak("rust-lang/crates.io-index").is_none());
        for fine in [
            "network/x",
            "../work/x",
            "/workload",
            "cgroup/root",
            "a path like /roots",
            "36 35 98:0 /root /point",
        ] {
            assert_eq!(leak(fine), None, "{fine}");
        }
    }
}
