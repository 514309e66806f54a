//! Text around a listing that was quoted, logged, numbered or put into a table, and its removal
//! from each line.
//!
//! A line that begins no listing as it is may do so without its wrapping. The wrapping found at the
//! first line of a listing is removed from all its lines; a line without it is read as it is,
//! because mail programs break lines and quote only the first half. To add a rule: its function and
//! its entry in [`RULES`].

use std::borrow::Cow;

/// Takes one kind of wrapping off a line. Without a width it measures one, and gives it back for
/// the lines below.
type Off = for<'a> fn(&'a str, Option<usize>) -> Option<(Cow<'a, str>, usize)>;

/// One kind of wrapping.
struct Rule {
    name: &'static str,
    /// The rules it must directly follow, if any.
    behind: &'static [&'static str],
    off: Off,
}

/// All kinds, in the order in which they are tried.
const RULES: [Rule; 15] = [
    Rule { name: "quote", behind: &[], off: quote },
    Rule { name: "object", behind: &[], off: object },
    Rule { name: "export", behind: &[], off: export },
    Rule { name: "tags", behind: &[], off: tags },
    Rule { name: "cells", behind: &[], off: cells },
    Rule { name: "bar", behind: &[], off: bar },
    Rule { name: "hash", behind: &[], off: hash },
    Rule { name: "ticks", behind: &[], off: ticks },
    Rule { name: "label", behind: &[], off: label },
    Rule { name: "file", behind: &[], off: file },
    Rule { name: "stamp", behind: &[], off: stamp },
    Rule { name: "program", behind: &["stamp", "program"], off: program },
    Rule { name: "number", behind: &[], off: number },
    Rule { name: "count", behind: &[], off: count },
    Rule { name: "indent", behind: &[], off: indent },
];

/// Most rules around one line: a log line, quoted in a mail, indented.
const MAX_LAYERS: usize = 4;
/// Most wrappings tried on one line.
const TRIED: usize = 8;

/// The wrapping rules of a listing's lines with their widths, outermost first; none around most. A
/// line of a log makes several, so they are not on the heap.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Wrapping {
    all: [(usize, usize); MAX_LAYERS],
    deep: usize,
}

impl Wrapping {
    /// That of a page of HTML.
    pub(crate) fn page() -> Wrapping {
        let tags = RULES.iter().position(|rule| rule.name == "tags");
        tags.map_or(Wrapping::default(), |place| Wrapping::default().around((place, 0)))
    }

    fn layers(&self) -> &[(usize, usize)] {
        self.all.get(..self.deep).unwrap_or_default()
    }

    /// This one, and another rule within; as it is if it is as deep as can be.
    fn around(mut self, layer: (usize, usize)) -> Wrapping {
        if let Some(place) = self.all.get_mut(self.deep) {
            *place = layer;
            self.deep += 1;
        }
        self
    }

    /// Whether no tool begins its lines so.
    pub(crate) fn is_plain_to_see(&self) -> bool {
        let last = self.layers().last().and_then(|(rule, _)| RULES.get(*rule));
        last.is_some_and(|rule| matches!(rule.name, "quote" | "tags"))
    }

    /// Whether a process wrote the lines.
    pub(crate) fn is_of_a_process(&self) -> bool {
        let mut layers = self.layers().iter().filter(|(_, width)| *width == 1);
        layers.any(|(rule, _)| RULES.get(*rule).is_some_and(|rule| rule.name == "program"))
    }

    /// The lines are not wrapped.
    pub(crate) fn is_none(&self) -> bool {
        self.layers().is_empty()
    }

    /// Whether nothing but what a log puts before its lines is around them.
    pub(crate) fn is_of_a_log(&self) -> bool {
        let mut rules = self.layers().iter().filter_map(|(rule, _)| RULES.get(*rule));
        rules.all(|rule| matches!(rule.name, "stamp" | "program"))
    }

