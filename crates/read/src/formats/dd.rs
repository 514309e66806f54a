//! dd: bytes and duration of a copy.
//!
//! ## Reads
//! Result lines of any dd: `1073741824 bytes (1.1 GB, 1.0 GiB) copied, 0.817983 s, 1.3 GB/s`,
//! `... bytes transferred in 0.81 secs (1312669 bytes/sec)`, in any language, and the lines
//! `1024+0 records in` and `out` before them. The command line above a result, if present, shows
//! what was read or written, the block size, and whether the page cache was used. Where a busybox
//! without statistics prints the records alone, `time dd bs=4M ...` and the line `real 0m 40.07s`
//! below are the result. Where `sync` follows on the command line (`time sh -c "dd ... && sync"`),
//! that line is the rate with the data on the medium. `dd: error reading '/dev/sdb': Input/output
//! error` is a request that failed.
//!
//! ## How to capture
//! `dd if=/dev/sdb of=/dev/null bs=1M count=1000 iflag=direct`,
//! `dd if=/dev/zero of=file bs=1M count=1000 conv=fdatasync`.
//!
//! ## Versions
//! GNU coreutils 5 and later in all languages, busybox, FreeBSD, OpenBSD, macOS. A line counts as a
//! result only if its bytes, seconds and rate agree.
//!
//! ## Caveats
//! Without `iflag=direct`, `oflag=direct` or `conv=fdatasync` the rate is that of the page cache,
//! not of a disk; the fact `run.cached` is `yes`, `no`, or `unknown` without a command line. dd
//! sends one request at a time: a rate with a small `bs` measures latency, not bandwidth. A line of
//! `status=progress` is not a result if a later one follows. A throughput alone accuses no disk:
//! its class is not known.
//!
//! ## Not in this output
//! Individual latencies, the I/O of the disk, other users, whether the file was already cached.

use iowhy_model::typed::{BytesPerSecond, Durable, PageCache};

use crate::counters::limits::limits_of;
use crate::counters::stated::rates;
use crate::program::*;
use crate::text::repair::has_odd;

pub(super) const FORMAT: Format = Format::program::<Dd>(
    "bytes copied, seconds, rate",
    Level::A,
    &["dd: ", "if=", "of=", "+", "B/", "ytes/", "yte/", "octets/", "o/", "Б/"],
    sniff,
)
.resumed();

/// Printed rate over bytes per second: two digits are printed, and busybox divides by 1024.
const AGREES: std::ops::Range<f64> = 0.88..1.15;
/// Lines between a command or the records and their result.
const BANNER_LINES: usize = 6;
/// dd's own block size when none was given.
const BLOCK: f64 = 512.0;

fn sniff(lines: &[&str]) -> Detect {
    let Some(first) = lines.first() else { return Detect::No };
    if result(first).is_some() || refused(first).is_some() {
        return Detect::Yes;
    }
    if records(first).is_none() && Command::of(first).is_none() {
        return Detect::No;
    }
    match lines.last() {
        Some(last) if result(last).is_some() || is_damaged(last) || timed(last).is_some() => {
            Detect::Yes
        }
        // Between them: the other line of records, a prompt, a warning.
        Some(last) if lines.len() > 1 && Command::of(last).is_some() => Detect::No,
        _ if lines.len() < BANNER_LINES => Detect::NeedLine,
        _ => Detect::No,
    }
}

/// The values of a result line.
#[derive(Clone, Copy, Debug, PartialEq)]
struct CopyResult {
    bytes: f64,
    seconds: f64,
}

