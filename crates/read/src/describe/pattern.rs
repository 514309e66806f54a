//! Lines with placeholders: `fsync took {took:ms}ms of {file:word}`.
//!
//! A pattern is text in which a blank matches any number of them, with placeholders:
//! | placeholder | matches |
//! |---|---|
//! | `{*}` | any text, as short as possible |
//! | `{a\|b\|}` | one of these texts, the last here being none |
//! | `{ }` | any number of blanks, or none |
//! | `{name:kind}` | a value; `{:kind}` one that is not used |
//!
//! `^` anchors a pattern to the start of the line, `$` to its end; a brace is doubled. The kinds
//! are listed in [`KINDS`]. The same function reads built-in patterns at compile time, so a wrong
//! one does not build, and those of a user's file when it is read.

use iowhy_model::typed::Share;
use iowhy_model::{Nanos, Op};
use memchr::memmem::Finder;

use crate::drive::health::leading;
use crate::text::numbers::unit_ns;
use crate::{bytes, decimal, integer};

/// What a hole accepts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// A whole number.
    Count,
    /// A whole number at the beginning of a word, perhaps in hexadecimal or with a comma between
    /// thousands: `0x1f`, `1,234`, `97%`.
    Figure,
    /// A number, with point or comma.
    Number,
    /// A number that is a time in nanoseconds times this.
    Time(u64),
    /// A time with its unit: `1.2s`, `1m2.5s`, `123.4ms`, `7 us`.
    TimeWithUnit,
    /// A number from 0 to 100, a share of a hundred.
    Percent,
    /// A size with its unit, powers of 1024: `4K`, `1.5MiB`.
    Size,
    /// Text without a blank.
    Word,
    /// Any text.
    Text,
    /// Text without a blank, the name of a device, without a leading `/dev/`.
    Device,
    /// A path, whose drive or folder is the device: `D:` of `D:\data\x.mdf`.
    Folder,
    /// The word of an operation: read, write, sync, fsync, flush, discard, trim; else another.
    Operation,
}

/// The kinds, as a pattern names them.
pub(crate) const KINDS: &[(&str, Kind)] = &[
    ("u", Kind::Count),
    ("#", Kind::Figure),
    ("n", Kind::Number),
    ("ns", Kind::Time(1)),
    ("us", Kind::Time(1_000)),
    ("ms", Kind::Time(1_000_000)),
    ("s", Kind::Time(1_000_000_000)),
    ("time", Kind::TimeWithUnit),
    ("%", Kind::Percent),
    ("size", Kind::Size),
    ("word", Kind::Word),
    ("text", Kind::Text),
    ("device", Kind::Device),
    ("folder", Kind::Folder),
    ("op", Kind::Operation),
];

impl Kind {
    /// Whether it takes a length of time.
    pub(crate) fn is_time(self) -> bool {
        matches!(self, Kind::Time(_) | Kind::TimeWithUnit)
    }
}

