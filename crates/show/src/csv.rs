//! Comma-separated values, by RFC 4180, without a cell that a spreadsheet would execute.

/// A field, in quotes where it must be.
pub fn quoted(text: &str) -> String {
    let text = crate::paint::clean(text);
    // A spreadsheet takes such a cell for a formula and runs it; a quote in front makes it text.
    let text = if text.starts_with(['=', '+', '-', '@']) { format!("'{text}") } else { text };
    if text.contains([',', '"']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}