    /// The line without it; as it is where it does not have it.
    pub(crate) fn off<'a>(&self, line: Cow<'a, str>) -> Cow<'a, str> {
        self.layers().iter().fold(line, |line, (rule, width)| match line {
            Cow::Borrowed(text) => apply(*rule, text, *width).unwrap_or(line),
            Cow::Owned(text) => {
                let bare = apply(*rule, &text, *width).map(Cow::into_owned);
                Cow::Owned(bare.unwrap_or(text))
            }
        })
    }

    /// Whether a line has it, as far as the line shows. A blank one does, and that rows begin at
    /// different columns is common.
    pub(crate) fn stands(&self, line: &str) -> bool {
        let mut layers = self
            .layers()
            .iter()
            .filter(|(rule, _)| RULES.get(*rule).is_some_and(|rule| rule.name != "indent"));
        let Some((rule, width)) = layers.next() else { return true };
        line.trim().is_empty() || apply(*rule, line.trim_start(), *width).is_some()
    }

    /// Whether one line alone does not show it: `# fio ...` may be a comment, or follow root's
    /// prompt, and a number may be the line's own.
    pub(crate) fn needs_two_lines(&self) -> bool {
        self.has("hash") || self.has("count")
    }

    /// Whether it is a number that a line of a tool may begin with.
    pub(crate) fn is_a_count(&self) -> bool {
        self.has("count")
    }

    fn has(&self, name: &str) -> bool {
        let is_it = |rule: &Rule| rule.name == name;
        self.layers().iter().any(|(rule, _)| RULES.get(*rule).is_some_and(is_it))
    }

    /// Whether a line has all of it.
    pub(crate) fn is_around(&self, line: &str) -> bool {
        let mut text = line.to_string();
        self.layers().iter().all(|(rule, width)| {
            let bare = apply(*rule, &text, *width).map(Cow::into_owned);
            bare.map(|bare| text = bare).is_some()
        })
    }

    /// Possible wrappings of a line, the simplest first, with what remains.
    pub(crate) fn candidates(line: &str) -> impl Iterator<Item = (Wrapping, Cow<'_, str>)> {
        let found = if may_be_wrapped(line) { Wrapping::tried(line) } else { Vec::new() };
        found.into_iter().skip(1)
    }

    /// The same after the line as it is.
    fn tried(line: &str) -> Vec<(Wrapping, Cow<'_, str>)> {
        let mut found: Vec<(Wrapping, Cow<'_, str>)> = Vec::new();
        found.push((Wrapping::default(), Cow::Borrowed(line)));
        let mut next = 0;
        while let Some((wrapping, text)) = found.get(next).cloned() {
            next += 1;
            let last = wrapping.layers().last().and_then(|(rule, _)| RULES.get(*rule));
            for (place, rule) in RULES.iter().enumerate() {
                let fits = last.is_some_and(|last| rule.behind.contains(&last.name));
                // A log collector's wrapping is around the whole line.
                let outside = matches!(rule.name, "object" | "export") && last.is_some();
                let fits = (fits || rule.behind.is_empty()) && !outside;
                // The speaker may be several words; all else occurs once.
                let again = rule.behind.is_empty()
                    && wrapping.layers().iter().any(|(known, _)| *known == place);
                if !fits || again || found.len() > TRIED || wrapping.deep == MAX_LAYERS {
                    continue;
                }
                let bare = match &text {
                    Cow::Borrowed(text) => (rule.off)(text, None),
                    Cow::Owned(text) => {
                        let bare = (rule.off)(text, None);
                        bare.map(|(bare, width)| (Cow::Owned(bare.into_owned()), width))
                    }
                };
                if let Some((bare, width)) = bare.filter(|(bare, _)| !bare.trim().is_empty()) {
                    found.push((wrapping.around((place, width)), bare));
                }
            }
        }
        found
    }
}

fn apply(rule: usize, line: &str, width: usize) -> Option<Cow<'_, str>> {
    let rule = RULES.get(rule)?;
    (rule.off)(line, Some(width)).map(|(bare, _)| bare)
}

/// A cheap look: most lines are not wrapped, and need none of the rules.
fn may_be_wrapped(line: &str) -> bool {
    let bytes = line.as_bytes();
    let Some(first) = bytes.first() else { return false };
    let opens = matches!(
        first,
        b' ' | b'\t' | b'>' | b'|' | b'[' | b'(' | b'<' | b'`' | b'.' | b'/' | b'{' | b'"' | b'0'
            ..=b'9'
    );
    // `Nov 21 10:00:00`: a short word and a time after it.
    let dated = || bytes.iter().take(6).any(|byte| *byte == b' ') && line.contains(':');
    let named = || memchr::memmem::find(bytes.get(..64).unwrap_or(bytes), b".log").is_some();
    let exported = || memchr::memmem::find(bytes, b",\"").is_some();
    opens || memchr::memchr3(b'|', b'<', b'&', bytes).is_some() || dated() || named() || exported()
}

