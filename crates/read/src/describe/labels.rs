//! Reports: lines that each give one property of a drive, a volume or a run.
//!
//! A report is a list of lines, each a [`Pattern`] with the effect of a match, and of labels
//! (`Firmware Revision: EX04`), each with the effect of its value. The first match counts. Blanks
//! around a line are ignored. Each pattern has real lines: they are its tests, and `iowhy explain`
//! prints them.

use std::collections::BTreeMap;

use iowhy_model::typed::Key;
use iowhy_model::{
    DeviceId, Fact, FactKey, FactValue, Histogram, Interval, Layer, Nanos, Op, Rates, Recording,
    Sink,
};

use super::MadeOnce;
use super::pattern::{Found, Pattern, is_pattern};
use super::why::Why;
use crate::counters::database_waits::DatabaseWaits;
use crate::counters::processes::Processes;
use crate::counters::processor::Processor;
use crate::counters::stated::{Column, state_disks};
use crate::drive::health::{Drive, leading};
use crate::facts::{About, AddFact};
use crate::histogram::buckets::histogram_of;
use crate::text::columns::Heading;
use crate::text::wall_time::Moments;
use crate::{Detect, Reader, Step};

/// A report.
#[derive(Clone, Copy, Debug)]
pub struct Labels {
    /// Its subject if no line names one; empty: a drive, named by its model and serial number.
    pub unnamed: &'static str,
    /// The command above it, which names its subject.
    pub command: Option<Command>,
    /// Its lines.
    pub lines: &'static [Line],
    /// Its labels.
    pub labels: &'static [Label],
    /// The same for labels too numerous to list.
    pub rest: Option<fn(&str, &str, &mut Report) -> Step>,
    /// Labels that show nothing of I/O.
    pub ignored: &'static [&'static str],
    /// Its other known lines, which are part of the report.
    pub own: &'static [&'static str],
    /// Beginnings of lines that are part of the report, whatever follows.
    pub inner: &'static [char],
    /// Words of its lines: a line with these words that matches no pattern is unreadable.
    pub cut: &'static [&'static str],
    /// Lines between one that announces the report and one that begins it.
    pub near: usize,
    /// Whether a listing that begins after prose is this one going on.
    pub may_resume: bool,
    /// What follows when the report is over.
    pub end: Option<fn(&mut Report, &mut dyn Sink)>,
}

impl Labels {
    /// A report of nothing.
    pub const NEW: Labels = Labels {
        unnamed: "",
        command: None,
        lines: &[],
        labels: &[],
        rest: None,
        ignored: &[],
        own: &[],
        inner: &[],
        cut: &[],
        near: 0,
        may_resume: false,
        end: None,
    };

    /// A reader for one listing.
    pub(crate) fn reader(&'static self) -> LabelsReader {
        LabelsReader::of(ReadyLabels::known(self))
    }

    /// Its patterns, each with lines that fit, and its labels.
    pub(crate) fn description(&self) -> String {
        let lines = self.lines.iter().map(|line| {
            let like = line.like.iter().map(|line| format!("    {line}\n"));
            format!("{}\n{}", line.pattern, like.collect::<String>())
        });
        let labels = self.labels.iter().map(|label| format!("{}\n", label.names.join(", ")));
        lines.chain(labels).collect()
    }
}

/// A command line that announces a report.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    /// A word of it.
    pub program: &'static str,
    /// What it names, if the line is one.
    pub subject: fn(&str) -> Option<String>,
    /// What it begins inside a report.
    pub opens: Opens,
}

/// What follows from a line; `None`: it could not be read.
type FromLine = fn(&Found, &mut Report, &mut dyn Sink) -> Option<()>;

/// A line of a report.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    pattern: &'static str,
    role: Role,
    /// It confirms an announced report, whatever else it does.
    confirms: bool,
    opens: Opens,
    /// A further condition that a pattern cannot express.
    when: Option<fn(&Found) -> bool>,
    /// What the index searches for: the shape of a line that has no word of its own, by its name in
    /// `index.rs`, or a word that is rarer than the longest one.
    shape: &'static str,
    call: FromLine,
    like: &'static [&'static str],
}

