//! Facts: what is known about a device or the machine apart from latencies, with a key from one
//! list and a typed value.
//!
//! A key is a line of the list in `fact/keys.rs`. What is read from text becomes a value by the
//! key's [`Kind`]; text that does not fit stays [`FactValue::Text`], so nothing is lost and a word
//! never becomes a number.

mod command;
mod keys;
mod message;
mod values;

use std::borrow::Cow;
use std::fmt;

use crate::fact::typed::{Bytes, BytesPerSecond, OfProcess, Share};
use crate::{DeviceId, Nanos, Time};

pub use command::CommandKind;
pub use keys::{key, typed};
pub use message::{Message, MessageKind, PathEvent, PortErrors, port_errors};

/// A fact about a device or the machine that is not a measurement of I/O: a mount option, a queue
/// setting, a counter of SMART, a temperature.
#[derive(Clone, PartialEq, Debug)]
pub struct Fact {
    /// The device it is about, if one was named.
    pub device: Option<DeviceId>,
    /// What is stated.
    pub key: FactKey,
    /// Its value.
    pub value: FactValue,
    /// When it held, on the listing's own clock, if it was sampled beside the I/O.
    pub at: Option<Time>,
    /// Where it was read: a file and line, or a path in /sys.
    pub read_from: String,
}

impl Fact {
    /// A fact whose value has a type already.
    pub fn new(
        device: Option<DeviceId>,
        key: FactKey,
        value: FactValue,
        read_from: impl Into<String>,
    ) -> Fact {
        Fact { device, key, value, at: None, read_from: read_from.into() }
    }

    /// A fact of a key that knows the type of its value.
    pub fn of<V: Into<FactValue>>(
        device: Option<DeviceId>,
        key: typed::Key<V>,
        value: impl Into<V>,
        read_from: impl Into<String>,
    ) -> Fact {
        Fact::new(device, key.key(), value.into().into(), read_from)
    }

    /// A fact whose value is parsed from text by the key's kind.
    pub fn read(
        device: Option<DeviceId>,
        key: FactKey,
        text: &str,
        read_from: impl Into<String>,
    ) -> Fact {
        let value = key.read(text);
        Fact::new(device, key, value, read_from)
    }

    /// The same fact at this time.
    pub fn at(self, at: Time) -> Fact {
        Fact { at: Some(at), ..self }
    }

    /// A fact from an old capture, with a free name and a value as text.
    pub fn from_text(device: Option<DeviceId>, name: &str, text: &str, read_from: String) -> Fact {
        let key = FactKey::named(name);
        // Captures before version 2 had the time of a temperature after its value.
        let (value, at) = match text.split_once(" C at ") {
            Some((value, at)) if key == key::DEVICE_CELSIUS => (value, number_before_unit(at)),
            _ => (text, None),
        };
        let at = at.map(Time::from_seconds);
        Fact { at, ..Fact::read(device, key, value, read_from) }
    }
}

/// The kind of value of a key, and the unit of a text without one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// As its producer types it; a text is read by the unit it carries.
    Any,
    /// A name or a line of text.
    Text,
    /// A word for an array's background task; tools may use words of their own.
    ArrayAction,
    /// A word for when a benchmark made its data durable.
    Durable,
    /// A word for the medium of a device.
    Medium,
    /// A word for whether the page cache was used.
    PageCache,
    /// A word for whether the write cache is on.
    WriteCache,
    /// A word for a controller's write policy.
    WritePolicy,
    /// Names, separated by blanks.
    Words,
    /// Yes or no; 1 or 0.
    Flag,
    /// A whole number of things.
    Count,
    /// A number without a unit.
    Number,
    /// Bytes.
    Bytes,
    /// Bytes, given in KiB.
    Kib,
    /// Bytes per second.
    BytesPerSecond,
    /// Bits per second of a link, given as `6.0 Gb/s` or `8.0 GT/s`.
    BitsPerSecond,
    /// Events per second.
    PerSecond,
    /// A length of time, given in nanoseconds.
    Nanoseconds,
    /// A length of time, given in microseconds.
    Microseconds,
    /// A length of time, given in tenths of a second.
    Deciseconds,
    /// A length of time, given in seconds.
    Seconds,
    /// A length of time, given in hours.
    Hours,
    /// A temperature in degrees Celsius.
    Celsius,
    /// A share of one, given in per cent.
    Percent,
    /// A time of day, given in seconds since 1970.
    Date,
    /// Bytes of a process: `54032097 B mysqld (500)`.
    ProcessBytes,
    /// Bytes per second of a process: `17920.0 KiB/s mysqld (500)`.
    ProcessRate,
    /// A share of one of a process: `98.12 % mysqld (500)`.
    ProcessShare,
    /// A duration of a process: `4880 ms mysqld (500)`.
    ProcessTime,
    /// A message with the time it was printed with: `[86411.204830] text`.
    Message,
}

