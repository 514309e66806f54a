//! How wide comments, literals and prose of pages may be. `rustfmt` sees to the rest of the code
//! and leaves these alone.

use std::ops::Range;

use proc_macro2::{TokenStream, TokenTree};

use super::{Complaint, Source, Tree};

const COLUMNS: usize = 100;

/// Checks one file after the other.
pub(super) fn check(tree: &Tree) -> Vec<Complaint> {
    let sources = tree.sources.iter();
    let sources = sources.flat_map(|source| of(source).into_iter().chain(literals(source)));
    let pages = tree.files.iter().filter(|path| path.ends_with(".md"));
    let prose = pages.filter_map(|path| Some(of_page(path, &tree.text(path)?))).flatten();
    sources.chain(prose).collect()
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

/// Literals of `src` that reach beyond and have a blank at which they can be broken. A raw one, a
/// path and the row of a table have none.
fn literals(source: &Source) -> Vec<Complaint> {
    let is_wide = |line: &str| line.chars().count() > COLUMNS;
    if !source.path.contains("/src/") || !source.text.lines().any(is_wide) {
        return Vec::new();
    }
    let Ok(tokens) = source.text.parse::<TokenStream>() else { return Vec::new() };
    let mut found = Vec::new();
    collect(tokens, &source.text, &mut found);
    let mut complaints = Vec::new();
    let mut start = 0;
    for (place, line) in source.text.split('\n').enumerate() {
        let here = start..start + line.len();
        start = here.end + 1;
        if is_wide(line) && found.iter().any(|literal| has_break(line, &here, literal)) {
            let what = format!("a literal wider than {COLUMNS} columns");
            complaints.push(Complaint::new(&source.path, place + 1, what, "break it with `\\`"));
        }
    }
    complaints
}

/// The bytes of the literals in plain quotes.
fn collect(tokens: TokenStream, text: &str, found: &mut Vec<Range<usize>>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => collect(group.stream(), text, found),
            TokenTree::Literal(literal) => {
                let range = literal.span().byte_range();
                if text.get(range.clone()).is_some_and(|of| of.starts_with('"')) {
                    found.push(range);
                }
            }
            _ => {}
        }
    }
}

/// Whether a literal has a blank in this line, with text before and after it, that leaves room for
/// the `\`.
fn has_break(line: &str, here: &Range<usize>, literal: &Range<usize>) -> bool {
    let chars: Vec<(usize, char)> = line.char_indices().collect();
    let is_inside = |at: usize| (literal.start + 1..literal.end - 1).contains(&(here.start + at));
    let end = chars.len().min(COLUMNS - 1);
    chars.windows(3).take(end.saturating_sub(1)).any(|three| {
        let [(_, a), (at, b), (after, c)] = three else { return false };
        *b == ' '
            && *a != '\\'
            && !matches!(c, ' ' | '\\')
            && is_inside(*at)
            && is_inside(*after)
            && !line[..*at].trim().is_empty()
    })
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
        let source = Source::new("crates/read/src/a.rs", &text);
        let lines = |found: Vec<Complaint>| found.iter().map(|c| c.line).collect::<Vec<_>>();
        assert_eq!((lines(of(&source)), lines(literals(&source))), (vec![1], vec![]));
    }

    #[test]
    fn a_wide_literal_with_a_blank_is_found() {
        let words = "word ".repeat(30);
        let text = format!(
            "const A: &str = \"{words}\";\nconst B: &str = r\"{words}\";\n// {words}\n\
             const C: &str = \"a \\\n    {0}\";\nfn d() {{ e(f, \"g\", {0}) }}\n",
            "x".repeat(120)
        );
        let source = Source::new("crates/read/src/a.rs", &text);
        let found: Vec<usize> = literals(&source).iter().map(|c| c.line).collect();
        assert_eq!(found, [1]);
        assert!(literals(&Source::new("crates/read/tests/a.rs", &text)).is_empty());
    }
}
