//! Completion of the command line: the shell asks the program itself, so that it knows the
//! machine's devices and the lists of formats, verdicts and kinds of probes.
//!
//! `source <(COMPLETE=bash iowhy)`, `COMPLETE=zsh`, `COMPLETE=fish`: prints the lines that make a
//! shell ask. Packages install them.

use std::collections::BTreeSet;

use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};

use crate::device_lookup::{NamingFacts, known_devices};
use crate::{command, manual};

/// If a shell requests completion (by the variable `COMPLETE`), answers and exits.
pub(crate) fn answer_the_shell() {
    clap_complete::CompleteEnv::with_factory(command::line).complete();
}

/// Block devices of this machine, by their names in `/sys/class/block`, volumes and mount points.
pub(crate) fn devices() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let folder = std::fs::read_dir("/sys/class/block").into_iter().flatten().flatten();
        let names = folder.map(|entry| entry.file_name().to_string_lossy().replace('!', "/"));
        let mut names: BTreeSet<String> = names.collect();
        let known = known_devices().unwrap_or_default();
        names.extend(NamingFacts::of(&known).table().spoken().map(str::to_string));
        names.into_iter().map(CompletionCandidate::new).collect()
    })
}

/// Formats that can be read.
pub(crate) fn formats() -> ArgValueCandidates {
    ArgValueCandidates::new(|| of(&["formats"]))
}

/// Kinds of probes.
pub(crate) fn kinds() -> ArgValueCandidates {
    ArgValueCandidates::new(|| of(&["kinds"]))
}

/// All that can be explained, and the lists themselves.
pub(crate) fn names() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let lists = ["commands", "formats", "verdicts", "kinds", "views", "collectors", "words"];
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
