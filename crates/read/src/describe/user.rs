//! Logs and tables of your own: described in a file, read with `--formats FILE`.
//!
//! A log or table in an unknown format can be described in a TOML file. Every command that reads
//! captures accepts it: `iowhy why --formats mine.toml app.log`. The description contains an
//! example of the input, which is checked whenever the file is read: errors are reported with their
//! line.
//!
//! ## A log
//!
//! ```toml
//! [[log]]
//! name = "shop-log"
//! who = "shop"               # the program that does the operations [default: the name]
//! over = "100ms"             # threshold, if only slower operations are logged
//!
//! [[log.says]]
//! line = "slow {op:op} of {file:word}: {took:ms} ms"
//! like = "2026-11-27 10:00:01.250 WARN slow fsync of orders.db: 812 ms"
//!
//! [[log.says]]
//! line = "journal commit on {disk:device} took {took:time}"
//! operation = "flush"
//! what = "journal commit"
//! like = "2026-11-27 10:00:02.000 INFO journal commit on /dev/sdb took 1.25s"
//!
//! [[log.says]]
//! line = "gave up on {disk:device} after {n:u} slow requests"
//! add = "io.slow"
//! like = "2026-11-27 10:00:03 ERROR gave up on sdb after 17 slow requests"
//! ```
//!
//! `line` is text with placeholders, found anywhere in a line; `^` at the start and `$` at the end
//! anchor it, a space matches any number of them, `{*}` any text, `{a|b}` one of these, and a brace
//! is written twice. A placeholder has a name and a kind: `u` a whole number, `n` a number, `ns`
//! `us` `ms` `s` a number in this unit, `time` a time with its unit, `%` a share, `size` a size
//! with its unit, `word`, `text`, `device`, `folder` (of a path: its drive or folder is the
//! device), `op` the name of an operation.
//!
//! A placeholder `took` defines an operation that ended when the line was written; the operation is
//! set by a placeholder of kind `op` or by `operation` (read, write, flush, discard, other), its
//! device by a placeholder `device`. `count`, `add` (as many as `n`), `longest` (of `took`) and
//! `last` (the last `share`) record a fact instead. The first sentence that matches is used. With
//! `time = "json:ts"` the time is in `"ts":"..."`, with `time = "glog"` the line begins like
//! glog's; otherwise the time is among the first words. `own` lists lines of the program that are
//! not about I/O.
//!
//! ## A table
//!
//! ```toml
//! [[table]]
//! name = "shelf-stat"
//! subject = "VOL"            # the column with the device name; or whole = "all disks"
//! time = "front"             # at the start of each row; or the name of a column; or omitted
//! like = """
//! TIME VOL RD/S WR/S RKB/S WKB/S RD_MS WR_MS QLEN UTIL
//! 10:00:05 vol1 120.0 30.0 960.0 480.0 4.25 0.80 0.55 48.2
//! 10:00:10 vol1 118.0 31.0 944.0 496.0 4.31 0.79 0.56 48.9
//! """
//!
//! [table.columns]
//! "RD/S" = "reads/s"
//! "WR/S" = "writes/s"
//! "RKB/S" = "read KiB/s"
//! "WKB/S" = "write KiB/s"
//! "RD_MS" = "read ms"
//! "WR_MS" = "write ms"
//! "QLEN" = "queued"
//! "UTIL" = "busy %"
//! ```
//!
//! A line with all columns named here is the heading. A column may be `reads/s`, `writes/s`,
//! `discards/s`, `flushes/s`, `ios/s`; `read merges/s`; `read KiB/s`, `write MiB/s`, `io B/s`;
//! `read ms`, `write us`, `io ms`, a mean latency; `queue ms` and `device ms`, its two parts;
//! `queued`, the mean number of requests (aqu-sz); `in flight`; `busy %`. Columns that are not
//! named are ignored. `sign` precedes the heading (`#`), `blanks` are additional cell separators
//! (`",|"`), `empty` lists cells without a value, with `since_boot = true` the first report is the
//! mean since boot, and a `banner` is the pattern of a line above the heading, whose placeholder
//! `length` is the time that the report covers.

