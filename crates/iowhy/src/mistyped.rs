//! A mistyped command, which would otherwise be taken as the name of a capture.

use std::ffi::OsString;
use std::path::Path;

use crate::command;
use crate::messages::HintedError;

/// Suggests a command if the first word is not one, names no file, and is similar to one.
///
/// # Errors
/// If so.
pub(crate) fn refuse(line: &[OsString]) -> anyhow::Result<()> {
    let Some(word) = line.get(1).and_then(|word| word.to_str()) else { return Ok(()) };
    let known = command::all().iter().any(|command| command.name == word);
    if known || Path::new(word).exists() {
        return Ok(());
    }
    let meant = meant(word);
    if meant.is_empty() {
        return Ok(());
    }
    let quoted: Vec<String> = meant.iter().map(|name| format!("`iowhy {name}`")).collect();
    Err(HintedError::error(
        format!("no command or file `{word}`"),
        format!("did you mean {}?", quoted.join(" or ")),
    ))
}

/// The commands that differ by one letter, or by two if they are long, closest first.
fn meant(word: &str) -> Vec<&'static str> {
    if word.len() < 2 || !word.bytes().all(|b| b.is_ascii_lowercase()) {
        return Vec::new();
    }
    nearest(word, command::all().iter().map(|command| command.name))
}

/// The names that differ from a word by one letter, or by two if they are long, closest first.
pub(crate) fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let most = |name: &str| if name.len().min(word.len()) > 4 { 2 } else { 1 };
    let near = names.filter(|name| name.len().abs_diff(word.len()) <= 2);
    let near = near.map(|name| (distance(word.as_bytes(), name.as_bytes()), name));
    let near: Vec<_> = near.filter(|(apart, name)| *apart <= most(name)).collect();
    let first = near.iter().map(|(apart, _)| *apart).min();
    near.into_iter().filter(|(apart, _)| Some(*apart) == first).map(|(_, name)| name).collect()
}

/// The number of letters to insert, delete, replace or swap with their neighbour (optimal string
/// alignment).
fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for (i, of_a) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, of_b) in b.iter().enumerate() {
            let cell = |up: usize, left: usize| {
                let above = if up == 0 { Some(&row) } else { rows.get(i + 1 - up) };
                above.and_then(|row| row.get(j + 1 - left)).copied().unwrap_or(usize::MAX / 2)
            };
            let mut least = (cell(1, 0) + 1).min(cell(0, 1) + 1);
            least = least.min(cell(1, 1) + usize::from(of_a != of_b));
            let swapped =
                i > 0 && j > 0 && a.get(i - 1) == Some(of_b) && b.get(j - 1) == Some(of_a);
            if swapped {
                least = least.min(cell(2, 2) + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows.last().and_then(|row| row.last()).copied().unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_guessed_by_its_letters() {
        command::register(crate::commands::COMMANDS);
        for (typed, name) in [
            ("snop", "snoop"),
            ("hsit", "hist"),
            ("wy", "why"),
            ("incident", "incidents"),
            ("comprae", "compare"),
            ("reprot", "report"),
            ("explian", "explain"),
        ] {
            assert_eq!(meant(typed), [name], "{typed}");
        }
        for typed in ["blktrace", "capture", "x", "iostat", "trace.txt", "-", "", "Snoop", "dmesg"]
        {
            assert!(meant(typed).is_empty(), "{typed}: {:?}", meant(typed));
        }
        let line = |word: &str| ["iowhy".into(), word.into()];
        let error = refuse(&line("snop")).unwrap_err().to_string();
        assert!(error.contains("no command or file `snop`"), "{error}");
        assert!(refuse(&line("snoop")).is_ok() && refuse(&line("/tmp")).is_ok());
    }
}
