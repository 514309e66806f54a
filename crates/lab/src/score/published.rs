//! Published captures with known causes, judged beside the simulated ones.
//!
//! Causes and expected answers are data in `published/cases.txt`, the listings beside it: numbers
//! of the sources, in the layout of their tool. [`pasted`] reads the original collections instead,
//! each fenced block as a separate file, as people paste it.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use iowhy_diagnose::{Options, judge};
use iowhy_model::{Finding, Level, Recording};

use super::SAID_ALOUD;

/// The collections, by the letters that the names of their cases begin with, and their titles.
const COLLECTIONS: [(&str, &str); 24] = [
    ("A", "First collection, in the layout of the tools"),
    ("P2", "Second collection, in the layout of the tools"),
    ("P3", "Third collection, in the layout of the tools"),
    ("P4", "Fourth collection, in the layout of the tools"),
    ("P5", "Fifth collection, in the layout of the tools"),
    ("P6", "Sixth collection, in the layout of the tools"),
    ("P7", "Seventh collection, in the layout of the tools"),
    ("P8", "Eighth collection, in the layout of the tools"),
    ("P9", "Ninth collection, in the layout of the tools"),
    ("P10", "Tenth collection, in the layout of the tools"),
    ("P11", "Eleventh collection, in the layout of the tools"),
    ("P12", "Twelfth collection, in the layout of the tools"),
    ("P13", "Thirteenth collection, in the layout of the tools"),
    ("P14", "Fourteenth collection, in the layout of the tools"),
    ("P15", "Fifteenth collection, in the layout of the tools"),
    ("P16", "Sixteenth collection, in the layout of the tools"),
    ("P17", "Seventeenth collection, in the layout of the tools"),
    ("P18", "Eighteenth collection, in the layout of the tools"),
    ("P19", "Nineteenth collection, in the layout of the tools"),
    ("P20", "Twentieth collection, in the layout of the tools"),
    ("P21", "Twenty-first collection, in the layout of the tools"),
    ("P22", "Twenty-second collection, in the layout of the tools"),
    ("P23", "Twenty-third collection, in the layout of the tools"),
    ("W", "Simulated captures that version 0.1.0 judged wrongly"),
];

/// A published capture and what is expected.
#[derive(Clone, Debug, Default)]
pub struct PublishedCase {
    /// Its number and what it shows.
    pub name: String,
    /// The cause, as in the list.
    pub label: String,
    /// The verdict an ideal diagnosis gives first.
    pub expected: String,
    /// Verdicts that are right too.
    pub also: Vec<String>,
    /// Whether the source reports the cause, rather than only points to it.
    pub known: bool,
    /// The disk that is to blame, if one is.
    pub device: Option<String>,
    /// How the answer was graded when the case was met, before any rule was changed for its kind.
    pub met: Option<Grade>,
    /// The listings, by the names they are read under.
    pub listings: Vec<(String, Vec<u8>)>,
}

/// The result of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grade {
    /// The first verdict is one of those expected.
    Right,
    /// No verdict, which is right too: the input carries no more, or the cause is only probable.
    Admitted,
    /// No verdict where one was expected.
    Insufficient,
    /// A verdict that is not expected.
    Wrong,
    /// No listing was recognised.
    Unread,
}

impl Grade {
    const ALL: [Grade; 5] =
        [Grade::Right, Grade::Admitted, Grade::Insufficient, Grade::Wrong, Grade::Unread];

    /// The word of it in tables.
    pub fn word(self) -> &'static str {
        match self {
            Grade::Right => "right",
            Grade::Admitted => "admitted",
            Grade::Insufficient => "insufficient",
            Grade::Wrong => "WRONG",
            Grade::Unread => "unread",
        }
    }
}

