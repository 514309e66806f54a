//! Complaints that a log makes of devices: the first of each kind and device are kept, all are counted.

use std::collections::BTreeMap;

use iowhy_model::{Message, MessageKind, Sink, typed};

use crate::facts::AddFact;

/// Messages kept of one kind and device.
const KEPT: u64 = 100;

/// What words make a complaint of which kind: all words of a row must stand in the message.
pub(crate) type Kinds = [(MessageKind, &'static [&'static str])];

/// The kind of the first row that fits a message.
pub(crate) fn kind_of(kinds: &Kinds, message: &str) -> Option<MessageKind> {
    let fits = |words: &&[&str]| words.iter().all(|word| message.contains(word));
    kinds.iter().find(|(_, words)| fits(words)).map(|(kind, _)| *kind)
}

/// How often each kind was said of each device.
#[derive(Default)]
pub(crate) struct Complaints {
    counts: BTreeMap<(&'static str, String), u64>,
}

impl Complaints {
    /// Takes a complaint, about no device where the name is empty.
    pub(crate) fn take(
        &mut self,
        kind: MessageKind,
        name: &str,
        message: Message,
        place: String,
        sink: &mut dyn Sink,
    ) {
        let count = self.counts.entry((kind.name(), name.to_string())).or_default();
        *count += 1;
        if *count <= KEPT {
            sink.add_fact_at(name, typed::KERNEL_LOG.of(kind.name()), message, &place);
        }
    }

    /// States how many there were of each kind, of how many lines, and the time of the last line as printed.
    pub(crate) fn close(&mut self, lines: u64, end: String, sink: &mut dyn Sink) {
        let place = sink.source().place();
        for ((kind, name), count) in std::mem::take(&mut self.counts) {
            sink.add_fact_at(&name, typed::KERNEL_LOG_COUNT.of(kind), count, &place);
        }
        sink.add_fact_at(None, typed::KERNEL_LOG_LINES, lines, &place);
        sink.add_fact_at(None, typed::KERNEL_LOG_END, end, &place);
    }
}
