//! One file of every kind with one byte flipped: what is left is read, the loss is counted and
//! shown, and the exit status is 1.

#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use iowhy_model::Recording;
use iowhy_read::{FORMATS, scan};

/// Bytes flipped in each sample until one is found that can be told: most digits of a text can
/// become another digit, and nobody will ever know.
const TRIED: usize = 200;

struct Read {
    records: u64,
    lost: u64,
}

fn read(bytes: &[u8]) -> Read {
    let mut recording = Recording::new();
    let _ = scan("sample", &mut &bytes[..], None, &mut recording);
    let sources = recording.listings.iter().map(|listing| &listing.source);
    let lost = sources.map(|source| source.skipped + source.lost()).sum();
    Read { records: recording.records(), lost }
}

fn samples(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder of samples").flatten();
    let wanted = |path: &PathBuf| path.extension().is_some_and(|end| end == "txt" || end == "bin");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(wanted).collect();
    paths.sort();
    paths
}

/// A sample with one byte flipped whose loss the reader counts, and what it then holds: one of
/// which something is left, if there is such. A file that is one JSON document may be lost whole.
fn bitten(folder: &Path) -> Option<(Vec<u8>, Read)> {
    let mut emptied = None;
    for path in samples(folder) {
        let whole = std::fs::read(&path).unwrap();
        let before = read(&whole);
        // From the end: what stands before the damage has been read by then.
        for place in (0..whole.len()).rev().step_by((whole.len() / TRIED).max(1)) {
            let mut bytes = whole.clone();
            bytes[place] ^= 0x80;
            let after = read(&bytes);
            if after.lost > before.lost && after.records > 0 {
                return Some((bytes, after));
            }
            if after.lost > before.lost {
                emptied = Some((bytes, after));
            }
        }
    }
    emptied
}

#[test]
fn every_kind_tells_a_flipped_byte_by_its_count_and_exit_status() {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../read/samples");
    let file = std::env::temp_dir().join(format!("iowhy-bitten-{}", std::process::id()));
    let mut wrong = Vec::new();
    for format in FORMATS {
        let name = format.name;
        let Some((bytes, known)) = bitten(&samples.join(name.replace('-', "_"))) else {
            wrong.push(format!("{name}: no flipped byte is told"));
            continue;
        };
        std::fs::write(&file, &bytes).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_iowhy"))
            .args(["why", "--json"])
            .arg(&file)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let out = String::from_utf8_lossy(&output.stdout);
        let Ok(report) = serde_json::from_str::<serde_json::Value>(&out) else {
            wrong.push(format!("{name}: {}", String::from_utf8_lossy(&output.stderr)));
            continue;
        };
        let inputs = report["inputs"].as_array().cloned().unwrap_or_default();
        let sum = |key: &str| inputs.iter().filter_map(|input| input[key].as_u64()).sum::<u64>();
        let (records, lost) = (sum("records"), sum("skipped") + sum("lost"));
        if output.status.code() != Some(1) || (records, lost) != (known.records, known.lost) {
            wrong.push(format!(
                "{name}: status {:?}, {records} records and {lost} lost, not {} and {}",
                output.status.code(),
                known.records,
                known.lost
            ));
        }
    }
    std::fs::remove_file(&file).unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