/// A value that a hole took.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Value<'t> {
    Count(u64),
    Number(f64),
    Time(Nanos),
    Share(Share),
    Bytes(f64),
    Text(&'t str),
    Device(&'t str),
    Operation(Op, &'t str),
}

/// A part of a pattern, by its position.
#[derive(Clone, Copy)]
enum Part {
    Begin,
    End,
    Literal { from: usize, to: usize },
    Any,
    Blanks,
    Choice { from: usize, to: usize },
    Hole { name: (usize, usize), kind: Kind },
}

/// Why a text is not a pattern.
#[derive(Clone, Copy)]
enum Wrong {
    Open,
    Closing,
    Unknown { from: usize, to: usize },
}

/// The part of a pattern at a place, and where the next one begins.
const fn part(pattern: &str, at: usize) -> Result<(Part, usize), Wrong> {
    let text = pattern.as_bytes();
    match text[at] {
        b'^' if at == 0 => return Ok((Part::Begin, 1)),
        b'$' if at + 1 == text.len() => return Ok((Part::End, at + 1)),
        b'{' if !(at + 1 < text.len() && text[at + 1] == b'{') => {}
        _ => return literal(text, at),
    }
    let (from, mut to) = (at + 1, at + 1);
    let (mut colon, mut bar) = (None, false);
    while to < text.len() && text[to] != b'}' {
        match text[to] {
            b'{' => return Err(Wrong::Open),
            b':' if colon.is_none() => colon = Some(to),
            b'|' => bar = true,
            _ => {}
        }
        to += 1;
    }
    if to == text.len() {
        return Err(Wrong::Open);
    }
    let found = match (text[from], colon) {
        (b'*', None) if to == from + 1 => Part::Any,
        (b' ', None) if to == from + 1 => Part::Blanks,
        _ if bar => Part::Choice { from, to },
        (_, Some(colon)) => match kind(text, colon + 1, to) {
            Some(kind) => Part::Hole { name: (from, colon), kind },
            None => return Err(Wrong::Unknown { from: colon + 1, to }),
        },
        _ => return Err(Wrong::Unknown { from, to }),
    };
    Ok((found, to + 1))
}

const fn literal(text: &[u8], from: usize) -> Result<(Part, usize), Wrong> {
    let mut at = from;
    while at < text.len() {
        let double = at + 1 < text.len() && text[at + 1] == text[at];
        match text[at] {
            b'{' | b'}' if double => at += 2,
            b'{' => break,
            b'}' => return Err(Wrong::Closing),
            b'$' if at + 1 == text.len() => break,
            _ => at += 1,
        }
    }
    Ok((Part::Literal { from, to: at }, at))
}

const fn kind(text: &[u8], from: usize, to: usize) -> Option<Kind> {
    let mut place = 0;
    while place < KINDS.len() {
        let (name, kind) = KINDS[place];
        if is_at(text, from, to, name.as_bytes()) {
            return Some(kind);
        }
        place += 1;
    }
    None
}

const fn is_at(text: &[u8], from: usize, to: usize, word: &[u8]) -> bool {
    if to - from != word.len() {
        return false;
    }
    let mut place = 0;
    while place < word.len() {
        if text[from + place] != word[place] {
            return false;
        }
        place += 1;
    }
    true
}

/// Whether a text is a pattern, and has a value of each of these names.
pub(crate) const fn is_pattern(pattern: &str, named: &[&str]) -> bool {
    let mut at = 0;
    while at < pattern.len() {
        match part(pattern, at) {
            Ok((_, next)) => at = next,
            Err(_) => return false,
        }
    }
    let mut place = 0;
    while place < named.len() {
        if !has_hole(pattern, named[place]) {
            return false;
        }
        place += 1;
    }
    true
}

/// Whether a pattern has a hole of that name.
pub(crate) const fn has_hole(pattern: &str, name: &str) -> bool {
    let mut at = 0;
    while at < pattern.len() {
        match part(pattern, at) {
            Ok((Part::Hole { name: (from, to), .. }, _))
                if is_at(pattern.as_bytes(), from, to, name.as_bytes()) =>
            {
                return true;
            }
            Ok((_, next)) => at = next,
            Err(_) => return false,
        }
    }
    false
}

/// A compiled part of a pattern.
#[derive(Debug)]
enum Piece {
    Begin,
    End,
    Literal(String),
    Any,
    Blanks,
    Choice(Vec<String>),
    Hole(usize, Kind),
}

/// A compiled pattern.
#[derive(Debug)]
pub(crate) struct Pattern {
    pieces: Vec<Piece>,
    names: Vec<(String, Kind)>,
    /// The rarest text in it without a blank: without that no line fits.
    needle: Finder<'static>,
    /// Where it has none, and may be anywhere: one of these is in each line that fits.
    choices: Vec<Finder<'static>>,
}

/// Maximum steps for matching one line, and bytes per step: more than any line of a tool needs.
const STEPS: u32 = 20_000;
const BYTES_OF_A_STEP: usize = 64;
/// Maximum bytes of a one-word value.
const WORD: usize = 1024;

impl Pattern {
    /// The pattern in a text.
    ///
    /// # Errors
    /// What is wrong with it, in a sentence.
    pub(crate) fn of(text: &str) -> Result<Pattern, String> {
        let (mut pieces, mut names, mut at) = (Vec::new(), Vec::new(), 0);
        let of = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
        while at < text.len() {
            let (found, next) = part(text, at).map_err(|wrong| match wrong {
                Wrong::Open => "unclosed `{`; write `{{` for a brace".to_string(),
                Wrong::Closing => "unmatched `}`; write `}}` for a brace".to_string(),
                Wrong::Unknown { from, to } => {
                    let known: Vec<&str> = KINDS.iter().map(|(name, _)| *name).collect();
                    format!(
                        "`{}` is not a kind of placeholder; the kinds are {}",
                        of(from, to),
                        known.join(", ")
                    )
                }
            })?;
            pieces.push(match found {
                Part::Begin => Piece::Begin,
                Part::End => Piece::End,
                Part::Any => Piece::Any,
                Part::Blanks => Piece::Blanks,
                Part::Literal { from, to } => {
                    Piece::Literal(of(from, to).replace("{{", "{").replace("}}", "}"))
                }
                Part::Choice { from, to } => {
                    Piece::Choice(of(from, to).split('|').map(str::to_string).collect())
                }
                Part::Hole { name: (from, to), kind } => {
                    names.push((of(from, to).to_string(), kind));
                    Piece::Hole(names.len() - 1, kind)
                }
            });
            at = next;
        }
        let literals = pieces.iter().filter_map(|piece| match piece {
            Piece::Literal(text) => Some(text.split(' ')),
            _ => None,
        });
        let needle = literals.flatten().max_by_key(|text| rarity(text)).unwrap_or_default();
        let needle = Finder::new(needle.as_bytes()).into_owned();
        let mut pattern = Pattern { pieces, names, needle, choices: Vec::new() };
        let is_anywhere = matches!(pattern.pieces.first(), Some(Piece::Choice(_)));
        if pattern.needle().is_empty() && is_anywhere {
            let of = |text: &str| Finder::new(text.as_bytes()).into_owned();
            pattern.choices = pattern.needles().into_iter().map(of).collect();
        }
        Ok(pattern)
    }

    /// The rarest text without a blank in each matching line; empty if there is none.
    pub(crate) fn needle(&self) -> &str {
        std::str::from_utf8(self.needle.needle()).unwrap_or_default()
    }

    /// Its holes, with the kinds of their values.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = (&str, Kind)> {
        self.names.iter().map(|(name, kind)| (name.as_str(), *kind))
    }

    /// Texts without a blank, one of which is in each matching line: that one, or those of a choice
    /// if they are rarer.
    pub(crate) fn needles(&self) -> Vec<&str> {
        let choices = self.pieces.iter().filter_map(|piece| match piece {
            Piece::Choice(known) => Some(known.iter().map(|text| rarest_word(text)).collect()),
            _ => None,
        });
        let commonest = |texts: &Vec<&str>| texts.iter().map(|text| rarity(text)).min();
        choices.chain([vec![self.needle()]]).max_by_key(commonest).unwrap_or_default()
    }

    /// The values that a line has in its holes, if it fits.
    pub(crate) fn read<'t>(&self, line: &'t str) -> Option<Found<'_, 't>> {
        self.needle.find(line.as_bytes())?;
        if !self.choices.is_empty() {
            self.choices.iter().find(|text| text.find(line.as_bytes()).is_some())?;
        }
        let mut found = Found { line, names: &self.names, values: vec![None; self.names.len()] };
        let mut steps = STEPS;
        let anchored = matches!(self.pieces.first(), Some(Piece::Begin));
        let fits = match anchored {
            true => fit(self.pieces.get(1..)?, line, 0, &mut found.values, &mut steps),
            false => anywhere(&self.pieces, line, 0, &mut found.values, &mut steps),
        };
        fits.then_some(found)
    }
}

