//! Text of captures as text of a page: no markup, no control characters, no direction marks.

use crate::paint::clean;

/// Letters of a name that are shown; a longer one is cut and marked.
const LONGEST: usize = 400;

/// Untrusted text, escaped for use between tags and in quoted attributes.
pub fn text(raw: &str) -> String {
    let short: String = raw.chars().take(LONGEST + 1).collect();
    let cut = short.chars().count() > LONGEST;
    let short: String = short.chars().take(LONGEST).collect();
    escaped(&clean(&short), if cut { "…" } else { "" })
}

/// A sentence of iowhy: text in backticks becomes code.
pub fn prose(raw: &str) -> String {
    let mut html = String::new();
    for (place, part) in raw.split('`').enumerate() {
        let part = text(part);
        if place % 2 == 1 {
            html += &format!("<code>{part}</code>");
        } else {
            html += &part;
        }
    }
    html
}

fn escaped(text: &str, end: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            other => html.push(other),
        }
    }
    html + end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_text() {
        assert_eq!(text("<img onerror=\"x\">'&"), "&lt;img onerror=&quot;x&quot;&gt;&#39;&amp;");
        assert_eq!(text("a\x1b[31m\u{202e}b"), "a?[31m?b");
        assert_eq!(text(&"x".repeat(10_000_000)).chars().count(), LONGEST + 1);
        assert_eq!(prose("run `a <b>`"), "run <code>a &lt;b&gt;</code>");
    }
}
