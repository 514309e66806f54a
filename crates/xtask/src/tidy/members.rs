//! Members of one list do not use each other, and no measure uses a detector.

use super::{Complaint, Source, Tree};

/// Folders whose files must not name each other. Measures may use measures.
const STRANGERS: &[&str] =
    &["crates/diagnose/src/detectors", "crates/read/src/formats", "crates/show/src/views"];

/// Looks for paths such as `super::other` or `crate::formats::other` in code that ships.
pub(super) fn check(tree: &Tree) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for folder in STRANGERS {
        let members: Vec<&Source> = tree.folder(folder).collect();
        let family = folder.rsplit('/').next().unwrap_or(folder);
        for member in &members {
            let text = shipped(member);
            let others = members.iter().filter(|other| other.path != member.path);
            for other in others {
                for parent in ["super", family] {
                    if let Some(line) = names(&text, parent, other.stem()) {
                        complaints.push(Complaint::new(
                            &member.path,
                            line,
                            format!("`{}` uses `{parent}::{}`", member.stem(), other.stem()),
                            format!("move what both need beside the list, not into `{family}/`"),
                        ));
                    }
                }
            }
        }
    }
    for measure in tree.folder("crates/diagnose/src/measures") {
        for (line, text) in measure.shipped() {
            if text.contains("detectors::") || text.contains("::detectors") {
                let cure = "a measure computes a number; the detector calls it";
                let problem = "a measure uses a detector";
                complaints.push(Complaint::new(&measure.path, line, problem, cure));
            }
        }
    }
    complaints
}

/// The code of a file that ships.
fn shipped(source: &Source) -> String {
    source.shipped().flat_map(|(_, line)| [line, "\n"]).collect()
}

/// The line on which `parent::child` is named in a text, also as `parent::{..., child, ...}`.
fn names(text: &str, parent: &str, child: &str) -> Option<usize> {
    let opening = format!("{parent}::");
    let mut from = 0;
    while let Some(place) = text[from..].find(&opening) {
        let start = from + place;
        from = start + opening.len();
        if text[..start].ends_with(is_word) || text[..start].ends_with("super::") {
            continue;
        }
        let rest = &text[from..];
        let group = rest.strip_prefix('{').and_then(|inside| Some(inside.split_once("};")?.0));
        let named = match group {
            Some(group) => group.split([',', '{', '}']).any(|part| begins(part.trim(), child)),
            None => begins(rest, child),
        };
        if named {
            return Some(text[..start].matches('\n').count() + 1);
        }
    }
    None
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether a path begins with the module `name`.
fn begins(path: &str, name: &str) -> bool {
    path.strip_prefix(name).is_some_and(|rest| !rest.starts_with(is_word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_that_uses_a_format_is_found_and_tests_may() {
        let tree = Tree::of(&[
            ("crates/read/src/formats/a.rs", "//! A.\nuse crate::formats::b::read;\n"),
            ("crates/read/src/formats/b.rs", "//! B.\nuse super::{\n    a,\n    c::X,\n};\n"),
            (
                "crates/read/src/formats/c.rs",
                "//! C, see super::a.\nuse crate::alpha;\n#[cfg(test)]\nmod tests {\n use \
                 super::a;\n}\n",
            ),
        ]);
        let found = check(&tree);
        let places: Vec<(&str, usize)> =
            found.iter().map(|complaint| (complaint.file.as_str(), complaint.line)).collect();
        assert_eq!(
            places,
            [
                ("crates/read/src/formats/a.rs", 2),
                ("crates/read/src/formats/b.rs", 2),
                ("crates/read/src/formats/b.rs", 2)
            ]
        );
    }
}
