//! Logs of programs: sentences that report I/O among lines that do not.
//!
//! A log is a list of sentences, each a [`Pattern`] with the effect of a match. The first match
//! counts. Each has real lines of the program: they are its tests, and `iowhy explain` prints them.

use std::collections::HashMap;

use iowhy_model::Order as _;
use iowhy_model::typed::{Key, Share};
use iowhy_model::{Fact, FactKey, FactValue, Nanos, Op, Sink, typed};

use super::MadeOnce;
use super::pattern::{Found, Pattern, Value, has_hole, is_pattern};
use super::why::Why;
use crate::counters::database_waits::DatabaseWaits;
use crate::counters::slow_log::SlowLog;
use crate::facts::AddFact;
use crate::{Detect, Reader, Step, WallTime};

/// A log of a program.
#[derive(Clone, Copy, Debug)]
pub struct Log {
    /// The subject of operations if a sentence names no device.
    pub who: &'static str,
    /// The position of a line's time.
    pub time: &'static [Stamp],
    /// Possible beginnings of the program's lines; one of these precedes each sentence. Empty:
    /// anything.
    pub fronts: &'static [&'static str],
    /// What the program reports about I/O.
    pub sentences: &'static [Sentence],
    /// Its other known lines, which are part of the log.
    pub own: &'static [&'static str],
    /// Words of a sentence: a line with these words that matches no pattern is unreadable.
    pub cut: &'static [&'static str],
    /// The latency from which an operation is logged, unless a sentence says otherwise.
    pub over: Option<Nanos>,
    /// What takes longer is not an operation: the machine was suspended, or the clock was set.
    pub longest: Nanos,
}

impl Log {
    /// An empty log.
    pub const NEW: Log = Log {
        who: "",
        time: &[Stamp::Front],
        fronts: &[],
        sentences: &[],
        own: &[],
        cut: &[],
        over: None,
        longest: Nanos(86_400_000_000_000),
    };

    /// Its patterns, each with lines that fit.
    pub(crate) fn description(&self) -> String {
        let of = |sentence: &Sentence| {
            let lines = sentence.like.iter().map(|line| format!("    {line}\n"));
            format!("{}\n{}", sentence.pattern, lines.collect::<String>())
        };
        self.sentences.iter().map(of).collect()
    }
}

/// The position of a line's time.
#[derive(Clone, Copy, Debug)]
pub enum Stamp {
    /// Among the first words: `2023-08-15 02:02:40,008 WARN`, `[2026-02-12T21:51:51,711][WARN ]`.
    Front,
    /// In a text of JSON: `"ts":"2026-02-12T21:51:51.711Z"`.
    Json(&'static str),
    /// As glog prints it, with the severity in front: `I240502 23:55:46.268103`.
    Glog,
}

/// What a program reports about I/O, and what follows from it.
#[derive(Clone, Copy, Debug)]
pub struct Sentence {
    pattern: &'static str,
    effects: &'static [Effect],
    like: &'static [&'static str],
    who: Option<&'static str>,
    over: Option<Nanos>,
}

/// A sentence. An invalid pattern, or one without a hole that an effect needs, does not compile.
pub(crate) const fn says(pattern: &'static str, effects: &'static [Effect]) -> Sentence {
    assert!(is_pattern(pattern, &[]), "no pattern");
    let mut place = 0;
    while place < effects.len() {
        assert!(is_pattern(pattern, effects[place].holes()), "a placeholder is missing");
        if let Effect::Total(_, hole) = effects[place] {
            assert!(has_hole(pattern, hole), "the placeholder of a sum is missing");
        }
        place += 1;
    }
    Sentence::stated(pattern, effects)
}

impl Sentence {
    /// A sentence whose pattern has the holes that its effects need.
    pub(crate) const fn stated(pattern: &'static str, effects: &'static [Effect]) -> Sentence {
        Sentence { pattern, effects, like: &[], who: None, over: None }
    }

    /// Its pattern.
    pub(crate) fn pattern(&self) -> &'static str {
        self.pattern
    }

    /// Real lines that fit.
    pub const fn like(self, like: &'static [&'static str]) -> Sentence {
        Sentence { like, ..self }
    }

    /// The subject of the operations, if it is not that of the log.
    pub const fn of(self, who: &'static str) -> Sentence {
        Sentence { who: Some(who), ..self }
    }

    /// From when on an operation of this kind is logged.
    pub const fn over(self, over: Nanos) -> Sentence {
        Sentence { over: Some(over), ..self }
    }
}