/// Whether a report may begin at a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    /// It does.
    Begins,
    /// It does if a line that begins it or continues it follows soon.
    Announces,
    /// Not by itself, but it confirms an announced one; it may belong to another report.
    Follows,
    /// It does not.
    Within,
    /// It does not, and the line may be another's.
    Perhaps,
}

/// What a line begins inside a report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Opens {
    /// Nothing: it is one line more. A command of this kind announces no report either, it only
    /// names the subject of one below.
    Nothing,
    /// The record of another subject.
    Record,
    /// Another report.
    Report,
    /// Another report, if the line occurred in this one before.
    Again,
}

const fn line(pattern: &'static str, role: Role, call: FromLine) -> Line {
    assert!(is_pattern(pattern, &[]), "no pattern");
    let (opens, confirms) = (Opens::Nothing, matches!(role, Role::Begins | Role::Follows));
    Line { pattern, role, confirms, opens, when: None, shape: "", call, like: &[] }
}

/// A line that begins a report, anywhere.
pub(crate) const fn begins(pattern: &'static str, call: FromLine) -> Line {
    line(pattern, Role::Begins, call)
}

/// A line at which a report begins if one that begins it follows; it is not part of it if it has no
/// effect.
pub(crate) const fn announces(pattern: &'static str, call: FromLine) -> Line {
    line(pattern, Role::Announces, call)
}

/// A line that confirms an announced report; it is not part of it if it has no effect.
pub(crate) const fn follows(pattern: &'static str, call: FromLine) -> Line {
    line(pattern, Role::Follows, call)
}

/// A line inside a report, unless nothing follows from it.
pub(crate) const fn perhaps(pattern: &'static str, call: FromLine) -> Line {
    line(pattern, Role::Perhaps, call)
}

/// A line inside a report.
pub(crate) const fn says(pattern: &'static str, call: FromLine) -> Line {
    line(pattern, Role::Within, call)
}

impl Line {
    /// The values that a text has, if it is this line.
    fn read<'p, 't>(&self, pattern: &'p Pattern, text: &'t str) -> Option<Found<'p, 't>> {
        pattern.read(text).filter(|found| self.when.is_none_or(|when| when(found)))
    }

    /// Real lines that fit.
    pub const fn like(self, like: &'static [&'static str]) -> Line {
        Line { like, ..self }
    }

    /// It confirms a report that a line above announced.
    pub const fn confirms(self) -> Line {
        Line { confirms: true, ..self }
    }

    /// It is this line only if this is so.
    pub const fn when(self, when: fn(&Found) -> bool) -> Line {
        Line { when: Some(when), ..self }
    }

    /// The shape that the line has, or a word of it that is rare.
    pub const fn shaped(self, shape: &'static str) -> Line {
        Line { shape, ..self }
    }

    /// The record of another subject begins here.
    pub const fn opens_record(self) -> Line {
        Line { opens: Opens::Record, ..self }
    }

    /// Another report begins here if the line occurred in this one before, with others between.
    pub const fn opens_again(self) -> Line {
        Line { opens: Opens::Again, ..self }
    }

    /// Another report begins here.
    pub const fn opens_report(self) -> Line {
        Line { opens: Opens::Report, ..self }
    }
}

/// A label, by its names in versions of the tool, and the effect of its value.
#[derive(Clone, Debug)]
pub struct Label {
    names: &'static [&'static str],
    value: LabelValue,
}

/// The effect of a label's value.
#[derive(Clone, Debug)]
enum LabelValue {
    Call(fn(&str, &mut Report) -> Option<()>),
    /// The whole number that it begins with, if it does, is this fact.
    Count(Key<u64>),
}

