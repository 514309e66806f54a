//! Blanks comments and literals out of Rust text, so that rules see code only.

use proc_macro2::{TokenStream, TokenTree};

/// The text with every comment, string and character literal replaced by spaces; lines stay. Text
/// that is not Rust stays as it is: the compiler reports it.
pub(super) fn code_of(text: &str) -> String {
    let Ok(tokens) = text.parse::<TokenStream>() else { return text.to_string() };
    let blank = |c: char| std::iter::repeat_n(if c == '\n' { '\n' } else { ' ' }, c.len_utf8());
    let mut out = text.chars().flat_map(blank).collect::<String>().into_bytes();
    copy(tokens, text.as_bytes(), &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

fn copy(tokens: TokenStream, from: &[u8], to: &mut [u8]) {
    for token in tokens {
        let mut keep = |range: std::ops::Range<usize>| {
            if let (Some(from), Some(to)) = (from.get(range.clone()), to.get_mut(range)) {
                to.copy_from_slice(from);
            }
        };
        match token {
            TokenTree::Literal(_) => {}
            // A doc comment is an attribute to the lexer, all of it at the comment's position.
            token if from.get(token.span().byte_range()).is_some_and(is_comment) => {}
            TokenTree::Group(group) => {
                keep(group.span_open().byte_range());
                keep(group.span_close().byte_range());
                copy(group.stream(), from, to);
            }
            token => keep(token.span().byte_range()),
        }
    }
}

fn is_comment(text: &[u8]) -> bool {
    text.starts_with(b"//") || text.starts_with(b"/*")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_is_left_and_lines_stay() {
        let text = "//! doc unsafe\nfn a<'x>(b: &'x str) {} // c\nlet d = \"e // \\\" f\n\"; 'g'; \
                    r#\"h\"# + b'i' /* j\n */ k; 'é'; l";
        let code = code_of(text);
        assert_eq!(code.lines().count(), text.lines().count());
        let words: Vec<&str> = code.split_whitespace().collect();
        assert_eq!(words.join(" "), "fn a<'x>(b: &'x str) {} let d = ; ; + k; ; l");
        assert_eq!(code.len(), text.len());
    }
}