fn rarest_word(text: &str) -> &str {
    text.split(' ').max_by_key(|word| rarity(word)).unwrap_or_default()
}

/// How rare a text is in prose: the longer, the rarer, and words with a sign or a capital more so.
fn rarity(text: &str) -> usize {
    const OF_A_SIGN: usize = 4;
    let is_plain = text.len() < 4 || text.bytes().all(|byte| byte.is_ascii_lowercase());
    text.len() + if is_plain { 0 } else { OF_A_SIGN }
}

/// The values of a line in the holes of a pattern.
#[derive(Debug, Default)]
pub struct Found<'p, 't> {
    line: &'t str,
    names: &'p [(String, Kind)],
    values: Vec<Option<Value<'t>>>,
}

impl<'t> Found<'_, 't> {
    /// The whole line.
    pub(crate) fn line(&self) -> &'t str {
        self.line
    }

    /// The value of a hole.
    pub(crate) fn get(&self, name: &str) -> Option<Value<'t>> {
        let place = self.names.iter().position(|(known, _)| known == name)?;
        *self.values.get(place)?
    }

    /// The value of the first hole of a kind that names a device.
    pub(crate) fn device(&self) -> Option<&'t str> {
        self.values.iter().find_map(|value| match value {
            Some(Value::Device(name)) => Some(*name),
            _ => None,
        })
    }

    /// The operation, and the word that names it.
    pub(crate) fn operation(&self) -> Option<(Op, &'t str)> {
        self.values.iter().find_map(|value| match value {
            Some(Value::Operation(op, word)) => Some((*op, *word)),
            _ => None,
        })
    }

    /// A value that is a length of time.
    pub(crate) fn time(&self, name: &str) -> Option<Nanos> {
        match self.get(name)? {
            Value::Time(length) => Some(length),
            _ => None,
        }
    }

    /// A value that is a whole number.
    pub(crate) fn count(&self, name: &str) -> Option<u64> {
        match self.get(name)? {
            Value::Count(count) => Some(count),
            _ => None,
        }
    }

    /// A value that is a number: a count, a size in bytes, or one without a unit.
    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        match self.get(name)? {
            Value::Count(count) => Some(count as f64),
            Value::Number(number) | Value::Bytes(number) => Some(number),
            _ => None,
        }
    }

    /// The same, above zero.
    pub(crate) fn positive(&self, name: &str) -> Option<f64> {
        self.number(name).filter(|number| *number > 0.0)
    }

    /// A value that is a text.
    pub(crate) fn text(&self, name: &str) -> Option<&'t str> {
        match self.get(name)? {
            Value::Text(text) | Value::Device(text) | Value::Operation(_, text) => Some(text),
            _ => None,
        }
    }
}