/// A label.
pub(crate) const fn label(
    names: &'static [&'static str],
    call: fn(&str, &mut Report) -> Option<()>,
) -> Label {
    Label { names, value: LabelValue::Call(call) }
}

/// A label whose value begins with the number that is this fact.
pub(crate) const fn counts(names: &'static [&'static str], key: Key<u64>) -> Label {
    Label { names, value: LabelValue::Count(key) }
}

/// The state of a report while it is read.
#[derive(Debug, Default)]
pub struct Report {
    unnamed: &'static str,
    /// Whether anything was read apart from lines that only begin a report.
    begun: bool,
    place: String,
    /// Its drive or run, with the facts to emit.
    pub(crate) drive: Drive,
    /// The current part of it, by a name of the format's own.
    pub part: &'static str,
    /// When its parts were printed.
    pub(crate) moments: Moments,
    numbers: BTreeMap<String, f64>,
    texts: BTreeMap<&'static str, String>,
    quoted: Vec<String>,
    why: Option<&'static str>,
    buckets: Vec<Bucket>,
    /// The columns of the table whose rows follow.
    pub(crate) heading: Heading,
    /// Repeated values of rows, by a name of the format's own, of processors and of processes.
    /// These two, and the totals [`READ`] and [`WRITTEN`] of all disks, are emitted at the end.
    columns: Vec<(&'static str, Column)>,
    pub(crate) processor: Processor,
    pub(crate) processes: Processes,
    /// The waits of a database, emitted at the end, too.
    pub(crate) waits: DatabaseWaits,
    /// I/O of each of several devices: reads, writes and total.
    works: BTreeMap<String, [Work; 3]>,
}

/// I/O in total or per second: requests, bytes, and the sum of waits, ns.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Work {
    pub(crate) ios: f64,
    pub(crate) bytes: Option<f64>,
    pub(crate) waited_ns: f64,
}

/// Columns of what all disks moved, KiB per second.
pub(crate) const READ: &str = "read of all disks";
pub(crate) const WRITTEN: &str = "written to all disks";