use std::fmt;

use iowhy_model::typed::{Key, Share};
use iowhy_model::{Level, Nanos, Op, Recording};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::log::{Effect, Log, Ready, Sentence, Stamp};
use super::pattern::{Kind, Pattern, operation};
use super::table::{Column, ReadyTable, RowTime, SIZES, Slot, Subject, TIMES, Table, column};
use crate::index::MOST_FORMATS;
use crate::{Body, Format, Formats};

/// How to describe a format of one's own: the header of this file.
pub const OWN_FORMATS: &str = iowhy_model::manual!("user.rs");

/// What is wrong with a file of formats, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FormatsError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub what: String,
}

impl fmt::Display for FormatsError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for FormatsError {}

/// What a column may mean, as a file shows it.
const MEANINGS: &str = "reads/s, writes/s, discards/s, flushes/s, ios/s; read merges/s; read \
                        KiB/s, write MiB/s, io B/s (B, KB, KiB, MB, MiB, GB, GiB); read ms, write \
                        us, io ms (ns, us, ms, s): mean latency; queue ms, device ms; queued \
                        (aqu-sz); in flight; busy %";

/// The formats that a file describes, to be known for as long as the program runs.
///
/// # Errors
/// The first thing that is wrong with it.
pub fn formats_of(text: &str) -> Result<&'static [Format], FormatsError> {
    let file = File { text };
    let root = DeTable::parse(text).map_err(|error| FormatsError {
        line: file.line(error.span().map_or(0, |span| span.start)),
        what: error.message().to_string(),
    })?;
    let root = Fields { file, at: 0, table: root.get_ref() };
    root.only(&["log", "table"])?;
    let mut formats: Vec<Format> = Vec::new();
    for (what, read) in [("log", log as fn(&Fields) -> _), ("table", table)] {
        for fields in root.tables(what)? {
            let format: Format = read(&fields)?;
            let known = |known: &Format| known.name == format.name;
            if crate::FORMATS.iter().chain(&formats).any(known) {
                return Err(fields.wrong(format!("format `{}` already exists", format.name)));
            }
            if formats.len() == MOST_FORMATS {
                return Err(
                    fields.wrong(format!("a file describes {MOST_FORMATS} formats at most"))
                );
            }
            formats.push(format);
        }
    }
    if formats.is_empty() {
        return Err(root.wrong("the file describes no format: `[[log]]` or `[[table]]` is missing"));
    }
    Ok(Vec::leak(formats))
}

/// The text of the file, for places in it.
#[derive(Clone, Copy)]
struct File<'t> {
    text: &'t str,
}

impl File<'_> {
    fn line(&self, at: usize) -> usize {
        self.text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
    }
}

/// A table of the file.
struct Fields<'t> {
    file: File<'t>,
    at: usize,
    table: &'t DeTable<'t>,
}

/// A text of the file, with its position.
struct Text {
    text: &'static str,
    at: usize,
}

type Wrong<T> = Result<T, FormatsError>;

impl<'t> Fields<'t> {
    fn wrong(&self, what: impl Into<String>) -> FormatsError {
        self.wrong_at(self.at, what)
    }

    fn wrong_at(&self, at: usize, what: impl Into<String>) -> FormatsError {
        FormatsError { line: self.file.line(at), what: what.into() }
    }

    /// No field but these.
    fn only(&self, known: &[&str]) -> Wrong<()> {
        let unknown = self.table.keys().find(|key| !known.contains(&key.get_ref().as_ref()));
        unknown.map_or(Ok(()), |key| {
            let what =
                format!("unknown field `{}`; the fields are {}", key.get_ref(), known.join(", "));
            Err(self.wrong_at(key.span().start, what))
        })
    }

    fn get(&self, name: &str) -> Option<&'t Spanned<DeValue<'t>>> {
        self.table.get(name)
    }

    fn text(&self, name: &str) -> Wrong<Option<Text>> {
        self.get(name).map(|value| self.as_text(name, value)).transpose()
    }