/// `> `, at any depth.
fn quote(line: &str, _: Option<usize>) -> Option<(Cow<'_, str>, usize)> {
    let mut rest = line;
    let mut depth = 0;
    while let Some(inner) = rest.trim_start_matches([' ', '\t']).strip_prefix('>')
        && !inner.starts_with('=')
    {
        // The second blank belongs to the text.
        rest = inner.strip_prefix(' ').unwrap_or(inner);
        depth += 1;
    }
    (depth > 0).then_some((Cow::Borrowed(rest), 0))
}

/// Names under which collectors of logs keep the line itself: docker's `json-file` and Fluent Bit,
/// Elastic, Splunk, Loki.
const LINES: [&str; 5] = ["log", "message", "_raw", "line", "Line"];
/// A line that is an object is no longer than this many bytes; documents are.
const OBJECT: usize = 64 << 10;

/// `{"log":"...\n","stream":"stderr","time":"..."}`: the line that a collector of logs put into an
/// object.
fn object(line: &str, _: Option<usize>) -> Option<(Cow<'_, str>, usize)> {
    let text = line.trim();
    if !(text.starts_with('{') && text.ends_with('}') && text.len() <= OBJECT) {
        return None;
    }
    let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(text).ok()?;
    let inside = LINES.iter().find_map(|name| object.get(*name)?.as_str())?;
    Some((Cow::Owned(inside.trim_end().replace('\n', " ")), 0))
}

/// Words that make a cell the line of a log.
const WORDS: usize = 3;

/// `1709370672345,"[1234.5] sd 2:0:0:0: ...",{job="kernel"}`: a row of an export of logs (Loki,
/// Splunk, Kibana) as CSV. The line is the longest cell of words.
fn export(line: &str, width: Option<usize>) -> Option<(Cow<'_, str>, usize)> {
    let cells = comma_separated(line.trim())?;
    let is_time = |cell: &String| {
        dated(cell).is_some_and(|rest| rest.trim().is_empty())
            || cell.len() >= 10 && cell.bytes().all(|byte| byte.is_ascii_digit())
    };
    if !cells.iter().any(is_time) {
        return None;
    }
    // Labels (`{job="kernel"}`) may be longer, and are no line.
    let is_line = |cell: &str| {
        cell.starts_with("{\"")
            || !cell.starts_with('{') && cell.split(' ').nth(WORDS - 1).is_some()
    };
    let longest = || {
        let lines = cells.iter().enumerate().filter(|(_, cell)| is_line(cell) && !is_time(cell));
        lines.max_by_key(|(_, cell)| cell.len()).map(|(place, _)| place)
    };
    let place = width.or_else(longest)?;
    Some((Cow::Owned(cells.get(place)?.clone()), place))
}

/// The cells of a row of CSV, two at least (RFC 4180); a blank after a comma is prose.
fn comma_separated(line: &str) -> Option<Vec<String>> {
    let mut cells = vec![String::new()];
    let (mut quoted, mut letters) = (false, line.chars().peekable());
    while let Some(letter) = letters.next() {
        let cell = cells.last_mut()?;
        match letter {
            '"' if quoted && letters.next_if_eq(&'"').is_some() => cell.push('"'),
            '"' if quoted || cell.is_empty() => quoted = !quoted,
            ',' if !quoted && letters.peek().is_some_and(|next| *next == ' ') => return None,
            ',' if !quoted => cells.push(String::new()),
            letter => cell.push(letter),
        }
    }
    (!quoted && cells.len() > 1).then_some(cells)
}

/// A bar before each line.
fn bar(line: &str, _: Option<usize>) -> Option<(Cow<'_, str>, usize)> {
    let rest = line.trim_start().strip_prefix('|')?;
    Some((Cow::Borrowed(rest.strip_prefix(' ').unwrap_or(rest)), 0))
}

/// The sign of a comment before each line, as in scripts and their settings, with or without a
/// blank.
fn hash(line: &str, _: Option<usize>) -> Option<(Cow<'_, str>, usize)> {
    let rest = line.trim_start().strip_prefix('#')?;
    let bare = rest.strip_prefix([' ', '\t']);
    let bare =
        bare.or_else(|| rest.starts_with(|c: char| c.is_ascii_alphanumeric()).then_some(rest))?;
    Some((Cow::Borrowed(bare), 0))
}