/// The judgement of a published capture.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The first verdict.
    pub verdict: String,
    /// Its confidence.
    pub confidence: f64,
    /// Its device, empty if it is about the whole.
    pub device: String,
    /// Whether that is right.
    pub grade: Grade,
    /// Listings that were read, of how many.
    pub read: (usize, usize),
    /// The highest level of detail that was read.
    pub level: Option<Level>,
    /// Whether a disk is accused, aloud, that is well.
    pub accuses: Option<String>,
}

impl Answer {
    /// The letter of its level, its confidence, and whether it is right, if it is reported at 0.6
    /// or more.
    pub fn aloud(&self) -> Option<(char, f64, bool)> {
        let aloud = self.verdict != "insufficient" && self.confidence >= SAID_ALOUD;
        let level = self.level.filter(|_| aloud && self.read.0 > 0)?;
        Some((level.letter(), self.confidence, self.grade == Grade::Right))
    }
}

impl PublishedCase {
    /// What was read of it, and how many of its listings.
    pub fn recording(&self) -> (Recording, usize) {
        let mut recording = Recording::new();
        let mut read = 0;
        for (name, text) in &self.listings {
            let found = iowhy_read::scan(name, &mut text.as_slice(), None, &mut recording);
            read += usize::from(found.is_ok());
        }
        (recording, read)
    }

    /// Shows it to the judge.
    pub fn reported(&self) -> Answer {
        let (recording, read) = self.recording();
        let findings = judge(&recording, &Options::default());
        let device = |finding: &Finding| name_of(&recording, finding);
        let is_sick = |name: &str| {
            self.label == "DISK" && self.device.as_ref().is_none_or(|faulty| faulty == name)
        };
        let accusing = findings.iter().find(|finding| {
            finding.blames_a_disk()
                && finding.explained_by.is_none()
                && finding.confidence() >= SAID_ALOUD
                && !is_sick(&device(finding))
                && !self.expected(finding.verdict.name())
        });
        let accuses = accusing.map(|finding| finding.verdict.to_string());
        let first = findings.first();
        let grade = self.graded(&findings, &recording, read);
        Answer {
            verdict: first.map_or("-", |first| first.verdict.name()).to_string(),
            confidence: first.map_or(0.0, |first| first.confidence()),
            device: first.map(device).unwrap_or_default(),
            grade,
            read: (read, self.listings.len()),
            level: recording.listings.iter().map(|listing| listing.source.level).max(),
            accuses,
        }
    }

    /// The grade of the first finding, with this many listings read.
    pub fn graded(&self, findings: &[Finding], recording: &Recording, read: usize) -> Grade {
        let first = findings.first();
        let about = first.map(|first| name_of(recording, first)).unwrap_or_default();
        let is_same =
            about.is_empty() || self.device.as_ref().is_none_or(|faulty| is_of(faulty, &about));
        match first {
            _ if read == 0 => Grade::Unread,
            Some(first)
                if first.verdict == "insufficient"
                    && (self.expected("insufficient") || !self.known) =>
            {
                Grade::Admitted
            }
            Some(first) if is_same && self.expected(first.verdict.name()) => Grade::Right,
            Some(first) if first.verdict != "insufficient" => Grade::Wrong,
            _ => Grade::Insufficient,
        }
    }

    fn expected(&self, verdict: &str) -> bool {
        self.expected == verdict || self.also.iter().any(|also| also == verdict)
    }

    /// The collection it is of: `A`, `P2` to `P15`, or `W` for the simulated ones.
    pub fn collection(&self) -> &'static str {
        let begins = self.name.split('-').next().unwrap_or_default();
        let named = COLLECTIONS.iter().find(|(letters, _)| *letters == begins);
        named.map_or("A", |(letters, _)| letters)
    }

    /// `P2-07` of `P2-07-pending-sectors`, `A01` of `A01-dust-log`.
    fn number(&self) -> &str {
        let end = self.name.char_indices().filter(|(_, c)| *c == '-').map(|(place, _)| place);
        let skip = usize::from(self.collection().starts_with('P'));
        end.into_iter().nth(skip).map_or(&self.name, |end| &self.name[..end])
    }
}