/// Whether the pieces match somewhere from an offset on.
fn anywhere<'t>(
    pieces: &[Piece],
    line: &'t str,
    from: usize,
    values: &mut [Option<Value<'t>>],
    steps: &mut u32,
) -> bool {
    let first = match pieces.first() {
        Some(Piece::Literal(text)) => text.bytes().next().filter(|byte| *byte != b' '),
        _ => None,
    };
    let mut at = from;
    loop {
        if let Some(byte) = first {
            let rest = line.as_bytes().get(at..).unwrap_or_default();
            let Some(next) = memchr::memchr(byte, rest) else { return false };
            *steps = steps.saturating_sub(u32::try_from(next / BYTES_OF_A_STEP).unwrap_or(STEPS));
            at += next;
        }
        if fit(pieces, line, at, values, steps) {
            return true;
        }
        if at >= line.len() || *steps == 0 {
            return false;
        }
        at += line.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
    }
}

/// Whether the pieces match at an offset.
fn fit<'t>(
    pieces: &[Piece],
    line: &'t str,
    at: usize,
    values: &mut [Option<Value<'t>>],
    steps: &mut u32,
) -> bool {
    let Some((piece, rest)) = pieces.split_first() else { return true };
    let Some(text) = line.get(at..) else { return false };
    *steps = steps.saturating_sub(1);
    if *steps == 0 {
        return false;
    }
    match piece {
        Piece::Begin => at == 0 && fit(rest, line, at, values, steps),
        Piece::End => text.trim_end().is_empty() && fit(rest, line, line.len(), values, steps),
        Piece::Any => rest.is_empty() || anywhere(rest, line, at, values, steps),
        Piece::Blanks => fit(rest, line, at + blanks(text), values, steps),
        Piece::Literal(known) => {
            after(known, text).is_some_and(|end| fit(rest, line, at + end, values, steps))
        }
        Piece::Choice(known) => known.iter().any(|known| {
            after(known, text).is_some_and(|end| fit(rest, line, at + end, values, steps))
        }),
        Piece::Hole(place, kind) => {
            let from = if matches!(kind, Kind::Text | Kind::Folder) { 0 } else { blanks(text) };
            let inner = text.get(from..).unwrap_or_default();
            ends(*kind, inner, rest.is_empty()).any(|end| {
                let Some(value) = inner.get(..end).and_then(|text| value(*kind, text)) else {
                    return false;
                };
                if !fit(rest, line, at + from + end, values, steps) {
                    return false;
                }
                if let Some(slot) = values.get_mut(*place) {
                    *slot = Some(value);
                }
                true
            })
        }
    }
}

