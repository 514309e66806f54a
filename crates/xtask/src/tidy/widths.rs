//! How wide a comment may be. `rustfmt` sees to the code and leaves comments and literals alone.

use super::{Complaint, Source, Tree};

const COLUMNS: usize = 100;

/// Checks one file after the other.
pub fn check(tree: &Tree) -> Vec<Complaint> {
    tree.sources.iter().flat_map(of).collect()
}

fn of(source: &Source) -> Vec<Complaint> {
    let lines = source.text.lines().zip(source.code.lines()).enumerate();
    let wide = lines.filter(|(_, (text, code))| {
        text.trim_start().starts_with("//")
            && code.trim().is_empty()
            && text.chars().count() > COLUMNS
    });
    wide.map(|(place, _)| {
        let what = format!("a comment wider than {COLUMNS} columns");
        Complaint::new(&source.path, place + 1, what, "wrap it")
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wide_comment_is_found_and_a_wide_literal_is_not() {
        let text = format!("//! {0}\nconst A: &str = \"{0}\";\n/// {1}\n", "a".repeat(97), "b");
        let found = of(&Source::new("crates/read/src/a.rs", &text));
        assert_eq!(found.iter().map(|c| c.line).collect::<Vec<_>>(), [1]);
    }
}
