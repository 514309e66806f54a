//! The subject of a printed histogram, from the words around it: many tools print the same table
//! for other things than disk latency.

use iowhy_model::{Inference, Sink};

use crate::facts::note;

/// Words of a heading, a command or a banner above a histogram of something else than a disk's
/// latency, and its subject. In lower case, to be found as whole words.
const FOREIGN: [(&str, &str); 34] = [
    ("bytes", "sizes"),
    ("kbytes", "sizes"),
    ("size", "sizes"),
    ("sizes", "sizes"),
    ("bitesize", "sizes"),
    ("length", "lengths"),
    ("lengths", "lengths"),
    ("seek", "seek distances"),
    ("seeks", "seek distances"),
    ("distance", "seek distances"),
    ("depth", "queue lengths"),
    ("runqlat", "CPU scheduling delay"),
    ("runqlen", "CPU scheduling delay"),
    ("runqueue", "CPU scheduling delay"),
    ("run queue", "CPU scheduling delay"),
    ("dispatcher", "CPU scheduling delay"),
    ("cpudist", "on-CPU or off-CPU time"),
    ("on-cpu", "on-CPU or off-CPU time"),
    ("off-cpu", "on-CPU or off-CPU time"),
    ("cpu time", "on-CPU or off-CPU time"),
    ("tcprtt", "network round trips"),
    ("rtt", "network round trips"),
    ("tcp", "the network"),
    ("udp", "the network"),
    ("addresses", "the network"),
    ("address", "the network"),
    ("funclatency", "function calls"),
    ("functions", "function calls"),
    ("function", "function calls"),
    ("vfs", "file system calls"),
    ("malloc", "memory"),
    ("irq", "interrupts"),
    ("softirq", "interrupts"),
    ("lock", "locks"),
];

/// Words that show that what follows is the latency of block I/O.
const OF_DISKS: [&str; 9] = [
    "block device i/o", "block i/o", "disk i/o", "i/o latency", "io latency", "disk latency",
    "biolatency", "biolatency-bpfcc", "iolatency",
];

/// What the words above a histogram say of it.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) enum Subject {
    /// Nothing.
    #[default]
    Unsaid,
    /// It is of block I/O.
    Disks,
    /// It is of something else.
    Other(&'static str),
}

impl Subject {
    /// What a line says. One that mentions disks and something else shows nothing.
    pub(crate) fn of(line: &str) -> Subject {
        let lower = line.to_ascii_lowercase();
        let disks = OF_DISKS.iter().any(|words| stands_in(&lower, words));
        let foreign = FOREIGN.iter().find(|(words, _)| stands_in(&lower, words));
        match (disks, foreign) {
            (true, None) => Subject::Disks,
            (false, Some((_, what))) => Subject::Other(what),
            // `Block I/O size`, `I/O latency by function`.
            _ => Subject::Unsaid,
        }
    }

    /// Takes what a line above the histogram says, if it says anything.
    pub(crate) fn note_above(&mut self, line: &str) {
        match Subject::above(line) {
            Subject::Unsaid => {}
            subject => *self = subject,
        }
    }

    /// What a line of prose above a histogram says: only a heading, a banner or a command is about
    /// what follows, not a sentence.
    fn above(line: &str) -> Subject {
        const HEADING_WORDS: usize = 9;
        if line.contains("FUNCTION:NAME") {
            // DTrace's own heading, above all its output.
            return Subject::Unsaid;
        }
        let words = line.split_whitespace().count();
        let sentence = line.trim_end().ends_with(['.', ';', ',']) && !line.contains("to end.");
        match words <= HEADING_WORDS && !sentence {
            true => Subject::of(line),
            false => match Subject::of(line) {
                Subject::Other(_) => Subject::Unsaid,
                other => other,
            },
        }
    }

    /// Why its rows are not read, if they are of something else.
    pub(crate) fn refusal(self) -> Option<String> {
        match self {
            Subject::Other(what) => Some(format!("a histogram of {what}, not of disk latency")),
            _ => None,
        }
    }

    /// Adds a note if it is unknown what was measured.
    pub(crate) fn state(self, sink: &mut dyn Sink) {
        if self == Subject::Unsaid && !sink.source().inferred.contains(&Inference::Subject) {
            sink.source().infer(Inference::Subject);
            sink.note(note(
                "this histogram may not be of disk latency: it is not used to judge a disk",
            ));
        }
    }
}

/// Whether these occur as whole words.
fn stands_in(line: &str, words: &str) -> bool {
    let joins = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(words).any(|(place, _)| {
        let (before, rest) = (&line[..place], &line[place + words.len()..]);
        !before.ends_with(joins) && !rest.starts_with(joins)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_tell_disks_from_all_else() {
        for line in [
            "Tracing block device I/O... Hit Ctrl-C to end.",
            "# ./biolatency -m 5",
            "Block I/O latency histogram",
        ] {
            assert_eq!(Subject::above(line), Subject::Disks, "{line}");
        }
        for line in [
            "Tracing TCP RTT... Hit Ctrl-C to end.",
            "Tracing run queue latency... Hit Ctrl-C to end.",
            "Tracing 1 functions for \"vfs_read\"... Hit Ctrl-C to end.",
            "  bytes",
            "All Addresses = ******* ",
        ] {
            assert!(matches!(Subject::above(line), Subject::Other(_)), "{line}");
        }
        for line in
            ["here it is", "the function is slow, as you see in this long sentence of mine."]
        {
            assert_eq!(Subject::above(line), Subject::Unsaid, "{line}");
        }
    }
}