/// The device that a finding is about, empty if it is about the whole.
fn name_of(recording: &Recording, finding: &Finding) -> String {
    let id = finding.subject.device;
    id.map(|id| recording.device_of(id).name.clone()).unwrap_or_default()
}

/// The captures that the tree holds.
///
/// # Errors
/// If the list or a listing it names is not there.
pub fn published() -> io::Result<Vec<PublishedCase>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("published");
    let list = fs::read_to_string(folder.join("cases.txt"))?;
    let mut cases: Vec<PublishedCase> = Vec::new();
    let mut inside = false;
    for line in list.lines().filter(|line| !line.starts_with('#')) {
        let (key, value) = line.split_once(' ').unwrap_or((line, ""));
        if line.is_empty() || !inside {
            inside = !line.is_empty();
            if inside {
                cases.push(PublishedCase { name: line.to_string(), ..PublishedCase::default() });
            }
            continue;
        }
        let Some(case) = cases.last_mut() else { continue };
        let words = || value.split_whitespace().map(str::to_string);
        match key {
            "label" => case.label = value.to_string(),
            "expected" => case.expected = value.to_string(),
            "also" => case.also = words().collect(),
            "sure" => case.known = value == "known",
            "device" => case.device = Some(value.to_string()),
            "met" => {
                let known = Grade::ALL.into_iter().find(|grade| grade.word() == value);
                let unknown = || io::Error::other(format!("cases.txt: unknown grade `{value}`"));
                case.met = Some(known.ok_or_else(unknown)?);
            }
            "cause" => {}
            "files" => {
                let read = |name: String| -> io::Result<(String, Vec<u8>)> {
                    let text = fs::read(folder.join(&name));
                    let text = text.map_err(|e| io::Error::other(format!("{name}: {e}")))?;
                    Ok((name, text))
                };
                case.listings = words().map(read).collect::<io::Result<_>>()?;
            }
            _ => return Err(io::Error::other(format!("cases.txt: unknown key `{key}`"))),
        }
    }
    Ok(cases)
}

/// The captures of a collection in Markdown as people pasted them: each fenced block is a listing.
/// A case whose heading names no verdict takes the one expected of its number in the tree.
///
/// # Errors
/// If the collection cannot be read.
pub fn pasted(collection: &Path) -> io::Result<Vec<PublishedCase>> {
    let text = fs::read_to_string(collection)?;
    let kept = published()?;
    let mut cases: Vec<PublishedCase> = Vec::new();
    let mut fence = String::new();
    for line in text.lines() {
        if fence.is_empty()
            && let Some(heading) = line.strip_prefix("## ")
        {
            let name = heading.split_whitespace().next().unwrap_or_default().to_string();
            let label = heading.split_whitespace().nth(1).unwrap_or_default().to_string();
            let mut case = PublishedCase { name, label, ..PublishedCase::default() };
            for twin in kept.iter().filter(|twin| twin.number() == case.name) {
                case.device = twin.device.clone();
                case.also.push(twin.expected.clone());
                case.also.extend(twin.also.iter().cloned());
            }
            case.known = line.contains("sure: known");
            cases.push(case);
            continue;
        }
        let Some(case) = cases.last_mut() else { continue };
        let ticks: String = line.chars().take_while(|c| *c == '`').collect();
        let closes = ticks.len() >= fence.len().max(3) && line.trim_matches('`').trim().is_empty();
        if fence.is_empty() && ticks.len() >= 3 {
            fence = ticks;
            let name = format!("{}.{}", case.name, case.listings.len() + 1);
            case.listings.push((name, Vec::new()));
        } else if !fence.is_empty() && closes {
            fence.clear();
        } else if !fence.is_empty() {
            if let Some((_, text)) = case.listings.last_mut() {
                text.extend_from_slice(line.as_bytes());
                text.push(b'\n');
            }
        } else if line.starts_with("expected: ") {
            let mut names = line.split('`').skip(1).step_by(2).map(str::to_string);
            case.expected = names.next().unwrap_or_default();
            case.also = names.collect();
            case.known = line.ends_with("known");
        }
    }
    cases.retain(|case| {
        !(case.listings.is_empty() || case.also.is_empty() && case.expected.is_empty())
    });
    Ok(cases)
}

