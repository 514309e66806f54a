//! bcc's ext4slower, xfsslower, zfsslower, nfsslower, fileslower, ...: slow file operations.
//!
//! ## Reads
//! The rows `TIME COMM PID T BYTES OFF_KB LAT(ms) FILENAME`, with the banner
//! `Tracing ext4 operations slower than 10 ms` or without; fileslower's
//! `TIME(s) COMM TID D BYTES LAT(ms) FILENAME`. Each row becomes an event of a file system, not of
//! a disk: it includes cache, locks, journal and queues.
//!
//! ## How to capture
//! `ext4slower 1`, `fileslower -p PID 10`, `fsslower -t xfs` of bcc and libbpf-tools.
//!
//! ## Versions
//! bcc since 2016, libbpf-tools' `fsslower`. The lines of `-j` are not read.
//!
//! ## Caveats
//! Only operations above the threshold are listed: their total number and mean are not known, which
//! the fact `trace.threshold` records, and no mean is compared with that of a disk. Opens and
//! `getattr` are not data I/O. Times are whole seconds, except fileslower's. `T` is `R`, `W`, `O`
//! (open), `S` or `F` (fsync), for NFS also `G` (attributes) and `C` (commit): if one of these
//! occurs, the fact `mount.type` is `nfs`.
//!
//! ## Not in this output
//! The disk share: run `biosnoop` at the same time. Operations below the threshold, mmap, direct
//! I/O of some file systems.

use crate::program::*;
use crate::text::odd::has_odd;

pub const FORMAT: Format = Format::program::<FsSlower>(
    "ext4slower, xfsslower, fileslower, ...: slow file operations (bcc)",
    Level::C,
    &["COMM", " slower than "],
    sniff,
);

/// Operations that nfsslower alone lists: asking a server for attributes, and committing what it
/// holds.
const OF_NFS: [&str; 2] = ["G", "C"];
/// Step of LAT(ms), which has two decimals.
const LATENCY_STEP: Nanos = Nanos(10_000);

fn sniff(lines: &[&str]) -> Sniff {
    match lines {
        [first, ..] if heading(first).is_some() => Sniff::Yes,
        [first] if banner(first).is_some() => Sniff::More,
        [first, second, ..] if banner(first).is_some() => heading(second).is_some().into(),
        _ => Sniff::No,
    }
}

/// `Tracing ext4 operations slower than 10 ms`: the file system and the threshold, ms.
fn banner(line: &str) -> Option<(&str, f64)> {
    let rest = line.trim().strip_prefix("Tracing ")?;
    let (what, rest) = rest.split_once(" slower than ")?;
    let threshold = decimal(rest.split_whitespace().next()?)?;
    let kind = what.strip_suffix(" that are").unwrap_or(what);
    let kind = match kind.strip_suffix(" operations") {
        Some(kind) if !kind.contains(' ') => kind,
        _ if kind == "sync read/writes" => "files",
        _ => return None,
    };
    Some((kind, threshold))
}

/// Whether a file's offset stands behind its bytes; `None` if the line is no heading.
fn heading(line: &str) -> Option<bool> {
    if !line.contains("COMM") {
        return None;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let [time, "COMM", "PID" | "TID", "T" | "D", "BYTES", rest @ ..] = &words[..] else {
        return None;
    };
    let offset = match rest {
        ["OFF_KB", "LAT(ms)", "FILENAME"] => true,
        ["LAT(ms)", "FILENAME"] => false,
        _ => return None,
    };
    matches!(*time, "TIME" | "TIME(s)").then_some(offset)
}

#[derive(Default)]
struct FsSlower {
    kind: String,
    threshold: Option<f64>,
    offset: bool,
    /// Whether a row is of an operation that only nfsslower lists.
    is_nfs: bool,
    /// The first time, and the last second that was printed.
    first: Option<WallTime>,
}

impl Reader for FsSlower {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if let Some((kind, threshold)) = banner(line) {
            self.kind = kind.to_string();
            self.threshold = Some(threshold).filter(|ms| *ms > 0.0);
        } else if let Some(offset) = heading(line) {
            self.offset = offset;
            sink.source().resolution = Some(LATENCY_STEP);
        } else if matches!(line.trim(), "" | "^C") {
            return Step::Took;
        } else {
            return self.row(line, sink);
        }
        Step::Took
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        if sink.source().records > 0 {
            let place = sink.source().place();
            let key = typed::TRACE_THRESHOLD;
            match self.threshold {
                Some(ms) => sink.add_fact_at(None, key, Nanos::from_ms(ms), &place),
                // Without a banner it is not known, but that there was one is likely.
                None => sink.add_text_at(None, key, "unknown", &place),
            }
            if self.is_nfs || matches!(self.kind.as_str(), "NFS" | "nfs") {
                sink.add_fact(None, typed::MOUNT_TYPE, "nfs");
            }
        }
    }
}

impl FsSlower {
    fn row(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let words: Vec<&str> = line.split_whitespace().collect();
        let time = words.first().copied().unwrap_or_default();
        let clock = WallTime::read(time).is_some();
        let timed = clock || decimal(time).is_some();
        if !timed && !has_odd(time) {
            return Step::Passed;
        }
        // A program's name may hold blanks: the process is the first number before a letter.
        let place = words
            .windows(2)
            .skip(2)
            .position(|pair| integer(pair[0]).is_some() && op(pair[1]).is_some());
        let Some(place) = place.map(|place| place + 2) else {
            return Step::skipped_if(
                words.len() > 5 && timed,
                "the columns do not match the heading",
            );
        };
        if !timed {
            return Step::skipped("the time of the row is not a time");
        }
        let values = words.get(place + 1..).unwrap_or_default();
        let at = 2 + usize::from(self.offset);
        let latency = values.get(at).and_then(|word| fixed(word, 6)).filter(|ns| *ns >= 0);
        let op = values.first().and_then(|letter| op(letter));
        let (Some(latency), Some(op)) = (latency, op) else {
            return Step::skipped("the columns do not match the heading");
        };
        if values.first().is_some_and(|letter| OF_NFS.contains(letter)) {
            self.is_nfs = true;
        }
        let kind = if self.kind.is_empty() { "files" } else { &self.kind };
        let mut event = Event::new(sink.device(kind), op, Layer::Syscall);
        event.bytes = values.get(1).and_then(|word| integer(word)?.try_into().ok());
        event.pid = words.get(place).and_then(|word| integer(word)?.try_into().ok());
        event.comm = words.get(1..place).map(|comm| sink.name(&comm.join(" ")));
        let file = values.get(at + 1..).unwrap_or_default().join(" ");
        event.file = (!file.is_empty()).then(|| sink.name(&file));
        let seconds = match clock {
            true => WallTime::read(time).map(|now| {
                let first = *self.first.get_or_insert(now);
                now.since(first).unwrap_or(0.0)
            }),
            false => decimal(time),
        };
        let Some(end) = seconds.map(Time::from_seconds) else { return Step::Passed };
        event.completed = Some(end);
        event.queued = Some(end - Nanos(latency));
        sink.event(event);
        Step::Took
    }
}

fn op(letter: &str) -> Option<Op> {
    match letter {
        "R" => Some(Op::Read),
        "W" => Some(Op::Write),
        "S" | "F" | "C" => Some(Op::Flush),
        "O" | "G" => Some(Op::Other),
        _ => None,
    }
}
