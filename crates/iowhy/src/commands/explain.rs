//! Prints the manual of a format, verdict, view, collector, probe or command.
//!
//! ## Does
//! Prints the manual from the source file of the named item, so it is always up to date. `formats`,
//! `verdicts`, `views`, `collectors`, `commands`, `kinds` (of probes) and `words` (terms on
//! screens) print lists.
//!
//! ## Examples
//! `iowhy explain device.retry`: what the verdict means, its rule, when it is wrong.
//! `iowhy explain biosnoop`: what is read, and its caveats.
//! `iowhy explain Q2D`: the meaning of a column or term on a screen.
//! `iowhy explain formats`: all formats that iowhy reads.

use std::io::Write;

use clap::{Args, FromArgMatches};
use serde_json::json;

use crate::arguments::Output;
use crate::command::{Command, Status};
use crate::complete;
use crate::man;
use crate::manual::{self, Entry};
use crate::messages::HintedError;
use crate::mistyped;
use crate::sanitised;
use crate::terminal;

/// Entry in the list of commands.
pub(super) const COMMAND: Command = Command {
    name: "explain",
    summary: "The manual of a format, verdict, view, collector or command",
    manual: iowhy_model::manual!("explain.rs"),
    arguments: |line| Explain::augment_args(line).mut_arg("verbose", |all| all.hide(true)),
    run,
};

#[derive(Args, Debug)]
struct Explain {
    /// A name such as `device.retry` or `biosnoop`, or a family such as `formats`
    #[arg(value_name = "NAME", add = complete::names())]
    name: Vec<String>,
    /// The man page of `iowhy`, a command, `formats` or `verdicts` (roff): `| man -l -` shows it
    #[arg(long, conflicts_with = "json")]
    man: bool,
    #[command(flatten)]
    output: Output,
}

/// Longer lines of text are hard to read.
const WIDEST: usize = 100;

fn run(matches: &clap::ArgMatches) -> anyhow::Result<Status> {
    let explain = Explain::from_arg_matches(matches)?;
    let entries = manual::entries();
    let mut out = sanitised::stdout();
    // Terms of two words need no quotes.
    let name = explain.name.join(" ");
    let name = name.as_str();
    if explain.man {
        let hint = "man pages exist for `iowhy`, each command, `formats` and `verdicts`";
        let page = man::page(name)?;
        let page =
            page.ok_or_else(|| HintedError::error(format!("`{name}` has no man page"), hint))?;
        out.write_all(&page)?;
        return Ok(Status::Done);
    }
    let width = explain.output.style(Default::default()).width.min(WIDEST);
    let family: Vec<&Entry> =
        entries.iter().filter(|entry| name.is_empty() || entry.family == name).collect();
    if !family.is_empty() {
        let json = explain.output.json;
        let mut text = Vec::new();
        list(&family, json, &mut text)?;
        let text = String::from_utf8_lossy(&text);
        let text = if json { text.into_owned() } else { terminal::wrapped(&text, width) };
        out.write_all(text.as_bytes())?;
        if name == "formats" && !json {
            let hint = "In most formats lines carry no sequence numbers, so missing lines go \
                        unnoticed.\nA log or table not listed here can be described in a file: see \
                        `iowhy explain own-formats`";
            writeln!(out, "\n{}", terminal::wrapped(hint, width).trim_end())?;
        }
        return Ok(Status::Done);
    }
    // A format and a collector may have the same name: both are shown.
    let found: Vec<&Entry> = {
        // Terms may be typed in upper or lower case.
        let is_word =
            |entry: &Entry| entry.family == "words" && entry.name.eq_ignore_ascii_case(name);
        entries.iter().filter(|entry| entry.name == name || is_word(entry)).collect()
    };
    if found.is_empty() {
        return Err(HintedError::error(format!("no manual for `{name}`"), nearest(name, &entries)));
    }
    for entry in found {
        if explain.output.json {
            let object = json!({
                "schema": "iowhy.explain/1",
                "family": entry.family,
                "name": entry.name,
                "summary": entry.summary,
                "manual": manual::text(entry.source),
                "looks_for": entry.description,
            });
            writeln!(out, "{object:#}")?;
        } else {
            writeln!(out, "{} ({})\n", entry.name, entry.family.trim_end_matches('s'))?;
            write!(out, "{}", terminal::wrapped(&manual::text(entry.source), width))?;
            if let Some(description) = &entry.description {
                writeln!(out, "\nLOOKS FOR\n{description}")?;
            }
        }
    }
    Ok(Status::Done)
}

fn list(entries: &[&Entry], json: bool, out: &mut dyn Write) -> std::io::Result<()> {
    if json {
        let entries: Vec<_> = entries
            .iter()
            .map(|entry| {
                json!({ "family": entry.family, "name": entry.name, "summary": entry.summary })
            })
            .collect();
        return writeln!(out, "{:#}", json!({ "schema": "iowhy.explain/1", "entries": entries }));
    }
    let column = entries.iter().map(|entry| entry.name.len()).max().unwrap_or(0);
    let mut family = "";
    for entry in entries {
        if entry.family != family {
            if !family.is_empty() {
                writeln!(out)?;
            }
            writeln!(out, "{}", entry.family)?;
            family = entry.family;
        }
        writeln!(out, "  {:column$}  {}", entry.name, entry.summary)?;
    }
    Ok(())
}

/// The names most similar to the one that was not found.
fn nearest(name: &str, entries: &[Entry]) -> String {
    let part = name.split(['.', '-', '_']).next_back().unwrap_or(name);
    // Mistyped names first: terms may be typed in upper or lower case.
    let small = name.to_lowercase();
    let lower: Vec<String> = entries.iter().map(|entry| entry.name.to_lowercase()).collect();
    let typed = mistyped::nearest(&small, lower.iter().map(String::as_str));
    let is_typed = |lower: &str| typed.contains(&lower);
    let is_part = |entry: &Entry| entry.name.contains(part) || name.contains(entry.name);
    let mut alike: Vec<String> = Vec::new();
    for (entry, lower) in entries.iter().zip(&lower) {
        let quoted = format!("`{}`", entry.name);
        let is_alike = if typed.is_empty() { is_part(entry) } else { is_typed(lower) };
        if is_alike && !alike.contains(&quoted) && alike.len() < 4 {
            alike.push(quoted);
        }
    }
    if alike.is_empty() {
        "`iowhy explain` lists everything".to_string()
    } else {
        format!("did you mean {}?", alike.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_name_is_guessed_by_its_letters() {
        crate::command::register(crate::commands::COMMANDS);
        let entries = manual::entries();
        for (typed, meant) in [
            ("device.rety", "did you mean `device.retry`?"),
            ("q2dd", "did you mean `Q2D`?"),
            ("awiat", "did you mean `await`?"),
            ("retry", "did you mean `device.retry`?"),
            ("xyzzy", "`iowhy explain` lists everything"),
        ] {
            assert_eq!(nearest(typed, &entries), meant, "{typed}");
        }
    }
}