/// The cells of a Markdown table, and the rules between its rows.
fn cells(line: &str, _: Option<usize>) -> Option<(Cow<'_, str>, usize)> {
    let line = line.trim();
    let rule = |c: char| matches!(c, '|' | '-' | '+' | '=' | ':' | ' ');
    let bars = line.matches('|').count();
    if line.starts_with(['|', '+']) && line.contains("--") && line.chars().all(rule) {
        return Some((Cow::Borrowed(""), 0));
    }
    if bars < 3 {
        return None;
    }
    let framed = line.starts_with('|') && line.ends_with('|');
    let open = !line.contains('*') && line.matches(" | ").count() == bars;
    (framed || open).then(|| (Cow::Owned(line.replace(['|', '`'], " ").replace("**", " ")), 0))
}

/// Code marks of Markdown around a line, or before the first and after the last line of a listing.
fn ticks(line: &str, width: Option<usize>) -> Option<(Cow<'_, str>, usize)> {
    let text = line.trim();
    let before = text.bytes().take_while(|byte| *byte == b'`').count();
    if before == 0 && width.is_none() {
        return None;
    }
    let bare = text.trim_matches('`');
    // A fence is not text with marks around it.
    if bare.is_empty() {
        return width.map(|_| (Cow::Borrowed(bare), 0));
    }
    let marked = before > 0 || text.ends_with('`');
    Some((Cow::Borrowed(if marked { bare } else { line }), 0))
}

/// `web_1  | `, as docker compose and other log collectors write it.
fn label(line: &str, _: Option<usize>) -> Option<(Cow<'_, str>, usize)> {
    let (label, rest) = line.split_once('|')?;
    let name = label.trim();
    let letter = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
    let named = name.bytes().all(letter) && name.bytes().any(|b| b.is_ascii_alphabetic());
    (named && label.ends_with(' '))
        .then(|| (Cow::Borrowed(rest.strip_prefix(' ').unwrap_or(rest)), 0))
}

/// The name of the log, as grep writes it before the lines of several: `./var/log/kern.log:`,
/// `/var/log/messages:`. Other files have names that mean something (`/proc/pressure/cpu:`).
fn file(line: &str, _: Option<usize>) -> Option<(Cow<'_, str>, usize)> {
    let (name, rest) = line.split_once(':')?;
    let letter = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'/');
    if !name.bytes().all(letter) {
        return None;
    }
    let last = name.rsplit('/').next().unwrap_or(name);
    let of_log = [".log", "messages", "syslog", "dmesg"].iter().any(|word| last.contains(word));
    let path = name.contains('/') || last.contains(".log");
    (of_log && path).then_some((Cow::Borrowed(rest), 0))
}

/// The number of a line: `cat -n`, `nl`, `grep -n`, an editor.
fn number(line: &str, _: Option<usize>) -> Option<(Cow<'_, str>, usize)> {
    let text = line.trim_start_matches(' ');
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = text.get(digits..).filter(|_| (1..=7).contains(&digits))?;
    let rest = match rest.as_bytes() {
        [b'-', b'0'..=b'9', ..] => return None,
        [b'\t' | b':' | b'-' | b'|' | b')', ..] => rest.get(1..)?,
        [b' ', b' ', ..] => rest.get(2..)?,
        [b'.', b' ', ..] => rest.get(2..)?,
        [] => "",
        _ => return None,
    };
    Some((Cow::Borrowed(rest), 0))
}

/// How often a line occurs, as `uniq -c` writes it: a number and one blank. A first line of numbers
/// has none around it.
fn count(line: &str, width: Option<usize>) -> Option<(Cow<'_, str>, usize)> {
    let (number, rest) = line.trim_start_matches(' ').split_once(' ')?;
    let is_count = (1..=7).contains(&number.len()) && number.bytes().all(|b| b.is_ascii_digit());
    let is_text = !rest.starts_with(|c: char| c.is_whitespace() || c.is_ascii_digit());
    (is_count && (is_text || width.is_some())).then_some((Cow::Borrowed(rest), 0))
}

/// Blanks before each line, as many as before the first.
fn indent(line: &str, width: Option<usize>) -> Option<(Cow<'_, str>, usize)> {
    let blanks = line.bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let width = width.unwrap_or(blanks).min(blanks);
    let rest = line.get(width..)?;
    (width > 0).then_some((Cow::Borrowed(rest), width))
}