    fn as_text(&self, name: &str, value: &Spanned<DeValue>) -> Wrong<Text> {
        let at = value.span().start;
        match value.get_ref() {
            DeValue::String(text) => Ok(Text { text: leaked(text), at }),
            _ => Err(self.wrong_at(at, format!("`{name}` must be a string"))),
        }
    }

    fn needed(&self, name: &str) -> Wrong<Text> {
        self.text(name)?.ok_or_else(|| self.wrong(format!("`{name}` is missing")))
    }

    /// A list of texts, or one.
    fn texts(&self, name: &str) -> Wrong<Vec<Text>> {
        match self.get(name) {
            None => Ok(Vec::new()),
            Some(value) => match value.get_ref() {
                DeValue::Array(all) => all.iter().map(|one| self.as_text(name, one)).collect(),
                _ => Ok(vec![self.as_text(name, value)?]),
            },
        }
    }

    fn list(&self, name: &str) -> Wrong<&'static [&'static str]> {
        Ok(Vec::leak(self.texts(name)?.into_iter().map(|text| text.text).collect()))
    }

    fn flag(&self, name: &str) -> Wrong<bool> {
        match self.get(name).map(|value| (value.get_ref(), value.span().start)) {
            None => Ok(false),
            Some((DeValue::Boolean(is), _)) => Ok(*is),
            Some((_, at)) => Err(self.wrong_at(at, format!("`{name}` must be true or false"))),
        }
    }

    fn time(&self, name: &str) -> Wrong<Option<Nanos>> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        let pattern = Pattern::of("^{time:time}$").map_err(|wrong| self.wrong(wrong))?;
        let found = pattern.read(text.text).and_then(|found| found.time("time"));
        found.map(Some).ok_or_else(|| {
            self.wrong_at(text.at, format!("`{name}` must be a time, such as `100ms`"))
        })
    }

    fn tables(&self, name: &str) -> Wrong<Vec<Fields<'t>>> {
        let Some(value) = self.get(name) else { return Ok(Vec::new()) };
        let of = |value: &'t Spanned<DeValue<'t>>| match value.get_ref() {
            DeValue::Table(table) => Ok(Fields { file: self.file, at: value.span().start, table }),
            _ => Err(self.wrong_at(value.span().start, format!("`{name}` must be a table"))),
        };
        match value.get_ref() {
            DeValue::Array(all) => all.iter().map(of).collect(),
            _ => Ok(vec![of(value)?]),
        }
    }
}

fn leaked(text: &str) -> &'static str {
    String::leak(text.to_string())
}

/// The name and summary of a format, and a manual made of them.
fn named(fields: &Fields, body: Body, level: Level) -> Wrong<Format> {
    let name = fields.needed("name")?;
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.text.is_empty() || !name.text.chars().all(is_plain) {
        let what =
            format!("invalid name `{}`: use lower-case letters, digits and dashes", name.text);
        return Err(fields.wrong_at(name.at, what));
    }
    let summary = match fields.text("summary")? {
        Some(summary) => summary.text,
        None => leaked(&format!("{}, described in its file", name.text)),
    };
    let manual = leaked(&format!(
        "//! {summary}\n//!\n//! ## How to capture\n//! A file given to `--formats`.\n"
    ));
    Ok(Format { name: name.text, summary, manual, level, speaker: "", body })
}

const LOG: &[&str] = &["name", "summary", "who", "time", "over", "own", "says"];
const SAYS: &[&str] =
    &["line", "like", "operation", "what", "who", "over", "count", "add", "longest", "last"];