/// Bytes of blanks that a text begins with.
fn blanks(text: &str) -> usize {
    text.bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

/// Where a literal ends that a text begins with.
fn after(literal: &str, text: &str) -> Option<usize> {
    let mut at = 0;
    for part in literal.split_inclusive(' ') {
        let word = part.trim_end_matches(' ');
        at += text.get(at..)?.starts_with(word).then_some(word.len())?;
        if part.len() > word.len() {
            let blanks = blanks(text.get(at..)?);
            // Two blanks of a pattern are as good as one.
            let before = text.get(..at)?.ends_with([' ', '\t']);
            at += (blanks > 0 || word.is_empty() && before).then_some(blanks)?;
        }
    }
    Some(at)
}

/// The possible ends of a value of this kind at the start of a text, the most likely first.
fn ends(kind: Kind, text: &str, is_last: bool) -> Box<dyn Iterator<Item = usize> + '_> {
    let all = text;
    let near = (0..=WORD.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    let text = text.get(..near.unwrap_or(0)).unwrap_or_default();
    let run = |is_part: fn(char) -> bool| text.find(|c| !is_part(c)).unwrap_or(text.len());
    match kind {
        Kind::Count => Box::new(std::iter::once(run(|c| c.is_ascii_digit()))),
        Kind::Number | Kind::Time(_) | Kind::Percent => {
            let end = run(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | '-' | '+'));
            let digit = |c: char| c.is_ascii_digit();
            let to_digit =
                text.get(..end).unwrap_or_default().trim_end_matches(|c| !digit(c)).len();
            Box::new([end, to_digit].into_iter())
        }
        Kind::TimeWithUnit | Kind::Size => {
            let is_letter = |c: char| c.is_ascii_alphabetic() || matches!(c, 'µ' | 'μ');
            let end = run(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | ',' | 'µ' | 'μ'));
            let known = text.get(..end).unwrap_or_default();
            let end = known.trim_end_matches(['.', ',']).len();
            // `7 us`: the unit is separate.
            let rest = text.get(end..).unwrap_or_default();
            let gap = blanks(rest);
            let unit = rest.get(gap..).unwrap_or_default();
            let apart = end + gap + unit.find(|c| !is_letter(c)).unwrap_or(unit.len());
            Box::new([apart, end].into_iter())
        }
        Kind::Word | Kind::Figure | Kind::Device | Kind::Operation => {
            let word = text.get(..run(|c| !c.is_whitespace())).unwrap_or_default();
            Box::new(word.char_indices().rev().map(|(at, c)| at + c.len_utf8()))
        }
        Kind::Text | Kind::Folder if is_last => Box::new(std::iter::once(all.trim_end().len())),
        Kind::Text | Kind::Folder => Box::new(all.char_indices().map(|(at, c)| at + c.len_utf8())),
    }
}