/// The table of captures, case by case, and its totals.
pub fn published_table(title: &str, cases: &[PublishedCase]) -> String {
    let mut out = format!(
        "## {title}\n\n| case | cause | certainty | expected | answer | confidence | device | read \
         | grade | accuses wrongly |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
    );
    let reported: Vec<(&PublishedCase, Answer)> =
        cases.iter().map(|case| (case, case.reported())).collect();
    for (case, reported) in &reported {
        let expected =
            if case.expected.is_empty() { "any of its listings'" } else { &case.expected };
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {:.2} | {} | {}/{} | {} | {} |",
            case.name,
            case.label,
            if case.known { "known" } else { "probable" },
            expected,
            reported.verdict,
            reported.confidence,
            reported.device,
            reported.read.0,
            reported.read.1,
            reported.grade.word(),
            reported.accuses.as_deref().unwrap_or("-")
        );
    }
    let count = |grade| reported.iter().filter(|(_, reported)| reported.grade == grade).count();
    let wrong: Vec<f64> = reported
        .iter()
        .filter(|(_, t)| t.grade == Grade::Wrong)
        .map(|(_, t)| t.confidence)
        .collect();
    let mean = wrong.iter().sum::<f64>() / wrong.len() as f64;
    let mean = if wrong.is_empty() { "-".to_string() } else { format!("{mean:.2}") };
    let _ = writeln!(
        out,
        "\n{} right, {} rightly insufficient, {} insufficient, {} wrong, {} unread, of {}. Mean \
         confidence of the wrong: {mean}; \
         wrong at 0.8 or more: {}.\n",
        count(Grade::Right),
        count(Grade::Admitted),
        count(Grade::Insufficient),
        count(Grade::Wrong),
        count(Grade::Unread),
        reported.len(),
        wrong.iter().filter(|confidence| **confidence >= 0.8).count()
    );
    let met = |grade| cases.iter().filter(|case| case.met == Some(grade)).count();
    if cases.iter().any(|case| case.met.is_some()) {
        let _ = writeln!(
            out,
            "At first meeting, before any rule was changed for them: {} right, {} right to admit, \
             {} insufficient, {} wrong, {} unread. \
             The values above are training results.\n",
            met(Grade::Right),
            met(Grade::Admitted),
            met(Grade::Insufficient),
            met(Grade::Wrong),
            met(Grade::Unread)
        );
    }
    out
}

/// Whether a device is the one that a list names: `nvme1n1` is a namespace of the controller
/// `nvme1`.
fn is_of(named: &str, device: &str) -> bool {
    let rest = device.strip_prefix(named);
    rest.is_some_and(|rest| rest.is_empty() || named.starts_with("nvme") && rest.starts_with('n'))
}

/// What was given, by the letters of its richest level.
pub const GIVEN: [(&str, &[char]); 3] = [
    ("averages or histograms", &['A', 'B']),
    ("single I/Os", &['C', 'D']),
    ("with facts from logs, drives or settings", &['E']),
];

