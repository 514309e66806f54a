//! A folder of foreign files: what is recognised in each, what is lost, who is accused, how long it took.
//!
//! Nothing is fetched and nothing is known of the files. Whoever has a folder of fixtures or of documents
//! sees what iowhy makes of it: fixtures of healthy disks should accuse nobody, documents should not be
//! recognised.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use iowhy_diagnose::{Options, judge};
use iowhy_model::Recording;

/// From this confidence on a first verdict is a headline (docs/METHOD.md, 11 Confidence).
const HEADLINE: f64 = iowhy_model::STANDS;
/// Larger files are counted and left out.
const LARGEST: u64 = 64 << 20;
/// Rows of the table of the slowest.
const SLOWEST: usize = 10;

/// What was made of a file.
struct FileResult {
    path: PathBuf,
    formats: Vec<String>,
    lost: u64,
    verdict: String,
    confidence: f64,
    sentence: String,
    took: Duration,
}

/// The tables over all files below a folder.
///
/// # Errors
/// If the folder cannot be listed.
pub fn corpus(folder: &Path, all: bool) -> io::Result<String> {
    let mut files = Vec::new();
    walk(folder, &mut files)?;
    files.sort();
    let (mut seen, mut large, mut unread) = (Vec::new(), 0, 0);
    for path in files {
        if fs::metadata(&path)?.len() > LARGEST {
            large += 1;
            continue;
        }
        match look(&path) {
            Some(known) => seen.push(known),
            None => unread += 1,
        }
    }
    Ok(tables(folder, &seen, (large, unread), all))
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() && entry.file_name() != ".git" {
            walk(&entry.path(), files)?;
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
    Ok(())
}

fn look(path: &Path) -> Option<FileResult> {
    let text = fs::read(path).ok()?;
    let began = Instant::now();
    let mut recording = Recording::for_a_verdict();
    let input = path.display().to_string();
    iowhy_read::scan(&input, &mut text.as_slice(), None, &mut recording).ok()?;
    let findings = judge(&recording, &Options::default());
    let took = began.elapsed();
    let mut formats: Vec<String> =
        recording.listings.iter().map(|l| l.source.format.clone()).collect();
    formats.sort();
    formats.dedup();
    let lost = recording.listings.iter().map(|listing| listing.source.skipped).sum();
    let first = findings.first();
    Some(FileResult {
        path: path.to_path_buf(),
        formats,
        lost,
        verdict: first.map_or("-", |first| first.verdict.name()).to_string(),
        confidence: first.map_or(0.0, |first| first.confidence),
        sentence: first.map_or(String::new(), |first| first.sentence.clone()),
        took,
    })
}

fn accuses(seen: &FileResult) -> bool {
    !matches!(seen.verdict.as_str(), "-" | "healthy" | "insufficient")
        && seen.confidence >= HEADLINE
}

fn tables(
    folder: &Path,
    seen: &[FileResult],
    (large, unread): (usize, usize),
    all: bool,
) -> String {
    let name = |seen: &FileResult| {
        let short = seen.path.strip_prefix(folder).unwrap_or(&seen.path);
        short.display().to_string()
    };
    let mut out = String::from(
        "| file | formats | lines lost | verdict | confidence | ms | sentence |\n| --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for known in seen.iter().filter(|known| all || accuses(known)) {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {:.2} | {:.0} | {} |",
            name(known),
            known.formats.join(" "),
            known.lost,
            known.verdict,
            known.confidence,
            known.took.as_secs_f64() * 1000.0,
            known.sentence
        );
    }
    let accused = seen.iter().filter(|known| accuses(known)).count();
    let lost: u64 = seen.iter().map(|known| known.lost).sum();
    let _ = writeln!(
        out,
        "\n{} files recognised, {unread} not, {large} larger than 64 MiB left out; {lost} lines lost in {} files; {accused} accused.\n",
        seen.len(),
        seen.iter().filter(|known| known.lost > 0).count()
    );
    let mut verdicts: BTreeMap<(&str, bool), usize> = BTreeMap::new();
    let mut formats: BTreeMap<&str, usize> = BTreeMap::new();
    for known in seen {
        *verdicts.entry((&known.verdict, known.confidence >= HEADLINE)).or_default() += 1;
        for format in &known.formats {
            *formats.entry(format).or_default() += 1;
        }
    }
    out.push_str("| first verdict | at 0.6 or more | below |\n| --- | --- | --- |\n");
    let mut names: Vec<&str> = verdicts.keys().map(|(verdict, _)| *verdict).collect();
    names.dedup();
    for verdict in names {
        let of = |loud| verdicts.get(&(verdict, loud)).copied().unwrap_or(0);
        let _ = writeln!(out, "| {verdict} | {} | {} |", of(true), of(false));
    }
    out.push_str("\n| format | files |\n| --- | --- |\n");
    for (format, count) in formats {
        let _ = writeln!(out, "| {format} | {count} |");
    }
    let mut slowest: Vec<&FileResult> = seen.iter().collect();
    slowest.sort_by_key(|known| std::cmp::Reverse(known.took));
    out.push_str("\n| slowest | ms |\n| --- | --- |\n");
    for known in slowest.into_iter().take(SLOWEST) {
        let _ = writeln!(out, "| {} | {:.0} |", name(known), known.took.as_secs_f64() * 1000.0);
    }
    out
}