/// The value of a kind that a text is.
fn value(kind: Kind, text: &str) -> Option<Value<'_>> {
    let positive = |number: f64| (number >= 0.0).then_some(number);
    Some(match kind {
        Kind::Count => Value::Count(integer(text)?),
        Kind::Figure => Value::Count(leading(text)?),
        Kind::Number => Value::Number(decimal(text)?),
        Kind::Time(unit) => Value::Time(nanos(positive(decimal(text)?)? * unit as f64)?),
        Kind::TimeWithUnit => Value::Time(nanos(with_unit(text)?)?),
        Kind::Percent => {
            let percent = decimal(text).filter(|percent| (0.0..=100.0).contains(percent))?;
            Value::Share(Share::from_percent(percent))
        }
        Kind::Size => Value::Bytes(positive(bytes(&text.replace(' ', ""))?)?),
        Kind::Word | Kind::Text => Value::Text(Some(text).filter(|text| !text.is_empty())?),
        Kind::Device => {
            let name = text.strip_prefix("/dev/").unwrap_or(text);
            Value::Device(Some(name).filter(|name| !name.is_empty())?)
        }
        Kind::Folder => Value::Device(folder(text)),
        Kind::Operation => Value::Operation(operation(text), text),
    })
}

fn nanos(ns: f64) -> Option<Nanos> {
    (ns < i64::MAX as f64).then_some(Nanos(ns.round() as i64))
}

/// A time with its unit, in ns: `1.207s`, `7 us`, and Go's `1m2.5s`.
fn with_unit(text: &str) -> Option<f64> {
    let (mut rest, mut total) = (text, 0.0);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ',')))?;
        let (number, after) = rest.split_at_checked(digits)?;
        let after = after.trim_start_matches([' ', '\t']);
        let letters = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at_checked(letters)?;
        total += match unit {
            "m" | "min" => decimal(number)? * 60e9,
            "h" => decimal(number)? * 3600e9,
            unit => decimal(number)? * unit_ns(unit)?,
        };
        rest = after;
    }
    (!text.is_empty()).then_some(total)
}

/// The drive or folder of a file: `D:` of `D:\data\x.mdf`.
fn folder(file: &str) -> &str {
    match file.split_once(':') {
        Some((letter, _)) if letter.len() == 1 => file.get(..2).unwrap_or(file),
        _ => file.rsplit_once('/').map_or(file, |(folder, _)| folder),
    }
}