/// The time that a log puts before each line: of `ts`, syslog, journalctl, containers.
fn stamp(line: &str, _: Option<usize>) -> Option<(Cow<'_, str>, usize)> {
    let (open, text) = match line.strip_prefix(['[', '(']) {
        Some(text) => (true, text),
        None => (false, line),
    };
    let rest =
        dated(text).or_else(|| named_day(text)).or_else(|| clock(text)).or_else(|| epoch(text))?;
    let rest = if open { rest.strip_prefix([']', ')'])? } else { rest };
    let rest = rest.strip_prefix(':').unwrap_or(rest);
    // A closing bracket separates a time from its line well enough.
    let bare =
        rest.strip_prefix([' ', '\t']).or(Some(rest).filter(|rest| open || rest.is_empty()))?;
    Some((Cow::Borrowed(bare), 0))
}

/// `2026-11-21T10:00:00.123+01:00`, `2026/11/21 10:00:00`.
fn dated(text: &str) -> Option<&str> {
    let separator = |text| one_of(text, &['-', '/', '.']);
    let text = separator(digits(separator(digits(text, 4..=4)?)?, 1..=2)?)?;
    let text = digits(text, 1..=2)?;
    zone(time(one_of(text, &['T', ' ', '_'])?)?)
}

/// `Sat Nov 21 10:00:00 2026`, `Nov  1 10:00:00`, `21 Nov 10:00:00`: names of any language.
fn named_day(text: &str) -> Option<&str> {
    let word = |text: &'_ str| -> Option<usize> {
        let end = text.find(' ')?;
        let name = text.get(..end)?.trim_end_matches(['.', ',']);
        let letters =
            (2..=5).contains(&name.chars().count()) && name.chars().all(char::is_alphabetic);
        letters.then_some(end)
    };
    let mut rest = text;
    let mut names = 0;
    while let Some(end) = word(rest).filter(|_| names < 2) {
        rest = rest.get(end..)?.trim_start_matches(' ');
        names += 1;
    }
    let rest = digits(rest, 1..=2).filter(|_| names > 0)?;
    let rest = rest.strip_prefix(' ')?;
    let rest = year(rest).and_then(|rest| rest.strip_prefix(' ')).unwrap_or(rest);
    let rest = time(rest)?;
    let year = rest.strip_prefix(' ').and_then(year);
    let year = year.filter(|rest| rest.starts_with([' ', ']', ')', ':']));
    zone(year.unwrap_or(rest))
}

fn year(text: &str) -> Option<&str> {
    digits(text, 4..=4).filter(|_| text.starts_with("20"))
}

/// `10:00:00.123`, `10:00:00 AM`.
fn clock(text: &str) -> Option<&str> {
    let rest = time(text)?;
    let half = [" AM", " PM", " am", " pm"].iter().find_map(|half| rest.strip_prefix(half));
    zone(half.unwrap_or(rest))
}

/// Seconds since 1970 with a fraction.
fn epoch(text: &str) -> Option<&str> {
    digits(digits(text, 10..=10)?.strip_prefix('.')?, 1..=9)
}

fn time(text: &str) -> Option<&str> {
    let text = digits(digits(text, 1..=2)?.strip_prefix(':')?, 2..=2)?;
    let text = digits(text.strip_prefix(':')?, 2..=2)?;
    let fraction = text.strip_prefix(['.', ',']).and_then(|text| digits(text, 1..=9));
    Some(fraction.unwrap_or(text))
}

/// What may follow a time: `Z`, `+0100`, `+01:00`, ` UTC`.
fn zone(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix('Z') {
        return Some(rest);
    }
    let signed = |text| digits(one_of(text, &['+', '-'])?, 2..=4);
    let minutes = |text: &'_ str| text.strip_prefix(':').map(|rest| rest.len());
    if let Some(rest) = signed(text).or_else(|| text.strip_prefix(' ').and_then(signed)) {
        return match minutes(rest) {
            Some(_) => {
                Some(rest.strip_prefix(':').and_then(|rest| digits(rest, 2..=2)).unwrap_or(rest))
            }
            None => Some(rest),
        };
    }
    let named = [" UTC", " GMT", " CET", " CEST", " EST", " EDT", " PST", " PDT"];
    Some(named.iter().find_map(|name| text.strip_prefix(name)).unwrap_or(text))
}

/// The text after exactly this many digits.
fn digits(text: &str, count: std::ops::RangeInclusive<usize>) -> Option<&str> {
    let found = text.bytes().take_while(u8::is_ascii_digit).count();
    if count.contains(&found) { text.get(found..) } else { None }
}

fn one_of<'a>(text: &'a str, letters: &[char]) -> Option<&'a str> {
    text.strip_prefix(letters)
}