/// What follows from a line. A fact is about the device that the line names, else about the
/// machine.
#[derive(Clone, Debug)]
pub(crate) enum Effect {
    /// An operation ended when the line was written and took `took`. Flushes also add `flush.slow`
    /// and `flush.slowest`. The line's own word for the operation, if it has one, takes precedence.
    Event(Op, &'static str),
    /// The same for an operation in progress: of the lines with one `what` and `file` the last
    /// counts.
    Growing,
    /// The same, with the time worked out from the hole `rest`.
    EventOf(Op, &'static str, fn(&str) -> Option<Nanos>),
    /// One more.
    Count(Key<u64>),
    /// Only adds the fact, even as 0.
    Zero(Key<u64>),
    /// As many more as `n`.
    Add(Key<u64>),
    /// The longest `took`.
    Longest(Key<Nanos>),
    /// The least `took`.
    Least(Key<Nanos>),
    /// The sum of a hole.
    Total(Key<Nanos>, &'static str),
    /// The sum of `took`, which grows from line to line until the operation is over, and how many
    /// there were.
    Running(Key<u64>, Key<Nanos>),
    /// A duration that the program does not print: at least this.
    AtLeast(Key<Nanos>, Nanos),
    /// The last `share`.
    Last(Key<Share>),
    /// The largest share that `took` is of `over`.
    LargestOf(Key<Share>),
    /// Waits of a database.
    Waits(fn(&Found, &mut DatabaseWaits)),
    /// Any other effect.
    Call(fn(&Found, &mut dyn Sink) -> Option<()>),
}

impl Effect {
    /// The keys of the facts that it states, besides those of flushes.
    fn keys(&self) -> Vec<FactKey> {
        match self {
            Effect::Count(key) | Effect::Zero(key) | Effect::Add(key) => vec![key.clone().key()],
            Effect::Longest(key)
            | Effect::Least(key)
            | Effect::Total(key, _)
            | Effect::AtLeast(key, _) => vec![key.clone().key()],
            Effect::Running(count, total) => vec![count.clone().key(), total.clone().key()],
            Effect::Last(key) | Effect::LargestOf(key) => vec![key.clone().key()],
            Effect::Event(..)
            | Effect::EventOf(..)
            | Effect::Growing
            | Effect::Waits(_)
            | Effect::Call(_) => Vec::new(),
        }
    }

    /// The holes that it needs.
    const fn holes(&self) -> &'static [&'static str] {
        match self {
            Effect::Event(..) | Effect::Longest(_) | Effect::Least(_) | Effect::Running(..) => {
                &["took"]
            }
            Effect::Growing => &["took", "what"],
            Effect::EventOf(..) => &["rest"],
            Effect::Add(_) => &["n"],
            Effect::Last(_) => &["share"],
            Effect::LargestOf(_) => &["took", "over"],
            // That of a sum has a name of its own.
            Effect::Total(..)
            | Effect::Count(_)
            | Effect::Zero(_)
            | Effect::AtLeast(..)
            | Effect::Waits(_)
            | Effect::Call(_) => &[],
        }
    }
}

/// A log with compiled patterns.
#[derive(Debug)]
pub(crate) struct Ready {
    log: Log,
    /// The patterns of each sentence, one for each front.
    sentences: Vec<(Vec<Pattern>, Sentence)>,
    own: Vec<Pattern>,
}

impl Ready {
    /// The log, ready.
    ///
    /// # Errors
    /// Which pattern is none, and why.
    pub(crate) fn of(log: &Log) -> Result<Ready, String> {
        let of = |text: String| Pattern::of(&text).map_err(|wrong| format!("`{text}`: {wrong}"));
        let fronts: &[&str] = if log.fronts.is_empty() { &[""] } else { log.fronts };
        let all = |sentence: &Sentence| {
            let patterns = fronts.iter().map(|front| of(format!("{front}{}", sentence.pattern)));
            Ok::<_, String>((patterns.collect::<Result<_, _>>()?, *sentence))
        };
        Ok(Ready {
            log: *log,
            sentences: log.sentences.iter().map(all).collect::<Result<_, _>>()?,
            own: log.own.iter().map(|own| of(own.to_string())).collect::<Result<_, _>>()?,
        })
    }

    /// The same for a built-in log, built once. Its patterns were checked at compile time.
    pub(crate) fn known(log: &'static Log) -> &'static Ready {
        static KNOWN: MadeOnce<Ready> = MadeOnce::new();
        let none = |_| Ready { log: *log, sentences: Vec::new(), own: Vec::new() };
        KNOWN.of(log, |log| Ready::of(log).unwrap_or_else(none))
    }

    /// Whether a listing begins at a line.
    pub(crate) fn sniff(&self, lines: &[&str]) -> Detect {
        Detect::from(lines.first().is_some_and(|line| self.sentence(line).is_some()))
    }

    /// The time at which a line was written, by its own stamp.
    pub(crate) fn moment(&self, line: &str) -> Option<WallTime> {
        self.log.time.iter().find_map(|stamp| stamp.of(line))
    }

    /// Texts, one of which each line that begins a listing contains; `None` if a sentence has none.
    pub(crate) fn needles(&self) -> Option<Vec<&str>> {
        let patterns = self.sentences.iter().flat_map(|(patterns, _)| patterns);
        let needles: Vec<&str> = patterns.flat_map(Pattern::needles).collect();
        needles.iter().all(|needle| !needle.is_empty()).then_some(needles)
    }

    /// The pattern of the first matching sentence.
    pub(crate) fn says(&self, line: &str) -> Option<&'static str> {
        self.sentence(line).map(|(sentence, _)| sentence.pattern)
    }

    /// The first sentence that a line fits.
    fn sentence<'t>(&self, line: &'t str) -> Option<(&Sentence, Found<'_, 't>)> {
        self.sentences.iter().find_map(|(patterns, sentence)| {
            let found = patterns.iter().find_map(|pattern| pattern.read(line))?;
            Some((sentence, found))
        })
    }
}

/// Facts in the making, of one device or of none.
#[derive(Default)]
struct Tallies {
    device: Option<String>,
    facts: Vec<(FactKey, FactValue)>,
}

/// An operation in progress, by its last line.
struct Operation {
    what: String,
    file: Option<String>,
    op: Op,
    took: Nanos,
    at: Option<WallTime>,
}

/// Operations that are followed at a time.
const MOST_GROWING: usize = 64;

/// Reads a log by its description.
pub(crate) struct LogReader {
    ready: &'static Ready,
    slow: SlowLog,
    /// In the order in which the devices were named, with the position of each.
    tallies: Vec<Tallies>,
    places: HashMap<Option<String>, usize>,
    growing: Vec<Operation>,
    running: Nanos,
    waits: DatabaseWaits,
    over: Option<Nanos>,
}

impl LogReader {
    pub(crate) fn of(ready: &'static Ready) -> LogReader {
        LogReader {
            ready,
            slow: SlowLog::default(),
            tallies: Vec::new(),
            places: HashMap::new(),
            growing: Vec::new(),
            running: Nanos(0),
            waits: DatabaseWaits::default(),
            over: ready.log.over,
        }
    }