fn result(line: &str) -> Option<CopyResult> {
    if !line.contains('/') {
        return None;
    }
    let line = line.trim();
    let digits = line.find(|c: char| !c.is_ascii_digit())?;
    let (moved, rest) = line.split_at_checked(digits).filter(|(moved, _)| !moved.is_empty())?;
    let moved = integer(moved)? as f64;
    // The bytes are followed by their unit.
    if rest.starts_with(|c: char| c.is_ascii_punctuation()) {
        return None;
    }
    // The sizes in brackets come before the time, in BSD's line the rate does after it.
    let bsd = rest.trim_start().strip_prefix("bytes transferred in ");
    let rest = match (bsd, rest.find([')', '）'])) {
        (Some(rest), _) => rest,
        (None, Some(bracket)) if rest.get(..bracket)?.contains(['(', '（']) => {
            rest.get(bracket..)?.trim_start_matches([')', '）'])
        }
        // Less than a kilobyte is not printed twice: `512 bytes copied, 0.0021 s, 243 kB/s`.
        (None, _) => rest,
    };
    let parts = rest.replace(['，', '、', '(', ')'], " ");
    let mut numbers = parts.split_whitespace().enumerate().filter_map(|(place, word)| {
        let end = word.find(|c: char| !(c.is_ascii_digit() || ".,e-+".contains(c)));
        let number = word.get(..end.unwrap_or(word.len()))?.trim_end_matches([',', 'e', '.']);
        // `5.3e-05`: the exponent is part of the number, the unit is not.
        decimal(number).map(|value| (place, value))
    });
    let ((_, seconds), (place, rate)) = (numbers.next()?, numbers.next()?);
    let words: Vec<&str> = parts.split_whitespace().collect();
    let glued =
        words.get(place)?.trim_start_matches(|c: char| c.is_ascii_digit() || ".,".contains(c));
    let unit = if glued.is_empty() { words.get(place + 1)? } else { glued };
    let per_s = rate * scale(unit)?;
    let sound = seconds > 0.0 && moved > 0.0 && AGREES.contains(&(per_s * seconds / moved));
    sound.then_some(CopyResult { bytes: moved, seconds })
}

/// Seconds of `real 0m40.073s` of a shell and `real 0m 40.07s` of busybox, each after a tab.
fn timed(line: &str) -> Option<f64> {
    let (minutes, seconds) = line.trim().strip_prefix("real")?.trim().split_once('m')?;
    let seconds = decimal(seconds.trim().strip_suffix('s')?)?;
    let minutes = integer(minutes)? as f64;
    (0.0..60.0).contains(&seconds).then_some(minutes * 60.0 + seconds)
}

/// Whether a line is a result with something else where a number is due.
fn is_damaged(line: &str) -> bool {
    let rated = line.split_whitespace().next_back().is_some_and(|unit| scale(unit).is_some());
    let numbers = line.split_whitespace().filter(|word| decimal(word).is_some()).count();
    rated && numbers > 1 && line.contains([',', '，']) && has_odd(line)
}

/// The file whose request failed with EIO: ``dd: writing `/dev/sdc': Input/output error``,
/// `dd: error reading '/dev/sdb': Input/output error`, `dd: /dev/sda: Input/output error`.
fn refused(line: &str) -> Option<&str> {
    let said = line.trim().strip_prefix("dd: ")?.strip_suffix(": Input/output error")?;
    let path = said.rsplit(' ').next()?.trim_matches(['`', '\'', '‘', '’', '"']);
    path.starts_with('/').then_some(path)
}

/// Bytes of a unit of rate: `GB/s`, `MiB/s`, `bytes/sec`, `kB/秒`.
fn scale(unit: &str) -> Option<f64> {
    let (unit, per) = unit.split_once('/')?;
    if per.is_empty() || per.chars().count() > 4 {
        return None;
    }
    match unit {
        "B" | "bytes" | "Bytes" | "byte" | "o" | "octets" | "Б" => Some(1.0),
        "kB" | "KB" | "ko" => Some(1e3),
        "MB" | "Mo" => Some(1e6),
        "GB" | "Go" => Some(1e9),
        "TB" => Some(1e12),
        unit if unit.ends_with("iB") => bytes(&format!("1{unit}")),
        _ => None,
    }
}

/// `1024+0 records in`, in any language: whole and partial records.
fn records(line: &str) -> Option<f64> {
    if !line.contains('+') {
        return None;
    }
    let line = line.trim();
    // `记录了1024+0 的读入` puts words in front.
    let start = line.find(|c: char| c.is_ascii_digit())?;
    let (before, rest) = line.split_at_checked(start)?;
    let (whole, rest) = rest.split_once('+')?;
    let (partial, words) = rest.split_once(' ')?;
    let is_short_label = !words.trim().is_empty() && words.split_whitespace().count() <= 4;
    let plain = before.is_empty() || !before.is_ascii();
    let count = integer(whole)?.checked_add(integer(partial)?)?;
    (is_short_label && plain && !words.contains(['(', '='])).then_some(count as f64)
}

