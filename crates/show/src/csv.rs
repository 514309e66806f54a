//! Comma-separated values, by RFC 4180.

/// A field, in quotes where it must be.
pub fn quoted(text: &str) -> String {
    let text = crate::paint::clean(text);
    if text.contains([',', '"']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}