    /// The value of a fact so far.
    fn tally<V: Into<FactValue>>(
        &mut self,
        found: &Found,
        key: &Key<V>,
        start: V,
    ) -> &mut FactValue {
        let device = found.device().map(str::to_string);
        let place = *self.places.entry(device).or_insert_with_key(|device| {
            self.tallies.push(Tallies { device: device.clone(), facts: Vec::new() });
            self.tallies.len() - 1
        });
        let (key, facts) = (key.clone().key(), &mut self.tallies[place].facts);
        let known = facts.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
            facts.push((key, start.into()));
            facts.len() - 1
        });
        &mut facts[known].1
    }

    fn add(&mut self, found: &Found, key: &Key<u64>, more: u64) {
        if let FactValue::Count(count) = self.tally(found, key, 0) {
            *count = count.saturating_add(more);
        }
    }

    fn put(&mut self, found: &Found, key: &Key<Nanos>, time: Nanos, of: fn(i64, i64) -> i64) {
        if let FactValue::Duration(known) = self.tally(found, key, time) {
            *known = Nanos(of(known.0, time.0));
        }
    }

    fn total(&mut self, found: &Found, key: &Key<Nanos>, more: Nanos) {
        if let FactValue::Duration(known) = self.tally(found, key, Nanos(0)) {
            *known = Nanos(known.0.saturating_add(more.0));
        }
    }

    /// The facts, device by device, in the order in which the sentences name them.
    fn stated(&mut self) -> Vec<Tallies> {
        let effects = self.ready.log.sentences.iter().flat_map(|sentence| sentence.effects);
        let keys: Vec<FactKey> = effects.flat_map(Effect::keys).collect();
        self.places.clear();
        let mut tallies = std::mem::take(&mut self.tallies);
        for Tallies { facts, .. } in &mut tallies {
            facts.order_by_key(|(key, _)| keys.iter().position(|known| known == key));
        }
        tallies
    }

    /// Counts a flush among those that were slow.
    fn flush(&mut self, found: &Found, op: Op, took: Nanos) {
        if op == Op::Flush {
            self.add(found, &typed::FLUSH_SLOW, 1);
            self.put(found, &typed::FLUSH_SLOWEST, took, i64::max);
        }
    }

    fn grow(&mut self, found: &Found, took: Nanos, at: Option<WallTime>, sink: &mut dyn Sink) {
        self.slow.saw(at);
        let (op, what) = found.operation().unwrap_or((Op::Other, found.text("what").unwrap_or("")));
        let file = found.text("file");
        let is_same = |known: &Operation| known.what == what && known.file.as_deref() == file;
        if let Some(place) = self.growing.iter().position(is_same) {
            let known = &mut self.growing[place];
            if took > known.took {
                (known.took, known.at) = (took, at);
                return;
            }
            // It took less than was reported before: another one.
            self.grown(place, sink);
        } else if self.growing.len() == MOST_GROWING {
            self.grown(0, sink);
        }
        let (what, file) = (what.to_string(), file.map(str::to_string));
        self.growing.push(Operation { what, file, op, took, at });
    }

    /// An operation in progress has ended.
    fn grown(&mut self, place: usize, sink: &mut dyn Sink) {
        let Operation { what, op, took, at, .. } = self.growing.remove(place);
        self.slow.give((self.ready.log.who, op, &what), took, at, sink);
        self.flush(&Found::default(), op, took);
    }

    fn apply(
        &mut self,
        sentence: &Sentence,
        effect: &Effect,
        (line, found): (&str, &Found),
        sink: &mut dyn Sink,
    ) -> Option<()> {
        let took = || found.time("took");
        match effect {
            Effect::Event(op, what) => {
                let (op, what) = found.operation().unwrap_or((*op, what));
                self.take(sentence, (op, what, took()?), (line, found), sink);
            }
            Effect::EventOf(op, what, time) => {
                let took = time(found.text("rest")?)?;
                self.take(sentence, (*op, what, took), (line, found), sink);
            }
            Effect::Growing => self.grow(found, took()?, self.ready.moment(line), sink),
            Effect::Count(key) => self.add(found, key, 1),
            Effect::Zero(key) => self.add(found, key, 0),
            Effect::Add(key) => self.add(found, key, found.count("n")?),
            Effect::Longest(key) => self.put(found, key, took()?, i64::max),
            Effect::Least(key) => self.put(found, key, took()?, i64::min),
            Effect::Total(key, hole) => self.total(found, key, found.time(hole)?),
            Effect::AtLeast(key, time) => self.put(found, key, *time, i64::max),
            Effect::Running(count, total) => {
                let took = took()?;
                let before = std::mem::replace(&mut self.running, took);
                let is_new = took < before || before == Nanos(0);
                self.add(found, count, u64::from(is_new));
                let more = if is_new { took.0 } else { took.0 - before.0 };
                self.total(found, total, Nanos(more));
            }
            Effect::Last(key) => {
                let Some(Value::Share(share)) = found.get("share") else { return None };
                *self.tally(found, key, share) = share.into();
            }
            Effect::LargestOf(key) => {
                let over = found.time("over").filter(|over| over.0 > 0)?;
                let share = Share((took()?.seconds() / over.seconds()).min(1.0));
                if let FactValue::Share(known) = self.tally(found, key, share) {
                    *known = share.0.max(*known);
                }
            }
            Effect::Waits(add) => add(found, &mut self.waits),
            Effect::Call(call) => call(found, sink)?,
        }
        Some(())
    }

    fn take(
        &mut self,
        sentence: &Sentence,
        (op, what, took): (Op, &str, Nanos),
        (line, found): (&str, &Found),
        sink: &mut dyn Sink,
    ) {
        let at = self.ready.moment(line);
        let who = found.device().or(sentence.who).unwrap_or(self.ready.log.who);
        self.slow.give((who, op, what), took, at, sink);
        self.flush(found, op, took);
    }
}