/// Whether the kernel makes the data as it is read (random(4)).
fn is_generator(path: &str) -> bool {
    matches!(path, "/dev/urandom" | "/dev/random")
}

/// A dd command as it was typed.
#[derive(Clone, Debug, Default, PartialEq)]
struct Command {
    input: Option<String>,
    output: Option<String>,
    size: Option<f64>,
    direct: bool,
    /// Each write waits for the medium.
    durable: bool,
    /// The data are on the medium before dd ends.
    flushed: Option<Durable>,
    /// `sync` runs when dd has ended.
    synced: bool,
    /// The page cache was emptied before.
    dropped: bool,
}

impl Command {
    fn of(line: &str) -> Option<Command> {
        if !line.contains("dd") {
            return None;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        // `time sh -c "dd ...`, `(dd ...`.
        let name = |word: &str| word.trim_start_matches(['"', '\'', '(', '`']).to_string();
        let place = words.iter().position(|word| name(word).rsplit('/').next() == Some("dd"))?;
        let operands = words.get(place + 1..)?.iter();
        let is_word = |word: &&str| word.trim_matches(['"', '\'', ')', ';']) == "sync";
        let synced = operands.clone().any(is_word);
        let operands: Vec<(&str, &str)> = operands
            .take_while(|word| !word.starts_with(['|', '&', ';', '>', '#']))
            .filter_map(|word| word.trim_end_matches(';').split_once('='))
            .collect();
        let mut command = Command { synced, ..Command::default() };
        for (key, value) in &operands {
            let flags = || value.split(',');
            match *key {
                "if" => command.input = Some((*value).to_string()),
                "of" => command.output = Some((*value).to_string()),
                "bs" | "ibs" | "obs" => command.size = bytes(value).or(command.size),
                "iflag" | "oflag" => {
                    command.direct |= flags().any(|flag| flag == "direct");
                    command.durable |= flags().any(|flag| flag == "dsync" || flag == "sync");
                }
                "conv" => {
                    let known = |when: &Durable| flags().any(|flag| flag == when.name());
                    command.flushed = [Durable::Fdatasync, Durable::Fsync].into_iter().find(known);
                }
                _ => {}
            }
        }
        (command.input.is_some() || command.output.is_some()).then_some(command)
    }

    /// The direction, and what was read or written.
    fn target(&self) -> (Option<Op>, &str) {
        let source = |path: &str| path == "/dev/zero" || is_generator(path);
        let sink = |path: &str| matches!(path, "/dev/null" | "/dev/zero" | "/dev/full");
        let (input, output) = (self.input.as_deref(), self.output.as_deref());
        match (input, output) {
            (Some(input), None) if !source(input) => (Some(Op::Read), input),
            (Some(input), Some(output)) if sink(output) && !source(input) => {
                (Some(Op::Read), input)
            }
            (Some(input), Some(output)) if source(input) => (Some(Op::Write), output),
            (None, Some(output)) if !sink(output) => (Some(Op::Write), output),
            (Some(_), Some(output)) => (None, output),
            _ => (None, "dd"),
        }
    }

    fn cached(&self, op: Option<Op>) -> PageCache {
        let kept = self.direct || self.durable && op == Some(Op::Write) || self.flushed.is_some();
        match kept {
            true => PageCache::No,
            false if self.dropped && op == Some(Op::Read) => PageCache::Unknown,
            false => PageCache::Yes,
        }
    }
}

#[derive(Default)]
struct Dd {
    command: Option<Command>,
    /// Records read since the last result.
    records: Option<f64>,
    /// A result that a later one may replace: a line of `status=progress`.
    pending: Option<CopyResult>,
    /// The page cache was emptied since the last command.
    dropped: bool,
}

impl Reader for Dd {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        self.dropped |= line.contains("drop_caches");
        if let Some(command) = Command::of(line) {
            self.emit(sink);
            limits_of(line, sink);
            let dropped = std::mem::take(&mut self.dropped);
            self.command = Some(Command { dropped, ..command });
        } else if let Some(count) = records(line) {
            // What was printed while it ran is part of what follows.
            self.pending = self.pending.filter(|_| self.records.is_some());
            if self.pending.is_some() {
                self.emit(sink);
            }
            self.records = self.records.or(Some(count));
        } else if let Some(done) = self.by_the_shell(line) {
            self.pending = Some(done);
            self.emit(sink);
        } else if let Some((written, done)) = self.with_the_sync(line) {
            let records = self.records;
            self.emit(sink);
            self.command = Some(written);
            self.records = records;
            self.pending = Some(done);
            self.emit(sink);
        } else if let Some(done) = result(line) {
            let continues = self.pending.is_some_and(|before| {
                self.records.is_none() && before.bytes < done.bytes && before.seconds < done.seconds
            });
            if !continues {
                self.emit_pending(sink);
            }
            self.pending = Some(done);
        } else if let Some(path) = refused(line) {
            let device = sink.device(path.strip_prefix("/dev/").unwrap_or(path));
            sink.add_fact(device, typed::SCAN_FAILED, 1u64);
        } else if is_damaged(line) && (self.records.is_some() || self.command.is_some()) {
            return Step::skipped("no bytes, time and rate that agree");
        } else {
            return Step::NotMine;
        }
        Step::Consumed
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.emit(sink);
    }
}