fn log(fields: &Fields) -> Wrong<Format> {
    fields.only(LOG)?;
    let name = fields.needed("name")?;
    let says = fields.tables("says")?;
    if says.is_empty() {
        return Err(fields.wrong("the log has no sentences: `[[log.says]]` is missing"));
    }
    let time = match fields.text("time")? {
        None => Stamp::Front,
        Some(Text { text: "front", .. }) => Stamp::Front,
        Some(Text { text: "glog", .. }) => Stamp::Glog,
        Some(Text { text, at }) => match text.strip_prefix("json:") {
            Some(key) => Stamp::Json(leaked(key)),
            None => {
                let what =
                    format!("`{text}` is not a position of a time: use front, glog or json:KEY");
                return Err(fields.wrong_at(at, what));
            }
        },
    };
    let sentences: Vec<Sentence> = says.iter().map(sentence).collect::<Wrong<_>>()?;
    let log: &'static Log = Box::leak(Box::new(Log {
        who: fields.text("who")?.map_or(name.text, |who| who.text),
        time: Vec::leak(vec![time]),
        sentences: Vec::leak(sentences),
        own: fields.list("own")?,
        over: fields.time("over")?,
        ..Log::NEW
    }));
    let ready = Ready::of(log).map_err(|wrong| fields.wrong(wrong))?;
    for (fields, sentence) in says.iter().zip(log.sentences) {
        for Text { text: line, at } in fields.texts("like")? {
            match ready.says(line) {
                Some(found) if found == sentence.pattern() => {}
                Some(other) => {
                    let what = format!("the line matches an earlier sentence, `{other}`");
                    return Err(fields.wrong_at(at, what));
                }
                None => {
                    let what = format!("the line does not match `{}`", sentence.pattern());
                    return Err(fields.wrong_at(at, what));
                }
            }
        }
    }
    named(fields, Body::Log(log), Level::C)
}

/// The operations, as a file names them.
const OPERATIONS: [(&str, Op); 5] = [
    ("read", Op::Read),
    ("write", Op::Write),
    ("discard", Op::Discard),
    ("flush", Op::Flush),
    ("other", Op::Other),
];

fn sentence(fields: &Fields) -> Wrong<Sentence> {
    fields.only(SAYS)?;
    let line = fields.needed("line")?;
    let pattern = Pattern::of(line.text).map_err(|wrong| fields.wrong_at(line.at, wrong))?;
    let wrong = |what: String| fields.wrong_at(line.at, what);
    if pattern.needle().len() < 2 {
        return Err(wrong("the line needs a fixed word, or it would match any line".to_string()));
    }
    let kind_of =
        |name: &str| pattern.kinds().find(|(known, _)| *known == name).map(|(_, kind)| kind);
    let hole = |name: &str, fits: fn(Kind) -> bool, of: &str| match kind_of(name) {
        Some(kind) if fits(kind) => Ok(()),
        Some(_) => Err(wrong(format!("the placeholder `{name}` is not {of}"))),
        None => Err(wrong(format!("the line has no placeholder `{name}`, {of}"))),
    };
    let mut effects = Vec::new();
    let took = kind_of("took").is_some();
    if let Some(key) = fields.text("count")? {
        effects.push(Effect::Count(count_key(fields, &key)?));
    }
    if let Some(key) = fields.text("add")? {
        hole("n", |kind| kind == Kind::Count, "a whole number (`{n:u}`)")?;
        effects.push(Effect::Add(count_key(fields, &key)?));
    }
    if let Some(key) = fields.text("longest")? {
        hole("took", Kind::is_time, TOOK)?;
        let found = Key::<Nanos>::named(key.text);
        effects.push(Effect::Longest(found.ok_or_else(|| no_key(fields, &key, "a time"))?));
    }
    if let Some(key) = fields.text("last")? {
        hole("share", |kind| kind == Kind::Percent, "a share (`{share:%}`)")?;
        let found = Key::<Share>::named(key.text);
        effects.push(Effect::Last(found.ok_or_else(|| no_key(fields, &key, "a share"))?));
    }
    let by_word = pattern.kinds().any(|(_, kind)| kind == Kind::Operation);
    let named = fields.text("operation")?;
    if took && (by_word || named.is_some() || effects.is_empty()) {
        hole("took", Kind::is_time, TOOK)?;
        let op = match &named {
            None if by_word => Op::Other,
            None => {
                let what = "set the `operation`, or use a placeholder of kind `op`";
                return Err(wrong(what.to_string()));
            }
            Some(Text { text, at }) => {
                let known = OPERATIONS.iter().find(|(name, _)| name == text);
                let names: Vec<&str> = OPERATIONS.iter().map(|(name, _)| *name).collect();
                let what = format!("`{text}` is not an operation: {}", names.join(", "));
                known.ok_or_else(|| fields.wrong_at(*at, what))?.1
            }
        };
        let what = fields.text("what")?.map_or(op.name(), |what| what.text);
        effects.push(Effect::Event(op, what));
    }
    if effects.is_empty() {
        let what = "the line has no effect: it needs a placeholder `took`, or `count`, `add`, \
                    `longest`, `last`";
        return Err(wrong(what.to_string()));
    }
    let like = fields.list("like")?;
    if like.is_empty() {
        return Err(
            fields.wrong("`like` is missing: a real line that matches, as a test of the pattern")
        );
    }
    let sentence = Sentence::stated(line.text, Vec::leak(effects)).like(like);
    let sentence = fields.text("who")?.map_or(sentence, |who| sentence.of(who.text));
    Ok(fields.time("over")?.map_or(sentence, |over| sentence.over(over)))
}