/// A number that is kept until the end of a report, by its name, and the fact that it is.
pub(crate) type Total = (&'static str, fn(f64) -> (FactKey, FactValue));

/// Its subject.
impl About for &Report {
    fn device(self, sink: &mut dyn Sink) -> Option<DeviceId> {
        Some(Report::device(self, sink))
    }
}

/// A row of a histogram: from, to (ns) and how many.
type Bucket = (u64, u64, u64);

impl Report {
    /// Whether there is anything to emit.
    fn says(&self) -> bool {
        !self.drive.is_empty() || !self.numbers.is_empty()
    }

    /// It is about this.
    pub fn name(&mut self, name: &str) -> Option<()> {
        self.drive.named(name);
        Some(())
    }

    /// Its subject.
    pub fn device(&self, sink: &mut dyn Sink) -> DeviceId {
        sink.device(self.drive.name().unwrap_or(self.unnamed))
    }

    /// Its next lines are of this part.
    pub fn enter(&mut self, part: &'static str) -> Option<()> {
        self.part = part;
        Some(())
    }

    /// Adds a fact of its subject, from the line.
    pub fn fact<V: Into<FactValue>>(&mut self, key: Key<V>, value: impl Into<V>) -> Option<()> {
        self.drive.add_fact(key, value, &self.place);
        Some(())
    }

    /// The same for a fact whose last value counts.
    pub fn update<V: Into<FactValue>>(&mut self, key: Key<V>, value: impl Into<V>) -> Option<()> {
        let fact = key.with(value);
        self.drive.forget(&fact.0);
        self.state(fact)
    }

    /// The same, of a key and a value that belong together.
    pub fn state(&mut self, fact: (FactKey, FactValue)) -> Option<()> {
        self.drive.add(fact, &self.place);
        Some(())
    }

    /// The input, and the line in it.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// The line could not be read, for this reason.
    pub fn fails(&mut self, why: &'static str) -> Option<()> {
        self.need(None, why)
    }

    /// The same of a line that is only perhaps one of the report; else it is another's.
    pub fn fails_if(&mut self, is_meant: bool, why: &'static str) -> Option<()> {
        self.need((!is_meant).then_some(()), why).and(None)
    }

    /// A value without which the line could not be read, for this reason.
    pub fn need<T>(&mut self, value: Option<T>, why: &'static str) -> Option<T> {
        if value.is_none() {
            self.why = Some(why);
        }
        value
    }

    /// Whether a row has as many values as the heading has columns; else it could not be read.
    pub fn fits(&mut self, values: usize) -> Option<()> {
        let fits = values == self.heading.width();
        self.need(fits.then_some(()), "the values do not match the heading")
    }

    /// Keeps a line verbatim for later lines; number and bytes are limited.
    pub fn quote(&mut self, line: &str) -> Option<()> {
        const MOST: usize = 1024;
        const BYTES: usize = 1 << 20;
        let bytes = self.quoted.iter().map(String::len).sum::<usize>();
        if self.quoted.len() < MOST && bytes + line.len() <= BYTES {
            self.quoted.push(line.to_string());
        }
        Some(())
    }

    /// The same, instead of those that were kept before.
    pub fn quote_alone(&mut self, line: &str) -> Option<()> {
        self.quoted.clear();
        self.quote(line)
    }

    /// Drops all of them.
    pub fn forget_quoted(&mut self) {
        self.quoted.clear();
    }

    /// The lines that were kept.
    pub fn quoted(&self) -> &[String] {
        &self.quoted
    }

    /// Adds a row of the histogram that is being read: from, to (ns) and how many.
    pub fn bucket(&mut self, from: u64, to: u64, count: u64) -> Option<()> {
        self.buckets.push((from, to, count));
        Some(())
    }

    /// The rows of the histogram that was read; the next one begins.
    pub fn buckets(&mut self) -> Vec<Bucket> {
        std::mem::take(&mut self.buckets)
    }

    /// The histogram that was read, if it counts anything; the next one begins.
    pub fn histogram(&mut self) -> Option<Histogram> {
        histogram_of(self.buckets()).filter(|known| known.count() > 0)
    }

    /// Keeps a number for the end of the report, under a name of the format's own or one that it
    /// made of what it read. The names are limited.
    pub fn keep(&mut self, what: impl AsRef<str>, number: f64) -> Option<()> {
        const MOST: usize = 1 << 16;
        let (what, known) = (what.as_ref(), self.numbers.len());
        if let Some(kept) = self.numbers.get_mut(what) {
            *kept = number;
        } else if known < MOST {
            self.numbers.insert(what.to_string(), number);
        }
        Some(())
    }

    /// The same, and drops it.
    pub fn take(&mut self, what: &str) -> Option<f64> {
        self.numbers.remove(what)
    }

    /// Keeps the number or the text of a name no longer.
    pub fn forget(&mut self, what: &str) {
        self.numbers.remove(what);
        self.texts.remove(what);
    }

    /// Keeps a text for later lines.
    pub fn keep_text(&mut self, what: &'static str, text: impl Into<String>) -> Option<()> {
        self.texts.insert(what, text.into());
        Some(())
    }

    /// A text that was kept.
    pub fn kept_text(&self, what: &str) -> Option<&str> {
        self.texts.get(what).map(String::as_str)
    }

    /// Keeps the larger of a number and the kept one.
    pub fn most(&mut self, what: impl AsRef<str>, number: f64) -> Option<()> {
        let known = self.kept(what.as_ref()).unwrap_or(0.0);
        self.keep(what, number.max(known))
    }

    /// Adds to a number that is kept.
    pub fn add(&mut self, what: impl AsRef<str>, more: f64) -> Option<()> {
        let known = self.kept(what.as_ref()).unwrap_or(0.0);
        self.keep(what, known + more)
    }

    /// Counts one more, if this is so.
    pub fn tally(&mut self, what: &str, is_one: bool) -> Option<()> {
        if is_one { self.add(what, 1.0) } else { Some(()) }
    }

    /// The numbers that are kept under names with this beginning, and the rest of each name.
    pub fn kept_under<'r>(&'r self, begin: &'r str) -> impl Iterator<Item = (&'r str, f64)> {
        let known = self.numbers.iter();
        known.filter_map(move |(what, number)| Some((what.strip_prefix(begin)?, *number)))
    }

    /// One more value of a column.
    pub fn row(&mut self, what: &'static str, value: f64) -> Option<()> {
        match self.columns.iter_mut().find(|(known, _)| *known == what) {
            Some((_, column)) => column.take(value),
            None => {
                let mut column = Column::default();
                column.take(value);
                self.columns.push((what, column));
            }
        }
        Some(())
    }

    /// The values of a column so far.
    pub(crate) fn column(&self, what: &str) -> Column {
        let known = self.columns.iter().find(|(known, _)| *known == what);
        known.map(|(_, column)| *column).unwrap_or_default()
    }

    /// States the fact of each of these numbers that was kept: of a device, or of the machine.
    pub fn state_kept(&self, of: Option<DeviceId>, totals: &[Total], sink: &mut dyn Sink) {
        let place = sink.source().place();
        for (what, fact) in totals {
            if let Some((key, value)) = self.kept(what).map(fact) {
                sink.fact(Fact::new(of, key, value, &place));
            }
        }
    }

    /// States them as facts of its subject, unless these are known.
    pub fn add_kept(&mut self, totals: &[Total]) {
        for (what, fact) in totals {
            let fact = self.kept(what).map(fact);
            if let Some(fact) = fact.filter(|(key, _)| !self.drive.has(key.clone())) {
                self.state(fact);
            }
        }
    }

    /// States what rows add up to, before the report is over.
    pub fn state_sums(&mut self, sink: &mut dyn Sink) {
        std::mem::take(&mut self.processor).state(sink);
        state_disks(&self.column(READ), &self.column(WRITTEN), sink);
        self.columns.retain(|(known, _)| ![READ, WRITTEN].contains(known));
        std::mem::take(&mut self.processes).state(sink);
        std::mem::take(&mut self.waits).state(sink);
    }

    /// Adds to the work of a device, of one operation or of all.
    pub(crate) fn work(&mut self, device: &str, op: Option<Op>, done: Work) {
        let place = [Some(Op::Read), Some(Op::Write)].iter().position(|known| *known == op);
        let known = &mut self.works.entry(device.to_string()).or_default()[place.unwrap_or(2)];
        known.ios += done.ios;
        known.bytes =
            [known.bytes, done.bytes].into_iter().flatten().reduce(|one, more| one + more);
        known.waited_ns += done.waited_ns;
    }

    /// Whether anything was done to a device.
    pub(crate) fn has_work(&self) -> bool {
        !self.works.is_empty()
    }

    /// Emits the I/O of each device in this many seconds; `of` completes an average.
    pub(crate) fn emit_works(
        &mut self,
        layer: Layer,
        seconds: f64,
        of: impl Fn(&mut Interval),
        sink: &mut dyn Sink,
    ) {
        for (device, [reads, writes, all]) in std::mem::take(&mut self.works) {
            let rates = |work: Work| Rates {
                ios_per_s: work.ios / seconds,
                bytes_per_s: work.bytes.map(|bytes| bytes / seconds),
                await_ns: Some(work.waited_ns / work.ios).filter(|ns| *ns > 0.0),
                ..Rates::default()
            };
            let known = |work: Work| Some(rates(work)).filter(|_| work.ios > 0.0);
            let mut interval = Interval::new(sink.device(&device), layer);
            let parts = [(Op::Read, known(reads)), (Op::Write, known(writes))];
            interval.rates = parts.into_iter().filter_map(|(op, part)| Some((op, part?))).collect();
            interval.mixed = known(all);
            of(&mut interval);
            if !interval.rates.is_empty() || interval.mixed.is_some() {
                sink.interval(interval);
            }
        }
    }

    /// A number that was kept.
    pub fn kept(&self, what: &str) -> Option<f64> {
        self.numbers.get(what).copied()
    }

    /// Emits an average of its subject: for one operation, or for all.
    pub fn average(
        &self,
        op: Option<Op>,
        rates: Rates,
        seconds: Option<f64>,
        sink: &mut dyn Sink,
    ) -> Option<()> {
        let mut interval = Interval::new(self.device(sink), Layer::Application);
        interval.length = seconds.map(Nanos::from_seconds);
        match op {
            Some(op) => interval.rates.push((op, rates)),
            None => interval.mixed = Some(rates),
        }
        sink.interval(interval);
        Some(())
    }
}