/// A value with its type. Durations, sizes and shares each have one unit, whatever unit the text
/// had.
#[derive(Clone, PartialEq, Debug)]
pub enum FactValue {
    /// A name or a line of text.
    Text(String),
    /// Names.
    Words(Vec<String>),
    /// Yes or no.
    Flag(bool),
    /// A whole number of things.
    Count(u64),
    /// A number without a unit.
    Number(f64),
    /// Bytes.
    Bytes(u64),
    /// Bytes per second.
    BytesPerSecond(f64),
    /// Bits per second.
    BitsPerSecond(f64),
    /// Events per second.
    PerSecond(f64),
    /// A length of time.
    Duration(Nanos),
    /// Degrees Celsius.
    Celsius(f64),
    /// A share of one.
    Share(f64),
    /// Seconds since 1970.
    Date(f64),
    /// A value of one process.
    OfProcess(Box<OfProcess<FactValue>>),
    /// A message of a log.
    Message(Message),
}

impl FactValue {
    /// The value as a number: seconds of a duration, 0 to 1 for a share, 1 or 0 for a flag. `None`
    /// for words.
    pub fn number(&self) -> Option<f64> {
        match self {
            FactValue::Text(_)
            | FactValue::Words(_)
            | FactValue::OfProcess(_)
            | FactValue::Message(_) => None,
            FactValue::Flag(is) => Some(f64::from(u8::from(*is))),
            FactValue::Count(n) | FactValue::Bytes(n) => Some(*n as f64),
            FactValue::Duration(length) => Some(length.seconds()),
            FactValue::Number(value)
            | FactValue::BytesPerSecond(value)
            | FactValue::BitsPerSecond(value)
            | FactValue::PerSecond(value)
            | FactValue::Celsius(value)
            | FactValue::Share(value)
            | FactValue::Date(value) => Some(*value),
        }
    }

    /// The value if it is a text, else nothing.
    pub fn text(&self) -> Option<&str> {
        match self {
            FactValue::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The names, if these are names.
    pub fn words(&self) -> Option<&[String]> {
        match self {
            FactValue::Words(words) => Some(words),
            _ => None,
        }
    }

    /// The length of time, if it is one.
    pub fn duration(&self) -> Option<Nanos> {
        match self {
            FactValue::Duration(length) => Some(*length),
            _ => None,
        }
    }

    /// The amount and the process, if it is a value of a process.
    pub fn of_process(&self) -> Option<(f64, &str)> {
        match self {
            FactValue::OfProcess(of) => Some((of.value.number()?, &of.who)),
            _ => None,
        }
    }

    /// The message, if it is one.
    pub fn message(&self) -> Option<&Message> {
        match self {
            FactValue::Message(message) => Some(message),
            _ => None,
        }
    }
}

/// The value with its unit, as printed in a list of facts.
impl fmt::Display for FactValue {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FactValue::Text(text) => out.write_str(text),
            FactValue::Words(words) => out.write_str(&words.join(" ")),
            FactValue::Flag(is) => out.write_str(if *is { "yes" } else { "no" }),
            FactValue::Count(n) => write!(out, "{n}"),
            FactValue::Number(value) => write!(out, "{}", rounded(*value)),
            FactValue::Bytes(bytes) => write!(out, "{bytes} B"),
            FactValue::BytesPerSecond(value) => write!(out, "{} B/s", rounded(*value)),
            FactValue::BitsPerSecond(value) => write!(out, "{} bit/s", rounded(*value)),
            FactValue::PerSecond(value) => write!(out, "{} /s", rounded(*value)),
            FactValue::Duration(length) => write!(out, "{} s", exact_seconds(*length)),
            FactValue::Celsius(value) => write!(out, "{} °C", rounded(*value)),
            FactValue::Share(value) => write!(out, "{} %", rounded(100.0 * value)),
            FactValue::Date(value) => write!(out, "{} s since 1970", rounded(*value)),
            FactValue::OfProcess(of) => of.fmt(out),
            FactValue::Message(message) => write!(out, "[{}] {}", message.stamp, message.text),
        }
    }
}

