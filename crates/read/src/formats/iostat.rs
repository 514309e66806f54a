//! iostat of sysstat on Linux: rates, mean waits, queue and %util per device and interval.
//!
//! ## Reads
//! The device tables of `iostat`, with or without `-x`, `-s`, `-h`, `--human`, `--pretty`, `-k`,
//! `-m`, `-t`, `-N`, `-p`, `-y`, `-z`, `-d`: header by header, so the columns may be in any order;
//! the heading of the device may be in any language. Rows may have been re-flowed onto one line or
//! broken by a mail program; a report split into tables of reads, writes, discards and flushes is
//! put together again. The command line above the listing, if it was copied too, gives the
//! interval; timestamps (`-t`) give its start.
//!
//! ## How to capture
//! `iostat -xtz 10` of the sysstat package; pastes of it in mails, tickets and articles.
//!
//! ## Versions
//! All generations: to 6.1.1 (sectors and kB side by side), to 9.1.1 (`avgrq-sz`, `avgqu-sz`, one
//! `await`), to 11.5.6 (`r_await`, `w_await` added), 11.5.7 to 12.1.1 (`aqu-sz`, `rareq-sz`, no
//! common await), 12.1.2 (discards, no `svctm`), 12.3.1 and later (flushes). JSON (`-o JSON`) is
//! not read by this format.
//!
//! ## Caveats
//! If the heading is missing or truncated (`grep sda`, a paste that begins below it), the columns
//! of `-x` are inferred from their number, if requests times size are the bytes and rate times wait
//! the queue; with a note. The first report after the banner is since boot and is marked
//! accordingly, unless the command has `-y`, the report is missing, or all its rates are whole
//! requests over 1, 2, 5 or 10 s, unlike averages since boot. Waits contain the time in the host's
//! queue. `0.00` without I/O means no value, not fast. `%util` is time with something in flight,
//! not a measure of saturation; it may exceed 100. `svctm` is that time divided by I/Os, not a
//! service time. `avgrq-sz` counts sectors of 512 bytes, `rareq-sz` kB of 1024. Flushes are counted
//! as writes too. 12.2.0 prints `wMB/s` 2048 times too large. Rows of dm and md devices repeat the
//! I/O of their disks.
//!
//! ## Not in this output
//! The distribution behind a mean, queue and device time separately, which process sent the
//! requests, the time within the interval, and waits above the block layer.

mod layouts;
mod report;

use iowhy_model::Inference;

use self::layouts::{Layout, columns_of};
use self::report::Reports;
use crate::counters::disk_columns::{is_column, is_value};
use crate::counters::processor::shares;
use crate::program::*;
use crate::text::invocation::invocation;
use crate::text::table::{RowCutter, incomplete};
use crate::text::words::is_for_people;

pub(super) const FORMAT: Format = Format::program::<Iostat>(
    "iostat of sysstat, every generation, with or without -x",
    Level::A,
    &[
        "tps", "r/s", "w/s", "B/s", "rsec/s", "aqu-sz", "avgqu-sz", "avg-cpu:", "Device", "Linux",
        "iostat", "^moment", "^row",
    ],
    sniff,
);

/// Idle rows that are kept until one shows the columns.
const PENDING: usize = 64;
/// Lines that may stand between a command or banner and the first table.
const BANNER_LINES: usize = 8;

/// A table or avg-cpu header decides; a command, banner or time only leads up to one, since sar
/// and mpstat print the same banner.
fn sniff(lines: &[&str]) -> Detect {
    // One word alone may be a time.
    if !lines.first().is_some_and(|line| is_for_people(line) || line.contains(':')) {
        return Detect::No;
    }
    for (place, line) in lines.iter().enumerate() {
        let words: Vec<&str> = line.split_whitespace().filter(|word| !is_filler(word)).collect();
        if decides(&words) {
            return Detect::Yes;
        }
        // Rows whose heading was cut off, with or without the end of it above them.
        match columns_of(&words, &[]) {
            Layout::Columns(_) => return Detect::Yes,
            Layout::Idle => continue,
            Layout::No => {}
        }
        let leads = invocation(line, "iostat").is_some()
            || banner(&words).is_some()
            || WallTime::read(line).is_some();
        if !leads && (place == 0 || !words.is_empty()) {
            return Detect::No;
        }
    }
    if lines.len() < BANNER_LINES { Detect::NeedLine } else { Detect::No }
}

