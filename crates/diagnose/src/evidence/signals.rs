//! Faults that are stated: by the kernel's log, by the drive, by its array or pool. A detector has
//! a table of them; a row says where one is read, what it is called and what it is worth.

use iowhy_model::{Bound, Clause, CommandKind, FactKey, MessageKind, Op, PathEvent, Unit};

use crate::evidence::builder::EvidenceBuilder;
use crate::evidence::cases::Case;
use crate::facts::kernel_log::LogLine;
use crate::facts::reading::FactReading;
use crate::phrase;

/// Whether something holds of a case.
type Holds = fn(&Case) -> bool;

/// A stated fault: one row of a table.
pub(crate) struct Signal {
    read: Read,
    what: &'static str,
    say: Option<&'static str>,
    bound: Bound,
    unit: Unit,
    worth: f64,
    again: Option<f64>,
    grown: Option<f64>,
    many: Option<(f64, f64)>,
    other: Option<(Holds, f64)>,
    by: Option<fn(&[&LogLine]) -> f64>,
    only_if: Holds,
    takes: fn(&Case, &LogLine) -> bool,
    fades: bool,
}

/// Where it is read.
enum Read {
    Lines(MessageKind, &'static [PathEvent]),
    Failed(&'static [u16]),
    Number(FactKey),
    Most(FactKey),
    Rise(FactKey),
    Bit(FactKey, u64),
    State(FactKey, &'static [&'static str]),
    Program(fn(&mut EvidenceBuilder, &Case, f64) -> f64),
}

/// Lines older than this, relative to the log's last line, say little about the present, s; and
/// what that takes from their weight, nats.
const STALE_S: f64 = 86_400.0;
const STALE: f64 = -2.0;
/// Times that differ by less than this share are one period (a choice).
const PERIODIC: f64 = 0.1;

/// Lines of the kernel's log of this kind that report one of these about the path; where none is
/// listed, any. A line counts with the first row that takes it.
pub(crate) const fn lines(kind: MessageKind, events: &'static [PathEvent], worth: f64) -> Signal {
    Signal::of(Read::Lines(kind, events), worth)
}

/// Lines about the path to a disk: recovery from a slow discard is no fault of it
/// (`load.discard`), and what is older than a day hardly counts.
pub(crate) const fn path(kind: MessageKind, events: &'static [PathEvent], worth: f64) -> Signal {
    let mut signal = lines(kind, events, worth).takes(|_, line| !is_discard(line));
    signal.fades = true;
    signal
}

/// Requests that failed with one of these.
pub(crate) const fn failed(errors: &'static [u16], worth: f64) -> Signal {
    Signal::of(Read::Failed(errors), worth)
}

/// A number as it was last read, above zero if nothing else is stated.
pub(crate) const fn number(key: FactKey, worth: f64) -> Signal {
    Signal::of(Read::Number(key), worth)
}

/// The largest of all readings of a number, above zero if nothing else is stated: what a later run
/// does not find again was there all the same.
pub(crate) const fn most(key: FactKey, worth: f64) -> Signal {
    Signal::of(Read::Most(key), worth)
}

/// A counter that rose between two readings.
pub(crate) const fn rise(key: FactKey, worth: f64) -> Signal {
    Signal::of(Read::Rise(key), worth)
}

/// A bit of a number.
pub(crate) const fn bit(key: FactKey, bit: u64, worth: f64) -> Signal {
    Signal::of(Read::Bit(key, bit), worth)
}

/// A state, in one of these words; where none is listed, in any.
pub(crate) const fn state_signal(
    key: FactKey,
    words: &'static [&'static str],
    worth: f64,
) -> Signal {
    Signal::of(Read::State(key, words), worth)
}

/// What no table states: it gets the weight of the rows before it and returns its own.
pub(crate) const fn program(of: fn(&mut EvidenceBuilder, &Case, f64) -> f64) -> Signal {
    Signal::of(Read::Program(of), 0.0)
}

impl Signal {
    const fn of(read: Read, worth: f64) -> Signal {
        Signal {
            read,
            what: "",
            say: None,
            bound: Bound::Above(0.0),
            unit: Unit::Count,
            worth,
            again: None,
            grown: None,
            many: None,
            other: None,
            by: None,
            only_if: |_| true,
            takes: |_, _| true,
            fades: false,
        }
    }

    /// What is counted, with the `(s)` of a plural; `{state}` is the state's word.
    pub(crate) const fn what(mut self, what: &'static str) -> Signal {
        self.what = what;
        self
    }

    /// The words of the sentence, if they differ: `{n}` at the beginning is the number, `{what}`
    /// what is counted, `{share}` the number in percent, `{state}` the state.
    pub(crate) const fn say(mut self, say: &'static str) -> Signal {
        self.say = Some(say);
        self
    }