impl Dd {
    /// What `time` reports of a copy that printed its records and no result; the size of a record
    /// is in the command.
    fn by_the_shell(&self, line: &str) -> Option<CopyResult> {
        let seconds = timed(line).filter(|seconds| *seconds > 0.0)?;
        let (command, records) = (self.command.as_ref()?, self.records?);
        let bytes = records * command.size.unwrap_or(BLOCK);
        (self.pending.is_none() && bytes > 0.0).then_some(CopyResult { bytes, seconds })
    }

    /// What `time` reports of a copy and the `sync` after it: the copy with its data on the
    /// medium.
    fn with_the_sync(&self, line: &str) -> Option<(Command, CopyResult)> {
        let seconds = timed(line)?;
        let (command, done) = (self.command.as_ref()?, self.pending?);
        let is_write = command.synced && command.target().0 == Some(Op::Write);
        let written = Command { flushed: Some(Durable::Fsync), synced: false, ..command.clone() };
        let all = CopyResult { bytes: done.bytes, seconds };
        (is_write && seconds >= done.seconds).then_some((written, all))
    }

    /// Gives out the last result and forgets its records.
    fn emit(&mut self, sink: &mut dyn Sink) {
        self.emit_pending(sink);
        self.records = None;
    }

    fn emit_pending(&mut self, sink: &mut dyn Sink) {
        let Some(done) = self.pending.take() else { return };
        let records = self.records.take();
        let command = self.command.take();
        let (op, path) = command.as_ref().map_or((None, "dd"), Command::target);
        let device = sink.device(path.strip_prefix("/dev/").unwrap_or(path));
        let cached = command.as_ref().map_or(PageCache::Unknown, |command| command.cached(op));
        let count = records.filter(|count| *count > 0.0).or_else(|| {
            let size = command.as_ref().map(|command| command.size.unwrap_or(BLOCK))?;
            Some((done.bytes / size).ceil())
        });
        let CopyResult { bytes, seconds } = done;
        // One request at a time: where none is answered from memory, the mean is the latency.
        let one_by_one = command.as_ref().is_some_and(|command| command.direct || command.durable);
        let wait = count.filter(|_| one_by_one).map(|count| seconds * 1e9 / count);
        let known = rates(count.map(|count| count / seconds), Some(bytes / seconds), wait);
        if let Some(known) = known {
            let mut interval = Interval::new(device, Layer::Application);
            interval.length = Some(Nanos::from_seconds(seconds));
            match op {
                Some(op) => interval.rates.push((op, known)),
                None => interval.mixed = Some(known),
            }
            sink.interval(interval);
        }
        let rate = BytesPerSecond((bytes / seconds).round());
        sink.add_fact(device, typed::RUN_THROUGHPUT, rate);
        sink.add_fact(device, typed::RUN_CACHED, cached);
        let source = command.as_ref().and_then(|command| command.input.as_deref());
        if op == Some(Op::Write) && source.is_some_and(is_generator) {
            sink.add_fact(device, typed::RUN_GENERATED, 1u64);
        }
        let durable =
            command.as_ref().filter(|command| command.durable).map(|_| Durable::EachWrite);
        let flushed = command.as_ref().and_then(|command| command.flushed);
        if let Some(when) = durable.or(flushed) {
            sink.add_fact(device, typed::RUN_DURABLE, when);
        }
    }
}