/// All digits of a length of time, in seconds.
fn exact_seconds(length: Nanos) -> String {
    let (sign, ns) = (if length.ns() < 0 { "-" } else { "" }, length.ns().unsigned_abs());
    let text = format!("{sign}{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// A number to nine places, so that a sum of fractions does not end in noise.
fn rounded(value: f64) -> f64 {
    (value * 1e9).round() / 1e9
}

/// A line of the list.
#[derive(PartialEq, Eq, Hash, Debug)]
pub(crate) struct KeyEntry {
    /// The name, dotted and lower-case; of a family, with `*` for its member.
    pub name: &'static str,
    /// Its meaning, in the field's words.
    pub title: &'static str,
    /// The kind of its value.
    pub kind: Kind,
}

/// The key of a fact: a line of the list and, for a family, the member.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct FactKey {
    entry: &'static KeyEntry,
    member: Option<Cow<'static, str>>,
}

/// Keys that differ in one part: `smart.raw.*` by the attribute's number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyFamily {
    entry: &'static KeyEntry,
}

impl KeyFamily {
    /// One of the family, by a name that is known when this is built.
    pub const fn of(self, member: &'static str) -> FactKey {
        FactKey { entry: self.entry, member: Some(Cow::Borrowed(member)) }
    }

    /// One of the family.
    pub fn member(self, member: impl Into<String>) -> FactKey {
        FactKey { entry: self.entry, member: Some(Cow::Owned(member.into())) }
    }
}

impl FactKey {
    /// The key of this name; a name that is in no line of the list becomes a member of the family
    /// of unknown keys, whose values keep whatever type their text shows.
    pub fn named(name: &str) -> FactKey {
        if let Some(entry) = keys::KEYS.iter().find(|entry| entry.name == name) {
            return FactKey { entry, member: None };
        }
        let families = keys::FAMILIES.iter().filter_map(|entry| {
            let (before, after) = entry.name.split_once('*')?;
            let member = name.strip_prefix(before)?.strip_suffix(after)?;
            (!member.is_empty()).then_some((before.len() + after.len(), entry, member))
        });
        // The most specific family: `kernel.log.*.count` before `kernel.log.*`.
        match families.max_by_key(|(reported, ..)| *reported) {
            Some((_, entry, member)) => KeyFamily { entry }.member(member),
            None => key::UNKNOWN.member(name),
        }
    }

    /// Its name: `queue.scheduler`, `smart.raw.197`.
    pub fn name(&self) -> Cow<'static, str> {
        match &self.member {
            None => Cow::Borrowed(self.entry.name),
            Some(member) => Cow::Owned(self.entry.name.replacen('*', member, 1)),
        }
    }

    /// Its meaning, in the field's words.
    pub fn title(&self) -> &'static str {
        self.entry.title
    }

    /// The kind of its values.
    pub fn kind(&self) -> Kind {
        self.entry.kind
    }

    /// The member, if it is one of this family.
    pub fn member_of(&self, family: KeyFamily) -> Option<&str> {
        self.member.as_deref().filter(|_| self.entry == family.entry)
    }

    /// Whether its name begins so: the facts of one source share their first part.
    pub fn is_under(&self, first_part: &str) -> bool {
        self.entry.name.split('.').next() == Some(first_part)
    }

    /// A text as a value of this key.
    pub fn read(&self, text: &str) -> FactValue {
        let text = text.trim();
        self.entry.kind.read(text).unwrap_or_else(|| FactValue::Text(text.to_string()))
    }
}

impl fmt::Display for FactKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.name())
    }
}

impl fmt::Debug for FactKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

impl Kind {
    /// Whether its values are of one process; captures store them as text.
    pub fn is_of_process(self) -> bool {
        matches!(
            self,
            Kind::ProcessBytes | Kind::ProcessRate | Kind::ProcessShare | Kind::ProcessTime
        )
    }