impl Reader for LogReader {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let ready = self.ready;
        let Some((sentence, found)) = ready.sentence(line) else {
            return if ready.log.cut.iter().any(|words| line.contains(words)) {
                Step::Malformed(Why::NoDuration.to_string())
            } else if line.trim().is_empty() || ready.own.iter().any(|own| own.read(line).is_some())
            {
                Step::Consumed
            } else {
                Step::NotMine
            };
        };
        if found.time("took").is_some_and(|took| took > ready.log.longest) {
            return Step::Malformed(Why::TooLong(ready.log.longest).to_string());
        }
        let applied = sentence
            .effects
            .iter()
            .map(|effect| self.apply(sentence, effect, (line, &found), sink));
        if applied.filter(Option::is_none).count() > 0 {
            return Step::Malformed(Why::NoDuration.to_string());
        }
        self.over = match (self.over, sentence.over) {
            (Some(known), Some(other)) => Some(Nanos(known.0.min(other.0))),
            (known, other) => known.or(other),
        };
        Step::Consumed
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        while !self.growing.is_empty() {
            self.grown(0, sink);
        }
        let place = sink.source().place();
        for Tallies { device, facts } in self.stated() {
            let device = device.map(|name| sink.device(&name));
            for (key, value) in facts {
                sink.fact(Fact { device, key, value, at: None, read_from: place.clone() });
            }
        }
        std::mem::take(&mut self.waits).state(sink);
        if let Some(over) = self.over {
            sink.add_fact(None, typed::TRACE_THRESHOLD, over);
        }
    }
}

