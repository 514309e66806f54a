//! Lines outside any listing that look like rows of one: treating them as prose could clear the
//! disk that they accuse.

use iowhy_model::{Sink, Unread};

use crate::decimal;
use crate::text::letters::first_letters;
use crate::text::numbers::time_ns;

/// Rows that make a listing.
const LEAST: u64 = 2;
/// Values that make a row.
const VALUES: usize = 4;
/// Characters of its first line that are kept.
const TEXT: usize = 80;
/// Characters of a heading that are examined.
const HEADING: usize = 400;
/// Most passages reported of one input.
const MAX_REPORTED: u64 = 20;
/// Words of headings above latencies, rates and queues of disks.
const HEADINGS: [&str; 16] = [
    "await", "svctm", "svc_t", "%util", "%busy", "aqu-sz", "avgqu", "iops", "latency", "lat(",
    "r/s", "w/s", "kb/s", "mb/s", "tps", "usecs",
];
/// How names of disks begin; a letter or number follows.
const DISKS: [&str; 11] =
    ["sd", "hd", "vd", "xvd", "nvme", "dm-", "md", "mmcblk", "ada", "disk", "c0t"];

/// What such a passage may be.
#[derive(Clone, Copy, Default, PartialEq)]
enum Kind {
    #[default]
    Values,
    /// One row that begins with the name of a disk is enough.
    OfDisk,
    /// Rows of a printed histogram.
    Buckets,
}

/// The passage that is being examined.
#[derive(Default)]
pub(crate) struct Rows {
    /// The line before the first row: most likely its heading.
    before: (u64, String),
    /// First and last line, and rows.
    first: u64,
    last: u64,
    rows: u64,
    text: String,
    kind: Kind,
    /// Whether it mentions a disk or waits.
    about_disks: bool,
    reported: u64,
    /// Lines of prose, and how many of the first of them state how long something took.
    lines: u64,
    timed: u64,
}

impl Rows {
    /// Takes a line of prose.
    pub(crate) fn take(&mut self, text: &str, line: u64, input: &str, sink: &mut dyn Sink) {
        self.timed += u64::from(self.timed == self.lines && states_a_time(text));
        self.lines += 1;
        if let Some(kind) = kind_of(text) {
            if self.rows == 0 || kind != Kind::Values {
                self.kind = kind;
            }
            if self.rows == 0 {
                let (at, heading) = &self.before;
                let headed = *at > 0 && at + 1 >= line;
                self.about_disks = headed && is_about_disks(heading);
                self.first = if headed { *at } else { line };
                self.text = shortened(if headed { heading } else { text });
            }
            self.rows += 1;
            self.last = line;
            self.about_disks |= is_about_disks(text);
            return;
        }
        self.end(input, sink);
        self.before.0 = line;
        self.before.1.clear();
        self.before.1.push_str(first_letters(text, HEADING));
    }

    /// The whole input was prose. Times of a program's steps are not a capture, and yet may show
    /// waits that the other captures lack. Whether that was stated.
    pub(crate) fn only_prose(&self, input: &str, sink: &mut dyn Sink) -> bool {
        let times = self.lines >= LEAST && self.timed == self.lines;
        if times {
            sink.unread(Unread {
                input: input.to_string(),
                lines: (1, self.lines),
                text: String::new(),
                format: None,
                reason: "each line has a duration, but the format is not known".to_string(),
            });
        }
        times
    }

    /// The passage ends here.
    pub(crate) fn end(&mut self, input: &str, sink: &mut dyn Sink) {
        let rows = std::mem::take(&mut self.rows);
        let about_disks = std::mem::take(&mut self.about_disks);
        let kind = std::mem::take(&mut self.kind);
        let enough = match kind {
            Kind::Values => rows >= LEAST && about_disks,
            Kind::OfDisk | Kind::Buckets => true,
        };
        if !enough || self.reported == MAX_REPORTED {
            return;
        }
        self.reported += 1;
        sink.unread(Unread {
            input: input.to_string(),
            lines: (self.first, self.last),
            text: std::mem::take(&mut self.text),
            format: None,
            reason: match kind {
                Kind::Buckets => "looks like rows of a histogram without its heading",
                _ => "looks like a table about disks, but the format is not known",
            }
            .to_string(),
        });
    }
}

/// The table that a line may be a row of, if any.
fn kind_of(text: &str) -> Option<Kind> {
    if is_bucket(text) {
        return Some(Kind::Buckets);
    }
    if !is_row(text) {
        return None;
    }
    let first = text.split_whitespace().next().unwrap_or_default();
    let named = is_disk(&first.to_ascii_lowercase());
    Some(if named { Kind::OfDisk } else { Kind::Values })
}

/// Whether a line has a number with a unit of time: `took 2411.22ms`.
fn states_a_time(text: &str) -> bool {
    let is_time = |word: &str| {
        let word = word.trim_end_matches([',', ';', ')', '.']);
        let begins = word.starts_with(|c: char| c.is_ascii_digit());
        begins && word.ends_with(char::is_alphabetic) && time_ns(word).is_some()
    };
    text.split([' ', '\t', '=', ':', '(']).any(is_time)
}

/// A row of a histogram: `256 -> 511 : 2 |***|`, `1024 |@@@ 7`, `[256, 512) 2 |@@|`.
fn is_bucket(text: &str) -> bool {
    let Some((before, bar)) = text.split_once('|') else { return false };
    let number = |word: &str| {
        let digits = word.trim_end_matches(['K', 'M', 'G', ',', ')', ']']);
        !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
    };
    let words: Vec<&str> = before.split_whitespace().collect();
    let is_bar = |bar: &str| bar.chars().all(|c| matches!(c, '*' | '@' | '#' | '+' | ' ' | '|'));
    match words[..] {
        [low, "->", high, ":", count] => {
            number(low) && number(high) && number(count) && is_bar(bar)
        }
        [low, high, count] => {
            low.strip_prefix(['[', '(']).is_some_and(number)
                && number(high)
                && number(count)
                && is_bar(bar)
        }
        [value] => {
            let (bar, count) = bar.trim().rsplit_once(' ').unwrap_or(("", bar.trim()));
            number(value) && number(count) && is_bar(bar) && bar.contains('@')
        }
        _ => false,
    }
}

/// Whether a word is a disk's name.
pub(crate) fn is_disk(word: &str) -> bool {
    DISKS.iter().any(|disk| {
        let rest = word.strip_prefix(disk).unwrap_or_default();
        !rest.is_empty() && rest.len() < 8 && rest.bytes().all(|b| b.is_ascii_alphanumeric())
    })
}

/// Whether most words of a line are numbers.
fn is_row(text: &str) -> bool {
    let mut values = 0;
    let mut words = 0;
    for word in text.split_whitespace() {
        words += 1;
        if !word.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '.' | ',' | '-' | '+')) {
            continue;
        }
        let bare = word.trim_end_matches(['%', 'k', 'K', 'M', 'G', 'B', ',', ';', '|']);
        values += usize::from(decimal(bare).is_some());
    }
    values >= VALUES && values * 2 >= words
}

fn is_about_disks(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    HEADINGS.iter().any(|heading| lower.contains(heading))
        || lower.split_whitespace().any(|word| is_disk(word.trim_matches([':', ',', '|'])))
}

fn shortened(text: &str) -> String {
    first_letters(text, TEXT).to_string()
}