const TOOK: &str = "a time (`{took:ms}`, `{took:time}`)";

fn count_key(fields: &Fields, key: &Text) -> Wrong<Key<u64>> {
    Key::<u64>::named(key.text).ok_or_else(|| no_key(fields, key, "a count"))
}

fn no_key(fields: &Fields, key: &Text, of: &str) -> FormatsError {
    let what = format!("`{}` is not a fact that is {of}; docs/JSON.md lists the facts", key.text);
    fields.wrong_at(key.at, what)
}

const TABLE: &[&str] = &[
    "name", "summary", "subject", "whole", "sign", "time", "since_boot", "blanks", "empty",
    "banner", "own", "columns", "like",
];

fn table(fields: &Fields) -> Wrong<Format> {
    fields.only(TABLE)?;
    let columns = fields.tables("columns")?;
    let columns = columns.first().ok_or_else(|| fields.wrong("`[table.columns]` is missing"))?;
    let mut known: Vec<Column> = Vec::new();
    let mut heading: Vec<&'static str> = Vec::new();
    for (name, value) in columns.table {
        let name = leaked(name.get_ref());
        let meaning = columns.as_text(name, value)?;
        let (slot, unit) = meant(meaning.text).ok_or_else(|| {
            let what = format!("`{}` is not a meaning of a column: {MEANINGS}", meaning.text);
            columns.wrong_at(meaning.at, what)
        })?;
        heading.push(name);
        known.push(column(name, slot, unit));
    }
    let like = fields.needed("like")?;
    let subject = match (fields.text("whole")?, fields.text("subject")?) {
        (Some(whole), None) => Subject::Whole(whole.text),
        (None, Some(subject)) => side(fields, &like, subject.text)?,
        _ => {
            let what = "name the column of the device, `subject`, or the device of all rows, \
                        `whole`";
            return Err(fields.wrong(what));
        }
    };
    let time = match fields.text("time")? {
        None => RowTime::None,
        Some(Text { text: "front", .. }) => RowTime::Front,
        Some(Text { text, .. }) => RowTime::Column(text),
    };
    let empty = fields.list("empty")?;
    let table: &'static Table = Box::leak(Box::new(Table {
        heading: Vec::leak(heading),
        sign: fields.text("sign")?.map_or("", |sign| sign.text),
        subject,
        columns: Vec::leak(known),
        time,
        banners: fields.list("banner")?,
        since_boot: fields.flag("since_boot")?,
        blanks: fields.text("blanks")?.map_or("", |blanks| blanks.text),
        empty: if empty.is_empty() { Table::NEW.empty } else { empty },
        own: fields.list("own")?,
        may_resume: true,
        ..Table::NEW
    }));
    ReadyTable::of(table).map_err(|wrong| fields.wrong(wrong))?;
    let format = named(fields, Body::Table(table), Level::A)?;
    tried(fields, &like, format)?;
    Ok(format)
}