/// Who wrote a line of a log: `host prog[123]: `, `stdout F `, `[info] `, `INFO `. The width is 1
/// for a process, by its number.
fn program(line: &str, _: Option<usize>) -> Option<(Cow<'_, str>, usize)> {
    const LEVELS: [&str; 12] = [
        "TRACE", "DEBUG", "INFO", "NOTICE", "WARN", "WARNING", "ERROR", "stdout F", "stderr F",
        "stdout P", "stderr P", "-",
    ];
    let text = line.trim_start_matches(' ');
    // Test harnesses write `DEBUG| [stdout] `.
    let parted =
        |rest: &'_ str| rest.strip_prefix('|').unwrap_or(rest).strip_prefix(' ').map(str::len);
    let level = LEVELS.iter().find_map(|level| {
        let rest = text.strip_prefix(level)?;
        rest.get(rest.len() - parted(rest)?..)
    });
    let bracket = || text.strip_prefix('[')?.split_once("] ").map(|(_, rest)| rest);
    let bare = level.or_else(bracket).or_else(|| speaker(text))?;
    let before = text.get(..text.len() - bare.len()).unwrap_or_default();
    Some((Cow::Borrowed(bare), usize::from(before.trim_end().ends_with("]:"))))
}

/// `prog: `, `prog[123]: `, either with a host before it.
fn speaker(text: &str) -> Option<&str> {
    let (head, rest) = text.split_once(": ")?;
    let mut words = head.split(' ');
    let letter = |c: char| {
        c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '(' | ')' | '[' | ']' | '@')
    };
    let plain = |word: &str| !word.is_empty() && word.chars().all(letter);
    let named = |word: &str| plain(word) && word.contains(|c: char| c.is_alphabetic());
    let fits = match (words.next(), words.next(), words.next()) {
        (Some(program), None, _) => named(program),
        (Some(host), Some(program), None) => plain(host) && named(program),
        _ => false,
    };
    fits.then_some(rest)
}

/// Tags that separate the text on both sides, and those that do not.
const PARTING: [&str; 12] =
    ["td", "th", "tr", "table", "tbody", "thead", "br", "p", "div", "li", "ul", "dd"];
const INLINE: [&str; 11] =
    ["span", "b", "i", "code", "font", "tt", "em", "strong", "u", "a", "pre"];

/// Whether a line opens what only a page of HTML holds.
pub(crate) fn opens_page(line: &str) -> bool {
    const OPEN: [&str; 6] = ["<pre", "<html", "<body", "<table", "<code", "<!doctype"];
    memchr::memchr_iter(b'<', line.as_bytes()).any(|place| {
        let text = line.get(place..).unwrap_or_default();
        OPEN.iter()
            .any(|tag| text.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag)))
    })
}

/// HTML: tags and entities. Not every line of a page has one.
fn tags(line: &str, width: Option<usize>) -> Option<(Cow<'_, str>, usize)> {
    if memchr::memchr2(b'<', b'&', line.as_bytes()).is_none() {
        return width.map(|width| (Cow::Borrowed(line), width));
    }
    let mut bare = String::with_capacity(line.len());
    let mut rest = line;
    let mut any = false;
    while let Some(place) = rest.find(['<', '&']) {
        let (before, from) = rest.split_at(place);
        bare.push_str(before);
        let (put, after) = match tag(from).or_else(|| entity(from)) {
            Some(found) => {
                any = true;
                found
            }
            None => from.split_at(1),
        };
        bare.push_str(put);
        rest = after;
    }
    bare.push_str(rest);
    (any || width.is_some()).then_some((Cow::Owned(bare), 0))
}

/// What a tag at the start of a text is replaced by, and what follows it.
fn tag(text: &str) -> Option<(&'static str, &str)> {
    let (inside, after) = text.strip_prefix('<')?.split_once('>')?;
    let inside = inside.strip_prefix('/').unwrap_or(inside);
    let end = inside.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(inside.len());
    let name = inside.get(..end)?.to_ascii_lowercase();
    if PARTING.contains(&name.as_str()) {
        return Some((" ", after));
    }
    INLINE.contains(&name.as_str()).then_some(("", after))
}

fn entity(text: &str) -> Option<(&'static str, &str)> {
    const ENTITIES: [(&str, &str); 8] = [
        ("&gt;", ">"),
        ("&lt;", "<"),
        ("&amp;", "&"),
        ("&quot;", "\""),
        ("&nbsp;", " "),
        ("&#39;", "'"),
        ("&#160;", " "),
        ("&#62;", ">"),
    ];
    ENTITIES.iter().find_map(|(name, letter)| Some((*letter, text.strip_prefix(name)?)))
}
