//! Whether a capture that was found is one that the project already has: lines of tools with real
//! numbers do not repeat by chance.
//!
//! Few shared lines may be a tool's own (attributes of drives, a banner): look at both. Captures of
//! the collections whose texts are not kept (`first_meetings.jsonl`) are not seen.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Shorter lines, in bytes, are headings of tools (a choice).
const LONG: usize = 45;
/// Lines that two captures share by chance: a banner and a heading (a choice).
const BY_CHANCE: usize = 2;

/// The published captures by their long lines.
pub struct KnownCaptures(HashMap<String, Vec<String>>);

impl KnownCaptures {
    /// Those of the tree.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn of_the_tree() -> io::Result<KnownCaptures> {
        KnownCaptures::below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("published"))
    }

    /// Those of a folder.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn below(folder: &Path) -> io::Result<KnownCaptures> {
        let mut known: HashMap<String, Vec<String>> = HashMap::new();
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let Ok(text) = fs::read(&path) else { continue };
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            for line in long_lines(&String::from_utf8_lossy(&text)) {
                let captures = known.entry(line).or_default();
                if captures.last() != Some(&name) {
                    captures.push(name.clone());
                }
            }
        }
        Ok(KnownCaptures(known))
    }

    /// The capture that shares most lines with a text, if it shares more than by chance, and how
    /// many.
    pub fn like(&self, text: &str) -> Option<(&str, usize)> {
        let mut shared: BTreeMap<&str, usize> = BTreeMap::new();
        for line in long_lines(text) {
            for name in self.0.get(&line).into_iter().flatten() {
                *shared.entry(name).or_default() += 1;
            }
        }
        let most = shared.into_iter().max_by_key(|(_, lines)| *lines);
        most.filter(|(_, lines)| *lines > BY_CHANCE)
    }
}

/// Lines with a number that are no headings, blanks made alike.
fn long_lines(text: &str) -> impl Iterator<Item = String> {
    let alike = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    alike.filter(|line| line.len() > LONG && line.bytes().any(|byte| byte.is_ascii_digit()))
}

/// A line for each file: `new`, or which capture it is.
///
/// # Errors
/// If a file cannot be read.
pub fn known(files: &[PathBuf]) -> io::Result<String> {
    let captures = KnownCaptures::of_the_tree()?;
    let mut out = String::new();
    for file in files {
        let text = fs::read(file)?;
        let _ = match captures.like(&String::from_utf8_lossy(&text)) {
            Some((name, lines)) => {
                writeln!(out, "{}: {lines} lines are those of {name}", file.display())
            }
            None => writeln!(out, "{}: new", file.display()),
        };
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capture_is_known_again_and_another_of_the_same_tool_is_not() {
        let folder = std::env::temp_dir().join(format!("iowhy-known-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let row = |ms: u32| {
            format!(
                "sda   12.00  30.{ms}  480.00  960.00   0.00   0.00  {ms}.20  1.40  0.31  22.{ms}"
            )
        };
        let heading =
            "Device  r/s  w/s  rkB/s  wkB/s  rrqm/s  wrqm/s  r_await  w_await  aqu-sz  %util";
        let capture = |rows: [u32; 4]| {
            rows.iter().fold(heading.to_string(), |text, ms| text + "\n" + &row(*ms))
        };
        fs::write(folder.join("P1-01-one.txt"), capture([11, 12, 13, 14])).unwrap();
        let known = KnownCaptures::below(&folder).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        // Other blanks, and one row is missing.
        let again = capture([12, 13, 14, 99]).replace("  ", "    ");
        assert_eq!(known.like(&again), Some(("P1-01-one.txt", 3)));
        assert_eq!(known.like(&capture([11, 12, 98, 99])), None);
    }
}