    /// What the number has to exceed, or to stay below.
    pub(crate) const fn held(mut self, bound: Bound, unit: Unit) -> Signal {
        (self.bound, self.unit) = (bound, unit);
        self
    }

    /// The weight of more than one line.
    pub(crate) const fn again(mut self, worth: f64) -> Signal {
        self.again = Some(worth);
        self
    }

    /// The weight if the number rose between two readings.
    pub(crate) const fn grown(mut self, worth: f64) -> Signal {
        self.grown = Some(worth);
        self
    }

    /// The weight from this number on.
    pub(crate) const fn many(mut self, least: f64, worth: f64) -> Signal {
        self.many = Some((least, worth));
        self
    }

    /// The weight in such a case.
    pub(crate) const fn instead(mut self, case: Holds, worth: f64) -> Signal {
        self.other = Some((case, worth));
        self
    }

    /// The weight by the lines.
    pub(crate) const fn by(mut self, worth: fn(&[&LogLine]) -> f64) -> Signal {
        self.by = Some(worth);
        self
    }

    /// In such a case only.
    pub(crate) const fn only_if(mut self, case: Holds) -> Signal {
        self.only_if = case;
        self
    }

    /// These lines only.
    pub(crate) const fn takes(mut self, line: fn(&Case, &LogLine) -> bool) -> Signal {
        self.takes = line;
        self
    }

    fn label(&self, state: &str) -> String {
        let rose = matches!(self.read, Read::Rise(_)) && self.say.is_none();
        let rose = if rose { ": increase" } else { "" };
        format!("{}{rose}", phrase::several(self.what).replace("{state}", state))
    }

    fn words(&self, n: f64, state: &str) -> String {
        let say = match (self.say, &self.read) {
            (Some(say), _) => say,
            (None, Read::Rise(_)) => "{n} {what} since the first reading",
            (None, _) => "{n} {what}",
        };
        let say = say.replace("{what}", self.what).replace("{state}", state);
        phrase::counted(&say, n)
    }

    /// The weight of a number or of so many lines.
    fn weight(&self, case: &Case, n: f64, grew: bool, lines: &[&LogLine]) -> f64 {
        let instead = self.other.filter(|(is_so, _)| is_so(case)).map(|(_, worth)| worth);
        let many = self.many.filter(|(least, _)| n >= *least).map(|(_, worth)| worth);
        let again = self.again.filter(|_| n > 1.0);
        let by = self.by.map(|by| by(lines));
        let grown = self.grown.filter(|_| grew);
        grown.or(instead).or(many).or(again).or(by).unwrap_or(self.worth)
    }

    /// The number that a fact states, if it holds, and where.
    fn fact<'s>(&self, case: &Case<'s>) -> Option<(f64, FactReading<'s>)> {
        let about = case.about();
        match &self.read {
            Read::Number(key) => about.number(key.clone()).filter(|(n, _)| self.bound.holds(*n)),
            Read::Most(key) => {
                let readings = about.all(key.clone());
                let numbers = readings.filter_map(|reading| Some((reading.number()?, reading)));
                let most = numbers.max_by(|a, b| a.0.total_cmp(&b.0));
                most.filter(|(n, _)| self.bound.holds(*n))
            }
            Read::Rise(key) => about.rise(key.clone()).filter(|(n, _)| self.bound.holds(*n)),
            Read::Bit(key, bit) => about.number(key.clone()).filter(|(n, _)| *n as u64 & bit != 0),
            Read::State(key, words) => {
                let state = about.last(key.clone())?;
                let is_one = words.is_empty() || words.contains(&state.text());
                is_one.then_some((1.0, state))
            }
            Read::Lines(..) | Read::Failed(_) | Read::Program(_) => None,
        }
    }
}

