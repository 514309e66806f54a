//! Log events of devices: the first of each kind and device are kept, all are
//! counted.

use std::collections::BTreeMap;

use iowhy_model::typed::Family;
use iowhy_model::{Message, MessageKind, Sink, typed};

use crate::facts::AddFact;

/// Messages kept of one kind and device.
const KEPT: u64 = 100;

/// The words of each kind of log event: a message must contain all words of a row.
pub(crate) type Kinds = [(MessageKind, &'static [&'static str])];

/// The kind of the first row that fits a message.
pub(crate) fn kind_of(kinds: &Kinds, message: &str) -> Option<MessageKind> {
    let fits = |words: &&[&str]| words.iter().all(|word| message.contains(word));
    kinds.iter().find(|(_, words)| fits(words)).map(|(kind, _)| *kind)
}

/// Messages by kind and device.
pub(crate) struct Counted {
    /// What reports one of them.
    each: Family<Message>,
    /// The key of their number.
    all: Family<u64>,
    counts: BTreeMap<(&'static str, String), u64>,
}

impl Counted {
    fn of(each: Family<Message>, all: Family<u64>) -> Counted {
        Counted { each, all, counts: BTreeMap::new() }
    }

    /// Adds a message; an empty name means no device.
    pub(crate) fn add(
        &mut self,
        kind: MessageKind,
        name: &str,
        message: Message,
        place: &str,
        sink: &mut dyn Sink,
    ) {
        let count = self.counts.entry((kind.name(), name.to_string())).or_default();
        *count += 1;
        if *count <= KEPT {
            sink.add_fact_at(name, self.each.of(kind.name()), message, place);
        }
    }

    fn close(&mut self, place: &str, sink: &mut dyn Sink) {
        for ((kind, name), count) in std::mem::take(&mut self.counts) {
            sink.add_fact_at(&name, self.all.of(kind), count, place);
        }
    }
}

/// What a log reports as trouble.
pub(crate) struct LogEvents {
    /// The lines of the log, and the time of the last of them as printed.
    pub(crate) lines: u64,
    pub(crate) end: String,
    known: Counted,
    /// Of no known kind, by the words in them.
    pub(crate) by_words: Counted,
}

impl Default for LogEvents {
    fn default() -> LogEvents {
        LogEvents {
            lines: 0,
            end: String::new(),
            known: Counted::of(typed::KERNEL_LOG, typed::KERNEL_LOG_COUNT),
            by_words: Counted::of(typed::KERNEL_LOG_BY_WORDS, typed::KERNEL_LOG_BY_WORDS_COUNT),
        }
    }
}

impl LogEvents {
    /// Adds a log event; an empty name means no device.
    pub(crate) fn add(
        &mut self,
        kind: MessageKind,
        name: &str,
        message: Message,
        place: String,
        sink: &mut dyn Sink,
    ) {
        self.known.add(kind, name, message, &place, sink);
    }

    /// The log has a line of this time.
    pub(crate) fn line(&mut self, stamp: &str) {
        self.lines += 1;
        self.end = stamp.to_string();
    }

    /// Adds how many there were of each kind, the number of lines, and the time of the last.
    pub(crate) fn close(&mut self, sink: &mut dyn Sink) {
        let place = sink.source().place();
        self.known.close(&place, sink);
        self.by_words.close(&place, sink);
        sink.add_fact_at(None, typed::KERNEL_LOG_LINES, self.lines, &place);
        sink.add_fact_at(None, typed::KERNEL_LOG_END, std::mem::take(&mut self.end), &place);
    }
}