/// The side of the values on which the name is, by the example.
fn side(fields: &Fields, like: &Text, name: &'static str) -> Wrong<Subject> {
    let sign = fields.text("sign")?.map_or("", |sign| sign.text);
    let blanks = fields.text("blanks")?.map_or("", |blanks| blanks.text);
    let words = |line: &'static str| -> Vec<&'static str> {
        let line = line.trim_start();
        let line = line.strip_prefix(sign).unwrap_or(line);
        let parts = |c: char| c.is_whitespace() || blanks.contains(c);
        line.split(parts).filter(|word| !word.is_empty()).collect()
    };
    let heading = like.text.lines().map(words).find(|words| words.contains(&name));
    let heading = heading.ok_or_else(|| {
        fields.wrong_at(like.at, format!("no line of the example contains the word `{name}`"))
    })?;
    let names: &'static [&'static str] = Vec::leak(vec![name]);
    Ok(match heading.last() {
        Some(last) if *last == name => Subject::Last(names),
        _ => Subject::First(names),
    })
}

/// The example is read as it would be in a capture.
fn tried(fields: &Fields, like: &Text, format: Format) -> Wrong<()> {
    let format: &'static Format = Box::leak(Box::new(format));
    let mut recording = Recording::new();
    let only = Formats::from(Some(format));
    // The text of a file may end without a line end, and is not a listing that was cut.
    let text = format!("{}\n", like.text.trim_matches('\n'));
    let outcome = crate::scan("the example", &mut text.as_bytes(), only, &mut recording);
    let wrong = |what: String| fields.wrong_at(like.at, what);
    outcome.map_err(|error| wrong(format!("the example is not read: {error}")))?;
    let sources = recording.listings.iter().map(|listing| &listing.source);
    let notes: Vec<&str> =
        sources.flat_map(|source| &source.notes).map(|note| note.reason.as_str()).collect();
    match notes.first() {
        Some(reason) => Err(wrong(format!("a row of the example is not read: {reason}"))),
        None => Ok(()),
    }
}

/// What a column means, in the words of a file.
fn meant(text: &str) -> Option<(Slot, f64)> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let whose = |word: &str| match word {
        "io" => Some(None),
        word => Some(operation(word)).filter(|op| *op != Op::Other).map(Some),
    };
    match words[..] {
        ["queued"] => Some((Slot::Queued, 1.0)),
        ["in", "flight"] => Some((Slot::InFlight, 1.0)),
        ["busy", "%"] => Some((Slot::Busy, 1.0)),
        ["queue", unit] => Some((Slot::QueueWait, time_unit(unit)?)),
        ["device", unit] => Some((Slot::DeviceWait, time_unit(unit)?)),
        ["ios/s"] => Some((Slot::Ios(None), 1.0)),
        [one] => {
            let requests = one.strip_suffix("s/s")?;
            let op = whose(requests)??;
            Some((Slot::Ios(Some(op)), 1.0))
        }
        [op, "merges/s"] => Some((Slot::Merges(whose(op)??), 1.0)),
        [op, unit] => match unit.strip_suffix("/s") {
            Some(unit) => Some((Slot::Bytes(whose(op)?), byte_unit(unit)?)),
            None => Some((Slot::Wait(whose(op)?), time_unit(unit)?)),
        },
        _ => None,
    }
}

fn time_unit(unit: &str) -> Option<f64> {
    TIMES.into_iter().find(|(name, _)| *name == unit).map(|(_, ns)| ns)
}