impl EvidenceBuilder<'_> {
    /// The clauses of a rule: of the rows of each the strongest counts.
    pub(crate) fn weigh(&mut self, case: &Case, clauses: &[(&'static str, &[Signal])]) {
        for (what, rows) in clauses {
            let nats = self.strongest(case, rows);
            self.clauses.push(Clause::fixed(*what, nats));
        }
    }

    /// What a clause is worth, nats.
    pub(crate) fn nats(&self, what: &str) -> f64 {
        self.clauses.iter().find(|clause| clause.what == what).map_or(0.0, |clause| clause.nats)
    }

    /// Whether nothing but this clause counts.
    pub(crate) fn is_alone(&self, what: &str) -> bool {
        self.clauses.iter().all(|clause| clause.nats <= 0.0 || clause.what == what)
    }

    /// The strongest row of a table, in nats; evidence and words of all that hold.
    pub(crate) fn strongest(&mut self, case: &Case, rows: &[Signal]) -> f64 {
        let mut taken: Vec<&LogLine> = Vec::new();
        let mut most: f64 = 0.0;
        for row in rows.iter().filter(|row| (row.only_if)(case)) {
            let nats = match &row.read {
                Read::Program(of) => of(self, case, most),
                Read::Failed(errors) => self.failed_with(case, row, errors),
                Read::Lines(kind, events) => {
                    let one_of = |event: PathEvent| events.contains(&event);
                    let reports =
                        |line: &LogLine| events.is_empty() || line.event.is_some_and(one_of);
                    let is_taken =
                        |line: &LogLine| taken.iter().any(|known| std::ptr::eq(*known, line));
                    let its = case.log.iter().copied().filter(|line| {
                        line.kind == *kind
                            && (row.takes)(case, line)
                            && reports(line)
                            && !is_taken(line)
                    });
                    let its: Vec<&LogLine> = its.collect();
                    let nats = self.logged(case, row, &its);
                    taken.extend(its);
                    nats
                }
                _ => self.stated(case, row),
            };
            most = most.max(nats);
        }
        most
    }

    fn failed_with(&mut self, case: &Case, row: &Signal, errors: &[u16]) -> f64 {
        let Some((listing, failed)) = case.failed() else { return 0.0 };
        let its = failed.iter().filter(|event| event.error.is_some_and(|e| errors.contains(&e)));
        let n = its.count();
        if n == 0 {
            return 0.0;
        }
        self.failed(listing, &row.label(""), (n as f64, Unit::Count, n), Some(row.bound));
        self.words.push(row.words(n as f64, ""));
        row.weight(case, n as f64, false, &[])
    }

    fn stated(&mut self, case: &Case, row: &Signal) -> f64 {
        let Some((n, reading)) = row.fact(case) else { return 0.0 };
        let rose = match &row.read {
            Read::Number(key) | Read::Most(key) if row.grown.is_some() => {
                case.about().rise(key.clone())
            }
            _ => None,
        };
        let rose = rose.map(|(rise, _)| rise).filter(|rise| *rise > 0.0);
        let nats = row.weight(case, n, rose.is_some(), &[]);
        let label = row.label(reading.text());
        self.fact(&reading, &label, (n, row.unit), (nats > 0.0).then_some(row.bound));
        if let Some(rise) = rose {
            let above = Some(Bound::Above(0.0));
            self.fact(&reading, &format!("{label}: increase"), (rise, Unit::Count), above);
        }
        if nats > 0.0 {
            self.words.push(row.words(n, reading.text()));
        }
        nats
    }

    fn logged(&mut self, case: &Case, row: &Signal, lines: &[&LogLine]) -> f64 {
        let Some(first) = lines.first() else { return 0.0 };
        self.log_lines(&row.label(""), lines, Some(row.bound));
        let n = LogLine::messages(lines) as f64;
        let nats = row.weight(case, n, false, lines);
        if !row.fades {
            self.words.push(row.words(n, ""));
            return nats;
        }
        let period = period(lines).filter(|_| is_reset(first));
        if let Some(seconds) = period {
            let what = "median time between two of them";
            self.fact(&first.reading, what, (seconds, Unit::Seconds), None);
        }
        let every = period.map(|seconds| format!(", every {}", phrase::ms(seconds * 1e3)));
        let (every, text) = (every.unwrap_or_default(), short(&first.message.text));
        self.words.push(format!("{}{every} (`{text}`)", row.words(n, "")));
        if is_stale(case, first, lines) { nats + STALE } else { nats }
    }
}

/// Whether a line is about a discard.
pub(crate) fn is_discard(line: &LogLine) -> bool {
    line.message.command == Some(CommandKind::Io(Op::Discard))
}

/// A message shortened for a sentence.
pub(crate) fn short(message: &str) -> String {
    message.chars().take(60).collect()
}

fn is_reset(line: &LogLine) -> bool {
    let resets = [PathEvent::Reset, PathEvent::UsbReset, PathEvent::LinkReset];
    line.event.is_some_and(|event| resets.contains(&event))
}

/// The interval of the lines, s, if there are at least three and most are separated by it: the
/// timeout of a command that is retried repeatedly.
fn period(lines: &[&LogLine]) -> Option<f64> {
    let times: Vec<f64> = lines.iter().filter_map(|line| line.message.at_s).collect();
    let mut gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    gaps.sort_by(f64::total_cmp);
    let median = *gaps.get(gaps.len() / 2).filter(|gap| gaps.len() >= 2 && **gap >= 1.0)?;
    let alike = gaps.iter().filter(|gap| (*gap / median - 1.0).abs() <= PERIODIC).count();
    (2 * alike > gaps.len()).then_some(median)
}

/// Whether even the last of these lines is a day older than the log's end.
fn is_stale(case: &Case, first: &LogLine, lines: &[&LogLine]) -> bool {
    let end = case.analysis.facts.log_end(first.reading.listing);
    let last = lines.iter().filter_map(|line| line.message.at_s).reduce(f64::max);
    end.zip(last).is_some_and(|(end, last)| end - last > STALE_S)
}