fn decides(words: &[&str]) -> bool {
    let words = &words[banner(words).map_or(0, |(.., used)| used)..];
    match words {
        _ if is_translated(words) => true,
        ["avg-cpu:", rest @ ..] => rest.first().is_none_or(|word| word.starts_with('%')),
        [.., last] if *last == "Device" && is_column(words[0]) => {
            words.len() > 2 && words[..words.len() - 1].iter().all(|word| is_column(word))
        }
        [first, rest @ ..] => match device_word(first) {
            Some("") => rest.iter().take(2).filter(|word| is_column(word)).count() == 2,
            Some(glued) => is_column(glued),
            None => false,
        },
        [] => false,
    }
}

/// The word that begins a device table: `Device`, `Device:`, or `Device:` with the first column
/// glued to it, which is given back.
fn device_word(word: &str) -> Option<&str> {
    match word.strip_prefix("Device")? {
        "" => Some(""),
        rest => rest.strip_prefix(':'),
    }
}

/// Whether a line is a heading that names the device in another language (`Gerät:`): one word of
/// letters, and then columns only, which no language translates.
fn is_translated(words: &[&str]) -> bool {
    let [first, columns @ ..] = words else { return false };
    let name = first.trim_end_matches(':');
    let named = !name.is_empty() && name.chars().all(char::is_alphabetic) && !is_column(name);
    // Other tables of sar count things per second too; a disk's hold requests or their waits.
    let of_disks = |word: &&str| {
        matches!(
            *word,
            "tps" | "r/s" | "w/s" | "rkB/s" | "rMB/s" | "rsec/s" | "aqu-sz" | "avgqu-sz"
        )
    };
    let known = columns.iter().any(of_disks) && !matches!(name, "DEV" | "Device");
    named && known && columns.len() > 2 && columns.iter().all(|word| is_column(word))
}

fn is_filler(word: &str) -> bool {
    matches!(
        word,
        "[...]" | "[…]" | "…" | "..." | "(...)" | "(snip)" | "[snip]" | "<snip>" | "<...>"
    )
}