    /// A text as a value of this kind; `None` if it does not fit.
    fn read(self, text: &str) -> Option<FactValue> {
        let number = || number_before_unit(text);
        let length = |unit_ns: f64| {
            let ns = number()? * unit_ns;
            (ns.abs() < 9.2e18).then(|| FactValue::Duration(Nanos(ns.round() as i64)))
        };
        match self {
            Kind::Any => Some(by_unit(text)),
            Kind::Text
            | Kind::ArrayAction
            | Kind::Durable
            | Kind::Medium
            | Kind::PageCache
            | Kind::WriteCache
            | Kind::WritePolicy => None,
            Kind::Words => {
                Some(FactValue::Words(text.split_whitespace().map(str::to_string).collect()))
            }
            Kind::Flag => match text {
                "1" | "true" | "yes" => Some(FactValue::Flag(true)),
                "0" | "false" | "no" => Some(FactValue::Flag(false)),
                _ => None,
            },
            Kind::Count => Some(FactValue::Count(whole(text)?)),
            Kind::Number => number().map(FactValue::Number),
            Kind::Bytes => Some(FactValue::Bytes(whole(text)?)),
            Kind::Kib => Some(FactValue::Bytes(whole(text)?.checked_mul(1024)?)),
            Kind::BytesPerSecond => {
                let unit = if text.ends_with(" KiB/s") { 1024.0 } else { 1.0 };
                number().map(|rate| FactValue::BytesPerSecond(rate * unit))
            }
            Kind::BitsPerSecond => {
                let unit = text.split_whitespace().nth(1)?;
                let scale = match unit.chars().next()? {
                    'G' => 1e9,
                    'M' => 1e6,
                    _ => return None,
                };
                number().map(|value| FactValue::BitsPerSecond(value * scale))
            }
            Kind::PerSecond => number().map(FactValue::PerSecond),
            Kind::Nanoseconds => match text.parse() {
                Ok(ns) => Some(FactValue::Duration(Nanos(ns))),
                Err(_) => length(1.0),
            },
            Kind::Microseconds => length(1e3),
            Kind::Deciseconds => length(1e8),
            Kind::Seconds => length(1e9),
            Kind::Hours => length(3.6e12),
            Kind::Celsius => number().map(FactValue::Celsius),
            Kind::Percent => number().map(|value| FactValue::Share(value / 100.0)),
            Kind::Date => number().map(FactValue::Date),
            Kind::ProcessBytes | Kind::ProcessRate | Kind::ProcessShare | Kind::ProcessTime => {
                let (number, rest) = text.split_once(' ')?;
                let (unit, who) = rest.split_once(' ')?;
                let (number, who) = (number.parse::<f64>().ok()?, who.to_string());
                Some(match (self, unit) {
                    (Kind::ProcessBytes, "B") => {
                        OfProcess { value: Bytes(number as u64), who }.into()
                    }
                    (Kind::ProcessRate, "KiB/s") => {
                        OfProcess { value: BytesPerSecond::from_kib(number), who }.into()
                    }
                    (Kind::ProcessShare, "%") => {
                        OfProcess { value: Share::from_percent(number), who }.into()
                    }
                    (Kind::ProcessTime, "ms") => {
                        OfProcess { value: Nanos::from_ms(number), who }.into()
                    }
                    _ => return None,
                })
            }
            Kind::Message => {
                let (stamp, message) = text.strip_prefix('[')?.split_once("] ")?;
                Some(FactValue::Message(Message::new(stamp, message)))
            }
        }
    }
}

/// The number in front of a text; what follows it, such as a unit, is ignored.
fn number_before_unit(text: &str) -> Option<f64> {
    let word = text.split_whitespace().next()?;
    word.trim_end_matches('%').parse().ok().filter(|value: &f64| value.is_finite())
}

fn whole(text: &str) -> Option<u64> {
    text.split_whitespace().next()?.parse().ok()
}

/// A value by the unit after it.
fn by_unit(text: &str) -> FactValue {
    let mut words = text.split_whitespace();
    let (first, unit, more) = (words.next().unwrap_or_default(), words.next(), words.next());
    let value: Option<f64> = first.parse().ok().filter(|value: &f64| value.is_finite());
    match (value, unit, more) {
        (Some(value), Some("%"), None) => FactValue::Share(value / 100.0),
        (Some(value), Some("KiB/s"), None) => FactValue::BytesPerSecond(value * 1024.0),
        (Some(value), Some("C"), None) => FactValue::Celsius(value),
        (Some(value), None | Some("pages" | "tasks"), None) => match first.parse() {
            Ok(count) => FactValue::Count(count),
            Err(_) => FactValue::Number(value),
        },
        _ => FactValue::Text(text.to_string()),
    }
}

#[cfg(test)]
mod tests;
