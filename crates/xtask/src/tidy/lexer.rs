//! Blanks comments and literals out of Rust text, so that rules see code only.

/// The text with every comment, string and character literal replaced by spaces; lines stay.
pub fn code_of(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = literal(rest).unwrap_or(0);
        if length > 0 {
            let (skipped, after) = rest.split_at(length);
            out.extend(skipped.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            rest = after;
        } else if is_word(first) {
            let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            let raw =
                matches!(word, "r" | "br" | "b" | "c" | "cr") && after.starts_with(['"', '#']);
            match raw.then(|| raw_string(after)).flatten() {
                Some(length) => {
                    let (skipped, behind) = after.split_at(length);
                    out.extend(skipped.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
                    rest = behind;
                }
                None => {
                    out.push_str(word);
                    rest = after;
                }
            }
        } else {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    out
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Length of the comment or literal that begins here.
fn literal(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    if text.starts_with("/*") {
        return Some(text.find("*/").map_or(text.len(), |end| end + 2));
    }
    if let Some(inside) = text.strip_prefix('"') {
        return Some(1 + closing(inside, '"'));
    }
    // A quote begins a character only if one closes behind one character; else a lifetime.
    let inside = text.strip_prefix('\'')?;
    let mut letters = inside.char_indices();
    let (_, first) = letters.next()?;
    if first == '\\' {
        return Some(1 + closing(inside, '\''));
    }
    let (place, second) = letters.next()?;
    (second == '\'').then_some(1 + place + 1)
}

/// Bytes up to and with the closing quote, backslashes minded.
fn closing(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (place, letter) in text.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if letter == quote => return place + letter.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

/// Length of `"..."`, `#"..."#`, `##"..."##` behind an `r`, from its first sign on.
fn raw_string(text: &str) -> Option<usize> {
    let hashes = text.len() - text.trim_start_matches('#').len();
    let inside = text[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    Some(hashes + 1 + inside.find(&end).map_or(inside.len(), |place| place + end.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_strings_and_characters_vanish_and_lines_stay() {
        let text = "let a = \"x // \\\" y\"; // tail\nlet b = '\\''; let c: &'static str = r#\"q\" z\"#;\n";
        let code = code_of(text);
        assert_eq!(code.lines().count(), 2);
        assert!(!code.contains("tail") && !code.contains('x') && !code.contains('z'));
        assert!(code.contains("let b =") && code.contains("&'static str"));
    }
}
