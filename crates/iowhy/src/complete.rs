//! Completion of the command line: the shell asks the program itself, so that it knows the
//! machine's devices and the lists of formats, verdicts and kinds of probes.
//!
//! `source <(COMPLETE=bash iowhy)`, `COMPLETE=zsh`, `COMPLETE=fish`: prints the lines that make a
//! shell ask. Packages install them.

use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};

use crate::{commands, manual};

/// If a shell asks (by the variable `COMPLETE`), answers and ends the program.
pub fn answer_the_shell() {
    clap_complete::CompleteEnv::with_factory(commands::line).complete();
}

/// Block devices of this machine, by their names in `/sys/class/block`.
pub fn devices() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let Ok(folder) = std::fs::read_dir("/sys/class/block") else { return Vec::new() };
        let names = folder.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.map(|name| CompletionCandidate::new(name.replace('!', "/"))).collect()
    })
}

/// Formats that can be read.
pub fn formats() -> ArgValueCandidates {
    ArgValueCandidates::new(|| of(&["formats"]))
}

/// Kinds of probes.
pub fn kinds() -> ArgValueCandidates {
    ArgValueCandidates::new(|| of(&["kinds"]))
}

/// All that can be explained, and the lists themselves.
pub fn names() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let lists = ["commands", "formats", "verdicts", "kinds", "views", "collectors"];
        let mut all = of(&lists);
        all.extend(lists.map(CompletionCandidate::new));
        all
    })
}

fn of(families: &[&str]) -> Vec<CompletionCandidate> {
    let entries = manual::entries().into_iter().filter(|entry| families.contains(&entry.family));
    entries
        .map(|entry| CompletionCandidate::new(entry.name).help(Some(entry.summary.into())))
        .collect()
}
