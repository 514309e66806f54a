//! One name everywhere: the file, the word on the command line, the samples' folder.

use super::lists::FAMILIES;
use super::{Complaint, Source, Tree};

/// The folder of samples, one folder per format.
const SAMPLES: &str = "crates/read/samples";
/// Where the formats are.
const FORMATS: &str = "crates/read/src/formats";
/// The folder of cases, one folder each.
const CASES: &str = "crates/iowhy/tests/cases";

/// Every member is called by its file's name; a detector's first `_` is a dot.
pub(super) fn check(tree: &Tree) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for family in FAMILIES.iter().filter(|family| family.table.is_some()) {
        for member in tree.folder(family.folder) {
            let expected = match family.word {
                "detector" => member.stem().replacen('_', ".", 1).replace('_', "-"),
                _ => member.stem().replace('_', "-"),
            };
            if let Some((line, name)) = name(member)
                && name != expected
            {
                let problem = format!("the {} is called `{name}`", family.word);
                let cure = format!("call it `{expected}`, as its file is, or rename the file");
                complaints.push(Complaint::new(&member.path, line, problem, cure));
            }
        }
    }
    complaints
}

/// Every sample lies in the folder of a format, shows which tool wrote it, and has its golden;
/// every format has a sample; every case has its story.
pub(super) fn samples(tree: &Tree) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    let formats: Vec<&str> = tree.folder(FORMATS).map(Source::stem).collect();
    let inside = |path: &&String| path.starts_with(SAMPLES) && path.matches('/').count() == 4;
    let samples: Vec<&String> = tree.files.iter().filter(inside).collect();
    for path in &samples {
        let mut parts = path.rsplit('/');
        let (file, folder) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
        let mut complain = |what: &str, cure: &str| {
            complaints.push(Complaint::new(path, 0, what, cure));
        };
        if !formats.contains(&folder) {
            complain("the folder belongs to no format", "name it after the format's file");
        }
        if file == "README.md" {
            continue;
        }
        if !file.contains("--") {
            complain("the name does not say where it is from", "`<tool-version>--<what>.txt`");
        }
        let twin = match path.strip_suffix(".golden") {
            Some(stem) => samples.iter().any(|other| {
                !other.ends_with(".golden") && other.rsplit_once('.').is_some_and(|o| o.0 == stem)
            }),
            None => path.rsplit_once('.').is_some_and(|(stem, _)| {
                samples.iter().any(|other| other.strip_suffix(".golden") == Some(stem))
            }),
        };
        if !twin {
            complain("sample or golden is missing", "`UPDATE_GOLDEN=1 cargo test -p iowhy-read`");
        }
    }
    for format in formats {
        let folder = format!("{SAMPLES}/{format}/");
        if !samples.iter().any(|path| path.starts_with(&folder)) {
            let file = format!("{FORMATS}/{format}.rs");
            let cure = format!("put real output into {folder}");
            complaints.push(Complaint::new(&file, 0, "the format has no sample", cure));
        }
    }
    complaints.append(&mut cases(tree));
    complaints
}

/// Case folders without a story.
fn cases(tree: &Tree) -> Vec<Complaint> {
    let folders = tree.files.iter().filter_map(|path| {
        let (case, file) = path.strip_prefix(CASES)?.strip_prefix('/')?.split_once('/')?;
        (!file.is_empty()).then_some(case)
    });
    let mut folders: Vec<&str> = folders.collect();
    folders.dedup();
    let untold = folders.into_iter().filter(|case| {
        let story = format!("{CASES}/{case}/case.md");
        !tree.files.contains(&story)
    });
    let complain = |case| {
        let cure = "describe the case in our own words: input, command, expected verdict";
        Complaint::new(&format!("{CASES}/{case}/case.md"), 0, "the case has no story", cure)
    };
    untold.map(complain).collect()
}

/// The name a member gives itself: `name: "..."` in its entry, or `NAME: &str = "..."`.
fn name(member: &Source) -> Option<(usize, &str)> {
    member.text.lines().enumerate().find_map(|(place, line)| {
        let line = line.trim();
        let entry = line.strip_prefix("name: \"");
        let named =
            entry.or_else(|| line.split_once("const NAME: &str = \"").map(|(_, name)| name));
        Some((place + 1, named?.split('"').next()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_called_as_its_file_is() {
        let tree = Tree::of(&[
            (
                "crates/diagnose/src/detectors/report_util_trap.rs",
                "    name: \"report.util-trap\",\n",
            ),
            (
                "crates/diagnose/src/detectors/device_slow.rs",
                "//! S.\n    name: \"device-slow\",\n",
            ),
            (
                "crates/live/src/collectors/block_trace.rs",
                "pub const NAME: &str = \"block-trace\";\n",
            ),
            ("crates/read/src/formats/hist_log.rs", "    name: \"histlog\",\n"),
        ]);
        let found = check(&tree);
        let places: Vec<(&str, usize)> = found.iter().map(|c| (c.file.as_str(), c.line)).collect();
        assert_eq!(
            places,
            [
                ("crates/diagnose/src/detectors/device_slow.rs", 2),
                ("crates/read/src/formats/hist_log.rs", 1)
            ]
        );
    }

    #[test]
    fn samples_goldens_and_cases_belong_together() {
        let tree = Tree::of(&[
            ("crates/iowhy/tests/cases/dust/biosnoop.txt", ""),
            ("crates/read/samples/fio/3.33--x.golden", ""),
            ("crates/read/samples/fio/3.33--x.txt", ""),
            ("crates/read/samples/fio/README.md", ""),
            ("crates/read/samples/floppy/1--x.txt", ""),
            ("crates/read/src/formats/fio.rs", ""),
            ("crates/read/src/formats/sar.rs", ""),
        ]);
        let found: Vec<String> =
            samples(&tree).into_iter().map(|complaint| complaint.file).collect();
        assert_eq!(
            found,
            [
                "crates/read/samples/floppy/1--x.txt",
                "crates/read/samples/floppy/1--x.txt",
                "crates/read/src/formats/sar.rs",
                "crates/iowhy/tests/cases/dust/case.md"
            ]
        );
    }
}