/// Rates of operations that follow each other: their latency is the inverse of the rate.
pub(crate) fn one_by_one(ios_per_s: f64) -> Rates {
    let await_ns = Some(1e9 / ios_per_s).filter(|ns| ns.is_finite());
    Rates { ios_per_s, await_ns, ..Rates::default() }
}

/// A label, in which several blanks count as one, and what follows it.
fn labelled(text: &str) -> Option<(String, &str)> {
    let (name, value) = text.split_once(':')?;
    Some((name.split_whitespace().collect::<Vec<_>>().join(" "), value.trim()))
}

/// A report with compiled patterns.
#[derive(Debug)]
pub(crate) struct ReadyLabels {
    labels: Labels,
    lines: Vec<(Pattern, Line)>,
    own: Vec<Pattern>,
}

impl ReadyLabels {
    /// The report, ready.
    ///
    /// # Errors If a pattern is invalid; names it and the reason.
    pub(crate) fn of(labels: &Labels) -> Result<ReadyLabels, String> {
        let of = |text: &str| Pattern::of(text).map_err(|wrong| format!("`{text}`: {wrong}"));
        let line = |line: &Line| Ok::<_, String>((of(line.pattern)?, *line));
        Ok(ReadyLabels {
            labels: *labels,
            lines: labels.lines.iter().map(line).collect::<Result<_, _>>()?,
            own: labels.own.iter().map(|own| of(own)).collect::<Result<_, _>>()?,
        })
    }

