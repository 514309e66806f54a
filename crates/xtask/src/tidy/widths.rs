//! How wide comments and prose of pages may be. `rustfmt` sees to the code and leaves comments and
//! literals alone.

use super::{Complaint, Source, Tree};

const COLUMNS: usize = 100;

/// Checks one file after the other.
pub(super) fn check(tree: &Tree) -> Vec<Complaint> {
    let comments = tree.sources.iter().flat_map(of);
    let pages = tree.files.iter().filter(|path| path.ends_with(".md"));
    let prose = pages.filter_map(|path| Some(of_page(path, &tree.text(path)?))).flatten();
    comments.chain(prose).collect()
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

/// Prose of a page. Tables, code, generated parts, and the command of a case are not wrapped.
fn of_page(path: &str, text: &str) -> Vec<Complaint> {
    let (mut is_code, mut is_generated) = (false, false);
    let mut found = Vec::new();
    for (place, line) in text.lines().enumerate() {
        if path.ends_with("/case.md") && line.starts_with("## Command") {
            break;
        }
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        if line.starts_with("<!-- ") {
            is_generated = !line.starts_with("<!-- end") && !line.starts_with("<!-- stories");
        }
        let is_prose = !is_code
            && !is_generated
            && !["|", "    ", "![", "<!-- "].iter().any(|mark| line.starts_with(mark));
        if is_prose && line.chars().count() > COLUMNS && line.trim_start().contains(' ') {
            let what = format!("a line of prose wider than {COLUMNS} columns");
            found.push(Complaint::new(path, place + 1, what, "wrap it"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_of_pages_and_cases_is_wrapped_and_their_code_is_not() {
        let wide = "a word ".repeat(16);
        let page = format!("# A\n\n{wide}\n| {wide} |\n```\n{wide}\n```\n    {wide}\n");
        let lines = |path: &str, text: &str| -> Vec<usize> {
            of_page(path, text).iter().map(|complaint| complaint.line).collect()
        };
        assert_eq!(lines("docs/A.md", &page), [3]);
        assert_eq!(lines("docs/A.md", &format!("<!-- a -->\n{wide}\n<!-- end a -->\n{wide}")), [4]);
        let case = format!("# A\n\n{wide}\n\n## Command\n\n{wide}\n");
        assert_eq!(lines("crates/iowhy/tests/cases/a/case.md", &case), [3]);
    }

    #[test]
    fn a_wide_comment_is_found_and_a_wide_literal_is_not() {
        let text = format!("//! {0}\nconst A: &str = \"{0}\";\n/// {1}\n", "a".repeat(97), "b");
        let found = of(&Source::new("crates/read/src/a.rs", &text));
        assert_eq!(found.iter().map(|c| c.line).collect::<Vec<_>>(), [1]);
    }
}