/// `Linux 4.15.0-66-generic (host) 12/16/2020 _x86_64_ (8 CPU)`: who, when, and how many words it
/// took.
fn banner<'a>(words: &[&'a str]) -> Option<([&'a str; 2], String, usize)> {
    let ["Linux", release, host, date, rest @ ..] = words else { return None };
    let host = host.strip_prefix('(')?.strip_suffix(')')?;
    if !date.contains(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let machine = rest.first().filter(|word| word.starts_with('_') && word.ends_with('_'));
    let after = &rest[usize::from(machine.is_some())..];
    let processors = match after {
        [count, "CPU)", ..] => count.strip_prefix('(').map(|count| format!(", {count} CPU")),
        _ => None,
    };
    let used = 4 + usize::from(machine.is_some()) + 2 * usize::from(processors.is_some());
    let machine = machine.map_or(String::new(), |word| format!(" {}", word.trim_matches('_')));
    let whole = format!("{host}, Linux {release}{machine}{}", processors.unwrap_or_default());
    Some(([host, date], whole, used))
}

/// What the next words are expected to be.
#[derive(Default)]
enum Expect {
    #[default]
    Header,
    /// Values of these avg-cpu columns.
    Processor(Vec<String>),
    /// Rows of a table; `open` while its header may still go on.
    Rows { rows: RowCutter, open: bool },
}

#[derive(Default)]
struct Iostat {
    expect: Expect,
    columns: Vec<String>,
    reports: Reports,
    begun: bool,
    /// A heading of its own has been read, so that rows below a cut one are damaged.
    headed: bool,
    /// Idle rows above the one that showed the columns.
    pending: Vec<Vec<String>>,
}

impl Reader for Iostat {
    fn claims_row(&self, line: &str) -> bool {
        let words: Vec<&str> = line.split_whitespace().collect();
        !self.columns.is_empty()
            && words.len() == self.columns.len() + 1
            && !matches!(columns_of(&words, &[]), Layout::No)
    }

    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let words: Vec<&str> = line.split_whitespace().collect();
        // A table of processes, of which a page may have run heading and rows together.
        if words.is_empty() || words.contains(&"PID") && words.contains(&"Command") {
            self.interrupt(sink);
            return Step::NotMine;
        }
        if let Some(command) = invocation(line, "iostat") {
            return self.lead(|iostat| iostat.reports.command(&command));
        }
        let mut words = words.as_slice();
        if let Some(([name, date], host, used)) = banner(words) {
            let step = self.lead(|iostat| iostat.reports.banner(date));
            if step == Step::End {
                return step;
            }
            sink.source().is_of_printed_host(name, host);
            words = &words[used..];
            if words.is_empty() {
                return step;
            }
        }
        if let Some(moment) = WallTime::read(line) {
            self.interrupt(sink);
            self.reports.time(moment, sink);
            self.expect = Expect::Header;
            return Step::Consumed;
        }
        let words = self.without_time(words, sink);
        self.words(words, sink)
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.interrupt(sink);
        self.reports.finish(sink);
    }
}

impl Iostat {
    /// A command or banner: the first lines of a run, or the end of this one.
    fn lead(&mut self, take: impl FnOnce(&mut Iostat)) -> Step {
        if self.begun {
            return Step::End;
        }
        take(self);
        Step::Consumed
    }

    /// A row without the time that a script put before each row of a report.
    fn without_time<'a, 'b>(&mut self, words: &'a [&'b str], sink: &mut dyn Sink) -> &'a [&'b str] {
        let more = words.len().saturating_sub(self.columns.len() + 1);
        if !matches!(self.expect, Expect::Rows { .. }) || !(1..=2).contains(&more) {
            return words;
        }
        let (time, row) = words.split_at(more);
        match WallTime::read(&time.join(" ")) {
            Some(moment) => {
                self.reports.row_time(moment, sink);
                row
            }
            None => words,
        }
    }

    /// A blank line, or something else that parts a row from its beginning.
    fn interrupt(&mut self, sink: &mut dyn Sink) {
        if let Expect::Rows { rows, open } = &mut self.expect {
            *open = false;
            if rows.interrupt() {
                incomplete(sink);
            }
        }
    }

    /// The columns of a row whose heading is missing or cut: found by their number and by what fits
    /// together, and said.
    fn infer(&mut self, words: &[&str], sink: &mut dyn Sink) -> bool {
        let cut = words.len() > self.columns.len() + 1;
        if self.headed || !cut {
            return false;
        }
        let columns = match columns_of(words, &self.columns) {
            Layout::Columns(columns) => columns,
            Layout::Idle if self.pending.len() < PENDING => {
                self.pending.push(words.iter().map(ToString::to_string).collect());
                return true;
            }
            Layout::Idle | Layout::No => return false,
        };
        self.begun = true;
        self.columns = columns;
        let rows = RowCutter::new(self.columns.len(), true, is_value);
        self.expect = Expect::Rows { rows, open: false };
        self.reports.columns(&self.columns, sink);
        if !sink.source().inferred.contains(&Inference::Columns) {
            sink.source().infer(Inference::Columns);
            sink.note(note(format!(
                "the heading is missing or truncated: the columns, inferred from their number and \
                 values, are {}",
                self.columns.join(" ")
            )));
        }
        for row in std::mem::take(&mut self.pending) {
            let words: Vec<&str> = row.iter().map(String::as_str).collect();
            if words.len() == self.columns.len() + 1 {
                self.values(&words, sink);
            }
        }
        self.headed = false;
        true
    }

    /// Takes a line apart at its headers. What is between them are rows or avg-cpu values.
    fn words(&mut self, words: &[&str], sink: &mut dyn Sink) -> Step {
        let mut outcome = Step::NotMine;
        let mut rest = words;
        while let Some(word) = rest.first() {
            let before = rest.len();
            let step = if is_filler(word) {
                self.reports.elided();
                rest = &rest[1..];
                continue;
            } else if *word == "avg-cpu:" {
                rest = self.processor(&rest[1..], sink);
                Step::Consumed
            } else if let Some(after) = self.device_header(rest, sink) {
                rest = after;
                Step::Consumed
            } else {
                let end = rest.iter().skip(1).position(|word| is_header_word(word));
                let (values, after) = rest.split_at(end.map_or(before, |end| end + 1));
                rest = after;
                self.values(values, sink)
            };
            outcome = worse(outcome, step);
        }
        outcome
    }

    fn processor<'a, 'b>(&mut self, words: &'a [&'b str], sink: &mut dyn Sink) -> &'a [&'b str] {
        self.interrupt(sink);
        self.begun = true;
        self.reports.processor(sink);
        let columns = words.iter().take_while(|word| word.starts_with('%'));
        let columns: Vec<String> = columns.map(ToString::to_string).collect();
        let rest = &words[columns.len()..];
        self.expect = Expect::Processor(columns);
        rest
    }

    /// A header at the start of the words: `Device` and columns, columns and `Device`, or more
    /// columns of a header that was broken. Gives back the words after it.
    fn device_header<'a, 'b>(
        &mut self,
        words: &'a [&'b str],
        sink: &mut dyn Sink,
    ) -> Option<&'a [&'b str]> {
        let run = |words: &[&str]| words.iter().take_while(|word| is_column(word)).count();
        if is_translated(words) {
            self.begin_table(words[1..].iter().copied(), true, true, sink);
            return Some(&[]);
        }
        if let Some(glued) = device_word(words.first()?) {
            let count = match is_bare_header(&words[1..]) {
                true => words.len() - 1,
                false => run(&words[1..]),
            };
            let columns = [glued].into_iter().filter(|glued| !glued.is_empty());
            let columns = columns.chain(words[1..=count].iter().copied());
            self.begin_table(columns, true, count + 1 == words.len(), sink);
            return Some(&words[1 + count..]);
        }
        let count = run(words);
        if count > 0 && words.get(count) == Some(&"Device") {
            self.begin_table(words[..count].iter().copied(), false, false, sink);
            return Some(&words[count + 1..]);
        }
        if count > 0 && matches!(self.expect, Expect::Rows { open: true, .. }) {
            self.columns.extend(words[..count].iter().map(ToString::to_string));
            let rows = RowCutter::new(self.columns.len(), true, is_value);
            self.reports.columns(&self.columns, sink);
            self.expect = Expect::Rows { rows, open: count == words.len() };
            return Some(&words[count..]);
        }
        None
    }

    fn begin_table<'a>(
        &mut self,
        columns: impl Iterator<Item = &'a str>,
        name_first: bool,
        open: bool,
        sink: &mut dyn Sink,
    ) {
        self.interrupt(sink);
        self.begun = true;
        self.columns = columns.map(ToString::to_string).collect();
        let rows = RowCutter::new(self.columns.len(), name_first, is_value);
        self.expect = Expect::Rows { rows, open };
        self.reports.columns(&self.columns, sink);
    }

    fn values(&mut self, words: &[&str], sink: &mut dyn Sink) -> Step {
        if self.columns.len() + 1 < words.len() && self.infer(words, sink) {
            return match self.columns.len() + 1 == words.len() {
                true => self.values(words, sink),
                // Idle: it is kept until another row shows the columns.
                false => Step::Consumed,
            };
        }
        match &mut self.expect {
            Expect::Processor(columns) if words.len() == columns.len() => {
                let values = words.iter().all(|word| is_value(word));
                if values {
                    let pairs = columns.iter().map(String::as_str).zip(words.iter().copied());
                    self.reports.shares(shares(pairs));
                }
                self.expect = Expect::Header;
                if values { Step::Consumed } else { Step::NotMine }
            }
            Expect::Rows { rows, open } if !self.columns.is_empty() => {
                match rows.read(words, sink) {
                    Ok(rows) => {
                        *open = false;
                        rows.iter().for_each(|row| self.reports.row(row, &self.columns, sink));
                    }
                    Err(step) => return step,
                }
                self.headed = true;
                Step::Consumed
            }
            _ => Step::NotMine,
        }
    }
}

/// Whether the words after `Device` are column names to the end of the line, even if some are of
/// no known shape (`rrqm` for `rrqm/s`, where they were shortened).
fn is_bare_header(words: &[&str]) -> bool {
    words.len() > 2
        && words.last().is_some_and(|word| is_column(word))
        && !words.iter().any(|word| is_value(word) || *word == "avg-cpu:" || *word == "Device")
}

/// Whether a word begins a header inside a re-flowed line.
fn is_header_word(word: &str) -> bool {
    word == "avg-cpu:" || device_word(word).is_some() || is_column(word)
}

/// The step of a line of several parts: a part that failed is reported, else any part that was ours
/// makes the line ours.
fn worse(one: Step, other: Step) -> Step {
    match (one, other) {
        (Step::Malformed(reason), _) | (_, Step::Malformed(reason)) => Step::Malformed(reason),
        (Step::Consumed, _) | (_, Step::Consumed) => Step::Consumed,
        _ => Step::NotMine,
    }
}