    /// The same for a built-in report, built once. Its patterns were checked at compile time.
    pub(crate) fn known(labels: &'static Labels) -> &'static ReadyLabels {
        static KNOWN: MadeOnce<ReadyLabels> = MadeOnce::new();
        let none = |_| ReadyLabels { labels: *labels, lines: Vec::new(), own: Vec::new() };
        KNOWN.of(labels, |labels| ReadyLabels::of(labels).unwrap_or_else(none))
    }

    /// Texts, one of which each line that begins a listing contains; `None` if a pattern has none.
    pub(crate) fn needles(&self) -> Option<Vec<&str>> {
        let begins = |role| matches!(role, Role::Begins | Role::Announces);
        let first = self.lines.iter().filter(|(_, line)| begins(line.role));
        let needles = first.flat_map(|(pattern, line)| match line.shape {
            "" => pattern.needles(),
            shape => vec![shape],
        });
        let announces = self.labels.command.filter(|command| command.opens != Opens::Nothing);
        let command = announces.map(|command| command.program);
        let needles: Vec<&str> = needles.chain(command).collect();
        needles.iter().all(|needle| !needle.is_empty()).then_some(needles)
    }

    /// What a command line names, if the line is one.
    fn command(&self, line: &str) -> Option<String> {
        let command = self.labels.command.filter(|command| line.contains(command.program))?;
        (command.subject)(line)
    }

    /// Whether a line is a command that a report follows.
    fn is_announced(&self, line: &str) -> bool {
        let announces = self.labels.command.is_some_and(|it| it.opens != Opens::Nothing);
        announces && self.command(line).is_some()
    }

    /// Whether a listing begins at the first of these lines.
    pub(crate) fn sniff(&self, lines: &[&str]) -> Detect {
        let is = |text: &str, does: fn(&Line) -> bool| {
            let mut known = self.lines.iter().filter(|(_, line)| does(line));
            known.any(|(pattern, line)| line.read(pattern, text.trim()).is_some())
        };
        let announces = |line: &Line| line.role == Role::Announces;
        let Some((first, rest)) = lines.split_first() else { return Detect::No };
        match rest {
            _ if is(first, |line| line.role == Role::Begins) => Detect::Yes,
            _ if !is(first, announces) && !self.is_announced(first) => Detect::No,
            [.., last] if is(last, |line| line.confirms) => Detect::Yes,
            _ if rest.len() >= self.labels.near => Detect::No,
            // A line or two of other text may be in between.
            _ if rest.iter().filter(|line| !self.has(line)).count() > self.labels.near / 4 => {
                Detect::No
            }
            _ => Detect::NeedLine,
        }
    }

    /// The patterns that a line matches, in order.
    fn all<'s, 't: 's>(&'s self, text: &'t str) -> impl Iterator<Item = (&'s Line, Found<'s, 't>)> {
        self.lines.iter().filter_map(move |(pattern, line)| Some((line, line.read(pattern, text)?)))
    }

