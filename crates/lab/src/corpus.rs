//! Judges a folder of foreign files: what is recognised in each, what is lost, which verdicts, how
//! long it took.
//!
//! Nothing is fetched and nothing is known about the files. A folder of fixtures or documents shows
//! what iowhy reports on it: fixtures of healthy disks should lead to no accusation, documents
//! should not be recognised.

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

/// Rows of the table of what was lost.
const MOST_LOST: usize = 20;
/// Formats whose numbers `report.inconsistent` compares with one another.
const HELD: [&str; 4] = ["fio", "fio-json", "fio-terse", "iostat"];
/// Verdicts that accuse nothing.
const PEACEFUL: [&str; 3] = ["-", "healthy", "insufficient"];

/// The result of a file.
struct FileResult {
    /// Below the folder.
    name: String,
    /// The folder below the folder, a project most likely.
    part: String,
    bytes: u64,
    formats: Vec<String>,
    lost: u64,
    verdict: String,
    confidence: f64,
    sentence: String,
    took: Duration,
}

impl FileResult {
    fn is_recognised(&self) -> bool {
        !self.formats.is_empty()
    }

    fn is_accused(&self) -> bool {
        !PEACEFUL.contains(&self.verdict.as_str()) && self.confidence >= HEADLINE
    }

    /// Of fio or iostat.
    fn is_held(&self) -> bool {
        self.formats.iter().any(|format| HELD.contains(&format.as_str()))
    }
}