impl Stamp {
    /// Number of words at the start of a line in which its time is searched for.
    const FIRST: usize = 8;

    fn of(self, line: &str) -> Option<WallTime> {
        match self {
            Stamp::Front => Stamp::front(line),
            Stamp::Json(key) => {
                let (_, rest) = line.split_once(&format!("\"{key}\":"))?;
                let text = rest.trim_start().strip_prefix('"')?.split('"').next()?;
                WallTime::read(text.split_once('+').map_or(text, |(time, _)| time))
            }
            Stamp::Glog => {
                let mut words = line.split(' ');
                let day = words.next()?.strip_prefix(['I', 'W', 'E', 'F'])?;
                let (year, month, day) = (day.get(..2)?, day.get(2..4)?, day.get(4..)?);
                WallTime::read(&format!("20{year}-{month}-{day} {}", words.next()?))
            }
        }
    }

    fn front(line: &str) -> Option<WallTime> {
        let text = line.replace(['[', ']', '"'], " ").replace(',', ".");
        let words: Vec<&str> = text.split_whitespace().take(Stamp::FIRST).collect();
        let dated = |word: &str| word.contains(['-', '/']);
        let one = |word: &str| {
            WallTime::read(word.split_once('+').map_or(word, |(time, _)| time))
                .filter(|_| word.contains(':'))
        };
        words.iter().enumerate().find_map(|(place, word)| {
            let pair = || WallTime::read(&format!("{word} {}", words.get(place + 1)?));
            dated(word).then(|| pair().or_else(|| one(word)))?
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Body, FORMATS};

    fn logs() -> impl Iterator<Item = (&'static str, Ready)> {
        FORMATS.iter().filter_map(|format| match format.body {
            Body::Log(log) => Some((format.name, Ready::of(log).unwrap())),
            _ => None,
        })
    }

    #[test]
    fn each_sentence_has_lines_that_fit_it_and_no_earlier_one() {
        for (name, ready) in logs() {
            for (_, sentence) in &ready.sentences {
                assert!(!sentence.like.is_empty(), "{name}: no line like `{}`", sentence.pattern);
                for line in sentence.like {
                    let found = ready.sentence(line).map(|(found, _)| found.pattern);
                    assert_eq!(found, Some(sentence.pattern), "{name}: {line}");
                }
            }
        }
    }

    #[test]
    fn each_log_has_a_needle() {
        for (name, ready) in logs() {
            let needles = ready.needles().unwrap_or_else(|| panic!("{name}: no needle"));
            assert!(needles.iter().all(|needle| !needle.is_empty()), "{name}: {needles:?}");
        }
    }
}