fn byte_unit(unit: &str) -> Option<f64> {
    SIZES.into_iter().find(|(name, _)| *name == unit).map(|(_, bytes)| bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The blocks of the guide that are files.
    fn examples() -> String {
        let lines = OWN_FORMATS.lines().map(|line| line.strip_prefix("//! ").unwrap_or(""));
        let mut inside = false;
        let kept = lines.filter(|line| {
            let fence = line.starts_with("```");
            inside ^= fence;
            inside && !fence
        });
        kept.map(|line| format!("{line}\n")).collect()
    }

    fn wrong(text: &str) -> String {
        formats_of(text).err().unwrap_or_else(|| panic!("{text}")).to_string()
    }

    #[test]
    fn the_examples_of_the_guide_are_read() {
        let formats = formats_of(&examples()).unwrap();
        let names: Vec<&str> = formats.iter().map(|format| format.name).collect();
        assert_eq!(names, ["shop-log", "shelf-stat"]);
        let text = "2026-11-27 10:00:00.250 INFO started\n\
                    2026-11-27 10:00:01.250 WARN slow fsync of orders.db: 812 ms\n\
                    2026-11-27 10:00:02.000 INFO journal commit on /dev/sdb took 1.25s\n\
                    2026-11-27 10:00:03 ERROR gave up on sdb after 17 slow requests\n\n\
                    TIME VOL RD/S WR/S RKB/S WKB/S RD_MS WR_MS QLEN UTIL\n\
                    10:00:05 vol1 120.0 30.0 960.0 480.0 4.25 0.80 0.55 48.2\n\
                    10:00:15 vol1 118.0 31.0 944.0 496.0 nan 0.79 0.56 48.9\n";
        let mut recording = Recording::new();
        let known = Formats { own: formats, only: None };
        crate::scan("app.log", &mut text.as_bytes(), known, &mut recording).unwrap();
        let [log, table] = &recording.listings[..] else { panic!("{:?}", recording.listings) };
        let took: Vec<f64> = log
            .events
            .iter()
            .map(|event| event.latency(iowhy_model::Stage::Total).unwrap().ms())
            .collect();
        assert_eq!(took, [812.0, 1250.0]);
        let facts: Vec<String> =
            log.facts.iter().map(|fact| format!("{} {}", fact.key, fact.value)).collect();
        assert!(facts.contains(&"io.slow 17".to_string()), "{facts:?}");
        assert!(facts.contains(&"trace.threshold 0.1 s".to_string()), "{facts:?}");
        let reads = table.intervals[0].of(Op::Read).unwrap();
        assert_eq!((reads.ios_per_s, reads.await_ns), (120.0, Some(4.25e6)));
        assert_eq!(table.intervals[0].busy.map(|share| (share * 1e3).round()), Some(482.0));
        assert_eq!((table.intervals.len(), table.source.skipped), (1, 1));
    }

    #[test]
    fn errors_are_reported_with_their_line() {
        let log = |says: &str| format!("[[log]]\nname = \"a-log\"\n[[log.says]]\n{says}");
        for (text, reported) in [
            ("", "line 1: the file describes no format"),
            ("[[log]]\nname = ", "line 2: "),
            ("[[logs]]\nname = \"a\"", "line 1: unknown field `logs`"),
            ("[[log]]\nname = \"A log\"\n", "line 1: the log has no sentences"),
            ("\n[[log]]\nwho = \"a\"\n", "line 2: `name` is missing"),
            (&log("line = \"x{took\"\nlike = \"x\""), "line 4: unclosed `{`"),
            (&log("line = \"xy {took:ms}\"\nlike = \"xy 5\""), "line 4: set the `operation`"),
            (
                &log("line = \"xy {took:word}\"\noperation = \"read\"\nlike = \"xy 5\""),
                "line 4: the placeholder `took` is not a time",
            ),
            (
                &log("line = \"xy {took:ms}\"\noperation = \"reed\"\nlike = \"xy 5\""),
                "line 5: `reed` is not an operation",
            ),
            (
                &log("line = \"xy {took:ms}\"\noperation = \"read\"\nlike = \"yx 5\""),
                "line 6: the line does not match",
            ),
            (&log("line = \"xy {took:ms}\"\noperation = \"read\""), "line 3: `like` is missing"),
            (
                &log("line = \"{took:ms}\"\noperation = \"read\"\nlike = \"5\""),
                "line 4: the line needs a fixed word",
            ),
            (&log("line = \"xy\"\nlike = \"xy\""), "line 4: the line has no effect"),
            (
                &log("line = \"xy {n:u}\"\nadd = \"smart.model\"\nlike = \"xy 5\""),
                "line 5: `smart.model` is not a fact that is a count",
            ),
            (
                &log("line = \"xy {m:u}\"\nadd = \"io.slow\"\nlike = \"xy 5\""),
                "line 4: the line has no placeholder `n`",
            ),
            (
                "[[log]]\nname = \"etcd-log\"\n[[log.says]]\nline = \"xy {took:ms}\"\noperation \
                 = \"read\"\nlike = \"xy 5\"",
                "line 1: format `etcd-log` already exists",
            ),
            (
                "[[table]]\nname = \"t\"\nsubject = \"D\"\nlike = \"D r\\nsda \
                 5\"\n[table.columns]\nr = \"speed\"",
                "line 6: `speed` is not a meaning of a column",
            ),
            (
                "[[table]]\nname = \"t\"\nlike = \"D r\\nsda 5\"\n[table.columns]\nr = \"reads/s\"",
                "line 1: name the column of the device",
            ),
            (
                "[[table]]\nname = \"t\"\nsubject = \"E\"\nlike = \"D r\\nsda \
                 5\"\n[table.columns]\nr = \"reads/s\"",
                "line 4: no line of the example contains the word `E`",
            ),
            (
                "[[table]]\nname = \"t\"\nsubject = \"D\"\nlike = \"D r w q\\nsda 5 \
                 6\"\n[table.columns]\nr = \"reads/s\"",
                "line 4: ",
            ),
        ] {
            let found = wrong(text);
            assert!(found.starts_with(reported), "{text}\n-> {found}");
        }
    }

    #[test]
    fn the_example_shows_on_which_side_the_name_stands() {
        for (heading, row, more) in [
            ("DISK R/S OF_DISK", "sda 5 6", ""),
            ("R/S W DISK", "5 6 sda", ""),
            ("R/S,W,DISK", "5,6,sda", "blanks = \",\"\n"),
            ("#DISK R/S", "sda 5", "sign = \"#\"\n"),
        ] {
            let text = format!(
                "[[table]]\nname = \"t\"\nsubject = \"DISK\"\n{more}like = \"{heading}\\n{row}\"\n\
                 [table.columns]\n\"R/S\" = \"reads/s\"\n"
            );
            let formats = formats_of(&text).unwrap_or_else(|wrong| panic!("{text}{wrong}"));
            let known = Formats { own: formats, only: None };
            let mut recording = Recording::new();
            let listing = format!("{heading}\n{row}\n");
            crate::scan("x", &mut listing.as_bytes(), known, &mut recording).unwrap();
            assert_eq!(recording.devices()[0].name, "sda", "{heading}");
        }
    }

    #[test]
    fn a_meaning_is_a_slot_and_its_unit() {
        for (text, known) in [
            ("reads/s", Some((Slot::Ios(Some(Op::Read)), 1.0))),
            ("flushes/s", Some((Slot::Ios(Some(Op::Flush)), 1.0))),
            ("ios/s", Some((Slot::Ios(None), 1.0))),
            ("write MiB/s", Some((Slot::Bytes(Some(Op::Write)), 1_048_576.0))),
            ("io KB/s", Some((Slot::Bytes(None), 1e3))),
            ("read us", Some((Slot::Wait(Some(Op::Read)), 1e3))),
            ("io ms", Some((Slot::Wait(None), 1e6))),
            ("read merges/s", Some((Slot::Merges(Op::Read), 1.0))),
            ("device us", Some((Slot::DeviceWait, 1e3))),
            ("busy %", Some((Slot::Busy, 1.0))),
            ("reads", None),
            ("read", None),
            ("read furlongs", None),
        ] {
            assert_eq!(meant(text), known, "{text}");
            // `explain` reports of a column what a file would say.
            if let Some((slot, unit)) = known {
                assert_eq!(slot.words(unit), text);
            }
        }
    }
}
