//! The path of a line from file to screen, as in docs/ARCHITECTURE.md: each step is an existing
//! function.

use super::{Complaint, Source, Tree};

const PAGE: &str = "docs/ARCHITECTURE.md";

/// Functions in the tables of the sections called "followed" that are not where the page says.
pub(super) fn check(tree: &Tree) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    let text = tree.text(PAGE).unwrap_or_default();
    let (mut is_followed, mut place) = (false, String::new());
    for (number, line) in text.lines().enumerate() {
        if let Some(title) = line.strip_prefix("## ") {
            is_followed = title.ends_with("followed");
        }
        let Some(cell) = line.split(" | ").nth(1).filter(|_| is_followed) else { continue };
        for hop in cell.split(", ") {
            let marked: Vec<&str> = hop.split('`').skip(1).step_by(2).collect();
            let Some((name, rest)) = marked.split_first() else { continue };
            if let Some(file) = rest.first() {
                place = format!("/{file}");
            }
            if !exists(tree, name, &place) {
                let what = format!("no function `{name}` there");
                let cure = "name the function that handles the line there now";
                complaints.push(Complaint::new(PAGE, number + 1, what, cure));
            }
        }
    }
    complaints
}

/// Whether a function is in that file or, if its name reports what it is (`ranking::rank`,
/// `Analysis::of`), in such a module or beside such a type.
fn exists(tree: &Tree, name: &str, file: &str) -> bool {
    let (owner, function) = name.rsplit_once("::").unwrap_or(("", name));
    let owner = owner.rsplit("::").next().unwrap_or_default();
    let is_type = owner.starts_with(char::is_uppercase);
    let is_there = |source: &&Source| match owner {
        "" => source.path.ends_with(file),
        _ if is_type => source.shipped().any(|(_, line)| is_of(line, owner)),
        _ => source.stem() == owner || source.path.contains(&format!("/{owner}/")),
    };
    let begins = [format!("fn {function}("), format!("fn {function}<")];
    tree.sources.iter().filter(is_there).any(|source| {
        source.shipped().any(|(_, line)| begins.iter().any(|begin| line.contains(begin)))
    })
}

/// Whether a line begins what is implemented for a type.
fn is_of(line: &str, owner: &str) -> bool {
    line.starts_with("impl") && line.split(|c: char| !c.is_alphanumeric()).any(|word| word == owner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hop_that_is_gone_is_found() {
        let page = "## A line, followed\n\n| 1 | `read::scan` | `gone` |\n\
                    | 2 | `sniff` of `formats/a.rs` | x |\n| 3 | `line` of the same file | x |\n\
                    | 4 | `Table::of`, called by `lost` of `formats/a.rs` | x |\n\
                    ## Other\n| 5 | `gone` | x |\n";
        let tree = Tree::of(&[
            (PAGE, page),
            ("crates/read/src/scan.rs", "pub fn scan() {}\n"),
            ("crates/read/src/formats/a.rs", "fn sniff() {}\nimpl A {\n    fn line<T>() {}\n}\n"),
            ("crates/show/src/table.rs", "impl<'a> Table<'a> {\n    pub fn of() {}\n}\n"),
        ]);
        let found: Vec<String> = check(&tree).into_iter().map(|one| one.to_string()).collect();
        assert!(found.len() == 1 && found[0].contains("6: no function `lost`"), "{found:?}");
    }
}
