//! Comma-separated values, by RFC 4180, without a cell that a spreadsheet would execute.

use std::io::{self, Write};

use serde_json::Value;

/// A field, in quotes where it must be.
pub(crate) fn quoted(text: &str) -> String {
    let text = crate::paint::clean(text);
    // A spreadsheet takes such a cell for a formula and runs it; a quote in front makes it text.
    let text = if text.starts_with(['=', '+', '-', '@']) { format!("'{text}") } else { text };
    if text.contains([',', '"']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

/// Rows of JSON objects: a line with these keys, then their values in each row. An unknown value is
/// empty; a list has semicolons between its values.
///
/// # Errors
/// If the writer fails.
pub fn rows(keys: &[&str], rows: &[Value], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", keys.join(","))?;
    for row in rows {
        let cells: Vec<String> = keys.iter().map(|key| cell(&row[*key])).collect();
        writeln!(out, "{}", cells.join(","))?;
    }
    Ok(())
}

fn cell(value: &Value) -> String {
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_string);
    match value {
        Value::Null => String::new(),
        Value::Number(number) => number.to_string(),
        Value::Array(all) => quoted(&all.iter().map(plain).collect::<Vec<_>>().join(";")),
        other => quoted(&plain(other)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn rows_have_a_cell_for_each_key_whatever_they_hold() {
        let all = [
            json!({"n": -3, "of": "a,\"b\"", "stack": ["x+0x1", "y"], "more": true}),
            json!({"of": "=cmd()", "n": null, "stack": [], "ended": [{"by": "task"}]}),
        ];
        let mut out = Vec::new();
        super::rows(&["n", "of", "stack", "more", "ended"], &all, &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "n,of,stack,more,ended\n-3,\"a,\"\"b\"\"\",x+0x1;y,true,\n\
             ,'=cmd(),,,\"{\"\"by\"\":\"\"task\"\"}\"\n"
        );
    }
}