/// The operation that a word names.
pub(crate) fn operation(word: &str) -> Op {
    let word = word.to_ascii_lowercase();
    let begins = |with: &[&str]| with.iter().any(|with| word.starts_with(with));
    match word.as_str() {
        "r" => Op::Read,
        "w" | "preallocate" => Op::Write,
        _ if begins(&["read"]) => Op::Read,
        _ if begins(&["writ"]) => Op::Write,
        _ if begins(&["sync", "fsync", "fdatasync", "flush"]) => Op::Flush,
        _ if begins(&["discard", "trim", "unmap"]) => Op::Discard,
        _ => Op::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<'t>(pattern: &str, line: &'t str) -> Option<Vec<Option<Value<'t>>>> {
        let pattern = Pattern::of(pattern).unwrap();
        pattern.read(line).map(|found| found.values)
    }

    fn time(ns: i64) -> Option<Value<'static>> {
        Some(Value::Time(Nanos(ns)))
    }

    #[test]
    fn holes_take_values_of_their_kind() {
        let text = |text| Some(Value::Text(text));
        for (pattern, line, known) in [
            ("took {took:ms}ms", "sync took 3.5ms of", Some(vec![time(3_500_000)])),
            ("took {took:s} s.", "took 2 s.", Some(vec![time(2_000_000_000)])),
            ("took {took:s}.", "took 2.", Some(vec![time(2_000_000_000)])),
            ("took {took:ms}ms", "took 12 s", None),
            ("took {took:ms}ms", "took -3ms", None),
            ("took {took:time}", "took 1m2.5s", Some(vec![time(62_500_000_000)])),
            ("took {took:time}", "took 7 us on sda", Some(vec![time(7_000)])),
            ("took {took:time}", "took 99.955703ms", Some(vec![time(99_955_703)])),
            ("took {took:time}", "took 8 µs", Some(vec![time(8_000)])),
            ("took {took:time}, of", "took 1.5s, of", Some(vec![time(1_500_000_000)])),
            ("took {took:time}", "took ages", None),
            ("{n:u} of", "17 of 20", Some(vec![Some(Value::Count(17))])),
            ("{n:u} of", "1.7 of 20", Some(vec![Some(Value::Count(7))])),
            ("^{n:u} of", "1.7 of 20", None),
            ("({n:%} %)", "(12,5 %)", Some(vec![Some(Value::Share(Share(0.125)))])),
            ("({n:%} %)", "(125 %)", None),
            ("{n:size} in", "4K in", Some(vec![Some(Value::Bytes(4096.0))])),
            ("on {d:device}: ", "on /dev/sda1: x", Some(vec![Some(Value::Device("sda1"))])),
            ("[{f:folder}]", "[D:\\a b\\x.mdf]", Some(vec![Some(Value::Device("D:"))])),
            ("[{f:folder}]", "[/srv/db/x]", Some(vec![Some(Value::Device("/srv/db"))])),
            (
                "slow {o:op} of",
                "slow fsync of",
                Some(vec![Some(Value::Operation(Op::Flush, "fsync"))]),
            ),
            ("a {x:word} b {y:word}", "a one b two three", Some(vec![text("one"), text("two")])),
            ("a {x:text} b{*} c", "a one two b b c", Some(vec![text("one two")])),
            ("a {x:text}", "a one two ", Some(vec![text("one two")])),
        ] {
            assert_eq!(read(pattern, line), known, "{pattern} in {line}");
        }
    }

    #[test]
    fn text_stands_for_itself_and_a_blank_for_any_number() {
        for (pattern, line, fits) in [
            ("slow sync", "a slow   sync", true),
            ("slow sync", "a slow\tsync", true),
            ("slow sync", "a slowsync", false),
            ("^slow", "a slow", false),
            ("slow$", "a slow  ", true),
            ("slow$", "a slow one", false),
            ("{{a}}: {n:u}", "{a}: 7", true),
            ("a{ }:{ }{n:u}", "a : 7", true),
            ("a{ }:{ }{n:u}", "a:7", true),
            ("{read|write} took", "a write took", true),
            ("{read|write} took", "a trim took", false),
            ("^{|WARNING: }disk", "disk", true),
            ("^{|WARNING: }disk", "WARNING: disk", true),
            ("^{|WARNING: }disk", "the WARNING: disk", false),
            ("é{n:u}é", "ü é5é", true),
        ] {
            assert_eq!(read(pattern, line).is_some(), fits, "{pattern} in {line}");
        }
    }

    #[test]
    fn errors_in_a_pattern_are_reported() {
        for (pattern, reported) in [
            ("took {took:ms", "unclosed"),
            ("took {took", "unclosed"),
            ("took }", "unmatched"),
            ("{took:parsecs}", "`parsecs` is not a kind of placeholder"),
            ("{took}", "`took` is not a kind of placeholder"),
            ("{}", "not a kind of placeholder"),
        ] {
            let wrong = Pattern::of(pattern).unwrap_err();
            assert!(wrong.contains(reported), "{pattern}: {wrong}");
            assert!(!is_pattern(pattern, &[]), "{pattern}");
        }
        assert!(is_pattern("took {took:ms}", &["took"]));
        assert!(!is_pattern("took {took:ms}", &["time"]));
    }

    #[test]
    fn a_line_made_to_take_long_is_given_up() {
        let pattern = Pattern::of("a{*}b{*}c{x:text}d{*}e{y:text}f{z:text}g{n:u}h").unwrap();
        assert!(pattern.read(&"abcdefg".repeat(2_000)).is_none());
        let words = Pattern::of("a {x:word} b {*}c {y:word} d{z:text}e {n:u}").unwrap();
        assert!(words.read(&("a b c d e ".repeat(1_000) + &"x".repeat(1 << 20))).is_none());
        // A word that is longer than any is none.
        assert!(Pattern::of("a{x:word}$").unwrap().read(&"a".repeat(1 << 20)).is_none());
    }

    #[test]
    fn the_needle_is_the_rarest_word() {
        let needle = |pattern| Pattern::of(pattern).unwrap().needle().to_string();
        assert_eq!(needle("slow fdatasync{*} {took:ms}"), "fdatasync");
        assert_eq!(needle("^Timing {*}disk reads{n:u} seconds"), "Timing");
        assert_eq!(needle("{n:u}"), "");
    }
}