/// The tables over all files below a folder.
///
/// # Errors
/// If the folder cannot be listed.
pub fn corpus(folder: &Path, all: bool) -> io::Result<String> {
    let mut files = Vec::new();
    walk(folder, &mut files)?;
    files.sort();
    let (mut seen, mut large) = (Vec::new(), 0);
    for path in files {
        match fs::metadata(&path)?.len() {
            bytes if bytes > LARGEST => large += 1,
            bytes => seen.extend(look(folder, &path, bytes)),
        }
    }
    Ok(tables(&seen, large, all))
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

/// Reads and judges a file; none if it cannot be opened.
fn look(folder: &Path, path: &Path, bytes: u64) -> Option<FileResult> {
    let text = fs::read(path).ok()?;
    let name = path.strip_prefix(folder).unwrap_or(path);
    let part = name.components().next().filter(|_| name.components().count() > 1);
    let input = path.display().to_string();
    let mut recording = Recording::for_a_verdict();
    let began = Instant::now();
    let read = iowhy_read::scan(&input, &mut text.as_slice(), None, &mut recording).is_ok();
    let findings = if read { judge(&recording, &Options::default()) } else { Vec::new() };
    let took = began.elapsed();
    let listings = recording.listings.iter().filter(|_| read);
    let mut formats: Vec<String> = listings.map(|l| l.source.format.clone()).collect();
    formats.sort();
    formats.dedup();
    let lost = recording.listings.iter().map(|listing| listing.source.skipped).sum();
    let first = findings.first();
    Some(FileResult {
        name: name.display().to_string(),
        part: part.map_or(String::from("."), |part| part.as_os_str().display().to_string()),
        bytes,
        formats,
        lost,
        verdict: first.map_or("-", |first| first.verdict.name()).to_string(),
        confidence: first.map_or(0.0, |first| first.confidence()),
        sentence: first.map_or(String::new(), |first| first.sentence.clone()),
        took,
    })
}

/// A table of Markdown: bars within a cell would be its end.
fn table<const N: usize>(
    out: &mut String,
    head: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) {
    let _ = writeln!(out, "| {} |\n|{}", head.join(" | "), " --- |".repeat(N));
    for row in rows {
        let cells = row.map(|cell| cell.replace('|', "\\|").replace('\n', " "));
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    }
    out.push('\n');
}

fn ms(time: Duration) -> String {
    format!("{:.0}", time.as_secs_f64() * 1000.0)
}

fn tables(seen: &[FileResult], large: usize, all: bool) -> String {
    let mut out = String::new();
    let recognised: Vec<&FileResult> = seen.iter().filter(|one| one.is_recognised()).collect();
    let mut parts: BTreeMap<&str, Vec<&FileResult>> = BTreeMap::new();
    for one in seen {
        parts.entry(&one.part).or_default().push(one);
    }
    if parts.len() > 1 {
        parts.insert("all", seen.iter().collect());
    }
    let head = [
        "folder",
        "files",
        "MB",
        "recognised",
        "lines lost",
        "accused",
        "fio, iostat",
        "report.inconsistent there",
        "s",
    ];
    let row = |(part, of): (&&str, &Vec<&FileResult>)| {
        let count = |what: &dyn Fn(&FileResult) -> bool| {
            of.iter().filter(|one| what(one)).count().to_string()
        };
        let contradicted = |one: &FileResult| {
            one.is_held() && one.is_accused() && one.verdict == "report.inconsistent"
        };
        [
            (*part).to_string(),
            of.len().to_string(),
            format!("{:.1}", of.iter().map(|one| one.bytes).sum::<u64>() as f64 / 1e6),
            count(&FileResult::is_recognised),
            of.iter().map(|one| one.lost).sum::<u64>().to_string(),
            count(&FileResult::is_accused),
            count(&FileResult::is_held),
            count(&contradicted),
            format!("{:.2}", of.iter().map(|one| one.took).sum::<Duration>().as_secs_f64()),
        ]
    };
    table(&mut out, head, parts.iter().map(row));
    let _ = writeln!(out, "Larger than 64 MiB and left out: {large}.\n");

    let mut verdicts: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    let mut formats: BTreeMap<&str, usize> = BTreeMap::new();
    for one in &recognised {
        let counts = verdicts.entry(&one.verdict).or_default();
        counts[usize::from(one.confidence < HEADLINE)] += 1;
        for format in &one.formats {
            *formats.entry(format).or_default() += 1;
        }
    }
    let shown = recognised.iter().filter(|one| all || one.is_accused());
    table(
        &mut out,
        ["file", "formats", "verdict", "confidence", "sentence"],
        shown.map(|one| {
            let confidence = format!("{:.2}", one.confidence);
            let (verdict, sentence) = (one.verdict.clone(), one.sentence.clone());
            [one.name.clone(), one.formats.join(" "), verdict, confidence, sentence]
        }),
    );
    table(
        &mut out,
        ["first verdict", "at 0.6 or more", "below"],
        verdicts.iter().map(|(name, [loud, quiet])| {
            [(*name).to_string(), loud.to_string(), quiet.to_string()]
        }),
    );
    let mut lost: Vec<&&FileResult> = recognised.iter().filter(|one| one.lost > 0).collect();
    lost.sort_by_key(|one| std::cmp::Reverse(one.lost));
    table(
        &mut out,
        ["most lines lost", "formats", "lines"],
        lost.into_iter()
            .take(MOST_LOST)
            .map(|one| [one.name.clone(), one.formats.join(" "), one.lost.to_string()]),
    );
    let mut slowest: Vec<&FileResult> = seen.iter().collect();
    slowest.sort_by_key(|one| std::cmp::Reverse(one.took));
    table(
        &mut out,
        ["slowest", "kB", "ms"],
        slowest
            .into_iter()
            .take(SLOWEST)
            .map(|one| [one.name.clone(), (one.bytes / 1000).to_string(), ms(one.took)]),
    );
    table(
        &mut out,
        ["format", "files"],
        formats.iter().map(|(format, count)| [(*format).to_string(), count.to_string()]),
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_recognised_lost_and_accused_stands_in_the_tables() {
        let folder = std::env::temp_dir().join(format!("iowhy-corpus-{}", std::process::id()));
        fs::create_dir_all(folder.join("a")).unwrap();
        fs::create_dir_all(folder.join("b")).unwrap();
        fs::write(folder.join("a/README"), "Nothing is measured here.\n").unwrap();
        let listing = "Device tps kB_read/s kB_wrtn/s kB_read kB_wrtn\nsda 1.00 2.00 0.00 2 x|y\n\
                       sda 1.00 2.00 0.00 2 0\n";
        fs::write(folder.join("b/iostat.txt"), listing).unwrap();
        let text = corpus(&folder, true).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert!(text.contains("| a | 1 | 0.0 | 0 | 0 | 0 | 0 | 0 |"), "{text}");
        assert!(text.contains("| b | 1 | 0.0 | 1 | 1 | 0 | 1 | 0 |"), "{text}");
        assert!(text.contains("| all | 2 | 0.0 | 1 | 1 | 0 | 1 | 0 |"), "{text}");
        assert!(text.contains("| b/iostat.txt | iostat | 1 |"), "{text}");
    }
}