    /// The first of them.
    fn find<'s>(&'s self, text: &'s str) -> Option<(&'s Line, Found<'s, 's>)> {
        self.all(text).next()
    }

    /// Whether a line is part of the report.
    fn has(&self, line: &str) -> bool {
        let text = line.trim();
        let name = labelled(text).map(|(name, _)| name);
        let mut labels = self.labels.labels.iter().flat_map(|label| label.names);
        self.is_own(line)
            || self.command(line).is_some()
            || self.find(text).is_some()
            || labels.any(|known| name.as_deref() == Some(known))
    }

    /// Whether a line is part of the report and shows nothing.
    fn is_own(&self, line: &str) -> bool {
        let text = line.trim();
        text.is_empty()
            || self.own.iter().any(|own| own.read(text).is_some())
            || line.starts_with(self.labels.inner)
            || labelled(text).is_some_and(|(name, _)| self.labels.ignored.contains(&name.as_str()))
    }
}

/// Reads a report by its description.
pub(crate) struct LabelsReader {
    ready: &'static ReadyLabels,
    pub(crate) report: Report,
    /// The last matching line, and the patterns that occur once per report.
    last: &'static str,
    seen: Vec<&'static str>,
}

impl LabelsReader {
    fn of(ready: &'static ReadyLabels) -> LabelsReader {
        let report = Report { unnamed: ready.labels.unnamed, ..Report::default() };
        LabelsReader { ready, report, last: "", seen: Vec::new() }
    }

    /// Emits everything read about one subject.
    fn end(&mut self, sink: &mut dyn Sink) {
        if let Some(end) = self.ready.labels.end {
            end(&mut self.report, sink);
        }
        self.report.state_sums(sink);
        if self.report.drive.name().is_none() && !self.report.unnamed.is_empty() {
            self.report.drive.named(self.report.unnamed);
        }
        self.report.drive.emit(sink);
        let Report { unnamed, begun, .. } = self.report;
        self.report = Report { unnamed, begun, ..Report::default() };
    }

    /// Ends the record where another begins; whether another report does.
    fn opens(&mut self, opens: Opens, pattern: &'static str, sink: &mut dyn Sink) -> bool {
        let is_next = std::mem::replace(&mut self.last, pattern) == pattern;
        match opens {
            Opens::Nothing => return false,
            Opens::Record => self.end(sink),
            Opens::Report => return self.report.begun,
            Opens::Again if self.seen.contains(&pattern) => return !is_next,
            Opens::Again => self.seen.push(pattern),
        }
        false
    }

