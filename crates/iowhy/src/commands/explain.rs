//! The manual of a format, verdict, view, collector, probe or command, by name.
//!
//! ## Does
//! Prints the manual that the named thing carries in its own source file, so it cannot be out of
//! date. `formats`, `verdicts`, `views`, `collectors`, `commands` and `kinds` (of probes) list
//! what there is.
//!
//! ## Examples
//! `iowhy explain device.retry`: what the verdict means, its rule, what would make it wrong.
//! `iowhy explain biosnoop`: what is read, and its traps.
//! `iowhy explain formats`: everything that can be read.

use std::io::Write;

use clap::{Args, FromArgMatches};
use serde_json::json;

use crate::arguments::Output;
use crate::clean;
use crate::command::{Command, Status};
use crate::commands::COMMANDS;
use crate::messages::Hinted;

/// Entry in the list of commands.
pub const COMMAND: Command = Command {
    name: "explain",
    summary: "The manual of a format, verdict, view, collector or command",
    manual: include_str!("explain.rs"),
    arguments: Explain::augment_args,
    run,
};

#[derive(Args, Debug)]
struct Explain {
    /// A name such as `device.retry` or `biosnoop`, or a family such as `formats`
    #[arg(value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    output: Output,
}

/// One thing that can be explained.
struct Entry {
    family: &'static str,
    name: &'static str,
    summary: &'static str,
    manual: &'static str,
}

fn run(matches: &clap::ArgMatches) -> anyhow::Result<Status> {
    let explain = Explain::from_arg_matches(matches)?;
    let entries = entries();
    let mut out = clean::stdout();
    let name = explain.name.as_deref().unwrap_or("");
    let family: Vec<&Entry> =
        entries.iter().filter(|entry| name.is_empty() || entry.family == name).collect();
    if !family.is_empty() {
        list(&family, explain.output.json, &mut out)?;
        return Ok(Status::Done);
    }
    // A name may be carried by a format and a collector alike: both are shown.
    let found: Vec<&Entry> = entries.iter().filter(|entry| entry.name == name).collect();
    if found.is_empty() {
        return Err(Hinted::error(format!("nothing is called `{name}`"), nearest(name, &entries)));
    }
    for entry in found {
        if explain.output.json {
            let object = json!({
                "schema": "iowhy.explain/1",
                "family": entry.family,
                "name": entry.name,
                "summary": entry.summary,
                "manual": header(entry.manual),
            });
            writeln!(out, "{object:#}")?;
        } else {
            writeln!(out, "{} ({})\n", entry.name, entry.family.trim_end_matches('s'))?;
            write!(out, "{}", header(entry.manual))?;
        }
    }
    Ok(Status::Done)
}

fn entries() -> Vec<Entry> {
    let mut all = Vec::new();
    let mut add = |family, name, summary, manual| all.push(Entry { family, name, summary, manual });
    for command in COMMANDS {
        add("commands", command.name, command.summary, command.manual);
    }
    for format in iowhy_read::FORMATS {
        add("formats", format.name, format.summary, format.manual);
    }
    for detector in iowhy_diagnose::DETECTORS {
        add("verdicts", detector.verdict.name(), detector.summary, detector.manual);
    }
    for kind in iowhy_probe::KINDS {
        add("kinds", kind.name, kind.summary, kind.manual);
    }
    for view in iowhy_show::VIEWS {
        add("views", view.name, view.summary, view.manual);
    }
    for collector in iowhy_live::COLLECTORS {
        add("collectors", collector.name, collector.summary, collector.manual);
    }
    all
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

/// The `//!` header of a source file, as text; its headings stand out in capitals.
fn header(source: &str) -> String {
    let mut text = String::new();
    for line in source.lines().map_while(|line| line.strip_prefix("//!")) {
        let line = line.strip_prefix(' ').unwrap_or(line);
        match line.strip_prefix("## ") {
            Some(heading) => text.push_str(&heading.to_uppercase()),
            None => text.push_str(line),
        }
        text.push('\n');
    }
    text
}

/// The names that look most like the one that was not found.
fn nearest(name: &str, entries: &[Entry]) -> String {
    let part = name.split(['.', '-', '_']).next_back().unwrap_or(name);
    let alike: Vec<String> = entries
        .iter()
        .filter(|entry| entry.name.contains(part) || name.contains(entry.name))
        .map(|entry| format!("`{}`", entry.name))
        .take(4)
        .collect();
    if alike.is_empty() {
        "`iowhy explain` lists everything".to_string()
    } else {
        format!("did you mean {}?", alike.join(", "))
    }
}
