//! The list of commands. To add one: its file, its `mod` line, its place in [`COMMANDS`].

mod compare;
mod convert;
mod doctor;
mod explain;
mod export;
mod hist;
mod incidents;
mod map;
mod mark;
mod mcp;
mod probe;
mod record;
mod report;
mod snoop;
mod stat;
mod syscalls;
mod top;
mod uprobe;
mod waits;
mod watch;
mod why;

use crate::command::Command;

/// All commands, sorted by name.
pub(crate) const COMMANDS: &[Command] = &[
    compare::COMMAND,
    convert::COMMAND,
    doctor::COMMAND,
    explain::COMMAND,
    export::COMMAND,
    hist::COMMAND,
    incidents::COMMAND,
    map::COMMAND,
    mark::COMMAND,
    mcp::COMMAND,
    probe::COMMAND,
    record::COMMAND,
    report::COMMAND,
    snoop::COMMAND,
    stat::COMMAND,
    syscalls::COMMAND,
    top::COMMAND,
    uprobe::COMMAND,
    waits::COMMAND,
    watch::COMMAND,
    why::COMMAND,
];

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> clap::Command {
        crate::command::register(COMMANDS);
        crate::command::line()
    }

    /// Options whose help differs between commands, and why their meaning is still the same.
    const DIFFER: &[(&str, &str)] = &[
        ("by", "hist counts by more than names, and stat has rows of devices otherwise"),
        ("clock", "hist has one for all of its time, and watch its turns"),
        ("device", "what of it: I/Os, incidents, sides of a comparison"),
        ("files", "record keeps what snoop has a column for"),
        ("folded", "snoop counts the I/Os of its stacks, waits their time"),
        ("for", "what happens if it is not given, and what is done for so long"),
        ("op", "a probe does the I/O that the others look at"),
        ("size", "a probe does the I/O that the others look at"),
        ("store", "the recorder writes what the others read"),
        ("timestamp", "each I/O of snoop has its own, a report of hist and stat has one"),
        ("verbose", "what it is that there is more of"),
    ];

    #[test]
    fn options_of_one_name_mean_the_same_in_every_command() {
        use std::collections::BTreeMap;
        let mut known: BTreeMap<String, (String, String, String)> = BTreeMap::new();
        let mut differ = std::collections::BTreeSet::new();
        let mut problems = Vec::new();
        for command in line().get_subcommands() {
            let name = command.get_name();
            for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
                let id = arg.get_id().as_str();
                let help = arg.get_help().map(|help| help.to_string()).unwrap_or_default();
                if help.is_empty() {
                    problems.push(format!("{name}: `{id}` has no help"));
                }
                let Some(long) = arg.get_long() else { continue };
                let values: Vec<String> = match arg.get_action().takes_values() {
                    true => arg
                        .get_value_names()
                        .unwrap_or_default()
                        .iter()
                        .map(|v| v.to_string())
                        .collect(),
                    false => Vec::new(),
                };
                if arg.get_action().takes_values() && values.is_empty() {
                    problems.push(format!("{name}: the value of `--{long}` has no name"));
                }
                let short = arg.get_short().map_or(String::new(), |short| short.to_string());
                let shape = format!("-{short} {}", values.join(" "));
                let (reported, seen, whose) = known.entry(long.to_string()).or_insert((
                    help.clone(),
                    shape.clone(),
                    name.to_string(),
                ));
                if *seen != shape {
                    problems
                        .push(format!("`--{long}` is `{seen}` in {whose} and `{shape}` in {name}"));
                }
                if *reported != help {
                    differ.insert(long.to_string());
                    if !DIFFER.iter().any(|(known, _)| *known == long) {
                        problems
                            .push(format!("`--{long}` of {whose}: {reported}; of {name}: {help}"));
                    }
                }
            }
        }
        for (name, _) in DIFFER.iter().filter(|(name, _)| !differ.contains(*name)) {
            problems.push(format!("`--{name}` says the same everywhere: no exception is needed"));
        }
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }

    /// Options that users expect of every command, and why some commands lack them.
    const LACKS: &[(&str, &[&str], &str)] = &[
        ("csv", &["why", "report"], "findings are sentences and numbers of many units: `--json`"),
        ("csv", &["probe"], "its tables differ from kind to kind: `--json`"),
        ("csv", &["doctor", "explain"], "checks and manuals are text: `--json`"),
        ("csv", &["record", "convert", "export"], "they write files: `convert --to csv` is one"),
        ("csv", &["top"], "a screen with keys: `stat --csv` has its rows"),
        ("csv", &["watch", "mark", "mcp"], "a service and its clients: `incidents --csv` lists"),
        ("example", &["doctor"], "it reports on this machine, of which there is no example"),
        ("example", &["explain"], "its manuals are text: `why --example NAME` applies one"),
        ("example", &["incidents", "watch", "mark", "mcp"], "examples are captures, not stores"),
        ("example", &["record"], "it writes captures, and reads none"),
        ("example", &["syscalls", "uprobe", "waits"], "no format keeps what they count"),
        ("files", &["hist", "map", "stat"], "`--by file` counts by it"),
        ("files", &["syscalls", "uprobe", "waits"], "calls and stacks, not I/Os of files"),
        (
            "files",
            &["compare", "convert", "export", "probe", "report", "top", "why"],
            "files are read from the capture, and `why` records them by itself",
        ),
        (
            "files",
            &["doctor", "explain", "incidents", "watch", "mark", "mcp"],
            "they show no single I/Os",
        ),
        ("for", &["compare", "convert", "export"], "they read captures only"),
        ("for", &["doctor", "explain", "incidents", "mark", "mcp"], "they watch nothing"),
        ("json", &["convert", "export"], "they write files in a format of their own"),
        ("json", &["report"], "a page for people: `why --json` has its findings"),
        ("json", &["top"], "a screen with keys: `stat --json` has its rows"),
        ("json", &["mark"], "it prints nothing but an identifier"),
        ("json", &["mcp"], "its protocol is JSON already"),
        ("width", &["convert", "export", "record"], "they draw nothing"),
        ("width", &["report"], "a page is as wide as its window"),
        ("width", &["top"], "it draws on the whole terminal"),
        ("width", &["watch", "mark", "mcp"], "they draw nothing"),
    ];

    #[test]
    fn an_option_is_in_every_command_where_it_can_act() {
        let mut problems = Vec::new();
        for command in line().get_subcommands() {
            let name = command.get_name();
            for option in ["csv", "example", "files", "for", "json", "width"] {
                let has = |arg: &clap::Arg| arg.get_long() == Some(option) && !arg.is_hide_set();
                let has = command.get_arguments().any(has);
                let lacks =
                    LACKS.iter().filter(|(of, names, _)| *of == option && names.contains(&name));
                match (has, lacks.count()) {
                    (true, 0) | (false, 1) => {}
                    (true, _) => {
                        problems.push(format!("{name} has `--{option}`: no reason needed"))
                    }
                    (false, n) => problems.push(format!("{name} lacks `--{option}`: {n} reasons")),
                }
            }
        }
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }

    #[test]
    fn an_option_stands_under_one_heading() {
        let mut headings = std::collections::BTreeMap::new();
        for command in line().get_subcommands() {
            for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
                let Some(long) = arg.get_long() else { continue };
                let heading = arg.get_help_heading().map(str::to_string);
                let shared = [
                    "json", "verbose", "width", "stage", "before", "overhead", "ftrace", "store",
                    "at", "since", "until",
                ];
                if shared.contains(&long)
                    && !matches!(
                        command.get_name(),
                        "watch" | "incidents" | "record" | "syscalls" | "uprobe" | "waits" | "mark"
                    )
                {
                    let first = headings.entry(long.to_string()).or_insert(heading.clone());
                    assert_eq!(*first, heading, "--{long} of {}", command.get_name());
                }
                if heading.as_deref().is_some_and(|heading| heading.contains("recorded")) {
                    assert!(
                        ["store", "at", "since", "until"].contains(&long),
                        "--{long} of {}",
                        command.get_name()
                    );
                }
            }
        }
    }

    #[test]
    fn the_command_line_is_well_formed() {
        line().debug_assert();
        assert!(COMMANDS.is_sorted_by_key(|command| command.name));
    }
}