    /// The result of a line.
    fn step(&mut self, read: Option<()>) -> Step {
        let why = self.report.why.take().map(str::to_string);
        match read {
            Some(()) => Step::Consumed,
            None => Step::Malformed(why.unwrap_or_else(|| Why::Unreadable.to_string())),
        }
    }

    /// What a label says.
    fn label(&mut self, text: &str) -> Option<Step> {
        let (name, value) = labelled(text)?;
        let name = name.as_str();
        let known = self.ready.labels.labels.iter().find(|label| label.names.contains(&name));
        match known {
            Some(label) => {
                let report = &mut self.report;
                let read = match &label.value {
                    LabelValue::Call(call) => call(value, report),
                    LabelValue::Count(key) => {
                        leading(value).map_or(Some(()), |number| report.fact(key.clone(), number))
                    }
                };
                Some(self.step(read))
            }
            None => Some((self.ready.labels.rest?)(name, value, &mut self.report)),
        }
    }
}

impl Reader for LabelsReader {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let (ready, text) = (self.ready, line.trim());
        if let Some(name) =
            Some(line).filter(|line| ready.is_announced(line)).and_then(|line| ready.command(line))
        {
            let opens = ready.labels.command.map_or(Opens::Nothing, |command| command.opens);
            if self.opens(opens, "", sink) {
                return Step::End;
            }
            self.report.place = sink.here();
            self.report.name(&name);
            return Step::Consumed;
        }
        let place = sink.here();
        for (line, found) in ready.all(text) {
            if self.opens(line.opens, line.pattern, sink) {
                return Step::End;
            }
            self.report.place.clone_from(&place);
            let read = (line.call)(&found, &mut self.report, sink);
            let is_another = read.is_none()
                && matches!(line.role, Role::Announces | Role::Follows | Role::Perhaps);
            let is_more = !is_another && line.opens != Opens::Report && !text.is_empty();
            self.report.begun |= is_more || self.report.says();
            if !is_another || self.report.why.is_some() {
                return self.step(read);
            }
        }
        self.report.place = place;
        if let Some(step) = self.label(text).filter(|step| *step != Step::NotMine) {
            self.report.begun = true;
            return step;
        }
        if ready.is_own(line) {
            self.report.begun |= !text.is_empty();
            return Step::Consumed;
        }
        if ready.labels.cut.iter().any(|words| text.contains(words)) {
            return Step::Malformed(Why::Unreadable.to_string());
        }
        Step::NotMine
    }

    /// A line above the listing may name its subject.
    fn line_above(&mut self, line: &str) {
        if let Some(name) = self.ready.command(line) {
            self.report.name(&name);
        }
        let announced =
            self.ready.find(line.trim()).filter(|(line, _)| line.role == Role::Announces);
        if let Some((line, found)) = announced {
            let _ = (line.call)(&found, &mut self.report, &mut Recording::new());
        }
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.end(sink);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Body, FORMATS};

    fn reports() -> impl Iterator<Item = (&'static str, ReadyLabels)> {
        FORMATS.iter().filter_map(|format| match format.body {
            Body::Labels(labels) => Some((format.name, ReadyLabels::of(labels).unwrap())),
            _ => None,
        })
    }

    #[test]
    fn each_line_has_lines_that_fit_it_and_no_earlier_one() {
        let mut wrong = Vec::new();
        for (name, ready) in reports() {
            for (_, line) in &ready.lines {
                assert!(!line.like.is_empty(), "{name}: no line like `{}`", line.pattern);
                for text in line.like {
                    let is_it = |(known, _): &(&Line, Found)| {
                        known.role != Role::Perhaps || known.pattern == line.pattern
                    };
                    let found = ready.all(text).find(is_it).map(|(found, _)| found.pattern);
                    if found != Some(line.pattern) {
                        wrong.push(format!("{name}: {text} is {found:?}, not {}", line.pattern));
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn each_report_has_a_needle() {
        for (name, ready) in reports() {
            assert!(ready.needles().is_some(), "{name}: no needle");
        }
    }
}
