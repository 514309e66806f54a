//! Rewrites the tables of `docs/results/`: `xtask results PAGE...`.
//!
//! A table is between `<!-- results: COMMAND -->` and `<!-- end -->`. The command is run by `sh -c`
//! in the workspace, and its output replaces the text there, in a fence if it was fenced.

use std::io::{self, Write};
use std::process::{Command, Stdio};

const BEGIN: &str = "<!-- results: ";
const END: &str = "<!-- end -->";

/// Runs the commands of a page and writes their output into it.
///
/// # Errors
/// If the page cannot be read or written, or a command fails; the page is left as it was then.
pub fn write(page: &str) -> io::Result<()> {
    let text = std::fs::read_to_string(page)?;
    let written = replaced(&text, |command| {
        writeln!(io::stderr(), "{command}")?;
        let mut shell = Command::new("sh");
        shell
            .args(["-c", command])
            .current_dir(crate::root())
            .stdin(Stdio::null())
            .stderr(Stdio::inherit());
        let output = shell.output()?;
        if !output.status.success() {
            return Err(io::Error::other(format!("`{command}` failed; {page} is as it was")));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    })?;
    std::fs::write(page, written)
}

/// The page with what `run` gives for each of its commands.
fn replaced(text: &str, mut run: impl FnMut(&str) -> io::Result<String>) -> io::Result<String> {
    let mut out = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        out.push_str(line);
        out.push('\n');
        let Some(command) = line.strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix(" -->"))
        else {
            continue;
        };
        let before: Vec<&str> = lines.by_ref().take_while(|line| *line != END).collect();
        let fence =
            if before.first().is_some_and(|line| line.starts_with("```")) { "```\n" } else { "" };
        let printed = run(command)?;
        out.push_str(&format!("{fence}{}\n{fence}{END}\n", printed.trim_end()));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_between_the_marks_is_replaced() {
        let page = "# A\n\n<!-- results: one -->\n| 1 |\n<!-- end -->\n\nB\n\n\
                    <!-- results: two -->\n```\n2\n```\n<!-- end -->\n";
        let now = replaced(page, |command| Ok(format!("{command} again\n"))).unwrap();
        assert_eq!(
            now,
            "# A\n\n<!-- results: one -->\none again\n<!-- end -->\n\nB\n\n\
             <!-- results: two -->\n```\ntwo again\n```\n<!-- end -->\n"
        );
    }
}
