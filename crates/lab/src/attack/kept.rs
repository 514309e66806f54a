//! The content of a recorder's store, read from outside: for an attacked one, and for one in a
//! guest.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// I/Os in a store, as `iowhy hist` counts them; nothing where it cannot be read.
pub fn ios_stored(iowhy: &Path, store: &Path) -> Option<u64> {
    let output =
        Command::new(iowhy).args(["hist", "--json", "--store"]).arg(store).output().ok()?;
    let value: Value = serde_json::from_slice(&output.stdout).ok()?;
    let total = value["histograms"].as_array()?.iter().filter(|one| one["stage"] == "Q2C");
    Some(total.filter_map(|one| one["count"].as_u64()).sum())
}

/// The names of what was recorded, at any resolution.
pub fn kept_names(store: &Path) -> BTreeSet<String> {
    let folders = ["segments", "incidents"].into_iter();
    let entries = folders.filter_map(|folder| fs::read_dir(store.join(folder)).ok()).flatten();
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let names = names.filter(|name| !name.ends_with(".new"));
    names.filter_map(|name| name.split('.').next().map(str::to_string)).collect()
}