/// How often what is reported at 0.6 or more is right, by the richest level of an input: the
/// Laplace estimate over all captures, and over all but the one it is compared with, which shows
/// how much single captures move it.
fn left_out(cases: &[PublishedCase]) -> String {
    let mut out = String::from(
        "## How often answers are right, leaving each capture out in turn\n\n\
         | input | answers | right | estimate (r + 1) / (n + 2) | with one left out | mean \
         confidence | squared error | with the estimate of the others instead |\n| --- | --- | --- \
         | --- | --- | --- | --- | --- |\n",
    );
    let message: Vec<(char, f64, bool)> =
        cases.iter().filter_map(|case| case.reported().aloud()).collect();
    let all = ("all", &['A', 'B', 'C', 'D', 'E'][..]);
    for (name, letters) in GIVEN.into_iter().chain([all]) {
        let of: Vec<&(char, f64, bool)> =
            message.iter().filter(|(letter, _, _)| letters.contains(letter)).collect();
        let (n, right) = (of.len() as f64, of.iter().filter(|one| one.2).count() as f64);
        let truth = |one: &(char, f64, bool)| f64::from(u8::from(one.2));
        let others = |one: &(char, f64, bool)| (right - truth(one) + 1.0) / (n + 1.0);
        let estimates: Vec<f64> = of.iter().map(|one| others(one)).collect();
        let least = estimates.iter().copied().fold(1.0, f64::min);
        let most = estimates.iter().copied().fold(0.0, f64::max);
        let mean = |of: &dyn Fn(&(char, f64, bool)) -> f64| {
            message.iter().filter(|(letter, _, _)| letters.contains(letter)).map(of).sum::<f64>()
                / n.max(1.0)
        };
        let _ = writeln!(
            out,
            "| {name} | {n} | {right} | {:.2} | {least:.2} to {most:.2} | {:.2} | {:.3} | {:.3} |",
            (right + 1.0) / (n + 2.0),
            mean(&|one| one.1),
            mean(&|one| (one.1 - truth(one)).powi(2)),
            mean(&|one| (others(one) - truth(one)).powi(2)),
        );
    }
    out.push('\n');
    out
}

/// What is reported of pasted cases that are not read, for a collector may note numbers in no
/// tool's layout.
fn notes(pasted: &[PublishedCase], kept: &[PublishedCase]) -> String {
    let unread: Vec<&PublishedCase> =
        pasted.iter().filter(|case| case.reported().grade == Grade::Unread).collect();
    let read = |case: &&&PublishedCase| {
        let twins = kept.iter().filter(|twin| twin.number() == case.name);
        let grades: Vec<Grade> = twins.map(|twin| twin.reported().grade).collect();
        !grades.is_empty() && grades.iter().all(|grade| *grade != Grade::Unread)
    };
    if unread.is_empty() {
        return String::new();
    }
    format!(
        "Of the {} unread, {} are read in the layout of their tool in the tables above: here the \
         collector noted only their values (`biosnoop lat_ms: 1.60 16.98 10.31`), which no tool \
         prints.\n\n",
        unread.len(),
        unread.iter().filter(read).count()
    )
}

/// The tables of the captures in the tree and of the collections named.
///
/// # Errors
/// If a list or a listing cannot be read.
pub fn published_tables(collections: &[PathBuf]) -> io::Result<String> {
    let all = published()?;
    let of = |part: &str| -> Vec<PublishedCase> {
        all.iter().filter(|case| case.collection() == part).cloned().collect()
    };
    let mut out = String::from(
        "# Published captures\n\nVerdicts on published captures with a known cause. \
         Written by `lab published`. The listings are in `crates/lab/published/`; pasted ones were \
         read from the collections, each fenced block as a file.\n\n",
    );
    for (letters, title) in COLLECTIONS {
        out.push_str(&published_table(title, &of(letters)));
    }
    let published: Vec<PublishedCase> =
        all.iter().filter(|case| case.collection() != "W").cloned().collect();
    out.push_str(&left_out(&published));
    for collection in collections {
        let name = collection.file_name().unwrap_or_default().to_string_lossy();
        let cases = pasted(collection)?;
        out.push_str(&published_table(&format!("{name}, as pasted"), &cases));
        out.push_str(&notes(&cases, &all));
    }
    Ok(out)
}
